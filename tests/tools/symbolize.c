// SPDX-License-Identifier: BSD-2-Clause
/*
 * Names for the addresses on standard input (hexadecimal, of code, not return
 * addresses): symbolize [-p | -v | -t] FILES... As `addr2line -f -i` writes them; -p:
 * `function+offset module home folder`; -v: variables, `name+offset folder`; -s: the shift by KASLR
 * that the addresses (here return addresses) tell; -t: only look them up, and say how long it took.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "symbols/symbols.h"

#define DEEPEST 64

static const char *or_none(const char *s)
{
	return s ? s : "??";
}

static void show_frames(struct mz_symbols *s, uint64_t addr)
{
	struct mz_symbol_frame f[DEEPEST];
	size_t n = mz_symbols_frames(s, addr + 1, f, DEEPEST);

	for (size_t i = 0; i < n; i++)
		printf("%s\n%s:%u\n", or_none(f[i].function), or_none(f[i].file), f[i].line);
	if (!n)
		printf("??\n??:0\n");
}

static void show_plain(struct mz_symbols *s, uint64_t addr)
{
	struct mz_symbol sym;

	if (!mz_symbols_find(s, addr + 1, &sym))
		printf("0x%llx\n", (unsigned long long)addr);
	else
		printf("%s+0x%llx %s %s %s\n", or_none(sym.function),
		       (unsigned long long)sym.in_function - 1, or_none(sym.module),
		       or_none(sym.home), or_none(sym.dir));
}

static void show_variable(struct mz_symbols *s, uint64_t addr)
{
	struct mz_symbol_variable v;

	if (mz_symbols_variable(s, addr, &v))
		printf("%s+0x%llx %s\n", v.name, (unsigned long long)v.offset, or_none(v.dir));
	else
		printf("0x%llx\n", (unsigned long long)addr);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void time_all(struct mz_symbols *s, const uint64_t *addrs, size_t n, double opened)
{
	double start = now();
	size_t known = 0;
	struct mz_symbol sym;

	for (size_t i = 0; i < n; i++)
		known += mz_symbols_find(s, addrs[i] + 1, &sym) && sym.function;
	printf("open %.3f s, %zu lookups %.3f s, %zu known\n", opened, n, now() - start, known);
}

int main(int argc, char **argv)
{
	char mode = argc > 1 && argv[1][0] == '-' ? argv[1][1] : 'f', line[64];
	struct mz_symbols_kernel files = {0};
	struct mz_error err = {0};
	struct mz_symbols *s;
	uint64_t *addrs = malloc(sizeof(*addrs) << 21);
	size_t n = 0;
	double start = now();

	for (int i = 1 + (mode != 'f'); i < argc; i++)
		if (!mz_symbols_sort(argv[i], &files))
			fprintf(stderr, "%s: what is this?\n", argv[i]);
	s = mz_symbols_open_kernel(&files, &err);
	if (!s || !addrs) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	start = now() - start;
	while (n < 1u << 21 && fgets(line, sizeof(line), stdin))
		addrs[n++] = strtoull(line, NULL, 16);
	if (mode == 't')
		time_all(s, addrs, n, start);
	if (mode == 's')
		mz_symbols_shift_by(s, addrs, n);
	if (mode == 's')
		printf("0x%llx\n", (unsigned long long)mz_symbols_shift(s));
	for (size_t i = 0; i < n && mode != 't' && mode != 's'; i++) {
		if (mode == 'p')
			show_plain(s, addrs[i]);
		else if (mode == 'v')
			show_variable(s, addrs[i]);
		else
			show_frames(s, addrs[i]);
	}
	mz_symbols_close(s);
	free(addrs);
	return 0;
}
