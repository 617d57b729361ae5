/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The records of kmemtrace and what its files share. The layout is an ABI:
 * Documentation/ABI/testing/debugfs-kmemtrace.
 */
#ifndef _MM_KMEMTRACE_H
#define _MM_KMEMTRACE_H

#include <linux/jump_label.h>
#include <linux/kmemtrace.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/relay.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>

#define KMEMTRACE_ABI_VERSION	1
#define KMEMTRACE_SUBBUFS	20
#define KMEMTRACE_SUBBUF_SIZE	(512 * 1024)

enum kmemtrace_event_id { KMEMTRACE_ALLOC, KMEMTRACE_FREE };
enum kmemtrace_type_id { KMEMTRACE_KMALLOC, KMEMTRACE_CACHE, KMEMTRACE_PAGES };
/* What the type cannot say. */
enum kmemtrace_kind { KMEMTRACE_PLAIN, KMEMTRACE_VMALLOC };
enum kmemtrace_extension { KMEMTRACE_EXT_CONTEXT = 1, KMEMTRACE_EXT_STACK = 2 };

struct kmemtrace_event {
	u8	event_id;
	u8	type_id;
	u16	event_size;	/* with the extensions */
	s32	seq_num;
	u64	call_site;
	u64	ptr;
};

/* Follows the event of an allocation. */
struct kmemtrace_sizes {
	u64	bytes_req;
	u64	bytes_alloc;
	u32	gfp_flags;
	s32	numa_node;
};

/* Extensions: u16 size, u8 id, and size - 3 bytes that depend on the id. */
struct kmemtrace_context {
	u16	size;
	u8	id;
	u8	kind;
	u32	cache;		/* line of the file "caches"; 0 = none */
	u64	time;		/* ns since boot; goes up on each CPU */
	u32	pid;
	u32	tid;
};

struct kmemtrace_stack {
	u16	size;
	u8	id;
	u8	zero;
	u32	stack;		/* line of the file "stacks"; 0 = unknown */
};

static_assert(sizeof(struct kmemtrace_event) == 24);
static_assert(sizeof(struct kmemtrace_sizes) == 24);
static_assert(sizeof(struct kmemtrace_context) == 24);
static_assert(sizeof(struct kmemtrace_stack) == 8);

/* Why an event was dropped. Each has a name in debugfs.c. */
enum kmemtrace_cause {
	KMEMTRACE_FULL,		/* the reader was too slow */
	KMEMTRACE_EARLY,	/* the buffer before relay was too small */
	KMEMTRACE_NO_BUFFER,	/* this CPU has none */
	KMEMTRACE_NMI,
	KMEMTRACE_CAUSES
};

/* Written by its own CPU alone, interrupts off (but for lost[KMEMTRACE_NMI]). */
struct kmemtrace_cpu {
	u64	recorded;
	u64	last_time;
	u64	nulls;		/* kfree() of nothing: not recorded */
	u64	no_cache;	/* recorded without the name of the cache */
	u64	no_stack;	/* recorded without the stack */
	u64	lost[KMEMTRACE_CAUSES];
};

DECLARE_PER_CPU(struct kmemtrace_cpu, kmemtrace_cpu);
DECLARE_STATIC_KEY_FALSE(kmemtrace_stacks_on);

/* core.c */
extern atomic_t kmemtrace_seq;		/* the last number given out */
extern struct rchan *kmemtrace_chan;	/* where events go; NULL = off */
extern unsigned int kmemtrace_subbufs, kmemtrace_subbuf_size;
void *kmemtrace_no_room(struct rchan_buf *buf, size_t size);
void kmemtrace_lost(enum kmemtrace_cause cause);
struct rchan *kmemtrace_channel(void);	/* the same, or where they went */
bool kmemtrace_enabled(void);
void kmemtrace_fit_buffers(void);
int kmemtrace_enable(bool on);
void kmemtrace_late_init(struct dentry *dir);

/* channel.c */
struct rchan *kmemtrace_channel_open(void);
void kmemtrace_channel_files(struct dentry *dir);

/* probes.c */
int kmemtrace_probes_register(void);
void kmemtrace_probes_unregister(void);

