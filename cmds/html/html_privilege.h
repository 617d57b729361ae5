/* SPDX-License-Identifier: BSD-2-Clause */
/* The privileges of a KMAP in its page: PSR by cut, the cut that is found, and which code loses
 * access. */
#ifndef MZ_CMDS_HTML_PRIVILEGE_H
#define MZ_CMDS_HTML_PRIVILEGE_H

#include "analysis/privilege_cluster.h"
#include "cmds/html/html.h"
#include "cmds/kmap/kmap_opts.h"

struct html_privilege {
	struct kmap_load l;
	struct mz_cluster k;
	struct mz_cut_price price, base; /* of the cut; of the cut by folder */
};

/* Reads the map at path again. 0 or -errno with err set; free it in both cases. */
int html_privilege_open(struct html_privilege *s, char *path, const char *symbols,
			const char *functions, struct mz_error *err);
void html_privilege_free(struct html_privilege *s);
int html_privilege_json(struct mz_json *w, struct html_privilege *s, const struct html_limits *l);

#endif
