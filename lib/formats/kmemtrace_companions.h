/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of caches and stacks that kmemtrace's extensions number. */
/*
 * They are lines of two files beside the trace, as the kernel has them in debugfs:
 *
 *   caches: "ID OBJECT-SIZE SIZE ALIGN NAME"   stacks: "ID ADDRESS..." in hex
 *
 * with a first line that begins with "# id". A file that is missing, or of another
 * kind, is ignored.
 */
#ifndef MZ_FORMATS_KMEMTRACE_COMPANIONS_H
#define MZ_FORMATS_KMEMTRACE_COMPANIONS_H

#include <memorizer.h>

#include "base/buf.h"

struct mz_kmemtrace_span {
	uint32_t at, len; /* len 0 = there is none */
};

struct mz_kmemtrace_companions {
	struct mz_kmemtrace_span *caches, *stacks; /* by number */
	uint32_t ncaches, nstacks;
	struct mz_buf names; /* bytes */
	struct mz_buf ips;   /* uint64_t */
};

/* From the folder of the trace. 0, or -errno with err set. */
int mz_kmemtrace_companions_load(struct mz_kmemtrace_companions *b, const char *trace,
				 struct mz_error *err);
void mz_kmemtrace_companions_free(struct mz_kmemtrace_companions *b);

/* Parse the text of one file, which is modified; name is for messages. */
int mz_kmemtrace_companions_caches(struct mz_kmemtrace_companions *b, char *text, const char *name,
				   struct mz_error *err);
int mz_kmemtrace_companions_stacks(struct mz_kmemtrace_companions *b, char *text, const char *name,
				   struct mz_error *err);

/* Borrowed until free; NULL = not known. */
const char *mz_kmemtrace_companions_cache(const struct mz_kmemtrace_companions *b, uint32_t id,
					  size_t *len);
const uint64_t *mz_kmemtrace_companions_stack(const struct mz_kmemtrace_companions *b, uint32_t id,
					      size_t *depth);

#endif
