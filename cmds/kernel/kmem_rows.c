// SPDX-License-Identifier: BSD-2-Clause
/* Sort and label the rows of the kernel report's tables. */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/kmem.h"
#include "base/array.h"
#include "cmds/kernel/kmem.h"
#include "symbols/kallsyms.h"

double kmem_frag(uint64_t req, uint64_t given)
{
	return given > req ? 100.0 * (double)(given - req) / (double)given : 0.0;
}

static double weight(const struct mz_kmem_group *g, enum kmem_sort sort)
{
	switch (sort) {
	case KMEM_SORT_BYTES: return (double)g->given;
	case KMEM_SORT_COUNT: return (double)g->allocs;
	case KMEM_SORT_FRAG: return kmem_frag(g->req, g->given);
	case KMEM_SORT_LIVE: return (double)g->live_given;
	case KMEM_SORT_PEAK: return (double)g->peak_given;
	case KMEM_SORT_LIFETIME: return (double)mz_kmem_lifetime(g, 0.5);
	case KMEM_SORT_CROSS: return (double)g->cross_cpu;
	case KMEM_SORT_NEVER_FREED: return (double)g->live_req;
	default: return g->given > g->req ? (double)(g->given - g->req) : 0.0;
	}
}

struct keyed {
	double key;
	struct kmem_row row;
};

static int by_key(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	return MZ_ORDER(y->key, x->key) ?: MZ_ORDER(y->row.g->given, x->row.g->given) ?: MZ_ORDER(x->row.id, y->row.id);
}

struct kmem_row *kmem_rows(const struct mz_kmem_report *r, bool caches, enum kmem_sort sort,
			   size_t *count)
{
	const struct mz_kmem_group *groups = caches ? r->caches : r->sites;
	uint32_t all = caches ? r->ncaches : r->nsites;
	struct keyed *keyed = malloc(((size_t)all + 1) * sizeof(*keyed));
	struct kmem_row *rows = malloc(((size_t)all + 1) * sizeof(*rows));
	size_t n = 0;

	for (uint32_t i = 0; keyed && i < all; i++)
		if (groups[i].allocs || groups[i].failed)
			keyed[n++] =
				(struct keyed){weight(&groups[i], sort),
					       {&groups[i], caches ? mz_kmem_cache_at(i) : i, 0}};
	if (keyed && rows) {
		qsort(keyed, n, sizeof(*keyed), by_key);
		for (size_t i = 0; i < n; i++)
			rows[i] = (struct kmem_row){keyed[i].row.g, keyed[i].row.id, keyed[i].key};
	}
	if (!keyed) {
		free(rows);
		rows = NULL;
	}
	free(keyed);
	*count = rows ? n : 0;
	return rows;
}

char *kmem_site_text(const struct mz_kmem_report *r, uint32_t site, char *buf, size_t size)
{
	uint64_t addr = mz_kmem_input_site(r->in, site);

	if (site == UINT32_MAX || !addr) {
		snprintf(buf, size, "?");
		return buf;
	}
	/* a vmlinux alone has no list */
	if (!mz_kmem_input_symbols(r->in) && mz_kmem_input_function(r->in, site))
		return console_text(buf, size, mz_kmem_input_function(r->in, site));
	return mz_kallsyms_text(mz_kmem_input_symbols(r->in), addr, buf, size);
}

char *kmem_time_text(const struct mz_kmem_report *r, uint64_t v, char *buf, size_t size)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	double x = (double)v;
	int u = 0;

	if (mz_kmem_input_by_sequence(r->in)) {
		snprintf(buf, size, "%" PRIu64 " ev", v);
		return buf;
	}
	while (x >= 1000 && u < 3) {
		x /= 1000;
		u++;
	}
	snprintf(buf, size, x < 10 && u ? "%.1f %s" : "%.0f %s", x, units[u]);
	return buf;
}
