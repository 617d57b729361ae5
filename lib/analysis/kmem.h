/* SPDX-License-Identifier: BSD-2-Clause */
/* The report on a kernel trace. */
/*
 * It shows call sites, waste, frees on other CPUs, inconsistencies, and what was never freed. It is
 * fed from one or more files (one per CPU) in the order of time, in one pass; memory grows with the
 * number of addresses, not of events.
 */
#ifndef MZ_ANALYSIS_KMEM_H
#define MZ_ANALYSIS_KMEM_H

#include <memorizer.h>

#include "base/buf.h"
#include "base/pair_index.h"
#include "trace/early_end.h"
#include "trace/event.h"

struct mz_kallsyms;
struct mz_symbols;

/* ---- the files ---------------------------------------------------------- */

struct mz_kmem_input;

/* A folder of kmemtraced, or trace files. NULL with err set. */
/* flags: enum mz_open_flags. */
struct mz_kmem_input *mz_kmem_input_open(char **paths, int n, unsigned flags, struct mz_error *err);
/* The same, of which the first file is already open; it takes over the file, on failure as well. */
struct mz_kmem_input *mz_kmem_input_of(struct mz_reader *r, char **paths, int n, unsigned flags,
				       struct mz_error *err);
void mz_kmem_input_close(struct mz_kmem_input *in);

/* The next event of all files by time; site and cache are numbers over all files, and
 * *stack that of the whole stack (see keep_stacks). The text of a mark is numbered like a cache,
 * plus 1; 0 = it has none. 1, 0 at the end, -errno with err set. */
int mz_kmem_input_next(struct mz_kmem_input *in, struct mz_event *ev, uint32_t *stack,
		       struct mz_error *err);
/* Up to max of them, in place until the next call: how many, 0 at the end, -errno with err set. */
long mz_kmem_input_read(struct mz_kmem_input *in, const struct mz_event **ev, uint32_t *stacks,
			size_t max, struct mz_error *err);

/* Before the first event: allocations and frees come with the number of their whole stack; 0 = the
 * site is all that is known. Without this call all are 0. 0 or -ENOMEM. */
int mz_kmem_input_keep_stacks(struct mz_kmem_input *in);
/* Its addresses, innermost first; NULL = there is none of that number. */
const uint64_t *mz_kmem_input_stack(const struct mz_kmem_input *in, uint32_t stack, size_t *depth);

uint64_t mz_kmem_input_site(const struct mz_kmem_input *in, uint32_t site);	 /* its address */
const char *mz_kmem_input_cache(const struct mz_kmem_input *in, uint32_t cache); /* NULL: lost */
uint32_t mz_kmem_input_sites(const struct mz_kmem_input *in); /* numbers are below it */
uint32_t mz_kmem_input_caches(const struct mz_kmem_input *in);
const struct mz_kallsyms *mz_kmem_input_symbols(const struct mz_kmem_input *in);
/* The source file of the site ("mm/slub.c"), by the System.map beside the trace;
 * NULL = not known. */
const char *mz_kmem_input_file(const struct mz_kmem_input *in, uint32_t site);
bool mz_kmem_input_has_files(const struct mz_kmem_input *in);
int mz_kmem_input_node(const struct mz_kmem_input *in, int cpu); /* -1 = unknown */
/* An attribute added up over the files (kmem.nulls and its like); 0 = none. */
uint64_t mz_kmem_input_sum(const struct mz_kmem_input *in, const char *key);
/* The first file's, or NULL. */
const char *mz_kmem_input_text(const struct mz_kmem_input *in, const char *key);
bool mz_kmem_input_by_sequence(const struct mz_kmem_input *in); /* time counts events */
/* All files of a recording whose events are numbered over all CPUs: their order is
 * that of the numbers, and a gap comes as MZ_LOST. */
bool mz_kmem_input_numbered(const struct mz_kmem_input *in);
unsigned mz_kmem_input_files(const struct mz_kmem_input *in);
/* One file by itself, for callers that do not read by time; in keeps it. */
struct mz_reader *mz_kmem_input_reader(const struct mz_kmem_input *in, unsigned i);
unsigned mz_kmem_input_cut(const struct mz_kmem_input *in); /* files without their end */
struct mz_early_end mz_kmem_input_early_end(const struct mz_kmem_input *in); /* the same */

