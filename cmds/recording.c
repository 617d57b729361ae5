// SPDX-License-Identifier: BSD-2-Clause
/* Open recordings through the library, with the messages that the verbs print while they read
 * one. */
#include "cmds/recording.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/kmem.h"
#include "cmds/loss_report.h"
#include "formats/kmap.h"
#include "trace/reader.h"

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

int recording_one_stdin(int n, char **paths)
{
	int named = 0;

	for (int i = 0; i < n; i++)
		named += !strcmp(paths[i], "-");
	return named < 2 ? 0
			 : console_usage("'-' is named %d times, but standard input can be read "
					 "only once; save it to a file",
					 named);
}

struct mz_reader *recording_trace(struct mz_recording *r, const char *path, struct mz_error *err)
{
	struct mz_recording_options how = {.flags = options_open_flags()};
	char *paths[] = {(char *)path};

	return mz_recording_open(r, paths, 1, &how, err) < 0 ? NULL : mz_recording_reader(r, err);
}

bool recording_is_folder(const char *path)
{
	struct stat st;

	return strcmp(path, "-") && !stat(path, &st) && S_ISDIR(st.st_mode);
}

int recording_each_file(char *path, int (*one)(void *arg, char *path), void *arg)
{
	struct mz_kmem_input *in;
	struct mz_error err = {0};
	int ret = MZ_EXIT_OK;

	if (!recording_is_folder(path))
		return one(arg, path);
	in = mz_kmem_input_open(&path, 1, options_open_flags(), &err);
	if (!in)
		return console_error(&err);
	for (unsigned i = 0; i < mz_kmem_input_files(in); i++) {
		int failed = one(arg, mz_kmem_input_reader(in, i)->in.name);

		ret = failed ? failed : ret;
	}
	mz_kmem_input_close(in);
	return ret;
}

bool recording_list_begin(struct mz_json *j, int n, char **paths)
{
	bool several = n > 1 || recording_is_folder(paths[0]);

	if (several) {
		mz_json_object(j, NULL);
		mz_json_array(j, "files");
	}
	return several;
}

void recording_list_end(struct mz_json *j, bool good)
{
	mz_json_end_array(j);
	mz_json_bool(j, "good", good);
	mz_json_end_object(j);
}

struct mz_analysis *recording_analysis(const char *path, const struct mz_analysis_options *o,
				       struct progress *progress, struct mz_error *err)
{
	struct mz_analysis_options with = *o;

	with.size = sizeof(with);
	with.progress = show;
	with.progress_arg = progress;
	with.flags = options_open_flags();
	progress_start(progress, path);
	return mz_analysis_open(&path, 1, &with, err);
}

static void note_lost_tables(const struct mz_recording *r)
{
	struct mz_lost_tables lost = mz_recording_lost_tables(r);

	lost_tables_note(r->name, lost.names, lost.frames);
}

void recording_note_end(struct mz_recording *r)
{
	struct mz_early_end end = mz_recording_early_end(r);

	early_end_note(r->name, &end);
	note_lost_tables(r);
}

void recording_note_map(const char *path, const char *note, uint64_t hashed, bool open_end,
			unsigned files_cut, uint64_t bad_lines)
{
	struct mz_early_end end = {.files = files_cut};

	if (note)
		console_note("%s: %s", path, note);
	if (hashed)
		console_note("%s: %llu code addresses are hashed and have no names: the kernel ran "
			     "without no_hash_pointers",
			     path, (unsigned long long)hashed);
	if (open_end)
		console_note("%s: the last line has no line break: the file may have been cut in "
			     "the middle of it",
			     path);
	early_end_note(path, &end);
	if (bad_lines)
		console_note("%s: %llu lines could not be parsed and were left out", path,
			     (unsigned long long)bad_lines);
}

void recording_note(struct mz_analysis *a, const char *path)
{
	recording_note_map(path, mz_analysis_text(a, "note"), mz_analysis_number(a, "hashed"),
			   mz_analysis_number(a, "open_end"),
			   (unsigned)mz_analysis_number(a, MZ_FILES_CUT),
			   mz_analysis_number(a, "bad_lines"));
	lost_tables_note(path, mz_analysis_number(a, MZ_LOST_NAMES),
			 mz_analysis_number(a, MZ_LOST_FRAMES));
}

int recording_model(struct mz_recording *r, const struct mz_recording_model *how,
		    struct mz_kmap_model *m, struct mz_error *err)
{
	int ret = mz_recording_model(r, how, m, err);
	char text[160];

	if (r->o.arg)
		progress_end(r->o.arg);
	if (!ret) {
		recording_note_map(r->name, mz_kmap_note(r->kmap, text, sizeof(text)), m->hashed,
				   m->open_end, m->files_cut, m->bad_lines);
		note_lost_tables(r);
	}
	return ret;
}
