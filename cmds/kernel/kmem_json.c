// SPDX-License-Identifier: BSD-2-Clause
/* Print the kernel report as JSON. */
#include <stdlib.h>
#include <string.h>

#include "analysis/kmem.h"
#include "analysis/recording.h"
#include "base/json.h"
#include "cmds/kernel/kmem.h"
#include "cmds/loss_report.h"

/* The lists of call sites: their names, and the sum that is the value of a row. */
static const struct {
	const char *list, *sum;
} views[] = {
	[KMEM_SORT_WASTE] = {"waste", "waste_bytes"},
	[KMEM_SORT_BYTES] = {"given", "given_bytes"},
	[KMEM_SORT_COUNT] = {"count", "blocks"},
	[KMEM_SORT_FRAG] = {"frag", "fragmentation"},
	[KMEM_SORT_LIVE] = {"live", "never_freed_given_bytes"},
	[KMEM_SORT_PEAK] = {"peak", "highest_given_bytes"},
	[KMEM_SORT_LIFETIME] = {"lifetime", "lifetime_p50"},
	[KMEM_SORT_CROSS] = {"cross", "cross_cpu"},
	[KMEM_SORT_NEVER_FREED] = {"never_freed", "never_freed_bytes"},
};

/* A sum, unless it is the one that the row has as its value. */
static void put_sum(struct mz_json *w, const char *key, uint64_t v, const char *but)
{
	if (!but || strcmp(key, but))
		mz_json_u64(w, key, v);
}

/* The sums that the report on a program has as well, under the same names: bytes are those
 * requested. Of everything, of a call site, or of a cache. */
static void common_sums(struct mz_json *w, const struct mz_kmem_group *g, const char *but)
{
	put_sum(w, "bytes", g->req, but);
	put_sum(w, "never_freed_blocks", g->live, but);
	put_sum(w, "never_freed_bytes", g->live_req, but);
	put_sum(w, "waste_bytes", g->given > g->req ? g->given - g->req : 0, but);
	put_sum(w, "failed", g->failed, but);
	put_sum(w, "over_live", g->over_live, but);
}

/* What the report on a kernel adds. "highest" is at any time, for each sum its own. */
static void kernel_sums(struct mz_json *w, const struct mz_kmem_group *g, uint64_t end,
			const char *but)
{
	put_sum(w, "given_bytes", g->given, but);
	put_sum(w, "freed_given_bytes", g->freed_given, but);
	put_sum(w, "never_freed_given_bytes", g->live_given, but);
	put_sum(w, "highest_given_bytes", g->peak_given, but);
	put_sum(w, "highest_blocks", g->peak_live, but);
	put_sum(w, "freed_blocks", g->ended, but);
	put_sum(w, "cross_cpu", g->cross_cpu, but);
	put_sum(w, "cross_node", g->cross_node, but);
	if (!but || strcmp(but, "fragmentation"))
		mz_json_double(w, "fragmentation", kmem_frag(g->req, g->given) / 100);
	if (g->ended) {
		put_sum(w, "lifetime_p50", mz_kmem_lifetime(g, 0.5), but);
		put_sum(w, "lifetime_p99", mz_kmem_lifetime(g, 0.99), but);
	}
	if (g->live)
		put_sum(w, "oldest_age", end - g->oldest, but);
}

static void cache_json(struct mz_json *w, const struct mz_kmem_report *r,
		       const struct kmem_row *row)
{
	char name[300];

	mz_json_str(w, "cache", mz_kmem_cache_text(r, row->id, name, sizeof(name)));
	mz_json_u64(w, "blocks", row->g->allocs);
	common_sums(w, row->g, NULL);
	mz_json_u64(w, "unknown_frees", row->g->unknown);
	kernel_sums(w, row->g, r->last, NULL);
}

static void where_json(struct mz_json *w, const struct mz_kmem_report *r, const char *key,
		       uint32_t site)
{
	char name[300];

	mz_json_str(w, key, kmem_site_text(r, site, name, sizeof(name)));
}

/* The first four as in the report on a program: "blocks" are those that the list is about. */
static void site_json(struct mz_json *w, const struct mz_kmem_report *r, const struct kmem_row *row,
		      enum kmem_sort sort)
{
	bool never_freed = sort == KMEM_SORT_NEVER_FREED;

