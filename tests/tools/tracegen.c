// SPDX-License-Identifier: BSD-2-Clause
/*
 * A generator of traces, for tests and benchmarks: the same options give the
 * same trace on every machine. By default the trace is valid for every tool
 * that ever read one: only malloc, realloc and free, nothing odd.
 *
 * Sizes and lifetimes are like those of programs: some sizes are hot, most
 * blocks die young, some live on. Addresses are like those of an allocator:
 * size classes, the block last freed is the next given, else the heap grows;
 * realloc stays in place while the class holds the size.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLASSES	  256
#define HOT	  24
#define PAGE	  4096u
#define HUGE_SIZE ((uint64_t)1 << 62)

struct made_block {
	uint64_t addr;
	uint64_t size;
	uint32_t class;
	bool mapped; /* by mmap, so that munmap must end it */
};

struct stack {
	uint64_t *addrs;
	size_t count, cap;
};

struct gen {
	uint64_t events, seed, live_max, threads;
	bool times, odd, unmatched, calls;
	uint64_t rng[2];
	struct made_block *live;
	size_t count;
	struct stack freed[CLASSES];
	uint64_t top; /* of the heap */
	uint64_t hot[HOT];
	uint64_t done; /* lines written */
	uint64_t time;
	uint32_t tid;
	char *out;
	size_t len;
};

#define OUT_SIZE (1u << 20)

static void die(const char *what)
{
	fprintf(stderr, "tracegen: %s\n", what);
	exit(1);
}

/* xorshift128+ */
static uint64_t rnd(struct gen *g)
{
	uint64_t a = g->rng[0], b = g->rng[1];

	g->rng[0] = b;
	a ^= a << 23;
	g->rng[1] = a ^ b ^ a >> 18 ^ b >> 5;
	return g->rng[1] + b;
}

static uint64_t below(struct gen *g, uint64_t n)
{
	return (uint64_t)(((unsigned __int128)rnd(g) * n) >> 64);
}

static bool chance(struct gen *g, unsigned per_mille)
{
	return below(g, 1000) < per_mille;
}

/* 1 .. 2^bits, every order of magnitude as likely as any other. */
static uint64_t spread(struct gen *g, unsigned bits)
{
	unsigned b = (unsigned)below(g, bits);

	return ((uint64_t)1 << b) + below(g, (uint64_t)1 << b);
}

static uint64_t any_size(struct gen *g)
{
	unsigned r = (unsigned)below(g, 1000);

	if (r < 800) {
		/* the first of the hot sizes are the hottest */
		uint64_t i = spread(g, 5) - 1;

		return g->hot[i % HOT];
	}
	if (r < 990)
		return spread(g, 12);
	return r < 999 ? spread(g, 17) : spread(g, 21);
}

/* ---- the allocator ------------------------------------------------------ */

/* Steps of 16 to 1024, then four to a power of two. */
static uint32_t class_of(uint64_t size)
{
	unsigned bits;

	if (size <= 1024)
		return size ? (uint32_t)((size - 1) / 16) : 0;
	bits = 63 - (unsigned)__builtin_clzll(size - 1);
	return 64 + (bits - 10) * 4 + (uint32_t)((size - 1) >> (bits - 2) & 3);
}

static uint64_t class_size(uint32_t class)
{
	unsigned bits;

	if (class < 64)
		return (class + 1) * 16;
	bits = (class - 64) / 4 + 10;
	return (4 + (class - 64) % 4 + 1) * ((uint64_t)1 << (bits - 2));
}

static uint64_t take_addr(struct gen *g, uint32_t class, uint64_t align)
{
	struct stack *s = &g->freed[class];
	uint64_t addr;

	if (s->count && !(s->addrs[s->count - 1] & (align - 1)))
		return s->addrs[--s->count];
	addr = (g->top + align - 1) & ~(align - 1);
	g->top = addr + class_size(class) + 16; /* the allocator's header */
	return addr;
}

static void give_addr(struct gen *g, uint32_t class, uint64_t addr)
{
	struct stack *s = &g->freed[class];

	if (s->count == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 64;
		s->addrs = realloc(s->addrs, s->cap * sizeof(*s->addrs));
		if (!s->addrs)
			die("out of memory");
	}
	s->addrs[s->count++] = addr;
}

/* ---- lines -------------------------------------------------------------- */

static void flush(struct gen *g)
{
	size_t done = 0;

	while (done < g->len) {
		ssize_t n = write(STDOUT_FILENO, g->out + done, g->len - done);

		if (n < 0)
			die(strerror(errno));
		done += (size_t)n;
	}
	g->len = 0;
}

static void text(struct gen *g, const char *s)
{
	size_t n = strlen(s);

	memcpy(g->out + g->len, s, n);
	g->len += n;
}

