/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording of any kind: one with events (a trace), or one that holds sums of
 * call sites only (DHAT, /proc/allocinfo). Both make a profile.
 */
#ifndef MZ_ANALYSIS_RECORDING_H
#define MZ_ANALYSIS_RECORDING_H

#include "analysis/events.h"
#include "analysis/profile.h"

struct mz_recording {
	const char *name;	   /* as it was given */
	struct mz_events *events;  /* NULL: there are no events */
	struct mz_profile profile; /* filled at once where there are no events */
	bool read;		   /* the profile is filled */
};

/* What it is is told by its content. 0 or -errno with err set; close it in both
 * cases. */
int mz_recording_open(struct mz_recording *r, char **paths, int n, struct mz_error *err);
void mz_recording_close(struct mz_recording *r);

/* A file (no pipe) that holds a profile and no events: DHAT, allocinfo. */
bool mz_recording_is_profile(const char *path);

/* Fills the profile, if it is not yet. */
int mz_recording_profile(struct mz_recording *r, struct mz_error *err);

/* Events that were lost when it was recorded, by the profile. */
uint64_t mz_recording_lost(const struct mz_recording *r);

#endif
