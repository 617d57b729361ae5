// SPDX-License-Identifier: BSD-2-Clause
/* Record operator new and delete where the allocator defines them itself. */
#include "operators.h"

#include <string.h>

#include <memorizer.h>

#include "hooks.h"
#include "ring.h"
#include "scope.h"

/* All operators of C++17; the letters are those of the mangled names. */
enum {
	NEW,
	NEW_ARRAY,
	NEW_NOTHROW,
	NEW_ARRAY_NOTHROW,
	NEW_ALIGNED,
	NEW_ARRAY_ALIGNED,
	NEW_ALIGNED_NOTHROW,
	NEW_ARRAY_ALIGNED_NOTHROW,
	DELETE,
	DELETE_ARRAY,
	DELETE_SIZED,
	DELETE_ARRAY_SIZED,
	DELETE_NOTHROW,
	DELETE_ARRAY_NOTHROW,
	DELETE_ALIGNED,
	DELETE_ARRAY_ALIGNED,
	DELETE_SIZED_ALIGNED,
	DELETE_ARRAY_SIZED_ALIGNED,
	DELETE_ALIGNED_NOTHROW,
	DELETE_ARRAY_ALIGNED_NOTHROW,
	OPERATORS
};

static void *reals[OPERATORS];
bool mz_operators_found;

/* Some call malloc or aligned_alloc, which is recorded: then there is a record already. An
 * exception of the real operator passes through here, so nothing may be left to undo. */
#define NEW_PLAIN(n)                                                                               \
	static void *see_##n(size_t size)                                                          \
	{                                                                                          \
		uint64_t before = mz_events_so_far();                                              \
		void *p = ((void *(*)(size_t))reals[n])(size);                                     \
                                                                                                   \
		if (mz_events_so_far() == before)                                                  \
			mz_record_alloc(MZ_CALL_MALLOC, p, size, 0);                               \
		return p;                                                                          \
	}
#define NEW_TAGGED(n)                                                                              \
	static void *see_##n(size_t size, const void *tag)                                         \
	{                                                                                          \
		uint64_t before = mz_events_so_far();                                              \
		void *p = ((void *(*)(size_t, const void *))reals[n])(size, tag);                  \
                                                                                                   \
		if (mz_events_so_far() == before)                                                  \
			mz_record_alloc(MZ_CALL_MALLOC, p, size, 0);                               \
		return p;                                                                          \
	}
#define NEW_ALIGN(n)                                                                               \
	static void *see_##n(size_t size, size_t align)                                            \
	{                                                                                          \
		uint64_t before = mz_events_so_far();                                              \
		void *p = ((void *(*)(size_t, size_t))reals[n])(size, align);                      \
                                                                                                   \
		if (mz_events_so_far() == before)                                                  \
			mz_record_alloc(MZ_CALL_ALIGNED_ALLOC, p, size, align);                    \
		return p;                                                                          \
	}
#define NEW_ALIGN_TAGGED(n)                                                                        \
	static void *see_##n(size_t size, size_t align, const void *tag)                           \
	{                                                                                          \
		uint64_t before = mz_events_so_far();                                              \
		void *p = ((void *(*)(size_t, size_t, const void *))reals[n])(size, align, tag);   \
                                                                                                   \
		if (mz_events_so_far() == before)                                                  \
			mz_record_alloc(MZ_CALL_ALIGNED_ALLOC, p, size, align);                    \
		return p;                                                                          \
	}
/* Arguments that an operator does not have are in registers that it does not read. */
#define FREE(n)                                                                                    \
	static void see_##n(void *p, size_t a, size_t b)                                           \
	{                                                                                          \
		mz_record_free(p);                                                                 \
		mz_hide(&mz_me);                                                                   \
		((void (*)(void *, size_t, size_t))reals[n])(p, a, b);                             \
		mz_show(&mz_me);                                                                   \
	}

