// SPDX-License-Identifier: BSD-2-Clause
/* Describe structures and find the member at an offset. */
#include "symbols/types.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "symbols/debuginfo.h"
#include "symbols/types_private.h"
#include "trace/reader.h"

#define DEEP  16 /* structures within structures */
#define NAMED 3	 /* members in the same bytes that are named */

struct mz_types *mz_types_open(const char *path, struct mz_error *err)
{
	const struct mz_debuginfo *d = mz_debuginfo(err);

	return d ? d->types_open(path, err) : NULL;
}

struct mz_types *mz_types_new(const struct mz_types_ops *ops, void *source)
{
	struct mz_types *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->strings = mz_tables_new();
	if (!t->strings) {
		free(t);
		return NULL;
	}
	t->ops = ops;
	t->source = source;
	return t;
}

void mz_types_close(struct mz_types *t)
{
	if (!t)
		return;
	t->ops->close(t->source);
	mz_pair_index_deinit(&t->known);
	free(t->nodes);
	free(t->members);
	mz_tables_free(t->strings);
	free(t);
}

const char *mz_types_source(const struct mz_types *t)
{
	return t->ops->name;
}

int mz_types_ask(struct mz_types *t, const struct mz_types_query *q, struct mz_types_answer *out)
{
	*out = (struct mz_types_answer){.type = MZ_TYPES_NONE, .how = MZ_TYPES_UNKNOWN};
	int ret = t->ops->ask(t, q, out);

	return ret >= 0 && mz_tables_incomplete(t->strings) ? -ENOMEM : ret;
}

const char *mz_types_name(const struct mz_types *t, uint32_t type)
{
	const char *s = mz_tables_get_string(t->strings, t->nodes[type].name, NULL);

	return s ? s : "";
}

uint64_t mz_types_size(const struct mz_types *t, uint32_t type)
{
	return t->nodes[type].size;
}

/* ---- nodes ----------------------------------------------------------------------------- */

uint32_t mz_types_string(struct mz_types *t, const char *s)
{
	return s && *s ? mz_tables_string(t->strings, s, strlen(s)) : 0;
}

/* A type is one node however often it occurs, so that types can be compared by number. */
uint32_t mz_types_node(struct mz_types *t, uint64_t from, unsigned variant, bool *fresh)
{
	uint32_t id = mz_pair_index_put(&t->known, from, variant);

	*fresh = id == t->n_nodes;
	if (id == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&t->nodes, &t->cap_nodes, id, sizeof(*t->nodes)))
		return MZ_TYPES_NONE;
	if (*fresh)
		t->n_nodes++;
	t->nodes[id].from = from;
	return id;
}

int mz_types_add_member(struct mz_types *t, uint32_t type, const char *name, uint32_t of,
			uint64_t offset, uint64_t size)
{
	struct mz_type_node *n = &t->nodes[type];

	if (of != MZ_TYPES_NONE && !size && t->nodes[of].kind != MZ_TYPE_ARRAY)
		return 0; /* an empty structure */
	if (of == MZ_TYPES_NONE || !mz_array_room((void **)&t->members, &t->cap_members,
						  t->n_members, sizeof(*t->members)))
		return -ENOMEM;
	/* fill() adds the members of a type one after another, so they are neighbours in the
	 * array */
	if (!n->n)
		n->first = (uint32_t)t->n_members;
	t->members[t->n_members++] =
		(struct mz_type_member){mz_types_string(t, name), of, offset, size};
	n->n++;
	return 0;
}

/* Members are read only when they are needed: a kernel has tens of thousands of structures, and a
 * question needs a handful. */
int mz_types_fill(struct mz_types *t, uint32_t type)
{
	struct mz_type_node *n = &t->nodes[type];
	int ret;

	if (n->filled || (n->kind != MZ_TYPE_STRUCT && n->kind != MZ_TYPE_UNION))
		return 0;
	ret = t->ops->fill(t, type);
	n = &t->nodes[type];
	n->filled = true;
	n->flexible = n->n && !t->members[n->first + n->n - 1].size;
	/* an array of no length that something follows is only a mark */
	for (uint32_t i = 0; i + 1 < n->n; i++)
		if (!t->members[n->first + i].size)
			t->members[n->first + i].offset = UINT64_MAX;
	return ret >= 0 && mz_tables_incomplete(t->strings) ? -ENOMEM : ret;
}

/* A flexible array at the end makes any larger size possible. */
bool mz_types_fits(struct mz_types *t, uint32_t type, const struct mz_types_query *q, bool exact)
{
	const struct mz_type_node *n = &t->nodes[type];
	uint64_t size = n->size;

	if (n->kind != MZ_TYPE_STRUCT || !size || q->least < size || mz_types_fill(t, type) < 0)
		return false;
	return !exact || q->greatest == size || t->nodes[type].flexible;
}

/* ---- votes -------------------------------------------------------------------------------- */

/* Each unit of the kernel describes the structures that it uses again, and these are equal, not
 * identical. */
static bool same(const struct mz_types *t, uint32_t a, uint32_t b)
{
	return a == b ||
	       (t->nodes[a].name == t->nodes[b].name && t->nodes[a].size == t->nodes[b].size);
}

/* Equal types are one candidate. When the table is full, the outcome is ambiguous anyway. */
void mz_types_vote(const struct mz_types *t, struct mz_types_votes *v, uint32_t type,
		   const char *by)
{
	for (size_t i = 0; i < v->n; i++)
		if (same(t, v->type[i], type))
			return;
	if (v->n == sizeof(v->type) / sizeof(*v->type))
		return;
	v->type[v->n] = type;
	v->by[v->n++] = by;
}

