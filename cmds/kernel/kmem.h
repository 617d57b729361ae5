/* SPDX-License-Identifier: BSD-2-Clause */
/* What the verbs for kernel traces share. */
#ifndef MZ_CMDS_KERNEL_KMEM_H
#define MZ_CMDS_KERNEL_KMEM_H

#include "cmds/cmd.h"

struct mz_kmem;

/* The counts of --summary as a table or JSON; returns enum mz_exit. */
struct mz_kallsyms;
int kmem_print_summary(struct mz_kmem *k, const struct mz_kallsyms *syms, uint64_t limit,
		       uint64_t ns, bool json, bool live);

/* ---- other forms (kmem_convert.c); both return enum mz_exit --------------- */

struct kmem_convert {
	const char *output; /* NULL: standard output */
	bool best, force;
	bool strict; /* incomplete input is no success */
};

/* The files of a recording as one container. */
struct mz_recording;
int kmem_join(const struct kmem_convert *o, struct mz_recording *r);
/* As raw records. */
struct mz_kmemtrace_layout;
int kmem_export(const struct kmem_convert *o, struct mz_recording *r,
		const struct mz_kmemtrace_layout *layout);

/* ---- the report, its text and its JSON ----------------------------------- */

struct mz_kmem_report;
struct mz_kmem_group;

enum kmem_sort {
	KMEM_SORT_WASTE,
	KMEM_SORT_BYTES,
	KMEM_SORT_COUNT,
	KMEM_SORT_FRAG,
	KMEM_SORT_LIVE,
	KMEM_SORT_PEAK,
	KMEM_SORT_LIFETIME,
	KMEM_SORT_CROSS,
	KMEM_SORT_NEVER_FREED, /* by bytes requested; --metric does not offer it */
};

/* A row of a table: a call site or a cache. */
struct kmem_row {
	const struct mz_kmem_group *g;
	uint32_t id;  /* site, or number of the cache */
	double value; /* what the rows are sorted by */
};

/* The rows that are not empty, sorted; freed by the caller. NULL = no memory. */
struct kmem_row *kmem_rows(const struct mz_kmem_report *r, bool caches, enum kmem_sort sort,
			   size_t *count);
double kmem_frag(uint64_t req, uint64_t given); /* wasted part, in percent */
char *kmem_site_text(const struct mz_kmem_report *r, uint32_t site, char *buf, size_t size);
/* "1.2 ms", or "1234 events" where time is counted in events. */
char *kmem_time_text(const struct mz_kmem_report *r, uint64_t v, char *buf, size_t size);

/* What is live at the end (kmem_live.c): a report of its own, or a part of the JSON. */
struct mz_json;
void kmem_live_text(const struct mz_kmem_report *r, size_t limit);
void kmem_live_json(struct mz_json *w, const struct mz_kmem_report *r, size_t limit);

/* How the report on a kernel trace is made: options of kmemtrace-report, and of report. */
struct kmem_report_opts {
	unsigned metric; /* enum kmem_sort */
	const char *caller, *cache;
	struct mz_time_range time;
	const char *symbols; /* NULL: those in the files and beside them */
	bool live, strict;
};

extern const char *const kmem_metrics[];
extern const struct mz_opt_old_word kmem_old_metrics[];

/* clang-format off */
#define KMEM_REPORT_OPTS(sc, st, m)                                                                \
	MZ_OPT_METRIC(sc, st, m.metric, "sort", MZ_OPT_CHOICE, kmem_metrics, kmem_old_metrics,     \
		      "order call sites and caches by waste (default), peak, total, live, "        \
		      "blocks, frag, median_lifetime or cross"),                                   \
	MZ_OPT_FOR(sc, 0, "caller", "NAME", MZ_OPT_STR, st, m.caller,                              \
		   "only blocks allocated by functions whose name contains NAME"),                  \
	MZ_OPT_FOR(sc, 0, "cache", "NAME", MZ_OPT_STR, st, m.cache, "only blocks of this cache"),  \
	MZ_OPT_TIME(sc, st, m.time),                                                               \
	MZ_SWITCH_FOR(sc, 0, "live", st, m.live,                                   \
		   "only what is live at the end: by allocator, subsystem and call site")
#define KMEM_REPORT_STRICT(sc, st, m)                                                              \
	MZ_SWITCH_FOR(sc, 0, "strict", st, m.strict,                               \
		   "exit with 3 if events were lost or a file is truncated")
/* clang-format on */

/* The whole report; returns enum mz_exit. */
int kmem_report_run(struct mz_recording *rec, const struct kmem_report_opts *o, size_t rows,
		    bool json);

/* Both return enum mz_exit. */
int kmem_report_text(const struct mz_kmem_report *r, enum kmem_sort sort, size_t limit);
int kmem_report_json(const struct mz_kmem_report *r, enum kmem_sort sort, size_t limit);
/* Parts of the JSON, into an open object. */
void kmem_json_summary(struct mz_json *w, const struct mz_kmem_report *r, size_t limit);
void kmem_json_findings(struct mz_json *w, const struct mz_kmem_report *r, size_t limit);

#endif
