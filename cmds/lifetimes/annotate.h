/* SPDX-License-Identifier: BSD-2-Clause */
/* What `lifetimes` and `overhead` share: they read a trace line by line, and write each line
 * with a note. */
#ifndef MZ_CMDS_LIFETIMES_ANNOTATE_H
#define MZ_CMDS_LIFETIMES_ANNOTATE_H

#include "base/histogram.h"
#include "base/json.h"
#include "base/output.h"
#include "cmds/cmd.h"
#include "cmds/progress.h"
#include "formats/text.h"

struct annotate_opts {
	const char *output;
	bool force;
	bool summary;
	bool json;
};

/* The options of both, as rows of an option table. */
#define ANNOTATE_OPTS(what)                                                                        \
	MZ_OPT('o', "output", "OUT", MZ_OPT_STR, struct annotate_opts, output,                     \
	       "write to OUT (default: standard output)"),                                         \
		MZ_SWITCH('f', "force", struct annotate_opts, force, "replace an existing file"),  \
		MZ_SWITCH(0, "summary", struct annotate_opts, summary, what),                      \
		MZ_SWITCH(0, "json", struct annotate_opts, json,                                   \
			  "write JSON: one line per event, or one object with --summary")

#define ANNOTATE_NOTE_MAX 320

struct annotator;

struct annotate_ops {
	/* Before the first event. by_object: blocks have no addresses. */
	int (*start)(struct annotator *a, bool by_object);
	/*
	 * Handles an event at line now. The note goes to note (NULL: not wanted), as text or as
	 * members of a JSON object: its length, 0 = none, -errno.
	 */
	int (*event)(struct annotator *a, struct mz_event *ev, const struct mz_text_line *info,
		     uint64_t now, char *note);
	void (*summary_text)(struct annotator *a, struct mz_buf *b);
	void (*summary_json)(struct annotator *a, struct mz_json *j);
	/* One line for standard error about what did not match; empty = nothing. */
	void (*remarks)(struct annotator *a, struct mz_buf *b);
	/* Frees the state. */
	void (*end)(struct annotator *a);
};

struct annotator {
	const struct annotate_opts *opts;
	const struct annotate_ops *ops;
	void *state;
	struct mz_reader *in;
	struct mz_output out;
	uint64_t lines;
	struct progress progress;
	struct mz_error err;
};

/* Processes the trace: returns the exit status. */
int annotate_run(const struct annotate_opts *opts, const struct annotate_ops *ops, int argc,
		 char **argv);

/* The command, from `opts` and `ops` of its file. */
#define ANNOTATE_CMD(verb, text)                                                                   \
	static int run(void *options, int argc, char **argv)                                       \
	{                                                                                          \
		return annotate_run(options, &ops, argc, argv);                                    \
	}                                                                                          \
	static const char *const aliases[] = {#verb, #verb ".py", NULL};                           \
	const struct mz_cmd cmd_##verb = {.name = #verb,                                           \
					  .aliases = aliases,                                      \
					  .args = "[INPUT|-]",                                     \
					  .summary = text,                                         \
					  .opts = opts,                                            \
					  .opts_size = sizeof(struct annotate_opts),               \
					  .reads = true,                                           \
					  .run = run};

/* The first lines of both summaries; a histogram by doublings, with bars. */
void annotate_histogram_text(struct mz_buf *b, const char *title, const struct mz_histogram *h);
void annotate_histogram_json(struct mz_json *j, const char *key, const struct mz_histogram *h);

#endif
