// SPDX-License-Identifier: BSD-2-Clause
/* Answer the questions about structures: which types objects have, and which code touches
 * which member. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kmap_select.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/error.h"

#define COLUMNS(c) (c), sizeof(c) / sizeof(*(c))

/* ---- types ------------------------------------------------------------------------------ */

static const char *told_by(const struct mz_kmap_model *m, const struct mz_kmap_type *t, char *buf,
			   size_t size)
{
	static const char *const how[] = {
		[MZ_TYPES_VARIABLE] = "variable %s",   [MZ_TYPES_RETURNED] = "returned by %s",
		[MZ_TYPES_CACHE] = "name of cache %s", [MZ_TYPES_ALIKE] = "other sites of %s",
		[MZ_TYPES_AMBIGUOUS] = "not told: %s",
	};
	char by[200];
	const char *text = mz_kmap_string(m, t->by);

	if (t->how == MZ_TYPES_UNKNOWN)
		return "";
	snprintf(buf, size, how[t->how], mz_printable(by, sizeof(by), text, strlen(text)));
	return buf;
}

/* Code that sees only a part of an object says less about its type than the code that allocates it,
 * unless the part is the whole: a structure with the name of the cache and one member. */
static bool is_larger(const struct mz_kmap_model *m, const struct mz_kmap_type *t)
{
	uint64_t size = t->type == MZ_TYPES_NONE ? 0 : mz_types_size(m->types, t->type);

	return size > t->accessed_size ||
	       (size && size == t->accessed_size && t->how == MZ_TYPES_CACHE);
}

/* The code that touches an object is better evidence of its type than the code that allocates it.
 * If the two differ, the answer says so. */
static void put_type(const struct mz_kmap_model *m, const struct mz_kmap_type *t,
		     struct mz_result_table *a, union mz_result_cell *row)
{
	const char *allocated = t->type == MZ_TYPES_NONE ? "" : mz_types_name(m->types, t->type);
	const char *accessed = mz_kmap_string(m, t->accessed_as);
	bool larger = is_larger(m, t);
	char buf[520], by[260];

	mz_result_text(a, &row[0], *accessed && !larger ? accessed : allocated);
	if (!*accessed) {
		mz_result_text(a, &row[1], told_by(m, t, buf, sizeof(buf)));
		return;
	}
	snprintf(buf, sizeof(buf), "%.1f %% of %llu accesses",
		 100.0 * (double)t->agree / (double)t->say, (unsigned long long)t->say);
	if (larger)
		snprintf(buf + strlen(buf), sizeof(buf) - strlen(buf), " as %s; %s", accessed,
			 told_by(m, t, by, sizeof(by)));
	else if (*allocated && strcmp(allocated, accessed) != 0)
		snprintf(buf + strlen(buf), sizeof(buf) - strlen(buf), "; %s: %s",
			 told_by(m, t, by, sizeof(by)), allocated);
	mz_result_text(a, &row[1], buf);
}

void mz_kmap_types(const struct mz_kmap_model *m, const char *pattern, struct mz_result_table *a)
{
	static const struct mz_result_column columns[] = {
		{"object", "object", MZ_RESULT_TEXT},	 {"site", "allocated at", MZ_RESULT_TEXT},
		{"size", "size", MZ_RESULT_COUNT},	 {"struct", "is", MZ_RESULT_TEXT},
		{"known_by", "told by", MZ_RESULT_TEXT}, {"objects", "objects", MZ_RESULT_COUNT},
	};

	mz_result_init(a, "types", "What they are", COLUMNS(columns));
	for (uint32_t i = 0; m->class_types && !a->failed && i < m->n_classes; i++) {
		union mz_result_cell *row =
			!m->classes[i].global && mz_kmap_class_matches(m, i, pattern)
				? mz_result_row(a)
				: NULL;

		if (!row)
			continue;
		mz_kmap_class_texts(m, i, a, row);
		row[2].number = m->classes[i].greatest;
		put_type(m, &m->class_types[i], a, &row[3]);
		row[5].number = m->classes[i].all.objects;
	}
	mz_result_sort(a, 5);
}

