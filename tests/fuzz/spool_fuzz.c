// SPDX-License-Identifier: BSD-2-Clause
/*
 * Fuzz the files of a spool: what is taken can be walked cell by cell, and is the same after it was
 * written again. The mark and the checksum are added to an input that does not begin with the mark:
 * by chance no fuzzer finds one.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/sha256.h"
#include "store/send.h"
#include "tests/fuzz/fuzz.h"

#define MARK "MZSPOOL1"

static char folder[] = "/dev/shm/spool_fuzz.XXXXXX"; /* no disk: files are synced */

static void must_write(int fd, const void *data, size_t n)
{
	MUST(write(fd, data, n) == (ssize_t)n);
}

/* A file in memory; the path to it. */
static int make_file(const uint8_t *data, size_t size, char *path, size_t room)
{
	int fd = memfd_create("spool", MFD_CLOEXEC);
	unsigned char sum[32];
	struct mz_sha256 s;

	MUST(fd >= 0);
	snprintf(path, room, "/proc/self/fd/%d", fd);
	if (size >= 8 && !memcmp(data, MARK, 8)) {
		must_write(fd, data, size);
		return fd;
	}
	mz_sha256_init(&s);
	mz_sha256_add(&s, MARK, 8);
	mz_sha256_add(&s, (const char *)data, size);
	mz_sha256_end(&s, sum);
	must_write(fd, MARK, 8);
	must_write(fd, data, size);
	must_write(fd, sum, sizeof(sum));
	return fd;
}

/* As the engines do: by the lengths alone. */
static void must_walk(const struct mz_buf *b, size_t rows)
{
	const char *p = b->data;
	volatile char last = 0;

	if (!rows) {
		MUST(!b->len);
		return;
	}
	for (; rows; rows--) {
		uint64_t len = 0;
		unsigned shift = 0;

		do {
			len |= (uint64_t)(*p & 127) << shift;
			shift += 7;
		} while (*p++ & 128);
		p += len;
		last = p[-1];
	}
	(void)last;
	MUST(p == b->data + b->len);
}

static void must_be_whole(const struct mz_store_item *item)
{
	MUST(strlen(item->digest) == MZ_STORE_DIGEST && item->program);
	MUST(item->rows[MZ_STORE_RECORDING].n == 1);
	for (int t = 0; t < MZ_STORE_TABLES; t++) {
		for (size_t i = 0; i < mz_store_schema[t].n; i++) {
			const struct mz_store_column *c = &mz_store_schema[t].columns[i];
			const struct mz_buf *b = &item->rows[t].column[i];

			if (c->from != MZ_STORE_OWN)
				MUST(!b->len);
			else if (c->type == MZ_STORE_TEXT)
				must_walk(b, item->rows[t].n);
			else
				MUST(b->len == 8 * item->rows[t].n);
		}
	}
}

static void must_survive(const struct mz_store_item *item)
{
	struct mz_store_item again;
	struct mz_error err = {0};
	char path[100];

	MUST(!mz_store_spool_put(folder, item, &err));
	snprintf(path, sizeof(path), "%s/%s.spool", folder, item->digest);
	MUST(!mz_store_spool_get(path, &again, &err));
	unlink(path);
	MUST(!strcmp(again.digest, item->digest) && !strcmp(again.program, item->program));
	for (int t = 0; t < MZ_STORE_TABLES; t++)
		for (size_t i = 0; i < mz_store_schema[t].n; i++) {
			const struct mz_buf *a = &item->rows[t].column[i];
			const struct mz_buf *b = &again.rows[t].column[i];

			MUST(a->len == b->len && (!a->len || !memcmp(a->data, b->data, a->len)));
		}
	mz_store_item_free(&again);
}

static void remove_folder(void)
{
	rmdir(folder);
}

static void make_folder(void)
{
	static bool made; /* the name does not tell: it may end in an X by chance */

	if (made)
		return;
	MUST(mkdtemp(folder));
	made = true;
	atexit(remove_folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mz_store_item item;
	struct mz_error err = {0};
	char path[40];
	int fd, ret;

	make_folder();
	fd = make_file(data, size, path, sizeof(path));
	ret = mz_store_spool_get(path, &item, &err);
	if (ret) {
		must_explain(&err, ret);
	} else {
		must_be_whole(&item);
		must_survive(&item);
	}
	mz_store_item_free(&item);
	close(fd);
	return 0;
}
