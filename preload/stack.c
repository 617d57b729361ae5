// SPDX-License-Identifier: BSD-2-Clause
/* Send each distinct call stack once, and refer to it by number afterwards. */
#include "stack.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unwind.h"

#define ROWS	   65536u /* kept rows: 1 MiB */
#define STACKS	   262144u /* kept numbers of stacks: 2 MiB */
#define MODULES	   1024u
#define MAX_DEPTH  200u
#define MAX_STEPS  1024u
#define STACK_SPAN (1ull << 30)

extern const char __ehdr_start[] HIDDEN, _end[] HIDDEN;
extern void *__libc_stack_end;

/* Both tables are used by all threads without a lock: an entry is good if its
 * two words fit together. */
struct entry {
	uint64_t check; /* pc ^ row */
	uint64_t row;
};

static struct entry *rows;
static uint64_t *stacks; /* half of a hash, and the number */
static uint32_t stack_numbers;
static uintptr_t modules[MODULES];
static uint32_t module_count;
static uint32_t tables_state; /* 0 = not made, 1 = being made, 2 = there, 3 = cannot be */

static bool make_tables(void)
{
	uint32_t none = 0;
	void *p;

	if (tables_state == 2)
		return true;
	if (!__atomic_compare_exchange_n(&tables_state, &none, 1, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	p = mz_can_unwind() ? mmap(NULL, ROWS * sizeof(*rows) + STACKS * sizeof(*stacks),
				   PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
			    : MAP_FAILED;
	if (p != MAP_FAILED) {
		rows = p;
		stacks = (uint64_t *)(void *)(rows + ROWS);
	}
	__atomic_store_n(&tables_state, p == MAP_FAILED ? 3 : 2, __ATOMIC_RELEASE);
	return p != MAP_FAILED;
}

void mz_stack_forget(void)
{
	if (tables_state == 2)
		munmap(rows, ROWS * sizeof(*rows) + STACKS * sizeof(*stacks));
	module_count = 0;
	tables_state = 0;
}

void mz_stack_restart(void)
{
	if (tables_state == 2)
		memset(rows, 0, ROWS * sizeof(*rows) + STACKS * sizeof(*stacks));
	module_count = 0;
}

/* ---- rows ------------------------------------------------------------------------ */

static uint64_t pack(const struct mz_row *r)
{
	return 1ull << 63 | (uint64_t)r->cfa << 60 | (uint64_t)r->saves_rbp << 59 |
	       ((uint64_t)(uint32_t)r->cfa_offset & 0x3ffffff) << 32 | (uint32_t)r->rbp_offset;
}

static struct mz_row unpack(uint64_t v)
{
	return (struct mz_row){
		.cfa = v >> 60 & 7,
		.saves_rbp = v >> 59 & 1,
		/* 26 bits with a sign: frames of up to 32 MiB */
		.cfa_offset = (int32_t)((uint32_t)(v >> 32 & 0x3ffffff) << 6) >> 6,
		.rbp_offset = (int32_t)(uint32_t)v,
	};
}

static void tell_module(const struct mz_module *m);

static uint64_t slow_row(uintptr_t pc, struct entry *e)
{
	struct mz_module m;
	struct mz_row row = {.cfa = MZ_CFA_END};
	uint64_t v;

	if (mz_find_module(pc, &m)) {
		tell_module(&m);
		/* pc is where the call returns to; the row is that of the call */
		row = mz_find_row(&m, pc - 1);
	}
	v = pack(&row);
	__atomic_store_n(&e->row, v, __ATOMIC_RELAXED);
	__atomic_store_n(&e->check, v ^ pc, __ATOMIC_RELAXED);
	return v;
}

static inline struct mz_row row_of(uintptr_t pc)
{
	struct entry *e = &rows[(pc * 0x9e3779b97f4a7c15u) >> 48];
	uint64_t v = __atomic_load_n(&e->row, __ATOMIC_RELAXED);

	if (__builtin_expect((__atomic_load_n(&e->check, __ATOMIC_RELAXED) ^ v) != pc || !v, 0))
		v = slow_row(pc, e);
	return unpack(v);
}

/* ---- walking ---------------------------------------------------------------------- */

/* The stack of this thread ends below this: its descriptor lies there, and in
 * the first thread what the kernel put before the first frame. */
static uintptr_t stack_top(uintptr_t sp)
{
	uintptr_t self = (uintptr_t)pthread_self(), first = (uintptr_t)__libc_stack_end;

	if (sp < first && first - sp < STACK_SPAN && !(self > sp && self < first))
		return first;
	return self > sp && self - sp < STACK_SPAN ? self : 0;
}

static inline uintptr_t word(uintptr_t at)
{
	return *(const uintptr_t *)at;
}

/* Nothing is read but what lies between the first frame and the stack's end, and
 * always further up: wrong tables give a wrong stack, not a crash. */
static unsigned walk(uintptr_t pc, uintptr_t sp, uintptr_t bp, uintptr_t top, uintptr_t *ips,
		     unsigned max)
{
	uintptr_t low = sp;
	unsigned n = 0;

	for (unsigned steps = 0; n < max && pc > 4096 && steps < MAX_STEPS; steps++) {
		struct mz_row row;
		uintptr_t cfa, at;

		ips[n++] = pc;
		row = row_of(pc);
		if (row.cfa == MZ_CFA_RSP) {
			cfa = sp + (uintptr_t)(intptr_t)row.cfa_offset;
		} else if (row.cfa == MZ_CFA_RBP) {
			cfa = bp + (uintptr_t)(intptr_t)row.cfa_offset;
		} else if (row.cfa == MZ_CFA_DEREF_RBP) {
			at = bp + (uintptr_t)(intptr_t)row.cfa_offset;
			if (at < low || at > top - 8 || at % 8)
				break;
			cfa = word(at);
		} else {
			break;
		}
		if (cfa <= sp || cfa > top - 8 || cfa % 8)
			break;
		pc = word(cfa - 8);
		if (row.saves_rbp) {
			at = row.rbp_offset == INT32_MIN ? bp
							 : cfa + (uintptr_t)(intptr_t)row.rbp_offset;
			if (at < low || at > top - 8 || at % 8)
				break;
			bp = word(at);
		}
		sp = cfa;
	}
	return n;
}

static bool ours(uintptr_t pc)
{
	return pc >= (uintptr_t)__ehdr_start && pc < (uintptr_t)_end;
}

/* From here up to the program: our own frames have frame pointers. */
static unsigned take_stack(uintptr_t *ips, unsigned max)
{
	uintptr_t fp = (uintptr_t)__builtin_frame_address(0), pc, top = stack_top(fp);

	if (!top)
		return 0;
	for (unsigned i = 0; i < 16; i++) {
		pc = word(fp + 8);
		if (!ours(pc))
			return walk(pc, fp + 16, word(fp), top, ips, max);
		if (word(fp) <= fp || word(fp) > top - 16)
			return 0;
		fp = word(fp);
	}
	return 0;
}

/* ---- telling the recorder ------------------------------------------------------------ */

static size_t build_id(const struct mz_module *m, char *hex, size_t size)
{
	const ElfW(Ehdr) *head = (const void *)m->start;
	const ElfW(Phdr) *ph;
	size_t n = 0;

	hex[0] = '-';
	hex[1] = '\0';
	if (memcmp(head->e_ident, ELFMAG, SELFMAG))
		return 1;
	ph = (const void *)(m->start + head->e_phoff);
	for (unsigned i = 0; i < head->e_phnum; i++) {
		uintptr_t at = m->bias + ph[i].p_vaddr, end = at + ph[i].p_memsz;

		while (ph[i].p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) < end) {
			const ElfW(Nhdr) *note = (const void *)at;
			const uint8_t *data = (const void *)(at + sizeof(*note) + ((note->n_namesz + 3u) & ~3u));

			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4) {
				for (n = 0; n < note->n_descsz && 2 * n + 2 < size; n++)
					for (unsigned k = 0; k < 2; k++)
						hex[2 * n + k] = "0123456789abcdef"[data[n] >> (k ? 0 : 4) & 15];
				hex[2 * n] = '\0';
				return 2 * n;
			}
			at = (uintptr_t)data + ((note->n_descsz + 3u) & ~3u);
		}
	}
	return 1;
}

static char *put_hex(char *p, uint64_t v)
{
	int n = v ? (67 - __builtin_clzll(v)) / 4 : 1;

	for (int i = n - 1; i >= 0; i--, v >>= 4)
		p[i] = "0123456789abcdef"[v & 15];
	return p + n;
}

/* Once for each: its place, its build id, its file. */
static void tell_module(const struct mz_module *m)
{
	char text[MZ_TEXT_MAX], id[130];
	char *p = text;
	size_t len;
	uint32_t n = __atomic_load_n(&module_count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n && i < MODULES; i++)
		if (modules[i] == m->start)
			return;
	n = __atomic_fetch_add(&module_count, 1, __ATOMIC_ACQ_REL);
	if (n >= MODULES)
		return;
	modules[n] = m->start;
	p = put_hex(p, m->end - m->start);
	*p++ = ' ';
	len = build_id(m, id, sizeof(id));
	memcpy(p, id, len);
	p += len;
	*p++ = ' ';
	if (*m->path) {
		len = strlen(m->path);
		if (len > sizeof(text) - (size_t)(p - text))
			len = sizeof(text) - (size_t)(p - text);
		memcpy(p, m->path, len);
	} else {
		ssize_t got = readlink("/proc/self/exe", p, sizeof(text) - (size_t)(p - text));

		len = got > 0 ? (size_t)got : 0;
	}
	p += len;
	mz_append_text(MZ_REC_MODULE, m->start, text, (size_t)(p - text));
}

static bool tell_stack(struct mz_thread *t, uint32_t number, const uintptr_t *ips, unsigned depth)
{
	struct mz_record r = {.type = MZ_REC_STACK, .size = (uint16_t)depth, .value = number};

	return mz_append(t, &r, 1, ips, depth * sizeof(*ips));
}

static uint64_t hash(const uintptr_t *ips, unsigned n)
{
	uint64_t h = n;

	for (unsigned i = 0; i < n; i++)
		h = (h ^ ips[i]) * 0x9e3779b97f4a7c15u + (h >> 29);
	return h ^ h >> 32;
}

uint32_t mz_stack_slow(struct mz_thread *t)
{
	uintptr_t ips[MAX_DEPTH];
	unsigned max = mz_region->stack_depth, n;
	uint64_t h, e;
	uint32_t number;
	int saved = errno;

	if (t->in_unwinder || !make_tables())
		return 0;
	t->in_unwinder = true;
	n = take_stack(ips, max < MAX_DEPTH ? max : MAX_DEPTH);
	h = hash(ips, n);
	e = n ? __atomic_load_n(&stacks[h % STACKS], __ATOMIC_ACQUIRE) : 0;
	number = (uint32_t)e;
	if (n && (e >> 32 != h >> 32 || !number)) {
		number = __atomic_add_fetch(&stack_numbers, 1, __ATOMIC_RELAXED);
		/* first the stack, then the number that others may use */
		if (tell_stack(t, number, ips, n))
			__atomic_store_n(&stacks[h % STACKS], (h >> 32 << 32) | number,
					 __ATOMIC_RELEASE);
		else
			number = 0;
	}
	t->in_unwinder = false;
	errno = saved;
	return n ? number : 0;
}
