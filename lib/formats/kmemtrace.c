// SPDX-License-Identifier: BSD-2-Clause
/* Read and write the records of the original kmemtrace, of either byte order and word size. */
#include "formats/kmemtrace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formats/kmemtrace_companions.h"

/* The numbers of the original kmemtrace, and of the extensions that our kernel adds
 * (kmemtrace.h). */
enum { EVENT_ALLOC, EVENT_FREE };
enum { TYPE_KMALLOC, TYPE_CACHE, TYPE_PAGES, TYPES };
enum { KIND_PLAIN, KIND_VMALLOC };
enum { EXT_CONTEXT = 1, EXT_STACK = 2, CONTEXT_SIZE = 24, STACK_SIZE = 8 };

static const uint8_t calls[2][TYPES] = {
	[EVENT_ALLOC] = {MZ_CALL_KMALLOC, MZ_CALL_KMEM_CACHE_ALLOC, MZ_CALL_PAGE_ALLOC},
	[EVENT_FREE] = {MZ_CALL_KFREE, MZ_CALL_KMEM_CACHE_FREE, MZ_CALL_PAGE_FREE},
};

size_t mz_kmemtrace_size(enum mz_kmemtrace_shape shape, bool is_free)
{
	static const uint8_t sizes[MZ_KMT_SHAPES][2] = {
		[MZ_KMT_C] = {48, 24}, [MZ_KMT_E64] = {56, 32}, [MZ_KMT_E32] = {40, 24}};

	return sizes[shape][is_free];
}

const char *mz_kmemtrace_shape_name(const struct mz_kmemtrace_layout *l)
{
	static const char *const names[MZ_KMT_SHAPES][2] = {
		{"format C, little endian", "format C, big endian"},
		{"format E, 64 bits, little endian", "format E, 64 bits, big endian"},
		{"format E, 32 bits, little endian", "format E, 32 bits, big endian"}};

	return names[l->shape][l->big];
}

/* ---- bytes -------------------------------------------------------------- */

/* Byte by byte: a file may come from a machine of either byte order. */
static uint64_t get(const char *p, unsigned n, bool big)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < n; i++)
		v = v << 8 | (uint8_t)p[big ? i : n - 1 - i];
	return v;
}

static char *put(char *p, uint64_t v, unsigned n, bool big)
{
	for (unsigned i = 0; i < n; i++)
		p[big ? n - 1 - i : i] = (char)(v >> (8 * i));
	return p + n;
}

/* ---- one record --------------------------------------------------------- */

/* Extensions (u16 size, u8 id, data) fill what is left of a record exactly. */
static bool extensions_fit(const char *p, size_t left, bool big)
{
	while (left) {
		size_t n = left < 3 ? 0 : (size_t)get(p, 2, big);

		if (n < 3 || n > left)
			return false;
		p += n;
		left -= n;
	}
	return true;
}

/* The size of the record at p, 0 = too few bytes, -1 = no record. */
static long measure(const struct mz_kmemtrace_layout *l, const char *p, size_t len,
		    const char **why)
{
	size_t size, least;

	if (len < 4)
		return 0;
	size = (size_t)get(p + 2, 2, l->big);
	if (!p[0] && !p[1] && !size) {
		*why = "an empty record (all zero)";
		return -1;
	}
	if ((uint8_t)p[0] > EVENT_FREE) {
		*why = "the event is neither 0 (alloc) nor 1 (free)";
		return -1;
	}
	if ((uint8_t)p[1] >= TYPES) {
		*why = "the type is none of 0 (kmalloc), 1 (kmem_cache), 2 (pages)";
		return -1;
	}
	least = mz_kmemtrace_size(l->shape, p[0] == EVENT_FREE);
	if (size < least || (l->shape != MZ_KMT_C && size != least)) {
		*why = "the size is not that of such a record";
		return -1;
	}
	if (size > len)
		return 0;
	if (!extensions_fit(p + least, size - least, l->big)) {
		*why = "the extension does not fit the size of the record";
		return -1;
	}
	return (long)size;
}

/* The extensions that we know. Others, and longer forms of these, are ignored. */
static void get_extensions(const struct mz_kmemtrace_layout *l, const char *p, size_t left,
			   struct mz_event *ev, struct mz_kmemtrace_extra *x)
{
	size_t n;

