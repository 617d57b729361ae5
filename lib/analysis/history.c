// SPDX-License-Identifier: BSD-2-Clause
/* Keep the timeline of a heap with the sizes, ages and addresses of its blocks. */
#include "analysis/history.h"

#include <stdlib.h>

struct mz_history *mz_history_new(void)
{
	struct mz_history *h = calloc(1, sizeof(*h));

	if (h) {
		mz_timeline_init(&h->time, MZ_HISTORY_BINS);
		mz_heatmap_init(&h->space);
	}
	return h;
}

void mz_history_free(struct mz_history *h)
{
	free(h);
}

void mz_history_tick(struct mz_history *h, uint64_t now, uint64_t live, uint64_t blocks)
{
	mz_timeline_tick(&h->time, now, live, blocks);
	mz_heatmap_tick(&h->space, h->time.now - h->time.first);
}

void mz_history_came(struct mz_history *h, uint64_t addr, uint64_t size, uint64_t count,
		     uint64_t live, uint64_t blocks)
{
	mz_histogram_add_many(&h->sizes, size, count);
	if (addr)
		mz_heatmap_add(&h->space, addr, size, true);
	mz_timeline_set(&h->time, live, blocks);
}

void mz_history_went(struct mz_history *h, uint64_t addr, uint64_t size, uint64_t count,
		     uint64_t born, bool seen, uint64_t live, uint64_t blocks)
{
	if (seen)
		mz_histogram_add_many(&h->ages, h->time.now > born ? h->time.now - born : 0, count);
	if (addr)
		mz_heatmap_add(&h->space, addr, size, false);
	mz_timeline_set(&h->time, live, blocks);
}
