/* SPDX-License-Identifier: BSD-2-Clause */
/* The program's side of the rings. */
/*
 * Each thread appends records to its own ring. Nothing here takes a lock or uses the heap; signal
 * handlers may interrupt anywhere.
 */
#ifndef MZ_PRELOAD_RING_H
#define MZ_PRELOAD_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include <uapi/memorizer/record.h>

struct mz_thread {
	uint64_t reserved; /* records handed out; those up to ring->head are published */
	uint64_t limit; /* reserved may reach this without a check of the ring; 0 = always check */
	uint64_t ring_at;     /* the recorder is woken when this is reached */
	struct mz_ring *ring; /* NULL: none yet */
	struct mz_record *data;
	uint32_t number; /* of the ring, in its region */
	uint32_t mask;
	uint32_t alive;	     /* *mz_alive when the ring was taken */
	uint32_t nested;     /* appends by signal handlers inside the current one */
	uint32_t hidden;     /* inside a call whose inner calls are not the program's */
	uintptr_t outer;     /* frame of the append that is under way; 0 = none */
	uintptr_t hidden_at; /* frame of the call that hides; 0 = not known */
	uint64_t tail;	     /* tail of the ring, as of the last check */
	uint64_t room;	     /* records of the ring that may be used for now */
	uint64_t told;	     /* time of the last MZ_REC_TIME */
	uint32_t moment;     /* mz_moment() when free(NULL) was last stamped */
	uint64_t lost;	     /* dropped since the last record */
	uint64_t lost_since;
	uintptr_t unwinder_at;	  /* frame of the unwinder; 0 = it does not run */
	uintptr_t stack_top;	  /* of the thread's own stack; 0 = not known */
	uintptr_t stack_low;	  /* it is known to reach down to here */
	bool stack_whole;	  /* and no further */
	bool in_unwinder;	  /* stacks: what it allocates itself is not recorded */
	bool taking;		  /* the thread is taking a ring at the moment */
	bool no_ring;		  /* there was none left; events are counted as missed */
	bool impatient;		  /* it has waited without success, and samples its blocks */
	uint8_t thin;		  /* one small block in 2^thin is recorded */
	uint64_t impatient_since; /* in ns */
	uint64_t seed;		  /* of the random choice of blocks */
	uint64_t thinned;	  /* events that thinning left out, and those of them reported */
	uint64_t thinned_told;
	uint64_t thinned_since; /* the first one not reported */
};

/* The value of *mz_alive, in a page that fork() wipes: a child finds 0 and calls mz_attach().
 * ON and above: this process is recorded. Each recorder has its own number, so that threads
 * notice when their ring belongs to a former one. */
enum mz_alive { MZ_ALIVE_UNKNOWN, MZ_ALIVE_OFF, MZ_ALIVE_ON };

extern __thread struct mz_thread mz_me
	__attribute__((tls_model("initial-exec"), visibility("hidden")));
extern volatile uint32_t *mz_alive __attribute__((visibility("hidden")));
extern struct mz_region *mz_region __attribute__((visibility("hidden")));
extern bool mz_use_tsc __attribute__((visibility("hidden")));
/* Increases when the recorder has none of the data that was sent before: after a fork, and when
 * another recorder attaches. Never 0 while something is recorded. */
extern uint32_t mz_generation __attribute__((visibility("hidden")));

/* Find the region, and a place in it for this process. True: the process is recorded. */
bool mz_attach(void) __attribute__((visibility("hidden")));

/* A recorder attached to the running program: record into this region from now on. The previous
 * one loses its memory, but not its addresses, for threads that may still be using it. */
bool mz_attach_to(struct mz_region *region) __attribute__((visibility("hidden")));

bool mz_recorder_died(void) __attribute__((visibility("hidden")));

/* This program stops recording by itself, for a reason (enum mz_left); what it does from now on
 * is counted as missed. Makes no system call. And the inverse, to what *mz_alive was. */
void mz_leave(uint32_t why) __attribute__((visibility("hidden")));
void mz_come_back(uint32_t alive) __attribute__((visibility("hidden")));

/* The program ends. It has a malloc of its own, which it calls instead of ours. */
void mz_tell_end(void) __attribute__((visibility("hidden")));
void mz_tell_blind(uint32_t what) __attribute__((visibility("hidden")));
/* The program calls exec, or, with begins false, exec has failed. False: the recorder was not told,
 * because this process is not recorded. */
