// SPDX-License-Identifier: BSD-2-Clause
/* Send each distinct call stack once, and later only its number. */
#include "stack.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "join.h"
#include "system.h"
#include "walk.h"

#define STACKS	   262144u /* kept numbers of stacks: 2 MiB */
#define MOST_NOTES 65536u
#define MODULES	   1024u
#define PAGE	   4096u
#define OWN_FRAME  65536u /* no frame of ours is larger */

/* The kernel maps nothing else that close to the stack of the first thread, and the stack of
 * another thread is rarely larger. */
#define STACK_SPAN (64u << 20)

extern const char __ehdr_start[] HIDDEN, _end[] HIDDEN;
extern void *__libc_stack_end __attribute__((weak)); /* musl has none */

/* One per ring, and therefore used by one thread at a time. It is not on the stack of the thread,
 * which may be small. */
struct told {
	uint32_t depth;
	uint32_t pad;
	uintptr_t last[MZ_STACK_DEPTH]; /* the stack sent last, outermost frame first */
	uintptr_t ips[MZ_STACK_DEPTH];	/* the current one, innermost first */
	struct mz_walked walked;
	uint32_t unloads; /* when it was walked */
};

/* One mapping: rows, numbers of stacks, and what each ring has sent. */
static char *tables;
static uint64_t *stacks;  /* half of a hash, and the number */
static struct told *told; /* by ring */
static uint32_t stack_numbers;
static uint64_t modules[MODULES]; /* hashes: see module_key() */
static uint32_t module_count;
static uint32_t unloads;      /* how often libraries were seen to be unloaded */
static uint32_t tables_state; /* 0 = not created, 1 = being created, 2 = ready, 3 = failed */

static size_t table_bytes(void)
{
	return mz_walk_table() + STACKS * sizeof(*stacks) + MZ_RINGS * sizeof(*told);
}

