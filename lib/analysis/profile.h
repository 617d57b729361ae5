/* SPDX-License-Identifier: BSD-2-Clause */
/* A recording added up by call stack. */
/*
 * It is the one model behind the profile formats of `export`, and behind `diff`. It is made of a
 * trace, or read from a file that holds no more than that (DHAT, /proc/allocinfo).
 */
#ifndef MZ_ANALYSIS_PROFILE_H
#define MZ_ANALYSIS_PROFILE_H

#include <memorizer.h>

#include "analysis/heap_sum.h"
#include "analysis/timeline.h"
#include "base/buf.h"

struct mz_events;
struct mz_usage;

/* What is known about each stack. */
enum mz_profile_has {
	MZ_PROFILE_TOTAL = 1 << 0, /* blocks, bytes: all that was ever allocated */
	MZ_PROFILE_PEAK = 1 << 1,  /* peak_*, max_* */
	MZ_PROFILE_LIVE = 1 << 2,  /* live_*: at the end */
	MZ_PROFILE_TEMPORARY = 1 << 3,
	MZ_PROFILE_WASTE = 1 << 4,
	MZ_PROFILE_LIFETIME = 1 << 5,
	MZ_PROFILE_ACCESS = 1 << 6, /* reads, writes */
};

/* A place in the code. Strings are UTF-8 or bytes, without NUL. */
struct mz_frame {
	uint64_t addr;	    /* 0 = not known */
	const char *name;   /* the function; else MODULE+0xOFFSET, else 0xADDRESS */
	const char *file;   /* NULL = not known */
	const char *module; /* NULL = not known */
	uint32_t line;	    /* 0 = not known */
	bool named;	    /* name is a function's */
};

struct mz_profile_site {
	uint32_t stack; /* number of the stack; no two sites have the same */
	struct mz_heap_sum sum;
};

enum mz_clock { MZ_CLOCK_NS, MZ_CLOCK_EVENTS, MZ_CLOCK_INSTRUCTIONS };

/* What it is a profile of: only recordings of the same kind can be compared. */
enum mz_profile_kind {
	MZ_PROFILE_PROGRAM,
	MZ_PROFILE_KERNEL,    /* a trace of the kernel's allocators */
	MZ_PROFILE_KMAP,      /* stacks: the function, then what it allocates */
	MZ_PROFILE_ALLOCINFO, /* /proc/allocinfo: what is live now */
};
const char *mz_profile_kind_name(enum mz_profile_kind kind); /* "a trace of a program" */

struct mz_profile {
	enum mz_profile_kind kind;
	const char *source; /* "container", "dhat", ... */
	char *command;	    /* NULL = not known */
	uint64_t pid;
	uint32_t has; /* enum mz_profile_has */
	enum mz_clock clock;
	uint64_t first, last, peak_time; /* by that clock */
	uint64_t events, lost;		 /* 0 = the file does not say */
	uint64_t lost_by[MZ_LOSSES];
	unsigned files_cut; /* files that end early (trace/early_end.h) */
	uint64_t merged;    /* the number of recordings in this sum; 0 = a single recording */
	struct mz_heap_sum all;
	struct mz_profile_site *sites;
	size_t nsites, cap;
	struct mz_timeline *timeline; /* the highest moments of runs of events; NULL = none */
	/* inside */
	struct mz_tables *names;  /* strings, and frames as lists of numbers */
	struct mz_tables *stacks; /* lists of frames */
	uint32_t *by_stack;	  /* number of a stack -> site + 1 */
	size_t by_stack_cap;
	uint32_t *from; /* number of the source's stack -> site + 1 */
	size_t from_cap;
};

const char *mz_profile_title(const struct mz_profile *p); /* the command, "the kernel", "?" */
/* The usual name of the program: the last part of its command, without arguments, or "kernel".
 * Returns buf or a part of it. */
const char *mz_profile_program(const struct mz_profile *p, char *buf, size_t size);

int mz_profile_init(struct mz_profile *p);
void mz_profile_deinit(struct mz_profile *p);

/* ---- building ----------------------------------------------------------- */

/* A frame's number, from 1; 0 = no memory. name may be NULL where an address is
 * known. Strings are copied; a NUL in them becomes a blank. */
uint32_t mz_profile_frame(struct mz_profile *p, uint64_t addr, const char *name, const char *file,
			  uint32_t line, const char *module);
/* The site of a stack of frames, innermost first; no frames: one that says so. NULL =
 * no memory. */
struct mz_profile_site *mz_profile_site(struct mz_profile *p, const uint64_t *frames, size_t depth);

/* The site (index) of a stack of the source, by its number there; it is made, with
 * the names of its frames, if it is new. -ENOMEM. */
int64_t mz_profile_site_of(struct mz_profile *p, struct mz_events *s, uint32_t site);

/* Called after each event, with the usage so far. 0, or -errno to stop. */
typedef int mz_profile_watch(void *arg, const struct mz_event *ev, const struct mz_usage *u);

/* Of a usage that all events of the source were added to; without a timeline. 0 or -ENOMEM. */
int mz_profile_of_usage(struct mz_profile *p, struct mz_events *s, const struct mz_usage *u);

/* Reads all events of the source; watch may be NULL. 0 or -errno with err set. */
int mz_profile_read(struct mz_profile *p, struct mz_events *s, mz_profile_watch *watch, void *arg,
		    struct mz_error *err);

/* ---- queries ------------------------------------------------------------ */

uint32_t mz_profile_frames(const struct mz_profile *p); /* numbers go up to it */
struct mz_frame mz_profile_get_frame(const struct mz_profile *p, uint32_t frame);
/* Frames of a site, innermost first; one at least. */
const uint64_t *mz_profile_stack(const struct mz_profile *p, const struct mz_profile_site *s,
				 size_t *depth);

/* The frame that represents a stack: the innermost whose function does not allocate on behalf
 * of its caller (as operator new and xmalloc do). */
size_t mz_profile_place(const struct mz_profile *p, const struct mz_profile_site *s);

/* The same value of all sites, by name: "peak_bytes". */
struct mz_profile_value {
	const char *name;  /* of the sum's member */
	const char *title; /* "bytes at the peak" */
	size_t offset;
	uint32_t has; /* what must be known */
	bool bytes;   /* else a count */
};
extern const struct mz_profile_value mz_profile_values[];
extern const size_t mz_profile_nvalues;
const struct mz_profile_value *mz_profile_find_value(const char *name);

static inline uint64_t mz_profile_get(const struct mz_profile_value *v,
				      const struct mz_heap_sum *sum)
{
	return *(const uint64_t *)(const void *)((const char *)sum + v->offset);
}

const char *mz_clock_name(enum mz_clock clock);

#endif
