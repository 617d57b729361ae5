// SPDX-License-Identifier: BSD-2-Clause
/* Convert a union of KMAPs to the records of one map: calls, classes, and what touches them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kmap_union.h"
#include "base/array.h"

/* Sorted output: the union of the same maps is the same bytes, in whatever order they came. */
static int by_call(const void *a, const void *b)
{
	const struct mz_union_call *x = a, *y = b;

	return MZ_ORDER(x->from, y->from) ?: MZ_ORDER(x->to, y->to);
}

static int by_object(const void *a, const void *b)
{
	const struct mz_union_edge *x = a, *y = b;

	return MZ_ORDER(x->object, y->object) ?: MZ_ORDER(x->ip, y->ip);
}

/* By identity, which does not depend on the order of the maps. */
static int by_identity(const void *a, const void *b, void *arg)
{
	const struct mz_union *u = arg;
	const struct mz_union_object *x = &u->objects[*(const uint32_t *)a];
	const struct mz_union_object *y = &u->objects[*(const uint32_t *)b];
	int c;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	c = strcmp(mz_union_string(u, x->cache), mz_union_string(u, y->cache));
	return c ? c : strcmp(mz_union_string(u, x->type), mz_union_string(u, y->type));
}

/* Objects are numbered in the order of reading; edges are moved to the new numbers. */
static int sort_objects(struct mz_union *u)
{
	size_t n = u->n_objects ? u->n_objects : 1;
	uint32_t *order = malloc(n * sizeof(*order)), *now = malloc(n * sizeof(*now));
	struct mz_union_object *sorted = malloc(n * sizeof(*sorted));
	bool ok = order && now && sorted;

	for (uint32_t i = 0; ok && i < u->n_objects; i++)
		order[i] = i;
	if (ok)
		qsort_r(order, u->n_objects, sizeof(*order), by_identity, u);
	for (uint32_t i = 0; ok && i < u->n_objects; i++) {
		sorted[i] = u->objects[order[i]];
		now[order[i]] = i;
	}
	for (size_t i = 0; ok && i < u->n_edges; i++)
		u->edges[i].object = now[u->edges[i].object];
	if (ok) {
		free(u->objects);
		u->objects = sorted;
	} else {
		free(sorted);
	}
	free(order);
	free(now);
	return ok ? 0 : -ENOMEM;
}

int mz_union_finish(struct mz_union *u)
{
	/* numbers change: nothing can be added any more */
	mz_pair_index_deinit(&u->object_index);
	mz_pair_index_deinit(&u->edge_index);
	mz_pair_index_deinit(&u->call_index);
	if (sort_objects(u) < 0)
		return -ENOMEM;
	if (u->n_calls)
		qsort(u->calls, u->n_calls, sizeof(*u->calls), by_call);
	if (u->n_edges)
		qsort(u->edges, u->n_edges, sizeof(*u->edges), by_object);
	return 0;
}

struct writer {
	struct mz_union *u;
	mz_union_put *put;
	void *arg;
	char line[512];
};

/* A comment. */
static int put_text(struct writer *w, int len)
{
	struct mz_kmap_record rec = {.kind = MZ_KMAP_OTHER};

	if (len < 0 || (size_t)len >= sizeof(w->line))
		len = (int)strlen(w->line);
	/* a path may hold anything: a line it must not end */
	for (int i = 0; i < len; i++)
		if (w->line[i] == '\n' || w->line[i] == '\r')
			w->line[i] = '?';
	rec.line = (struct mz_kmap_text){w->line, (size_t)len};
	return w->put(w->arg, &rec, NULL);
}

static struct mz_kmap_text text_of(const struct mz_union *u, uint32_t id, const char *none)
{
	const char *s = mz_union_string(u, id);

	s = *s ? s : none;
	return (struct mz_kmap_text){s, strlen(s)};
}

