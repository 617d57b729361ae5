// SPDX-License-Identifier: BSD-2-Clause
/* Print the overview of a KMAP as text or JSON. */
#include "cmds/kmap/kmap_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kmap_questions.h"
#include "base/error.h"
#include "cmds/loss_report.h"
#include "cmds/recording.h"
#include "cmds/table_print.h"

/* ---- figures ------------------------------------------------------------------------- */

struct figures {
	uint64_t globals, functions, code;
	uint64_t lost_reads, lost_writes; /* accesses that found no object */
	uint64_t catch_alls;
};

/* Distinct functions that touch something, and their folders. There are many more edges than
 * places: each place is looked up once. 0 or -ENOMEM. */
static int count(const struct mz_kmap_model *m, struct figures *f)
{
	struct mz_pair_index functions = {0};
	bool *touches = calloc(m->n_places + 1, sizeof(*touches));
	int ret = touches ? 0 : -ENOMEM;

	*f = (struct figures){0};
	for (size_t i = 0; i < m->n_classes; i++) {
		const struct mz_kmap_class *c = &m->classes[i];

		f->globals += c->global;
		f->catch_alls += c->catch_all ? c->all.objects : 0;
		f->lost_reads += c->catch_all ? c->reads : 0;
		f->lost_writes += c->catch_all ? c->writes : 0;
	}
	for (size_t i = 0; touches && i < m->n_edges; i++)
		touches[m->edges[i].place] = true;
	for (size_t i = 0; touches && i < m->n_places; i++) {
		const struct mz_kmap_place *p = &m->places[i];

		f->code += touches[i];
		if (touches[i] && mz_pair_index_put(&functions, p->function ? p->function : p->ip,
						    !p->function) == MZ_PAIR_INDEX_NONE)
			ret = -ENOMEM;
	}
	f->functions = functions.count;
	free(touches);
	mz_pair_index_deinit(&functions);
	return ret;
}

static const char *shape_name(const struct mz_kmap_model *m)
{
	static const char *const names[] = {"8 fields", "10 fields", "11 fields",
					    "CSV",	"9 fields",  "a union of maps"};
	const char *name = "no objects";
	unsigned n = 0;

	for (unsigned i = 0; i < MZ_KMAP_SHAPES; i++) {
		if (!m->shapes[i])
			continue;
		name = names[i];
		n++;
	}
	return n > 1 ? "lines of several generations" : name;
}

/* ---- text ------------------------------------------------------------------------------ */

static double percent(uint64_t part, uint64_t of)
{
	return of ? 100.0 * (double)part / (double)of : 0;
}

static void show_sum(const char *what, struct mz_kmap_sum s, uint64_t of, const char *note)
{
	char a[32], b[32];

	printf("%-15s%s objects (%.1f%%), %s%s\n", what, console_count(a, s.objects),
	       percent(s.objects, of), console_bytes(b, s.bytes), note);
}

static void show_objects(const struct mz_kmap_model *m, const struct figures *f)
{
	const struct mz_kmap_class *t = &m->total;
	char a[32], b[32], c[32];

	printf("objects        %s of %s kinds, %s in all; %s of the kinds are global variables\n",
	       console_count(a, t->all.objects), console_count(b, m->n_classes),
	       console_bytes(c, t->all.bytes), console_count((char[32]){0}, f->globals));
	show_sum("freed", t->freed, t->all.objects, "");
	if (t->overlaid.objects)
		show_sum("MISSED FREES", t->overlaid, t->all.objects,
			 ": other objects were allocated at their address");
	if (t->nested.objects)
		show_sum("nested", t->nested, t->all.objects,
			 ": taken over by the allocator that requested them");
	if (m->timeline.begun)
		printf("live peak      %s%s in %s objects, at time %llu\n",
		       m->timeline.width > 1 ? "at least " : "",
		       console_bytes(a, m->live_peak.bytes), console_count(b, m->live_peak.objects),
		       (unsigned long long)m->live_peak_time);
}

static void show_accesses(const struct mz_kmap_model *m, const struct figures *f)
{
	const struct mz_kmap_class *t = &m->total;
	uint64_t of = t->all.objects;
	char a[32], b[32], c[32], d[32];

	if (!m->accesses) {
		printf("accesses       none: the map was recorded without counting them\n");
		return;
	}
	printf("accesses       %s reads and %s writes, by %s functions at %s places\n",
	       console_count(a, t->reads), console_count(b, t->writes),
	       console_count(c, f->functions), console_count(d, f->code));
	if (f->lost_reads || f->lost_writes)
		printf("NO OBJECT      %s of these reads and %s of these writes hit no known "
		       "object\n",
		       console_count(a, f->lost_reads), console_count(b, f->lost_writes));
	printf("processes      %s that touched something, %s that allocated\n",
	       console_count(a, m->touching), console_count(b, m->n_processes));
	show_sum("untouched", t->untouched, of, "");
	show_sum("never read", t->unread, of, ", though written");
	show_sum("never written", t->unwritten, of, ", though read");
	if (m->has_dirs)
		show_sum("shared", t->by_dirs, of, ": touched by several subsystems");
	show_sum("shared", t->by_processes, of, ": touched by several processes");
	show_sum("shared", t->by_contexts, of, ": touched by processes and interrupts");
}

static int show_answer(const struct mz_kmap_model *m,
		       void (*ask)(const struct mz_kmap_model *, struct mz_result_table *),
		       size_t top, struct mz_json *j)
{
	struct mz_result_table a;
	bool failed;

	ask(m, &a);
	failed = a.failed;
	if (!failed && j) {
		answer_json(j, &a, top);
	} else if (!failed && a.rows) {
		putchar('\n');
		answer_text(&a, top);
	}
	mz_result_deinit(&a);
	return failed ? -1 : 0;
}

