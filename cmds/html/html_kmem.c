// SPDX-License-Identifier: BSD-2-Clause
/* Build the page model of a kernel trace: the groups of the report, and their timelines. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/kmem.h"
#include "analysis/usage.h"
#include "base/array.h"
#include "base/error.h"
#include "cmds/html/html.h"
#include "cmds/kernel/kmem.h"
#include "cmds/progress.h"
#include "symbols/kallsyms.h"
#include "trace/event.h"
#include "trace/live.h"

/* A call site (with its stack) and a cache that occur together. */
struct site_pair {
	uint32_t site, stack, cache;
};

struct pair_number {
	uint64_t key; /* pair + 1 */
	uint32_t number;
};

struct kmem {
	struct mz_kmem_input *in;
	struct mz_kmem_report r;
	struct mz_kmem_watch watch;
	struct progress *progress;
	struct mz_usage u; /* its sites are pairs, its threads CPUs, its sizes what was given */
	struct mz_history *history;
	struct mz_layout *layout;
	struct mz_u64_table numbers; /* struct pair_number */
	struct site_pair *pairs;
	uint32_t npairs;
	size_t cap_pairs;
	struct mz_tables *names;
	struct mz_flame caches, functions, places, stacks;
	bool has_stacks;
	struct mz_symbols *symbols; /* NULL = none that know files */
};

static void kmem_free(void *state)
{
	struct kmem *s = state;

	mz_flame_deinit(&s->caches);
	mz_flame_deinit(&s->functions);
	mz_flame_deinit(&s->places);
	mz_flame_deinit(&s->stacks);
	mz_symbols_close(s->symbols);
	mz_tables_free(s->names);
	mz_u64_table_deinit(&s->numbers);
	free(s->pairs);
	mz_layout_free(s->layout);
	mz_history_free(s->history);
	mz_usage_deinit(&s->u);
	mz_kmem_report_free(&s->r);
	free(s);
}

/* ---- blocks ---------------------------------------------------------------------- */

/* The number of a pair, from 1; 0 = no memory. */
static uint32_t pair_number(struct kmem *s, uint32_t site, uint32_t stack, uint32_t cache)
{
	/* a stack has one site */
	uint64_t key = (uint64_t)(stack ? 1u << 31 | stack : site) << 32 | cache;
	struct pair_number *known;
	bool fresh;

	known = mz_u64_table_insert(&s->numbers, key + 1, sizeof(*known), &fresh);
	if (!known || !fresh)
		return known ? known->number : 0;
	if (!mz_array_room((void **)&s->pairs, &s->cap_pairs, s->npairs, sizeof(*s->pairs)))
		return 0;
	s->pairs[s->npairs] = (struct site_pair){site, stack, cache};
	return known->number = ++s->npairs;
}

static int add(struct kmem *s, const struct mz_event *ev)
{
	struct mz_layout_step step;
	struct mz_event place = *ev;
	int ret = mz_usage_add(&s->u, ev);

	/* a page and the object in it are two blocks, which do not replace each other */
	place.addr = mz_event_key(ev, ev->addr);

	if (!(s->u.events & 1023))
		progress_show(s->progress, -1, s->u.events, "events");
	return ret < 0 ? ret : mz_layout_add(s->layout, &place, s->history->time.now, &step);
}

/* The report counts bytes given. So they are the size here, and what is given beyond the request
 * is the waste. */
static int came(void *arg, const struct mz_kmem_block *b, uint32_t stack)
{
	struct kmem *s = arg;
	struct mz_event ev = {
		.kind = MZ_ALLOC,
		.call = b->call,
		.addr = b->addr,
		.time = b->born,
		.size = b->given,
		.given = b->given + (uint64_t)(b->given > b->req ? b->given - b->req : 0),
		.site = pair_number(s, b->site, stack, b->cache),
		.tid = (uint32_t)(b->cpu + 1),
		.has = MZ_HAS_ADDR | MZ_HAS_TIME | MZ_HAS_GIVEN | MZ_HAS_SITE | MZ_HAS_TID,
	};

	return ev.site ? add(s, &ev) : -ENOMEM;
}