/* An allocation site is its address; a variable has none; the others are named. */
static int put_object(struct writer *w, uint32_t i, struct mz_kmap_object *as)
{
	const struct mz_union_object *o = &w->u->objects[i];
	bool named = o->kind != MZ_UNION_SITE && o->kind != MZ_UNION_GLOBAL;
	struct mz_kmap_record rec = {.kind = MZ_KMAP_OBJECT};
	char id[320];

	rec.object = (struct mz_kmap_object){
		.alloc_ip = o->kind == MZ_UNION_SITE	     ? o->id
			    : o->kind == MZ_UNION_PREALLOCED ? MZ_KMAP_CTOR
							     : 0,
		.va = o->kind == MZ_UNION_GLOBAL ? o->id : o->va,
		.size = o->size,
		.pointers = MZ_KMAP_NULL,
		.shape = MZ_KMAP_UNION,
		.comm = {"(null)", 6},
		.type = text_of(w->u, o->type, o->kind == MZ_UNION_GLOBAL ? "GLOBAL" : "KMALLOC"),
		.cache = text_of(w->u, o->cache, "no-slab")};
	*as = rec.object;
	if (named) {
		mz_union_object_id(w->u, i, id, sizeof(id));
		rec.line.len =
			(size_t)snprintf(w->line, sizeof(w->line),
					 "%.200s,0,%016llx,%llu,0,0,(null),%.40s,(null),%.200s", id,
					 (unsigned long long)o->va, (unsigned long long)o->size,
					 rec.object.type.p, rec.object.cache.p);
		rec.line.p = w->line;
	}
	return w->put(w->arg, &rec, as);
}

/* The pid is -1: accesses of all processes are added up in a union. */
static int put_edge(struct writer *w, const struct mz_union_edge *e,
		    const struct mz_kmap_object *of)
{
	struct mz_kmap_record rec = {.kind = MZ_KMAP_ACCESS,
				     .access = {.ip = e->ip,
						.writes = e->writes,
						.reads = e->reads,
						.frees = e->frees,
						.pid = -1,
						.fields = 4}};

	return w->put(w->arg, &rec, of);
}

static int put_objects(struct writer *w)
{
	struct mz_union *u = w->u;
	size_t e = 0;
	int ret = 0;

	for (uint32_t i = 0; i < u->n_objects && !ret; i++) {
		struct mz_kmap_object as;

		ret = put_object(w, i, &as);
		for (; !ret && e < u->n_edges && u->edges[e].object == i; e++)
			ret = put_edge(w, &u->edges[e], &as);
	}
	return ret;
}

static int put_calls(struct writer *w)
{
	int ret = 0;

	for (size_t i = 0; i < w->u->n_calls && !ret; i++) {
		const struct mz_union_call *c = &w->u->calls[i];
		struct mz_kmap_record rec = {
			.kind = MZ_KMAP_CALL,
			.call = {.from = c->from, .to = c->to, .count = c->count, .pid = -1}};

		ret = w->put(w->arg, &rec, NULL);
	}
	return ret;
}

/* At the end: at the start, many of them would hide the kind of the file. */
static int put_runs(struct writer *w)
{
	int ret = 0;

	for (size_t i = 0; i < w->u->n_runs && !ret; i++) {
		const struct mz_union_run *r = &w->u->runs[i];

		ret = put_text(
			w, snprintf(w->line, sizeof(w->line),
				    "# run %zu: %.400s objects=%llu accesses=%llu calls=%llu",
				    i + 1, r->name, (unsigned long long)r->objects,
				    (unsigned long long)r->accesses, (unsigned long long)r->calls));
	}
	return ret;
}

int mz_union_write(struct mz_union *u, mz_union_put *put, void *arg)
{
	struct writer w = {.u = u, .put = put, .arg = arg};
	int ret;

	ret = put_text(&w, snprintf(w.line, sizeof(w.line),
				    "# union of %zu maps (memorizer kmap merge)", u->n_runs));
	if (!ret)
		ret = put_calls(&w);
	if (!ret)
		ret = put_objects(&w);
	return ret ? ret : put_runs(&w);
}
