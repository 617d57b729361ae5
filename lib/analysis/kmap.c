// SPDX-License-Identifier: BSD-2-Clause
/* Build the model of a KMAP in one pass over its lines. */
#include "analysis/kmap_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/reader.h"

/* Records between two looks at the clock. */
#define OFTEN 65536u

/* ---- the end of an object ------------------------------------------------------------ */

static void end_object(struct mz_kmap_model *m)
{
	struct current *now = &m->own->now;
	struct mz_kmap_class *to[2];

	if (!now->open)
		return;
	now->open = false;
	to[0] = &m->classes[now->class];
	to[1] = &m->total;
	for (int i = 0; i < 2; i++) {
		struct mz_kmap_class *c = to[i];

		c->reads += now->reads;
		c->writes += now->writes;
		if (!now->reads && !now->writes) {
			mz_kmap_add_sum(&c->untouched, now->size);
			if (now->freed)
				mz_kmap_add_sum(&c->freed_untouched, now->size);
		} else if (!now->reads) {
			mz_kmap_add_sum(&c->unread, now->size);
		} else if (!now->writes) {
			mz_kmap_add_sum(&c->unwritten, now->size);
		}
		if (now->dirs)
			mz_kmap_add_sum(&c->by_dirs, now->size);
		if (now->processes)
			mz_kmap_add_sum(&c->by_processes, now->size);
		if (now->interrupt && now->process)
			mz_kmap_add_sum(&c->by_contexts, now->size);
	}
}

/* ---- objects ------------------------------------------------------------------------------ */

/* Variables have no allocation site: each is a class. */
static bool is_global(const struct mz_kmap_object *o)
{
	struct mz_kmap_text t = o->type;

	if (mz_kmap_is_catch_all(o))
		return false;
	/* an allocation whose code address the kernel did not reveal is not a variable */
	if (!o->alloc_ip && t.len && mz_kmap_is_allocation(t))
		return false;
	return !o->alloc_ip || (t.len >= 6 && !memcmp(t.p, "GLOBAL", 6)) ||
	       (t.len == 10 && !memcmp(t.p, "UFO_GLOBAL", 10)) ||
	       (t.len == 14 && !memcmp(t.p, "UNKNOWN_GLOBAL", 14));
}

/* In a union, memory that was unknown until it was accessed is classified by its address. */
static bool by_address(const struct mz_kmap_model *m, uint32_t type)
{
	return m->own->lives && type && !strncmp(mz_kmap_string(m, type), "UFO_", 4);
}

/* A variable is named only if its symbol begins exactly at the object; a name with an offset
 * would belong to something else. */
static void name_global(struct mz_kmap_model *m, struct mz_kmap_class *c)
{
	struct mz_symbol_variable v;

	if (!(c->global || by_address(m, c->type)) || !m->own->symbols ||
	    !mz_symbols_variable(m->own->symbols, c->first_va, &v))
		return;
	if (m->own->lives)
		c->symbol_size = mz_symbols_variable_size(m->own->symbols, c->first_va, &c->symbol);
	c->name = !v.offset ? mz_kmap_text_id(m, v.name) : 0;
	c->dir = mz_kmap_text_id(m, v.dir);
	/* a list of symbols has no sizes: an address behind a start may belong to another
	 * variable */
	c->file = !v.offset || c->symbol_size ? mz_kmap_text_id(m, v.file) : 0;
}

static uint32_t alloc_place(struct mz_kmap_model *m, const struct mz_kmap_object *o)
{
	if (mz_kmap_is_frame(o->type) && !mz_kmap_is_special(o->alloc_ip))
		return mz_kmap_entry_id(m, o->alloc_ip);
	return mz_kmap_place_id(m, o->alloc_ip);
}

/* The address takes part in the key only for globals: each variable is a class of its own,
 * while heap objects of one site share one. */
