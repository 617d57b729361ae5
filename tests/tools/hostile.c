// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program that does to its recorder what it can: it maps the shared memory itself,
 * through the variable that the library uses, makes 1,000 blocks of 77 bytes, then
 * writes into the memory, and ends with status 7.
 *   hostile MODE [SEED]
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memorizer.h>
#include <uapi/memorizer/record.h>

static uint64_t noise;

static uint64_t random_number(void)
{
	noise ^= noise << 13;
	noise ^= noise >> 7;
	noise ^= noise << 17;
	return noise;
}

static struct mz_region *map(int *fd)
{
	char path[128];
	const char *env = getenv(MZ_REGION_ENV);
	void *p;

	snprintf(path, sizeof(path), "%s", env ? env : "");
	path[strcspn(path, ":")] = '\0';
	*fd = open(path, O_RDWR | O_CLOEXEC);
	p = mmap(NULL, MZ_REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

static void work(void)
{
	for (unsigned i = 0; i < 1000; i++) {
		void *p = malloc(77);

		__asm__ volatile("" : : "r"(p) : "memory");
		free(p);
	}
}

static unsigned mine(const struct mz_region *r)
{
	for (unsigned i = 0; i < MZ_RINGS; i++)
		if (r->rings[i].tid == (uint32_t)getpid())
			return i;
	return 0;
}

/* The recorder has read what this thread wrote: a head that is wrong later cannot hide it. */
static void wait_until_read(const struct mz_region *r)
{
	const struct mz_ring *ring = &r->rings[mine(r)];

	while (__atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) != ring->head)
		usleep(1000);
}

static void put(struct mz_region *r, unsigned ring, struct mz_record rec)
{
	struct mz_ring *to = &r->rings[ring];

	mz_ring_data(r, ring)[to->head & (mz_ring_records(ring) - 1)] = rec;
	__atomic_store_n(&to->head, to->head + 1, __ATOMIC_RELEASE);
}

/* Anything anywhere, for a while: in steps, so that the recorder looks in between. */
static void scribble(struct mz_region *r)
{
	for (unsigned i = 0; i < 400; i++) {
		uint64_t how = random_number(), at = random_number();
		uint64_t value = how & 1 ? random_number() : random_number() % 70000;

		if (how & 6)
			((uint64_t *)r)[at % (sizeof(*r) / 8)] = value;
		else
			((uint64_t *)r)[at % (MZ_REGION_BYTES / 8)] = value;
		if (how & 8)
			r->rings[at % 4].head += value % 300;
		if (how & 16)
			r->images[at % MZ_IMAGES].state = MZ_IMAGE_LIVE;
		if (i % 40 == 0)
			usleep(2000);
		r->stop = 0;
	}
}

static int act(struct mz_region *r, const char *mode, int fd)
{
	unsigned ring = mine(r);

	if (!strcmp(mode, "top"))
		r->ring_top = 1u << 30;
	else if (!strcmp(mode, "future"))
		put(r, ring, (struct mz_record){.type = MZ_REC_TIME, .value = 1ull << 62});
	else if (!strcmp(mode, "stack"))
		for (unsigned i = 0; i < 64; i++)
			put(r, ring,
			    (struct mz_record){
				    .type = MZ_REC_STACK, .size = 0, .value = (1u << 30) - 1 - i});
	else if (!strcmp(mode, "head"))
		r->rings[ring].head -= 1000000;
	else if (!strcmp(mode, "pid0"))
		r->images[5] = (struct mz_program_slot){.state = MZ_IMAGE_LIVE};
	else if (!strcmp(mode, "other"))
		r->images[5] = (struct mz_program_slot){.state = MZ_IMAGE_LIVE,
							.pid = (uint32_t)getppid()};
	else if (!strcmp(mode, "image"))
		r->rings[ring].image = 1u << 30;
	else if (!strcmp(mode, "cut"))
		return ftruncate(fd, 4096) ? 7 : 8;
	else if (!strcmp(mode, "random"))
		scribble(r);
	else
		return 2;
	return 7;
}

int main(int argc, char **argv)
{
	struct mz_region *r;
	int fd, status;

	noise = 88172645463325252ull ^
		(argc > 2 ? strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15u : 0);
	alarm(600); /* it waits for nobody for ever */
	work();
	r = argc > 1 ? map(&fd) : NULL;
	if (!r)
		return 9;
	wait_until_read(r);
	status = act(r, argv[1], fd);
	usleep(100000); /* the recorder may look; what it misses it finds at the end */
	_exit(status);
}
