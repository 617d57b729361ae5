// SPDX-License-Identifier: GPL-2.0
/*
 * The life of an object's record: created, dead, given back.
 *
 * A record is reachable for accesses through its map entry. The code that
 * removes the entry (xchg) ends the object, which then waits on the dead list,
 * oldest first, until it is streamed, cleared or reclaimed. Its memory is given
 * back after a grace period only, because an access on another CPU may still
 * hold the pointer; accesses run with preemption off, which makes them readers.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "frames.h"
#include "memorizer.h"

DEFINE_MUTEX(memorizer_mutex);
DEFINE_PER_CPU(struct memorizer_cpu, memorizer_cpu) = { .irq_tag = 1ULL << 32 };
struct memorizer_totals memorizer_totals;

#define TAKE_SLICE	1024

static struct memorizer_object *dead_head, *dead_tail;
static u64 events;		/* allocations and frees so far; under the lock */

static struct memorizer_object *next_dead(struct memorizer_object *obj)
{
	struct memorizer_map *next = obj->map.next;

	return next ? container_of(next, struct memorizer_object, map) : NULL;
}

/* Does the current mode record what runs here? The caller deals with NMI. */
bool memorizer_selected(void)
{
	if (preempt_count() & MEMORIZER_IRQ_BITS) {
		if (raw_cpu_read(memorizer_cpu.irq_tag) & MEMORIZER_HIDDEN)
			return false;
		return memorizer_mode == 1 || memorizer_mode == 2;
	}
	if (current->memorizer.tag & MEMORIZER_HIDDEN)
		return false;
	return memorizer_mode == 1 || memorizer_task_marked(current);
}

/* The pid of a task, or its owner, if that is what its tag says. */
static s32 who(const struct task_struct *task)
{
	u64 tag = READ_ONCE(task->memorizer.tag) & ~MEMORIZER_HIDDEN;

	return tag & MEMORIZER_OWNER ? (s32)(tag >> 32) - 1 : task->pid;
}

/* The object is @task's, whatever runs here. */
void memorizer_set_task(struct memorizer_object *obj, const struct task_struct *task)
{
	obj->pid = who(task);
	memcpy(obj->comm, task->comm, TASK_COMM_LEN);
}

static void set_context(struct memorizer_object *obj)
{
	unsigned int pc = preempt_count();

	if (pc & (NMI_MASK | HARDIRQ_MASK)) {
		obj->pid = 0;
		memcpy(obj->comm, "hardirq", 8);
	} else if (pc & SOFTIRQ_OFFSET) {
		obj->pid = 0;
		memcpy(obj->comm, "softirq", 8);
	} else {
		memorizer_set_task(obj, current);
	}
}

/* The caller holds the lock, so that numbers and times are in one order. */
static void stamp(struct memorizer_stamp *s)
{
	s->serial = ++events;
	s->jiffies = jiffies;
}

static struct memorizer_object *new_record(enum memorizer_type type)
{
	struct memorizer_object *obj;
	unsigned long flags;

	flags = memorizer_lock();
	obj = memorizer_pool_alloc_object();
	if (obj) {
		memorizer_clear(obj, sizeof(*obj));
		stamp(&obj->alloc);
		memorizer_totals.created[type]++;
		memorizer_totals.live[type]++;
	}
	memorizer_unlock(flags);
	if (!obj)
		return NULL;
	memorizer_start_log(&obj->first, MEMORIZER_FIRST_LOG, memorizer_print_fields);
	obj->sites = &obj->first;
	obj->type = type;
	obj->map.kind = MAP_OBJECT;
	obj->map.nr = 1;
	obj->self = obj;
	return obj;
}

/* From here on, readers of the pool may use the object. */
static void publish(struct memorizer_object *obj)
{
	smp_store_release(&obj->state, OBJ_LIVE);
}

