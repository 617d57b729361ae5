// SPDX-License-Identifier: BSD-2-Clause
/* Read kmem events from the output of `perf script`. */
#include "formats/perf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_name.h"
#include "base/cursor.h"
#include "base/error.h"

/* The kernel itself cuts a chain at 127 frames unless it is told otherwise. What is beyond the
 * limit here is left out, and the inner frames remain. */
#define DEPTH_MAX 256
#define PAGE	  4096

struct perf_state {
	struct mz_event ev; /* its call chain may follow */
	bool pending;
	bool in_chain;	 /* of an event that is wanted */
	uint64_t number; /* its line */
	uint64_t ips[DEPTH_MAX];
	size_t depth;
	struct mz_buf site; /* the text of call_site= */
	size_t cut;	    /* frames up to the call site, which are the allocator's */
};

static const struct {
	const char *name;
	uint8_t call;
	bool is_free;
} events[] = {
	{"kmalloc:", MZ_CALL_KMALLOC, false},
	{"kmalloc_node:", MZ_CALL_KMALLOC, false},
	{"kmem_cache_alloc:", MZ_CALL_KMEM_CACHE_ALLOC, false},
	{"kmem_cache_alloc_node:", MZ_CALL_KMEM_CACHE_ALLOC, false},
	{"mm_page_alloc:", MZ_CALL_PAGE_ALLOC, false},
	{"kfree:", MZ_CALL_KFREE, true},
	{"kmem_cache_free:", MZ_CALL_KMEM_CACHE_FREE, true},
	{"mm_page_free:", MZ_CALL_PAGE_FREE, true},
};

/* ---- the head of a line ------------------------------------------------- */

/* Cut off the last word, and return it. The head of a line is read from its end, because the name
 * of a process in front may contain anything. */
static struct mz_cursor last_word(struct mz_cursor *c)
{
	struct mz_cursor word;

	while (c->end > c->p && mz_is_blank(c->end[-1]))
		c->end--;
	word.end = c->end;
	while (c->end > c->p && !mz_is_blank(c->end[-1]))
		c->end--;
	word.p = c->end;
	return word;
}

/* "13932.497830:" in ns */
static bool parse_time(struct mz_cursor word, uint64_t *ns)
{
	uint64_t s, fraction;
	const char *dot;
	unsigned digits;

	if (word.end == word.p || word.end[-1] != ':')
		return false;
	word.end--;
	if (!mz_cursor_u64(&word, &s) || word.p == word.end || *word.p++ != '.')
		return false;
	dot = word.p;
	if (!mz_cursor_u64(&word, &fraction) || word.p != word.end || s > UINT64_MAX / 2000000000)
		return false;
	digits = (unsigned)(word.end - dot);
	if (digits > 9)
		return false;
	for (; digits < 9; digits++)
		fraction *= 10;
	*ns = s * 1000000000 + fraction;
	return true;
}

/* "COMM PID [CPU] TIME:"; the name of the process may contain blanks. A count (the period) may
 * follow the time. */
static bool parse_head(struct mz_cursor head, struct mz_event *ev)
{
	struct mz_cursor word = last_word(&head);
	uint64_t v;

	if (mz_cursor_whole_u64(word, &v))
		word = last_word(&head);
	if (!parse_time(word, &ev->time))
		return false;
	ev->has |= MZ_HAS_TIME;
	word = last_word(&head);
	if (word.end - word.p > 2 && *word.p == '[' && word.end[-1] == ']') {
		word.p++;
		word.end--;
		if (!mz_cursor_whole_u64(word, &v) || v > INT16_MAX)
			return false;
		ev->cpu = (int16_t)v;
		ev->has |= MZ_HAS_CPU;
		word = last_word(&head);
	}
	if (mz_cursor_u64(&word, &v) && v <= UINT32_MAX) { /* PID, or PID/TID */
		ev->tid = (uint32_t)v;
		ev->has |= MZ_HAS_TID;
		if (word.p < word.end && *word.p++ == '/') {
			ev->pid = ev->tid;
			ev->has |= MZ_HAS_PID;
			if (!mz_cursor_whole_u64(word, &v) || v > UINT32_MAX)
				return false;
			ev->tid = (uint32_t)v;
		}
	}
	return true;
}

