/* SPDX-License-Identifier: BSD-2-Clause */
/* The files of a kernel trace in one file. */
#ifndef MZ_EXPORT_KMEM_H
#define MZ_EXPORT_KMEM_H

#include <memorizer.h>

struct mz_kmem_input;
struct mz_kmemtrace_layout;

/* Joins them into a container. output NULL: standard output. *lost: events, as the files say. All:
 * 0 or -errno with err set. */
int mz_kmem_join(struct mz_kmem_input *in, const char *output, bool best, bool overwrite,
		 uint64_t *lost, struct mz_error *err);

/* What the raw formats of kmemtrace did not take. */
struct mz_kmem_raw_left {
	uint64_t lost;	 /* events that the files say were lost */
	uint64_t events; /* that cannot be written */
	const char *why; /* the last of those cannot */
};

/* Writes the events as raw records of kmemtrace, in order of time. */
int mz_kmem_write_raw(struct mz_kmem_input *in, const struct mz_kmemtrace_layout *layout,
		      const char *output, bool overwrite, struct mz_kmem_raw_left *left,
		      struct mz_error *err);

#endif
