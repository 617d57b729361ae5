/* SPDX-License-Identifier: BSD-2-Clause */
/* The events of a recording, whatever it is. */
/*
 * It may be a trace file, or the folder (the files) of a kernel trace, whose events come in the
 * order of time. They have stacks, and names for their addresses.
 */
#ifndef MZ_ANALYSIS_EVENTS_H
#define MZ_ANALYSIS_EVENTS_H

#include <memorizer.h>

#include "trace/early_end.h"

struct mz_events;
struct mz_kmem_input;
struct mz_symbols;

/* What is at an address. Borrowed until the source is closed. */
struct mz_place_name {
	const char *function; /* NULL = not known */
	const char *file;     /* of the source; NULL = not known */
	unsigned line;
	const char *module; /* program, library or kernel module; NULL = not known */
	uint64_t offset;    /* in the module */
};

/* Functions inlined into each other at one address, at most. */
#define MZ_EVENTS_INLINED 16

/* Of a reader, or of the files of a kernel trace, which it takes over, in failure too.
 * NULL with err set. */
struct mz_events *mz_events_of(struct mz_reader *r, struct mz_error *err);
struct mz_events *mz_events_of_kmem(struct mz_kmem_input *in, struct mz_error *err);
void mz_events_close(struct mz_events *s);

/* The next event: 1, 0 at the end, -errno with err set. Objects are set; site
 * and cache are numbers over all files, from 1, 0 = not known. */
int mz_events_next(struct mz_events *s, struct mz_event *ev, struct mz_error *err);

/* Called from time to time with the number of events so far. */
void mz_events_progress(struct mz_events *s, void (*show)(void *arg, uint64_t events), void *arg);

/* Addresses of a stack, innermost first, without the frames of the kernel's recorder: until the
 * next call; NULL = none. */
const uint64_t *mz_events_stack(struct mz_events *s, uint32_t site, size_t *depth);
/* A string by number: a cache, the text of a mark. NULL = none. */
const char *mz_events_string(const struct mz_events *s, uint32_t id, size_t *len);
/* The strings and stacks that the numbers of its events stand for. */
const struct mz_tables *mz_events_tables(const struct mz_events *s);
/* Symbols for a trace of a kernel; it takes them over. */
void mz_events_use(struct mz_events *s, struct mz_symbols *kernel);
/* Otherwise they are looked for when a name is requested; look returns NULL if there are none. */
typedef struct mz_symbols *mz_events_look(void *arg);
void mz_events_look_with(struct mz_events *s, mz_events_look *look, void *arg);
/* The functions at an address, inlined ones first. There is always at least one, perhaps without a
 * name. */
size_t mz_events_names(struct mz_events *s, uint64_t ip,
		       struct mz_place_name out[MZ_EVENTS_INLINED]);

/* Attributes of the (first) file; NULL, 0 = it does not have them. */
const char *mz_events_text(const struct mz_events *s, const char *key);
uint64_t mz_events_number(const struct mz_events *s, const char *key);

bool mz_events_is_kernel(const struct mz_events *s);
bool mz_events_by_sequence(const struct mz_events *s); /* time counts events */
/* Frees of unknown blocks and the like, so far. */
struct mz_unmatched mz_events_unmatched(const struct mz_events *s);
/* How many files end early (trace/early_end.h); known once the events are read. */
unsigned mz_events_files_cut(const struct mz_events *s);
/* Events that the recording lacks, among those read so far; not those left out by sampling. */
uint64_t mz_events_lost(const struct mz_events *s);
struct mz_early_end mz_events_early_end(const struct mz_events *s);
/* The i-th of its files; NULL behind the last. */
struct mz_reader *mz_events_file(const struct mz_events *s, unsigned i);
/* The file, where it is one; NULL otherwise. */
struct mz_reader *mz_events_reader(const struct mz_events *s);

#endif
