/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters of calls, between calls.c, calls_file.c and calls_entry.S.
 */
#ifndef _MM_MEMORIZER_CALLS_H
#define _MM_MEMORIZER_CALLS_H

#include "memorizer.h"

/*
 * One edge: a call site, the function it calls, and the process that does.
 * Half a cache line, so that an index is a mask of the hash.
 */
struct memorizer_call {
	u64 edge;	/* packed: call site in the upper half, function; 0: unused */
	u64 tag;	/* like memorizer_task.tag; entered after @edge */
	u64 count;
	u64 unused;
};

/*
 * A CPU's hash table. An edge is in one of the MEMORIZER_CALLS_REACH slots that
 * differ from the hash in their lowest bits only. When these are taken, or the
 * table becomes crowded, a larger one takes its place and the old one stays
 * behind it: counters never move. An edge may be in several tables, and by
 * chance twice in one: readers add them up.
 */
struct memorizer_calls {
	u32 mask;			/* of the hash's upper half, in bytes */
	u32 number;			/* 0: the CPU's first */
	u32 used;			/* about */
	u32 unused;
	struct memorizer_calls *prev;
	u64 pad;
	struct memorizer_call call[];
};

#define MEMORIZER_CALLS_REACH	8
#define MEMORIZER_CALLS_MIN	2048U
#define MEMORIZER_CALLS_MAX	65536U	/* cleared at once, in any context */
#define MEMORIZER_CALLS_FOLDED	1ULL	/* a tag that is shown as pid -1 */
#define MEMORIZER_CALLS_FACTOR	0x9e3779b97f4a7c15ULL

static inline u32 memorizer_calls_nr(const struct memorizer_calls *calls)
{
	return calls->mask / sizeof(struct memorizer_call) + 1;
}

/* Slot @n of those where an edge may be; calls_entry.S looks at the first two. */
static inline struct memorizer_call *
memorizer_calls_slot(struct memorizer_calls *calls, u64 edge, u64 tag, u32 n)
{
	u64 hash = (edge + tag) * MEMORIZER_CALLS_FACTOR >> 32;

	return (void *)calls->call +
	       ((hash & calls->mask) ^ (n * sizeof(struct memorizer_call)));
}

/* Where a CPU counts. */
DECLARE_PER_CPU(struct memorizer_calls *, memorizer_calls);
/* The same, or an empty table if each call must be looked at closely. */
DECLARE_PER_CPU(struct memorizer_calls *, memorizer_calls_fast);

extern struct mutex memorizer_calls_mutex;	/* tables are not given back */

unsigned long memorizer_calls_function(u64 edge);

/* calls_entry.S */
void memorizer_calls_entry(void);

/* Called from there. */
void memorizer_call(u64 edge);

#endif /* _MM_MEMORIZER_CALLS_H */
