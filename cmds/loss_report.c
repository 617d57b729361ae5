// SPDX-License-Identifier: BSD-2-Clause
/* Write lost events by cause as JSON, and say that a recording ends early. */
#include "cmds/loss_report.h"

#include <stdio.h>

#include "cmds/cmd.h"
#include "trace/reader.h"

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
		console_note("%s: %s events were left out by sampling; its figures are estimates, "
			     "and " SAMPLED_PEAK,
			     name, console_count(a, lost[MZ_LOSS_SAMPLED]));
}

void lost_tables_note(const char *name, uint64_t names, uint64_t frames)
{
	char a[32], b[32];

	if (names || frames)
		console_note("%s: %s names and %s frames of call stacks were lost to damage; these "
			     "names are left out, and these frames have the address %llx",
			     name, console_count(a, names), console_count(b, frames),
			     MZ_LOST_FRAME + 0ull);
}

bool damage_note(struct mz_reader *r, uint64_t lost_to_damage)
{
	struct mz_early_end end = mz_reader_early_end(r);
	struct mz_summary s = {.size = sizeof(s)};

	early_end_note(r->in.name, &end);
	lost_tables_note(r->in.name, mz_tables_lost_strings(mz_reader_tables(r)),
			 mz_tables_lost_frames(mz_reader_tables(r)));
	if (mz_reader_summary(r, &s))
		return end.files || lost_to_damage;
	if (s.damaged)
		console_note("%s: damaged in %llu place%s, left out here; 'memorizer verify' shows "
			     "what is damaged",
			     r->in.name, (unsigned long long)s.damaged, s.damaged == 1 ? "" : "s");
	return end.files || s.damaged || lost_to_damage;
}

void lost_json(struct mz_json *w, const char *key, const uint64_t lost[MZ_LOSSES])
{
	lost_json_open(w, key, lost);
	mz_json_end_object(w);
}

/* ", at event 7, after 0.1 s", as far as it is known. */
static void place_text(char *buf, size_t size, const struct mz_early_end *e)
{
	char a[32], event[64] = "", time[64] = "";

	if (e->events || e->nothing)
		snprintf(event, sizeof(event), ", at event %s", console_count(a, e->events));
	if (e->ns)
		snprintf(time, sizeof(time), ", after %.3f s", (double)e->ns / 1e9);
	snprintf(buf, size, "%s%s", event, time);
}

#define WHY "the recorder was stopped, or the file was cut"

char *early_end_text(char *buf, size_t size, const struct mz_early_end *e)
{
	const char *s = e->files == 1 ? "s" : "";
	char a[32], b[32], place[128];

	place_text(place, sizeof(place), e);
	console_count(a, e->files);
	if (e->of > 1)
		snprintf(buf, size, "%s of %s files end%s early: " WHY, a, console_count(b, e->of),
			 s);
	else if (e->files > 1)
		snprintf(buf, size, "%s files of the recording end early: " WHY, a);
	else
		snprintf(buf, size, "the recording ends early%s: " WHY, place);
	return buf;
}

void early_end_note(const char *name, const struct mz_early_end *e)
{
	char text[256];

	if (e->files)
		console_note("%s: %s; " EARLY_END_MEANS, name,
			     early_end_text(text, sizeof(text), e));
}

void early_end_json(struct mz_json *w, unsigned files)
{
	mz_json_u64(w, MZ_FILES_CUT, files);
}
