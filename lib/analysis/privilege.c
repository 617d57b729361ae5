// SPDX-License-Identifier: BSD-2-Clause
/* Assign the code of a union to functions, and add up what the functions can do. */
#include "analysis/privilege.h"
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "symbols/debuginfo.h"

void mz_privilege_deinit(struct mz_privilege *p)
{
	free(p->accessor);
	free(p->caller);
	free(p->callee);
	free(p->returns);
	free(p->absent);
	free(p->ops);
	free(p->live);
	free(p->owners.allocator);
	free(p->owners.object_file);
	free(p->owners.function_file);
	*p = (struct mz_privilege){0};
}

static void *array(size_t n, size_t size)
{
	return calloc(n ? n : 1, size);
}

static bool allocate(struct mz_privilege *p)
{
	p->accessor = array(p->u->n_edges, sizeof(*p->accessor));
	p->caller = array(p->u->n_calls, sizeof(*p->caller));
	p->callee = array(p->u->n_calls, sizeof(*p->callee));
	p->returns = array(p->u->n_calls, sizeof(*p->returns));
	p->absent = array(p->u->n_objects, sizeof(*p->absent));
	p->ops = array(p->f->n, sizeof(*p->ops));
	p->live = array(p->f->n, sizeof(*p->live));
	return p->accessor && p->caller && p->callee && p->returns && p->absent && p->ops &&
	       p->live;
}

/* ---- instructions that were seen ---------------------------------------------------------- */

/* By distinct address: which operations it was seen to do. */
struct seen {
	struct mz_pair_index ips;
	uint32_t *function;
	unsigned *ops;
	size_t cap_function, cap_ops;
};

/*
 * Each address is looked up once. Code of modules that the table does not have is left out of the
 * count by which another kernel is recognised: modules are often missing.
 */
static uint32_t see(struct mz_privilege *p, struct seen *s, uint64_t ip)
{
	size_t before = s->ips.count;
	uint32_t id = mz_pair_index_put(&s->ips, ip, 0);

	if (id == MZ_PAIR_INDEX_NONE || s->ips.count == before)
		return id;
	if (!mz_array_room((void **)&s->function, &s->cap_function, id, sizeof(uint32_t)) ||
	    !mz_array_room((void **)&s->ops, &s->cap_ops, id, sizeof(unsigned)))
		return MZ_PAIR_INDEX_NONE;
	s->function[id] = mz_functions_find(p->f, ip);
	if (s->function[id] == MZ_FUNCTION_NONE && mz_union_is_module(ip))
		return id;
	p->addresses++;
	p->known += s->function[id] != MZ_FUNCTION_NONE;
	return id;
}

static int see_edges(struct mz_privilege *p, struct seen *s)
{
	for (size_t i = 0; i < p->u->n_edges; i++) {
		const struct mz_union_edge *e = &p->u->edges[i];
		uint32_t id = see(p, s, e->ip);

		if (id == MZ_PAIR_INDEX_NONE)
			return -ENOMEM;
		p->accessor[i] = p->absent[e->object] ? MZ_FUNCTION_NONE : s->function[id];
		if (p->accessor[i] == MZ_FUNCTION_NONE) {
			bool module = p->absent[e->object] || mz_union_is_module(e->ip);

			*(module ? &p->module_edges : &p->unknown_edges) += 1;
			continue;
		}
		p->live[p->accessor[i]] = true;
		s->ops[id] |= (e->reads > 0) << MZ_CODE_OP_READ |
			      (e->writes > 0) << MZ_CODE_OP_WRITE |
			      (e->frees > 0) << MZ_CODE_OP_FREE;
	}
	return 0;
}

/* A call returns to its address once from each return of the function, even if the call entered the
 * function at several places. */
