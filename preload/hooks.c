// SPDX-License-Identifier: BSD-2-Clause
/* Record the calls of an allocator. */
/*
 * Each calls the next allocator in line, and leaves a record. An allocation is stamped after the
 * call, a free before it, so that over all threads an address is freed before it is given out
 * again.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memorizer.h>

#include "become.h"
#include "entries.h"
#include "hooks.h"
#include "mappings.h"
#include "operators.h"
#include "redirect.h"
#include "region.h"
#include "ring.h"
#include "sandbox.h"
#include "scope.h"
#include "stack.h"
#include "thin.h"

#define EXPORT __attribute__((visibility("default")))

/* ---- the real ones --------------------------------------------------------- */

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	size_t (*usable)(void *);
	void (*free_sized)(void *, size_t); /* these are C23's, and need not exist */
	void (*free_aligned_sized)(void *, size_t, size_t);
} real;

void *mz_real_dlsym __attribute__((visibility("hidden"))); /* where mz_see_dlsym continues */
static void *real_reallocarray;				   /* never called: it is a realloc */

enum { NOT_YET, RESOLVING, READY };
static int ready;

static bool own_malloc; /* found before ours; see executable_allocates() */

static void find(void *call, const char *name)
{
	bool own;

	*(void **)call = mz_definition(name, &own);
}

/* Not a function of the executable, which need not be a clock. */
static void find_clock(void)
{
	void *clock = dlsym(RTLD_NEXT, "clock_gettime");

	if (clock)
		*(void **)&mz_real_clock = clock;
}

static void resolve(void)
{
	ready = RESOLVING;
	/* calloc last of the four: dlsym() itself may need it, and gets the arena */
	*(void **)&real.malloc = mz_definition("malloc", &own_malloc);
	find(&real.realloc, "realloc");
	find(&real.free, "free");
	find(&real.calloc, "calloc");
	find(&real.aligned_alloc, "aligned_alloc");
	find(&real.memalign, "memalign");
	find(&real.posix_memalign, "posix_memalign");
	find(&real.valloc, "valloc");
	find(&real.pvalloc, "pvalloc");
	find(&real.usable, "malloc_usable_size");
	*(void **)&real.free_sized = mz_rare_definition("free_sized");
	*(void **)&real.free_aligned_sized = mz_rare_definition("free_aligned_sized");
	find(&mz_real_maps.mmap, "mmap");
	find(&mz_real_maps.munmap, "munmap");
	find(&mz_real_maps.mremap, "mremap");
	find(&mz_real_maps.brk, "brk");
	find(&mz_real_maps.sbrk, "sbrk");
	find(&real_reallocarray, "reallocarray");
	mz_become_find();
	find_clock();
	mz_real_dlsym = (void *)dlsym;
	mz_sizes_find();
	ready = READY;
}

static inline bool prepared(void)
{
	if (__builtin_expect(ready == READY, 1))
		return true;
	if (ready == NOT_YET)
		resolve();
	return ready == READY;
}

bool mz_prepared(void)
{
	return prepared();
}

/* ---- what the dynamic linker allocates while it looks for the real ones ------ */

static char arena[16384] __attribute__((aligned(16)));
static size_t arena_used;

static bool in_arena(const void *p)
{
	return (const char *)p >= arena && (const char *)p < arena + sizeof(arena);
}

static void *arena_alloc(size_t size)
{
	size_t at = arena_used;

	size = (size + 31) & ~(size_t)15; /* its length precedes the block */
	if (size > sizeof(arena) - at)
		return NULL;
	arena_used += size;
	*(size_t *)(void *)(arena + at) = size - 16;
	return arena + at + 16;
}

static size_t arena_size(const void *p)
{
	return *(const size_t *)(const void *)((const char *)p - 16);
}

/* ---- how much a block got ----------------------------------------------------------- */

