// SPDX-License-Identifier: BSD-2-Clause
/* Parse any line of a text trace. */
#include <errno.h>
#include <string.h>

#include "base/cursor.h"
#include "base/error.h"
#include "formats/text.h"
#include "formats/text_fast.h"
#include "trace/event.h"

/* Errors name what was expected and show what was found, at most 40 printable characters of
 * it. */
static int bad(const struct mz_cursor *c, const char *what, struct mz_error *err)
{
	char shown[64];

	if (c->p >= c->end)
		return mz_fail(err, EINVAL, "the line ends where %s was expected", what);
	return mz_fail(err, EINVAL, "%s was expected, found '%s'", what,
		       mz_printable(shown, 40, c->p, (size_t)(c->end - c->p)));
}

/* Something else in the place of a number, or a number that is too large. */
static int bad_number(const struct mz_cursor *c, const char *what, unsigned base, unsigned bits,
		      struct mz_error *err)
{
	struct mz_cursor digits = *c;
	char shown[64];

	if (base == 16 && !mz_cursor_skip(&digits, "0x"))
		mz_cursor_skip(&digits, "0X");
	if (digits.p >= digits.end || !mz_hex_value[(unsigned char)*digits.p] ||
	    mz_hex_value[(unsigned char)*digits.p] > base)
		return bad(c, what, err);
	return mz_fail(err, EINVAL, "%s must fit %u bits: '%s'", what, bits,
		       mz_printable(shown, 40, c->p, (size_t)(c->end - c->p)));
}

/* Blanks are allowed around every punctuation, as the original parsers did by way of scanf. */
static inline int take_char(struct mz_cursor *c, char want, const char *what, struct mz_error *err)
{
	mz_cursor_blanks(c);
	if (c->p >= c->end || *c->p != want)
		return bad(c, what, err);
	c->p++;
	mz_cursor_blanks(c);
	return 0;
}

/* A pointer with or without tag: 81d220b48<6655>; ?<6655> has no address. */
static inline int take_pointer(struct mz_cursor *c, struct mz_event *ev, uint64_t *addr,
			       uint64_t *tag, struct mz_error *err)
{
	if (c->p < c->end && *c->p == '?') {
		c->p++;
		ev->has &= (uint16_t)~MZ_HAS_ADDR;
		*addr = 0;
	} else if (!mz_cursor_hex(c, addr)) {
		if (c->end - c->p >= 5 && !memcmp(c->p, "(nil)", 5)) {
			c->p += 5;
			*addr = 0;
			return 0;
		}
		return bad_number(c, "a pointer (hexadecimal)", 16, 64, err);
	}
	if (c->p < c->end && *c->p == '<') {
		c->p++;
		if (!mz_cursor_u64(c, tag))
			return bad_number(c, "a serial number", 10, 64, err);
		if (c->p >= c->end || *c->p != '>')
			return bad(c, "'>'", err);
		c->p++;
	}
	return 0;
}

/* The text of the size is kept as well: lifetimes prints it as it stood, leading zeros
 * included. */
static inline int take_size(struct mz_cursor *c, struct mz_event *ev, struct mz_text_line *info,
			    struct mz_error *err)
{
	info->size = c->p;
	if (!mz_cursor_u64(c, &ev->size))
		return bad_number(c, "a size (decimal)", 10, 64, err);
	info->size_len = (size_t)(c->p - info->size);
	return 0;
}

/* N, SIZE: the event's size is the product. */
static int take_count_size(struct mz_cursor *c, struct mz_event *ev, struct mz_text_line *info,
			   struct mz_error *err)
{
	if (!mz_cursor_u64(c, &ev->arg))
		return bad_number(c, "a count (decimal)", 10, 64, err);
	if (take_char(c, ',', "','", err) || take_size(c, ev, info, err))
		return -EINVAL;
	mz_event_multiply(ev);
	return 0;
}

/* The alignment is kept as an argument: a replay must pass it on. */
static int take_align_size(struct mz_cursor *c, struct mz_event *ev, struct mz_text_line *info,
			   struct mz_error *err)
{
	if (!mz_cursor_u64(c, &ev->arg))
		return bad_number(c, "an alignment (decimal)", 10, 64, err);
	if (take_char(c, ',', "','", err))
		return -EINVAL;
	return take_size(c, ev, info, err);
}

static int hex_digit_pair(const char *p)
{
	uint8_t hi = mz_hex_value[(unsigned char)p[0]], lo = mz_hex_value[(unsigned char)p[1]];

	return hi && lo ? (hi - 1) << 4 | (lo - 1) : -1;
}