static int see_calls(struct mz_privilege *p, struct seen *s)
{
	struct mz_pair_index back = {0};
	int ret = 0;

	for (size_t i = 0; i < p->u->n_calls && !ret; i++) {
		const struct mz_union_call *c = &p->u->calls[i];
		uint32_t from = see(p, s, c->from), to = see(p, s, c->to);
		size_t before = back.count;

		if (from == MZ_PAIR_INDEX_NONE || to == MZ_PAIR_INDEX_NONE) {
			ret = -ENOMEM;
			break;
		}
		p->caller[i] = s->function[from];
		p->callee[i] = s->function[to];
		if (p->caller[i] == MZ_FUNCTION_NONE || p->callee[i] == MZ_FUNCTION_NONE) {
			bool module = mz_union_is_module(c->from) || mz_union_is_module(c->to);

			*(module ? &p->module_calls : &p->unknown_calls) += 1;
			p->caller[i] = MZ_FUNCTION_NONE;
			continue;
		}
		p->live[p->caller[i]] = p->live[p->callee[i]] = true;
		if (!c->count)
			continue;
		s->ops[from] |= 1u << MZ_CODE_OP_CALL;
		if (mz_pair_index_put(&back, c->from, p->callee[i]) == MZ_PAIR_INDEX_NONE)
			ret = -ENOMEM;
		p->returns[i] = back.count > before;
	}
	mz_pair_index_deinit(&back);
	return ret;
}

