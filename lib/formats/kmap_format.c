// SPDX-License-Identifier: BSD-2-Clause
/* Format the records of a KMAP as lines, without printf: a map has millions of them. */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "formats/kmap.h"

#define EACH_BYTE 0x0101010101010101ull

/* Eight digits at a time: each gets a byte of a 64-bit word. */
static char *put_hex_half(char *p, uint32_t v)
{
	uint64_t x = v, letters;

	x = (x | x << 16) & 0x0000ffff0000ffffull;
	x = (x | x << 8) & 0x00ff00ff00ff00ffull;
	x = (x | x << 4) & 15 * EACH_BYTE;
	letters = (x + 6 * EACH_BYTE) >> 4 & EACH_BYTE; /* 10 and above */
	x = htobe64(x + '0' * EACH_BYTE + letters * ('a' - '0' - 10));
	return mempcpy(p, &x, sizeof(x));
}

static char *put_hex(char *p, uint64_t v)
{
	return put_hex_half(put_hex_half(p, (uint32_t)(v >> 32)), (uint32_t)v);
}

#define COLUMNS 16

static char *put_many(char *p, char c, size_t n)
{
	memset(p, c, n);
	return p + n;
}

/* A pointer of an object's line. first: that of the allocation, which is left-aligned where the
 * others are right-aligned. */
static char *put_pointer(char *p, uint64_t v, enum mz_kmap_pointers how, bool first)
{
	bool null = !v && (how == MZ_KMAP_NULL || how == MZ_KMAP_NULL_PADDED);
	bool left = first && (how == MZ_KMAP_NULL_PADDED || how == MZ_KMAP_ZEROS_LEFT);
	char digits[COLUMNS], *end = digits;

	if (!null && !left)
		return put_hex(p, v);
	if (null) {
		end = mempcpy(digits, "(null)", 6);
	} else {
		put_hex(digits, v);
		for (end = digits; end < digits + COLUMNS - 1 && *end == '0'; end++)
			;
		memmove(digits, end, (size_t)(digits + COLUMNS - end));
		end = digits + (digits + COLUMNS - end);
	}
	if (how == MZ_KMAP_NULL_PADDED && !left)
		p = put_many(p, ' ', COLUMNS - (size_t)(end - digits));
	p = mempcpy(p, digits, (size_t)(end - digits));
	if (left)
		p = put_many(p, ' ', COLUMNS - (size_t)(end - digits));
	return p;
}

static char *put_number(char *p, uint64_t v)
{
	char digits[20];
	int n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*p++ = digits[--n];
	return p;
}

static char *put_pid(char *p, int32_t pid, uint32_t owner)
{
	if (pid < 0)
		*p++ = '-';
	p = put_number(p, pid < 0 ? 0 - (uint64_t)pid : (uint64_t)pid);
	if (!owner)
		return p;
	*p++ = '@';
	return put_number(p, owner);
}

static char *put_text(char *p, struct mz_kmap_text t)
{
	return t.len ? mempcpy(p, t.p, t.len) : p;
}

/* The seven fields that all generations begin with, and a comma. */
static char *put_head(char *p, const struct mz_kmap_object *o, enum mz_kmap_pointers how)
{
	/* with eight fields, all pointers are right-aligned */
	p = put_pointer(p, o->alloc_ip, how, o->shape != MZ_KMAP_G1);
	*p++ = ',';
	p = put_pid(p, o->pid, o->owner);
	*p++ = ',';
	p = put_pointer(p, o->va, how, false);
	*p++ = ',';
	p = put_number(p, o->size);
	*p++ = ',';
	p = put_number(p, o->alloc_time);
	*p++ = ',';
	p = put_number(p, o->free_time);
	*p++ = ',';
	p = put_pointer(p, o->free_ip, how, false);
	*p++ = ',';
	return p;
}

/* The generations differ in the position of type and cache; a line must come out exactly as it
 * went in. */
