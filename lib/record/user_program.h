/* SPDX-License-Identifier: BSD-2-Clause */
/* The programs that are being recorded, and the file that each of them gets. */
#ifndef MZ_RECORD_USER_PROGRAM_H
#define MZ_RECORD_USER_PROGRAM_H

#include <memorizer.h>
#include <uapi/memorizer/record.h>

#include <sys/types.h>

#include "record/user_region.h"
#include "record/user_stacks.h"
#include "trace/event.h"

#define RECORD_BATCH 256

/* Stack numbers come from the program. They are looked up in pages that are allocated when one of
 * their numbers occurs, so that a single large number costs one page. */
#define SITE_PAGE  1024u
#define SITE_PAGES (1u << 18)

/* How long threads of a program waited for room in their rings, as it says itself. */
struct mz_user_waits {
	uint64_t count;
	uint64_t ns, longest;
};

/* Blocks that are not in the file, and when blocks were left out by thinning. */
struct mz_user_unrecorded {
	uint64_t allocs, bytes, frees;
};

struct mz_user_thinning {
	struct mz_user_unrecorded unrecorded;
	uint64_t first, last; /* ns */
	uint32_t weight;      /* the greatest */
};

struct mz_user_program {
	bool is_open;		   /* its file */
	bool ended;		   /* its process is gone, or has become another program */
	bool locked;		   /* it holds a lock as long as it lives; otherwise pidfd shows
				      whether it does */
	uint32_t pid;		   /* as it says itself */
	uint64_t start;		   /* the same, by the clock of the region */
	struct mz_process process; /* as it is here */
	int pidfd;		   /* -1 = none */
	unsigned number;
	char *path; /* of the file */
	char program[224];
	struct mz_writer *writer;
	struct mz_event batch[RECORD_BATCH];
	size_t count;
	uint32_t **sites; /* number of a stack in the region -> its site in the file */
	uint32_t site_pages;
	uint32_t modules;
	struct mz_user_pools *pools; /* of the program's own; NULL = none yet */
	struct mz_stack_share stacks;
	uint32_t last_stack;  /* of those in the file */
	uid_t uid;	      /* that it belongs to */
	uint32_t blind;	      /* enum mz_blind */
	uint64_t asked;	      /* bytes, in all recorded calls */
	uint64_t anonymous;   /* bytes of memory that is of no file, the most that was seen */
	uint64_t before;      /* of them, at the first look at a program that was running already */
	uint64_t looked;      /* when, in ns */
	uint64_t stack_bytes; /* about what the different ones take */
	uint32_t strings;     /* different ones */
	uint64_t text_bytes;
	uint64_t unwritten; /* see mz_user_files */
	uint32_t left;	    /* enum mz_left */
	struct mz_user_waits waits;
	struct mz_user_thinning thinning;
	uint8_t given_up; /* reallocs of which the end did not come */
	uint64_t last_time;
	uint64_t events;
	uint64_t lost[MZ_LOSSES];
};

/* Numbers of files of one recording. A program beyond them is not recorded. */
#define MOST_FILES 100000u

