// SPDX-License-Identifier: BSD-2-Clause
/* Measure the time from each allocation to its free. */
#include "analysis/lifetimes.h"
#include "trace/event.h"

#include <errno.h>
#include <stdlib.h>

struct mz_lifetimes *mz_lifetimes_new(bool by_object)
{
	struct mz_lifetimes *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	if (mz_live_init(&l->live) < 0) {
		free(l);
		errno = ENOMEM;
		return NULL;
	}
	l->live.by_object = by_object;
	return l;
}

void mz_lifetimes_free(struct mz_lifetimes *l)
{
	if (!l)
		return;
	mz_live_deinit(&l->live);
	free(l);
}

/* An allocation over a live block ends that block without a free, so it has no age; its bytes
 * are released nevertheless. */
static void count(struct mz_lifetimes *l, const struct mz_event *ev, uint64_t now,
		  const struct mz_effect *fx)
{
	if (fx->went) {
		mz_histogram_add(&l->ages, now - fx->old.born);
		l->live_bytes -= fx->old.size;
	}
	if (fx->over_live)
		l->live_bytes -= fx->replaced_size;
	if (fx->came) {
		l->blocks++;
		l->bytes += ev->size;
		l->live_bytes += ev->size;
		mz_histogram_add(&l->sizes, ev->size);
	}
	if (l->live_bytes > l->peak_bytes) {
		l->peak_bytes = l->live_bytes;
		l->peak_blocks = mz_live_count(&l->live);
		l->peak_at = now;
	}
}

int mz_lifetimes_add(struct mz_lifetimes *l, struct mz_event *ev, uint64_t now,
		     struct mz_effect *fx)
{
	int ret = mz_live_apply(&l->live, ev, now, fx);

	if (ret < 0)
		return ret;
	l->events++;
	l->by_kind[ev->kind]++;
	if (ev->kind == MZ_LOST) {
		l->lost += ev->size;
		mz_count_lost(l->lost_by, ev);
	} else if (!fx->went && !fx->came && !fx->unknown && ev->kind <= MZ_REALLOC) {
		l->no_effect++;
	}
	count(l, ev, now, fx);
	return 0;
}