/* ---- members ------------------------------------------------------------------------------- */

/* Bytes of a structure that were touched together: a member, or several. */
struct field {
	uint32_t type;
	uint64_t offset, size;
	uint32_t member, of; /* strings of the answer */
	uint64_t reads, writes;
	size_t first, n; /* of the sorted users */
};

/* A function that touches a field. */
struct field_user {
	uint32_t field, function; /* string of the answer */
	uint64_t reads, writes;
};

struct fields {
	const struct mz_kmap_model *m;
	struct mz_result_table *a;
	struct mz_pair_index types; /* by name and size: the same structure of two units is one */
	struct mz_pair_index keys, user_keys;
	struct field *fields;
	struct field_user *users;
	size_t cap_fields, cap_users;
};

static uint32_t text(struct fields *f, const char *s)
{
	uint32_t id = *s ? mz_tables_string(f->a->strings, s, strlen(s)) : 0;

	f->a->failed |= *s && !id;
	return id;
}

/* One number for all nodes of a structure, by its name. */
static uint32_t one_type(struct fields *f, const char *name, uint64_t size)
{
	return mz_pair_index_put(&f->types, text(f, name), size);
}

/* The bytes that an edge touches, as a member, or from member to member. */
struct span {
	uint64_t offset, size;
	char member[420];
	const char *of;
};

/* An object may be an array of structures; which element was touched does not matter, but an
 * access across elements has no member. */
static int span_of(const struct mz_kmap_model *m, uint32_t type, const struct mz_kmap_edge *e,
		   struct span *s)
{
	uint64_t size = mz_types_size(m->types, type), first = e->first, last = e->last;
	const struct mz_kmap_class *c = &m->classes[e->class];
	bool many = c->least > size && !(c->least % size) && !(c->greatest % size);
	struct mz_types_member a, b;

	*s = (struct span){.offset = first, .size = last - first + 1, .of = ""};
	if (first == MZ_KMAP_FAR) {
		snprintf(s->member, sizeof(s->member), "(far, or through another mapping)");
		s->size = 0;
		return 0;
	}
	if (many && first / size != last / size) {
		snprintf(s->member, sizeof(s->member), "(several elements)");
		return 0;
	}
	if (many) { /* one element of an array of them: which one does not matter */
		last %= size;
		first %= size;
	}
	if (!first && last + 1 >= size) {
		s->offset = 0;
		s->size = size;
		snprintf(s->member, sizeof(s->member), "(all of it)");
		return 0;
	}
	if (mz_types_member(m->types, type, first, &a) < 0 ||
	    mz_types_member(m->types, type, last, &b) < 0)
		return -ENOMEM;
	s->offset = a.offset;
	if (a.offset == b.offset && !strcmp(a.path, b.path)) {
		s->size = a.size;
		s->of = a.type;
		snprintf(s->member, sizeof(s->member), "%s", a.path);
	} else {
		s->size = b.offset + b.size - a.offset;
		snprintf(s->member, sizeof(s->member), "%s .. %s", a.path, b.path);
	}
	return 0;
}

/* What the compiler says about the code needs no guess about the object. The table has no types of
 * members; they are known where the object's type is, and its member of that name. */
static int span_of_place(const struct mz_kmap_model *m, uint32_t type,
			 const struct mz_kmap_member *member, struct span *s)
{
	const char *path = member->name ? mz_kmap_string(m, member->name) : "(all of it)";
	struct mz_types_member known;

	*s = (struct span){.offset = member->offset, .size = member->size, .of = ""};
	snprintf(s->member, sizeof(s->member), "%s", path);
	if (!member->name || type == MZ_TYPES_NONE ||
	    mz_types_size(m->types, type) != member->object_size ||
	    strcmp(mz_types_name(m->types, type), mz_kmap_string(m, member->object)) != 0)
		return 0;
	if (mz_types_member(m->types, type, member->offset, &known) < 0)
		return -ENOMEM;
	if (known.offset == s->offset && known.size == s->size && !strcmp(known.path, path))
		s->of = known.type;
	return 0;
}

