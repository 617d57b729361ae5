// SPDX-License-Identifier: GPL-2.0
/* Record the kernel's allocations and frees at their tracepoints. */
/*
 * The kernel does not re-enter a program on a CPU where it is running, so the
 * events of an interrupt that arrives just then are lost, and counted by the
 * kernel. --rescue attaches a second program per tracepoint, at about twice the
 * cost. It runs after the first one and records the event if the first one
 * could not. It knows this by the address of the context, which both share for
 * one event. What neither of them saw is the kernel's count of misses of the
 * first program minus our count of rescues.
 *
 * No locks, no atomics: a program that interrupts another one on its CPU ends
 * before that one continues, so each nesting level has its own counters and
 * ring.
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "uapi/memorizer/kmemtrace.h"

char LICENSE[] SEC("license") = "GPL";

/* Configuration: constants to the verifier, which drops what is off. */
const volatile __u32 cfg_ncpus = 1;
const volatile __u32 cfg_ring = 64;  /* records of level 0; a power of two */
const volatile __u32 cfg_small = 64; /* of each further level */
const volatile __u32 cfg_own;	     /* our own process */
const volatile __u32 cfg_pid;
const volatile __u64 cfg_cgroup;
const volatile __u32 cfg_sample = ~0u; /* keep hashes up to this */
const volatile __u32 cfg_track_bits;
const volatile bool cfg_track;	 /* frees of what was kept, in any process */
const volatile bool cfg_rescue; /* the second programs are attached too */
const volatile bool cfg_stacks;
const volatile bool cfg_summary;
const volatile bool cfg_live; /* summary: follow blocks to their frees */
const volatile bool cfg_ordered; /* other CPUs see stores in order (x86) */
const volatile __u32 cfg_sums = 64; /* rows per level; a power of two */
const volatile __u32 cfg_page_shift = 12;
const volatile __u32 cfg_class;	 /* --cache kmalloc-N: its size */
const volatile bool cfg_by_cache; /* --cache NAME */
const volatile char cfg_cache[KMT_NAME];

/*
 * Positions of arguments, found in BTF; 0 = this kernel has no such argument.
 */
const volatile struct kmt_args arg_kmalloc, arg_kmalloc_node, arg_cache_alloc, arg_cache_alloc_node,
	arg_cache_free;

#define MAP_ARRAY(name_, type_)                                                                    \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(map_flags, BPF_F_MMAPABLE);                                                 \
		__uint(max_entries, 1);                                                            \
		__type(key, __u32);                                                                \
		__type(value, type_);                                                              \
	} name_ SEC(".maps")

MAP_ARRAY(cpus, struct kmt_cpu);
MAP_ARRAY(rings, struct kmt_rec);
MAP_ARRAY(caches, struct kmt_cache);
MAP_ARRAY(seen, struct kmt_seen);
MAP_ARRAY(sums, struct kmt_sum);
MAP_ARRAY(track, __u64);
MAP_ARRAY(own_blocks, struct kmt_own);

struct {
	__uint(type, BPF_MAP_TYPE_HASH); /* its memory is allocated at the
					    start */
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct kmt_live);
} live SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, KMT_STACK_DEPTH * sizeof(__u64));
} stacks SEC(".maps");

#define barrier() asm volatile("" ::: "memory")

/* Not in the middle of a store: whatever another CPU reads of our data is complete. */
#define publish(p, v)                                                                              \
	do {                                                                                       \
		barrier();                                                                         \
		if (!cfg_ordered)                                                                  \
			order(p);                                                                  \
		*(volatile typeof(*(p)) *)(p) = (v);                                               \
	} while (0)

#ifdef __TARGET_ARCH_x86
#define order(p) barrier()
#else
/* A fetching atomic is a full barrier (Linux 5.12). */
#define order(p) __sync_fetch_and_add(p, 0)
#endif

/* All programs are attached: from now on events count. */
volatile __u32 recording;

struct event {
	__u64 site, ptr;
	__u32 req, given, gfp;
	__s16 node;
	__u8 kind;
	bool is_free;
	struct kmem_cache *s;
};

