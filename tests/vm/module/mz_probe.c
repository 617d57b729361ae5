// SPDX-License-Identifier: GPL-2.0
/*
 * A module that knows its accesses: it takes objects of every kind, writes each 23 times
 * and reads it 29 times from one function, and says so in the log:
 *
 *   mz_probe: KIND ADDRESS SIZE free|live
 *
 * tests/vm/probe.py looks for the same in the kmap.
 */
#include <linux/gfp.h>
#include <linux/memorizer-compat.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#define WRITES	23
#define READS	29
#define BULK	16

static char mz_probe_global[5000];
static const size_t sizes[] = { 1, 7, 8, 33, 100, 192, 193, 1000, 4096, 8191, 8192, 65536,
				1000000, 1 << 20, 4 << 20 };

/* Spread over the whole object, the first and the last byte among them. */
noinline void mz_probe_touch(volatile char *p, size_t size);
noinline void mz_probe_touch(volatile char *p, size_t size)
{
	int i;

	for (i = 0; i < WRITES; i++)
		p[(size - 1) * i / (WRITES - 1)] = i;
	for (i = 0; i < READS; i++)
		(void)p[(size - 1) * i / (READS - 1)];
}

static void touch(const char *kind, void *p, size_t size, const char *end)
{
	if (!p) {
		pr_info("mz_probe: %s failed\n", kind);
		return;
	}
	mz_probe_touch(p, size);
	pr_info("mz_probe: %s %px %zu %s\n", kind, p, size, end);
}

static void heap(void)
{
	void *p;
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		p = kmalloc(sizes[i], GFP_KERNEL);
		touch("kmalloc", p, sizes[i], "free");
		kfree(p);
		/* most likely the same address again: another object */
		p = kzalloc(sizes[i], GFP_KERNEL);
		touch("kmalloc", p, sizes[i], "live");
	}
	p = krealloc(kmalloc(40, GFP_KERNEL), 60, GFP_KERNEL);
	touch("krealloc", p, 60, "live");
}

static void caches(void)
{
	struct kmem_cache *cache = kmem_cache_create("mz_probe", 120, 0, SLAB_NO_MERGE, NULL);
	void *bulk[BULK], *p;
	int i;

	if (!cache)
		return;
	p = kmem_cache_alloc(cache, GFP_KERNEL);
	touch("cache", p, 120, "free");
	kmem_cache_free(cache, p);
	if (kmem_cache_alloc_bulk(cache, GFP_KERNEL, BULK, bulk) != BULK)
		return;
	for (i = 0; i < BULK; i++)
		touch("bulk", bulk[i], 120, "free");
	kmem_cache_free_bulk(cache, BULK, bulk);
	kmem_cache_destroy(cache);
}

static void pages(void)
{
	void *p;

	p = (void *)__get_free_pages(GFP_KERNEL, 0);
	touch("page", p, PAGE_SIZE, "free");
	free_page((unsigned long)p);
	p = (void *)__get_free_pages(GFP_KERNEL, 3);
	touch("pages", p, 8 * PAGE_SIZE, "live");
	p = alloc_pages_exact(5 * PAGE_SIZE, GFP_KERNEL);
	touch("exact", p, 5 * PAGE_SIZE, "free");
	free_pages_exact(p, 5 * PAGE_SIZE);
	p = vmalloc(10000);
	touch("vmalloc", p, 10000, "free");
	vfree(p);
	p = vmalloc(20000);
	touch("vmalloc", p, 20000, "live");
}

static int __init mz_probe_init(void)
{
	char __percpu *percpu;

	heap();
	caches();
	pages();
	percpu = __alloc_percpu(300, 8);
	touch("percpu", per_cpu_ptr(percpu, 0), 300, "live");
	touch("global", mz_probe_global, sizeof(mz_probe_global), "live");
	return 0;
}

static void __exit mz_probe_exit(void)
{
}

module_init(mz_probe_init);
module_exit(mz_probe_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Accesses with known counts, for the tests of Memorizer");