/* Rows are distinct by structure, offset and member, because code may touch the same byte as
 * different members of a union. */
static struct field *field_of(struct fields *f, const struct mz_kmap_edge *e, uint32_t *number)
{
	const struct mz_kmap_member *known = mz_kmap_member_of(f->m, e->place);
	uint32_t type = f->m->class_types[e->class].type, one, id, member;
	struct span s;
	int ret;

	if (known) {
		one = one_type(f, mz_kmap_string(f->m, known->object), known->object_size);
		ret = span_of_place(f->m, type, known, &s);
	} else {
		one = one_type(f, mz_types_name(f->m->types, type),
			       mz_types_size(f->m->types, type));
		ret = span_of(f->m, type, e, &s);
	}
	if (ret < 0)
		return NULL;
	member = text(f, s.member);
	id = one == MZ_PAIR_INDEX_NONE
		     ? MZ_PAIR_INDEX_NONE
		     : mz_pair_index_put(&f->keys, (uint64_t)one << 32 | (uint32_t)s.offset,
					 (uint64_t)member);
	if (id == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&f->fields, &f->cap_fields, id, sizeof(*f->fields)))
		return NULL;
	*number = id;
	f->fields[id].type = one;
	f->fields[id].offset = s.offset;
	f->fields[id].size = s.size > f->fields[id].size ? s.size : f->fields[id].size;
	f->fields[id].member = member;
	if (*s.of) /* not every object of a structure says what type it is */
		f->fields[id].of = text(f, s.of);
	return &f->fields[id];
}

static int add_edge(struct fields *f, const struct mz_kmap_edge *e)
{
	uint32_t number, id;
	struct field *x = field_of(f, e, &number);
	char name[320];

	if (!x)
		return -ENOMEM;
	x->reads += e->reads;
	x->writes += e->writes;
	mz_kmap_place_name(f->m, e->place, MZ_KMAP_BY_FUNCTION, name, sizeof(name));
	id = mz_pair_index_put(&f->user_keys, number, text(f, name));
	if (id == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&f->users, &f->cap_users, id, sizeof(*f->users)))
		return -ENOMEM;
	f->users[id].field = number;
	f->users[id].function = (uint32_t)f->user_keys.keys[id].b;
	f->users[id].reads += e->reads;
	f->users[id].writes += e->writes;
	return 0;
}

static int by_field(const void *x, const void *y)
{
	const struct field_user *a = x, *b = y;

	return MZ_ORDER(a->field, b->field) ?: MZ_ORDER(a->function, b->function);
}

static int by_offset(const void *x, const void *y, void *arg)
{
	const struct fields *f = arg;
	const struct field *a = &f->fields[*(const uint32_t *)x];
	const struct field *b = &f->fields[*(const uint32_t *)y];

	if (a->type != b->type || a->offset != b->offset)
		return MZ_ORDER(a->type, b->type) ?: MZ_ORDER(a->offset, b->offset);
	return MZ_ORDER(a->size, b->size) ?: MZ_ORDER(a->member, b->member);
}

