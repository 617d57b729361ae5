// SPDX-License-Identifier: BSD-2-Clause
/*
 * Both sides of the rings in one process, for ThreadSanitizer: threads that come
 * and go append records as the library does, and the recorder reads them into a
 * file. Each record carries its thread's count, which the reading side checks.
 */
#include <memorizer.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/region.h"
#include "preload/ring.h"
#include "preload/stack.h"
#include "record/user_rings.h"
#include "tests/slow/consume.h"

#define THREADS 6
#define WAVES	5
#define EVENTS	20000

static struct mz_user_rings rings;
static int stop;

static void *produce(void *arg)
{
	uint64_t id = (uintptr_t)arg;

	for (uint64_t i = 0; i < EVENTS; i++) {
		struct mz_thread *t = &mz_me;
		uint64_t time, at, addr = (id << 40) + 16 * (i + 1);

		if (!mz_on() || !mz_begin(t, 2) || !mz_stamp(t, 1, &time, &at))
			abort();
		mz_fill(mz_slot(t, at), time, MZ_CALL_MALLOC, 0, (uint16_t)(i + 1), addr);
		mz_end(t);
	}
	return NULL;
}

static bool stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_ACQUIRE);
}

static void *consume(void *arg)
{
	consume_rings(&rings, stopped);
	return arg;
}

/* Several threads may notice at once that the recorder is gone. */
static void *unlock(void *arg)
{
	mz_region_unlock();
	return arg;
}

static void unlock_in_all(void)
{
	pthread_t t[THREADS];

	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, unlock, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static int check(const char *path)
{
	struct mz_reader *r = mz_reader_open(path, NULL);
	static uint64_t next[THREADS * WAVES];
	struct mz_event ev[512];
	uint64_t total = 0;
	long n;

	while (r && (n = mz_reader_read(r, ev, 512)) > 0)
		for (long i = 0; i < n; i++, total++) {
			uint64_t id = ev[i].addr >> 40;

			if (ev[i].kind != MZ_ALLOC || id >= THREADS * WAVES ||
			    ev[i].size != ++next[id])
				return 1;
		}
	mz_reader_close(r);
	return total != (uint64_t)THREADS * WAVES * EVENTS;
}

int main(int argc, char **argv)
{
	struct mz_error err = {0};
	struct mz_user_files files = {
		.output = argc > 1 ? argv[1] : "t.cmt", .force = true, .err = &err};
	pthread_t reader, writers[THREADS];
	struct stat st = {0};
	char region[96];

	if (mz_user_rings_init(&rings, -1, MZ_REGION_WAIT, 0, &files) < 0)
		return 1;
	rings.region->main_pid = (uint32_t)getpid();
	fstat(rings.fd, &st);
	snprintf(region, sizeof(region), "/proc/self/fd/%d:%ju", rings.fd, (uintmax_t)st.st_ino);
	setenv(MZ_REGION_ENV, region, 1);
	if (!mz_on() || mz_user_rings_start(&rings) < 0)
		return 1;
	pthread_create(&reader, NULL, consume, NULL);
	for (uintptr_t w = 0; w < WAVES; w++) {
		for (uintptr_t i = 0; i < THREADS; i++)
			pthread_create(&writers[i], NULL, produce, (void *)(w * THREADS + i));
		for (unsigned i = 0; i < THREADS; i++)
			pthread_join(writers[i], NULL);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	pthread_join(reader, NULL);
	if (mz_user_rings_drain(&rings, true) < 0 || mz_user_rings_close(&rings) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	unlock_in_all();
	return check(files.output);
}
