// SPDX-License-Identifier: BSD-2-Clause
/* Write DHAT's JSON, version 2, for dh_view.html and the Firefox Profiler. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "export/export.h"

/* The format has these together or not at all. */
#define LIFETIMES (MZ_PROFILE_PEAK | MZ_PROFILE_LIVE | MZ_PROFILE_LIFETIME)

/* "0x4AA1D9F: parse (json.c:332)" or "0x4AA1D9F: parse (in libjson.so)". The
 * viewer shows it as it is, and the Firefox Profiler takes it apart again. */
static void put_frame(struct mz_json *j, const struct mz_profile *p, uint32_t frame)
{
	struct mz_frame f = mz_profile_get_frame(p, frame);
	struct mz_buf b = {0};

	mz_buf_printf(&b, "0x%" PRIX64 ": %s", f.addr, f.name);
	if (f.file && f.line)
		mz_buf_printf(&b, " (%s:%u)", f.file, f.line);
	else if (f.file)
		mz_buf_printf(&b, " (%s)", f.file);
	else if (f.module)
		mz_buf_printf(&b, " (in %s)", f.module);
	if (b.failed)
		j->out->failed = true;
	else
		mz_json_strn(j, NULL, b.data, b.len);
	mz_buf_free(&b);
}

/* Fields that depend on bklt and bkacc must be present exactly if the head says so; the viewer
 * refuses the file otherwise. */
static void put_point(struct mz_json *j, const struct mz_profile *p,
		      const struct mz_profile_site *s)
{
	const struct mz_heap_sum *sum = &s->sum;
	bool total = p->has & MZ_PROFILE_TOTAL;
	size_t depth;
	const uint64_t *frames = mz_profile_stack(p, s, &depth);

	mz_json_object(j, NULL);
	/* everything that was allocated, or else what is known to be live */
	mz_json_u64(j, "tb", total ? sum->bytes : sum->live_bytes);
	mz_json_u64(j, "tbk", total ? sum->blocks : sum->live_blocks);
	if ((p->has & LIFETIMES) == LIFETIMES) {
		mz_json_u64(j, "tl", sum->lifetime);
		mz_json_u64(j, "mb", sum->max_bytes);
		mz_json_u64(j, "mbk", sum->max_blocks);
		mz_json_u64(j, "gb", sum->peak_bytes);
		mz_json_u64(j, "gbk", sum->peak_blocks);
		mz_json_u64(j, "eb", sum->live_bytes);
		mz_json_u64(j, "ebk", sum->live_blocks);
	}
	if (p->has & MZ_PROFILE_ACCESS) {
		mz_json_u64(j, "rb", sum->reads);
		mz_json_u64(j, "wb", sum->writes);
	}
	if (p->merged) { /* all values, for our own reader */
		mz_json_array(j, "mz");
		for (size_t i = 0; i < mz_profile_nvalues; i++)
			mz_json_u64(j, NULL, mz_profile_get(&mz_profile_values[i], sum));
		mz_json_end_array(j);
	}
	mz_json_array(j, "fs");
	for (size_t i = 0; i < depth; i++)
		mz_json_u64(j, NULL, frames[i]);
	mz_json_end_array(j);
	mz_json_end_object(j);
}

/* Names of units, and the age below which a block counts as short-lived. */
static void put_units(struct mz_json *j, const struct mz_profile *p)
{
	static const struct {
		const char *one, *million;
		uint64_t brief;
	} units[] = {
		[MZ_CLOCK_NS] = {"ns", "ms", 10000},
		[MZ_CLOCK_EVENTS] = {"events", "Mevents", 10},
		[MZ_CLOCK_INSTRUCTIONS] = {"instrs", "Minstr", 500},
	};

	mz_json_str(j, "tu", units[p->clock].one);
	mz_json_str(j, "Mtu", units[p->clock].million);
	if ((p->has & LIFETIMES) == LIFETIMES)
		mz_json_u64(j, "tuth", units[p->clock].brief);
}

/* Figures that are too small must not pass for whole ones in the next report. */
static void put_lost(struct mz_json *j, const struct mz_profile *p)
{
	bool some = false;

	for (int i = 0; i < MZ_LOSSES; i++)
		some |= p->lost_by[i] != 0;
	if (!some)
		return;
	mz_json_array(j, "mzlost");
	for (int i = 0; i < MZ_LOSSES; i++)
		mz_json_u64(j, NULL, p->lost_by[i]);
	mz_json_end_array(j);
}

/* What DHAT has no field for; its viewer ignores it. */
static void put_merged(struct mz_json *j, const struct mz_profile *p)
{
	if (!p->merged) {
		put_lost(j, p);
		return;
	}
	mz_json_array(j, "mz");
	mz_json_u64(j, NULL, p->merged);
	mz_json_u64(j, NULL, p->kind);
	mz_json_u64(j, NULL, p->has);
	mz_json_u64(j, NULL, p->clock);
	mz_json_u64(j, NULL, p->events);
	for (int i = 0; i < MZ_LOSSES; i++)
		mz_json_u64(j, NULL, p->lost_by[i]);
	mz_json_end_array(j);
	mz_json_array(j, "mzall");
	for (size_t i = 0; i < mz_profile_nvalues; i++)
		mz_json_u64(j, NULL, mz_profile_get(&mz_profile_values[i], &p->all));
	mz_json_end_array(j);
}

/* te is the end of the run; tg, the moment of the peak, is only allowed with lifetimes. */
int mz_export_dhat(const struct mz_profile *p, const struct mz_export_options *o,
		   struct mz_output *out, struct mz_error *err)
{
	bool lifetimes = (p->has & LIFETIMES) == LIFETIMES;
	struct mz_buf b = {0};
	struct mz_json j = {.out = &b, .flat = true};

	(void)o;
	mz_json_object(&j, NULL);
	mz_json_u64(&j, "dhatFileVersion", 2);
	mz_json_str(&j, "mode", p->kind == MZ_PROFILE_PROGRAM ? "memorizer" : "memorizer (kernel)");
	/* what the viewer writes before "at {" */
	mz_json_str(&j, "verb", "Allocated");
	mz_json_bool(&j, "bklt", lifetimes);
	mz_json_bool(&j, "bkacc", p->has & MZ_PROFILE_ACCESS);
	put_units(&j, p);
	mz_json_str(&j, "cmd", mz_profile_title(p));
	mz_json_u64(&j, "pid", p->pid);
	mz_json_u64(&j, "te", p->last - p->first);
	if (lifetimes)
		mz_json_u64(&j, "tg", p->peak_time > p->first ? p->peak_time - p->first : 0);
	put_merged(&j, p);
	if (p->files_cut)
		mz_json_u64(&j, "mzcut", p->files_cut);
	mz_json_array(&j, "pps");
	for (size_t i = 0; i < p->nsites; i++) {
		mz_buf_str(&b, "\n");
		put_point(&j, p, &p->sites[i]);
	}
	mz_json_end_array(&j);
	mz_json_array(&j, "ftbl");
	mz_json_str(&j, NULL, "[root]"); /* frames are numbered from 1 */
	for (uint32_t i = 1; i <= mz_profile_frames(p); i++)
		put_frame(&j, p, i);
	mz_json_end_array(&j);
	mz_json_end_object(&j);
	return mz_export_put(&b, out, err);
}
