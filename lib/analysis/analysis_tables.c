// SPDX-License-Identifier: BSD-2-Clause
/* Answer questions about a recording with events or sums: call sites, stacks, pools, time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/call_sites.h"
#include "base/error.h"
#include "trace/stack_share.h"

/* ---- sums ----------------------------------------------------------------------------- */

#define LIVE                                                                                       \
	{"live_blocks", "blocks never freed", MZ_RESULT_COUNT},                                    \
	{                                                                                          \
		"live_bytes", "never freed", MZ_RESULT_BYTES                                       \
	}
/* The columns that all sums have, in the order of fill_sum(). */
#define SUMS                                                                                       \
	{"blocks", "blocks", MZ_RESULT_COUNT}, {"bytes", "bytes", MZ_RESULT_BYTES},                \
		{"at_peak", "at the peak", MZ_RESULT_BYTES}, LIVE,                                 \
		{"temporary", "temporary", MZ_RESULT_COUNT},                                       \
	{                                                                                          \
		"waste", "waste", MZ_RESULT_BYTES                                                  \
	}

static void fill_sum(union mz_result_cell *c, const struct mz_heap_sum *s)
{
	c[0].number = s->blocks;
	c[1].number = s->bytes;
	c[2].number = s->peak_bytes;
	c[3].number = s->live_blocks;
	c[4].number = s->live_bytes;
	c[5].number = s->temporary;
	c[6].number = s->waste;
}