NEW_PLAIN(NEW)
NEW_PLAIN(NEW_ARRAY)
NEW_TAGGED(NEW_NOTHROW)
NEW_TAGGED(NEW_ARRAY_NOTHROW)
NEW_ALIGN(NEW_ALIGNED)
NEW_ALIGN(NEW_ARRAY_ALIGNED)
NEW_ALIGN_TAGGED(NEW_ALIGNED_NOTHROW)
NEW_ALIGN_TAGGED(NEW_ARRAY_ALIGNED_NOTHROW)
FREE(DELETE)
FREE(DELETE_ARRAY)
FREE(DELETE_SIZED)
FREE(DELETE_ARRAY_SIZED)
FREE(DELETE_NOTHROW)
FREE(DELETE_ARRAY_NOTHROW)
FREE(DELETE_ALIGNED)
FREE(DELETE_ARRAY_ALIGNED)
FREE(DELETE_SIZED_ALIGNED)
FREE(DELETE_ARRAY_SIZED_ALIGNED)
FREE(DELETE_ALIGNED_NOTHROW)
FREE(DELETE_ARRAY_ALIGNED_NOTHROW)

#define ROW(n, name) [n] = {name, (void *)see_##n}
static const struct {
	const char *name;
	void *hook;
} operators[OPERATORS] = {
	ROW(NEW, "_Znwm"),
	ROW(NEW_ARRAY, "_Znam"),
	ROW(NEW_NOTHROW, "_ZnwmRKSt9nothrow_t"),
	ROW(NEW_ARRAY_NOTHROW, "_ZnamRKSt9nothrow_t"),
	ROW(NEW_ALIGNED, "_ZnwmSt11align_val_t"),
	ROW(NEW_ARRAY_ALIGNED, "_ZnamSt11align_val_t"),
	ROW(NEW_ALIGNED_NOTHROW, "_ZnwmSt11align_val_tRKSt9nothrow_t"),
	ROW(NEW_ARRAY_ALIGNED_NOTHROW, "_ZnamSt11align_val_tRKSt9nothrow_t"),
	ROW(DELETE, "_ZdlPv"),
	ROW(DELETE_ARRAY, "_ZdaPv"),
	ROW(DELETE_SIZED, "_ZdlPvm"),
	ROW(DELETE_ARRAY_SIZED, "_ZdaPvm"),
	ROW(DELETE_NOTHROW, "_ZdlPvRKSt9nothrow_t"),
	ROW(DELETE_ARRAY_NOTHROW, "_ZdaPvRKSt9nothrow_t"),
	ROW(DELETE_ALIGNED, "_ZdlPvSt11align_val_t"),
	ROW(DELETE_ARRAY_ALIGNED, "_ZdaPvSt11align_val_t"),
	ROW(DELETE_SIZED_ALIGNED, "_ZdlPvmSt11align_val_t"),
	ROW(DELETE_ARRAY_SIZED_ALIGNED, "_ZdaPvmSt11align_val_t"),
	ROW(DELETE_ALIGNED_NOTHROW, "_ZdlPvSt11align_val_tRKSt9nothrow_t"),
	ROW(DELETE_ARRAY_ALIGNED_NOTHROW, "_ZdaPvSt11align_val_tRKSt9nothrow_t"),
};

bool mz_operators_find(const void *malloc)
{
	const struct link_map *allocator = mz_allocator(malloc);

	for (unsigned i = 0; i < OPERATORS; i++) {
		reals[i] = mz_beside(allocator, operators[i].name);
		mz_operators_found |= reals[i] != NULL;
	}
	return mz_operators_found;
}

bool mz_operator(const char *name, void **hook, void **real)
{
	if (!mz_operators_found || name[0] != '_' || name[1] != 'Z')
		return false;
	for (unsigned i = 0; i < OPERATORS; i++) {
		if (!reals[i] || strcmp(name, operators[i].name))
			continue;
		*hook = operators[i].hook;
		*real = reals[i];
		return true;
	}
	return false;
}
