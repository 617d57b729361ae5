/* SPDX-License-Identifier: BSD-2-Clause */
/* The option --metric of verbs that compare, sum up or weigh call sites. */
#ifndef MZ_CMDS_METRIC_H
#define MZ_CMDS_METRIC_H

#include "cmds/cmd.h"

struct mz_profile_value;

extern const char *const metric_words[];
extern const struct mz_opt_old_word metric_old_words[];

/* The member is a const char *: metric_find() knows more than completion offers. */
#define METRIC_OPT(sc, st, m, former, what)                                                        \
	MZ_OPT_METRIC(sc, st, m, former, MZ_OPT_STR, metric_words, metric_old_words,               \
		      what "peak (default), total, live, blocks, temporary, waste, reads, ...")

/* NULL: there is none of that name, and a message was printed. */
const struct mz_profile_value *metric_find(const char *word);

#endif