/* A row of numbers only; the table remembers if there was no memory for it. */
static void add_numbers(struct mz_result_table *t, const uint64_t *v, size_t n)
{
	union mz_result_cell *row = mz_result_row(t);

	for (size_t i = 0; row && i < n; i++)
		row[i].number = v[i];
}
#define ADD_NUMBERS(t, ...)                                                                        \
	add_numbers(t, (const uint64_t[]){__VA_ARGS__},                                            \
		    sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* Of the live blocks, those that a suppression matches; behind the sums. */
#define SUPPRESSED                                                                                 \
	{"suppressed_blocks", "blocks suppressed", MZ_RESULT_COUNT},                               \
	{                                                                                          \
		"suppressed_bytes", "suppressed", MZ_RESULT_BYTES                                  \
	}

static const struct mz_result_column site_columns[] = {
	{"where", "call site", MZ_RESULT_TEXT},
	{"caller", "called by", MZ_RESULT_TEXT},
	{"ip", "address", MZ_RESULT_COUNT},
	SUMS,
	SUPPRESSED,
};
static const struct mz_result_column function_columns[] = {
	{"where", "function", MZ_RESULT_TEXT}, SUMS, SUPPRESSED};
static const struct mz_result_column file_columns[] = {
	{"where", "file", MZ_RESULT_TEXT}, SUMS, SUPPRESSED};
static const struct mz_result_column module_columns[] = {
	{"where", "module", MZ_RESULT_TEXT}, SUMS, SUPPRESSED};
static const struct mz_result_column thread_columns[] = {{"where", "thread", MZ_RESULT_TEXT}, SUMS};

static const struct mz_result_column stack_columns[] = {
	{"where", "call site", MZ_RESULT_TEXT},
	{"stack", "stack", MZ_RESULT_COUNT},
	SUMS,
};

static const struct mz_result_column suppressed_columns[] = {
	{"where", "call site", MZ_RESULT_TEXT},
	{"rule", "rule", MZ_RESULT_TEXT},
	{"stack", "stack", MZ_RESULT_COUNT},
	LIVE,
};

static const struct mz_result_column pool_columns[] = {
	{"name", "pool", MZ_RESULT_TEXT},
	SUMS,
};

#define INIT(t, key, title, columns)                                                               \
	mz_result_init(t, key, title, columns, sizeof(columns) / sizeof(*(columns)))

/* The first of the columns of a sum. */
static size_t sums_at(const struct mz_result_table *t)
{
	return (size_t)mz_result_find(t, "blocks");
}

static void sort_sums(struct mz_result_table *t)
{
	mz_result_sort(t, (size_t)mz_result_find(t, "at_peak"));
}

static void add_stackless(struct mz_result_table *t, const struct mz_heap_sum *sum)
{
	union mz_result_cell *row = mz_result_row(t);

	if (!row)
		return;
	mz_result_text(t, &row[0], "(no stack)");
	if (mz_result_type_of(t, 1) == MZ_RESULT_TEXT)
		mz_result_text(t, &row[1], "");
	fill_sum(row + sums_at(t), sum);
}

/* Suppressed blocks are live, too, so that the sums agree with the totals. */
static void add_site(struct mz_result_table *t, const struct mz_call_site *s)
{
	struct mz_heap_sum sum = s->sum;
	union mz_result_cell *row = mz_result_row(t);
	int suppressed = mz_result_find(t, "suppressed_blocks");

	if (!row)
		return;
	mz_result_text(t, &row[0], s->where);
	if (mz_result_find(t, "caller") == 1) {
		mz_result_text(t, &row[1], s->caller ? s->caller : "");
		row[2].number = s->ip;
	}
	sum.live_blocks += s->suppressed_blocks;
	sum.live_bytes += s->suppressed_bytes;
	fill_sum(row + sums_at(t), &sum);
	if (suppressed >= 0) {
		row[suppressed].number = s->suppressed_blocks;
		row[suppressed + 1].number = s->suppressed_bytes;
	}
}

static enum mz_call_by init_sites(struct mz_result_table *t, enum mz_question q)
{
	switch (q) {
	case MZ_ASK_FUNCTIONS:
		INIT(t, "functions", "functions", function_columns);
		return MZ_BY_FUNCTION;
	case MZ_ASK_FILES: INIT(t, "files", "files", file_columns); return MZ_BY_FILE;
	case MZ_ASK_MODULES: INIT(t, "modules", "modules", module_columns); return MZ_BY_MODULE;
	case MZ_ASK_THREADS: INIT(t, "threads", "threads", thread_columns); return MZ_BY_THREAD;
	default: INIT(t, "sites", "call sites", site_columns); return MZ_BY_SITE;
	}
}

/* Call sites are computed on request: naming them loads debugging information, which other
 * questions do not need. */
static int ask_sites(struct mz_analysis *a, enum mz_question q, struct mz_result_table *t)
{
	struct mz_call_lookup l = mz_call_lookup_events(a->events);
	struct mz_call_options o = {.by = init_sites(t, q),
				    .suppressions = a->suppressions.n ? &a->suppressions : NULL};
	struct mz_call_sites sites = {0};
	int ret = mz_call_sites_add(&sites, &a->usage, &l, &o);

	for (size_t i = 0; !ret && i < sites.count && !t->failed; i++)
		add_site(t, &sites.list[i]);
	mz_call_sites_free(&sites);
	/* as for stacks: the sums agree with the totals */
	if (o.by != MZ_BY_THREAD && a->usage.sites_cap && a->usage.sites[0].sum.blocks)
		add_stackless(t, &a->usage.sites[0].sum);
	sort_sums(t);
	return ret < 0 ? mz_fail_memory(&a->error) : 0;
}

/* Stack 0 stands for allocations without a stack; it is a row, so that the sums agree with the
 * totals. */
static int ask_stacks(struct mz_analysis *a, struct mz_result_table *t)
{
	struct mz_call_lookup l = mz_call_lookup_events(a->events);
	const struct mz_usage *u = &a->usage;

	INIT(t, "stacks", "call stacks", stack_columns);
	for (uint32_t i = 0; i < u->sites_cap && !t->failed; i++) {
		union mz_result_cell *row = u->sites[i].sum.blocks ? mz_result_row(t) : NULL;
		const uint64_t *ips;
		size_t depth = 0;
		char *where;

		if (!row)
			continue;
		ips = i ? l.stack(&l, i, &depth) : NULL;
		where = depth ? mz_call_describe(&l, ips, depth, NULL) : NULL;
		mz_result_text(t, &row[0], where ? where : "");
		free(where);
		row[1].number = i;
		fill_sum(row + 2, &u->sites[i].sum);
	}
	sort_sums(t);
	return 0;
}

static void add_suppressed(struct mz_result_table *t, const struct mz_call_lookup *l,
			   uint32_t stack, const char *rule, const struct mz_heap_sum *sum)
{
	union mz_result_cell *row = mz_result_row(t);
	size_t depth = 0;
	const uint64_t *ips = l->stack(l, stack, &depth);
	char *where = mz_call_describe(l, ips, depth, NULL);

	if (row) {
		mz_result_text(t, &row[0], where ? where : "");
		mz_result_text(t, &row[1], rule);
		row[2].number = stack;
		row[3].number = sum->live_blocks;
		row[4].number = sum->live_bytes;
	}
	free(where);
}

/* Each stack by itself, since a call site may have others, too. */
static int ask_suppressed(struct mz_analysis *a, struct mz_result_table *t)
{
	struct mz_call_lookup l = mz_call_lookup_events(a->events);
	const struct mz_usage *u = &a->usage;

	INIT(t, "suppressed", "blocks never freed on purpose", suppressed_columns);
	/* without rules, no names are looked up */
	for (uint32_t i = 1; i < u->sites_cap && a->suppressions.n && !t->failed; i++) {
		const struct mz_heap_sum *sum = &u->sites[i].sum;
		size_t depth = 0;
		const uint64_t *ips = sum->live_blocks ? l.stack(&l, i, &depth) : NULL;
		const char *rule =
			depth ? mz_call_suppressed_by(&l, &a->suppressions, ips, depth) : NULL;

		if (rule)
			add_suppressed(t, &l, i, rule, sum);
	}
	mz_result_sort(t, 4);
	return 0;
}

/* Names of pools come from the program under test, and those of caches from kernel modules. */
static int ask_pools(struct mz_analysis *a, struct mz_result_table *t)
{
	const struct mz_usage *u = &a->usage;

	INIT(t, "pools", "pools and caches", pool_columns);
	for (uint32_t i = 1; i < u->caches_cap && !t->failed; i++) {
		union mz_result_cell *row = u->caches[i].sum.blocks ? mz_result_row(t) : NULL;
		char name[512];
		const char *s;
		size_t len = 0;

		if (!row)
			continue;
		s = mz_events_string(a->events, i, &len);
		mz_result_text(t, &row[0], mz_printable(name, sizeof(name), s ? s : "", len));
		fill_sum(row + 1, &u->caches[i].sum);
	}
	sort_sums(t);
	return 0;
}

/* A file of sums: one row for each of its stacks; `stack` counts them. */
static int ask_profile(struct mz_analysis *a, enum mz_question q, struct mz_result_table *t)
{
	const struct mz_profile *p = mz_recording_profile(&a->recording, &a->error);
	bool sites = q == MZ_ASK_SITES;

	if (!p)
		return -a->error.code;
	if (sites)
		INIT(t, "sites", "call sites", site_columns);
	else
		INIT(t, "stacks", "call stacks", stack_columns);
	for (size_t i = 0; i < p->nsites && !t->failed; i++) {
		size_t depth, place = mz_profile_place(p, &p->sites[i]);
		const uint64_t *frames = mz_profile_stack(p, &p->sites[i], &depth);
		struct mz_frame f = mz_profile_get_frame(p, (uint32_t)frames[place]);
		union mz_result_cell *row = mz_result_row(t);

		if (!row)
			break;
		mz_result_text(t, &row[0], f.name);
		if (sites) {
			mz_result_text(t, &row[1], "");
			row[2].number = f.addr;
		} else {
			row[1].number = p->sites[i].stack;
		}
		fill_sum(row + sums_at(t), &p->sites[i].sum);
	}
	sort_sums(t);
	return 0;
}

/* ---- time ----------------------------------------------------------------------------- */

static int ask_timeline(struct mz_analysis *a, struct mz_result_table *t)
{
	static const struct mz_result_column columns[] = {
		{"time", "from", MZ_RESULT_COUNT},
		{"live_bytes", "live at the end", MZ_RESULT_BYTES},
		{"high_bytes", "most", MZ_RESULT_BYTES},
		{"blocks", "blocks at the end", MZ_RESULT_COUNT},
	};
	const struct mz_timeline *c = &a->history->time;

	INIT(t, "timeline", "live bytes over time", columns);
	for (unsigned i = 0; i < c->used; i++)
		ADD_NUMBERS(t, c->first + i * c->width, c->bins[i].live, c->bins[i].high,
			    c->bins[i].blocks);
	return 0;
}

static int ask_histogram(const struct mz_histogram *h, bool bytes, struct mz_result_table *t)
{
	static const struct mz_result_column ages[] = {
		{"from", "from", MZ_RESULT_COUNT},
		{"blocks", "blocks", MZ_RESULT_COUNT},
	};
	static const struct mz_result_column sizes[] = {
		{"from", "from", MZ_RESULT_BYTES},
		{"blocks", "blocks", MZ_RESULT_COUNT},
	};

	if (bytes)
		INIT(t, "sizes", "blocks by size", sizes);
	else
		INIT(t, "lifetimes", "ended blocks by age", ages);
	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t n = mz_histogram_doubling(h, bit);

		if (n)
			ADD_NUMBERS(t, bit ? 1ull << bit : 0, n);
	}
	return 0;
}

