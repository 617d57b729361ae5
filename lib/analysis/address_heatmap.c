// SPDX-License-Identifier: BSD-2-Clause
/* Accumulate live bytes in a bounded grid of addresses and time. */
#include "analysis/address_heatmap.h"

#include <string.h>

#include "base/array.h"
#include "base/hash.h"

#define FIRST_SHIFT 12 /* a page */

void mz_heatmap_init(struct mz_heatmap *s)
{
	*s = (struct mz_heatmap){.shift = FIRST_SHIFT, .width = 1};
}

/* ---- rows ----------------------------------------------------------------- */

static unsigned place_of(const struct mz_heatmap *s, uint64_t key)
{
	return (unsigned)mz_array_below(s->key, s->rows, sizeof(*s->key), 0, key);
}

static void merge_rows(struct mz_heatmap *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->rows; i++) {
		uint64_t key = s->key[i] >> 1;

		if (n && s->key[n - 1] == key) {
			s->live[n - 1] += s->live[i];
			for (unsigned k = 0; k < s->columns; k++)
				s->changes[n - 1][k] += s->changes[i][k];
			continue;
		}
		s->key[n] = key;
		s->live[n] = s->live[i];
		if (n != i)
			memcpy(s->changes[n], s->changes[i], sizeof(s->changes[n]));
		n++;
	}
	s->rows = n;
	s->shift++;
}

static unsigned insert_row(struct mz_heatmap *s, unsigned at, uint64_t key)
{
	unsigned after = s->rows - at;

	memmove(&s->key[at + 1], &s->key[at], after * sizeof(*s->key));
	memmove(&s->live[at + 1], &s->live[at], after * sizeof(*s->live));
	memmove(&s->changes[at + 1], &s->changes[at], after * sizeof(*s->changes));
	s->key[at] = key;
	s->live[at] = 0;
	memset(s->changes[at], 0, sizeof(s->changes[at]));
	s->rows++;
	return at;
}

static unsigned find_row(struct mz_heatmap *s, uint64_t addr)
{
	unsigned at = place_of(s, addr >> s->shift);

	if (at < s->rows && s->key[at] == addr >> s->shift)
		return at;
	while (s->rows == MZ_HEATMAP_ROWS && s->shift < 63)
		merge_rows(s);
	at = place_of(s, addr >> s->shift);
	if (at < s->rows && s->key[at] == addr >> s->shift)
		return at;
	return insert_row(s, at, addr >> s->shift);
}

/* Most rows are where they were last time. If not, the key is searched for. */
static unsigned row_of(struct mz_heatmap *s, uint64_t addr)
{
	uint64_t key = addr >> s->shift;
	/* arenas begin at round addresses: the lowest bits alone would often be the same */
	uint8_t *guess = &s->guess[key * MZ_HASH_GOLDEN >> (64 - MZ_HEATMAP_GUESS_BITS)];

	if (*guess >= s->rows || s->key[*guess] != key)
		*guess = (uint8_t)find_row(s, addr);
	return *guess;
}

/* A block never takes more than a few rows. */
static void widen(struct mz_heatmap *s, uint64_t size)
{
	while (s->shift < 63 && size >> s->shift > MZ_HEATMAP_ROWS / 4)
		merge_rows(s);
}

static void begin(struct mz_heatmap *s, uint64_t at)
{
	if (s->columns)
		return;
	s->columns = 1;
	s->start = at / s->width;
}

static void add(struct mz_heatmap *s, uint64_t addr, uint64_t size, bool came, bool now)
{
	if (now)
		begin(s, 0); /* if no time was given */
	if (came)
		widen(s, size);
	if (size > UINT64_MAX - addr)
		size = UINT64_MAX - addr; /* a size from a file may be anything */
	while (size) {
		unsigned row = row_of(s, addr);
		uint64_t left =
			((uint64_t)1 << s->shift) - (addr & (((uint64_t)1 << s->shift) - 1));
		uint64_t part = size < left ? size : left;
		uint64_t change = came ? part : -part;

		s->live[row] += change;
		if (now)
			s->changes[row][s->now] += change;
		addr += part;
		size -= part;
	}
}

void mz_heatmap_add(struct mz_heatmap *s, uint64_t addr, uint64_t size, bool came)
{
	add(s, addr, size, came, true);
}

void mz_heatmap_always(struct mz_heatmap *s, uint64_t addr, uint64_t size)
{
	add(s, addr, size, true, false);
}

/* ---- columns -------------------------------------------------------------- */

/* Merges two columns: those that begin at a multiple of two widths. */
static void halve(struct mz_heatmap *s)
{
	uint64_t odd = s->start & 1;

	for (unsigned i = 0; i < s->rows; i++) {
		uint64_t to[MZ_HEATMAP_COLUMNS] = {0};

		for (unsigned k = 0; k < s->columns; k++)
			to[(k + odd) / 2] += s->changes[i][k];
		memcpy(s->changes[i], to, sizeof(to));
	}
	s->columns = (unsigned)((s->columns - 1 + odd) / 2) + 1;
	s->start /= 2;
	s->width *= 2;
}

static void begin_earlier(struct mz_heatmap *s, unsigned by)
{
	for (unsigned i = 0; i < s->rows; i++) {
		memmove(&s->changes[i][by], s->changes[i], s->columns * sizeof(s->changes[i][0]));
		memset(s->changes[i], 0, by * sizeof(s->changes[i][0]));
	}
	s->columns += by;
	s->start -= by;
}

void mz_heatmap_tick(struct mz_heatmap *s, uint64_t at)
{
	/* most events are in the column of the preceding event, and a division is slow */
	if (at - s->from < s->span)
		return;
	begin(s, at);
	while (at / s->width < s->start &&
	       s->start - at / s->width > MZ_HEATMAP_COLUMNS - s->columns)
		halve(s);
	if (at / s->width < s->start)
		begin_earlier(s, (unsigned)(s->start - at / s->width));
	while (at / s->width - s->start >= MZ_HEATMAP_COLUMNS)
		halve(s);
	s->now = (unsigned)(at / s->width - s->start);
	if (s->now >= s->columns)
		s->columns = s->now + 1;
	s->from = at / s->width * s->width;
	s->span = s->width;
}

/* From the end back: what is live there, without what changed after a column. */
void mz_heatmap_end(struct mz_heatmap *s, uint64_t at)
{
	mz_heatmap_tick(s, at);
	for (unsigned i = 0; i < s->rows; i++) {
		uint64_t live = s->live[i];

		for (unsigned k = s->columns; k-- > 0;) {
			uint64_t change = s->changes[i][k];

			s->cells[i][k] = live;
			live -= change;
		}
	}
}
