// SPDX-License-Identifier: BSD-2-Clause
/* Make the tables of a kernel that was cut into domains, as docs/schema.md describes them. */
#include <errno.h>
#include <string.h>

#include "export/privilege.h"

/* The order of the names is that of tables[] below. */
const char *const mz_privilege_table_names[] = {"functions", "objects", "accesses", "calls", NULL};

static const struct mz_column function_columns[] = {
	{"function", MZ_CELL_U64, false}, {"name", MZ_CELL_TEXT, false},
	{"file", MZ_CELL_TEXT, true},	  {"domain", MZ_CELL_TEXT, false},
	{"start", MZ_CELL_HEX, false},	  {"size", MZ_CELL_U64, false},
	{"live", MZ_CELL_U64, false},	  {"reads", MZ_CELL_U64, true},
	{"writes", MZ_CELL_U64, true},	  {"calls", MZ_CELL_U64, true},
	{"returns", MZ_CELL_U64, true},	  {"frees", MZ_CELL_U64, true},
};
static const struct mz_column object_columns[] = {
	{"object", MZ_CELL_U64, false}, {"id", MZ_CELL_TEXT, false},  {"type", MZ_CELL_TEXT, true},
	{"cache", MZ_CELL_TEXT, true},	{"name", MZ_CELL_TEXT, true}, {"size", MZ_CELL_U64, false},
	{"domain", MZ_CELL_TEXT, true},
};
static const struct mz_column access_columns[] = {
	{"ip", MZ_CELL_HEX, false},	{"function", MZ_CELL_U64, true},
	{"object", MZ_CELL_U64, false}, {"reads", MZ_CELL_U64, false},
	{"writes", MZ_CELL_U64, false}, {"frees", MZ_CELL_U64, false},
	{"first", MZ_CELL_U64, true},	{"last", MZ_CELL_U64, true},
};
static const struct mz_column call_columns[] = {
	{"from_ip", MZ_CELL_HEX, false},      {"to_ip", MZ_CELL_HEX, false},
	{"from_function", MZ_CELL_U64, true}, {"to_function", MZ_CELL_U64, true},
	{"count", MZ_CELL_U64, false},
};

/* What the functions that write one table share; t is the state of the format. */
struct privilege_export {
	const struct mz_table_ops *ops;
	void *t;
	const struct mz_privilege *p;
	const struct mz_cut *c;
	struct mz_error *err;
};

static struct mz_cell number(uint64_t n)
{
	return (struct mz_cell){.known = true, .n = n};
}

/* An unknown value is NULL and not 0: a sum must not treat it as a measurement. */
static struct mz_cell number_if(bool known, uint64_t n)
{
	return (struct mz_cell){.known = known, .n = n};
}

/* An empty text means that it is not known. */
static struct mz_cell text(const char *s)
{
	return (struct mz_cell){.known = *s != '\0', .n = strlen(s), .s = s};
}

/* Operations that were not counted in the image are not known for any function. */
static int put_functions(struct privilege_export *j, int table)
{
	int ret = 0;

	for (uint32_t i = 0; i < j->p->f->n && ret >= 0; i++) {
		const struct mz_function *f = &j->p->f->functions[i];
		struct mz_cell cells[12] = {number(i),
					    text(mz_functions_text(j->p->f, f->name)),
					    text(mz_functions_text(j->p->f, f->file)),
					    text(mz_cut_name(j->c, j->c->function[i])),
					    number(f->start),
					    number(f->size),
					    number(j->p->live[i])};

		for (int op = 0; op < MZ_CODE_OPS; op++)
			cells[7 + op] = number_if(!(j->p->missing >> op & 1), j->p->ops[i][op]);
		ret = j->ops->row(j->t, table, cells, j->err);
	}
	return ret;
}

