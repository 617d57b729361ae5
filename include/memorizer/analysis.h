/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Questions about a recording of any kind: part of <memorizer.h>, which includes it.
 *
 * A program opens an analysis, lets it read the recording (event by event, or in one
 * call), and requests tables. A table describes its columns, so that a program can
 * show a table that it does not know.
 *
 * Structures that begin with `size` can grow. The caller sets it to sizeof() of the
 * structure that it was compiled with; a library that is older or newer fills or reads
 * that many bytes.
 */
#ifndef MEMORIZER_ANALYSIS_H
#define MEMORIZER_ANALYSIS_H

#ifndef MEMORIZER_H
#error "include <memorizer.h>"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- opening -------------------------------------------------------------- */

enum mz_recording_kind {
	MZ_RECORDING_ANY,
	MZ_RECORDING_USER,   /* the events of a program */
	MZ_RECORDING_KERNEL, /* the events of a kernel: a file, several, or a folder */
	MZ_RECORDING_KMAP,   /* objects of a kernel and the code that touched them; no events */
	MZ_RECORDING_SUMS,   /* sums by call site and no events: DHAT, /proc/allocinfo */
	MZ_RECORDING_KINDS
};

/* "user", "kernel", "kmap", "sums"; NULL past the end of the enum. */
MZ_API const char *mz_recording_kind_name(enum mz_recording_kind kind);

/* The level of detail at which code is added up in answers about a KMAP. */
enum mz_kmap_by {
	MZ_KMAP_BY_DIR,
	MZ_KMAP_BY_FILE,
	MZ_KMAP_BY_FUNCTION,
	MZ_KMAP_BY_CACHE,
	MZ_KMAP_BY_PID,
	MZ_KMAP_BY_SITE /* function+0x1c (file.c:12): the finest */
};

/* What is kept while events are read. */
enum mz_want {
	MZ_WANT_SUMS = 1 << 0,	   /* totals, and all sums but those by thread */
	MZ_WANT_TIMELINE = 1 << 1, /* and MZ_ASK_TIMELINE, MZ_ASK_LIFETIMES, MZ_ASK_SIZES */
	MZ_WANT_LAYOUT = 1 << 2,   /* MZ_ASK_LAYOUT; for recordings with addresses */
	MZ_WANT_THREADS = 1 << 3   /* sums, those of MZ_ASK_THREADS, too */
};

struct mz_analysis_options {
	size_t size;
	const char *symbols; /* of a kernel: files and folders, separated by commas; NULL:
				those beside the recording. Of a program: the root folder of its
				files, if that is not "/" */
	uint32_t want;	     /* enum mz_want; 0 = sums and timeline */
	uint32_t by;	     /* enum mz_kmap_by, for MZ_ASK_MATRIX, _CALLS and _PRIVILEGE */
	uint32_t skip_bad;   /* KMAP: lines that cannot be parsed are counted and are no error */
	uint32_t flags;	     /* enum mz_open_flags */
	uint32_t kind;	     /* enum mz_recording_kind: any other kind is an error */
	uint32_t by_exactly; /* KMAP: 1 = `by` holds, even if no folders are known; 0 = functions
				then take the place of folders */
	uint32_t names;	     /* MZ_ASK_FIELDS: functions named per member; 0 = all */
	uint32_t no_default_suppressions; /* 1: only the rules of `suppressions` hold */
	/* Called from time to time while a KMAP is read, with progress_arg. share: of the file,
	 * below 0 = not known; count: of units ("lines"). NULL = not called. */
	void (*progress)(void *arg, double share, uint64_t count, const char *units);
	void *progress_arg;
	/* Of a program: a file with rules (memorizer-report(1)) for blocks that are never freed on
	 * purpose, which hold beside the default ones. NULL = none. */
	const char *suppressions;
};

struct mz_analysis;

/*
 * Opens one file ("-": standard input) or folder, or several files of one kernel trace. The
 * content determines the kind. options may be NULL. On failure NULL, with the reason in err
 * (which may be NULL): -E2BIG stands for options that this library does not know.
 */
MZ_API struct mz_analysis *mz_analysis_open(const char *const *paths, size_t n,
					    const struct mz_analysis_options *options,
					    struct mz_error *err);
MZ_API void mz_analysis_close(struct mz_analysis *a);

MZ_API enum mz_recording_kind mz_analysis_kind(const struct mz_analysis *a);
/* Why the last call failed; valid until the analysis is closed. An error of the recording itself
 * stays: every later call that needs the rest of it fails in the same way. */
MZ_API const struct mz_error *mz_analysis_error(const struct mz_analysis *a);

