/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions about a store, the same for both engines. */
/*
 * Groups and sums are made by the engine, shard by shard; the results of the shards are added up
 * here, and names are looked up last, for the rows that are shown.
 */
#ifndef MZ_STORE_QUESTIONS_H
#define MZ_STORE_QUESTIONS_H

#include "analysis/diff_budget.h"
#include "analysis/result_table.h"
#include "store/store.h"

/* Which recordings; NULL and 0 = any. */
struct mz_store_filter {
	const char *program, *revision, *host;
	const char *const *labels;
	size_t nlabels;
	uint64_t since, until; /* ms since 1970 */
	uint32_t known;	       /* enum mz_profile_has: they know all of these values */
};

/* A recording of the store. */
struct mz_store_entry {
	char *digest, *program, *revision, *host, *kind, *source, *path, *labels, *clock;
	unsigned shard;
	uint64_t attempt, time, stored, duration, known, events, lost, rows;
	struct mz_heap_sum all;
};

struct mz_store_entries {
	struct mz_store_entry *list; /* by time, then by digest */
	size_t n, cap;
};

/* 0 or -errno with err set; free them in both cases. */
int mz_store_list(struct mz_store *s, const struct mz_store_filter *f, struct mz_store_entries *e,
		  struct mz_error *err);
void mz_store_entries_free(struct mz_store_entries *e);

/* How many recordings the filter lets pass. */
int mz_store_count(struct mz_store *s, const struct mz_store_filter *f, uint64_t *n,
		   struct mz_error *err);
/* Two programs in one answer would look like one that changed: an error that names both. */
int mz_store_one_program(const struct mz_store_entries *e, struct mz_error *err);

/* What is one row of an answer. */
enum mz_store_by {
	MZ_STORE_BY_SITE,
	MZ_STORE_BY_STACK,
	MZ_STORE_BY_OBJECT, /* KMAPs: cache, type or variable */
	MZ_STORE_BY_MEMBER,
	MZ_STORE_BY_ACCESSOR,
	MZ_STORE_BY_PROGRAM,
	MZ_STORE_BY_REVISION,
	MZ_STORE_BY_HOST,
	MZ_STORE_BYS
};

struct mz_store_sum {
	uint64_t key;
	uint64_t runs, sum, max; /* recordings that have it; over them */
};

struct mz_store_sums {
	struct mz_store_sum *list;
	size_t n, cap;
	struct mz_pair_index *index; /* by key */
};

/* Sums by key over the recordings that the filter lets pass. */
int mz_store_sum_by(struct mz_store *s, enum mz_store_by by, const struct mz_profile_value *v,
		    const struct mz_store_filter *f, struct mz_store_sums *sums,
		    struct mz_error *err);
void mz_store_sums_free(struct mz_store_sums *sums);

/* The condition that recordings must meet, for "WHERE recording IN (SELECT recording FROM $R
 * ...)". */
void mz_store_where(const struct mz_store *s, struct mz_buf *b, const struct mz_store_filter *f);

/* Names of frames or stacks, into a table of strings: names[i] is that of ids[i], "?" if the
 * store has none. 0 or -errno. */
int mz_store_names(struct mz_store *s, enum mz_store_by by, const uint64_t *ids, size_t n,
		   struct mz_tables *strings, uint32_t *names, struct mz_error *err);

/* Numbers of the call sites that a text means: "function", or "function (file)". */
int mz_store_find_site(struct mz_store *s, const char *text, uint64_t **ids, size_t *n,
		       struct mz_error *err);

/* A value of a call site in each of the entries; 0 where it has none. */
struct mz_store_series {
	uint64_t site; /* 0: the whole recording */
	uint64_t *values;
};

struct mz_store_matrix {
	struct mz_store_series *list; /* [0]: the whole */
	size_t n, cap;
	size_t runs;
	struct mz_pair_index *index;
};

/* site NULL: all sites. */
int mz_store_read_matrix(struct mz_store *s, const struct mz_store_filter *f,
			 const struct mz_store_entries *e, const struct mz_profile_value *v,
			 const uint64_t *site, struct mz_store_matrix *m, struct mz_error *err);
void mz_store_matrix_free(struct mz_store_matrix *m);

/* The stacks of one recording: names as "main;work;malloc". */
struct mz_store_stacks {
	struct mz_store_sum *list; /* key and sum */
	uint32_t *names;	   /* of strings */
	size_t n;
	struct mz_tables *strings;
};
int mz_store_read_stacks(struct mz_store *s, const struct mz_store_entry *e,
			 const struct mz_profile_value *v, struct mz_store_stacks *stacks,
			 struct mz_error *err);
void mz_store_stacks_free(struct mz_store_stacks *s);

/* ---- answers, each as a table ------------------------------------------------- */

/* Recordings that do not know the value (a KMAP has no peak) are left out of all of them, except
 * of the list and of the sums by program, revision and host: their cells are
 * MZ_RESULT_UNKNOWN. */

int mz_store_answer_list(const struct mz_store_entries *e, struct mz_result_table *t);
int mz_store_answer_top(struct mz_store *s, enum mz_store_by by, const struct mz_profile_value *v,
			const struct mz_store_filter *f, size_t limit, struct mz_result_table *t,
			struct mz_error *err);

enum mz_store_step { MZ_STORE_STEP_REVISION, MZ_STORE_STEP_DAY, MZ_STORE_STEP_RECORDING };
/* site "": the whole recordings. */
int mz_store_answer_trend(struct mz_store *s, const char *site, const struct mz_profile_value *v,
			  const struct mz_store_filter *f, enum mz_store_step step,
			  struct mz_result_table *t, struct mz_error *err);
int mz_store_answer_diff(struct mz_store *s, const char *a, const char *b, enum mz_store_by by,
			 const struct mz_profile_value *v, const struct mz_store_filter *f,
			 size_t limit, struct mz_result_table *t, struct mz_error *err);

struct mz_store_noise {
	double chance; /* a change is reported if its probability by chance is below this */
	double least;  /* and at least this share of what it was */
	size_t runs;   /* how many runs, from the newest on; 0 = all */
};

/* What regressions were looked for in. */
struct mz_store_looked {
	size_t runs, series; /* series: call sites, and the whole */
	size_t splits;	     /* revisions that a change may begin with */
	size_t needed;	     /* runs on either side, for any change to stand out */
	bool enough;	     /* a change could have been found */
};

/* looked: may be NULL. */
int mz_store_answer_regressions(struct mz_store *s, const struct mz_profile_value *v,
				const struct mz_store_filter *f, const struct mz_store_noise *noise,
				struct mz_result_table *t, struct mz_store_looked *looked,
				struct mz_error *err);

/* A revision against the history before it; f->revision NULL: the newest. */
struct mz_store_verdict {
	char *program, *revision;
	size_t history, runs;
	size_t broken; /* budgets */
};
int mz_store_answer_gate(struct mz_store *s, const struct mz_budget *budgets, size_t n,
			 const struct mz_store_filter *f, const struct mz_store_noise *noise,
			 struct mz_store_verdict *verdict, struct mz_result_table *t,
			 struct mz_error *err);

#endif
