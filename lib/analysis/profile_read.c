// SPDX-License-Identifier: BSD-2-Clause
/* Make the profile of a trace: its usage by call stack, with names. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/events.h"
#include "analysis/profile.h"
#include "analysis/usage.h"
#include "base/array.h"
#include "base/error.h"
#include "trace/names.h"

/* When it is full, pairs of points become one. */
#define POINTS 512 /* of the timeline */

static void add_point(struct mz_timeline *timeline, const struct mz_usage *u)
{
	struct mz_timeline_bin now = {.at = u->now,
				      .live = u->all.sum.live_bytes,
				      .blocks = u->all.sum.live_blocks,
				      .waste = u->all.live_waste};

	mz_timeline_event(timeline, &now, MZ_TIMELINE_HIGHEST);
}

/* ---- sites -------------------------------------------------------------- */

static uint32_t frame_of(struct mz_profile *p, uint64_t ip, const struct mz_place_name *n)
{
	const char *function = n->function;
	char text[512];

	if (!function && n->module) {
		snprintf(text, sizeof(text), "%s+0x%llx", n->module, (unsigned long long)n->offset);
		function = text;
	}
	/* a stand-in for a name without address is no address */
	return mz_profile_frame(p, mz_names_made(ip) ? 0 : ip, function, n->file, n->line,
				n->module);
}

/* The stacks of the source are addresses, those of the profile are frames: more of them, where
 * functions were inlined. */
static struct mz_profile_site *make_site(struct mz_profile *p, struct mz_events *s, uint32_t site)
{
	struct mz_place_name names[MZ_EVENTS_INLINED];
	struct mz_profile_site *made = NULL;
	const uint64_t *ips;
	uint64_t *frames;
	size_t depth, n = 0;
	bool failed = false;

	ips = mz_events_stack(s, site, &depth);
	frames = malloc((depth * MZ_EVENTS_INLINED + 1) * sizeof(*frames));
	for (size_t i = 0; frames && i < depth && !failed; i++) {
		size_t here = mz_events_names(s, ips[i], names);

		for (size_t k = 0; k < here; k++, n++)
			failed |= !(frames[n] = frame_of(p, ips[i], &names[k]));
	}
	if (frames && !failed)
		made = mz_profile_site(p, frames, n);
	free(frames);
	return made;
}

static enum mz_profile_kind kind_of(const struct mz_events *s)
{
	return mz_events_is_kernel(s) ? MZ_PROFILE_KERNEL : MZ_PROFILE_PROGRAM;
}

/* Several stacks of addresses may be one stack of names, which is one site of the profile. */
int64_t mz_profile_site_of(struct mz_profile *p, struct mz_events *s, uint32_t site)
{
	if (!mz_array_room((void **)&p->from, &p->from_cap, site, sizeof(*p->from)))
		return -ENOMEM;
	if (!p->from[site]) {
		struct mz_profile_site *made = make_site(p, s, site);

		/* which frame names a site depends on it, and rows name sites before the end */
		p->kind = kind_of(s);
		if (!made)
			return -ENOMEM;
		p->from[site] = (uint32_t)(made - p->sites) + 1;
	}
	return p->from[site] - 1;
}

static int add_sites(struct mz_profile *p, struct mz_events *s, const struct mz_usage *u)
{
	for (uint32_t i = 0; i < u->sites_cap; i++) {
		const struct mz_heap_sum *sum = &u->sites[i].sum;
		int64_t to;

		if (!sum->blocks)
			continue;
		to = mz_profile_site_of(p, s, i);
		if (to < 0)
			return -ENOMEM;
		mz_heap_sum_add(&p->sites[to].sum, sum);
	}
	return 0;
}

/* ---- all of it ---------------------------------------------------------- */

static int describe(struct mz_profile *p, struct mz_events *s, const struct mz_usage *u)
{
	const char *command = mz_events_text(s, "command");
	struct mz_reader *r = mz_events_reader(s);

	p->source = r ? mz_format_name(mz_reader_format(r)) : "kernel trace";
	p->pid = mz_events_number(s, "pid");
	p->kind = kind_of(s);
	p->clock = u->fields & MZ_HAS_TIME && !mz_events_by_sequence(s) ? MZ_CLOCK_NS
									: MZ_CLOCK_EVENTS;
	p->first = u->fields & MZ_HAS_TIME ? u->first_time : 0;
	p->last = u->now;
	p->peak_time = u->fields & MZ_HAS_TIME ? u->peak_time : u->peak_event;
	p->events = u->events;
	p->lost = u->lost;
	memcpy(p->lost_by, u->lost_by, sizeof(p->lost_by));
	p->files_cut = mz_events_files_cut(s);
	p->all = u->all.sum;
	p->has = MZ_PROFILE_TOTAL | MZ_PROFILE_PEAK | MZ_PROFILE_LIVE | MZ_PROFILE_LIFETIME;
	/* allocations that are not in the sample may lie between, so nothing is known to be
	 * temporary */
	if (!u->sampled)
		p->has |= MZ_PROFILE_TEMPORARY;
	if (u->fields & MZ_HAS_GIVEN)
		p->has |= MZ_PROFILE_WASTE;
	if (u->calls[MZ_CALL_ACCESS])
		p->has |= MZ_PROFILE_ACCESS;
	if (command)
		p->command = strdup(command);
	return command && !p->command ? -ENOMEM : 0;
}

int mz_profile_of_usage(struct mz_profile *p, struct mz_events *s, const struct mz_usage *u)
{
	int ret = describe(p, s, u);

	return ret < 0 ? ret : add_sites(p, s, u);
}

int mz_profile_read(struct mz_profile *p, struct mz_events *s, mz_profile_watch *watch, void *arg,
		    struct mz_error *err)
{
	struct mz_usage *u = malloc(sizeof(*u));
	struct mz_event ev;
	int ret = 0, more = 0;

	p->timeline = malloc(sizeof(*p->timeline));
	if (!u || !p->timeline || mz_usage_init(u) < 0) {
		free(u);
		return mz_fail_memory(err);
	}
	mz_timeline_init(p->timeline, POINTS);
	while (!ret && (more = mz_events_next(s, &ev, err)) > 0) {
		ret = mz_usage_add(u, &ev);
		add_point(p->timeline, u);
		if (!ret && watch)
			ret = watch(arg, &ev, u);
	}
	if (!ret && !more) {
		mz_usage_end(u);
		ret = mz_profile_of_usage(p, s, u);
	}
	if (ret == -ENOMEM)
		mz_fail_memory(err);
	mz_usage_deinit(u);
	free(u);
	return ret < 0 ? ret : more;
}
