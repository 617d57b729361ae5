/* SPDX-License-Identifier: BSD-2-Clause */
/* What cmtreplay and replay say after a replay. */
#ifndef MZ_CMDS_REPLAY_TALK_H
#define MZ_CMDS_REPLAY_TALK_H

#include <stdio.h>

#include "cmds/replay_run.h"

extern const char *const replay_touches[]; /* the choices of --touch */

/* On standard error: the figures, then whatever did not go as in the trace. */
void replay_talk(const struct mz_replay_opts *o, const struct mz_replay_result *r);
void replay_talk_json(const struct mz_replay_opts *o, const struct mz_replay_result *r, FILE *out);

#endif