	for (; left; p += n, left -= n) {
		n = (size_t)get(p, 2, l->big);
		if (p[2] == EXT_CONTEXT && n >= CONTEXT_SIZE) {
			if (p[3] == KIND_VMALLOC &&
			    (ev->call == MZ_CALL_PAGE_ALLOC || ev->call == MZ_CALL_PAGE_FREE))
				ev->call = ev->kind == MZ_FREE ? MZ_CALL_VFREE : MZ_CALL_VMALLOC;
			x->cache = (uint32_t)get(p + 4, 4, l->big);
			ev->time = get(p + 8, 8, l->big);
			ev->pid = (uint32_t)get(p + 16, 4, l->big);
			ev->tid = (uint32_t)get(p + 20, 4, l->big);
			ev->has |= MZ_HAS_PID | MZ_HAS_TID;
			x->context = true;
		} else if (p[2] == EXT_STACK && n >= STACK_SIZE) {
			x->stack = (uint32_t)get(p + 4, 4, l->big);
		}
	}
}

/* Returns the size of the record, 0 if it is cut off, or -1 with the reason. The fixed part is
 * read first; extensions fill in what format C alone does not know. */
long mz_kmemtrace_get(const struct mz_kmemtrace_layout *l, const char *p, size_t len,
		      struct mz_event *ev, struct mz_kmemtrace_extra *x, const char **why)
{
	long size = measure(l, p, len, why);
	unsigned word = l->shape == MZ_KMT_E32 ? 4 : 8;
	size_t least;
	int32_t node;

	*x = (struct mz_kmemtrace_extra){0};
	if (size <= 0)
		return size;
	*ev = (struct mz_event){
		.call = calls[(uint8_t)p[0]][(uint8_t)p[1]],
		.kind = p[0] == EVENT_FREE ? MZ_FREE : MZ_ALLOC,
		.has = MZ_HAS_ADDR | MZ_HAS_TIME | MZ_HAS_SITE,
	};
	least = mz_kmemtrace_size(l->shape, ev->kind == MZ_FREE);
	get_extensions(l, p + least, (size_t)size - least, ev, x);
	if (l->shape == MZ_KMT_C) {
		x->sequence = (int32_t)get(p + 4, 4, l->big);
		p += 8;
	} else {
		uint64_t cpu = get(p + 4, 4, l->big);

		*why = "the number of the CPU is out of range";
		if (cpu > INT16_MAX)
			return -1;
		ev->cpu = (int16_t)cpu;
		ev->has |= MZ_HAS_CPU;
		ev->time = get(p + 8, 8, l->big);
		p += 16;
	}
	x->site = get(p, word, l->big);
	ev->addr = get(p + word, word, l->big);
	p += 2 * word;
	if (ev->kind == MZ_FREE)
		return size;
	ev->size = get(p, word, l->big);
	ev->given = get(p + word, word, l->big);
	ev->flags = (uint32_t)get(p + 2 * word, 4, l->big);
	node = (int32_t)get(p + 2 * word + 4, 4, l->big);
	*why = "the number of the node is out of range";
	if (node < -1 || node > INT16_MAX)
		return -1;
	ev->node = (int16_t)node;
	ev->has |= MZ_HAS_GIVEN | MZ_HAS_FLAGS | MZ_HAS_NODE;
	return size;
}

/* vmalloc has no type of its own in the fixed part, so it is not found here. */
static int type_of(uint8_t call)
{
	for (int i = 0; i < TYPES; i++)
		if (calls[EVENT_ALLOC][i] == call || calls[EVENT_FREE][i] == call)
			return i;
	return -1;
}

/* The cache and the stack are numbers of lines in the files beside the trace. */
static char *put_extensions(char *p, bool big, const struct mz_event *ev,
			    const struct mz_kmemtrace_extra *x, bool vmalloc)
{
	p = put(p, CONTEXT_SIZE, 2, big);
	*p++ = EXT_CONTEXT;
	*p++ = vmalloc ? KIND_VMALLOC : KIND_PLAIN;
	p = put(p, x->cache, 4, big);
	p = put(p, ev->time, 8, big);
	p = put(p, ev->pid, 4, big);
	p = put(p, ev->tid, 4, big);
	if (!x->stack)
		return p;
	p = put(p, STACK_SIZE, 2, big);
	*p++ = EXT_STACK;
	*p++ = 0;
	return put(p, x->stack, 4, big);
}

/* A record that the layout cannot hold is refused with the reason, never truncated: the caller
 * counts it. */
