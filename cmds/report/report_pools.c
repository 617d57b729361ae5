// SPDX-License-Identifier: BSD-2-Clause
/* Show the sums of a program's own pools. */
#include "cmds/report/report_pools.h"

#include <string.h>

#include "base/error.h"
#include "cmds/cmd.h"

/* The pool after the last shown, by bytes at the peak, then by number; 0 = no more. */
static uint32_t next_pool(const struct mz_usage *u, uint32_t last)
{
	uint64_t top = last ? u->caches[last].sum.peak_bytes : 0;
	uint32_t best = 0;

	for (uint32_t i = 1; i < u->caches_cap; i++) {
		uint64_t x = u->caches[i].sum.peak_bytes;

		if (!u->caches[i].sum.blocks || (last && (x > top || (x == top && i <= last))))
			continue;
		if (!best || x > u->caches[best].sum.peak_bytes)
			best = i;
	}
	return best;
}

static const char *name_of(const struct mz_tables *t, uint32_t pool, char *buf, size_t size)
{
	size_t len = 0;
	const char *s = mz_tables_get_string(t, pool, &len);

	return mz_printable(buf, size, s ? s : "?", s ? len : 1);
}

void report_pools_text(const struct mz_usage *u, const struct mz_tables *t)
{
	char name[80], a[32], b[32], c[32];

	if (next_pool(u, 0))
		printf("\nPools, by bytes at the peak\n");
	for (uint32_t i = 0; (i = next_pool(u, i));) {
		const struct mz_heap_sum *s = &u->caches[i].sum;

		printf("  %10s %5.1f%%  %9s blocks, %s in all  %s\n",
		       console_bytes(a, s->peak_bytes),
		       u->all.sum.peak_bytes
			       ? 100.0 * (double)s->peak_bytes / (double)u->all.sum.peak_bytes
			       : 0,
		       console_count(b, s->blocks), console_bytes(c, s->bytes),
		       name_of(t, i, name, sizeof(name)));
	}
}

void report_pools_json(struct mz_json *out, const struct mz_usage *u, const struct mz_tables *t)
{
	char name[512];

	if (!next_pool(u, 0))
		return;
	mz_json_array(out, "pools");
	for (uint32_t i = 0; (i = next_pool(u, i));) {
		const struct mz_heap_sum *s = &u->caches[i].sum;

		mz_json_object(out, NULL);
		mz_json_str(out, "name", name_of(t, i, name, sizeof(name)));
		mz_json_u64(out, "blocks", s->blocks);
		mz_json_u64(out, "bytes", s->bytes);
		mz_json_u64(out, "at_peak", s->peak_bytes);
		mz_json_u64(out, "never_freed_blocks", s->live_blocks);
		mz_json_u64(out, "never_freed_bytes", s->live_bytes);
		mz_json_u64(out, "temporary_blocks", s->temporary);
		mz_json_end_object(out);
	}
	mz_json_end_array(out);
}
