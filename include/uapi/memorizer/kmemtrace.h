/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the BPF programs and the recorder share: the record, the rings, and the
 * counters that make produced = written + lost provable. Fixed width, no
 * padding. Needs uint8_t and its like (or the BPF side's own) before it.
 */
#ifndef MEMORIZER_UAPI_KMEMTRACE_H
#define MEMORIZER_UAPI_KMEMTRACE_H

/* What happened: 4 bits of a record. */
enum kmt_kind {
	KMT_NONE,
	KMT_KMALLOC,
	KMT_KFREE,
	KMT_CACHE_ALLOC,
	KMT_CACHE_FREE,
	KMT_PAGE_ALLOC,
	KMT_PAGE_FREE,
	KMT_VMALLOC,
	KMT_VFREE,
	KMT_PERCPU_ALLOC,
	KMT_PERCPU_FREE,
	KMT_STACK, /* the stack of the record that follows: its id is in ptr */
	KMT_KINDS
};

#define KMT_TIME_BITS 60 /* 36 years of ns since boot */

struct kmt_rec {
	uint64_t time_kind; /* time in ns since boot; the kind in the top 4 bits */
	uint64_t ptr;
	uint64_t site;
	uint32_t req;	/* bytes; VMALLOC: pages */
	uint32_t given; /* the same */
	uint32_t gfp;
	uint32_t pid;
	uint32_t tid;
	uint16_t cache; /* index into the definitions; 0 = none or unknown */
	int16_t node;	/* as requested; -1 = any */
};

/*
 * An interrupt may come while a program runs, and make events of its own. What
 * it does is nested strictly, so each level writes a ring of its own, without
 * atomics: task, softirq, hardirq, NMI.
 */
#define KMT_LEVELS 4

struct kmt_level {
	uint64_t head;	   /* records written; stored last */
	uint64_t seen;	   /* events that the programs saw at this level */
	uint64_t nulls;	   /* of them: kfree(NULL), not recorded */
	uint64_t own;	   /* of them: made by the recorder itself, not recorded */
	uint64_t filtered; /* of them: excluded by a filter (pid, cgroup, cache, sample) */
	uint64_t full;	   /* of them: lost, the ring was full */
	uint64_t rescued;  /* of them: seen by the second program, the first was busy */
	uint64_t extra;	   /* records in the ring that are no events: stacks */
};

#define KMT_FRAMES 16

/* One per CPU. The first part is written by the CPU alone, the last by the
 * recorder alone. */
struct kmt_cpu {
	uint32_t level;		    /* programs running on this CPU */
	uint16_t caches;	    /* described so far */
	uint16_t busy;		    /* one is being described */
	uint64_t deep;		    /* events lost: more than KMT_LEVELS programs nested */
	uint64_t no_cache;	    /* records whose cache found no place in the table */
	uint64_t no_stack;	    /* records whose stack found no place in the map */
	uint64_t no_free;	    /* tracked blocks pushed out: their frees will be missing */
	uint64_t other;		    /* summary: events that found no row */
	uint64_t unfollowed;	    /* live: blocks that found no place in the map */
	uint32_t task_frame;	    /* context that the first program handled last, in a task */
	uint32_t irq_frames;	    /* some of frame[] are in use */
	uint32_t frame[KMT_FRAMES]; /* the same, in interrupts */
	uint64_t reused; /* live: blocks whose free was not seen: their address was reused */
	uint64_t pad[7];
	struct kmt_level lv[KMT_LEVELS];
	uint64_t tail[KMT_LEVELS]; /* records read */
	uint64_t pad2[4];
};

/* The recorder's own live blocks, so that their frees are left out too. */
#define KMT_OWN_BUCKETS 4096
#define KMT_OWN_WAYS	4
struct kmt_own {
	uint64_t ptr[KMT_OWN_WAYS];
};

/* A cache, described once, when it is first met. */
#define KMT_NAME 64
struct kmt_cache {
	uint64_t ready; /* stored last */
	uint64_t addr;	/* of the struct kmem_cache */
	uint32_t object_size;
	uint32_t size;
	uint32_t align;
	uint32_t unused;
	char name[KMT_NAME];
};

/* Where to look a cache up: KMT_WAYS places from its hash on. Both tables are a
 * CPU's own: so is the number of a cache. */
#define KMT_CACHES 1024
#define KMT_WAYS   4
#define KMT_KEEP   0x10000u
struct kmt_seen {
	uint64_t addr;
	uint64_t name; /* pointer: a new name is a new cache */
	uint64_t id;   /* KMT_KEEP: it passes the filter */
};

/* Summary: one row per CPU, level, call site, kind and cache. */
#define KMT_SUM_PROBES 8
struct kmt_sum {
	uint64_t site;
	uint32_t key; /* kind, cache; 0 = free row */
	uint32_t unused;
	uint64_t count;
	uint64_t req;
	uint64_t given;
	uint64_t failed; /* allocations that gave no memory */
	uint64_t live;	 /* blocks of this row not freed yet; any CPU writes it */
	uint64_t live_bytes;
};

/* A block that is followed to its free: the row in which it is counted. */
struct kmt_live {
	uint32_t row; /* of the sums */
	uint32_t given;
};

#define KMT_STACK_DEPTH 32

/* Counting what was missed, by CPU: how many of both there may be. */
#define KMT_MISS_PROGRAMS 16
#define KMT_MISS_CPUS	  256

/* Positions of a tracepoint's arguments, from BTF; 0 = there is none. */
struct kmt_args {
	uint8_t req, given, cache, gfp, node;
};

_Static_assert(sizeof(struct kmt_rec) == 48, "kmt_rec has no padding");
_Static_assert(sizeof(struct kmt_level) == 64, "a level is a cache line");
_Static_assert(sizeof(struct kmt_cpu) % 64 == 0, "CPUs share no cache line");
_Static_assert(sizeof(struct kmt_sum) == 64, "a row is a cache line");
_Static_assert(sizeof(struct kmt_cache) == 96, "kmt_cache has no padding");
_Static_assert(KMT_KINDS <= 16, "a kind fits its 4 bits");

#endif
