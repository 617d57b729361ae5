// SPDX-License-Identifier: BSD-2-Clause
/* Join a recording: find the region, claim a place for this program, and leave again. */
#include "join.h"

#include "region.h"
#include "ring.h"
#include "stack.h"
#include "system.h"
#include "thin.h"

#include <string.h>
#include <sys/auxv.h>

struct mz_region *mz_region;
bool mz_use_tsc;
uint32_t mz_generation;

/* A C library before 2.32 does not say. */
extern char __libc_single_threaded __attribute__((weak));
static const char unknown_threads;
const char *mz_single_threaded = &unknown_threads;

static uint32_t early_alive;
volatile uint32_t *mz_alive = &early_alive;

uint32_t mz_my_image;
static uint32_t my_pid;
static bool counts_missed; /* recording has stopped, but the recorder is told how much it misses */

/* The program's path with the name that it was started by: several programs may share one file
 * and look at the name by which they were called. */
static void put_path(char *path, size_t size)
{
	const char *called = (const char *)getauxval(AT_EXECFN), *name, *slash;
	ssize_t n = mz_readlink("/proc/self/exe", path, size - 1);
	struct stat a, b;

	path[n < 0 ? 0 : n] = '\0';
	/* without /proc there is only that name */
	if (n < 0 && called && strlen(called) < size)
		strcpy(path, called);
	/* for a script, this is the name of the script, but its interpreter runs */
	if (!called || mz_stat(called, &a) || mz_stat("/proc/self/exe", &b) ||
	    a.st_ino != b.st_ino || a.st_dev != b.st_dev)
		return;
	name = strrchr(called, '/');
	name = name ? name + 1 : called;
	slash = strrchr(path, '/');
	n = slash ? slash + 1 - path : 0;
	if ((size_t)n + strlen(name) < size)
		strcpy(path + n, name);
}

/* A program other than the requested one: it is not recorded, but reported. */
static void tell_alone(void)
{
	uint32_t i = __atomic_fetch_add(&mz_region->alone, 1, __ATOMIC_RELAXED);
	char name[16] = "";

	mz_thread_name(name);
	if (i < MZ_ALONE_NAMES)
		memcpy(mz_region->alone_names[i], name, sizeof(name));
}

/* SIZE RESIDENT SHARED ..., in pages. */
static uint64_t anonymous_bytes(void)
{
	int fd = mz_open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	uint64_t v[3] = {0};
	char buf[128] = "";
	unsigned n = 0;

	if (fd < 0 || mz_read(fd, buf, sizeof(buf) - 1) < 0)
		buf[0] = '\0';
	if (fd >= 0)
		mz_close(fd);
	for (const char *p = buf; *p && n < 3; p++) {
		if (*p >= '0' && *p <= '9')
			v[n] = v[n] * 10 + (uint64_t)(*p - '0');
		else
			n++;
	}
	return v[1] > v[2] ? (v[1] - v[2]) * getauxval(AT_PAGESZ) : 0;
}

void mz_tell_end(void)
{
	if (*mz_alive >= MZ_ALIVE_ON && mz_region)
		__atomic_store_n(&mz_region->images[mz_my_image].anonymous, anonymous_bytes(),
				 __ATOMIC_RELAXED);
}

void mz_tell_blind(uint32_t what)
{
	__atomic_fetch_or(&mz_region->images[mz_my_image].blind, what, __ATOMIC_RELAXED);
}

/* A child of vfork() shares this memory, but is not this program. */
bool mz_tell_exec(bool begins)
{
	if (*mz_alive < MZ_ALIVE_ON || !mz_region || mz_getpid() != my_pid)
		return mz_fork_execs(begins);
	__atomic_store_n(&mz_region->images[mz_my_image].becomes,
			 !begins	      ? MZ_BECOMES_NOTHING
			 : mz_region_barred() ? MZ_BECOMES_BARRED
					      : MZ_BECOMES_ANOTHER,
			 __ATOMIC_RELEASE);
	return true;
}

