// SPDX-License-Identifier: GPL-2.0
/*
 * Every kind of object: its type, size, address and allocation site, the accesses
 * to it, and the end of its record.
 */
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "test_common.h"

static char test_global[777];
static DEFINE_PER_CPU(u64, test_percpu);

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
		obj = memorizer_check(test, p, sizes[i], MEMORIZER_KMALLOC);
		KUNIT_EXPECT_TRUE(test, memorizer_ip_is_in(obj->alloc_ip, test_kmalloc));
		KUNIT_EXPECT_EQ(test, obj->pid, current->pid);
		KUNIT_EXPECT_EQ(test, strcmp(obj->comm, current->comm), 0);
		KUNIT_EXPECT_GE(test, obj->given, sizes[i]);
		kfree(p);
		memorizer_check_freed(test, p, obj);
		KUNIT_EXPECT_TRUE(test, memorizer_ip_is_in(obj->free_ip, test_kmalloc));
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
	first = memorizer_check(test, p, 96, MEMORIZER_KMALLOC);
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
	second = memorizer_check(test, q, 90, MEMORIZER_KMALLOC);
	KUNIT_EXPECT_PTR_NE(test, first, second);
	memorizer_check_freed(test, p, first);
	kfree(q);
	memorizer_check_freed(test, q, second);
}

/* krealloc() within the size class keeps the object and changes its size. */
static void test_resize(struct kunit *test)
{
	void *p = kmalloc(40, GFP_KERNEL);

	memorizer_check(test, p, 40, MEMORIZER_KMALLOC);
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
	struct memorizer_counts c;
	void *p;

	KUNIT_ASSERT_NOT_NULL(test, s);
	p = kmem_cache_alloc(s, GFP_KERNEL);
	obj = memorizer_check(test, p, 120, MEMORIZER_KMEM_CACHE);
	KUNIT_EXPECT_STREQ(test, memorizer_cache_name(obj->cache), "memorizer-test");
	KUNIT_EXPECT_TRUE(test, memorizer_ip_is_in(obj->alloc_ip, test_cache));
	c = memorizer_counts_of(obj, test_ctor, current->pid);
	KUNIT_EXPECT_EQ(test, c.writes, 1);
	kmem_cache_free(s, p);
	memorizer_check_freed(test, p, obj);
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
		objs[i] = memorizer_check(test, p[i], 200, MEMORIZER_KMEM_CACHE);
		q[i] = p[i];
	}
	/* The array is reordered. */
	kmem_cache_free_bulk(s, 32, q);
	for (i = 0; i < 32; i++)
		memorizer_check_freed(test, p[i], objs[i]);
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

	obj = memorizer_check(test, p, sizeof(*p), MEMORIZER_KMALLOC);
	kfree_rcu(p, rcu);
	/* not every series has a barrier for it */
	while (READ_ONCE(obj->state) != OBJ_DEAD)
		msleep(1);
	memorizer_check_freed(test, p, obj);
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
		obj = memorizer_check(test, page_address(page), PAGE_SIZE << order,
				      MEMORIZER_PAGES);
		KUNIT_EXPECT_TRUE(test, memorizer_ip_is_in(obj->alloc_ip, test_pages));
		__free_pages(page, order);
		memorizer_check_freed(test, page_address(page), obj);
		KUNIT_EXPECT_TRUE(test, memorizer_ip_is_in(obj->free_ip, test_pages));
	}
	p = (void *)__get_free_page(GFP_KERNEL);
	obj = memorizer_check(test, p, PAGE_SIZE, MEMORIZER_GETFREEPAGES);
	KUNIT_EXPECT_TRUE(test, memorizer_ip_is_in(obj->alloc_ip, test_pages));
	free_page((unsigned long)p);
	memorizer_check_freed(test, p, obj);
	p = alloc_pages_exact(5 * PAGE_SIZE - 100, GFP_KERNEL);
	obj = memorizer_check(test, p, 5 * PAGE_SIZE - 100, MEMORIZER_PAGES_EXACT);
	free_pages_exact(p, 5 * PAGE_SIZE - 100);
	memorizer_check_freed(test, p, obj);
}

