// SPDX-License-Identifier: BSD-2-Clause
/* Build the page model of a user program's trace. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/call_sites.h"
#include "base/array.h"
#include "base/beside.h"
#include "base/error.h"
#include "base/readahead.h"
#include "cmds/html/html.h"
#include "cmds/progress.h"
#include "cmds/report/report.h"
#include "trace/early_end.h"
#include "trace/reader.h"
#include "trace/sampled.h"

#define DEPTH 1024 /* frames of a stack that are drawn, the innermost ones */
#define GAPS  64   /* places of loss that are marked */
#define AHEAD 128  /* batches that are counted before the layout has them */

struct gap {
	uint64_t from, to, events, cause;
};

struct ip_name {
	uint64_t ip;
	uint32_t name;
};

struct user_model {
	struct mz_reader *in;
	struct mz_usage u;
	struct mz_history *history;
	struct mz_layout *layout; /* NULL = no addresses, or not of all blocks */
	struct mz_sampled sampling;
	bool sampled;
	struct mz_symbols *symbols;
	struct mz_call_sites sites;
	struct mz_tables *names;
	struct mz_u64_table by_ip; /* struct ip_name */
	struct mz_flame stacks, places;
	struct gap gaps[GAPS];
	unsigned ngaps;
};

static void user_free(void *state)
{
	struct user_model *s = state;

	mz_flame_deinit(&s->stacks);
	mz_flame_deinit(&s->places);
	mz_u64_table_deinit(&s->by_ip);
	mz_tables_free(s->names);
	mz_call_sites_free(&s->sites);
	mz_symbols_close(s->symbols);
	mz_layout_free(s->layout);
	mz_history_free(s->history);
	mz_usage_deinit(&s->u);
	free(s);
}

/* ---- reading ------------------------------------------------------------------ */

static void add_gap(struct user_model *s, const struct mz_event *ev)
{
	uint64_t now = ev->has & MZ_HAS_TIME ? ev->time : s->u.events;

	if (s->ngaps == GAPS) { /* further losses are added to the last one */
		s->gaps[GAPS - 1].to = now;
		s->gaps[GAPS - 1].events += ev->size;
		return;
	}
	s->gaps[s->ngaps++] =
		(struct gap){ev->has & MZ_HAS_TIME && ev->given < now ? now - ev->given : now, now,
			     ev->size, ev->arg};
}

/* What the layout needs of an event, and its clock. */
struct move {
	uint64_t now, addr, old_addr, size;
	uint8_t kind, call;
};

/* A batch of events that were counted. The sums and the layout are independent of each other: a
 * thread reads and counts, and the layout follows some batches behind. */
struct counted {
	struct move moves[MZ_BATCH];
	unsigned n_moves;
	long n;	 /* as from the reader */
	int ret; /* of counting */
};

struct layout_pass {
	struct user_model *s;
	struct mz_event ev[MZ_BATCH];
	struct counted batch[AHEAD];
};

static struct move move_of(const struct mz_event *ev, uint64_t now)
{
	return (struct move){now, ev->addr, ev->old_addr, ev->size, ev->kind, ev->call};
}

static bool count_batch(void *arg, unsigned i)
{
	struct layout_pass *p = arg;
	struct user_model *s = p->s;
	struct counted *c = &p->batch[i];

	c->n = mz_reader_read_raw(s->in, p->ev, MZ_BATCH);
	mz_reader_forget_unknown(s->in, p->ev, c->n);
	c->ret = 0;
	c->n_moves = 0;
	for (long k = 0; k < c->n && !c->ret; k++) {
		const struct mz_event *ev = &p->ev[k];

		c->ret = mz_usage_add(&s->u, ev);
		if (ev->kind == MZ_LOST)
			add_gap(s, ev);
		if (ev->has & MZ_HAS_ADDR && !s->sampled)
			c->moves[c->n_moves++] = move_of(ev, s->history->time.now);
	}
	return c->n > 0 && !c->ret;
}