	where_json(w, r, "where", row->id);
	mz_json_hex(w, "ip", mz_kmem_input_site(r->in, row->id));
	mz_json_u64(w, "blocks", never_freed ? row->g->live : row->g->allocs);
	if (sort == KMEM_SORT_FRAG)
		mz_json_double(w, "value", row->value / 100);
	else
		mz_json_u64(w, "value", (uint64_t)row->value);
	if (never_freed) {
		mz_json_u64(w, "never_freed_given_bytes", row->g->live_given);
		mz_json_u64(w, "oldest_age", r->last - row->g->oldest);
		return;
	}
	mz_json_u64(w, "frees_made", row->g->freed_here);
	common_sums(w, row->g, views[sort].sum);
	kernel_sums(w, row->g, r->last, views[sort].sum);
}

static void rows_json(struct mz_json *w, const struct mz_kmem_report *r, bool caches,
		      enum kmem_sort sort, size_t limit)
{
	size_t n;
	struct kmem_row *rows = kmem_rows(r, caches, sort, &n);

	if (!rows)
		w->out->failed = true;
	mz_json_array(w, caches ? "caches" : views[sort].list);
	for (size_t i = 0; rows && i < n && (!limit || i < limit); i++) {
		if (sort == KMEM_SORT_NEVER_FREED && !rows[i].g->live_req)
			break;
		mz_json_object(w, NULL);
		if (caches)
			cache_json(w, r, &rows[i]);
		else
			site_json(w, r, &rows[i], sort);
		mz_json_end_object(w);
	}
	mz_json_end_array(w);
	free(rows);
}

/* Two lists: all call sites in the order of --metric, and those of blocks that were never freed, as
 * in the report on a program. */
static void sites_json(struct mz_json *w, const struct mz_kmem_report *r, enum kmem_sort sort,
		       size_t limit)
{
	mz_json_object(w, "sites");
	rows_json(w, r, false, sort, limit);
	rows_json(w, r, false, KMEM_SORT_NEVER_FREED, limit);
	mz_json_end_object(w);
}

static void ones_json(struct mz_json *w, const struct mz_kmem_report *r, size_t limit)
{
	mz_json_array(w, "worst_blocks");
	for (size_t i = 0; i < r->nones && (!limit || i < limit); i++) {
		const struct mz_kmem_one *o = &r->ones[i];
		char name[300];

		mz_json_object(w, NULL);
		mz_json_hex(w, "address", o->block.addr);
		mz_json_u64(w, "size", o->block.req);
		mz_json_u64(w, "given", o->block.given);
		mz_json_str(w, "cache", mz_kmem_cache_text(r, o->block.cache, name, sizeof(name)));
		where_json(w, r, "where", o->block.site);
		mz_json_u64(w, "time", o->block.born - r->first);
		mz_json_i64(w, "cpu", o->block.cpu);
		if (o->died) {
			mz_json_u64(w, "lifetime", o->died - o->block.born);
			mz_json_i64(w, "freed_cpu", o->died_cpu);
		}
		mz_json_end_object(w);
	}
	mz_json_end_array(w);
}

static void matrix_json(struct mz_json *w, const char *key, const uint64_t *m, unsigned n)
{
	mz_json_array(w, key);
	for (unsigned a = 0; m && a < n; a++) {
		mz_json_array(w, NULL);
		for (unsigned f = 0; f < n; f++)
			mz_json_u64(w, NULL, m[(size_t)a * n + f]);
		mz_json_end_array(w);
	}
	mz_json_end_array(w);
}

static void finding_json(struct mz_json *w, const struct mz_kmem_report *r,
			 const struct mz_kmem_finding *f)
{
	char name[300];

	mz_json_object(w, NULL);
	mz_json_str(w, "class", mz_kmem_class_name(f->class));
	mz_json_str(w, "what", mz_kmem_what_name(f->what));
	mz_json_hex(w, "address", f->addr);
	mz_json_i64(w, "cpu", f->cpu);
	mz_json_u64(w, "from", f->from - r->first);
	mz_json_u64(w, "to", f->to - r->first);
	where_json(w, r, "where", f->site);
	where_json(w, r, "where2", f->site2);
	mz_json_str(w, "cache", mz_kmem_cache_text(r, f->cache, name, sizeof(name)));
	mz_json_str(w, "cache2", mz_kmem_cache_text(r, f->cache2, name, sizeof(name)));
	mz_json_end_object(w);
}

void kmem_json_findings(struct mz_json *w, const struct mz_kmem_report *r, size_t limit)
{
	size_t shown[MZ_KMEM_CLASSES] = {0};

	mz_json_object(w, "inconsistencies");
	for (int c = 0; c < MZ_KMEM_CLASSES; c++) {
		mz_json_object(w, mz_kmem_class_name(c));
		for (int k = 0; k < MZ_KMEM_WHATS; k++)
			if (r->counts[c][k])
				mz_json_u64(w, mz_kmem_what_name(k), r->counts[c][k]);
		mz_json_end_object(w);
	}
	mz_json_end_object(w);
	mz_json_array(w, "findings");
	for (size_t i = 0; i < r->nfindings; i++)
		if (!limit || shown[r->findings[i].class]++ < limit)
			finding_json(w, r, &r->findings[i]);
	mz_json_end_array(w);
}