/* A string up to a blank or ')', with %XX for bytes that cannot be written there. */
static int take_string(struct mz_cursor *c, struct mz_tables *tables, uint32_t *id,
		       struct mz_error *err)
{
	struct mz_buf b = {0};
	int ret = 0;

	for (; c->p < c->end && !mz_is_blank(*c->p) && *c->p != ')'; c->p++) {
		if (*c->p == '%') {
			int v = c->end - c->p > 2 ? hex_digit_pair(c->p + 1) : -1;
			char ch = (char)v;

			if (v < 0) {
				ret = bad(c, "%XX, two hexadecimal digits", err);
				goto out;
			}
			c->p += 2;
			mz_buf_add(&b, &ch, 1);
		} else {
			mz_buf_add(&b, c->p, 1);
		}
	}
	*id = b.failed ? 0 : mz_tables_string(tables, b.data ? b.data : "", b.len);
	if (!*id)
		ret = mz_fail_memory(err);
out:
	mz_buf_free(&b);
	return ret;
}

static int take_mark(struct mz_cursor *c, struct mz_event *ev, struct mz_tables *tables,
		     struct mz_error *err)
{
	uint32_t id;
	int ret = take_string(c, tables, &id, err);

	if (!ret)
		ev->arg = id;
	return ret;
}

static int take_access(struct mz_cursor *c, struct mz_event *ev, struct mz_text_line *info,
		       struct mz_error *err)
{
	if (take_pointer(c, ev, &ev->addr, &info->tag, err) || take_char(c, ',', "','", err))
		return -EINVAL;
	if (!mz_cursor_u64(c, &ev->size))
		return bad_number(c, "a number of reads", 10, 64, err);
	if (take_char(c, ',', "','", err))
		return -EINVAL;
	if (!mz_cursor_u64(c, &ev->arg))
		return bad_number(c, "a number of writes", 10, 64, err);
	return 0;
}

static int take_args(struct mz_cursor *c, struct mz_event *ev, struct mz_text_line *info,
		     struct mz_tables *tables, struct mz_error *err)
{
	switch (mz_calls[ev->call].args) {
	case MZ_ARGS_SIZE: return take_size(c, ev, info, err);
	case MZ_ARGS_COUNT_SIZE: return take_count_size(c, ev, info, err);
	case MZ_ARGS_ALIGN_SIZE: return take_align_size(c, ev, info, err);
	case MZ_ARGS_PTR_SIZE:
		if (take_pointer(c, ev, &ev->old_addr, &info->old_tag, err) ||
		    take_char(c, ',', "','", err))
			return -EINVAL;
		return take_size(c, ev, info, err);
	case MZ_ARGS_PTR_COUNT_SIZE:
		if (take_pointer(c, ev, &ev->old_addr, &info->old_tag, err) ||
		    take_char(c, ',', "','", err))
			return -EINVAL;
		return take_count_size(c, ev, info, err);
	case MZ_ARGS_PTR: return take_pointer(c, ev, &ev->addr, &info->tag, err);
	case MZ_ARGS_PTR_LENGTH:
		if (take_pointer(c, ev, &ev->addr, &info->tag, err) ||
		    take_char(c, ',', "','", err))
			return -EINVAL;
		return take_size(c, ev, info, err);
	case MZ_ARGS_PTR_READS_WRITES: return take_access(c, ev, info, err);
	case MZ_ARGS_EVENTS:
		return mz_cursor_u64(c, &ev->size)
			       ? 0
			       : bad_number(c, "a number of events", 10, 64, err);
	case MZ_ARGS_STRING: return take_mark(c, ev, tables, err);
	default: return mz_fail(err, EINVAL, "not a call");
	}
}

/* ---- fields after the call: key=value ----------------------------------- */

/* Stacks of one program are few; equal ones get the same number. */
static int take_stack(struct mz_cursor *c, struct mz_event *ev, struct mz_tables *tables,
		      struct mz_error *err)
{
	uint64_t ips[1024];
	size_t n = 0;

	do {
		if (n == sizeof(ips) / sizeof(*ips))
			return mz_fail(err, EINVAL, "a stack of more than %zu addresses", n);
		if (n)
			c->p++;
		if (!mz_cursor_hex(c, &ips[n++]))
			return bad_number(c, "an address of a stack", 16, 64, err);
	} while (c->p < c->end && *c->p == ',');
	ev->site = mz_tables_stack(tables, ips, n);
	return ev->site ? 0 : mz_fail_memory(err);
}

