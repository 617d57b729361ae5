// SPDX-License-Identifier: BSD-2-Clause
/* Find the quantity that --metric names, with the same words in all verbs. */
#include "cmds/metric.h"

#include <string.h>

#include "analysis/diff_budget.h"

const char *const metric_words[] = {"peak",	   "total",	  "live",  "blocks",
				    "peak_blocks", "live_blocks", "waste", "temporary",
				    "reads",	   "writes",	  NULL};

/* As the columns of tables are called. */
const struct mz_opt_old_word metric_old_words[] = {
	{"peak_bytes", "peak"}, {"bytes", "total"}, {"live_bytes", "live"}, {0}};

const struct mz_profile_value *metric_find(const char *word)
{
	const struct mz_profile_value *v = mz_budget_value(word, strlen(word));

	if (!v)
		console_usage("--metric: unknown metric '%s'; use peak, total, live, blocks, "
			      "peak_blocks, live_blocks, temporary, waste, reads, writes, ...",
			      word);
	return v;
}
