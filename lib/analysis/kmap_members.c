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
#include "base/error.h"
#include "symbols/access_sites.h"
#include "symbols/code_module.h"

/* ---- places ----------------------------------------------------------------------------- */

/* Structures without a name cannot be told apart. */
static int describe(struct mz_kmap_model *m, struct mz_kmap_place *p,
		    const struct mz_access_site *s)
{
	const char *path = s->members + (*s->members == '.');
	struct mz_kmap_member member;
	char name[200];

	if (!s->type_size || !*s->type)
		return 0;
	snprintf(name, sizeof(name), "%s %s", s->is_union ? "union" : "struct", s->type);
	member = (struct mz_kmap_member){.object = mz_kmap_text_id(m, name),
					 .object_size = s->type_size,
					 .name = mz_kmap_text_id(m, path),
					 .offset = s->offset,
					 .size = s->size};
	if (!member.object || (*path && !member.name) ||
	    !mz_array_room((void **)&m->members, &m->cap_members, m->n_members, sizeof(member)))
		return -ENOMEM;
	m->members[m->n_members++] = member;
	p->member = (uint32_t)m->n_members;
	m->has_members = true;
	return 0;
}

/* ---- objects ---------------------------------------------------------------------------- */

/* Accesses to objects of a class as one structure. */
struct vote {
	uint32_t class, object, size;
	uint64_t accesses;
	uint64_t at_start; /* ... that begin where the structure's member is, if it is the object */
	uint64_t elsewhere; /* ... and elsewhere; without bytes, neither is known */
	uint64_t element;   /* ... in an element, if the object is an array of them */
};

struct votes {
	struct mz_pair_index keys; /* by class and structure */
	struct vote *votes;
	size_t cap;
};

static bool has_bytes(const struct mz_kmap_edge *e)
{
	return e->first <= e->last && e->first != MZ_KMAP_FAR;
}

static void add_bytes(struct vote *to, const struct mz_kmap_class *c, const struct mz_kmap_edge *e,
		      const struct mz_kmap_member *member)
{
	uint64_t n = e->reads + e->writes;
	bool array = c->least > member->object_size && !(c->least % member->object_size);

	if (!has_bytes(e))
		return;
	if (e->first == member->offset)
		to->at_start += n;
	else
		to->elsewhere += n;
	if (array && e->first % member->object_size == member->offset)
		to->element += n;
}

/* Local variables of all kinds are on a stack. */
static bool is_stack(const struct mz_kmap_model *m, const struct mz_kmap_class *c)
{
	return !strncmp(mz_kmap_string(m, c->type), "STACK", 5);
}

static int add_vote(struct votes *v, const struct mz_kmap_model *m, const struct mz_kmap_edge *e)
{
	const struct mz_kmap_member *member = mz_kmap_member_of(m, e->place);
	const struct mz_kmap_class *c = &m->classes[e->class];
	struct vote *to;
	uint32_t id;

	if (!member || c->global || is_stack(m, c))
		return 0;
	id = mz_pair_index_put(&v->keys, e->class,
			       (uint64_t)member->object << 32 | member->object_size);
	if (id == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&v->votes, &v->cap, id, sizeof(*v->votes)))
		return -ENOMEM;
	to = &v->votes[id];
	to->class = e->class;
	to->object = member->object;
	to->size = member->object_size;
	to->accesses += e->reads + e->writes;
	add_bytes(to, c, e, member);
	return 0;
}

static bool is_named_like(const struct mz_kmap_model *m, uint32_t object, uint32_t cache)
{
	const char *name = strchr(mz_kmap_string(m, object), ' ');

	return cache && name && !strcmp(name + 1, mz_kmap_string(m, cache));
}

/*
 * May the structure be the whole object, and not a part of it? It must begin where the object does,
 * as far as the touched bytes are known. It may be larger than the object, as task_struct is, whose
 * end is allocated only as far as the processor needs it; then most accesses must agree, all at the
 * offsets of its members. A structure inside the object is not an element of an array merely
 * because its offset is a multiple of its size: again, most accesses must agree.
 */
static bool is_outer(const struct mz_kmap_model *m, const struct vote *x)
{
	const struct mz_kmap_class *c = &m->classes[x->class];
	const struct mz_kmap_type *t = &m->class_types[x->class];
	bool bytes = x->at_start || x->elsewhere;

	if (x->size > c->least)
		return is_named_like(m, x->object, c->cache) ||
		       (x->at_start && !x->elsewhere && x->accesses * 2 > t->say);
	return !bytes || x->at_start || x->element * 2 > t->say;
}