static void number(struct gen *g, uint64_t v, unsigned base)
{
	char digits[20];
	unsigned n = 0;

	do
		digits[n++] = "0123456789abcdef"[v % base];
	while (v /= base);
	while (n)
		g->out[g->len++] = digits[--n];
}

static void end_line(struct gen *g)
{
	if (g->times) {
		g->time += spread(g, 14);
		text(g, " time=");
		number(g, g->time, 10);
	}
	if (g->threads) {
		if (chance(g, 20))
			g->tid = (uint32_t)below(g, g->threads);
		text(g, " tid=");
		number(g, 1000 + g->tid, 10);
	}
	g->out[g->len++] = '\n';
	g->done++;
	if (g->len > OUT_SIZE - 1024)
		flush(g);
}

/* The call up to its last argument: name(first, or name( */
static void begin_call(struct gen *g, const char *name)
{
	text(g, name);
	text(g, "(");
}

static void end_call(struct gen *g, uint64_t result)
{
	text(g, ") = ");
	number(g, result, 16);
	end_line(g);
}

static void say_malloc(struct gen *g, uint64_t size, uint64_t addr)
{
	begin_call(g, "malloc");
	number(g, size, 10);
	end_call(g, addr);
}

static void say_realloc(struct gen *g, uint64_t old, uint64_t size, uint64_t addr)
{
	begin_call(g, "realloc");
	number(g, old, 16);
	text(g, ", ");
	number(g, size, 10);
	end_call(g, addr);
}

static void say_free(struct gen *g, uint64_t addr)
{
	begin_call(g, "free");
	number(g, addr, 16);
	text(g, ")");
	end_line(g);
}

/* ---- events ------------------------------------------------------------- */

/* A live block, mostly a young one; blocks are kept roughly by age. */
static size_t choose(struct gen *g)
{
	uint64_t back;

	if (chance(g, 100))
		return below(g, g->count);
	if (chance(g, 500))
		back = below(g, 12);
	else
		back = spread(g, 64 - (unsigned)__builtin_clzll(g->count)) - 1;
	return g->count - 1 - back % g->count;
}

static void drop(struct gen *g, size_t i)
{
	g->live[i] = g->live[--g->count];
}

static struct made_block *add(struct gen *g, uint64_t size, uint64_t align)
{
	struct made_block *b = &g->live[g->count++];

	b->size = size;
	b->class = class_of(size);
	b->addr = take_addr(g, b->class, align);
	b->mapped = false;
	return b;
}

/* The calls that the originals do not know. */
static void do_other_alloc(struct gen *g)
{
	static const char *const aligned[] = {"aligned_alloc", "memalign", "posix_memalign"};
	uint64_t size = any_size(g), n = spread(g, 5), align = (uint64_t)16 << below(g, 9);
	struct made_block *b;

	switch (below(g, 5)) {
	case 0:
		b = add(g, n * size, 16);
		begin_call(g, "calloc");
		number(g, n, 10);
		text(g, ", ");
		break;
	case 1:
		b = add(g, size, align);
		begin_call(g, aligned[below(g, 3)]);
		number(g, align, 10);
		text(g, ", ");
		break;
	case 2:
		size = (size + PAGE - 1) / PAGE * PAGE;
		b = add(g, size, PAGE);
		b->mapped = true;
		begin_call(g, "mmap");
		break;
	default: b = add(g, size, PAGE); begin_call(g, chance(g, 500) ? "valloc" : "pvalloc");
	}
	number(g, size, 10);
	end_call(g, b->addr);
}

static void do_alloc(struct gen *g)
{
	struct made_block *b;

	if (g->calls && chance(g, 150)) {
		do_other_alloc(g);
		return;
	}
	b = add(g, any_size(g), 16);
	say_malloc(g, b->size, b->addr);
}

static void do_free(struct gen *g)
{
	size_t i = choose(g);
	struct made_block b = g->live[i];

	drop(g, i);
	give_addr(g, b.class, b.addr);
	if (g->unmatched && chance(g, 10))
		return; /* the trace missed it */
	if (!b.mapped) {
		say_free(g, b.addr);
		return;
	}
	begin_call(g, "munmap");
	number(g, b.addr, 16);
	text(g, ", ");
	number(g, b.size, 10);
	text(g, ")");
	end_line(g);
}

/* Blocks that are realloced mostly grow. */
static uint64_t new_size(struct gen *g, uint64_t size)
{
	if (size > 1u << 20 || chance(g, 150))
		return 1 + below(g, size);
	return chance(g, 500) ? size * 2 : size + spread(g, 8);
}

static void do_realloc(struct gen *g)
{
	size_t i = choose(g);
	struct made_block *b = &g->live[i];
	uint64_t old = b->addr, size = new_size(g, b->size ? b->size : 1);
	uint32_t class = class_of(size);

	if (b->mapped)
		return;
	if (class != b->class) {
		b->addr = take_addr(g, class, 16);
		give_addr(g, b->class, old);
		b->class = class;
	}
	b->size = size;
	if (!g->calls || chance(g, 800)) {
		say_realloc(g, old, size, b->addr);
		return;
	}
	begin_call(g, "reallocarray");
	number(g, old, 16);
	text(g, ", 1, ");
	number(g, size, 10);
	end_call(g, b->addr);
}

