// SPDX-License-Identifier: BSD-2-Clause
/* Format an event as a line of text in canonical form. */
#include <endian.h>
#include <string.h>

#include "formats/text.h"
#include "trace/event.h"

/* 00 to 99: a division by 100 then gives two digits. */
static const char pairs[] =
	"00010203040506070809101112131415161718192021222324252627282930313233343536373839"
	"40414243444546474849505152535455565758596061626364656667686970717273747576777879"
	"8081828384858687888990919293949596979899";

/* The length must be known before the digits are written from the right. */
static unsigned decimal_digits(uint64_t v)
{
	unsigned n = 1;

	for (;;) {
		if (v < 10)
			return n;
		if (v < 100)
			return n + 1;
		if (v < 1000)
			return n + 2;
		if (v < 10000)
			return n + 3;
		v /= 10000;
		n += 4;
	}
}

/* Two digits per division: formatting numbers is most of the cost of writing text. */
char *mz_put_u64(char *p, uint64_t v)
{
	char *end = p + decimal_digits(v), *at = end;

	while (v >= 100) {
		at -= 2;
		memcpy(at, pairs + v % 100 * 2, 2);
		v /= 100;
	}
	if (v >= 10)
		memcpy(at - 2, pairs + v * 2, 2);
	else
		at[-1] = (char)('0' + v);
	return end;
}

/* The 8 hexadecimal digits of v, the first in the lowest byte. */
static uint64_t spread_hex(uint64_t v)
{
	uint64_t letter;

	v = (v << 32 | v >> 16) & 0x0000ffff0000ffffu;
	v = (v << 16 | v >> 8) & 0x00ff00ff00ff00ffu;
	v = (v << 8 | v >> 4) & 0x0f0f0f0f0f0f0f0fu;
	letter = (v + 0x0606060606060606u) >> 4 & 0x0101010101010101u;
	return v + 0x3030303030303030u + letter * ('a' - '0' - 10);
}

/* Eight digits are spread at once; the leading zeros are skipped by the start of the copy. */
char *mz_put_hex(char *p, uint64_t v)
{
	unsigned n = v ? (67 - (unsigned)__builtin_clzll(v)) / 4 : 1;
	uint64_t low = htole64(spread_hex(v & 0xffffffffu)), high;

	if (n <= 8) {
		memcpy(p, (char *)&low + 8 - n, n);
		return p + n;
	}
	high = htole64(spread_hex(v >> 32));
	memcpy(p, (char *)&high + 16 - n, n - 8);
	memcpy(p + n - 8, &low, 8);
	return p + n;
}

/* Without addresses the serial is the only name of the block, so it is written even if tags
 * are off. */
static char *put_pointer(char *p, uint64_t addr, uint64_t object, bool known, bool tags)
{
	if (known)
		p = mz_put_hex(p, addr);
	else
		*p++ = '?';
	if (object && (tags || !known)) {
		*p++ = '<';
		p = mz_put_u64(p, object);
		*p++ = '>';
	}
	return p;
}

/* Escape every character that may not stand inside a line. */
static char *put_escaped(char *p, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c > ' ' && c < 0x7f && c != '%' && c != ')' && c != '#') {
			*p++ = (char)c;
		} else {
			*p++ = '%';
			*p++ = "0123456789abcdef"[c >> 4];
			*p++ = "0123456789abcdef"[c & 15];
		}
	}
	return p;
}

/* The event holds the total of a calloc; text shows count and element size. For 0 elements or
 * a product over 64 bits the element size is kept in unit. */
static char *put_size(char *p, const struct mz_event *ev, bool with_count)
{
	uint64_t size = ev->size;

	if (with_count) {
		p = mz_put_u64(p, ev->arg);
		p = mz_put_str(p, ", ");
		if (!ev->arg)
			size = ev->unit;
		else if (ev->unit != MZ_UNIT_OVERFLOW)
			size = ev->size / ev->arg;
	}
	return mz_put_u64(p, size);
}

static char *put_args(char *p, const struct mz_event *ev, const struct mz_tables *tables, bool tags)
{
	bool known = ev->has & MZ_HAS_ADDR;
	const char *s;
	size_t n;

	switch (mz_calls[ev->call].args) {
	case MZ_ARGS_SIZE: return put_size(p, ev, false);
	case MZ_ARGS_COUNT_SIZE: return put_size(p, ev, true);
	case MZ_ARGS_ALIGN_SIZE:
		return mz_put_u64(mz_put_str(mz_put_u64(p, ev->arg), ", "), ev->size);
	case MZ_ARGS_PTR_SIZE:
	case MZ_ARGS_PTR_COUNT_SIZE:
		p = mz_put_str(put_pointer(p, ev->old_addr, ev->old_object, known, tags), ", ");
		return put_size(p, ev, mz_calls[ev->call].args == MZ_ARGS_PTR_COUNT_SIZE);
	case MZ_ARGS_PTR: return put_pointer(p, ev->addr, ev->object, known, tags);
	case MZ_ARGS_PTR_LENGTH:
		p = mz_put_str(put_pointer(p, ev->addr, ev->object, known, tags), ", ");
		return mz_put_u64(p, ev->size);
	case MZ_ARGS_PTR_READS_WRITES:
		p = mz_put_str(put_pointer(p, ev->addr, ev->object, known, tags), ", ");
		return mz_put_u64(mz_put_str(mz_put_u64(p, ev->size), ", "), ev->arg);
	case MZ_ARGS_EVENTS: return mz_put_u64(p, ev->size);
	case MZ_ARGS_STRING:
		s = tables ? mz_tables_get_string(tables, (uint32_t)ev->arg, &n) : NULL;
		return s ? put_escaped(p, s, n) : p;
	default: return p;
	}
}