/* An unknown cause is an error and not "unknown": it would silently change what is reported. */
static int take_cause(struct mz_cursor *c, struct mz_event *ev, struct mz_error *err)
{
	const char *start = c->p;

	while (c->p < c->end && !mz_is_blank(*c->p))
		c->p++;
	for (unsigned i = 0; i < MZ_LOSSES; i++) {
		const char *name = mz_loss_name(i);

		if (strlen(name) == (size_t)(c->p - start) && !memcmp(name, start, strlen(name))) {
			ev->arg = i;
			return 0;
		}
	}
	c->p = start;
	return bad(c,
		   "a cause of loss (ring_full, reentry, damage, no_memory, filter, sandbox, "
		   "sampled, unknown)",
		   err);
}

static int take_u32(struct mz_cursor *c, uint32_t *out, bool hex, struct mz_error *err)
{
	const char *start = c->p;
	uint64_t v;

	if (!(hex ? mz_cursor_hex(c, &v) : mz_cursor_u64(c, &v)) || v > UINT32_MAX) {
		c->p = start;
		return bad_number(c, "a number", hex ? 16 : 10, 32, err);
	}
	*out = (uint32_t)v;
	return 0;
}

/* -1 is legal: the kernel uses it for any node. */
static int take_s16(struct mz_cursor *c, int16_t *out, struct mz_error *err)
{
	bool negative = c->p < c->end && *c->p == '-';
	const char *start = c->p + negative;
	uint64_t v;

	c->p = start;
	if (!mz_cursor_u64(c, &v) || v > INT16_MAX) {
		c->p = start;
		return bad_number(c, "a number", 10, 15, err);
	}
	*out = (int16_t)(negative ? -(int)v : (int)v);
	return 0;
}

static const struct text_field {
	const char *key;
	uint16_t has;
} fields[] = {
	{"time", MZ_HAS_TIME},	 {"tid", MZ_HAS_TID},
	{"pid", MZ_HAS_PID},	 {"cpu", MZ_HAS_CPU},
	{"node", MZ_HAS_NODE},	 {"given", MZ_HAS_GIVEN},
	{"flags", MZ_HAS_FLAGS}, {"stack", MZ_HAS_SITE},
	{"cache", MZ_HAS_CACHE}, {"cause", 0},
};

/* By the flag instead of the key, which is unique and cheaper to compare. */
static int take_value(struct mz_cursor *c, const struct text_field *f, struct mz_event *ev,
		      struct mz_tables *tables, struct mz_error *err)
{
	switch (f->has) {
	case MZ_HAS_TIME:
		return mz_cursor_u64(c, &ev->time) ? 0 : bad_number(c, "a time in ns", 10, 64, err);
	case MZ_HAS_TID: return take_u32(c, &ev->tid, false, err);
	case MZ_HAS_PID: return take_u32(c, &ev->pid, false, err);
	case MZ_HAS_CPU: return take_s16(c, &ev->cpu, err);
	case MZ_HAS_NODE: return take_s16(c, &ev->node, err);
	case MZ_HAS_GIVEN:
		return mz_cursor_u64(c, &ev->given)
			       ? 0
			       : bad_number(c, "a size (decimal)", 10, 64, err);
	case MZ_HAS_FLAGS: return take_u32(c, &ev->flags, true, err);
	case MZ_HAS_SITE: return take_stack(c, ev, tables, err);
	case MZ_HAS_CACHE: return take_string(c, tables, &ev->cache, err);
	default:
		if (ev->kind != MZ_LOST)
			return mz_fail(err, EINVAL, "cause= belongs to lost()");
		return take_cause(c, ev, err);
	}
}

/* Unknown keys are no error: the caller skips and counts them, so that old programs read new
 * traces. */
static const struct text_field *find_field(struct mz_cursor *c)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		size_t n = strlen(fields[i].key);

		if ((size_t)(c->end - c->p) > n && !memcmp(c->p, fields[i].key, n) &&
		    c->p[n] == '=') {
			c->p += n + 1;
			return &fields[i];
		}
	}
	return NULL;
}

/* What follows the call. The originals accepted any text there, and so do we, but unknown text
 * is reported. */
static int take_fields(struct mz_cursor *c, struct mz_event *ev, struct mz_text_line *info,
		       struct mz_tables *tables, struct mz_error *err)
{
	for (;;) {
		const struct text_field *f;
		int ret;

		mz_cursor_blanks(c);
		if (c->p >= c->end || *c->p == '#')
			return 0;
		f = find_field(c);
		if (!f) {
			info->junk = true;
			return 0;
		}
		ret = take_value(c, f, ev, tables, err);
		if (ret)
			return ret;
		ev->has |= f->has;
	}
}

