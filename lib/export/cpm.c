// SPDX-License-Identifier: BSD-2-Clause
/* Write a cut in the interchange format for compartmentalization policies (CPM-IF 1.4, YAML). */
/*
 * It has domains of objects, domains of functions, and what these may do. A text is written as a
 * JSON string, which is YAML as well.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "export/privilege.h"
#include "symbols/image.h"
#include "symbols/types.h"

/* What the parts of the file are made from; the image and the types may be missing. */
struct cpm_export {
	const struct mz_privilege *p;
	const struct mz_cut *c;
	const struct mz_image *im;
	struct mz_types *types;
	uint32_t *domain; /* by object: its domain of objects */
	uint32_t n;	  /* of these */
	struct mz_buf b;
};

static void string(struct cpm_export *j, const char *s)
{
	struct mz_json w = {.out = &j->b, .flat = true, .depth = 1};

	mz_json_str(&w, NULL, s);
}

/* ---- names -------------------------------------------------------------------------------- */

/* An allocation site is identified by its file and line, or else by its address. */
static void object_text(const struct cpm_export *j, uint32_t i, char *buf, size_t size)
{
	const struct mz_union_object *o = &j->p->u->objects[i];
	const char *name = mz_union_string(j->p->u, o->name);
	struct mz_image_place at = {0};
	char id[320];
	uint32_t f;

	mz_union_object_id(j->p->u, i, id, sizeof(id));
	if (o->kind == MZ_UNION_GLOBAL) {
		snprintf(buf, size, "GLOBAL||0|%s", *name ? name : id);
	} else if (o->kind == MZ_UNION_SITE) {
		f = mz_functions_find(j->p->f, o->id);
		snprintf(buf, size, "HEAP|%s|%016" PRIx64 "|",
			 f == MZ_FUNCTION_NONE
				 ? ""
				 : mz_functions_text(j->p->f, j->p->f->functions[f].file),
			 o->id);
		/* the allocation site is a return address, so the byte before it is in the call */
		if (j->im && mz_image_find(j->im, o->id - 1, &at) && at.file && at.line)
			snprintf(buf, size, "HEAP|%s|%u|", at.file, at.line);
	} else if (o->kind == MZ_UNION_STACK) {
		snprintf(buf, size, "STACK_REGION||0|");
	} else {
		snprintf(buf, size, "OTHER||0|%s", id);
	}
}

/* ---- domains of objects ------------------------------------------------------------------- */

/* The objects of an owner form one domain; each object without an owner is a domain of its own. */
static int find_domains(struct cpm_export *j)
{
	size_t n = j->p->u->n_objects;

	j->domain = malloc((n ? n : 1) * sizeof(*j->domain));
	if (!j->domain)
		return -ENOMEM;
	j->n = j->c->owner ? j->c->n : 0;
	for (size_t i = 0; i < n; i++)
		j->domain[i] =
			j->c->owner && j->c->owner[i] != UINT32_MAX ? j->c->owner[i] : j->n++;
	return 0;
}

/* Numbers of members, sorted by domain; at: where those of each begin. A count is stored two places
 * behind its domain: adding up then gives the beginning of each domain one place behind it, and
 * filling in the members moves that to its own place. */
