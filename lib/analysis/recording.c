// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/recording.h"

#include <errno.h>

#include "base/error.h"

int mz_recording_open(struct mz_recording *r, char **paths, int n, struct mz_error *err)
{
	*r = (struct mz_recording){.name = paths[0]};
	if (mz_profile_init(&r->profile) < 0)
		return mz_fail_memory(err);
	r->source = mz_source_open(paths, n, err);
	if (r->source)
		return 0;
	mz_recording_close(r);
	return err->code ? -err->code : -EINVAL;
}

void mz_recording_close(struct mz_recording *r)
{
	mz_source_close(r->source);
	mz_profile_deinit(&r->profile);
	*r = (struct mz_recording){0};
}

int mz_recording_profile(struct mz_recording *r, struct mz_error *err)
{
	if (r->read || !r->source)
		return 0;
	r->read = true;
	return mz_profile_read(&r->profile, r->source, NULL, NULL, err);
}

uint64_t mz_recording_lost(const struct mz_recording *r)
{
	return r->profile.lost;
}