static int went(void *arg, const struct mz_kmem_block *b, const struct mz_event *e)
{
	struct mz_event ev = {
		.kind = MZ_FREE,
		.call = b->call, /* the allocator is what matters */
		.addr = b->addr,
		.time = e->time,
		.tid = e->has & MZ_HAS_CPU ? (uint32_t)(e->cpu + 1) : 0,
		.has = MZ_HAS_ADDR | MZ_HAS_TIME | MZ_HAS_TID,
	};

	return add(arg, &ev);
}

/* ---- trees ------------------------------------------------------------------------- */

static uint32_t intern(struct kmem *s, const char *text)
{
	return mz_tables_string(s->names, text, strlen(text));
}

/* Module and function of a call site, as names. */
static void place(struct kmem *s, uint32_t site, uint32_t path[3])
{
	uint64_t addr = site == UINT32_MAX ? 0 : mz_kmem_input_site(s->in, site), offset = 0;
	const struct mz_kallsyms *syms = mz_kmem_input_symbols(s->in);
	const char *module = NULL, *function = NULL;
	char text[300];

	if (addr && syms)
		function = mz_kallsyms_find(syms, addr, &offset, &module);
	kmem_site_text(&s->r, site, text, sizeof(text));
	path[0] = intern(s, module ? module : function ? "kernel" : "(unknown)");
	path[1] = intern(s, function ? function : text);
	path[2] = intern(s, text);
}

#define DEEP  16
#define DEPTH 256 /* frames of a stack that are drawn, the innermost ones */

/* The names of folder, file and function of a call site; how many. */
static size_t source(struct kmem *s, uint32_t site, uint32_t path[DEEP])
{
	uint64_t addr = site == UINT32_MAX ? 0 : mz_kmem_input_site(s->in, site);
	struct mz_symbol sym = {0};
	size_t n = 0;

	if (addr && mz_symbols_find(s->symbols, addr, &sym) && sym.home)
		n = mz_flame_split(s->names, sym.home, path, DEEP - 1);
	else
		path[n++] = intern(s, "(unknown)");
	if (sym.function)
		path[n++] = intern(s, sym.function);
	return n;
}

static int add_source(struct kmem *s, uint32_t site, const uint64_t *value)
{
	uint32_t path[DEEP];
	size_t n = source(s, site, path);

	return mz_flame_add(&s->places, path, n, value);
}

/* The function at an address of a stack. */
static uint32_t frame_name(struct kmem *s, uint64_t addr)
{
	const struct mz_kallsyms *syms = mz_kmem_input_symbols(s->in);
	const char *function, *module;
	struct mz_symbol sym = {0};
	uint64_t offset;
	char text[32];

	function = syms ? mz_kallsyms_find(syms, addr, &offset, &module) : NULL;
	if (!function && s->symbols && mz_symbols_find(s->symbols, addr, &sym))
		function = sym.function;
	if (!function) {
		snprintf(text, sizeof(text), "0x%llx", (unsigned long long)addr);
		function = text;
	}
	return intern(s, function);
}

/* Without its stack, a call site is a node by itself. */
static int add_stack(struct kmem *s, const struct site_pair *p, const uint64_t *value)
{
	uint32_t path[DEPTH];
	char text[300];
	size_t depth, n = 0, inner;
	const uint64_t *ips = mz_kmem_input_stack(s->in, p->stack, &depth);

	/* the call site is the leaf, as in the other trees: an allocator's own frames hide it */
	inner = ips ? mz_kallsyms_call_site(mz_kmem_input_symbols(s->in), ips, depth) : 0;
	s->has_stacks |= depth > inner + 1;
	if (depth <= inner + 1)
		path[n++] = intern(s, kmem_site_text(&s->r, p->site, text, sizeof(text)));
	else
		for (size_t i = depth < inner + DEPTH ? depth : inner + DEPTH; i-- > inner;)
			path[n++] = frame_name(s, ips[i]);
	return mz_flame_add(&s->stacks, path, n, value);
}

static int make_trees(struct kmem *s)
{
	for (uint32_t i = 0; i < s->npairs; i++) {
		const struct mz_heap_sum *sum = &s->u.sites[i + 1].sum;
		uint64_t value[MZ_FLAME_VALUES] = {sum->peak_bytes, sum->bytes, sum->live_bytes,
						   sum->temporary, sum->waste};
		uint32_t path[3], by_cache[2];
		char text[300];

		place(s, s->pairs[i].site, path);
		by_cache[0] =
			intern(s, mz_kmem_cache_text(&s->r, s->pairs[i].cache, text, sizeof(text)));
		by_cache[1] = path[2];
		if (mz_flame_add(&s->functions, path, 3, value) < 0 ||
		    mz_flame_add(&s->caches, by_cache, 2, value) < 0 ||
		    add_stack(s, &s->pairs[i], value) < 0 ||
		    (s->symbols && add_source(s, s->pairs[i].site, value) < 0))
			return -ENOMEM;
	}
	return 0;
}

