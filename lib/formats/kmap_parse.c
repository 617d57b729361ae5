// SPDX-License-Identifier: BSD-2-Clause
/* Parse one line of a KMAP. */
/*
 * The name of a process may contain commas, and the original escapes nothing. Fields are therefore
 * taken from both ends of a line; what remains in the middle is the name.
 */
#include <endian.h>
#include <string.h>

#include "base/cursor.h"
#include "formats/kmap.h"

static const char *const types[] = {
	"ALLOC TYPE NOT FOUND",
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
	"UNKNOWN_GLOBAL",
	"USER",
	"VMALLOC",
};

bool mz_kmap_is_type(struct mz_kmap_text t)
{
	size_t lo = 0, hi = sizeof(types) / sizeof(*types);

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		int c = strncmp(types[mid], t.p, t.len);

		/* the text may hold a NUL, where strncmp() ends */
		if (!c && strlen(types[mid]) == t.len)
			return true;
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

bool mz_kmap_is_allocation(struct mz_kmap_text t)
{
	static const char *const by[] = {"KMALLOC", "KMEM_CACHE", "ALLOC_PAGES", "VMALLOC"};

	for (size_t i = 0; i < sizeof(by) / sizeof(*by); i++)
		if (t.len >= strlen(by[i]) && !memcmp(t.p, by[i], strlen(by[i])))
			return true;
	return false;
}

bool mz_kmap_is_frame(struct mz_kmap_text t)
{
	return (t.len == 11 && !memcmp(t.p, "STACK_FRAME", 11)) ||
	       (t.len == 10 && !memcmp(t.p, "STACK_ARGS", 10));
}

bool mz_kmap_is_catch_all(const struct mz_kmap_object *o)
{
	return !o->alloc_ip && !o->va && !o->size && o->type.len;
}

bool mz_kmap_is_special(uint64_t ip)
{
	return ip < MZ_KMAP_MADE_UP || ip == MZ_KMAP_OVERLAID || ip == MZ_KMAP_NESTED ||
	       ip == MZ_KMAP_CTOR || ip == MZ_KMAP_NOT_FOUND;
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

/* Anything but 16 digits: padded with blanks on the left, shorter, or a word for a null pointer. */
static __attribute__((noinline)) bool odd_address(struct mz_cursor *c, uint64_t *v)
{
	*v = 0;
	while (c->p < c->end && *c->p == ' ')
		c->p++;
	/* ptrval: the kernel had no key to hash with yet; the address is not known */
	return mz_cursor_skip(c, "(null)") || mz_cursor_skip(c, "(____ptrval____)") ||
	       mz_cursor_hex(c, v);
}

/* An address: usually 16 hex digits, or the form in which a null pointer was printed. Both may be
 * padded with blanks to 16 columns, on either side. */
static inline __attribute__((always_inline)) bool address(struct mz_cursor *c, uint64_t *v)
{
	uint64_t hi, lo;

	if (c->end - c->p > 16 && !mz_hex_value[(unsigned char)c->p[16]] &&
	    eight_digits(c->p, &hi) && eight_digits(c->p + 8, &lo)) {
		c->p += 16;
		*v = hi << 32 | lo;
		return true;
	}
	return odd_address(c, v);
}

/* The blanks behind an address that is padded on the right, before its comma. */
static inline void padding(struct mz_cursor *c)
{
	const char *p = c->p;

	while (p < c->end && *p == ' ')
		p++;
	if (p < c->end && *p == ',')
		c->p = p;
}

/* Up to 18 digits cannot overflow. */
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

/* The number of an owner, behind an @. */
static __attribute__((noinline)) bool owner_of(struct mz_cursor *c, uint32_t *owner)
{
	uint64_t v;

	c->p++;
	if (!number(c, &v) || !v || v > UINT32_MAX)
		return false;
	*owner = (uint32_t)v;
	return true;
}

static inline bool pid_of(struct mz_cursor *c, int32_t *pid, uint32_t *owner)
{
	bool minus = c->p < c->end && *c->p == '-';
	uint64_t v;

	c->p += minus;
	if (!number(c, &v) || (v > INT32_MAX && v != UINT64_MAX))
		return false;
	if (v == UINT64_MAX) { /* -1, printed as unsigned */
		*pid = -1;
		return !minus;
	}
	*pid = minus ? -(int32_t)v : (int32_t)v;
	return c->p == c->end || *c->p != '@' || owner_of(c, owner);
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

static unsigned commas(struct mz_cursor c)
{
	unsigned n = 0;

	for (; c.p < c.end; c.p++)
		n += *c.p == ',';
	return n;
}

static bool is_text(struct mz_kmap_text t, const char *s)
{
	return t.len == strlen(s) && !memcmp(t.p, s, t.len);
}

/* Does this line certainly have another shape than the previous one? Every map of a later kernel
 * begins with catch-all objects; in maps with caches, most lines say that there is none. */
static bool changes_shape(const struct mz_kmap_object *o, struct mz_cursor tail)
{
	struct mz_kmap_text last, before;

	return mz_kmap_is_catch_all(o) ||
	       (back(&tail, &last) &&
		(is_text(last, "no-slab") ||
		 (!last.len && back(&tail, &before) && is_text(before, "no-slab"))));
}

/* A union has no process and no times. No kernel writes such a line: its objects without a
 * process are those of the boot, whose process has a name. */
static bool is_union(const struct mz_kmap_object *o)
{
	return is_text(o->comm, "(null)") && !o->pid && !o->alloc_time && !o->free_time &&
	       !o->free_ip;
}

/*
 * type,comm[,cache[,new_type]]. The line does not say which of them it has, and comm may contain
 * commas. new_type is a type or empty. Lines of ten fields always have a cache, so that a line
 * without one has nine. Lines of eight and nine fields, whose comm could look like any of the
 * others, follow lines of the same shape.
 */
static bool typed_tail(struct mz_cursor c, int before, struct mz_kmap_object *o)
{
	struct mz_cursor rest;
	struct mz_kmap_text last, cache;

	if (!front(&c, &o->type) || !mz_kmap_is_type(o->type)) {
		o->type = (struct mz_kmap_text){0};
		return false;
	}
	rest = c;
	if (before == MZ_KMAP_G1 && !commas(c) && !mz_kmap_is_catch_all(o)) {
		o->type = (struct mz_kmap_text){0};
		return false;
	}
	o->shape = MZ_KMAP_G9;
	if (back(&rest, &last) && (before != MZ_KMAP_G9 || changes_shape(o, c))) {
		o->cache = last;
		o->shape = MZ_KMAP_G2;
		c = rest;
		if ((mz_kmap_is_type(last) || !last.len) && back(&rest, &cache)) {
			o->new_type = last;
			o->cache = cache;
			o->shape = MZ_KMAP_G3;
			c = rest;
		}
	}
	o->comm = (struct mz_kmap_text){c.p, (size_t)(c.end - c.p)};
	if (o->shape == MZ_KMAP_G2 && is_union(o))
		o->shape = MZ_KMAP_UNION;
	return true;
}

/* How the pointers of a line are written, judging by what precedes and follows them. */
static void note_pointer(struct mz_kmap_object *o, const char *from, const struct mz_cursor *c,
			 bool left)
{
	bool blank = *from == ' ' || c->p[-1] == ' ';
	bool null = memchr(from, '(', (size_t)(c->p - from)) != NULL;

	if (null && blank)
		o->pointers = MZ_KMAP_NULL_PADDED;
	else if (null && !o->pointers)
		o->pointers = MZ_KMAP_NULL;
	else if (left && blank && !o->pointers)
		o->pointers = MZ_KMAP_ZEROS_LEFT;
}

static inline bool pointer(struct mz_cursor *c, struct mz_kmap_object *o, uint64_t *v, bool left)
{
	const char *from = c->p;

	if (!address(c, v))
		return false;
	if (c->p - from == 16 && c->p < c->end && *c->p == ',' && *from != ' ' && *from != '(')
		return true; /* nearly all */
	padding(c);
	note_pointer(o, from, c, left);
	return true;
}

/* A class of a union that is not an allocation site has a name in the place of the address. Its
 * type and address say the same, so that only constructed objects keep a mark. */
static bool class_name(struct mz_cursor *c, const char *from, struct mz_kmap_object *o)
{
	bool made;

	c->p = from;
	made = mz_cursor_skip(c, "prealloced-");
	while (c->p < c->end && *c->p != ',' && *c->p != ' ')
		c->p++;
	if (c->p - from < 5 ||
	    !(made || (*from >= 'A' && *from <= 'Z') || !memcmp(from, "code_", 5)))
		return false;
	o->alloc_ip = made ? MZ_KMAP_CTOR : 0;
	o->pointers = MZ_KMAP_NULL;
	return comma(c);
}

/* The original counts events in 32 bits, and extends the sign when it prints them. */
static uint64_t unsign(uint64_t v)
{
	return v >= 0xffffffff80000000u ? v & 0xffffffffu : v;
}

static const char *parse_object(struct mz_cursor c, int before, struct mz_kmap_object *o)
{
	const char *from = c.p;

	*o = (struct mz_kmap_object){.shape = MZ_KMAP_G1};
	if (!(pointer(&c, o, &o->alloc_ip, true) && comma(&c)) && !class_name(&c, from, o))
		return "the address of the allocating code is not a hexadecimal number";
	if (!pid_of(&c, &o->pid, &o->owner) || !comma(&c))
		return "the process is not a number";
	if (!pointer(&c, o, &o->va, false) || !comma(&c))
		return "the address of the object is not a hexadecimal number";
	if (!number(&c, &o->size) || !comma(&c))
		return "the size is not a number";
	if (!number(&c, &o->alloc_time) || !comma(&c))
		return "the time of the allocation is not a number";
	if (!number(&c, &o->free_time) || !comma(&c))
		return "the time of the free is not a number";
	if (!pointer(&c, o, &o->free_ip, false) || !comma(&c))
		return "the address of the freeing code is not a hexadecimal number";
	if (typed_tail(c, before, o)) {
		o->alloc_time = unsign(o->alloc_time);
		o->free_time = unsign(o->free_time);
		return NULL;
	}
	if (csv_tail(c, o))
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

/* from:ip[,caller:ip],writes,reads */
static const char *parse_from(struct mz_cursor c, struct mz_kmap_access *a)
{
	bool ok;

	a->fields = 3;
	a->from = true;
	if (!address(&c, &a->ip) || !comma(&c))
		return "the address of the accessing code is not a hexadecimal number";
	if (mz_cursor_skip(&c, "caller:") && (!address(&c, &a->caller) || !comma(&c)))
		return "the address of the caller is not a hexadecimal number";
	ok = number(&c, &a->writes) && comma(&c) && number(&c, &a->reads);
	return ok && c.p == c.end ? NULL : "it is not 'from:ip[,caller:ip],writes,reads'";
}

/* Lines of three fields have no process; with four, its position follows from the object's line. */
static const char *parse_access(struct mz_cursor c, int shape, struct mz_kmap_access *a)
{
	bool ok;

	*a = (struct mz_kmap_access){.pid = -1, .fields = 4};
	/* addresses have no 'r': one comparison decides for nearly all lines */
	if (c.end - c.p > 1 && c.p[1] == 'r' && mz_cursor_skip(&c, "from:"))
		return parse_from(c, a);
	if (!address(&c, &a->ip) || !comma(&c))
		return "the address of the accessing code is not a hexadecimal number";
	if (shape == MZ_KMAP_G1 || shape == MZ_KMAP_CSV) {
		ok = pid_of(&c, &a->pid, &a->owner) && comma(&c) && number(&c, &a->writes) &&
		     comma(&c) && number(&c, &a->reads);
		if (ok && c.p < c.end)
			ok = parse_range(&c, a);
		return ok && c.p == c.end ? NULL : "it is not 'ip,pid,writes,reads[,first,last]'";
	}
	ok = number(&c, &a->writes) && comma(&c) && number(&c, &a->reads);
	if (ok && c.p < c.end)
		ok = comma(&c) && (shape == MZ_KMAP_UNION ? number(&c, &a->frees)
							  : pid_of(&c, &a->pid, &a->owner));
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
		return "the called address is not a hexadecimal number";
	mz_cursor_blanks(&c);
	if (!number(&c, &e->count))
		return "the count of the calls is not a number";
	mz_cursor_blanks(&c);
	e->pid = -1;
	e->owner = 0;
	e->by_process = c.p < c.end;
	if (e->by_process && !pid_of(&c, &e->pid, &e->owner))
		return "what follows the count of the calls is not a process";
	mz_cursor_blanks(&c);
	return c.p == c.end ? NULL : "something follows the process of the calls";
}

/* The header of a CSV file is no object. */
static bool is_header(const char *line, size_t len)
{
	return len > 9 && !memcmp(line, "alloc_ip,", 9);
}

/* An object may begin with a blank as well, if its first pointer is null and padded: an
 * access has fewer fields. */
static bool is_access(const struct mz_cursor *whole, const struct mz_cursor *c)
{
	return c->p > whole->p && (*c->p != '(' || commas(*c) < 7);
}

const char *mz_kmap_parse(const char *line, size_t len, int *shape, struct mz_kmap_record *rec)
{
	struct mz_cursor c = {line, line + len}, whole = c;
	const char *wrong;

	rec->line = (struct mz_kmap_text){line, len};
	mz_cursor_blanks(&c);
	rec->kind = MZ_KMAP_OTHER;
	if (c.p == c.end || *c.p == '#')
		return NULL;
	if (is_access(&whole, &c)) {
		rec->kind = MZ_KMAP_ACCESS;
		return *shape < 0 ? "an access before any object"
				  : parse_access(c, *shape, &rec->access);
	}
	if (is_header(line, len))
		return NULL;
	if (!memchr(line, ',', len)) {
		rec->kind = MZ_KMAP_CALL;
		return parse_call(c, &rec->call);
	}
	rec->kind = MZ_KMAP_OBJECT;
	wrong = parse_object(whole, *shape, &rec->object);
	if (!wrong)
		*shape = rec->object.shape;
	return wrong;
}
