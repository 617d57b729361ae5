// SPDX-License-Identifier: BSD-2-Clause
/* Keep the live blocks of a program's own pools, so that a reset can end each of them. */
#include "record/user_pools.h"

#include <errno.h>
#include <stdlib.h>

/* Numbers and addresses come from the program, which may be corrupt. */
#define MOST_POOLS  (1u << 18)
#define MOST_BLOCKS (1u << 20)

#define POOL  sizeof(struct mz_user_pool)
#define BLOCK sizeof(struct mz_pool_block)

struct mz_user_pools *mz_user_pools_new(void)
{
	struct mz_user_pools *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	if (mz_u64_table_init(&p->pools, POOL) < 0 || mz_u64_table_init(&p->blocks, BLOCK) < 0) {
		mz_user_pools_free(p);
		return NULL;
	}
	return p;
}

/* The blocks of this program no longer count towards the limit that all programs share. */
void mz_user_pools_free(struct mz_user_pools *p)
{
	if (!p)
		return;
	if (p->all)
		*p->all -= p->own;
	mz_u64_table_deinit(&p->pools);
	mz_u64_table_deinit(&p->blocks);
	free(p);
}

/* A pool that is announced again keeps its blocks and gets the new name. A pool above the limit is
 * no error: the recording goes on, and mz_user_pools_end() says that something was lost. */
int mz_user_pools_add(struct mz_user_pools *p, uint64_t number, uint32_t name)
{
	struct mz_user_pool *pool;
	bool fresh;

	if (!number || p->pools.used >= MOST_POOLS)
		return 0;
	pool = mz_u64_table_insert(&p->pools, number, POOL, &fresh);
	if (!pool)
		return -ENOMEM;
	pool->name = name;
	return 0;
}

static struct mz_user_pool *pool_of(const struct mz_user_pools *p, uint64_t number)
{
	return number ? mz_u64_table_find(&p->pools, number, POOL) : NULL;
}

uint32_t mz_user_pools_name(const struct mz_user_pools *p, uint64_t number)
{
	const struct mz_user_pool *pool = pool_of(p, number);

	return pool ? pool->name : 0;
}

/* ---- the blocks of a pool: a list through the table, by address ---------------------- */

/* The links of the list are addresses and not pointers: the table moves its records when it grows,
 * and also when one of them is removed. */
static struct mz_pool_block *block_at(const struct mz_user_pools *p, uint64_t addr)
{
	return addr ? mz_u64_table_find(&p->blocks, addr, BLOCK) : NULL;
}

/* The limit holds for the pools of all programs of a recording together, if they share a count. */
static void count_block(struct mz_user_pools *p, int by)
{
	p->own += (uint64_t)(int64_t)by;
	if (p->all)
		*p->all += (uint64_t)(int64_t)by;
}

/* If the pool is unknown by now, there is no beginning of a list to change. */
static void unlink_block(struct mz_user_pools *p, struct mz_pool_block *b)
{
	uint64_t next = b->next, previous = b->previous;
	struct mz_user_pool *pool = pool_of(p, b->pool);
	struct mz_pool_block *other;

	other = block_at(p, previous);
	if (other)
		other->next = next;
	else if (pool)
		pool->first_block = next;
	other = block_at(p, next);
	if (other)
		other->previous = previous;
}

/* A new block becomes the first of its list, so that no list is walked. A reset therefore ends the
 * newest block first. */
int mz_user_pools_came(struct mz_user_pools *p, uint64_t number, uint64_t addr)
{
	struct mz_user_pool *pool = pool_of(p, number);
	struct mz_pool_block *b, *next;
	bool fresh;

	if (!pool || !addr)
		return 0;
	b = block_at(p, addr);
	if (b) {
		/* handed out again, and its end was not reported */
		unlink_block(p, b);
	} else if ((p->all ? *p->all : p->own) >= MOST_BLOCKS) {
		pool->not_kept++;
		return 0;
	}
	b = mz_u64_table_insert(&p->blocks, addr, BLOCK, &fresh);
	if (!b)
		return -ENOMEM;
	if (fresh)
		count_block(p, 1);
	b->pool = number;
	b->next = pool->first_block;
	b->previous = 0;
	next = block_at(p, pool->first_block);
	if (next)
		next->previous = addr;
	pool->first_block = addr;
	return 0;
}

/* A block that was not kept is only a number of its pool. Its end is taken off that number, so that
 * a reset does not report it as lost. */
void mz_user_pools_went(struct mz_user_pools *p, uint64_t number, uint64_t addr)
{
	struct mz_pool_block *b = block_at(p, addr);
	struct mz_user_pool *pool = pool_of(p, number);

	if (b) {
		unlink_block(p, b);
		mz_u64_table_remove(&p->blocks, b, BLOCK);
		count_block(p, -1);
	} else if (pool && pool->not_kept) {
		pool->not_kept--;
	}
}

uint64_t mz_user_pools_take(struct mz_user_pools *p, uint64_t number)
{
	const struct mz_user_pool *pool = pool_of(p, number);
	uint64_t addr = pool ? pool->first_block : 0;

	if (addr)
		mz_user_pools_went(p, number, addr);
	return addr;
}

/* Of a pool that was left out it is not known how many blocks were lost: 1 says that it is not
 * 0. */
uint64_t mz_user_pools_end(struct mz_user_pools *p, uint64_t number, bool destroyed)
{
	struct mz_user_pool *pool = pool_of(p, number);
	uint64_t lost;

	if (!pool)
		return 1;
	lost = pool->not_kept;
	pool->not_kept = 0;
	if (destroyed)
		mz_u64_table_remove(&p->pools, pool, POOL);
	return lost;
}