/* ---- JSON --------------------------------------------------------------------------- */

/* Bytes at the peak, by site or by cache: the sums of the pairs. 0 = no memory. */
static uint64_t *at_peak(const struct kmem *s, bool caches)
{
	uint32_t n = caches ? s->r.ncaches : s->r.nsites;
	uint64_t *sum = calloc((size_t)n + 1, sizeof(*sum));

	for (uint32_t i = 0; sum && i < s->npairs; i++) {
		const struct mz_kmem_group *g = mz_kmem_cache_group(&s->r, s->pairs[i].cache);
		uint32_t at = caches ? (uint32_t)(g - s->r.caches) : s->pairs[i].site;

		if (at < n)
			sum[at] += s->u.sites[i + 1].sum.peak_bytes;
	}
	return sum;
}

static void group_json(struct mz_json *w, const struct mz_kmem_group *g, uint64_t peak)
{
	mz_json_u64(w, NULL, peak);
	mz_json_u64(w, NULL, g->allocs);
	mz_json_u64(w, NULL, g->given);
	mz_json_u64(w, NULL, g->given > g->req ? g->given - g->req : 0);
	mz_json_u64(w, NULL, g->live_given);
	mz_json_u64(w, NULL, g->peak_given);
	if (g->ended) {
		mz_json_u64(w, NULL, mz_kmem_lifetime(g, 0.5));
		mz_json_u64(w, NULL, mz_kmem_lifetime(g, 0.99));
	} else {
		mz_json_null(w, NULL);
		mz_json_null(w, NULL);
	}
	mz_json_u64(w, NULL, g->cross_cpu);
	mz_json_u64(w, NULL, g->failed);
}

static int groups_json(struct mz_json *w, const struct kmem *s, bool caches, size_t limit)
{
	const struct html_column columns[] = {
		{caches ? "cache" : "site", caches ? "Cache" : "Call site", "text"},
		{"at_peak", "At peak", "bytes"},
		{"allocations", "Allocations", "count"},
		{"allocated", "In all", "bytes"},
		{"wasted", "Wasted", "bytes"},
		{"live", "Never freed", "bytes"},
		{"peak", "Own peak", "bytes"},
		{"lifetime_median", "Median life", "time"},
		{"lifetime_99", "99 % life", "time"},
		{"cross_cpu", "Freed on another CPU", "count"},
		{"failed", "Failed", "count"},
	};
	uint64_t *peak = at_peak(s, caches);
	size_t n;
	struct kmem_row *rows = kmem_rows(&s->r, caches, KMEM_SORT_BYTES, &n);
	size_t shown = n < limit ? n : limit;

	html_json_table(w, caches ? "caches" : "sites", caches ? "Caches" : "Call sites", columns,
			sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; peak && rows && i < shown; i++) {
		const struct mz_kmem_group *g = rows[i].g;
		char name[300];

		mz_json_array(w, NULL);
		html_json_name(w, NULL,
			       caches ? mz_kmem_cache_text(&s->r, rows[i].id, name, sizeof(name))
				      : kmem_site_text(&s->r, rows[i].id, name, sizeof(name)));
		group_json(w, g, peak[g - (caches ? s->r.caches : s->r.sites)]);
		mz_json_end_array(w);
	}
	html_json_table_end(w, n, shown);
	n = peak && rows;
	free(rows);
	free(peak);
	return n ? 0 : -ENOMEM;
}

/* Which CPU frees the blocks of which. With many CPUs, neighbours share a row. */
static void matrix_json(struct mz_json *w, const struct kmem *s, unsigned most)
{
	unsigned n = s->r.ncpus, group = n ? (n + most - 1) / most : 1,
		 rows = (n + group - 1) / group;

	if (!s->r.cpu_matrix || !n)
		return;
	mz_json_object(w, "cpus");
	mz_json_u64(w, "count", n);
	mz_json_u64(w, "group", group);
	mz_json_array(w, "matrix");
	for (unsigned a = 0; a < rows; a++) {
		mz_json_array(w, NULL);
		for (unsigned f = 0; f < rows; f++) {
			uint64_t sum = 0;

			for (unsigned i = a * group; i < (a + 1) * group && i < n; i++)
				for (unsigned k = f * group; k < (f + 1) * group && k < n; k++)
					sum += s->r.cpu_matrix[(size_t)i * n + k];
			mz_json_u64(w, NULL, sum);
		}
		mz_json_end_array(w);
	}
	mz_json_end_array(w);
	mz_json_end_object(w);
}