/* ctx[n] for an n that the verifier knows: it requires a constant offset. */
#define ARG_IF(n)                                                                                  \
	if (at == n) {                                                                             \
		v = ctx[n];                                                                        \
		asm volatile("" : "+r"(v));                                                        \
	}
static __always_inline __u64 arg(__u64 *ctx, __u8 at)
{
	__u64 v = 0;

	ARG_IF(2) else ARG_IF(3) else ARG_IF(4) else ARG_IF(5) else ARG_IF(6) else ARG_IF(7);
	return v;
}

static __always_inline __u32 mix(__u64 v)
{
	return (v * 0x9e3779b97f4a7c15ull) >> 32;
}

/* ---- which of the two programs --------------------------------------------- */

/* The location of the context: the low half of its address, which is enough
 * to tell apart the events in progress on one CPU. A 32-bit move turns it
 * into a number. */
static __always_inline __u32 place(const void *ctx)
{
	__u32 low = (__u32)(__u64)ctx;

	asm volatile("%0 = %0" : "+w"(low));
	return low;
}

/*
 * Interrupts have stacks of their own. Code on a task's stack interrupts
 * nothing, so one location is enough for it, and whatever interrupts left
 * behind (when the second program could not run) is stale by then.
 */
static __always_inline void frame_done(struct kmt_cpu *c, __u32 ctx, bool task)
{
	__u32 i = (ctx >> 4 ^ ctx >> 9) & (KMT_FRAMES - 1);

	if (task) {
		if (c->irq_frames) {
			__builtin_memset(c->frame, 0, sizeof(c->frame));
			c->irq_frames = 0;
		}
		c->task_frame = ctx;
		return;
	}
	c->irq_frames = 1;
	if (c->frame[i] && c->frame[i] != ctx)
		i ^= 1;
	c->frame[i] = ctx;
}

static __always_inline bool frame_was_done(struct kmt_cpu *c, __u32 ctx, bool task)
{
	__u32 i = (ctx >> 4 ^ ctx >> 9) & (KMT_FRAMES - 1);

	if (task) {
		bool done = c->task_frame == ctx;

		c->task_frame = 0;
		return done;
	}
	if (c->frame[i] == ctx) {
		c->frame[i] = 0;
		return true;
	}
	if (c->frame[i ^ 1] == ctx) {
		c->frame[i ^ 1] = 0;
		return true;
	}
	return false;
}

/* Is the context on the stack of the task? */
static __always_inline bool on_task_stack(void *ctx, struct task_struct *task)
{
	void *stack = 0;

	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf))
		stack = task->stack;
	else
		bpf_core_read(&stack, sizeof(stack), &task->stack);
	return place(ctx) - (__u32)(__u64)stack < 64 * 1024;
}

static __always_inline struct task_struct *current_task(void)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf))
		return bpf_get_current_task_btf();
	return (void *)bpf_get_current_task();
}

/* ---- caches ----------------------------------------------------------------- */

static __always_inline bool same_name(const char *name)
{
	for (int i = 0; i < KMT_NAME; i++) {
		if (name[i] != cfg_cache[i])
			return false;
		if (!name[i])
			return true;
	}
	return true;
}

/* Describe a cache that is seen for the first time on this CPU, and return its
 * number. An interrupt that needs the same cache meanwhile gets no number. */
static __always_inline __u32 define_cache(struct kmt_cpu *c, __u32 cpu, struct kmt_seen *w,
					  struct kmem_cache *s, const char *name)
{
	struct kmt_cache *d;
	bool keep = false;
	__u32 id, key;

	if (c->busy)
		return 0;
	c->busy = 1;
	barrier();
	id = c->caches + 1;
	key = cpu * KMT_CACHES + id;
	d = id < KMT_CACHES ? bpf_map_lookup_elem(&caches, &key) : 0;
	if (d) {
		c->caches = id;
		d->addr = (__u64)s;
		d->object_size = s->object_size;
		d->size = s->size;
		d->align = s->align;
		if (bpf_probe_read_kernel_str(d->name, sizeof(d->name), name) < 0)
			d->name[0] = 0;
		keep = cfg_by_cache && same_name(d->name);
		publish(&d->ready, 1);
		w->name = (__u64)name;
		w->id = id | (keep ? KMT_KEEP : 0);
		barrier();
		w->addr = (__u64)s;
	}
	barrier();
	c->busy = 0;
	return !d ? 0 : keep ? id | KMT_KEEP : id;
}