static uint32_t class_id(struct mz_kmap_model *m, const struct mz_kmap_object *o)
{
	struct mz_kmap_private *own = m->own;
	uint32_t place = alloc_place(m, o), type = mz_kmap_recent_id(m, &own->type, o->type);
	uint32_t cache = mz_kmap_recent_id(m, &own->cache, o->cache), kind, id;
	bool global = is_global(o);
	struct mz_kmap_class *c;

	kind = mz_pair_index_put(&own->kinds, type, cache);
	if (place == MZ_PAIR_INDEX_NONE || kind == MZ_PAIR_INDEX_NONE)
		return MZ_PAIR_INDEX_NONE;
	id = mz_pair_index_put(&own->classes, (uint64_t)place << 32 | kind,
			       global || by_address(m, type) ? o->va : 0);
	if (id == MZ_PAIR_INDEX_NONE || id < m->n_classes)
		return id;
	if (!ROOM(m, classes, id))
		return MZ_PAIR_INDEX_NONE;
	m->n_classes = id + 1;
	c = &m->classes[id];
	c->place = place;
	c->type = type;
	c->cache = cache;
	c->first_va = o->va;
	c->global = global;
	c->in_union = o->shape == MZ_KMAP_UNION;
	c->catch_all = mz_kmap_is_catch_all(o);
	c->first = o->size;
	c->least = UINT64_MAX;
	name_global(m, c);
	return id;
}

/* The allocating code, and the owner for the pairs. */
static int add_owner(struct mz_kmap_model *m, uint32_t class, const struct mz_kmap_object *o)
{
	struct mz_kmap_private *own = m->own;
	uint32_t comm = mz_kmap_recent_id(m, &own->comm, o->comm), process, owner;

	process = mz_pair_index_put(&own->processes, (uint32_t)o->pid, comm);
	if (process == MZ_PAIR_INDEX_NONE || !ROOM(m, processes, process))
		return -ENOMEM;
	if (process >= m->n_processes)
		m->n_processes = process + 1;
	m->processes[process].pid = o->pid;
	m->processes[process].comm = comm;
	mz_kmap_add_sum(&m->processes[process].sum, o->size);
	m->processes[process].last = m->total.all.objects;
	owner = mz_pair_index_put(&own->owners, class, process);
	if (owner == MZ_PAIR_INDEX_NONE || !ROOM(m, owners, owner))
		return -ENOMEM;
	if (owner >= m->n_owners)
		m->n_owners = owner + 1;
	own->now.owner = m->by == MZ_KMAP_BY_PID ? process : class;
	m->owners[owner].class = class;
	m->owners[owner].process = process;
	mz_kmap_add_sum(&m->owners[owner].sum, o->size);
	return 0;
}

int mz_kmap_add_freer(struct mz_kmap_model *m, uint32_t class, uint64_t ip, uint64_t objects)
{
	uint32_t place = mz_kmap_place_id(m, ip), id;

	id = place == MZ_PAIR_INDEX_NONE ? place : mz_pair_index_put(&m->own->freers, class, place);
	if (id == MZ_PAIR_INDEX_NONE || !ROOM(m, freers, id))
		return -ENOMEM;
	if (id >= m->n_freers)
		m->n_freers = id + 1;
	m->freers[id].class = class;
	m->freers[id].place = place;
	m->freers[id].objects += objects;
	return 0;
}

/* Upstream's kernels write a time beyond this for an object that was not freed. */
#define NEVER 100000000000u

/* Only objects whose whole life is known: with both times, and a free by the kernel's own code, as
 * the published measures require. */
static int add_life(struct mz_kmap_model *m, uint32_t class, const struct mz_kmap_object *o)
{
	if (!m->own->lives || !o->alloc_time || !o->free_time || o->free_time > NEVER ||
	    (o->free_ip - (uint64_t)m->shift) >> 28 != 0xffffffff8u)
		return 0;
	if (!ROOM(m, lives, m->n_lives))
		return -ENOMEM;
	m->lives[m->n_lives++] = (struct mz_kmap_life){class, o->size, o->alloc_time, o->free_time};
	return 0;
}

/* The same in the address space. Variables are always there, in places of their own. */
static void add_place(struct mz_heatmap *s, const struct mz_kmap_object *o, bool freed)
{
	if (!o->alloc_time) {
		mz_heatmap_always(s, o->va, o->size);
		return;
	}
	mz_heatmap_tick(s, o->alloc_time);
	mz_heatmap_add(s, o->va, o->size, true);
	if (freed && o->free_time >= o->alloc_time) {
		mz_heatmap_tick(s, o->free_time);
		mz_heatmap_add(s, o->va, o->size, false);
	}
}

/* Objects without a time of allocation were there from the start and form the base of the
 * curve. */
