// SPDX-License-Identifier: BSD-2-Clause
/* Record the blocks that a program's own allocators hand out: see memorizer/pool.h. */
#include <string.h>

#include <memorizer.h>
#include <memorizer/pool.h>

#include "ring.h"
#include "stack.h"

#define EXPORT __attribute__((visibility("default")))

/* Numbers are never reused, so that the recorder cannot confuse two pools. */
static uint64_t last_number;

/* In a child, and for another recorder, no names are known yet. False: there was no room, which is
 * counted as a loss, and a block without its pool would never end. */
static bool tell_name(struct mz_pool *p)
{
	uint32_t now = __atomic_load_n(&mz_generation, __ATOMIC_RELAXED);
	const char *name = p->name ? p->name : "";

	if (p->told != now && mz_append_text(MZ_REC_POOL_NAME, p->number, name, strlen(name)))
		p->told = now;
	return p->told == now;
}

static void pool_create(struct mz_pool *p)
{
	p->number = __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
}

static void pool_alloc(struct mz_pool *p, const void *block, size_t size)
{
	struct mz_thread *t = &mz_me;
	uint64_t addr = (uintptr_t)block;
	struct mz_record r[5];
	unsigned n = 0;
	uint32_t site;

	if (!block || !p->number || !mz_on() || !tell_name(p))
		return;
	site = mz_stack(t);
	if (site)
		r[n++] = (struct mz_record){.type = MZ_REC_SITE, .value = site};
	if (size >> 16)
		r[n++] = (struct mz_record){.type = MZ_REC_SIZE, .value = size};
	if (addr >> MZ_ADDR_BITS)
		r[n++] = (struct mz_record){.type = MZ_REC_ADDR, .value = addr};
	r[n++] = (struct mz_record){.type = MZ_REC_POOL, .value = p->number};
	r[n++] = (struct mz_record){.type = MZ_CALL_MALLOC,
				    .size = (uint16_t)size,
				    .value = addr & ((1ull << MZ_ADDR_BITS) - 1)};
	mz_append(t, r, n, NULL, 0);
}

static void pool_free(struct mz_pool *p, const void *block)
{
	struct mz_record r[2] = {{.type = MZ_REC_POOL, .value = p->number},
				 {.type = MZ_CALL_FREE, .value = (uintptr_t)block}};

	if (!block || !p->number || !mz_on() || !tell_name(p))
		return;
	mz_append(&mz_me, r, 2, NULL, 0);
}

/* The recorder knows the blocks: it writes a free for each. Also between enter and leave, or the
 * blocks of a pool whose memory goes with that of another would be live forever; what hides
 * otherwise (mz_hide()) has noted its frame. */
static void end_blocks(struct mz_pool *p, bool destroyed)
{
	struct mz_record r = {.type = MZ_REC_POOL_RESET, .arg = destroyed, .value = p->number};
	uint32_t hidden = mz_me.hidden_at ? 0 : mz_me.hidden;

	mz_me.hidden -= hidden;
	if (p->number && mz_on() && p->told == __atomic_load_n(&mz_generation, __ATOMIC_RELAXED))
		mz_append(&mz_me, &r, 1, NULL, 0);
	mz_me.hidden += hidden;
}

static void pool_reset(struct mz_pool *p)
{
	end_blocks(p, false);
}

static void pool_destroy(struct mz_pool *p)
{
	end_blocks(p, true);
	p->number = 0;
}

static void pool_enter(struct mz_pool *p)
{
	(void)p;
	mz_me.hidden++;
}

static void pool_leave(struct mz_pool *p)
{
	(void)p;
	if (mz_me.hidden)
		mz_me.hidden--;
}

static const struct mz_pool_calls calls = {
	.size = sizeof(calls),
	.create = pool_create,
	.alloc = pool_alloc,
	.free = pool_free,
	.reset = pool_reset,
	.destroy = pool_destroy,
	.enter = pool_enter,
	.leave = pool_leave,
};

EXPORT const struct mz_pool_calls *memorizer_pool_calls(unsigned version)
{
	return version && version <= MZ_POOL_VERSION ? &calls : NULL;
}