/* The share of the pages in use that no live block covers. */
static int ask_layout(struct mz_analysis *a, struct mz_result_table *t)
{
	static const struct mz_result_column columns[] = {
		{"event", "event", MZ_RESULT_COUNT},
		{"live_bytes", "live", MZ_RESULT_BYTES},
		{"pages", "pages", MZ_RESULT_COUNT},
		{"fragmentation", "not covered", MZ_RESULT_SHARE},
	};
	const struct mz_layout *l = a->layout;

	INIT(t, "layout", "pages in use over time", columns);
	for (unsigned i = 0; i < l->time.used; i++) {
		union mz_result_cell *row = mz_result_row(t);

		if (!row)
			break;
		row[0].number = l->time.bins[i].at;
		row[1].number = l->time.bins[i].live;
		row[2].number = l->time.bins[i].pages;
		row[3].share = mz_layout_fragmentation(l->time.bins[i].live, l->time.bins[i].pages);
	}
	return 0;
}

/* Causes that did not occur have no row: an empty table means that nothing was lost. */
static int ask_loss(const uint64_t lost[MZ_LOSSES], struct mz_result_table *t)
{
	static const struct mz_result_column columns[] = {
		{"cause", "cause", MZ_RESULT_TEXT},
		{"events", "events lost", MZ_RESULT_COUNT},
	};

	INIT(t, "loss", "events lost", columns);
	for (unsigned i = 0; i < MZ_LOSSES; i++) {
		union mz_result_cell *row = lost[i] ? mz_result_row(t) : NULL;

		if (!row)
			continue;
		mz_result_text(t, &row[0], mz_loss_name(i));
		row[1].number = lost[i];
	}
	return 0;
}