/* Find " kmem:" after a valid head; *rest is what follows. */
static bool split(const char *line, size_t len, const char *mark, struct mz_cursor *rest,
		  struct mz_event *ev)
{
	const char *at = memmem(line, len, mark, strlen(mark));

	*ev = (struct mz_event){0};
	if (!at || !parse_head((struct mz_cursor){line, at}, ev))
		return false;
	*rest = (struct mz_cursor){at + strlen(mark), line + len};
	return true;
}

/* Other events may come first, so every line of the beginning is looked at. Text has no NUL. */
bool mz_perf_probe(const char *data, size_t len)
{
	const char *end = data + len;
	struct mz_event ev;
	struct mz_cursor rest;

	if (memchr(data, '\0', len))
		return false;
	while (data < end) {
		const char *nl = memchr(data, '\n', (size_t)(end - data));
		size_t n = nl ? (size_t)(nl - data) : (size_t)(end - data);

		if (split(data, n, " kmem:", &rest, &ev))
			return true;
		data += n + 1;
	}
	return false;
}

/* ---- the fields of an event --------------------------------------------- */

static int wrong(struct mz_reader *r, const char *what)
{
	return mz_fail_line(&r->error, EINVAL, r->line,
			    "%s: line %llu: not a kmem event of perf: %s", r->in.name,
			    (unsigned long long)r->line, what);
}

static bool pointer(struct mz_cursor v, uint64_t *out)
{
	*out = 0;
	return mz_cursor_is(v, "(nil)") || mz_cursor_is(v, "(null)") || mz_cursor_whole_hex(v, out);
}

static int take_node(struct mz_event *ev, struct mz_cursor v)
{
	bool negative = mz_cursor_skip(&v, "-");
	uint64_t n;

	if (!mz_cursor_whole_u64(v, &n) || n > INT16_MAX)
		return -1;
	ev->node = (int16_t)(negative ? -(int)n : (int)n);
	ev->has |= MZ_HAS_NODE;
	return 0;
}

/* Returns NULL, or what is wrong. seen: which of the required fields were found. */
static const char *take_field(struct mz_reader *r, struct mz_event *ev, struct mz_cursor word,
			      unsigned *seen)
{
	struct perf_state *s = r->state;
	uint64_t v;

	if (mz_cursor_skip(&word, "ptr=") || mz_cursor_skip(&word, "pfn=")) {
		bool page = word.p[-2] == 'n';

		if (page && mz_cursor_is(word, "0xffffffffffffffff")) /* of no page */
			word.end = word.p;
		if (word.p < word.end && !pointer(word, &ev->addr))
			return "the pointer is not a number";
		if (page && ev->addr > UINT64_MAX / PAGE)
			return "the number of the page is too large";
		ev->addr *= page ? PAGE : 1;
		*seen |= 1;
	} else if (mz_cursor_skip(&word, "bytes_req=")) {
		if (!mz_cursor_whole_u64(word, &ev->size))
			return "bytes_req is not a number";
		*seen |= 2;
	} else if (mz_cursor_skip(&word, "bytes_alloc=")) {
		if (!mz_cursor_whole_u64(word, &ev->given))
			return "bytes_alloc is not a number";
		ev->has |= MZ_HAS_GIVEN;
	} else if (mz_cursor_skip(&word, "order=")) {
		if (!mz_cursor_whole_u64(word, &v) || v > 51)
			return "the order is not a number";
		ev->size = (uint64_t)PAGE << v;
		*seen |= 2;
	} else if (mz_cursor_skip(&word, "node=")) {
		if (take_node(ev, word) < 0)
			return "the node is not a number";
	} else if (mz_cursor_skip(&word, "gfp_flags=0x")) {
		if (!mz_cursor_whole_hex(word, &v) || v > UINT32_MAX)
			return "the flags are not a number";
		ev->flags = (uint32_t)v;
		ev->has |= MZ_HAS_FLAGS;
	} else if (mz_cursor_skip(&word, "name=")) {
		ev->cache = mz_tables_string(r->tables, word.p, (size_t)(word.end - word.p));
		ev->has |= ev->cache ? MZ_HAS_CACHE : 0;
	} else if (mz_cursor_skip(&word, "call_site=")) {
		s->site.len = 0;
		mz_buf_add(&s->site, word.p, (size_t)(word.end - word.p));
	}
	return NULL;
}