/*
 * What a recording says about itself; borrowed until the analysis is closed. NULL, 0 = it does
 * not say. With events: "command", "host", ... (docs/format.md). A KMAP, after the first question:
 * the text "note" (what its kernel could not record), and the numbers "accesses", "calls",
 * "by" (enum mz_kmap_by: the level of detail of the last answer),
 * "hashed" (addresses that have no names for that reason), "bad_lines", "open_end" (1: the last
 * line may have been cut), "folders" (1: some code has one), "ranges" (1: it is known which bytes
 * were accessed), "members" (1: it is known which members were accessed) and "structures" (1: the
 * symbols have some). Any recording, once it is read: "files_cut" (see mz_totals), and what a
 * damaged file has lost of its tables: "lost_names", "lost_frames" (of call stacks).
 */
MZ_API const char *mz_analysis_text(struct mz_analysis *a, const char *key);
MZ_API uint64_t mz_analysis_number(struct mz_analysis *a, const char *key);

/* ---- events --------------------------------------------------------------- */

/* The next event, ordered by time over all files: 1; 0 at the end; -errno. The sums
 * include it from then on. -ENODATA: the recording has no events. */
MZ_API int mz_analysis_next(struct mz_analysis *a, struct mz_event *ev);
/* Reads the rest: 0 or -errno. mz_analysis_ask() does this itself. */
MZ_API int mz_analysis_run(struct mz_analysis *a);

/* The addresses of a stack (ev->site), innermost first, valid until the next call; and a
 * string (ev->cache, the arg of a mark), valid until the analysis is closed. NULL = none. */
MZ_API const uint64_t *mz_analysis_stack(struct mz_analysis *a, uint32_t stack, size_t *depth);
MZ_API const char *mz_analysis_string(struct mz_analysis *a, uint32_t id, size_t *len);

/* A function at an address of code. Texts are borrowed until the analysis is closed;
 * NULL = not known. */
struct mz_code_frame {
	size_t size;
	const char *function;
	const char *file;   /* of the source */
	const char *module; /* program, library or kernel module */
	uint64_t offset;    /* of the address in the module */
	uint32_t line;	    /* 0 = not known */
	uint32_t inlined;   /* 1: the next frame of the same address called it */
};

/* Frame i (from 0, innermost) of the functions at a return address, inlined ones included:
 * 1; 0 = there are no more; -errno. Frame 0 always exists, perhaps without a name. The
 * first call that needs debugging information loads it. */
MZ_API int mz_analysis_frame(struct mz_analysis *a, uint64_t ip, size_t i,
			     struct mz_code_frame *frame);

/* ---- totals ---------------------------------------------------------------- */

struct mz_totals {
	size_t size;
	uint64_t events;	/* without lost ones */
	uint64_t lost;		/* events, all causes; no figure includes them */
	uint64_t blocks, bytes; /* allocated in total; a realloc makes a new block */
	uint64_t peak_bytes, peak_blocks;
	uint64_t peak_event, peak_time;
	uint64_t live_blocks, live_bytes;    /* never freed */
	uint64_t temporary_blocks;	     /* freed before their thread's next allocation */
	uint64_t waste_bytes, waste_at_peak; /* given beyond the request */
	uint64_t failed, null_frees, unknown_frees, over_live;
	uint64_t threads;
	uint64_t first_time, last_time;
	uint64_t lost_by[16]; /* by enum mz_loss, with room for future causes */
	uint64_t files_cut;   /* files that end early: the recorder was stopped, or they were cut.
				 What came later is unknown, and a live block need not be a leak */
};

/* For a recording with events or sums: 0 or -errno (-ENODATA: a KMAP, or without MZ_WANT_SUMS). */
MZ_API int mz_analysis_totals(struct mz_analysis *a, struct mz_totals *totals);

/* ---- questions -------------------------------------------------------------- */

enum mz_question {
	/* a program or a kernel: events, or sums */
	MZ_ASK_SITES,	  /* sums by call site: the code that requested the memory */
	MZ_ASK_STACKS,	  /* sums by call stack; `stack` is for mz_analysis_stack() */
	MZ_ASK_POOLS,	  /* sums by pool (memorizer/pool.h) or kernel cache */
	MZ_ASK_TIMELINE,  /* live bytes and blocks over time */
	MZ_ASK_LIFETIMES, /* ended blocks by age, in powers of two: ns, or events without times */
	MZ_ASK_SIZES,	  /* blocks by size, in powers of two */
	MZ_ASK_LAYOUT,	  /* live bytes and pages in use over time */
	MZ_ASK_LOSS,	  /* events lost, by cause */
	/* a KMAP; pattern: classes whose cache, type, variable, function or file it matches
	 * (shell pattern, or a part of the name), NULL = all */
	MZ_ASK_CLASSES,	     /* classes of objects */
	MZ_ASK_ALLOCATED_BY, /* the code that allocates them, ... */
	MZ_ASK_FREED_BY,
	MZ_ASK_WRITTEN_BY,
	MZ_ASK_READ_BY,
	MZ_ASK_TYPES,	  /* their structures */
	MZ_ASK_FIELDS,	  /* which code reads and writes which member */
	MZ_ASK_TOUCHED,	  /* pattern: a function; the classes that it touches */
	MZ_ASK_MATRIX,	  /* which code touches which objects: the edges */
	MZ_ASK_SHARED,	  /* classes that more than one subsystem, process or context touches */
	MZ_ASK_UNUSED,	  /* classes with objects that were never read, written or touched */
	MZ_ASK_PRIVILEGE, /* the published measures of memorizer-kmap(1), by folder, file or
			   * function; the vmlinux must be among the symbols */
	MZ_ASK_PROCESSES,
	MZ_ASK_ACCESSORS,
	MZ_ASK_CALLS, /* which code calls which */
	/* a program or a kernel: events. Of a row's live blocks, "suppressed_blocks" are never
	 * freed on purpose, here and in MZ_ASK_SITES */
	MZ_ASK_FUNCTIONS, /* sums by the function of the call site, ... */
	MZ_ASK_FILES,
	MZ_ASK_MODULES,
	MZ_ASK_THREADS,	      /* sums by thread */
	MZ_ASK_SUPPRESSED,    /* call stacks with suppressed blocks, and the rules that match */
	MZ_ASK_STACK_QUALITY, /* one row: blocks whose stack is rooted, cut, guessed or unknown;
			       * none if the recorder did not count them */
	MZ_QUESTIONS
};

