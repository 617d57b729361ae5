/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder's side of the rings: takes the records of all threads in the
 * order of their times, and makes events of them.
 */
#ifndef MZ_CMDS_RECORD_RINGS_H
#define MZ_CMDS_RECORD_RINGS_H

#include "cmds/record_image.h"

struct record_ring {
	uint64_t tail;
	uint64_t seen;	    /* head, when last looked at */
	uint64_t last;	    /* time of the last record read */
	uint64_t stuck;	    /* ns: busy without end since then; 0 = not */
	uint64_t old;	    /* a realloc has begun with this block; 0 = none */
	uint64_t given;	    /* of MZ_REC_EXTRA */
	uint64_t arg;
	uint64_t told; /* events lost in this ring that are in a file */
	uint32_t tid;
	bool extra;
	bool open; /* more may come with times before now */
};

struct record_rings {
	struct mz_region *region;
	int fd;
	struct record_ring rings[MZ_RINGS];
	struct record_image images[MZ_IMAGES];
	unsigned active[MZ_RINGS]; /* rings with something to read */
	unsigned active_count;
	unsigned begun;	  /* rings inside a realloc */
	uint64_t cut;	  /* nothing after this time is read yet */
	bool blocked;	  /* the next record must wait for one that is not there yet */
	bool tsc;
	uint64_t clock0, ns0; /* the region's clock and ns, at two moments */
	uint64_t clock1, ns1;
	uint64_t start_ns;
	struct record_files *files;
	uint64_t records;
};

/* fd: of memory for the region, which a program has made; -1 = make it. */
int record_rings_init(struct record_rings *r, int fd, uint32_t flags, uint32_t stack_depth,
		      struct record_files *files);
void record_rings_deinit(struct record_rings *r);

/* Read what is there: how many records, or -errno. With all, also what follows
 * appends that were never finished (their threads are gone). */
long record_rings_drain(struct record_rings *r, bool all);

/* Programs that came, and went. how many are left, or -errno. */
int record_rings_images(struct record_rings *r);

/* Sleep until a program rings, at most for ns. */
void record_rings_sleep(struct record_rings *r, long ns);

#endif
