// SPDX-License-Identifier: BSD-2-Clause
/* Read heaptrack's text files as a trace. */
#include "formats/heaptrack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/error.h"

/* The same limit as in text traces. */
#define DEPTH_MAX 1024

/* A stack: the address of its innermost frame, and the stack of its caller. */
struct trace {
	uint64_t ip;
	uint32_t parent; /* 0 = none */
	uint32_t depth;
};

/* A sort of blocks: size and stack, and the live ones, newest last. */
struct block_sort {
	uint64_t size;
	uint32_t site;	 /* 0 = not known */
	uint32_t newest; /* in blocks, + 1; 0 = none */
};

struct sort_block {
	uint64_t object;
	union {
		uint32_t older;	    /* of the sort, + 1 */
		uint32_t next_free; /* a free one: + 1 */
	};
};

struct heaptrack_state {
	uint64_t version;
	struct mz_buf strings; /* uint32_t: numbers in the reader's tables */
	struct mz_buf ips;     /* uint64_t */
	struct mz_buf traces;  /* struct trace */
	struct mz_buf sorts;
	struct mz_buf blocks;
	uint32_t spare; /* + 1 */
	uint64_t objects;
	uint64_t time; /* ns */
	bool timed;
};

/* Old versions have one number in their first line, new ones two. */
bool mz_heaptrack_probe(const char *data, size_t len)
{
	struct mz_cursor c = {data, data + len};
	const char *nl = memchr(data, '\n', len);
	uint64_t v;

	if (nl)
		c.end = nl;
	if (!nl || !mz_cursor_skip(&c, "v ") || !mz_cursor_hex(&c, &v))
		return false;
	mz_cursor_blanks(&c);
	return c.p == c.end || (mz_cursor_hex(&c, &v) && c.p == c.end);
}

static size_t count(const struct mz_buf *b, size_t size)
{
	return b->len / size;
}

static void *at(const struct mz_buf *b, size_t i, size_t size)
{
	return b->data + i * size;
}

/* The line is named; its content is not repeated, because heaptrack's lines are not readable
 * text. */
static int wrong(struct mz_reader *r, const char *what)
{
	return mz_fail_line(&r->error, EINVAL, r->line,
			    "%s: line %llu: not a line of heaptrack: %s", r->in.name,
			    (unsigned long long)r->line, what);
}

static bool hex(struct mz_cursor *c, uint64_t *v)
{
	return mz_cursor_whole_hex(mz_cursor_word(c), v);
}

/* ---- strings, instructions, stacks, sorts ------------------------------- */

/* heaptrack numbers strings in the order of the file; the same text may occur twice. */
static int add_string(struct mz_reader *r, struct mz_cursor c)
{
	struct heaptrack_state *s = r->state;
	uint64_t len;
	uint32_t id;

	if (s->version >= 3) { /* with its length before it */
		if (!hex(&c, &len) || (c.p < c.end && *c.p++ != ' ') ||
		    len != (uint64_t)(c.end - c.p))
			return wrong(r, "a string does not have its stated length");
	}
	id = mz_tables_string(r->tables, c.p, (size_t)(c.end - c.p));
	mz_buf_add(&s->strings, &id, sizeof(id));
	return id && !s->strings.failed ? 0 : mz_fail_memory(&r->error);
}

/* NULL for 0; false: there is no such string. */
static bool get_string(struct mz_reader *r, uint64_t i, const char **out)
{
	struct heaptrack_state *s = r->state;
	size_t len;

	*out = NULL;
	if (i > count(&s->strings, sizeof(uint32_t)))
		return false;
	if (i)
		*out = mz_tables_get_string(
			r->tables, *(uint32_t *)at(&s->strings, i - 1, sizeof(uint32_t)), &len);
	return true;
}

/* heaptrack has resolved the names itself, on the machine of the recording: they are kept, and no
 * debugging information is needed here. */
static int add_instruction(struct mz_reader *r, struct mz_cursor c)
{
	struct mz_name names[MZ_NAMES_INLINED];
	struct heaptrack_state *s = r->state;
	uint64_t ip, module, function, file, line;
	const char *in = NULL;
	size_t n = 0;

	if (!hex(&c, &ip) || !hex(&c, &module) || !get_string(r, module, &in))
		return wrong(r, "an instruction without address or module");
	for (;;) {
		file = line = 0;
		mz_cursor_blanks(&c);
		if (c.p == c.end)
			break;
		if (!hex(&c, &function))
			return wrong(r, "the function of an instruction is not a number");
		mz_cursor_blanks(&c);
		if (c.p < c.end && (!hex(&c, &file) || !hex(&c, &line) || line > UINT32_MAX))
			return wrong(r, "the line of an instruction is missing");
		if (n == MZ_NAMES_INLINED)
			continue;
		if (!get_string(r, function, &names[n].function) ||
		    !get_string(r, file, &names[n].file))
			return wrong(r, "an instruction refers to a missing string");
		names[n++].line = (uint32_t)line;
	}
	mz_buf_add(&s->ips, &ip, sizeof(ip));
	if (s->ips.failed || mz_names_add(r->names, ip, in, names, n) < 0)
		return mz_fail_memory(&r->error);
	return 0;
}