struct mz_user_files {
	const char *output; /* of the first image */
	bool force;
	bool attached; /* the program was running before */
	unsigned made; /* the last number */
	struct mz_error *err;
	const char *command;  /* line, for the header */
	uint64_t start_unix;  /* ns */
	uint64_t resolution;  /* of times, in ns, a power of two; 0 = as they are */
	const char *spool;    /* folder of records that wait; NULL = that of the output */
	uint64_t spool_limit; /* bytes; 0 = SPOOL_LIMIT */
	bool behind;	      /* too many records wait for packing */
	bool beside;	      /* many records wait, and a second thread helps to pack them */
	bool waits;	      /* programs wait where they would lose events */
	bool drops;	      /* they neither wait nor thin */
	unsigned sample;      /* one small block in 2^sample is enough, from the start */
	/* what all programs together keep in memory: no program can exceed it */
	uint64_t stack_bytes, text_bytes;
	uint64_t pool_blocks;
	uint32_t site_pages;
	uint64_t unwritten; /* bytes of events that are not in their files yet */
	unsigned open;	    /* programs */
	/* what is kept of each finished file, in the order that they were begun */
	struct mz_user_done {
		unsigned number;
		char *path;
		char program[224];
		uint32_t pid;
		uint64_t events;
		uint64_t lost[MZ_LOSSES];
		uint64_t bytes;
		struct mz_stack_share stacks;
		struct mz_user_waits waits;
		struct mz_user_thinning thinning;
		uint32_t left;	 /* enum mz_left */
		uint32_t blind;	 /* enum mz_blind */
		uint64_t unseen; /* bytes of its memory that no recorded call explains */
	} * done;
	size_t done_count, done_cap;
};

/* All: 0, or -errno with files->err set. from is a copy of what the program says, process
 * what was found out. */
int mz_user_program_open(struct mz_user_files *f, struct mz_user_program *m,
			 const struct mz_program_slot *from, const struct mz_process *process);
int mz_user_program_add(struct mz_user_files *f, struct mz_user_program *m,
			const struct mz_event *ev);
/* The batch is full, or the program is over. */
int mz_user_program_flush(struct mz_user_files *f, struct mz_user_program *m);

/* Room for the next event, all zeros: it is made in place. mz_user_program_made() then adds it.
 * Inline, both: they are most of what an event costs here. */
static inline struct mz_event *mz_user_program_next(struct mz_user_program *m)
{
	typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));
	pair *to = (pair *)&m->batch[m->count];

	/* a struct of zeros is a slow string instruction */
	to[0] = to[1] = to[2] = to[3] = to[4] = to[5] = (pair){0};
	return (struct mz_event *)to;
}

static inline int mz_user_program_made(struct mz_user_files *f, struct mz_user_program *m)
{
	struct mz_event *e = &m->batch[m->count++];

	/* the two clocks are read at slightly different moments: times must not go backwards */
	if (e->time < m->last_time)
		e->time = m->last_time;
	m->last_time = e->time;
	if (f->resolution)
		e->time &= -f->resolution;
	if (e->kind == MZ_ALLOC || e->kind == MZ_REALLOC)
		m->asked += e->size * mz_event_weight(e);
	if (__builtin_expect(e->kind == MZ_LOST, 0))
		m->lost[e->arg < MZ_LOSSES ? e->arg : MZ_LOSS_UNKNOWN] += e->size;
	else
		m->events++;
	return m->count == RECORD_BATCH ? mz_user_program_flush(f, m) : 0;
}
/* Where the number that the file has for a stack is kept; NULL = there is no room
 * for this number. */
uint32_t *mz_user_program_site(struct mz_user_files *f, struct mz_user_program *m, uint64_t number);
/* What is kept there; 0 = nothing. */
static inline uint32_t mz_user_program_known(const struct mz_user_program *m, uint64_t number)
{
	uint64_t page = number / SITE_PAGE;

	return m->sites && page < SITE_PAGES && m->sites[page] ? m->sites[page][number % SITE_PAGE]
							       : 0;
}
/* Measures how much memory the program has, if it is time to. */
void mz_user_program_look(struct mz_user_program *m);
/* The program itself reports that it has this many bytes. */
static inline void mz_user_program_has(struct mz_user_program *m, uint64_t bytes)
{
	m->anonymous = bytes > m->anonymous ? bytes : m->anonymous;
}
/* The file is complete; m is freed. */
int mz_user_program_close(struct mz_user_files *f, struct mz_user_program *m);
/* After an error: m is freed; what was written stays, under its temporary name. */
void mz_user_program_drop(struct mz_user_files *f, struct mz_user_program *m);
void mz_user_files_free(struct mz_user_files *f);

#endif
