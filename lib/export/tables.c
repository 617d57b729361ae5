// SPDX-License-Identifier: BSD-2-Clause
/* Define the tables of a recording, as docs/schema.md describes them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/usage.h"
#include "base/array.h"
#include "base/error.h"
#include "export/blocks.h"
#include "export/table.h"
#include "trace/event.h"
#include "trace/sampled.h"

const char *const mz_table_names[] = {"events", "blocks", "sites", "frames", NULL};

struct table_export {
	const struct mz_table_ops *ops;
	void *t;
	struct mz_events *s;
	struct mz_profile *p;
	struct mz_error *err;
	int number[MZ_TABLES]; /* of the table in the file; -1 = not wanted */
	struct mz_blocks blocks;
	uint64_t event;
	struct site_place *place; /* by site */
	size_t place_cap;
};

/* The frame that names a site, and its name. The name is valid as long as the number of frames is
 * the same, because a new frame may move the names. */
struct site_place {
	uint32_t frame;	 /* 0 = not looked up yet */
	uint32_t frames; /* of the profile */
	const char *name;
	size_t n;
};

/* Cells. An unknown value is not a 0: formats leave it out or write NULL. */
static struct mz_cell number(uint64_t n)
{
	return (struct mz_cell){.known = true, .n = n};
}

static struct mz_cell number_if(bool known, uint64_t n)
{
	return (struct mz_cell){.known = known, .n = n};
}

static struct mz_cell text(const char *s)
{
	return (struct mz_cell){.known = s != NULL, .n = s ? strlen(s) : 0, .s = s};
}

static struct mz_cell bytes(const char *s, size_t n)
{
	return (struct mz_cell){.known = s != NULL, .n = n, .s = s};
}

/* ---- events ------------------------------------------------------------- */

/* Columns that only some kinds of events have are optional, rather than one table per kind: a
 * query over all events needs no join. */
static const struct mz_column event_columns[] = {
	{"event", MZ_CELL_U64, false}, {"time", MZ_CELL_U64, true},
	{"kind", MZ_CELL_TEXT, false}, {"call", MZ_CELL_TEXT, false},
	{"cpu", MZ_CELL_I64, true},    {"node", MZ_CELL_I64, true},
	{"pid", MZ_CELL_U64, true},    {"tid", MZ_CELL_U64, true},
	{"object", MZ_CELL_U64, true}, {"old_object", MZ_CELL_U64, true},
	{"addr", MZ_CELL_HEX, true},   {"old_addr", MZ_CELL_HEX, true},
	{"size", MZ_CELL_U64, true},   {"given", MZ_CELL_U64, true},
	{"arg", MZ_CELL_U64, true},    {"flags", MZ_CELL_HEX, true},
	{"site", MZ_CELL_U64, true},   {"function", MZ_CELL_TEXT, true},
	{"cache", MZ_CELL_TEXT, true}, {"reads", MZ_CELL_U64, true},
	{"writes", MZ_CELL_U64, true}, {"lost", MZ_CELL_U64, true},
	{"text", MZ_CELL_TEXT, true},
};
#define EVENT_COLUMNS (sizeof(event_columns) / sizeof(*event_columns))

/* To find the frame that names a site, the whole stack is examined: once per site, not once per
 * event. */
static void find_place(const struct table_export *j, int64_t site, struct site_place *at)
{
	const struct mz_profile_site *s = &j->p->sites[site];
	size_t depth = 0;
	const uint64_t *frames = mz_profile_stack(j->p, s, &depth);

	if (!at->frame && depth)
		at->frame = (uint32_t)frames[mz_profile_place(j->p, s)];
	at->name = depth ? mz_profile_get_frame(j->p, at->frame).name : NULL;
	at->n = at->name ? strlen(at->name) : 0;
	at->frames = mz_profile_frames(j->p);
}

/* The function of a site: the same frame that reports name as the call site, so that sums in a
 * query agree with theirs. */
static struct mz_cell place_of(struct table_export *j, int64_t site)
{
	struct site_place here = {0}, *at = &here;

	if (site < 0)
		return text(NULL);
	if (mz_array_room((void **)&j->place, &j->place_cap, (size_t)site, sizeof(*at)))
		at = &j->place[site];
	/* a new frame may have moved the name since it was looked up */
	if (at->frames != mz_profile_frames(j->p))
		find_place(j, site, at);
	return (struct mz_cell){
		.known = at->name != NULL, .n = at->n, .s = at->name, .same = (uint32_t)site + 1};
}

