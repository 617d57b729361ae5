/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams merged by a key, a time as a rule. */
/*
 * A heap holds the streams by the key of their next item. Among equal keys the lower rank is first.
 * The items are the caller's.
 */
#ifndef MZ_BASE_MERGE_H
#define MZ_BASE_MERGE_H

#include <stdint.h>

struct mz_merge_stream {
	uint64_t key;
	uint32_t rank;
	uint32_t number; /* the caller's */
};

struct mz_merge {
	struct mz_merge_stream *heap; /* [0] is the first */
	uint32_t n, cap;
};

/* Makes room for this many streams; none is in it yet. 0 or -ENOMEM. */
int mz_merge_init(struct mz_merge *m, uint32_t streams);
void mz_merge_deinit(struct mz_merge *m);

static inline void mz_merge_clear(struct mz_merge *m)
{
	m->n = 0;
}

/* At most as many as there is room for. */
void mz_merge_add(struct mz_merge *m, uint32_t number, uint32_t rank, uint64_t key);

/* The key of the first stream becomes this one, which may make another the first. */
void mz_merge_set(struct mz_merge *m, uint64_t key);
/* The first stream has ended. */
void mz_merge_drop(struct mz_merge *m);

/* The least key of all but the first; UINT64_MAX if there is no other. */
static inline uint64_t mz_merge_second(const struct mz_merge *m)
{
	uint64_t key = m->n > 1 ? m->heap[1].key : UINT64_MAX;

	return m->n > 2 && m->heap[2].key < key ? m->heap[2].key : key;
}

#endif