static int lay_out(struct user_model *s, const struct counted *c)
{
	struct mz_event ev = {.has = MZ_HAS_ADDR};
	struct mz_layout_step step;
	int ret = c->ret;

	if (c->n_moves && !s->layout && !(s->layout = mz_layout_new()))
		return -ENOMEM;
	for (unsigned k = 0; k < c->n_moves && !ret; k++) {
		const struct move *m = &c->moves[k];

		ev.kind = m->kind;
		ev.call = m->call;
		ev.addr = m->addr;
		ev.old_addr = m->old_addr;
		ev.size = m->size;
		ret = mz_layout_add(s->layout, &ev, m->now, &step);
	}
	return ret;
}

static int read_all(struct user_model *s, struct progress *p, struct mz_error *err)
{
	struct mz_summary whole = {.size = sizeof(whole)};
	struct layout_pass *pass = calloc(1, sizeof(*pass));
	struct mz_readahead *ahead;
	uint64_t events = 0;
	int ret = 0;
	long n = 0;

	if (mz_reader_summary(s->in, &whole) < 0)
		whole.events = 0; /* how many it has is not known before the end */
	/* the usage knows blocks by their addresses: a second table of them is not needed */
	s->in->unnamed = true;
	s->in->beside = true;
	if (pass)
		pass->s = s;
	ahead = pass ? mz_readahead_new(count_batch, pass, AHEAD, mz_beside_possible()) : NULL;
	ret = ahead ? 0 : -ENOMEM;
	while (!ret) {
		const struct counted *c = &pass->batch[mz_readahead_next(ahead)];

		n = c->n;
		ret = lay_out(s, c);
		if (n <= 0)
			break;
		events += (uint64_t)n;
		progress_show(p, whole.events ? (double)events / (double)whole.events : -1, events,
			      "events");
	}
	mz_readahead_free(ahead);
	free(pass);
	if (ret < 0)
		return mz_fail_memory(err);
	if (n < 0) {
		*err = *mz_reader_error(s->in);
		return (int)n;
	}
	mz_usage_end(&s->u);
	mz_heatmap_end(&s->history->space, s->history->time.now - s->history->time.first);
	return 0;
}

/* ---- trees --------------------------------------------------------------------- */

static uint32_t intern(struct user_model *s, const char *text)
{
	return mz_tables_string(s->names, text, strlen(text));
}

/* The name of a frame; 0 = no memory. */
static uint32_t frame_name(struct user_model *s, uint64_t ip)
{
	struct ip_name *known;
	struct mz_symbol sym = {0};
	bool fresh;
	char text[300];

	known = mz_u64_table_insert(&s->by_ip, ip ? ip : 1, sizeof(*known), &fresh);
	if (!known || !fresh)
		return known ? known->name : 0;
	mz_symbols_find(s->symbols, ip, &sym);
	if (sym.function)
		known->name = intern(s, sym.function);
	else {
		if (sym.module)
			snprintf(text, sizeof(text), "%.200s+0x%llx", sym.module,
				 (unsigned long long)sym.offset);
		else
			snprintf(text, sizeof(text), "0x%llx", (unsigned long long)ip);
		known->name = intern(s, text);
	}
	return known->name;
}

static void values_of(const struct mz_heap_sum *sum, uint64_t *value)
{
	value[MZ_FLAME_PEAK] = sum->peak_bytes;
	value[MZ_FLAME_TOTAL] = sum->bytes;
	value[MZ_FLAME_NEVER_FREED] = sum->live_bytes;
	value[MZ_FLAME_TEMPORARY] = sum->temporary;
	value[MZ_FLAME_WASTED] = sum->waste;
}

static int add_stack(struct user_model *s, uint32_t site)
{
	size_t depth = 0, n = 0;
	const uint64_t *ips = mz_tables_get_stack(mz_reader_tables(s->in), site, &depth);
	uint64_t value[MZ_FLAME_VALUES];
	uint32_t path[DEPTH];

	values_of(&s->u.sites[site].sum, value);
	if (!ips || !depth) {
		path[n++] = intern(s, "(no stack)");
		/* these blocks have no call site: both graphs must have all blocks */
		if (mz_flame_add(&s->places, path, n, value) < 0)
			return -ENOMEM;
	} else if (depth > DEPTH) {
		depth = DEPTH;
	}
	for (size_t i = depth; ips && i-- > 0;)
		path[n++] = frame_name(s, ips[i]);
	return mz_flame_add(&s->stacks, path, n, value);
}