/* ---- the call ----------------------------------------------------------- */

/* A walk over 27 names is fast enough: usual calls never get here (text_fast.c). */
static enum mz_call find_call(const char *name, size_t len)
{
	for (unsigned i = 1; i < MZ_CALLS; i++)
		if (strlen(mz_calls[i].name) == len && !memcmp(mz_calls[i].name, name, len))
			return i;
	return MZ_CALL_NONE;
}

static inline enum mz_call take_verb(struct mz_cursor *c)
{
	const char *start = c->p;

	while (c->p < c->end && (*c->p == '_' || (*c->p >= 'a' && *c->p <= 'z')))
		c->p++;
	return find_call(start, (size_t)(c->p - start));
}

static int unknown_verb(const char *line, size_t len, struct mz_error *err)
{
	char shown[64];

	return mz_fail(err, EINVAL, "not an event: '%s'",
		       mz_printable(shown, sizeof(shown), line, len));
}

/* Returns 0 for a blank line or a comment and 1 for an event. The event is cleared first: a
 * field that is not in the line must not keep the value of the line before. */
int mz_text_parse(const char *line, size_t len, struct mz_event *ev, struct mz_text_line *info,
		  struct mz_tables *tables, struct mz_error *err)
{
	struct mz_cursor c = {line, line + len};
	int ret;

	mz_cursor_blanks(&c);
	if (c.p == c.end || *c.p == '#')
		return 0;
	mz_event_clear(ev);
	*info = (struct mz_text_line){.line = line, .len = len};
	ev->call = (uint8_t)take_verb(&c);
	if (ev->call == MZ_CALL_NONE)
		return unknown_verb(line, len, err);
	ev->kind = mz_calls[ev->call].kind;
	if (ev->kind != MZ_LOST && ev->kind != MZ_MARK)
		ev->has = MZ_HAS_ADDR;
	ret = take_char(&c, '(', "'('", err);
	if (!ret)
		ret = take_args(&c, ev, info, tables, err);
	if (!ret)
		ret = take_char(&c, ')', "')'", err);
	if (!ret && (ev->kind == MZ_ALLOC || ev->kind == MZ_REALLOC)) {
		ret = take_char(&c, '=', "'= POINTER'", err);
		if (!ret)
			ret = take_pointer(&c, ev, &ev->addr, &info->tag, err);
	}
	/* a realloc of ?<1> to an address: neither way of finding the block would work */
	if (!ret && !(ev->has & MZ_HAS_ADDR) && (ev->addr || ev->old_addr))
		ret = mz_fail(err, EINVAL,
			      "one block of the event has an address, and the other has none");
	if (!ret && c.p < c.end)
		ret = take_fields(&c, ev, info, tables, err);
	return ret ? ret : 1;
}

/* The fast parser reads beyond the end of short lines, so it needs MZ_TEXT_FAST bytes in the
 * window; the last lines of a file go to the full parser. */
int mz_text_next(struct mz_input *in, struct mz_tables *tables, struct mz_event *ev,
		 struct mz_text_line *info, struct mz_error *err)
{
	int ret;

	if (mz_input_left(in) >= MZ_TEXT_FAST) {
		const char *nl = mz_text_parse_fast(in->pos, ev, info);

		if (nl) {
			info->line = in->pos;
			info->len = (size_t)(nl - in->pos);
			in->pos = nl + 1;
			return MZ_TEXT_EVENT;
		}
	}
	ret = mz_input_line(in, &info->line, &info->len, err);
	if (ret <= 0)
		return ret;
	ret = mz_text_parse(info->line, info->len, ev, info, tables, err);
	if (ret < 0)
		return ret;
	return ret ? MZ_TEXT_EVENT : MZ_TEXT_NO_EVENT;
}

int mz_text_fail(struct mz_error *err, const struct mz_error *why, const char *name, uint64_t line)
{
	/* an error of the input has its location already */
	if (why->has_offset)
		return mz_fail_offset(err, why->code, why->offset, "%s", why->text);
	return mz_fail_line(err, why->code, line, "%s: line %llu: %s", name,
			    (unsigned long long)line, why->text);
}

/* Text is the last format to be tried and the least specific: anything without control
 * characters in its first line. */
bool mz_text_probe(const char *data, size_t len)
{
	for (size_t i = 0; i < len && data[i] != '\n'; i++) {
		unsigned char c = (unsigned char)data[i];

		if (c < 0x20 && !mz_is_blank(data[i]) && c != '\r')
			return false;
	}
	return true;
}