/* One of a few texts, identified by its number. */
static struct mz_cell name(const char *s, unsigned number)
{
	struct mz_cell cell = text(s);

	cell.same = number + 1;
	return cell;
}

/* A cache of the kernel or a pool, which repeats in many rows. */
static struct mz_cell cache_of(const struct table_export *j, const struct mz_event *ev)
{
	struct mz_cell cell = {.same = ev->cache};
	size_t n = 0;

	cell.s = ev->cache ? mz_events_string(j->s, ev->cache, &n) : NULL;
	cell.n = n;
	cell.known = cell.s != NULL;
	return cell;
}

/* Marks have a text of their own, losses the name of their cause; no other event has any. */
static struct mz_cell text_of(const struct table_export *j, const struct mz_event *ev)
{
	size_t n = 0;
	const char *s;

	if (ev->kind == MZ_LOST)
		return text(mz_loss_name(ev->arg < MZ_LOSSES ? ev->arg : 0));
	s = ev->kind == MZ_MARK ? mz_events_string(j->s, (uint32_t)ev->arg, &n) : NULL;
	return bytes(s, n);
}

/* The cells are in the order of event_columns; a value that the source does not know is NULL,
 * never 0. */
static int put_event(struct table_export *j, const struct mz_event *ev, int64_t site)
{
	bool block = ev->kind == MZ_ALLOC || ev->kind == MZ_REALLOC || ev->kind == MZ_FREE;
	bool addr = ev->has & MZ_HAS_ADDR;
	bool access = ev->kind == MZ_ACCESS;
	struct mz_cell cells[EVENT_COLUMNS] = {
		number(j->event),
		number_if(ev->has & MZ_HAS_TIME, ev->time),
		name(mz_kind_name(ev->kind), ev->kind),
		name(mz_call_name(ev->call), ev->call),
		number_if(ev->has & MZ_HAS_CPU, (uint64_t)(int64_t)ev->cpu),
		number_if(ev->has & MZ_HAS_NODE, (uint64_t)(int64_t)ev->node),
		number_if(ev->has & MZ_HAS_PID, ev->pid),
		number_if(ev->has & MZ_HAS_TID, ev->tid),
		number_if(ev->object, ev->object),
		number_if(ev->old_object, ev->old_object),
		number_if(addr, ev->addr),
		number_if(addr && ev->kind == MZ_REALLOC, ev->old_addr),
		number_if(block && (ev->kind != MZ_FREE || ev->size), ev->size),
		number_if(ev->has & MZ_HAS_GIVEN && ev->kind != MZ_LOST, ev->given),
		number_if(block && ev->arg, ev->arg),
		number_if(ev->has & MZ_HAS_FLAGS, ev->flags),
		number_if(site >= 0, (uint64_t)site + 1),
		place_of(j, site),
		cache_of(j, ev),
		number_if(access, ev->size),
		number_if(access, ev->arg),
		number_if(ev->kind == MZ_LOST, ev->size),
		text_of(j, ev),
	};

	return j->ops->row(j->t, j->number[MZ_TABLE_EVENTS], cells, j->err);
}

/* ---- blocks ------------------------------------------------------------- */

/* One row per block with its birth and its death: lifetimes and leaks without a join of events. */
static const struct mz_column block_columns[] = {
	{"object", MZ_CELL_U64, false},	    {"size", MZ_CELL_U64, false},
	{"given", MZ_CELL_U64, true},	    {"site", MZ_CELL_U64, true},
	{"function", MZ_CELL_TEXT, true},   {"cache", MZ_CELL_TEXT, true},
	{"born_event", MZ_CELL_U64, false}, {"died_event", MZ_CELL_U64, true},
	{"born", MZ_CELL_U64, true},	    {"died", MZ_CELL_U64, true},
	{"cpu", MZ_CELL_I64, true},	    {"freed_cpu", MZ_CELL_I64, true},
	{"tid", MZ_CELL_U64, true},	    {"freed_tid", MZ_CELL_U64, true},
	{"freed_site", MZ_CELL_U64, true},  {"reads", MZ_CELL_U64, true},
	{"writes", MZ_CELL_U64, true},	    {"weight", MZ_CELL_U64, false},
};
#define BLOCK_COLUMNS (sizeof(block_columns) / sizeof(*block_columns))

