// SPDX-License-Identifier: BSD-2-Clause
/* Execute replay operations against the allocator of the process. */
#include "replay/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SLOTS_STEP (64u * 1024)
#define AHEAD	   8 /* operations whose slot is fetched ahead */

uint64_t mz_engine_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Read without stdio, whose buffers would come from the heap under test. */
uint64_t mz_engine_status(const char *key)
{
	char buf[4096];
	uint64_t v = 0;
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, buf, sizeof(buf) - 1);
	const char *p;

	if (fd >= 0)
		close(fd);
	buf[n < 0 ? 0 : n] = '\0';
	p = strstr(buf, key);
	for (p = p ? p + strlen(key) : ""; *p == ' ' || *p == '\t'; p++)
		;
	for (; *p >= '0' && *p <= '9'; p++)
		v = v * 10 + (uint64_t)(*p - '0');
	return v * 1024;
}

/* Address space only: pages are allocated when they are used, and not accounted before
 * (PROT_NONE). */
static void *reserve(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Address space for the largest possible table is reserved at once; pages cost memory only
 * when slots are used. So the table never moves while threads run. */
int mz_engine_init(struct mz_engine *e, struct mz_queues *q)
{
	*e = (struct mz_engine){.queues = q};
	e->slots = reserve((size_t)MZ_SLOT_MAX * sizeof(*e->slots));
	e->turns = reserve((size_t)MZ_SLOT_MAX * sizeof(*e->turns));
	if (!e->slots || !e->turns) {
		mz_engine_deinit(e);
		return -ENOMEM;
	}
	return 0;
}

void mz_engine_deinit(struct mz_engine *e)
{
	if (e->slots)
		munmap(e->slots, (size_t)MZ_SLOT_MAX * sizeof(*e->slots));
	if (e->turns)
		munmap((void *)e->turns, (size_t)MZ_SLOT_MAX * sizeof(*e->turns));
	e->slots = NULL;
	e->turns = NULL;
}

/* Several threads may get here at the same time: making pages usable twice is harmless. */
static int ready_slots(struct mz_engine *e, uint32_t want)
{
	uint32_t have = atomic_load_explicit(&e->slots_ready, memory_order_acquire);
	uint32_t upto = (want + SLOTS_STEP) / SLOTS_STEP * SLOTS_STEP;

	if (want <= have)
		return 0;
	if (upto < want)
		upto = MZ_SLOT_MAX;
	if (mprotect(e->slots, (size_t)upto * sizeof(*e->slots), PROT_READ | PROT_WRITE) ||
	    mprotect((void *)e->turns, (size_t)upto * sizeof(*e->turns), PROT_READ | PROT_WRITE))
		return -ENOMEM;
	while (have < upto && !atomic_compare_exchange_weak(&e->slots_ready, &have, upto))
		;
	return 0;
}

static void *aligned(uint8_t call, size_t align, size_t size)
{
	void *p = NULL;

	if (call == MZ_CALL_POSIX_MEMALIGN)
		return posix_memalign(&p, align, size) ? NULL : p;
	return call == MZ_CALL_MEMALIGN ? memalign(align, size) : aligned_alloc(align, size);
}

/* What pvalloc() does. Not every allocator has it, and the C library's would return a block that
 * jemalloc cannot free. */
static void *whole_pages(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return memalign(page, (size + page - 1) & ~(page - 1));
}

/* The calls that are neither malloc nor free nor realloc. */
static void *other_call(const struct mz_op *op, void *old)
{
	switch (op->call) {
	case MZ_CALL_CALLOC: return calloc(op->arg, op->size);
	case MZ_CALL_REALLOCARRAY: return reallocarray(old, op->arg, op->size);
	case MZ_CALL_VALLOC: return valloc(op->size);
	case MZ_CALL_PVALLOC: return whole_pages(op->size);
	default: return aligned(op->call, op->arg, op->size);
	}
}

/* A realloc's old part was written when it was new; only what was added is touched. */
static void touch(const struct mz_engine *e, const struct mz_op *op, char *p)
{
	uint64_t from = 0, upto = op->size;

	if (op->call == MZ_CALL_CALLOC || op->call == MZ_CALL_REALLOCARRAY)
		upto *= op->arg;
	else if (op->call == MZ_CALL_REALLOC)
		from = op->arg; /* the rest was written when it was new */
	if (e->touch == MZ_TOUCH_FIRST && upto)
		*(volatile char *)p = 1;
	else if (from < upto)
		memset(p + from, 1, upto - from);
}

/* The rare outcomes: a call that failed in the trace or fails here, and touching. It is kept
 * out of the timed loop's fast path. */
static void settle(const struct mz_engine *e, const struct mz_op *op, void **slot, void *p,
		   struct mz_engine_counts *c)
{
	bool realloc_call = op->call == MZ_CALL_REALLOC || op->call == MZ_CALL_REALLOCARRAY;

	if (op->flags & MZ_OP_NOTHING) {
		/* a failed realloc left the old block; one of 0 bytes freed it */
		if (realloc_call && op->size && *slot) {
			*slot = p ? p : *slot;
		} else {
			free(p);
			if (realloc_call)
				*slot = NULL;
		}
		c->given += p != NULL;
		return;
	}
	/* a failed realloc keeps the old block here too */
	if (p || !realloc_call || !op->size)
		*slot = p;
	if (!p)
		c->failed += op->size != 0;
	else if (e->touch != MZ_TOUCH_NONE)
		touch(e, op, p);
}

static inline __attribute__((always_inline)) void *replay_op(const struct mz_engine *e,
							     const struct mz_op *op, void **slot,
							     struct mz_engine_counts *c,
							     bool touched)
{
	void *p = *slot;

	if (op->call == MZ_CALL_FREE) {
		free(p);
		*slot = NULL;
		return p;
	}
	if (op->call == MZ_CALL_MALLOC)
		p = malloc(op->size);
	else if (op->call == MZ_CALL_REALLOC)
		p = realloc(p, op->size);
	else
		p = other_call(op, p);
	if (__builtin_expect(p && !op->flags && !touched, 1))
		*slot = p;
	else
		settle(e, op, slot, p, c);
	return p;
}

/* ---- one thread: nothing to wait for --------------------------------------- */

/* Most operations, in compact form: the processor's caches are for the allocator. */
struct brief_op {
	uint64_t size;
	uint32_t slot;
	uint16_t what; /* call and flags */
};

static void make_brief(struct brief_op *out, const struct mz_batch *b)
{
	for (uint32_t i = 0; i < b->count; i++)
		out[i] = (struct brief_op){
			b->ops[i].size, b->ops[i].slot,
			(uint16_t)(b->ops[i].call | (unsigned)b->ops[i].flags << 8)};
	memset(out + b->count, 0, AHEAD * sizeof(*out));
}

/* There are AHEAD operations behind the last. */
static void replay_brief(const struct mz_engine *e, const struct mz_batch *b,
			 const struct brief_op *ops, struct mz_engine_counts *c)
{
	const struct brief_op *end = ops + b->count;
	void **slots = e->slots;

	for (const struct brief_op *op = ops; op < end; op++) {
		void **slot = &slots[op->slot];

		__builtin_prefetch(&slots[op[AHEAD].slot], 1);
		if (op->what == MZ_CALL_FREE) {
			free(*slot);
			*slot = NULL;
		} else if (op->what == MZ_CALL_MALLOC) {
			void *p = malloc(op->size);

			*slot = p;
			if (__builtin_expect(!p, 0))
				settle(e, &b->ops[op - ops], slot, p, c);
		} else {
			replay_op(e, &b->ops[op - ops], slot, c, false);
		}
	}
}

/* Into this processor's cache. */
static void fetch(const struct mz_batch *b)
{
	for (uint32_t i = 0; i < b->count; i++)
		(void)*(volatile const uint64_t *)&b->ops[i].size;
}

static void replay_touched(const struct mz_engine *e, const struct mz_batch *b,
			   struct mz_engine_counts *c)
{
	for (uint32_t i = 0; i < b->count; i++)
		replay_op(e, &b->ops[i], &e->slots[b->ops[i].slot], c, true);
}

static void replay_verbose(const struct mz_engine *e, struct mz_batch *b,
			   struct mz_engine_counts *c)
{
	for (uint32_t i = 0; i < b->count; i++)
		b->ops[i].result = (uintptr_t)replay_op(e, &b->ops[i], &e->slots[b->ops[i].slot], c,
							e->touch != MZ_TOUCH_NONE);
}

/* ---- with other threads, or at the recorded pace ------------------------- */

static void relax(unsigned *spin)
{
	if (++*spin < 100)
		mz_relax();
	else
		sched_yield();
}

/* False: the replay was stopped, because a thread failed; the operation must not be made, for
 * the block may be another thread's. */
static bool wait_turn(struct mz_engine *e, const struct mz_op *op, struct mz_engine_counts *c)
{
	unsigned spin = 0;

	while (atomic_load_explicit(&e->turns[op->slot], memory_order_acquire) != op->turn) {
		if (!spin)
			c->waits++;
		if (atomic_load_explicit(&e->queues->stop, memory_order_relaxed))
			return false;
		relax(&spin);
	}
	return true;
}

/* Sleeping is accurate to tens of microseconds, so the last part is spent spinning. */
static void wait_time(const struct mz_engine *e, const struct mz_op *op, struct mz_engine_counts *c)
{
	uint64_t due = e->start + op->time, now = mz_engine_clock();

	if (now > due && now - due > c->late_ns)
		c->late_ns = now - due;
	while (now < due) {
		struct timespec t = {.tv_sec = (time_t)((due - now) / 1000000000u),
				     .tv_nsec = (long)((due - now) % 1000000000u)};

		if (due - now > 100000)
			nanosleep(&t, NULL);
		else
			mz_relax();
		now = mz_engine_clock();
	}
}

/* The release of the turn makes the block visible to the thread that waits for it. */
static void replay_batch_careful(struct mz_engine *e, struct mz_batch *b,
				 struct mz_engine_counts *c)
{
	for (uint32_t i = 0; i < b->count; i++) {
		struct mz_op *op = &b->ops[i];
		bool shared = e->threads && op->slot != MZ_SLOT_NULL;
		void *p, *none = NULL;

		if (e->pace && !b->rest)
			wait_time(e, op, c);
		if (shared && !wait_turn(e, op, c))
			return;
		/* slot 0 is shared by all threads: not written here */
		p = replay_op(e, op, op->slot == MZ_SLOT_NULL ? &none : &e->slots[op->slot], c,
			      e->touch != MZ_TOUCH_NONE);
		if (shared)
			atomic_store_explicit(&e->turns[op->slot], (uint16_t)(op->turn + 1),
					      memory_order_release);
		if (e->verbose)
			op->result = (uintptr_t)p;
	}
}

/* ---- batches ------------------------------------------------------------- */

/* When the room is full, every second sample is dropped, and samples become rarer. */
void mz_engine_sample(struct mz_engine *e, uint64_t calls, uint64_t ns)
{
	uint64_t done = e->threads ? ns : calls;

	if (!e->samples || done < e->sample_next)
		return;
	if (e->samples_count == e->samples_cap) {
		for (size_t i = 0; i < e->samples_cap / 2; i++)
			e->samples[i] = e->samples[2 * i];
		e->samples_count /= 2;
		e->sample_every *= 2;
	}
	e->samples[e->samples_count++] = (struct mz_sample){
		.calls = calls,
		.ns = ns,
		.live = e->live,
		.rss = mz_engine_status("VmRSS:"),
	};
	e->sample_next = done + e->sample_every;
}

/* Frees at the end of a round are made but not measured: the trace does not contain them. */
static void run_batch(struct mz_engine *e, struct mz_batch *b, struct mz_engine_counts *c)
{
	struct brief_op brief[MZ_ENGINE_OPS + AHEAD];
	struct mz_engine_counts before = *c;
	bool plain = !e->threads && !e->pace && !e->verbose;
	bool bare = plain && e->touch == MZ_TOUCH_NONE && b->count <= MZ_ENGINE_OPS;
	uint64_t start;

	/* fetched from the other processor's cache before the clock runs */
	if (bare)
		make_brief(brief, b);
	else if (plain)
		fetch(b);
	start = mz_engine_clock();
	if (bare)
		replay_brief(e, b, brief, c);
	else if (plain)
		replay_touched(e, b, c);
	else if (e->threads || e->pace)
		replay_batch_careful(e, b, c);
	else
		replay_verbose(e, b, c);
	if (b->rest) {
		*c = before;
		return;
	}
	c->ns += mz_engine_clock() - start;
	c->ops += b->count;
}

/* The best round is the one least disturbed by the machine. */
static void end_batch(struct mz_engine *e, const struct mz_batch *b, struct mz_engine_counts *c,
		      uint64_t *round)
{
	atomic_store_explicit(&e->live, b->live, memory_order_relaxed);
	if (!e->threads && !b->rest)
		mz_engine_sample(e, c->ops, 0);
	if (!b->end_round)
		return;
	if (!c->best_ns || c->ns - *round < c->best_ns)
		c->best_ns = c->ns - *round;
	*round = c->ns;
}

int mz_engine_run(struct mz_engine *e, unsigned queue, struct mz_engine_counts *counts)
{
	/* in long runs, and the decoder sleeps meanwhile: one that decodes at the same
	 * time has half of the caches, or half of the core, and would be measured */
	bool in_runs = !e->threads && !e->pace && !e->verbose;
	struct mz_engine_counts c = {0};
	uint64_t round = 0; /* ns before this one */
	unsigned ready = 0, kept = 0;
	bool end = false;
	int ret = 0;

	while (!end && !ret) {
		struct mz_batch *b;

		if (!ready)
			ready = in_runs ? mz_queue_wait_full(e->queues, queue) : 1;
		b = mz_queue_next(e->queues, queue, kept);
		if (!b || ready_slots(e, b->slots) < 0) {
			ret = b ? -ENOMEM : -EPIPE;
			break;
		}
		run_batch(e, b, &c);
		end_batch(e, b, &c, &round);
		end = b->end;
		kept++;
		if (--ready)
			continue;
		mz_queue_done(e->queues, queue, kept);
		kept = 0;
	}
	/* the others must not wait for what this thread will not do */
	if (ret < 0)
		mz_queues_stop(e->queues);
	*counts = c;
	return ret;
}
