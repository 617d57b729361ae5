// SPDX-License-Identifier: GPL-2.0
/*
 * Memorizer's counts against counts that the tests keep by themselves.
 *
 * This file is instrumented. Accesses are made in functions of their own, so
 * that a site's function tells who made it.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/kallsyms.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <linux/rcupdate.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "format.h"

/*
 * Two primes: a count that was doubled, halved or swapped with the other is
 * none of them.
 */
#define WRITES	23
#define READS	29

/*
 * The suite runs on a kernel that may be recording; what it changes is
 * restored.
 */
static int saved_mode;
static bool saved_log, saved_fields;
static char test_global[777];
static DEFINE_PER_CPU(u64, test_percpu);

/* Spread over the whole object. */
static noinline void touch(volatile char *p, size_t size)
{
	int i;

	for (i = 0; i < WRITES; i++)
		p[(size - 1) * i / (WRITES - 1)] = i;
	for (i = 0; i < READS; i++)
		(void)p[(size - 1) * i / (READS - 1)];
}

/* memset() is one access, however many bytes it writes. */
static noinline void clear_at(char *p, size_t at, size_t n)
{
	memset(p + at, 0, n);
	barrier();
}

/* The sum over all sites that lie in one function. */
struct counts {
	unsigned long fn;
	pid_t pid;
	u64 writes, reads;
	memorizer_range_t range;
	unsigned int sites;
};

/*
 * A site is the return address of the hook, one behind the access; hence - 1.
 */
static bool add_counts(void *data, const struct memorizer_sum *sum)
{
	unsigned long ip = memorizer_unpack_ip((u32)sum->key) - 1, size, off;
	struct counts *c = data;

	if ((pid_t)(sum->key >> 32) != c->pid ||
	    !kallsyms_lookup_size_offset(ip, &size, &off) || ip - off != c->fn)
		return true;
	c->writes += sum->writes;
	c->reads += sum->reads;
	c->range = memorizer_range_add(c->range, sum->range);
	c->sites++;
	return true;
}

/* What @fn of process @pid did to the object, as Memorizer has it. */
static struct counts counts_of(struct memorizer_object *obj, void *fn, pid_t pid)
{
	struct counts c = { .fn = (unsigned long)fn, .pid = pid };

	if (obj)
		memorizer_each_site(obj, add_counts, &c);
	return c;
}


/* Hooks must name the caller of the allocator, not a helper inside of it. */
static bool ip_is_in(u32 packed, const void *fn)
{
	unsigned long ip = memorizer_unpack_ip(packed) - 1, size, off;

	return kallsyms_lookup_size_offset(ip, &size, &off) &&
	       ip - off == (unsigned long)fn;
}

/* Touch @p, which must be an object of that type and size, and compare. */
static struct memorizer_object *check(struct kunit *test, void *p, size_t size,
				      enum memorizer_type type)
{
	struct memorizer_object *obj;
	struct counts c;

	KUNIT_ASSERT_NOT_NULL(test, p);
	touch(p, size);
	obj = memorizer_find((unsigned long)p);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, obj->type, type);
	KUNIT_EXPECT_EQ(test, obj->va, (unsigned long)p);
	KUNIT_EXPECT_EQ(test, obj->size, size);
	KUNIT_EXPECT_EQ(test, obj->state, OBJ_LIVE);
	c = counts_of(obj, touch, current->pid);
	KUNIT_EXPECT_EQ_MSG(test, c.writes, WRITES, "type %d size %zu", type, size);
	KUNIT_EXPECT_EQ_MSG(test, c.reads, READS, "type %d size %zu", type, size);
	KUNIT_EXPECT_EQ(test, c.sites, 2);
	KUNIT_EXPECT_EQ(test, memorizer_range_first(c.range), 0);
	KUNIT_EXPECT_EQ_MSG(test, memorizer_range_last(c.range),
			    min_t(size_t, size - 1, MEMORIZER_FAR),
			    "type %d size %zu", type, size);
	return obj;
}

/* @p was freed: its record is dead and has kept what check() saw. */
static void check_freed(struct kunit *test, void *p, struct memorizer_object *obj)
{
	struct counts c = counts_of(obj, touch, current->pid);

	KUNIT_EXPECT_EQ(test, obj->state, OBJ_DEAD);
	KUNIT_EXPECT_NE(test, (u64)obj->free.jiffies, 0ULL);
	KUNIT_EXPECT_GT(test, (u64)obj->free.serial, (u64)obj->alloc.serial);
	KUNIT_EXPECT_EQ(test, obj->flags & OBJ_OVERLAID, 0);
	KUNIT_EXPECT_EQ(test, c.writes, WRITES);
	KUNIT_EXPECT_EQ(test, c.reads, READS);
	KUNIT_EXPECT_PTR_NE(test, memorizer_find((unsigned long)p), obj);
}

/*
 * Sizes around every boundary: classes, pages, and the largest that kmalloc
 * gives from its caches and beyond them.
 */
