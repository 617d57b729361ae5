// SPDX-License-Identifier: GPL-2.0
/*
 * Objects as text. A line of eight fields for the object,
 *
 *   alloc_ip,pid,va,size,alloc_jiffies,free_jiffies,free_ip,comm
 *
 * and one for each access site: two blanks, then ip,pid,writes,reads. With
 * print_fields the first goes on with type,cache,given, the second with the
 * first and the last byte touched. By hand, because a map has millions of lines.
 */
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "access.h"
#include "format.h"

#define OVERLAID_IP	0xdeadbeefUL
#define CTOR_IP		0xfeedbeefUL

/* The longest lines, comm fully escaped. */
#define OBJECT_LINE	320
#define SITE_LINE	96

const char * const memorizer_type_names[] = {
	[MEMORIZER_KMALLOC]		= "KMALLOC",
	[MEMORIZER_KMEM_CACHE]		= "KMEM_CACHE",
	[MEMORIZER_PAGES]		= "ALLOC_PAGES",
	[MEMORIZER_PAGES_EXACT]		= "ALLOC_PAGES_EXACT",
	[MEMORIZER_GETFREEPAGES]	= "ALLOC_PAGES_GETFREEPAGES",
	[MEMORIZER_VMALLOC]		= "VMALLOC",
	[MEMORIZER_PERCPU]		= "PERCPU",
	[MEMORIZER_STACK]		= "STACK",
	[MEMORIZER_STACK_FRAME]		= "STACK_FRAME",
	[MEMORIZER_GLOBAL]		= "GLOBAL",
	[MEMORIZER_GLOBAL_PERCPU]	= "GLOBAL_PERCPU",
	[MEMORIZER_MODULE]		= "MODULE",
	[MEMORIZER_MEMBLOCK]		= "MEMBLOCK",
};
static_assert(ARRAY_SIZE(memorizer_type_names) == MEMORIZER_NR_TYPES);

static char *put_hex(char *p, u64 v)
{
	static const char digits[] = "0123456789abcdef";
	int i;

	for (i = 60; i >= 0; i -= 4)
		*p++ = digits[v >> i & 15];
	return p;
}

static char *put_dec(char *p, u64 v)
{
	char tmp[20];
	int n = 0;

	do {
		tmp[n++] = '0' + v % 10;
		v /= 10;
	} while (v);
	while (n)
		*p++ = tmp[--n];
	return p;
}

static char *put_signed(char *p, s32 pid)
{
	if (pid < 0) {
		*p++ = '-';
		pid = -pid;
	}
	return put_dec(p, pid);
}

/* A pid, and @ its owner, if that was noted. */
static char *put_who(char *p, s32 who)
{
	u32 owner;

	p = put_signed(p, memorizer_pid_of(who, &owner));
	if (owner) {
		*p++ = '@';
		p = put_dec(p, owner);
	}
	return p;
}

static char *put_str(char *p, const char *s)
{
	while (*s)
		*p++ = *s++;
	return p;
}

/* Whatever a process calls itself, the line stays one line of eight fields. */
static char *put_comm(char *p, const char *comm)
{
	int i;

	for (i = 0; i < TASK_COMM_LEN && comm[i]; i++) {
		unsigned char c = comm[i];

		if (c >= ' ' && c < 0x7f && c != ',' && c != '\\') {
			*p++ = c;
			continue;
		}
		*p++ = '\\';
		*p++ = 'x';
		*p++ = "0123456789abcdef"[c >> 4];
		*p++ = "0123456789abcdef"[c & 15];
	}
	return p;
}

static u64 alloc_ip(const struct memorizer_object *obj)
{
	return obj->flags & OBJ_CTOR ? CTOR_IP : memorizer_unpack_ip(obj->alloc_ip);
}

static u64 free_ip(const struct memorizer_object *obj)
{
	return obj->flags & OBJ_OVERLAID ? OVERLAID_IP :
		memorizer_unpack_ip(obj->free_ip);
}

