// SPDX-License-Identifier: BSD-2-Clause
/* Compute what the code of each domain of a cut can reach, and the privilege that this makes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/privilege.h"
#include "base/array.h"

static void add(struct mz_privilege *p, uint64_t *to, uint64_t v)
{
	p->overflow |= __builtin_add_overflow(*to, v, to);
}

void mz_reach_deinit(struct mz_reach *r)
{
	free(r->u);
	free(r->u_live);
	free(r->ops);
	free(r->ops_live);
	free(r->code);
	free(r->code_live);
	*r = (struct mz_reach){0};
}

static bool allocate(struct mz_reach *r, uint32_t n)
{
	size_t room = n ? n : 1;

	*r = (struct mz_reach){.n = n,
			       .u = calloc(room, sizeof(*r->u)),
			       .u_live = calloc(room, sizeof(*r->u_live)),
			       .ops = calloc(room, sizeof(*r->ops)),
			       .ops_live = calloc(room, sizeof(*r->ops_live)),
			       .code = calloc(room, sizeof(*r->code)),
			       .code_live = calloc(room, sizeof(*r->code_live))};
	return r->u && r->u_live && r->ops && r->ops_live && r->code && r->code_live;
}

/* Both variants are summed at once: with dead code and without it. */
static void add_functions(struct mz_reach *r, struct mz_privilege *p, const struct mz_cut *c)
{
	for (size_t i = 0; i < p->f->n; i++) {
		uint32_t d = c->function[i];
		uint64_t size = p->f->functions[i].size;

		add(p, &r->code[d], size);
		add(p, &r->code_live[d], p->live[i] ? size : 0);
		for (int op = 0; op < MZ_CODE_OPS; op++) {
			add(p, &r->ops[d][op], p->ops[i][op]);
			add(p, &r->ops_live[d][op], p->live[i] ? p->ops[i][op] : 0);
		}
	}
}

/* ---- data ----------------------------------------------------------------------------- */

struct data {
	struct mz_reach *r;
	struct mz_privilege *p;
	const struct mz_cut *c;
	uint64_t *sizes; /* by domain of objects */
	struct mz_pair_index pairs;
	unsigned char *bits; /* by pair: operations that reach it freely */
	size_t cap_bits;
	uint32_t *best; /* by domain of objects: the domain that uses it most; NULL: none does */
	struct mz_pair_index files; /* (domain, file): it has functions of the file */
	bool each; /* an object is a domain whatever the cut says: only objects have owners */
};

static uint32_t domain_of(const struct data *t, uint32_t object)
{
	return t->c->object && !t->each ? t->c->object[object] : object;
}

static uint32_t object_domains(const struct data *t)
{
	return t->c->object && !t->each ? t->c->n_objects : (uint32_t)t->p->u->n_objects;
}

/* Objects of a module that is not in the table are left out, as its code is. */
static bool add_sizes(struct data *t)
{
	uint32_t n = object_domains(t);

	t->sizes = calloc(n ? n : 1, sizeof(*t->sizes));
	for (uint32_t i = 0; t->sizes && i < t->p->u->n_objects; i++)
		if (!t->p->absent[i])
			add(t->p, &t->sizes[domain_of(t, i)], t->p->u->objects[i].size);
	return t->sizes != NULL;
}

/* Regions that every domain uses stay open where a single domain may use the others. */
bool mz_union_is_open(enum mz_union_kind kind)
{
	return kind == MZ_UNION_STACK || kind == MZ_UNION_VMEMMAP || kind == MZ_UNION_MEMBLOCK;
}

/* By pair of domains: how often; the greatest of each object domain wins, the first of equals. */
static int find_best(struct data *t)
{
	uint32_t n = object_domains(t);
	struct mz_pair_index pairs = {0};
	uint64_t *weights = NULL;
	size_t cap = 0;
	int ret = 0;

	t->best = malloc((n ? n : 1) * sizeof(*t->best));
	for (uint32_t i = 0; t->best && i < n; i++)
		t->best[i] = UINT32_MAX;
	for (size_t i = 0; !ret && i < t->p->u->n_edges; i++) {
		const struct mz_union_edge *e = &t->p->u->edges[i];
		uint32_t id;

		if (t->p->accessor[i] == MZ_FUNCTION_NONE)
			continue;
		id = mz_pair_index_put(&pairs, t->c->function[t->p->accessor[i]],
				       domain_of(t, e->object));
		if (id == MZ_PAIR_INDEX_NONE ||
		    !mz_array_room((void **)&weights, &cap, id, sizeof(*weights)))
			ret = -ENOMEM;
		else
			weights[id] += e->reads + e->writes + e->frees;
	}
	for (uint32_t i = 0; !ret && t->best && i < pairs.count; i++) {
		uint32_t *best = &t->best[pairs.keys[i].b];

		if (*best == UINT32_MAX || weights[i] > weights[*best] ||
		    (weights[i] == weights[*best] && pairs.keys[i].a < pairs.keys[*best].a))
			*best = i;
	}
	for (uint32_t i = 0; !ret && t->best && i < n; i++)
		if (t->best[i] != UINT32_MAX)
			t->best[i] = (uint32_t)pairs.keys[t->best[i]].a;
	mz_pair_index_deinit(&pairs);
	free(weights);
	return t->best ? ret : -ENOMEM;
}

