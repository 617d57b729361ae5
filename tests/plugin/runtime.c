// SPDX-License-Identifier: BSD-2-Clause
/* A run time for the GCC plugin in a user program: counts each access site, and prints the
 * counts at exit to the file that MZ_COUNTS names. Compile without the plugin and with
 * -mgeneral-regs-only: the entries save no vector registers. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_SITES 4096

char plugin_counting;
/* If they are set, all accesses must lie between them. */
const void *plugin_from, *plugin_to;

struct site {
	uintptr_t ip;
	uint64_t reads, writes;
};

static struct site sites[MAX_SITES];

/* What follows each call. */
struct report {
	unsigned char code[8];
	int16_t more;
} __attribute__((packed));

static struct site *site_at(uintptr_t ip)
{
	size_t i = ip % MAX_SITES;

	while (sites[i].ip && sites[i].ip != ip)
		i = (i + 1) % MAX_SITES;
	sites[i].ip = ip;
	return &sites[i];
}

static void count(uintptr_t ip, char kind)
{
	struct site *s = site_at(ip);

	s->reads += kind != 'w';
	s->writes += kind != 'r';
}

/* The address must be there: it is read, so that a wrong one crashes the test. */
static void look(uintptr_t address)
{
	if (plugin_from && (address < (uintptr_t)plugin_from || address >= (uintptr_t)plugin_to))
		abort();
	(void)*(volatile char *)address;
}

__attribute__((used)) static void touched(uintptr_t address, uintptr_t ip, const char *kinds)
{
	const struct report *r = (const struct report *)ip;

	/* a jump with a nop behind it, or a longer nop */
	if (r->code[0] == 0xe9 ? r->code[5] != 0x0f || r->code[6] != 0x1f || r->code[7] != 0x80
			       : r->code[2] != 0x0f || r->code[3] != 0x1f || r->code[4] != 0x84)
		abort();
	look(address);
	count(ip, kinds[0]);
	if (!kinds[1] || kinds[1] == '_')
		return;
	look(address + (uintptr_t)(intptr_t)r->more);
	count(ip + 1, kinds[1]);
}

__attribute__((destructor)) static void print(void)
{
	const char *name = getenv("MZ_COUNTS");
	FILE *f = name ? fopen(name, "w") : NULL;

	plugin_counting = 0;
	for (int i = 0; f && i < MAX_SITES; i++)
		if (sites[i].ip)
			fprintf(f, "%lx %lu %lu\n", (unsigned long)sites[i].ip,
				(unsigned long)sites[i].reads, (unsigned long)sites[i].writes);
	if (f)
		fclose(f);
}

/* One entry for what is done. The address is in %r11; %r8 to %r10 are used, too. */
__asm__(".macro entry kinds:req\n"
	".globl plugin_at_\\kinds\n"
	"plugin_at_\\kinds:\n"
	"	push %rax; push %rcx; push %rdx; push %rsi; push %rdi; push %rbp\n"
	"	mov %r11, %rdi\n"
	"	mov 48(%rsp), %rsi\n"
	"	lea 661f(%rip), %rdx\n"
	"	mov %rsp, %rbp\n"
	"	and $-16, %rsp\n"
	"	call touched\n"
	"	mov %rbp, %rsp\n"
	"	mov $-1, %r8; mov %r8, %r9; mov %r8, %r10; mov %r8, %r11\n"
	"	pop %rbp; pop %rdi; pop %rsi; pop %rdx; pop %rcx; pop %rax\n"
	"	ret\n"
	"661:	.asciz \"\\kinds\"\n"
	".endm\n"
	".irp kinds, r, w, x, rr, rw, wr, ww, r_range, w_range\n"
	"	entry \\kinds\n"
	".endr\n");
