// SPDX-License-Identifier: BSD-2-Clause
/* Runs the kernel's entries for the GCC plugin (mm/memorizer/entry.S) in a process whose %gs points
 * to what a CPU has: each entry with each register, for objects with a log and with a table, with
 * ranges and without, in an interrupt and not, and for what is left to memorizer_touched(). */
#include <asm/prctl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stubs/entry-offsets.h"

#define REGISTERS 15
#define TAG	  (42ULL << 32)
#define IRQ_TAG	  (1ULL << 32)
#define FIRST	  (-24) /* offsets, as in the nops below */
#define SECOND	  40
#define DIRECT	  0xffff888000000000ULL
#define IMAGE	  0xffffffff80000000ULL
#define VMEMMAP	  0xffffea0000000000ULL
#define PAGES	  64
#define LOG	  5

/* What is at %gs: the numbers are those of the symbols that the test links with. */
struct cpu {
	void *current;
	int32_t preempt_count;
	char pad[52];
	uint64_t seen, irq_tag, miss[8];
};

/* A log or a table, with the layout of stubs/entry-offsets.h. */
struct sites {
	uint32_t mask;
	uint16_t words;
	uint8_t ranges;
	int64_t room, range_room;
	void *prev;
	uint64_t entry[128];
};

struct object {
	uint64_t pad;
	struct sites *sites;
};

struct map {
	uint64_t base, recip;
	struct object *objs[8];
	uint8_t miss;
};

uint64_t memorizer_direct_base = DIRECT, memorizer_image_base = IMAGE - DIRECT,
	 memorizer_vmemmap_base = VMEMMAP - IMAGE;
uint64_t memorizer_fast_end, memorizer_range_end, phys_base;
uint64_t memorizer_vmemmap[MEMORIZER_vmemmap_pieces];
struct map **memorizer_pages;

static struct cpu cpu;
static uint64_t task[(MEMORIZER_tag + 8) / 8];
static struct {
	uint64_t base, ip, kind;
	int calls;
} last;

uint64_t registers_in[REGISTERS], registers_out[REGISTERS];
uint64_t stack_pointer; /* before the call */