/* A part of an object goes, and its address is another object soon. */
static void test_part_freed(struct kunit *test)
{
	struct page *page = alloc_pages(GFP_KERNEL, 1), *again;
	struct memorizer_object *obj;
	struct memorizer_counts c;

	KUNIT_ASSERT_NOT_NULL(test, page);
	obj = memorizer_check(test, page_address(page), 2 * PAGE_SIZE, MEMORIZER_PAGES);
	split_page(page, 1);
	memorizer_touch(page_address(page + 1), PAGE_SIZE);
	preempt_disable();
	__free_page(page + 1);
	again = alloc_page(GFP_ATOMIC);
	preempt_enable();
	if (again == page + 1)
		memorizer_check(test, page_address(again), PAGE_SIZE, MEMORIZER_PAGES);
	/* What is left of it goes on counting. */
	memorizer_touch(page_address(page), PAGE_SIZE);
	memorizer_touch(page_address(page), PAGE_SIZE);
	c = memorizer_touches(obj);
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
		memorizer_check(test, p, 96, MEMORIZER_KMALLOC);
		kfree(p);
		memorizer_drop_dead(U64_MAX, false, &memorizer_totals.cleared);
	}
}

/*
 * Addresses that are mapped page by page: the size is the requested one,
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
		obj = memorizer_check(test, p, sizes[i], MEMORIZER_VMALLOC);
		KUNIT_EXPECT_TRUE(test, memorizer_ip_is_in(obj->alloc_ip, test_vmalloc));
		vfree(p);
		KUNIT_EXPECT_EQ(test, obj->state, OBJ_DEAD);
		KUNIT_EXPECT_TRUE(test, memorizer_ip_is_in(obj->free_ip, test_vmalloc));
		KUNIT_EXPECT_EQ(test, memorizer_touches(obj).writes, WRITES);
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
		obj = memorizer_check(test, per_cpu_ptr(area, cpu), 52, MEMORIZER_PERCPU);
		KUNIT_EXPECT_TRUE(test, memorizer_ip_is_in(obj->alloc_ip, test_percpu_areas));
	}
	obj = memorizer_find((unsigned long)per_cpu_ptr(area, 0));
	free_percpu(area);
	memorizer_check_freed(test, per_cpu_ptr(area, 0), obj);
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

	memorizer_touch(test_global, sizeof(test_global));
	obj = memorizer_find((unsigned long)test_global);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, obj->type, MEMORIZER_GLOBAL);
	KUNIT_EXPECT_EQ(test, obj->va, (unsigned long)test_global);
	KUNIT_EXPECT_GE(test, obj->size, sizeof(test_global));
	KUNIT_EXPECT_EQ(test, memorizer_touches(obj).writes, WRITES);
	KUNIT_EXPECT_EQ(test, memorizer_touches(obj).reads, READS);

	for_each_possible_cpu(cpu) {
		memorizer_touch((char *)per_cpu_ptr(&test_percpu, cpu), 8);
		obj = memorizer_find((unsigned long)per_cpu_ptr(&test_percpu, cpu));
		KUNIT_ASSERT_NOT_NULL(test, obj);
		KUNIT_EXPECT_EQ(test, obj->type, MEMORIZER_GLOBAL_PERCPU);
		KUNIT_EXPECT_EQ(test, memorizer_touches(obj).writes, WRITES);
	}

	memorizer_touch(local, sizeof(local));
	obj = memorizer_find((unsigned long)local);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, obj->type, MEMORIZER_STACK);
	KUNIT_EXPECT_GE(test, memorizer_touches(obj).writes, WRITES);
}

/*
 * Where the page structures are, as the entries compute it. On a machine with
 * more than 3 GiB, RAM has a hole, and the array does not lie in one piece.
 */
static void test_page_array(struct kunit *test)
{
	unsigned long pfn, addr, phys, found, wrong = 0, right = 0;

	for (pfn = 0; pfn < memorizer_ram >> PAGE_SHIFT; pfn += 512) {
		addr = (unsigned long)pfn_to_page(pfn);
		phys = memorizer_mapped_phys(addr);
		if (phys == MEMORIZER_NO_PHYS)
			continue;
		found = addr - memorizer_page_base;
		if (found >= memorizer_ram)
			found = memorizer_fixed_phys(addr);
		if (found == phys)
			right++;
		else
			wrong++;
	}
	KUNIT_EXPECT_EQ(test, wrong, 0UL);
	KUNIT_EXPECT_GT(test, right, 100UL);
}

static struct kunit_case objects_cases[] = {
	KUNIT_CASE(test_kmalloc),
	KUNIT_CASE(test_reuse),
	KUNIT_CASE(test_resize),
	KUNIT_CASE(test_cache),
	KUNIT_CASE(test_bulk),
	KUNIT_CASE(test_rcu),
	KUNIT_CASE(test_pages),
	KUNIT_CASE(test_part_freed),
	KUNIT_CASE(test_record_reuse),
	KUNIT_CASE(test_vmalloc),
	KUNIT_CASE(test_percpu_areas),
	KUNIT_CASE(test_globals),
	KUNIT_CASE(test_page_array),
	{ }
};

MEMORIZER_TEST_SUITE(objects);
