// SPDX-License-Identifier: BSD-2-Clause
/*
 * One line of a KMAP. A process may be called anything, commas included, and the
 * original escapes nothing: so fields are taken from both ends of a line, and what
 * is left in the middle is the name.
 */
#include <endian.h>
#include <string.h>

#include "base/cursor.h"
#include "formats/kmap.h"

static const char *const types[] = {
	"ALLOC_PAGES",
	"ALLOC_PAGES_EXACT",
	"ALLOC_PAGES_FOLIO",
	"ALLOC_PAGES_GETFREEPAGES",
	"BOOTMEM",
	"BUG",
	"GEN_HEAP",
	"GLOBAL",
	"GLOBAL_PERCPU",
	"INDUCED_ALLOC",
	"KMALLOC",
	"KMALLOC_ND",
	"KMEM_CACHE",
	"KMEM_CACHE_BULK",
	"KMEM_CACHE_ND",
	"MEMBLOCK",
	"MEMORIZER",
	"MODULE",
	"NONE",
	"PERCPU",
	"STACK",
	"STACK_ARGS",
	"STACK_FRAME",
	"STACK_PAGE",
	"UFO_GLOBAL",
	"UFO_HEAP",
	"UFO_MEMBLOCK",
	"UFO_NONE",
	"USER",
	"VMALLOC",
};

