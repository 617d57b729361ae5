// SPDX-License-Identifier: BSD-2-Clause
/* Write the privilege measures and the cut of a KMAP page as JSON. */
#include "cmds/html/html_privilege.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

#define POINTS	24
#define DOMAINS 24 /* that are shown by name */
#define MEMBERS 60 /* functions and objects of one that are named */

/* Cycles of page tables, the mechanism that needs no special hardware. */
#define ACCESS 1490
#define CALL   1290

int html_privilege_open(struct html_privilege *s, char *path, const char *symbols,
			const char *functions, struct mz_error *err)
{
	struct kmap_opts o = {.symbols = symbols, .functions = functions};
	struct mz_cluster_options co = {
		.access = ACCESS, .call = CALL, .budget = -1, .points = POINTS};
	struct mz_cut dir = {0};
	int ret;

	memset(s, 0, sizeof(*s));
	ret = kmap_load(&s->l, &o, 1, &path, err);
	if (ret < 0)
		return ret;
	ret = mz_cut_by(&dir, s->l.p.f, MZ_CUT_DIR);
	if (!ret)
		ret = mz_cut_weigh(&s->l.p, &dir, &co, &s->base);
	co.budget = s->base.cost;
	co.start = &dir;
	if (!ret)
		ret = mz_cluster_init(&s->k, &s->l.p, &co);
	if (!ret)
		ret = mz_cut_weigh(&s->l.p, &s->k.cut, &co, &s->price);
	mz_cut_deinit(&dir);
	if (!ret && s->l.p.overflow)
		return mz_fail(err, ERANGE, "the sizes of this map are too large");
	return ret < 0 ? mz_fail_memory(err) : 0;
}

void html_privilege_free(struct html_privilege *s)
{
	mz_cluster_deinit(&s->k);
	kmap_load_free(&s->l);
}

/* ---- PSR by cut ----------------------------------------------------------------------- */

static int psr_json(struct mz_json *w, struct html_privilege *s)
{
	struct mz_cluster_options co = {.access = ACCESS, .call = CALL};
	int ret = 0;

	mz_json_array(w, "psr");
	for (int i = 0; i < MZ_CUT_LEVELS && !ret; i++) {
		struct mz_cut_price price;
		struct mz_cut c;

		ret = mz_cut_by(&c, s->l.p.f, (enum mz_cut_level)i);
		if (!ret)
			ret = mz_cut_weigh(&s->l.p, &c, &co, &price);
		if (!ret) {
			mz_json_object(w, NULL);
			mz_json_str(w, "cut", mz_cut_level_name((enum mz_cut_level)i));
			mz_json_u64(w, "domains", c.n);
			mz_json_double(w, "psr", price.psr);
			mz_json_end_object(w);
		}
		mz_cut_deinit(&c);
	}
	mz_json_end_array(w);
	return ret;
}

static void curve_json(struct mz_json *w, const struct html_privilege *s)
{
	mz_json_array(w, "curve");
	for (size_t i = 0; i < s->k.n_curve; i++) {
		mz_json_object(w, NULL);
		mz_json_u64(w, "domains", s->k.curve[i].domains);
		mz_json_double(w, "cost", s->k.curve[i].cost);
		mz_json_double(w, "psr", mz_cut_psr(&s->price, s->k.curve[i].ps));
		mz_json_end_object(w);
	}
	mz_json_end_array(w);
}

/* ---- domains ----------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
	const struct mz_cut_domain *x = a, *y = b;

	return MZ_ORDER(y->functions, x->functions) ?: MZ_ORDER(x->number, y->number);
}

static void members_json(struct mz_json *w, const struct html_privilege *s, uint32_t domain)
{
	const struct mz_privilege *p = &s->l.p;
	size_t n = 0;
	char id[320];

	mz_json_array(w, "functions");
	for (size_t i = 0; i < p->f->n && n < MEMBERS; i++)
		if (p->live[i] && s->k.cut.function[i] == domain && ++n)
			html_json_name(w, NULL, mz_functions_text(p->f, p->f->functions[i].name));
	mz_json_end_array(w);
	n = 0;
	mz_json_array(w, "objects");
	for (uint32_t i = 0; i < p->u->n_objects && n < MEMBERS; i++)
		if (s->k.cut.owner[i] == domain && ++n)
			html_json_name(w, NULL, mz_union_object_id(p->u, i, id, sizeof(id)));
	mz_json_end_array(w);
}

/* Accesses between the domains that are shown: code (rows), owner of the objects (columns). */
static int matrix_json(struct mz_json *w, const struct html_privilege *s,
		       const struct mz_cut_domain *d, uint32_t shown)
{
	const struct mz_privilege *p = &s->l.p;
	uint32_t *place = malloc((s->k.cut.n ? s->k.cut.n : 1) * sizeof(*place));
	uint64_t *cells = calloc((size_t)shown * shown + 1, sizeof(*cells));
	bool ok = place && cells;

	for (uint32_t i = 0; ok && i < s->k.cut.n; i++)
		place[d[i].number] = i;
	for (size_t i = 0; ok && i < p->u->n_edges; i++) {
		const struct mz_union_edge *e = &p->u->edges[i];
		uint32_t owner = s->k.cut.owner[e->object], from, to;

		if (p->accessor[i] == MZ_FUNCTION_NONE || owner == UINT32_MAX)
			continue;
		from = place[s->k.cut.function[p->accessor[i]]];
		to = place[owner];
		if (from < shown && to < shown)
			cells[(size_t)from * shown + to] += e->reads + e->writes + e->frees;
	}
	mz_json_array(w, "matrix");
	for (size_t i = 0; ok && i < (size_t)shown * shown; i++)
		mz_json_u64(w, NULL, cells[i]);
	mz_json_end_array(w);
	free(place);
	free(cells);
	return ok ? 0 : -ENOMEM;
}