/* A stack may only refer to earlier ones, so there can be no cycle; its depth bounds the walk. */
static int add_trace(struct mz_reader *r, struct mz_cursor c)
{
	struct heaptrack_state *s = r->state;
	uint64_t ip, parent;
	struct trace t = {.depth = 1};

	if (!hex(&c, &ip) || !hex(&c, &parent) || !ip || ip > count(&s->ips, sizeof(uint64_t)) ||
	    parent > count(&s->traces, sizeof(t)))
		return wrong(r, "a stack refers to a missing entry");
	t.ip = *(uint64_t *)at(&s->ips, ip - 1, sizeof(uint64_t));
	t.parent = (uint32_t)parent;
	if (parent)
		t.depth += ((struct trace *)at(&s->traces, parent - 1, sizeof(t)))->depth;
	mz_buf_add(&s->traces, &t, sizeof(t));
	return s->traces.failed ? mz_fail_memory(&r->error) : 0;
}

/* The site of a stack: its innermost addresses, up to the limit. */
static uint32_t site_of(struct mz_reader *r, uint64_t trace)
{
	struct heaptrack_state *s = r->state;
	uint64_t ips[DEPTH_MAX];
	size_t n = 0;

	while (trace && n < DEPTH_MAX) {
		const struct trace *t = at(&s->traces, trace - 1, sizeof(*t));

		ips[n++] = t->ip;
		trace = t->parent;
	}
	return mz_tables_stack(r->tables, ips, n);
}

static int add_sort(struct mz_reader *r, struct mz_cursor c)
{
	struct heaptrack_state *s = r->state;
	struct block_sort sort = {0};
	uint64_t trace;

	if (!hex(&c, &sort.size) || !hex(&c, &trace) ||
	    trace > count(&s->traces, sizeof(struct trace)))
		return wrong(r, "an allocation refers to a missing stack");
	if (trace) {
		sort.site = site_of(r, trace);
		if (!sort.site)
			return mz_fail_memory(&r->error);
	}
	mz_buf_add(&s->sorts, &sort, sizeof(sort));
	return s->sorts.failed ? mz_fail_memory(&r->error) : 0;
}

/* ---- events ------------------------------------------------------------- */

/* Frees and allocations name a sort of blocks, never a block. */
static struct block_sort *get_sort(struct mz_reader *r, struct mz_cursor c)
{
	struct heaptrack_state *s = r->state;
	uint64_t i;

	if (!hex(&c, &i) || i >= count(&s->sorts, sizeof(struct block_sort))) {
		wrong(r, "an event refers to a missing allocation");
		return NULL;
	}
	return at(&s->sorts, i, sizeof(struct block_sort));
}

static void set_time(const struct heaptrack_state *s, struct mz_event *ev)
{
	if (s->timed) {
		ev->time = s->time;
		ev->has |= MZ_HAS_TIME;
	}
}

/* A stack of live blocks per sort, linked through one array whose entries are reused. */
static int birth(struct mz_reader *r, struct mz_cursor c, struct mz_event *ev)
{
	struct block_sort *sort = get_sort(r, c);
	struct heaptrack_state *s = r->state;
	struct sort_block b;
	uint32_t i;

	if (!sort)
		return -EINVAL;
	b = (struct sort_block){.object = ++s->objects, .older = sort->newest};
	if (s->spare) {
		i = s->spare - 1;
		s->spare = ((struct sort_block *)at(&s->blocks, i, sizeof(b)))->next_free;
		*(struct sort_block *)at(&s->blocks, i, sizeof(b)) = b;
	} else {
		i = (uint32_t)count(&s->blocks, sizeof(b));
		mz_buf_add(&s->blocks, &b, sizeof(b));
		if (s->blocks.failed)
			return mz_fail_memory(&r->error);
	}
	sort->newest = i + 1;
	*ev = (struct mz_event){.kind = MZ_ALLOC,
				.call = MZ_CALL_MALLOC,
				.object = b.object,
				.size = sort->size,
				.site = sort->site,
				.has = sort->site ? MZ_HAS_SITE : 0};
	set_time(s, ev);
	return 1;
}

