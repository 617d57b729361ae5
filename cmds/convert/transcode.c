// SPDX-License-Identifier: BSD-2-Clause
/* Convert a trace to another trace format, with progress and messages. */
#include "cmds/convert/transcode.h"

#include <string.h>
#include <unistd.h>

#include "cmds/loss_report.h"
#include "cmds/progress.h"

static int report(struct mz_reader *in, const struct mz_transcode_options *o,
		  const struct mz_transcode_counts *n, bool strict)
{
	struct mz_unmatched u = mz_reader_unmatched(in);
	bool damaged = damage_note(in, n->damaged);

	if (in->junk)
		console_note("%s: %llu lines end in unknown text, which was left out", in->in.name,
			     (unsigned long long)in->junk);
	for (int i = MZ_CLASSIC_NO_EFFECT; i < MZ_CLASSIC_FIT_KINDS; i++) {
		if (!n->skipped[i])
			continue;
		console_note("left out: %llu of %llu events: %s", (unsigned long long)n->skipped[i],
			     (unsigned long long)n->events,
			     i == MZ_CLASSIC_NO_EFFECT ? "without effect (free(NULL), failed calls)"
						       : mz_classic_reason(i));
	}
	if (o->to != MZ_FORMAT_CLASSIC && (u.unknown_frees || u.over_live))
		console_note(
			"%llu frees or reallocs of unknown blocks, %llu allocations at live blocks",
			(unsigned long long)u.unknown_frees, (unsigned long long)u.over_live);
	return strict && (damaged || n->lost) ? MZ_EXIT_INCOMPLETE : MZ_EXIT_OK;
}

int transcode_terminal(bool text, const char *output)
{
	if (text || output || !isatty(STDOUT_FILENO))
		return 0;
	return console_usage(
		"a compact trace is binary and is not written to a terminal; use -o FILE");
}

static void show_events(void *progress, uint64_t events)
{
	progress_events(progress, events);
}

int transcode(struct mz_reader *in, struct mz_transcode_options *o, bool strict)
{
	struct mz_transcode_counts counts;
	struct mz_error err = {0};
	struct progress progress;
	int ret;

	progress_read(&progress, in, !o->output);
	o->progress = show_events;
	o->arg = &progress;
	ret = mz_transcode(in, o, &counts, &err);
	progress_end(&progress);
	return ret < 0 ? console_error(&err) : report(in, o, &counts, strict);
}

/* ---- fields by name ----------------------------------------------------- */

static const struct {
	const char *name;
	uint32_t field;
} fields[] = {
	{"addresses", MZ_HAS_ADDR}, {"times", MZ_HAS_TIME},  {"cpus", MZ_HAS_CPU},
	{"nodes", MZ_HAS_NODE},	    {"pids", MZ_HAS_PID},    {"tids", MZ_HAS_TID},
	{"given", MZ_HAS_GIVEN},    {"flags", MZ_HAS_FLAGS}, {"stacks", MZ_HAS_SITE},
	{"caches", MZ_HAS_CACHE},
};

int transcode_drop(const char *list, uint32_t *drop)
{
	*drop = 0;
	while (list && *list) {
		size_t len = strcspn(list, ","), i, n = sizeof(fields) / sizeof(*fields);

		for (i = 0; i < n; i++)
			if (strlen(fields[i].name) == len && !strncmp(fields[i].name, list, len))
				break;
		if (i == n)
			return console_usage(
				"--without takes addresses, times, cpus, nodes, pids, tids, given, "
				"flags, stacks, caches, separated by commas; not '%.*s'",
				(int)len, list);
		*drop |= fields[i].field;
		list += len + (list[len] == ',');
	}
	return 0;
}
