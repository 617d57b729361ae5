/* SPDX-License-Identifier: BSD-2-Clause */
/* A recording as the rows of a store, ready to be sent or kept in a spool. */
#ifndef MZ_STORE_ITEM_H
#define MZ_STORE_ITEM_H

#include "analysis/recording.h"
#include "base/pair_index.h"
#include "store/store.h"

/* The sender's description of a recording. NULL or 0 = as in the recording itself. */
struct mz_store_about {
	const char *program, *revision, *host;
	const char *const *labels; /* "key=value" */
	size_t nlabels;
	uint64_t time; /* ms since 1970; 0 = when the file was last written */
	uint64_t now;  /* the same */
};

struct mz_store_item {
	char digest[MZ_STORE_DIGEST + 1];
	char *program;
	uint64_t day;
	struct mz_store_rows rows[MZ_STORE_TABLES];
	/* inside, while it is made */
	struct mz_pair_index frames, stacks, sites, edges;
};

/* The number of a function in a file, the same in all stores; and that of a stack. */
uint64_t mz_store_frame_id(const char *function, const char *file);

/* Reads the recording to its end. 0 or -errno with err set; free it in both cases. */
int mz_store_item_make(struct mz_store_item *item, struct mz_recording *r, const char *path,
		       const struct mz_store_about *about, struct mz_error *err);
void mz_store_item_free(struct mz_store_item *item);

/* Parts of the function above, for the files that share them. */
void mz_store_put_u64(struct mz_store_rows *rows, size_t column, uint64_t v);
void mz_store_put_text(struct mz_store_rows *rows, size_t column, const char *s, size_t n);
/* The number of a name, which gets a row if it is new; 0 = no memory. */
uint64_t mz_store_item_name(struct mz_store_item *item, const struct mz_frame *f);
int mz_store_item_edges(struct mz_store_item *item, const struct mz_kmap_model *m,
			struct mz_error *err);
size_t mz_store_column(enum mz_store_table table, const char *name);

/* Of the content of a file, or of all files of a folder by name. 0 or -errno. */
int mz_store_digest(const char *path, unsigned char out[32], struct mz_error *err);

#endif
