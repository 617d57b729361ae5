// SPDX-License-Identifier: GPL-2.0
/*
 * show_stats. Events are counted when they happen, and records are added up
 * when the file is read: the two must agree.
 */
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/seq_file.h>

#include "frames.h"
#include "stats.h"

static const char * const miss_names[] = {
	[NO_OBJ_USER]		= "user memory",
	[NO_OBJ_SLAB]		= "slab, free or untracked",
	[NO_OBJ_PAGE]		= "page, free or untracked",
	[NO_OBJ_PAGE_STRUCT]	= "page structures",
	[NO_OBJ_IMAGE]		= "kernel image, no symbol",
	[NO_OBJ_OTHER]		= "devices and other mappings",
	[ACCESS_NMI]		= "in NMI",
	[ACCESS_MEMORY]		= "no memory for site",
	[OBJECT_NMI]		= "in NMI",
	[OBJECT_MEMORY]		= "no memory for object",
	[OBJECT_MAP]		= "no memory for map",
	[CALL_NMI]		= "in NMI",
	[CALL_MEMORY]		= "no memory for edge",
	[OWNER_MEMORY]		= "no memory for owner",
};
static_assert(ARRAY_SIZE(miss_names) == MEMORIZER_NR_MISSES);

static void add_counts(u64 key, u64 count, u64 *reads, u64 *writes)
{
	if (key & MEMORIZER_PAIR) {
		*(memorizer_pair_writes(key, 0) ? writes : reads) += count;
		*(memorizer_pair_writes(key, 1) ? writes : reads) += count;
		return;
	}
	if (key & (MEMORIZER_WRITE | MEMORIZER_READ_WRITE))
		*writes += count;
	if (!(key & MEMORIZER_WRITE))
		*reads += count;
}

void memorizer_count_sites(const struct memorizer_object *obj, u64 *reads,
			   u64 *writes)
{
	const struct memorizer_sites *sites;
	u32 i, step;
	u64 key;

	for (sites = READ_ONCE(obj->sites); sites; sites = sites->prev) {
		if (!memorizer_is_log(sites)) {
			for (i = 0; i < memorizer_nr(sites); i++)
				add_counts(READ_ONCE(memorizer_slot(sites, i)->key),
					   READ_ONCE(memorizer_slot(sites, i)->count),
					   reads, writes);
			continue;
		}
		step = memorizer_has_ranges(sites) ? 2 : 1;
		for (i = memorizer_room(sites); i + step <= sites->words; i += step) {
			key = READ_ONCE(sites->entry[i]);
			if (key)
				add_counts(key, 1, reads, writes);
		}
	}
}

/*
 * Add up the counts in the records, and those of records that were given back.
 * The mutex prevents records from being given back meanwhile, which would count
 * them twice or not at all. Accesses continue, so the sum does not belong to a
 * single moment.
 */
static void sum_records(struct memorizer_stats *s)
{
	unsigned long slot, slots = memorizer_pool_slots();
	struct memorizer_object *obj;
	u64 before;

	mutex_lock(&memorizer_mutex);
	s->reads = memorizer_totals.retired_reads;
	s->writes = memorizer_totals.retired_writes;
	memcpy(s->accesses, memorizer_totals.retired, sizeof(s->accesses));
	for (slot = 0; slot < slots; slot++) {
		cond_resched(); /* millions may be unused */
		/* Pairs with publish(): an unused record may be half written. */
		obj = memorizer_pool_object(slot);
		if (!obj || smp_load_acquire(&obj->state) == OBJ_UNUSED)
			continue;
		before = s->reads + s->writes;
		memorizer_count_sites(obj, &s->reads, &s->writes);
		s->accesses[obj->type] += s->reads + s->writes - before;
		s->records++;
	}
	mutex_unlock(&memorizer_mutex);
}

u64 memorizer_sum_misses(const struct memorizer_stats *s, int from, int to)
{
	u64 sum = 0;
	int i;

	for (i = from; i <= to; i++)
		sum += s->all.miss[i];
	return sum;
}

/* The counters of other CPUs are read without stopping those CPUs. */
void memorizer_collect_stats(struct memorizer_stats *s)
{
	int cpu, i;

	memset(s, 0, sizeof(*s));
	sum_records(s);
	for_each_possible_cpu(cpu) {
		const struct memorizer_cpu *c = per_cpu_ptr(&memorizer_cpu, cpu);

		s->all.seen += c->seen;
		s->all.objects_seen += c->objects_seen;
		s->all.folded += c->folded;
		s->all.calls_folded += c->calls_folded;
		for (i = 0; i < MEMORIZER_NR_MISSES; i++)
			s->all.miss[i] += c->miss[i];
	}
	s->all.seen += memorizer_sum_misses(s, NO_OBJ_USER, ACCESS_MEMORY);
}

/* The causes of one kind of loss. */
static void show_misses(struct seq_file *m, const struct memorizer_stats *s,
			int from, int to)
{
	int i;

	for (i = from; i <= to; i++)
		seq_printf(m, "    %-28s %llu\n", miss_names[i], s->all.miss[i]);
}

