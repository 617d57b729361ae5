// SPDX-License-Identifier: BSD-2-Clause
/* Records that a program in trouble, or a hostile one, writes: nothing waits for ever, and what
 * they take is counted. */
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "user_region.h"

static char folder[] = "/tmp/user_odd.XXXXXX", output[64];
static struct mz_error err;
static struct mz_user_files files;
static int lock;

static void begin(unsigned threads)
{
	files = (struct mz_user_files){.output = output, .force = true, .err = &err, .command = ""};
	CHECK(!mz_user_rings_init(&rings, -1, 0, 0, &files));
	lock = lock_image();
	come(threads);
	CHECK_EQ(mz_user_rings_images(&rings), 1);
}

static void end(void)
{
	close(lock);
	CHECK_EQ(mz_user_rings_images(&rings), 0);
	mz_user_rings_deinit(&rings);
	mz_user_files_free(&files);
	unlink(output);
}

static void blocks(unsigned ring, uint64_t first, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		put(ring, (struct mz_record){
				  .type = MZ_CALL_MALLOC, .size = 24, .value = first + 64 * i});
	move();
}

/* Records that were read, until all are or so many seconds have passed. */
static uint64_t read_all(uint64_t want, double seconds)
{
	uint64_t until = mz_now_ns() + (uint64_t)(seconds * 1e9);

	while (rings.records < want && mz_now_ns() < until) {
		CHECK(mz_user_rings_drain(&rings, false) >= 0);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		move();
	}
	return rings.records;
}

/* Another thread gets the block: that waits for the end of the realloc, but not for ever. */
static void realloc_without_end(void)
{
	begin(2);
	put(0, (struct mz_record){.type = MZ_REC_BEGIN, .value = 0x100000});
	blocks(1, 0x100000, 1000);
	CHECK(mz_user_rings_drain(&rings, false) >= 0);
	CHECK(rings.records < 100);
	CHECK_EQ(read_all(1003, 600), 1003);
	/* again and again, it costs less and less */
	for (unsigned i = 0; i < 30; i++) {
		put(0, (struct mz_record){.type = MZ_REC_BEGIN, .value = 0x200000});
		blocks(1, 0x200000, 1);
		CHECK_EQ(read_all(1003 + 2 * (i + 1), 600), 1003 + 2 * (i + 1));
	}
	CHECK_EQ(rings.begun, 0);
	end();
}

static void thread_ends_inside_realloc(void)
{
	begin(2);
	put(0, (struct mz_record){.type = MZ_REC_BEGIN, .value = 0x100000});
	put(0, (struct mz_record){.type = MZ_REC_THREAD, .value = 7});
	blocks(1, 0x100000, 10);
	/* before any wait could be over: the records are younger than that */
	CHECK(mz_user_rings_drain(&rings, false) >= 0);
	CHECK_EQ(rings.begun, 0);
	CHECK_EQ(read_all(14, 600), 14);
	CHECK_EQ(rings.images[0]->given_up, 0);
	end();
}

/* Follows a record: text, or frames. */
static void put_raw(const void *data, size_t bytes)
{
	struct mz_ring *ring = &rings.region->rings[0];

	for (size_t at = 0; at < bytes; at += sizeof(struct mz_record)) {
		struct mz_record rec = {0};
		size_t n = bytes - at < sizeof(rec) ? bytes - at : sizeof(rec);

		memcpy(&rec, (const char *)data + at, n);
		mz_ring_data(rings.region, 0)[ring->head++ & (mz_ring_records(0) - 1)] = rec;
	}
}

/* A stack in parts, of which the last one has no frames, takes the room of all parts. */
static void stacks_in_parts_are_counted(void)
{
	uint64_t frames[MZ_STACK_PART];

	begin(1);
	for (uint64_t depth = 0; depth < MZ_STACK_DEPTH; depth += MZ_STACK_PART) {
		put(0, (struct mz_record){.type = MZ_REC_STACK,
					  .size = MZ_STACK_PART,
					  .arg = MZ_STACK_MORE,
					  .value = depth << 32 | 1});
		for (unsigned i = 0; i < MZ_STACK_PART; i++)
			frames[i] = 0x400000 + depth + i;
		put_raw(frames, sizeof(frames));
	}
	put(0,
	    (struct mz_record){.type = MZ_REC_STACK, .value = (uint64_t)MZ_STACK_DEPTH << 32 | 1});
	move();
	CHECK_EQ(read_all(2 + MZ_STACK_DEPTH / 2 + MZ_STACK_DEPTH / MZ_STACK_PART, 600),
		 2 + MZ_STACK_DEPTH / 2 + MZ_STACK_DEPTH / MZ_STACK_PART);
	CHECK(files.stack_bytes >= MZ_STACK_DEPTH * 26ull);
	end();
}

/* Pools come and go under one name. */
static void names_of_pools_are_kept_once(void)
{
	begin(1);
	for (unsigned i = 1; i <= 500000; i++) {
		put(0, (struct mz_record){.type = MZ_REC_POOL_NAME, .size = 7, .value = i});
		put_raw("request", 7);
		put(0, (struct mz_record){.type = MZ_REC_POOL, .value = i});
		put(0, (struct mz_record){.type = MZ_CALL_MALLOC, .size = 24, .value = 0x100000});
		put(0, (struct mz_record){.type = MZ_REC_POOL_RESET, .arg = 1, .value = i});
		if (i % 1000 == 0) {
			move();
			CHECK(mz_user_rings_drain(&rings, true) >= 0);
		}
	}
	CHECK_EQ(rings.records, 1 + 5 * 500000);
	CHECK(files.text_bytes < 4096);
	CHECK_EQ(rings.images[0]->lost[MZ_LOSS_NO_MEMORY], 0);
	end();
}

/* A spool that has been used for days begins again before the file system ends. */
static void offsets_stay_small(void)
{
	begin(1);
	rings.spool.end = (1ull << 40) + (1ull << 22);
	rings.spool.given = 1ull << 40;
	blocks(0, 0x100000, 10);
	CHECK_EQ(read_all(11, 600), 11);
	blocks(0, 0x200000, 10);
	CHECK_EQ(read_all(21, 600), 21);
	CHECK(rings.spool.end < 1 << 20);
	end();
}

int main(void)
{
	CHECK(mkdtemp(folder));
	snprintf(output, sizeof(output), "%s/t.cmt", folder);
	RUN(realloc_without_end);
	RUN(thread_ends_inside_realloc);
	RUN(stacks_in_parts_are_counted);
	RUN(names_of_pools_are_kept_once);
	RUN(offsets_stay_small);
	rmdir(folder);
	return test_end();
}
