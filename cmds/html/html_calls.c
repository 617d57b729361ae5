// SPDX-License-Identifier: BSD-2-Clause
/* Write the calls of a KMAP page as JSON, with the accesses of the code at both ends. */
#include "cmds/html/html_calls.h"

#include "cmds/html/html_net.h"

int html_calls_json(struct mz_json *w, const struct mz_kmap_model *m, const struct html_limits *l)
{
	struct mz_kmap_net n;
	int ret;

	if (!m->n_calls)
		return 0;
	ret = mz_kmap_net_of_calls(&n, m, l->nodes);
	if (!ret)
		html_net_json(w, "calls", &n);
	mz_kmap_net_deinit(&n);
	return ret;
}