/* Before the first event: symbols instead of those in and beside the files; it takes them over. */
void mz_kmem_input_use(struct mz_kmem_input *in, struct mz_symbols *named);
/* The function of the site by the files named; NULL = not known. */
const char *mz_kmem_input_function(const struct mz_kmem_input *in, uint32_t site);
/* Adds the lines of kallsyms that the file itself contains, of its own call sites. False: it has
 * none. */
bool mz_kmem_own_list(const struct mz_reader *r, struct mz_buf *lines);

/* ---- the report --------------------------------------------------------- */

#define MZ_KMEM_BUCKETS 352 /* of a lifetime: 8 to a doubling */

struct mz_kmem_group {
	uint64_t allocs;
	uint64_t failed;
	uint64_t ended; /* blocks of it that were freed */
	uint64_t req, given;
	uint64_t freed_given;
	uint64_t live, live_req, live_given; /* now; at the end, never freed */
	uint64_t peak_given, peak_live;
	uint64_t cross_cpu, cross_node; /* of ended */
	uint64_t over_live;		/* blocks that ended unseen */
	uint64_t unseen;		/* of those: only an unseen free can explain the end */
	uint64_t again;			/* addresses freed again with no allocation between */
	uint64_t unknown;    /* frees (into this cache, by this site) of blocks never seen */
	uint64_t oldest;     /* at the end: birth of the oldest live block */
	uint64_t freed_here; /* sites: frees made by this site */
	uint8_t allocator;   /* of its last allocation */
	uint32_t *lifetimes; /* MZ_KMEM_BUCKETS, once something ended */
};

/* A size at a call site, for the advice. */
struct mz_kmem_shape {
	uint32_t site;
	uint32_t req, given;
	uint32_t live, peak;
	uint64_t allocs;
};

#define MZ_KMEM_RECENT 4096 /* shapes that are found without a search; a power of two */

struct mz_kmem_block {
	uint64_t addr;
	union {
		uint64_t born;
		uint64_t freed; /* once it is FREED: when */
	};
	union {
		uint32_t site;
		uint32_t freer; /* once it is FREED: the call site that freed it */
	};
	uint32_t cache;
	union {
		uint32_t shape;
		uint32_t cache_allocs; /* once it is FREED: allocations of its cache until then */
	};
	uint32_t req, given;
	uint32_t page; /* private */
	int16_t cpu;
	uint8_t state;
	uint8_t call;
	uint8_t of; /* enum mz_kmem_allocator */
	bool again; /* it was freed again once, with no allocation between */
};

struct mz_kmem_one {
	struct mz_kmem_block block;
	uint64_t died; /* 0 = lives */
	int16_t died_cpu;
};

enum mz_kmem_class { MZ_KMEM_BUG, MZ_KMEM_LEGAL, MZ_KMEM_BLIND, MZ_KMEM_LOSS, MZ_KMEM_CLASSES };

enum mz_kmem_what {
	MZ_KMEM_FREE_KMALLOC, /* kmem_cache_free() of kmalloc memory */
	MZ_KMEM_WRONG_CACHE,  /* kmem_cache_free() to another cache */
	MZ_KMEM_TOO_SMALL,    /* less memory given than requested */
	MZ_KMEM_DOUBLE_FREE,
	MZ_KMEM_KFREE_CACHE,  /* kfree() of a cache's object */
	MZ_KMEM_UNSEEN_FREE,  /* allocated while still live */
	MZ_KMEM_UNSEEN_ALLOC, /* freed again, or never seen allocated in a known page */
	MZ_KMEM_WHATS
};

struct mz_kmem_finding {
	uint8_t what;
	uint8_t class;
	int16_t cpu;
	uint32_t site;	/* that allocated, or freed first */
	uint32_t site2; /* that did it */
	uint32_t cache, cache2;
	uint32_t req, given;
	uint64_t addr;
	uint64_t from, to; /* the times between which it came about */
	bool recycled;	   /* other caches were seen in the page meanwhile */
};

struct mz_kmem_gap {
	uint64_t from, to;
	uint64_t events;
	int16_t cpu; /* -1 = not known */
	uint8_t cause;
};

struct mz_kmem_advice {
	uint32_t site;
	uint32_t req, given;
	uint32_t own; /* bytes an object would take in a cache of its own */
	uint64_t allocs;
	uint64_t peak;
	uint64_t saves; /* bytes, at the peak of this size at this site */
};

/* Called for each block that is allocated or freed by the event e, as the report counts it. 0 or
 * -ENOMEM, which ends the pass. */
