// SPDX-License-Identifier: BSD-2-Clause
/*
 * Makes a KMAP, the same for the same arguments: kmapgen [-g 1|2|3] [-n OBJECTS]
 * [-a ACCESSES] [-s SEED] [-x] [-c CALLS]; -x: processes have hostile names. With -k
 * it prints the list of the symbols (as kallsyms) that its addresses belong to.
 *
 * Allocation sites differ in how often they are used, as in a kernel: few make most
 * objects. Each has its own set of code that touches what it allocates.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/random.h"

#define TEXT	0xffffffff81000000u
#define DATA	0xffffffff82000000u
#define MODULE	0xffffffffc0200000u
#define SPAN	256u /* bytes of a function */
#define SITES	4000u
#define FUNCS	20000u
#define GLOBALS 400u
#define PROCS	40u

static uint64_t seed = 1;

static const char *const hostile[] = {
	"a,b",	    "</script>", "x\\x2c\\x0a",	 "%s%n%d", "\"; DROP", "\033[31m",
	"\xff\xfe", "",		 "KMALLOC,evil", "' or 1",
};

static uint64_t below(uint64_t n)
{
	return random_below(&seed, n);
}

/* Small numbers are much more likely. */
static uint64_t skewed(uint64_t n)
{
	uint64_t a = below(n), b = below(n), c = below(n);

	return a * b / n * c / n;
}

static uint64_t code(uint64_t function, uint64_t offset)
{
	uint64_t base = function % 50 == 49 ? MODULE : TEXT;

	return base + function * SPAN + 16 + offset % 200;
}

static void comm(int hostile_names, uint64_t pid)
{
	if (hostile_names && pid % 3 == 0)
		printf("%s", hostile[pid / 3 % (sizeof(hostile) / sizeof(*hostile))]);
	else
		printf("proc%" PRIu64, pid % 7);
}

static void object(int shape, int names, uint64_t site, uint64_t pid, uint64_t i)
{
	static const char *const types[] = {"KMALLOC", "KMEM_CACHE", "ALLOC_PAGES", "VMALLOC"};
	uint64_t size = 8u << site % 9, born = 4294892926u + i / 50, fate = below(100);
	uint64_t dies = fate < 70 ? born + skewed(5000) : 0;
	uint64_t free_ip = !dies ? 0 : fate == 5 ? 0xdeadbeef : code(site * 3 % FUNCS, site);
	int global = site < 20;
	uint64_t alloc_ip = global ? 0 : code(site, site * 7);
	uint64_t va =
		global ? DATA + (i % GLOBALS) * 64 : 0xffff888000000000u + below(1u << 24) * 64;

	if (global)
		born = dies = free_ip = 0;
	printf("%016" PRIx64 ",%" PRIu64 ",%016" PRIx64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
	       ",%016" PRIx64 ",",
	       alloc_ip, pid, va, size, born, dies, free_ip);
	if (shape > 1)
		printf("%s,", global ? "GLOBAL" : types[site % 4]);
	comm(names, pid);
	if (shape > 1)
		printf(",%s%" PRIu64, site % 4 == 1 ? "cache_" : "kmalloc-",
		       site % 4 == 1 ? site % 90 : size);
	if (shape > 2)
		printf(",%s", global ? "GLOBAL" : types[site % 4]);
	putchar('\n');
}

static void access_line(int shape, uint64_t site, uint64_t k, uint64_t pid)
{
	uint64_t ip = code((site * 13 + k * k) % FUNCS, k * 5 + site), reads = 1 + skewed(100),
		 writes = 0;

	if (site % 11 == 3) {
		writes = reads; /* a class that is never read */
		reads = 0;
	} else if (k % 3 == 0) {
		writes = 1 + below(9);
	}
	if (shape == 1)
		printf("  %016" PRIx64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", ip, pid, writes,
		       reads);
	else if (shape == 2)
		printf("  %016" PRIx64 ",%" PRIu64 ",%" PRIu64 "\n", ip, writes, reads);
	else
		printf("  %016" PRIx64 ",%" PRIu64 ",%" PRIu64 ",%" PRId64 "\n", ip, writes, reads,
		       k % 17 == 16 ? (int64_t)-1 : (int64_t)pid);
}

static void accesses(int shape, uint64_t site, uint64_t n, uint64_t pid)
{
	for (uint64_t k = 0; k < n; k++) {
		uint64_t who = below(10) ? pid : below(PROCS);

		access_line(shape, site, k + skewed(3), who);
	}
}

static void symbols(void)
{
	for (uint64_t i = 0; i < FUNCS; i++)
		if (i % 50 != 49)
			printf("%016" PRIx64 " T fn_%" PRIu64 "\n", TEXT + i * SPAN, i);
	for (uint64_t i = 0; i < GLOBALS; i++)
		printf("%016" PRIx64 " D var_%" PRIu64 "\n", DATA + i * 64, i);
	for (uint64_t i = 49; i < FUNCS; i += 50)
		printf("%016" PRIx64 " t fn_%" PRIu64 "\t[mod%" PRIu64 "]\n", MODULE + i * SPAN, i,
		       i / 5000);
}

int main(int argc, char **argv)
{
	uint64_t objects = 1000, lines = 10000, done = 0, calls = 0;
	int shape = 1, names = 0, c;

	while ((c = getopt(argc, argv, "g:n:a:s:c:xk")) != -1) {
		switch (c) {
		case 'g': shape = atoi(optarg); break;
		case 'n': objects = strtoull(optarg, NULL, 10); break;
		case 'a': lines = strtoull(optarg, NULL, 10); break;
		case 's': seed = strtoull(optarg, NULL, 10); break;
		case 'c': calls = strtoull(optarg, NULL, 10); break;
		case 'x': names = 1; break;
		case 'k': symbols(); return 0;
		default: return 2;
		}
	}
	for (uint64_t i = 0; i < objects; i++) {
		uint64_t site = skewed(SITES), pid = below(PROCS),
			 want = lines * (i + 1) / objects - done;
		uint64_t n = below(8) ? want + below(3) : 0; /* some are never touched */

		object(shape, names, site, pid, i);
		if (n > lines - done)
			n = lines - done;
		accesses(shape, site, n, pid);
		done += n;
	}
	for (uint64_t i = 0; i < calls; i++)
		printf("%016" PRIx64 " %016" PRIx64 " %" PRIu64 "\n", code(skewed(FUNCS), i),
		       TEXT + skewed(FUNCS) * SPAN, 1 + below(1000));
	return fflush(stdout) ? 1 : 0;
}
