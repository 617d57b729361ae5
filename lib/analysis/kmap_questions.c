// SPDX-License-Identifier: BSD-2-Clause
/* Answer the questions of `memorizer kmap` from the model. */
#include "analysis/kmap_select.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/reader.h"

#define NAME 320

#define COLUMNS(c) (c), sizeof(c) / sizeof(*(c))

/* Rows that are added up under a key of two numbers. */
struct adder {
	struct mz_result_table *a;
	struct mz_pair_index keys;
};

/* Rows are summed under a key of two numbers; the number of the key is the number of the row. */
static union mz_result_cell *row_of(struct adder *ad, uint64_t x, uint64_t y, bool *fresh)
{
	size_t before = ad->keys.count;
	uint32_t id = mz_pair_index_put(&ad->keys, x, y);

	*fresh = ad->keys.count > before;
	if (id == MZ_PAIR_INDEX_NONE) {
		ad->a->failed = true;
		return NULL;
	}
	return *fresh ? mz_result_row(ad->a) : &ad->a->cells[id * ad->a->n_columns];
}

/* Sorting moves the rows away from the numbers of their keys, so nothing can be added
 * afterwards. */
static void adder_end(struct adder *ad, size_t sort_by)
{
	mz_result_sort(ad->a, sort_by);
	mz_pair_index_deinit(&ad->keys);
}

/* ---- names as numbers --------------------------------------------------------------- */

/* A string of the model for each class (or process) at a level, made once. */
static uint32_t *owner_names(const struct mz_kmap_model *m, struct mz_tables *texts)
{
	size_t n = m->by == MZ_KMAP_BY_PID ? m->n_processes : m->n_classes;
	uint32_t *names = calloc(n ? n : 1, sizeof(*names));
	char buf[NAME];

	for (uint32_t i = 0; names && i < n; i++) {
		if (m->by == MZ_KMAP_BY_PID)
			mz_kmap_pid_name(m, m->processes[i].pid, buf, sizeof(buf));
		else
			mz_kmap_class_name(m, i, m->by, buf, sizeof(buf));
		names[i] = mz_tables_string(texts, buf, strlen(buf));
	}
	return names;
}

/* Users type a part of a name more often than a pattern, so a text without wildcards is looked for
 * anywhere in the name. An object without a name matches nothing. */
static bool matches(const char *pattern, const char *name)
{
	return *name &&
	       (strpbrk(pattern, "*?[") ? !fnmatch(pattern, name, 0) : !!strstr(name, pattern));
}

/* A pattern may name what the object is, the cache it came from, or the code that allocates it:
 * users know one of these and seldom which. */
bool mz_kmap_class_matches(const struct mz_kmap_model *m, uint32_t class, const char *pattern)
{
	const struct mz_kmap_class *c = &m->classes[class];
	const struct mz_kmap_place *p = &m->places[c->place];
	char buf[NAME];

	if (!pattern)
		return true;
	if (m->class_types && m->class_types[class].accessed_as &&
	    matches(pattern, mz_kmap_string(m, m->class_types[class].accessed_as)))
		return true;
	if (m->types && m->class_types[class].type != MZ_TYPES_NONE &&
	    matches(pattern, mz_types_name(m->types, m->class_types[class].type)))
		return true;
	return matches(pattern, mz_kmap_string(m, c->cache)) ||
	       matches(pattern, mz_kmap_string(m, c->type)) ||
	       matches(pattern, mz_kmap_string(m, p->home)) ||
	       matches(pattern,
		       mz_kmap_class_name(m, class, MZ_KMAP_BY_FUNCTION, buf, sizeof(buf)));
}

/* ---- the matrix --------------------------------------------------------------------- */

/* At a coarse level many classes have the same owner. The model keeps their pairs apart, and they
 * become one row here. */