static void add_times(struct mz_kmap_model *m, const struct mz_kmap_object *o, bool global,
		      bool freed)
{
	if (global || !o->alloc_time) {
		mz_kmap_add_sum(&m->timeless, o->size);
	} else {
		mz_timeline_change(&m->timeline, o->alloc_time, (int64_t)o->size, 1);
		if (freed && o->free_time >= o->alloc_time)
			mz_timeline_change(&m->timeline, o->free_time, -(int64_t)o->size, -1);
	}
	if (m->own->space && !global)
		add_place(m->own->space, o, freed);
}

/* An overlaid object ended without a free that was seen; it counts as freed, and separately as
 * overlaid. */
static void count_object(struct mz_kmap_class *c, const struct mz_kmap_object *o, bool freed)
{
	mz_kmap_add_sum(&c->all, o->size);
	if (o->size < c->least)
		c->least = o->size;
	if (o->size > c->greatest)
		c->greatest = o->size;
	if (!freed)
		return;
	mz_kmap_add_sum(&c->freed, o->size);
	if (o->free_ip == MZ_KMAP_OVERLAID)
		mz_kmap_add_sum(&c->overlaid, o->size);
	if (o->free_ip == MZ_KMAP_NESTED)
		mz_kmap_add_sum(&c->nested, o->size);
	if (o->free_time >= o->alloc_time)
		c->lifetime += o->free_time - o->alloc_time;
}

static int add_object(struct mz_kmap_model *m, const struct mz_kmap_object *o)
{
	struct current *now = &m->own->now;
	bool freed = o->free_ip || o->free_time;
	uint32_t id;

	end_object(m);
	id = class_id(m, o);
	if (id == MZ_PAIR_INDEX_NONE)
		return -ENOMEM;
	count_object(&m->classes[id], o, freed);
	count_object(&m->total, o, freed);
	add_times(m, o, m->classes[id].global, freed);
	mz_histogram_add(&m->sizes, o->size);
	if (freed && o->free_time >= o->alloc_time)
		mz_histogram_add(&m->lifetimes, o->free_time - o->alloc_time);
	m->shapes[o->shape]++;
	*now = (struct current){.open = true,
				.freed = freed,
				.class = id,
				.serial = now->serial + 1 ? now->serial + 1 : 1,
				.size = o->size};
	if (add_owner(m, id, o) < 0 || add_life(m, id, o) < 0)
		return -ENOMEM;
	return freed ? mz_kmap_add_freer(m, id, o->free_ip, 1) : 0;
}

/* ---- all of it --------------------------------------------------------------------------- */

static int add(struct mz_kmap_model *m, const struct mz_kmap_record *rec)
{
	switch (rec->kind) {
	case MZ_KMAP_OBJECT:
		return mz_kmap_enter_gathered(m) < 0 ? -ENOMEM : add_object(m, &rec->object);
	case MZ_KMAP_ACCESS: return mz_kmap_add_access(m, &rec->access);
	case MZ_KMAP_CALL: return mz_kmap_add_call(m, &rec->call);
	case MZ_KMAP_OTHER: break;
	}
	return 0;
}

static void find_peak(struct mz_kmap_model *m)
{
	const struct mz_timeline *t = &m->timeline;
	int64_t most = -1;

	for (unsigned i = 0; i < t->used; i++) {
		if ((int64_t)t->bins[i].live <= most)
			continue;
		most = (int64_t)t->bins[i].live;
		m->live_peak = (struct mz_kmap_sum){t->bins[i].blocks, t->bins[i].live};
		m->live_peak_time = t->first + i * t->width;
	}
}

/* Place 0 is the unknown address, so that a missing address needs no special case. */
static int start(struct mz_kmap_model *m, enum mz_kmap_by by)
{
	memset(m, 0, sizeof(*m));
	m->by = by;
	m->own = calloc(1, sizeof(*m->own));
	m->strings = mz_tables_new();
	m->total.least = UINT64_MAX;
	mz_timeline_init(&m->timeline, MZ_TIMELINE_BINS);
	return m->own && m->strings && mz_kmap_place_id(m, 0) == 0 ? 0 : -ENOMEM;
}

/* Addresses of the first lines tell how far the kernel was moved, if nothing else does. */
static void find_shift(struct mz_kmap *k, struct mz_symbols *symbols)
{
	uint64_t ips[4096];

	if (symbols)
		mz_symbols_shift_by(symbols, ips, mz_kmap_peek(k, ips, sizeof(ips) / sizeof(*ips)));
}