static int take_event(struct mz_reader *r, struct mz_event ev, struct mz_cursor rest)
{
	struct perf_state *s = r->state;
	struct mz_cursor word = mz_cursor_word(&rest);
	unsigned seen = 0;
	size_t i = 0;

	s->in_chain = false;
	while (i < sizeof(events) / sizeof(*events) && !mz_cursor_is(word, events[i].name))
		i++;
	if (i == sizeof(events) / sizeof(*events))
		return 0;
	s->site.len = s->depth = s->cut = 0;
	ev.call = events[i].call;
	ev.kind = events[i].is_free ? MZ_FREE : MZ_ALLOC;
	ev.has |= MZ_HAS_ADDR;
	for (word = mz_cursor_word(&rest); word.p < word.end; word = mz_cursor_word(&rest)) {
		const char *what = take_field(r, &ev, word, &seen);

		if (what)
			return wrong(r, what);
	}
	if (!(seen & 1) || (ev.kind == MZ_ALLOC && !(seen & 2)))
		return wrong(
			r, "the pointer or the size is missing; run perf script without -F trace");
	if (ev.kind == MZ_FREE)
		ev.size = 0;
	s->ev = ev;
	s->number = r->line;
	s->pending = s->in_chain = true;
	return s->site.failed || mz_tables_incomplete(r->tables) ? mz_fail_memory(&r->error) : 0;
}

/* The kernel had no room for these events. They belong to no thread, whichever one the line
 * names. */
static int take_loss(struct mz_reader *r, struct mz_event ev, struct mz_cursor rest)
{
	struct perf_state *s = r->state;
	uint64_t n;

	if (!mz_cursor_whole_u64(mz_cursor_word(&rest), &n) || !n)
		return wrong(r, "the number of lost events is not a number");
	ev.kind = MZ_LOST;
	ev.call = MZ_CALL_LOST;
	ev.size = n;
	ev.arg = MZ_LOSS_RING_FULL;
	ev.tid = 0;
	ev.has &= MZ_HAS_TIME | MZ_HAS_CPU;
	s->ev = ev;
	s->site.len = s->depth = 0;
	s->number = r->line;
	s->pending = true;
	s->in_chain = false;
	return 0;
}

/* ---- call chains -------------------------------------------------------- */

/* "f+0x1c": without the offset, into buf. */
static const char *function_of(struct mz_cursor c, char *buf, size_t size)
{
	size_t n = (size_t)(c.end - c.p);
	const char *plus = memrchr(c.p, '+', n);

	if (plus && plus > c.p)
		n = (size_t)(plus - c.p);
	n = n < size ? n : size - 1;
	memcpy(buf, c.p, n);
	buf[n] = '\0';
	return buf;
}

/* Addresses in programs are relative to a file, so that different files have the same ones. */
static uint64_t user_frame(struct mz_reader *r, uint64_t addr, const char *function,
			   const char *module)
{
	char text[600];

	if (!function) {
		snprintf(text, sizeof(text), "%.400s+0x%llx", mz_base_name(module),
			 (unsigned long long)addr);
		function = text;
	}
	return mz_names_make(r->names, function, strlen(function), mz_base_name(module));
}

/* "ADDRESS SYMBOL+0xOFFSET (FILE)" */
static int take_frame(struct mz_reader *r, struct mz_cursor c)
{
	struct perf_state *s = r->state;
	char function[512], module[512];
	struct mz_cursor dso = last_word(&c), sym;
	struct mz_name name = {.function = function};
	bool known;
	uint64_t addr;

	if (!mz_cursor_whole_hex(mz_cursor_word(&c), &addr))
		return wrong(r, "a frame of a call chain does not begin with an address");
	mz_cursor_blanks(&c);
	while (c.end > c.p && mz_is_blank(c.end[-1]))
		c.end--;
	sym = c;
	if (s->depth == DEPTH_MAX)
		return 0;
	/* frames inside the call site are those of the allocator */
	if (s->site.len && !s->cut && (size_t)(sym.end - sym.p) == s->site.len &&
	    !memcmp(sym.p, s->site.data, s->site.len))
		s->cut = s->depth + 1;
	known = sym.p < sym.end && !mz_cursor_is(sym, "[unknown]");
	function_of(sym, function, sizeof(function));
	if (dso.end - dso.p > 2 && *dso.p == '(') {
		dso.p++;
		dso.end--;
	}
	snprintf(module, sizeof(module), "%.*s", (int)(dso.end - dso.p), dso.p);
	if (addr >> 63) {
		if (!strcmp(module, "[kernel.kallsyms]"))
			strcpy(module, "vmlinux");
		s->ips[s->depth++] = addr;
		return known && mz_names_add(r->names, addr, mz_base_name(module), &name, 1) < 0
			       ? mz_fail_memory(&r->error)
			       : 0;
	}
	addr = user_frame(r, addr, known ? function : NULL, module);
	s->ips[s->depth++] = addr;
	return addr ? 0 : mz_fail_memory(&r->error);
}

