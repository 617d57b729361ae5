// SPDX-License-Identifier: BSD-2-Clause
/* Runs the kernel's entries for the GCC plugin (mm/memorizer/entry.S) in a process whose %gs points
 * to what a CPU has: each entry, for objects with a log and with a table, with ranges and without,
 * and for what is left to memorizer_touched(). */
#include <asm/prctl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stubs/entry-offsets.h"

#define REGISTERS 11
#define TAG	  (42ULL << 32)
#define OTHER_TAG (1ULL << 32)
#define MORE	  40 /* as in the nops below */
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
	uint64_t seen, tags[7], end, miss[8];
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

uint64_t memorizer_direct_base = DIRECT, memorizer_image_base, memorizer_page_base,
	 memorizer_vmemmap_base = VMEMMAP;
uint64_t phys_base;
uint64_t memorizer_vmemmap[MEMORIZER_vmemmap_pieces];
struct map **memorizer_pages;

static struct cpu cpu;
static struct {
	uint64_t addr, ip, kind;
	int calls;
} last;

uint64_t registers_in[REGISTERS], registers_out[REGISTERS];
uint64_t address; /* of the access */

/* Called by the entries for what they do not count. It uses what a function may. */
void memorizer_touched(uint64_t addr, uint64_t ip, uint64_t kind)
{
	last.addr = addr;
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
	const char *kinds; /* and _image, _page or _range */
};

extern const struct call calls[], calls_end[];

/* A jump of entry.S and its two targets, as distances from __memorizer_entries. */
struct way {
	uint32_t jump, plain, ranges;
};

extern const struct way __memorizer_ways[], __memorizer_ways_end[];
extern char __memorizer_entries[], __memorizer_entries_end[];

__asm__(".macro each what:req\n"
	".set n, 0\n"
	".irp reg, rax, rbx, rcx, rdx, rsi, rdi, rbp, r12, r13, r14, r15\n"
	"	\\what \\reg\n"
	"	.set n, n + 8\n"
	".endr\n"
	".endm\n"
	".macro load reg:req\n	mov registers_in+n(%rip), %\\reg\n.endm\n"
	".macro store reg:req\n	mov %\\reg, registers_out+n(%rip)\n.endm\n"
	".macro try kinds:req\n"
	"661:	push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"	mov address(%rip), %r11\n"
	"	each load\n"
	"	call __memorizer_at_\\kinds\n"
	"662:	.byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0\n"
	"	.short 0, 40\n"
	"	each store\n"
	"	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
	"	ret\n"
	"663:	.asciz \"\\kinds\"\n"
	"	.pushsection .data\n	.quad 661b, 662b, 663b\n	.popsection\n"
	".endm\n"
	".data\n.balign 8\ncalls:\n.text\n"
	".irp kinds, r, w, x, rr, rw, wr, ww\n"
	"	try \\kinds\n"
	"	try \\kinds\\()_image\n"
	"	try \\kinds\\()_page\n"
	".endr\n"
	".irp kinds, r, w, x\n"
	"	try \\kinds\\()_range\n"
	".endr\n"
	".data\ncalls_end:\n.text\n");

static int failures;

static void expect(const struct call *c, const char *what, uint64_t got, uint64_t wanted)
{
	if (got == wanted)
		return;
	printf("%s: %s is %lx, wanted %lx\n", c->kinds, what, (unsigned long)got,
	       (unsigned long)wanted);
	failures++;
}

static int is_pair(const char *kinds)
{
	return kinds[1] && kinds[1] != '_';
}

static const char *place_of(const struct call *c)
{
	const char *place = strchr(c->kinds, '_');

	return place ? place : "";
}

static uint64_t kind_of(const char *kinds)
{
	if (is_pair(kinds))
		return 1ULL << (56 + 2 * (kinds[0] == 'w') + (kinds[1] == 'w'));
	return kinds[0] == 'r' ? 0 : kinds[0] == 'w' ? 1ULL << 60 : 1ULL << 62;
}

static void set_tags(uint64_t tag)
{
	static const char *const kinds[] = {"r", "w", "x", "rr", "rw", "wr", "ww"};

	for (int i = 0; i < 7; i++)
		cpu.tags[i] = tag | kind_of(kinds[i]);
}

static uint64_t events_of(const char *kinds)
{
	return is_pair(kinds) || kinds[0] == 'x' ? 2 : 1;
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
	expect(c, "address", last.addr, address);
	expect(c, "ip", last.ip, c->ip);
	expect(c, "kind", last.kind, kind_of(c->kinds));
}

/* One page of objects of 512 bytes, of which the one at the access is @obj. */
static struct map map;
static struct map *pages[PAGES];