static __always_inline __u32 cache_id(struct kmt_cpu *c, __u32 cpu, struct kmem_cache *s)
{
	const char *name = s->name;
	__u32 at = mix(place(s)), id = 0;

	for (int i = 0; i < KMT_WAYS; i++) {
		__u32 key = cpu * KMT_CACHES + ((at + i) & (KMT_CACHES - 1));
		struct kmt_seen *w = bpf_map_lookup_elem(&seen, &key);

		if (!w)
			break;
		if (w->addr == (__u64)s && w->name == (__u64)name)
			return w->id;
		if (!w->addr) {
			id = define_cache(c, cpu, w, s, name);
			break;
		}
	}
	if (!id)
		c->no_cache++;
	return id;
}

/* ---- what is requested ------------------------------------------------------- */

/*
 * Our own blocks: allocated by our process (the work of an interrupt on top of
 * it is not ours). They are remembered, so that their frees are left out as
 * well, in any process. A block that finds no place in the table is recorded
 * like any other, and so is the next block at an address of ours whose free was
 * not seen.
 */
static __always_inline bool is_own(const struct event *e, bool mine)
{
	__u32 key = mix(e->ptr) & (KMT_OWN_BUCKETS - 1);
	struct kmt_own *own = bpf_map_lookup_elem(&own_blocks, &key);

	if (!own)
		return false;
	for (int i = 0; i < KMT_OWN_WAYS; i++) {
		if (own->ptr[i] == e->ptr) {
			if (mine && !e->is_free)
				return true;
			own->ptr[i] = 0;
			return e->is_free;
		}
	}
	if (!mine || e->is_free)
		return false;
	for (int i = 0; i < KMT_OWN_WAYS; i++) {
		if (!own->ptr[i]) {
			own->ptr[i] = e->ptr;
			return true;
		}
	}
	return false;
}

/* A block that was kept is remembered, so that its free is kept as well. */
static __always_inline bool tracked(struct kmt_cpu *c, __u64 ptr, bool is_free)
{
	__u32 at = mix(ptr) >> (32 - (cfg_track_bits & 31));
	__u64 *v, *first = 0;

	for (int i = 0; i < 4; i++) {
		__u32 key = at ^ i;

		v = bpf_map_lookup_elem(&track, &key);
		if (!v)
			return true;
		if (is_free && *v == ptr) {
			*v = 0;
			return true;
		}
		if (!is_free && (!*v || *v == ptr)) {
			*v = ptr;
			return true;
		}
		first = v;
	}
	if (is_free)
		return false;
	c->no_free++;
	if (first)
		*first = ptr;
	return true;
}

/* The filters select allocations; a free is treated like its allocation. */
static __always_inline bool wanted(struct kmt_cpu *c, const struct event *e, __u32 pid, __u32 cache)
{
	if (cfg_sample != ~0u && mix(e->ptr) > cfg_sample)
		return false;
	if (!cfg_track)
		return true;
	if (e->is_free)
		return tracked(c, e->ptr, true);
	if (cfg_pid && pid != cfg_pid)
		return false;
	if (cfg_cgroup && bpf_get_current_cgroup_id() != cfg_cgroup)
		return false;
	if (cfg_class && (e->kind != KMT_KMALLOC || e->given != cfg_class))
		return false;
	if (cfg_by_cache && !(cache & KMT_KEEP))
		return false;
	return !e->ptr || tracked(c, e->ptr, false);
}

/* ---- where it goes ------------------------------------------------------------ */

