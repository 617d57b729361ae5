// SPDX-License-Identifier: BSD-2-Clause
/* Build the page model of a KMAP; html_access.c adds the accesses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kmap_class_sums.h"
#include "analysis/kmap_questions.h"
#include "base/error.h"
#include "cmds/html/html.h"
#include "cmds/html/html_access.h"
#include "cmds/html/html_calls.h"
#include "cmds/html/html_privilege.h"
#include "cmds/kmap/kmap_report.h"
#include "formats/kmap_stats.h"

struct kmap {
	struct mz_kmap_model m;
	struct mz_kmap_stats stats;
	bool has_stats;
	struct mz_tables *names;
	struct mz_flame made, used; /* by code that allocates, that accesses */
	struct mz_heatmap space;
	struct html_privilege *privilege; /* NULL = not requested */
};

static void kmap_free(void *state)
{
	struct kmap *s = state;

	mz_flame_deinit(&s->made);
	mz_flame_deinit(&s->used);
	mz_tables_free(s->names);
	mz_kmap_model_deinit(&s->m);
	if (s->privilege)
		html_privilege_free(s->privilege);
	free(s->privilege);
	free(s);
}

/* ---- trees ----------------------------------------------------------------------- */

/* The meaning of the five values of a node. */
enum { ALL, LIVE, UNTOUCHED, READS, WRITES };
static const char *const made_values[] = {"total", "never_freed", "untouched", "reads", "writes"};
static const char *const used_values[] = {NULL, NULL, NULL, "reads", "writes"};

#define DEEP 16

/* "fs/ext4" as two names, then the file without its folders, then the function. */
static size_t path_of(struct kmap *s, const char *dir, const char *file, const char *function,
		      uint32_t path[DEEP])
{
	const char *base = strrchr(file, '/');
	size_t n = 0;

	if (s->m.has_dirs || *dir != '(')
		n = mz_flame_split(s->names, dir, path, DEEP - 2);
	file = base ? base + 1 : file;
	if (strcmp(file, dir) && (s->m.has_dirs || *file != '(')) /* both may be "(unknown)" */
		path[n++] = mz_tables_string(s->names, file, strlen(file));
	path[n++] = mz_tables_string(s->names, function, strlen(function));
	return n;
}

static int add_class(struct kmap *s, uint32_t i)
{
	const struct mz_kmap_class *c = &s->m.classes[i];
	uint64_t value[MZ_FLAME_VALUES] = {
		[ALL] = c->all.bytes,
		[LIVE] = c->all.bytes - c->freed.bytes,
		[UNTOUCHED] = c->untouched.bytes,
		[READS] = c->reads,
		[WRITES] = c->writes,
	};
	char dir[300], file[300], function[300];
	uint32_t path[DEEP];
	size_t n;

	mz_kmap_class_name(&s->m, i, MZ_KMAP_BY_DIR, dir, sizeof(dir));
	mz_kmap_class_name(&s->m, i, MZ_KMAP_BY_FILE, file, sizeof(file));
	mz_kmap_class_name(&s->m, i, MZ_KMAP_BY_FUNCTION, function, sizeof(function));
	n = path_of(s, dir, file, function, path);
	return mz_flame_add(&s->made, path, n, value);
}

static int add_edge(struct kmap *s, const struct mz_kmap_edge *e)
{
	uint64_t value[MZ_FLAME_VALUES] = {[READS] = e->reads, [WRITES] = e->writes};
	char dir[300], file[300], function[300];
	uint32_t path[DEEP];
	size_t n;

	mz_kmap_place_name(&s->m, e->place, MZ_KMAP_BY_DIR, dir, sizeof(dir));
	mz_kmap_place_name(&s->m, e->place, MZ_KMAP_BY_FILE, file, sizeof(file));
	mz_kmap_place_name(&s->m, e->place, MZ_KMAP_BY_FUNCTION, function, sizeof(function));
	n = path_of(s, dir, file, function, path);
	return mz_flame_add(&s->used, path, n, value);
}

static int make_trees(struct kmap *s)
{
	int ret = 0;

	for (uint32_t i = 0; i < s->m.n_classes && !ret; i++)
		ret = add_class(s, i);
	for (size_t i = 0; i < s->m.n_edges && !ret; i++)
		ret = add_edge(s, &s->m.edges[i]);
	return ret;
}

/* ---- over time ---------------------------------------------------------------------- */

