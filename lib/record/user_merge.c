// SPDX-License-Identifier: BSD-2-Clause
/* Merge the records of all rings in the order of their times. */
#include "record/user_events.h"

/* After this many records the spool is informed of what was read. */
#define TAKE_EVERY   16384u
#define MOST_WAIT_NS 2000000000ull

/* ---- looking at the spool -------------------------------------------------------- */

/* The records of a ring that belongs to no program were not written by our library, unless the
 * program was turned away. */
static void discard(struct mz_user_rings *r, unsigned i, uint32_t image)
{
	struct mz_user_ring *ring = &r->rings[i];
	struct mz_spool_queue *q = &ring->queue;
	uint64_t head = __atomic_load_n(&r->region->rings[i].head, __ATOMIC_ACQUIRE) - ring->base;
	uint64_t n = head - q->put, cap = mz_ring_records(i);

	if (n > cap) {
		ring->base += n - cap;
		n = cap;
	}
	if (image >= MZ_IMAGES || !r->turned_away[image])
		r->stray += n + (q->put - ring->tail);
	if (q->taken != q->put)
		mz_spool_taken(&r->spool, q, q->put);
	q->put += n;
	q->taken = ring->tail = ring->seen = q->put;
	ring->direct = false;
	ring->moved_for = MZ_IMAGES;
	if (n)
		mz_user_rings_release(r, i);
}

/* Into the list, if there is something to read. */
static void look_at_ring(struct mz_user_rings *r, unsigned i)
{
	struct mz_user_ring *ring = &r->rings[i];
	uint32_t image = mz_user_ring_program(r, i);

	if (image >= MZ_IMAGES ||
	    (!r->images[image] &&
	     __atomic_load_n(&r->region->images[image].state, __ATOMIC_ACQUIRE) != MZ_IMAGE_LIVE)) {
		discard(r, i, image);
		return;
	}
	/* the program has just appeared, and its file is not open yet */
	if (!r->images[image])
		return;
	if (!ring->direct)
		ring->seen = ring->queue.put;
	if (ring->seen == ring->tail)
		return;
	ring->image = image;
	r->active[r->active_count++] = i;
}

/* With the lock held. Called again while records are read: everything that a program has left
 * behind is read in one go, and nothing else would notice how much that is. */
static void look_at_backlog(struct mz_user_rings *r)
{
	struct mz_user_files *f = r->files;
	uint64_t n = r->spool.waiting, least = r->much;
	uint64_t much = least > MZ_USER_MUCH ? least : MZ_USER_MUCH;
	uint64_t too_much = least > MZ_USER_TOO_MUCH ? least : MZ_USER_TOO_MUCH;

	f->behind = n >= (f->behind ? MZ_USER_FEW : too_much);
	f->beside = r->has_others && n >= (f->beside ? MZ_USER_FEW : much);
}

static void find_active(struct mz_user_rings *r, bool all)
{
	mz_user_rings_set_clock(r);
	r->active_count = 0;
	pthread_mutex_lock(&r->spool.lock);
	/* rings are read directly only if nothing else would ever make room */
	mz_user_rings_move(r, r->stuck || r->spool.fd < 0 || r->spool.keeps);
	/* counted after the move: all that moved_upto speaks of must be in the list */
	r->top = mz_user_rings_top(r);
	for (unsigned i = 0; i < r->top; i++)
		if (__atomic_load_n(&r->region->rings[i].state, __ATOMIC_ACQUIRE) != MZ_RING_FREE)
			look_at_ring(r, i);
	r->cut = all ? UINT64_MAX : r->moved_upto;
	r->latest = mz_user_rings_clock(r);
	look_at_backlog(r);
	pthread_mutex_unlock(&r->spool.lock);
}

static void take(struct mz_user_rings *r, unsigned i, bool over)
{
	struct mz_user_ring *ring = &r->rings[i];
	struct mz_spool_queue *q = &ring->queue;

	if (ring->tail != q->taken)
		mz_spool_taken(&r->spool, q, ring->tail < q->put ? ring->tail : q->put);
	if (!ring->direct)
		return;
	if (ring->tail > q->put) {
		q->put = q->taken = ring->tail;
		mz_user_rings_release(r, i);
	}
	ring->direct = !over;
}

/* Releases the room of the records that were read. */
static void mark_taken(struct mz_user_rings *r, bool over)
{
	pthread_mutex_lock(&r->spool.lock);
	for (unsigned i = 0; i < r->top; i++)
		take(r, i, over);
	look_at_backlog(r);
	pthread_mutex_unlock(&r->spool.lock);
	mz_spool_give_back(&r->spool);
	r->take_at = r->records + TAKE_EVERY;
}

const struct mz_record *mz_user_at(struct mz_user_rings *r, unsigned i, uint64_t n)
{
	struct mz_user_ring *ring = &r->rings[i];

	if (__builtin_expect(ring->direct && n >= ring->queue.put, 0))
		return &mz_ring_data(r->region, i)[(n + ring->base) & (mz_ring_records(i) - 1)];
	return mz_spool_at(&r->spool, &ring->queue, n);
}

