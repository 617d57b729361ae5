/* SPDX-License-Identifier: BSD-2-Clause */
/* Records by a number: open addressing, records in the slots, no tombstones. */
/*
 * A record is any structure whose first member is its key, a uint64_t that is not 0. Its size goes
 * with each call: it is a constant of the caller, so that the compiler specializes the code for it.
 */
#ifndef MZ_BASE_U64_TABLE_H
#define MZ_BASE_U64_TABLE_H

#include <stdbool.h>

#include "base/hash.h"

struct mz_u64_table {
	void *slots; /* key 0 = empty */
	size_t mask;
	unsigned shift;
	size_t used;
	uint64_t multiplier; /* see mz_u64_table_more() */
	size_t excess;	     /* length of chains beyond what chance makes */
};

/* Slots for a first few records. 0 or -ENOMEM. */
int mz_u64_table_init(struct mz_u64_table *t, size_t size);
void mz_u64_table_deinit(struct mz_u64_table *t);
/* Without records, and ready for new ones. */
void mz_u64_table_clear(struct mz_u64_table *t, size_t size);

/* Slots that are examined at most before a chain counts as long. */
#define MZ_U64_TABLE_LONG 64

/*
 * Make room for one more, whose search had to pass `passed` records. The table doubles when it is
 * full. Its multiplier is the golden ratio, which spreads the addresses of an allocator better than
 * chance would; when chains are longer than chance would make them, the keys were chosen on
 * purpose, and a random multiplier takes its place. 0 or -ENOMEM.
 */
int mz_u64_table_more(struct mz_u64_table *t, size_t size, size_t passed);

/* Only records that keep() wants stay; the table doubles if these are too many. 0 or
 * -ENOMEM. */
int mz_u64_table_sweep(struct mz_u64_table *t, size_t size,
		       bool (*keep)(const void *record, const void *arg), const void *arg);

static inline size_t mz_u64_table_home(const struct mz_u64_table *t, uint64_t key)
{
	return (size_t)((key * t->multiplier) >> t->shift);
}

static inline void *mz_u64_table_slot(const struct mz_u64_table *t, size_t i, size_t size)
{
	return (char *)t->slots + i * size;
}

static inline uint64_t mz_u64_table_key(const struct mz_u64_table *t, size_t i, size_t size)
{
	return *(const uint64_t *)mz_u64_table_slot(t, i, size);
}

static inline bool mz_u64_table_full(const struct mz_u64_table *t)
{
	return t->used >= t->mask / 4 * 3;
}

static inline void mz_u64_table_prefetch(const struct mz_u64_table *t, uint64_t key, size_t size)
{
	__builtin_prefetch(mz_u64_table_slot(t, mz_u64_table_home(t, key), size));
}

/* The record, or NULL. Valid until the next change. */
static inline void *mz_u64_table_find(const struct mz_u64_table *t, uint64_t key, size_t size)
{
	for (size_t i = mz_u64_table_home(t, key);; i = (i + 1) & t->mask) {
		uint64_t there = mz_u64_table_key(t, i, size);

		if (there == key)
			return mz_u64_table_slot(t, i, size);
		if (!there)
			return NULL;
	}
}

/* The record, new (zeros behind its key) or there already; NULL = no memory. */
static inline void *mz_u64_table_insert(struct mz_u64_table *t, uint64_t key, size_t size,
					bool *fresh)
{
	size_t home = mz_u64_table_home(t, key), i = home;
	uint64_t there;

	while ((there = mz_u64_table_key(t, i, size)) && there != key)
		i = (i + 1) & t->mask;
	*fresh = !there;
	if (there)
		return mz_u64_table_slot(t, i, size);
	if (mz_u64_table_full(t) || ((i - home) & t->mask) > MZ_U64_TABLE_LONG) {
		if (mz_u64_table_more(t, size, (i - home) & t->mask) < 0)
			return NULL;
		for (i = mz_u64_table_home(t, key); mz_u64_table_key(t, i, size);)
			i = (i + 1) & t->mask;
	}
	t->used++;
	*(uint64_t *)mz_u64_table_slot(t, i, size) = key;
	return mz_u64_table_slot(t, i, size);
}

/* The gap is closed, so that no tombstones pile up in a long trace. */
static inline void mz_u64_table_remove(struct mz_u64_table *t, void *record, size_t size)
{
	size_t gap = (size_t)((char *)record - (char *)t->slots) / size;

	for (size_t i = (gap + 1) & t->mask; mz_u64_table_key(t, i, size); i = (i + 1) & t->mask) {
		size_t want = mz_u64_table_home(t, mz_u64_table_key(t, i, size));

		/* may it move to the gap: is the gap between its home and here? */
		if (((i - want) & t->mask) >= ((i - gap) & t->mask)) {
			__builtin_memcpy(mz_u64_table_slot(t, gap, size),
					 mz_u64_table_slot(t, i, size), size);
			gap = i;
		}
	}
	__builtin_memset(mz_u64_table_slot(t, gap, size), 0, size);
	t->used--;
}

#endif