static __always_inline struct kmt_rec *slot(__u32 cpu, __u32 lvl, __u64 n)
{
	__u32 key = cpu * (cfg_ring + (KMT_LEVELS - 1) * cfg_small);

	if (lvl)
		key += cfg_ring + (lvl - 1) * cfg_small + (n & (cfg_small - 1));
	else
		key += n & (cfg_ring - 1);
	return bpf_map_lookup_elem(&rings, &key);
}

/* The stack is a record of its own, before that of the event. */
static __always_inline __u64 put_stack(void *ctx, struct kmt_cpu *c, struct kmt_level *l, __u32 cpu,
				       __u32 lvl, __u64 head)
{
	long id = bpf_get_stackid(ctx, &stacks, BPF_F_FAST_STACK_CMP);
	struct kmt_rec *r = slot(cpu, lvl, head);

	if (id < 0 || !r) {
		c->no_stack++;
		return head;
	}
	r->time_kind = (__u64)KMT_STACK << KMT_TIME_BITS;
	r->ptr = id;
	l->extra++;
	return head + 1;
}

static __always_inline void put(void *ctx, struct kmt_cpu *c, struct kmt_level *l, __u32 cpu,
				__u32 lvl, const struct event *e, __u64 pid_tgid, __u32 cache)
{
	__u32 room = lvl ? cfg_small : cfg_ring;
	__u64 head = l->head;
	struct kmt_rec *r;

	/* two records may follow, never more than fit */
	if (head - *(volatile __u64 *)&c->tail[lvl] + 2 > room) {
		l->full++;
		return;
	}
	if (cfg_stacks || e->kind == KMT_PAGE_ALLOC || e->kind == KMT_VMALLOC)
		head = put_stack(ctx, c, l, cpu, lvl, head);
	r = slot(cpu, lvl, head);
	if (!r) {
		l->full++;
		return;
	}
	r->ptr = e->ptr;
	r->site = e->site;
	r->req = e->req;
	r->given = e->given;
	r->gfp = e->gfp;
	r->pid = pid_tgid >> 32;
	r->tid = pid_tgid;
	r->cache = cache;
	r->node = e->node;
	r->time_kind = bpf_ktime_get_ns() | (__u64)e->kind << KMT_TIME_BITS;
	publish(&l->head, head + 1);
}

/*
 * Which blocks are live. A free is traced before the memory is released and an
 * allocation after it was taken, so two events of one address never run
 * concurrently. The row belongs to the CPU that allocated; other CPUs write to
 * it, hence atomics. These are separate functions, so that callers that do not
 * need them keep their registers.
 */
static __noinline void follow(struct kmt_cpu *c, struct kmt_sum *w, __u32 row, __u32 given,
			      __u64 ptr)
{
	struct kmt_live l = {.row = row, .given = given};

	if (bpf_map_update_elem(&live, &ptr, &l, 0)) {
		__sync_fetch_and_add(&c->unfollowed, 1);
		return;
	}
	__sync_fetch_and_add(&w->live, 1);
	__sync_fetch_and_add(&w->live_bytes, given);
}

/* The block at this address has ended: it is freed now or, if this is an
 * allocation, was freed unseen. It does not matter which process caused the
 * event and whether it is selected. */
static __noinline void forget(struct kmt_cpu *c, __u64 ptr, bool is_free)
{
	struct kmt_live *l = bpf_map_lookup_elem(&live, &ptr);
	struct kmt_sum *w;
	__u64 bytes;
	__u32 row;

	if (!l)
		return;
	row = l->row;
	bytes = l->given;
	if (bpf_map_delete_elem(&live, &ptr) && is_free)
		return; /* it is taken off when the address comes again */
	if (!is_free)
		__sync_fetch_and_add(&c->reused, 1);
	w = bpf_map_lookup_elem(&sums, &row);
	if (!w)
		return;
	__sync_fetch_and_add(&w->live, -1ull);
	__sync_fetch_and_add(&w->live_bytes, -bytes);
}

