// SPDX-License-Identifier: GPL-2.0
/*
 * Objects whose allocation could not be seen: the kernel's global variables,
 * their percpu copies, and memory taken from memblock before the allocators
 * were up. Each is a span of a region; its object is made by the first access
 * to it.
 *
 * The size of a variable is the distance to the next symbol.
 */
#include <linux/init.h>
#include <linux/kallsyms.h>
#include <linux/memblock.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/sort.h>
#include <asm/sections.h>

#include "../../kernel/kallsyms_internal.h"
#include "memorizer.h"

#define PERCPU_SHIFT	2	/* the smallest percpu allocation */
#define MAX_BOOT_SPANS	1024

struct boot_span {
	phys_addr_t phys;
	size_t size;
	unsigned long ip;
};

static struct boot_span boot_spans[MAX_BOOT_SPANS] __initdata;
static unsigned int nr_boot_spans __initdata, boot_missed __initdata;
static unsigned long boot_caller __initdata;
static struct memorizer_region image, boot;
static bool boot_done;
static struct memorizer_region static_percpu[NR_CPUS];

/* The index of the first span that ends after @va. */
u32 memorizer_first_span(const struct memorizer_region *region, unsigned long va)
{
	u32 lo = 0, hi = region->nr;

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (region->spans[mid].va + region->spans[mid].size > va)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/*
 * Enter the spans of @region in the page at @va. A granule may hold several
 * small variables: its entry is the first span to look at, and a lookup
 * continues from there.
 */
int memorizer_map_region_page(struct memorizer_region *region, unsigned long va,
			      u32 shift)
{
	unsigned long phys = memorizer_phys(va), step = 1UL << shift, g, end;
	struct memorizer_region_page *rp;
	u32 i;

	if (phys == MEMORIZER_NO_PHYS)
		return -EINVAL;
	rp = memorizer_region_page(phys, va, shift, region);
	if (!rp)
		return -ENOMEM;
	if (rp->region != region)
		return -EBUSY;
	i = memorizer_first_span(region, va);
	for (g = 0; g < rp->map.nr && i < region->nr; g++) {
		end = va + (g + 1) * step;
		while (i < region->nr &&
		       region->spans[i].va + region->spans[i].size <= end - step)
			i++;
		if (i < region->nr && region->spans[i].va < end)
			rp->map.objs[g] = (void *)(i * 2UL + 1);
	}
	return 0;
}

/* Text is left out: it is not written, and reading it is not an access to data. */
static bool is_data(unsigned long addr)
{
	return addr >= (unsigned long)__start_rodata && addr < (unsigned long)_end;
}

/* Percpu symbols of x86-64 are offsets from 0. */
static bool is_percpu(unsigned long addr)
{
	return addr < (unsigned long)(__per_cpu_end - __per_cpu_start);
}

static u32 __init count_symbols(bool (*want)(unsigned long))
{
	u32 i, n = 0;

	for (i = 0; i < kallsyms_num_syms; i++)
		n += want(kallsyms_sym_address(i));
	return n;
}

/* kallsyms is sorted by address. Several names at one address are one span. */
static void __init fill_spans(struct memorizer_region *region,
			      bool (*want)(unsigned long), unsigned long shift,
			      unsigned long end)
{
	struct memorizer_span *span;
	unsigned long addr;
	u32 i;

	for (i = 0; i < kallsyms_num_syms; i++) {
		addr = kallsyms_sym_address(i);
		if (!want(addr))
			continue;
		addr += shift;
		if (region->nr) {
			span = &region->spans[region->nr - 1];
			if (span->va == addr)
				continue;
			span->size = addr - span->va;
		}
		span = &region->spans[region->nr++];
		span->va = addr;
		span->size = end - addr;
	}
}

/*
 * In pages with several variables, most are small. With granules of a word few
 * variables share one, and most are found without a search.
 */
static u32 __init shift_of(const struct memorizer_region *region, unsigned long va)
{
	u32 first = memorizer_first_span(region, va), n = first;

	while (n < region->nr && region->spans[n].va < va + PAGE_SIZE)
		n++;
	return n - first > PAGE_SIZE >> 10 ? MEMORIZER_WORD_SHIFT : MEMORIZER_GRANULE_SHIFT;
}

/* A page that belongs to another map keeps it; only a full pool ends the loop. */
static void __init image_init(void *mem)
{
	unsigned long va;

	image.type = MEMORIZER_GLOBAL;
	image.spans = mem;
	fill_spans(&image, is_data, 0, (unsigned long)_end);
	for (va = (unsigned long)__start_rodata; va < (unsigned long)_end; va += PAGE_SIZE)
		if (memorizer_map_region_page(&image, va, shift_of(&image, va)) == -ENOMEM)
			break;
}

/*
 * The last page is shared with percpu memory that is allocated later, and
 * therefore has the granules of that memory.
 */
static void __init percpu_init(void *mem, u32 nr, int cpu)
{
	struct memorizer_region *region = &static_percpu[cpu];
	unsigned long start = (unsigned long)per_cpu_ptr((void __percpu *)0, cpu);
	unsigned long end = start + (__per_cpu_end - __per_cpu_start), va;

	region->type = MEMORIZER_GLOBAL_PERCPU;
	region->spans = mem;
	fill_spans(region, is_percpu, start, end);
	for (va = start & PAGE_MASK; va < end; va += PAGE_SIZE)
		memorizer_map_region_page(region, va, va + PAGE_SIZE <= end ?
				shift_of(region, va) : PERCPU_SHIFT);
}

/* Bytes that memorizer_globals_init() needs before the pool. */
unsigned long __init memorizer_globals_bytes(void)
{
	unsigned long n = count_symbols(is_data) +
		(unsigned long)count_symbols(is_percpu) * num_possible_cpus() +
		MAX_BOOT_SPANS;

	return PAGE_ALIGN(n * sizeof(struct memorizer_span));
}

/* The order of the pieces: boot spans, percpu copies, the image. */
void __init memorizer_globals_init(void *mem)
{
	u32 nr = count_symbols(is_percpu);
	struct memorizer_span *span = mem;
	int cpu;

	memset(mem, 0, memorizer_globals_bytes());
	boot.spans = span;
	span += MAX_BOOT_SPANS;
	for_each_possible_cpu(cpu) {
		percpu_init(span, nr, cpu);
		span += nr;
	}
	image_init(span);
}

/* The variables of the kernel itself. */
const struct memorizer_region *memorizer_image(void)
{
	return &image;
}

/* The object of a span ends: remove it from all pages, permanently. */
void memorizer_span_kill(struct memorizer_span *span, unsigned long ip)
{
	struct memorizer_object *obj = xchg(&span->obj, NULL);
	unsigned long va, phys, first = span->va, last = span->va + span->size;
	struct memorizer_map *map;
	int g;

	span->size = 0;
	if (!obj)
		return;
	for (va = first & PAGE_MASK; va < last; va += PAGE_SIZE) {
		phys = memorizer_phys(va);
		if (phys == MEMORIZER_NO_PHYS)
			continue;
		map = READ_ONCE(memorizer_pages[phys >> PAGE_SHIFT]);
		if (map->kind != MAP_REGION)
			continue;
		for (g = 0; g < map->nr; g++)
			if (READ_ONCE(map->objs[g]) == obj)
				cmpxchg(&map->objs[g], obj, NULL);
	}
	memorizer_kill(obj, ip);
}

/* The next allocation is on behalf of @ip. */
void __init memorizer_memblock_caller(unsigned long ip)
{
	boot_caller = ip;
}

/* One CPU runs, perhaps before there are percpu areas. */
void __init memorizer_memblock_alloc(phys_addr_t phys, size_t size)
{
	struct boot_span *span;

	if (nr_boot_spans == MAX_BOOT_SPANS) {
		boot_missed++;
		return;
	}
	span = &boot_spans[nr_boot_spans++];
	span->phys = phys;
	span->size = size;
	span->ip = boot_caller;
	boot_caller = 0;
}

/* Also called after memblock is discarded, hence not __init. */
void __ref memorizer_memblock_free(phys_addr_t phys, size_t size)
{
	struct boot_span *span;
	unsigned int i;

	if (boot_done)
		return;
	/* From the end: most are freed soon. The last one fills the gap. */
	for (i = nr_boot_spans; i-- > 0; ) {
		span = &boot_spans[i];
		if (span->phys < phys || span->phys - phys + span->size > size)
			continue;
		*span = boot_spans[--nr_boot_spans];
	}
}

static int __init compare_spans(const void *a, const void *b)
{
	const struct boot_span *x = a, *y = b;

	return x->phys < y->phys ? -1 : x->phys > y->phys;
}

/* memblock hands its memory over to the page allocator: its allocations are final. */
void __init memorizer_memblock_end(void)
{
	unsigned long va, end, page;
	struct memorizer_span *span;
	unsigned int i;

	boot_done = true;
	if (!memorizer_pages)
		return;
	this_cpu_add(memorizer_cpu.objects_seen, boot_missed);
	this_cpu_add(memorizer_cpu.miss[OBJECT_MAP], boot_missed);
	sort(boot_spans, nr_boot_spans, sizeof(boot_spans[0]), compare_spans, NULL);
	boot.type = MEMORIZER_MEMBLOCK;
	for (i = 0; i < nr_boot_spans; i++) {
		span = &boot.spans[boot.nr++];
		span->va = (unsigned long)__va(boot_spans[i].phys);
		span->size = boot_spans[i].size;
		span->ip = memorizer_pack_ip(boot_spans[i].ip);
	}
	for (i = 0; i < boot.nr; i++) {
		va = boot.spans[i].va;
		end = va + boot.spans[i].size;
		for (page = va & PAGE_MASK; page < end; page += PAGE_SIZE) {
			/*
			 * Memorizer's own, or a percpu area: it is known
			 * already, and more precisely.
			 */
			if (memorizer_pages[__pa(page) >> PAGE_SHIFT]->kind != MAP_NONE)
				continue;
			memorizer_map_region_page(&boot, page,
					page >= va && page + PAGE_SIZE <= end ?
					PAGE_SHIFT : MEMORIZER_GRANULE_SHIFT);
		}
	}
}
