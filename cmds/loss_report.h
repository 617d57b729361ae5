/* SPDX-License-Identifier: BSD-2-Clause */
/* What a recording lacks: one shape and one wording for programs and kernels, in all verbs. */
#ifndef MZ_CMDS_LOSS_REPORT_H
#define MZ_CMDS_LOSS_REPORT_H

#include <memorizer.h>

#include "base/json.h"
#include "trace/early_end.h"

/* "KEY": {"total": N, "CAUSE": N, ...}: events by cause, those that are not 0. Those that were
 * left out by sampling are not in the total: other events stand for them. */
void lost_json(struct mz_json *w, const char *key, const uint64_t lost[MZ_LOSSES]);
/* The same without its end, for more members. */
void lost_json_open(struct mz_json *w, const char *key, const uint64_t lost[MZ_LOSSES]);

/* What a peak of sampled blocks is: the greatest of many estimates. */
#define SAMPLED_PEAK "the peak is too large rather than too small"

/* Reports on standard error that the figures of a recording are estimates, if they are. */
void sampled_note(const char *name, const uint64_t lost[MZ_LOSSES]);

/* What an early end means, for the line after early_end_text(). */
#define EARLY_END_MEANS                                                                            \
	"what came later is unknown, so a block that was never freed need not be a leak"

/* "the recording ends early, at event 7, after 0.1 s: the recorder ...", in buf, which it returns.
 * The recording has such an end. */
char *early_end_text(char *buf, size_t size, const struct mz_early_end *e);

/* Reports the same on standard error, with what it means, if the recording has such an end. */
void early_end_note(const char *name, const struct mz_early_end *e);

/* Reports on standard error how many names and frames a damaged file has lost, if any. */
void lost_tables_note(const char *name, uint64_t names, uint64_t frames);

/* Of a conversion or a listing: reports on standard error what a container lacks; true if something
 * is missing. */
bool damage_note(struct mz_reader *r, uint64_t lost_to_damage);

/* "files_cut": N, also if it is 0. */
void early_end_json(struct mz_json *w, unsigned files);

#endif