/* One candidate is an answer, several are not: all are named, and the reader of the report
 * decides. */
bool mz_types_decide(const struct mz_types *t, const struct mz_types_votes *v,
		     enum mz_types_how how, struct mz_types_answer *out)
{
	size_t at = 0;

	if (!v->n)
		return false;
	if (v->n == 1) {
		out->type = v->type[0];
		out->how = how;
		snprintf(out->by, sizeof(out->by), "%s", v->by[0] ? v->by[0] : "");
		return true;
	}
	out->how = MZ_TYPES_AMBIGUOUS;
	for (size_t i = 0; i < v->n && at < sizeof(out->by); i++)
		at += (size_t)snprintf(out->by + at, sizeof(out->by) - at, "%s%s", i ? ", " : "",
				       mz_types_name(t, v->type[i]));
	return true;
}

/* ---- members -------------------------------------------------------------------------------- */

static bool holds(const struct mz_type_member *m, uint64_t offset)
{
	return offset >= m->offset && (!m->size || offset - m->offset < m->size);
}

static void add_path(struct mz_types_member *out, const char *between, const char *name)
{
	size_t len = strlen(out->path);

	if (name && *name)
		snprintf(out->path + len, sizeof(out->path) - len, "%s%s", len ? between : "",
			 name);
}

static const char *member_name(const struct mz_types *t, const struct mz_type_member *m)
{
	return mz_tables_get_string(t->strings, m->name, NULL);
}

/* Nothing is there: from the end of the previous member to the next one. */
static void take_hole(const struct mz_types *t, const struct mz_type_node *n, uint64_t base,
		      uint64_t offset, struct mz_types_member *out)
{
	uint64_t lo = 0, hi = n->size;

	for (uint32_t i = n->first; i < n->first + n->n; i++) {
		const struct mz_type_member *m = &t->members[i];

		if (m->offset > offset && m->offset < hi)
			hi = m->offset;
		if (m->offset + m->size <= offset && m->offset + m->size > lo)
			lo = m->offset + m->size;
	}
	out->offset = base + lo;
	out->size = hi > lo ? hi - lo : 0;
	add_path(out, ".", offset < n->size ? "(padding)" : "(behind it)");
	out->type = "";
}

/* A member without a name is a structure: which of its members is it? */
static const char *some_name(struct mz_types *t, uint32_t at, uint64_t offset, unsigned depth)
{
	uint32_t type = t->members[at].type, i;

	if (t->members[at].name || depth == DEEP || mz_types_fill(t, type) < 0)
		return member_name(t, &t->members[at]);
	offset -= t->members[at].offset;
	for (i = t->nodes[type].first; i < t->nodes[type].first + t->nodes[type].n; i++)
		if (holds(&t->members[i], offset))
			return some_name(t, i, offset, depth + 1);
	return NULL;
}

/* Several share the byte: members of a union, or bit-fields. */
static void take_several(struct mz_types *t, uint32_t type, uint64_t base, uint64_t offset,
			 struct mz_types_member *out)
{
	uint64_t lo = UINT64_MAX, hi = 0;
	uint32_t of = type;
	unsigned named = 0;

	for (uint32_t i = t->nodes[type].first, end = i + t->nodes[type].n; i < end; i++) {
		uint64_t from = t->members[i].offset, to = from + t->members[i].size;
		const char *name;

		if (!holds(&t->members[i], offset))
			continue;
		lo = from < lo ? from : lo;
		hi = to > hi ? to : hi;
		if (t->nodes[type].kind == MZ_TYPE_STRUCT)
			of = t->members[i].type;
		name = some_name(t, i, offset, 0);
		if (!name || named > NAMED)
			continue;
		if (named == NAMED)
			name = "...";
		add_path(out, named++ ? "|" : ".", name);
	}
	out->offset = base + lo;
	out->size = hi > lo ? hi - lo : 0;
	out->type = mz_types_name(t, of);
}

/* Descends through nested structures to the innermost member that holds the byte. Where
 * members overlap (unions, bit-fields), all are named. */
int mz_types_member(struct mz_types *t, uint32_t type, uint64_t offset, struct mz_types_member *out)
{
	uint64_t base = 0, size = t->nodes[type].size;

	*out = (struct mz_types_member){.type = ""};
	for (unsigned depth = 0; depth < DEEP; depth++) {
		const struct mz_type_node *n = &t->nodes[type];
		const struct mz_type_member *m = NULL;
		unsigned found = 0;

		if ((n->kind != MZ_TYPE_STRUCT && n->kind != MZ_TYPE_UNION) || (n->opaque && depth))
			break;
		if (mz_types_fill(t, type) < 0)
			return -ENOMEM;
		n = &t->nodes[type];
		for (uint32_t i = n->first; i < n->first + n->n; i++) {
			if (!holds(&t->members[i], offset - base))
				continue;
			m = &t->members[i];
			found++;
		}
		if (!found) {
			take_hole(t, n, base, offset - base, out);
			return 0;
		}
		if (found > 1) {
			take_several(t, type, base, offset - base, out);
			return 0;
		}
		add_path(out, ".", member_name(t, m));
		base += m->offset;
		size = m->size;
		type = m->type;
	}
	out->offset = base;
	out->size = size;
	out->type = mz_types_name(t, type);
	return 0;
}