/* Looked up for each edge, so that the functions of a file are not searched each time. */
static int find_files(struct data *t)
{
	const uint32_t *files = t->p->owners.function_file;

	for (size_t i = 0; i < t->p->f->n; i++)
		if (files[i] != UINT32_MAX &&
		    mz_pair_index_put(&t->files, t->c->function[i], files[i]) == MZ_PAIR_INDEX_NONE)
			return -ENOMEM;
	return 0;
}

/* The domain has the function that allocates the object, or a function of the variable's file. */
static bool is_owner(const struct data *t, uint32_t d, uint32_t object)
{
	const struct mz_privilege_owners *o = &t->p->owners;

	if (o->allocator[object] != MZ_FUNCTION_NONE)
		return t->c->function[o->allocator[object]] == d;
	return o->object_file[object] != UINT32_MAX &&
	       mz_pair_index_get(&t->files, d, o->object_file[object]) != MZ_PAIR_INDEX_NONE;
}

/* The order matters: without any check all is free, and with full checks nothing is, not even the
 * regions that are open otherwise. */
static bool is_free(const struct data *t, enum mz_links links, uint32_t d,
		    const struct mz_union_edge *e)
{
	if (links == MZ_LINKS_UNMEDIATED)
		return true;
	if (links == MZ_LINKS_MEDIATED)
		return false;
	if (mz_union_is_open(t->p->u->objects[e->object].kind))
		return true;
	if (links == MZ_LINKS_ALLOCATOR)
		return is_owner(t, d, e->object);
	return (links == MZ_LINKS_ONE ? t->best[domain_of(t, e->object)]
				      : t->c->owner[e->object]) == d;
}

/* The whole domain of objects becomes reachable to all code of the domain. */
static int reach_freely(struct data *t, uint32_t d, uint32_t object, unsigned bits)
{
	uint32_t od = domain_of(t, object), id = mz_pair_index_put(&t->pairs, d, od);
	unsigned fresh;

	if (id == MZ_PAIR_INDEX_NONE || !mz_array_room((void **)&t->bits, &t->cap_bits, id, 1))
		return -ENOMEM;
	/* each operation of a domain reaches a group of objects once, however many edges lead
	 * there */
	fresh = bits & ~(unsigned)t->bits[id];
	t->bits[id] |= (unsigned char)bits;
	for (int op = 0; fresh >> op; op++)
		if (fresh >> op & 1)
			add(t->p, &t->r->u[d][op], t->sizes[od]);
	return 0;
}

static unsigned bits_of(const struct mz_union_edge *e)
{
	return (unsigned)(e->reads > 0) << MZ_CODE_OP_READ |
	       (unsigned)(e->writes > 0) << MZ_CODE_OP_WRITE |
	       (unsigned)(e->frees > 0) << MZ_CODE_OP_FREE;
}

static int add_edges(struct data *t, enum mz_links links)
{
	for (size_t i = 0; i < t->p->u->n_edges; i++) {
		const struct mz_union_edge *e = &t->p->u->edges[i];
		unsigned bits = bits_of(e);
		uint32_t d;

		if (t->p->accessor[i] == MZ_FUNCTION_NONE)
			continue;
		d = t->c->function[t->p->accessor[i]];
		t->r->accesses += e->reads + e->writes + e->frees;
		if (is_free(t, links, d, e)) {
			if (reach_freely(t, d, e->object, bits) < 0)
				return -ENOMEM;
			continue;
		}
		t->r->accesses_across += e->reads + e->writes + e->frees;
		for (int op = 0; bits >> op; op++)
			if (bits >> op & 1)
				add(t->p, &t->r->mediated[op], t->p->u->objects[e->object].size);
	}
	return 0;
}

static int add_data(struct mz_reach *r, struct mz_privilege *p, const struct mz_cut *c,
		    enum mz_links links)
{
	struct data t = {.r = r, .p = p, .c = c, .each = links == MZ_LINKS_ALLOCATOR};
	int ret = add_sizes(&t) ? 0 : -ENOMEM;