struct mz_kmem_watch {
	/* stack: as mz_kmem_input_next() returns it */
	int (*came)(void *arg, const struct mz_kmem_block *b, uint32_t stack);
	int (*went)(void *arg, const struct mz_kmem_block *b, const struct mz_event *e);
	void *arg;
};

struct mz_kmem_filter {
	const struct mz_kmem_watch *watch; /* NULL = none */
	const char *caller;		   /* part of a function's name */
	const char *cache;
	struct mz_time_range time;
	size_t ones; /* allocations to keep; 0 = all */
};

/* Allocators are built on each other: a slab's memory consists of pages, too. */
enum mz_kmem_allocator {
	MZ_KMEM_OF_SLAB,
	MZ_KMEM_OF_PAGES,
	MZ_KMEM_OF_VMALLOC,
	MZ_KMEM_OF_PERCPU,
	MZ_KMEM_ALLOCATORS
};

/* "slab", "pages", "vmalloc", "percpu" */
const char *mz_kmem_allocator_name(enum mz_kmem_allocator of);

struct mz_kmem_report {
	struct mz_kmem_input *in;
	struct mz_kmem_filter filter;
	uint64_t events, produced;
	uint64_t first, last; /* times */
	struct mz_kmem_group total;
	struct mz_kmem_group of[MZ_KMEM_ALLOCATORS]; /* the same by allocator */
	/* The moment with most bytes requested; the peaks of groups are of bytes given. */
	uint64_t live_asked; /* private: now */
	struct {
		uint64_t bytes, blocks, waste;
		uint64_t event, time;
	} peak;
	struct mz_kmem_group *sites, *caches;
	uint32_t nsites, ncaches;
	uint64_t unknown_frees; /* allocated before the trace, or unseen */
	uint64_t lost[MZ_LOSSES], lost_all;
	uint64_t largest; /* block, in bytes: what one lost event can change at most */
	unsigned ncpus, nnodes;
	uint64_t *cpu_matrix;  /* [alloc * ncpus + free] */
	uint64_t *node_matrix; /* NULL = no map */
	struct mz_kmem_one *ones;
	size_t nones, cap_ones;
	struct mz_kmem_finding *findings;
	size_t nfindings, cap_findings;
	uint64_t findings_dropped;
	uint64_t counts[MZ_KMEM_CLASSES][MZ_KMEM_WHATS];
	struct mz_kmem_gap *gaps;
	size_t ngaps, cap_gaps;
	struct mz_kmem_shape *shapes;
	size_t nshapes, cap_shapes;
	struct mz_pair_index shape_index;	/* site and req, given -> shape */
	uint32_t recent_shapes[MZ_KMEM_RECENT]; /* by a hash of site and req; + 1, 0 = none */
	struct mz_kmem_advice *advice;
	size_t nadvice;
	struct mz_kmem_live *live; /* private */
	uint32_t stack;		   /* private: of the event in hand */
};

/* Reads all of in, which stays the caller's. 0 or -errno with err set. */
int mz_kmem_report_make(struct mz_kmem_report *r, struct mz_kmem_input *in,
			const struct mz_kmem_filter *filter, struct mz_error *err);
void mz_kmem_report_free(struct mz_kmem_report *r);

/* The lifetime that a part of the ended blocks did not exceed; 0 = none ended. */
uint64_t mz_kmem_lifetime(const struct mz_kmem_group *g, double part);

const char *mz_kmem_what_name(enum mz_kmem_what what);
const char *mz_kmem_class_name(enum mz_kmem_class class);
/* Numbers from here on are size classes of kmalloc and other allocators. */
#define MZ_KMEM_CLASS (1u << 16)
/* The number of the cache that stands at caches[i]. */
uint32_t mz_kmem_cache_at(uint32_t i);
/* Its group; NULL = it did not occur. */
struct mz_kmem_group *mz_kmem_cache_group(const struct mz_kmem_report *r, uint32_t cache);
/* The name of a cache of the report: "dentry", "kmalloc-64". Into buf. */
char *mz_kmem_cache_text(const struct mz_kmem_report *r, uint32_t cache, char *buf, size_t size);
/* The bytes that a block of n bytes takes in a cache of its own, with its share of the slab's
 * rest. */
uint32_t mz_kmem_own_cost(uint32_t n);

/* kmem_anomalies.c, kmem_advice.c: called by make. */
void mz_kmem_classify(struct mz_kmem_report *r);
int mz_kmem_advise(struct mz_kmem_report *r);

#endif
