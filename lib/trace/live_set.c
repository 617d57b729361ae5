// SPDX-License-Identifier: BSD-2-Clause
/* Keep the set of live serial numbers as pages of bits. */
#include "trace/live_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOT sizeof(struct mz_live_set_slot)

int mz_live_set_init(struct mz_live_set *s)
{
	*s = (struct mz_live_set){0};
	return mz_u64_table_init(&s->pages, SLOT);
}

void mz_live_set_deinit(struct mz_live_set *s)
{
	const struct mz_live_set_slot *slots = s->pages.slots;

	for (size_t i = 0; slots && i <= s->pages.mask; i++)
		free(slots[i].page);
	free(s->spare);
	mz_u64_table_deinit(&s->pages);
}

/* The page stays in spare until it has its slot, so that a failed insertion does not leak it. */
static struct mz_live_set_page *new_page(struct mz_live_set *s, uint64_t number)
{
	struct mz_live_set_page *page = s->spare ? s->spare : malloc(sizeof(*page));
	struct mz_live_set_slot *slot;
	bool fresh;

	if (!page)
		return NULL;
	s->spare = page; /* until it has its place */
	slot = mz_u64_table_insert(&s->pages, number + 1, SLOT, &fresh);
	if (!slot)
		return NULL;
	memset(page, 0, sizeof(*page));
	page->number = number;
	slot->page = page;
	s->spare = NULL;
	return page;
}

static void drop_page(struct mz_live_set *s, struct mz_live_set_page *page)
{
	mz_u64_table_remove(&s->pages, mz_u64_table_find(&s->pages, page->number + 1, SLOT), SLOT);
	if (page == s->newest)
		s->newest = NULL;
	free(s->spare);
	s->spare = page;
}

/* Not inlined, so that find_page() is. */
static __attribute__((noinline)) struct mz_live_set_page *look_up(const struct mz_live_set *s,
								  uint64_t number)
{
	const struct mz_live_set_slot *slot = mz_u64_table_find(&s->pages, number + 1, SLOT);

	return slot ? slot->page : NULL;
}

/* Most operations are on the newest serials, which one pointer remembers. */
static inline struct mz_live_set_page *find_page(const struct mz_live_set *s, uint64_t number)
{
	return s->newest && s->newest->number == number ? s->newest : look_up(s, number);
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
