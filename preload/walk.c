// SPDX-License-Identifier: BSD-2-Clause
/* Walk up a stack: by tables, by frame pointers, or by searching for return addresses. */
#include "walk.h"

#include <elf.h>
#include <sys/auxv.h>
#include <uapi/memorizer/record.h>
#include <ucontext.h>

#include "code_ranges.h"
#include "system.h"

#define ROWS	 65536u /* kept rows: 1 MiB */
#define MAX_SCAN 1024u	/* words that are looked at for a return address */
#define PAGE	 4096u
#define ODD_STEP 1u /* instead of an address: this step must be computed again */

/* Of a stack whose end is not known: its size at most, and how far a frame may reach. */
#define STACK_SPAN (1ull << 30)
#define MAX_AHEAD  (1u << 20)

/* Used by all threads without a lock: an entry is valid if its two words match. */
struct row_entry {
	uint64_t check; /* pc ^ row */
	uint64_t row;
};

static struct row_entry *rows;

size_t mz_walk_table(void)
{
	return ROWS * sizeof(*rows) + mz_unwind_table();
}

void mz_walk_use(void *table)
{
	rows = table;
	mz_unwind_use(rows + ROWS);
}

/* ---- rows ------------------------------------------------------------------------ */

static uint64_t pack(const struct mz_row *r)
{
	return 1ull << 63 | (uint64_t)r->cfa << 60 | (uint64_t)r->saves_rbp << 59 |
	       ((uint64_t)(uint32_t)r->cfa_offset & 0x3ffffff) << 32 | (uint32_t)r->rbp_offset;
}

static struct mz_row unpack(uint64_t v)
{
	return (struct mz_row){
		.cfa = v >> 60 & 7,
		.saves_rbp = v >> 59 & 1,
		/* 26 bits with a sign: frames of up to 32 MiB */
		.cfa_offset = (int32_t)((int64_t)(v << 6) >> 38),
		.rbp_offset = (int32_t)(uint32_t)v,
	};
}

/* The first instructions of the dynamic linker, where everything begins that runs before _start,
 * have no unwind table. */
static bool is_linker(const struct mz_module *m)
{
	return m->start == getauxval(AT_BASE);
}

static __attribute__((noinline)) uint64_t slow_row(uintptr_t pc, struct row_entry *e)
{
	struct mz_module m;
	struct mz_row row = {.cfa = MZ_CFA_END};
	int saved = errno;
	uint64_t v;

	if (mz_find_module(pc, &m)) {
		mz_walk_met(&m);
		/* pc is where the call returns to; the row is that of the call */
		row = mz_find_row(&m, pc - 1);
		if (row.cfa == MZ_CFA_END && is_linker(&m))
			row.cfa = MZ_CFA_ROOT;
		else if (row.cfa == MZ_CFA_END && mz_is_text(&m, pc - 1))
			row.cfa = MZ_CFA_BARE;
	}
	v = pack(&row);
	__atomic_store_n(&e->row, v, __ATOMIC_RELAXED);
	__atomic_store_n(&e->check, v ^ pc, __ATOMIC_RELAXED);
	errno = saved;
	return v;
}

/* pc is not 0, which is what an empty entry has. */
static inline struct mz_row row_of(uintptr_t pc)
{
	struct row_entry *e = &rows[(pc * 0x9e3779b97f4a7c15u) >> 48];
	uint64_t v = __atomic_load_n(&e->row, __ATOMIC_RELAXED);

	if (__builtin_expect((__atomic_load_n(&e->check, __ATOMIC_RELAXED) ^ v) != pc, 0))
		v = slow_row(pc, e);
	return unpack(v);
}

/* ---- a step up --------------------------------------------------------------------- */

/* Only memory between the first frame and the end of the stack is read, and always further up:
 * wrong tables give a wrong stack, not a crash. The end of a stack that is not the thread's own,
 * such as a coroutine's, is not known: there, the kernel is asked before a new page is read. */
struct bounds {
	uintptr_t low, top;
	uintptr_t words; /* between them */
	uintptr_t limit; /* where the stack may end at most; top = it is known */
};

static struct bounds bounds_from(uintptr_t low)
{
	uintptr_t own = mz_walk_top(low), top = own ? own : low;

	return (struct bounds){
		.low = low,
		.top = top,
		.words = (top - low) / 8,
		.limit = own ? own : low + STACK_SPAN,
	};
}

/* May the stack be taken to reach to this address? */
static __attribute__((noinline)) bool extend(struct bounds *b, uintptr_t to)
{
	uintptr_t top = b->top;

	if (to < top || to > b->limit || to - top > MAX_AHEAD)
		return false;
	for (; top < to; top = (top & ~(uintptr_t)(PAGE - 1)) + PAGE) {
		if (!mz_readable(top)) {
			b->limit = b->top = top;
			b->words = (top - b->low) / 8;
			return false;
		}
	}
	b->top = top;
	b->words = (top - b->low) / 8;
	return true;
}

