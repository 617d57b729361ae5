// SPDX-License-Identifier: BSD-2-Clause
/* Find out by return addresses how far a kernel was moved from where it was linked. */
/*
 * Before each of them there must be a call. The kernel moves in steps of 2 MiB (x86-64), so there
 * are few places to try, and at a wrong one hardly any address has a call before it.
 */
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/regular.h"
#include "symbols/private.h"

#define STEP	(2u << 20)
#define STEPS	512 /* the 1 GiB that kernel code may be in */
#define KERNEL	0xffffffff80000000u
#define MODULES 0xffffffffc0000000u
#define MOST	4096 /* addresses are enough */

struct code {
	uint64_t addr, size;
	const uint8_t *bytes;
};

struct image {
	struct code parts[32];
	size_t n;
};

static void read_code(Elf *elf, struct image *im)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr mem, *sh;

	while ((scn = elf_nextscn(elf, scn)) && im->n < sizeof(im->parts) / sizeof(*im->parts)) {
		Elf_Data *data;

		sh = gelf_getshdr(scn, &mem);
		if (!sh || !(sh->sh_flags & SHF_EXECINSTR) || sh->sh_type != SHT_PROGBITS)
			continue;
		data = elf_rawdata(scn, NULL);
		if (data && data->d_buf)
			im->parts[im->n++] = (struct code){sh->sh_addr, data->d_size, data->d_buf};
	}
}

/* A near call of five bytes ends here; others (through a register) are rare. */
static bool after_call(const struct image *im, uint64_t addr)
{
	for (size_t i = 0; i < im->n; i++) {
		uint64_t at = addr - im->parts[i].addr;

		if (at <= im->parts[i].size && at >= 5)
			return im->parts[i].bytes[at - 5] == 0xe8;
	}
	return false;
}

static size_t score(const struct image *im, const uint64_t *ips, size_t n, uint64_t shift,
		    size_t *tried)
{
	size_t hits = 0;

	*tried = 0;
	for (size_t i = 0; i < n && *tried < MOST; i++) {
		if (ips[i] < KERNEL || ips[i] >= MODULES)
			continue;
		++*tried;
		hits += after_call(im, ips[i] - shift);
	}
	return hits;
}

/* Most of them must agree, and no other offset may come close. */
static bool choose(const struct image *im, const uint64_t *ips, size_t n, uint64_t *shift)
{
	size_t best = 0, second = 0, tried;

	for (uint64_t i = 0; i < STEPS; i++) {
		size_t hits = score(im, ips, n, i * STEP, &tried);

		if (hits > best) {
			second = best;
			best = hits;
			*shift = i * STEP;
		} else if (hits > second) {
			second = hits;
		}
	}
	return tried >= 4 && best * 2 > tried && second * 2 < best;
}

/* The code of a file, for as long as use() runs. */
static bool with_code(const char *vmlinux, void (*use)(const struct image *im, void *arg),
		      void *arg)
{
	int fd = mz_open_regular(vmlinux, NULL);
	struct image im = {.n = 0};
	Elf *elf;

	if (fd < 0)
		return false;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf) {
		read_code(elf, &im);
		use(&im, arg);
	}
	elf_end(elf);
	close(fd);
	return elf != NULL;
}

struct guess {
	const uint64_t *ips;
	size_t n, hits, tried;
	uint64_t shift;
	bool found;
};

static void guess(const struct image *im, void *arg)
{
	struct guess *g = arg;

	g->found = choose(im, g->ips, g->n, &g->shift);
}

bool mz_kaslr_guess(const char *vmlinux, const uint64_t *ips, size_t n, uint64_t *shift)
{
	struct guess g = {.ips = ips, .n = n};

	if (!with_code(vmlinux, guess, &g) || !g.found)
		return false;
	*shift = g.shift;
	return true;
}

static void count_hits(const struct image *im, void *arg)
{
	struct guess *g = arg;

	g->hits = score(im, g->ips, g->n, 0, &g->tried);
}

size_t mz_kaslr_calls(const char *vmlinux, const uint64_t *ips, size_t n, size_t *tried)
{
	struct guess g = {.ips = ips, .n = n};

	with_code(vmlinux, count_hits, &g);
	*tried = g.tried;
	return g.hits;
}