size_t mz_kmemtrace_put(const struct mz_kmemtrace_layout *l, const struct mz_event *ev,
			const struct mz_kmemtrace_extra *x, char *p, const char **why)
{
	bool extend = x->context && l->shape == MZ_KMT_C;
	bool vmalloc = extend && (ev->call == MZ_CALL_VMALLOC || ev->call == MZ_CALL_VFREE);
	int type = vmalloc ? TYPE_PAGES : type_of(ev->call);
	bool is_free = ev->kind == MZ_FREE;
	unsigned word = l->shape == MZ_KMT_E32 ? 4 : 8;
	uint64_t given = ev->has & MZ_HAS_GIVEN ? ev->given : ev->size;
	size_t size = mz_kmemtrace_size(l->shape, is_free);

	if (extend)
		size += CONTEXT_SIZE + (x->stack ? STACK_SIZE : 0);
	*why = "kmemtrace knows kmalloc, kmem_cache and pages only";
	if (type < 0)
		return 0;
	*why = "an address or a size has more than 32 bits";
	if (word == 4 && (ev->addr | x->site | ev->size | given) >> 32)
		return 0;
	*p++ = is_free ? EVENT_FREE : EVENT_ALLOC;
	*p++ = (char)type;
	p = put(p, size, 2, l->big);
	if (l->shape == MZ_KMT_C) {
		p = put(p, (uint32_t)x->sequence, 4, l->big);
	} else {
		p = put(p, ev->has & MZ_HAS_CPU && ev->cpu >= 0 ? (uint64_t)ev->cpu : 0, 4, l->big);
		p = put(p, ev->time, 8, l->big);
	}
	p = put(p, x->site, word, l->big);
	p = put(p, ev->addr, word, l->big);
	if (!is_free) {
		p = put(p, ev->size, word, l->big);
		p = put(p, given, word, l->big);
		p = put(p, ev->flags, 4, l->big);
		p = put(p, (uint32_t)(ev->has & MZ_HAS_NODE ? ev->node : -1), 4, l->big);
	}
	if (extend)
		put_extensions(p, l->big, ev, x, vmalloc);
	return size;
}

/* ---- what is it --------------------------------------------------------- */

/* How many records at the start fit this layout; 0 = the layout is another one. */
static unsigned fits(const struct mz_kmemtrace_layout *l, const char *data, size_t len)
{
	size_t at = 0;
	unsigned n = 0;
	uint64_t last = 0, first = 0;
	bool changes = false, allocs = false;

	while (at < len && n < 64) {
		const char *why;
		long size = measure(l, data + at, len - at, &why);
		uint64_t word;

		/* the reader reports a later fault, with its location */
		if (size < 0 && n < 2)
			return 0;
		if (size <= 0)
			break;
		word = get(data + at + 4, 4, l->big);
		first = n ? first : word;
		changes |= n && word != last;
		allocs |= data[at] == EVENT_ALLOC;
		last = word;
		at += (size_t)size;
		n++;
	}
	/* a free of 24 bytes may be C, or E with 32 bits: C has a sequence number there, E a CPU */
	if (l->shape == MZ_KMT_E32 && !allocs && (changes || first >= 4096))
		return 0;
	if (l->shape == MZ_KMT_C && !allocs && n > 1 && !changes)
		return 0;
	return n;
}

/* There is no magic, so each of the six layouts is tried on the first records; the one that
 * explains the most of them wins. */
bool mz_kmemtrace_detect(const char *data, size_t len, struct mz_kmemtrace_layout *l)
{
	unsigned best = 0;

	for (int shape = 0; shape < MZ_KMT_SHAPES; shape++)
		for (int big = 0; big < 2; big++) {
			struct mz_kmemtrace_layout try = {shape, big};
			unsigned n = fits(&try, data, len);

			if (n > best) {
				best = n;
				*l = try;
			}
		}
	return best;
}

/* ---- as a reader -------------------------------------------------------- */

struct kmemtrace_state {
	struct mz_kmemtrace_layout layout;
	struct mz_kmemtrace_companions beside;
	int64_t sequence; /* of format C, without its wrap */
	uint64_t time;	  /* of the last record that had one */
	bool begun;
	bool timed;
};

bool mz_kmemtrace_timed(const struct mz_reader *r)
{
	return ((const struct kmemtrace_state *)r->state)->timed;
}

static int raw_open(struct mz_reader *r)
{
	struct kmemtrace_state *s = calloc(1, sizeof(*s));
	struct mz_kmemtrace_extra x;
	struct mz_event ev;
	const char *why;

	if (!s)
		return mz_fail_memory(&r->error);
	r->state = s;
	if (!mz_kmemtrace_detect(r->in.pos, mz_input_left(&r->in), &s->layout))
		return mz_fail_offset(&r->error, EINVAL, 0, "%s: byte 0: no kmemtrace record",
				      r->in.name);
	if (mz_kmemtrace_get(&s->layout, r->in.pos, mz_input_left(&r->in), &ev, &x, &why) > 0)
		s->timed = x.context;
	r->ordered = s->layout.shape == MZ_KMT_C;
	/* a file that was named has a folder; other input has none */
	if (s->timed && r->in.own_fd)
		return mz_kmemtrace_companions_load(&s->beside, r->in.name, &r->error);
	return 0;
}

