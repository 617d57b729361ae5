/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of `report`, one for each kind of recording that has no verb of its own; and the
 * figures of a user trace, as `report --json` and the page show them. */
#ifndef MZ_CMDS_REPORT_REPORT_H
#define MZ_CMDS_REPORT_REPORT_H

#include "analysis/call_sites.h"
#include "analysis/recording.h"
#include "analysis/usage.h"
#include "base/json.h"
#include "cmds/cmd.h"

/* Into an open object. command NULL = not known. */
void report_json_summary(struct mz_json *out, const struct mz_usage *u, unsigned files_cut,
			 const char *command);

struct report_user_opts {
	size_t rows; /* of a list; 0 = all */
	bool json;
	const char *symbols; /* the root folder of the program's files; NULL = "/" */
	unsigned by;	     /* enum mz_call_by */
	bool stacks;	     /* whole backtraces */
	bool show_wrappers;
	struct mz_opt_list wrappers, wrapper_files, suppressions;
	bool no_suppressions;
	bool strict; /* an incomplete recording is no success */
};

/* All of them read the recording and print; rows of a list, 0 = all. They return enum mz_exit. */
int report_user(struct mz_recording *r, const struct report_user_opts *o);
/* Several programs, merged by name; r: the first of them. */
int report_users(struct mz_recording *r, char **paths, int n, const struct report_user_opts *o);
int report_profile(struct mz_recording *r, size_t rows, bool json);

#endif
