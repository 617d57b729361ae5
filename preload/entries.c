// SPDX-License-Identifier: BSD-2-Clause
/* Record the calls that allocators offer under names of their own. */
#include "entries.h"

#include <string.h>

#include <memorizer.h>

#include "hooks.h"
#include "ring.h"
#include "scope.h"

/*
 * What the arguments mean; further ones are passed on as they are. SIZE(size), HEAP_SIZE(heap,
 * size), ALIGNED(alignment, size), ARRAY(n, size), HEAP_ARRAY(heap, n, size), RESIZE(block, size),
 * HEAP_RESIZE(heap, block, size), RESIZE_ARRAY(block, n, size), IN_PLACE(block, size),
 * STRING(text), FREE(block), POSIX(where, alignment, size)
 */
#define ENTRIES(X)                                                                                 \
	X(mallocx, SIZE)                                                                           \
	X(rallocx, RESIZE)                                                                         \
	X(xallocx, IN_PLACE)                                                                       \
	X(dallocx, FREE)                                                                           \
	X(sdallocx, FREE)                                                                          \
	X(mi_malloc, SIZE)                                                                         \
	X(mi_zalloc, SIZE)                                                                         \
	X(mi_malloc_small, SIZE)                                                                   \
	X(mi_zalloc_small, SIZE)                                                                   \
	X(mi_malloc_aligned, SIZE)                                                                 \
	X(mi_malloc_aligned_at, SIZE)                                                              \
	X(mi_zalloc_aligned, SIZE)                                                                 \
	X(mi_zalloc_aligned_at, SIZE)                                                              \
	X(mi_new, SIZE)                                                                            \
	X(mi_new_nothrow, SIZE)                                                                    \
	X(mi_new_aligned, SIZE)                                                                    \
	X(mi_new_aligned_nothrow, SIZE)                                                            \
	X(mi_valloc, SIZE)                                                                         \
	X(mi_pvalloc, SIZE)                                                                        \
	X(mi_aligned_alloc, ALIGNED)                                                               \
	X(mi_memalign, ALIGNED)                                                                    \
	X(mi_calloc, ARRAY)                                                                        \
	X(mi_calloc_aligned, ARRAY)                                                                \
	X(mi_mallocn, ARRAY)                                                                       \
	X(mi_new_n, ARRAY)                                                                         \
	X(mi_heap_malloc, HEAP_SIZE)                                                               \
	X(mi_heap_malloc_small, HEAP_SIZE)                                                         \
	X(mi_heap_malloc_aligned, HEAP_SIZE)                                                       \
	X(mi_heap_zalloc, HEAP_SIZE)                                                               \
	X(mi_heap_zalloc_aligned, HEAP_SIZE)                                                       \
	X(mi_heap_calloc, HEAP_ARRAY)                                                              \
	X(mi_heap_mallocn, HEAP_ARRAY)                                                             \
	X(mi_realloc, RESIZE)                                                                      \
	X(mi_rezalloc, RESIZE)                                                                     \
	X(mi_realloc_aligned, RESIZE)                                                              \
	X(mi_reallocf, RESIZE)                                                                     \
	X(mi_reallocn, RESIZE_ARRAY)                                                               \
	X(mi_reallocarray, RESIZE_ARRAY)                                                           \
	X(mi_recalloc, RESIZE_ARRAY)                                                               \
	X(mi_new_reallocn, RESIZE_ARRAY)                                                           \
	X(mi_strdup, STRING)                                                                       \
	X(mi_strndup, STRING)                                                                      \
	X(mi_new_realloc, RESIZE)                                                                  \
	X(mi_heap_realloc, HEAP_RESIZE)                                                            \
	X(mi_heap_rezalloc, HEAP_RESIZE)                                                           \
	X(mi_posix_memalign, POSIX)                                                                \
	X(mi_free, FREE)                                                                           \
	X(mi_free_size, FREE)                                                                      \
	X(mi_free_size_aligned, FREE)                                                              \
	X(mi_free_aligned, FREE)                                                                   \
	X(tc_malloc, SIZE)                                                                         \
	X(tc_malloc_skip_new_handler, SIZE)                                                        \
	X(tc_new, SIZE)                                                                            \
	X(tc_new_nothrow, SIZE)                                                                    \
	X(tc_new_aligned, SIZE)                                                                    \
	X(tc_new_aligned_nothrow, SIZE)                                                            \
	X(tc_newarray, SIZE)                                                                       \
	X(tc_newarray_nothrow, SIZE)                                                               \
	X(tc_newarray_aligned, SIZE)                                                               \
	X(tc_newarray_aligned_nothrow, SIZE)                                                       \
	X(tc_valloc, SIZE)                                                                         \
	X(tc_pvalloc, SIZE)                                                                        \
	X(tc_memalign, ALIGNED)                                                                    \
	X(tc_calloc, ARRAY)                                                                        \
	X(tc_realloc, RESIZE)                                                                      \
	X(tc_posix_memalign, POSIX)                                                                \
	X(tc_free, FREE)                                                                           \
	X(tc_cfree, FREE)                                                                          \
	X(tc_free_sized, FREE)                                                                     \
	X(tc_delete, FREE)                                                                         \
	X(tc_delete_nothrow, FREE)                                                                 \
	X(tc_delete_sized, FREE)                                                                   \
	X(tc_delete_aligned, FREE)                                                                 \
	X(tc_delete_sized_aligned, FREE)                                                           \
	X(tc_delete_aligned_nothrow, FREE)                                                         \
	X(tc_deletearray, FREE)                                                                    \
	X(tc_deletearray_nothrow, FREE)                                                            \
	X(tc_deletearray_sized, FREE)                                                              \
	X(tc_deletearray_aligned, FREE)                                                            \
	X(tc_deletearray_sized_aligned, FREE)                                                      \
	X(tc_deletearray_aligned_nothrow, FREE)