/* The calls whose blocks real.usable() may be called with, as bits. An allocator need not define
 * all of them: jemalloc has no pvalloc(), so the program gets a block of the C library, which
 * jemalloc's function must not see. */
static uint32_t sized;
static bool all_sized; /* and it makes no call that is seen itself */

static const void *object_of(void *function)
{
	Dl_info info;

	return function && dladdr(function, &info) ? info.dli_fbase : NULL;
}

/* A program that was running before finds its C library's malloc before ours, so own_malloc alone
 * does not say that the executable defines it. */
static bool executable_allocates(void)
{
	const void *of = object_of((void *)real.malloc);

	return own_malloc && (!of || of == object_of((void *)getauxval(AT_PHDR)));
}

void mz_own_malloc_tell(void)
{
	if (executable_allocates())
		mz_tell_blind(MZ_BLIND_OWN_MALLOC);
}

void mz_sizes_find(void)
{
	void *const calls[] = {
		[MZ_CALL_MALLOC] = (void *)real.malloc,
		[MZ_CALL_CALLOC] = (void *)real.calloc,
		[MZ_CALL_REALLOC] = (void *)real.realloc,
		[MZ_CALL_REALLOCARRAY] = (void *)real.realloc,
		[MZ_CALL_ALIGNED_ALLOC] = (void *)real.aligned_alloc,
		[MZ_CALL_MEMALIGN] = (void *)real.memalign,
		[MZ_CALL_POSIX_MEMALIGN] = (void *)real.posix_memalign,
		[MZ_CALL_VALLOC] = (void *)real.valloc,
		[MZ_CALL_PVALLOC] = (void *)real.pvalloc,
	};
	const void *of = executable_allocates() ? NULL : object_of((void *)real.usable);

	sized = 0;
	all_sized = !mz_operators_found && !mz_entries_found;
	for (unsigned i = MZ_CALL_MALLOC; i <= MZ_CALL_PVALLOC; i++) {
		/* a function that an executable defines need not know all blocks */
		if (of && object_of(calls[i]) == of)
			sized |= 1u << i;
		else
			all_sized = false;
	}
}

/* 0 = not known. tcmalloc's function makes an object when it is first called, with its operator
 * new, which is seen: recording that block would in turn call it for its size. */
static __attribute__((noinline)) size_t given_if_known(unsigned call, void *p)
{
	size_t size;

	if (!(sized & 1u << call))
		return 0;
	if (!mz_operators_found && !mz_entries_found)
		return real.usable(p);
	mz_hide(&mz_me);
	size = real.usable(p);
	mz_show(&mz_me);
	return size;
}

static inline __attribute__((always_inline)) size_t given_to(unsigned call, void *p)
{
	if (__builtin_expect(in_arena(p), 0))
		return arena_size(p);
	return __builtin_expect(all_sized, 1) ? real.usable(p) : given_if_known(call, p);
}

/* ---- records ----------------------------------------------------------------- */

static uint8_t log2_of(uint64_t v)
{
	return v && !(v & (v - 1)) ? (uint8_t)__builtin_ctzll(v) : MZ_ARG_EXTRA;
}

/* The contents of the record of a new block. */
struct made {
	uint64_t addr;
	uint64_t size; /* as requested; of one element if arg is MZ_ARG_EXTRA in an array */
	uint64_t over; /* bytes given more */
	uint64_t whole_arg;
	uint32_t site;
	uint32_t weight;
	uint8_t call;
	uint8_t arg; /* MZ_ARG_EXTRA: whole_arg does not fit */
};

/* All bytes of a block whose record has the size of one element. */
static uint64_t whole_size(unsigned call, uint64_t size, unsigned arg, uint64_t whole_arg)
{
	bool array = call == MZ_CALL_CALLOC || call == MZ_CALL_REALLOCARRAY;

	return array && arg == MZ_ARG_EXTRA ? size * whole_arg : size;
}