static __always_inline void sum(struct kmt_cpu *c, __u32 cpu, __u32 lvl, const struct event *e,
				__u32 cache)
{
	__u32 key = (__u32)e->kind << 16 | (cache & 0xffff);
	__u32 base = (cpu * KMT_LEVELS + lvl) * cfg_sums, at = mix(e->site ^ (__u64)key << 40);

	for (int i = 0; i < KMT_SUM_PROBES; i++) {
		__u32 k = base + ((at + i) & (cfg_sums - 1));
		struct kmt_sum *w = bpf_map_lookup_elem(&sums, &k);

		if (!w)
			break;
		if (!w->key) {
			w->site = e->site;
			publish(&w->key, key);
		}
		if (w->key != key || w->site != e->site)
			continue;
		w->count++;
		w->req += e->req;
		w->given += e->given;
		if (!e->is_free && !e->ptr)
			w->failed++;
		if (cfg_live && !e->is_free && e->ptr)
			follow(c, w, k, e->given, e->ptr);
		return;
	}
	c->other++;
	if (cfg_live && !e->is_free && e->ptr)
		__sync_fetch_and_add(&c->unfollowed, 1);
}

/* One event, from either of the two programs of its tracepoint. */
static __always_inline void handle(void *ctx, struct kmt_cpu *c, __u32 cpu, __u32 lvl,
				   struct event *e, bool second, bool on_task)
{
	struct kmt_level *l = &c->lv[lvl];
	__u64 pid_tgid;
	__u32 cache = 0;
	bool mine;

	l->seen++;
	if (second)
		l->rescued++;
	if (e->is_free && !e->ptr) {
		l->nulls++;
		return;
	}
	if (cfg_live && e->ptr)
		forget(c, e->ptr, e->is_free);
	pid_tgid = bpf_get_current_pid_tgid();
	mine = pid_tgid >> 32 == cfg_own;
	if (mine && !cfg_rescue)
		on_task = on_task_stack(ctx, current_task());
	if (e->ptr && is_own(e, mine && on_task)) {
		l->own++;
		return;
	}
	if (e->s) {
		cache = cache_id(c, cpu, e->s);
		e->req = e->s->object_size;
		e->given = e->s->size;
	}
	if (!wanted(c, e, pid_tgid >> 32, cache)) {
		l->filtered++;
		return;
	}
	if (cfg_summary)
		sum(c, cpu, lvl, e, cache);
	else
		put(ctx, c, l, cpu, lvl, e, pid_tgid, cache);
}

static __always_inline int enter(void *ctx, struct event *e, bool second)
{
	__u32 cpu = bpf_get_smp_processor_id(), lvl;
	struct kmt_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	bool on_task = true;

	if (!c)
		return 0;
	if (cfg_rescue)
		on_task = on_task_stack(ctx, current_task());
	if (second && frame_was_done(c, place(ctx), on_task))
		return 0;
	lvl = c->level;
	if (!recording) {
		barrier(); /* not recorded, but the second program must know
			      that the first one ran */
	} else if (lvl < KMT_LEVELS) {
		c->level = lvl + 1;
		barrier();
		handle(ctx, c, cpu, lvl, e, second, on_task);
		barrier();
		c->level = lvl;
	} else if (!second) {
		__sync_fetch_and_add(&c->deep, 1);
	}
	if (cfg_rescue && !second)
		frame_done(c, place(ctx), on_task);
	return 0;
}

/* ---- the tracepoints ------------------------------------------------------------ */

