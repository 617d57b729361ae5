/* SPDX-License-Identifier: BSD-2-Clause */
/* A recording as a page. */
/*
 * A model is built in one pass over the recording and written as JSON, within limits; the page
 * draws it.
 */
#ifndef MZ_CMDS_HTML_HTML_H
#define MZ_CMDS_HTML_HTML_H

#include "analysis/flame.h"
#include "analysis/history.h"
#include "analysis/layout.h"
#include "base/json.h"
#include "cmds/cmd.h"
#include "cmds/recording.h"

/* The most that a page takes, whatever is in it. */
#define HTML_BYTES 5000000u

/* How much of each kind is shown. Reduced until the page is small enough. */
struct html_limits {
	uint32_t nodes; /* of a flame graph */
	uint32_t rows;	/* of a table */
	uint32_t cells; /* of a matrix, in a row */
	unsigned step;	/* how many points of a curve become one */
};

struct html_model;
/* Writes the data into an open object. 0 or -ENOMEM. */
typedef int html_json_fn(const struct html_model *m, struct mz_json *w,
			 const struct html_limits *l);
typedef void html_free_fn(void *state);

struct html_model {
	const char *kind; /* "user", "kernel", "kmap" */
	char *name;
	struct mz_recording recording;
	const char *functions; /* of a KMAP: table or vmlinux; NULL = no privileges */
	struct progress progress;
	void *state;
	html_json_fn *json;
	html_free_fn *free;
};

/* The size of the built-in page; 0 = it is damaged. */
size_t html_page_check(void);

/* Reads the recording (a file, or a folder of kernel traces). symbols: of a kernel, see
 * struct mz_recording_options. functions: see struct html_model; may be NULL. 0 or -errno with err
 * set. */
int html_model_open(struct html_model *m, const char *path, const char *symbols,
		    const char *functions, struct mz_error *err);
void html_model_close(struct html_model *m);

/* For the constructors: the state, of zeros, with its functions; NULL with err set. */
void *html_state(struct html_model *m, size_t size, html_json_fn *json, html_free_fn *free,
		 struct mz_error *err);
/* The constructors, by kind; the recording is open. */
int html_user_open(struct html_model *m, struct mz_error *err);
int html_kmem_open(struct html_model *m, struct mz_error *err);
int html_kmap_open(struct html_model *m, struct mz_error *err);

/* The page of these models. 0 or -errno with err set. */
int html_page(struct mz_buf *out, const struct html_model *models, size_t n, struct mz_error *err);
/* The page that shows the given JSON, which was written with html set. */
int html_page_of(struct mz_buf *out, const struct mz_buf *json, struct mz_error *err);

/* ---- parts of the JSON (html_json.c) --------------------------------------- */

/* A name of any length as the page shows it: its beginning and its end. */
void html_json_name(struct mz_json *w, const char *key, const char *name);

/* The live bytes and blocks at the end of each of the bins, or the most bytes in them. */
enum html_bin { HTML_BIN_LIVE, HTML_BIN_HIGH, HTML_BIN_BLOCKS };
void html_json_bins(struct mz_json *w, const char *key, const struct mz_timeline *t, unsigned step,
		    enum html_bin what);
void html_json_curve(struct mz_json *w, const struct mz_timeline *t, const struct html_limits *l);
void html_json_histogram(struct mz_json *w, const char *key, const struct mz_histogram *h);
/* before: how much earlier than the curve its first column begins. */
void html_json_space(struct mz_json *w, const struct mz_heatmap *s, uint64_t before,
		     const struct html_limits *l);
/* The same, and the pages that hold the blocks. */
void html_json_places(struct mz_json *w, const struct mz_history *h, const struct mz_layout *pages,
		      const struct html_limits *l);
/* values: what they are called; a NULL leaves one out. */
extern const char *const html_values[MZ_FLAME_VALUES];
int html_json_flame(struct mz_json *w, const char *key, const char *title, const struct mz_flame *f,
		    const char *const *values, const struct html_limits *l);

/* A table: what the columns are, then rows of as many values. */
struct html_column {
	const char *key, *title;
	const char *unit; /* "text", "count", "bytes", "time", "share" */
};
void html_json_table(struct mz_json *w, const char *key, const char *title,
		     const struct html_column *columns, size_t n);
void html_json_table_end(struct mz_json *w, size_t all, size_t shown);

#endif
