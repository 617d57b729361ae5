// SPDX-License-Identifier: BSD-2-Clause
/* Answer the questions about a KMAP from its model, read at the level that they need. */
#include <errno.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/kmap_questions.h"
#include "base/error.h"
#include "formats/kmap.h"

/* Counts of objects cannot be added up afterwards, so the level is chosen before reading. */
static enum mz_kmap_by level_of(const struct mz_analysis *a, enum mz_question q)
{
	switch (q) {
	case MZ_ASK_MATRIX:
	case MZ_ASK_CALLS: return (enum mz_kmap_by)a->o.by;
	case MZ_ASK_SHARED:
	case MZ_ASK_UNUSED:
	case MZ_ASK_PROCESSES:
	case MZ_ASK_ACCESSORS: return MZ_KMAP_BY_DIR;
	default: return MZ_KMAP_BY_FUNCTION;
	}
}

/* A question at another level reads the map again. Which level comes next is unknown, and a
 * model of the finest level would take far more memory. */
static bool from_pipe(const struct mz_analysis *a)
{
	return !strcmp(a->paths[0], "-");
}

int mz_analysis_again(struct mz_analysis *a)
{
	int ret;

	if (!a->has_model && !a->compared)
		return 0;
	if (from_pipe(a))
		return mz_fail(&a->error, ESPIPE,
			       "standard input cannot be read again, for another level of detail");
	ret = mz_analysis_reopen(a);
	if (ret < 0)
		return ret;
	if (a->has_model)
		mz_kmap_model_deinit(&a->model);
	a->has_model = a->compared = false;
	return 0;
}

static int read_model(struct mz_analysis *a, enum mz_question q)
{
	enum mz_kmap_by by = level_of(a, q);
	bool lives = q == MZ_ASK_PRIVILEGE;
	/* Structures take long to load; if the map is a pipe, the next question may need them. */
	struct mz_recording_model how = {.by = by,
					 .or_function = by <= MZ_KMAP_BY_FILE && !lives &&
							!a->o.by_exactly,
					 .types = q <= MZ_ASK_FIELDS || (from_pipe(a) && !lives),
					 .lives = lives};
	int ret;

	if (a->broken.code)
		return mz_analysis_check(a);
	if (a->has_model && a->model_by == by && a->model_lives == lives &&
	    a->model_types >= how.types)
		return 0;
	ret = mz_analysis_again(a);
	if (ret < 0)
		return ret;
	ret = mz_recording_model(&a->recording, &how, &a->model, &a->error);
	if (ret < 0) {
		mz_kmap_model_deinit(&a->model);
		a->compared = true;
		return mz_analysis_break(a);
	}
	a->has_model = true;
	a->model_by = by;
	a->model_lives = lives;
	a->model_types = how.types;
	return 0;
}

int mz_analysis_kmap(struct mz_analysis *a, enum mz_question q, const char *pattern,
		     struct mz_result_table *t)
{
	const struct mz_kmap_model *m = &a->model;
	int ret;

	if (q == MZ_ASK_TOUCHED && !pattern)
		return mz_fail(&a->error, EINVAL, "'touched' needs the name of a function");
	ret = read_model(a, q);
	if (ret < 0)
		return ret;
	switch (q) {
	case MZ_ASK_CLASSES: mz_kmap_classes(m, pattern, t); break;
	case MZ_ASK_ALLOCATED_BY: mz_kmap_object(m, pattern, MZ_KMAP_ALLOCATED, t); break;
	case MZ_ASK_FREED_BY: mz_kmap_object(m, pattern, MZ_KMAP_FREED, t); break;
	case MZ_ASK_WRITTEN_BY: mz_kmap_object(m, pattern, MZ_KMAP_WRITTEN, t); break;
	case MZ_ASK_READ_BY: mz_kmap_object(m, pattern, MZ_KMAP_READ, t); break;
	case MZ_ASK_TYPES: mz_kmap_types(m, pattern, t); break;
	case MZ_ASK_FIELDS: mz_kmap_fields(m, pattern, a->o.names, t); break;
	case MZ_ASK_TOUCHED: mz_kmap_site(m, pattern, t); break;
	case MZ_ASK_MATRIX: mz_kmap_matrix(m, t); break;
	case MZ_ASK_SHARED: mz_kmap_shared(m, t); break;
	case MZ_ASK_UNUSED: mz_kmap_unused(m, t); break;
	case MZ_ASK_PRIVILEGE: return mz_analysis_privilege(a, t);
	case MZ_ASK_PROCESSES: mz_kmap_processes(m, t); break;
	case MZ_ASK_CALLS: mz_kmap_calls(m, t); break;
	default: mz_kmap_accessors(m, t); break;
	}
	return 0;
}

const char *mz_analysis_kmap_text(struct mz_analysis *a, const char *key)
{
	if (strcmp(key, "note"))
		return NULL;
	return mz_kmap_note(a->recording.kmap, a->note, sizeof(a->note));
}

uint64_t mz_analysis_kmap_number(const struct mz_analysis *a, const char *key)
{
	const struct mz_kmap_model *m = &a->model;
	const struct {
		const char *key;
		uint64_t number;
	} list[] = {
		{"accesses", m->accesses},   {"by", m->by},
		{"calls", m->n_calls},	     {"hashed", m->hashed},
		{"open_end", m->open_end},   {"bad_lines", m->bad_lines},
		{"folders", m->has_dirs},    {"ranges", m->has_ranges},
		{"members", m->has_members}, {"structures", m->types != NULL},
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (!strcmp(list[i].key, key))
			return list[i].number;
	return 0;
}
