// SPDX-License-Identifier: BSD-2-Clause
/* Choose the blocks to record when not all can be, and remember the others. */
#include "thin.h"

#include <errno.h>

#include "system.h"

/* One bit for every 8 bytes of address space, which no two blocks share: leaves of 1 MiB, each
 * for 64 MiB, of which only the used pages take memory. */
#define GRAIN_BITS 3u
#define LEAF_BITS  26u
#define SPACE_BITS 47u
#define LEAVES	   (1ul << (SPACE_BITS - LEAF_BITS))
#define LEAF_BYTES (1ul << (LEAF_BITS - GRAIN_BITS - 3))

#define LOOK_EVERY 256u /* events that are left out */

bool mz_thinned;

static uint64_t **leaves; /* by address */

/* ---- marks --------------------------------------------------------------------------- */

/* Zeros, at an address that all threads share; a thread that comes second returns its own
 * mapping. */
static void *make_zeros(void *place, size_t bytes)
{
	int saved = errno;
	void *none = NULL, *fresh;

	fresh = mz_own_map(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (fresh == MAP_FAILED) {
		fresh = __atomic_load_n((void **)place, __ATOMIC_ACQUIRE);
	} else if (!__atomic_compare_exchange_n((void **)place, &none, fresh, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		mz_own_unmap(fresh, bytes);
		fresh = none;
	}
	errno = saved;
	return fresh;
}

/* The mark of an address; NULL = there is none, and make is false or there is no memory. */
static uint64_t *mark_of(const void *p, bool make, uint64_t *bit)
{
	uintptr_t at = (uintptr_t)p, grain = (at & ((1ul << LEAF_BITS) - 1)) >> GRAIN_BITS;
	uint64_t **top = __atomic_load_n(&leaves, __ATOMIC_ACQUIRE), *leaf;

	if (at >> SPACE_BITS)
		return NULL;
	if (!top && make)
		top = make_zeros(&leaves, LEAVES * sizeof(*leaves));
	if (!top)
		return NULL;
	leaf = __atomic_load_n(&top[at >> LEAF_BITS], __ATOMIC_ACQUIRE);
	if (!leaf && make)
		leaf = make_zeros(&top[at >> LEAF_BITS], LEAF_BYTES);
	*bit = 1ull << (grain & 63);
	return leaf ? &leaf[grain >> 6] : NULL;
}

static bool mark(const void *p)
{
	uint64_t bit, *word = mark_of(p, true, &bit);

	if (!word)
		return false;
	__atomic_store_n(&mz_thinned, true, __ATOMIC_RELAXED);
	__atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
	return true;
}

/* Other threads change the marks of other blocks in the same word; the mark of this block
 * belongs to the caller, like the block. */
bool mz_thin_take(const void *p)
{
	uint64_t bit, *word = mark_of(p, false, &bit);

	if (!word || !(__atomic_load_n(word, __ATOMIC_RELAXED) & bit))
		return false;
	__atomic_fetch_and(word, ~bit, __ATOMIC_RELAXED);
	return true;
}

/* ---- the choice ---------------------------------------------------------------------- */

/* Calls that are not recorded bring the thread no closer to the end of its ring, where it would
 * check whether there is room again. */
void mz_thin_count(struct mz_thread *t)
{
	uint64_t before = mz_take(&t->thinned, 1);

	mz_take(&t->ring->thinned, 1);
	if (before == t->thinned_told)
		t->thinned_since = mz_clock();
	if (before % LOOK_EVERY == 0)
		mz_thin_look(t);
}

static void count_block(struct mz_thread *t, uint64_t size)
{
	mz_take(&t->ring->allocs, 1);
	mz_take(&t->ring->bytes, size);
}

/* Small blocks have the weight of the level, larger ones less in proportion, and large ones 1:
 * few blocks hold many bytes, and a sum of bytes would otherwise depend on whether one of them
 * was chosen. */
static unsigned weight_bits(unsigned level, uint64_t size)
{
	unsigned above = size > MZ_THIN_SMALL
				 ? 64 - (unsigned)__builtin_clzll((size - 1) / MZ_THIN_SMALL)
				 : 0;

	return level > above ? level - above : 0;
}

/* One sequence of random numbers per thread: the choice depends on nothing that the program
 * does. */
static bool draw(struct mz_thread *t, unsigned bits)
{
	uint64_t x = t->seed;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	t->seed = x;
	return !((x * 0x9e3779b97f4a7c15ull) >> 1 >> (63 - bits));
}

bool mz_thin_keeps(struct mz_thread *t, const void *p, uint64_t size, uint32_t *weight)
{
	unsigned bits;

	*weight = 1;
	/* we may have missed the free of an earlier block at this address */
	mz_thin_take(p);
	if (!mz_has_ring(t) || !t->thin)
		return true;
	bits = weight_bits(t->thin, size);
	*weight = 1u << bits;
	if (draw(t, bits))
		return true;
	if (!mark(p)) {
		*weight = 1;
		return true;
	}
	count_block(t, size);
	return false;
}

bool mz_thin_frees(struct mz_thread *t, const void *p)
{
	if (!mz_has_ring(t) || (p ? !mz_thin_take(p) : !t->thin))
		return false;
	mz_take(&t->ring->frees, p != NULL);
	mz_thin_count(t);
	return true;
}

bool mz_thin_changed(struct mz_thread *t, const void *old, const void *p, uint64_t size)
{
	if (!mz_has_ring(t))
		return false;
	if (!p && size)
		mark(old); /* it failed, and the old block stays */
	else
		mz_take(&t->ring->frees, 1);
	if (!p)
		mz_thin_count(t);
	return p;
}

void mz_thin_lost(struct mz_thread *t, const void *p, uint64_t size)
{
	if (t->ring && !(mz_region->flags & (MZ_REGION_DROP | MZ_REGION_WAIT)) && mark(p))
		count_block(t, size);
}