void mz_kmap_matrix(const struct mz_kmap_model *m, struct mz_result_table *a)
{
	static const struct mz_result_column columns[] = {
		{"accessor", "code of", MZ_RESULT_TEXT},   {"owner", "objects of", MZ_RESULT_TEXT},
		{"reads", "reads", MZ_RESULT_COUNT},	   {"writes", "writes", MZ_RESULT_COUNT},
		{"objects", "objects", MZ_RESULT_COUNT},   {"bytes", "bytes", MZ_RESULT_BYTES},
		{"accesses", "accesses", MZ_RESULT_COUNT},
	};
	struct adder ad = {.a = a};
	uint32_t *names;

	mz_result_init(a, "matrix", "Accesses by accessor and owner", COLUMNS(columns));
	names = a->failed ? NULL : owner_names(m, a->strings);
	if (!names || mz_tables_incomplete(a->strings))
		a->failed = true;
	for (size_t i = 0; !a->failed && i < m->n_pairs; i++) {
		const struct mz_kmap_pair *p = &m->pairs[i];
		uint32_t owner = names[m->by == MZ_KMAP_BY_PID ? p->process : p->class];
		bool fresh;
		union mz_result_cell *row = row_of(&ad, m->groups[p->group], owner, &fresh);

		if (!row)
			break;
		/* the texts are the same for all that is added to the row */
		if (fresh) {
			mz_result_text(a, &row[0], mz_kmap_string(m, m->groups[p->group]));
			row[1].text = owner;
		}
		row[2].number += p->reads;
		row[3].number += p->writes;
		row[4].number += p->touched.objects;
		row[5].number += p->touched.bytes;
		row[6].number += p->reads + p->writes;
	}
	free(names);
	adder_end(&ad, 6);
}

/* ---- objects ---------------------------------------------------------------------------- */

void mz_kmap_class_texts(const struct mz_kmap_model *m, uint32_t i, struct mz_result_table *a,
			 union mz_result_cell *row)
{
	char buf[NAME];

	mz_result_text(a, &row[0], mz_kmap_class_name(m, i, MZ_KMAP_BY_CACHE, buf, sizeof(buf)));
	if (m->classes[i].global)
		mz_result_text(a, &row[1], "(global variable)");
	else
		mz_result_text(a, &row[1],
			       mz_kmap_place_name(m, m->classes[i].place, MZ_KMAP_BY_SITE, buf,
						  sizeof(buf)));
}

void mz_kmap_classes(const struct mz_kmap_model *m, const char *pattern, struct mz_result_table *a)
{
	static const struct mz_result_column columns[] = {
		{"object", "object", MZ_RESULT_TEXT},	 {"site", "allocated at", MZ_RESULT_TEXT},
		{"objects", "objects", MZ_RESULT_COUNT}, {"bytes", "bytes", MZ_RESULT_BYTES},
		{"least", "least", MZ_RESULT_COUNT},	 {"greatest", "greatest", MZ_RESULT_COUNT},
		{"live", "live", MZ_RESULT_COUNT},	 {"reads", "reads", MZ_RESULT_COUNT},
		{"writes", "writes", MZ_RESULT_COUNT},
	};

	mz_result_init(a, "objects", "Objects", COLUMNS(columns));
	for (uint32_t i = 0; !a->failed && i < m->n_classes; i++) {
		const struct mz_kmap_class *c = &m->classes[i];
		union mz_result_cell *row =
			mz_kmap_class_matches(m, i, pattern) ? mz_result_row(a) : NULL;

		if (!row)
			continue;
		mz_kmap_class_texts(m, i, a, row);
		row[2].number = c->all.objects;
		row[3].number = c->all.bytes;
		row[4].number = c->least;
		row[5].number = c->greatest;
		row[6].number = c->all.objects - c->freed.objects;
		row[7].number = c->reads;
		row[8].number = c->writes;
	}
	mz_result_sort(a, 3);
}

/* Each class is matched once, since the pairs of a map mention it many times. */
bool *mz_kmap_chosen_classes(const struct mz_kmap_model *m, const char *pattern)
{
	bool *chosen = calloc(m->n_classes ? m->n_classes : 1, sizeof(*chosen));

	for (uint32_t i = 0; chosen && i < m->n_classes; i++)
		chosen[i] = mz_kmap_class_matches(m, i, pattern);
	return chosen;
}