static void loss_json(struct mz_json *w, const struct mz_kmem_report *r, size_t limit)
{
	lost_json_open(w, "lost", r->lost);
	mz_json_array(w, "intervals");
	for (size_t i = 0; i < r->ngaps && (!limit || i < limit); i++) {
		const struct mz_kmem_gap *g = &r->gaps[i];

		mz_json_object(w, NULL);
		if (g->cpu >= 0)
			mz_json_i64(w, "cpu", g->cpu);
		mz_json_str(w, "cause",
			    mz_loss_name(g->cause < MZ_LOSSES ? g->cause : MZ_LOSS_UNKNOWN));
		mz_json_u64(w, "events", g->events);
		mz_json_u64(w, "from", g->from > r->first ? g->from - r->first : 0);
		mz_json_u64(w, "to", g->to > r->first ? g->to - r->first : 0);
		mz_json_end_object(w);
	}
	mz_json_end_array(w);
	mz_json_end_object(w);
	mz_json_u64(w, "largest_block", r->largest);
	mz_json_bool(w, "bounded_by_loss", r->lost_all || mz_kmem_input_cut(r->in));
}

static void advice_json(struct mz_json *w, const struct mz_kmem_report *r, size_t limit)
{
	mz_json_array(w, "advice");
	for (size_t i = 0; i < r->nadvice && (!limit || i < limit); i++) {
		const struct mz_kmem_advice *a = &r->advice[i];

		mz_json_object(w, NULL);
		where_json(w, r, "where", a->site);
		mz_json_u64(w, "size", a->req);
		mz_json_u64(w, "given", a->given);
		mz_json_u64(w, "own_cache", a->own);
		mz_json_u64(w, "blocks", a->allocs);
		mz_json_u64(w, "highest_blocks", a->peak);
		mz_json_u64(w, "saves", a->saves);
		mz_json_end_object(w);
	}
	mz_json_end_array(w);
}

void kmem_json_summary(struct mz_json *w, const struct mz_kmem_report *r, size_t limit)
{
	const char *kernel = mz_kmem_input_text(r->in, "kernel");

	if (kernel)
		mz_json_str(w, "kernel", kernel);
	mz_json_str(w, "time_unit", mz_kmem_input_by_sequence(r->in) ? "event" : "ns");
	mz_json_u64(w, "events", r->events);
	loss_json(w, r, limit);
	early_end_json(w, mz_kmem_input_cut(r->in));
	mz_json_u64(w, "blocks", r->total.allocs);
	mz_json_u64(w, "peak_bytes", r->peak.bytes);
	mz_json_u64(w, "peak_blocks", r->peak.blocks);
	mz_json_u64(w, "peak_event", r->peak.event);
	mz_json_u64(w, "peak_time", r->peak.time);
	mz_json_u64(w, "waste_at_peak", r->peak.waste);
	common_sums(w, &r->total, NULL);
	mz_json_u64(w, "null_frees", mz_kmem_input_sum(r->in, "kmem.nulls"));
	mz_json_u64(w, "unknown_frees", r->unknown_frees);
	kernel_sums(w, &r->total, r->last, NULL);
	mz_json_u64(w, "duration", r->last - r->first);
	mz_json_u64(w, "own", mz_kmem_input_sum(r->in, "kmem.own"));
}

int kmem_report_json(const struct mz_kmem_report *r, enum kmem_sort sort, size_t limit)
{
	struct mz_buf b = {0};
	struct mz_json w = {.out = &b};

	mz_json_object(&w, NULL);
	mz_json_str(&w, "kind", mz_recording_kind_name(MZ_RECORDING_KERNEL));
	kmem_json_summary(&w, r, limit);
	kmem_live_json(&w, r, limit);
	sites_json(&w, r, sort, limit);
	rows_json(&w, r, true, sort, limit);
	ones_json(&w, r, limit);
	matrix_json(&w, "cpu_matrix", r->cpu_matrix, r->ncpus);
	matrix_json(&w, "node_matrix", r->node_matrix, r->nnodes);
	kmem_json_findings(&w, r, limit);
	advice_json(&w, r, limit);
	mz_json_end_object(&w);
	return console_put(&b, stdout) < 0 ? console_fail("out of memory") : MZ_EXIT_OK;
}
