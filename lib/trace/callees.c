// SPDX-License-Identifier: BSD-2-Clause
/* Keep lists of the frames that were called from each frame. */
#include "trace/callees.h"

#include <errno.h>
#include <stdlib.h>

/* Most frames call one or two others. */
#define FIRST_CALLEES 2

void mz_callees_deinit(struct mz_callees *c)
{
	free(c->v);
	free(c->pool);
	free(c->older_caller);
	free(c->of_address);
	free(c->place);
	mz_pair_index_deinit(&c->older);
	mz_pair_index_deinit(&c->addresses);
	mz_pair_index_deinit(&c->pairs);
	*c = (struct mz_callees){0};
}

uint32_t mz_callees_add(struct mz_callees *c, uint64_t ip)
{
	if (c->n >= MZ_CALLEE_NONE || !mz_array_room((void **)&c->v, &c->cap, c->n, sizeof(*c->v)))
		return MZ_CALLEE_NONE;
	c->v[c->n] = (struct mz_caller){.ip = ip};
	return (uint32_t)c->n++;
}

/* A caller of an earlier block begins an empty list here, so that a block can be read without the
 * lists of those before it. */
uint32_t mz_callees_older(struct mz_callees *c, uint32_t node)
{
	size_t before = c->older.count;
	uint32_t i = mz_pair_index_put(&c->older, node, 0), made;

	if (i == MZ_PAIR_INDEX_NONE)
		return MZ_CALLEE_NONE;
	if (c->older.count == before)
		return c->older_caller[i];
	made = mz_callees_add(c, 0);
	if (made == MZ_CALLEE_NONE ||
	    !mz_array_room((void **)&c->older_caller, &c->cap_older, i, sizeof(*c->older_caller)))
		return MZ_CALLEE_NONE;
	c->older_caller[i] = made;
	return made;
}

/* A full list moves to the end of the pool and doubles. */
static int move_list(struct mz_callees *c, struct mz_caller *v)
{
	uint32_t cap = v->cap ? v->cap * 2 : FIRST_CALLEES;

	if (c->used + cap > UINT32_MAX ||
	    !mz_array_room((void **)&c->pool, &c->cap_pool, c->used + cap - 1, sizeof(*c->pool)))
		return -ENOMEM;
	if (v->n)
		memcpy(c->pool + c->used, c->pool + v->start, v->n * sizeof(*c->pool));
	v->start = (uint32_t)c->used;
	v->cap = cap;
	c->used += cap;
	return 0;
}

int mz_callees_append(struct mz_callees *c, uint32_t caller, uint32_t callee)
{
	struct mz_caller *v = &c->v[caller];

	if (v->n == v->cap && move_list(c, v) < 0)
		return -ENOMEM;
	c->pool[v->start + v->n++] = callee;
	return 0;
}

/* The number of an address; *code says whether it is new. */
static uint32_t number(struct mz_callees *c, uint64_t ip, uint64_t *code)
{
	size_t before = c->addresses.count;
	uint32_t i = mz_pair_index_put(&c->addresses, ip, 0);

	if (i == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&c->of_address, &c->cap_of_address, i, sizeof(*c->of_address)))
		return MZ_CALLEE_NONE;
	*code = c->addresses.count > before ? MZ_CALLEE_NEW : MZ_CALLEE_KNOWN;
	if (*code == MZ_CALLEE_NEW)
		c->of_address[i] = mz_callees_add(c, ip);
	return c->of_address[i];
}

uint32_t mz_callees_tell(struct mz_callees *c, uint32_t caller, uint64_t ip, uint64_t *code)
{
	size_t before = c->pairs.count;
	uint32_t callee = number(c, ip, code), pair;

	if (callee == MZ_CALLEE_NONE)
		return callee;
	pair = mz_pair_index_put(&c->pairs, caller, callee);
	if (pair == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&c->place, &c->cap_place, pair, sizeof(*c->place)))
		return MZ_CALLEE_NONE;
	/* a pair that was met before is the shortest to store: its place in the list */
	if (c->pairs.count == before) {
		*code = MZ_CALLEE_LISTED + (uint64_t)c->place[pair];
		return callee;
	}
	c->place[pair] = c->v[caller].n;
	return mz_callees_append(c, caller, callee) < 0 ? MZ_CALLEE_NONE : callee;
}
