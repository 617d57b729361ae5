// SPDX-License-Identifier: BSD-2-Clause
/* Compute the live bytes of a KMAP over time. */
#include <string.h>

#include "analysis/kmap_build.h"

/* Two steps become one. Steps start at multiples of the width. */
static void widen(struct mz_kmap_timeline *t)
{
	int64_t bytes[MZ_KMAP_STEPS] = {0}, objects[MZ_KMAP_STEPS] = {0};
	uint64_t first = t->start / t->width;

	for (size_t i = 0; i < MZ_KMAP_STEPS; i++) {
		size_t at = (size_t)((first + i) / 2 - first / 2);

		bytes[at] += t->bytes[i];
		objects[at] += t->objects[i];
	}
	memcpy(t->bytes, bytes, sizeof(bytes));
	memcpy(t->objects, objects, sizeof(objects));
	t->width *= 2;
	t->start = first / 2 * t->width;
}

/* The steps begin earlier, if the last ones are not in use. */
static bool begin_earlier(struct mz_kmap_timeline *t, uint64_t when)
{
	uint64_t start = when / t->width * t->width;
	uint64_t by = (t->start - start) / t->width;

	if ((t->last - start) / t->width >= MZ_KMAP_STEPS)
		return false;
	memmove(t->bytes + by, t->bytes, (MZ_KMAP_STEPS - by) * sizeof(*t->bytes));
	memmove(t->objects + by, t->objects, (MZ_KMAP_STEPS - by) * sizeof(*t->objects));
	memset(t->bytes, 0, by * sizeof(*t->bytes));
	memset(t->objects, 0, by * sizeof(*t->objects));
	t->start = start;
	return true;
}

void mz_kmap_change(struct mz_kmap_timeline *t, uint64_t when, int64_t bytes, int64_t objects)
{
	size_t at;

	if (!t->width) {
		t->width = 1;
		t->start = t->last = when;
	}
	while (when < t->start && !begin_earlier(t, when))
		widen(t);
	while ((when - t->start) / t->width >= MZ_KMAP_STEPS)
		widen(t);
	if (when > t->last)
		t->last = when;
	at = (size_t)((when - t->start) / t->width);
	t->bytes[at] += bytes;
	t->objects[at] += objects;
}

void mz_kmap_find_peak(struct mz_kmap_model *m)
{
	const struct mz_kmap_timeline *t = &m->timeline;
	int64_t bytes = (int64_t)t->base.bytes, objects = (int64_t)t->base.objects, most = -1;

	for (size_t i = 0; t->width && i < MZ_KMAP_STEPS; i++) {
		bytes += t->bytes[i];
		objects += t->objects[i];
		if (bytes <= most)
			continue;
		most = bytes;
		m->live_peak = (struct mz_kmap_sum){(uint64_t)objects, (uint64_t)bytes};
		m->live_peak_time = t->start + i * t->width;
	}
}
