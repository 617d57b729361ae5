/* SPDX-License-Identifier: BSD-2-Clause */
/* From any format to any other: what trace2cmt and convert do. */
#ifndef MZ_CMDS_CONVERT_TRANSCODE_H
#define MZ_CMDS_CONVERT_TRANSCODE_H

#include "base/output.h"
#include "cmds/cmd.h"
#include "formats/classic.h"

/* What a trace is converted without; record --drop is something else. */
#define TRANSCODE_OPT_WITHOUT(st, m)                                                               \
	{                                                                                          \
		.name = "without", .alias = "drop", .arg = "FIELDS", .type = MZ_OPT_STR,           \
		.offset = offsetof(st, m),                                                         \
		.help = "leave out addresses, times, ...: comma-separated names"                   \
	}

struct transcode {
	enum mz_format to;
	const char *output; /* NULL: standard output */
	bool tags;	    /* text with serial numbers */
	bool best;
	bool force;
	bool skip_unmatched;
	bool strict;
	uint32_t drop;
	bool kernel;		  /* opened: of a kernel */
	struct mz_reader *opened; /* the caller's, in place of the input; NULL = open the input */

	/* its own */
	struct mz_reader *in;
	struct mz_output out;
	struct mz_classic_writer classic;
	struct mz_writer *writer;
	uint32_t *sites, *strings; /* of the input, by number: those of the output */
	size_t n_sites, n_strings;
	uint64_t events, lost, damaged;
	uint64_t skipped[MZ_CLASSIC_FIT_KINDS];
	struct mz_error err;
};

/* Converts everything; returns enum mz_exit. */
int transcode_run(struct transcode *t, const char *input);

/* A binary trace would go to a terminal: 0, or a message (usage). */
int transcode_terminal(bool text, const char *output);

/* "addresses,times": the fields, or 0 with a message (usage) printed. */
int transcode_drop(const char *list, uint32_t *drop);

/* Reports what a container lacks; true if something is missing. */
bool transcode_report_damage(struct mz_reader *r, uint64_t lost_to_damage);

#endif