/* The counts are the recorder's, of a recording in one file. Only the blocks without a stack are
 * ours: it does not count them. */
static int ask_stack_quality(struct mz_analysis *a, struct mz_result_table *t)
{
	static const struct mz_result_column columns[] = {
		{"blocks", "with a stack", MZ_RESULT_COUNT},
		{"rooted", "down to the start", MZ_RESULT_COUNT},
		{"cut", "deeper than the limit", MZ_RESULT_COUNT},
		{"guessed", "with a guessed frame", MZ_RESULT_COUNT},
		{"without", "without a stack", MZ_RESULT_COUNT}};
	const struct mz_reader *r = mz_events_reader(a->events);
	struct mz_stack_share s;

	INIT(t, "stack_quality", "how far the call stacks reach", columns);
	if (r && mz_stack_share_read(r, &s))
		ADD_NUMBERS(t, s.blocks, s.rooted, s.cut, s.guessed,
			    a->usage.sites_cap ? a->usage.sites[0].sum.blocks : 0);
	return 0;
}

/* ---- all ------------------------------------------------------------------------------- */

/* A file of sums answers what it contains. */
static int ask_sums(struct mz_analysis *a, enum mz_question q, struct mz_result_table *t)
{
	const struct mz_profile *p;

	if (q == MZ_ASK_SITES || q == MZ_ASK_STACKS)
		return ask_profile(a, q, t);
	if (q != MZ_ASK_LOSS)
		return mz_fail(&a->error, ENODATA, "%s: '%s' needs events, but it has only sums",
			       a->paths[0], mz_question_name(q));
	p = mz_recording_profile(&a->recording, &a->error);
	return p ? ask_loss(p->lost_by, t) : -a->error.code;
}

/* What must have been kept for a question; 0 = nothing. */
static uint32_t need_of(enum mz_question q)
{
	switch (q) {
	case MZ_ASK_TIMELINE:
	case MZ_ASK_LIFETIMES:
	case MZ_ASK_SIZES: return MZ_WANT_TIMELINE;
	case MZ_ASK_LAYOUT: return MZ_WANT_LAYOUT;
	case MZ_ASK_THREADS: return MZ_WANT_THREADS;
	case MZ_ASK_LOSS: return 0;
	default: return MZ_WANT_SUMS;
	}
}

/* The caller did not request this when it opened the recording; the message names the missing
 * flag. */
static int not_kept(struct mz_analysis *a, enum mz_question q, uint32_t need)
{
	static const char *const flags[] = {"SUMS", "TIMELINE", "LAYOUT", "THREADS"};

	return mz_fail(&a->error, ENODATA, "%s: '%s' needs MZ_WANT_%s, which was not requested",
		       a->paths[0], mz_question_name(q), flags[__builtin_ctz(need)]);
}

int mz_analysis_table(struct mz_analysis *a, enum mz_question q, struct mz_result_table *t)
{
	uint32_t need = need_of(q);
	int ret;

	if (!a->events)
		return ask_sums(a, q, t);
	if (need & ~a->o.want)
		return not_kept(a, q, need);
	ret = mz_analysis_run(a);
	if (ret < 0)
		return ret;
	switch (q) {
	case MZ_ASK_STACKS: return ask_stacks(a, t);
	case MZ_ASK_POOLS: return ask_pools(a, t);
	case MZ_ASK_TIMELINE: return ask_timeline(a, t);
	case MZ_ASK_LIFETIMES: return ask_histogram(&a->history->ages, false, t);
	case MZ_ASK_SIZES: return ask_histogram(&a->history->sizes, true, t);
	case MZ_ASK_LAYOUT: return ask_layout(a, t);
	case MZ_ASK_LOSS: return ask_loss(a->lost, t);
	case MZ_ASK_SUPPRESSED: return ask_suppressed(a, t);
	case MZ_ASK_STACK_QUALITY: return ask_stack_quality(a, t);
	default: return ask_sites(a, q, t);
	}
}