static char *put_object(char *p, const struct mz_kmap_object *o)
{
	p = put_head(p, o, o->pointers);
	if (o->shape != MZ_KMAP_G1 && o->shape != MZ_KMAP_CSV) {
		p = put_text(p, o->type);
		*p++ = ',';
	}
	p = put_text(p, o->comm);
	if (o->shape == MZ_KMAP_CSV) {
		*p++ = ',';
		p = put_text(p, o->type);
	}
	if (o->shape != MZ_KMAP_G1 && o->shape != MZ_KMAP_G9) {
		*p++ = ',';
		p = put_text(p, o->cache);
	}
	if (o->shape == MZ_KMAP_CSV) {
		*p++ = ',';
		p = put_number(p, o->given);
	}
	if (o->shape == MZ_KMAP_G3) {
		*p++ = ',';
		p = put_text(p, o->new_type);
	}
	return p;
}

/* from:ip[,caller:ip],writes,reads */
static char *put_from(char *p, const struct mz_kmap_access *a)
{
	p = put_hex(mempcpy(p, "  from:", 7), a->ip);
	if (a->caller)
		p = put_hex(mempcpy(p, ",caller:", 8), a->caller);
	*p++ = ',';
	p = put_number(p, a->writes);
	*p++ = ',';
	return put_number(p, a->reads);
}

/* The pid is before the counts in lines of Memorizer's kernel and after them in those of the
 * original. */
static char *put_access(char *p, const struct mz_kmap_access *a, enum mz_kmap_shape shape)
{
	bool pid_first = shape == MZ_KMAP_G1 || shape == MZ_KMAP_CSV;

	if (a->from)
		return put_from(p, a);
	*p++ = ' ';
	*p++ = ' ';
	p = put_hex(p, a->ip);
	*p++ = ',';
	if (pid_first) {
		p = put_pid(p, a->pid, a->owner);
		*p++ = ',';
	}
	p = put_number(p, a->writes);
	*p++ = ',';
	p = put_number(p, a->reads);
	if (!pid_first && a->fields >= 4) {
		*p++ = ',';
		p = shape == MZ_KMAP_UNION ? put_number(p, a->frees) : put_pid(p, a->pid, a->owner);
	}
	if (pid_first && a->fields == 6) {
		*p++ = ',';
		p = put_number(p, a->first);
		*p++ = ',';
		p = put_number(p, a->last);
	}
	return p;
}

static char *put_call(char *p, const struct mz_kmap_call *c)
{
	p = put_hex(p, c->from);
	*p++ = ' ';
	p = put_hex(p, c->to);
	*p++ = ' ';
	p = put_number(p, c->count);
	if (!c->by_process)
		return p;
	*p++ = ' ';
	return put_pid(p, c->pid, c->owner);
}

size_t mz_kmap_format(char *buf, const struct mz_kmap_record *rec, const struct mz_kmap_object *of)
{
	char *p = buf;

	switch (rec->kind) {
	case MZ_KMAP_OBJECT: p = put_object(p, &rec->object); break;
	case MZ_KMAP_ACCESS: p = put_access(p, &rec->access, of->shape); break;
	case MZ_KMAP_CALL: p = put_call(p, &rec->call); break;
	case MZ_KMAP_OTHER: p = put_text(p, rec->line); break;
	}
	return (size_t)(p - buf);
}

/* In the form of upstream's kernels, a byte of a text may take four. */
size_t mz_kmap_room(const struct mz_kmap_record *rec)
{
	const struct mz_kmap_object *o = &rec->object;
	size_t texts = rec->line.len;

	if (rec->kind == MZ_KMAP_OBJECT)
		texts += 4 * (o->comm.len + o->type.len + o->cache.len + o->new_type.len);
	return MZ_KMAP_ROOM + texts;
}

int mz_kmap_line(struct mz_buf *b, const struct mz_kmap_record *rec,
		 const struct mz_kmap_object *of)
{
	b->len = 0;
	if (!mz_buf_room(b, mz_kmap_room(rec)))
		return -ENOMEM;
	if (rec->line.len)
		mz_buf_add(b, rec->line.p, rec->line.len);
	else
		b->len = mz_kmap_format(b->data, rec, of);
	return 0;
}

/* ---- as upstream's kernels write it --------------------------------------------------- */

