// SPDX-License-Identifier: BSD-2-Clause
/* Read the files of a kernel trace merged by time. */
#include "analysis/kmem_input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/beside.h"
#include "base/error.h"
#include "trace/early_end.h"

#define MAX_THREADS 32 /* of more files the rest is decoded when it is needed */

/* ---- numbers over all files --------------------------------------------- */

static int64_t site_number(struct mz_kmem_input *in, uint64_t addr)
{
	uint32_t n = mz_pair_index_put(&in->sites, addr, 0);

	return n == MZ_PAIR_INDEX_NONE ? -ENOMEM : (int64_t)n;
}

/* The next number of a file corresponds to this merged number. */
static int append(uint32_t **table, uint32_t *n, size_t *cap, uint32_t ours)
{
	if (!mz_array_room((void **)table, cap, *n, sizeof(**table)))
		return -ENOMEM;
	(*table)[(*n)++] = ours;
	return 0;
}

static int add_site(struct mz_kmem_input *in, struct kmem_source *s, uint64_t addr)
{
	int64_t n = site_number(in, addr);

	return n < 0 ? -ENOMEM : append(&s->sites, &s->nsites, &s->cap_sites, (uint32_t)n);
}

static int add_cache(struct mz_kmem_input *in, struct kmem_source *s,
		     const char *name) /* NULL = lost */
{
	uint32_t n = name ? mz_tables_string(in->names, name, strlen(name))
			  : mz_tables_add_lost(in->names);

	return !n ? -ENOMEM : append(&s->caches, &s->ncaches, &s->cap_caches, n - 1);
}

/* The stacks of the new sites of a batch. A stack of one address says no more than the site. */
static int add_stacks(struct mz_kmem_input *in, struct kmem_source *s, const struct kmem_batch *b)
{
	for (uint32_t at = 0; at < b->nstacks;) {
		size_t depth = b->stacks[at++];
		uint32_t n = depth > 1 ? mz_tables_stack(in->stacks, &b->stacks[at], depth) : 0;

		if ((depth > 1 && !n) || append(&s->stacks, &s->nstacks, &s->cap_stacks, n) < 0)
			return -ENOMEM;
		at += (uint32_t)depth;
	}
	return 0;
}

/* Our number of the whole stack of an allocation or a free, before its site is translated. */
static inline uint32_t stack_number(const struct kmem_source *s, const struct mz_event *e)
{
	bool known = (e->kind == MZ_ALLOC || e->kind == MZ_FREE) && e->has & MZ_HAS_SITE &&
		     e->site < s->nstacks;

	return known ? s->stacks[e->site] : 0;
}

/* Our numbers for those of the file, and the CPU from the file's name. Texts of marks are in one
 * table with the names of caches. */
static inline void translate(const struct kmem_source *s, struct mz_event *e)
{
	/* a number that the file's tables do not have is unknown, not a size */
	if (__builtin_expect(e->site >= s->nsites, 0))
		e->has &= (uint16_t)~MZ_HAS_SITE;
	if (__builtin_expect(e->cache >= s->ncaches, 0))
		e->has &= (uint16_t)~MZ_HAS_CACHE;
	if (e->has & MZ_HAS_SITE)
		e->site = s->sites[e->site];
	if (e->has & MZ_HAS_CACHE)
		e->cache = s->caches[e->cache];
	if (__builtin_expect(e->kind == MZ_MARK, 0))
		e->arg = e->arg && e->arg < s->ncaches ? s->caches[e->arg] + 1 : 0;
	if (!(e->has & MZ_HAS_CPU) && s->cpu >= 0 && e->kind != MZ_LOST) {
		e->cpu = (int16_t)s->cpu;
		e->has |= MZ_HAS_CPU;
	}
}

/* ---- reading ------------------------------------------------------------ */

/* The order of the next event: its number if it has one, otherwise its time. */
static void set_key(struct kmem_source *s)
{
	if (s->at >= s->n)
		s->key = UINT64_MAX;
	else
		s->key = s->r->ordered ? s->orders[s->at] : s->ev[s->at].time;
}

static int start(struct mz_kmem_input *in, struct kmem_source *s)
{
	s->ahead = mz_kmem_readahead_new(s->r, in->named ? NULL : in->syms,
					 s - in->src < MAX_THREADS, in->stacks != NULL);
	/* the number 0 is none of the tables' */
	if (in->stacks && append(&s->stacks, &s->nstacks, &s->cap_stacks, 0) < 0)
		return -ENOMEM;
	if (in->stacks)
		s->stack_of = malloc(MZ_BATCH * sizeof(*s->stack_of));
	if (in->stacks && !s->stack_of)
		return -ENOMEM;
	return !s->ahead || add_site(in, s, 0) < 0 || add_cache(in, s, "") < 0 ? -ENOMEM : 0;
}