/* Called by the entries for what they do not count. It uses what a function may. */
void memorizer_touched(uint64_t base, uint64_t ip, uint64_t kind)
{
	last.base = base;
	last.ip = ip;
	last.kind = kind;
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

static uint64_t kind_of(const char *kinds)
{
	if (kinds[1])
		return 1ULL << (56 + 2 * (kinds[0] == 'w') + (kinds[1] == 'w'));
	return kinds[0] == 'r' ? 0 : kinds[0] == 'w' ? 1ULL << 60 : 1ULL << 62;
}

static uint64_t events_of(const char *kinds)
{
	return kinds[1] || kinds[0] == 'x' ? 2 : 1;
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
	expect(c, "kind", last.kind, kind_of(c->kinds));
}

/* One page of objects of 512 bytes, of which the one at the access is @obj. */
static struct map map;
static struct map *pages[PAGES];

static uint64_t place(const struct call *c, struct object *obj)
{
	uint64_t addr = base_of(c) + (uint64_t)FIRST, phys = addr - DIRECT;

	/* The stack of a process is at no address of the kernel's: let it be. */
	if (phys >= PAGES << 12) {
		memorizer_direct_base = addr & ~0xfffULL;
		phys = addr & 0xfff;
	}
	memset(&map, 0, sizeof(map));
	map.base = phys & ~0xfffULL;
	map.recip = 1ULL << (32 - 9);
	map.objs[(phys & 0xfff) >> 9] = obj;
	pages[phys >> 12] = &map;
	return addr;
}

/* @tag: of the key that is to be counted, or 0 if it is left to memorizer_touched(). */
static void expect_count(const struct call *c, uint64_t tag, uint64_t *counted)
{
	uint64_t seen = cpu.seen, before = *counted;

	run(c);
	if (!tag) {
		expect_slow(c);
		expect(c, "seen", cpu.seen - seen, 0);
		expect(c, "what is not counted", *counted, before);
		return;
	}
	expect(c, "calls", (uint64_t)last.calls, 0);
	expect(c, "seen", cpu.seen - seen, events_of(c->kinds));
}

static void try_log(const struct call *c)
{
	struct sites log = {.words = LOG, .room = LOG};
	struct object obj = {.sites = &log};

	memorizer_fast_end = 0;
	expect_count(c, 0, &log.entry[0]); /* the stack pointer is what it will be */
	memorizer_fast_end = PAGES << 12;
	place(c, &obj);
	for (int i = 0; i < LOG; i++) {
		uint64_t *entry = &log.entry[LOG - 1 - i], tag = i == 3 ? IRQ_TAG : TAG;

		cpu.preempt_count = i == 3 ? 0x10000 : 0; /* an interrupt */
		expect_count(c, tag, entry);
		expect(c, "the entry", *entry, (tag + c->ip) | kind_of(c->kinds));
		expect(c, "room", (uint64_t)log.room, (uint64_t)(LOG - 1 - i));
	}
	cpu.preempt_count = 0;
	expect_count(c, 0, &log.entry[0]); /* it is full */
	expect(c, "what is behind the log", log.entry[LOG], 0);
	log.room = LOG;
	cpu.preempt_count = 0x100000; /* NMI */
	expect_count(c, 0, (uint64_t *)&log.room);
	cpu.preempt_count = 0;
	task[MEMORIZER_tag / 8] = TAG | 1ULL << 63; /* hidden */
	expect_count(c, 0, (uint64_t *)&log.room);
	task[MEMORIZER_tag / 8] = TAG;
	place(c, NULL);
	expect_count(c, 0, (uint64_t *)&log.room);
	map.miss = 3;
	expect_count(c, 1, &cpu.miss[3]);
	expect(c, "the miss", cpu.miss[3], events_of(c->kinds));
	cpu.preempt_count = 0x10000;
	expect_count(c, 1, &cpu.miss[3]);
	expect(c, "the miss in an interrupt", cpu.miss[3], 2 * events_of(c->kinds));
	cpu.irq_tag |= 1ULL << 63;
	expect_count(c, 0, &cpu.miss[3]);
	cpu.irq_tag = IRQ_TAG;
	cpu.preempt_count = 0x100000;
	expect_count(c, 0, &cpu.miss[3]);
	cpu.preempt_count = 0;
	cpu.miss[3] = 0;
	task[MEMORIZER_tag / 8] = TAG | 1ULL << 63;
	expect_count(c, 0, &cpu.miss[3]);
	task[MEMORIZER_tag / 8] = TAG;
	place(c, &obj);
	memorizer_fast_end = 0; /* the switch */
	expect_count(c, 0, (uint64_t *)&log.room);
	memorizer_fast_end = PAGES << 12;
	memorizer_direct_base = DIRECT;
}

static uint64_t *slot_of(struct sites *table, uint64_t key)
{
	return &table->entry[(key * MEMORIZER_hash_factor >> MEMORIZER_hash_shift & table->mask) /
			     8];
}

static void try_table(const struct call *c)
{
	struct sites table = {.mask = 15 * 16};
	uint64_t key = (TAG + c->ip) | kind_of(c->kinds);
	uint64_t *slot = slot_of(&table, key);
	struct object obj = {.sites = &table};

	place(c, NULL);
	expect_count(c, 0, &slot[1]); /* the stack pointer is what it will be */
	place(c, &obj);
	expect_count(c, 0, &slot[1]); /* it is not there */
	slot[0] = key;
	expect_count(c, TAG, &slot[1]);
	expect_count(c, TAG, &slot[1]);
	expect(c, "count", slot[1], 2);
	slot[0] = key + 1;
	expect_count(c, 0, &slot[1]);
	slot[2] = key; /* the next one */
	expect_count(c, TAG, &slot[3]);
	expect(c, "count of the next", slot[3], 1);
	expect(c, "room", (uint64_t)table.room, 0);
	memorizer_direct_base = DIRECT;
}

/* Where the access is from the start of the direct map, and the second one or the size. */
static uint64_t extent_of(const struct call *c, uint64_t addr)
{
	return (addr - memorizer_direct_base) << 16 | (c->kinds[1] ? SECOND - FIRST : SECOND);
}

static void try_range_log(const struct call *c)
{
	struct sites log = {.words = 2 * LOG, .room = -1LL << 62, .range_room = 2 * LOG};
	struct object obj = {.sites = &log};
	uint64_t addr;

	place(c, NULL);
	expect_count(c, 0, (uint64_t *)&log.range_room); /* the stack pointer is what it will be */
	addr = place(c, &obj);
	for (int i = 0; i < LOG; i++) {
		uint64_t *entry = &log.entry[2 * (LOG - 1 - i)], tag = i == 3 ? IRQ_TAG : TAG;

		cpu.preempt_count = i == 3 ? 0x10000 : 0;
		expect_count(c, tag, entry);
		expect(c, "the entry", entry[0], (tag + c->ip) | kind_of(c->kinds));
		expect(c, "its extent", entry[1], extent_of(c, addr));
		expect(c, "range_room", (uint64_t)log.range_room, (uint64_t)(2 * (LOG - 1 - i)));
	}
	cpu.preempt_count = 0;
	expect_count(c, 0, &log.entry[0]); /* it is full */
	expect(c, "what is behind the log", log.entry[2 * LOG], 0);
	log.range_room = 2 * LOG;
	cpu.preempt_count = 0x100000; /* NMI */
	expect_count(c, 0, (uint64_t *)&log.range_room);
	cpu.preempt_count = 0;
	task[MEMORIZER_tag / 8] = TAG | 1ULL << 63; /* hidden */
	expect_count(c, 0, (uint64_t *)&log.range_room);
	task[MEMORIZER_tag / 8] = TAG;
	place(c, NULL);
	map.miss = 3;
	expect_count(c, 1, &cpu.miss[3]);
	expect(c, "the miss with ranges", cpu.miss[3], events_of(c->kinds));
	cpu.preempt_count = 0x10000;
	expect_count(c, 1, &cpu.miss[3]);
	expect(c, "the same in an interrupt", cpu.miss[3], 2 * events_of(c->kinds));
	cpu.preempt_count = 0;
	cpu.miss[3] = 0;
	memorizer_direct_base = DIRECT;
}

/* In a table, an extent is compared with the lowest and the highest of its slot. */
static void try_range_table(const struct call *c)
{
	struct sites table = {.mask = 15 * 16};
	uint64_t key = (TAG + c->ip) | kind_of(c->kinds), extent;
	uint64_t *slot = slot_of(&table, key), *noted = slot + table.mask / 8 + 16;
	struct object obj = {.sites = &table};

	place(c, NULL);
	expect_count(c, 0, &slot[1]); /* the stack pointer is what it will be */
	extent = extent_of(c, place(c, &obj));
	slot[0] = key;
	expect_count(c, 0, &slot[1]); /* no extents: like a full log */
	table.ranges = 1;
	expect_count(c, 0, &slot[1]); /* none is noted */
	noted[0] = extent;
	noted[1] = extent;
	expect_count(c, TAG, &slot[1]);
	noted[0] -= 1 << 16;
	noted[1] += 1 << 16;
	expect_count(c, TAG, &slot[1]);
	expect(c, "count with ranges", slot[1], 2);
	noted[1] = extent - (1 << 16);
	expect_count(c, TAG, &slot[1]); /* above: it is the highest now */
	expect(c, "the lowest", noted[0], extent - (1 << 16));
	expect(c, "the highest", noted[1], extent);
	noted[0] = noted[1] = extent + (1 << 16);
	expect_count(c, 0, &slot[1]); /* below */
	expect(c, "the lowest, which is left", noted[0], extent + (1 << 16));
	slot[0] = key + 1;
	slot[2] = key; /* the next one */
	noted[2] = noted[3] = extent;
	expect_count(c, TAG, &slot[3]);
	expect(c, "count of the next with ranges", slot[3], 1);
	expect(c, "count of the other", slot[1], 3);
	memorizer_direct_base = DIRECT;
}

/* In the kernel image and in the page array, whose addresses are translated. */
static void try_fixed(const struct call *c, uint64_t virt, uint64_t *end)
{
	struct sites log = {.words = 2 * LOG, .room = 2 * LOG, .range_room = 2 * LOG};
	uint64_t saved[REGISTERS], phys = 5 << 12, base = virt + 5 * 8 - (uint64_t)FIRST;
	struct object obj = {.sites = &log};

	if (!strcmp(c->reg, "rsp"))
		return;
	memcpy(saved, registers_in, sizeof(saved));
	for (int i = 0; i < REGISTERS; i++)
		registers_in[i] = base;
	phys_base = phys - (virt - IMAGE);
	memorizer_vmemmap[1] = phys - (virt & 0x1fffff);
	memset(&map, 0, sizeof(map));
	map.base = phys;
	map.recip = 1ULL << (32 - 9);
	map.objs[0] = &obj;
	pages[5] = &map;
	expect_count(c, TAG, &log.entry[0]);
	expect(c, "the entry", log.entry[end == &memorizer_fast_end ? 2 * LOG - 1 : 2 * LOG - 2],
	       (TAG + c->ip) | kind_of(c->kinds));
	if (end == &memorizer_range_end)
		expect(c, "its extent", log.entry[2 * LOG - 1], extent_of(c, virt + 5 * 8));
	*end = 5 << 12; /* the end of RAM */
	expect_count(c, 0, &log.entry[0]);
	*end = PAGES << 12;
	memcpy(registers_in, saved, sizeof(saved));
}

int main(void)
{
	int n = 0;

	if (syscall(SYS_arch_prctl, ARCH_SET_GS, &cpu))
		return 2;
	cpu.current = task;
	cpu.irq_tag = IRQ_TAG;
	memorizer_pages = pages;
	memorizer_fast_end = PAGES << 12;
	task[MEMORIZER_tag / 8] = TAG;
	for (int i = 0; i < REGISTERS; i++)
		registers_in[i] = 0xffff888000001000ULL + (uint64_t)i * 0x1357;
	for (const struct call *c = calls; c < calls_end; c++, n++) {
		memorizer_fast_end = 0;
		run(c);
		expect_slow(c);
		memorizer_fast_end = PAGES << 12;
		try_log(c);
		try_table(c);
		try_fixed(c, IMAGE + 0x1005000, &memorizer_fast_end);
		try_fixed(c, VMEMMAP + 0x205000, &memorizer_fast_end);
		memorizer_fast_end = 0;
		memorizer_range_end = PAGES << 12;
		try_range_log(c);
		try_range_table(c);
		try_fixed(c, IMAGE + 0x1005000, &memorizer_range_end);
		try_fixed(c, VMEMMAP + 0x205000, &memorizer_range_end);
		memorizer_range_end = 0;
	}
	printf("%d entries, %d failures\n", n, failures);
	return failures != 0;
}
