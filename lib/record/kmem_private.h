/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the kernel recorder share. */
#ifndef MZ_RECORD_KMEM_PRIVATE_H
#define MZ_RECORD_KMEM_PRIVATE_H

#include <pthread.h>

#include "base/buf.h"
#include "record/kmem.h"

struct kmemtrace; /* the skeleton */
struct bpf_link;
struct mz_kallsyms;

/* Events that are missing, found by one check, and since when they may be missing. */
struct kmem_loss {
	uint64_t full, deep, reentry;
	uint64_t since, reentry_since;
};

/* One consumer: a CPU's rings, and the file that they go to. */
struct kmem_drain {
	struct mz_kmem *k;
	unsigned cpu;
	pthread_t thread;
	bool started;
	char path[512];
	struct mz_writer *w;
	uint64_t last_time;
	uint64_t looked;       /* when its losses were counted last */
	struct kmem_loss seen; /* counted so far: full, deep */
	struct kmem_loss due;  /* counted at the last check, written after the next drain */
	uint64_t written;      /* events; read by others */
	uint64_t told_lost;
	uint64_t reentry; /* assigned to this file by the main thread, to be written */
	uint64_t reentry_since;
	uint64_t reentry_given; /* so far, by the main thread */
	uint32_t strings[KMT_CACHES];
	uint64_t *site_keys; /* call site -> stack of the file */
	uint32_t *site_ids;
	uint32_t *stack_ids; /* stack of the map -> stack of the file */
	uint32_t pending;    /* stack of the next record; 0 = it has none */
	uint32_t last_stack; /* the newest of the file */
	struct mz_buf ips;   /* of all its stacks */
	struct mz_event *batch;
	size_t batched;
	struct mz_error err; /* the thread's own until failed is set */
	bool failed;
};

struct mz_kmem {
	struct mz_kmem_options o;
	struct kmemtrace *skel;
	unsigned ncpus;
	uint32_t ring, small; /* records */
	uint32_t sums;
	struct kmt_cpu *cpus; /* mapped */
	struct kmt_rec *rings;
	struct kmt_cache *caches;
	struct kmt_sum *sum;
	size_t mapped[4];
	int stacks_fd;
	struct bpf_link *links[32];
	unsigned nlinks;
	uint64_t misses_before;	    /* the kernel's count at the start */
	uint64_t misses;	    /* from the start to the end */
	struct kmem_misses *by_cpu; /* the same by CPU; NULL = this kernel does not report it */
	bool cpu_known;		    /* the threads may attribute missed events to CPUs */
	bool stopped;
	uint64_t start;	 /* ns of CLOCK_MONOTONIC, like all times here */
	uint64_t looked; /* when the missed events were counted last */
	int stop;	 /* 1: drain what is there and end */
	struct kmem_drain *drains;
	struct mz_kallsyms *syms;
};

enum { KMEM_STACKS = 65536, KMEM_SITES = 8192 };

/* kmem_btf.c: which tracepoints there are, and where their arguments stand. */
int kmem_btf_configure(struct kmemtrace *skel, const struct mz_kmem_options *o,
		       struct mz_error *err);

/* kmem_misses.c: events that our programs did not see. */
struct kmem_misses;
uint64_t kmem_misses_total(const struct mz_kmem *k);
struct kmem_misses *kmem_misses_open(const struct mz_kmem *k); /* NULL = not available here */
void kmem_misses_close(struct kmem_misses *m);
/* Read the counters; false = they cannot be read, or do not agree with the kernel's sum. */
bool kmem_misses_read(struct kmem_misses *m, const struct mz_kmem *k);
void kmem_misses_begin(struct kmem_misses *m); /* from what was read last on */
uint64_t kmem_misses_of(const struct kmem_misses *m, unsigned cpu);

/* kmem_drain.c */
void *kmem_drain_thread(void *drain);
int kmem_drain_open(struct kmem_drain *d, bool overwrite, struct mz_error *err);

/* kmem_files.c */
int kmem_save_file(const char *dir, const char *name, const char *data, size_t len,
		   struct mz_error *err);
int kmem_save_nodes(const char *dir, unsigned cpus, struct mz_error *err);

uint64_t kmem_now(void);

#endif