/* One row per function: how often, and how many objects. */
static void add_code(const struct mz_kmap_model *m, struct adder *ad, uint32_t name, uint64_t times,
		     uint64_t objects)
{
	bool fresh;
	union mz_result_cell *row = row_of(ad, name, 0, &fresh);

	if (!row)
		return;
	if (fresh)
		mz_result_text(ad->a, &row[0], mz_kmap_string(m, name));
	row[1].number += times;
	row[2].number += objects;
}

/* The names of groups are function names here; places that only allocate or free have groups as
 * well. */
static void object_by_code(const struct mz_kmap_model *m, const bool *chosen,
			   enum mz_kmap_role role, struct adder *ad)
{
	for (size_t i = 0; role == MZ_KMAP_ALLOCATED && i < m->n_classes; i++)
		if (chosen[i] && !m->classes[i].global)
			add_code(m, ad, m->groups[m->places[m->classes[i].place].group],
				 m->classes[i].all.objects, m->classes[i].all.objects);
	for (size_t i = 0; role == MZ_KMAP_FREED && i < m->n_freers; i++)
		if (chosen[m->freers[i].class])
			add_code(m, ad, m->groups[m->places[m->freers[i].place].group],
				 m->freers[i].objects, m->freers[i].objects);
	for (size_t i = 0; role >= MZ_KMAP_WRITTEN && i < m->n_pairs; i++) {
		const struct mz_kmap_pair *p = &m->pairs[i];
		bool written = role == MZ_KMAP_WRITTEN;
		uint64_t times = written ? p->writes : p->reads;

		if (chosen[p->class] && times)
			add_code(m, ad, m->groups[p->group], times,
				 written ? p->objects_written : p->objects_read);
	}
}

void mz_kmap_object(const struct mz_kmap_model *m, const char *pattern, enum mz_kmap_role role,
		    struct mz_result_table *a)
{
	static const struct mz_result_column columns[] = {{"function", "function", MZ_RESULT_TEXT},
							  {"times", "times", MZ_RESULT_COUNT},
							  {"objects", "objects", MZ_RESULT_COUNT}};
	static const char *const keys[] = {"allocated_by", "freed_by", "written_by", "read_by"};
	static const char *const titles[] = {"Allocated by", "Freed by", "Written by", "Read by"};
	struct adder ad = {.a = a};
	bool *chosen = mz_kmap_chosen_classes(m, pattern);

	mz_result_init(a, keys[role], titles[role], COLUMNS(columns));
	a->failed |= !chosen;
	if (!a->failed)
		object_by_code(m, chosen, role, &ad);
	free(chosen);
	adder_end(&ad, 1);
}

/* The model has one pair for each class and group of code, so every pair is a row of its own. */
void mz_kmap_site(const struct mz_kmap_model *m, const char *pattern, struct mz_result_table *a)
{
	static const struct mz_result_column columns[] = {
		{"function", "function", MZ_RESULT_TEXT}, {"object", "object", MZ_RESULT_TEXT},
		{"site", "allocated at", MZ_RESULT_TEXT}, {"reads", "reads", MZ_RESULT_COUNT},
		{"writes", "writes", MZ_RESULT_COUNT},	  {"objects", "objects", MZ_RESULT_COUNT},
		{"bytes", "bytes", MZ_RESULT_BYTES},	  {"accesses", "accesses", MZ_RESULT_COUNT},
	};

	mz_result_init(a, "touches", "What it touches", COLUMNS(columns));
	for (size_t i = 0; !a->failed && i < m->n_pairs; i++) {
		const struct mz_kmap_pair *p = &m->pairs[i];
		const char *name = mz_kmap_string(m, m->groups[p->group]);
		union mz_result_cell *row = matches(pattern, name) ? mz_result_row(a) : NULL;

		if (!row)
			continue;
		mz_result_text(a, &row[0], name);
		mz_kmap_class_texts(m, p->class, a, row + 1);
		row[3].number = p->reads;
		row[4].number = p->writes;
		row[5].number = p->touched.objects;
		row[6].number = p->touched.bytes;
		row[7].number = p->reads + p->writes;
	}
	mz_result_sort(a, 7);
}