/* The record of this block was lost. Rare, and kept out of the common path. */
static __attribute__((noinline, cold)) void lost_block(const void *p, uint64_t size)
{
	if (p)
		mz_thin_lost(&mz_me, p, size);
}

/* A block that does not fit into one record. */
static __attribute__((noinline)) void record_wide(struct mz_thread *t, const struct made *m)
{
	struct mz_record r[7];
	unsigned n = 0;

	if (m->weight > 1)
		r[n++] = (struct mz_record){.type = MZ_REC_WEIGHT, .value = m->weight};
	if (m->site)
		r[n++] = (struct mz_record){.type = MZ_REC_SITE, .value = m->site};
	if (m->size >> 16)
		r[n++] = (struct mz_record){.type = MZ_REC_SIZE, .value = m->size};
	if (m->over >> 16)
		r[n++] = (struct mz_record){.type = MZ_REC_GIVEN, .value = m->size + m->over};
	if (m->arg == MZ_ARG_EXTRA)
		r[n++] = (struct mz_record){.type = MZ_REC_ARG, .value = m->whole_arg};
	if (m->addr >> MZ_ADDR_BITS)
		r[n++] = (struct mz_record){.type = MZ_REC_ADDR, .value = m->addr};
	r[n++] = (struct mz_record){.type = m->call,
				    .arg = m->arg,
				    .size = (uint16_t)m->size,
				    .value = m->addr | m->over << MZ_ADDR_BITS};
	if (!mz_append(t, r, n, NULL, 0))
		lost_block((const void *)(uintptr_t)m->addr,
			   whole_size(m->call, m->size, m->arg, m->whole_arg));
}

/* A block that fits into one record, with its call stack: one more record, before it. */
static __attribute__((noinline)) bool record_sited(struct mz_thread *t, unsigned call,
						   uint64_t value, uint16_t size, unsigned arg,
						   uint32_t site)
{
	uint64_t time, at;

	if (!mz_begin(t, 3) || !mz_stamp(t, 2, &time, &at))
		return false;
	mz_fill(mz_slot(t, at), time, MZ_REC_SITE, 0, 0, site);
	mz_fill(mz_slot(t, at + 1), time, (uint8_t)call, (uint8_t)arg, size, value);
	mz_end(t);
	return true;
}

static inline __attribute__((always_inline)) bool
record_plain(struct mz_thread *t, unsigned call, uint64_t value, uint16_t size, unsigned arg)
{
	uint64_t time, at;

	if (!mz_begin(t, 2) || !mz_stamp(t, 1, &time, &at))
		return false;
	mz_fill(mz_slot(t, at), time, (uint8_t)call, (uint8_t)arg, size, value);
	mz_end(t);
	return true;
}

/* Records a block that stands for `weight` blocks. */
static inline __attribute__((always_inline)) void record_kept(unsigned call, void *p, uint64_t size,
							      unsigned arg, uint64_t whole_arg,
							      uint32_t weight)
{
	struct mz_thread *t = &mz_me;
	uint64_t given = p ? given_to(call, p) : size;
	uint64_t over = given > size ? given - size : 0, addr = (uintptr_t)p, wide;
	uint32_t site = mz_stack(t);
	bool done = true;

	/* One comparison finds everything that does not fit: only MZ_ARG_EXTRA has nine bits
	 * when it is incremented. */
	wide = (size | over | addr >> (MZ_ADDR_BITS - 16) | (uint64_t)(arg + 1) << 8) >> 16;
	if (__builtin_expect(wide != 0, 0) || __builtin_expect(weight > 1, 0)) {
		struct made m = {addr, size,   over,	      whole_arg,
				 site, weight, (uint8_t)call, (uint8_t)arg};

		record_wide(t, &m);
	} else if (__builtin_expect(site != 0, 0)) {
		done = record_sited(t, call, addr | over << MZ_ADDR_BITS, (uint16_t)size, arg,
				    site);
	} else {
		done = record_plain(t, call, addr | over << MZ_ADDR_BITS, (uint16_t)size, arg);
	}
	if (__builtin_expect(!done, 0))
		lost_block(p, size);
}