static void all_classes(const struct mz_kmap_model *m, struct mz_result_table *a)
{
	mz_kmap_classes(m, NULL, a);
	a->title = "Kinds of objects by bytes";
}

static int show_answers(const struct mz_kmap_model *m, size_t top, struct mz_json *j)
{
	return show_answer(m, all_classes, top, j) || show_answer(m, mz_kmap_matrix, top, j) ||
			       show_answer(m, mz_kmap_accessors, top, j) ||
			       show_answer(m, mz_kmap_processes, top, j)
		       ? -1
		       : 0;
}

static int show_text(const struct mz_kmap_model *m, const char *path, size_t top)
{
	struct mz_early_end end = {.files = m->files_cut};
	struct figures f;
	char a[32], b[32], name[128], text[256];

	if (count(m, &f) < 0)
		return -ENOMEM;
	printf("map            %s: %s lines%s%s, %s\n",
	       mz_printable(name, sizeof(name), path, strlen(path)), console_count(a, m->lines),
	       m->bytes ? ", " : "", m->bytes ? console_bytes(b, m->bytes) : "", shape_name(m));
	if (m->bad_lines)
		printf("LEFT OUT       %s lines that cannot be parsed\n",
		       console_count(a, m->bad_lines));
	if (end.files)
		printf("CUT            %s\n               " EARLY_END_MEANS "\n",
		       early_end_text(text, sizeof(text), &end));
	show_objects(m, &f);
	show_accesses(m, &f);
	if (m->n_calls)
		printf("call edges     %s\n", console_count(a, m->n_calls));
	if (show_answers(m, top, NULL) < 0)
		return -1;
	if (!m->has_dirs)
		printf("\nNo folders are known: name System.map.files, or a vmlinux with DWARF, "
		       "with --symbols.\n");
	printf("\nNext: memorizer kmap matrix | object NAME | site FUNCTION | shared | unused | "
	       "privilege %s\n",
	       name);
	return 0;
}

/* ---- JSON -------------------------------------------------------------------------------- */

static void json_sum(struct mz_json *j, const char *key, struct mz_kmap_sum s)
{
	mz_json_object(j, key);
	mz_json_u64(j, "objects", s.objects);
	mz_json_u64(j, "bytes", s.bytes);
	mz_json_end_object(j);
}

int kmap_report_figures(struct mz_json *j, const struct mz_kmap_model *m)
{
	const struct mz_kmap_class *t = &m->total;
	struct figures f;

	if (count(m, &f) < 0)
		return -ENOMEM;
	mz_json_u64(j, "lines", m->lines);
	mz_json_u64(j, "bad_lines", m->bad_lines);
	mz_json_bool(j, "open_end", m->open_end);
	early_end_json(j, m->files_cut);
	mz_json_u64(j, "kinds", m->n_classes);
	mz_json_u64(j, "globals", f.globals);
	json_sum(j, "all", t->all);
	json_sum(j, "freed", t->freed);
	json_sum(j, "missed_frees", t->overlaid);
	json_sum(j, "nested_frees", t->nested);
	mz_json_object(j, "no_object");
	mz_json_u64(j, "lines", f.catch_alls);
	mz_json_u64(j, "reads", f.lost_reads);
	mz_json_u64(j, "writes", f.lost_writes);
	mz_json_end_object(j);
	mz_json_u64(j, "hashed_places", m->hashed);
	json_sum(j, "untouched", t->untouched);
	json_sum(j, "freed_untouched", t->freed_untouched);
	json_sum(j, "never_read", t->unread);
	json_sum(j, "never_written", t->unwritten);
	json_sum(j, "shared_by_subsystems", t->by_dirs);
	json_sum(j, "shared_by_processes", t->by_processes);
	json_sum(j, "shared_by_contexts", t->by_contexts);
	json_sum(j, "live_peak", m->live_peak);
	mz_json_u64(j, "live_peak_time", m->live_peak_time);
	mz_json_u64(j, "live_peak_step", m->timeline.begun ? m->timeline.width : 0);
	mz_json_u64(j, "reads", t->reads);
	mz_json_u64(j, "writes", t->writes);
	mz_json_u64(j, "access_lines", m->accesses);
	mz_json_u64(j, "places", f.code);
	mz_json_u64(j, "functions", f.functions);
	mz_json_u64(j, "touching_processes", m->touching);
	mz_json_u64(j, "call_edges", m->n_calls);
	return 0;
}

static int show_json(const struct mz_kmap_model *m, const char *path, size_t top)
{
	struct mz_buf b = {0};
	struct mz_json j = {.out = &b};
	int ret;

	mz_json_object(&j, NULL);
	mz_json_str(&j, "kind", mz_recording_kind_name(MZ_RECORDING_KMAP));
	mz_json_str(&j, "path", path);
	ret = kmap_report_figures(&j, m);
	if (!ret)
		ret = show_answers(m, top, &j);
	mz_json_end_object(&j);
	if (!ret)
		return console_put(&b, stdout);
	mz_buf_free(&b);
	return ret;
}

int kmap_report_run(struct mz_recording *r, size_t rows, bool json)
{
	struct mz_recording_model how = {.by = MZ_KMAP_BY_DIR, .or_function = true};
	struct mz_kmap_model m;
	struct mz_error err = {0};
	int ret = recording_model(r, &how, &m, &err);

	if (ret < 0)
		console_error(&err);
	else if ((json ? show_json(&m, r->name, rows) : show_text(&m, r->name, rows)) < 0)
		ret = -console_fail("out of memory");
	mz_kmap_model_deinit(&m);
	return ret < 0 ? MZ_EXIT_FAILED : MZ_EXIT_OK;
}
