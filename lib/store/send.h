/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending recordings to a store, and keeping them on disk while it is away. */
#ifndef MZ_STORE_SEND_H
#define MZ_STORE_SEND_H

#include "store/item.h"

struct mz_store_sending {
	unsigned tries;	       /* while the store is away; 0 = 1 */
	uint64_t (*now)(void); /* ms since 1970; called at each attempt */
	/* Called before each wait: the reason, and for how long. */
	void (*waits)(void *arg, const char *why, double seconds);
	void *arg;
};

/* 1: added, 0: it was there already, -errno with err set: nothing of it counts. */
int mz_store_send(struct mz_store *s, const struct mz_store_item *item,
		  const struct mz_store_sending *how, struct mz_error *err);
/* Whether the error may go away by itself. */
bool mz_store_is_away(int code);

/* Opens a store, and tries again while it is away. As mz_store_open(). */
int mz_store_open_patiently(struct mz_store *s, const char *name, const char *credentials,
			    const struct mz_store_sending *how, struct mz_error *err);

/* ---- the spool: a folder of recordings that wait ---------------------------- */

int mz_store_spool_put(const char *dir, const struct mz_store_item *item, struct mz_error *err);
int mz_store_spool_get(const char *path, struct mz_store_item *item, struct mz_error *err);
/* The files of a spool, by name; a NULL ends them. The caller frees them and the list. NULL:
 * err is set. */
char **mz_store_spool_list(const char *dir, struct mz_error *err);

#endif