/* The largest structure that begins with the object is its type; the others are inside it, or
 * another view of it, as their share shows. */
static void decide(struct mz_kmap_model *m, const struct votes *v)
{
	for (size_t i = 0; i < v->keys.count; i++)
		m->class_types[v->votes[i].class].say += v->votes[i].accesses;
	for (size_t i = 0; i < v->keys.count; i++) {
		const struct vote *x = &v->votes[i];
		struct mz_kmap_type *t = &m->class_types[x->class];

		if (!is_outer(m, x) || x->size < t->accessed_size ||
		    (x->size == t->accessed_size && x->accesses <= t->agree))
			continue;
		t->accessed_size = x->size;
		t->accessed_as = x->object;
		t->agree = x->accesses;
	}
}

static int vote(struct mz_kmap_model *m)
{
	struct votes v = {0};
	int ret = 0;

	for (size_t i = 0; i < m->n_edges && !ret; i++)
		ret = add_vote(&v, m, &m->edges[i]);
	if (!ret)
		decide(m, &v);
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

/* The table of a file; NULL with err untouched: it has none. */
static struct mz_access_sites *open_table(const char *path, struct mz_error *err)
{
	struct mz_error why = {0};
	struct mz_access_sites *sites = mz_access_sites_open(path, &why);

	if (!sites && why.code != ENODATA && err)
		*err = why;
	return sites;
}

static int describe_kernel(struct mz_kmap_model *m, const struct mz_access_sites *sites,
			   int64_t shift)
{
	struct mz_access_site s;
	int ret = 0;

	for (size_t i = 0; i < m->n_places && !ret; i++)
		if (mz_access_sites_find(sites, m->places[i].ip - (uint64_t)shift, &s))
			ret = describe(m, &m->places[i], &s);
	return ret;
}

/* The address of loaded code as the table of its module has it; 0: it is not of this module. */
static uint64_t site_in(const struct mz_code *c, uint64_t ip)
{
	for (size_t i = 0; i < c->n_sections; i++) {
		const struct mz_code_section *s = &c->sections[i];

		if (s->loaded != MZ_CODE_NOWHERE && ip - s->loaded <= s->size)
			return MZ_SITE(s->index, ip - s->loaded);
	}
	return 0;
}

/* A module whose table is damaged has none: the others still count. */
static int describe_module(void *arg, const char *path, const struct mz_code_module *module)
{
	struct mz_access_sites *sites = open_table(path, NULL);
	struct mz_kmap_model *m = arg;
	struct mz_access_site s;
	int ret = 0;

	for (size_t i = 0; sites && i < m->n_places && !ret; i++)
		if (m->places[i].module &&
		    mz_access_sites_find(sites, site_in(&module->code, m->places[i].ip), &s))
			ret = describe(m, &m->places[i], &s);
	mz_access_sites_close(sites);
	return ret;
}

static bool has_modules(const struct mz_kmap_model *m)
{
	for (size_t i = 0; i < m->n_places; i++)
		if (m->places[i].module)
			return true;
	return false;
}

static int describe_modules(struct mz_kmap_model *m, const struct mz_symbols_kernel *files,
			    struct mz_error *err)
{
	struct mz_code_modules left_out;
	struct mz_kallsyms *k;
	int ret;

	if (!files->modules || !files->kallsyms || !has_modules(m))
		return 0;
	k = mz_kallsyms_load(files->kallsyms, err);
	if (!k)
		return -EINVAL;
	ret = mz_code_modules_read(files->modules, k, describe_module, m, &left_out);
	mz_kallsyms_free(k);
	return ret < 0 ? mz_fail_memory(err) : 0;
}

int mz_kmap_find_members(struct mz_kmap_model *m, const struct mz_symbols_kernel *files,
			 int64_t shift, struct mz_error *err)
{
	struct mz_error why = {0};
	struct mz_access_sites *sites = files->vmlinux ? open_table(files->vmlinux, &why) : NULL;
	int ret = 0;

	if (why.code)
		return mz_fail(err, why.code, "%s", why.text);
	if (!sites)
		return 0;
	if ((!m->class_types && no_types(m) < 0) || describe_kernel(m, sites, shift) < 0)
		ret = mz_fail_memory(err);
	mz_access_sites_close(sites);
	if (!ret)
		ret = describe_modules(m, files, err);
	return ret ? ret : vote(m) < 0 ? mz_fail_memory(err) : 0;
}
