// SPDX-License-Identifier: BSD-2-Clause
/* Sum call stacks by the call site that requested the memory. */
#include "analysis/call_sites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_name.h"
#include "base/buf.h"
#include "base/pair_index.h"
#include "symbols/kallsyms.h"

#define FRAMES 4096 /* of a stack that are compared with suppressions */

/* ---- where stacks and names come from ------------------------------------------------- */

static const uint64_t *reader_stack(const struct mz_call_lookup *l, uint32_t stack, size_t *depth)
{
	return mz_tables_get_stack(l->tables, stack, depth);
}

static size_t reader_names(const struct mz_call_lookup *l, uint64_t ip,
			   struct mz_place_name out[MZ_EVENTS_INLINED])
{
	struct mz_symbol_frame frames[MZ_EVENTS_INLINED];
	struct mz_symbol sym = {0};
	size_t n = 0;

	out[0] = (struct mz_place_name){0};
	if (!l->symbols || !mz_symbols_find(l->symbols, ip, &sym))
		return 1;
	n = mz_symbols_frames(l->symbols, ip, frames, MZ_EVENTS_INLINED);
	for (size_t i = 0; i < n; i++)
		out[i] = (struct mz_place_name){.function = frames[i].function,
						.file = frames[i].file,
						.line = frames[i].line};
	n = n ? n : 1;
	for (size_t i = 0; i < n; i++) {
		out[i].module = sym.module;
		out[i].offset = sym.offset;
	}
	return n;
}

struct mz_call_lookup mz_call_lookup_reader(const struct mz_tables *t, struct mz_symbols *symbols)
{
	return (struct mz_call_lookup){
		.stack = reader_stack, .names = reader_names, .tables = t, .symbols = symbols};
}

static const uint64_t *events_stack(const struct mz_call_lookup *l, uint32_t stack, size_t *depth)
{
	return mz_events_stack(l->events, stack, depth);
}

static size_t events_names(const struct mz_call_lookup *l, uint64_t ip,
			   struct mz_place_name out[MZ_EVENTS_INLINED])
{
	return mz_events_names(l->events, ip, out);
}

struct mz_call_lookup mz_call_lookup_events(struct mz_events *events)
{
	return (struct mz_call_lookup){
		.stack = events_stack, .names = events_names, .events = events};
}

/* ---- the place of a stack ------------------------------------------------------------- */

/* A frame of a stack, and which of the functions inlined there. */
struct found_frame {
	size_t frame, inlined;
};

/* If all frames are wrappers, the innermost one is the place: a block must be somewhere. */
static struct found_frame find_place(const struct mz_call_lookup *l, const uint64_t *ips,
				     size_t depth, const struct mz_wrappers *wrappers)
{
	struct mz_place_name names[MZ_EVENTS_INLINED];

	bool kernel = l->events && mz_events_is_kernel(l->events);

	for (size_t i = 0; i < depth; i++) {
		size_t n = l->names(l, ips[i], names);

		/* what is inlined into an allocator of the kernel is part of it */
		if (kernel && i + 1 < depth && mz_kernel_inner(names[n - 1].function))
			continue;
		for (size_t k = 0; k < n; k++)
			if (!mz_wrappers_has(wrappers, names[k].function))
				return (struct found_frame){i, k};
	}
	return (struct found_frame){0};
}

/* The name of a row: the more is known, the more it says, and the address is the last resort. */
static char *describe(const struct mz_place_name *p, uint64_t ip)
{
	const char *file = mz_base_name(p->file);
	char *s = NULL;
	int n;

	if (p->function && file && p->line)
		n = asprintf(&s, "%s (%s:%u)", p->function, file, p->line);
	else if (p->function)
		n = asprintf(&s, "%s (%s)", p->function,
			     file	 ? file
			     : p->module ? p->module
					 : "kernel");
	else if (p->module)
		n = asprintf(&s, "%s+0x%llx", p->module, (unsigned long long)p->offset);
	else
		n = asprintf(&s, "0x%llx", (unsigned long long)ip);
	return n < 0 ? NULL : s;
}