static int kmem_json(const struct html_model *m, struct mz_json *w, const struct html_limits *l)
{
	const struct kmem *s = m->state;
	int ret = 0;

	mz_json_object(w, "summary");
	kmem_json_summary(w, &s->r, 64);
	mz_json_u64(w, "peak_at", s->u.peak_event ? s->u.peak_time - s->history->time.first : 0);
	mz_json_u64(w, "temporary_blocks", s->u.all.sum.temporary);
	mz_json_end_object(w);
	mz_json_str(w, "clock", mz_kmem_input_by_sequence(s->in) ? "event" : "ns");
	mz_json_bool(w, "knows_waste", true);
	html_json_curve(w, &s->history->time, l);
	html_json_histogram(w, "sizes", &s->history->sizes);
	html_json_histogram(w, "ages", &s->history->ages);
	html_json_places(w, s->history, s->layout, l);
	matrix_json(w, s, l->cells);
	kmem_json_findings(w, &s->r, 50);
	mz_json_object(w, "flames");
	if (s->has_stacks)
		ret = html_json_flame(w, "stack", "Call stack", &s->stacks, html_values, l);
	if (!ret)
		ret = html_json_flame(w, "cache", "Cache, call site", &s->caches, html_values, l);
	if (!ret)
		ret = html_json_flame(w, "place", "Module, function, call site", &s->functions,
				      html_values, l);
	if (!ret && s->symbols)
		ret = html_json_flame(w, "source", "Directory, file, function", &s->places,
				      html_values, l);
	mz_json_end_object(w);
	mz_json_object(w, "tables");
	if (!ret)
		ret = groups_json(w, s, false, l->rows);
	if (!ret)
		ret = groups_json(w, s, true, l->rows);
	mz_json_end_object(w);
	return ret;
}

/* Names of files need a vmlinux with DWARF; without one there is nothing to gain. */
static int open_symbols(struct kmem *s, struct mz_recording *r, struct mz_error *err)
{
	int ret = mz_recording_symbols(r, &s->symbols, err);

	if (!ret && s->symbols && !mz_symbols_has_lines(s->symbols)) {
		mz_symbols_close(s->symbols);
		s->symbols = NULL;
	}
	return ret;
}

int html_kmem_open(struct html_model *m, struct mz_error *err)
{
	struct kmem *s = html_state(m, sizeof(*s), kmem_json, kmem_free, err);
	struct mz_kmem_filter filter = {.ones = 1};
	int ret;

	if (!s)
		return -ENOMEM;
	ret = open_symbols(s, &m->recording, err);
	if (ret < 0)
		return ret;
	s->in = mz_recording_kmem(&m->recording, err);
	if (!s->in)
		return mz_error_code(err);
	s->history = mz_history_new();
	s->layout = mz_layout_new();
	s->names = mz_tables_new();
	if (!s->history || !s->layout || !s->names || mz_usage_init(&s->u) < 0 ||
	    mz_u64_table_init(&s->numbers, sizeof(struct pair_number)) < 0 ||
	    mz_flame_init(&s->caches, s->names) < 0 || mz_flame_init(&s->functions, s->names) < 0 ||
	    mz_flame_init(&s->places, s->names) < 0 || mz_flame_init(&s->stacks, s->names) < 0 ||
	    mz_kmem_input_keep_stacks(s->in) < 0)
		return mz_fail_memory(err);
	s->u.history = s->history;
	s->watch = (struct mz_kmem_watch){came, went, s};
	s->progress = &m->progress;
	filter.watch = &s->watch;
	ret = mz_kmem_report_make(&s->r, s->in, &filter, err);
	if (ret < 0)
		return ret;
	mz_usage_end(&s->u);
	mz_heatmap_end(&s->history->space, s->history->time.now - s->history->time.first);
	return make_trees(s) < 0 ? mz_fail_memory(err) : 0;
}
