// SPDX-License-Identifier: BSD-2-Clause
/* A program leaves many records behind: how they are packed, and that all of them are there. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/user_rings.h"
#include "test.h"

#define RECORDS (4 * MZ_USER_MUCH)
#define PART	4096u	   /* records that come at a time */
#define LONGEST (1u << 18) /* events of a chunk */

static struct mz_user_rings rings; /* too large for the stack */

/* The program's lock on its image; the region's file is opened again, for another description. */
static int lock_image(void)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", rings.fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0 && !fcntl(fd, F_OFD_SETLK, &l));
	return fd;
}

/* A program with one thread, which tells the time, makes a block and frees it, again and again. */
static void come(void)
{
	struct mz_program_slot *m = &rings.region->images[0];
	struct mz_ring *ring = &rings.region->rings[0];

	m->pid = (uint32_t)getpid();
	m->locked = 1;
	strcpy(m->path, "/bin/program");
	m->state = MZ_IMAGE_LIVE;
	ring->image = 0;
	ring->state = MZ_RING_OWNED;
	rings.region->ring_top = 1;
	*mz_ring_data(rings.region, 0) =
		(struct mz_record){.type = MZ_REC_TIME, .value = mz_user_rings_clock(&rings)};
	ring->head = 1;
}

static void append(void)
{
	struct mz_ring *ring = &rings.region->rings[0];
	struct mz_record *data = mz_ring_data(rings.region, 0);

	for (unsigned i = 0; i < PART; i++, ring->head++) {
		bool begins = ring->head % 2;
		uint64_t addr = 0x100000 + (ring->head - 1) / 2 % 64 * 64;

		data[ring->head & (mz_ring_records(0) - 1)] =
			(struct mz_record){.time = (uint32_t)mz_user_rings_clock(&rings),
					   .type = begins ? MZ_CALL_MALLOC : MZ_CALL_FREE,
					   .size = begins ? 24 : 0,
					   .value = addr};
	}
	pthread_mutex_lock(&rings.spool.lock);
	mz_user_rings_move(&rings, false);
	pthread_mutex_unlock(&rings.spool.lock);
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
	come();
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
