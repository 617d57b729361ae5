/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages of a store of recordings, for `serve`. */
#ifndef MZ_CMDS_HTML_SERVE_STORE_H
#define MZ_CMDS_HTML_SERVE_STORE_H

#include "base/buf.h"
#include "store/store.h"

/* Whether the name is that of a store: an address, or a file of SQLite. */
bool serve_is_store(const char *name);

/* The page at a path. 0 or -errno with err set: -ENOENT = there is none. *original: the file of
 * a recording that is to be shown instead, to be freed; NULL = none. */
int serve_store_page(const char *store, const char *credentials, const char *path,
		     struct mz_buf *page, char **original, struct mz_error *err);

#endif