/* The stack of the pending event is its call chain from the call site on, or the call site alone.
 * An event is given when the next one begins, since its call chain follows it on lines of their
 * own. */
static int give(struct mz_reader *r, struct mz_event *ev)
{
	struct perf_state *s = r->state;
	size_t from = s->cut ? s->cut - 1 : 0;
	uint64_t ip;

	*ev = s->ev;
	s->pending = false;
	if (!s->depth && s->site.len) {
		struct mz_cursor c = {s->site.data, s->site.data + s->site.len};
		char function[512];

		if (!mz_cursor_whole_hex(c, &ip)) {
			function_of(c, function, sizeof(function));
			ip = mz_names_make(r->names, function, strlen(function), "vmlinux");
		}
		s->ips[0] = ip;
		s->depth = ip != 0;
		from = 0;
	}
	if (s->depth > from) {
		ev->site = mz_tables_stack(r->tables, s->ips + from, s->depth - from);
		ev->has |= MZ_HAS_SITE;
		if (!ev->site)
			return mz_fail_memory(&r->error);
	}
	return 1;
}

/* ---- as a reader -------------------------------------------------------- */

/* 1: ev is the event before this line. */
static int take_line(struct mz_reader *r, const char *line, size_t len, struct mz_event *ev)
{
	struct perf_state *s = r->state;
	struct mz_cursor rest = {line, line + len};
	struct mz_event head;
	int given = 0, ret;

	mz_cursor_blanks(&rest);
	if (rest.p == rest.end || *rest.p == '#') {
		s->in_chain = false;
		return 0;
	}
	/* a frame begins with a tab, or with its address */
	if (s->in_chain && *line == '\t')
		return take_frame(r, rest);
	if (!split(line, len, " kmem:", &rest, &head)) {
		s->in_chain = false;
		if (!split(line, len, " PERF_RECORD_LOST lost ", &rest, &head))
			return 0;
		if (s->pending)
			given = give(r, ev);
		ret = given < 0 ? given : take_loss(r, head, rest);
		return ret < 0 ? ret : given;
	}
	if (s->pending)
		given = give(r, ev);
	ret = given < 0 ? given : take_event(r, head, rest);
	return ret < 0 ? ret : given;
}

static int perf_open(struct mz_reader *r)
{
	r->state = calloc(1, sizeof(struct perf_state));
	r->names = mz_names_new();
	return r->state && r->names ? 0 : mz_fail_memory(&r->error);
}

static long perf_read(struct mz_reader *r, struct mz_event *ev, size_t max)
{
	struct perf_state *s = r->state;
	const char *line;
	size_t n = 0, len;
	int ret = 1;

	while (n < max && ret >= 0) {
		uint64_t number = s->number;

		ret = mz_input_line(&r->in, &line, &len, &r->error);
		if (ret < 0)
			break;
		if (!ret) { /* the end */
			ret = s->pending ? give(r, &ev[n]) : 0;
			if (ret <= 0)
				break;
		} else {
			r->line++;
			ret = take_line(r, line, len, &ev[n]);
			if (ret <= 0)
				continue;
		}
		r->fields |= ev[n].has;
		r->places[n++] = number;
	}
	return n ? (long)n : ret < 0 ? ret : 0;
}

static void perf_close(struct mz_reader *r)
{
	struct perf_state *s = r->state;

	if (s)
		mz_buf_free(&s->site);
	free(s);
}

const struct mz_reader_ops mz_perf_reader_ops = {.format = MZ_FORMAT_PERF,
						 .lines = true,
						 .open = perf_open,
						 .read = perf_read,
						 .close = perf_close};