static void test_kmalloc(struct kunit *test)
{
	static const size_t sizes[] = {
		1, 7, 8, 9, 33, 64, 100, 192, 193, 1000, 2048, 4095, 4096, 8192,
		8193, 65536, 1000000, 1 << 20, (4 << 20) - 5, 4 << 20,
	};
	struct memorizer_object *obj;
	int i;
	void *p;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		p = kmalloc(sizes[i], GFP_KERNEL);
		obj = check(test, p, sizes[i], MEMORIZER_KMALLOC);
		KUNIT_EXPECT_TRUE(test, ip_is_in(obj->alloc_ip, test_kmalloc));
		KUNIT_EXPECT_EQ(test, obj->pid, current->pid);
		KUNIT_EXPECT_EQ(test, strcmp(obj->comm, current->comm), 0);
		KUNIT_EXPECT_GE(test, obj->given, sizes[i]);
		kfree(p);
		check_freed(test, p, obj);
		KUNIT_EXPECT_TRUE(test, ip_is_in(obj->free_ip, test_kmalloc));
	}
}

/*
 * A new object at an old address gets a record of its own; the accesses of the
 * two are never mixed.
 */
static void test_reuse(struct kunit *test)
{
	struct memorizer_object *first, *second;
	void *p, *q;
	int i;

	p = kmalloc(96, GFP_KERNEL);
	first = check(test, p, 96, MEMORIZER_KMALLOC);
	kfree(p);
	/* The same address comes back soon. */
	for (i = 0; i < 1000; i++) {
		q = kmalloc(90, GFP_KERNEL);
		if (q == p)
			break;
		kfree(q);
	}
	if (q != p)
		kunit_skip(test, "the address did not come back");
	second = check(test, q, 90, MEMORIZER_KMALLOC);
	KUNIT_EXPECT_PTR_NE(test, first, second);
	check_freed(test, p, first);
	kfree(q);
	check_freed(test, q, second);
}

/* krealloc() within the size class keeps the object and changes its size. */
static void test_resize(struct kunit *test)
{
	void *p = kmalloc(40, GFP_KERNEL);

	check(test, p, 40, MEMORIZER_KMALLOC);
	p = krealloc(p, 60, GFP_KERNEL);
	KUNIT_EXPECT_EQ(test, memorizer_find((unsigned long)p)->size, 60);
	kfree(p);
}

/*
 * A constructor runs when the slab is made, long before the allocation that its
 * write belongs to.
 */
#define CTOR_MAGIC 0x5a

static noinline void test_ctor(void *p)
{
	*(volatile char *)p = CTOR_MAGIC;
}

static void test_cache(struct kunit *test)
{
	struct kmem_cache *s = kmem_cache_create("memorizer-test", 120, 0,
						 SLAB_NO_MERGE, test_ctor);
	struct memorizer_object *obj;
	struct counts c;
	void *p;

	KUNIT_ASSERT_NOT_NULL(test, s);
	p = kmem_cache_alloc(s, GFP_KERNEL);
	obj = check(test, p, 120, MEMORIZER_KMEM_CACHE);
	KUNIT_EXPECT_STREQ(test, memorizer_cache_name(obj->cache), "memorizer-test");
	KUNIT_EXPECT_TRUE(test, ip_is_in(obj->alloc_ip, test_cache));
	c = counts_of(obj, test_ctor, current->pid);
	KUNIT_EXPECT_EQ(test, c.writes, 1);
	kmem_cache_free(s, p);
	check_freed(test, p, obj);
	kmem_cache_destroy(s);
}

/* kmem_cache_free_bulk() takes an array and must report every object of it. */
static void test_bulk(struct kunit *test)
{
	struct kmem_cache *s = kmem_cache_create("memorizer-bulk", 200, 0,
						 SLAB_NO_MERGE, NULL);
	struct memorizer_object *objs[32];
	void *p[32], *q[32];
	int i;

	KUNIT_ASSERT_NOT_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kmem_cache_alloc_bulk(s, GFP_KERNEL, 32, p), 32);
	for (i = 0; i < 32; i++) {
		objs[i] = check(test, p[i], 200, MEMORIZER_KMEM_CACHE);
		q[i] = p[i];
	}
	/* The array is reordered. */
	kmem_cache_free_bulk(s, 32, q);
	for (i = 0; i < 32; i++)
		check_freed(test, p[i], objs[i]);
	kmem_cache_destroy(s);
}

/*
 * kfree_rcu() frees later and from another context; the object must end exactly
 * then.
 */
struct rcu_obj {
	struct rcu_head rcu;
	char data[100];
};

static void test_rcu(struct kunit *test)
{
	struct rcu_obj *p = kmalloc(sizeof(*p), GFP_KERNEL);
	struct memorizer_object *obj;

	obj = check(test, p, sizeof(*p), MEMORIZER_KMALLOC);
	kfree_rcu(p, rcu);
	/* not every series has a barrier for it */
	while (READ_ONCE(obj->state) != OBJ_DEAD)
		msleep(1);
	check_freed(test, p, obj);
}

/* Each way to get pages is a type of its own, and the order is the size. */
static void test_pages(struct kunit *test)
{
	struct memorizer_object *obj;
	struct page *page;
	int order;
	void *p;

	for (order = 0; order <= 4; order++) {
		page = alloc_pages(GFP_KERNEL, order);
		KUNIT_ASSERT_NOT_NULL(test, page);
		obj = check(test, page_address(page), PAGE_SIZE << order, MEMORIZER_PAGES);
		KUNIT_EXPECT_TRUE(test, ip_is_in(obj->alloc_ip, test_pages));
		__free_pages(page, order);
		check_freed(test, page_address(page), obj);
		KUNIT_EXPECT_TRUE(test, ip_is_in(obj->free_ip, test_pages));
	}
	p = (void *)__get_free_page(GFP_KERNEL);
	obj = check(test, p, PAGE_SIZE, MEMORIZER_GETFREEPAGES);
	KUNIT_EXPECT_TRUE(test, ip_is_in(obj->alloc_ip, test_pages));
	free_page((unsigned long)p);
	check_freed(test, p, obj);
	p = alloc_pages_exact(5 * PAGE_SIZE - 100, GFP_KERNEL);
	obj = check(test, p, 5 * PAGE_SIZE - 100, MEMORIZER_PAGES_EXACT);
	free_pages_exact(p, 5 * PAGE_SIZE - 100);
	check_freed(test, p, obj);
}

