/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening a recording of any kind, with a progress line on the terminal. */
#ifndef MZ_CMDS_RECORDING_H
#define MZ_CMDS_RECORDING_H

#include "analysis/recording.h"
#include "base/json.h"
#include "cmds/cmd.h"
#include "cmds/progress.h"

#define RECORDING_ROOT "; programs: the root folder of their files, if they ran in a container"
/* For the uses of the verb in scope sc; 0 = all. */
#define RECORDING_SYMBOLS_FOR(sc, st, m)                                                           \
	MZ_OPT_FOR(sc, 0, "symbols", "FILES", MZ_OPT_STR, st, m,                                   \
		   "kernel recordings: kallsyms, System.map, vmlinux, or a folder with them "      \
		   "(default: those beside the recording)" RECORDING_ROOT)
#define RECORDING_SYMBOLS(st, m) RECORDING_SYMBOLS_FOR(0, st, m)
/* Where only kernel recordings are read. */
#define RECORDING_KERNEL_SYMBOLS(st, m)                                                            \
	MZ_OPT(0, "symbols", "FILES", MZ_OPT_STR, st, m,                                           \
	       "kallsyms, System.map, vmlinux, or a folder with them, separated by commas "        \
	       "(default: those in the recording, or beside it)")
/* Where the code of modules is looked at as well. also: RECORDING_ROOT, or nothing. */
#define RECORDING_MODULES_FOR(sc, st, m, also)                                                     \
	MZ_OPT_FOR(sc, 0, "symbols", "FILES", MZ_OPT_STR, st, m,                                   \
		   "kernel symbols: kallsyms, System.map, vmlinux, or a folder with them and "     \
		   "modules, separated by commas (default: those beside the recording)" also)

/* As mz_recording_open(). The progress must live as long as the recording is read, until
 * progress_end(). */
int recording_open(struct mz_recording *r, char **paths, int n,
		   const struct mz_recording_options *o, struct progress *progress,
		   struct mz_error *err);

/* Standard input can be read once: if it is named twice, the second recording would be empty.
 * 0, or an exit status. */
int recording_one_stdin(int n, char **paths);

/* The one file of a trace, for verbs that read it event by event; it belongs to r, which is to be
 * closed in any case. NULL with err set, also for what has no events or is a folder. */
struct mz_reader *recording_trace(struct mz_recording *r, const char *path, struct mz_error *err);

/* Calls one() for a file, or for each file of a kernel recording in a folder. 0, or an exit status:
 * that of one() that failed last, or if the folder cannot be read. */
int recording_each_file(char *path, int (*one)(void *arg, char *path), void *arg);

/* A check of several files, or of a folder, is one object in JSON: begin() opens it with the list
 * of files, end() closes it and says whether all are good. False: there is one file, whose object
 * stands alone. */
bool recording_list_begin(struct mz_json *j, int n, char **paths);
void recording_list_end(struct mz_json *j, bool good);
bool recording_is_folder(const char *path);

/* As mz_analysis_open() of one path, with the same. */
struct mz_analysis *recording_analysis(const char *path, const struct mz_analysis_options *o,
				       struct progress *progress, struct mz_error *err);
/* Notes what a map does not contain, after the first question. */
void recording_note(struct mz_analysis *a, const char *path);
/* The same, of one that was read without an analysis. */
void recording_note_map(const char *path, const char *note, uint64_t hashed, bool open_end,
			unsigned files_cut, uint64_t bad_lines);

/* Notes that a recording ends early, if it does; once it is read. */
void recording_note_end(struct mz_recording *r);

/* As mz_recording_model(), and notes what the map does not contain. */
int recording_model(struct mz_recording *r, const struct mz_recording_model *how,
		    struct mz_kmap_model *m, struct mz_error *err);

#endif