/* seen = counted + to no object + missed, which the tests check. */
static void show_accesses(struct seq_file *m, const struct memorizer_stats *s)
{
	seq_puts(m, "accesses\n");
	seq_printf(m, "  seen                         %llu\n", s->all.seen);
	seq_printf(m, "  counted                      %llu\n", s->reads + s->writes);
	seq_printf(m, "    reads                      %llu\n", s->reads);
	seq_printf(m, "    writes                     %llu\n", s->writes);
	seq_printf(m, "    under pid -1 (no memory)   %llu\n", s->all.folded);
	seq_printf(m, "  to no object                 %llu\n",
		   memorizer_sum_misses(s, NO_OBJ_USER, NO_OBJ_OTHER));
	show_misses(m, s, NO_OBJ_USER, NO_OBJ_OTHER);
	seq_printf(m, "  missed                       %llu\n",
		   memorizer_sum_misses(s, ACCESS_NMI, ACCESS_MEMORY));
	show_misses(m, s, ACCESS_NMI, ACCESS_MEMORY);
}

/* seen = tracked + missed; freed = kept + streamed + cleared + dropped. */
static void show_objects(struct seq_file *m, const struct memorizer_stats *s)
{
	const struct memorizer_totals *t = &memorizer_totals;
	u64 tracked = 0, live = 0;
	int i;

	for (i = 0; i < MEMORIZER_NR_TYPES; i++) {
		tracked += t->created[i];
		live += t->live[i];
	}
	seq_puts(m, "objects\n");
	seq_printf(m, "  seen                         %llu\n", s->all.objects_seen);
	seq_printf(m, "  tracked                      %llu\n", tracked);
	seq_printf(m, "  missed                       %llu\n",
		   memorizer_sum_misses(s, OBJECT_NMI, OBJECT_MAP));
	show_misses(m, s, OBJECT_NMI, OBJECT_MAP);
	seq_printf(m, "  live                         %llu\n", live);
	seq_printf(m, "  freed                        %llu\n", t->freed);
	seq_printf(m, "    dead, kept                 %llu\n", t->dead);
	seq_printf(m, "    streamed                   %llu\n", t->streamed);
	seq_printf(m, "    cleared                    %llu\n", t->cleared);
	seq_printf(m, "    dropped for the budget     %llu\n", t->reclaimed);
	seq_printf(m, "    free not seen (DEADBEEF)   %llu\n", t->overlaid);
	seq_printf(m, "  memory of other objects      %llu\n", t->backing);
	seq_puts(m, "types                          tracked live\n");
	for (i = 0; i < MEMORIZER_NR_TYPES; i++)
		seq_printf(m, "  %-28s %llu %llu\n", memorizer_type_names[i],
			   t->created[i], t->live[i]);
}

#ifdef CONFIG_MEMORIZER_CALLS
static void show_calls(struct seq_file *m, const struct memorizer_stats *s)
{
	u64 edges = 0, counted = 0, bytes = 0;

	memorizer_calls_sum(&edges, &counted, &bytes);
	seq_puts(m, "calls\n");
	seq_printf(m, "  counted                      %llu\n", counted);
	seq_printf(m, "    under pid -1 (no memory)   %llu\n", s->all.calls_folded);
	seq_printf(m, "  missed                       %llu\n",
		   memorizer_sum_misses(s, CALL_NMI, CALL_MEMORY));
	show_misses(m, s, CALL_NMI, CALL_MEMORY);
	seq_printf(m, "  counters of edges            %llu\n", edges);
	seq_printf(m, "  bytes of their tables        %llu\n", bytes);
}
#else
static void show_calls(struct seq_file *m, const struct memorizer_stats *s) { }
#endif

unsigned long memorizer_used_bytes(void)
{
	return memorizer_budget - memorizer_pool_bytes + memorizer_pool_used();
}

/*
 * The allocations made for this text must not change the numbers in it, hence
 * memorizer_hide().
 */
static int stats_show(struct seq_file *m, void *v)
{
	struct memorizer_stats s;
	u64 old;

	if (!memorizer_pages) {
		seq_puts(m, "disabled: no memory at boot, see memorizer_mem=\n");
		return 0;
	}
	old = memorizer_hide();
	memorizer_collect_stats(&s);
	show_accesses(m, &s);
	show_objects(m, &s);
	show_calls(m, &s);
	memorizer_show_frames(m, s.accesses[MEMORIZER_STACK_FRAME]);
#ifdef CONFIG_CGROUPS
	memorizer_show_owners(m, s.all.miss[OWNER_MEMORY]);
#endif
	memorizer_show_symbols(m);
	seq_puts(m, "memory\n");
	seq_printf(m, "  budget                       %lu\n", memorizer_budget);
	seq_printf(m, "  used                         %lu\n", memorizer_used_bytes());
	seq_printf(m, "  records                      %llu\n", s.records);
	seq_printf(m, "  bytes of a record            %zu\n",
		   sizeof(struct memorizer_object));
	memorizer_show(old);
	return 0;
}

MEMORIZER_STATS_FILE(memorizer_stats_fops);
