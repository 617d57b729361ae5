// SPDX-License-Identifier: BSD-2-Clause
/* Check a run against a cut that was made from another run: what would have been denied? */
#include <stdlib.h>

#include "analysis/privilege.h"
#include "base/array.h"

enum reason { ALLOWED, FUNCTION, OBJECT, CROSSING, OPERATION };

static const char *const reasons[] = {
	"", "the cut does not name the function", "the cut does not name the object",
	"the object is another domain's", "the domain may not do this with it"};

/* Code of the domain of functions that the file does not name may do nothing. */
static bool is_named(const struct mz_cut *c, uint32_t domain)
{
	return !c->unassigned || domain != c->function[c->first_unassigned];
}

/*
 * In the order in which an enforcing system would find out. Open objects (stacks and the like)
 * belong to all code.
 */
static enum reason judge(const struct mz_privilege *p, const struct mz_cut *c, size_t i, int op)
{
	const struct mz_union_edge *e = &p->u->edges[i];
	uint32_t d = c->function[p->accessor[i]], at;

	if (!is_named(c, d))
		return FUNCTION;
	if (mz_union_is_open(p->u->objects[e->object].kind) || c->owner[e->object] == d)
		return ALLOWED;
	if (!c->listed[e->object])
		return OBJECT;
	at = mz_pair_index_get(&c->allowed, d, e->object);
	if (at == MZ_PAIR_INDEX_NONE)
		return CROSSING;
	return c->allowed_ops[at] >> op & 1 ? ALLOWED : OPERATION;
}

struct privilege_check {
	const struct mz_privilege *p;
	const struct mz_cut *c;
	struct mz_cut_denials *d;
	struct mz_result_table *a;
	struct mz_pair_index rows; /* (function, object), operation */
};

/* One row for a function, an object and an operation, however many instructions did it. */
static void add_row(struct privilege_check *t, size_t i, int op, uint64_t n, enum reason why)
{
	static const char *const names[] = {"read", "write", "call", "return", "free"};
	const struct mz_functions *f = t->p->f;
	uint32_t fn = t->p->accessor[i], object = t->p->u->edges[i].object, id;
	size_t before = t->rows.count;
	union mz_result_cell *row;
	char text[320];

	id = mz_pair_index_put(&t->rows, (uint64_t)fn << 32 | object, (uint64_t)op);
	if (id == MZ_PAIR_INDEX_NONE)
		t->a->failed = true;
	row = t->a->failed	       ? NULL
	      : t->rows.count > before ? mz_result_row(t->a)
				       : &t->a->cells[id * t->a->n_columns];
	if (!row)
		return;
	row[4].number += n;
	if (t->rows.count == before)
		return;
	mz_result_text(t->a, &row[0], mz_functions_text(f, f->functions[fn].name));
	mz_result_text(t->a, &row[1], mz_cut_name(t->c, t->c->function[fn]));
	mz_result_text(t->a, &row[2], mz_union_object_id(t->p->u, object, text, sizeof(text)));
	mz_result_text(t->a, &row[3], names[op]);
	mz_result_text(t->a, &row[5], reasons[why]);
}

static void check_access(struct privilege_check *t, size_t i, int op, uint64_t n)
{
	enum reason why = n ? judge(t->p, t->c, i, op) : ALLOWED;
	uint64_t *to[] = {NULL, &t->d->functions, &t->d->objects, &t->d->crossings,
			  &t->d->operations};

	t->d->accesses += n;
	if (why == ALLOWED)
		return;
	t->d->denied += n;
	*to[why] += n;
	add_row(t, i, op, n, why);
}

void mz_cut_check(const struct mz_privilege *p, const struct mz_cut *c, struct mz_cut_denials *d,
		  struct mz_result_table *a)
{
	static const struct mz_result_column columns[] = {
		{"function", "function", MZ_RESULT_TEXT}, {"domain", "domain", MZ_RESULT_TEXT},
		{"object", "object", MZ_RESULT_TEXT},	  {"op", "operation", MZ_RESULT_TEXT},
		{"times", "times", MZ_RESULT_COUNT},	  {"reason", "why", MZ_RESULT_TEXT},
	};
	struct privilege_check t = {.p = p, .c = c, .d = d, .a = a};

	*d = (struct mz_cut_denials){0};
	mz_result_init(a, "denied", "Denied accesses", columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < p->u->n_edges && !a->failed; i++) {
		const struct mz_union_edge *e = &p->u->edges[i];

		if (p->accessor[i] == MZ_FUNCTION_NONE)
			continue;
		check_access(&t, i, MZ_CODE_OP_READ, e->reads);
		check_access(&t, i, MZ_CODE_OP_WRITE, e->writes);
		check_access(&t, i, MZ_CODE_OP_FREE, e->frees);
	}
	for (size_t i = 0; i < p->u->n_calls; i++) {
		if (p->caller[i] == MZ_FUNCTION_NONE)
			continue;
		d->calls += p->u->calls[i].count;
		if (!is_named(c, c->function[p->caller[i]]) ||
		    !is_named(c, c->function[p->callee[i]]))
			d->denied_calls += p->u->calls[i].count;
	}
	mz_pair_index_deinit(&t.rows);
	mz_result_sort(a, 4);
}