/* Calls that are in a file of their own: nothing else may be in it. */
static int add_calls(struct mz_kmap_model *m, struct mz_kmap *calls, struct mz_error *err)
{
	const struct mz_kmap_record *recs;
	int ret;

	while ((ret = mz_kmap_read(calls, &recs)) > 0) {
		for (int i = 0; i < ret; i++) {
			if (recs[i].kind != MZ_KMAP_CALL)
				return mz_fail(err, EINVAL,
					       "%s: it contains more than calls, which are lines "
					       "of two addresses and a count",
					       mz_kmap_name(calls));
			if (mz_kmap_add_call(m, &recs[i].call) < 0)
				return mz_fail_memory(err);
		}
	}
	if (ret < 0)
		*err = *mz_kmap_error(calls);
	return ret;
}

/* Progress is reported once per OFTEN lines: a call per line would be measurable. */
int mz_kmap_model_read(struct mz_kmap_model *m, struct mz_kmap *k,
		       const struct mz_kmap_model_options *o, struct mz_error *err)
{
	const struct mz_kmap_record *recs;
	size_t n = 0;
	int ret;

	if (start(m, o->by) < 0)
		return mz_fail_memory(err);
	m->own->symbols = o->symbols;
	m->own->pids = o->pids;
	m->own->lives = o->lives;
	m->own->space = o->space;
	find_shift(k, o->symbols);
	m->shift = o->symbols ? mz_symbols_shift(o->symbols) : 0;
	while ((ret = mz_kmap_read(k, &recs)) > 0) {
		for (int i = 0; i < ret; i++)
			if (add(m, &recs[i]) < 0)
				return mz_fail_memory(err);
		n += (size_t)ret;
		if (n < OFTEN)
			continue;
		n = 0;
		if (o->progress && !o->progress(o->arg, k))
			return mz_fail(err, EINTR, "%s: stopped", mz_kmap_name(k));
	}
	if (ret < 0) {
		*err = *mz_kmap_error(k);
		return ret;
	}
	if (mz_kmap_enter_gathered(m) < 0)
		return mz_fail_memory(err);
	if (o->calls && !m->n_calls && add_calls(m, o->calls, err) < 0)
		return -EINVAL;
	end_object(m);
	mz_timeline_sum(&m->timeline, m->timeless.bytes, m->timeless.objects);
	find_peak(m);
	if (o->space)
		mz_heatmap_end(o->space, m->timeline.now);
	if (mz_kmap_name_processes(m) < 0 || mz_tables_incomplete(m->strings))
		return mz_fail_memory(err);
	m->lines = mz_kmap_lines(k);
	m->bad_lines = mz_kmap_bad_lines(k);
	m->open_end = mz_kmap_open_end(k);
	m->files_cut = mz_kmap_files_cut(k);
	m->bytes = mz_kmap_bytes(k);
	m->touching = m->own->touching.count;
	m->own->symbols = NULL;
	m->own->space = NULL;
	return 0;
}

void mz_kmap_model_deinit(struct mz_kmap_model *m)
{
	struct mz_kmap_private *own = m->own;

	free(m->classes);
	free(m->edges);
	free(m->freers);
	free(m->owners);
	free(m->processes);
	free(m->calls);
	free(m->lives);
	free(m->places);
	free(m->members);
	free(m->pairs);
	free(m->groups);
	free(m->class_types);
	mz_types_close(m->types);
	mz_tables_free(m->strings);
	if (own) {
		struct mz_pair_index *all[] = {&own->classes, &own->edges,     &own->freers,
					       &own->owners,  &own->processes, &own->calls,
					       &own->places,  &own->kinds,     &own->by_pid,
					       &own->pairs,   &own->groups,    &own->touching};

		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
			mz_pair_index_deinit(all[i]);
		free(own->states);
		free(own->last);
		free(own->last_of);
	}
	free(own);
	memset(m, 0, sizeof(*m));
}

const char *mz_kmap_string(const struct mz_kmap_model *m, uint32_t id)
{
	const char *s = mz_tables_get_string(m->strings, id, NULL);

	return s ? s : "";
}

const char *mz_kmap_comm(const struct mz_kmap_model *m, int32_t pid)
{
	uint32_t id = mz_pair_index_get(&m->own->by_pid, (uint32_t)pid, 0);

	return id == MZ_PAIR_INDEX_NONE ? ""
					: mz_kmap_string(m, m->processes[m->own->last_of[id]].comm);
}
