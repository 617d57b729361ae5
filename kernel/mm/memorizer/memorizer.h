/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memorizer's own data and what its files offer each other.
 *
 * An access finds its counter so:
 *
 *   address -> physical address -> memorizer_pages[] -> struct memorizer_map
 *	     -> struct memorizer_object -> struct memorizer_sites -> counter
 *
 * Every step is O(1) and takes no lock. Nothing here may call instrumented
 * code from a hook or an access, except where it says so.
 */
#ifndef _MM_MEMORIZER_H
#define _MM_MEMORIZER_H

#include <linux/memorizer.h>
#include <linux/memorizer-compat.h>
#include <linux/memorizer_context.h>
#include <linux/mutex.h>
#include <linux/threads.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <asm/memorizer.h>

/*
 * One access site: code address, process and kind of access (a key), and how
 * often it touched an object.
 */
struct memorizer_site {
	u64 key;		/* 0: unused */
	u64 count;
};

#define MEMORIZER_FAR		0xffffU	/* there or beyond, or by another mapping */

/*
 * The extent of an access: the address of its first byte in 48 bits; below that, how
 * many bytes follow it or, of a pair, how far from it the second access is.
 */
static __always_inline u64 memorizer_extent(unsigned long addr, unsigned long more)
{
	return addr << 16 | min_t(unsigned long, more, MEMORIZER_FAR);
}

/*
 * Where a site's accesses to an object begin and end. Both are 0 until the first
 * is noted; the highest is written last.
 */
struct memorizer_extents {
	u64 lowest, highest;
};

/*
 * The same for a reader, as bytes of the object. Upper half: the last byte; lower
 * half: MEMORIZER_FAR minus the first, so that both only grow and 0 is nowhere.
 */
typedef u32 memorizer_range_t;

static inline u32 memorizer_range_first(memorizer_range_t range)
{
	return MEMORIZER_FAR - (u16)range;
}

static inline u32 memorizer_range_last(memorizer_range_t range)
{
	return range >> 16;
}

/* The range that covers both. */
static __always_inline memorizer_range_t
memorizer_range_add(memorizer_range_t a, memorizer_range_t b)
{
	return max((u16)a, (u16)b) | max(a >> 16, b >> 16) << 16;
}

/*
 * The counts of an object: a log or a hash table of sites, the newest first.
 *
 * Most objects are touched a few times and die. Their accesses are entered into
 * a log, a key for each access, which needs no search. Entries are used from the
 * last to the first. Where ranges are noted, an entry is a key and an extent; such
 * a log looks full to those that do not note them.
 *
 * An object whose logs are full has a table, with a count for each key. A key
 * lies within MEMORIZER_REACH slots from where its hash points, in the first
 * that was unused. When these are all taken, a larger table takes the place of
 * the object's newest. Where ranges are noted, extents follow each site of a table; a
 * table without them looks like a full log there.
 *
 * What is full stays behind what takes its place, and nothing in it moves, so
 * that no count is lost to one in flight. Readers add up.
 */
struct memorizer_sites {
	u32 mask;		/* (slots - 1) * bytes of a slot; 0: a log */
	u16 words;		/* of a log */
	u8 ranges;		/* of a table: it has extents */
	s64 room;		/* of a log: words not yet used; full: below 0 */
	s64 range_room;		/* the same of a log with ranges, two for an access */
	struct memorizer_sites *prev;
	union {
		DECLARE_FLEX_ARRAY(struct memorizer_site, site);
		DECLARE_FLEX_ARRAY(u64, entry);
	};
};

#define MEMORIZER_FIRST_LOG	12	/* in the object's record; in words, as all */
#define MEMORIZER_SECOND_LOG	51
#define MEMORIZER_SECOND_RANGES	94	/* as many accesses, with their extents */
#define MEMORIZER_THIRD_LOG	247
#define MEMORIZER_THIRD_RANGES	519
#define MEMORIZER_FIRST_TABLE	128U
#define MEMORIZER_MAX_PIECE	4096U	/* the largest within a chunk of the pool */
#define MEMORIZER_MAX_RANGES	2048U	/* the same with extents */
#define MEMORIZER_MAX_SITES	65536U	/* cleared at once, in any context */
#define MEMORIZER_REACH		8

static inline bool memorizer_is_log(const struct memorizer_sites *sites)
{
	return !sites->mask;
}

/* Bytes of a slot of a table. */
static __always_inline u32 memorizer_slot_size(bool ranges)
{
	return sizeof(struct memorizer_site) + (ranges ? sizeof(struct memorizer_extents) : 0);
}