bool mz_tell_exec(bool begins) __attribute__((visibility("hidden")));

/* The first check of a thread, or its first with this recorder. */
bool mz_on_slow(uint32_t alive) __attribute__((visibility("hidden")));

/* Calls that a handler left with siglongjmp(): frame is that of a hook. */
bool mz_given_up(uintptr_t began, const void *frame) __attribute__((visibility("hidden")));
bool mz_begin_nested(struct mz_thread *t, unsigned n, const void *frame)
	__attribute__((visibility("hidden")));
bool mz_unhide(const void *frame) __attribute__((visibility("hidden")));

/* Calls from here up to mz_show() are not made by the program. The frame is stored first: otherwise
 * a handler that leaves with siglongjmp() in between would hide the thread forever. A handler that
 * itself hides and shows in between has removed the frame. */
static inline __attribute__((always_inline)) void mz_hide(struct mz_thread *t)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

	if (!t->hidden)
		t->hidden_at = frame;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->hidden++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (t->hidden == 1)
		t->hidden_at = frame;
}

static inline void mz_show(struct mz_thread *t)
{
	t->hidden--;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!t->hidden)
		t->hidden_at = 0;
}

/* Is this event to be recorded? */
static inline __attribute__((always_inline)) bool mz_on(void)
{
	uint32_t alive = *mz_alive;

	if (__builtin_expect(alive != mz_me.alive || alive < MZ_ALIVE_ON, 0) && !mz_on_slow(alive))
		return false;
	return __builtin_expect(!mz_me.hidden, 1) || mz_unhide(__builtin_frame_address(0));
}

/* Threads that wait for room in their rings. */
extern uint32_t mz_waiting __attribute__((visibility("hidden")));

/* The C library's clock_gettime(), even if the program has a function of that name. */
typedef int mz_clock_call(clockid_t clock, struct timespec *t);
extern mz_clock_call *mz_real_clock __attribute__((visibility("hidden")));

