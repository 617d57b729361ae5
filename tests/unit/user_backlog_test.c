// SPDX-License-Identifier: BSD-2-Clause
/* A program leaves many records behind: how they are packed, and that all of them are there. */
#include <stdlib.h>

#include "user_region.h"

#define RECORDS (4 * MZ_USER_MUCH)
#define PART	4096u	   /* records that come at a time */
#define LONGEST (1u << 18) /* events of a chunk */

/* A block is made and freed, again and again. */
static void append(void)
{
	struct mz_ring *ring = &rings.region->rings[0];

	for (unsigned i = 0; i < PART; i++) {
		bool begins = ring->head % 2;

		put(0, (struct mz_record){.type = begins ? MZ_CALL_MALLOC : MZ_CALL_FREE,
					  .size = begins ? 24 : 0,
					  .value = 0x100000 + (ring->head - 1) / 2 % 64 * 64});
	}
	move();
}

static struct mz_summary summary_of(const char *path)
{
	struct mz_summary sum = {.size = sizeof(sum)};
	struct mz_error err = {0};
	struct mz_reader *r = mz_reader_open(path, &err);

	CHECK(r);
	if (!r)
		return sum;
	CHECK(!mz_reader_summary(r, &sum));
	mz_reader_close(r);
	return sum;
}

/* What is read at once is a part of what waits. */
static void drain_some(void)
{
	uint64_t waiting, moved;
	bool full;
	long n = mz_user_rings_drain_some(&rings);

	CHECK_EQ(n / (MZ_USER_SOME / 8), 8);
	mz_user_rings_backlog(&rings, &waiting, &moved, &full);
	CHECK_EQ(waiting, RECORDS + 1 - n);
}

/* All records wait when the program ends, or some were read before. */
static struct mz_summary record(bool has_others, bool some)
{
	char folder[] = "/tmp/user_backlog.XXXXXX", output[64];
	struct mz_error err = {0};
	struct mz_user_files files = {.output = output, .force = true, .err = &err, .command = ""};
	struct mz_summary sum;
	int lock;

	CHECK(mkdtemp(folder));
	snprintf(output, sizeof(output), "%s/t.cmt", folder);
	CHECK(!mz_user_rings_init(&rings, -1, 0, 0, &files));
	rings.has_others = has_others;
	lock = lock_image();
	come(1);
	CHECK_EQ(mz_user_rings_images(&rings), 1);
	for (unsigned n = 0; n < RECORDS; n += PART)
		append();
	if (some)
		drain_some();
	close(lock);
	CHECK_EQ(mz_user_rings_images(&rings), 0);
	CHECK_EQ(files.done_count, 1);
	sum = summary_of(output);
	mz_user_rings_deinit(&rings);
	mz_user_files_free(&files);
	unlink(output);
	rmdir(folder);
	return sum;
}

/* With another processor a thread packs beside: chunks are half as long while much waits. */
static void much_is_packed_beside(void)
{
	struct mz_summary sum = record(true, false);

	CHECK_EQ(sum.events, RECORDS);
	CHECK(sum.chunks >= (RECORDS - MZ_USER_FEW) / (LONGEST / 2));
	/* and not shorter: there are few patterns */
	CHECK(sum.chunks <= RECORDS / (LONGEST / 2) + 2);
}

static void some_are_packed_first(void)
{
	CHECK_EQ(record(true, true).events, RECORDS);
}

static void one_processor_packs_alone(void)
{
	struct mz_summary sum = record(false, false);

	CHECK_EQ(sum.events, RECORDS);
	CHECK_EQ(sum.chunks, RECORDS / LONGEST);
}

int main(void)
{
	RUN(much_is_packed_beside);
	RUN(some_are_packed_first);
	RUN(one_processor_packs_alone);
	return test_end();
}