/* How many words a log has, or slots a table, with those behind the last. */
static inline u32 memorizer_nr(const struct memorizer_sites *sites)
{
	return memorizer_is_log(sites) ? sites->words :
	       sites->mask / memorizer_slot_size(sites->ranges) + MEMORIZER_REACH;
}

/* Slot @i of a table. */
static inline struct memorizer_site *memorizer_slot(const struct memorizer_sites *table, u32 i)
{
	return (void *)table->site + i * memorizer_slot_size(table->ranges);
}

/* Of a log with ranges. */
#define MEMORIZER_NO_ROOM	(-1LL << 62)

static inline bool memorizer_has_ranges(const struct memorizer_sites *log)
{
	return READ_ONCE(log->room) < MEMORIZER_NO_ROOM / 2;
}

/* Where the used words of a log begin; 0 of a table. */
static inline u32 memorizer_room(const struct memorizer_sites *log)
{
	if (!memorizer_is_log(log))
		return 0;
	return max_t(s64, memorizer_has_ranges(log) ? READ_ONCE(log->range_room) :
						      READ_ONCE(log->room), 0);
}

/* The extents of a slot of a table that has them. */
static __always_inline struct memorizer_extents *
memorizer_extents(const struct memorizer_site *site)
{
	return (void *)(site + 1);
}

enum memorizer_map_kind {
	MAP_NONE,		/* nothing known about this page */
	MAP_OWN,		/* Memorizer's own memory */
	MAP_OBJECT,		/* one object covers the page; map inside it */
	MAP_SLAB,		/* equal objects side by side */
	MAP_REGION,		/* objects of any size: globals, percpu, boot */
};

/*
 * What lies in a page, or in several that belong together:
 * objs[(phys - base) * recip >> 32]. An entry is an object (negative as a
 * signed number, like every kernel address), NULL, or, in regions, the index
 * of the first span to look at, times two plus one.
 */
struct memorizer_map {
	union {
		unsigned long base;
		struct memorizer_frames *frames;	/* of a stack's record, see frames.c */
	};
	unsigned long recip;
	struct memorizer_map *next;	/* waiting to be given back; dead list */
	u16 nr;
	u8 kind;
	u8 miss;		/* what an access to no object hits here; 0: look */
	u32 pages;		/* of MAP_OBJECT: not yet freed */
	struct memorizer_object *objs[];
};

enum memorizer_state {
	OBJ_UNUSED,
	OBJ_LIVE,
	OBJ_DEAD,		/* on the dead list */
	OBJ_TAKEN,		/* dead, in the hands of a stream reader */
	OBJ_BACKING,		/* turned out to be memory of other objects */
};

#define OBJ_OVERLAID	BIT(0)	/* its free was never seen */
#define OBJ_CTOR	BIT(1)	/* constructed, not yet allocated */
#define OBJ_PRINTED	BIT(2)	/* has been shown in kmap */

/*
 * When an object was allocated or freed: the number of that event, from 1 on,
 * and the time. In 11 bytes, so that a record keeps to 256.
 */
struct memorizer_stamp {
	u64 serial : 48;
	u64 jiffies : 40;
} __packed;

struct memorizer_object {
	struct memorizer_sites *sites;
	struct memorizer_map map;	/* of MAP_OBJECT; next: dead list */
	struct memorizer_object *self;	/* map.objs[0] */
	unsigned long va;
	unsigned long size;		/* requested */
	unsigned long given;
	u32 alloc_ip;
	u32 free_ip;
	s32 pid;			/* or an owner, see MEMORIZER_WHO_OWNER */
	struct memorizer_stamp alloc;
	struct memorizer_stamp free;	/* 0: live */
	u16 cache;
	u8 type;
	u8 state;
	u8 flags;
	char comm[TASK_COMM_LEN];
	struct memorizer_sites first;
	u64 first_entry[MEMORIZER_FIRST_LOG];
};

static_assert(sizeof(struct memorizer_object) <= 256);

/* An object that is there without having been allocated; made when touched. */
struct memorizer_span {
	unsigned long va;
	unsigned long size;
	u32 ip;
	struct memorizer_object *obj;
};

/* Spans in the order of their addresses. */
struct memorizer_region {
	struct memorizer_span *spans;
	u32 nr;
	u8 type;
};

/* MAP_REGION: one page in granules of 1 << shift bytes. */
struct memorizer_region_page {
	struct memorizer_region *region;
	unsigned long va;		/* where the page is used */
	u32 shift;
	struct memorizer_map map;
};