/* Legal, but not what most readers expect. */
static void do_odd(struct gen *g)
{
	size_t i = g->count ? choose(g) : 0;
	struct made_block *b;

	switch (below(g, g->count && !g->live[i].mapped ? 6 : 3)) {
	case 0: say_free(g, 0); break;
	case 1: say_malloc(g, HUGE_SIZE, 0); break;
	case 2:
		b = add(g, any_size(g), 16);
		say_realloc(g, 0, b->size, b->addr);
		break;
	case 3:
		b = add(g, 0, 16);
		say_malloc(g, 0, b->addr);
		break;
	case 4: say_realloc(g, g->live[i].addr, HUGE_SIZE, 0); break;
	case 5:
		b = &g->live[i];
		say_realloc(g, b->addr, 0, 0);
		give_addr(g, b->class, b->addr);
		drop(g, i);
		break;
	}
}

/* Frees of blocks that the trace never saw. */
static void do_unmatched(struct gen *g)
{
	uint64_t never = 0x10000 + below(g, 4096) * 16;

	if (chance(g, 700)) {
		say_free(g, never);
	} else {
		struct made_block *b = add(g, any_size(g), 16);

		say_realloc(g, never, b->size, b->addr);
	}
}

static void one_event(struct gen *g)
{
	unsigned r = (unsigned)below(g, 1000);
	unsigned allocs = g->count < g->live_max ? 480 : 440;

	if (g->odd && chance(g, 20))
		do_odd(g);
	else if (g->unmatched && chance(g, 10))
		do_unmatched(g);
	else if (r < allocs || !g->count)
		do_alloc(g);
	else if (r < allocs + 80)
		do_realloc(g);
	else
		do_free(g);
}

static void generate(struct gen *g)
{
	for (size_t i = 0; i < HOT; i++)
		g->hot[i] = chance(g, 800) ? 8 * spread(g, 6) : spread(g, 10);
	while (g->done < g->events) {
		if (g->count + 2 > g->live_max * 2 + 64)
			do_free(g); /* the table is full */
		else
			one_event(g);
	}
	flush(g);
}

static void usage(void)
{
	fputs("usage: tracegen [-n EVENTS] [-s SEED] [-l LIVE] [-t THREADS] [--times] [--odd]\n"
	      "                [--unmatched] [--calls]\n"
	      "  -n EVENTS    how many (4,000,000)\n"
	      "  -s SEED      another seed, another trace (1)\n"
	      "  -l LIVE      about how many blocks are live at once (20,000)\n"
	      "  -t THREADS   add tid=, of so many threads\n"
	      "  --times      add time=\n"
	      "  --odd        malloc(0), realloc(0, n), realloc(p, 0), free(0), failed calls\n"
	      "  --unmatched  missed frees, frees of unknown blocks\n"
	      "  --calls      calloc, mmap and the other calls too\n",
	      stderr);
	exit(2);
}

static uint64_t value(const char *s)
{
	char *end;
	unsigned long long v = strtoull(s, &end, 10);

	if (*end || *s < '0' || *s > '9')
		usage();
	return v;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {{"times", 0, NULL, 'T'},
					      {"odd", 0, NULL, 'O'},
					      {"unmatched", 0, NULL, 'U'},
					      {"calls", 0, NULL, 'C'},
					      {0}};
	struct gen g = {.events = 4000000, .seed = 1, .live_max = 20000, .top = 0x800600000};
	int c;

	while ((c = getopt_long(argc, argv, "n:s:l:t:", longs, NULL)) != -1) {
		switch (c) {
		case 'n': g.events = value(optarg); break;
		case 's': g.seed = value(optarg); break;
		case 'l': g.live_max = value(optarg); break;
		case 't': g.threads = value(optarg); break;
		case 'T': g.times = true; break;
		case 'O': g.odd = true; break;
		case 'U': g.unmatched = true; break;
		case 'C': g.calls = true; break;
		default: usage();
		}
	}
	if (optind < argc || g.live_max > 1u << 28)
		usage();
	g.rng[0] = g.seed * 0x9e3779b97f4a7c15u + 1;
	g.rng[1] = g.seed ^ 0xd1b54a32d192ed03u;
	for (int i = 0; i < 16; i++)
		rnd(&g);
	g.live = malloc((g.live_max * 2 + 128) * sizeof(*g.live));
	g.out = malloc(OUT_SIZE);
	if (!g.live || !g.out)
		die("out of memory");
	generate(&g);
	for (int i = 0; i < CLASSES; i++)
		free(g.freed[i].addrs);
	free(g.live);
	free(g.out);
	return 0;
}
