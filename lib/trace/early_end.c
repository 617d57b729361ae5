// SPDX-License-Identifier: BSD-2-Clause
/* Find out whether a trace ends early, and where. */
#include "trace/early_end.h"

#include <string.h>

#include "trace/container.h"

/* The number of early ends that the files had from which this container was made. */
static unsigned said(const struct mz_reader *r)
{
	const struct mz_attr *a = mz_reader_find_attr(r, MZ_FILES_CUT);

	if (!a || a->type != MZ_ATTR_NUMBER)
		return 0;
	return a->number < UINT32_MAX ? (unsigned)a->number : UINT32_MAX;
}

unsigned mz_reader_files_cut(const struct mz_reader *r)
{
	unsigned files = said(r);

	return files || mz_container_has_end(r) ? files : 1;
}

/* Some kernel traces count events where others have times. */
static bool has_seconds(const struct mz_reader *r)
{
	const struct mz_attr *clock = mz_reader_find_attr(r, "clock");

	return !clock || clock->type != MZ_ATTR_TEXT || strcmp(clock->data, "sequence") != 0;
}

struct mz_early_end mz_reader_early_end(struct mz_reader *r)
{
	struct mz_early_end e = {.files = mz_reader_files_cut(r)};
	struct mz_summary s = {.size = sizeof(s)};

	/* streams that were joined may have ended at several places */
	if (!e.files || mz_reader_summary(r, &s) < 0 || s.streams > 1)
		return e;
	e.events = s.events;
	e.nothing = !s.events;
	if (s.fields & MZ_HAS_TIME && has_seconds(r))
		e.ns = s.last_time - s.first_time;
	return e;
}

int mz_writer_set_files_cut(struct mz_writer *w, unsigned files)
{
	return files ? mz_writer_set_number(w, MZ_FILES_CUT, files) : 0;
}