/* From va to free_ip; @alloc, @free: the times or the serial numbers. */
static char *put_life(char *p, const struct memorizer_object *obj, u64 alloc, u64 free)
{
	*p++ = ',';
	p = put_hex(p, obj->va);
	*p++ = ',';
	p = put_dec(p, obj->size);
	*p++ = ',';
	p = put_dec(p, alloc);
	*p++ = ',';
	p = put_dec(p, free);
	*p++ = ',';
	p = put_hex(p, free_ip(obj));
	*p++ = ',';
	return p;
}

static char *put_object(char *p, const struct memorizer_object *obj)
{
	p = put_hex(p, alloc_ip(obj));
	*p++ = ',';
	p = put_who(p, obj->pid);
	p = put_life(p, obj, obj->alloc.jiffies, obj->free.jiffies);
	p = put_comm(p, obj->comm);
	*p++ = '\n';
	return p;
}

static char *put_site(char *p, const struct memorizer_sum *sum, bool range)
{
	*p++ = ' ';
	*p++ = ' ';
	p = put_hex(p, memorizer_unpack_ip((u32)sum->key));
	*p++ = ',';
	p = put_who(p, (s32)(sum->key >> 32));
	*p++ = ',';
	p = put_dec(p, sum->writes);
	*p++ = ',';
	p = put_dec(p, sum->reads);
	if (range) {
		*p++ = ',';
		p = put_dec(p, memorizer_range_first(sum->range));
		*p++ = ',';
		/* 0: touched before anything was noted */
		p = put_dec(p, sum->range ? memorizer_range_last(sum->range) : MEMORIZER_FAR);
	}
	*p++ = '\n';
	return p;
}

/*
 * The sums of one object, by code address and process: a hash table that is
 * filled from all logs and tables of the object. There is one for all readers,
 * and a larger one for an object that needs it.
 */
struct sums {
	struct memorizer_sum *sum;
	u32 mask;
	unsigned long va;	/* of the object */
};

#define NR_SUMS		1024

static struct memorizer_sum few_sums[NR_SUMS];
static DEFINE_MUTEX(sums_mutex);

static void add_sum(struct sums *sums, u64 key, u32 further, bool writes, bool reads,
		    u64 count, memorizer_range_t range)
{
	u64 line = (u64)memorizer_key_who(key) << 32 | ((u32)key + further);
	struct memorizer_sum *sum;
	u32 i = line * MEMORIZER_HASH_FACTOR >> MEMORIZER_HASH_SHIFT;

	do {
		sum = &sums->sum[i++ & sums->mask];
	} while (sum->key && sum->key != line);
	sum->key = line;
	sum->writes += writes ? count : 0;
	sum->reads += reads ? count : 0;
	sum->range = memorizer_range_add(sum->range, range);
}

/* The byte of the object that is @distance from the first of @extent, at most FAR. */
static u32 byte_of(const struct sums *sums, u64 extent, long distance)
{
	u64 offset = (extent >> 16) + distance - sums->va;

	return min_t(u64, offset & (BIT_ULL(48) - 1), MEMORIZER_FAR);
}

/* From the lowest extent to the end of the highest; @distance: 0, or to the second access. */
static memorizer_range_t range_of(const struct sums *sums, struct memorizer_extents e,
				  long distance, u16 more)
{
	u32 first = byte_of(sums, e.lowest, distance);
	u32 last = byte_of(sums, e.highest, distance) + more;

	if (!e.highest)
		return 0;
	return min(last, MEMORIZER_FAR) << 16 | (MEMORIZER_FAR - first);
}

static void add_pair(struct sums *sums, u64 key, u64 count, struct memorizer_extents e)
{
	bool first = memorizer_pair_writes(key, 0), second = memorizer_pair_writes(key, 1);

	add_sum(sums, key, 0, first, !first, count, range_of(sums, e, 0, 0));
	add_sum(sums, key, 1, second, !second, count,
		range_of(sums, e, (s16)e.highest, 0));
}

static void add_key(struct sums *sums, u64 key, u64 count, struct memorizer_extents e)
{
	if (!count)
		return;
	if (key & MEMORIZER_PAIR)
		add_pair(sums, key, count, e);
	else
		add_sum(sums, key, 0, key & (MEMORIZER_WRITE | MEMORIZER_READ_WRITE),
			!(key & MEMORIZER_WRITE), count, range_of(sums, e, 0, e.highest));
}