/* caches.c */
u32 kmemtrace_new_cache(struct kmem_cache *s);
int kmemtrace_caches_show(struct seq_file *m, void *v);

/* stacks.c */
int kmemtrace_stacks_enable(bool on);
u32 kmemtrace_save_stack(unsigned long site);
int kmemtrace_stacks_show(struct seq_file *m, void *v);

/* debugfs.c */
struct dentry *kmemtrace_dir(void);

/* Room for a record, or NULL. Interrupts are off. */
static __always_inline void *kmemtrace_reserve(struct rchan *chan, struct rchan_buf **buf,
					       size_t size)
{
	*buf = *this_cpu_ptr(chan->buf);
	if (unlikely(!*buf || (*buf)->offset + size > chan->subbuf_size))
		return kmemtrace_no_room(*buf, size);
	return (*buf)->data + (*buf)->offset;
}

/* Pairs with the acquire in kmemtrace_readable(): first the bytes, then their number. */
static __always_inline void kmemtrace_commit(struct rchan_buf *buf, size_t size)
{
	smp_store_release(&buf->offset, buf->offset + size);
}

/* Time that never goes back on a CPU. Interrupts are off. */
static __always_inline u64 kmemtrace_now(struct kmemtrace_cpu *c)
{
	u64 now = ktime_get_mono_fast_ns();

	if (unlikely(now < c->last_time))
		now = c->last_time;
	c->last_time = now;
	return now;
}

/*
 * Record one event. The number is taken before the space is reserved, so that
 * an event that finds no space leaves a gap. @sizes NULL: a free.
 */
static __always_inline void
kmemtrace_record(u8 type, u8 kind, unsigned long site, const void *ptr,
		 const struct kmemtrace_sizes *sizes, u32 cache)
{
	size_t head = sizeof(struct kmemtrace_event) + (sizes ? sizeof(*sizes) : 0);
	size_t size = head + sizeof(struct kmemtrace_context);
	struct kmemtrace_context *x;
	struct kmemtrace_event *e;
	struct kmemtrace_cpu *c;
	struct rchan_buf *buf;
	struct rchan *chan;
	unsigned long flags;
	u32 stack = 0;
	s32 seq;

	if (unlikely(in_nmi())) {
		kmemtrace_lost(KMEMTRACE_NMI);
		return;
	}
	if (static_branch_unlikely(&kmemtrace_stacks_on)) {
		stack = kmemtrace_save_stack(site);
		size += sizeof(struct kmemtrace_stack);
	}
	local_irq_save(flags);
	/*
	 * The one switch for all events: a block whose allocation was seen has
	 * its free seen as well, until the switch is off on all CPUs.
	 */
	chan = READ_ONCE(kmemtrace_chan);
	if (unlikely(!chan))
		goto out;
	seq = atomic_inc_return(&kmemtrace_seq);
	e = kmemtrace_reserve(chan, &buf, size);
	if (unlikely(!e))
		goto out;
	c = this_cpu_ptr(&kmemtrace_cpu);
	c->recorded++;
	e->event_id = sizes ? KMEMTRACE_ALLOC : KMEMTRACE_FREE;
	e->type_id = type;
	e->event_size = size;
	e->seq_num = seq;
	e->call_site = site;
	e->ptr = (unsigned long)ptr;
	if (sizes)
		*(struct kmemtrace_sizes *)(e + 1) = *sizes;
	x = (void *)e + head;
	x->size = sizeof(*x);
	x->id = KMEMTRACE_EXT_CONTEXT;
	x->kind = kind;
	x->cache = cache;
	x->time = kmemtrace_now(c);
	x->pid = current->tgid;
	x->tid = current->pid;
	if (unlikely(size > head + sizeof(*x))) { /* the switch may have moved */
		struct kmemtrace_stack *s = (void *)(x + 1);

		s->size = sizeof(*s);
		s->id = KMEMTRACE_EXT_STACK;
		s->zero = 0;
		s->stack = stack;
	}
	kmemtrace_commit(buf, size);
out:
	local_irq_restore(flags);
}

#endif