uint64_t mz_user_first_time(struct mz_user_rings *r, unsigned i)
{
	struct mz_user_ring *ring = &r->rings[i];

	if (ring->next_of != ring->tail + 1) {
		const struct mz_record *rec = mz_user_at(r, i, ring->tail);

		/* a record that cannot be read is a loss, which is reported at once; a time in the
		 * future was not written by the library, and must not hold up the rest until
		 * then */
		ring->next = rec ? mz_user_whole_time(ring, rec) : 0;
		if (ring->next > r->latest)
			ring->next = r->latest;
		ring->next_of = ring->tail + 1;
	}
	return ring->next;
}

/* ---- merging --------------------------------------------------------------------- */

/* The ring with the earliest record, as place in the active list, and the time
 * up to which no other ring has anything; -1 = none. */
static int earliest(struct mz_user_rings *r, uint64_t *others)
{
	uint64_t first = UINT64_MAX, second = UINT64_MAX;
	int best = -1;

	for (unsigned k = 0; k < r->active_count; k++) {
		uint64_t t = mz_user_first_time(r, r->active[k]);

		if (t < first || best < 0) {
			second = first;
			first = t;
			best = (int)k;
		} else if (t < second) {
			second = t;
		}
	}
	*others = second;
	return best;
}

/* A record that the realloc of another thread holds up is this old: the end of that realloc was
 * lost, or its thread has ended. A program that makes us wait again is waited for half as long. */
static bool is_given_up(struct mz_user_rings *r, unsigned self)
{
	unsigned times = r->images[r->rings[self].image]->given_up;
	double age = (double)(r->latest - mz_user_first_time(r, self)) * r->rate;

	return age > (double)(MOST_WAIT_NS >> times);
}

static void give_up(struct mz_user_rings *r, struct mz_user_ring *ring)
{
	struct mz_user_program *m = r->images[ring->image];

	m->given_up += m->given_up < 31;
	r->begun--;
	ring->old = 0;
}

/* If another thread is inside a realloc that gave this address back, the event of that realloc
 * comes first. 1 = it has been added, or there is none; 0 = it has not arrived yet. */
int mz_user_settle_realloc(struct mz_user_rings *r, unsigned self, uint64_t addr)
{
	for (unsigned i = 0; i < r->top; i++) {
		struct mz_user_ring *ring = &r->rings[i];

		if (i == self || ring->old != addr || ring->image != r->rings[self].image)
			continue;
		while (ring->old == addr) {
			int ret;

			if (ring->tail == ring->seen && is_given_up(r, self)) {
				give_up(r, ring);
				break;
			}
			if (ring->tail == ring->seen)
				return r->cut == UINT64_MAX;
			ret = mz_user_unit(r, i);
			if (ret < 0)
				return ret;
		}
	}
	return 1;
}

/* Records of one ring, as long as no other ring has an earlier one, and until the spool is to be
 * told: the only ring may have all there is. */
static int read_run(struct mz_user_rings *r, unsigned i, uint64_t upto)
{
	struct mz_user_ring *ring = &r->rings[i];
	int ret = 0;

	while (!ret && ring->tail != ring->seen && mz_user_first_time(r, i) <= upto &&
	       !r->blocked && r->records < r->take_at) {
		uint64_t was = ring->tail;

		/* the fast path first: where threads run side by side, few records follow each
		 * other */
		ret = mz_user_plain(r, i, upto);
		if (!ret && ring->tail == was)
			ret = mz_user_unit(r, i);
	}
	return ret;
}

/* Rings that were read to their end leave the list; settling a realloc may have
 * emptied others than the one at hand. */
static void leave_active(struct mz_user_rings *r)
{
	for (unsigned j = 0; j < r->active_count;)
		if (r->rings[r->active[j]].tail == r->rings[r->active[j]].seen)
			r->active[j] = r->active[--r->active_count];
		else
			j++;
}

static long drain(struct mz_user_rings *r, bool all, uint64_t most)
{
	uint64_t before = r->records;
	int ret = 0;

	find_active(r, all);
	r->blocked = false;
	while (!ret && r->active_count && !r->blocked && r->records - before < most) {
		uint64_t others;
		unsigned i = r->active[earliest(r, &others)];

		if (mz_user_first_time(r, i) > r->cut)
			break;
		ret = read_run(r, i, others < r->cut ? others : r->cut);
		if (r->rings[i].tail == r->rings[i].seen)
			leave_active(r);
		if (r->records >= r->take_at)
			mark_taken(r, false);
	}
	mark_taken(r, true);
	r->stuck = r->records == before && __atomic_load_n(&r->spool.full, __ATOMIC_RELAXED);
	return ret < 0 ? ret : (long)(r->records - before);
}

long mz_user_rings_drain(struct mz_user_rings *r, bool all)
{
	return drain(r, all, UINT64_MAX);
}

long mz_user_rings_drain_some(struct mz_user_rings *r)
{
	return drain(r, false, MZ_USER_SOME);
}
