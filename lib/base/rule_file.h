/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of rules that people write: one per line, '#' begins a comment. */
#ifndef MZ_BASE_RULE_FILE_H
#define MZ_BASE_RULE_FILE_H

#include <memorizer.h>

/* Called for each line that is not empty, without its comment and the blanks at its end: 0, or
 * -errno with err set, which ends the reading. */
typedef int mz_rule_take(void *arg, const char *rule, const char *path, unsigned line,
			 struct mz_error *err);

/* 0 or -errno with err set. */
int mz_rule_file_read(const char *path, mz_rule_take *take, void *arg, struct mz_error *err);

#endif