/* An object without an owner is in no domain, which is NULL and not a domain without a name. */
static int put_objects(struct privilege_export *j, int table)
{
	const struct mz_union *u = j->p->u;
	char id[320];
	int ret = 0;

	for (uint32_t i = 0; i < u->n_objects && ret >= 0; i++) {
		const struct mz_union_object *o = &u->objects[i];
		bool owned = j->c->owner && j->c->owner[i] != UINT32_MAX;
		const struct mz_cell cells[] = {
			number(i),
			text(mz_union_object_id(u, i, id, sizeof(id))),
			text(mz_union_string(u, o->type)),
			text(mz_union_string(u, o->cache)),
			text(mz_union_string(u, o->name)),
			number(o->size),
			text(owned ? mz_cut_name(j->c, j->c->owner[i]) : "")};

		ret = j->ops->row(j->t, table, cells, j->err);
	}
	return ret;
}

/* The range of bytes is only known in maps that were recorded with them. */
static int put_accesses(struct privilege_export *j, int table)
{
	int ret = 0;

	for (size_t i = 0; i < j->p->u->n_edges && ret >= 0; i++) {
		const struct mz_union_edge *e = &j->p->u->edges[i];
		bool range = e->first <= e->last;
		const struct mz_cell cells[] = {
			number(e->ip),
			number_if(j->p->accessor[i] != MZ_FUNCTION_NONE, j->p->accessor[i]),
			number(e->object),
			number(e->reads),
			number(e->writes),
			number(e->frees),
			number_if(range, e->first),
			number_if(range, e->last)};

		ret = j->ops->row(j->t, table, cells, j->err);
	}
	return ret;
}

/* A call with an unknown end has no function at either end, as in the measures. */
static int put_calls(struct privilege_export *j, int table)
{
	int ret = 0;

	for (size_t i = 0; i < j->p->u->n_calls && ret >= 0; i++) {
		const struct mz_union_call *e = &j->p->u->calls[i];
		bool known = j->p->caller[i] != MZ_FUNCTION_NONE;
		const struct mz_cell cells[] = {
			number(e->from), number(e->to), number_if(known, j->p->caller[i]),
			number_if(known, j->p->callee[i]), number(e->count)};

		ret = j->ops->row(j->t, table, cells, j->err);
	}
	return ret;
}

/* In the order of mz_privilege_table_names. */
static const struct {
	const struct mz_column *columns;
	size_t n;
	int (*put)(struct privilege_export *j, int table);
} tables[MZ_PRIVILEGE_TABLES] = {
	{function_columns, sizeof(function_columns) / sizeof(*function_columns), put_functions},
	{object_columns, sizeof(object_columns) / sizeof(*object_columns), put_objects},
	{access_columns, sizeof(access_columns) / sizeof(*access_columns), put_accesses},
	{call_columns, sizeof(call_columns) / sizeof(*call_columns), put_calls},
};

/* All tables are begun before the first row: some formats need that. */
static int put_all(struct privilege_export *j, int which)
{
	int numbers[MZ_PRIVILEGE_TABLES], ret = 0;

	for (int i = 0; i < MZ_PRIVILEGE_TABLES && ret >= 0; i++) {
		numbers[i] = -1;
		if (!j->ops->many && i != which)
			continue;
		/* a format that holds one table per file gets the one that was requested */
		ret = numbers[i] = j->ops->begin(j->t, mz_privilege_table_names[i],
						 tables[i].columns, tables[i].n, j->err);
	}
	for (int i = 0; i < MZ_PRIVILEGE_TABLES && ret >= 0; i++)
		if (numbers[i] >= 0)
			ret = tables[i].put(j, numbers[i]);
	return ret < 0 || !j->ops->end ? ret : j->ops->end(j->t, j->err);
}

int mz_export_privilege_tables(const struct mz_table_ops *ops, const struct mz_privilege *p,
			       const struct mz_cut *c, int which, struct mz_output *out,
			       struct mz_error *err)
{
	struct privilege_export j = {
		.ops = ops, .t = ops->open(out, err), .p = p, .c = c, .err = err};
	int ret = j.t ? put_all(&j, which) : -EIO;

	if (j.t)
		ops->close(j.t);
	return ret;
}
