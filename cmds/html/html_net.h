/* SPDX-License-Identifier: BSD-2-Clause */
/* The texts and the net of functions (analysis/kmap_net.h) of a KMAP page. */
#ifndef CMDS_HTML_HTML_NET_H
#define CMDS_HTML_HTML_NET_H

#include "analysis/kmap_net.h"
#include "cmds/html/html.h"

#define HTML_NAME 320

/* Texts of the page by number; only the used ones are written. */
struct html_names {
	struct mz_tables *texts;
};

uint32_t html_name_id(struct html_names *n, const char *text);
void html_names_json(struct mz_json *w, const struct html_names *n);

/* Writes only the nodes that links and accesses refer to, with new numbers. */
void html_net_json(struct mz_json *w, const char *key, const struct mz_kmap_net *n);

#endif