static __attribute__((noinline)) bool make_tables(void)
{
	uint32_t none = 0;
	int saved = errno;
	void *p;

	if (!__atomic_compare_exchange_n(&tables_state, &none, 1, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	p = mz_can_unwind() ? mz_own_map(NULL, table_bytes(), PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1)
			    : MAP_FAILED;
	if (!mz_can_unwind())
		mz_tell_blind(MZ_BLIND_STACKS);
	if (p != MAP_FAILED) {
		tables = p;
		mz_walk_use(tables);
		stacks = (uint64_t *)(void *)(tables + mz_walk_table());
		told = (struct told *)(void *)(stacks + STACKS);
	}
	__atomic_store_n(&tables_state, p == MAP_FAILED ? 3 : 2, __ATOMIC_RELEASE);
	errno = saved;
	return p != MAP_FAILED;
}

void mz_stack_forget(void)
{
	if (tables_state == 2)
		mz_own_unmap(tables, table_bytes());
	module_count = 0;
	tables_state = 0;
}

void mz_stack_restart(void)
{
	if (tables_state == 2)
		mz_madvise(tables, table_bytes(), MADV_DONTNEED); /* zeros again */
	module_count = 0;
}

/* The rows of a library that is gone may be wrong for what is there now. Other threads may be using
 * them: an entry that is wiped is computed again. */
void mz_stack_unloaded(void)
{
	int saved = errno;

	if (tables_state == 2)
		mz_madvise(tables, mz_walk_table(), MADV_DONTNEED); /* zeros again */
	__atomic_fetch_add(&unloads, 1, __ATOMIC_RELEASE);
	errno = saved;
}

/* ---- walking ---------------------------------------------------------------------- */

/* The stack of a thread ends below its descriptor; that of the first thread, below what the kernel
 * put before its first frame. */
static void find_own_stack(struct mz_thread *t)
{
	bool first = mz_gettid() == mz_getpid() && &__libc_stack_end;
	uintptr_t top = first ? (uintptr_t)__libc_stack_end : (uintptr_t)pthread_self();

	t->stack_low = first ? top - STACK_SPAN : top & ~(uintptr_t)(PAGE - 1);
	t->stack_whole = first;
	t->stack_top = top;
}

/* It is not known where the stack of a thread begins: it is followed downwards as far as needed.
 * All of its pages are readable; the page below it is not. */
static __attribute__((noinline)) bool follow_down(struct mz_thread *t, uintptr_t sp)
{
	while (sp < t->stack_low && !t->stack_whole) {
		uintptr_t low = t->stack_low - PAGE;

		if (t->stack_top - low > STACK_SPAN || !mz_readable(low))
			t->stack_whole = true;
		else
			t->stack_low = low;
	}
	return sp >= t->stack_low;
}

uintptr_t mz_walk_top(uintptr_t sp)
{
	struct mz_thread *t = &mz_me;

	if (__builtin_expect(!t->stack_top, 0))
		find_own_stack(t);
	if (sp >= t->stack_top || (sp < t->stack_low && !follow_down(t, sp)))
		return 0;
	return t->stack_top;
}

static inline uintptr_t word(uintptr_t at)
{
	return *(const uintptr_t *)at;
}

static bool ours(uintptr_t pc)
{
	return pc >= (uintptr_t)__ehdr_start && pc < (uintptr_t)_end;
}

/* From here up to the program's code: our own frames have frame pointers. */
static unsigned take_stack(struct told *k, unsigned max, uint8_t *how)
{
	uintptr_t fp = (uintptr_t)__builtin_frame_address(0), pc;

	for (unsigned i = 0; i < 16; i++) {
		pc = word(fp + 8);
		if (!ours(pc))
			return mz_walk((struct mz_frame_at){pc, fp + 16, word(fp)}, k->ips, max,
				       how, &k->walked);
		if (word(fp) <= fp || word(fp) - fp > OWN_FRAME)
			return 0;
		fp = word(fp);
	}
	return 0;
}

/* ---- telling the recorder ------------------------------------------------------------ */

static size_t build_id(const struct mz_module *m, char *hex, size_t size)
{
	const ElfW(Phdr) *ph = NULL;
	/* the notes are with the tables of a module whose segments make sense */
	unsigned headers = m->tables ? mz_program_headers(m, &ph) : 0;
	size_t n = 0;

	hex[0] = '-';
	hex[1] = '\0';
	for (unsigned i = 0; i < headers; i++) {
		uintptr_t at = m->bias + ph[i].p_vaddr, end = at + ph[i].p_filesz;

		if (ph[i].p_type != PT_NOTE || end < at || end - at > MOST_NOTES ||
		    !mz_may_read(m, at, end - at))
			continue;
		while (at + sizeof(ElfW(Nhdr)) < end) {
			const ElfW(Nhdr) *note = (const void *)at;
			const uint8_t *data =
				(const void *)(at + sizeof(*note) + ((note->n_namesz + 3u) & ~3u));

			if (note->n_namesz > MOST_NOTES || note->n_descsz > MOST_NOTES ||
			    (uintptr_t)data + note->n_descsz > end)
				break;
			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4) {
				for (n = 0; n < note->n_descsz && 2 * n + 2 < size; n++)
					for (unsigned k = 0; k < 2; k++)
						hex[2 * n + k] =
							"0123456789abcdef"[data[n] >> (k ? 0 : 4) &
									   15];
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

/* The file of the program itself, by the name that it was started by if that is in the same folder:
 * redis-server is a link to redis-check-rdb. Returns its length. */
static size_t put_own_file(char *to, size_t size)
{
	const struct mz_program_slot *own = &mz_region->images[mz_my_image];
	char called[sizeof(own->path)];
	struct stat a, b;
	ssize_t n;

	memcpy(called, own->path, sizeof(called));
	called[sizeof(called) - 1] = '\0';
	if (strlen(called) <= size && !mz_stat(called, &a) && !mz_stat("/proc/self/exe", &b) &&
	    a.st_ino == b.st_ino && a.st_dev == b.st_dev) {
		memcpy(to, called, strlen(called));
		return strlen(called);
	}
	n = mz_readlink("/proc/self/exe", to, size);
	return n > 0 ? (size_t)n : 0;
}

static inline uint64_t mix(uint64_t h, uint64_t v)
{
	return (h ^ v) * 0x9e3779b97f4a7c15u + (h >> 29);
}

/* Another library may be loaded to where one was before. */
static uint64_t module_key(const struct mz_module *m)
{
	uint64_t h = mix(m->start, m->end);

	for (const char *p = m->path; *p; p++)
		h = mix(h, (unsigned char)*p);
	return h | 1;
}

/* Sends the address, build ID and file of each module, once. */
void mz_walk_met(const struct mz_module *m)
{
	char text[MZ_TEXT_MAX], id[130];
	char *p = text;
	size_t len;
	uint32_t n = __atomic_load_n(&module_count, __ATOMIC_ACQUIRE);
	uint64_t key = module_key(m);

	for (uint32_t i = 0; i < n && i < MODULES; i++)
		if (modules[i] == key)
			return;
	n = __atomic_fetch_add(&module_count, 1, __ATOMIC_ACQ_REL);
	if (n >= MODULES)
		return;
	modules[n] = key;
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
		len = put_own_file(p, sizeof(text) - (size_t)(p - text));
	}
	p += len;
	if (!mz_append_text(MZ_REC_MODULE, m->start, text, (size_t)(p - text)))
		modules[n] = 0; /* it is sent again when it next occurs */
}

/* How many of the outermost frames are those of the stack sent last. */
static unsigned shared(const struct told *k, unsigned n)
{
	unsigned i = 0;

	while (i < n && i < k->depth && k->last[i] == k->ips[n - 1 - i])
		i++;
	return i;
}

/* Send what is new in the current stack. False: it was not recorded, or not all of it. */
static bool tell_stack(struct mz_thread *t, struct told *k, uint32_t number, unsigned n,
		       uint8_t how)
{
	unsigned done = shared(k, n);

	do {
		unsigned own = n - done < MZ_STACK_PART ? n - done : MZ_STACK_PART;
		bool more = done + own < n;
		struct mz_record r = {.type = MZ_REC_STACK,
				      .arg = (uint8_t)(how | (more ? MZ_STACK_MORE : 0)),
				      .size = (uint16_t)own,
				      .value = number | (uint64_t)done << 32};

		for (unsigned i = done; i < done + own; i++)
			k->last[i] = k->ips[n - 1 - i];
		k->depth = done; /* what the recorder has if this append fails */
		if (!mz_append(t, &r, 1, k->last + done, own * sizeof(*k->last)))
			return false;
		done += own;
		k->depth = done;
	} while (done < n);
	return true;
}

/* In four lanes, none of which waits for another. */
static uint64_t hash(const uintptr_t *ips, unsigned n)
{
	uint64_t a = n, b = 1, c = 2, d = 3;
	unsigned i = 0;

	for (; n - i >= 4; i += 4) {
		a = mix(a, ips[i]);
		b = mix(b, ips[i + 1]);
		c = mix(c, ips[i + 2]);
		d = mix(d, ips[i + 3]);
	}
	for (; i < n; i++)
		a = mix(a, ips[i]);
	a = mix(mix(mix(a, b), c), d);
	return a ^ a >> 32;
}

/* The number of the current stack, of n frames. */
static uint32_t number_of(struct mz_thread *t, struct told *k, unsigned n, uint8_t how)
{
	uint64_t h = hash(k->ips, n), e = __atomic_load_n(&stacks[h % STACKS], __ATOMIC_ACQUIRE);
	uint32_t number = (uint32_t)e;

	if (e >> 32 == h >> 32 && number)
		return number;
	number = __atomic_add_fetch(&stack_numbers, 1, __ATOMIC_RELAXED);
	if (!tell_stack(t, k, number, n, how))
		return 0;
	/* first the stack, then the number that others may use */
	__atomic_store_n(&stacks[h % STACKS], (h >> 32 << 32) | number, __ATOMIC_RELEASE);
	return number;
}

/* The usual case, in which the whole stack occurred before, makes no system call; whatever may
 * change errno restores it. */
uint32_t mz_stack_slow(struct mz_thread *t)
{
	unsigned max = mz_region->stack_depth, n;
	uint32_t number = 0;
	struct told *k;
	uint8_t how;

	/* unless a signal handler jumped out of it */
	if (t->in_unwinder && !mz_given_up(t->unwinder_at, __builtin_frame_address(0)))
		return 0;
	if (tables_state != 2 && !make_tables())
		return 0;
	if (!t->ring && !mz_has_ring(t))
		return 0;
	t->in_unwinder = true;
	t->unwinder_at = (uintptr_t)__builtin_frame_address(0);
	k = &told[t->number];
	if (k->unloads != __atomic_load_n(&unloads, __ATOMIC_ACQUIRE)) {
		k->unloads = unloads;
		k->walked.count = 0;
	}
	n = take_stack(k, max < MZ_STACK_DEPTH ? max : MZ_STACK_DEPTH, &how);
	if (n)
		number = number_of(t, k, n, how);
	t->in_unwinder = false;
	return number;
}