static int refill(struct mz_kmem_input *in, struct kmem_source *s, struct mz_error *err)
{
	struct kmem_batch *b;
	int ret = s->ahead ? 0 : start(in, s);

	if (ret < 0)
		return mz_fail_memory(err);
	if (mz_kmem_readahead_forked(s->ahead))
		return mz_beside_fail_forked(err);
	b = mz_kmem_readahead_next(s->ahead);
	s->ev = b->ev;
	s->orders = b->orders;
	s->at = 0;
	s->n = b->n;
	s->ended = b->n <= 0;
	if (b->n == -ENOMEM)
		return mz_fail_memory(err);
	if (b->n < 0) {
		if (err)
			*err = *mz_reader_error(s->r);
		return (int)b->n;
	}
	for (uint32_t i = 0; i < b->nsites && ret >= 0; i++)
		ret = add_site(in, s, b->sites[i]);
	for (uint32_t i = 0; i < b->ncaches && ret >= 0; i++)
		ret = add_cache(in, s, b->caches[i]);
	if (ret >= 0)
		ret = add_stacks(in, s, b);
	if (ret < 0)
		return mz_fail_memory(err);
	for (long i = 0; i < s->n; i++) {
		if (s->stack_of)
			s->stack_of[i] = stack_number(s, &s->ev[i]);
		translate(s, &s->ev[i]);
	}
	set_key(s);
	return 0;
}

/* All sources that have events, in the order of these. */
static void line_up(struct mz_kmem_input *in)
{
	mz_merge_clear(&in->merge);
	for (unsigned i = 0; i < in->n; i++)
		if (in->src[i].at < in->src[i].n)
			mz_merge_add(&in->merge, i, i, in->src[i].key);
}

/* Events are missing up to time. */
static void say_lost(struct mz_kmem_input *in, uint64_t n, uint64_t time, struct mz_event *ev)
{
	*ev = (struct mz_event){
		.kind = MZ_LOST,
		.call = MZ_CALL_LOST,
		.time = time,
		.size = n,
		.arg = MZ_LOSS_RING_FULL,
		.given = time > in->last_time ? time - in->last_time : 0,
		.has = MZ_HAS_TIME,
	};
	in->missing += n;
}

/* Dropped events took their numbers: is there a gap before the next event? */
static bool gap_before(struct mz_kmem_input *in, const struct kmem_source *s, struct mz_event *ev)
{
	uint64_t last = in->last, time = s->ev[s->at].time;
	bool gap = in->begun && s->key > last + 1;

	in->begun = true;
	if (gap) {
		say_lost(in, s->key - last - 1, time, ev);
		in->last = s->key - 1;
		return true;
	}
	in->last = s->key;
	in->last_time = time;
	return false;
}

/* What was lost after the last event leaves no gap. */
static int lost_at_end(struct mz_kmem_input *in, struct mz_event *ev)
{
	if (!in->whole || in->overruns <= in->missing)
		return 0;
	say_lost(in, in->overruns - in->missing, in->last_time, ev);
	return 1;
}

/* Gets batches for all sources that have none and sets up the merge: 1, or 0 at the end. Events of
 * earlier batches are no longer valid. */
static int prepare(struct mz_kmem_input *in, struct mz_error *err)
{
	for (unsigned i = 0; i < in->n; i++)
		if (!in->src[i].ahead && start(in, &in->src[i]) < 0)
			return mz_fail_memory(err); /* all at once */
	for (unsigned i = 0; i < in->n; i++) {
		struct kmem_source *s = &in->src[i];

		if (s->at >= s->n && !s->ended && refill(in, s, err) < 0)
			return -EIO;
	}
	line_up(in);
	in->ready = in->merge.n;
	return in->ready;
}

/* Events of the source that is first, up to one of another source, and the numbers of their stacks.
 * Events that are missing end the run. */
static size_t take_run(struct mz_kmem_input *in, const struct mz_event **ev, uint32_t *stacks,
		       size_t max)
{
	struct kmem_source *s = &in->src[in->merge.heap[0].number];
	const uint64_t second = mz_merge_second(&in->merge);
	const uint64_t *orders = s->r->ordered ? s->orders : NULL;
	const uint32_t *stack_of = s->stack_of;
	const struct mz_event *e = &s->ev[s->at], *end = &s->ev[s->n];
	const bool whole = in->whole;
	size_t n = 0;

	for (;;) {
		if (whole && gap_before(in, s, &in->lost)) {
			ev[n] = &in->lost;
			stacks[n] = 0;
			return n + 1;
		}
		ev[n] = e++;
		stacks[n++] = stack_of ? stack_of[s->at] : 0;
		s->at++;
		if (e == end) {
			in->ready = false;
			return n;
		}
		s->key = orders ? orders[s->at] : e->time;
		if (s->key >= second) {
			mz_merge_set(&in->merge, s->key);
			return n;
		}
		if (n == max)
			return n;
	}
}