/* A part of an object goes, and its address is another object soon. */
static void test_part_freed(struct kunit *test)
{
	struct page *page = alloc_pages(GFP_KERNEL, 1), *again;
	struct memorizer_object *obj;
	struct counts c;

	KUNIT_ASSERT_NOT_NULL(test, page);
	obj = check(test, page_address(page), 2 * PAGE_SIZE, MEMORIZER_PAGES);
	split_page(page, 1);
	touch(page_address(page + 1), PAGE_SIZE);
	preempt_disable();
	__free_page(page + 1);
	again = alloc_page(GFP_ATOMIC);
	preempt_enable();
	if (again == page + 1)
		check(test, page_address(again), PAGE_SIZE, MEMORIZER_PAGES);
	/* What is left of it goes on counting. */
	touch(page_address(page), PAGE_SIZE);
	touch(page_address(page), PAGE_SIZE);
	c = counts_of(obj, touch, current->pid);
	KUNIT_EXPECT_EQ(test, c.writes, 4 * WRITES);
	KUNIT_EXPECT_EQ(test, c.reads, 4 * READS);
	KUNIT_EXPECT_EQ(test, c.sites, 2);
	if (again)
		__free_page(again);
	__free_page(page);
	if (again != page + 1)
		kunit_skip(test, "the page did not come back");
}

/* Records are given back and used again while everything else stays the same. */
static void test_record_reuse(struct kunit *test)
{
	void *p;
	int i;

	for (i = 0; i < 20; i++) {
		p = kmalloc(96, GFP_KERNEL);
		check(test, p, 96, MEMORIZER_KMALLOC);
		kfree(p);
		memorizer_drop_dead(U64_MAX, false, &memorizer_totals.cleared);
	}
}

/* The next preemption point has something to do, as after an interrupt. */
static void want_resched(void)
{
	set_tsk_need_resched(current);
	set_preempt_need_resched();
}

/* The end of a hook is a preemption point. */
static void test_hook_reschedules(struct kunit *test)
{
	void *p = kmalloc(96, GFP_KERNEL);

	if (!IS_ENABLED(CONFIG_PREEMPTION)) {
		kfree(p);
		kunit_skip(test, "the kernel does not preempt itself");
	}
	KUNIT_ASSERT_NOT_NULL(test, p);
	want_resched();
	__memorizer_resize(p, 96);
	KUNIT_EXPECT_FALSE(test, need_resched());
	kfree(p);
}

/* That of an access is none, but it takes nothing away from the next one. */
static void test_access_keeps_resched(struct kunit *test)
{
	char *p = kmalloc(96, GFP_KERNEL);
	struct memorizer_object *obj = check(test, p, 96, MEMORIZER_KMALLOC);
	struct counts c = counts_of(obj, touch, current->pid);
	bool kept;

	local_irq_disable();	/* nobody else obeys it meanwhile */
	want_resched();
	touch(p, 96);
	kept = need_resched();
	local_irq_enable();
	KUNIT_EXPECT_TRUE(test, kept);
	KUNIT_EXPECT_EQ(test, counts_of(obj, touch, current->pid).writes, c.writes + WRITES);
	preempt_disable();
	preempt_enable();
	if (IS_ENABLED(CONFIG_PREEMPTION))
		KUNIT_EXPECT_FALSE(test, need_resched());
	kfree(p);
}

/* What a task did a moment ago does not count any more once marks are asked for. */
static void test_without_mark(struct kunit *test)
{
	char *p = kmalloc(96, GFP_KERNEL);
	struct memorizer_object *obj = check(test, p, 96, MEMORIZER_KMALLOC);
	struct counts c;

	/* Only marked tasks count from here on, and we are none of them. */
	memorizer_set_mode(3, &init_task, 0);
	touch(p, 96);
	clear_at(p, 0, 96);
	clear_at(p, 0, 1);
	/* From here on we are one. */
	memorizer_task_mark(current, true);
	touch(p, 96);
	clear_at(p, 0, 96);
	clear_at(p, 0, 1);
	memorizer_task_mark(current, false);
	touch(p, 96);
	clear_at(p, 0, 96);
	clear_at(p, 0, 1);
	memorizer_set_mode(0, NULL, 0);
	/* Off is not the end of a mark; to forget is. */
	KUNIT_EXPECT_TRUE(test, memorizer_task_is_marked(&init_task));
	memorizer_forget_marks();
	KUNIT_EXPECT_FALSE(test, memorizer_task_is_marked(&init_task));
	touch(p, 96);
	clear_at(p, 0, 96);
	clear_at(p, 0, 1);
	/* Without marks everybody counts again. */
	memorizer_set_mode(1, NULL, 0);
	touch(p, 96);
	clear_at(p, 0, 96);
	clear_at(p, 0, 1);
	c = counts_of(obj, touch, current->pid);
	KUNIT_EXPECT_EQ(test, c.writes, 3 * WRITES);
	KUNIT_EXPECT_EQ(test, c.reads, 3 * READS);
	c = counts_of(obj, clear_at, current->pid);
	KUNIT_EXPECT_EQ(test, c.writes, 2 * 2);
	kfree(p);
}