static inline uint64_t mz_clock_slow(void)
{
	struct timespec t;

	mz_real_clock(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Points to the C library's flag that there are no other threads. */
extern const char *mz_single_threaded __attribute__((visibility("hidden")));

/* Not earlier than anything that the thread did before: the instruction waits for all earlier
 * loads, such as that of a pointer that another thread has just handed over. A plain rdtsc does
 * not wait, and is some 10 ns cheaper. */
static inline uint64_t mz_clock(void)
{
#ifdef __x86_64__
	unsigned aux;

	if (__builtin_expect(mz_use_tsc, 1))
		return *mz_single_threaded ? __builtin_ia32_rdtsc() : __builtin_ia32_rdtscp(&aux);
#endif
	return mz_clock_slow();
}

/* A value that changes with every mark, and some 50 times per second. */
static inline uint32_t mz_moment(void)
{
	return __atomic_load_n(&mz_region->heartbeat, __ATOMIC_RELAXED) +
	       __atomic_load_n(&mz_region->marks, __ATOMIC_ACQUIRE);
}

/* One instruction, which no signal handler can interrupt; other threads do not matter. */
static inline uint64_t mz_take(uint64_t *counter, uint64_t n)
{
#ifdef __x86_64__
	__asm__ volatile("xaddq %0, %1" : "+r"(n), "+m"(*counter) : : "cc");
	return n;
#else
	return __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
#endif
}

/* The uncommon cases: no ring yet, a full one, something dropped. False: the event is not
 * recorded (and counted). */
bool mz_has_ring(struct mz_thread *t) __attribute__((visibility("hidden")));
bool mz_append_slow(struct mz_thread *t, unsigned n) __attribute__((visibility("hidden")));
bool mz_wait_room(struct mz_thread *t, uint64_t at, unsigned n)
	__attribute__((visibility("hidden")));
void mz_ring_bell(void) __attribute__((visibility("hidden")));
/* Thinning left out an event, and some more since the last call: check how much room there is,
 * and report them now and then. */
void mz_thin_look(struct mz_thread *t) __attribute__((visibility("hidden")));

/* Increases with every event, recorded or thinned. */
static inline uint64_t mz_events_so_far(void)
{
	return mz_me.reserved + mz_me.thinned;
}

/* Room that is reserved for signal handlers, which may interrupt between check and reservation. */
#define MZ_SLACK 32u

/* Start an append of at most n records. False: not recorded. */
static inline __attribute__((always_inline)) bool mz_begin(struct mz_thread *t, unsigned n)
{
	if (__builtin_expect(t->outer != 0, 0))
		return mz_begin_nested(t, n, __builtin_frame_address(0));
	if (__builtin_expect(t->reserved + n > t->limit, 0) && !mz_append_slow(t, n))
		return false;
	t->outer = (uintptr_t)__builtin_frame_address(0);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return true;
}

/* n records, to be filled through mz_slot(). False: there is no room, and will be
 * none; the append is over. */
static inline bool mz_reserve(struct mz_thread *t, unsigned n, uint64_t *at)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*at = mz_take(&t->reserved, n);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return __builtin_expect(*at + n <= t->limit, 1) || *at + n - t->tail <= t->room ||
	       mz_wait_room(t, *at, n);
}

/* The lower half of the time is not enough for this record: send the whole time first. taken: at
 * and the following slots were reserved already, but after records of a signal handler. */
bool mz_stamp_slow(struct mz_thread *t, unsigned n, bool taken, uint64_t *time, uint64_t *at)
	__attribute__((visibility("hidden")));

/* The same, with the time, which is taken first: if a signal handler interrupts between the two
 * and leaves records, their times may be much later. */
static inline __attribute__((always_inline)) bool mz_stamp(struct mz_thread *t, unsigned n,
							   uint64_t *time, uint64_t *at)
{
	uint64_t seen = *(volatile uint64_t *)&t->reserved;

	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*time = mz_clock();
	if (__builtin_expect(*time - t->told >= MZ_TIME_SPAN, 0))
		return mz_stamp_slow(t, n, false, time, at);
	if (!mz_reserve(t, n, at))
		return false;
	return __builtin_expect(*at == seen, 1) || mz_stamp_slow(t, n, true, time, at);
}

static inline struct mz_record *mz_slot(struct mz_thread *t, uint64_t at)
{
	return &t->data[at & t->mask];
}

/* One record, in two stores; the next ones will be written soon. */
static inline void mz_fill(struct mz_record *r, uint64_t time, uint8_t type, uint8_t arg,
			   uint16_t size, uint64_t value)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	uint64_t first =
		(uint32_t)time | (uint64_t)size << 32 | (uint64_t)type << 48 | (uint64_t)arg << 56;

	__builtin_memcpy(r, &first, sizeof(first));
#else
	r->time = (uint32_t)time;
	r->size = size;
	r->type = type;
	r->arg = arg;
#endif
	r->value = value;
#ifdef __x86_64__
	/* for writing: the recorder has read that line before */
	__asm__ volatile("prefetchw 192(%0)" : : "r"(r));
#else
	__builtin_prefetch(r + 12, 1);
#endif
}

/* Unless a signal handler has published more meanwhile: one instruction, which no handler can
 * interrupt. */
static inline void mz_publish(uint64_t *head, uint64_t was, uint64_t now)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	__asm__ volatile("cmpxchgq %2, %1" : "+a"(was), "+m"(*head) : "r"(now) : "cc", "memory");
#else
	__atomic_compare_exchange_n(head, &was, now, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
#endif
}

/* Publish what was appended. The outermost append does this: then its records and those of the
 * handlers inside it are complete. */
static inline void mz_end(struct mz_thread *t)
{
	uint64_t was, h;

	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(t->nested != 0, 0)) {
		t->nested--;
		return;
	}
	t->outer = 0;
	/* from here on a handler publishes all by itself; head before reserved, so
	 * that it never goes back. Pairs with the recorder's acquire of head. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	was = *(volatile uint64_t *)&t->ring->head;
	h = *(volatile uint64_t *)&t->reserved;
	mz_publish(&t->ring->head, was, h);
	if (__builtin_expect(h >= t->ring_at, 0)) {
		t->ring_at = h + t->mask / 4 + 1;
		if (__atomic_load_n(&mz_region->asleep, __ATOMIC_RELAXED))
			mz_ring_bell();
	}
}

/* The less frequent case: n records, whose times are set here, then raw bytes. */
bool mz_append(struct mz_thread *t, struct mz_record *recs, unsigned n, const void *raw, size_t len)
	__attribute__((visibility("hidden")));

/* A record followed by text: at most MZ_TEXT_MAX bytes, the rest is cut. */
#define MZ_TEXT_MAX 480u
bool mz_append_text(uint8_t type, uint64_t addr, const char *text, size_t len)
	__attribute__((visibility("hidden")));

#endif
