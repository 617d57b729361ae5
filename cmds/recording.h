/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening a recording of any kind, as export and diff do. */
#ifndef MZ_CMDS_RECORDING_H
#define MZ_CMDS_RECORDING_H

#include "analysis/recording.h"
#include "cmds/cmd.h"

#define RECORDING_SYMBOLS(st, m)                                                                   \
	MZ_OPT(0, "symbols", "FILES", MZ_OPT_STR, st, m,                                           \
	       "kernel recordings: kallsyms, System.map, vmlinux, or a folder with them; those "   \
	       "beside the recording are found")

/* 0 or -errno with err set. Close it in both cases. */
int recording_open(struct mz_recording *r, char **paths, int n, const char *symbols,
		   struct mz_error *err);

/* Tells the error, if that was not done yet; MZ_EXIT_FAILED. */
int recording_error(const struct mz_error *err);

#endif