/* bytes from here on, a multiple of 8. The low bits of an address that is not aligned with
 * the first frame become the highest: one comparison for both ends and the alignment. */
static inline bool in_stack(struct bounds *b, uintptr_t at, size_t bytes)
{
	uintptr_t off = at - b->low, word = off >> 3 | off << (8 * sizeof(off) - 3);

	if (__builtin_expect(word < b->words && b->words - word >= bytes / 8, 1))
		return true;
	return b->limit != b->top && !(off & 7) && at >= b->low && extend(b, at + bytes);
}

static inline uintptr_t word(uintptr_t at)
{
	return *(const uintptr_t *)at;
}

/* *bp_at gets the place that rbp was read from, as in struct mz_step. */
static inline bool by_row(struct bounds *b, struct mz_row row, struct mz_frame_at *f,
			  uintptr_t *bp_at)
{
	uintptr_t cfa, at = 0, bp = f->bp;
	bool odd = false;

	if (row.cfa == MZ_CFA_RSP) {
		cfa = f->sp + (uintptr_t)(intptr_t)row.cfa_offset;
	} else if (row.cfa == MZ_CFA_RBP) {
		cfa = bp + (uintptr_t)(intptr_t)row.cfa_offset;
	} else if (row.cfa == MZ_CFA_DEREF_RBP) {
		at = bp + (uintptr_t)(intptr_t)row.cfa_offset;
		if (!in_stack(b, at, 8))
			return false;
		cfa = word(at);
		at = 0;
		odd = true; /* one word more */
	} else {
		return false;
	}
	if (cfa <= f->sp || !in_stack(b, cfa - 8, 8))
		return false;
	if (row.saves_rbp) {
		at = row.rbp_offset == INT32_MIN ? bp : cfa + (uintptr_t)(intptr_t)row.rbp_offset;
		if (!in_stack(b, at, 8))
			return false;
		bp = word(at);
	}
	*bp_at = odd ? ODD_STEP : at;
	*f = (struct mz_frame_at){.pc = word(cfa - 8), .sp = cfa, .bp = bp};
	return true;
}

/* The caller of a signal handler is the code that it interrupted, whose registers the kernel has
 * stored here. The handler may have run on a stack of its own. */
