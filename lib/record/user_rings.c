// SPDX-License-Identifier: BSD-2-Clause
/* Merge the rings of all threads by time stamp. */
#include "record/user_rings.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "record/user_events.h"

/* The rings are looked at so often, and when one of them fills. */
#define MOVE_NS	     20000000l
/* Less than this of a ring is not worth a call. */
#define FORGET_BYTES 65536u
/* Records, until the spool is told what was read. */
#define TAKE_EVERY   16384u

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t now_clock(const struct mz_user_rings *r)
{
#ifdef __x86_64__
	if (r->tsc) {
		uint64_t t;

		/* neither before what came before it, nor after what comes next */
		__builtin_ia32_lfence();
		t = __builtin_ia32_rdtsc();
		__builtin_ia32_lfence();
		return t;
	}
#endif
	(void)r;
	return now_ns();
}

/* The line between two readings of both clocks: the longer, the straighter. */
static void set_clock(struct mz_user_rings *r)
{
	r->clock1 = now_clock(r);
	r->ns1 = now_ns();
}

uint64_t mz_user_time(const struct mz_user_rings *r, uint64_t clock)
{
	double ns;

	if (!r->tsc)
		return clock > r->ns0 ? clock - r->ns0 : 0;
	ns = (double)(int64_t)(clock - r->clock0) * (double)(r->ns1 - r->ns0) /
	     (double)(r->clock1 - r->clock0);
	return ns > 0 ? (uint64_t)ns : 0;
}

/* The counter may be used when the kernel itself trusts it. */
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

int mz_user_rings_init(struct mz_user_rings *r, int fd, uint32_t flags, uint32_t stack_depth,
		       struct mz_user_files *files)
{
	struct timespec pause = {.tv_nsec = 1000000};

