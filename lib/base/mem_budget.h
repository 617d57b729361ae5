/* SPDX-License-Identifier: BSD-2-Clause */
/* What reading an input may cost. */
/*
 * It may take memory in proportion to its bytes, so that a small file cannot require a large
 * machine. The input holds the account; code that keeps something of what it reads charges the
 * bytes to it first.
 */
#ifndef MZ_BASE_MEM_BUDGET_H
#define MZ_BASE_MEM_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* docs/security.md promises these: memory is at most the constant plus the factor
 * times the input's bytes as they are stored. */
#define MZ_MEM_CONSTANT (256ull << 20)
#define MZ_MEM_FACTOR	1024u

/* What passes through and is not kept (unpacked bytes, bytes that a replay writes to)
 * may be this many times as much. */
#define MZ_MEM_PASSING 4u

/* What a live block, and an entry of a table, cost beside their own bytes: the slots
 * of hash tables here, and the counters that an analysis keeps for each. */
#define MZ_MEM_BLOCK 384u
#define MZ_MEM_ENTRY 128u

struct mz_mem_budget {
	uint64_t bytes; /* of the input: all of a file, of a pipe those read so far */
	uint64_t used;
	bool large;   /* there is no limit: the user has lifted it */
	bool refused; /* more was requested than there is */
};

static inline uint64_t mz_mem_limit(const struct mz_mem_budget *b)
{
	if (b->large || b->bytes > UINT64_MAX / 8 / MZ_MEM_FACTOR)
		return UINT64_MAX / MZ_MEM_PASSING;
	return MZ_MEM_CONSTANT + b->bytes * MZ_MEM_FACTOR;
}

/* Would n bytes more be too many? b may be NULL: there is no account. */
static inline bool mz_mem_fits(struct mz_mem_budget *b, uint64_t n)
{
	bool fits = !b || (b->used <= mz_mem_limit(b) && n <= mz_mem_limit(b) - b->used);

	if (!fits)
		b->refused = true;
	return fits;
}

/* Take n bytes: true, or false, and nothing is taken. */
static inline bool mz_mem_take(struct mz_mem_budget *b, uint64_t n)
{
	if (!mz_mem_fits(b, n))
		return false;
	if (b)
		b->used += n;
	return true;
}

static inline void mz_mem_give(struct mz_mem_budget *b, uint64_t n)
{
	if (b)
		b->used -= n < b->used ? n : b->used;
}

/* Something that had *was bytes now has n. */
static inline bool mz_mem_change(struct mz_mem_budget *b, uint64_t *was, uint64_t n)
{
	if (n > *was && !mz_mem_take(b, n - *was))
		return false;
	if (n < *was)
		mz_mem_give(b, *was - n);
	*was = n;
	return true;
}

/* Is n too much to pass through? */
static inline bool mz_mem_passes(struct mz_mem_budget *b, uint64_t n)
{
	bool fits = !b || n <= mz_mem_limit(b) * MZ_MEM_PASSING;

	if (!fits)
		b->refused = true;
	return fits;
}

#endif
