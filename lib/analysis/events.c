// SPDX-License-Identifier: BSD-2-Clause
/* Present any recording as one stream of events with call stacks and symbols. */
#include "analysis/events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/kmem.h"
#include "base/error.h"
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
	bool looked;		  /* for symbols */
	bool kernel;
	bool by_sequence;
	uint64_t one; /* the stack of a site of many */
	uint64_t events;
	void (*show)(void *arg, uint64_t events);
	void *show_arg;
};

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

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

	if (!s) {
		mz_reader_close(r);
		return NULL;
	}
	s->r = r;
	s->by_sequence = counts_events(r);
	return s;
}

struct mz_events *mz_events_open(char **paths, int n, struct mz_error *err)
{
	struct mz_events *s;

	if (n == 1 && !is_folder(paths[0])) {
		struct mz_reader *r = mz_reader_open(paths[0], err);

		return r ? mz_events_of(r, err) : NULL;
	}
	s = new_source(err);
	if (!s)
		return NULL;
	s->many = mz_kmem_input_open(paths, n, err);
	if (!s->many) {
		mz_events_close(s);
		return NULL;
	}
	s->by_sequence = mz_kmem_input_by_sequence(s->many);
	return s;
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
	free(s);
}

/* ---- events ------------------------------------------------------------- */

static int next_of_many(struct mz_events *s, struct mz_event *ev, struct mz_error *err)
{
	struct mz_effect fx;
	uint32_t stack;
	int ret = mz_kmem_input_next(s->many, ev, &stack, err);

	if (ret <= 0)
		return ret;
	ev->site = ev->has & MZ_HAS_SITE ? ev->site + 1 : 0;
	ev->cache = ev->has & MZ_HAS_CACHE ? ev->cache + 1 : 0;
	return mz_live_apply(&s->live, ev, s->events, &fx) < 0 ? mz_fail_memory(err) : 1;
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
		if (s->show && s->events % SHOW_EVERY == 0)
			s->show(s->show_arg, s->events);
		s->kernel |= ev->call >= MZ_CALL_KMALLOC && ev->call <= MZ_CALL_PERCPU_FREE;
	}
	return ret;
}

void mz_events_progress(struct mz_events *s, void (*show)(void *arg, uint64_t events), void *arg)
{
	s->show = show;
	s->show_arg = arg;
}

/* ---- names -------------------------------------------------------------- */

const uint64_t *mz_events_stack(struct mz_events *s, uint32_t site, size_t *depth)
{
	*depth = 0;
	if (s->r)
		return site ? mz_tables_get_stack(mz_reader_tables(s->r), site, depth) : NULL;
	if (!site || site > mz_kmem_input_sites(s->many))
		return NULL;
	s->one = mz_kmem_input_site(s->many, site - 1);
	*depth = 1;
	return &s->one;
}

const char *mz_events_string(const struct mz_events *s, uint32_t id, size_t *len)
{
	const char *text;

	if (s->r)
		return mz_tables_get_string(mz_reader_tables(s->r), id, len);
	text = id ? mz_kmem_input_cache(s->many, id - 1) : NULL;
	*len = text ? strlen(text) : 0;
	return text;
}

/* The kernel's symbols as kmemtraced saved them, beside its trace. */
static struct mz_symbols *open_beside(const char *name)
{
	const char *slash = strrchr(name, '/');
	int dir = slash ? (int)(slash - name) + 1 : 0;
	struct mz_symbols_kernel files = {0};
	char kallsyms[4200], vmlinux[4200];

	snprintf(kallsyms, sizeof(kallsyms), "%.*skallsyms", dir, name);
	snprintf(vmlinux, sizeof(vmlinux), "%.*svmlinux", dir, name);
	files.kallsyms = access(kallsyms, R_OK) ? NULL : kallsyms;
	files.vmlinux = access(vmlinux, R_OK) ? NULL : vmlinux;
	return files.kallsyms || files.vmlinux ? mz_symbols_open_kernel(&files, NULL) : NULL;
}

static void open_symbols(struct mz_events *s)
{
	const struct mz_reader *first = s->r ? s->r : mz_kmem_input_reader(s->many, 0);

	s->looked = true;
	if (s->r && (s->r->names || mz_reader_find_attr(s->r, "names.0")))
		s->symbols = mz_symbols_open(s->r);
	else if (s->kernel && s->given)
		s->symbols = s->given;
	else if (s->kernel)
		s->symbols = open_beside(first->in.name);
	else if (s->r)
		s->symbols = mz_symbols_open(s->r);
}

void mz_events_use(struct mz_events *s, struct mz_symbols *kernel)
{
	s->given = kernel;
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

/* ---- what it says of itself --------------------------------------------- */

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

struct mz_reader *mz_events_reader(const struct mz_events *s)
{
	return s->r;
}