/* Code is modified while a kernel runs: more instructions may be seen than the file has. */
static void raise_counts(struct mz_privilege *p, const struct seen *s)
{
	for (size_t i = 0; i < s->ips.count; i++)
		for (int op = 0; op < MZ_CODE_OPS && s->function[i] != MZ_FUNCTION_NONE; op++)
			p->ops[s->function[i]][op] += s->ops[i] >> op & 1;
	for (size_t i = 0; i < p->f->n; i++)
		for (int op = 0; op < MZ_CODE_OPS; op++)
			if (p->ops[i][op] < p->f->functions[i].ops[op])
				p->ops[i][op] = p->f->functions[i].ops[op];
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* Objects of modules that the table lacks: their owners cannot be named. */
static void find_absent(struct mz_privilege *p)
{
	for (size_t i = 0; i < p->u->n_objects; i++) {
		const struct mz_union_object *o = &p->u->objects[i];

		p->absent[i] = o->kind == MZ_UNION_SITE && mz_union_is_module(o->id) &&
			       mz_functions_find(p->f, o->id) == MZ_FUNCTION_NONE;
		p->module_objects += p->absent[i];
	}
}

static void add(struct mz_privilege *p, uint64_t *to, uint64_t v)
{
	p->overflow |= __builtin_add_overflow(*to, v, to);
}

/* The two denominators of all ratios: all code, and the code that was seen to run. */
static void add_up(struct mz_privilege *p)
{
	for (size_t i = 0; i < p->u->n_objects; i++) {
		if (p->absent[i])
			continue;
		p->objects++;
		add(p, &p->data, p->u->objects[i].size);
	}
	for (size_t i = 0; i < p->f->n; i++) {
		add(p, &p->code, p->f->functions[i].size);
		add(p, &p->code_live, p->live[i] ? p->f->functions[i].size : 0);
		p->live_functions += p->live[i];
		for (int op = 0; op < MZ_CODE_OPS; op++) {
			add(p, &p->n[op], p->ops[i][op]);
			add(p, &p->n_live[op], p->live[i] ? p->ops[i][op] : 0);
		}
	}
}

/* Addresses that are in no function belong to another kernel, or to one that was relocated. */
static int check_kernel(const struct mz_privilege *p, struct mz_error *err)
{
	/* a kernel may have been moved to where another has its modules */
	if (p->known * 2 >= p->addresses &&
	    (p->known || !(p->module_edges || p->module_calls || p->module_objects)))
		return 0;
	if (!p->addresses)
		return mz_fail(
			err, EINVAL,
			"no code address is in the functions: the kernel was relocated (KASLR) and "
			"there is no kallsyms beside the map, or the map contains only code of "
			"modules that the functions lack");
	return mz_fail(
		err, EINVAL,
		"only %llu of %llu code addresses are in the functions: the map is of another "
		"kernel, or of one that was relocated (KASLR), and has no kallsyms beside it",
		(unsigned long long)p->known, (unsigned long long)p->addresses);
}

#define SAMPLE 2048 /* addresses are enough */

/*
 * A map holds return addresses of the callbacks. In the right vmlinux each follows a call; in
 * another one few do by chance. Names would not show it: most are the same in all kernels.
 */
int mz_privilege_check(const struct mz_union *u, const char *vmlinux, struct mz_error *err)
{
	const struct mz_debuginfo *d = mz_debuginfo(err);
	size_t step = u->n_edges / SAMPLE + 1, n = 0, tried = 0, hits;
	uint64_t ips[SAMPLE];

	if (!d)
		return -ENOENT;
	for (size_t i = 0; i < u->n_edges && n < SAMPLE; i += step)
		if (u->edges[i].reads || u->edges[i].writes)
			ips[n++] = u->edges[i].ip;
	hits = d->kaslr_calls(vmlinux, ips, n, &tried);
	if (tried < 4 || hits * 2 > tried)
		return 0;
	return mz_fail(err, EINVAL,
		       "the map is of another kernel than %s: of %zu addresses that access memory, "
		       "only %zu follow a call there",
		       vmlinux, tried, hits);
}

int mz_privilege_init(struct mz_privilege *p, const struct mz_union *u,
		      const struct mz_functions *f, struct mz_error *err)
{
	struct seen s = {0};
	int ret;

	*p = (struct mz_privilege){.u = u, .f = f, .missing = f->missing};
	if (!u->has_accesses)
		p->unseen |= 1u << MZ_CODE_OP_READ | 1u << MZ_CODE_OP_WRITE;
	if (!u->has_calls)
		p->unseen |= 1u << MZ_CODE_OP_CALL | 1u << MZ_CODE_OP_RETURN;
	if (!allocate(p))
		return mz_fail_memory(err);
	find_absent(p);
	ret = see_edges(p, &s);
	if (!ret)
		ret = see_calls(p, &s);
	if (!ret) {
		raise_counts(p, &s);
		add_up(p);
		ret = mz_privilege_find_owners(p);
	}
	mz_pair_index_deinit(&s.ips);
	free(s.function);
	free(s.ops);
	return ret < 0 ? mz_fail_memory(err) : check_kernel(p, err);
}

/* ---- without a cut ------------------------------------------------------------------------ */

/* What was used, and nothing else: each instruction with each object that it touched. */
void mz_privilege_min(struct mz_privilege *p, uint64_t ps[MZ_CODE_OPS])
{
	for (int op = 0; op < MZ_CODE_OPS; op++)
		ps[op] = 0;
	for (size_t i = 0; i < p->u->n_edges; i++) {
		const struct mz_union_edge *e = &p->u->edges[i];
		uint64_t size = p->u->objects[e->object].size;

		if (p->accessor[i] == MZ_FUNCTION_NONE)
			continue;
		add(p, &ps[MZ_CODE_OP_READ], e->reads ? size : 0);
		add(p, &ps[MZ_CODE_OP_WRITE], e->writes ? size : 0);
		add(p, &ps[MZ_CODE_OP_FREE], e->frees ? size : 0);
	}
	for (size_t i = 0; i < p->u->n_calls; i++) {
		if (p->caller[i] == MZ_FUNCTION_NONE || !p->u->calls[i].count)
			continue;
		add(p, &ps[MZ_CODE_OP_CALL], MZ_CODE_TARGET);
		if (p->returns[i])
			add(p, &ps[MZ_CODE_OP_RETURN],
			    MZ_CODE_TARGET * p->f->functions[p->callee[i]].ops[MZ_CODE_OP_RETURN]);
	}
}

static uint64_t product(struct mz_privilege *p, uint64_t a, uint64_t b)
{
	uint64_t v;

	p->overflow |= __builtin_mul_overflow(a, b, &v);
	return v;
}

/*
 * Every instruction may do its operation to everything. With W^X no code is written and no data
 * is called.
 */
void mz_privilege_mono(struct mz_privilege *p, bool wx, bool live, uint64_t ps[MZ_CODE_OPS])
{
	const uint64_t *n = live ? p->n_live : p->n;
	uint64_t code = live ? p->code_live : p->code, all = p->data;

	add(p, &all, code);
	for (int op = 0; op < MZ_CODE_OPS; op++) {
		bool calls = op == MZ_CODE_OP_CALL || op == MZ_CODE_OP_RETURN;
		uint64_t reach = !wx || op == MZ_CODE_OP_READ ? all : calls ? code : p->data;

		ps[op] = product(p, n[op], reach);
	}
}

uint64_t mz_privilege_known(struct mz_privilege *p, const uint64_t ps[MZ_CODE_OPS])
{
	uint64_t sum = 0;

	for (int op = 0; op < MZ_CODE_OPS; op++)
		add(p, &sum, (p->missing | p->unseen) >> op & 1 ? 0 : ps[op]);
	return sum;
}
