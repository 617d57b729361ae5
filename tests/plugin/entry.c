// SPDX-License-Identifier: BSD-2-Clause
/* Runs the kernel's entries for the GCC plugin (mm/memorizer/entry.S) in a process whose %gs points
 * to what a CPU has: each entry, with each register, recent and not, in an interrupt and not. */
#include <asm/prctl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stubs/entry-offsets.h"

#define REGISTERS 15
#define RECENT	  (MEMORIZER_recent_mask + 16)
#define TAG	  (42ULL << 32)
#define FIRST	  (-24) /* offsets, as in the nops below */
#define SECOND	  40

/* What is at %gs: the numbers are those of the symbols that the test links with. */
struct cpu {
	void *current;
	int32_t preempt_count;
	char pad[52];
	uint64_t seen;
	char more[184];
	struct {
		uint64_t addr;
		struct site *site;
	} recent[RECENT / 16];
};

struct site {
	uint64_t key, count[2];
};

static struct cpu cpu;
static uint64_t task[(MEMORIZER_tag + 8) / 8];
static struct {
	uint64_t base, ip, how;
	int calls;
} last;

uint64_t registers_in[REGISTERS], registers_out[REGISTERS];
uint64_t stack_pointer; /* before the call */

/* Called by the entries for what is not recent. It uses what a function may. */
void memorizer_touched(uint64_t base, uint64_t ip, uint64_t how)
{
	last.base = base;
	last.ip = ip;
	last.how = how;
	last.calls++;
	cpu.preempt_count--;
	__asm__ volatile("mov $-1, %%rax; mov %%rax, %%rcx; mov %%rax, %%rdx; mov %%rax, %%rsi\n"
			 "mov %%rax, %%rdi; mov %%rax, %%r8; mov %%rax, %%r9; mov %%rax, %%r10; "
			 "mov %%rax, %%r11" ::
				 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");
}

struct call {
	void (*run)(void);
	uint64_t ip;
	const char *kinds, *reg;
};

extern const struct call calls[], calls_end[];

__asm__(".macro each what:req\n"
	".set n, 0\n"
	".irp reg, rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15\n"
	"	\\what \\reg\n"
	"	.set n, n + 8\n"
	".endr\n"
	".endm\n"
	".macro load reg:req\n	mov registers_in+n(%rip), %\\reg\n.endm\n"
	".macro store reg:req\n	mov %\\reg, registers_out+n(%rip)\n.endm\n"
	".macro try kinds:req, reg:req\n"
	"661:	push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"	mov %rsp, stack_pointer(%rip)\n"
	"	each load\n"
	"	call __memorizer_at_\\kinds\\()_\\reg\n"
	"662:	.byte 0x0f, 0x1f, 0x84, 0\n"
	"	.short -24, 40\n"
	"	each store\n"
	"	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
	"	ret\n"
	"663:	.asciz \"\\kinds\"\n"
	"664:	.asciz \"\\reg\"\n"
	"	.pushsection .data\n	.quad 661b, 662b, 663b, 664b\n	.popsection\n"
	".endm\n"
	".data\n.balign 8\ncalls:\n.text\n"
	".irp r, rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15\n"
	"	.irp kinds, r, w, x, rr, rw, wr, ww\n		try \\kinds, \\r\n	.endr\n"
	".endr\n"
	".data\ncalls_end:\n.text\n");

static int failures;

static void expect(const struct call *c, const char *what, uint64_t got, uint64_t wanted)
{
	if (got == wanted)
		return;
	printf("%s_%s: %s is %lx, wanted %lx\n", c->kinds, c->reg, what, (unsigned long)got,
	       (unsigned long)wanted);
	failures++;
}

static uint64_t pair_bit(const char *kinds)
{
	return kinds[1] ? 1ULL << (56 + 2 * (kinds[0] == 'w') + (kinds[1] == 'w')) : 0;
}

static uint64_t how_of(const char *kinds)
{
	return kinds[1] ? pair_bit(kinds) : kinds[0] == 'r' ? 0 : kinds[0] == 'w' ? 1 : 2;
}

static uint64_t base_of(const struct call *c)
{
	static const char *const names[REGISTERS] = {"rax", "rbx", "rcx", "rdx", "rsi",
						     "rdi", "rbp", "r8",  "r9",	 "r10",
						     "r11", "r12", "r13", "r14", "r15"};

	for (int i = 0; i < REGISTERS; i++)
		if (!strcmp(names[i], c->reg))
			return registers_in[i];
	return stack_pointer;
}

/* The code address as the kernel has it: all ones above. */
static uint64_t kernel_key(const struct call *c)
{
	return TAG + c->ip + pair_bit(c->kinds);
}

static void run(const struct call *c)
{
	int32_t before = cpu.preempt_count;

	memset(&last, 0, sizeof(last));
	memset(registers_out, 0, sizeof(registers_out));
	c->run();
	expect(c, "a register", memcmp(registers_in, registers_out, sizeof(registers_in)) != 0, 0);
	expect(c, "preempt_count", (uint64_t)cpu.preempt_count, (uint64_t)before);
}

static void expect_slow(const struct call *c)
{
	expect(c, "calls", (uint64_t)last.calls, 1);
	expect(c, "base", last.base, base_of(c));
	expect(c, "ip", last.ip, c->ip);
	expect(c, "how", last.how, how_of(c->kinds));
}

static void try_recent(const struct call *c)
{
	uint64_t addr, seen = cpu.seen, reads, writes;
	struct site site = {.key = kernel_key(c)};
	size_t at;

	run(c); /* the stack pointer is what it will be */
	addr = base_of(c) + (uint64_t)FIRST;
	at = ((addr + c->ip * 8) & MEMORIZER_recent_mask) / 16;

	cpu.recent[at].addr = addr;
	cpu.recent[at].site = &site;
	run(c);
	reads = strcmp(c->kinds, "w") != 0;
	writes = strcmp(c->kinds, "r") != 0;
	expect(c, "calls", (uint64_t)last.calls, 0);
	expect(c, "count[0]", site.count[0], reads);
	expect(c, "count[1]", site.count[1], writes);
	expect(c, "seen", cpu.seen - seen, reads + writes);
	site.key ^= 1ULL << 62; /* closed */
	run(c);
	expect_slow(c);
	site.key ^= 1ULL << 62;
	cpu.preempt_count = 0x10000; /* an interrupt */
	run(c);
	expect_slow(c);
	cpu.preempt_count = 0;
	cpu.recent[at].addr = addr + 1;
	run(c);
	expect_slow(c);
	expect(c, "count[0]", site.count[0], reads);
	cpu.recent[at].addr = 0;
}

int main(void)
{
	int n = 0;

	if (syscall(SYS_arch_prctl, ARCH_SET_GS, &cpu))
		return 2;
	cpu.current = task;
	task[MEMORIZER_tag / 8] = TAG;
	for (int i = 0; i < REGISTERS; i++)
		registers_in[i] = 0xffff888000001000ULL + (uint64_t)i * 0x1357;
	for (const struct call *c = calls; c < calls_end; c++, n++) {
		run(c);
		expect_slow(c);
		try_recent(c);
	}
	printf("%d entries, %d failures\n", n, failures);
	return failures != 0;
}
