// SPDX-License-Identifier: BSD-2-Clause
/* Keep live bytes over time and distributions of size and age, in fixed memory. */
#include "analysis/timeline.h"

#include <stdlib.h>

struct mz_timeline *mz_timeline_new(void)
{
	struct mz_timeline *c = calloc(1, sizeof(*c));

	if (c) {
		c->width = 1;
		mz_heatmap_init(&c->space);
	}
	return c;
}

void mz_timeline_free(struct mz_timeline *c)
{
	free(c);
}

/* Two bins become one: what is live at the end is that of the second. */
static void halve(struct mz_timeline *c)
{
	for (unsigned i = 0; i < MZ_TIMELINE_BINS / 2; i++) {
		const struct mz_timeline_bin *a = &c->bins[2 * i], *b = a + 1;
		uint64_t high = a->high > b->high ? a->high : b->high;

		c->bins[i] = (struct mz_timeline_bin){b->live, high, b->blocks};
	}
	c->used = MZ_TIMELINE_BINS / 2;
	c->width *= 2;
}

static struct mz_timeline_bin *bin_of(struct mz_timeline *c, uint64_t live, uint64_t blocks)
{
	uint64_t at;

	while ((at = (c->now - c->first) / c->width) >= MZ_TIMELINE_BINS) {
		/* all of them, so that halving finds pairs */
		while (c->used < MZ_TIMELINE_BINS)
			c->bins[c->used++] = (struct mz_timeline_bin){live, live, blocks};
		halve(c);
	}
	while (c->used <= at)
		c->bins[c->used++] = (struct mz_timeline_bin){live, live, blocks};
	return &c->bins[at];
}

void mz_timeline_tick(struct mz_timeline *c, uint64_t now, uint64_t live, uint64_t blocks)
{
	if (!c->begun) {
		c->begun = true;
		c->first = c->now = now;
	}
	if (now > c->now)
		c->now = now;
	bin_of(c, live, blocks);
	mz_heatmap_tick(&c->space, c->now - c->first);
}

static void set(struct mz_timeline *c, uint64_t live, uint64_t blocks)
{
	struct mz_timeline_bin *b = bin_of(c, live, blocks);

	b->live = live;
	b->blocks = blocks;
	if (live > b->high)
		b->high = live;
}

void mz_timeline_came(struct mz_timeline *c, uint64_t addr, uint64_t size, uint64_t live,
		      uint64_t blocks)
{
	mz_histogram_add(&c->sizes, size);
	if (addr)
		mz_heatmap_add(&c->space, addr, size, true);
	set(c, live, blocks);
}

void mz_timeline_went(struct mz_timeline *c, uint64_t addr, uint64_t size, uint64_t born, bool seen,
		      uint64_t live, uint64_t blocks)
{
	if (seen)
		mz_histogram_add(&c->ages, c->now > born ? c->now - born : 0);
	if (addr)
		mz_heatmap_add(&c->space, addr, size, false);
	set(c, live, blocks);
}