	*r = (struct mz_user_rings){.files = files, .tsc = tsc_is_good(), .spool.fd = -1};
	r->fd = fd >= 0 ? fd : memfd_create("memorizer", MFD_CLOEXEC);
	if (r->fd < 0 || ftruncate(r->fd, (off_t)MZ_REGION_BYTES))
		return mz_fail(files->err, errno, "cannot create the shared memory: %s",
			       strerror(errno));
	r->region = mmap(NULL, MZ_REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (r->region == MAP_FAILED)
		return mz_fail(files->err, errno, "cannot map the shared memory: %s",
			       strerror(errno));
	r->region->version = MZ_REGION_VERSION;
	r->region->flags = flags | (r->tsc ? MZ_REGION_TSC : 0);
	r->region->stack_depth = stack_depth;
	r->region->recorder_pid = (uint32_t)getpid();
	r->region->magic = MZ_REGION_MAGIC;
	r->clock0 = now_clock(r);
	r->ns0 = now_ns();
	nanosleep(&pause, NULL);
	set_clock(r);
	mz_spool_open(&r->spool, files->output);
	return 0;
}

/* ---- out of the rings, into the spool ------------------------------------------ */

static void release(struct mz_user_rings *r, unsigned i)
{
	struct mz_ring *ring = &r->region->rings[i];

	__atomic_store_n(&ring->tail, r->rings[i].queue.put, __ATOMIC_RELEASE);
	__atomic_fetch_add(&ring->room, 1, __ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(&ring->waiting, 0, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &ring->room, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Pages of a ring that were read: they stay in place, but no longer count as memory of the
 * recorder. */
static void forget_pages(const struct mz_record *from, uint64_t n)
{
	uintptr_t start = ((uintptr_t)from + 4095) & ~(uintptr_t)4095;
	uintptr_t end = (uintptr_t)(from + n) & ~(uintptr_t)4095;

	if (end > start && end - start >= FORGET_BYTES)
		madvise((void *)start, end - start, MADV_DONTNEED);
}

/* Records from put up to head, which are there. */
static int move_records(struct mz_user_rings *r, unsigned i, uint64_t n)
{
	struct mz_spool_queue *q = &r->rings[i].queue;
	const struct mz_record *data = mz_ring_data(r->region, i);
	uint64_t cap = mz_ring_records(i), at = q->put & (cap - 1);
	uint64_t first = n < cap - at ? n : cap - at;
	int ret;

	if (n > cap) {
		/* something else than the library wrote there: a gap, for the reader */
		q->put += n;
		r->spool.waiting += n;
		return 0;
	}
	ret = mz_spool_put(&r->spool, q, data + at, first, data, n - first);
	forget_pages(data + at, first);
	forget_pages(data, n - first);
	return ret;
}

/* What does not fit may be read in the ring itself by the encoding thread; the mover then
 * leaves it alone. */
static bool move_or_read(struct mz_user_rings *r, unsigned i, uint64_t n, bool direct)
{
	struct mz_user_ring *ring = &r->rings[i];

	if (!move_records(r, i, n)) {
		r->moved += n;
		release(r, i);
		return true;
	}
	r->spool.full = true;
	ring->direct = direct;
	ring->seen = direct ? ring->queue.put + n : ring->seen;
	return direct;
}

/* What had happened in this ring before the time returned can be read. */
static uint64_t move_ring(struct mz_user_rings *r, unsigned i, uint64_t now, bool direct)
{
	struct mz_user_ring *ring = &r->rings[i];
	uint64_t head = __atomic_load_n(&r->region->rings[i].head, __ATOMIC_ACQUIRE);

	if (!ring->direct &&
	    (head == ring->queue.put || move_or_read(r, i, head - ring->queue.put, direct)))
		ring->bound = now;
	return ring->bound;
}

/* With the lock. A record is there before its call returns (an allocation) or is
 * made (a free). So what is not there at this look comes before nothing that was
 * stamped before it: the time is taken first, then the rings are counted, then
 * they are looked at. */
static void move_all(struct mz_user_rings *r, bool direct)
{
	uint64_t now = now_clock(r), upto = now;
	uint32_t top;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	top = __atomic_load_n(&r->region->ring_top, __ATOMIC_ACQUIRE);
	__atomic_fetch_add(&r->region->heartbeat, 1, __ATOMIC_RELAXED);
	r->spool.full = false;
	for (uint32_t i = 0; i < top && i < MZ_RINGS; i++) {
		uint64_t first;

		if (__atomic_load_n(&r->region->rings[i].state, __ATOMIC_ACQUIRE) == MZ_RING_FREE)
			continue;
		first = move_ring(r, i, now, direct);
		upto = first < upto ? first : upto;
	}
	if (upto > r->moved_upto)
		r->moved_upto = upto;
}

static void *mover(void *arg)
{
	struct mz_user_rings *r = arg;

	while (!__atomic_load_n(&r->quit, __ATOMIC_ACQUIRE)) {
		struct timespec limit = {.tv_nsec = MOVE_NS};
		uint32_t bell;

		pthread_mutex_lock(&r->spool.lock);
		move_all(r, false);
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
	sigset_t all, before;
	int code;

	/* signals go to the thread that polls told_to_end */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	code = pthread_create(&r->mover, NULL, mover, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (code)
		return mz_fail(r->files->err, code, "cannot start a thread: %s", strerror(code));
	r->moving = true;
	return 0;
}

static void stop_moving(struct mz_user_rings *r)
{
	if (!r->moving)
		return;
	__atomic_store_n(&r->quit, true, __ATOMIC_RELEASE);
	__atomic_fetch_add(&r->region->bell, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &r->region->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	pthread_join(r->mover, NULL);
	r->moving = false;
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
	for (unsigned i = 0; i < MZ_RINGS; i++) {
		mz_spool_queue_free(&r->rings[i].queue);
		mz_user_told_free(&r->rings[i].stack);
	}
	mz_spool_close(&r->spool);
	for (unsigned i = 0; i < MZ_IMAGES; i++)
		if (r->images[i].used)
			mz_user_program_drop(&r->images[i]);
	if (r->region && r->region != MAP_FAILED)
		munmap(r->region, MZ_REGION_BYTES);
	if (r->fd >= 0)
		close(r->fd);
}

/* ---- looking at the spool -------------------------------------------------------- */

static void find_active(struct mz_user_rings *r, bool all)
{
	uint32_t top;

	set_clock(r);
	r->active_count = 0;
	pthread_mutex_lock(&r->spool.lock);
	move_all(r, true);
	/* counted after the move: all that moved_upto speaks of must be in the list */
	top = __atomic_load_n(&r->region->ring_top, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < top && i < MZ_RINGS; i++) {
		const struct mz_ring *ring = &r->region->rings[i];

		/* of an image that has just come: its file is not open yet */
		if (__atomic_load_n(&ring->state, __ATOMIC_ACQUIRE) == MZ_RING_FREE ||
		    ring->image >= MZ_IMAGES || !r->images[ring->image].used)
			continue;
		if (!r->rings[i].direct)
			r->rings[i].seen = r->rings[i].queue.put;
		if (r->rings[i].seen != r->rings[i].tail)
			r->active[r->active_count++] = i;
	}
	r->cut = all ? UINT64_MAX : r->moved_upto;
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
		release(r, i);
	}
	ring->direct = !over;
}

/* What was read: its room can be used again. */
static void mark_taken(struct mz_user_rings *r, bool over)
{
	uint32_t top = __atomic_load_n(&r->region->ring_top, __ATOMIC_ACQUIRE);

	pthread_mutex_lock(&r->spool.lock);
	for (uint32_t i = 0; i < top && i < MZ_RINGS; i++)
		take(r, i, over);
	pthread_mutex_unlock(&r->spool.lock);
	r->take_at = r->records + TAKE_EVERY;
}

const struct mz_record *mz_user_at(struct mz_user_rings *r, unsigned i, uint64_t n)
{
	struct mz_user_ring *ring = &r->rings[i];

	if (__builtin_expect(ring->direct && n >= ring->queue.put, 0))
		return &mz_ring_data(r->region, i)[n & (mz_ring_records(i) - 1)];
	return mz_spool_at(&r->spool, &ring->queue, n);
}

/* Whole, of half a clock: records of a ring are near each other. */
static uint64_t whole_time(const struct mz_user_ring *ring, const struct mz_record *rec)
{
	if (rec->type == MZ_REC_TIME)
		return rec->value;
	if (rec->type == MZ_CALL_FREE && !rec->value && !rec->time)
		return ring->time;
	return ring->time + (uint64_t)(int32_t)(rec->time - (uint32_t)ring->time);
}

uint64_t mz_user_first_time(struct mz_user_rings *r, unsigned i)
{
	struct mz_user_ring *ring = &r->rings[i];

	if (ring->next_of != ring->tail + 1) {
		const struct mz_record *rec = mz_user_at(r, i, ring->tail);

		/* what cannot be read is a loss, which is told at once */
		ring->next = rec ? whole_time(ring, rec) : 0;
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

/* Another thread is inside a realloc that gave this address back: its event
 * comes first. 1 = it has come, or there is none; 0 = it is not there yet. */
int mz_user_settle_realloc(struct mz_user_rings *r, unsigned self, uint64_t addr)
{
	uint32_t top = r->region->ring_top;

	for (unsigned i = 0; i < top && i < MZ_RINGS; i++) {
		struct mz_user_ring *ring = &r->rings[i];

		if (i == self || ring->old != addr ||
		    r->region->rings[i].image != r->region->rings[self].image)
			continue;
		while (ring->old == addr) {
			int ret;

			if (ring->tail == ring->seen)
				return r->cut == UINT64_MAX;
			ret = mz_user_unit(r, i);
			if (ret < 0)
				return ret;
		}
	}
	return 1;
}

/* Records of one ring, as long as no other ring has an earlier one. */
static int read_run(struct mz_user_rings *r, unsigned i, uint64_t upto)
{
	struct mz_user_ring *ring = &r->rings[i];
	int ret = 0;

	while (!ret && ring->tail != ring->seen && mz_user_first_time(r, i) <= upto && !r->blocked)
		ret = mz_user_unit(r, i);
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

long mz_user_rings_drain(struct mz_user_rings *r, bool all)
{
	uint64_t before = r->records;
	int ret = 0;

	find_active(r, all);
	r->blocked = false;
	while (!ret && r->active_count && !r->blocked) {
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
	return ret < 0 ? ret : (long)(r->records - before);
}

/* ---- images ---------------------------------------------------------------------- */

static bool has_ended(const struct mz_user_program *m)
{
	struct pollfd p = {.fd = m->pidfd, .events = POLLIN};

	if (m->pidfd < 0)
		return kill((pid_t)m->pid, 0) && errno == ESRCH;
	return poll(&p, 1, 0) > 0;
}

/* The same process has become another program: what it was is over. */
static void end_former(struct mz_user_rings *r, unsigned now)
{
	for (unsigned i = 0; i < MZ_IMAGES; i++)
		if (i != now && r->images[i].used && r->images[i].pid == r->images[now].pid)
			r->images[i].ended = true;
}

/* Rings of an image that has ended: read to their end, then free. */
static int finish_image(struct mz_user_rings *r, unsigned image)
{
	uint32_t top = __atomic_load_n(&r->region->ring_top, __ATOMIC_ACQUIRE);
	long n = mz_user_rings_drain(r, false);
	int ret;

	/* another round for records that wait for a realloc that was never finished */
	for (uint32_t i = 0; i < top && n >= 0; i++) {
		struct mz_ring *ring = &r->region->rings[i];

		if (ring->state == MZ_RING_FREE || ring->image != image)
			continue;
		n = mz_user_rings_drain(r, false);
		while (n >= 0 &&
		       r->rings[i].tail != __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE)) {
			struct timespec pause = {.tv_nsec = 200000};

			nanosleep(&pause, NULL);
			n = mz_user_rings_drain(r, false);
			if (!n && r->blocked)
				n = mz_user_rings_drain(r, true);
		}
		if (n >= 0)
			n = mz_user_untold(r, image, i);
		pthread_mutex_lock(&r->spool.lock);
		mz_user_ring_ended(r, i);
		__atomic_store_n(&ring->state, MZ_RING_FREE, __ATOMIC_RELEASE);
		pthread_mutex_unlock(&r->spool.lock);
	}
	ret = n < 0 ? (int)n : mz_user_missed(r, image);
	if (!ret)
		ret = mz_user_program_close(r->files, &r->images[image]);
	__atomic_store_n(&r->region->images[image].state, MZ_IMAGE_FREE, __ATOMIC_RELEASE);
	return ret;
}

int mz_user_rings_images(struct mz_user_rings *r)
{
	int left = 0, ret = 0;

	for (unsigned i = 0; i < MZ_IMAGES && !ret; i++) {
		struct mz_program_slot *from = &r->region->images[i];

		if (!r->images[i].used &&
		    __atomic_load_n(&from->state, __ATOMIC_ACQUIRE) == MZ_IMAGE_LIVE) {
			ret = mz_user_program_open(r->files, &r->images[i], from);
			end_former(r, i);
		}
	}
	for (unsigned i = 0; i < MZ_IMAGES && !ret; i++) {
		struct mz_user_program *m = &r->images[i];

		if (!m->used)
			continue;
		if (m->ended || has_ended(m))
			ret = finish_image(r, i);
		else
			left++;
	}
	return ret < 0 ? ret : left;
}

void mz_user_rings_sleep(struct mz_user_rings *r, long ns)
{
	struct timespec limit = {.tv_nsec = ns};
	uint32_t bell = __atomic_load_n(&r->region->bell, __ATOMIC_SEQ_CST);

	syscall(SYS_futex, &r->region->bell, FUTEX_WAIT, bell, &limit, NULL, 0);
}
