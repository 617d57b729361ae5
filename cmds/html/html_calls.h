/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of a KMAP, for its page. */
#ifndef CMDS_HTML_HTML_CALLS_H
#define CMDS_HTML_HTML_CALLS_H

#include "cmds/html/html.h"

/* Which code calls which, and what both access; nothing if the map has no calls. 0 or -ENOMEM. */
int html_calls_json(struct mz_json *w, const struct mz_kmap_model *m, const struct html_limits *l);

#endif