/* NULL if there is no memory for it, which is counted. */
struct memorizer_object *memorizer_create(enum memorizer_type type,
					  unsigned long va, size_t size,
					  size_t given, unsigned long ip)
{
	struct memorizer_object *obj;

	this_cpu_inc(memorizer_cpu.objects_seen);
	if (preempt_count() & NMI_MASK) {
		memorizer_miss(OBJECT_NMI);
		return NULL;
	}
	obj = new_record(type);
	if (!obj) {
		memorizer_miss(OBJECT_MEMORY);
		memorizer_kick_worker();
		return NULL;
	}
	obj->va = va;
	obj->size = size;
	obj->given = given;
	obj->alloc_ip = memorizer_pack_ip(ip);
	set_context(obj);
	publish(obj);
	if (memorizer_pool_low())
		memorizer_kick_worker();
	return obj;
}

/* An object whose allocation was not seen. */
struct memorizer_object *memorizer_create_boot(enum memorizer_type type,
					       struct memorizer_span *span)
{
	struct memorizer_object *obj, *old;

	this_cpu_inc(memorizer_cpu.objects_seen);
	obj = new_record(type);
	if (!obj) {
		memorizer_miss(OBJECT_MEMORY);
		return NULL;
	}
	obj->va = span->va;
	obj->size = span->size;
	obj->given = span->size;
	obj->alloc_ip = span->ip;
	obj->alloc.jiffies = 0; /* it was there before */
	memcpy(obj->comm, "boot", 5);
	old = cmpxchg(&span->obj, NULL, obj);
	if (old) {
		/* Another CPU or an interrupt was first. */
		publish(obj);
		memorizer_forget(obj);
		return old;
	}
	publish(obj);
	return obj;
}

/* A constructed object gets its first owner and keeps its counts. */
void memorizer_take_over(struct memorizer_object *obj, unsigned long ip)
{
	unsigned long flags = memorizer_lock();

	stamp(&obj->alloc);
	memorizer_unlock(flags);
	obj->alloc_ip = memorizer_pack_ip(ip);
	set_context(obj);
	obj->flags &= ~OBJ_CTOR;
}

/* At the end of a list of dead objects. */
static void append(struct memorizer_object **head, struct memorizer_object **tail,
		   struct memorizer_object *obj)
{
	obj->map.next = NULL;
	if (*tail)
		(*tail)->map.next = &obj->map;
	else
		*head = obj;
	*tail = obj;
}

/*
 * The end of an object. Under the lock, so that the dead list is in the order
 * of the times that it shows.
 */
static void bury(struct memorizer_object *obj, u32 free_ip, u8 flags)
{
	struct memorizer_frames *frames = NULL;
	unsigned long irqs;

	irqs = memorizer_lock();
	if (obj->state == OBJ_LIVE) {
		obj->free_ip = free_ip;
		stamp(&obj->free);
		obj->flags |= flags;
		obj->state = OBJ_DEAD;
		frames = memorizer_take_frames(obj);
		append(&dead_head, &dead_tail, obj);
		memorizer_totals.live[obj->type]--;
		memorizer_totals.dead++;
		memorizer_totals.freed++;
		if (flags & OBJ_OVERLAID)
			memorizer_totals.overlaid++;
	}
	memorizer_unlock(irqs);
	memorizer_end_frames(frames, memorizer_unpack_ip(free_ip));
	memorizer_stream_wake();
}

/* The caller has taken the object out of its map. */
void memorizer_kill(struct memorizer_object *obj, unsigned long ip)
{
	bury(obj, memorizer_pack_ip(ip), 0);
}

/* Its memory was allocated again: a free that we have not seen. */
void memorizer_overlay(struct memorizer_object *obj)
{
	bury(obj, 0, OBJ_OVERLAID);
}

/* It was memory of other objects, not an object itself: as if never created. */
void memorizer_forget(struct memorizer_object *obj)
{
	struct memorizer_frames *frames = NULL;
	unsigned long flags;
	bool mine = false;

	flags = memorizer_lock();
	if (obj->state == OBJ_LIVE) {
		obj->state = OBJ_BACKING;
		frames = memorizer_take_frames(obj);
		memorizer_totals.live[obj->type]--;
		memorizer_totals.backing++;
		mine = true;
	}
	memorizer_unlock(flags);
	if (!mine)
		return;
	memorizer_end_frames(frames, 0);
	memorizer_map_dispose(&obj->map);
}