/* While blocks are thinned. False: this one was left out; the caller decides whether it counts
 * as an event. */
static __attribute__((noinline)) bool record_chosen(unsigned call, void *p, uint64_t size,
						    unsigned arg, uint64_t whole_arg)
{
	uint32_t weight = 1;

	if (p && !mz_thin_keeps(&mz_me, p, whole_size(call, size, arg, whole_arg), &weight))
		return false;
	record_kept(call, p, size, arg, whole_arg, weight);
	return true;
}

/* An allocation that has been made. arg does not fit when it is MZ_ARG_EXTRA. False: it was left
 * out by thinning. */
static bool record_block(unsigned call, void *p, uint64_t size, unsigned arg, uint64_t whole_arg)
{
	if (__builtin_expect(mz_thinned, 0))
		return record_chosen(call, p, size, arg, whole_arg);
	record_kept(call, p, size, arg, whole_arg, 1);
	return true;
}

static void record_alloc(unsigned call, void *p, uint64_t size, unsigned arg, uint64_t whole_arg)
{
	if (!record_block(call, p, size, arg, whole_arg))
		mz_thin_count(&mz_me);
}

/* free(NULL) depends on nothing, and nothing depends on it: it need not be stamped, unless a
 * mark was made since, or the time would be far off. */
static inline bool needs_stamp(struct mz_thread *t, const void *p)
{
	uint32_t moment;

	if (__builtin_expect(p != NULL, 1))
		return true;
	moment = mz_moment();
	if (moment == t->moment)
		return false;
	t->moment = moment;
	return true;
}

/* Called before a free or realloc. False: the event is counted, but not recorded. */
static inline __attribute__((always_inline)) bool record_before(uint8_t type, const void *p)
{
	struct mz_thread *t = &mz_me;
	uint64_t time = 0, at;

	if (!mz_begin(t, 2))
		return false;
	if (!(needs_stamp(t, p) ? mz_stamp(t, 1, &time, &at) : mz_reserve(t, 1, &at)))
		return false;
	mz_fill(mz_slot(t, at), time, type, 0, 0, (uintptr_t)p);
	mz_end(t);
	return true;
}

bool mz_record_old(const void *old)
{
	return record_before(MZ_REC_BEGIN, old);
}

void mz_record_alloc(uint8_t call, void *p, size_t size, size_t align)
{
	if (prepared() && mz_on())
		record_alloc(call, p, size, align ? log2_of(align) : 0, align);
}

/* A free that is about to be made. */
static inline __attribute__((always_inline)) void record_free(const void *p)
{
	if (__builtin_expect(!mz_thinned, 1) || !mz_thin_frees(&mz_me, p))
		record_before(MZ_CALL_FREE, p);
}

void mz_record_free(void *p)
{
	if (prepared() && mz_on())
		record_free(p);
}

/* One event: if its begin was lost, it was counted as lost already. */
enum mz_change mz_record_begin(void *old)
{
	if (!prepared() || !mz_on())
		return MZ_CHANGE_OFF;
	if (!old)
		return MZ_CHANGE_ON;
	if (__builtin_expect(mz_thinned, 0) && mz_thin_take(old))
		return MZ_CHANGE_THINNED;
	return record_before(MZ_REC_BEGIN, old) ? MZ_CHANGE_ON : MZ_CHANGE_LOST;
}

/* The block is p now. If it is left out, the event is a realloc to nothing, which ends the old
 * block if that is recorded. */
