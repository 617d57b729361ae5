// SPDX-License-Identifier: BSD-2-Clause
/* Use the compiler's table of access sites: the members that code touches, and from them the
 * structures of objects. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kmap_build.h"
#include "analysis/kmap_types.h"
#include "base/array.h"
#include "symbols/access_sites.h"

/* ---- places ----------------------------------------------------------------------------- */

/* Structures without a name cannot be told apart. */
static int describe(struct mz_kmap_model *m, struct mz_kmap_place *p,
		    const struct mz_access_site *s)
{
	const char *member = s->members + (*s->members == '.');
	char name[200];

	if (!s->type_size || !*s->type)
		return 0;
	snprintf(name, sizeof(name), "%s %s", s->is_union ? "union" : "struct", s->type);
	p->object = mz_kmap_text_id(m, name);
	p->member = mz_kmap_text_id(m, member);
	if (!p->object || (*member && !p->member))
		return -ENOMEM;
	p->object_size = s->type_size;
	p->member_offset = s->offset;
	p->member_size = s->size;
	m->has_members = true;
	return 0;
}

/* ---- objects ---------------------------------------------------------------------------- */

/* Accesses to objects of a class as one structure. */
struct vote {
	uint32_t class, object, size;
	uint64_t accesses;
	bool outer; /* it may be all of the object, not a part of it */
};

struct votes {
	struct mz_pair_index keys; /* by class and structure */
	struct vote *votes;
	size_t cap;
};

/* Does the structure begin where the object does, or where an element of it does? Without bytes:
 * perhaps. */
static bool may_be_outer(const struct mz_kmap_class *c, const struct mz_kmap_edge *e,
			 const struct mz_kmap_place *p)
{
	if (p->object_size > c->least)
		return false;
	return e->first > e->last || e->first == p->member_offset ||
	       (!(c->least % p->object_size) && e->first % p->object_size == p->member_offset);
}

static int add_vote(struct votes *v, const struct mz_kmap_model *m, const struct mz_kmap_edge *e)
{
	const struct mz_kmap_place *p = &m->places[e->place];
	struct vote *to;
	uint32_t id;

	if (!p->object_size || m->classes[e->class].global)
		return 0;
	id = mz_pair_index_put(&v->keys, e->class, (uint64_t)p->object << 32 | p->object_size);
	if (id == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&v->votes, &v->cap, id, sizeof(*v->votes)))
		return -ENOMEM;
	to = &v->votes[id];
	to->class = e->class;
	to->object = p->object;
	to->size = p->object_size;
	to->accesses += e->reads + e->writes;
	to->outer |= may_be_outer(&m->classes[e->class], e, p);
	return 0;
}

/* The largest structure that begins with the object is its type; the others are inside it, or
 * another view of it, as their share shows. */
static int decide(struct mz_kmap_model *m, const struct votes *v)
{
	uint32_t *size = calloc(m->n_classes ? m->n_classes : 1, sizeof(*size));

	if (!size)
		return -ENOMEM;
	for (size_t i = 0; i < v->keys.count; i++) {
		const struct vote *x = &v->votes[i];
		struct mz_kmap_type *t = &m->class_types[x->class];

		t->say += x->accesses;
		if (!x->outer || x->size < size[x->class] ||
		    (x->size == size[x->class] && x->accesses <= t->agree))
			continue;
		size[x->class] = x->size;
		t->accessed_as = x->object;
		t->agree = x->accesses;
	}
	free(size);
	return 0;
}

static int vote(struct mz_kmap_model *m)
{
	struct votes v = {0};
	int ret = 0;

	for (size_t i = 0; i < m->n_edges && !ret; i++)
		ret = add_vote(&v, m, &m->edges[i]);
	if (!ret)
		ret = decide(m, &v);
	mz_pair_index_deinit(&v.keys);
	free(v.votes);
	return ret;
}

static int no_types(struct mz_kmap_model *m)
{
	m->class_types = calloc(m->n_classes ? m->n_classes : 1, sizeof(*m->class_types));
	for (size_t i = 0; m->class_types && i < m->n_classes; i++)
		m->class_types[i] =
			(struct mz_kmap_type){.type = MZ_TYPES_NONE, .how = MZ_TYPES_UNKNOWN};
	return m->class_types ? 0 : -ENOMEM;
}

int mz_kmap_find_members(struct mz_kmap_model *m, const struct mz_access_sites *sites,
			 int64_t shift)
{
	struct mz_access_site s;
	int ret = m->class_types ? 0 : no_types(m);

	for (size_t i = 0; i < m->n_places && !ret; i++)
		if (mz_access_sites_find(sites, m->places[i].ip - (uint64_t)shift, &s))
			ret = describe(m, &m->places[i], &s);
	return ret ? ret : vote(m);
}