#define PAIR(tp, fill)									\
	SEC("tp_btf/" #tp) int tp##_1(__u64 *ctx)					\
	{										\
		struct event e = {.node = -1};						\
											\
		fill(ctx, &e);								\
		return enter(ctx, &e, false);						\
	}										\
	SEC("tp_btf/" #tp) int tp##_2(__u64 *ctx)					\
	{										\
		struct event e = {.node = -1};						\
											\
		fill(ctx, &e);								\
		return enter(ctx, &e, true);						\
	}

static __always_inline void fill_alloc(__u64 *ctx, struct event *e, const volatile struct kmt_args *a,
				       __u8 kind)
{
	e->kind = kind;
	e->site = ctx[0];
	e->ptr = ctx[1];
	if (kind == KMT_CACHE_ALLOC && a->cache) {
		e->s = (struct kmem_cache *)arg(ctx, a->cache);
	} else {
		e->req = arg(ctx, a->req);
		e->given = arg(ctx, a->given);
	}
	e->gfp = arg(ctx, a->gfp);
	if (a->node)
		e->node = (int)arg(ctx, a->node);
}

#define FILL_KMALLOC(ctx, e) fill_alloc(ctx, e, &arg_kmalloc, KMT_KMALLOC)
#define FILL_KMALLOC_NODE(ctx, e) fill_alloc(ctx, e, &arg_kmalloc_node, KMT_KMALLOC)
#define FILL_CACHE(ctx, e) fill_alloc(ctx, e, &arg_cache_alloc, KMT_CACHE_ALLOC)
#define FILL_CACHE_NODE(ctx, e) fill_alloc(ctx, e, &arg_cache_alloc_node, KMT_CACHE_ALLOC)

static __always_inline void fill_kfree(__u64 *ctx, struct event *e)
{
	e->kind = KMT_KFREE;
	e->is_free = true;
	e->site = ctx[0];
	e->ptr = ctx[1];
}

static __always_inline void fill_cache_free(__u64 *ctx, struct event *e)
{
	fill_kfree(ctx, e);
	e->kind = KMT_CACHE_FREE;
	if (arg_cache_free.cache)
		e->s = (struct kmem_cache *)arg(ctx, arg_cache_free.cache);
}

/* Pages are identified by their struct page. The verifier takes the argument
 * for a pointer, which allows no arithmetic; read from memory, it is a
 * number. */
static __always_inline __u64 page_number(__u64 *ctx)
{
	__u64 page = 0;

	bpf_probe_read_kernel(&page, sizeof(page), ctx);
	return page;
}

static __always_inline void fill_page_alloc(__u64 *ctx, struct event *e)
{
	e->kind = KMT_PAGE_ALLOC;
	e->ptr = page_number(ctx);
	e->req = e->given = 1u << ((ctx[1] + cfg_page_shift) & 31);
	e->gfp = ctx[2];
}

static __always_inline void fill_page_free(__u64 *ctx, struct event *e)
{
	e->kind = KMT_PAGE_FREE;
	e->is_free = true;
	e->ptr = page_number(ctx);
	e->req = e->given = 1u << ((ctx[1] + cfg_page_shift) & 31);
}

static __always_inline void fill_vmalloc(__u64 *ctx, struct event *e)
{
	e->kind = KMT_VMALLOC;
	e->ptr = ctx[5] ? 0 : ctx[0];
	e->req = e->given = ctx[1] >> cfg_page_shift;
}

static __always_inline void fill_vfree(__u64 *ctx, struct event *e)
{
	e->kind = KMT_VFREE;
	e->is_free = true;
	e->ptr = ctx[0];
}

static __always_inline void fill_percpu_alloc(__u64 *ctx, struct event *e)
{
	e->kind = KMT_PERCPU_ALLOC;
	e->site = ctx[0];
	e->req = ctx[3];
	e->ptr = ctx[7];
	e->given = ctx[8];
	e->gfp = ctx[9];
}

static __always_inline void fill_percpu_free(__u64 *ctx, struct event *e)
{
	e->kind = KMT_PERCPU_FREE;
	e->is_free = true;
	e->ptr = ctx[2];
}

PAIR(kmalloc, FILL_KMALLOC)
PAIR(kmalloc_node, FILL_KMALLOC_NODE)
PAIR(kmem_cache_alloc, FILL_CACHE)
PAIR(kmem_cache_alloc_node, FILL_CACHE_NODE)
PAIR(kfree, fill_kfree)
PAIR(kmem_cache_free, fill_cache_free)
PAIR(mm_page_alloc, fill_page_alloc)
PAIR(mm_page_free, fill_page_free)
PAIR(alloc_vmap_area, fill_vmalloc)
PAIR(free_vmap_area_noflush, fill_vfree)
PAIR(percpu_alloc_percpu, fill_percpu_alloc)
PAIR(percpu_free_percpu, fill_percpu_free)
