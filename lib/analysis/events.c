// SPDX-License-Identifier: BSD-2-Clause
/* Present any recording as one stream of events with call stacks and symbols. */
#include "analysis/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kmem.h"
#include "base/array.h"
#include "base/error.h"
#include "formats/open.h"
#include "symbols/kallsyms.h"
#include "symbols/symbols.h"
#include "trace/reader.h"

#define SHOW_EVERY 65536

struct mz_events {
	struct mz_reader *r;	    /* one file, or */
	struct mz_kmem_input *many; /* those of a kernel trace */
	struct mz_live live;	    /* of many: its blocks have addresses only */
	struct mz_event ev[MZ_BATCH];
	long n, at;
	struct mz_symbols *symbols;
	struct mz_symbols *given; /* for a kernel, by the caller */
	mz_events_look *look;	  /* for a kernel, when a name is requested */
	void *look_arg;
	bool looked; /* for symbols */
	bool kernel;
	bool by_sequence;
	struct mz_tables *tables;     /* of many: those of all files, and sites without a stack */
	uint32_t named;		      /* strings of many that those have */
	uint32_t *of_site, *of_stack; /* the numbers of many -> those of stacks; 0 = not yet */
	size_t nof_site, nof_stack;
	uint64_t events, lost;
	void (*show)(void *arg, uint64_t events);
	void *show_arg;
};

static struct mz_events *new_source(struct mz_error *err)
{
	struct mz_events *s = calloc(1, sizeof(*s));

	if (!s || mz_live_init(&s->live) < 0) {
		mz_fail_memory(err);
		free(s);
		return NULL;
	}
	return s;
}

static bool counts_events(const struct mz_reader *r)
{
	const struct mz_attr *clock = mz_reader_find_attr(r, "clock");

	return mz_reader_format(r) == MZ_FORMAT_KMEMTRACE_C ||
	       (clock && clock->type == MZ_ATTR_TEXT && !strcmp(clock->data, "sequence"));
}

struct mz_events *mz_events_of(struct mz_reader *r, struct mz_error *err)
{
	struct mz_events *s = new_source(err);
	enum mz_recording_kind kind;

	if (!s || mz_reader_kind(r, &kind, err) < 0) {
		mz_events_close(s);
		mz_reader_close(r);
		return NULL;
	}
	s->r = r;
	s->kernel = kind == MZ_RECORDING_KERNEL;
	r->beside = true;
	s->by_sequence = counts_events(r);
	return s;
}

struct mz_events *mz_events_of_kmem(struct mz_kmem_input *in, struct mz_error *err)
{
	struct mz_events *s = new_source(err);

	if (!s) {
		mz_kmem_input_close(in);
		return NULL;
	}
	s->many = in;
	s->kernel = true;
	s->by_sequence = mz_kmem_input_by_sequence(in);
	s->tables = mz_tables_new();
	if (s->tables && mz_kmem_input_keep_stacks(in) >= 0)
		return s;
	mz_fail_memory(err);
	mz_events_close(s);
	return NULL;
}

void mz_events_close(struct mz_events *s)
{
	if (!s)
		return;
	mz_symbols_close(s->symbols != s->given ? s->symbols : NULL);
	mz_symbols_close(s->given);
	mz_reader_close(s->r);
	mz_kmem_input_close(s->many);
	mz_live_deinit(&s->live);
	mz_tables_free(s->tables);
	free(s->of_site);
	free(s->of_stack);
	free(s);
}

/* ---- events ------------------------------------------------------------- */

/* Where the number of i is kept; NULL = no memory. */
static uint32_t *number_of(uint32_t **table, size_t *n, uint32_t i)
{
	return mz_array_room((void **)table, n, i, sizeof(**table)) ? &(*table)[i] : NULL;
}

/* One number for a call stack, whichever file it is in. A site whose file keeps no stack
 * is a stack of one. */