static void end_change(enum mz_change how, const void *old, uint8_t call, void *p, uint64_t size,
		       uint8_t arg, uint64_t whole_arg)
{
	struct mz_thread *t = &mz_me;

	if (how == MZ_CHANGE_OFF || *mz_alive < MZ_ALIVE_ON)
		return;
	if (how == MZ_CHANGE_LOST) {
		if (p)
			mz_thin_lost(t, p, whole_size(call, size, arg, whole_arg));
		return;
	}
	if (how == MZ_CHANGE_THINNED && !mz_thin_changed(t, old, p, size))
		return;
	if (record_block(call, p, size, arg, whole_arg))
		return;
	if (how == MZ_CHANGE_THINNED || !old)
		mz_thin_count(t);
	else
		record_plain(t, MZ_CALL_REALLOC, 0, 0, 0);
}

void mz_record_end(enum mz_change how, void *old, void *p, size_t size)
{
	end_change(how, old, MZ_CALL_REALLOC, p, size, 0, 0);
}

/* ---- malloc and its like ------------------------------------------------------ */

EXPORT void *malloc(size_t size)
{
	void *p;

	if (!prepared())
		return arena_alloc(size);
	p = real.malloc(size);
	if (!mz_on())
		return p;
	/* most calls are this one: constant arguments let the compiler drop the rest */
	if (__builtin_expect(!mz_thinned, 1))
		record_kept(MZ_CALL_MALLOC, p, size, 0, 0, 1);
	else
		record_alloc(MZ_CALL_MALLOC, p, size, 0, 0);
	return p;
}

static inline __attribute__((always_inline)) void free_seen(void *p)
{
	if (!prepared())
		return;
	if (mz_on())
		record_free(p);
	if (!in_arena(p))
		real.free(p);
}

EXPORT void free(void *p)
{
	free_seen(p);
}

/* The calls of C23 are usually made out of free(), which is seen. Where they do not exist, only a
 * program that checks for that comes here. True: the block is recorded as freed, and *call is to
 * free it, hidden until mz_show(). */
static inline __attribute__((always_inline)) bool sized_free_begins(void *p, void *const *call)
{
	if (!prepared())
		return false;
	if (!*call || in_arena(p)) {
		free_seen(p);
		return false;
	}
	if (mz_on())
		record_free(p);
	mz_hide(&mz_me);
	return true;
}

EXPORT void free_sized(void *p, size_t size);
EXPORT void free_sized(void *p, size_t size)
{
	if (!sized_free_begins(p, (void *const *)&real.free_sized))
		return;
	real.free_sized(p, size);
	mz_show(&mz_me);
}

EXPORT void free_aligned_sized(void *p, size_t align, size_t size);
EXPORT void free_aligned_sized(void *p, size_t align, size_t size)
{
	if (!sized_free_begins(p, (void *const *)&real.free_aligned_sized))
		return;
	real.free_aligned_sized(p, align, size);
	mz_show(&mz_me);
}

/* n * size of a call, as it goes into a record. */
struct array {
	uint64_t size;
	uint8_t arg;
};

/* If total and n alone do not determine the call, both are stored: size in the record, n in the
 * extra one, and the recorder multiplies them again. If the product overflows, the record has
 * the size of one element. */
static struct array array_of(size_t n, size_t size)
{
	uint64_t total;
	bool over = __builtin_mul_overflow(n, size, &total);
	bool fits = n && n < MZ_ARG_EXTRA && !over;

	return (struct array){fits ? total : size, fits ? (uint8_t)n : MZ_ARG_EXTRA};
}

EXPORT void *calloc(size_t n, size_t size)
{
	void *p;

	if (!prepared())
		return arena_alloc(n * size);
	p = real.calloc(n, size);
	if (mz_on()) {
		struct array a = array_of(n, size);

		record_alloc(MZ_CALL_CALLOC, p, a.size, a.arg, n);
	}
	return p;
}

static void *realloc_arena(void *old, size_t size)
{
	void *p = ready == READY ? real.malloc(size) : arena_alloc(size);

	if (p && old) {
		size_t n = arena_size(old);

		memcpy(p, old, n < size ? n : size);
	}
	return p;
}

