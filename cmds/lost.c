// SPDX-License-Identifier: BSD-2-Clause
/* Write lost events as JSON, by cause. */
#include "cmds/lost.h"

void lost_json_open(struct mz_json *w, const char *key, const uint64_t lost[MZ_LOSSES])
{
	uint64_t total = 0;

	for (unsigned i = 0; i < MZ_LOSSES; i++)
		total += lost[i];
	mz_json_object(w, key);
	mz_json_u64(w, "total", total);
	for (unsigned i = 0; i < MZ_LOSSES; i++)
		if (lost[i])
			mz_json_u64(w, mz_loss_name(i), lost[i]);
}

void lost_json(struct mz_json *w, const char *key, const uint64_t lost[MZ_LOSSES])
{
	lost_json_open(w, key, lost);
	mz_json_end_object(w);
}