char *mz_call_describe(const struct mz_call_lookup *l, const uint64_t *ips, size_t depth,
		       const struct mz_wrappers *wrappers)
{
	struct found_frame at = find_place(l, ips, depth, wrappers);
	struct mz_place_name names[MZ_EVENTS_INLINED];

	l->names(l, ips[at.frame], names);
	return describe(&names[at.inlined], ips[at.frame]);
}

/* The text that rows are merged by. */
static char *key_of(const struct mz_place_name *p, uint64_t ip, enum mz_call_by by)
{
	const char *text = by == MZ_BY_FUNCTION ? p->function
			   : by == MZ_BY_FILE	? p->file
			   : by == MZ_BY_MODULE ? p->module
						: NULL;

	if (text)
		return strdup(text);
	if (by == MZ_BY_FILE && p->module) { /* file not known: the module instead */
		char *s = NULL;

		return asprintf(&s, "(%s)", p->module) < 0 ? NULL : s;
	}
	return describe(p, ip);
}

/* ---- sites ---------------------------------------------------------------------------- */

struct site_pass {
	struct mz_call_sites *s;
	const struct mz_usage *u;
	const struct mz_call_lookup *l;
	const struct mz_call_options *o;
	struct mz_pair_index places; /* address, inlined -> which_site */
	uint32_t *which_site;	     /* + 1 */
	size_t which_cap;
	struct mz_pair_index frames; /* address, 0 -> matched */
	uint64_t *matched;	     /* patterns of suppressions */
	size_t matched_cap;
};

static char *copy(const char *s)
{
	return s ? strdup(s) : NULL;
}

/* The site of a text, which is added if it is new: its number + 1; 0 = no memory. Takes over
 * text. */
static uint32_t site_of_text(struct mz_call_sites *s, char *text)
{
	uint32_t id;

	if (!s->texts)
		s->texts = mz_tables_new();
	id = text && s->texts ? mz_tables_string(s->texts, text, strlen(text)) : 0;
	if (!id || !mz_array_room((void **)&s->by_text, &s->by_text_cap, id, sizeof(*s->by_text)) ||
	    !mz_array_room((void **)&s->list, &s->cap, s->count, sizeof(*s->list))) {
		free(text);
		return 0;
	}
	if (s->by_text[id]) {
		free(text);
		return s->by_text[id];
	}
	s->list[s->count] = (struct mz_call_site){.where = text};
	return s->by_text[id] = (uint32_t)++s->count;
}

/* Different addresses may have the same text (a function at one line): they are one site. */
static uint32_t new_place(struct site_pass *j, uint64_t ip, size_t inlined)
{
	struct mz_place_name names[MZ_EVENTS_INLINED];
	struct mz_call_site *site;
	uint32_t which;
	size_t before = j->s->count;

	j->l->names(j->l, ip, names);
	which = site_of_text(j->s, key_of(&names[inlined], ip, j->o->by));
	if (!which || j->s->count == before)
		return which;
	site = &j->s->list[which - 1];
	site->ip = ip;
	site->function = copy(names[inlined].function);
	site->file = copy(names[inlined].file);
	site->module = copy(names[inlined].module);
	return which;
}

static struct mz_call_site *site_of_place(struct site_pass *j, uint64_t ip, size_t inlined)
{
	size_t before = j->places.count;
	uint32_t id = mz_pair_index_put(&j->places, ip, inlined);

	if (id == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&j->which_site, &j->which_cap, id, sizeof(*j->which_site)))
		return NULL;
	if (j->places.count > before)
		j->which_site[id] = new_place(j, ip, inlined);
	return j->which_site[id] ? &j->s->list[j->which_site[id] - 1] : NULL;
}

/* The frame around a place: the next of those inlined there, or the next frame. */
static char *caller_of(const struct site_pass *j, const uint64_t *ips, size_t depth,
		       struct found_frame at)
{
	struct mz_place_name names[MZ_EVENTS_INLINED];
	size_t n = j->l->names(j->l, ips[at.frame], names);

	if (at.inlined + 1 < n)
		return describe(&names[at.inlined + 1], ips[at.frame]);
	if (at.frame + 1 >= depth)
		return NULL;
	j->l->names(j->l, ips[at.frame + 1], names);
	return describe(&names[0], ips[at.frame + 1]);
}

/* ---- what is never freed on purpose ---------------------------------------------------- */