#define NUMBER(name, kind) ENTRY_##name,
enum { ENTRIES(NUMBER) COUNT };

static void *reals[COUNT];
bool mz_entries_found;

/* Any of them: arguments that a function does not have are in registers that it does not read. */
typedef void *call_fn(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d);

/* Some of them call malloc, which is recorded: then there is a record already. An exception of
 * tc_new or mi_new passes through here, so nothing may be left to undo. */
static void *allocate(unsigned entry, const uintptr_t v[4], size_t size, size_t align)
{
	uint64_t before = mz_events_so_far();
	void *p = ((call_fn *)reals[entry])(v[0], v[1], v[2], v[3]);

	if (mz_events_so_far() == before)
		mz_record_alloc(align ? MZ_CALL_ALIGNED_ALLOC : MZ_CALL_MALLOC, p, size, align);
	return p;
}

static void *resize(unsigned entry, const uintptr_t v[4], void *old, size_t size)
{
	enum mz_change how = mz_record_begin(old);
	void *p;

	mz_hide(&mz_me);
	p = ((call_fn *)reals[entry])(v[0], v[1], v[2], v[3]);
	mz_show(&mz_me);
	mz_record_end(how, old, p, size);
	return p;
}

static void *release(unsigned entry, const uintptr_t v[4])
{
	mz_record_free((void *)v[0]);
	mz_hide(&mz_me);
	((call_fn *)reals[entry])(v[0], v[1], v[2], v[3]);
	mz_show(&mz_me);
	return NULL;
}

/* It returns an error number. */
static void *allocate_at(unsigned entry, const uintptr_t v[4])
{
	uint64_t before = mz_events_so_far();
	void *error = ((call_fn *)reals[entry])(v[0], v[1], v[2], v[3]);
	void *p = (int)(uintptr_t)error ? NULL : *(void **)v[0];

	if (mz_events_so_far() == before)
		mz_record_alloc(MZ_CALL_ALIGNED_ALLOC, p, v[2], v[1]);
	return error;
}

/* The block stays where it is; the function returns its new size. */
static void *resize_in_place(unsigned entry, const uintptr_t v[4])
{
	void *size = ((call_fn *)reals[entry])(v[0], v[1], v[2], v[3]);

	if ((uintptr_t)size >= v[1])
		mz_record_end(mz_record_begin((void *)v[0]), (void *)v[0], (void *)v[0], v[1]);
	return size;
}

/* A copy of a text: its size is known afterwards. */
static void *copy_text(unsigned entry, const uintptr_t v[4])
{
	uint64_t before = mz_events_so_far();
	void *p = ((call_fn *)reals[entry])(v[0], v[1], v[2], v[3]);

	if (mz_events_so_far() == before && p)
		mz_record_alloc(MZ_CALL_MALLOC, p, strlen(p) + 1, 0);
	return p;
}

/* A product that overflows gets no memory; the record has the size of one element. */
static size_t product(size_t n, size_t size)
{
	size_t all;

	return __builtin_mul_overflow(n, size, &all) ? size : all;
}

#define DO_SIZE(e)	   allocate(e, v, v[0], 0)
#define DO_HEAP_SIZE(e)	   allocate(e, v, v[1], 0)
#define DO_ALIGNED(e)	   allocate(e, v, v[1], v[0])
#define DO_ARRAY(e)	   allocate(e, v, product(v[0], v[1]), 0)
#define DO_HEAP_ARRAY(e)   allocate(e, v, product(v[1], v[2]), 0)
#define DO_RESIZE(e)	   resize(e, v, (void *)v[0], v[1])
#define DO_HEAP_RESIZE(e)  resize(e, v, (void *)v[1], v[2])
#define DO_RESIZE_ARRAY(e) resize(e, v, (void *)v[0], product(v[1], v[2]))
#define DO_IN_PLACE(e)	   resize_in_place(e, v)
#define DO_STRING(e)	   copy_text(e, v)
#define DO_FREE(e)	   release(e, v)
#define DO_POSIX(e)	   allocate_at(e, v)

#define HOOK(name, kind)                                                                           \
	static void *see_##name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d)                \
	{                                                                                          \
		const uintptr_t v[4] = {a, b, c, d};                                               \
                                                                                                   \
		return DO_##kind(ENTRY_##name);                                                    \
	}
ENTRIES(HOOK)

#define ROW(name, kind) {#name, (void *)see_##name},
static const struct {
	const char *name;
	void *hook;
} entries[COUNT] = {ENTRIES(ROW)};

void mz_entries_find(const void *malloc)
{
	const struct link_map *allocator = mz_allocator(malloc);

	for (unsigned i = 0; i < COUNT; i++) {
		reals[i] = mz_beside(allocator, entries[i].name);
		mz_entries_found |= reals[i] != NULL;
	}
}

bool mz_entry(const char *name, void **hook, void **real)
{
	for (unsigned i = 0; mz_entries_found && i < COUNT; i++) {
		if (!reals[i] || name[0] != entries[i].name[0] || strcmp(name, entries[i].name))
			continue;
		*hook = entries[i].hook;
		*real = reals[i];
		return true;
	}
	return false;
}
