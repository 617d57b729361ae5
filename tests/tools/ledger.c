// SPDX-License-Identifier: BSD-2-Clause
/*
 * Allocates what its arguments say, and nothing else: ledger KEPT TEMPORARY [EXTRA].
 * keep() makes KEPT blocks of 1, 2, 3, ... bytes and frees every other one; churn()
 * makes TEMPORARY blocks of 100 bytes, each freed at once; extra(), only if asked for,
 * makes one block of EXTRA bytes.
 */
#include <stdlib.h>
#include <string.h>

static void *volatile sink;

__attribute__((noinline)) static void keep(size_t n)
{
	void **blocks = calloc(n, sizeof(*blocks));

	for (size_t i = 0; i < n; i++) {
		blocks[i] = malloc(i + 1);
		memset(blocks[i], 1, i + 1);
	}
	for (size_t i = 0; i < n; i += 2)
		free(blocks[i]);
	free(blocks);
}

__attribute__((noinline)) static void churn(size_t n)
{
	while (n--) {
		sink = malloc(100);
		free(sink);
	}
}

__attribute__((noinline)) static void extra(size_t n)
{
	sink = malloc(n);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	keep(strtoul(argv[1], NULL, 10));
	churn(strtoul(argv[2], NULL, 10));
	if (argc > 3)
		extra(strtoul(argv[3], NULL, 10));
	return 0;
}