/* "sites", "written-by", ...; NULL past the end of the enum. */
MZ_API const char *mz_question_name(enum mz_question question);

struct mz_result_table;

/*
 * Reads the rest of the recording and answers. The caller frees the table with
 * mz_result_free(); it may outlive the analysis. pattern: see above, else NULL.
 * NULL with err (which may be NULL) set: ENODATA if this kind of recording cannot answer.
 */
MZ_API struct mz_result_table *mz_analysis_ask(struct mz_analysis *a, enum mz_question question,
					       const char *pattern, struct mz_error *err);

/* ---- comparing ---------------------------------------------------------------- */

/* How places of two recordings are matched: always by name, so that load addresses do not
 * matter. */
enum mz_compare_by {
	MZ_COMPARE_FUNCTION, /* function and file of the call site */
	MZ_COMPARE_LINE,     /* and the line */
	MZ_COMPARE_STACK,    /* all functions of the call stack */
	MZ_COMPARE_FILE,
	MZ_COMPARE_MODULE,
	MZ_COMPARE_OBJECT, /* KMAPs: cache, type or variable */
	MZ_COMPARE_WHOLE,  /* one row: the recordings as a whole */
	MZ_COMPARE_BYS
};

struct mz_compare_options {
	size_t size;
	uint32_t by;	   /* enum mz_compare_by */
	uint32_t reserved; /* 0 */
	const char *sort;  /* the name of a value, such as "peak_bytes": the rows with the largest
			      change come first; NULL = by place */
};

/*
 * What changed from a to b, two recordings of the same kind: a table as from mz_analysis_ask(),
 * with the columns "place", "stacks_a" and "stacks_b" (call stacks of the place; 0 = that recording
 * does not have it), and NAME_a and NAME_b for each value that both recordings contain, such as
 * "peak_bytes_a". Reads the rest of both, which must keep sums (MZ_WANT_SUMS). options may be
 * NULL.
 */
MZ_API struct mz_result_table *mz_analysis_compare(struct mz_analysis *a, struct mz_analysis *b,
						   const struct mz_compare_options *options,
						   struct mz_error *err);

/* ---- tables ------------------------------------------------------------------ */

enum mz_result_type {
	MZ_RESULT_TEXT, /* printable UTF-8 */
	MZ_RESULT_COUNT,
	MZ_RESULT_BYTES,
	MZ_RESULT_SHARE /* 0 to 1 */
};

MZ_API void mz_result_free(struct mz_result_table *t);
MZ_API size_t mz_result_rows(const struct mz_result_table *t);
MZ_API size_t mz_result_columns(const struct mz_result_table *t);
/* The table's name in JSON, and its heading. Borrowed until the table is freed. */
MZ_API const char *mz_result_name(const struct mz_result_table *t);
MZ_API const char *mz_result_heading(const struct mz_result_table *t);
/* A column's name in JSON and CSV, its title, its type. NULL, -EINVAL: there is no
 * such column. Borrowed until the table is freed. */
MZ_API const char *mz_result_key(const struct mz_result_table *t, size_t column);
MZ_API const char *mz_result_title(const struct mz_result_table *t, size_t column);
MZ_API int mz_result_type_of(const struct mz_result_table *t, size_t column);
/* The column with this name, or -ENOENT. */
MZ_API int mz_result_find(const struct mz_result_table *t, const char *key);
/* A cell: a count or bytes; a share; a text. 0 or "" if the cell has another type or does
 * not exist. */
MZ_API uint64_t mz_result_number(const struct mz_result_table *t, size_t row, size_t column);
MZ_API double mz_result_share(const struct mz_result_table *t, size_t row, size_t column);
MZ_API const char *mz_result_string(const struct mz_result_table *t, size_t row, size_t column);

#ifdef __cplusplus
}
#endif
#endif
