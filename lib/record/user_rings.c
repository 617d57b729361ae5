// SPDX-License-Identifier: BSD-2-Clause
/* Move records from the rings of all threads into the spool. */
#include "record/user_rings.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/clock.h"
#include "base/error.h"
#include "record/user_events.h"

/* How often the rings are checked. They are also checked when one of them fills. */
#define MOVE_NS	     20000000l
/* Unmapping less of a ring than this is not worth a system call. */
#define FORGET_BYTES 65536u
/* The pages of this many rings stay mapped: most programs have few threads. */
#define KEEP_RINGS   2u

uint64_t mz_user_rings_clock(const struct mz_user_rings *r)
{
#ifdef __x86_64__
	if (r->tsc) {
		uint64_t t;

		/* the fences keep earlier and later instructions from passing the clock */
		__builtin_ia32_lfence();
		t = __builtin_ia32_rdtsc();
		__builtin_ia32_lfence();
		return t;
	}
#endif
	(void)r;
	return mz_now_ns();
}

/* The line between two readings of both clocks: the longer it is, the more precise its slope. */
void mz_user_rings_set_clock(struct mz_user_rings *r)
{
	r->clock1 = mz_user_rings_clock(r);
	r->ns1 = mz_now_ns();
	r->rate = r->clock1 == r->clock0
			  ? 0
			  : (double)(r->ns1 - r->ns0) / (double)(r->clock1 - r->clock0);
}

/* The counter may be used if the kernel itself trusts it. */
static bool tsc_is_good(void)
{
#ifdef __x86_64__
	char buf[16] = "";
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		      O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (read(fd, buf, sizeof(buf) - 1) < 0)
		buf[0] = '\0';
	close(fd);
	return !strncmp(buf, "tsc", 3);
#else
	return false;
#endif
}