/* Entries that are 0 are claimed, and not yet there. */
static void add_log(struct sums *sums, const struct memorizer_sites *log, u32 room)
{
	bool ranges = memorizer_has_ranges(log);
	struct memorizer_extents e = { };
	u64 key;
	u32 i;

	for (i = room; i + ranges < log->words; i += 1 + ranges) {
		key = READ_ONCE(log->entry[i]);
		/* The key was written last. */
		smp_rmb();
		if (ranges)
			e.lowest = e.highest = READ_ONCE(log->entry[i + 1]);
		add_key(sums, key, key ? 1 : 0, e);
	}
}

/* What a slot of a table has noted. The highest was written last. */
static struct memorizer_extents extents_of(const struct memorizer_sites *table,
					   const struct memorizer_site *site)
{
	struct memorizer_extents *noted = memorizer_extents(site), e = { };

	if (!table->ranges)
		return e;
	e.highest = READ_ONCE(noted->highest);
	smp_rmb();
	e.lowest = READ_ONCE(noted->lowest);
	return e;
}

/* @room: of a log, when it was looked at first. */
static void add_sites(struct sums *sums, const struct memorizer_sites *sites, u32 room)
{
	const struct memorizer_site *site;
	u64 key;
	u32 i;

	if (memorizer_is_log(sites)) {
		add_log(sums, sites, room);
		return;
	}
	for (i = 0; i < memorizer_nr(sites); i++) {
		site = memorizer_slot(sites, i);
		key = READ_ONCE(site->key);
		if (key)
			add_key(sums, key, READ_ONCE(site->count), extents_of(sites, site));
	}
}

/* How many lines there can be at most: a key of a pair stands for two. */
static u32 nr_lines(const struct memorizer_sites *sites)
{
	u32 i, n = 0;
	u64 key;

	if (memorizer_is_log(sites))
		return 2 * sites->words;
	for (i = 0; i < memorizer_nr(sites); i++) {
		key = READ_ONCE(memorizer_slot(sites, i)->key);
		n += !key ? 0 : key & MEMORIZER_PAIR ? 2 : 1;
	}
	return n;
}

/* The newest table may get more keys while it is read, as many as it has slots. */
static u32 nr_sums(const struct memorizer_sites *newest, u32 room)
{
	const struct memorizer_sites *sites;
	u32 n = 2 * (memorizer_nr(newest) - room);

	for (sites = newest->prev; sites; sites = sites->prev)
		n += nr_lines(sites);
	return n;
}

static void each_sum(const struct sums *sums,
		     bool (*fn)(void *data, const struct memorizer_sum *sum), void *data)
{
	u32 i;

	for (i = 0; i <= sums->mask; i++)
		if (sums->sum[i].key && !fn(data, &sums->sum[i]))
			return;
}

/**
 * memorizer_each_site - call a function for each access site of an object
 * @obj: the object
 * @fn: gets the sums; stops if it returns false
 * @data: handed to @fn
 *
 * Sleeps. Accesses go on meanwhile, and may be in the sums or not.
 */
void memorizer_each_site(const struct memorizer_object *obj,
			 bool (*fn)(void *data, const struct memorizer_sum *sum),
			 void *data)
{
	const struct memorizer_sites *newest = READ_ONCE(obj->sites), *sites;
	u32 room = memorizer_room(newest);
	u32 lines = nr_sums(newest, room);
	struct sums sums = { .sum = few_sums, .va = obj->va };

	if (!lines)
		return;
	sums.mask = roundup_pow_of_two(lines + lines / 3 + 1) - 1;
	mutex_lock(&sums_mutex);
	if (sums.mask >= NR_SUMS)
		sums.sum = kvmalloc_array(sums.mask + 1, sizeof(*sums.sum),
					  GFP_KERNEL | __GFP_NOFAIL);
	memorizer_clear(sums.sum, (sums.mask + 1) * sizeof(*sums.sum));
	add_sites(&sums, newest, room);
	for (sites = newest->prev; sites; sites = sites->prev)
		add_sites(&sums, sites, memorizer_room(sites));
	each_sum(&sums, fn, data);
	if (sums.sum != few_sums)
		kvfree(sums.sum);
	mutex_unlock(&sums_mutex);
}

