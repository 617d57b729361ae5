// SPDX-License-Identifier: BSD-2-Clause
/* Show the progress of a long read on a terminal. */
#include "cmds/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "cmds/cmd.h"
#include "trace/reader.h"

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void progress_start(struct progress *p, const char *what)
{
	*p = (struct progress){.what = what, .start = now(), .quiet = !isatty(STDERR_FILENO)};
}

void progress_show(struct progress *p, double share, uint64_t count, const char *units)
{
	double t = p->quiet ? 0 : now();
	char shown[64], n[32];

	if (p->quiet || t - p->start < 1 || t - p->shown < 0.2)
		return;
	p->shown = t;
	mz_printable(shown, sizeof(shown), p->what, strlen(p->what));
	if (share >= 0)
		fprintf(stderr, "\r%s: %3.0f %%, %s %s, %.0f s \033[K", shown, 100 * share,
			console_count(n, count), units, t - p->start);
	else
		fprintf(stderr, "\r%s: %s %s, %.0f s \033[K", shown, console_count(n, count), units,
			t - p->start);
	fflush(stderr);
}

void progress_read(struct progress *p, struct mz_reader *in, bool prints)
{
	struct mz_summary whole = {.size = sizeof(whole)};

	progress_start(p, in->in.name);
	p->quiet |= prints && isatty(STDOUT_FILENO);
	p->whole = mz_reader_summary(in, &whole) < 0 ? 0 : whole.events;
}

void progress_events(struct progress *p, uint64_t events)
{
	progress_show(p, p->whole ? (double)events / (double)p->whole : -1, events, "events");
}

void progress_end(struct progress *p)
{
	if (p->shown > 0)
		fprintf(stderr, "\r\033[K");
	p->shown = 0;
}