/* ---- calls ------------------------------------------------------------------------------- */

/* An edge is a pair of code addresses. The row counts the edges as well as the calls: many edges
 * with few calls are an interface, and one edge with many is a loop. */
void mz_kmap_calls(const struct mz_kmap_model *m, struct mz_result_table *a)
{
	static const struct mz_result_column columns[] = {
		{"caller", "code of", MZ_RESULT_TEXT},
		{"callee", "calls", MZ_RESULT_TEXT},
		{"edges", "edges", MZ_RESULT_COUNT},
		{"calls", "times", MZ_RESULT_COUNT},
	};
	struct adder ad = {.a = a};

	mz_result_init(a, "calls", "Which code calls which", COLUMNS(columns));
	for (size_t i = 0; !a->failed && i < m->n_calls; i++) {
		const struct mz_kmap_call_edge *c = &m->calls[i];
		uint32_t from = m->groups[m->places[c->from].group];
		uint32_t to = m->groups[m->places[c->to].group];
		bool fresh;
		union mz_result_cell *row = row_of(&ad, from, to, &fresh);

		if (!row)
			break;
		if (fresh) {
			mz_result_text(a, &row[0], mz_kmap_string(m, from));
			mz_result_text(a, &row[1], mz_kmap_string(m, to));
		}
		row[2].number++;
		row[3].number += c->count;
	}
	adder_end(&ad, 3);
}

/* ---- shared and unused --------------------------------------------------------------------- */

void mz_kmap_shared(const struct mz_kmap_model *m, struct mz_result_table *a)
{
	static const struct mz_result_column columns[] = {
		{"object", "object", MZ_RESULT_TEXT},
		{"site", "allocated at", MZ_RESULT_TEXT},
		{"objects", "objects", MZ_RESULT_COUNT},
		{"by_subsystems", "by subsystems", MZ_RESULT_COUNT},
		{"by_processes", "by processes", MZ_RESULT_COUNT},
		{"by_contexts", "process and interrupt", MZ_RESULT_COUNT},
	};

	mz_result_init(a, "shared",
		       "Objects touched by more than one subsystem, process or context",
		       COLUMNS(columns));
	for (uint32_t i = 0; !a->failed && i < m->n_classes; i++) {
		const struct mz_kmap_class *c = &m->classes[i];
		bool any = c->by_dirs.objects || c->by_processes.objects || c->by_contexts.objects;
		union mz_result_cell *row = any ? mz_result_row(a) : NULL;

		if (!row)
			continue;
		mz_kmap_class_texts(m, i, a, row);
		row[2].number = c->all.objects;
		row[3].number = c->by_dirs.objects;
		row[4].number = c->by_processes.objects;
		row[5].number = c->by_contexts.objects;
	}
	/* without symbols no object is known to be shared by subsystems, and processes decide */
	mz_result_sort(a, m->has_dirs ? 3 : 4);
}

/* The model counts an untouched object neither as never read nor as never written, so it is added
 * to both here. */
