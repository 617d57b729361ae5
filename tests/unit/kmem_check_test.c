// SPDX-License-Identifier: BSD-2-Clause
/* The check of a kernel trace finds each fault where it is, and goes on behind it. */
#include "analysis/kmem_check.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "formats/kmemtrace.h"
#include "tests/unit/test.h"

static char folder[] = "/tmp/kmem_check_test.XXXXXX";
static char path[64];

/* What was found, one line each: "OFFSET RECORD TEXT", "-" for no record. */
static char said[2000];

static void note(void *arg, uint64_t offset, uint64_t record, const char *text)
{
	size_t n = strlen(said);
	char number[24] = "-";

	CHECK(arg == folder);
	if (record != MZ_KMEM_NO_RECORD)
		snprintf(number, sizeof(number), "%llu", (unsigned long long)record);
	snprintf(said + n, sizeof(said) - n, "%llu %s %s\n", (unsigned long long)offset, number,
		 text);
}

static FILE *file;

static void begin(void)
{
	file = fopen(path, "w");
	if (!file)
		abort();
}

/* A record of format C, without an extension. */
static void put(enum mz_kind kind, int32_t sequence, uint64_t size, uint64_t given)
{
	static const struct mz_kmemtrace_layout layout = {.shape = MZ_KMT_C};
	struct mz_kmemtrace_extra x = {.site = 0xffffffff81000010, .sequence = sequence};
	struct mz_event ev = {.kind = kind, .has = MZ_HAS_ADDR | MZ_HAS_GIVEN};
	const char *why = NULL;
	char record[MZ_KMT_PUT_MAX];
	size_t n;

	ev.call = kind == MZ_ALLOC ? MZ_CALL_KMALLOC : MZ_CALL_KFREE;
	ev.addr = 0xffff888000001000;
	ev.size = size;
	ev.given = given;
	n = mz_kmemtrace_put(&layout, &ev, &x, record, &why);
	CHECK(n && fwrite(record, n, 1, file) == 1);
}

static int check(struct mz_kmem_check *sum, struct mz_error *err)
{
	if (fclose(file))
		abort();
	said[0] = '\0';
	*err = (struct mz_error){0};
	return mz_kmem_check_file(path, 0, sum, note, folder, err);
}

static void expect(uint64_t records, uint64_t findings, const char *text)
{
	struct mz_kmem_check sum;
	struct mz_error err;

	CHECK_EQ(check(&sum, &err), 0);
	CHECK_EQ(sum.records, records);
	CHECK_EQ(sum.findings, findings);
	CHECK_EQ(sum.lost, 0);
	if (strcmp(said, text))
		TEST_SHOW("# found:\n%s# not:\n%s", said, text);
}

static void a_good_file(void)
{
	begin();
	put(MZ_ALLOC, INT32_MAX, 50, 64);
	put(MZ_FREE, INT32_MIN, 0, 0);
	expect(2, 0, "");
}

static void faults_of_records(void)
{
	begin();
	put(MZ_ALLOC, 1, 0, 64);
	put(MZ_ALLOC, 2, 50, 32);
	put(MZ_FREE, 2, 0, 0);
	put(MZ_ALLOC, 1, 50, 64);
	expect(4, 4,
	       "0 1 kmalloc of 0 bytes at 0xffff888000001000\n"
	       "48 2 32 bytes given for 50 at 0xffff888000001000\n"
	       "96 3 sequence number 2 after 2\n"
	       "120 4 sequence number 1 after 2\n");
}

/* Records behind bytes that are none are found again. */
static void faults_of_the_file(void)
{
	static const char bad[10] = {0x55};

	begin();
	for (int i = 1; i <= 4; i++)
		put(MZ_FREE, i, 0, 0);
	CHECK(fwrite(bad, sizeof(bad), 1, file) == 1);
	put(MZ_FREE, 5, 0, 0);
	put(MZ_FREE, 6, 0, 0);
	CHECK(!fflush(file) && !ftruncate(fileno(file), 5 * 24 + 10 + 19));
	expect(5, 2,
	       "96 5 the event is neither 0 (alloc) nor 1 (free); 10 bytes skipped\n"
	       "130 6 truncated: 19 bytes of a record are left\n");
	begin();
	expect(0, 1, "0 - the file is empty\n");
}

/* What has no events has no findings either: it is an error. */
static void no_trace(void)
{
	struct mz_kmem_check sum;
	struct mz_error err;

	begin();
	fputs("ffffffff81000010,7,ffff888000001000,8,1,0,0,KMALLOC,sh,kmalloc-8\n"
	      "  ffffffff81000020,3,4\n",
	      file);
	CHECK(check(&sum, &err) < 0);
	CHECK_EQ(err.code, EINVAL);
	unlink(path);
	err.code = 0;
	CHECK(mz_kmem_check_file(path, 0, &sum, note, folder, &err) < 0);
	CHECK_EQ(err.code, ENOENT);
	CHECK(!*said && !sum.findings);
}

int main(void)
{
	test_folder(folder, path, "cpu0.out");
	RUN(a_good_file);
	RUN(faults_of_records);
	RUN(faults_of_the_file);
	RUN(no_trace);
	rmdir(folder);
	return test_end();
}