struct text {
	char *p, *end;
	u64 serial;		/* of the object, for `accesses` */
	bool full, ranges;
};

static bool put_site_fn(void *data, const struct memorizer_sum *sum)
{
	struct text *t = data;

	if (t->end - t->p < SITE_LINE) {
		t->full = true;
		return false;
	}
	t->p = put_site(t->p, sum, t->ranges);
	return true;
}

/* The end of the text, or NULL if the object does not fit. */
char *memorizer_format_kmap(const struct memorizer_object *obj, char *p, char *end)
{
	struct text t = { .end = end };

	if (end - p < OBJECT_LINE)
		return NULL;
	t.p = put_object(p, obj);
	memorizer_each_site(obj, put_site_fn, &t);
	return t.full ? NULL : t.p;
}

/* One object as a line with all that is known about it. */
static char *format_csv(const struct memorizer_object *obj, char *p, char *end)
{
	if (end - p < OBJECT_LINE)
		return NULL;
	p = put_object(p, obj) - 1;
	*p++ = ',';
	p = put_str(p, memorizer_type_names[obj->type]);
	*p++ = ',';
	p = put_str(p, memorizer_cache_name(obj->cache));
	*p++ = ',';
	p = put_dec(p, obj->given);
	*p++ = '\n';
	return p;
}

/* The same with its access sites, and where they touch it. */
char *memorizer_format_fields(const struct memorizer_object *obj, char *p, char *end)
{
	struct text t = { .end = end, .ranges = true };

	t.p = format_csv(obj, p, end);
	if (!t.p)
		return NULL;
	memorizer_each_site(obj, put_site_fn, &t);
	return t.full ? NULL : t.p;
}

/* Upstream's way with an address in the first column: blanks, not zeroes. */
static char *put_left(char *p, u64 v)
{
	char *end = p + 16, hex[16];
	int i = 0;

	put_hex(hex, v);
	while (i < 15 && hex[i] == '0')
		i++;
	while (i < 16)
		*p++ = hex[i++];
	while (p < end)
		*p++ = ' ';
	return p;
}

/* A line of `allocations`, with the fields and the order of upstream. */
char *memorizer_format_allocation(const struct memorizer_object *obj, char *p, char *end)
{
	u32 owner;

	if (end - p < OBJECT_LINE)
		return NULL;
	p = put_left(p, alloc_ip(obj));
	*p++ = ',';
	p = put_signed(p, memorizer_pid_of(obj->pid, &owner));
	p = put_life(p, obj, obj->alloc.serial, obj->free.serial);
	p = put_str(p, memorizer_type_names[obj->type]);
	*p++ = ',';
	p = put_comm(p, obj->comm);
	*p++ = ',';
	p = put_str(p, obj->cache ? memorizer_cache_name(obj->cache) : "no-slab");
	*p++ = ',';
	*p++ = '\n';
	return p;
}

/* Upstream shows a pid without a sign. */
static bool put_access_fn(void *data, const struct memorizer_sum *sum)
{
	struct text *t = data;
	char *p = t->p;
	u32 owner;

	if (t->end - p < SITE_LINE) {
		t->full = true;
		return false;
	}
	p = put_dec(p, t->serial);
	*p++ = ',';
	p = put_hex(p, memorizer_unpack_ip((u32)sum->key));
	*p++ = ',';
	p = put_dec(p, (s64)memorizer_pid_of((s32)(sum->key >> 32), &owner));
	*p++ = ',';
	p = put_dec(p, sum->writes);
	*p++ = ',';
	p = put_dec(p, sum->reads);
	*p++ = '\n';
	t->p = p;
	return true;
}

/* The lines of `accesses` of one object: none if it was never touched. */
char *memorizer_format_accesses(const struct memorizer_object *obj, char *p, char *end)
{
	struct text t = { .p = p, .end = end, .serial = obj->alloc.serial };

	memorizer_each_site(obj, put_access_fn, &t);
	return t.full ? NULL : t.p;
}
