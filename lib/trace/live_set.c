// SPDX-License-Identifier: BSD-2-Clause
/* Keep the set of live serial numbers as pages of bits. */
#include "trace/live_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int mz_live_set_init(struct mz_live_set *s)
{
	*s = (struct mz_live_set){0};
	return mz_live_init(&s->pages);
}

void mz_live_set_deinit(struct mz_live_set *s)
{
	const struct mz_block *b;
	size_t at = 0;

	while ((b = mz_live_next(&s->pages, &at)))
		free((void *)(uintptr_t)b->object);
	free(s->spare);
	mz_live_deinit(&s->pages);
}

/* The page stays in spare until it has its slot, so that a failed insertion does not leak it. */
static struct mz_live_set_page *new_page(struct mz_live_set *s, uint64_t number)
{
	struct mz_live_set_page *page = s->spare ? s->spare : malloc(sizeof(*page));
	struct mz_block *b;
	bool fresh;

	if (!page)
		return NULL;
	s->spare = page; /* until it has its place */
	b = mz_live_insert(&s->pages, number + 1, &fresh);
	if (!b)
		return NULL;
	memset(page, 0, sizeof(*page));
	page->number = number;
	b->object = (uintptr_t)page;
	s->spare = NULL;
	return page;
}

static void drop_page(struct mz_live_set *s, struct mz_live_set_page *page)
{
	mz_live_remove(&s->pages, mz_live_find(&s->pages, page->number + 1));
	if (page == s->newest)
		s->newest = NULL;
	free(s->spare);
	s->spare = page;
}

/* Most operations are on the newest serials, which one pointer remembers. */
static struct mz_live_set_page *find_page(const struct mz_live_set *s, uint64_t number)
{
	struct mz_block *b;

	if (s->newest && s->newest->number == number)
		return s->newest;
	b = mz_live_find(&s->pages, number + 1);
	return b ? (struct mz_live_set_page *)(uintptr_t)b->object : NULL;
}

int mz_live_set_add(struct mz_live_set *s, uint64_t serial)
{
	uint64_t number = serial / MZ_LIVE_SET_PAGE;
	unsigned bit = serial % MZ_LIVE_SET_PAGE;
	struct mz_live_set_page *page = find_page(s, number);

	if (!page)
		page = new_page(s, number);
	if (!page)
		return -ENOMEM;
	s->newest = page;
	page->bits[bit / 64] |= (uint64_t)1 << bit % 64;
	page->live++;
	return 0;
}

/* false: the serial is not live, which makes the trace invalid. An empty page is released, so
 * that memory follows the live blocks. */
bool mz_live_set_remove(struct mz_live_set *s, uint64_t serial)
{
	unsigned bit = serial % MZ_LIVE_SET_PAGE;
	struct mz_live_set_page *page = find_page(s, serial / MZ_LIVE_SET_PAGE);
	uint64_t mask = (uint64_t)1 << bit % 64;

	if (!page || !(page->bits[bit / 64] & mask))
		return false;
	page->bits[bit / 64] &= ~mask;
	if (!--page->live)
		drop_page(s, page);
	return true;
}
