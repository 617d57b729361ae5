/* SPDX-License-Identifier: BSD-2-Clause */
/* What was lost, in JSON: one shape for programs and kernels, in all verbs. */
#ifndef MZ_CMDS_LOST_H
#define MZ_CMDS_LOST_H

#include <memorizer.h>

#include "base/json.h"

/* "KEY": {"total": N, "CAUSE": N, ...}: events by cause, those that are not 0. Those that were
 * left out by sampling are not in the total: other events stand for them. */
void lost_json(struct mz_json *w, const char *key, const uint64_t lost[MZ_LOSSES]);
/* The same without its end, for more members. */
void lost_json_open(struct mz_json *w, const char *key, const uint64_t lost[MZ_LOSSES]);

/* Reports on standard error that the figures of a recording are estimates, if they are. */
void sampled_note(const char *name, const uint64_t lost[MZ_LOSSES]);

#endif