static inline void *call_realloc(void *old, size_t size)
{
	void *p;

	if (__builtin_expect(in_arena(old), 0))
		return realloc_arena(old, size);
	if (__builtin_expect(!mz_entries_found, 1))
		return real.realloc(old, size);
	/* mimalloc's calls its mi_realloc, which is seen too */
	mz_hide(&mz_me);
	p = real.realloc(old, size);
	mz_show(&mz_me);
	return p;
}

EXPORT void *realloc(void *old, size_t size)
{
	enum mz_change how;
	void *p;

	if (!prepared())
		return realloc_arena(old, size);
	how = mz_record_begin(old);
	p = call_realloc(old, size);
	end_change(how, old, MZ_CALL_REALLOC, p, size, 0, 0);
	return p;
}

EXPORT void *reallocarray(void *old, size_t n, size_t size)
{
	struct array a = array_of(n, size);
	enum mz_change how;
	size_t total;
	void *p = NULL;

	if (!prepared())
		return NULL;
	how = mz_record_begin(old);
	if (__builtin_mul_overflow(n, size, &total))
		errno = ENOMEM;
	else
		p = call_realloc(old, total);
	end_change(how, old, MZ_CALL_REALLOCARRAY, p, a.size, a.arg, n);
	return p;
}

/* musl has none: only a program that checks whether it exists comes here. */
static void *call_pvalloc(size_t size)
{
	if (real.pvalloc)
		return real.pvalloc(size);
	errno = ENOMEM;
	return NULL;
}

/* Some allocators build these out of each other, through calls that are seen. */
static void *aligned_call(uint8_t call, size_t align, size_t size)
{
	void *p = NULL;
	bool on;

	if (!prepared())
		return NULL;
	on = mz_on();
	mz_hide(&mz_me);
	switch (call) {
	case MZ_CALL_ALIGNED_ALLOC: p = real.aligned_alloc(align, size); break;
	case MZ_CALL_MEMALIGN: p = real.memalign(align, size); break;
	case MZ_CALL_VALLOC: p = real.valloc(size); break;
	default: p = call_pvalloc(size); break;
	}
	mz_show(&mz_me);
	if (on)
		record_alloc(call, p, size, align ? log2_of(align) : 0, align);
	return p;
}

EXPORT void *aligned_alloc(size_t align, size_t size)
{
	return aligned_call(MZ_CALL_ALIGNED_ALLOC, align, size);
}

EXPORT void *memalign(size_t align, size_t size)
{
	return aligned_call(MZ_CALL_MEMALIGN, align, size);
}

EXPORT void *valloc(size_t size)
{
	return aligned_call(MZ_CALL_VALLOC, 0, size);
}

EXPORT void *pvalloc(size_t size)
{
	return aligned_call(MZ_CALL_PVALLOC, 0, size);
}

EXPORT int posix_memalign(void **out, size_t align, size_t size)
{
	void *p = NULL;
	bool on;
	int ret;

	if (!prepared())
		return ENOMEM;
	on = mz_on();
	mz_hide(&mz_me);
	ret = real.posix_memalign(&p, align, size);
	mz_show(&mz_me);
	if (!ret)
		*out = p;
	if (on)
		record_alloc(MZ_CALL_POSIX_MEMALIGN, ret ? NULL : p, size, log2_of(align), align);
	return ret;
}

EXPORT size_t malloc_usable_size(void *p)
{
	if (!prepared() || in_arena(p))
		return p ? arena_size(p) : 0;
	return real.usable(p);
}

/* ---- notes --------------------------------------------------------------------- */

/* For programs: puts a mark into the trace. Declare it weak, and call it if it exists. */
EXPORT void memorizer_mark(const char *text);
EXPORT void memorizer_mark(const char *text)
{
	if (!prepared() || !mz_on())
		return;
	mz_append_text(MZ_REC_MARK, 0, text, strlen(text));
	__atomic_fetch_add(&mz_region->marks, 1, __ATOMIC_RELEASE);
}

/* ---- for redirecting the calls of a running program ------------------------------ */