/*
 * Addresses that are mapped page by page: the size is what was asked for,
 * without the guard page.
 */
static void test_vmalloc(struct kunit *test)
{
	static const size_t sizes[] = { 1, 4096, 10000, 1 << 20 };
	struct memorizer_object *obj;
	void *p;
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		p = vmalloc(sizes[i]);
		obj = check(test, p, sizes[i], MEMORIZER_VMALLOC);
		KUNIT_EXPECT_TRUE(test, ip_is_in(obj->alloc_ip, test_vmalloc));
		vfree(p);
		KUNIT_EXPECT_EQ(test, obj->state, OBJ_DEAD);
		KUNIT_EXPECT_TRUE(test, ip_is_in(obj->free_ip, test_vmalloc));
		KUNIT_EXPECT_EQ(test, counts_of(obj, touch, current->pid).writes, WRITES);
	}
}

/* One allocation makes an object for each CPU. */
static void test_percpu_areas(struct kunit *test)
{
	char __percpu *area = __alloc_percpu(52, 4);
	struct memorizer_object *obj;
	int cpu;

	KUNIT_ASSERT_NOT_NULL(test, area);
	for_each_possible_cpu(cpu) {
		obj = check(test, per_cpu_ptr(area, cpu), 52, MEMORIZER_PERCPU);
		KUNIT_EXPECT_TRUE(test, ip_is_in(obj->alloc_ip, test_percpu_areas));
	}
	obj = memorizer_find((unsigned long)per_cpu_ptr(area, 0));
	free_percpu(area);
	check_freed(test, per_cpu_ptr(area, 0), obj);
}

/*
 * Variables, per-CPU variables and the stack are objects that no allocator
 * reports.
 */
static void test_globals(struct kunit *test)
{
	struct memorizer_object *obj;
	char local[40];
	int cpu;

	touch(test_global, sizeof(test_global));
	obj = memorizer_find((unsigned long)test_global);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, obj->type, MEMORIZER_GLOBAL);
	KUNIT_EXPECT_EQ(test, obj->va, (unsigned long)test_global);
	KUNIT_EXPECT_GE(test, obj->size, sizeof(test_global));
	KUNIT_EXPECT_EQ(test, counts_of(obj, touch, current->pid).writes, WRITES);
	KUNIT_EXPECT_EQ(test, counts_of(obj, touch, current->pid).reads, READS);

	for_each_possible_cpu(cpu) {
		touch((char *)per_cpu_ptr(&test_percpu, cpu), 8);
		obj = memorizer_find((unsigned long)per_cpu_ptr(&test_percpu, cpu));
		KUNIT_ASSERT_NOT_NULL(test, obj);
		KUNIT_EXPECT_EQ(test, obj->type, MEMORIZER_GLOBAL_PERCPU);
		KUNIT_EXPECT_EQ(test, counts_of(obj, touch, current->pid).writes, WRITES);
	}

	touch(local, sizeof(local));
	obj = memorizer_find((unsigned long)local);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, obj->type, MEMORIZER_STACK);
	KUNIT_EXPECT_GE(test, counts_of(obj, touch, current->pid).writes, WRITES);
}

/* Copied by the compiler without a call to memcpy(). */
struct block {
	u64 w[5];
};

/*
 * Six writes of a and five reads of b. Whether the compiler makes a call or
 * instructions of a copy must not matter.
 */
static noinline void copies(char *a, char *b, size_t n)
{
	memcpy(a, b, n);
	memmove(a, b, n);
	memset(a, 1, n);
	memcpy(a, b, 8);
	memcpy(a, b, 40);
	*(struct block *)a = *(struct block *)b;
}

/* A read-modify-write counts as a write; a test of one bit is a read. */
static noinline void atomics(atomic_t *v, unsigned long *bits, unsigned long nr)
{
	atomic_set(v, 1);
	atomic_inc(v);
	(void)atomic_read(v);
	(void)atomic_cmpxchg(v, 2, 3);
	set_bit(3, bits);
	(void)test_bit(3, bits);
	(void)test_bit(nr, bits);
	(void)xchg(bits, 1);
	(void)cmpxchg(bits, 1, 2);
}

static void test_what_one_count_is(struct kunit *test)
{
	char *a = kmalloc(128, GFP_KERNEL), *b = kmalloc(128, GFP_KERNEL);
	unsigned long *bits = kmalloc(8, GFP_KERNEL);
	struct counts c;

	KUNIT_ASSERT_NOT_NULL(test, a);
	KUNIT_ASSERT_NOT_NULL(test, b);
	KUNIT_ASSERT_NOT_NULL(test, bits);
	copies(a, b, 100);
	c = counts_of(memorizer_find((unsigned long)a), copies, current->pid);
	KUNIT_EXPECT_EQ(test, c.writes, 6);
	KUNIT_EXPECT_EQ(test, c.reads, 0);
	c = counts_of(memorizer_find((unsigned long)b), copies, current->pid);
	KUNIT_EXPECT_EQ(test, c.writes, 0);
	KUNIT_EXPECT_EQ(test, c.reads, 5);
	atomics((atomic_t *)b, bits, 3);
	c = counts_of(memorizer_find((unsigned long)b), atomics, current->pid);
	KUNIT_EXPECT_EQ(test, c.writes, 3);
	KUNIT_EXPECT_EQ(test, c.reads, 3);
	c = counts_of(memorizer_find((unsigned long)bits), atomics, current->pid);
	KUNIT_EXPECT_EQ(test, c.writes, 3);
	KUNIT_EXPECT_EQ(test, c.reads, 5);
	kfree(a);
	kfree(b);
	kfree(bits);
}