static void place(const struct call *c, struct object *obj)
{
	uint64_t phys = 0x1357;

	phys_base = -0x1000000ULL;
	memorizer_image_base = IMAGE - phys_base;
	memorizer_page_base = VMEMMAP + 0x600000;
	address = phys + (!strcmp(place_of(c), "_image")  ? memorizer_image_base
			  : !strcmp(place_of(c), "_page") ? memorizer_page_base
							  : DIRECT);
	memset(&map, 0, sizeof(map));
	map.base = phys & ~0xfffULL;
	map.recip = 1ULL << (32 - 9);
	map.objs[(phys & 0xfff) >> 9] = obj;
	pages[phys >> 12] = &map;
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

/* Where there is no object, what is there instead is counted, and nothing is seen. */
static void expect_miss(const struct call *c)
{
	uint64_t seen = cpu.seen;

	map.miss = 3;
	run(c);
	expect(c, "calls", (uint64_t)last.calls, 0);
	expect(c, "seen", cpu.seen - seen, 0);
	expect(c, "the miss", cpu.miss[3], events_of(c->kinds));
	cpu.miss[3] = 0;
}

static void try_log(const struct call *c)
{
	struct sites log = {.words = LOG, .room = LOG};
	struct object obj = {.sites = &log};

	place(c, &obj);
	for (int i = 0; i < LOG; i++) {
		uint64_t *entry = &log.entry[LOG - 1 - i], tag = i == 3 ? OTHER_TAG : TAG;

		set_tags(tag);
		expect_count(c, tag, entry);
		expect(c, "the entry", *entry, (tag + c->ip) | kind_of(c->kinds));
		expect(c, "room", (uint64_t)log.room, (uint64_t)(LOG - 1 - i));
	}
	expect_count(c, 0, &log.entry[0]); /* it is full */
	expect(c, "what is behind the log", log.entry[LOG], 0);
	log.room = LOG;
	cpu.end = 0; /* hidden, or switched off */
	expect_count(c, 0, (uint64_t *)&log.room);
	cpu.end = PAGES << 12;
	place(c, NULL);
	expect_count(c, 0, (uint64_t *)&log.room);
	expect_miss(c);
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

	place(c, &obj);
	expect_count(c, TAG, &slot[1]); /* it is not there yet */
	expect(c, "the new key", slot[0], key);
	expect_count(c, TAG, &slot[1]);
	expect(c, "count", slot[1], 2);
	slot[0] = key + 1;
	expect_count(c, TAG, &slot[3]); /* the next one */
	expect(c, "the next key", slot[2], key);
	expect_count(c, TAG, &slot[3]);
	expect(c, "count of the next", slot[3], 2);
	expect(c, "count of the other", slot[1], 2);
	for (int i = 0; i < 5; i++)
		slot[2 * i] = key + 1;
	expect_count(c, 0, &slot[11]); /* too far */
	slot[2] = key;
	expect(c, "room", (uint64_t)table.room, 0);
	table.ranges = 1; /* the next one is elsewhere */
	expect_count(c, 0, &slot[3]);
}

/* Where the access is, and the second one or the size, if there is one. */
static uint64_t extent_of(const struct call *c)
{
	int more = is_pair(c->kinds) || !strcmp(place_of(c), "_range");

	return address << 16 | (more ? MORE : 0);
}

static void try_range_log(const struct call *c)
{
	struct sites log = {.words = 2 * LOG, .room = -1LL << 62, .range_room = 2 * LOG};
	struct object obj = {.sites = &log};

	place(c, &obj);
	for (int i = 0; i < LOG; i++) {
		uint64_t *entry = &log.entry[2 * (LOG - 1 - i)], tag = i == 3 ? OTHER_TAG : TAG;

		set_tags(tag);
		expect_count(c, tag, entry);
		expect(c, "the entry", entry[0], (tag + c->ip) | kind_of(c->kinds));
		expect(c, "its extent", entry[1], extent_of(c));
		expect(c, "range_room", (uint64_t)log.range_room, (uint64_t)(2 * (LOG - 1 - i)));
	}
	expect_count(c, 0, &log.entry[0]); /* it is full */
	expect(c, "what is behind the log", log.entry[2 * LOG], 0);
	log.range_room = 2 * LOG;
	cpu.end = 0; /* hidden, or switched off */
	expect_count(c, 0, (uint64_t *)&log.range_room);
	cpu.end = PAGES << 12;
	place(c, NULL);
	expect_miss(c);
}

/* In a table, an extent is compared with the lowest and the highest of its slot. */
static void try_range_table(const struct call *c)
{
	struct sites table = {.mask = 15 * 32};
	uint64_t key = (TAG + c->ip) | kind_of(c->kinds), here;
	uint64_t *slot = slot_of(&table, key), *noted = slot + 2;
	struct object obj = {.sites = &table};

	place(c, &obj);
	here = extent_of(c);
	slot[0] = key;
	expect_count(c, 0, &slot[1]); /* no extents: like a full log */
	table.ranges = 1;
	expect_count(c, 0, &slot[1]); /* none is noted */
	slot[0] = 0;
	expect_count(c, TAG, &slot[1]); /* nor is there a key */
	expect(c, "the new key with ranges", slot[0], key);
	expect(c, "its lowest", noted[0], here);
	expect(c, "its highest", noted[1], here);
	noted[0] -= 1 << 16;
	noted[1] += 1 << 16;
	expect_count(c, TAG, &slot[1]);
	expect(c, "count with ranges", slot[1], 2);
	noted[1] = here - (1 << 16);
	expect_count(c, TAG, &slot[1]); /* above: it is the highest now */
	expect(c, "the lowest", noted[0], here - (1 << 16));
	expect(c, "the highest", noted[1], here);
	noted[0] = noted[1] = here + (1 << 16);
	expect_count(c, 0, &slot[1]); /* below */
	expect(c, "the lowest, which is left", noted[0], here + (1 << 16));
	slot[0] = key + 1;
	slot[4] = key; /* the next one */
	noted[4] = noted[5] = here;
	expect_count(c, TAG, &slot[5]);
	expect(c, "count of the next with ranges", slot[5], 1);
	expect(c, "count of the other", slot[1], 3);
}

/* In the kernel image and in the page array, whose addresses are translated. */
static void try_fixed(const struct call *c, uint64_t virt, int ranges)
{
	struct sites log = {.words = 2 * LOG, .room = 2 * LOG, .range_room = 2 * LOG};
	uint64_t phys = 5 << 12;
	struct object obj = {.sites = &log};

	address = virt + 5 * 8;
	phys_base = phys - (virt - IMAGE);
	memorizer_image_base = IMAGE - phys_base;
	memorizer_vmemmap[1] = phys - (virt & 0x1fffff);
	memset(&map, 0, sizeof(map));
	map.base = phys;
	map.recip = 1ULL << (32 - 9);
	map.objs[0] = &obj;
	pages[5] = &map;
	expect_count(c, TAG, &log.entry[0]);
	expect(c, "the entry", log.entry[ranges ? 2 * LOG - 2 : 2 * LOG - 1],
	       (TAG + c->ip) | kind_of(c->kinds));
	if (ranges)
		expect(c, "its extent", log.entry[2 * LOG - 1], extent_of(c));
	cpu.end = 5 << 12; /* the end of RAM */
	expect_count(c, 0, &log.entry[0]);
	cpu.end = PAGES << 12;
}

/* What the entries jump to, as ways.c changes it in the kernel; false: it is not a jb. */
static int take_way(int ranges)
{
	long page = sysconf(_SC_PAGESIZE);
	char *from = __memorizer_entries - (uintptr_t)__memorizer_entries % (uintptr_t)page;

	if (mprotect(from, (size_t)(__memorizer_entries_end - from),
		     PROT_READ | PROT_WRITE | PROT_EXEC))
		return 0;
	for (const struct way *w = __memorizer_ways; w < __memorizer_ways_end; w++) {
		char *jump = __memorizer_entries + w->jump;
		int32_t distance = (int32_t)((ranges ? w->ranges : w->plain) - (w->jump + 6));

		if (memcmp(jump, "\x0f\x82", 2))
			return 0;
		memcpy(jump + 2, &distance, sizeof(distance));
	}
	return 1;
}

/* All entries, the way without or with ranges. */
static int try_way(int ranges)
{
	int n = 0;

	if (!take_way(ranges))
		return 0;
	for (const struct call *c = calls; c < calls_end; c++, n++) {
		address = 0x1234567890; /* a user's */
		cpu.end = PAGES << 12;
		run(c);
		expect_slow(c);
		(ranges ? try_range_log : try_log)(c);
		(ranges ? try_range_table : try_table)(c);
		try_fixed(c, IMAGE + 0x1005000, ranges);
		try_fixed(c, VMEMMAP + 0x205000, ranges);
	}
	return n;
}

int main(void)
{
	int n, ranges;

	if (syscall(SYS_arch_prctl, ARCH_SET_GS, &cpu))
		return 2;
	memorizer_pages = pages;
	for (int i = 0; i < REGISTERS; i++)
		registers_in[i] = 0x1000 + (uint64_t)i * 0x1357;
	n = try_way(0);
	ranges = try_way(1);
	if (ranges != n || try_way(0) != n)
		failures++;
	printf("%d entries, %d failures\n", n, failures);
	return failures != 0;
}
