// SPDX-License-Identifier: GPL-2.0
/*
 * kmemtrace: numbers for caches. A cache gets its number with its first event;
 * its name stays in the table after it is destroyed.
 */
#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../slab.h"
#include "kmemtrace.h"

#define CACHES	1024
#define NAME	48

struct cache {
	u32	object_size, size, align;
	bool	ready;		/* set last */
	char	name[NAME];
};

static struct cache caches[CACHES];
static atomic_t last_cache = ATOMIC_INIT(0);

/* May run on several CPUs, and in an interrupt of itself: the first one wins. */
u32 kmemtrace_new_cache(struct kmem_cache *s)
{
	u32 id = 0, was;

	if (atomic_read(&last_cache) < CACHES)
		id = atomic_inc_return(&last_cache);
	if (!id || id > CACHES) {
		this_cpu_inc(kmemtrace_cpu.no_cache);
		return 0;
	}
	was = cmpxchg(&s->kmemtrace_id, 0, id);
	if (was)
		return was;
	caches[id - 1].object_size = s->object_size;
	caches[id - 1].size = s->size;
	caches[id - 1].align = s->align;
	strscpy(caches[id - 1].name, s->name ?: "", NAME);
	smp_store_release(&caches[id - 1].ready, true);
	return id;
}

int kmemtrace_caches_show(struct seq_file *m, void *v)
{
	u32 i;

	seq_puts(m, "# id object_size size align name\n");
	for (i = 0; i < CACHES; i++) {
		struct cache *c = &caches[i];

		if (smp_load_acquire(&c->ready))
			seq_printf(m, "%u %u %u %u %s\n", i + 1, c->object_size,
				   c->size, c->align, c->name);
	}
	return 0;
}
