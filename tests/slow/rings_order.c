// SPDX-License-Identifier: BSD-2-Clause
/*
 * Both sides of the rings in one process, with pauses (pauses.h): threads that
 * come and go pass blocks to each other and use their addresses again at once.
 * In the file each address must be given out and freed in turn. Prints how many
 * events were wrong; rings_order FILE SEED
 */
#include <memorizer.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/ring.h"
#include "record/user_rings.h"
#include "tests/slow/consume.h"

#define THREADS 100
#define WAVES	2
#define ROUNDS	20
#define PLACES	16
#define BLOCKS	(PLACES + 2 * THREADS + 1)

static struct mz_user_rings rings;
static _Atomic unsigned stop, started;
static uint64_t seed;
static _Atomic uint64_t places[PLACES], count;
static uint64_t pool[BLOCKS];
static unsigned pooled;
static atomic_flag pool_lock = ATOMIC_FLAG_INIT;
static __thread uint64_t state;
static __thread bool worker;

static uint64_t random_number(void)
{
	if (!state)
		state = seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du * ++count;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 11;
}

/* Of the recorder: until another ring has come, and is in use. */
static void wait_for_ring(void)
{
	volatile uint32_t *top = rings.region ? &rings.region->ring_top : NULL;
	uint32_t before = top ? *top : 0;

	for (unsigned i = 0; i < 20 && top && *top == before && !stop; i++)
		usleep(250);
	usleep(500);
}

void pause_here(void)
{
	uint64_t r = random_number();

	if (!worker && r % 32 == 0)
		wait_for_ring();
	else if (r % 256 == 0)
		usleep((unsigned)(r >> 20) % 400);
	else if (r % 8 == 1)
		sched_yield();
}

/* ---- an allocator: the address that was freed last is given out first -------- */

static uint64_t get(void)
{
	uint64_t addr;

	while (atomic_flag_test_and_set(&pool_lock))
		sched_yield();
	addr = pool[--pooled];
	atomic_flag_clear(&pool_lock);
	return addr;
}

static void put(uint64_t addr)
{
	while (atomic_flag_test_and_set(&pool_lock))
		sched_yield();
	pool[pooled++] = addr;
	atomic_flag_clear(&pool_lock);
}

static void append(uint8_t type, uint64_t addr)
{
	struct mz_thread *t = &mz_me;
	uint64_t time, at;

	if (!mz_on() || !mz_begin(t, 2) || !mz_stamp(t, 1, &time, &at))
		abort();
	mz_fill(mz_slot(t, at), time, type, 0, 1, addr);
	mz_end(t);
}

static uint64_t see_malloc(void)
{
	uint64_t addr = get();

	append(MZ_CALL_MALLOC, addr);
	return addr;
}

static void see_free(uint64_t addr)
{
	append(MZ_CALL_FREE, addr);
	if (addr)
		put(addr);
}

static uint64_t see_realloc(uint64_t old)
{
	uint64_t addr;

	append(MZ_REC_BEGIN, old);
	addr = get();
	put(old);
	append(MZ_CALL_REALLOC, addr);
	return addr;
}

static void *work(void *arg)
{
	worker = true;
	for (unsigned i = 0; i < ROUNDS || started < THREADS; i++) {
		uint64_t r = random_number(), p = atomic_exchange(&places[r % PLACES], 0);

		if (p && r / PLACES % 4 == 0)
			p = see_realloc(p);
		else
			see_free(p), p = see_malloc();
		see_free(atomic_exchange(&places[r / 64 % PLACES], p));
		if (i >= ROUNDS)
			usleep(1000); /* its ring stays in use until all have one */
	}
	return arg;
}

/* ---- the recorder -------------------------------------------------------------- */

static bool stopped(void)
{
	return stop;
}

static void *consume(void *arg)
{
	consume_rings(&rings, stopped);
	return arg;
}

static bool live[BLOCKS + 1];

/* 1 = it was not as it should be. */
static int becomes(uint64_t addr, bool now)
{
	uint64_t i = addr / 16;

	if (!addr)
		return 0;
	if (i > BLOCKS || live[i] == now)
		return 1;
	live[i] = now;
	return 0;
}

static int check(const char *path)
{
	struct mz_reader *r = mz_reader_open(path, NULL);
	unsigned long total = 0, wrong = 0;
	struct mz_event ev[512];
	long n;

	while (r && (n = mz_reader_read(r, ev, 512)) > 0)
		for (long i = 0; i < n; i++, total++) {
			if (ev[i].kind == MZ_REALLOC)
				wrong += (unsigned)becomes(ev[i].old_addr, false);
			wrong += (unsigned)becomes(ev[i].addr, ev[i].kind != MZ_FREE);
		}
	mz_reader_close(r);
	printf("%lu events, %lu wrong\n", total, wrong);
	return !total || wrong;
}

static int start(struct mz_user_files *files)
{
	struct stat st = {0};
	char region[96];

	if (mz_user_rings_init(&rings, -1, MZ_REGION_WAIT, 0, files) < 0)
		return -1;
	/* the clock that pauses can be put before and after */
	rings.tsc = false;
	rings.region->flags &= ~(uint32_t)MZ_REGION_TSC;
	rings.region->main_pid = (uint32_t)getpid();
	fstat(rings.fd, &st);
	snprintf(region, sizeof(region), "/proc/self/fd/%d:%ju", rings.fd, (uintmax_t)st.st_ino);
	setenv(MZ_REGION_ENV, region, 1);
	return mz_on() ? mz_user_rings_start(&rings) : -1;
}

int main(int argc, char **argv)
{
	struct mz_error err = {0};
	struct mz_user_files files = {
		.output = argc > 1 ? argv[1] : "o.cmt", .force = true, .err = &err};
	pthread_t reader, writers[THREADS];

	seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	while (pooled < BLOCKS)
		put(16 * (pooled + 1ull));
	if (start(&files) < 0)
		return 1;
	pthread_create(&reader, NULL, consume, NULL);
	for (unsigned w = 0; w < WAVES; w++) {
		/* one after the other: a new ring comes while the others are in use */
		started = 0;
		for (unsigned i = 0; i < THREADS; i++, started++) {
			pthread_create(&writers[i], NULL, work, NULL);
			usleep((unsigned)random_number() % 2000);
		}
		for (unsigned i = 0; i < THREADS; i++)
			pthread_join(writers[i], NULL);
	}
	stop = 1;
	pthread_join(reader, NULL);
	if (mz_user_rings_drain(&rings, true) < 0 || mz_user_rings_close(&rings) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	return check(files.output);
}
