/* SPDX-License-Identifier: BSD-2-Clause */
/* Recordings in the formats of existing viewers, one file per format. */
/*
 * There are three kinds: those made from the profile (stacks added up), those that take the events
 * as they come, and tables of events or call sites.
 */
#ifndef MZ_EXPORT_EXPORT_H
#define MZ_EXPORT_EXPORT_H

#include "analysis/events.h"
#include "analysis/profile.h"
#include "base/output.h"

struct mz_table_ops;

struct mz_export_options {
	const struct mz_profile_value *value; /* collapsed: what is counted; NULL = the usual */
	bool progress;
	/* otlp, openmetrics: whose profile it is; NULL, 0 = what the recording says */
	const char *program, *revision, *host;
	uint64_t time_ns; /* since 1970 */
};

typedef int mz_export_profile(const struct mz_profile *p, const struct mz_export_options *o,
			      struct mz_output *out, struct mz_error *err);
typedef int mz_export_events(struct mz_events *s, struct mz_output *out, struct mz_error *err);

struct mz_export_format {
	const char *name;
	mz_export_profile *profile; /* one of the three is set */
	mz_export_events *events;
	const struct mz_table_ops *table;
	bool binary;	 /* not for a terminal */
	bool whole_file; /* not for a pipe */
};

extern const struct mz_export_format mz_export_formats[]; /* ends with a name of NULL */

mz_export_profile mz_export_dhat, mz_export_pprof, mz_export_collapsed, mz_export_massif,
	mz_export_speedscope, mz_export_firefox, mz_export_otlp, mz_export_openmetrics;
mz_export_events mz_export_heaptrack, mz_export_perfetto;
extern const struct mz_table_ops mz_csv_ops, mz_jsonl_ops, mz_parquet_ops, mz_sqlite_ops;

/* The value of formats that have only one: the peak, or else what is live at the end, or else
 * everything. */
const struct mz_profile_value *mz_export_usual(const struct mz_profile *p);

/* Appends the profile in the given format to a buffer. 0 or -errno. */
int mz_export_to_buf(mz_export_profile *format, const struct mz_profile *p,
		     const struct mz_export_options *o, struct mz_buf *b, struct mz_error *err);

/* Writes a whole buffer to the output and frees it. 0 or -errno. */
int mz_export_put(struct mz_buf *b, struct mz_output *out, struct mz_error *err);

/* The values that a profile has and that make a flame graph: bytes at the peak,
 * at the end, in all; temporary blocks; ... Up to max of them. */
size_t mz_export_views(const struct mz_profile *p, const struct mz_profile_value **views,
		       size_t max);
#define MZ_EXPORT_VIEWS 8

#endif
