/* SPDX-License-Identifier: BSD-2-Clause */
/* Which code accesses which objects in a KMAP, and what happens to a kind of object. */
#ifndef MZ_CMDS_HTML_HTML_ACCESS_H
#define MZ_CMDS_HTML_HTML_ACCESS_H

#include "analysis/kmap.h"
#include "cmds/html/html.h"

/* "matrix", "access" and "objects", into an open object. 0 or -ENOMEM. */
int html_access_json(struct mz_json *w, const struct mz_kmap_model *m, const struct html_limits *l);

#endif