/* The end of a block; death is NULL for one that is never freed. */
static int put_block(void *arg, const struct mz_block_life *b, const struct mz_event *death,
		     int64_t freed_site)
{
	struct table_export *j = arg;
	const struct mz_event *ev = &b->birth;
	bool dead = death;
	struct mz_cell cells[BLOCK_COLUMNS] = {
		number(ev->object),
		number(ev->size),
		number_if(ev->has & MZ_HAS_GIVEN, ev->given),
		number_if(b->site >= 0, (uint64_t)b->site + 1),
		place_of(j, b->site),
		cache_of(j, ev),
		number(b->event),
		number_if(dead, j->event),
		number_if(ev->has & MZ_HAS_TIME, ev->time),
		number_if(dead && death->has & MZ_HAS_TIME, dead ? death->time : 0),
		number_if(ev->has & MZ_HAS_CPU, (uint64_t)(int64_t)ev->cpu),
		number_if(dead && death->has & MZ_HAS_CPU,
			  dead ? (uint64_t)(int64_t)death->cpu : 0),
		number_if(ev->has & MZ_HAS_TID, ev->tid),
		number_if(dead && death->has & MZ_HAS_TID, dead ? death->tid : 0),
		number_if(freed_site >= 0, (uint64_t)freed_site + 1),
		number_if(b->touched, b->reads),
		number_if(b->touched, b->writes),
		number(mz_event_weight(ev)),
	};

	return j->ops->row(j->t, j->number[MZ_TABLE_BLOCKS], cells, j->err);
}

/* ---- sites and frames --------------------------------------------------- */

/* The values of a profile are the last columns of a site, in their order. */
static const struct mz_column site_columns[] = {
	{"site", MZ_CELL_U64, false},	   {"function", MZ_CELL_TEXT, true},
	{"file", MZ_CELL_TEXT, true},	   {"line", MZ_CELL_U64, true},
	{"module", MZ_CELL_TEXT, true},	   {"stack", MZ_CELL_TEXT, false},
	{"bytes", MZ_CELL_U64, true},	   {"blocks", MZ_CELL_U64, true},
	{"peak_bytes", MZ_CELL_U64, true}, {"peak_blocks", MZ_CELL_U64, true},
	{"live_bytes", MZ_CELL_U64, true}, {"live_blocks", MZ_CELL_U64, true},
	{"max_bytes", MZ_CELL_U64, true},  {"max_blocks", MZ_CELL_U64, true},
	{"temporary", MZ_CELL_U64, true},  {"waste", MZ_CELL_U64, true},
	{"peak_waste", MZ_CELL_U64, true}, {"lifetime", MZ_CELL_U64, true},
	{"reads", MZ_CELL_U64, true},	   {"writes", MZ_CELL_U64, true},
};
#define SITE_COLUMNS (sizeof(site_columns) / sizeof(*site_columns))
#define SITE_VALUES  6

/* The columns of sums are looked up by name, so that a new sum needs only a row in the table
 * of columns. */
static int put_site(struct table_export *j, size_t i)
{
	const struct mz_profile_site *s = &j->p->sites[i];
	struct mz_cell cells[SITE_COLUMNS];
	struct mz_buf stack = {0};
	struct mz_frame f = {0};
	size_t depth;
	const uint64_t *frames = mz_profile_stack(j->p, s, &depth);
	int ret;

	if (depth)
		f = mz_profile_get_frame(j->p, (uint32_t)frames[mz_profile_place(j->p, s)]);
	while (depth--) {
		mz_buf_str(&stack, mz_profile_get_frame(j->p, (uint32_t)frames[depth]).name);
		mz_buf_str(&stack, depth ? ";" : "");
	}
	cells[0] = number(i + 1);
	cells[1] = text(f.name);
	cells[2] = text(f.file);
	cells[3] = number_if(f.line, f.line);
	cells[4] = text(f.module);
	cells[5] = bytes(stack.data ? stack.data : "", stack.len);
	for (size_t k = SITE_VALUES; k < SITE_COLUMNS; k++) {
		const struct mz_profile_value *v = mz_profile_find_value(site_columns[k].name);

		cells[k] = number_if(j->p->has & v->has, mz_profile_get(v, &s->sum));
	}
	ret = stack.failed ? mz_fail_memory(j->err)
			   : j->ops->row(j->t, j->number[MZ_TABLE_SITES], cells, j->err);
	mz_buf_free(&stack);
	return ret;
}

static const struct mz_column frame_columns[] = {
	{"site", MZ_CELL_U64, false},	{"depth", MZ_CELL_U64, false},
	{"addr", MZ_CELL_HEX, true},	{"function", MZ_CELL_TEXT, false},
	{"file", MZ_CELL_TEXT, true},	{"line", MZ_CELL_U64, true},
	{"module", MZ_CELL_TEXT, true},
};
#define FRAME_COLUMNS (sizeof(frame_columns) / sizeof(*frame_columns))

