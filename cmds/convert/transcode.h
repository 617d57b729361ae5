/* SPDX-License-Identifier: BSD-2-Clause */
/* What convert and trace2cmt share: the conversion of a trace, with its messages. */
#ifndef MZ_CMDS_CONVERT_TRANSCODE_H
#define MZ_CMDS_CONVERT_TRANSCODE_H

#include "cmds/cmd.h"
#include "export/transcode.h"

/* What a trace is converted without; record --drop is something else. */
#define TRANSCODE_OPT_WITHOUT(st, m)                                                               \
	{                                                                                          \
		.name = "without", .alias = "drop", .arg = "FIELDS", .type = MZ_OPT_STR,           \
		.offset = offsetof(st, m),                                                         \
		.help = "leave out addresses, times, ...: comma-separated names"                   \
	}

#define TRANSCODE_OPT_BEST(st, m) MZ_SWITCH(0, "best", st, m, "compress better, but slower")
#define TRANSCODE_OPT_SKIP(st, m)                                                                  \
	MZ_SWITCH(0, "skip-unmatched", st, m,                                                      \
		  "leave out and count events that the classic format cannot express")

/* Converts a trace and reports what is missing. Returns enum mz_exit. */
int transcode(struct mz_reader *in, struct mz_transcode_options *o, bool strict);

/* A binary trace would go to a terminal: 0, or a message (usage). */
int transcode_terminal(bool text, const char *output);

/* "addresses,times": the fields, or 0 with a message (usage) printed. */
int transcode_drop(const char *list, uint32_t *drop);

#endif