static uint32_t *group(const uint32_t *domain, size_t n, uint32_t domains, size_t **at)
{
	uint32_t *members = malloc((n ? n : 1) * sizeof(*members));

	*at = calloc((size_t)domains + 2, sizeof(**at));
	if (!members || !*at) {
		free(members);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		(*at)[domain[i] + 2]++;
	for (size_t i = 2; i <= (size_t)domains + 1; i++)
		(*at)[i] += (*at)[i - 1];
	for (uint32_t i = 0; i < n; i++)
		members[(*at)[domain[i] + 1]++] = i;
	return members;
}

/* The ids of a domain and their sizes; the sizes of equal ids are added up. */
struct ids {
	struct mz_bytes_index *all; /* of the whole file: an id is written in one domain only */
	uint32_t *first;
	uint64_t *sizes;
	size_t n, cap_first, cap_sizes;
};

/* An id is written in one domain only, the first that has it: the format has no objects that belong
 * to two. */
static void put_id(struct cpm_export *j, struct ids *t, const char *text, uint64_t size)
{
	size_t before = t->all->count;
	uint32_t id = mz_bytes_index_put(t->all, text, strlen(text));

	if (id == MZ_HASH_NONE ||
	    !mz_array_room((void **)&t->first, &t->cap_first, t->n, sizeof(*t->first)) ||
	    !mz_array_room((void **)&t->sizes, &t->cap_sizes, t->n, sizeof(*t->sizes))) {
		j->b.failed = true;
		return;
	}
	if (t->all->count > before) {
		mz_buf_str(&j->b, t->n ? ", " : "");
		string(j, text);
		t->first[t->n] = id;
		t->sizes[t->n++] = size;
		return;
	}
	for (size_t k = 0; k < t->n; k++)
		t->sizes[k] += t->first[k] == id ? size : 0;
}

/* The structure of a site's objects; MZ_TYPES_NONE: not known. */
static uint32_t type_of(const struct cpm_export *j, const struct mz_union_object *o)
{
	uint32_t f = mz_functions_find(j->p->f, o->id);
	struct mz_types_query q = {
		.ip = o->id,
		.function = f == MZ_FUNCTION_NONE
				    ? NULL
				    : mz_functions_text(j->p->f, j->p->f->functions[f].name),
		.cache = o->cache ? mz_union_string(j->p->u, o->cache) : NULL,
		.least = o->least,
		.greatest = o->most};
	struct mz_types_answer a = {.type = MZ_TYPES_NONE};

	if (!j->types || o->kind != MZ_UNION_SITE || mz_types_ask(j->types, &q, &a) < 0)
		return MZ_TYPES_NONE;
	return a.type;
}

/* A member gets the same share of the class's bytes as of the structure's. Bytes of no member
 * (padding, rounding) stay with the object itself. */
static bool put_members(struct cpm_export *j, struct ids *t, const struct mz_union_object *o,
			char *text)
{
	uint32_t type = type_of(j, o);
	uint64_t whole = type == MZ_TYPES_NONE ? 0 : mz_types_size(j->types, type), left = o->size;
	char id[4096 + 256];

	for (uint64_t at = 0; at < whole;) {
		struct mz_types_member m;
		uint64_t share;

		if (mz_types_member(j->types, type, at, &m) < 0 ||
		    (m.size && m.offset + m.size <= at))
			break;
		/* a member without a size reaches to the end of the object */
		at = m.size ? m.offset + m.size : whole;
		share = m.size ? (uint64_t)((double)o->size * (double)m.size / (double)whole)
			       : left;
		share = share < left ? share : left;
		if (!share || strstr(m.path, "(padding)"))
			continue;
		left -= share;
		/* of members that share bytes, the first names them */
		snprintf(id, sizeof(id), "%.*s.%.*s|", (int)strlen(text) - 1, text,
			 (int)strcspn(m.path, "|"), m.path);
		put_id(j, t, id, share);
	}
	if (left && left < o->size)
		put_id(j, t, text, left);
	return left < o->size;
}

/*
 * Members are written instead of their object where its structure is known, so that a policy can
 * tell them apart.
 */
static void put_objects(struct cpm_export *j, const uint32_t *members, size_t n,
			struct mz_bytes_index *all)
{
	struct ids t = {.all = all};
	char text[4096];

	mz_buf_str(&j->b, "objects: [");
	for (size_t i = 0; i < n && !j->b.failed; i++) {
		const struct mz_union_object *o = &j->p->u->objects[members[i]];

		object_text(j, members[i], text, sizeof(text));
		if (!put_members(j, &t, o, text))
			put_id(j, &t, text, o->size);
	}
	mz_buf_str(&j->b, "], sizes: [");
	for (size_t i = 0; i < t.n && !j->b.failed; i++)
		mz_buf_printf(&j->b, "%s%" PRIu64, i ? ", " : "", t.sizes[i]);
	mz_buf_str(&j->b, "]");
	free(t.first);
	free(t.sizes);
}

static int put_object_map(struct cpm_export *j)
{
	struct mz_bytes_index ids = {0};
	size_t *at;
	uint32_t *members = group(j->domain, j->p->u->n_objects, j->n, &at);

	mz_buf_str(&j->b, "object_map:\n");
	for (uint32_t d = 0; members && d < j->n; d++) {
		/* the format has no domains without members */
		if (at[d + 1] == at[d])
			continue;
		mz_buf_printf(&j->b, "- {name: od_%u, ", d + 1);
		put_objects(j, members + at[d], at[d + 1] - at[d], &ids);
		mz_buf_str(&j->b, "}\n");
	}
	mz_bytes_index_deinit(&ids);
	free(at);
	free(members);
	return members ? 0 : -ENOMEM;
}

/* ---- domains of functions ------------------------------------------------------------------ */

/* Values that the table of functions lacks are left out: 0 would be a claim. */
static void put_instructions(struct cpm_export *j, const uint64_t ops[MZ_CODE_OPS])
{
	static const char *const names[] = {"read", "write", "call", "return"};

	for (int op = 0; op < MZ_CODE_OP_FREE; op++)
		if (!(j->p->missing >> op & 1))
			mz_buf_printf(&j->b, ", %s_instructions: %" PRIu64, names[op], ops[op]);
}

static int put_subject_map(struct cpm_export *j)
{
	const struct mz_functions *f = j->p->f;
	size_t *at;
	uint32_t *members = group(j->c->function, f->n, j->c->n, &at);

	mz_buf_str(&j->b, "subject_map:\n");
	for (uint32_t d = 0; members && d < j->c->n; d++) {
		uint64_t ops[MZ_CODE_OPS] = {0};
		char text[4096];

		if (at[d + 1] == at[d])
			continue;
		/* the name of a domain may be any text, so it is a comment, and the format has a
		 * number */
		mz_buf_printf(&j->b, "# %s\n- {name: sd_%u, subjects: [", mz_cut_name(j->c, d),
			      d + 1);
		for (size_t i = at[d]; i < at[d + 1]; i++) {
			const struct mz_function *fn = &f->functions[members[i]];

			snprintf(text, sizeof(text), "%s|%s", mz_functions_text(f, fn->file),
				 mz_functions_text(f, fn->name));
			mz_buf_str(&j->b, i > at[d] ? ", " : "");
			string(j, text);
			for (int op = 0; op < MZ_CODE_OPS; op++)
				ops[op] += j->p->ops[members[i]][op];
		}
		mz_buf_str(&j->b, "], sizes: [");
		for (size_t i = at[d]; i < at[d + 1]; i++)
			mz_buf_printf(&j->b, "%s%" PRIu64, i > at[d] ? ", " : "",
				      f->functions[members[i]].size);
		mz_buf_str(&j->b, "]");
		put_instructions(j, ops);
		mz_buf_str(&j->b, "}\n");
	}
	free(at);
	free(members);
	return members ? 0 : -ENOMEM;
}

/* ---- privileges ---------------------------------------------------------------------------------
 */

/* Counts by (domain, target), in the order of the domain, then of the target. */
struct link {
	uint32_t from, to;
	uint64_t count;
};

struct link_table {
	struct mz_pair_index index;
	struct link *links;
	size_t cap;
	bool failed;
};

static void add_link(struct link_table *l, uint32_t from, uint32_t to, uint64_t count)
{
	uint32_t id = count ? mz_pair_index_put(&l->index, from, to) : 0;

	if (!count)
		return;
	if (id == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&l->links, &l->cap, id, sizeof(*l->links))) {
		l->failed = true;
		return;
	}
	l->links[id].from = from;
	l->links[id].to = to;
	l->links[id].count += count;
}