void mz_kmap_unused(const struct mz_kmap_model *m, struct mz_result_table *a)
{
	static const struct mz_result_column columns[] = {
		{"object", "object", MZ_RESULT_TEXT},
		{"site", "allocated at", MZ_RESULT_TEXT},
		{"objects", "objects", MZ_RESULT_COUNT},
		{"never_read", "never read", MZ_RESULT_COUNT},
		{"never_written", "never written", MZ_RESULT_COUNT},
		{"untouched", "untouched", MZ_RESULT_COUNT},
		{"freed_untouched", "and freed", MZ_RESULT_COUNT},
		{"untouched_bytes", "bytes untouched", MZ_RESULT_BYTES},
		{"unread_bytes", "bytes never read", MZ_RESULT_BYTES},
	};

	mz_result_init(a, "unused", "Objects allocated for nothing", COLUMNS(columns));
	for (uint32_t i = 0; !a->failed && i < m->n_classes; i++) {
		const struct mz_kmap_class *c = &m->classes[i];
		bool any = c->untouched.objects || c->unread.objects || c->unwritten.objects;
		union mz_result_cell *row = any ? mz_result_row(a) : NULL;

		if (!row)
			continue;
		mz_kmap_class_texts(m, i, a, row);
		row[2].number = c->all.objects;
		row[3].number = c->unread.objects + c->untouched.objects;
		row[4].number = c->unwritten.objects + c->untouched.objects;
		row[5].number = c->untouched.objects;
		row[6].number = c->freed_untouched.objects;
		row[7].number = c->untouched.bytes;
		row[8].number = c->unread.bytes + c->untouched.bytes;
	}
	mz_result_sort(a, 8);
}

/* ---- a first look --------------------------------------------------------------------------- */

void mz_kmap_processes(const struct mz_kmap_model *m, struct mz_result_table *a)
{
	static const struct mz_result_column columns[] = {{"process", "process", MZ_RESULT_TEXT},
							  {"objects", "objects", MZ_RESULT_COUNT},
							  {"bytes", "bytes", MZ_RESULT_BYTES}};
	char buf[NAME];

	mz_result_init(a, "processes", "Processes by bytes allocated", COLUMNS(columns));
	for (size_t i = 0; !a->failed && i < m->n_processes; i++) {
		const struct mz_kmap_process *p = &m->processes[i];
		union mz_result_cell *row = mz_result_row(a);
		char name[NAME];
		const char *comm = mz_kmap_string(m, p->comm);

		if (!row)
			break;
		snprintf(name, sizeof(name), "%s (%d)", mz_printable(buf, 200, comm, strlen(comm)),
			 p->pid);
		mz_result_text(a, &row[0], name);
		row[1].number = p->sum.objects;
		row[2].number = p->sum.bytes;
	}
	mz_result_sort(a, 2);
}

/* Summed in an array over all places, which is smaller than a table of those that occur. */
void mz_kmap_accessors(const struct mz_kmap_model *m, struct mz_result_table *a)
{
	static const struct mz_result_column columns[] = {
		{"function", "function", MZ_RESULT_TEXT},
		{"reads", "reads", MZ_RESULT_COUNT},
		{"writes", "writes", MZ_RESULT_COUNT},
		{"accesses", "accesses", MZ_RESULT_COUNT},
	};
	struct adder ad = {.a = a};
	struct class_counts {
		uint64_t reads, writes;
	} *by_place = calloc(m->n_places ? m->n_places : 1, sizeof(*by_place));

	mz_result_init(a, "accessors", "Functions by accesses", COLUMNS(columns));
	a->failed |= !by_place;
	for (size_t i = 0; !a->failed && i < m->n_edges; i++) {
		by_place[m->edges[i].place].reads += m->edges[i].reads;
		by_place[m->edges[i].place].writes += m->edges[i].writes;
	}
	for (uint32_t i = 0; !a->failed && i < m->n_places; i++) {
		const struct mz_kmap_place *p = &m->places[i];
		union mz_result_cell *row;
		char buf[NAME];
		bool fresh;

		if (!by_place[i].reads && !by_place[i].writes)
			continue;
		/* the number of a text may equal an address; the second half of the key
		 * distinguishes them */
		row = row_of(&ad, p->function ? p->function : p->ip, !p->function, &fresh);
		if (!row)
			break;
		if (fresh)
			mz_result_text(
				a, &row[0],
				mz_kmap_place_name(m, i, MZ_KMAP_BY_FUNCTION, buf, sizeof(buf)));
		row[1].number += by_place[i].reads;
		row[2].number += by_place[i].writes;
		row[3].number += by_place[i].reads + by_place[i].writes;
	}
	free(by_place);
	adder_end(&ad, 3);
}
