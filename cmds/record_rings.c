// SPDX-License-Identifier: BSD-2-Clause
#include "cmds/record_rings.h"

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
#include "cmds/record_events.h"

/* A thread's mark that it is busy may reach us this late. */
#define MARGIN_NS 20000u
/* A thread that stays busy this long jumped out of a signal handler. */
#define STUCK_NS 200000000u

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t now_clock(const struct record_rings *r)
{
#ifdef __x86_64__
	if (r->tsc)
		return __builtin_ia32_rdtsc();
#endif
	(void)r;
	return now_ns();
}

/* The line between the last two readings of both clocks. */
static void set_clock(struct record_rings *r)
{
	uint64_t clock = now_clock(r), ns = now_ns();

	if (ns - r->ns1 > 100000) {
		r->clock0 = r->clock1;
		r->ns0 = r->ns1;
	}
	r->clock1 = clock;
	r->ns1 = ns;
}

uint64_t record_time(const struct record_rings *r, uint64_t clock)
{
	double ns;

	if (!r->tsc)
		return clock > r->start_ns ? clock - r->start_ns : 0;
	ns = (double)(int64_t)(clock - r->clock0) * (double)(r->ns1 - r->ns0) /
	     (double)(r->clock1 - r->clock0);
	ns += (double)(r->ns0 - r->start_ns);
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

int record_rings_init(struct record_rings *r, int fd, uint32_t flags, uint32_t stack_depth,
		      struct record_files *files)
{
	struct timespec pause = {.tv_nsec = 1000000};

	*r = (struct record_rings){.files = files, .tsc = tsc_is_good()};
	r->fd = fd >= 0 ? fd : memfd_create("memorizer", MFD_CLOEXEC);
	if (r->fd < 0 || ftruncate(r->fd, (off_t)MZ_REGION_BYTES))
		return mz_fail(files->err, errno, "cannot make the shared memory: %s", strerror(errno));
	r->region = mmap(NULL, MZ_REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (r->region == MAP_FAILED)
		return mz_fail(files->err, errno, "cannot map the shared memory: %s", strerror(errno));
	r->region->version = MZ_REGION_VERSION;
	r->region->flags = flags | (r->tsc ? MZ_REGION_TSC : 0);
	r->region->stack_depth = stack_depth;
	r->region->recorder_pid = (uint32_t)getpid();
	r->region->magic = MZ_REGION_MAGIC;
	r->start_ns = r->ns1 = now_ns();
	r->clock1 = now_clock(r);
	nanosleep(&pause, NULL);
	set_clock(r);
	return 0;
}

void record_rings_deinit(struct record_rings *r)
{
	for (unsigned i = 0; i < MZ_IMAGES; i++)
		if (r->images[i].used)
			record_image_drop(&r->images[i]);
	if (r->region && r->region != MAP_FAILED)
		munmap(r->region, MZ_REGION_BYTES);
	if (r->fd >= 0)
		close(r->fd);
}

/* ---- looking at the rings ---------------------------------------------------- */

/* Nothing of this ring comes before the time that is returned. */
static uint64_t look_at(struct record_rings *r, unsigned i, uint64_t now)
{
	struct mz_ring *from = &r->region->rings[i];
	struct record_ring *ring = &r->rings[i];
	/* busy before head: what is published after this look is later than now */
	bool busy = __atomic_load_n(&from->busy, __ATOMIC_ACQUIRE);

	ring->seen = __atomic_load_n(&from->head, __ATOMIC_ACQUIRE);
	if (ring->seen != ring->tail)
		r->active[r->active_count++] = i;
	if (!busy || ring->seen != ring->tail)
		ring->stuck = 0;
	else if (!ring->stuck)
		ring->stuck = r->ns1;
	ring->open = busy && !(ring->stuck && r->ns1 - ring->stuck > STUCK_NS);
	return ring->open && ring->seen == ring->tail ? ring->last : now;
}

static void find_active(struct record_rings *r, bool all)
{
	uint32_t top = __atomic_load_n(&r->region->ring_top, __ATOMIC_ACQUIRE);
	uint64_t now;

	set_clock(r);
	now = r->clock1;
	if (r->tsc)
		now -= (uint64_t)((double)MARGIN_NS * (double)(r->clock1 - r->clock0) /
				  (double)(r->ns1 - r->ns0 ? r->ns1 - r->ns0 : 1));
	else
		now -= MARGIN_NS;
	r->active_count = 0;
	r->cut = now;
	for (uint32_t i = 0; i < top && i < MZ_RINGS; i++) {
		const struct mz_ring *ring = &r->region->rings[i];
		uint64_t upto;

		/* of an image that has just come: its file is not open yet */
		if (__atomic_load_n(&ring->state, __ATOMIC_ACQUIRE) == MZ_RING_FREE ||
		    ring->image >= MZ_IMAGES || !r->images[ring->image].used)
			continue;
		upto = look_at(r, i, now);
		if (upto < r->cut)
			r->cut = upto;
	}
	if (all) {
		r->cut = UINT64_MAX;
		for (unsigned i = 0; i < r->active_count; i++)
			r->rings[r->active[i]].open = false;
	}
}

static const struct mz_record *peek(const struct record_rings *r, unsigned i)
{
	return &mz_ring_data(r->region, i)[r->rings[i].tail & (mz_ring_records(i) - 1)];
}

/* ---- merging --------------------------------------------------------------------- */

/* The ring with the earliest record, as place in the active list, and the time
 * up to which no other ring has anything; -1 = none. */
static int earliest(const struct record_rings *r, uint64_t *others)
{
	uint64_t first = UINT64_MAX, second = UINT64_MAX;
	int best = -1;

	for (unsigned k = 0; k < r->active_count; k++) {
		uint64_t t = peek(r, r->active[k])->time;

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

static void release(struct record_rings *r, unsigned i)
{
	struct mz_ring *ring = &r->region->rings[i];

	__atomic_store_n(&ring->tail, r->rings[i].tail, __ATOMIC_RELEASE);
	__atomic_fetch_add(&ring->room, 1, __ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(&ring->waiting, 0, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &ring->room, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Another thread is inside a realloc that gave this address back: its event
 * comes first. 1 = it has come, or there is none; 0 = it is not there yet. */
int record_settle_realloc(struct record_rings *r, unsigned self, uint64_t addr)
{
	uint32_t top = r->region->ring_top;

	for (unsigned i = 0; i < top && i < MZ_RINGS; i++) {
		struct record_ring *ring = &r->rings[i];

		if (i == self || ring->old != addr ||
		    r->region->rings[i].image != r->region->rings[self].image)
			continue;
		while (ring->old == addr) {
			int ret;

			if (ring->tail == ring->seen)
				return r->cut == UINT64_MAX;
			ret = record_unit(r, i);
			if (ret < 0)
				return ret;
		}
		release(r, i);
	}
	return 1;
}

/* Records of one ring, as long as no other ring has an earlier one. */
static int read_run(struct record_rings *r, unsigned i, uint64_t upto)
{
	struct record_ring *ring = &r->rings[i];
	uint64_t quarter = ring->tail + mz_ring_records(i) / 4;
	int ret = 0;

	while (ring->tail != ring->seen && peek(r, i)->time <= upto && !r->blocked) {
		ret = record_unit(r, i);
		if (ret < 0)
			break;
		if ((int64_t)(ring->tail - quarter) >= 0) {
			release(r, i);
			quarter = ring->tail + mz_ring_records(i) / 4;
		}
	}
	release(r, i);
	return ret;
}

long record_rings_drain(struct record_rings *r, bool all)
{
	uint64_t before = r->records;
	int ret = 0;

	__atomic_fetch_add(&r->region->heartbeat, 1, __ATOMIC_RELAXED);
	find_active(r, all);
	r->blocked = false;
	while (!ret && r->active_count && !r->blocked) {
		uint64_t others;
		int k = earliest(r, &others);
		unsigned i = r->active[k];
		struct record_ring *ring = &r->rings[i];

		if (peek(r, i)->time > r->cut)
			break;
		ret = read_run(r, i, others < r->cut ? others : r->cut);
		if (ring->tail != ring->seen)
			continue;
		/* it may be in the middle of one more, with a time of its own */
		if (ring->open && ring->last < r->cut)
			r->cut = ring->last;
		r->active[k] = r->active[--r->active_count];
		/* settling a realloc may have emptied others too */
		for (unsigned j = 0; j < r->active_count;)
			if (r->rings[r->active[j]].tail == r->rings[r->active[j]].seen)
				r->active[j] = r->active[--r->active_count];
			else
				j++;
	}
	return ret < 0 ? ret : (long)(r->records - before);
}

/* ---- images ---------------------------------------------------------------------- */

static bool has_ended(const struct record_image *m)
{
	struct pollfd p = {.fd = m->pidfd, .events = POLLIN};

	if (m->pidfd < 0)
		return kill((pid_t)m->pid, 0) && errno == ESRCH;
	return poll(&p, 1, 0) > 0;
}

/* The same process has become another program: what it was is over. */
static void end_former(struct record_rings *r, unsigned now)
{
	for (unsigned i = 0; i < MZ_IMAGES; i++)
		if (i != now && r->images[i].used && r->images[i].pid == r->images[now].pid)
			r->images[i].ended = true;
}

/* Rings of an image that has ended: read to their end, then free. */
static int finish_image(struct record_rings *r, unsigned image)
{
	uint32_t top = __atomic_load_n(&r->region->ring_top, __ATOMIC_ACQUIRE);
	long n = record_rings_drain(r, false);
	int ret;

	/* another round for what hangs on an append that was never finished */
	for (uint32_t i = 0; i < top && n >= 0; i++) {
		struct mz_ring *ring = &r->region->rings[i];

		if (ring->state == MZ_RING_FREE || ring->image != image)
			continue;
		__atomic_store_n(&ring->busy, 0, __ATOMIC_RELEASE);
		n = record_rings_drain(r, false);
		while (n >= 0 && r->rings[i].tail != __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE)) {
			struct timespec pause = {.tv_nsec = 200000};

			nanosleep(&pause, NULL);
			n = record_rings_drain(r, false);
			if (!n && r->blocked)
				n = record_rings_drain(r, true);
		}
		if (n >= 0)
			n = record_untold(r, image, i);
		record_ring_ended(r, i);
		__atomic_store_n(&ring->state, MZ_RING_FREE, __ATOMIC_RELEASE);
	}
	ret = n < 0 ? (int)n : record_missed(r, image);
	if (!ret)
		ret = record_image_close(r->files, &r->images[image]);
	__atomic_store_n(&r->region->images[image].state, MZ_IMAGE_FREE, __ATOMIC_RELEASE);
	return ret;
}

int record_rings_images(struct record_rings *r)
{
	int left = 0, ret = 0;

	for (unsigned i = 0; i < MZ_IMAGES && !ret; i++) {
		struct mz_image *from = &r->region->images[i];

		if (!r->images[i].used &&
		    __atomic_load_n(&from->state, __ATOMIC_ACQUIRE) == MZ_IMAGE_LIVE) {
			ret = record_image_open(r->files, &r->images[i], from);
			end_former(r, i);
		}
	}
	for (unsigned i = 0; i < MZ_IMAGES && !ret; i++) {
		struct record_image *m = &r->images[i];

		if (!m->used)
			continue;
		if (m->ended || has_ended(m))
			ret = finish_image(r, i);
		else
			left++;
	}
	return ret < 0 ? ret : left;
}

void record_rings_sleep(struct record_rings *r, long ns)
{
	struct timespec limit = {.tv_nsec = ns};
	uint32_t bell = __atomic_load_n(&r->region->bell, __ATOMIC_SEQ_CST);

	__atomic_store_n(&r->region->asleep, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &r->region->bell, FUTEX_WAIT, bell, &limit, NULL, 0);
	__atomic_store_n(&r->region->asleep, 0, __ATOMIC_SEQ_CST);
}