/* The busiest functions of a field first: "dput (12), d_lookup (3), 4 more". */
static uint32_t name_users(struct fields *f, const struct field *x, bool write, size_t names)
{
	struct mz_buf b = {0};
	uint64_t below = UINT64_MAX;
	size_t shown = 0, all = 0;
	uint32_t id = 0;

	for (size_t i = 0; i < x->n; i++)
		all += (write ? f->users[x->first + i].writes : f->users[x->first + i].reads) > 0;
	while (shown < all && (!names || shown < names)) {
		uint64_t most = 0;

		for (size_t i = 0; i < x->n; i++) {
			const struct field_user *u = &f->users[x->first + i];
			uint64_t v = write ? u->writes : u->reads;

			most = v < below && v > most ? v : most;
		}
		for (size_t i = 0; i < x->n && (!names || shown < names); i++) {
			const struct field_user *u = &f->users[x->first + i];

			if ((write ? u->writes : u->reads) == most)
				mz_buf_printf(
					&b, "%s%s (%llu)", shown++ ? ", " : "",
					mz_tables_get_string(f->a->strings, u->function, NULL),
					(unsigned long long)most);
		}
		below = most;
	}
	if (shown < all)
		mz_buf_printf(&b, ", %zu more", all - shown);
	if (b.len)
		id = mz_tables_string(f->a->strings, b.data, b.len);
	f->a->failed |= b.failed || (b.len && !id);
	mz_buf_free(&b);
	return id;
}

/* Users are sorted by field first, so that each row finds its functions in one run. */
static void put_rows(struct fields *f, size_t names)
{
	size_t n = f->keys.count;
	uint32_t *order = calloc(n ? n : 1, sizeof(*order));

	f->a->failed |= !order;
	if (f->users)
		qsort(f->users, f->user_keys.count, sizeof(*f->users), by_field);
	for (size_t i = 0; i < f->user_keys.count; i++) {
		struct field *x = &f->fields[f->users[i].field];

		if (!x->n++)
			x->first = i;
	}
	for (size_t i = 0; order && i < n; i++)
		order[i] = (uint32_t)i;
	if (order && n)
		qsort_r(order, n, sizeof(*order), by_offset, f);
	for (size_t i = 0; !f->a->failed && i < n; i++) {
		const struct field *x = &f->fields[order[i]];
		union mz_result_cell *row = mz_result_row(f->a);

		if (!row)
			break;
		row[0].text = (uint32_t)f->types.keys[x->type].a;
		row[1].number = x->offset;
		row[2].number = x->size;
		row[3].text = x->member;
		row[4].text = x->of;
		row[5].number = x->reads;
		row[6].number = x->writes;
		row[7].text = name_users(f, x, false, names);
		row[8].text = name_users(f, x, true, names);
	}
	free(order);
}

/* Is it known which member the edge touches? */
static bool has_member(const struct mz_kmap_model *m, const struct mz_kmap_edge *e)
{
	if (mz_kmap_member_of(m, e->place))
		return !m->classes[e->class].global;
	return e->first <= e->last && m->class_types[e->class].type != MZ_TYPES_NONE;
}

void mz_kmap_fields(const struct mz_kmap_model *m, const char *pattern, size_t names,
		    struct mz_result_table *a)
{
	static const struct mz_result_column columns[] = {
		{"struct", "of", MZ_RESULT_TEXT},
		{"offset", "offset", MZ_RESULT_COUNT},
		{"size", "size", MZ_RESULT_COUNT},
		{"member", "member", MZ_RESULT_TEXT},
		{"type", "type", MZ_RESULT_TEXT},
		{"reads", "reads", MZ_RESULT_COUNT},
		{"writes", "writes", MZ_RESULT_COUNT},
		{"read_by", "read by", MZ_RESULT_TEXT},
		{"written_by", "written by", MZ_RESULT_TEXT},
	};
	struct fields f = {.m = m, .a = a};
	bool *chosen = mz_kmap_chosen_classes(m, pattern);

	mz_result_init(a, "fields", "Members", COLUMNS(columns));
	a->failed |= !chosen;
	for (size_t i = 0; m->class_types && !a->failed && i < m->n_edges; i++) {
		const struct mz_kmap_edge *e = &m->edges[i];

		if (chosen[e->class] && has_member(m, e) && add_edge(&f, e) < 0)
			a->failed = true;
	}
	if (!a->failed)
		put_rows(&f, names);
	free(chosen);
	mz_pair_index_deinit(&f.types);
	mz_pair_index_deinit(&f.keys);
	mz_pair_index_deinit(&f.user_keys);
	free(f.fields);
	free(f.users);
}