/*
 * Far more than an object of a real kernel has, to make its tables grow many
 * times.
 */
#define MANY_SITES	200000
#define MANY_ROUNDS	3

/* A key has the process above and the site below; both vary. */
static u64 many_key(int i)
{
	return (u64)(i % 1000 + 1) << 32 | i * 16;
}

struct many {
	unsigned long sites, wrong;
};

/*
 * Each key must come exactly once: a site that is in two tables would be
 * counted twice by a reader that forgets one.
 */
static bool look_at_one(void *data, const struct memorizer_sum *sum)
{
	struct many *many = data;

	many->sites++;
	if (sum->key != many_key((u32)sum->key / 16) || sum->writes != MANY_ROUNDS || sum->reads)
		many->wrong++;
	return true;
}

/*
 * Very many sites of one object, each counted a known number of times and each
 * shown once. They must lie in few tables: a reader looks into all of them.
 */
static void test_many_sites(struct kunit *test)
{
	char *p = kmalloc(64, GFP_KERNEL);
	struct memorizer_object *obj = memorizer_find((unsigned long)p);
	struct memorizer_sites *sites;
	u64 reads = 0, writes = 0;
	int round, i, bad = 0, tables = 0;
	struct many many = { };

	KUNIT_ASSERT_NOT_NULL(test, obj);
	memorizer_count_sites(obj, &reads, &writes);
	KUNIT_ASSERT_EQ(test, reads + writes, 0);
	for (round = 0; round < MANY_ROUNDS; round++) {
		for (i = 1; i <= MANY_SITES; i++) {
			preempt_disable();
			/* What is counted must have been seen. */
			if (memorizer_count(obj, many_key(i) | MEMORIZER_WRITE))
				this_cpu_inc(memorizer_cpu.seen);
			else
				bad++;
			preempt_enable();
		}
	}
	KUNIT_EXPECT_EQ(test, bad, 0);
	memorizer_count_sites(obj, &reads, &writes);
	KUNIT_EXPECT_EQ(test, writes, MANY_ROUNDS * MANY_SITES);
	memorizer_each_site(obj, look_at_one, &many);
	KUNIT_EXPECT_EQ(test, many.sites, MANY_SITES);
	KUNIT_EXPECT_EQ(test, many.wrong, 0);
	for (sites = obj->sites; sites; sites = sites->prev)
		tables++;
	kunit_info(test, "%d sites in %d tables\n", MANY_SITES, tables);
	KUNIT_EXPECT_LT(test, tables, 50);
	kfree(p);
	/* Nothing changes when it is dead. */
	many = (struct many){ };
	memorizer_each_site(obj, look_at_one, &many);
	KUNIT_EXPECT_EQ(test, many.sites, MANY_SITES);
	KUNIT_EXPECT_EQ(test, many.wrong, 0);
}

/* One site whose offset the test chooses. */
static noinline void write_at(volatile char *p, size_t at)
{
	p[at] = 1;
}

static noinline void copy_from(char *to, const char *from, size_t at, size_t n)
{
	memcpy(to, from + at, n);
	barrier();
}

/*
 * One function, one site: then the range of the site is the range of the
 * function.
 */
static void expect_range(struct kunit *test, struct memorizer_object *obj, void *fn,
			 u32 first, u32 last)
{
	struct counts c = counts_of(obj, fn, current->pid);

	KUNIT_EXPECT_EQ(test, c.sites, 1);
	KUNIT_EXPECT_EQ(test, memorizer_range_first(c.range), first);
	KUNIT_EXPECT_EQ(test, memorizer_range_last(c.range), last);
}

/* Where accesses fall: what is recent, what grows, and what is far. */
static void test_ranges(struct kunit *test)
{
	char *p = kmalloc(100, GFP_KERNEL), *far = vmalloc(100000), to[64];
	struct memorizer_object *obj = memorizer_find((unsigned long)p);
	struct memorizer_object *large = memorizer_find((unsigned long)far);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, obj);
	KUNIT_ASSERT_NOT_NULL(test, large);
	write_at(p, 40);
	expect_range(test, obj, write_at, 40, 40);
	for (i = 0; i < 5; i++)
		write_at(p, 8);
	write_at(p, 40);
	expect_range(test, obj, write_at, 8, 40);
	clear_at(p, 16, 4);
	expect_range(test, obj, clear_at, 16, 19);
	clear_at(p, 16, 32);
	expect_range(test, obj, clear_at, 16, 47);
	copy_from(to, p, 50, 50);
	expect_range(test, obj, copy_from, 50, 99);
	write_at(far, 65534);
	expect_range(test, large, write_at, 65534, 65534);
	write_at(far, 99999);
	expect_range(test, large, write_at, 65534, MEMORIZER_FAR);
	vfree(far);
	kfree(p);
	expect_range(test, obj, write_at, 8, 40);
}

struct members {
	u64 a, b, c, d;
};

