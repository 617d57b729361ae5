// SPDX-License-Identifier: BSD-2-Clause
/* A run time for the GCC plugin in a user program: counts each access site, and prints the
 * counts at exit to the file that MZ_COUNTS names. Compile without the plugin and with
 * -mgeneral-regs-only: the entries save no vector registers. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_SITES 4096

char plugin_counting;

struct site {
	uintptr_t ip;
	uint64_t reads, writes;
};

static struct site sites[MAX_SITES];

/* What follows each call. */
struct offsets {
	unsigned char nop[4];
	int16_t first, second;
};

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
	(void)*(volatile char *)address;
}

__attribute__((used)) static void touched(uintptr_t base, uintptr_t ip, const char *kinds)
{
	const struct offsets *o = (const struct offsets *)ip;

	if (o->nop[0] != 0x0f || o->nop[1] != 0x1f || o->nop[2] != 0x84)
		abort();
	look(base + o->first);
	count(ip, kinds[0]);
	if (!kinds[1])
		return;
	look(base + o->second);
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

/* One entry for each register and what is done; everything is preserved. */
__asm__(".macro entry kinds:req, reg:req\n"
	".globl plugin_at_\\kinds\\()_\\reg\n"
	"plugin_at_\\kinds\\()_\\reg:\n"
	"	push %rax; push %rcx; push %rdx; push %rsi; push %rdi\n"
	"	push %r8; push %r9; push %r10; push %r11; push %rbp\n"
	"	push %\\reg\n"
	"	mov 88(%rsp), %rsi\n"
	"	pop %rdi\n"
	"	lea 661f(%rip), %rdx\n"
	"	mov %rsp, %rbp\n"
	"	and $-16, %rsp\n"
	"	call touched\n"
	"	mov %rbp, %rsp\n"
	"	pop %rbp; pop %r11; pop %r10; pop %r9; pop %r8\n"
	"	pop %rdi; pop %rsi; pop %rdx; pop %rcx; pop %rax\n"
	"	ret\n"
	"661:	.asciz \"\\kinds\"\n"
	".endm\n"
	".irp reg, rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15\n"
	"	.irp kinds, r, w, x, rr, rw, wr, ww\n"
	"		entry \\kinds, \\reg\n"
	"	.endr\n"
	".endr\n");
