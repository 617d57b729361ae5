// SPDX-License-Identifier: GPL-2.0
/*
 * Modules: where they lie, and their global variables. While a module is loaded,
 * its data is a region whose spans are the symbols of the module.
 */
#include <linux/init.h>
#include <linux/instruction_pointer.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sort.h>

#include "frames.h"
#include "memorizer.h"

#ifdef CONFIG_MODULES

/* One data area of one module. It goes to limbo as a map without entries. */
struct module_region {
	struct memorizer_map map;
	struct list_head list;
	struct module *mod;
	unsigned long base, size;
	struct memorizer_region region;
	struct memorizer_span spans[];
};

static unsigned long code_end;	/* of all code that there was */
static LIST_HEAD(regions);
static DEFINE_MUTEX(regions_mutex);

static int compare(const void *a, const void *b)
{
	const struct memorizer_span *x = a, *y = b;

	return x->va < y->va ? -1 : x->va > y->va;
}

/* Enter the symbols of an area; if @spans is NULL, only count them. */
static u32 collect(const struct mod_kallsyms *ks, unsigned long base,
		   unsigned long size, struct memorizer_span *spans)
{
	u32 i, n = 0;

	for (i = 1; i < ks->num_symtab; i++) {
		const Elf_Sym *sym = &ks->symtab[i];

		if (sym->st_shndx == SHN_UNDEF || !sym->st_size ||
		    sym->st_value - base >= size)
			continue;
		if (spans)
			spans[n].va = sym->st_value;
		n++;
	}
	return n;
}

/* Sort, drop duplicates. An object extends to the next one, as in the image. */
static u32 finish(struct memorizer_span *spans, u32 nr, unsigned long end)
{
	u32 i, n = 0;

	sort(spans, nr, sizeof(*spans), compare, NULL);
	for (i = 0; i < nr; i++) {
		if (n && spans[n - 1].va == spans[i].va)
			continue;
		if (n)
			spans[n - 1].size = spans[i].va - spans[n - 1].va;
		spans[n++].va = spans[i].va;
	}
	if (n)
		spans[n - 1].size = end - spans[n - 1].va;
	return n;
}

/*
 * Without memory for the region its variables stay unknown, and accesses to
 * them count as accesses to no object.
 */
static void add_area(struct module *mod, const struct mod_kallsyms *ks,
		     unsigned long base, unsigned long size)
{
	struct module_region *r;
	unsigned long va;
	u32 nr;

	nr = collect(ks, base, size, NULL);
	if (!nr)
		return;
	r = memorizer_pool_alloc(struct_size(r, spans, nr));
	if (!r)
		return;
	r->map.kind = MAP_SLAB;
	r->mod = mod;
	r->base = base;
	r->size = size;
	collect(ks, base, size, r->spans);
	r->region.type = MEMORIZER_MODULE;
	r->region.spans = r->spans;
	r->region.nr = finish(r->spans, nr, base + size);
	for (va = base & PAGE_MASK; va < base + size; va += PAGE_SIZE)
		memorizer_map_region_page(&r->region, va, MEMORIZER_GRANULE_SHIFT);
	list_add(&r->list, &regions);
}

/*
 * The objects end before the memory does. An access on another CPU may still
 * use the region, so it waits for a grace period together with the maps.
 */
static void remove_module(struct module *mod, unsigned long ip)
{
	struct module_region *r, *next;
	unsigned long va, phys;

	list_for_each_entry_safe(r, next, &regions, list) {
		if (r->mod != mod)
			continue;
		for (va = r->base & PAGE_MASK; va < r->base + r->size; va += PAGE_SIZE) {
			phys = memorizer_phys(va);
			if (phys != MEMORIZER_NO_PHYS)
				memorizer_page_clear(phys >> PAGE_SHIFT, ip);
		}
		list_del(&r->list);
		memorizer_map_dispose(&r->map);
	}
}

/* The symbols are complete, and nobody has touched the data yet. */
static void add_module(struct module *mod, const struct mod_kallsyms *ks)
{
	unsigned long base, size;
	int i;

	memorizer_frames_new_code();
	memorizer_drop_symbols(mod);
	for (i = 0; i < memorizer_module_areas(); i++) {
		memorizer_module_area(mod, i, &base, &size);
		add_area(mod, ks, base, size);
	}
}

/*
 * A module that is live has run its init function, whose memory and symbols go
 * next. One whose init function fails goes with all of them.
 */
static int module_event(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct mod_kallsyms *ks;
	struct module *mod = data;
	u64 old = memorizer_hide();

	mutex_lock(&regions_mutex);
	rcu_read_lock();
	ks = rcu_dereference(mod->kallsyms);
	if (ks && event == MODULE_STATE_COMING)
		add_module(mod, ks);
	else if (ks && memorizer_known())
		memorizer_keep_symbols(mod, ks, event == MODULE_STATE_LIVE);
	rcu_read_unlock();
	if (event == MODULE_STATE_GOING)
		remove_module(mod, _RET_IP_);
	mutex_unlock(&regions_mutex);
	memorizer_show(old);
	return NOTIFY_OK;
}

/*
 * Where to look for room for code that is to lie between @start and @end. Behind
 * all code that there was, so that an address in a record stands for the same
 * code all the time, until the area of modules has been used up once. No two
 * callers get the same room.
 */
unsigned long memorizer_code_start(unsigned long start, unsigned long end,
				   unsigned long size, unsigned long align)
{
	unsigned long bytes = PAGE_ALIGN(size) + PAGE_SIZE;	/* a guard page */
	unsigned long at, old = READ_ONCE(code_end);

	if (!memorizer_pages || start < MODULES_VADDR || end > MODULES_END)
		return start;
	do {
		at = ALIGN(max(start, old), align);
		if (at >= end || bytes > end - at)
			return start;
	} while (!try_cmpxchg(&code_end, &old, at + bytes));
	return at;
}

void memorizer_modules_lock(void)
{
	mutex_lock(&regions_mutex);
}

void memorizer_modules_unlock(void)
{
	mutex_unlock(&regions_mutex);
}

/*
 * Variable *@nr of all modules, and the name of its module. If there are fewer
 * variables, NULL, and *@nr is reduced by their number. The caller holds the
 * lock.
 */
const struct memorizer_span *memorizer_module_span(u64 *nr, const char **name)
{
	struct module_region *r;

	list_for_each_entry(r, &regions, list) {
		if (*nr < r->region.nr) {
			*name = r->mod->name;
			return &r->spans[*nr];
		}
		*nr -= r->region.nr;
	}
	return NULL;
}

/* Called before other notifiers see a new module, and after the exit function of an old one. */
static struct notifier_block module_nb = {
	.notifier_call = module_event,
	.priority = INT_MAX - 1,
};

static int __init modules_init(void)
{
	return memorizer_pages ? register_module_notifier(&module_nb) : 0;
}
core_initcall(modules_init);

#else

unsigned long memorizer_code_start(unsigned long start, unsigned long end,
				   unsigned long size, unsigned long align)
{
	return start;
}

void memorizer_modules_lock(void) { }
void memorizer_modules_unlock(void) { }

const struct memorizer_span *memorizer_module_span(u64 *nr, const char **name)
{
	return NULL;
}

#endif /* CONFIG_MODULES */
