/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For programs with their own allocators: tells Memorizer which blocks these hand out.
 * `memorizer record` sees malloc() and free(); for it, an arena that carves a thousand
 * blocks out of one malloc() is one block. With a few calls from this header, each of
 * the thousand is recorded, with its call stack, under the name of the pool.
 *
 * The header is self-contained: no library is linked, and nothing happens unless the
 * program runs under `memorizer record`. Otherwise a call costs a load and a branch.
 * Define MZ_POOL_DISABLED before including it to compile the calls away.
 *
 *	struct arena {
 *		struct mz_pool pool;
 *		char *chunk; size_t used;
 *	};
 *
 *	mz_pool_create(&a->pool, "parser");
 *	mz_pool_enter(&a->pool);		// the chunk is the pool's own:
 *	a->chunk = malloc(CHUNK);		// it is not recorded
 *	mz_pool_leave(&a->pool);
 *	...
 *	p = a->chunk + a->used;			// a block is handed out
 *	mz_pool_alloc(&a->pool, p, size);
 *	...
 *	mz_pool_reset(&a->pool);		// all of its blocks are gone
 *
 * What is counted. A block of a pool is an allocation like any other: it is in the
 * totals, the peak and the lists of call sites, and has the pool's name as its
 * cache. The memory that a pool consists of must not be counted a second time, so
 * the calls that get and return it stand between mz_pool_enter() and
 * mz_pool_leave(): malloc(), free() and the blocks of all pools are not recorded there, but
 * mz_pool_reset() and mz_pool_destroy() are.
 * Bytes of a chunk that have not been handed out are not in any sum.
 *
 * Threads. Like the allocator that it is part of, a pool (and its struct mz_pool) is
 * used by one thread at a time. Blocks may be freed by any thread.
 */
#ifndef MEMORIZER_POOL_H
#define MEMORIZER_POOL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mz_pool_calls;

/* Part of the program's own allocator; a pool that is all zero is not recorded. Only
 * Memorizer uses the members. A copy becomes a pool of its own with mz_pool_create(). */
struct mz_pool {
	const struct mz_pool_calls *calls; /* NULL: the program is not being recorded */
	const char *name;		   /* borrowed until mz_pool_destroy() */
	uint64_t number;
	uint32_t told;
	uint32_t reserved;
};

/* The recorder's functions. New members are added at the end only. */
struct mz_pool_calls {
	size_t size; /* of this structure */
	void (*create)(struct mz_pool *pool);
	void (*alloc)(struct mz_pool *pool, const void *block, size_t size);
	void (*free)(struct mz_pool *pool, const void *block);
	void (*reset)(struct mz_pool *pool);
	void (*destroy)(struct mz_pool *pool);
	void (*enter)(struct mz_pool *pool);
	void (*leave)(struct mz_pool *pool);
};

/* The only symbol used: the library that `memorizer record` preloads defines it. It
 * returns NULL if that library is too old for this version of the header. */
#define MZ_POOL_VERSION 1u

/* Inlined even without optimisation, so that call sites are functions of the program. */
#ifdef __GNUC__
#define MZ_POOL_INLINE static inline __attribute__((always_inline))
#else
#define MZ_POOL_INLINE static inline
#endif

#if defined(__GNUC__) && defined(__ELF__) && !defined(MZ_POOL_DISABLED)
extern const struct mz_pool_calls *memorizer_pool_calls(unsigned version) __attribute__((weak));
#define MZ_POOL_ON(pool) __builtin_expect((pool)->calls != NULL, 0)

MZ_POOL_INLINE const struct mz_pool_calls *mz_pool_find_calls(void)
{
	const struct mz_pool_calls *(*find)(unsigned version);

#ifdef __x86_64__
	/* In position-dependent code the compiler would use the address as a constant,
	 * which the linker sets to 0 for good. The dynamic linker fills this GOT entry. */
	__asm__(".weak memorizer_pool_calls\n\t"
		"movq memorizer_pool_calls@GOTPCREL(%%rip), %0"
		: "=r"(find));
#else
	find = memorizer_pool_calls;
#endif
	return find ? find(MZ_POOL_VERSION) : NULL;
}
#else
#define MZ_POOL_ON(pool) ((void)(pool), 0)

MZ_POOL_INLINE const struct mz_pool_calls *mz_pool_find_calls(void)
{
	return NULL;
}
#endif

/* A new pool, without blocks. Reports show its name and add up pools of the same name.
 * The string must stay valid until the pool is destroyed. */
MZ_POOL_INLINE void mz_pool_create(struct mz_pool *pool, const char *name)
{
	pool->calls = mz_pool_find_calls();
	pool->name = name;
	pool->number = 0;
	pool->told = pool->reserved = 0;
	if (MZ_POOL_ON(pool))
		pool->calls->create(pool);
}

/* A block was handed out: call this before any other thread can see it. NULL is
 * ignored. */
MZ_POOL_INLINE void mz_pool_alloc(struct mz_pool *pool, const void *block, size_t size)
{
	if (MZ_POOL_ON(pool))
		pool->calls->alloc(pool, block, size);
}

/* A block is returned: call this before it can be handed out again. */
MZ_POOL_INLINE void mz_pool_free(struct mz_pool *pool, const void *block)
{
	if (MZ_POOL_ON(pool))
		pool->calls->free(pool, block);
}

/* All blocks of the pool are returned at once. */
MZ_POOL_INLINE void mz_pool_reset(struct mz_pool *pool)
{
	if (MZ_POOL_ON(pool))
		pool->calls->reset(pool);
}

/* The same, and the pool ends. Call it before the memory of the pool is returned, which
 * may follow between mz_pool_enter() and mz_pool_leave(). */
MZ_POOL_INLINE void mz_pool_destroy(struct mz_pool *pool)
{
	if (MZ_POOL_ON(pool))
		pool->calls->destroy(pool);
}

/* Between these two calls the thread gets or returns the memory that the pool consists
 * of: no call of malloc() or a similar function is recorded. They nest. */
MZ_POOL_INLINE void mz_pool_enter(struct mz_pool *pool)
{
	if (MZ_POOL_ON(pool))
		pool->calls->enter(pool);
}

MZ_POOL_INLINE void mz_pool_leave(struct mz_pool *pool)
{
	if (MZ_POOL_ON(pool))
		pool->calls->leave(pool);
}

#ifdef __cplusplus
}
#endif
#endif
