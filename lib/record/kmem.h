/* SPDX-License-Identifier: BSD-2-Clause */
/* Recording the kernel's allocations on an unpatched kernel. */
/*
 * BPF programs are attached to the kmem tracepoints, and there is one ring, thread and file per
 * CPU. load -> attach -> start ... poll ... detach -> stop -> finish -> free
 */
#ifndef MZ_RECORD_KMEM_H
#define MZ_RECORD_KMEM_H

#include <memorizer.h>
#include <uapi/memorizer/kmemtrace.h>

enum mz_kmem_events {
	MZ_KMEM_SLAB = 1 << 0,
	MZ_KMEM_PAGES = 1 << 1,
	MZ_KMEM_VMALLOC = 1 << 2,
	MZ_KMEM_PERCPU = 1 << 3,
};

struct mz_kmem_options {
	unsigned groups;     /* enum mz_kmem_events */
	uint64_t ring_bytes; /* per CPU */
	const char *cache;   /* this cache only; NULL = all */
	uint32_t pid;	     /* allocations of this process only; 0 = all */
	uint64_t cgroup;     /* of this cgroup (v2 id); 0 = all */
	uint32_t sample;     /* record one block in this many; 0, 1 = all */
	bool stacks;
	bool rescue;	      /* two programs per tracepoint: nothing is lost to interrupts */
	bool summary;	      /* count in the kernel, record nothing */
	uint32_t live_blocks; /* summary: follow up to this many blocks to their frees; 0 = none */
};

/* Everything the kernel side counted, all CPUs and levels together. */
struct mz_kmem_counts {
	uint64_t seen;	     /* events met by the programs */
	uint64_t nulls;	     /* frees of NULL, not recorded */
	uint64_t own;	     /* the recorder's own, not recorded */
	uint64_t filtered;   /* not requested */
	uint64_t recorded;   /* put into a ring, or counted by the summary */
	uint64_t full;	     /* lost: ring full */
	uint64_t deep;	     /* lost: nested too deeply */
	uint64_t misses;     /* events that a first program could not take */
	uint64_t rescued;    /* of those: taken by the second */
	uint64_t no_cache;   /* recorded without the cache's name */
	uint64_t no_stack;   /* recorded without their stack */
	uint64_t no_free;    /* tracked blocks whose free will be missing */
	uint64_t other;	     /* summary: without a row */
	uint64_t unfollowed; /* live: allocations that are not in it, there was no room */
	uint64_t reused;     /* live: blocks taken off late, their free was not seen */
};

/* Lost because neither program could run. */
static inline uint64_t mz_kmem_reentry(const struct mz_kmem_counts *c)
{
	return c->misses > c->rescued ? c->misses - c->rescued : 0;
}

static inline uint64_t mz_kmem_lost(const struct mz_kmem_counts *c)
{
	return c->full + c->deep + mz_kmem_reentry(c);
}

/* All that was to be recorded: written or lost. */
static inline uint64_t mz_kmem_produced(const struct mz_kmem_counts *c)
{
	return c->seen - c->nulls - c->own - c->filtered + c->deep + mz_kmem_reentry(c);
}

struct mz_kmem;

struct mz_kmem *mz_kmem_load(const struct mz_kmem_options *options, struct mz_error *err);
int mz_kmem_attach(struct mz_kmem *k, struct mz_error *err);
/* No event is counted after it. */
void mz_kmem_detach(struct mz_kmem *k);
void mz_kmem_free(struct mz_kmem *k);

/* Start one thread and one file per CPU; the folder exists and contains kallsyms. */
int mz_kmem_start(struct mz_kmem *k, const char *dir, bool overwrite, struct mz_error *err);
/* After detach: empty the rings and end the threads, if they still run. Their first error is
 * returned, each time. */
int mz_kmem_stop(struct mz_kmem *k, struct mz_error *err);
/* Stop, close the files, check the account. */
int mz_kmem_finish(struct mz_kmem *k, struct mz_error *err);

/* At any time. */
void mz_kmem_counts(struct mz_kmem *k, struct mz_kmem_counts *counts);
uint64_t mz_kmem_written(const struct mz_kmem *k); /* events in the files so far */
uint64_t mz_kmem_bytes(const struct mz_kmem *k);   /* of the files so far */
unsigned mz_kmem_cpus(const struct mz_kmem *k);
uint64_t mz_kmem_ring_bytes(const struct mz_kmem *k); /* per CPU, as allocated */
/* A part of the system has failed (a disk is full): 0 or -errno, with err. */
int mz_kmem_failed(struct mz_kmem *k, struct mz_error *err);

/* What goes beside the traces (kmem_files.c). */
int mz_kmem_save_kallsyms(const char *dir, struct mz_error *err);
/* After stop, before finish: the tables go into the files as well. */
int mz_kmem_save_tables(struct mz_kmem *k, const char *dir, struct mz_error *err);
int mz_kmem_save_loss(struct mz_kmem *k, const char *dir, struct mz_error *err);

/* The rows of a summary, CPUs and levels added up; freed by the caller. */
struct mz_kmem_row {
	uint64_t site;
	uint8_t kind;
	char cache[KMT_NAME];
	uint64_t count, req, given, failed;
	uint64_t live, live_bytes; /* allocated since the start and not freed */
};
#define MZ_KMEM_LIVE_MOST (1u << 26)
/* How many blocks can be followed with a small part (1/128) of the memory. */
uint32_t mz_kmem_live_default(void);
struct mz_kmem_row *mz_kmem_summary(struct mz_kmem *k, size_t *rows);

#endif