/* Events that did not become a count or an object, by cause. */
enum memorizer_miss {
	/* accesses to no object, by what was hit; the first is no map's miss */
	NO_OBJ_USER,
	NO_OBJ_SLAB,
	NO_OBJ_PAGE,
	NO_OBJ_PAGE_STRUCT,
	NO_OBJ_IMAGE,
	NO_OBJ_OTHER,
	/* accesses lost */
	ACCESS_NMI,
	ACCESS_MEMORY,
	/* objects lost */
	OBJECT_NMI,
	OBJECT_MEMORY,
	OBJECT_MAP,
	/* calls lost */
	CALL_NMI,
	CALL_MEMORY,
	/* tasks whose owner is not known */
	OWNER_MEMORY,
	MEMORIZER_NR_MISSES,
};

/* What a key may stand for; a read is the first, without a bit. */
#define MEMORIZER_NR_KINDS	7
extern const u64 memorizer_kinds[MEMORIZER_NR_KINDS];

struct memorizer_cpu {
	u64 seen;			/* accesses to an object; others are misses */
	u64 objects_seen;
	u64 miss[MEMORIZER_NR_MISSES];
	u64 folded;			/* counted under pid -1 */
	u64 calls_folded;
	u64 irq_tag;			/* like memorizer_task.tag */
	/* Of what runs, see context.c: */
	u64 tags[MEMORIZER_NR_KINDS];	/* with the bits of each of memorizer_kinds[] */
	unsigned long end;		/* memorizer_entry_end; 0: hidden */
};

DECLARE_PER_CPU(struct memorizer_cpu, memorizer_cpu);

/*
 * Totals that change under the lock; those of records that were given back
 * under memorizer_mutex.
 */
struct memorizer_totals {
	u64 created[MEMORIZER_NR_TYPES];
	u64 live[MEMORIZER_NR_TYPES];
	u64 dead;
	u64 freed;
	u64 streamed;
	u64 cleared;
	u64 reclaimed;
	u64 overlaid;
	u64 backing;
	u64 retired_reads;		/* counts of objects given back */
	u64 retired_writes;
	u64 retired[MEMORIZER_NR_TYPES];	/* the two together */
};

extern struct memorizer_totals memorizer_totals;

extern bool memorizer_counting;			/* accesses */
DECLARE_STATIC_KEY_FALSE(memorizer_counting_key);	/* the same, for the plugin */
DECLARE_STATIC_KEY_FALSE(memorizer_marked_key);

/* Set in a tag: this is Memorizer itself, do not look. */
#define MEMORIZER_HIDDEN_BIT	63
#define MEMORIZER_HIDDEN	BIT_ULL(MEMORIZER_HIDDEN_BIT)

/*
 * Set in a tag, and thus in keys: the number is not a pid but that of an owner,
 * see owners.c. The second is the same bit in the upper half of a key, and in
 * the pid of an object.
 */
#define MEMORIZER_OWNER		BIT_ULL(61)
#define MEMORIZER_WHO_OWNER	(1 << 29)

/*
 * The upper half of a key: what the access does, in bits of its own, above the
 * pid. A key of the plugin may stand for two accesses, which it reports
 * together: at the code address and at the next byte. Without a bit: a read.
 */
#define MEMORIZER_PAIR_RR	BIT_ULL(56)
#define MEMORIZER_PAIR_RW	BIT_ULL(57)
#define MEMORIZER_PAIR_WR	BIT_ULL(58)
#define MEMORIZER_PAIR_WW	BIT_ULL(59)
#define MEMORIZER_PAIR		(15ULL << 56)
#define MEMORIZER_READ		0ULL
#define MEMORIZER_WRITE		BIT_ULL(60)
#define MEMORIZER_READ_WRITE	BIT_ULL(62)	/* one of each */
#define MEMORIZER_PID_FOLDED	(0xffffffULL << 32)	/* shown as pid -1 */

static_assert(PID_MAX_LIMIT < 0xffffff);

/* How many events one count of @key is. */
static __always_inline u64 memorizer_events(u64 key)
{
	return key & (MEMORIZER_PAIR | MEMORIZER_READ_WRITE) ? 2 : 1;
}

/* Are the first and the second access of a pair writes? */
static inline bool memorizer_pair_writes(u64 key, int which)
{
	return key & MEMORIZER_PAIR_WW ||
	       key & (which ? MEMORIZER_PAIR_RW : MEMORIZER_PAIR_WR);
}

/* The pid or the owner of a key; -1: folded. */
static inline s32 memorizer_key_who(u64 key)
{
	u32 who = key >> 32 & (0xffffff | MEMORIZER_WHO_OWNER);

	return (who & 0xffffff) == 0xffffff ? -1 : who;
}