static int name_stack(struct mz_events *s, struct mz_event *ev, uint32_t stack)
{
	uint32_t *number;
	uint64_t site = mz_kmem_input_site(s->many, ev->site);
	const uint64_t *ips = &site;
	size_t depth = 1;

	if (!(ev->has & MZ_HAS_SITE)) {
		ev->site = 0;
		return 0;
	}
	number = stack ? number_of(&s->of_stack, &s->nof_stack, stack)
		       : number_of(&s->of_site, &s->nof_site, ev->site);
	if (!number)
		return -ENOMEM;
	if (!*number && stack)
		ips = mz_kmem_input_stack(s->many, stack, &depth);
	if (!*number)
		*number = mz_tables_stack(s->tables, ips, depth);
	ev->site = *number;
	return *number ? 0 : -ENOMEM;
}

/* Strings of many are numbered from 0, in the order in which they come up; ours are from 1. */
static int name_caches(struct mz_events *s)
{
	for (; s->named < mz_kmem_input_caches(s->many); s->named++) {
		const char *name = mz_kmem_input_cache(s->many, s->named);

		if (!(name ? mz_tables_string(s->tables, name, strlen(name))
			   : mz_tables_add_lost(s->tables)))
			return -ENOMEM;
	}
	return 0;
}

static int next_of_many(struct mz_events *s, struct mz_event *ev, struct mz_error *err)
{
	struct mz_effect fx;
	uint32_t stack, mark;
	int ret = mz_kmem_input_next(s->many, ev, &stack, err);

	if (ret <= 0)
		return ret;
	/* of many, 0 is the empty name, which stands for none */
	ev->cache = ev->has & MZ_HAS_CACHE && ev->cache ? ev->cache + 1 : 0;
	mark = ev->kind == MZ_MARK ? (uint32_t)ev->arg : 0;
	if (((ev->cache > s->named || mark > s->named) && name_caches(s) < 0) ||
	    name_stack(s, ev, stack) < 0 || mz_live_apply(&s->live, ev, s->events, &fx) < 0)
		return mz_fail_memory(err);
	return 1;
}

static int next_of_one(struct mz_events *s, struct mz_event *ev, struct mz_error *err)
{
	if (s->at >= s->n) {
		s->at = 0;
		s->n = mz_reader_read(s->r, s->ev, MZ_BATCH);
		if (s->n < 0 && err)
			*err = *mz_reader_error(s->r);
		if (s->n <= 0)
			return (int)s->n;
	}
	*ev = s->ev[s->at++];
	/* a number that the tables do not have is unknown, not a size */
	if (!(ev->has & MZ_HAS_SITE) || ev->site > mz_tables_stacks(mz_reader_tables(s->r)))
		ev->site = 0;
	if (!(ev->has & MZ_HAS_CACHE) || ev->cache > mz_tables_strings(mz_reader_tables(s->r)))
		ev->cache = 0;
	return 1;
}

int mz_events_next(struct mz_events *s, struct mz_event *ev, struct mz_error *err)
{
	int ret = s->many ? next_of_many(s, ev, err) : next_of_one(s, ev, err);

	if (ret > 0) {
		s->events++;
		if (ev->kind == MZ_LOST && ev->arg != MZ_LOSS_SAMPLED)
			s->lost += ev->size;
		if (s->show && s->events % SHOW_EVERY == 0)
			s->show(s->show_arg, s->events);
	}
	return ret;
}

void mz_events_progress(struct mz_events *s, void (*show)(void *arg, uint64_t events), void *arg)
{
	s->show = show;
	s->show_arg = arg;
}

/* ---- names -------------------------------------------------------------- */

/* How many frames of a stack are those of the recorder: a leaf of every stack, which says nothing
 * of the kernel. A stack never becomes empty. */
static size_t of_recorder(struct mz_events *s, const uint64_t *ips, size_t depth)
{
	struct mz_place_name names[MZ_EVENTS_INLINED];
	size_t n = 0;

	while (n + 1 < depth &&
	       mz_kernel_recorder(names[mz_events_names(s, ips[n], names) - 1].function))
		n++;
	return n;
}

const uint64_t *mz_events_stack(struct mz_events *s, uint32_t site, size_t *depth)
{
	const struct mz_tables *t = mz_events_tables(s);
	const uint64_t *ips;
	size_t leave;

	*depth = 0;
	ips = site ? mz_tables_get_stack(t, site, depth) : NULL;
	if (!ips || !s->kernel)
		return ips;
	leave = of_recorder(s, ips, *depth);
	*depth -= leave;
	return ips + leave;
}