#ifdef __x86_64__
/* Look for newly loaded libraries, then jump to dlsym() as if the program had called it: it
 * examines its return address. */
__asm__(".text\n"
	".type mz_see_dlsym, @function\n"
	"mz_see_dlsym:\n"
	"	endbr64\n"
	"	push %rdi\n"
	"	push %rsi\n"
	"	sub $8, %rsp\n"
	"	call mz_redirect_new\n"
	"	add $8, %rsp\n"
	"	pop %rsi\n"
	"	pop %rdi\n"
	"	jmp *mz_real_dlsym(%rip)\n"
	".size mz_see_dlsym, . - mz_see_dlsym\n");
#endif
extern char mz_see_dlsym[] __attribute__((visibility("hidden")));

MZ_SEE(malloc);
MZ_SEE(calloc);
MZ_SEE(realloc);
MZ_SEE(free);
MZ_SEE(reallocarray);
MZ_SEE(aligned_alloc);
MZ_SEE(memalign);
MZ_SEE(posix_memalign);
MZ_SEE(valloc);
MZ_SEE(pvalloc);
MZ_SEE(free_sized);
MZ_SEE(free_aligned_sized);

static void *mmap64_too; /* the same as mmap */

const struct mz_hook mz_hooks[MZ_REALS] = {
	{(void *)mz_see_malloc, (void **)&real.malloc, false},
	{(void *)mz_see_calloc, (void **)&real.calloc, false},
	{(void *)mz_see_realloc, (void **)&real.realloc, false},
	{(void *)mz_see_free, (void **)&real.free, false},
	{(void *)mz_see_reallocarray, &real_reallocarray, false},
	{(void *)mz_see_aligned_alloc, (void **)&real.aligned_alloc, false},
	{(void *)mz_see_memalign, (void **)&real.memalign, false},
	{(void *)mz_see_posix_memalign, (void **)&real.posix_memalign, false},
	{(void *)mz_see_valloc, (void **)&real.valloc, false},
	{(void *)mz_see_pvalloc, (void **)&real.pvalloc, false},
	{NULL, (void **)&real.usable, false},
	{(void *)mz_see_mmap, (void **)&mz_real_maps.mmap, true},
	{(void *)mz_see_mmap, &mmap64_too, true},
	{(void *)mz_see_munmap, (void **)&mz_real_maps.munmap, true},
	{(void *)mz_see_mremap, (void **)&mz_real_maps.mremap, true},
	{(void *)mz_see_brk, (void **)&mz_real_maps.brk, true},
	{(void *)mz_see_sbrk, (void **)&mz_real_maps.sbrk, true},
	{mz_see_dlsym, &mz_real_dlsym, false},
	{(void *)mz_see_prctl, &mz_real_prctl, false},
	{(void *)mz_see_syscall, &mz_real_syscall, false},
	{(void *)mz_see_free_sized, (void **)&real.free_sized, false},
	{(void *)mz_see_free_aligned_sized, (void **)&real.free_aligned_sized, false},
};

/* A program that never allocates memory is recorded as well, with no event. The arguments are
 * glibc's; musl passes none, but has set up the environment already. */
static __attribute__((constructor)) void begin(int argc, char **argv, char **environment)
{
	(void)argc, (void)argv;
	if (!environ)
		mz_region_environment = environment;
	if (!prepared() || !mz_on())
		return;
	/* libraries that were bound past us: with RTLD_DEEPBIND, or to an allocator's own
	 * operators */
	mz_me.hidden++;
	if (own_malloc)
		mz_tell_blind(MZ_BLIND_OWN_MALLOC);
	mz_operators_find((void *)real.malloc);
	mz_entries_find((void *)real.malloc);
	mz_sizes_find();
	mz_redirect(true);
	mz_me.hidden--;
}

static __attribute__((destructor)) void end(void)
{
	mz_look_for_namespaces();
	mz_tell_end();
}