bool mz_kmap_is_type(struct mz_kmap_text t)
{
	size_t lo = 0, hi = sizeof(types) / sizeof(*types);

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		int c = strncmp(types[mid], t.p, t.len);

		if (!c && !types[mid][t.len])
			return true;
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

#define EACH(byte) (0x0101010101010101u * (byte))

/* Eight hexadecimal digits at once; false: something else is among them. */
static inline bool eight_digits(const char *p, uint64_t *v)
{
	uint64_t x, letter, n, over;

	memcpy(&x, p, 8);
	x = le64toh(x);
	letter = x >> 6 & EACH(1);
	n = (x & EACH(0x0f)) + letter * 9;
	over = (n + EACH(6)) >> 4 & EACH(1); /* over 9: written as a letter */
	if ((n & EACH(0xf0)) || (x | letter << 5) != n + EACH('0') + over * ('a' - '0' - 10))
		return false;
	n = __builtin_bswap64(n);
	n = (n | n >> 4) & 0x00ff00ff00ff00ffu;
	n = (n | n >> 8) & 0x0000ffff0000ffffu;
	*v = (n | n >> 16) & 0xffffffffu;
	return true;
}

/* An address: hex digits, 16 of them as a rule, or what a null pointer was printed as. */
static inline bool address(struct mz_cursor *c, uint64_t *v)
{
	uint64_t hi, lo;

	if (c->end - c->p > 16 && !mz_hex_value[(unsigned char)c->p[16]] &&
	    eight_digits(c->p, &hi) && eight_digits(c->p + 8, &lo)) {
		c->p += 16;
		*v = hi << 32 | lo;
		return true;
	}
	*v = 0;
	return mz_cursor_skip(c, "(null)") || mz_cursor_hex(c, v);
}

/* Up to 18 digits need no look at the limit. */
static inline bool number(struct mz_cursor *c, uint64_t *v)
{
	const char *p = c->p, *stop = c->end - p > 19 ? p + 19 : c->end;
	uint64_t n = 0;

	while (p < stop && (unsigned char)(*p - '0') < 10)
		n = n * 10 + (unsigned char)(*p++ - '0');
	if (p - c->p > 18)
		return mz_cursor_u64(c, v);
	*v = n;
	if (p == c->p)
		return false;
	c->p = p;
	return true;
}

static inline bool pid_of(struct mz_cursor *c, int32_t *pid)
{
	bool minus = c->p < c->end && *c->p == '-';
	uint64_t v;

	c->p += minus;
	if (!number(c, &v) || v > INT32_MAX)
		return false;
	*pid = minus ? -(int32_t)v : (int32_t)v;
	return true;
}

static inline bool comma(struct mz_cursor *c)
{
	if (c->p == c->end || *c->p != ',')
		return false;
	c->p++;
	return true;
}

/* The text up to the next comma, which is taken; false: there is none. */
static bool front(struct mz_cursor *c, struct mz_kmap_text *t)
{
	const char *at = memchr(c->p, ',', (size_t)(c->end - c->p));

	if (!at)
		return false;
	*t = (struct mz_kmap_text){c->p, (size_t)(at - c->p)};
	c->p = at + 1;
	return true;
}

/* The text behind the last comma, which is cut off. */
static bool back(struct mz_cursor *c, struct mz_kmap_text *t)
{
	const char *at = memrchr(c->p, ',', (size_t)(c->end - c->p));

	if (!at)
		return false;
	*t = (struct mz_kmap_text){at + 1, (size_t)(c->end - at - 1)};
	c->end = at;
	return true;
}

/* comm,type,cache,given: what our kernel's `allocations` has behind the free_ip. */
static bool csv_tail(struct mz_cursor c, struct mz_kmap_object *o)
{
	struct mz_kmap_text given, cache, type;

	if (!back(&c, &given) || !back(&c, &cache) || !back(&c, &type) || !mz_kmap_is_type(type) ||
	    !mz_cursor_whole_u64((struct mz_cursor){given.p, given.p + given.len}, &o->given))
		return false;
	o->comm = (struct mz_kmap_text){c.p, (size_t)(c.end - c.p)};
	o->type = type;
	o->cache = cache;
	o->shape = MZ_KMAP_CSV;
	return true;
}

/* type,comm,cache[,new_type] */
static bool typed_tail(struct mz_cursor c, struct mz_kmap_object *o)
{
	struct mz_kmap_text type, last, before;

	if (!front(&c, &type) || !mz_kmap_is_type(type) || !back(&c, &last))
		return false;
	o->type = type;
	o->cache = last;
	o->shape = MZ_KMAP_G2;
	if (mz_kmap_is_type(last) && back(&c, &before)) {
		o->new_type = last;
		o->cache = before;
		o->shape = MZ_KMAP_G3;
	}
	o->comm = (struct mz_kmap_text){c.p, (size_t)(c.end - c.p)};
	return true;
}

static const char *parse_object(struct mz_cursor c, struct mz_kmap_object *o)
{
	*o = (struct mz_kmap_object){.shape = MZ_KMAP_G1};
	if (!address(&c, &o->alloc_ip) || !comma(&c))
		return "the address of the allocating code is no hexadecimal number";
	if (!pid_of(&c, &o->pid) || !comma(&c))
		return "the process is no number";
	if (!address(&c, &o->va) || !comma(&c))
		return "the address of the object is no hexadecimal number";
	if (!number(&c, &o->size) || !comma(&c))
		return "the size is no number";
	if (!number(&c, &o->alloc_time) || !comma(&c))
		return "the time of the allocation is no number";
	if (!number(&c, &o->free_time) || !comma(&c))
		return "the time of the free is no number";
	o->null_text = c.p < c.end && *c.p == '(';
	if (!address(&c, &o->free_ip) || !comma(&c))
		return "the address of the freeing code is no hexadecimal number";
	if (typed_tail(c, o) || csv_tail(c, o))
		return NULL;
	o->comm = (struct mz_kmap_text){c.p, (size_t)(c.end - c.p)};
	return NULL;
}

static bool parse_range(struct mz_cursor *c, struct mz_kmap_access *a)
{
	uint64_t first, last;

	if (!comma(c) || !number(c, &first) || !comma(c) || !number(c, &last) || first > last ||
	    last > MZ_KMAP_FAR)
		return false;
	a->first = (uint32_t)first;
	a->last = (uint32_t)last;
	a->fields = 6;
	return true;
}

/* Three fields have no process; with four, the object's line says where it stands. */
static const char *parse_access(struct mz_cursor c, int shape, struct mz_kmap_access *a)
{
	bool ok;

	*a = (struct mz_kmap_access){.pid = -1, .fields = 4};
	if (!address(&c, &a->ip) || !comma(&c))
		return "the address of the accessing code is no hexadecimal number";
	if (shape == MZ_KMAP_G1 || shape == MZ_KMAP_CSV) {
		ok = pid_of(&c, &a->pid) && comma(&c) && number(&c, &a->writes) && comma(&c) &&
		     number(&c, &a->reads);
		if (ok && c.p < c.end)
			ok = parse_range(&c, a);
		return ok && c.p == c.end ? NULL : "it is not 'ip,pid,writes,reads[,first,last]'";
	}
	ok = number(&c, &a->writes) && comma(&c) && number(&c, &a->reads);
	if (ok && c.p < c.end)
		ok = comma(&c) && pid_of(&c, &a->pid);
	else
		a->fields = 3;
	return ok && c.p == c.end ? NULL : "it is not 'ip,writes,reads' or 'ip,writes,reads,pid'";
}

static const char *parse_call(struct mz_cursor c, struct mz_kmap_call *e)
{
	if (!address(&c, &e->from) || c.p == c.end || !mz_is_blank(*c.p))
		return "it is neither an object, nor an access, nor a call";
	mz_cursor_blanks(&c);
	if (!address(&c, &e->to) || c.p == c.end || !mz_is_blank(*c.p))
		return "the called address is no hexadecimal number";
	mz_cursor_blanks(&c);
	if (!number(&c, &e->count))
		return "the count of the calls is no number";
	mz_cursor_blanks(&c);
	return c.p == c.end ? NULL : "something follows the count of the calls";
}

/* The header of a CSV file is no object. */
static bool is_other(const char *line, size_t len)
{
	return !len || *line == '#' || (len > 9 && !memcmp(line, "alloc_ip,", 9));
}

const char *mz_kmap_parse(const char *line, size_t len, int *shape, struct mz_kmap_record *rec)
{
	struct mz_cursor c = {line, line + len};
	const char *wrong;

	rec->line = (struct mz_kmap_text){line, len};
	if (len && mz_is_blank(*line)) {
		mz_cursor_blanks(&c);
		rec->kind = c.p == c.end || *c.p == '#' ? MZ_KMAP_OTHER : MZ_KMAP_ACCESS;
		if (rec->kind == MZ_KMAP_OTHER)
			return NULL;
		return *shape < 0 ? "an access before any object"
				  : parse_access(c, *shape, &rec->access);
	}
	rec->kind = MZ_KMAP_OTHER;
	if (is_other(line, len))
		return NULL;
	if (!memchr(line, ',', len)) {
		rec->kind = MZ_KMAP_CALL;
		return parse_call(c, &rec->call);
	}
	rec->kind = MZ_KMAP_OBJECT;
	wrong = parse_object(c, &rec->object);
	if (!wrong)
		*shape = rec->object.shape;
	return wrong;
}