static int by_domain(const void *a, const void *b)
{
	const struct link *x = a, *y = b;

	return MZ_ORDER(x->from, y->from) ?: MZ_ORDER(x->to, y->to);
}

enum { READ, WRITE, CALL, RETURN, KINDS };

/*
 * Returns are privileges of their own in this format: from the domain that was called back to the
 * caller's, if the function has an instruction that returns.
 */
static void add_links(struct cpm_export *j, struct link_table l[KINDS])
{
	const struct mz_privilege *p = j->p;

	for (size_t i = 0; i < p->u->n_edges; i++) {
		const struct mz_union_edge *e = &p->u->edges[i];

		/* code in no function of the table belongs to no domain */
		if (p->accessor[i] == MZ_FUNCTION_NONE)
			continue;
		add_link(&l[READ], j->c->function[p->accessor[i]], j->domain[e->object], e->reads);
		add_link(&l[WRITE], j->c->function[p->accessor[i]], j->domain[e->object],
			 e->writes);
	}
	for (size_t i = 0; i < p->u->n_calls; i++) {
		uint32_t from, to;

		if (p->caller[i] == MZ_FUNCTION_NONE)
			continue;
		from = j->c->function[p->caller[i]];
		to = j->c->function[p->callee[i]];
		if (from == to) /* calls inside a domain are implied */
			continue;
		add_link(&l[CALL], from, to, p->u->calls[i].count);
		if (p->f->functions[p->callee[i]].ops[MZ_CODE_OP_RETURN])
			add_link(&l[RETURN], to, from, p->u->calls[i].count);
	}
	for (int k = 0; k < KINDS; k++)
		if (l[k].index.count)
			qsort(l[k].links, l[k].index.count, sizeof(*l[k].links), by_domain);
}

