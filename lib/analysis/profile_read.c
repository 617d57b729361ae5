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

#define POINTS 512 /* of the timeline */

struct job {
	struct mz_profile *p;
	struct mz_events *s;
	struct mz_usage u;
};

static void add_point(struct job *j)
{
	struct mz_timeline_bin now = {.at = j->u.now,
				      .live = j->u.all.live,
				      .blocks = j->u.all.live_blocks,
				      .waste = j->u.all.live_waste};

	mz_timeline_event(j->p->timeline, &now, MZ_TIMELINE_HIGHEST);
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

int64_t mz_profile_site_of(struct mz_profile *p, struct mz_events *s, uint32_t site)
{
	if (!mz_array_room((void **)&p->from, &p->from_cap, site, sizeof(*p->from)))
		return -ENOMEM;
	if (!p->from[site]) {
		struct mz_profile_site *made = make_site(p, s, site);

		if (!made)
			return -ENOMEM;
		p->from[site] = (uint32_t)(made - p->sites) + 1;
	}
	return p->from[site] - 1;
}

static struct mz_profile_sum sum_of(const struct mz_usage_site *s)
{
	return (struct mz_profile_sum){
		.blocks = s->allocs,
		.bytes = s->bytes,
		.peak_blocks = s->peak_blocks,
		.peak_bytes = s->at_peak,
		.max_blocks = s->max_blocks,
		.max_bytes = s->max_bytes,
		.live_blocks = s->live_blocks,
		.live_bytes = s->live,
		.temporary = s->temporary,
		.waste = s->waste,
		.peak_waste = s->peak_waste,
		.lifetime = s->lifetime,
		.reads = s->reads,
		.writes = s->writes,
	};
}

static int add_sites(struct job *j)
{
	for (uint32_t i = 0; i < j->u.sites_cap; i++) {
		struct mz_profile_sum sum = sum_of(&j->u.sites[i]);
		int64_t to;

		if (!j->u.sites[i].allocs)
			continue;
		to = mz_profile_site_of(j->p, j->s, i);
		if (to < 0)
			return -ENOMEM;
		mz_profile_add(&j->p->sites[to].sum, &sum);
	}
	return 0;
}

/* ---- all of it ---------------------------------------------------------- */

static int describe(struct job *j)
{
	const struct mz_usage *u = &j->u;
	struct mz_profile *p = j->p;
	const char *command = mz_events_text(j->s, "command");
	struct mz_reader *r = mz_events_reader(j->s);

	p->source = r ? mz_format_name(mz_reader_format(r)) : "kernel trace";
	p->pid = mz_events_number(j->s, "pid");
	p->kind = mz_events_is_kernel(j->s) ? MZ_PROFILE_KERNEL : MZ_PROFILE_PROGRAM;
	p->clock = u->fields & MZ_HAS_TIME && !mz_events_by_sequence(j->s) ? MZ_CLOCK_NS
									   : MZ_CLOCK_EVENTS;
	p->first = u->fields & MZ_HAS_TIME ? u->first_time : 0;
	p->last = u->now;
	p->peak_time = u->fields & MZ_HAS_TIME ? u->peak_time : u->peak_event;
	p->events = u->events;
	p->lost = u->lost;
	memcpy(p->lost_by, u->lost_by, sizeof(p->lost_by));
	p->all = sum_of(&u->all);
	p->has = MZ_PROFILE_TOTAL | MZ_PROFILE_PEAK | MZ_PROFILE_LIVE | MZ_PROFILE_LIFETIME;
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

int mz_profile_read(struct mz_profile *p, struct mz_events *s, mz_profile_watch *watch, void *arg,
		    struct mz_error *err)
{
	struct job *j = calloc(1, sizeof(*j));
	struct mz_event ev;
	int ret = 0, more = 0;

	p->timeline = malloc(sizeof(*p->timeline));
	if (!j || !p->timeline || mz_usage_init(&j->u) < 0) {
		free(j);
		return mz_fail_memory(err);
	}
	mz_timeline_init(p->timeline, POINTS);
	j->p = p;
	j->s = s;
	while (!ret && (more = mz_events_next(s, &ev, err)) > 0) {
		ret = mz_usage_add(&j->u, &ev);
		add_point(j);
		if (!ret && watch)
			ret = watch(arg, &ev, &j->u);
	}
	if (!ret && !more) {
		mz_usage_end(&j->u);
		ret = describe(j);
		if (!ret)
			ret = add_sites(j);
	}
	if (ret == -ENOMEM)
		mz_fail_memory(err);
	mz_usage_deinit(&j->u);
	free(j);
	return ret < 0 ? ret : more;
}