/* "/usr/src/a/b.c" as usr, src, a, b.c, and then the function. */
static int add_place(struct user_model *s, const struct mz_call_site *site)
{
	uint64_t value[MZ_FLAME_VALUES];
	uint32_t path[64];
	size_t n = 0;

	if (site->file)
		n = mz_flame_split(s->names, site->file, path, 62);
	if (!n)
		path[n++] = intern(s, site->module ? site->module : "(unknown)");
	path[n++] = site->function ? intern(s, site->function) : frame_name(s, site->ip);
	values_of(&site->sum, value);
	return mz_flame_add(&s->places, path, n, value);
}

static int make_trees(struct user_model *s)
{
	int ret = 0;

	if (!(s->u.fields & MZ_HAS_SITE))
		return 0;
	s->symbols = mz_symbols_open(s->in);
	if (!s->symbols || mz_call_sites_of_reader(&s->sites, &s->u, mz_reader_tables(s->in),
						   s->symbols, NULL) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->u.sites_cap && !ret; i++)
		if (s->u.sites[i].sum.blocks)
			ret = add_stack(s, i);
	for (size_t i = 0; i < s->sites.count && !ret; i++)
		ret = add_place(s, &s->sites.list[i]);
	return ret;
}

/* ---- JSON ----------------------------------------------------------------------- */

static void loss_json(struct mz_json *w, const struct user_model *s)
{
	uint64_t first = s->history->time.first;

	mz_json_array(w, "gaps");
	for (unsigned i = 0; i < s->ngaps; i++) {
		const struct gap *g = &s->gaps[i];

		mz_json_object(w, NULL);
		mz_json_u64(w, "from", g->from > first ? g->from - first : 0);
		mz_json_u64(w, "to", g->to > first ? g->to - first : 0);
		mz_json_u64(w, "events", g->events);
		mz_json_str(w, "cause",
			    mz_loss_name(g->cause < MZ_LOSSES ? g->cause : MZ_LOSS_UNKNOWN));
		mz_json_end_object(w);
	}
	mz_json_end_array(w);
}

static const struct mz_call_site **by_bytes(const struct mz_call_sites *s);

static void sites_json(struct mz_json *w, const struct user_model *s, const struct html_limits *l)
{
	static const struct html_column columns[] = {
		{"where", "Call site", "text"},
		{"caller", "Called from", "text"},
		{"at_peak", "At peak", "bytes"},
		{"bytes", "In all", "bytes"},
		{"blocks", "Blocks", "count"},
		{"never_freed", "Never freed", "bytes"},
		{"temporary", "Temporary blocks", "count"},
		{"waste", "Wasted", "bytes"},
	};
	const struct mz_call_site **list = by_bytes(&s->sites);
	size_t n = s->sites.count < l->rows ? s->sites.count : l->rows;

	html_json_table(w, "sites", "Call sites", columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; list && i < n; i++) {
		mz_json_array(w, NULL);
		html_json_name(w, NULL, list[i]->where);
		html_json_name(w, NULL, list[i]->caller ? list[i]->caller : "");
		mz_json_u64(w, NULL, list[i]->sum.peak_bytes);
		mz_json_u64(w, NULL, list[i]->sum.bytes);
		mz_json_u64(w, NULL, list[i]->sum.blocks);
		mz_json_u64(w, NULL, list[i]->sum.live_bytes);
		mz_json_u64(w, NULL, list[i]->sum.temporary);
		mz_json_u64(w, NULL, list[i]->sum.waste);
		mz_json_end_array(w);
	}
	html_json_table_end(w, s->sites.count, list ? n : 0);
	free(list);
}

