// SPDX-License-Identifier: BSD-2-Clause
/* Add up many KMAPs: which class an object belongs to, and what touched it. */
#include "analysis/kmap_union.h"
#include "base/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kmap_sizes.h"
#include "trace/reader.h"

#define ROOM(u, what, at)                                                                          \
	mz_array_room((void **)&(u)->what, &(u)->cap_##what, at, sizeof(*(u)->what))

int mz_union_init(struct mz_union *u)
{
	*u = (struct mz_union){.strings = mz_tables_new()};
	return u->strings ? 0 : -ENOMEM;
}

void mz_union_deinit(struct mz_union *u)
{
	for (size_t i = 0; i < u->n_runs; i++)
		free(u->runs[i].name);
	free(u->objects);
	free(u->edges);
	free(u->calls);
	free(u->runs);
	mz_tables_free(u->strings);
	mz_pair_index_deinit(&u->object_index);
	mz_pair_index_deinit(&u->edge_index);
	mz_pair_index_deinit(&u->call_index);
	*u = (struct mz_union){0};
}

const char *mz_union_string(const struct mz_union *u, uint32_t id)
{
	const char *s = mz_tables_get_string(u->strings, id, NULL);

	return s ? s : "";
}

/* The name is the identity of the class and nothing else, so that files of different runs name the
 * same class alike. */
char *mz_union_object_id(const struct mz_union *u, uint32_t object, char *buf, size_t size)
{
	static const char *const names[MZ_UNION_KINDS] = {
		[MZ_UNION_STACK] = "THREAD_STACK",  [MZ_UNION_MEMBLOCK] = "MEMBLOCK",
		[MZ_UNION_VMEMMAP] = "VMEMMAP",	    [MZ_UNION_FIXMAP] = "FIXMAP",
		[MZ_UNION_ANON_NONE] = "ANON_NONE", [MZ_UNION_ANON_HEAP] = "ANON_HEAP",
	};
	const struct mz_union_object *o = &u->objects[object];
	unsigned long long id = o->id;

	if (names[o->kind])
		snprintf(buf, size, "%s", names[o->kind]);
	else if (o->kind == MZ_UNION_PREALLOCED)
		snprintf(buf, size, "prealloced-%s", mz_union_string(u, o->cache));
	else if (o->kind == MZ_UNION_OTHER)
		snprintf(buf, size, "%s", mz_union_string(u, o->type));
	else
		snprintf(buf, size,
			 o->kind == MZ_UNION_CODE     ? "code_%016llx"
			 : o->kind == MZ_UNION_GLOBAL ? "global_%016llx"
						      : "%016llx",
			 id);
	return buf;
}

/* ---- which class ------------------------------------------------------------------------ */

/* How the types of the original and of Memorizer's kernel are counted. */
enum object_sort {
	DROPPED,
	HEAP,
	PAGES,
	STACKS,
	GLOBALS,
	UFO_GLOBALS,
	UFO_NONE,
	UFO_HEAP,
	BOOT,
	OTHER
};

static const struct {
	const char *type;
	enum object_sort sort;
} sorts[] = {
	{"KMALLOC", HEAP},
	{"KMALLOC_ND", HEAP},
	{"KMEM_CACHE", HEAP},
	{"KMEM_CACHE_ND", HEAP},
	{"KMEM_CACHE_BULK", HEAP},
	{"ALLOC_PAGES", HEAP},
	{"ALLOC_PAGES_EXACT", HEAP},
	{"ALLOC_PAGES_FOLIO", HEAP},
	{"ALLOC_PAGES_GETFREEPAGES", HEAP},
	{"STACK_FRAME", HEAP},
	{"STACK_ARGS", HEAP},
	{"VMALLOC", PAGES},
	{"PERCPU", PAGES},
	{"STACK_PAGE", STACKS},
	{"STACK", STACKS},
	{"GLOBAL", GLOBALS},
	{"GLOBAL_PERCPU", GLOBALS},
	{"MODULE", GLOBALS},
	{"UFO_GLOBAL", UFO_GLOBALS},
	{"UNKNOWN_GLOBAL", UFO_GLOBALS},
	{"UFO_NONE", UFO_NONE},
	{"ALLOC TYPE NOT FOUND", UFO_NONE},
	{"UFO_HEAP", UFO_HEAP},
	{"MEMBLOCK", BOOT},
	{"UFO_MEMBLOCK", BOOT},
	{"BUG", DROPPED},
	{"INDUCED_ALLOC", DROPPED},
	{"MEMORIZER", DROPPED},
	{"NONE", DROPPED},
	{"USER", DROPPED},
};

/* In a map without types, everything but variables came from an allocator. A type that is not
 * listed becomes a class by its name. */
static enum object_sort sort_of(const struct mz_kmap_model *m, const struct mz_kmap_class *c)
{
	const char *type = mz_kmap_string(m, c->type);

	if (!*type)
		return c->global ? GLOBALS : HEAP;
	for (size_t i = 0; i < sizeof(sorts) / sizeof(*sorts); i++)
		if (!strcmp(type, sorts[i].type))
			return sorts[i].sort;
	return OTHER;
}

struct identity {
	enum mz_union_kind kind;
	uint64_t id;
	bool sums;   /* sizes of its pieces add up */
	bool timed;  /* its size is the average of what was live */
	bool symbol; /* its size is the average of its live bytes */
};

/* As linked: code and variables of the kernel itself move with it. With KASLR they are elsewhere
 * after each boot, and maps of several boots must agree. */
static uint64_t linked(const struct mz_kmap_model *m, uint64_t addr)
{
	return addr >= 0xffffffff80000000u && addr < 0xffffffffc0000000u ? addr - (uint64_t)m->shift
									 : addr;
}

/* Memory that was unknown when it was touched is classified by its address. */
static struct identity found_at_access(const struct mz_kmap_model *m, const struct mz_kmap_class *c,
				       enum object_sort sort)
{
	uint64_t va = linked(m, c->first_va);

	/* the ranges are those of the published scripts, for kernels whose regions are not
	 * randomized */
	if (sort == UFO_NONE && va >> 40 == 0xffffeau)
		return (struct identity){MZ_UNION_VMEMMAP, 0, .sums = true};
	if (va >= 0xffff880000002000u && va < 0xffff880000010000u)
		return (struct identity){MZ_UNION_MEMBLOCK, 0, .sums = true};
	if (c->symbol_size)
		return (struct identity){MZ_UNION_GLOBAL, linked(m, c->symbol), .symbol = true};
	if (va >= 0xffffffff80000000u && va < 0xffffffff9fffffffu)
		return (struct identity){MZ_UNION_CODE, va, .sums = false};
	if (va >= 0xffffffffff578000u && va < 0xffffffffff5fffffu)
		return (struct identity){MZ_UNION_FIXMAP, 0, .sums = false};
	return (struct identity){sort == UFO_NONE ? MZ_UNION_ANON_NONE : MZ_UNION_ANON_HEAP, 0,
				 .sums = true};
}

/* Objects with the same identity are one class of the union, whatever the map says in detail. */
static struct identity identify(const struct mz_kmap_model *m, const struct mz_kmap_class *c,
				enum object_sort sort)
{
	uint64_t ip = m->places[c->place].ip;

	switch (sort) {
	case HEAP:
	case PAGES:
		return (struct identity){ip == MZ_KMAP_CTOR ? MZ_UNION_PREALLOCED : MZ_UNION_SITE,
					 ip == MZ_KMAP_CTOR ? 0 : linked(m, ip),
					 .timed = sort == HEAP};
	case STACKS: return (struct identity){MZ_UNION_STACK, 0, .timed = true};
	case GLOBALS:
		return (struct identity){MZ_UNION_GLOBAL, linked(m, c->first_va), .sums = false};
	case UFO_GLOBALS:
		return c->symbol_size ? (struct identity){MZ_UNION_GLOBAL, linked(m, c->symbol),
							  .symbol = true}
				      : (struct identity){MZ_UNION_GLOBAL, linked(m, c->first_va),
							  .sums = false};
	case UFO_NONE:
	case UFO_HEAP: return found_at_access(m, c, sort);
	case BOOT: return (struct identity){MZ_UNION_MEMBLOCK, 0, .sums = true};
	default: return (struct identity){MZ_UNION_OTHER, 0, .sums = false};
	}
}

/* Is it not an object? It has no address at all, or no allocating code where there must be one. */
static bool is_blank(const struct mz_kmap_model *m, const struct mz_kmap_class *c,
		     enum object_sort sort)
{
	uint64_t ip = m->places[c->place].ip;

	if (c->in_union && (sort == STACKS || sort == BOOT || sort == UFO_NONE || sort == UFO_HEAP))
		return false;
	return (!ip && (!c->first_va || sort == HEAP || sort == PAGES)) || c->catch_all;
}

/* ---- objects ------------------------------------------------------------------------------ */

/* The name of a cache without the group that it is charged to. */
static uint32_t cache_of(struct mz_union *u, const struct mz_kmap_model *m,
			 const struct mz_kmap_class *c)
{
	const char *name = mz_kmap_string(m, c->cache);
	size_t n = strcspn(name, "(");

	return n ? mz_tables_string(u->strings, name, n) : 0;
}

static uint32_t text_of(struct mz_union *u, const char *s)
{
	return *s ? mz_tables_string(u->strings, s, strlen(s)) : 0;
}

/* The size that one map gives a class, before its times are considered. */
static void add_size(struct mz_union_object *o, const struct mz_kmap_class *c,
		     const struct identity *i)
{
	bool first = !o->seen;

	if (!o->most || c->least < o->least)
		o->least = c->least;
	o->most = c->greatest > o->most ? c->greatest : o->most;
	o->seen = true;
	o->greatest = c->greatest > o->greatest ? c->greatest : o->greatest;
	if (i->symbol)
		o->now = first ? c->symbol_size : o->now;
	else if (i->sums)
		o->now += c->all.bytes;
	else if (i->kind == MZ_UNION_SITE || i->kind == MZ_UNION_PREALLOCED || i->timed)
		o->now = c->greatest > o->now ? c->greatest : o->now;
	else if (first)
		o->now = c->first;
}

/* The identity is the key. Type, cache and name are those of the first object that had it. */
static uint32_t object_of(struct mz_union *u, const struct mz_kmap_model *m,
			  const struct mz_kmap_class *c, const struct identity *i)
{
	uint32_t cache = cache_of(u, m, c), type = text_of(u, mz_kmap_string(m, c->type)), id;
	uint32_t text = i->kind == MZ_UNION_PREALLOCED ? cache
			: i->kind == MZ_UNION_OTHER    ? type
						       : 0;
	struct mz_union_object *o;

	id = mz_pair_index_put(&u->object_index, (uint64_t)i->kind << 32 | text, i->id);
	if (id == MZ_PAIR_INDEX_NONE || !ROOM(u, objects, id))
		return MZ_PAIR_INDEX_NONE;
	o = &u->objects[id];
	if (id >= u->n_objects) {
		u->n_objects = id + 1;
		*o = (struct mz_union_object){.kind = i->kind,
					      .id = i->id,
					      .va = linked(m, c->first_va),
					      .type = type,
					      .cache = cache,
					      .name = text_of(u, mz_kmap_string(m, c->name))};
	}
	/* the symbols of one map may know it where those of another do not */
	if (!o->file && i->kind == MZ_UNION_GLOBAL)
		o->file = text_of(u, mz_kmap_string(m, c->file));
	add_size(o, c, i);
	return id;
}

/* Every class of the map becomes one of the union. of: by class of the map; MZ_PAIR_INDEX_NONE: it
 * is none. timed: its lives determine its size. */
static int add_objects(struct mz_union *u, const struct mz_kmap_model *m, uint32_t *of, bool *timed)
{
	for (size_t i = 0; i < m->n_classes; i++) {
		const struct mz_kmap_class *c = &m->classes[i];
		enum object_sort sort = sort_of(m, c);
		struct identity is;

		of[i] = MZ_PAIR_INDEX_NONE;
		if (is_blank(m, c, sort))
			continue;
		if (sort == DROPPED) {
			u->dropped += c->all.objects;
			continue;
		}
		is = identify(m, c, sort);
		timed[i] = is.timed && !c->in_union;
		of[i] = object_of(u, m, c, &is);
		if (of[i] == MZ_PAIR_INDEX_NONE)
			return -ENOMEM;
	}
	return 0;
}

/* Upstream's page structures hold 124 bytes of its own for 8 of the kernel's. */
static uint64_t of_kernel(uint64_t size)
{
	return (uint64_t)((double)size * (8.0 / 124.0));
}

/* A map is complete: its sizes count once for each class that it holds. */
static void close_map(struct mz_union *u, bool in_union)
{
	for (size_t i = 0; i < u->n_objects; i++) {
		struct mz_union_object *o = &u->objects[i];

		if (!o->seen)
			continue;
		if (o->kind == MZ_UNION_VMEMMAP && !in_union)
			o->now = of_kernel(o->now);
		o->sum += o->now;
		o->maps++;
		if (o->kind != MZ_UNION_GLOBAL)
			o->size = o->sum / o->maps;
		else if (o->maps == 1)
			o->size = o->now;
		o->now = o->greatest = 0;
		o->seen = false;
	}
}

/* ---- edges ---------------------------------------------------------------------------------- */

/* A new edge has first > last: no range of bytes is known yet, and the first one replaces it. */
static struct mz_union_edge *edge_of(struct mz_union *u, uint64_t ip, uint32_t object)
{
	uint32_t id = mz_pair_index_put(&u->edge_index, ip, object);

	if (id == MZ_PAIR_INDEX_NONE || !ROOM(u, edges, id))
		return NULL;
	if (id >= u->n_edges) {
		u->n_edges = id + 1;
		u->edges[id] =
			(struct mz_union_edge){.ip = ip, .object = object, .first = UINT16_MAX};
	}
	return &u->edges[id];
}

static int add_edges(struct mz_union *u, const struct mz_kmap_model *m, const uint32_t *of)
{
	for (size_t i = 0; i < m->n_edges; i++) {
		const struct mz_kmap_edge *e = &m->edges[i];
		uint64_t ip = m->places[e->place].ip;
		struct mz_union_edge *to;

		/* below that there is no code: a mistake of the recorder */
		if (of[e->class] == MZ_PAIR_INDEX_NONE || ip < 1024)
			continue;
		to = edge_of(u, linked(m, ip), of[e->class]);
		if (!to)
			return -ENOMEM;
		to->reads += e->reads;
		to->writes += e->writes;
		to->first = e->first < to->first ? e->first : to->first;
		to->last = e->last > to->last ? e->last : to->last;
	}
	for (size_t i = 0; i < m->n_freers; i++) {
		const struct mz_kmap_freer *f = &m->freers[i];
		uint64_t ip = m->places[f->place].ip;
		struct mz_union_edge *to;

		if (of[f->class] == MZ_PAIR_INDEX_NONE || mz_kmap_is_special(ip))
			continue;
		to = edge_of(u, linked(m, ip), of[f->class]);
		if (!to)
			return -ENOMEM;
		to->frees += f->objects;
	}
	return 0;
}

/* Of each process only the first line of a call counts: the published scripts ignore the
 * repetitions that a map may contain. */
static int add_calls(struct mz_union *u, const struct mz_kmap_model *m)
{
	for (size_t i = 0; i < m->n_calls; i++) {
		uint64_t from = linked(m, m->places[m->calls[i].from].ip);
		uint64_t to = linked(m, m->places[m->calls[i].to].ip);
		uint32_t id = mz_pair_index_put(&u->call_index, from, to);

		if (id == MZ_PAIR_INDEX_NONE || !ROOM(u, calls, id))
			return -ENOMEM;
		if (id >= u->n_calls) {
			u->n_calls = id + 1;
			u->calls[id] = (struct mz_union_call){from, to, 0};
		}
		u->calls[id].count += m->calls[i].first;
	}
	return 0;
}

/* What one run records, the union has: an operation is unknown only if no run recorded it. */
static int add_run(struct mz_union *u, const struct mz_kmap_model *m, const char *name)
{
	char *copy = strdup(name);

	if (!copy || !ROOM(u, runs, u->n_runs)) {
		free(copy);
		return -ENOMEM;
	}
	u->runs[u->n_runs++] =
		(struct mz_union_run){copy, m->total.all.objects, m->accesses, m->n_calls};
	u->has_accesses |= m->accesses > 0;
	u->has_calls |= m->n_calls > 0;
	u->has_ranges |= m->has_ranges;
	return 0;
}

/* The sizes need the classes, and the edges refer to them. After a failure the union holds a part
 * of the map, and must not be used. */
int mz_union_add(struct mz_union *u, const struct mz_kmap_model *m, const char *name)
{
	uint32_t *of = calloc(m->n_classes ? m->n_classes : 1, sizeof(*of));
	bool *timed = calloc(m->n_classes ? m->n_classes : 1, sizeof(*timed));
	int ret = of && timed ? add_objects(u, m, of, timed) : -ENOMEM;

	if (!ret)
		ret = mz_union_live_sizes(u, m, of, timed);
	if (!ret)
		ret = add_edges(u, m, of);
	if (!ret)
		ret = add_calls(u, m);
	if (!ret)
		ret = add_run(u, m, name);
	if (!ret && mz_tables_incomplete(u->strings))
		ret = -ENOMEM;
	u->files_cut += m->files_cut;
	close_map(u, m->shapes[MZ_KMAP_UNION] > 0);
	free(of);
	free(timed);
	return ret;
}