static void curve_json(struct mz_json *w, const struct mz_kmap_model *m,
		       const struct html_limits *l)
{
	const struct mz_timeline *t = &m->timeline;

	if (!t->begun)
		return;
	mz_json_object(w, "curve");
	mz_json_u64(w, "first", t->first);
	mz_json_u64(w, "duration", t->now - t->first);
	mz_json_u64(w, "width", t->width * l->step);
	mz_json_u64(w, "base", m->timeless.bytes);
	html_json_bins(w, "live", t, l->step, HTML_BIN_LIVE);
	html_json_bins(w, "blocks", t, l->step, HTML_BIN_BLOCKS);
	mz_json_end_object(w);
}

/* Where objects are; variables are left out, and counted. */
static void space_json(struct mz_json *w, const struct kmap *s, const struct html_limits *l)
{
	struct mz_kmap_sum left = {0};

	if (!s->m.timeline.begun) /* nothing ever came or went */
		return;
	for (uint32_t i = 0; i < s->m.n_classes; i++) {
		if (!s->m.classes[i].global)
			continue;
		left.objects += s->m.classes[i].all.objects;
		left.bytes += s->m.classes[i].all.bytes;
	}
	html_json_space(w, &s->space, s->m.timeline.first - s->space.start * s->space.width, l);
	mz_json_object(w, "variables");
	mz_json_u64(w, "objects", left.objects);
	mz_json_u64(w, "bytes", left.bytes);
	mz_json_end_object(w);
}

/* ---- tables ---------------------------------------------------------------------------- */

static void answer_row(struct mz_json *w, const struct mz_result_table *a, size_t row)
{
	mz_json_array(w, NULL);
	for (size_t k = 0; k < a->n_columns; k++) {
		const union mz_result_cell *c = &a->cells[row * a->n_columns + k];

		if (a->columns[k].type == MZ_RESULT_TEXT)
			html_json_name(w, NULL, mz_result_get(a, row, k));
		else if (a->columns[k].type == MZ_RESULT_SHARE)
			mz_json_double(w, NULL, c->share);
		else
			mz_json_u64(w, NULL, c->number);
	}
	mz_json_end_array(w);
}

static int answer_table(struct mz_json *w, const struct mz_kmap_model *m, const char *key,
			const char *title,
			void (*ask)(const struct mz_kmap_model *, struct mz_result_table *),
			size_t limit)
{
	static const char *const units[] = {"text", "count", "bytes", "share"};
	struct html_column columns[24];
	struct mz_result_table a;
	size_t n;
	int ret;

	ask(m, &a);
	ret = a.failed || a.n_columns > 24 ? -ENOMEM : 0;
	for (size_t i = 0; !ret && i < a.n_columns; i++)
		columns[i] = (struct html_column){a.columns[i].key, a.columns[i].title,
						  units[a.columns[i].type]};
	n = a.rows < limit ? a.rows : limit;
	if (!ret) {
		html_json_table(w, key, title, columns, a.n_columns);
		for (size_t i = 0; i < n; i++)
			answer_row(w, &a, i);
		html_json_table_end(w, a.rows, n);
	}
	mz_result_deinit(&a);
	return ret;
}

static int group_table(struct mz_json *w, const struct mz_kmap_model *m, bool types, size_t limit)
{
	const struct html_column columns[] = {
		{types ? "type" : "cache", types ? "Type" : "Cache", "text"},
		{"kinds", "Kinds", "count"},
		{"objects", "Objects", "count"},
		{"bytes", "In all", "bytes"},
		{"live", "Never freed", "bytes"},
		{"untouched", "Untouched", "bytes"},
		{"reads", "Reads", "count"},
		{"writes", "Writes", "count"},
	};
	size_t n, shown;
	struct mz_kmap_class_sum *g = mz_kmap_class_sums(m, types, &n);

	if (!g && m->n_classes)
		return -ENOMEM;
	shown = n < limit ? n : limit;
	html_json_table(w, types ? "types" : "caches", types ? "Types" : "Caches", columns,
			sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < shown; i++) {
		const char *name = mz_kmap_string(m, g[i].name);

		mz_json_array(w, NULL);
		html_json_name(w, NULL, *name ? name : "(not known)");
		for (const uint64_t *v = &g[i].kinds; v <= &g[i].writes; v++)
			mz_json_u64(w, NULL, *v);
		mz_json_end_array(w);
	}
	html_json_table_end(w, n, shown);
	free(g);
	return 0;
}

static void all_types(const struct mz_kmap_model *m, struct mz_result_table *a)
{
	mz_kmap_types(m, NULL, a);
}

#define NAMES 4 /* functions that are named of those that touch a member */