/* Types that kernels with ten fields do not have, and their names for the same thing. */
static const struct {
	const char *type, *as;
	bool g3; /* kernels with eleven fields do not have it either */
} types_as[] = {
	{"ALLOC_PAGES_EXACT", "ALLOC_PAGES", false},
	{"ALLOC_PAGES_FOLIO", "ALLOC_PAGES", false},
	{"ALLOC_PAGES_GETFREEPAGES", "ALLOC_PAGES", false},
	{"ALLOC TYPE NOT FOUND", "UFO_NONE", true},
	{"GLOBAL_PERCPU", "GLOBAL", true},
	{"KMEM_CACHE_BULK", "KMEM_CACHE", false},
	{"MODULE", "GLOBAL", true},
	{"PERCPU", "VMALLOC", true}, /* its chunks are mapped by vmalloc */
	{"STACK", "STACK_PAGE", true},
	{"UNKNOWN_GLOBAL", "UFO_GLOBAL", true},
};

static struct mz_kmap_text text_of(const char *s)
{
	return (struct mz_kmap_text){s, strlen(s)};
}

static struct mz_kmap_text type_as(const struct mz_kmap_object *o, enum mz_kmap_shape shape)
{
	/* A map with eight fields names no type, but readers need one: they identify variables by
	 * their address, and other objects by the call that allocated them. */
	if (!o->type.len)
		return text_of(o->alloc_ip ? "KMALLOC" : "GLOBAL");
	if (mz_kmap_is_catch_all(o))
		return o->type;
	for (size_t i = 0; i < sizeof(types_as) / sizeof(*types_as); i++)
		if ((types_as[i].g3 || shape == MZ_KMAP_G2) &&
		    strlen(types_as[i].type) == o->type.len &&
		    !memcmp(types_as[i].type, o->type.p, o->type.len))
			return text_of(types_as[i].as);
	return o->type;
}

/* Escapes of our kernel are kept. What would break the line is escaped in the same way. */
static char *put_escaped(char *p, struct mz_kmap_text t)
{
	for (size_t i = 0; i < t.len; i++) {
		unsigned char c = (unsigned char)t.p[i];

		if (c >= 0x20 && c < 0x7f && c != ',') {
			*p++ = (char)c;
			continue;
		}
		*p++ = '\\';
		*p++ = 'x';
		*p++ = "0123456789abcdef"[c >> 4];
		*p++ = "0123456789abcdef"[c & 15];
	}
	return p;
}

static char *put_object_as(char *p, const struct mz_kmap_object *o, enum mz_kmap_shape shape)
{
	struct mz_kmap_object head = *o;
	bool g2 = shape == MZ_KMAP_G2;

	head.shape = (uint8_t)shape;
	head.owner = 0;
	/* readers of ten fields know only one value for a free that was not seen */
	if (g2 && head.free_ip == MZ_KMAP_NESTED)
		head.free_ip = MZ_KMAP_OVERLAID;
	p = put_head(p, &head, g2 ? MZ_KMAP_NULL_PADDED : MZ_KMAP_ZEROS_LEFT);
	p = put_text(p, type_as(o, shape));
	*p++ = ',';
	p = put_escaped(p, o->comm);
	*p++ = ',';
	p = o->cache.len ? put_escaped(p, o->cache) : mempcpy(p, "no-slab", 7);
	if (!g2) {
		*p++ = ',';
		p = put_text(p, o->new_type);
	}
	return p;
}

size_t mz_kmap_format_as(char *buf, const struct mz_kmap_record *rec, enum mz_kmap_shape shape)
{
	struct mz_kmap_access a = rec->access;
	struct mz_kmap_call c = rec->call;
	char *p = buf;

	switch (rec->kind) {
	case MZ_KMAP_OBJECT: p = put_object_as(p, &rec->object, shape); break;
	case MZ_KMAP_ACCESS:
		a.from = false;
		a.owner = 0;
		a.fields = shape == MZ_KMAP_G2 ? 3 : 4;
		p = put_access(p, &a, shape);
		break;
	case MZ_KMAP_CALL:
		c.owner = 0;
		p = put_call(p, &c);
		break;
	case MZ_KMAP_OTHER: break;
	}
	return (size_t)(p - buf);
}
