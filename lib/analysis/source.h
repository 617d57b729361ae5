/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The events of a recording, whatever it is: a trace file, or the folder (the
 * files) of a kernel trace in the order of time; with stacks, and names for
 * their addresses.
 */
#ifndef MZ_ANALYSIS_SOURCE_H
#define MZ_ANALYSIS_SOURCE_H

#include <memorizer.h>

struct mz_source;

/* What is at an address. Borrowed until the source is closed. */
struct mz_place_name {
	const char *function; /* NULL = not known */
	const char *file;     /* of the source; NULL = not known */
	unsigned line;
	const char *module; /* program, library or kernel module; NULL = not known */
	uint64_t offset;    /* in the module */
};

/* Functions inlined into each other at one address, at most. */
#define MZ_SOURCE_INLINED 16

/* A file ("-": standard input), a folder of kmemtraced, or several files of a
 * kernel trace. NULL with err set. */
struct mz_source *mz_source_open(char **paths, int n, struct mz_error *err);
/* The same from a reader, which it takes over. */
struct mz_source *mz_source_of(struct mz_reader *r, struct mz_error *err);
void mz_source_close(struct mz_source *s);

/* The next event: 1, 0 at the end, -errno with err set. Objects are set; site
 * and cache are numbers over all files, from 1, 0 = not known. */
int mz_source_next(struct mz_source *s, struct mz_event *ev, struct mz_error *err);

/* Addresses of a stack, innermost first: until the next call; NULL = none. */
const uint64_t *mz_source_stack(struct mz_source *s, uint32_t site, size_t *depth);
/* A string by number: a cache, the text of a mark. NULL = none. */
const char *mz_source_string(const struct mz_source *s, uint32_t id, size_t *len);
/* The functions at an address, what was inlined first; always one at least, of which
 * perhaps nothing is known. */
size_t mz_source_names(struct mz_source *s, uint64_t ip, struct mz_place_name out[MZ_SOURCE_INLINED]);

/* What the (first) file says of itself; NULL, 0 = nothing. */
const char *mz_source_text(const struct mz_source *s, const char *key);
uint64_t mz_source_number(const struct mz_source *s, const char *key);

bool mz_source_is_kernel(const struct mz_source *s);   /* by the events so far */
bool mz_source_by_sequence(const struct mz_source *s); /* time counts events */
/* Frees of unknown blocks and the like, so far. */
struct mz_unmatched mz_source_unmatched(const struct mz_source *s);
/* The file, where it is one; NULL otherwise. */
struct mz_reader *mz_source_reader(const struct mz_source *s);

#endif