/* The links of a domain: its targets, and their counts. */
static void put_links(struct cpm_export *j, const struct link_table *l, size_t *at, uint32_t d,
		      const char *name, const char *counts)
{
	size_t from = *at;

	while (*at < l->index.count && l->links[*at].from == d)
		++*at;
	mz_buf_str(&j->b, "[");
	for (size_t i = from; i < *at; i++)
		mz_buf_printf(&j->b, "%s%s_%u", i > from ? ", " : "", name, l->links[i].to + 1);
	mz_buf_printf(&j->b, "], %s: [", counts);
	for (size_t i = from; i < *at; i++)
		mz_buf_printf(&j->b, "%s%" PRIu64, i > from ? ", " : "", l->links[i].count);
	mz_buf_str(&j->b, "]");
}

/* A list that is left out means that everything is allowed. It is therefore left out only where
 * nothing is known. */
static void put_principal(struct cpm_export *j, struct link_table l[KINDS], size_t at[KINDS],
			  uint32_t d)
{
	static const char *const data[] = {"can_read", "can_write"};

	mz_buf_printf(&j->b, "- {principal: {subject: sd_%u}", d + 1);
	if (j->p->u->has_calls) {
		mz_buf_str(&j->b, ", can_call: ");
		put_links(j, &l[CALL], &at[CALL], d, "sd", "call_counts");
		mz_buf_str(&j->b, ", can_return: ");
		put_links(j, &l[RETURN], &at[RETURN], d, "sd", "return_counts");
	}
	for (int k = READ; k <= WRITE && j->p->u->has_accesses; k++) {
		bool any = at[k] < l[k].index.count && l[k].links[at[k]].from == d;

		mz_buf_printf(&j->b, ", %s: [%s", data[k], any ? "{objects: " : "");
		if (any) {
			put_links(j, &l[k], &at[k], d, "od", "counts");
			mz_buf_str(&j->b, "}");
		}
		mz_buf_str(&j->b, "]");
	}
	mz_buf_str(&j->b, "}\n");
}

static int put_privileges(struct cpm_export *j)
{
	struct link_table l[KINDS] = {0};
	size_t at[KINDS] = {0};
	bool *used = calloc(j->c->n ? j->c->n : 1, sizeof(*used)), failed = !used;

	add_links(j, l);
	for (size_t i = 0; used && i < j->p->f->n; i++)
		used[j->c->function[i]] = true;
	mz_buf_str(&j->b, "privileges:\n");
	for (uint32_t d = 0; used && d < j->c->n; d++)
		if (used[d])
			put_principal(j, l, at, d);
	for (int k = 0; k < KINDS; k++) {
		failed |= l[k].failed;
		mz_pair_index_deinit(&l[k].index);
		free(l[k].links);
	}
	free(used);
	return failed ? -ENOMEM : 0;
}

int mz_export_cpm(const struct mz_privilege *p, const struct mz_cut *c, const struct mz_image *im,
		  struct mz_types *types, struct mz_output *out, struct mz_error *err)
{
	struct cpm_export j = {.p = p, .c = c, .im = im, .types = types};
	int ret = find_domains(&j);

	mz_buf_str(&j.b, "# CPM interchange format 1.4\n");
	if (!ret)
		ret = put_object_map(&j);
	if (!ret)
		ret = put_subject_map(&j);
	if (!ret)
		ret = put_privileges(&j);
	free(j.domain);
	if (ret || j.b.failed) {
		mz_buf_free(&j.b);
		return mz_fail_memory(err);
	}
	return mz_export_put(&j.b, out, err);
}