/* The patterns that a frame matches. Stacks have most of their frames in common. */
static uint64_t matched_at(struct site_pass *j, uint64_t ip)
{
	struct mz_place_name names[MZ_EVENTS_INLINED];
	size_t before = j->frames.count;
	uint32_t id = MZ_PAIR_INDEX_NONE;

	/* room first: a frame with a number has its set */
	if (mz_array_room((void **)&j->matched, &j->matched_cap, before, sizeof(*j->matched)))
		id = mz_pair_index_put(&j->frames, ip, 0);
	if (id == MZ_PAIR_INDEX_NONE)
		return UINT64_MAX; /* any: look at the whole stack */
	if (j->frames.count > before)
		j->matched[id] = mz_suppressions_matched(j->o->suppressions, names,
							 j->l->names(j->l, ip, names));
	return j->matched[id];
}

/* The names of all frames are needed at once, since a rule may span several of them. */
const char *mz_call_suppressed_by(const struct mz_call_lookup *l, const struct mz_suppressions *s,
				  const uint64_t *ips, size_t depth)
{
	struct mz_place_name *frames = malloc((FRAMES + MZ_EVENTS_INLINED) * sizeof(*frames));
	const char *rule;
	size_t n = 0;

	for (size_t i = 0; frames && i < depth && n < FRAMES; i++)
		n += l->names(l, ips[i], frames + n);
	rule = frames ? mz_suppressions_match(s, frames, n) : NULL;
	free(frames);
	return rule;
}

static bool is_suppressed(struct site_pass *j, const uint64_t *ips, size_t depth)
{
	uint64_t matched = 0;

	for (size_t i = 0; i < depth; i++)
		matched |= matched_at(j, ips[i]);
	return mz_suppressions_may_match(j->o->suppressions, matched) &&
	       mz_call_suppressed_by(j->l, j->o->suppressions, ips, depth);
}

/* Only what is live counts as suppressed: the allocations of such a block are work like any
 * other. */
static struct mz_heap_sum kept(struct site_pass *j, struct mz_call_site *site, uint32_t stack,
			       const uint64_t *ips, size_t depth)
{
	struct mz_heap_sum sum = j->u->sites[stack].sum;

	if (!j->o->suppressions || !sum.live_blocks || !is_suppressed(j, ips, depth))
		return sum;
	j->s->suppressed_blocks += sum.live_blocks;
	j->s->suppressed_bytes += sum.live_bytes;
	site->suppressed_blocks += sum.live_blocks;
	site->suppressed_bytes += sum.live_bytes;
	sum.live_bytes = sum.live_blocks = 0;
	return sum;
}

/* ---- stacks --------------------------------------------------------------------------- */

/* The importance of a stack, whichever value a report is sorted by. */
static uint64_t weight(const struct mz_heap_sum *s)
{
	uint64_t most = s->peak_bytes > s->live_bytes ? s->peak_bytes : s->live_bytes;

	return most > s->bytes / 8 ? most : s->bytes / 8;
}

static int add_stack(struct site_pass *j, uint32_t stack)
{
	struct mz_call_site *site;
	struct mz_heap_sum sum;
	struct found_frame at;
	size_t depth = 0;
	const uint64_t *ips = j->l->stack(j->l, stack, &depth);

	if (!ips || !depth)
		return 0;
	at = find_place(j->l, ips, depth, j->o->wrappers);
	site = site_of_place(j, ips[at.frame], at.inlined);
	if (!site)
		return -ENOMEM;
	sum = kept(j, site, stack, ips, depth);
	mz_heap_sum_add(&site->sum, &sum);
	if (j->o->by == MZ_BY_SITE && sum.blocks > site->caller_allocs) {
		free(site->caller);
		site->caller = caller_of(j, ips, depth, at);
		site->caller_allocs = sum.blocks;
	}
	if (weight(&sum) > site->heaviest || !site->heaviest) {
		site->heaviest = weight(&sum) ? weight(&sum) : 1;
		site->stack = stack;
	}
	return 0;
}