/* Of each member two reads or two writes, in pairs where the plugin reports them. */
static noinline void touch_members(struct members *m)
{
	u64 sum = READ_ONCE(m->a) + READ_ONCE(m->b);

	WRITE_ONCE(m->c, sum);
	WRITE_ONCE(m->d, READ_ONCE(m->a) + READ_ONCE(m->b));
	WRITE_ONCE(m->c, 1);
	WRITE_ONCE(m->d, 2);
}

/* What an array's elements have in common with a structure: one site, several offsets. */
static void test_members(struct kunit *test)
{
	struct members *m = kcalloc(3, sizeof(*m), GFP_KERNEL);
	struct memorizer_object *obj = memorizer_find((unsigned long)m);
	struct counts c;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, obj);
	for (i = 0; i < 5; i++)
		touch_members(m);
	c = counts_of(obj, touch_members, current->pid);
	KUNIT_EXPECT_EQ(test, c.reads, 5 * 4);
	KUNIT_EXPECT_EQ(test, c.writes, 5 * 4);
	KUNIT_EXPECT_EQ(test, c.sites, 8);
	KUNIT_EXPECT_EQ(test, memorizer_range_first(c.range), 0);
	KUNIT_EXPECT_EQ(test, memorizer_range_last(c.range), 24);
	for (i = 0; i < 6; i++)
		touch_members(&m[i % 3]);
	c = counts_of(obj, touch_members, current->pid);
	KUNIT_EXPECT_EQ(test, c.reads, 11 * 4);
	KUNIT_EXPECT_EQ(test, c.writes, 11 * 4);
	KUNIT_EXPECT_EQ(test, memorizer_range_last(c.range), 2 * 32 + 24);
	kfree(m);
	c = counts_of(obj, touch_members, current->pid);
	KUNIT_EXPECT_EQ(test, c.reads + c.writes, 22 * 4);
}

static void in_interrupt_fn(struct irq_work *work);
static DEFINE_IRQ_WORK(test_irq_work, in_interrupt_fn);
/* The handler has no argument that could carry it. */
static char *irq_target;

/* Accesses of an interrupt belong to process 0, whatever it interrupted. */
static void in_interrupt_fn(struct irq_work *work)
{
	touch(irq_target, 64);
}

/* An interrupt in the middle of Memorizer's own work counts, its work does not. */
static void test_interrupt_while_hidden(struct kunit *test)
{
	struct memorizer_object *obj;
	struct counts c;
	u64 old;

	irq_target = kmalloc(64, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, irq_target);
	old = memorizer_hide();
	touch(irq_target, 64);
	irq_work_queue(&test_irq_work);
	irq_work_sync(&test_irq_work);
	memorizer_show(old);
	obj = memorizer_find((unsigned long)irq_target);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	c = counts_of(obj, touch, 0);
	KUNIT_EXPECT_EQ(test, c.writes, WRITES);
	KUNIT_EXPECT_EQ(test, c.reads, READS);
	c = counts_of(obj, touch, current->pid);
	KUNIT_EXPECT_EQ(test, c.writes + c.reads, 0);
	kfree(irq_target);
}

#define POOL_OBJECTS	512
#define STEPS		5000000		/* for each of two CPUs */

static void *pool_objects[POOL_OBJECTS];

/*
 * A thread bound to a CPU, and a timer that interrupts it there. Each keeps its
 * own counts of what it did, without Memorizer's help.
 */
struct walker {
	int cpu;
	struct task_struct *task;
	struct hrtimer timer;
	struct rnd_state rnd, irq_rnd;
	u32 (*mine)[2];			/* reads, writes of each object */
	u32 (*irq)[2];
	u32 churned, churn_bad;
	struct completion done;
};

static struct walker walkers[2];

/*
 * Four functions, so that sites tell reads from writes and the thread from the
 * interrupt.
 */
static noinline void random_read(volatile char *p)
{
	(void)*p;
}

static noinline void random_write(volatile char *p)
{
	*p = 1;
}

static noinline void irq_read(volatile char *p)
{
	(void)*p;
}

static noinline void irq_write(volatile char *p)
{
	*p = 1;
}

/*
 * In hard interrupt context, at any instruction of the thread, inside of
 * Memorizer's own code too.
 */
static enum hrtimer_restart random_irq(struct hrtimer *timer)
{
	struct walker *w = container_of(timer, struct walker, timer);
	u32 r = prandom_u32_state(&w->irq_rnd), i = r % POOL_OBJECTS;

	if (r >> 31) {
		irq_write(pool_objects[i]);
		w->irq[i][1]++;
	} else {
		irq_read(pool_objects[i]);
		w->irq[i][0]++;
	}
	hrtimer_forward_now(timer, ns_to_ktime(100000));
	return HRTIMER_RESTART;
}

/* Allocate, touch, look, free: among everything else. */
static void churn(struct walker *w, u32 r)
{
	void *p = kmalloc(r % 2000 + 1, GFP_KERNEL);
	struct counts c;

	if (!p)
		return;
	touch(p, r % 2000 + 1);
	c = counts_of(memorizer_find((unsigned long)p), touch, current->pid);
	w->churned++;
	w->churn_bad += c.writes != WRITES || c.reads != READS;
	kfree(p);
}

/*
 * The two threads share all objects, so that their sites meet in the same
 * tables.
 */