static inline unsigned long memorizer_key_ip(u64 key)
{
	return memorizer_unpack_ip((u32)key);
}

#define MEMORIZER_IRQ_BITS	(NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET)

extern u32 memorizer_mark_generation;

/* Marks of an older generation are forgotten. */
static __always_inline bool memorizer_task_marked(struct task_struct *task)
{
	return task->memorizer.mark == READ_ONCE(memorizer_mark_generation);
}

/* lock.c: a lock whose slow path is not instrumented, for any context but NMI */
unsigned long memorizer_lock(void);
void memorizer_unlock(unsigned long flags);

/* pool.c */
extern unsigned long memorizer_pool_bytes;
void *memorizer_pool_memory(void);
extern unsigned long memorizer_budget;
int memorizer_pool_init(void *mem, unsigned long bytes);
void *memorizer_pool_alloc(size_t size);
void *memorizer_pool_alloc_object(void);
void memorizer_pool_free(void *p);
unsigned long memorizer_pool_used(void);
bool memorizer_pool_low(void);
unsigned long memorizer_pool_slots(void);
struct memorizer_object *memorizer_pool_object(unsigned long slot);

/* lookup.c */
extern struct memorizer_map **memorizer_pages;
extern unsigned long memorizer_ram;		/* end of RAM, bytes */
/* For entry.S: where RAM is mapped, where it would be as the image and the page array are. */
extern unsigned long memorizer_direct_base, memorizer_image_base, memorizer_page_base;
extern unsigned long memorizer_vmemmap_base;	/* the page array */
extern struct memorizer_map *memorizer_no_map;
int memorizer_map_init(struct memorizer_map **table, unsigned long ram);
void memorizer_map_miss(unsigned long addr, enum memorizer_miss miss);
void memorizer_map_own(unsigned long phys, unsigned long bytes);
unsigned long memorizer_phys(unsigned long addr);
bool memorizer_is_fixed(unsigned long addr);
struct memorizer_object *memorizer_find(unsigned long addr);
struct memorizer_object *memorizer_resolve(struct memorizer_map *map,
					   unsigned long phys);
bool memorizer_map_object(struct memorizer_object *obj, unsigned long va,
			  unsigned long bytes);
void memorizer_page_clear(unsigned long pfn, unsigned long ip);
struct memorizer_map *memorizer_slab_map(struct kmem_cache *s, void *p);
struct memorizer_region_page *
memorizer_region_page(unsigned long phys, unsigned long va, u32 shift,
		      struct memorizer_region *region);
void memorizer_map_dispose(struct memorizer_map *map);
unsigned int memorizer_map_collect(void);
extern unsigned int memorizer_limbo;
#define MEMORIZER_LIMBO_MAX	256

static __always_inline unsigned long
memorizer_index(const struct memorizer_map *map, unsigned long phys)
{
	return ((phys - map->base) * map->recip) >> 32;
}

/* object.c */
extern struct mutex memorizer_mutex;		/* readers and giving back */
bool memorizer_selected(void);
struct memorizer_object *memorizer_create(enum memorizer_type type,
					  unsigned long va, size_t size,
					  size_t given, unsigned long ip);
struct memorizer_object *memorizer_create_boot(enum memorizer_type type,
					       struct memorizer_span *span);
void memorizer_set_task(struct memorizer_object *obj, const struct task_struct *task);
void memorizer_take_over(struct memorizer_object *obj, unsigned long ip);
void memorizer_kill(struct memorizer_object *obj, unsigned long ip);
void memorizer_overlay(struct memorizer_object *obj);
void memorizer_forget(struct memorizer_object *obj);
struct memorizer_object *memorizer_take_dead(unsigned int max);
void memorizer_put_back(struct memorizer_object *first);
bool memorizer_have_dead(void);
void memorizer_release(struct memorizer_object *obj);
unsigned long memorizer_drop_dead(u64 max, bool printed, u64 *total);

/* context.c */
void memorizer_tag_changed(void);
void memorizer_task_tag_changed(struct task_struct *task);
void memorizer_switches_changed(void);
void memorizer_set_irq_tag(u64 tag);

/* ways.c */
extern unsigned long memorizer_fast_end, memorizer_range_end, memorizer_entry_end;
void memorizer_set_fast(void);

/* site.c */
void memorizer_start_log(struct memorizer_sites *log, u32 words, bool ranges);
bool memorizer_count(struct memorizer_object *obj, u64 key);
void memorizer_quiesce(void);
void memorizer_access_slow(unsigned long addr, unsigned long ip, u64 kind,
			   unsigned long more);