	if (!ret && links == MZ_LINKS_ONE)
		ret = find_best(&t);
	if (!ret && links == MZ_LINKS_ALLOCATOR)
		ret = find_files(&t);
	if (!ret)
		ret = add_edges(&t, links);
	for (uint32_t d = 0; !ret && d < r->n; d++)
		/* code that accesses something is not dead, so both variants reach the same data */
		memcpy(r->u_live[d], r->u[d], sizeof(r->u[d]));
	mz_pair_index_deinit(&t.pairs);
	mz_pair_index_deinit(&t.files);
	free(t.sizes);
	free(t.bits);
	free(t.best);
	return ret;
}

/* ---- calls and returns ------------------------------------------------------------------ */

/* Code of domain `to` becomes reachable from domain `from` by an operation, once. */
static int reach_code(struct mz_reach *r, struct mz_privilege *p, struct mz_pair_index *seen,
		      uint32_t from, uint32_t to, enum mz_code_op op)
{
	size_t before = seen->count;

	if (mz_pair_index_put(seen, (uint64_t)from << 32 | to, op) == MZ_PAIR_INDEX_NONE)
		return -ENOMEM;
	if (seen->count == before)
		return 0;
	add(p, &r->u[from][op], r->code[to]);
	add(p, &r->u_live[from][op], r->code_live[to]);
	return 0;
}

/* A return goes the opposite way of its call. It counts once for each call address and function, so
 * that a function that is entered at several addresses does not count several times. */
static int add_calls(struct mz_reach *r, struct mz_privilege *p, const struct mz_cut *c,
		     enum mz_links links)
{
	struct mz_pair_index seen = {0};
	int ret = 0;

	for (size_t i = 0; i < p->u->n_calls && !ret; i++) {
		uint64_t count = p->u->calls[i].count, rets;
		uint32_t from, to;

		if (p->caller[i] == MZ_FUNCTION_NONE || !count)
			continue;
		from = c->function[p->caller[i]];
		to = c->function[p->callee[i]];
		rets = p->returns[i] ? p->f->functions[p->callee[i]].ops[MZ_CODE_OP_RETURN] : 0;
		r->calls += count;
		r->calls_across += from == to ? 0 : count;
		if (from == to || links == MZ_LINKS_UNMEDIATED) {
			ret = reach_code(r, p, &seen, from, to, MZ_CODE_OP_CALL);
			if (!ret && rets)
				ret = reach_code(r, p, &seen, to, from, MZ_CODE_OP_RETURN);
		} else {
			add(p, &r->mediated[MZ_CODE_OP_CALL], MZ_CODE_TARGET);
			add(p, &r->mediated[MZ_CODE_OP_RETURN], MZ_CODE_TARGET * rets);
		}
	}
	mz_pair_index_deinit(&seen);
	return ret;
}

int mz_reach_init(struct mz_reach *r, struct mz_privilege *p, const struct mz_cut *c,
		  enum mz_links links)
{
	int ret = allocate(r, c->n) ? 0 : -ENOMEM;

	if (!ret) {
		add_functions(r, p, c);
		ret = add_data(r, p, c, links);
	}
	return ret ? ret : add_calls(r, p, c, links);
}

/* ---- privilege ------------------------------------------------------------------------------ */

/* Bytes that an operation of a domain may act on. */
static uint64_t reached(struct mz_privilege *p, const uint64_t u[MZ_CODE_OPS], uint64_t code,
			bool wx, int op)
{
	uint64_t bytes = u[op];

	/* without W^X, data can be called and code can be written; code can be read in any case */
	if (op == MZ_CODE_OP_CALL || op == MZ_CODE_OP_RETURN)
		add(p, &bytes, wx ? 0 : u[MZ_CODE_OP_READ]);
	else if (!wx || op == MZ_CODE_OP_READ)
		add(p, &bytes, code);
	return bytes;
}

void mz_privilege_ps(struct mz_privilege *p, const struct mz_reach *r, bool wx, bool live,
		     uint64_t ps[MZ_CODE_OPS])
{
	memcpy(ps, r->mediated, sizeof(r->mediated));
	for (uint32_t d = 0; d < r->n; d++) {
		for (int op = 0; op < MZ_CODE_OPS; op++) {
			uint64_t n = live ? r->ops_live[d][op] : r->ops[d][op], v;
			uint64_t bytes = reached(p, live ? r->u_live[d] : r->u[d],
						 live ? r->code_live[d] : r->code[d], wx, op);

			p->overflow |= __builtin_mul_overflow(n, bytes, &v);
			add(p, &ps[op], v);
		}
	}
}
