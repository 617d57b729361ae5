/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files show_stats and stats tell.
 */
#ifndef _MM_MEMORIZER_STATS_H
#define _MM_MEMORIZER_STATS_H

#include "format.h"

struct memorizer_stats {
	struct memorizer_cpu all;		/* the counters of all CPUs */
	u64 reads, writes;			/* that the records have, or had */
	u64 accesses[MEMORIZER_NR_TYPES];	/* the same by type of object */
	u64 records;				/* in use */
};

/* By a hidden task, see memorizer_hide(). */
void memorizer_collect_stats(struct memorizer_stats *s);

/* The misses of the causes @from to @to, see miss_names in stats.c. */
u64 memorizer_sum_misses(const struct memorizer_stats *s, int from, int to);

/* Of the budget, what is in use. */
unsigned long memorizer_used_bytes(void);

/* The file operations of a file whose text stats_show() writes. */
#define MEMORIZER_STATS_FILE(fops)					\
static int stats_open(struct inode *inode, struct file *file)		\
{									\
	return single_open(file, stats_show, NULL);			\
}									\
									\
const struct file_operations fops = {					\
	.open = stats_open,						\
	.read = seq_read,						\
	.llseek = seq_lseek,						\
	.release = single_release,					\
}

#endif /* _MM_MEMORIZER_STATS_H */