static bool by_signal(struct bounds *b, struct mz_frame_at *f)
{
#ifdef __x86_64__
	const ucontext_t *u = (const void *)f->sp;
	struct mz_frame_at up;
	struct bounds other;

	if (!in_stack(b, f->sp, sizeof(*u)))
		return false;
	up.pc = (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
	up.sp = (uintptr_t)u->uc_mcontext.gregs[REG_RSP];
	up.bp = (uintptr_t)u->uc_mcontext.gregs[REG_RBP];
	if (up.sp <= f->sp || !in_stack(b, up.sp & ~(uintptr_t)7, 8)) {
		other = bounds_from(up.sp & ~(uintptr_t)7);
		if (!in_stack(&other, other.low, 8))
			return false;
		*b = other;
	}
	*f = up;
	return true;
#else
	(void)b;
	(void)f;
	return false;
#endif
}

/* ---- code without tables -------------------------------------------------------------- */

static bool is_code(uintptr_t pc)
{
	return pc > 4096 && (row_of(pc).cfa != MZ_CFA_END || mz_in_made_code(pc));
}

/* What run-time compilers usually generate: push rbp, mov rsp to rbp. The saved value is a frame
 * further up, unless the caller has a table: then it may use rbp for anything. */
static bool by_frame_pointer(struct bounds *b, struct mz_frame_at *f)
{
	uintptr_t bp = f->bp, saved;
	uint8_t cfa;

	if (bp < f->sp || !in_stack(b, bp, 16) || !is_code(word(bp + 8)))
		return false;
	saved = word(bp);
	cfa = row_of(word(bp + 8)).cfa;
	if (saved && saved <= bp && (cfa == MZ_CFA_END || cfa == MZ_CFA_BARE))
		return false;
	*f = (struct mz_frame_at){.pc = word(bp + 8), .sp = bp + 16, .bp = saved};
	return true;
}

/* Can the walk continue from there? One step is enough to tell most values that only look like
 * return addresses from real ones. */
static bool goes_on(struct bounds *b, struct mz_frame_at f)
{
	struct mz_row row = row_of(f.pc);
	uintptr_t bp_at;

	if (row.cfa == MZ_CFA_BARE)
		return by_frame_pointer(b, &f);
	return row.cfa == MZ_CFA_ROOT || (by_row(b, row, &f, &bp_at) && is_code(f.pc));
}

/* A guess: the first word up the stack that is a code address with a table, from which the walk
 * continues. */
static bool by_scanning(struct bounds *b, struct mz_frame_at *f)
{
	uintptr_t at = (f->sp + 7) & ~(uintptr_t)7;

	for (unsigned i = 0; i < MAX_SCAN && in_stack(b, at, 8); i++, at += 8) {
		struct mz_frame_at up = {.pc = word(at), .sp = at + 8, .bp = f->bp};

		if (up.pc < 65536 || (up.pc >= b->low && up.pc < b->top) || !mz_in_module(up.pc))
			continue;
		/* what was called has often saved rbp just below */
		if (at - 8 >= f->sp && word(at - 8) > at && in_stack(b, word(at - 8), 16))
			up.bp = word(at - 8);
		if (goes_on(b, up)) {
			*f = up;
			return true;
		}
	}
	return false;
}

/* Where the tables lead no further. */
static __attribute__((noinline)) bool step_without(struct bounds *b, struct mz_frame_at *f,
						   uint8_t *how)
{
	int saved = errno;
	bool up;

	if (row_of(f->pc).cfa == MZ_CFA_SIGNAL && by_signal(b, f))
		return true;
	up = by_frame_pointer(b, f);
	if (!up && by_scanning(b, f)) {
		*how |= MZ_STACK_GUESSED;
		up = true;
	}
	errno = saved;
	return up;
}

/* ---- the walk before --------------------------------------------------------------------- */

/* Finds the same frame in the previous walk, if that walk continued from there; otherwise the first
 * frame of that walk that is further up. */
static inline const struct mz_step *find_known(const struct mz_step *old, const struct mz_step *end,
					       const struct mz_frame_at *f, bool *known)
{
	while (old < end && old->at.sp < f->sp)
		old++;
	*known = old < end && old->at.sp == f->sp && old->at.pc == f->pc && old->at.bp == f->bp;
	return old;
}

/* Do the same words still lead from a frame to the next one of the previous walk? This repeats the
 * checks of by_row(): the stack may have another end now, and another thread may have wiped the
 * list. */
static inline bool still_leads(struct bounds *b, const struct mz_step *from,
			       const struct mz_step *to)
{
	uintptr_t cfa = to->at.sp;

	if (cfa <= from->at.sp || !in_stack(b, cfa - 8, 8) || word(cfa - 8) != to->at.pc)
		return false;
	if (!to->bp_at)
		return to->at.bp == from->at.bp;
	return to->bp_at != ODD_STEP && in_stack(b, to->bp_at, 8) && word(to->bp_at) == to->at.bp;
}

static void remember(struct mz_walked *w, unsigned n)
{
	/* a handler may jump out of here: then nothing is known */
	w->count = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	w->which ^= 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	w->count = n < MZ_STEPS ? n : MZ_STEPS;
}

/* Frames, until the last one or max of them. */
static inline unsigned walk(struct bounds *b, struct mz_frame_at at, uintptr_t *ips, unsigned max,
			    uint8_t *how, struct mz_walked *walked)
{
	unsigned which = walked->which & 1, n = 0;
	const struct mz_step *old = walked->steps[which], *end = old + walked->count;
	struct mz_step *now = walked->steps[which ^ 1];
	uintptr_t bp_at = ODD_STEP;
	unsigned limit = max < MZ_STEPS ? max : MZ_STEPS; /* steps that are remembered */

	while (n < max) {
		struct mz_row row;
		bool known;

		old = find_known(old, end, &at, &known);
		if (n < MZ_STEPS)
			now[n] = (struct mz_step){at, bp_at};
		ips[n++] = at.pc;
		if (known) {
			while (n < limit && end - old > 1 && still_leads(b, old, old + 1)) {
				now[n] = *++old;
				ips[n++] = old->at.pc;
			}
			at = old->at;
		}
		row = row_of(at.pc);
		if (row.cfa == MZ_CFA_ROOT) {
			*how |= MZ_STACK_ROOTED;
			return n;
		}
		if (__builtin_expect(!by_row(b, row, &at, &bp_at), 0)) {
			bp_at = ODD_STEP;
			if (!step_without(b, &at, how))
				return n;
		}
		if (at.pc <= 4096) {
			/* no return address: the start of a stack that was built by hand */
			*how |= at.pc ? 0 : MZ_STACK_ROOTED;
			return n;
		}
	}
	*how |= MZ_STACK_CUT;
	return n;
}

unsigned mz_walk(struct mz_frame_at at, uintptr_t *ips, unsigned max, uint8_t *how,
		 struct mz_walked *walked)
{
	struct bounds b = bounds_from(at.sp);
	unsigned n;

	*how = 0;
	n = walk(&b, at, ips, max, how, walked);
	remember(walked, n);
	return n;
}
