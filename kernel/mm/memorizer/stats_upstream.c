// SPDX-License-Identifier: GPL-2.0
/*
 * stats: the statistics in the layout of upstream's kernels, for its scripts.
 *
 * The numbers are those of show_stats. Sections about things that do not exist
 * here are left out: bytes accessed, which are not counted, and upstream's
 * lookup table. "Induced" and "Disabled" are accesses that upstream observes
 * and discards; here they are not observed.
 */
#include <linux/fs.h>
#include <linux/math64.h>
#include <linux/seq_file.h>

#include "stats.h"

static void show_section(struct seq_file *m, const char *name)
{
	seq_printf(m, "------- %s -------\n", name);
}

static void show_row(struct seq_file *m, const char *label, u64 number)
{
	seq_printf(m, "  %-14s%16llu\n", label, number);
}

static void show_type(struct seq_file *m, const char *type, u64 a, u64 b)
{
	seq_printf(m, "   %-15s: %16llu, %16llu\n", type, a, b);
}

static void show_accesses(struct seq_file *m, const struct memorizer_stats *s)
{
	u64 tracked = s->reads + s->writes;
	u64 missing = memorizer_sum_misses(s, NO_OBJ_USER, ACCESS_MEMORY);

	show_section(m, "Memory Accesses");
	show_row(m, "Tracked:", tracked);
	show_row(m, "Missing:", missing);
	show_row(m, "Induced:", 0);
	show_row(m, "Disabled:", 0);
	show_row(m, "Total Obs:", tracked + missing);
}

/*
 * Accesses to no object, by the types that upstream has for such memory; lost
 * accesses have the type NONE. The hits are those of "Tracked", the misses
 * those of "Missing".
 */
static void show_hits(struct seq_file *m, const struct memorizer_stats *s)
{
	u64 hits = s->reads + s->writes;
	u64 misses = memorizer_sum_misses(s, NO_OBJ_USER, ACCESS_MEMORY);
	const u64 *miss = s->all.miss;
	int i;

	show_section(m, "Per Object Access Count (hit/miss)");
	for (i = 0; i < MEMORIZER_NR_TYPES; i++)
		show_type(m, memorizer_type_names[i], s->accesses[i], 0);
	show_type(m, "USER", 0, miss[NO_OBJ_USER]);
	show_type(m, "UFO_HEAP", 0, miss[NO_OBJ_SLAB] + miss[NO_OBJ_PAGE]);
	show_type(m, "UFO_GLOBAL", 0, miss[NO_OBJ_IMAGE]);
	show_type(m, "UFO_NONE", 0, miss[NO_OBJ_PAGE_STRUCT] + miss[NO_OBJ_OTHER]);
	show_type(m, "NONE", 0, memorizer_sum_misses(s, ACCESS_NMI, ACCESS_MEMORY));
	seq_printf(m, "   %-15s: %16llu, %16llu --- %llu%% hit rate\n", "Total", hits, misses,
		   hits + misses ? div64_u64(hits * 100, hits + misses) : 0);
}

/* Allocated, and freed since. */
static void show_allocs(struct seq_file *m)
{
	const struct memorizer_totals *t = &memorizer_totals;
	u64 created, live, all = 0, freed = 0;
	int i;

	show_section(m, "Tracked Memory Allocations");
	for (i = 0; i < MEMORIZER_NR_TYPES; i++) {
		/* An object may be allocated or freed between the two reads. */
		live = READ_ONCE(t->live[i]);
		created = max(READ_ONCE(t->created[i]), live);
		show_type(m, memorizer_type_names[i], created, created - live);
		all += created;
		freed += created - live;
	}
	show_type(m, "Total", all, freed);
}

static int stats_show(struct seq_file *m, void *v)
{
	struct memorizer_stats s;
	u64 old;

	if (!memorizer_pages)
		return 0;
	old = memorizer_hide();
	memorizer_collect_stats(&s);
	show_accesses(m, &s);
	show_hits(m, &s);
	show_allocs(m);
	show_section(m, "Missing Allocs");
	show_row(m, "In NMI:", s.all.miss[OBJECT_NMI]);
	show_row(m, "No Memory:", s.all.miss[OBJECT_MEMORY]);
	show_row(m, "No Map:", s.all.miss[OBJECT_MAP]);
	show_section(m, "Internal Allocs");
	show_row(m, "Objects:", s.records);
	show_section(m, "Memory Usage");
	show_row(m, "Budget:", memorizer_budget);
	show_row(m, "Used:", memorizer_used_bytes());
	memorizer_show(old);
	return 0;
}

MEMORIZER_STATS_FILE(memorizer_upstream_stats_fops);