void memorizer_touched(unsigned long addr, unsigned long ip, u64 kind);

/* globals.c */
unsigned long memorizer_globals_bytes(void);
void memorizer_globals_init(void *mem);
int memorizer_map_region_page(struct memorizer_region *region, unsigned long va,
			      u32 shift);
#define MEMORIZER_GRANULE_SHIFT	5	/* of pages with several objects */
#define MEMORIZER_WORD_SHIFT	3	/* of pages with many */
u32 memorizer_first_span(const struct memorizer_region *region, unsigned long va);
void memorizer_span_kill(struct memorizer_span *span, unsigned long ip);
const struct memorizer_region *memorizer_image(void);

/* modules.c */
void memorizer_modules_lock(void);
void memorizer_modules_unlock(void);
const struct memorizer_span *memorizer_module_span(u64 *nr, const char **name);

/* module_symbols.c */
struct mod_kallsyms;
struct module;
struct seq_file;
#ifdef CONFIG_MODULES
/* Symbols of what is gone: how many there are, and how many are lost and why. */
struct memorizer_symbols {
	u64 kept, bytes;
	u64 lost_old, lost_memory, lost_reused;
};

extern struct memorizer_symbols memorizer_symbols;
extern const struct file_operations memorizer_symbols_fops;
void memorizer_keep_symbols(const struct module *mod, const struct mod_kallsyms *ks,
			    bool init);
void memorizer_drop_symbols(const struct module *mod);
void memorizer_show_symbols(struct seq_file *m);
#else
static inline void memorizer_show_symbols(struct seq_file *m) { }
#endif

/* global_table.c */
extern const struct file_operations memorizer_globals_fops;

/* control.c */
extern int memorizer_mode;
extern bool memorizer_reclaim_policy;
extern atomic_t memorizer_streams;
u64 memorizer_hide(void);
void memorizer_show(u64 old);
void memorizer_kick(void);
void memorizer_kick_worker(void);
int memorizer_set_mode(int mode, struct task_struct *task, pid_t pid);
int memorizer_forget_marks(void);
int memorizer_set_log_access(bool on);
int memorizer_set_log_calls(bool on);
bool memorizer_log_calls(void);
int memorizer_state_words(char *buf, size_t size);
bool memorizer_log_access(void);

/* format.c; more in format.h */
extern const char * const memorizer_type_names[MEMORIZER_NR_TYPES];

/* kmap_files.c */
extern const struct file_operations memorizer_kmap_fops;
extern const struct file_operations memorizer_stream_fops;
extern const struct file_operations memorizer_allocations_fops;
extern const struct file_operations memorizer_accesses_fops;
extern bool memorizer_print_live;
extern bool memorizer_print_fields;
bool memorizer_stream_wanted(void);
void memorizer_stream_wake(void);
void memorizer_stream_wake_now(void);

/* calls.c, calls_file.c */
#ifdef CONFIG_MEMORIZER_CALLS
extern const struct file_operations memorizer_calls_fops;
int memorizer_calls_set(bool on, bool marked);
void memorizer_calls_clear(void);
void memorizer_calls_sum(u64 *edges, u64 *counted, u64 *bytes);
#else
static inline int memorizer_calls_set(bool on, bool marked)
{
	return 0;
}
#endif

/* owners.c */
#ifdef CONFIG_CGROUPS
struct seq_file;
extern const struct file_operations memorizer_owners_fops;
s32 memorizer_pid_of(s32 who, u32 *owner);
bool memorizer_log_owners(void);
int memorizer_set_log_owners(bool on);
void memorizer_show_owners(struct seq_file *m, u64 missed);
#else
static inline s32 memorizer_pid_of(s32 who, u32 *owner)
{
	*owner = 0;
	return who;
}
#endif

/* stats.c */
extern const struct file_operations memorizer_stats_fops;
void memorizer_count_sites(const struct memorizer_object *obj, u64 *reads,
			   u64 *writes);

/* stats_upstream.c */
extern const struct file_operations memorizer_upstream_stats_fops;

/* upstream_files.c */
struct dentry;
void memorizer_create_upstream_files(struct dentry *dir);
void memorizer_warn_lost(void);

/* cache_names.c */
u16 memorizer_cache_id(struct kmem_cache *s);
const char *memorizer_cache_name(u16 id);

#define memorizer_miss(what) this_cpu_inc(memorizer_cpu.miss[what])

#endif /* _MM_MEMORIZER_H */