static int random_walk(void *data)
{
	struct walker *w = data;
	u32 i, n, r;

	hrtimer_init(&w->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	w->timer.function = random_irq;
	hrtimer_start(&w->timer, ns_to_ktime(100000), HRTIMER_MODE_REL_PINNED_HARD);
	for (n = 0; n < STEPS; n++) {
		r = prandom_u32_state(&w->rnd);
		i = r % POOL_OBJECTS;
		if (r >> 31) {
			random_write(pool_objects[i]);
			w->mine[i][1]++;
		} else {
			random_read(pool_objects[i]);
			w->mine[i][0]++;
		}
		if (n % 8192 == 0) {
			churn(w, r >> 8);
			cond_resched();
		}
	}
	hrtimer_cancel(&w->timer);
	complete(&w->done);
	/* Keep the pid until the counts have been compared. */
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

/* How many of the six counts of an object differ. */
static u32 compare(struct kunit *test, int i)
{
	struct memorizer_object *obj = memorizer_find((unsigned long)pool_objects[i]);
	u64 irq_reads = 0, irq_writes = 0;
	u32 bad = 0;
	int k;

	for (k = 0; k < 2; k++) {
		pid_t pid = walkers[k].task->pid;

		bad += counts_of(obj, random_read, pid).reads != walkers[k].mine[i][0];
		bad += counts_of(obj, random_write, pid).writes != walkers[k].mine[i][1];
		irq_reads += walkers[k].irq[i][0];
		irq_writes += walkers[k].irq[i][1];
	}
	bad += counts_of(obj, irq_read, 0).reads != irq_reads;
	bad += counts_of(obj, irq_write, 0).writes != irq_writes;
	return bad;
}

/*
 * Not one access may be lost or counted twice, with two CPUs and interrupts at
 * work on the same objects.
 */
static void test_ten_million(struct kunit *test)
{
	u64 total = 0, irqs = 0;
	u32 bad = 0;
	int i, k;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	for (i = 0; i < POOL_OBJECTS; i++) {
		pool_objects[i] = kmalloc(1 << (i % 13), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, pool_objects[i]);
	}
	for (k = 0; k < 2; k++) {
		struct walker *w = &walkers[k];

		w->mine = vzalloc(POOL_OBJECTS * sizeof(*w->mine));
		w->irq = vzalloc(POOL_OBJECTS * sizeof(*w->irq));
		KUNIT_ASSERT_NOT_NULL(test, w->mine);
		KUNIT_ASSERT_NOT_NULL(test, w->irq);
		prandom_seed_state(&w->rnd, 23 + k);
		prandom_seed_state(&w->irq_rnd, 29 + k);
		init_completion(&w->done);
		w->task = kthread_create(random_walk, w, "memorizer/%d", k);
		KUNIT_ASSERT_FALSE(test, IS_ERR(w->task));
		kthread_bind(w->task, k);
	}
	for (k = 0; k < 2; k++)
		wake_up_process(walkers[k].task);
	for (k = 0; k < 2; k++)
		wait_for_completion(&walkers[k].done);
	for (i = 0; i < POOL_OBJECTS; i++) {
		bad += compare(test, i);
		for (k = 0; k < 2; k++) {
			total += walkers[k].mine[i][0] + walkers[k].mine[i][1];
			irqs += walkers[k].irq[i][0] + walkers[k].irq[i][1];
		}
	}
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_EQ(test, total, 2 * STEPS);
	KUNIT_EXPECT_GT(test, irqs, 100);
	for (k = 0; k < 2; k++) {
		KUNIT_EXPECT_GT(test, walkers[k].churned, 100);
		KUNIT_EXPECT_EQ(test, walkers[k].churn_bad, 0);
		kthread_stop(walkers[k].task);
		vfree(walkers[k].mine);
		vfree(walkers[k].irq);
	}
	kunit_info(test, "%llu accesses, %llu in interrupts", total, irqs);
	for (i = 0; i < POOL_OBJECTS; i++)
		kfree(pool_objects[i]);
}

/* All memory gone: objects are missed and counted, then tracked again. */
static void test_budget(struct kunit *test)
{
	void *piece, *list = NULL, *p;
	bool policy = memorizer_reclaim_policy;
	u64 before, after;
	unsigned long flags;
	int i;

	/* Dead records would make room, and nothing would be missed. */
	memorizer_reclaim_policy = false;
	while ((piece = memorizer_pool_alloc(98320))) {
		*(void **)piece = list;
		list = piece;
	}
	migrate_disable();
	before = this_cpu_read(memorizer_cpu.miss[OBJECT_MEMORY]);
	for (i = 0; i < 5000; i++) {
		p = kmalloc(32, GFP_KERNEL);
		if (p)
			touch(p, 32);
		kfree(p);
	}
	after = this_cpu_read(memorizer_cpu.miss[OBJECT_MEMORY]);
	migrate_enable();
	KUNIT_EXPECT_GT(test, after, before);
	/* The pool has no lock of its own. */
	flags = memorizer_lock();
	while (list) {
		piece = list;
		list = *(void **)piece;
		memorizer_pool_free(piece);
	}
	memorizer_unlock(flags);
	memorizer_reclaim_policy = policy;
	p = kmalloc(32, GFP_KERNEL);
	check(test, p, 32, MEMORIZER_KMALLOC);
	kfree(p);
}

/* A line stays a line whatever the process is called. */
static void test_format(struct kunit *test)
{
	struct memorizer_object *obj = kunit_kzalloc(test, sizeof(*obj), GFP_KERNEL);
	char *text = kunit_kzalloc(test, 1024, GFP_KERNEL), *end;
	struct memorizer_sites *table = kunit_kzalloc(test, 1024, GFP_KERNEL);
	u64 key;

	KUNIT_ASSERT_NOT_NULL(test, obj);
	KUNIT_ASSERT_NOT_NULL(test, text);
	KUNIT_ASSERT_NOT_NULL(test, table);
	table->mask = sizeof(struct memorizer_site);
	table->nr = MEMORIZER_REACH + 1;
	table->prev = &obj->first;
	obj->sites = table;
	obj->first.nr = MEMORIZER_FIRST_LOG;
	obj->first.room = MEMORIZER_FIRST_LOG - 1;
	obj->va = 0xffff888000001000;
	obj->size = 100;
	obj->alloc_ip = 0x81000010;
	obj->pid = 7;
	obj->alloc.jiffies = 5;
	obj->alloc.serial = 9;
	memcpy(obj->comm, "a,b\n\\c\xff", 8);
	key = 7ULL << 32 | 0x81000020;
	obj->first_entry[MEMORIZER_FIRST_LOG - 1] = key;
	table->site[0] = (struct memorizer_site){ key, READS - 2 };
	table->site[1] = (struct memorizer_site){ key | MEMORIZER_WRITE, WRITES - 1 };
	table->site[2] = (struct memorizer_site){ key | MEMORIZER_READ_WRITE, 1 };
	end = memorizer_format_kmap(obj, text, text + 1023);
	KUNIT_ASSERT_NOT_NULL(test, end);
	*end = 0;
	KUNIT_EXPECT_STREQ(test, text,
		"ffffffff81000010,7,ffff888000001000,100,5,0,0000000000000000,a\\x2cb\\x0a\\x5cc\\xff\n"
		"  ffffffff81000020,7,23,29\n");
	obj->flags = OBJ_OVERLAID;
	memorizer_format_kmap(obj, text, text + 1023);
	KUNIT_EXPECT_NOT_NULL(test, strnstr(text, ",00000000deadbeef,", 1023));
	obj->flags = 0;
	obj->given = 128;
	*memorizer_range(table, &table->site[0]) = 40 << 16 | (MEMORIZER_FAR - 8);
	end = memorizer_format_fields(obj, text, text + 1023);
	KUNIT_ASSERT_NOT_NULL(test, end);
	*end = 0;
	KUNIT_EXPECT_STREQ(test, text,
		"ffffffff81000010,7,ffff888000001000,100,5,0,0000000000000000,a\\x2cb\\x0a\\x5cc\\xff,KMALLOC,,128\n"
		"  ffffffff81000020,7,23,29,8,40\n");
	obj->free.serial = 11;
	end = memorizer_format_allocation(obj, text, text + 1023);
	KUNIT_ASSERT_NOT_NULL(test, end);
	*end = 0;
	KUNIT_EXPECT_STREQ(test, text,
		"ffffffff81000010,7,ffff888000001000,100,9,11,0000000000000000,KMALLOC,a\\x2cb\\x0a\\x5cc\\xff,no-slab,\n");
	end = memorizer_format_accesses(obj, text, text + 1023);
	KUNIT_ASSERT_NOT_NULL(test, end);
	*end = 0;
	KUNIT_EXPECT_STREQ(test, text, "9,ffffffff81000020,7,23,29\n");
	obj->alloc_ip = 0;
	memorizer_format_allocation(obj, text, text + 1023);
	KUNIT_EXPECT_NOT_NULL(test, strnstr(text, "0               ,7,", 19));
}

/* Everything is recorded, of every process. */
static int suite_init(struct kunit_suite *suite)
{
	saved_mode = memorizer_mode;
	saved_log = memorizer_log_access();
	saved_fields = memorizer_print_fields;
	memorizer_print_fields = true;
	memorizer_set_log_access(true);
	return memorizer_set_mode(1, NULL, 0);
}

/* In the order of the dependencies: the mode first. */
static void suite_exit(struct kunit_suite *suite)
{
	memorizer_set_mode(saved_mode, current, 0);
	memorizer_set_log_access(saved_log);
	memorizer_print_fields = saved_fields;
}

static struct kunit_case memorizer_cases[] = {
	KUNIT_CASE(test_kmalloc),
	KUNIT_CASE(test_reuse),
	KUNIT_CASE(test_resize),
	KUNIT_CASE(test_cache),
	KUNIT_CASE(test_bulk),
	KUNIT_CASE(test_rcu),
	KUNIT_CASE(test_pages),
	KUNIT_CASE(test_part_freed),
	KUNIT_CASE(test_record_reuse),
	KUNIT_CASE(test_hook_reschedules),
	KUNIT_CASE(test_access_keeps_resched),
	KUNIT_CASE(test_without_mark),
	KUNIT_CASE(test_vmalloc),
	KUNIT_CASE(test_percpu_areas),
	KUNIT_CASE(test_globals),
	KUNIT_CASE(test_what_one_count_is),
	KUNIT_CASE(test_many_sites),
	KUNIT_CASE(test_ranges),
	KUNIT_CASE(test_members),
	KUNIT_CASE(test_interrupt_while_hidden),
	KUNIT_CASE(test_format),
	KUNIT_CASE_SLOW(test_ten_million),
	KUNIT_CASE_SLOW(test_budget),
	{ }
};

static struct kunit_suite memorizer_suite = {
	.name = "memorizer",
	.suite_init = suite_init,
	.suite_exit = suite_exit,
	.test_cases = memorizer_cases,
};
kunit_test_suite(memorizer_suite);