/* Stacks as rows, for queries that look for a function anywhere in a stack. */
static int put_frames(struct table_export *j, size_t site)
{
	size_t depth;
	const uint64_t *frames = mz_profile_stack(j->p, &j->p->sites[site], &depth);
	int ret = 0;

	for (size_t i = 0; i < depth && !ret; i++) {
		struct mz_frame f = mz_profile_get_frame(j->p, (uint32_t)frames[i]);
		struct mz_cell cells[FRAME_COLUMNS] = {
			number(site + 1), number(i),	number_if(f.addr, f.addr),
			text(f.name),	  text(f.file), number_if(f.line, f.line),
			text(f.module),
		};

		ret = j->ops->row(j->t, j->number[MZ_TABLE_FRAMES], cells, j->err);
	}
	return ret;
}

/* ---- all of it ---------------------------------------------------------- */

/* Events and blocks are written while the trace is read: neither table fits into memory. */
static int watch(void *arg, const struct mz_event *ev, const struct mz_usage *u)
{
	struct table_export *j = arg;
	int64_t site = ev->site ? mz_profile_site_of(j->p, j->s, ev->site) : -1;
	int ret = 0;

	(void)u;
	if (ev->site && site < 0)
		return -ENOMEM;
	j->event++;
	if (j->number[MZ_TABLE_EVENTS] >= 0)
		ret = put_event(j, ev, site);
	if (!ret && j->number[MZ_TABLE_BLOCKS] >= 0)
		ret = mz_blocks_add(&j->blocks, ev, site, j->event, put_block, j);
	return ret;
}

/* Without this, blocks have no weights, and the table no column for them. */
static bool is_sampled(const struct table_export *j)
{
	const struct mz_reader *r = j->s ? mz_events_reader(j->s) : NULL;
	struct mz_sampled s;

	return r && mz_sampled_read(r, &s);
}

/* A database gets every table for which there is data; the other formats get the one that was
 * requested. */
static int begin(struct table_export *j, bool events, enum mz_table_name which)
{
	static const struct {
		const struct mz_column *columns;
		size_t n;
	} tables[MZ_TABLES] = {{event_columns, EVENT_COLUMNS},
			       {block_columns, BLOCK_COLUMNS},
			       {site_columns, SITE_COLUMNS},
			       {frame_columns, FRAME_COLUMNS}};

	for (int i = 0; i < MZ_TABLES; i++) {
		bool wanted = j->ops->many ? events || i >= MZ_TABLE_SITES : i == (int)which;

		j->number[i] = -1;
		if (!wanted)
			continue;
		j->number[i] = j->ops->begin(j->t, mz_table_names[i], tables[i].columns,
					     tables[i].n - (i == MZ_TABLE_BLOCKS && !is_sampled(j)),
					     j->err);
		if (j->number[i] < 0)
			return j->number[i];
	}
	return 0;
}

/* Sites and frames are complete only after the last event, because their sums are. */
static int put_rest(struct table_export *j)
{
	int ret = 0;

	if (j->s && j->number[MZ_TABLE_BLOCKS] >= 0)
		ret = mz_blocks_end(&j->blocks, put_block, j);
	for (size_t i = 0; i < j->p->nsites && !ret; i++) {
		if (j->number[MZ_TABLE_SITES] >= 0)
			ret = put_site(j, i);
		if (!ret && j->number[MZ_TABLE_FRAMES] >= 0)
			ret = put_frames(j, i);
	}
	return ret;
}

int mz_export_tables(const struct mz_table_ops *ops, struct mz_events *s, struct mz_profile *p,
		     enum mz_table_name which, struct mz_output *out, struct mz_error *err)
{
	struct table_export j = {.ops = ops, .s = s, .p = p, .err = err};
	int ret = mz_blocks_init(&j.blocks);

	if (ret < 0)
		return mz_fail_memory(err);
	/* p collects the sums of sites while watch() writes events and blocks */
	j.t = ops->open(out, err);
	ret = j.t ? begin(&j, s, which) : -err->code;
	if (!ret && s)
		ret = mz_profile_read(p, s, watch, &j, err);
	if (!ret)
		ret = put_rest(&j);
	if (!ret && ops->end)
		ret = ops->end(j.t, err);
	ops->close(j.t);
	mz_blocks_deinit(&j.blocks);
	free(j.place);
	if (ret == -ENOMEM)
		mz_fail_memory(err);
	return ret;
}