/* A node of -1 is a value that the kernel has (no preference), and not an unknown one. */
static char *put_s16(char *p, int16_t v)
{
	if (v < 0)
		*p++ = '-';
	return mz_put_u64(p, (uint64_t)(v < 0 ? -(int)v : v));
}

/* The innermost frame comes first, as in the tables. */
static char *put_stack(char *p, const struct mz_event *ev, const struct mz_tables *tables)
{
	size_t depth;
	const uint64_t *ips = mz_tables_get_stack(tables, ev->site, &depth);

	if (!ips)
		return p;
	p = mz_put_str(p, " stack=");
	for (size_t i = 0; i < depth; i++) {
		if (i)
			*p++ = ',';
		p = mz_put_hex(p, ips[i]);
	}
	return p;
}

static char *put_cache(char *p, const struct mz_event *ev, const struct mz_tables *tables)
{
	size_t n;
	const char *s = mz_tables_get_string(tables, ev->cache, &n);

	return s ? put_escaped(mz_put_str(p, " cache="), s, n) : p;
}

/* The canonical order of docs/format.md. A trace that passes through the container must come
 * back byte for byte. */
static char *put_fields(char *p, const struct mz_event *ev, const struct mz_tables *tables)
{
	unsigned has = ev->has;

	if (ev->kind == MZ_LOST)
		p = mz_put_str(mz_put_str(p, " cause="),
			       mz_loss_name(ev->arg) ? mz_loss_name(ev->arg) : "unknown");
	if (has & MZ_HAS_TIME)
		p = mz_put_u64(mz_put_str(p, " time="), ev->time);
	if (has & MZ_HAS_PID)
		p = mz_put_u64(mz_put_str(p, " pid="), ev->pid);
	if (has & MZ_HAS_TID)
		p = mz_put_u64(mz_put_str(p, " tid="), ev->tid);
	if (has & MZ_HAS_CPU)
		p = put_s16(mz_put_str(p, " cpu="), ev->cpu);
	if (has & MZ_HAS_NODE)
		p = put_s16(mz_put_str(p, " node="), ev->node);
	if (has & MZ_HAS_GIVEN)
		p = mz_put_u64(mz_put_str(p, " given="), ev->given);
	if (has & MZ_HAS_FLAGS)
		p = mz_put_hex(mz_put_str(p, " flags="), ev->flags);
	if ((has & MZ_HAS_CACHE) && tables)
		p = put_cache(p, ev, tables);
	if ((has & MZ_HAS_SITE) && tables)
		p = put_stack(p, ev, tables);
	return p;
}

/* An upper bound for one line: 16 digits and a comma per address, and every byte of a name as
 * %XX. */
size_t mz_text_room(const struct mz_event *ev, const struct mz_tables *tables)
{
	size_t room = 512, n;

	if (tables && (ev->has & MZ_HAS_SITE)) {
		mz_tables_get_stack(tables, ev->site, &n);
		room += n * 17;
	}
	if (tables && (ev->has & MZ_HAS_CACHE)) {
		mz_tables_get_string(tables, ev->cache, &n);
		room += n * 3;
	}
	if (tables && ev->kind == MZ_MARK) {
		mz_tables_get_string(tables, (uint32_t)ev->arg, &n);
		room += n * 3;
	}
	return room;
}

size_t mz_text_format(char *out, const struct mz_event *ev, const struct mz_tables *tables,
		      bool tags)
{
	char *p = mz_put_str(out, mz_calls[ev->call].name);

	*p++ = '(';
	p = put_args(p, ev, tables, tags);
	*p++ = ')';
	if (ev->kind == MZ_ALLOC || ev->kind == MZ_REALLOC) {
		p = mz_put_str(p, " = ");
		p = put_pointer(p, ev->addr, ev->object, ev->has & MZ_HAS_ADDR, tags);
	}
	if (ev->has & ~MZ_HAS_ADDR || ev->kind == MZ_LOST)
		p = put_fields(p, ev, tables);
	return (size_t)(p - out);
}