long mz_kmem_input_read(struct mz_kmem_input *in, const struct mz_event **ev, uint32_t *stacks,
			size_t max, struct mz_error *err)
{
	size_t n = 0;

	if (!in->ready) {
		int ret = in->merge.heap || !mz_merge_init(&in->merge, in->n) ? prepare(in, err)
									      : mz_fail_memory(err);

		ev[0] = &in->lost;
		stacks[0] = 0;
		if (!ret && mz_kmem_name_sites(in) < 0)
			return mz_fail_memory(err);
		if (ret <= 0)
			return ret < 0 ? ret : lost_at_end(in, &in->lost);
	}
	while (n < max && in->ready) {
		n += take_run(in, ev + n, stacks + n, max - n);
		if (ev[n - 1] == &in->lost)
			break;
	}
	return (long)n;
}

int mz_kmem_input_next(struct mz_kmem_input *in, struct mz_event *ev, uint32_t *stack,
		       struct mz_error *err)
{
	const struct mz_event *e;
	long n = mz_kmem_input_read(in, &e, stack, 1, err);

	if (n > 0)
		*ev = *e;
	return (int)n;
}

/* ---- queries ------------------------------------------------------------ */

int mz_kmem_input_keep_stacks(struct mz_kmem_input *in)
{
	if (!in->stacks)
		in->stacks = mz_tables_new();
	return in->stacks ? 0 : -ENOMEM;
}

const uint64_t *mz_kmem_input_stack(const struct mz_kmem_input *in, uint32_t stack, size_t *depth)
{
	*depth = 0;
	return in->stacks ? mz_tables_get_stack(in->stacks, stack, depth) : NULL;
}

uint64_t mz_kmem_input_site(const struct mz_kmem_input *in, uint32_t site)
{
	return site < in->sites.count ? in->sites.keys[site].a : 0;
}

const char *mz_kmem_input_cache(const struct mz_kmem_input *in, uint32_t cache)
{
	return mz_tables_get_string(in->names, cache + 1, NULL);
}

uint32_t mz_kmem_input_sites(const struct mz_kmem_input *in)
{
	return (uint32_t)in->sites.count;
}

uint32_t mz_kmem_input_caches(const struct mz_kmem_input *in)
{
	return mz_tables_strings(in->names);
}

const struct mz_kallsyms *mz_kmem_input_symbols(const struct mz_kmem_input *in)
{
	return in->syms;
}

const char *mz_kmem_input_file(const struct mz_kmem_input *in, uint32_t site)
{
	struct mz_symbol s;

	return in->files && mz_symbols_find(in->files, mz_kmem_input_site(in, site), &s) ? s.home
											 : NULL;
}

const char *mz_kmem_input_function(const struct mz_kmem_input *in, uint32_t site)
{
	struct mz_symbol s;

	return in->files && mz_symbols_find(in->files, mz_kmem_input_site(in, site), &s)
		       ? s.function
		       : NULL;
}

bool mz_kmem_input_has_files(const struct mz_kmem_input *in)
{
	return in->files && mz_symbols_has_lines(in->files);
}

int mz_kmem_input_node(const struct mz_kmem_input *in, int cpu)
{
	return cpu >= 0 && cpu < in->nnodes ? in->nodes[cpu] : -1;
}

uint64_t mz_kmem_input_sum(const struct mz_kmem_input *in, const char *key)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < in->n; i++) {
		const struct mz_attr *a = mz_reader_find_attr(in->src[i].r, key);

		sum += a && a->type == MZ_ATTR_NUMBER ? a->number : 0;
	}
	return sum;
}

const char *mz_kmem_input_text(const struct mz_kmem_input *in, const char *key)
{
	const struct mz_attr *a = mz_reader_find_attr(in->src[0].r, key);

	return a && a->type == MZ_ATTR_TEXT ? a->data : NULL;
}

bool mz_kmem_input_by_sequence(const struct mz_kmem_input *in)
{
	return in->by_sequence;
}

bool mz_kmem_input_numbered(const struct mz_kmem_input *in)
{
	return in->whole;
}

unsigned mz_kmem_input_files(const struct mz_kmem_input *in)
{
	return in->n;
}

struct mz_reader *mz_kmem_input_reader(const struct mz_kmem_input *in, unsigned i)
{
	return i < in->n ? in->src[i].r : NULL;
}

unsigned mz_kmem_input_cut(const struct mz_kmem_input *in)
{
	unsigned cut = 0;

	for (unsigned i = 0; i < in->n; i++)
		cut += mz_reader_files_cut(in->src[i].r);
	return cut;
}

struct mz_early_end mz_kmem_input_early_end(const struct mz_kmem_input *in)
{
	return (struct mz_early_end){.files = mz_kmem_input_cut(in), .of = in->n};
}