static void all_fields(const struct mz_kmap_model *m, struct mz_result_table *a)
{
	mz_kmap_fields(m, NULL, NAMES, a);
}

static int tables_json(struct mz_json *w, const struct mz_kmap_model *m, size_t limit)
{
	static const struct {
		const char *key, *title;
		void (*ask)(const struct mz_kmap_model *, struct mz_result_table *);
	} tables[] = {
		{"matrix", "Which code accesses which objects", mz_kmap_matrix},
		{"accessors", "Code that accesses", mz_kmap_accessors},
		{"processes", "Processes", mz_kmap_processes},
		{"shared", "Shared", mz_kmap_shared},
		{"unused", "Unused", mz_kmap_unused},
		{"structures", "Structures", all_types},
		{"fields", "Members", all_fields},
	};
	int ret;

	mz_json_object(w, "tables");
	ret = group_table(w, m, false, limit);
	if (!ret)
		ret = group_table(w, m, true, limit);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables) && !ret; i++)
		ret = answer_table(w, m, tables[i].key, tables[i].title, tables[i].ask, limit);
	mz_json_end_object(w);
	return ret;
}

/* ---- the model ---------------------------------------------------------------------------- */

static void loss_json(struct mz_json *w, const struct kmap *s)
{
	mz_json_object(w, "loss");
	mz_json_u64(w, "accesses_missed", s->stats.accesses_missed);
	mz_json_u64(w, "accesses_nameless", s->stats.accesses_nameless);
	mz_json_u64(w, "objects_missed", s->stats.objects_missed);
	mz_json_u64(w, "objects_dropped", s->stats.objects_dropped);
	mz_json_end_object(w);
}

static int kmap_json(const struct html_model *model, struct mz_json *w, const struct html_limits *l)
{
	const struct kmap *s = model->state;
	int ret;

	mz_json_object(w, "summary");
	ret = kmap_report_figures(w, &s->m);
	mz_json_end_object(w);
	if (ret < 0)
		return ret;
	if (s->has_stats)
		loss_json(w, s);
	mz_json_str(w, "clock", "tick");
	mz_json_bool(w, "knows_waste", false);
	mz_json_bool(w, "has_dirs", s->m.has_dirs);
	curve_json(w, &s->m, l);
	space_json(w, s, l);
	html_json_histogram(w, "sizes", &s->m.sizes);
	html_json_histogram(w, "ages", &s->m.lifetimes);
	mz_json_object(w, "flames");
	ret = html_json_flame(w, "made", "Allocating code", &s->made, made_values, l);
	if (!ret && s->m.n_edges)
		ret = html_json_flame(w, "used", "Accessing code", &s->used, used_values, l);
	mz_json_end_object(w);
	if (!ret)
		ret = tables_json(w, &s->m, l->rows / 4);
	if (!ret)
		ret = html_access_json(w, &s->m, l);
	if (!ret)
		ret = html_calls_json(w, &s->m, l);
	if (!ret && s->privilege)
		ret = html_privilege_json(w, s->privilege, l);
	return ret;
}

/* The union needs classes of its own, so the map is read a second time. */
static int open_privilege(struct kmap *s, const struct html_model *m, struct mz_error *err)
{
	if (!strcmp(m->recording.name, "-"))
		return mz_fail(err, ESPIPE,
			       "--functions reads the map twice, which a pipe does not allow; name "
			       "a file");
	s->privilege = calloc(1, sizeof(*s->privilege));
	if (!s->privilege)
		return mz_fail_memory(err);
	return html_privilege_open(s->privilege, (char *)m->recording.name, m->recording.o.symbols,
				   m->functions, err);
}

int html_kmap_open(struct html_model *m, struct mz_error *err)
{
	struct mz_recording_model how = {.by = MZ_KMAP_BY_DIR, .or_function = true, .types = true};
	struct kmap *s = html_state(m, sizeof(*s), kmap_json, kmap_free, err);
	int ret;

	if (!s)
		return -ENOMEM;
	mz_heatmap_init(&s->space);
	how.space = &s->space;
	ret = recording_model(&m->recording, &how, &s->m, err);
	if (ret < 0)
		return ret;
	ret = m->functions ? open_privilege(s, m, err) : 0;
	if (ret < 0)
		return ret;
	s->has_stats = mz_kmap_stats_beside(m->recording.name, &s->stats);
	s->names = mz_tables_new();
	if (!s->names || mz_flame_init(&s->made, s->names) < 0 ||
	    mz_flame_init(&s->used, s->names) < 0 || make_trees(s) < 0)
		return mz_fail_memory(err);
	return 0;
}
