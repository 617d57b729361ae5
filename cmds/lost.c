// SPDX-License-Identifier: BSD-2-Clause
/* Write lost events as JSON, by cause. */
#include "cmds/lost.h"

#include "cmds/cmd.h"

void lost_json_open(struct mz_json *w, const char *key, const uint64_t lost[MZ_LOSSES])
{
	uint64_t total = 0;

	for (unsigned i = 0; i < MZ_LOSSES; i++)
		total += i != MZ_LOSS_SAMPLED ? lost[i] : 0;
	mz_json_object(w, key);
	mz_json_u64(w, "total", total);
	for (unsigned i = 0; i < MZ_LOSSES; i++)
		if (lost[i])
			mz_json_u64(w, mz_loss_name(i), lost[i]);
}

void sampled_note(const char *name, const uint64_t lost[MZ_LOSSES])
{
	char a[32];

	if (lost[MZ_LOSS_SAMPLED])
		console_note("%s: %s events were left out by sampling; its figures are estimates",
			     name, console_count(a, lost[MZ_LOSS_SAMPLED]));
}

void lost_json(struct mz_json *w, const char *key, const uint64_t lost[MZ_LOSSES])
{
	lost_json_open(w, key, lost);
	mz_json_end_object(w);
}
