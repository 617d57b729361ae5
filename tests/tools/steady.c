// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program to attach to, with known counts. It waits for letters on standard
 * input, does what they say, and answers each with a line:
 *   steady THREADS
 *   w  each thread: 23 calls of every kind, all freed again
 *   f  free the 23 blocks of 55 bytes that it made at its start
 *   l  load ./late.so and call its late(), which is its own affair
 *   s  spin until the next letter: no call that waits, 23 mallocs of 66 bytes a round
 *   q  quit, with status 7 if errno, signals and registers are what they were
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tools/keep.h"

#define N 23

static pthread_barrier_t begin, end;
static bool over;

static void one_round(void)
{
	void *p[9] = {
		keep(malloc(77)),
		keep(calloc(7, 11)),
		keep(realloc(keep(NULL), 78)),
		keep(reallocarray(NULL, 7, 12)),
		keep(aligned_alloc(64, 64)),
		keep(memalign(128, 79)),
		keep(posix(256, 80)),
		keep(valloc(81)),
		keep(pvalloc(82)),
	};

	for (unsigned i = 0; i < 9; i++)
		free(p[i]);
}

static void *work(void *arg)
{
	for (;;) {
		pthread_barrier_wait(&begin);
		if (over)
			return arg;
		for (unsigned i = 0; i < N; i++)
			one_round();
		pthread_barrier_wait(&end);
	}
}

static void call_late(void)
{
	void *h = dlopen("./late.so", RTLD_NOW);
	void (*late)(void) = NULL;

	if (h)
		*(void **)&late = dlsym(h, "late");
	if (late)
		late();
}

static bool more(void)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};

	return poll(&in, 1, 0) > 0;
}

static void spin(void)
{
	for (unsigned long n = 1; n % 256 || !more(); n++) {
		void *p[N];

		for (unsigned i = 0; i < N; i++)
			p[i] = keep(malloc(66));
		for (unsigned i = 0; i < N; i++)
			free(p[i]);
	}
}

static void say(const char *what)
{
	if (write(1, what, strlen(what)) < 0)
		_exit(1);
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 4;
	pthread_t ids[64];
	void *early[N];
	sigset_t before = {0}, after = {0};
	bool same = false;
	char c = 0;

	if (!threads || threads > 64)
		return 2;
	for (unsigned i = 0; i < N; i++)
		early[i] = keep(malloc(55));
	pthread_barrier_init(&begin, NULL, threads + 1);
	pthread_barrier_init(&end, NULL, threads + 1);
	for (unsigned i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, work, NULL))
			return 1;
	sigprocmask(SIG_SETMASK, NULL, &before);
	errno = 4242;
	say("ready\n");
	while (c != 'q' && read(0, &c, 1) == 1) {
		same = errno == 4242;
		if (c == 'w') {
			pthread_barrier_wait(&begin);
			pthread_barrier_wait(&end);
		}
		for (unsigned i = 0; i < N && c == 'f'; i++)
			free(early[i]);
		if (c == 'l')
			call_late();
		if (c == 's')
			spin();
		errno = same ? 4242 : errno;
		if (c != '\n')
			say("done\n");
	}
	over = true;
	pthread_barrier_wait(&begin);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	sigprocmask(SIG_SETMASK, NULL, &after);
	return same && !memcmp(&before, &after, sizeof(before)) ? 7 : 8;
}