bool memorizer_have_dead(void)
{
	return READ_ONCE(dead_head);
}

/*
 * Up to @max of the oldest dead objects, linked by map.next, oldest first. The
 * caller holds memorizer_mutex.
 */
struct memorizer_object *memorizer_take_dead(unsigned int max)
{
	struct memorizer_object *obj, *first, *last = NULL;
	unsigned long flags;
	unsigned int n = 0;

	flags = memorizer_lock();
	first = dead_head;
	for (obj = first; obj && n < max; obj = next_dead(obj)) {
		obj->state = OBJ_TAKEN;
		last = obj;
		n++;
	}
	if (last) {
		last->map.next = NULL;
		dead_head = obj;
		if (!obj)
			dead_tail = NULL;
	}
	memorizer_totals.dead -= n;
	memorizer_unlock(flags);
	return n ? first : NULL;
}

/* What a reader took and did not hand over becomes the oldest again. */
void memorizer_put_back(struct memorizer_object *first)
{
	struct memorizer_object *obj, *last;
	unsigned long flags;
	unsigned int n = 1;

	if (!first)
		return;
	/*
	 * There may be many, so the lock is not held. Code that looks at them
	 * holds the mutex.
	 */
	first->state = OBJ_DEAD;
	for (last = first; (obj = next_dead(last)); last = obj) {
		obj->state = OBJ_DEAD;
		n++;
		cond_resched();
	}
	flags = memorizer_lock();
	if (dead_head)
		last->map.next = &dead_head->map;
	else
		dead_tail = last;
	dead_head = first;
	memorizer_totals.dead += n;
	memorizer_unlock(flags);
	memorizer_stream_wake();
}

/*
 * Give a record back. A grace period has passed since it was last in a map,
 * and the caller holds memorizer_mutex.
 */
void memorizer_release(struct memorizer_object *obj)
{
	struct memorizer_sites *sites, *prev;
	u64 reads = 0, writes = 0;
	unsigned long flags;

	memorizer_count_sites(obj, &reads, &writes);
	flags = memorizer_lock();
	memorizer_totals.retired_reads += reads;
	memorizer_totals.retired_writes += writes;
	memorizer_totals.retired[obj->type] += reads + writes;
	for (sites = obj->sites; sites != &obj->first; sites = prev) {
		prev = sites->prev;
		memorizer_pool_free(sites);
	}
	obj->state = OBJ_UNUSED;
	memorizer_pool_free(obj);
	memorizer_unlock(flags);
}

/* Take what is dead now, in slices, so that interrupts are not off for long. */
static struct memorizer_object *take_all_dead(u64 left)
{
	struct memorizer_object *first = NULL, *last = NULL, *obj;

	while (left) {
		obj = memorizer_take_dead(min_t(u64, left, TAKE_SLICE));
		if (!obj)
			break;
		if (last)
			last->map.next = &obj->map;
		else
			first = obj;
		for (; obj; obj = next_dead(obj), left--)
			last = obj;
		cond_resched();
	}
	return first;
}

/*
 * Give back up to @max of the oldest dead objects; with @printed only those
 * that kmap has shown. Sleeps. Returns how many were given back, and adds them
 * to @total under the mutex: several writers may clear at the same time.
 */
unsigned long memorizer_drop_dead(u64 max, bool printed, u64 *total)
{
	struct memorizer_object *obj, *next, *kept = NULL, *last = NULL;
	unsigned long n = 0;

	mutex_lock(&memorizer_mutex);
	obj = take_all_dead(min(max, READ_ONCE(memorizer_totals.dead)));
	if (obj)
		memorizer_quiesce();
	for (; obj; obj = next) {
		next = next_dead(obj);
		cond_resched(); /* there may be millions */
		if (!printed || obj->flags & OBJ_PRINTED) {
			memorizer_release(obj);
			n++;
			continue;
		}
		append(&kept, &last, obj);
	}
	memorizer_put_back(kept);
	*total += n;
	mutex_unlock(&memorizer_mutex);
	return n;
}
