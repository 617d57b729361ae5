// SPDX-License-Identifier: BSD-2-Clause
/* Detect programs that begin and end, and complete the files of those that ended. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "record/user_events.h"
#include "record/user_start.h"

/* A ring whose program has ended is read to its end; after this many polls without a record, the
 * rest is abandoned. */
#define IDLE_LOOKS 64u
/* The longest time that a program may take to load its libraries. */
#define LOADING_NS 10000000000ull

static bool pidfd_ended(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

static bool has_ended(const struct mz_user_rings *r, unsigned i)
{
	const struct mz_user_program *m = r->images[i];

	if (m->ended)
		return true;
	if (m->locked)
		return !mz_region_locked(r->fd, i);
	return pidfd_ended(m->pidfd);
}

/* Without a lock, the image lives as long as the process that maps the region. If that process
 * cannot be found, the image ends at the latest with the program that the user named. */
static void find_life(struct mz_user_rings *r, unsigned i, const struct mz_program_slot *from)
{
	struct mz_user_program *m = r->images[i];

	m->locked = from->locked;
	if (m->locked)
		return;
	m->pidfd = mz_region_process(r->fd, from->pid);
	if (m->pidfd < 0 && r->main_pidfd >= 0)
		m->pidfd = fcntl(r->main_pidfd, F_DUPFD_CLOEXEC, 0);
	m->ended = m->pidfd < 0;
	/* the process has become another program, so its earlier image has ended */
	for (unsigned k = 0; k < MZ_IMAGES && !m->ended; k++)
		if (k != i && r->images[k] && !r->images[k]->locked && r->images[k]->pid == m->pid)
			r->images[k]->ended = true;
}

/* Without MZ_REGION_FORKS the library takes an image in one process only, whatever the region
 * says now. */
static bool is_wanted(const struct mz_user_rings *r, const struct mz_program_slot *from)
{
	return r->main_pid == 0 || from->pid == r->main_pid;
}

/* ---- programs that a recorded one becomes ------------------------------------------- */

/* A process that ended at once is known only by the number that it reported itself. */
static bool is_same(const struct mz_process *a, uint32_t a_pid, const struct mz_process *b,
		    uint32_t b_pid)
{
	return a->pid && b->pid ? a->pid == b->pid && a->start == b->start : a_pid == b_pid;
}

/* The program that a recorded one became has appeared: it is no longer missing. */
static void has_come(struct mz_user_rings *r, const struct mz_process *p, uint32_t pid)
{
	for (unsigned k = 0; k < r->became_count; k++)
		if (is_same(&r->became[k].process, r->became[k].pid, p, pid)) {
			--*(r->became[k].barred ? &r->barred : &r->silent);
			r->became[k] = r->became[--r->became_count];
			return;
		}
}

/* The program of this image has ended. If it called exec, or if its process still runs, the process
 * now runs another program, which will appear, has appeared already, or cannot be recorded. It is
 * not noticed if a program calls exec without our hooks and the next program ends at once. */
static void becomes(struct mz_user_rings *r, unsigned i)
{
	const struct mz_user_program *m = r->images[i];
	uint32_t what = __atomic_load_n(&r->region->images[i].becomes, __ATOMIC_ACQUIRE);
	bool barred = what == MZ_BECOMES_BARRED;
	unsigned k;

	if (what == MZ_BECOMES_NOTHING && !mz_process_runs(&m->process))
		return;
	for (k = 0; k < MZ_IMAGES; k++) {
		const struct mz_user_program *next = r->images[k];

		if (k != i && next && next->start > m->start &&
		    is_same(&next->process, next->pid, &m->process, m->pid))
			return;
	}
	++*(barred ? &r->barred : &r->silent);
	/* most of those that come do so soon: the oldest one makes room */
	k = r->became_count < MOST_BECAME ? r->became_count++ : r->became_oldest++ % MOST_BECAME;
	r->became[k] = (struct mz_became){
		.process = m->process, .pid = m->pid, .barred = barred, .since = mz_now_ns()};
}

bool mz_user_rings_expect(const struct mz_user_rings *r)
{
	struct mz_error why = {0};
	char path[64];

	for (unsigned k = 0; k < r->became_count; k++) {
		const struct mz_became *b = &r->became[k];

		snprintf(path, sizeof(path), "/proc/%u/exe", b->process.pid);
		if (!b->barred && mz_now_ns() - b->since < LOADING_NS &&
		    mz_process_runs(&b->process) && !mz_user_check_file(path, &why))
			return true;
	}
	return false;
}

static int open_image(struct mz_user_rings *r, unsigned i)
{
	struct mz_program_slot from = r->region->images[i];
	struct mz_process process;
	int ret;

	if (r->files->made >= MOST_FILES || !is_wanted(r, &from)) {
		/* its rings belong to no program */
		__atomic_store_n(&r->region->images[i].state, MZ_IMAGE_CLAIMED, __ATOMIC_RELEASE);
		r->turned_away[i] = true;
		++*(is_wanted(r, &from) ? &r->without_file : &r->refused);
		return 0;
	}
	r->images[i] = malloc(sizeof(*r->images[i]));
	if (!r->images[i])
		return mz_fail_memory(r->files->err);
	/* a live process that does not have this number here is in another pid namespace: search
	 * for it */
	process = mz_region_find(r->fd, from.pid, from.locked && mz_region_locked(r->fd, i));
	has_come(r, &process, from.pid);
	ret = mz_user_program_open(r->files, r->images[i], &from, &process);
	if (!ret)
		find_life(r, i, &from);
	return ret;
}

static bool is_of(struct mz_user_rings *r, unsigned ring, unsigned image)
{
	uint32_t of = r->rings[ring].image;

	if (of < MZ_IMAGES)
		return of == image;
	if (__atomic_load_n(&r->region->rings[ring].state, __ATOMIC_ACQUIRE) == MZ_RING_FREE)
		return false;
	pthread_mutex_lock(&r->spool.lock);
	of = mz_user_ring_program(r, ring);
	pthread_mutex_unlock(&r->spool.lock);
	return of == image;
}

/* Everything that was in the rings when the program ended. */
static int read_to_end(struct mz_user_rings *r, unsigned i)
{
	struct mz_user_ring *ring = &r->rings[i];
	unsigned idle = 0;
	uint64_t end;
	long n = 0;

	pthread_mutex_lock(&r->spool.lock);
	end = __atomic_load_n(&r->region->rings[i].head, __ATOMIC_ACQUIRE) - ring->base;
	if (end - ring->queue.put > mz_ring_records(i))
		end = ring->queue.put; /* the library cannot have written this count */
	pthread_mutex_unlock(&r->spool.lock);
	while (n >= 0 && (int64_t)(end - ring->tail) > 0 && idle < IDLE_LOOKS) {
		n = mz_user_rings_drain(r, false);
		if (!n && r->blocked)
			n = mz_user_rings_drain(r, true);
		if (n)
			continue;
		nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
		if (++idle == IDLE_LOOKS / 2)
			n = mz_user_rings_drain(r, true);
	}
	return n < 0 ? (int)n : 0;
}

/* Free for another thread; nothing in it refers to this image any more. */
static int finish_ring(struct mz_user_rings *r, unsigned image, unsigned i)
{
	struct mz_user_ring *ring = &r->rings[i];
	int ret = read_to_end(r, i);

	if (!ret && ring->image < MZ_IMAGES && ring->tail != ring->seen)
		ret = mz_user_skip(r, i);
	if (!ret)
		ret = mz_user_untold(r, image, i);
	pthread_mutex_lock(&r->spool.lock);
	if (ring->queue.taken != ring->queue.put)
		mz_spool_taken(&r->spool, &ring->queue, ring->queue.put);
	ring->tail = ring->queue.put;
	mz_user_ring_ended(r, i);
	__atomic_store_n(&r->region->rings[i].image, MZ_IMAGES, __ATOMIC_RELAXED);
	__atomic_store_n(&r->region->rings[i].state, MZ_RING_FREE, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&r->spool.lock);
	return ret;
}

static int close_image(struct mz_user_rings *r, unsigned image)
{
	struct mz_user_program *m = r->images[image];
	int ret = 0;

	/* those that are still in use when the recording ends before the program */
	for (unsigned i = 0; i < r->top && !ret; i++)
		if (is_of(r, i, image))
			ret = mz_user_untold(r, image, i);
	if (!ret)
		ret = mz_user_missed(r, image);

	r->images[image] = NULL;
	if (!ret)
		return mz_user_program_close(r->files, m);
	mz_user_program_drop(r->files, m);
	return ret;
}

/* The rings of an image that has ended: read them to their end, then free them. */
static int finish_image(struct mz_user_rings *r, unsigned image)
{
	long n = mz_user_rings_drain(r, false);
	int ret = n < 0 ? (int)n : 0;

	for (unsigned i = 0; i < MZ_RINGS && !ret; i++)
		if (is_of(r, i, image))
			ret = finish_ring(r, image, i);
	if (!ret)
		ret = close_image(r, image);
	__atomic_store_n(&r->region->images[image].state, MZ_IMAGE_FREE, __ATOMIC_RELEASE);
	return ret;
}

/* Find all images that have ended before finishing one of them: one may be what another became. */
static void find_ended(struct mz_user_rings *r)
{
	for (unsigned i = 0; i < MZ_IMAGES; i++)
		if (r->images[i] && has_ended(r, i)) {
			r->images[i]->ended = true;
			becomes(r, i);
		}
}

int mz_user_rings_images(struct mz_user_rings *r)
{
	int left = 0, ret = 0;

	for (unsigned i = 0; i < MZ_IMAGES && !ret; i++)
		if (!r->images[i] &&
		    __atomic_load_n(&r->region->images[i].state, __ATOMIC_ACQUIRE) == MZ_IMAGE_LIVE)
			ret = open_image(r, i);
	if (!ret)
		find_ended(r);
	for (unsigned i = 0; i < MZ_IMAGES && !ret; i++) {
		if (!r->images[i])
			continue;
		if (r->images[i]->ended)
			ret = finish_image(r, i);
		else
			left++;
		if (r->images[i])
			mz_user_program_look(r->images[i]);
	}
	return ret < 0 ? ret : left;
}

int mz_user_rings_close(struct mz_user_rings *r)
{
	int ret = 0;

	for (unsigned i = 0; i < MZ_IMAGES && !ret; i++)
		if (r->images[i])
			ret = close_image(r, i);
	return ret;
}