const char *mz_events_string(const struct mz_events *s, uint32_t id, size_t *len)
{
	return mz_tables_get_string(mz_events_tables(s), id, len);
}

const struct mz_tables *mz_events_tables(const struct mz_events *s)
{
	return s->r ? mz_reader_tables(s->r) : s->tables;
}

static void open_symbols(struct mz_events *s)
{
	s->looked = true;
	if (s->r && (s->r->names || mz_reader_find_attr(s->r, "names.0")))
		s->symbols = mz_symbols_open(s->r);
	else if (s->kernel && s->given)
		s->symbols = s->given;
	else if (s->kernel && s->look)
		s->symbols = s->look(s->look_arg);
	else if (s->r)
		s->symbols = mz_symbols_open(s->r);
}

void mz_events_use(struct mz_events *s, struct mz_symbols *kernel)
{
	s->given = kernel;
}

void mz_events_look_with(struct mz_events *s, mz_events_look *look, void *arg)
{
	s->look = look;
	s->look_arg = arg;
}

size_t mz_events_names(struct mz_events *s, uint64_t ip,
		       struct mz_place_name out[MZ_EVENTS_INLINED])
{
	struct mz_symbol_frame frames[MZ_EVENTS_INLINED];
	struct mz_symbol sym = {0};
	const char *module;
	size_t n;

	if (!s->looked)
		open_symbols(s);
	out[0] = (struct mz_place_name){0};
	if (!s->symbols || !mz_symbols_find(s->symbols, ip, &sym))
		return 1;
	module = sym.module || !s->kernel ? sym.module : "vmlinux";
	n = mz_symbols_frames(s->symbols, ip, frames, MZ_EVENTS_INLINED);
	for (size_t i = 0; i < n; i++)
		out[i] = (struct mz_place_name){.function = frames[i].function,
						.file = frames[i].file,
						.line = frames[i].line,
						.module = module,
						.offset = sym.offset};
	if (!n)
		out[n++] = (struct mz_place_name){.function = sym.function,
						  .file = sym.file,
						  .line = sym.line > 0 ? (unsigned)sym.line : 0,
						  .module = module,
						  .offset = sym.offset};
	return n;
}

/* ---- attributes and counts ---------------------------------------------- */

static const struct mz_attr *attr(const struct mz_events *s, const char *key)
{
	return mz_reader_find_attr(s->r ? s->r : mz_kmem_input_reader(s->many, 0), key);
}

const char *mz_events_text(const struct mz_events *s, const char *key)
{
	const struct mz_attr *a = attr(s, key);

	return a && a->type == MZ_ATTR_TEXT && *a->data ? a->data : NULL;
}

uint64_t mz_events_number(const struct mz_events *s, const char *key)
{
	const struct mz_attr *a = attr(s, key);

	return a && a->type == MZ_ATTR_NUMBER ? a->number : 0;
}

bool mz_events_is_kernel(const struct mz_events *s)
{
	return s->kernel;
}

bool mz_events_by_sequence(const struct mz_events *s)
{
	return s->by_sequence;
}

struct mz_unmatched mz_events_unmatched(const struct mz_events *s)
{
	return s->r ? mz_reader_unmatched(s->r) : s->live.unmatched;
}

unsigned mz_events_files_cut(const struct mz_events *s)
{
	return s->many ? mz_kmem_input_cut(s->many) : mz_reader_files_cut(s->r);
}

uint64_t mz_events_lost(const struct mz_events *s)
{
	return s->lost;
}

struct mz_early_end mz_events_early_end(const struct mz_events *s)
{
	return s->many ? mz_kmem_input_early_end(s->many) : mz_reader_early_end(s->r);
}

struct mz_reader *mz_events_file(const struct mz_events *s, unsigned i)
{
	return s->many ? mz_kmem_input_reader(s->many, i) : i ? NULL : s->r;
}

struct mz_reader *mz_events_reader(const struct mz_events *s)
{
	return s->r;
}