static bool claim_image(uint32_t parent)
{
	for (uint32_t i = 0; i < MZ_IMAGES; i++) {
		struct mz_program_slot *m = &mz_region->images[i];
		uint32_t want = MZ_IMAGE_FREE;

		if (__atomic_load_n(&m->state, __ATOMIC_RELAXED) != MZ_IMAGE_FREE ||
		    !__atomic_compare_exchange_n(&m->state, &want, MZ_IMAGE_CLAIMED, false,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		m->pid = my_pid = mz_getpid();
		m->parent = parent;
		m->missed = 0;
		m->left = MZ_LEFT_NOT;
		m->blind = 0;
		m->anonymous = 0;
		m->becomes = 0;
		m->waits = m->waited = m->longest = 0;
		if (mz_region->flags & MZ_REGION_USERS)
			mz_region_keep();
		m->locked = mz_region_lock(i);
		m->start = mz_clock();
		put_path(m->path, sizeof(m->path));
		__atomic_store_n(&m->state, MZ_IMAGE_LIVE, __ATOMIC_RELEASE);
		mz_my_image = i;
		__atomic_fetch_add(&mz_generation, 1, __ATOMIC_RELAXED);
		mz_ring_bell();
		return true;
	}
	__atomic_fetch_add(&mz_region->refused, 1, __ATOMIC_RELAXED);
	return false;
}

/* A page that is 0 again in a child, whichever call forked it. */
static void make_alive_page(void)
{
	void *p = mz_own_map(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	if (p == MAP_FAILED)
		return;
	if (mz_madvise(p, 4096, MADV_WIPEONFORK)) {
		mz_own_unmap(p, 4096);
		return;
	}
	if (&__libc_single_threaded)
		mz_single_threaded = &__libc_single_threaded;
	mz_alive = p;
}

static uint32_t recorders; /* recorders that attached after the first */

static void forget_ring(struct mz_thread *t)
{
	*t = (struct mz_thread){.hidden = t->hidden,
				.stack_top = t->stack_top,
				.stack_low = t->stack_low,
				.stack_whole = t->stack_whole};
}

void mz_leave(uint32_t why)
{
	struct mz_program_slot *m = &mz_region->images[mz_my_image];

	__atomic_store_n(&m->left, why, __ATOMIC_RELAXED);
	counts_missed = true;
	*mz_alive = MZ_ALIVE_OFF;
}

void mz_come_back(uint32_t alive)
{
	counts_missed = false;
	__atomic_store_n(&mz_region->images[mz_my_image].left, MZ_LEFT_NOT, __ATOMIC_RELAXED);
	*mz_alive = alive;
}

/* Return the memory of a region. Its addresses stay reserved: threads that still read them find
 * zeros, as in a region without a reader. */
static void give_back(struct mz_region *region)
{
	mz_own_map(region, MZ_REGION_BYTES, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1);
}

/* The recorder is gone, and another one may attach. */
void mz_forget_region(void)
{
	*mz_alive = MZ_ALIVE_OFF;
	mz_region_unlock();
	give_back(mz_region);
}

bool mz_on_slow(uint32_t alive)
{
	if (alive == MZ_ALIVE_UNKNOWN)
		return mz_attach();
	if (alive == MZ_ALIVE_OFF) {
		if (counts_missed)
			__atomic_fetch_add(&mz_region->images[mz_my_image].missed, 1,
					   __ATOMIC_RELAXED);
		return false;
	}
	forget_ring(&mz_me);
	mz_me.alive = alive;
	return true;
}

bool mz_attach(void)
{
	static uint32_t attaching; /* in a child too: the thread that forked was not here */
	int saved = errno;
	uint32_t none = 0, state = MZ_ALIVE_OFF;
	bool forked = mz_region;

	if (mz_sandboxed) {
		/* a child of a program in a sandbox: no system call of ours; the events that the
		 * parent misses are not its own */
		if (forked && (mz_region->flags & MZ_REGION_FORKS))
			__atomic_fetch_add(&mz_region->sandboxed, 1, __ATOMIC_RELAXED);
		counts_missed = false;
		mz_me.alive = MZ_ALIVE_OFF;
		*mz_alive = MZ_ALIVE_OFF;
		return false;
	}
	if (!__atomic_compare_exchange_n(&attaching, &none, 1, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	if (forked) {
		mz_stack_forget();
		mz_region_forked();
		counts_missed = false;
	} else {
		make_alive_page();
		mz_region = mz_region_map();
	}
	forget_ring(&mz_me);
	if (mz_region && !mz_sandboxed && !mz_region->stop && mz_alive != &early_alive) {
		uint32_t pid = mz_getpid();

		mz_use_tsc = mz_region->flags & MZ_REGION_TSC;
		mz_thinned |= mz_region->thin != 0;
		if (((mz_region->flags & MZ_REGION_FORKS) || pid == mz_region->main_pid) &&
		    claim_image(forked ? mz_my_image : MZ_IMAGES))
			state = MZ_ALIVE_ON + recorders;
		else if (!forked && mz_region->main_pid && pid != mz_region->main_pid &&
			 !(mz_region->flags & MZ_REGION_FORKS))
			tell_alone();
		else if (forked && pid != mz_region->main_pid)
			mz_count_child(pid);
	}
	if (state != MZ_ALIVE_OFF) {
		mz_see_thread_exits();
		mz_see_forks();
	}
	mz_me.alive = state;
	*mz_alive = state;
	__atomic_store_n(&attaching, 0, __ATOMIC_RELEASE);
	errno = saved;
	return state != MZ_ALIVE_OFF;
}

bool mz_attach_to(struct mz_region *region)
{
	struct mz_region *old = mz_region;

	if (mz_alive == &early_alive)
		make_alive_page();
	if (mz_alive == &early_alive)
		return false;
	/* threads that still have a ring of the previous recorder must not use it with this region
	 */
	*mz_alive = MZ_ALIVE_OFF;
	mz_stack_restart();
	counts_missed = false;
	mz_region = region;
	mz_use_tsc = region->flags & MZ_REGION_TSC;
	mz_thinned |= region->thin != 0;
	recorders++;
	if (!claim_image(MZ_IMAGES)) {
		mz_region = old; /* the caller unmaps the other */
		return false;
	}
	mz_see_thread_exits();
	mz_see_forks();
	__atomic_store_n(mz_alive, MZ_ALIVE_ON + recorders, __ATOMIC_RELEASE);
	if (old)
		give_back(old);
	return true;
}
