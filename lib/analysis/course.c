// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/course.h"

#include <stdlib.h>

struct mz_course *mz_course_new(void)
{
	struct mz_course *c = calloc(1, sizeof(*c));

	if (c) {
		c->width = 1;
		mz_space_init(&c->space);
	}
	return c;
}

void mz_course_free(struct mz_course *c)
{
	free(c);
}

/* Two bins become one: what is live at the end is that of the second. */
static void halve(struct mz_course *c)
{
	for (unsigned i = 0; i < MZ_COURSE_BINS / 2; i++) {
		const struct mz_course_bin *a = &c->bins[2 * i], *b = a + 1;
		uint64_t high = a->high > b->high ? a->high : b->high;

		c->bins[i] = (struct mz_course_bin){b->live, high, b->blocks};
	}
	c->used = MZ_COURSE_BINS / 2;
	c->width *= 2;
}

static struct mz_course_bin *bin_of(struct mz_course *c, uint64_t live, uint64_t blocks)
{
	uint64_t at;

	while ((at = (c->now - c->first) / c->width) >= MZ_COURSE_BINS) {
		/* all of them, so that halving finds pairs */
		while (c->used < MZ_COURSE_BINS)
			c->bins[c->used++] = (struct mz_course_bin){live, live, blocks};
		halve(c);
	}
	while (c->used <= at)
		c->bins[c->used++] = (struct mz_course_bin){live, live, blocks};
	return &c->bins[at];
}

void mz_course_tick(struct mz_course *c, uint64_t now, uint64_t live, uint64_t blocks)
{
	if (!c->begun) {
		c->begun = true;
		c->first = c->now = now;
	}
	if (now > c->now)
		c->now = now;
	bin_of(c, live, blocks);
	mz_space_tick(&c->space, c->now - c->first);
}

static void set(struct mz_course *c, uint64_t live, uint64_t blocks)
{
	struct mz_course_bin *b = bin_of(c, live, blocks);

	b->live = live;
	b->blocks = blocks;
	if (live > b->high)
		b->high = live;
}

void mz_course_came(struct mz_course *c, uint64_t addr, uint64_t size, uint64_t live,
		    uint64_t blocks)
{
	mz_histogram_add(&c->sizes, size);
	if (addr)
		mz_space_add(&c->space, addr, size, true);
	set(c, live, blocks);
}

void mz_course_went(struct mz_course *c, uint64_t addr, uint64_t size, uint64_t born, bool seen,
		    uint64_t live, uint64_t blocks)
{
	if (seen)
		mz_histogram_add(&c->ages, c->now > born ? c->now - born : 0);
	if (addr)
		mz_space_add(&c->space, addr, size, false);
	set(c, live, blocks);
}
