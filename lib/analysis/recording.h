/* SPDX-License-Identifier: BSD-2-Clause */
/* A recording of any kind: what it is, in one place. */
/*
 * It is opened once, by content (also from a pipe), and then provides what the caller needs:
 * events, a profile, a kernel trace, a KMAP or its model. What it returns belongs to the recording.
 */
#ifndef MZ_ANALYSIS_RECORDING_H
#define MZ_ANALYSIS_RECORDING_H

#include "analysis/events.h"
#include "analysis/kmap.h"
#include "analysis/profile.h"
#include "base/input.h"
#include "trace/early_end.h"

struct mz_kmem_input;

struct mz_recording_options {
	enum mz_recording_kind want; /* nothing else will do; a KMAP's own reader says where it
					is wrong */
	const char *symbols; /* of a kernel: files and folders, with commas between; NULL: those
				beside it. Of a program: the root folder of its files */
	unsigned flags;	     /* enum mz_open_flags */
	bool programs; /* of several programs, the first is opened, and the caller opens the rest */
	bool skip_bad; /* KMAP: lines that cannot be parsed are counted and are no error */
	/* Called from time to time; share of the file < 0: not known. */
	void (*progress)(void *arg, double share, uint64_t count, const char *units);
	void *arg;
};

struct mz_recording {
	const char *name; /* as it was given: the caller's */
	enum mz_recording_kind kind;
	enum mz_format format; /* UNKNOWN: no single trace file */
	bool folder;	       /* a folder of kmemtraced, or several files of a kernel */

	/* private */
	struct mz_recording_options o;
	struct mz_input in; /* sums, until they are read */
	int (*read_sums)(struct mz_profile *p, struct mz_input *in, struct mz_error *err);
	struct mz_reader *reader;
	struct mz_kmem_input *kmem;
	struct mz_kmap *kmap;
	struct mz_events *events;
	struct mz_profile profile;
	bool read;	     /* the profile is filled */
	struct mz_error why; /* its contents could not be read, and cannot be read again */
};

/* One file ("-": standard input) or folder, or several files of a kernel trace. o: NULL
 * = none. 0 or -errno with err set; close it in both cases. */
int mz_recording_open(struct mz_recording *r, char **paths, int n,
		      const struct mz_recording_options *o, struct mz_error *err);
void mz_recording_close(struct mz_recording *r);

/* It is made of events. */
bool mz_recording_has_events(const struct mz_recording *r);

/* For callers that need another kind: the error says what it is, and what reads it. -EINVAL. */
int mz_recording_refuse(const struct mz_recording *r, struct mz_error *err);

/*
 * How it is read is up to the caller: one of the following four, once. Each returns NULL
 * with err set, also if the recording has no such thing.
 */
/* The file of a trace by itself. */
struct mz_reader *mz_recording_reader(struct mz_recording *r, struct mz_error *err);
/* The events in order of time, with stacks and names. */
struct mz_events *mz_recording_events(struct mz_recording *r, struct mz_error *err);
/* The files of a kernel trace. */
struct mz_kmem_input *mz_recording_kmem(struct mz_recording *r, struct mz_error *err);
/* The lines of a KMAP. */
struct mz_kmap *mz_recording_kmap(struct mz_recording *r, struct mz_error *err);

/* The kernel's symbols by the files named, and those beside a kernel trace or in it; *symbols is
 * NULL if there are none, else the caller's to close. 0 or -errno. */
int mz_recording_symbols(struct mz_recording *r, struct mz_symbols **symbols, struct mz_error *err);

/* How the model of a KMAP is made. */
struct mz_recording_model {
	enum mz_kmap_by by;
	bool or_function;	  /* by function instead, if no folders are known */
	bool lives;		  /* what a union of maps needs */
	bool types;		  /* the structures of its objects, where the symbols describe
				     them */
	struct mz_heatmap *space; /* where objects lie; NULL = not requested */
};

/* Reads the KMAP to its end. 0 or -errno; deinit the model in both cases. */
int mz_recording_model(struct mz_recording *r, const struct mz_recording_model *how,
		       struct mz_kmap_model *m, struct mz_error *err);

/* Sums by call stack, of any kind of recording; read at the first call. NULL = an error. */
const struct mz_profile *mz_recording_profile(struct mz_recording *r, struct mz_error *err);

/* How many of its files end early, and where; known once it is read. */
struct mz_early_end mz_recording_early_end(struct mz_recording *r);

/* What damage has cost of its names and call stacks, in all files; known once it is read. */
struct mz_lost_tables {
	uint64_t names, frames;
};
#define MZ_LOST_NAMES  "lost_names"
#define MZ_LOST_FRAMES "lost_frames"
struct mz_lost_tables mz_recording_lost_tables(const struct mz_recording *r);

/* Events that were lost when it was recorded, by the profile. */
uint64_t mz_recording_lost(const struct mz_recording *r);

#endif
