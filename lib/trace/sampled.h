/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether blocks of a recording stand for others that it does not contain. */
#ifndef MZ_TRACE_SAMPLED_H
#define MZ_TRACE_SAMPLED_H

#include <memorizer.h>

#include "base/json.h"

/* As the recorder counted; see docs/format.md. */
struct mz_sampled {
	uint64_t weight;	       /* the greatest of a block */
	uint64_t allocs, bytes, frees; /* that are not in the recording */
	uint64_t first, last;	       /* time */
};

/* False: every block stands for itself. In a file that was cut, the counts are missing. */
bool mz_sampled_read(const struct mz_reader *r, struct mz_sampled *s);

/* For results that cannot be estimated: 0, or -EINVAL if blocks were sampled; what: "a replay". */
int mz_sampled_refuse(const struct mz_reader *r, const char *what, struct mz_error *err);

/* An object "sampled" with the counts. events: that were left out. */
void mz_sampled_json(const struct mz_sampled *s, uint64_t events, struct mz_json *out);

#endif