/* Without a stack file the call site alone is the stack, so that reports work for every
 * recording. */
static int raw_names(struct mz_reader *r, struct kmemtrace_state *s,
		     const struct mz_kmemtrace_extra *x, struct mz_event *ev)
{
	size_t depth, len;
	const uint64_t *ips = mz_kmemtrace_companions_stack(&s->beside, x->stack, &depth);
	const char *name = mz_kmemtrace_companions_cache(&s->beside, x->cache, &len);

	ev->site = ips ? mz_tables_stack(r->tables, ips, depth)
		       : mz_tables_stack(r->tables, &x->site, 1);
	if (!ev->site)
		return mz_fail_memory(&r->error);
	if (!name)
		return 0;
	ev->cache = mz_tables_string(r->tables, name, len);
	if (!ev->cache)
		return mz_fail_memory(&r->error);
	ev->has |= MZ_HAS_CACHE;
	return 0;
}

/* Sequence numbers have 32 bits and may wrap: the number nearest to the preceding one is meant. */
static void raw_order(struct kmemtrace_state *s, const struct mz_kmemtrace_extra *x,
		      struct mz_event *ev)
{
	s->sequence =
		s->begun ? s->sequence + (int32_t)((uint32_t)x->sequence - (uint32_t)s->sequence)
			 : (uint32_t)x->sequence;
	s->begun = true;
	if (x->context)
		s->time = ev->time;
	ev->time = s->timed ? s->time : s->sequence > 0 ? (uint64_t)s->sequence : 0;
}

/* order is the sequence number: the files of several CPUs are merged by it, because clocks of
 * CPUs may differ. */
static int raw_one(struct mz_reader *r, struct kmemtrace_state *s, struct mz_event *ev,
		   uint64_t *order)
{
	const char *why = "";
	uint64_t at = mz_input_tell(&r->in);
	struct mz_kmemtrace_extra x;
	long size;

	if (mz_input_fill(&r->in, MZ_KMT_RECORD_MAX, &r->error) < 0)
		return -r->error.code;
	if (!mz_input_left(&r->in))
		return 0;
	size = mz_kmemtrace_get(&s->layout, r->in.pos, mz_input_left(&r->in), ev, &x, &why);
	if (size < 0)
		return mz_fail_offset(&r->error, EINVAL, at,
				      "%s: byte %llu: %s (%s); see "
				      "kmemtrace_check",
				      r->in.name, (unsigned long long)at, why,
				      mz_kmemtrace_shape_name(&s->layout));
	if (!size)
		return mz_fail_offset(
			&r->error, EINVAL, at,
			"%s: byte %llu: the file ends inside a record; it was truncated",
			r->in.name, (unsigned long long)at);
	if (s->layout.shape == MZ_KMT_C)
		raw_order(s, &x, ev);
	*order = (uint64_t)s->sequence;
	if (raw_names(r, s, &x, ev) < 0)
		return -r->error.code;
	r->in.pos += size;
	return 1;
}

/* Events read before an error are returned first; the error is reported by the next call. */
static long raw_read(struct mz_reader *r, struct mz_event *ev, size_t max)
{
	struct kmemtrace_state *s = r->state;
	size_t n = 0;
	int ret = 1;

	while (n < max && ret > 0) {
		r->places[n] = mz_input_tell(&r->in);
		ret = raw_one(r, s, &ev[n], &r->orders[n]);
		if (ret > 0)
			r->fields |= ev[n++].has;
	}
	return n ? (long)n : ret;
}

static void raw_close(struct mz_reader *r)
{
	struct kmemtrace_state *s = r->state;

	if (s)
		mz_kmemtrace_companions_free(&s->beside);
	free(s);
}

static const struct mz_reader_ops ops_c = {
	.format = MZ_FORMAT_KMEMTRACE_C, .open = raw_open, .read = raw_read, .close = raw_close};
static const struct mz_reader_ops ops_e = {
	.format = MZ_FORMAT_KMEMTRACE_E, .open = raw_open, .read = raw_read, .close = raw_close};

const struct mz_reader_ops *mz_kmemtrace_probe(const char *data, size_t len)
{
	struct mz_kmemtrace_layout l;

	if (!mz_kmemtrace_detect(data, len, &l))
		return NULL;
	return l.shape == MZ_KMT_C ? &ops_c : &ops_e;
}
