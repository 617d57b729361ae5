/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of an analysis share: see <memorizer/analysis.h>. */
#ifndef MZ_ANALYSIS_ANALYSIS_H
#define MZ_ANALYSIS_ANALYSIS_H

#include "analysis/history.h"
#include "analysis/layout.h"
#include "analysis/recording.h"
#include "analysis/result_table.h"
#include "analysis/suppressions.h"
#include "analysis/usage.h"

struct mz_analysis {
	struct mz_analysis_options o;
	char **paths; /* copies: a KMAP may be read again, at another level of detail */
	int n;
	char *symbols;
	struct mz_recording recording;
	struct mz_events *events; /* the recording's; NULL: it has none */
	struct mz_usage usage;
	struct mz_history *history;	     /* NULL: not wanted */
	struct mz_layout *layout;	     /* NULL: not wanted */
	struct mz_suppressions suppressions; /* none: it is not of a program */
	uint64_t lost[MZ_LOSSES];
	uint64_t number; /* of the event last read */
	bool done;	 /* all was read */
	bool has_model;
	enum mz_kmap_by model_by; /* as requested; the model may have another */
	bool model_lives;	  /* it was read with the lives of objects, for measures */
	bool model_types;	  /* ... and with the structures of objects */
	bool compared;		  /* the lines of the map were read, and there is no model */
	char note[160];		  /* what the map cannot say */
	struct mz_kmap_model model;
	struct mz_error error;	/* of the last call that failed */
	struct mz_error broken; /* reading failed: what was read is incomplete, for every call */
};

/* A call that may fail begins: clears the error of the previous one. */
static inline void mz_analysis_begin(struct mz_analysis *a)
{
	if (a->error.code)
		a->error = (struct mz_error){0};
}

/* Reading failed with a->error set: every call that needs what is missing will fail like this one,
 * unless a map can be read again. Returns -errno. */
int mz_analysis_break(struct mz_analysis *a);
/* Fails again if reading has failed: 0 or -errno with a->error set. */
int mz_analysis_check(struct mz_analysis *a);

/* Opens the recording again. 0 or -errno with a->error set. */
int mz_analysis_reopen(struct mz_analysis *a);
/* The same for a KMAP whose lines were read already. The model is freed once the map is open. */
int mz_analysis_again(struct mz_analysis *a);

/* What a call that returns a pointer returns when it fails: NULL, with errno and the reason set. */
void *mz_analysis_failed(struct mz_error *err, const struct mz_error *why, int ret);

/* Copies options of the caller: to has size bytes. 0 or -errno with err set. */
int mz_analysis_take(void *to, const void *from, size_t size, struct mz_error *err);

/* analysis_tables.c, analysis_kmap.c: fill a table, which the caller deinits in all
 * cases. 0 or -errno with a->error set. */
int mz_analysis_table(struct mz_analysis *a, enum mz_question q, struct mz_result_table *t);
int mz_analysis_kmap(struct mz_analysis *a, enum mz_question q, const char *pattern,
		     struct mz_result_table *t);
/* What the map says about itself, by its model. */
const char *mz_analysis_kmap_text(struct mz_analysis *a, const char *key);
uint64_t mz_analysis_kmap_number(const struct mz_analysis *a, const char *key);
/* analysis_privilege.c: of a model that was read with lives. */
int mz_analysis_privilege(struct mz_analysis *a, struct mz_result_table *t);

#endif
