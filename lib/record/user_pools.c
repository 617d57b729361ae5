// SPDX-License-Identifier: BSD-2-Clause
/* Keep the live blocks of a program's own pools, so that a reset can end each of them. */
#include "record/user_pools.h"

#include <errno.h>
#include <stdlib.h>

/* Numbers and addresses come from the program, which may be corrupt. */
#define MOST_POOLS  (1u << 18)
#define MOST_BLOCKS (1u << 20)

struct mz_user_pools *mz_user_pools_new(void)
{
	struct mz_user_pools *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	if (mz_live_init(&p->pools) < 0 || mz_live_init(&p->blocks) < 0) {
		mz_user_pools_free(p);
		return NULL;
	}
	return p;
}

void mz_user_pools_free(struct mz_user_pools *p)
{
	if (!p)
		return;
	if (p->all)
		*p->all -= p->own;
	mz_live_deinit(&p->pools);
	mz_live_deinit(&p->blocks);
	free(p);
}

int mz_user_pools_add(struct mz_user_pools *p, uint64_t number, uint32_t name)
{
	struct mz_block *pool;
	bool fresh;

	if (!number || mz_live_count(&p->pools) >= MOST_POOLS)
		return 0;
	pool = mz_live_insert(&p->pools, number, &fresh);
	if (!pool)
		return -ENOMEM;
	if (fresh)
		pool->size = pool->born = 0;
	pool->object = name;
	return 0;
}

static struct mz_block *pool_of(const struct mz_user_pools *p, uint64_t number)
{
	return number ? mz_live_find(&p->pools, number) : NULL;
}

uint32_t mz_user_pools_name(const struct mz_user_pools *p, uint64_t number)
{
	const struct mz_block *pool = pool_of(p, number);

	return pool ? (uint32_t)pool->object : 0;
}

/* ---- the blocks of a pool: a list through the table, by address ---------------------- */

static struct mz_block *block_at(const struct mz_user_pools *p, uint64_t addr)
{
	return addr ? mz_live_find(&p->blocks, addr) : NULL;
}

static void count_block(struct mz_user_pools *p, int by)
{
	p->own += (uint64_t)(int64_t)by;
	if (p->all)
		*p->all += (uint64_t)(int64_t)by;
}

static void unlink_block(struct mz_user_pools *p, struct mz_block *b)
{
	uint64_t next = b->size, before = b->born;
	struct mz_block *pool = pool_of(p, b->object), *other;

	other = block_at(p, before);
	if (other)
		other->size = next;
	else if (pool)
		pool->size = next;
	other = block_at(p, next);
	if (other)
		other->born = before;
}

int mz_user_pools_came(struct mz_user_pools *p, uint64_t number, uint64_t addr)
{
	struct mz_block *pool = pool_of(p, number), *b, *next;
	bool fresh;

	if (!pool || !addr)
		return 0;
	b = block_at(p, addr);
	if (b) {
		/* handed out again, and its end was not reported */
		unlink_block(p, b);
	} else if ((p->all ? *p->all : p->own) >= MOST_BLOCKS) {
		pool->born++;
		return 0;
	}
	b = mz_live_insert(&p->blocks, addr, &fresh);
	if (!b)
		return -ENOMEM;
	if (fresh)
		count_block(p, 1);
	b->object = number;
	b->size = pool->size;
	b->born = 0;
	next = block_at(p, pool->size);
	if (next)
		next->born = addr;
	pool->size = addr;
	return 0;
}

void mz_user_pools_went(struct mz_user_pools *p, uint64_t number, uint64_t addr)
{
	struct mz_block *b = block_at(p, addr), *pool = pool_of(p, number);

	if (b) {
		unlink_block(p, b);
		mz_live_remove(&p->blocks, b);
		count_block(p, -1);
	} else if (pool && pool->born) {
		pool->born--;
	}
}

uint64_t mz_user_pools_take(struct mz_user_pools *p, uint64_t number)
{
	const struct mz_block *pool = pool_of(p, number);
	uint64_t addr = pool ? pool->size : 0;

	if (addr)
		mz_user_pools_went(p, number, addr);
	return addr;
}

uint64_t mz_user_pools_end(struct mz_user_pools *p, uint64_t number, bool destroyed)
{
	struct mz_block *pool = pool_of(p, number);
	uint64_t lost;

	if (!pool)
		return 1;
	lost = pool->born;
	pool->born = 0;
	if (destroyed)
		mz_live_remove(&p->pools, pool);
	return lost;
}