static int backtrace_of(const struct site_pass *j, struct mz_call_site *site)
{
	struct mz_place_name names[MZ_EVENTS_INLINED];
	struct mz_buf b = {0};
	size_t depth = 0;
	const uint64_t *ips = j->l->stack(j->l, site->stack, &depth);

	for (size_t i = 0; ips && i < depth; i++) {
		size_t n = j->l->names(j->l, ips[i], names);

		for (size_t k = 0; k < n; k++) {
			char *line = describe(&names[k], ips[i]);

			if (line)
				mz_buf_printf(&b, "%s\n", line);
			free(line);
		}
	}
	mz_buf_add(&b, "", 1);
	free(site->backtrace);
	site->backtrace = b.failed ? NULL : strdup(b.data);
	mz_buf_free(&b);
	return site->backtrace ? 0 : -ENOMEM;
}

/* Stack numbers are valid for this program only, so the stacks are described before the next
 * program is added. */
static int add_backtraces(struct site_pass *j)
{
	int ret = 0;

	for (size_t i = 0; i < j->s->count && !ret; i++) {
		if (j->o->backtraces && j->s->list[i].stack)
			ret = backtrace_of(j, &j->s->list[i]);
		j->s->list[i].stack = 0;
	}
	return ret;
}

/* Threads have no stacks: their sums come from the usage, and their numbers are their names. */
static int add_thread(struct mz_call_sites *s, uint64_t tid, const struct mz_heap_sum *sum)
{
	char *text = NULL;
	uint32_t which;

	if (asprintf(&text, "thread %llu", (unsigned long long)tid) < 0)
		return -ENOMEM;
	which = site_of_text(s, text);
	if (!which)
		return -ENOMEM;
	mz_heap_sum_add(&s->list[which - 1].sum, sum);
	return 0;
}

static int add_threads(struct mz_call_sites *s, const struct mz_usage *u)
{
	uint64_t *tids = mz_usage_tids(u);
	int ret = tids ? 0 : -ENOMEM;

	for (uint32_t i = 1; i < u->thread_sums_cap && !ret; i++)
		if (u->thread_sums[i].sum.blocks)
			ret = add_thread(s, tids[i], &u->thread_sums[i].sum);
	free(tids);
	return ret;
}

int mz_call_sites_add(struct mz_call_sites *s, const struct mz_usage *u,
		      const struct mz_call_lookup *l, const struct mz_call_options *o)
{
	static const struct mz_call_options usual;
	struct site_pass j = {.s = s, .u = u, .l = l, .o = o ? o : &usual};
	int ret = 0;

	if (j.o->by == MZ_BY_THREAD)
		return add_threads(s, u);
	for (uint32_t i = 1; i < u->sites_cap && !ret; i++)
		if (u->sites[i].sum.blocks)
			ret = add_stack(&j, i);
	if (!ret)
		ret = add_backtraces(&j);
	mz_pair_index_deinit(&j.places);
	free(j.which_site);
	mz_pair_index_deinit(&j.frames);
	free(j.matched);
	return ret;
}

int mz_call_sites_of_reader(struct mz_call_sites *s, const struct mz_usage *u,
			    const struct mz_tables *t, struct mz_symbols *symbols,
			    const struct mz_call_options *o)
{
	struct mz_call_lookup l = mz_call_lookup_reader(t, symbols);

	return mz_call_sites_add(s, u, &l, o);
}

void mz_call_sites_free(struct mz_call_sites *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->list[i].where);
		free(s->list[i].function);
		free(s->list[i].file);
		free(s->list[i].module);
		free(s->list[i].caller);
		free(s->list[i].backtrace);
	}
	free(s->list);
	free(s->by_text);
	mz_tables_free(s->texts);
	*s = (struct mz_call_sites){0};
}

/* ---- rows ---------------------------------------------------------------- */

static int larger_first(const void *a, const void *b, void *value)
{
	const struct mz_call_site *s = *(const struct mz_call_site *const *)a;
	const struct mz_call_site *t = *(const struct mz_call_site *const *)b;
	size_t at = *(const size_t *)value;

	return MZ_ORDER(mz_heap_sum_get(&t->sum, at), mz_heap_sum_get(&s->sum, at))
		       ?: MZ_ORDER(s, t);
}

size_t mz_call_sites_rank(const struct mz_call_sites *s, size_t value,
			  const struct mz_call_site **order)
{
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++)
		if (mz_heap_sum_get(&s->list[i].sum, value))
			order[n++] = &s->list[i];
	if (n)
		qsort_r(order, n, sizeof(*order), larger_first, &value);
	return n;
}