static int map_region(struct mz_user_rings *r, int fd)
{
	struct mz_error *err = r->files->err;
	int ret = fd >= 0 ? mz_region_check(fd, err) : 0;

	if (ret < 0)
		return ret;
	r->fd = fd >= 0 ? fd : mz_region_make();
	if (r->fd < 0)
		return mz_fail(err, -r->fd, "cannot make the shared memory: %s", strerror(-r->fd));
	r->region = mmap(NULL, MZ_REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (r->region == MAP_FAILED) {
		r->region = NULL;
		return mz_fail(err, errno, "cannot map the shared memory: %s", strerror(errno));
	}
	return 0;
}

static void open_spool(struct mz_user_rings *r)
{
	const char *output = r->files->output, *slash = strrchr(output, '/');
	char folder[PATH_MAX] = ".";

	if (r->files->spool)
		snprintf(folder, sizeof(folder), "%s", r->files->spool);
	else if (slash)
		snprintf(folder, sizeof(folder), "%.*s",
			 slash == output ? 1 : (int)(slash - output), output);
	mz_spool_open(&r->spool, folder, r->files->spool_limit);
}

/* Too large for the stack of a thread: it is set up in place. */
int mz_user_rings_init(struct mz_user_rings *r, int fd, uint32_t flags, uint32_t stack_depth,
		       struct mz_user_files *files)
{
	struct timespec pause = {.tv_nsec = 1000000};
	int ret;

	memset(r, 0, sizeof(*r));
	r->files = files;
	r->tsc = tsc_is_good();
	r->has_others = mz_beside_possible();
	r->spool.fd = r->main_pidfd = r->fd = -1;
	for (unsigned i = 0; i < MZ_RINGS; i++)
		r->rings[i].image = r->rings[i].moved_for = MZ_IMAGES;
	ret = map_region(r, fd);
	if (ret < 0)
		return ret;
	r->region->version = MZ_REGION_VERSION;
	r->region->flags = flags | (r->tsc ? MZ_REGION_TSC : 0);
	r->region->stack_depth = stack_depth;
	r->region->thin = r->thin = files->sample;
	r->region->filters = mz_region_filters("/proc/self/status");
	mz_region_own(&r->owner, r->region);
	r->region->magic = MZ_REGION_MAGIC;
	r->clock0 = mz_user_rings_clock(r);
	r->ns0 = mz_now_ns();
	nanosleep(&pause, NULL);
	mz_user_rings_set_clock(r);
	open_spool(r);
	return 0;
}

/* ---- out of the rings, into the spool ------------------------------------------ */

void mz_user_rings_release(struct mz_user_rings *r, unsigned i)
{
	struct mz_ring *ring = &r->region->rings[i];

	__atomic_store_n(&ring->tail, r->rings[i].queue.put + r->rings[i].base, __ATOMIC_RELEASE);
	__atomic_fetch_add(&ring->room, 1, __ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(&ring->waiting, 0, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &ring->room, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Maps the pages of a ring that will be read, all at once: a write from pages that are not mapped
 * copies a part, clears the rest of what it has allocated, and begins again. Kernels before 5.14
 * refuse the request. */
static void fetch_pages(const struct mz_record *from, uint64_t n)
{
#ifdef MADV_POPULATE_READ
	uintptr_t start = (uintptr_t)from & ~(uintptr_t)4095;
	uintptr_t end = ((uintptr_t)(from + n) + 4095) & ~(uintptr_t)4095;

	if (n * sizeof(*from) >= FORGET_BYTES)
		madvise((void *)start, end - start, MADV_POPULATE_READ);
#else
	(void)from;
	(void)n;
#endif
}

/* Unmaps the pages of a ring that were read: they stay in the region, but no longer count as memory
 * of the recorder. */
static void forget_pages(const struct mz_record *from, uint64_t n)
{
	uintptr_t start = ((uintptr_t)from + 4095) & ~(uintptr_t)4095;
	uintptr_t end = (uintptr_t)(from + n) & ~(uintptr_t)4095;

	if (end > start && end - start >= FORGET_BYTES)
		madvise((void *)start, end - start, MADV_DONTNEED);
}

/* Are all pages of the ring mapped? Those of a ring that stays mapped are, once it has been
 * full. */
static bool is_mapped(const struct mz_user_rings *r, unsigned i)
{
	return i < KEEP_RINGS && r->rings[i].queue.put >= mz_ring_records(i);
}

/* Moves the records from put up to head, which are complete. */
static int move_records(struct mz_user_rings *r, unsigned i, uint64_t n)
{
	struct mz_spool_queue *q = &r->rings[i].queue;
	const struct mz_record *data = mz_ring_data(r->region, i);
	uint64_t cap = mz_ring_records(i), at = (q->put + r->rings[i].base) & (cap - 1);
	uint64_t first = n < cap - at ? n : cap - at;
	int ret;

	if (!is_mapped(r, i)) {
		fetch_pages(data + at, first);
		fetch_pages(data, n - first);
	}
	ret = mz_spool_put(&r->spool, q, data + at, first, data, n - first);
	if (i >= KEEP_RINGS) {
		forget_pages(data + at, first);
		forget_pages(data, n - first);
	}
	return ret;
}

/* Records that do not fit into the spool may be read by the encoding thread directly from the ring;
 * the mover then leaves them alone. */
static bool move_or_read(struct mz_user_rings *r, unsigned i, uint64_t n, bool direct)
{
	struct mz_user_ring *ring = &r->rings[i];

	if (!move_records(r, i, n)) {
		r->moved += n;
		mz_user_rings_release(r, i);
		return true;
	}
	__atomic_store_n(&r->spool.full, true, __ATOMIC_RELAXED);
	ring->direct = direct;
	ring->seen = direct ? ring->queue.put + n : ring->seen;
	return direct;
}

/* The library cannot have written this count. The records of the ring count as lost, and the reader
 * sees a gap. Numbering continues at the program's count. */
static void leave_gap(struct mz_user_rings *r, unsigned i, uint64_t n)
{
	struct mz_user_ring *ring = &r->rings[i];
	uint64_t cap = mz_ring_records(i);

	ring->base += n - cap;
	ring->queue.put += cap;
	r->spool.waiting += cap;
	r->moved += cap;
	mz_user_rings_release(r, i);
}

uint32_t mz_user_ring_program(const struct mz_user_rings *r, unsigned i)
{
	const struct mz_user_ring *ring = &r->rings[i];

	return ring->moved_for < MZ_IMAGES
		       ? ring->moved_for
		       : __atomic_load_n(&r->region->rings[i].image, __ATOMIC_RELAXED);
}

/* Everything that happened in this ring before the returned time can be read. */
static uint64_t move_ring(struct mz_user_rings *r, unsigned i, uint64_t now, bool direct)
{
	struct mz_user_ring *ring = &r->rings[i];
	uint64_t head = __atomic_load_n(&r->region->rings[i].head, __ATOMIC_ACQUIRE) - ring->base;
	uint64_t n = head - ring->queue.put;

	if (ring->direct) {
		__atomic_store_n(&r->spool.full, true, __ATOMIC_RELAXED);
		return ring->bound;
	}
	if (n)
		ring->moved_for = mz_user_ring_program(r, i);
	if (n > mz_ring_records(i))
		leave_gap(r, i, n);
	else if (n && !move_or_read(r, i, n, direct))
		return ring->bound;
	ring->bound = now;
	return now;
}

/* Does the ring belong to no program, neither to one that is known nor to one that has just
 * appeared? */
static bool is_stray(const struct mz_user_rings *r, unsigned i)
{
	uint32_t image = mz_user_ring_program(r, i);

	return image >= MZ_IMAGES ||
	       __atomic_load_n(&r->region->images[image].state, __ATOMIC_ACQUIRE) != MZ_IMAGE_LIVE;
}

/* Programs record one small block in 2^n while more than half of the spool is used, so that it
 * never fills, unless they do nothing but free. Once begun, this continues until three quarters
 * are free. */
static unsigned thin_level(const struct mz_user_rings *r)
{
	const struct mz_user_spool *s = &r->spool;
	uint64_t eighths = (s->end - s->given) / (s->limit / 8 + 1);
	unsigned level = r->files->sample;

	if (r->files->waits || r->files->drops || s->fd < 0)
		return level;
	if (s->full || eighths >= 4)
		level += s->full || eighths >= 7 ? 3 * MZ_THIN_STEP
			 : eighths >= 6		 ? 2 * MZ_THIN_STEP
						 : MZ_THIN_STEP;
	if (eighths >= 2 && level < r->thin)
		level = r->thin;
	return level < MZ_THIN_MOST ? level : MZ_THIN_MOST;
}

/* A record is visible before its call returns (an allocation) or is made (a free). A record that is
 * not visible at this check has had no effect yet, so everything that it causes is stamped later.
 * This holds only in this order: the clock is read, then the rings are counted, then they are
 * read. */
void mz_user_rings_move(struct mz_user_rings *r, bool direct)
{
	uint64_t now = mz_user_rings_clock(r), upto = now;
	unsigned top;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	top = mz_user_rings_top(r);
	__atomic_fetch_add(&r->region->heartbeat, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&r->spool.full, false, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < top; i++) {
		uint64_t first;

		if (__atomic_load_n(&r->region->rings[i].state, __ATOMIC_ACQUIRE) == MZ_RING_FREE ||
		    is_stray(r, i))
			continue;
		first = move_ring(r, i, now, direct);
		upto = first < upto ? first : upto;
	}
	if (upto > r->moved_upto)
		r->moved_upto = upto;
	/* without a spool a program waits for a ring to be read, which is soon; with one it
	 * would wait for all that is in it */
	__atomic_store_n(&r->thin, thin_level(r), __ATOMIC_RELAXED);
	__atomic_store_n(&r->region->thin, r->thin, __ATOMIC_RELAXED);
	__atomic_store_n(&r->region->full, r->spool.full && r->spool.fd >= 0 && !r->files->waits,
			 __ATOMIC_RELAXED);
}

static void *mover(void *arg)
{
	struct mz_user_rings *r = arg;

	while (!__atomic_load_n(&r->quit, __ATOMIC_ACQUIRE)) {
		struct timespec limit = {.tv_nsec = MOVE_NS};
		uint32_t bell;

		pthread_mutex_lock(&r->spool.lock);
		mz_user_rings_move(r, false);
		pthread_mutex_unlock(&r->spool.lock);
		bell = __atomic_load_n(&r->region->bell, __ATOMIC_SEQ_CST);
		__atomic_store_n(&r->region->asleep, 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &r->region->bell, FUTEX_WAIT, bell, &limit, NULL, 0);
		__atomic_store_n(&r->region->asleep, 0, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

int mz_user_rings_start(struct mz_user_rings *r)
{
	if (mz_beside_start(&r->mover, mover, r))
		return 0;
	return mz_fail(r->files->err, EAGAIN, "cannot start a thread: %s", strerror(EAGAIN));
}

static void stop_moving(struct mz_user_rings *r)
{
	if (!r->mover.running)
		return;
	__atomic_store_n(&r->quit, true, __ATOMIC_RELEASE);
	__atomic_fetch_add(&r->region->bell, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &r->region->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	mz_beside_wait(&r->mover);
}

void mz_user_rings_backlog(struct mz_user_rings *r, uint64_t *waiting, uint64_t *moved, bool *full)
{
	pthread_mutex_lock(&r->spool.lock);
	*waiting = r->spool.waiting;
	*moved = r->moved;
	*full = r->spool.full;
	pthread_mutex_unlock(&r->spool.lock);
}

void mz_user_rings_deinit(struct mz_user_rings *r)
{
	stop_moving(r);
	mz_region_disown(&r->owner);
	for (unsigned i = 0; i < MZ_RINGS; i++) {
		mz_spool_queue_free(&r->rings[i].queue);
		mz_user_told_free(&r->rings[i].stack);
	}
	mz_spool_close(&r->spool);
	for (unsigned i = 0; i < MZ_IMAGES; i++)
		if (r->images[i])
			mz_user_program_drop(r->files, r->images[i]);
	if (r->region) {
		__atomic_store_n(&r->region->stop, 1, __ATOMIC_SEQ_CST);
		munmap(r->region, MZ_REGION_BYTES);
	}
	if (r->main_pidfd >= 0)
		close(r->main_pidfd);
	if (r->fd >= 0)
		close(r->fd);
	r->region = NULL;
	r->main_pidfd = r->fd = -1;
}

void mz_user_rings_sleep(struct mz_user_rings *r, long ns)
{
	struct timespec limit = {.tv_nsec = ns};
	uint32_t bell = __atomic_load_n(&r->region->bell, __ATOMIC_SEQ_CST);

	syscall(SYS_futex, &r->region->bell, FUTEX_WAIT, bell, &limit, NULL, 0);
}
