// SPDX-License-Identifier: BSD-2-Clause
/* The library's recordings, with what the verbs say while they read one. */
#include "cmds/recording.h"

#include "formats/kmap.h"

static void show(void *progress, double share, uint64_t count, const char *units)
{
	progress_show(progress, share, count, units);
}

int recording_open(struct mz_recording *r, char **paths, int n,
		   const struct mz_recording_options *o, struct progress *progress,
		   struct mz_error *err)
{
	struct mz_recording_options with = *o;

	with.progress = show;
	with.arg = progress;
	with.flags = options_open_flags();
	progress_start(progress, paths[0]);
	return mz_recording_open(r, paths, n, &with, err);
}

/* What the map cannot say. */
static void note_map(const struct mz_kmap_model *m, const struct mz_kmap *k, const char *path)
{
	char text[160];
	const char *note = mz_kmap_note(k, text, sizeof(text));

	if (note)
		console_note("%s: %s", path, note);
	if (m->hashed)
		console_note("%s: %llu code addresses are hashed and have no names: the kernel ran "
			     "without no_hash_pointers",
			     path, (unsigned long long)m->hashed);
	if (m->open_end)
		console_note("%s: the last line has no line break: the file may have been cut in "
			     "the middle of it",
			     path);
	if (m->bad_lines)
		console_note("%s: %llu lines could not be parsed and were left out", path,
			     (unsigned long long)m->bad_lines);
}

int recording_model(struct mz_recording *r, const struct mz_recording_model *how,
		    struct mz_kmap_model *m, struct mz_error *err)
{
	int ret = mz_recording_model(r, how, m, err);

	if (r->o.arg)
		progress_end(r->o.arg);
	if (!ret)
		note_map(m, r->kmap, r->name);
	return ret;
}
