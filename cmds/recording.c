// SPDX-License-Identifier: BSD-2-Clause
/* Open a recording of any kind for a verb, with its symbols. */
#include "cmds/recording.h"

#include <errno.h>

#include "analysis/profile_files.h"
#include "base/error.h"
#include "cmds/kmap/kmap_load.h"

/* What loading a KMAP told the user itself is an error without a text here. */
static int told(struct mz_error *err)
{
	*err = (struct mz_error){.code = EINVAL};
	return -EINVAL;
}

int recording_error(const struct mz_error *err)
{
	return *err->text ? console_error(err) : MZ_EXIT_FAILED;
}

static int open_kmap(struct mz_recording *r, const struct kmap_load *o, struct mz_error *err)
{
	struct mz_kmap_model m;
	int ret;

	*r = (struct mz_recording){.name = o->path, .read = true};
	if (mz_profile_init(&r->profile) < 0)
		return mz_fail_memory(err);
	ret = kmap_load(&m, o) < 0 ? told(err) : mz_profile_of_kmap(&r->profile, &m, err);
	mz_kmap_model_deinit(&m);
	return ret;
}

static void show(void *progress, uint64_t events)
{
	progress_show(progress, -1, events, "events");
}

int recording_open(struct mz_recording *r, char **paths, int n, const char *symbols,
		   struct progress *progress, struct mz_error *err)
{
	struct kmap_load o = {.path = paths[0], .symbols = symbols, .by = MZ_KMAP_BY_FUNCTION};
	struct mz_symbols *given = NULL;
	int ret;

	if (n == 1 && mz_kmap_is(paths[0]))
		return open_kmap(r, &o, err);
	ret = mz_recording_open(r, paths, n, err);
	if (ret < 0 || !r->events)
		return ret;
	progress_start(progress, paths[0]);
	mz_events_progress(r->events, show, progress);
	if (!symbols)
		return 0;
	if (kmap_load_symbols(&o, &given, err) < 0)
		return told(err);
	mz_events_use(r->events, given);
	return 0;
}
