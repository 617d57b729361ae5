/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that writes into the region of a recorder, as the library would. */
#ifndef MZ_TESTS_UNIT_USER_REGION_H
#define MZ_TESTS_UNIT_USER_REGION_H

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "record/user_rings.h"
#include "test.h"

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

/* One record into a ring; the recorder does not know yet. */
static void put(unsigned i, struct mz_record rec)
{
	struct mz_ring *ring = &rings.region->rings[i];

	rec.time = (uint32_t)mz_user_rings_clock(&rings);
	mz_ring_data(rings.region, i)[ring->head & (mz_ring_records(i) - 1)] = rec;
	ring->head++;
}

/* A program with some threads, which tell the time. */
static void come(unsigned threads)
{
	struct mz_program_slot *m = &rings.region->images[0];

	m->pid = (uint32_t)getpid();
	m->locked = 1;
	strcpy(m->path, "/bin/program");
	m->state = MZ_IMAGE_LIVE;
	for (unsigned i = 0; i < threads; i++) {
		rings.region->rings[i].image = 0;
		rings.region->rings[i].state = MZ_RING_OWNED;
		put(i,
		    (struct mz_record){.type = MZ_REC_TIME, .value = mz_user_rings_clock(&rings)});
	}
	rings.region->ring_top = threads;
}

static void move(void)
{
	pthread_mutex_lock(&rings.spool.lock);
	mz_user_rings_move(&rings, false);
	pthread_mutex_unlock(&rings.spool.lock);
}

#endif