/* Any block of the sort would do, since they are alike; the newest keeps lifetimes short, which
 * most are. */
static int death(struct mz_reader *r, struct mz_cursor c, struct mz_event *ev)
{
	struct block_sort *sort = get_sort(r, c);
	struct heaptrack_state *s = r->state;
	struct sort_block *b;
	uint32_t i;

	if (!sort)
		return -EINVAL;
	if (!sort->newest)
		return wrong(r, "a free of an allocation of which none is live");
	i = sort->newest;
	b = at(&s->blocks, i - 1, sizeof(*b));
	*ev = (struct mz_event){.kind = MZ_FREE, .call = MZ_CALL_FREE, .object = b->object};
	sort->newest = b->older;
	b->next_free = s->spare;
	s->spare = i;
	set_time(s, ev);
	return 1;
}

/* heaptrack's clock may go back by a few milliseconds from one thread to the next; the times of our
 * events do not. */
static int set_clock(struct mz_reader *r, struct mz_cursor c)
{
	struct heaptrack_state *s = r->state;
	uint64_t ms;

	if (!hex(&c, &ms) || ms > UINT64_MAX / 1000000)
		return wrong(r, "the time is not a number");
	s->time = ms * 1000000 > s->time ? ms * 1000000 : s->time;
	s->timed = true;
	return 0;
}

static int set_version(struct mz_reader *r, struct mz_cursor c)
{
	struct heaptrack_state *s = r->state;
	uint64_t program;

	s->version = 0;
	if (!hex(&c, &program))
		return wrong(r, "the version is not a number");
	hex(&c, &s->version);
	if (s->version < 1 || s->version > 3)
		return wrong(r, "its version is not 1, 2 or 3; open it with heaptrack");
	return 0;
}

static int set_command(struct mz_reader *r, struct mz_cursor c)
{
	char *text = strndup(c.p, (size_t)(c.end - c.p));
	int ret = text ? mz_reader_set_text(r, "command", text) : -ENOMEM;

	free(text);
	return ret == -ENOMEM ? mz_fail_memory(&r->error) : 0;
}

/* 1: an event; 0: none; -errno. */
static int take_line(struct mz_reader *r, const char *line, size_t len, struct mz_event *ev)
{
	struct mz_cursor c = {line + 1, line + len};

	if (!len || *line == '#')
		return 0;
	if (c.p < c.end && *c.p++ != ' ')
		return wrong(r, "the first word has more than one letter");
	switch (*line) {
	case 'v': return set_version(r, c);
	case 's': return add_string(r, c);
	case 'i': return add_instruction(r, c);
	case 't': return add_trace(r, c);
	case 'a': return add_sort(r, c);
	case '+': return birth(r, c, ev);
	case '-': return death(r, c, ev);
	case 'c': return set_clock(r, c);
	case 'X': return set_command(r, c);
	/* attachment, system, peak RSS and suppressions: nothing that an event needs */
	case 'A':
	case 'I':
	case 'R':
	case 'S':
	case 'm': return 0;
	default: return wrong(r, "its letter is unknown");
	}
}

static int ht_open(struct mz_reader *r)
{
	r->state = calloc(1, sizeof(struct heaptrack_state));
	r->names = mz_names_new();
	return r->state && r->names ? 0 : mz_fail_memory(&r->error);
}

static long ht_read(struct mz_reader *r, struct mz_event *ev, size_t max)
{
	const char *line;
	size_t n = 0, len;
	int ret = 1;

	while (n < max && (ret = mz_input_line(&r->in, &line, &len, &r->error)) > 0) {
		r->line++;
		ret = take_line(r, line, len, &ev[n]);
		if (ret < 0)
			break;
		if (ret) {
			r->fields |= ev[n].has;
			r->places[n++] = r->line;
		}
	}
	return n ? (long)n : ret < 0 ? ret : 0;
}

static void ht_close(struct mz_reader *r)
{
	struct heaptrack_state *s = r->state;

	if (!s)
		return;
	mz_buf_free(&s->strings);
	mz_buf_free(&s->ips);
	mz_buf_free(&s->traces);
	mz_buf_free(&s->sorts);
	mz_buf_free(&s->blocks);
	free(s);
}

const struct mz_reader_ops mz_heaptrack_reader_ops = {.format = MZ_FORMAT_HEAPTRACK,
						      .resolved = true,
						      .lines = true,
						      .open = ht_open,
						      .read = ht_read,
						      .close = ht_close};