/* The order of the call sites: those that matter most for any of the views come first. */
static uint64_t weight(const struct mz_call_site *s)
{
	uint64_t most =
		s->sum.peak_bytes > s->sum.live_bytes ? s->sum.peak_bytes : s->sum.live_bytes;

	return most > s->sum.bytes / 8 ? most : s->sum.bytes / 8;
}

static int heavier_first(const void *a, const void *b)
{
	const struct mz_call_site *x = *(const struct mz_call_site *const *)a;
	const struct mz_call_site *y = *(const struct mz_call_site *const *)b;

	return MZ_ORDER(weight(y), weight(x)) ?: MZ_ORDER(x, y);
}

static const struct mz_call_site **by_bytes(const struct mz_call_sites *s)
{
	const struct mz_call_site **list = malloc((s->count + 1) * sizeof(*list));

	for (size_t i = 0; list && i < s->count; i++)
		list[i] = &s->list[i];
	if (list)
		qsort(list, s->count, sizeof(*list), heavier_first);
	return list;
}

static int user_json(const struct html_model *m, struct mz_json *w, const struct html_limits *l)
{
	const struct user_model *s = m->state;
	const struct mz_attr *command = mz_reader_find_attr(s->in, "command");
	const struct mz_attr *step = mz_reader_find_attr(s->in, "resolution");
	struct mz_stack_share stacks;
	int ret = 0;

	mz_json_object(w, "summary");
	report_json_summary(
		w, &s->u, mz_reader_files_cut(s->in),
		command && command->type == MZ_ATTR_TEXT && *command->data ? command->data : NULL);
	mz_json_end_object(w);
	mz_json_str(w, "clock", s->u.fields & MZ_HAS_TIME ? "ns" : "event");
	if (step && step->type == MZ_ATTR_NUMBER)
		mz_json_u64(w, "resolution", step->number);
	mz_json_bool(w, "knows_waste", s->u.fields & MZ_HAS_GIVEN);
	mz_json_u64(w, "modules_missing", s->symbols ? mz_symbols_missing(s->symbols) : 0);
	if (mz_stack_share_read(s->in, &stacks))
		mz_stack_share_json(&stacks, w);
	if (s->sampled)
		mz_sampled_json(&s->sampling, s->u.lost_by[MZ_LOSS_SAMPLED], w);
	loss_json(w, s);
	html_json_curve(w, &s->history->time, l);
	html_json_histogram(w, "sizes", &s->history->sizes);
	html_json_histogram(w, "ages", &s->history->ages);
	if (s->layout)
		html_json_places(w, s->history, s->layout, l);
	mz_json_object(w, "flames");
	if (s->symbols) {
		ret = html_json_flame(w, "stack", "Call stack", &s->stacks, html_values, l);
		if (!ret)
			ret = html_json_flame(w, "place", "Directory, file, function", &s->places,
					      html_values, l);
	}
	mz_json_end_object(w);
	mz_json_object(w, "tables");
	if (s->symbols)
		sites_json(w, s, l);
	mz_json_end_object(w);
	return ret;
}

int html_user_open(struct html_model *m, struct mz_error *err)
{
	struct user_model *s = html_state(m, sizeof(*s), user_json, user_free, err);
	int ret;

	if (!s)
		return -ENOMEM;
	s->in = mz_recording_reader(&m->recording, err);
	if (!s->in)
		return mz_error_code(err);
	s->sampled = mz_sampled_read(s->in, &s->sampling);
	s->history = mz_history_new();
	s->names = mz_tables_new();
	if (!s->history || !s->names || mz_usage_init(&s->u) < 0 ||
	    mz_u64_table_init(&s->by_ip, sizeof(struct ip_name)) < 0 ||
	    mz_flame_init(&s->stacks, s->names) < 0 || mz_flame_init(&s->places, s->names) < 0)
		return mz_fail_memory(err);
	s->u.history = s->history;
	ret = read_all(s, &m->progress, err);
	if (!ret && make_trees(s) < 0)
		ret = mz_fail_memory(err);
	return ret;
}
