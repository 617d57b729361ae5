/* SPDX-License-Identifier: BSD-2-Clause */
/* What was lost, in JSON: one shape for programs and kernels, in all verbs. */
#ifndef MZ_CMDS_LOST_H
#define MZ_CMDS_LOST_H

#include <memorizer.h>

#include "base/json.h"

/* "KEY": {"total": N, "CAUSE": N, ...}: events by cause, those that are not 0. */
void lost_json(struct mz_json *w, const char *key, const uint64_t lost[MZ_LOSSES]);
/* The same without its end, for more members. */
void lost_json_open(struct mz_json *w, const char *key, const uint64_t lost[MZ_LOSSES]);

#endif
