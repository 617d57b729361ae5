// SPDX-License-Identifier: BSD-2-Clause
/* Append records to the ring of the calling thread, without locks or heap. */
#include "ring.h"

#include "join.h"
#include "stack.h"
#include "system.h"
#include "thin.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>

#include <memorizer.h>

#define LOOK_NS	      20000000l
#define BELL_EVERY    1024u					  /* events that are lost */
#define GIVE_UP_AFTER (MZ_WAIT_SECONDS * 1000000000ull / LOOK_NS) /* polls */

__thread struct mz_thread mz_me;

uint32_t mz_waiting;

/* Until the C library's, which needs no system call, is known. */
static int kernel_clock(clockid_t clock, struct timespec *t)
{
	return (int)mz_system(SYS_clock_gettime, (const long[6]){clock, (long)t});
}

mz_clock_call *mz_real_clock = kernel_clock;

static pthread_key_t exit_key;
static bool exit_key_made;

/* ---- threads and their rings ---------------------------------------------- */

static bool try_ring(unsigned i, uint32_t from)
{
	struct mz_ring *r = &mz_region->rings[i];

	if (__atomic_load_n(&r->state, __ATOMIC_RELAXED) != from ||
	    (from == MZ_RING_CLOSED && __atomic_load_n(&r->image, __ATOMIC_RELAXED) != mz_my_image))
		return false;
	return __atomic_compare_exchange_n(&r->state, &from, MZ_RING_OWNED, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* The recorder reads only rings below the top. */
static void raise_top(uint32_t top)
{
	uint32_t have = __atomic_load_n(&mz_region->ring_top, __ATOMIC_RELAXED);

	while (have < top && !__atomic_compare_exchange_n(&mz_region->ring_top, &have, top, true,
							  __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

static bool is_half_full(unsigned i)
{
	const struct mz_ring *r = &mz_region->rings[i];

	return __atomic_load_n(&r->head, __ATOMIC_RELAXED) -
		       __atomic_load_n(&r->tail, __ATOMIC_RELAXED) >
	       mz_ring_records(i) / 2;
}

/* A ring that another thread has left, or one that was never used; if there is no other, one
 * whose records the recorder has not read yet. */
static struct mz_ring *find_ring(unsigned *index)
{
	for (unsigned n = 0; n < 2 * MZ_RINGS; n++) {
		unsigned i = n % MZ_RINGS;

		if (n < MZ_RINGS && is_half_full(i))
			continue;
		if (try_ring(i, MZ_RING_CLOSED) || try_ring(i, MZ_RING_FREE)) {
			raise_top(i + 1);
			*index = i;
			return &mz_region->rings[i];
		}
	}
	return NULL;
}

/* The last quarter of a ring is reserved for records that follow a wait without success. */
static uint64_t usable_room(const struct mz_thread *t)
{
	uint64_t all = t->mask + 1ull;

	return t->impatient || mz_region->flags & (MZ_REGION_DROP | MZ_REGION_WAIT) ? all
										    : all - all / 4;
}

/* A thread that has waited without success records one small block in 8; each time half of the
 * remaining ring is used, it records an eighth of that. A ring therefore lasts for seconds. */
static unsigned thin_level(const struct mz_thread *t)
{
	uint64_t left = t->mask + 1ull - (t->reserved - t->tail), part = (t->mask + 1ull) / 8;
	unsigned level = __atomic_load_n(&mz_region->thin, __ATOMIC_RELAXED);
	unsigned own = 0;

	if (t->impatient)
		for (own = MZ_THIN_STEP; left <= part && own < MZ_THIN_MOST; part /= 2)
			own += MZ_THIN_STEP;
	level = level > own ? level : own;
	return level < MZ_THIN_MOST ? level : MZ_THIN_MOST;
}

/* Finds out how far appends may go before the ring must be checked again. Where events are dropped,
 * one more slot is reserved for the record that reports the loss. */
static void look_at_tail(struct mz_thread *t, struct mz_ring *r)
{
	uint64_t soon = t->reserved + t->mask / 8 + 1, end;

	t->tail = __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE);
	if (t->impatient && t->reserved - t->tail <= t->mask / 2 &&
	    mz_clock_slow() - t->impatient_since >= MZ_THIN_NS)
		t->impatient = false;
	t->room = usable_room(t);
	end = t->tail + t->room - MZ_SLACK;
	t->limit = t->lost ? 0 : end < soon ? end : soon;
	t->thin = (uint8_t)thin_level(t);
	if (t->thin)
		__atomic_store_n(&mz_thinned, true, __ATOMIC_RELAXED);
}

/* The ring is left as it was found; the event counts as one without a ring. */
static bool no_room_to_begin(struct mz_thread *t)
{
	struct mz_ring *r = t->ring;

	t->taking = false;
	t->limit = 0;
	t->ring = NULL;
	__atomic_store_n(&r->state, MZ_RING_CLOSED, __ATOMIC_RELEASE);
	return false;
}

static bool take_ring(struct mz_thread *t)
{
	uint64_t time, at;
	unsigned i;
	struct mz_ring *r = find_ring(&i);

	if (!r) {
		t->no_ring = true;
		return false;
	}
	__atomic_store_n(&r->image, mz_my_image, __ATOMIC_RELAXED);
	r->tid = mz_gettid();
	t->data = mz_ring_data(mz_region, i);
	t->number = i;
	t->mask = mz_ring_records(i) - 1;
	t->reserved = r->head;
	t->seed = (i + 1) * 0x9e3779b97f4a7c15ull;
	t->ring_at = r->head + t->mask / 4 + 1;
	/* what was not reported in another ring is found there by the recorder */
	t->lost = 0;
	t->thinned_told = t->thinned;
	look_at_tail(t, r);
	t->told = 0;
	t->outer = (uintptr_t)__builtin_frame_address(0);
	t->nested = 0;
	t->ring = r;
	t->taking = true;
	if (!mz_stamp(t, 1, &time, &at))
		return no_room_to_begin(t);
	mz_fill(mz_slot(t, at), time, MZ_REC_THREAD, 0, 0, r->tid);
	mz_end(t);
	t->taking = false;
	if (exit_key_made)
		pthread_setspecific(exit_key, t);
	return true;
}

/* Later calls of the same thread take a ring again and come here again; what the last round of
 * destructors leaves is found by the recorder. */
static void at_thread_exit(void *arg)
{
	struct mz_thread *t = arg;
	struct mz_ring *r;

	if (*mz_alive < MZ_ALIVE_ON || t != &mz_me || !t->ring || t->alive != *mz_alive)
		return;
	r = t->ring;
	t->limit = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->ring = NULL; /* first: a signal handler must not use what another has */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&r->state, MZ_RING_CLOSED, __ATOMIC_RELEASE);
}

void mz_see_thread_exits(void)
{
	if (!exit_key_made)
		exit_key_made = !pthread_key_create(&exit_key, at_thread_exit);
}

/* ---- a jump out of a signal handler ---------------------------------------------- */

/* A handler with a stack of its own may have any frame address. */
static bool on_signal_stack(void)
{
	stack_t s = {0};

	return !mz_sigaltstack(&s) && (s.ss_flags & SS_ONSTACK);
}

bool mz_given_up(uintptr_t began, const void *frame)
{
	return began && (uintptr_t)frame >= began && !on_signal_stack();
}

/* A handler jumped out of an append, which will never end. The slots reserved since then may or
 * may not be filled: they are used again, and counted as lost. */
static void give_up_append(struct mz_thread *t)
{
	uint64_t head = *(volatile uint64_t *)&t->ring->head, count = t->reserved - head;

	t->reserved = head;
	t->told = 0; /* that record may be among them */
	t->nested = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->outer = 0;
	if (!count)
		return;
	if (!t->lost)
		t->lost_since = mz_clock();
	t->lost += count;
	t->ring->dropped += count;
	t->limit = 0;
}

bool mz_begin_nested(struct mz_thread *t, unsigned n, const void *frame)
{
	if (mz_given_up(t->outer, frame))
		give_up_append(t);
	if (t->reserved + n > t->limit && !mz_append_slow(t, n))
		return false;
	if (t->outer)
		t->nested++; /* in a handler: the interrupted code continues later */
	else
		t->outer = (uintptr_t)frame;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return true;
}

/* The jump may also leave a call whose inner calls are not the program's. */
bool mz_unhide(const void *frame)
{
	struct mz_thread *t = &mz_me;

	if (!mz_given_up(t->hidden_at, frame))
		return false;
	t->hidden = 0;
	t->hidden_at = 0;
	return true;
}

/* ---- full rings ------------------------------------------------------------ */

static void futex(uint32_t *word, int op, uint32_t value, long ns)
{
	struct timespec limit = {.tv_nsec = ns};

	mz_system(SYS_futex,
		  (const long[6]){(long)word, op, value, op == FUTEX_WAIT ? (long)&limit : 0});
}

void mz_ring_bell(void)
{
	int saved = errno;

	__atomic_fetch_add(&mz_region->bell, 1, __ATOMIC_SEQ_CST);
	futex(&mz_region->bell, FUTEX_WAKE, INT_MAX, 0);
	errno = saved;
}

/* Has the recorder ended? The kernel says so in the word; see uapi/memorizer/record.h. */
bool mz_recorder_died(void)
{
	uint32_t word = __atomic_load_n(&mz_region->recorder, __ATOMIC_ACQUIRE);

	return !word || word & FUTEX_OWNER_DIED;
}

/* Must a thread that waits for room give up? looks: polls since the recorder's last heartbeat. */
static bool give_up(const struct mz_thread *t, unsigned *looks, uint32_t *beat)
{
	uint32_t now = __atomic_load_n(&mz_region->heartbeat, __ATOMIC_RELAXED);

	/* the ring of a previous recorder is not emptied any more */
	if (*mz_alive < MZ_ALIVE_ON || *mz_alive != t->alive)
		return true;
	if (__atomic_load_n(&mz_region->stop, __ATOMIC_RELAXED)) {
		*mz_alive = MZ_ALIVE_OFF;
		return true;
	}
	if (mz_recorder_died()) {
		mz_forget_region();
		return true;
	}
	*looks = now == *beat ? *looks + 1 : 0;
	*beat = now;
	if (*looks < GIVE_UP_AFTER)
		return false;
	mz_leave(MZ_LEFT_WAIT);
	return true;
}

static void count_lost(struct mz_thread *t)
{
	/* neither a stack or a module, which is sent again when it next occurs, nor the name of the
	 * thread is an event */
	if (t->in_unwinder || t->taking)
		return;
	if (!t->lost++)
		t->lost_since = mz_clock();
	t->limit = 0; /* until it is reported */
	t->ring->dropped++;
}

/* A signal handler has filled the ring: what it interrupted was an append, and nothing can be
 * published before that has ended. */
static bool is_walled_in(const struct mz_thread *t)
{
	return t->nested && t->tail == t->ring->head;
}

/* End the append without a record. */
static void end_without(struct mz_thread *t)
{
	if (t->nested)
		t->nested--;
	else
		t->outer = 0;
}

/* Is the event lost if the ring is full? On request, because the recorder has no room either, or
 * because it did not respond. A program that waited for the recorder would stand still as long as
 * there is something to pack. */
static bool is_dropping(const struct mz_thread *t)
{
	return (mz_region->flags & MZ_REGION_DROP) || t->impatient ||
	       __atomic_load_n(&mz_region->full, __ATOMIC_RELAXED);
}

/* Return the reserved slots, unless a signal handler has reserved more since. */
static bool unreserve(struct mz_thread *t, uint64_t at, unsigned n)
{
	uint64_t end = at + n;

	return __atomic_compare_exchange_n(&t->reserved, &end, at, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

/* May a thread that finds no room continue without recording, after it has returned what it had
 * reserved? */
static bool drops(struct mz_thread *t, uint64_t at, unsigned n)
{
	if (is_walled_in(t))
		mz_take(&t->reserved, -(uint64_t)n);
	else if (!is_dropping(t) || !unreserve(t, at, n))
		return false;
	count_lost(t);
	return true;
}

/* Note how long a thread has waited. The recorder shows it to the user. */
static void note_wait(uint64_t begun)
{
	struct mz_program_slot *m = &mz_region->images[mz_my_image];
	uint64_t ns = mz_clock_slow() - begun;
	uint64_t longest = __atomic_load_n(&m->longest, __ATOMIC_RELAXED);

	__atomic_fetch_add(&m->waits, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&m->waited, ns, __ATOMIC_RELAXED);
	while (ns > longest && !__atomic_compare_exchange_n(&m->longest, &longest, ns, true,
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* Sleep until there is room, or until it is time to check again. */
static void sleep_for_room(struct mz_thread *t, uint32_t room, uint64_t begun)
{
	uint64_t waited = mz_clock_slow() - begun;
	long ns = LOOK_NS;

	if (!(mz_region->flags & MZ_REGION_WAIT)) {
		if (waited >= MZ_PATIENCE_NS) {
			t->impatient = true;
			t->impatient_since = begun + waited;
			return;
		}
		if (MZ_PATIENCE_NS - waited < LOOK_NS)
			ns = (long)(MZ_PATIENCE_NS - waited);
	}
	__atomic_store_n(&t->ring->waiting, 1, __ATOMIC_SEQ_CST);
	mz_ring_bell();
	futex(&t->ring->room, FUTEX_WAIT, room, ns);
}

bool mz_wait_room(struct mz_thread *t, uint64_t at, unsigned n)
{
	struct mz_ring *r = t->ring;
	uint64_t begun = mz_clock_slow();
	int saved = errno;
	uint32_t beat = mz_region->heartbeat;
	unsigned idle = 0;
	bool ok = false, slept = false;

	__atomic_fetch_add(&mz_waiting, 1, __ATOMIC_ACQ_REL);
	/* a handler may have filled the ring after this append began: its records are complete,
	 * and no other append will publish them */
	if (!t->nested)
		mz_publish(&r->head, r->head, at);
	for (;;) {
		uint32_t room = __atomic_load_n(&r->room, __ATOMIC_ACQUIRE);

		look_at_tail(t, r);
		ok = at + n - t->tail <= t->room;
		if (ok || drops(t, at, n) || give_up(t, &idle, &beat))
			break;
		sleep_for_room(t, room, begun);
		slept = true;
	}
	if (!ok)
		end_without(t);
	if (slept)
		note_wait(begun);
	__atomic_fetch_sub(&mz_waiting, 1, __ATOMIC_ACQ_REL);
	errno = saved;
	return ok;
}

/* The records that a report takes: the whole time, the loss itself, and the time at which it
 * began. */
#define REPORT_RECORDS 3u

/* Is there no room for n records, and for what an append may need besides? */
static bool is_full_for(const struct mz_thread *t, unsigned n)
{
	return t->reserved + n + 4 + MZ_SLACK - t->tail >= t->room;
}

/* Report the losses before the next event. */
static bool tell_lost(struct mz_thread *t)
{
	struct mz_record r = {.type = MZ_REC_LOST, .arg = MZ_LOSS_RING_FULL, .value = t->lost};

	t->lost = 0;
	look_at_tail(t, t->ring);
	return mz_append(t, &r, 1, &t->lost_since, sizeof(t->lost_since));
}

/* Report what thinning left out, between two events; later if there is no room: a report that
 * does not fit would count as an event that was lost. */
static void tell_thinned(struct mz_thread *t)
{
	uint64_t count = t->thinned - t->thinned_told;
	struct mz_record r = {.type = MZ_REC_LOST, .arg = MZ_LOSS_SAMPLED, .value = count};

	if (!count || t->outer || t->lost || is_full_for(t, REPORT_RECORDS))
		return;
	t->thinned_told += count;
	mz_append(t, &r, 1, &t->thinned_since, sizeof(t->thinned_since));
}

void mz_thin_look(struct mz_thread *t)
{
	unsigned before = t->thin;

	look_at_tail(t, t->ring);
	if (t->thin != before || !t->thinned_told ||
	    mz_clock() - t->thinned_since >= MZ_TIME_SPAN / 2)
		tell_thinned(t);
}

bool mz_has_ring(struct mz_thread *t)
{
	return t->ring || (!t->no_ring && take_ring(t));
}

bool mz_append_slow(struct mz_thread *t, unsigned n)
{
	if (!mz_has_ring(t)) {
		__atomic_fetch_add(&mz_region->images[mz_my_image].missed, 1, __ATOMIC_RELAXED);
		return false;
	}
	if (mz_region->stop) {
		*mz_alive = MZ_ALIVE_OFF;
		return false;
	}
	look_at_tail(t, t->ring);
	if (is_dropping(t) && is_full_for(t, t->lost ? n + REPORT_RECORDS : n)) {
		count_lost(t);
		/* a system call costs more than the event */
		if (t->lost % BELL_EVERY == 1)
			mz_ring_bell();
		return false;
	}
	if (t->lost)
		return t->outer || tell_lost(t);
	if (!t->thin && t->thinned != t->thinned_told)
		tell_thinned(t);
	return true;
}

/* ---- appending ------------------------------------------------------------- */

bool mz_stamp_slow(struct mz_thread *t, unsigned n, bool taken, uint64_t *time, uint64_t *at)
{
	for (;;) {
		unsigned have = taken ? n : 1;
		uint64_t seen;

		if (!taken && !mz_reserve(t, 1, at))
			return false;
		*time = mz_clock();
		for (unsigned i = 0; i < have; i++)
			mz_fill(mz_slot(t, *at + i), 0, MZ_REC_TIME, 0, 0, *time);
		t->told = *time;
		seen = *(volatile uint64_t *)&t->reserved;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		*time = mz_clock();
		taken = *time - t->told < MZ_TIME_SPAN;
		if (!taken)
			continue; /* it stood still for long */
		if (!mz_reserve(t, n, at))
			return false;
		if (*at == seen)
			return true;
	}
}

bool mz_append(struct mz_thread *t, struct mz_record *recs, unsigned n, const void *raw, size_t len)
{
	unsigned more = (unsigned)((len + sizeof(*recs) - 1) / sizeof(*recs));
	uint64_t at, time;

	if (!mz_begin(t, n + more + 1) || !mz_stamp(t, n + more, &time, &at))
		return false;
	for (unsigned i = 0; i < n; i++, at++) {
		recs[i].time = (uint32_t)time;
		*mz_slot(t, at) = recs[i];
	}
	for (size_t done = 0; done < len; done += sizeof(*recs), at++) {
		struct mz_record part = {0};

		memcpy(&part, (const char *)raw + done,
		       len - done < sizeof(part) ? len - done : sizeof(part));
		*mz_slot(t, at) = part;
	}
	mz_end(t);
	return true;
}

bool mz_append_text(uint8_t type, uint64_t addr, const char *text, size_t len)
{
	struct mz_record r = {.type = type, .value = addr};

	r.size = (uint16_t)(len < MZ_TEXT_MAX ? len : MZ_TEXT_MAX);
	return mz_append(&mz_me, &r, 1, text, r.size);
}
