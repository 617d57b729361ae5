// SPDX-License-Identifier: BSD-2-Clause
/* Count 64-bit values in fixed memory and compute percentiles. */
#include "base/histogram.h"

/* The top 8 bits of a value select the slot: values below 256 are exact, and larger ones share
 * a slot with at most 1/128 of their range. */
static unsigned slot_of(uint64_t v)
{
	unsigned shift;

	if (v < 2 * MZ_HIST_STEPS)
		return (unsigned)v;
	shift = 63 - (unsigned)__builtin_clzll(v) - 7;
	return (unsigned)(v >> shift) + shift * MZ_HIST_STEPS;
}

/* The greatest value of a slot. */
static uint64_t top_of(unsigned slot)
{
	unsigned shift;

	if (slot < 2 * MZ_HIST_STEPS)
		return slot;
	shift = slot / MZ_HIST_STEPS - 1;
	return (((uint64_t)(slot - shift * MZ_HIST_STEPS) + 1) << shift) - 1;
}

void mz_histogram_add(struct mz_histogram *h, uint64_t v)
{
	mz_histogram_add_many(h, v, 1);
}

void mz_histogram_add_many(struct mz_histogram *h, uint64_t v, uint64_t count)
{
	if (!h->count || v < h->min)
		h->min = v;
	if (v > h->max)
		h->max = v;
	h->count += count;
	h->sum += v * count;
	h->slots[slot_of(v)] += count;
}

/* The result is the upper end of the slot, so that it never understates, limited to the
 * maximum, which is known exactly. */
uint64_t mz_histogram_quantile(const struct mz_histogram *h, double share)
{
	uint64_t rank = (uint64_t)((double)h->count * share);
	uint64_t seen = 0;

	if (!h->count)
		return 0;
	if (rank >= h->count)
		rank = h->count - 1;
	for (unsigned i = 0; i < MZ_HIST_SLOTS; i++) {
		seen += h->slots[i];
		if (seen > rank) {
			uint64_t v = top_of(i);

			return v < h->max ? v : h->max;
		}
	}
	return h->max;
}

/* Slots never cross a power of two, so a sum over slots is exact for a doubling. */
uint64_t mz_histogram_doubling(const struct mz_histogram *h, unsigned bit)
{
	uint64_t from = bit ? (uint64_t)1 << bit : 0;
	uint64_t last = bit < 63 ? ((uint64_t)1 << (bit + 1)) - 1 : UINT64_MAX;
	uint64_t n = 0;

	for (unsigned i = slot_of(from); i <= slot_of(last); i++)
		n += h->slots[i];
	return n;
}