static int domains_json(struct mz_json *w, const struct html_privilege *s)
{
	struct mz_cut_domain *d = mz_cut_domains(&s->l.p, &s->k.cut, by_size);
	uint32_t shown = 0;
	int ret;

	if (!d)
		return -ENOMEM;
	mz_json_array(w, "domains");
	for (; shown < DOMAINS && shown < s->k.cut.n && d[shown].functions; shown++) {
		mz_json_object(w, NULL);
		mz_json_str(w, "name", mz_cut_name(&s->k.cut, d[shown].number));
		mz_json_u64(w, "n_functions", d[shown].functions);
		mz_json_u64(w, "n_objects", d[shown].objects);
		mz_json_u64(w, "code", d[shown].code);
		mz_json_u64(w, "data", d[shown].data);
		members_json(w, s, d[shown].number);
		mz_json_end_object(w);
	}
	mz_json_end_array(w);
	ret = matrix_json(w, s, d, shown);
	free(d);
	return ret;
}

/* ---- who would lose what ----------------------------------------------------------------------
 */

struct loss {
	uint32_t function, object;
	uint64_t times;
};

static int by_times(const void *a, const void *b)
{
	const struct loss *x = a, *y = b;

	return MZ_ORDER(y->times, x->times) ?: MZ_ORDER(x->function, y->function) ?: MZ_ORDER(x->object, y->object);
}

/* Accesses across a boundary, by function and object. */
static struct loss *losses_of(const struct html_privilege *s, size_t *n)
{
	const struct mz_privilege *p = &s->l.p;
	struct mz_pair_index index = {0};
	struct loss *list = NULL;
	size_t cap = 0;
	bool ok = mz_array_room((void **)&list, &cap, 0, sizeof(*list));

	for (size_t i = 0; ok && i < p->u->n_edges; i++) {
		const struct mz_union_edge *e = &p->u->edges[i];
		uint32_t f = p->accessor[i], id;

		if (f == MZ_FUNCTION_NONE || mz_union_is_open(p->u->objects[e->object].kind) ||
		    s->k.cut.owner[e->object] == s->k.cut.function[f])
			continue;
		id = mz_pair_index_put(&index, f, e->object);
		ok = id != MZ_PAIR_INDEX_NONE &&
		     mz_array_room((void **)&list, &cap, id, sizeof(*list));
		if (!ok)
			break;
		list[id].function = f;
		list[id].object = e->object;
		list[id].times += e->reads + e->writes + e->frees;
	}
	*n = index.count;
	mz_pair_index_deinit(&index);
	if (ok)
		qsort(list, *n, sizeof(*list), by_times);
	else
		free(list);
	return ok ? list : NULL;
}

static int losses_json(struct mz_json *w, const struct html_privilege *s, size_t rows)
{
	static const struct html_column columns[] = {{"function", "Function", "text"},
						     {"domain", "Domain", "text"},
						     {"object", "Object", "text"},
						     {"owner", "Owner", "text"},
						     {"accesses", "Accesses", "count"}};
	const struct mz_privilege *p = &s->l.p;
	size_t n;
	struct loss *list = losses_of(s, &n);
	char id[320];

	if (!list)
		return -ENOMEM;
	html_json_table(w, "lost", "Accesses across a boundary", columns, 5);
	for (size_t i = 0; i < n && i < rows; i++) {
		uint32_t owner = s->k.cut.owner[list[i].object];

		mz_json_array(w, NULL);
		html_json_name(w, NULL,
			       mz_functions_text(p->f, p->f->functions[list[i].function].name));
		mz_json_str(w, NULL, mz_cut_name(&s->k.cut, s->k.cut.function[list[i].function]));
		html_json_name(w, NULL, mz_union_object_id(p->u, list[i].object, id, sizeof(id)));
		mz_json_str(w, NULL,
			    owner == UINT32_MAX ? "(no domain)" : mz_cut_name(&s->k.cut, owner));
		mz_json_u64(w, NULL, list[i].times);
		mz_json_end_array(w);
	}
	html_json_table_end(w, n, n < rows ? n : rows);
	free(list);
	return 0;
}

int html_privilege_json(struct mz_json *w, struct html_privilege *s, const struct html_limits *l)
{
	int ret;

	mz_json_object(w, "privilege");
	mz_json_bool(w, "has_calls", s->l.u.has_calls);
	ret = psr_json(w, s);
	mz_cut_price_json(&s->price, "cut", w);
	mz_cut_price_json(&s->base, "baseline", w);
	curve_json(w, s);
	if (!ret)
		ret = domains_json(w, s);
	if (!ret)
		ret = losses_json(w, s, l->rows / 4);
	mz_json_end_object(w);
	return ret;
}
