// SPDX-License-Identifier: BSD-2-Clause
/* Cut the functions of a kernel into domains: by where they are written, or as a file says. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/privilege.h"
#include "base/array.h"
#include "base/csv.h"
#include "base/error.h"
#include "base/input.h"

#define PATH MZ_CUT_PATH

const char *mz_cut_level_name(enum mz_cut_level level)
{
	static const char *const names[MZ_CUT_LEVELS] = {"topdir", "dir", "file", "function"};

	return names[level];
}

void mz_cut_deinit(struct mz_cut *c)
{
	free(c->function);
	free(c->object);
	mz_bytes_index_deinit(&c->names);
	free(c->owner);
	free(c->listed);
	free(c->allowed_ops);
	mz_pair_index_deinit(&c->allowed);
	*c = (struct mz_cut){0};
}

const char *mz_cut_name(const struct mz_cut *c, uint32_t domain)
{
	return domain < c->names.count ? c->names.items[domain].data : "";
}

struct mz_cut_domain *mz_cut_domains(const struct mz_privilege *p, const struct mz_cut *c,
				     int (*order)(const void *, const void *))
{
	struct mz_cut_domain *d = calloc(c->n ? c->n : 1, sizeof(*d));

	for (uint32_t i = 0; d && i < c->n; i++)
		d[i] = (struct mz_cut_domain){.number = i, .largest = UINT32_MAX};
	for (uint32_t i = 0; d && i < p->f->n; i++) {
		struct mz_cut_domain *to = &d[c->function[i]];
		const struct mz_function *f = &p->f->functions[i];

		if (!p->live[i])
			continue;
		to->functions++;
		to->code += f->size;
		if (to->largest == UINT32_MAX || f->size > p->f->functions[to->largest].size)
			to->largest = i;
	}
	for (uint32_t i = 0; d && i < p->u->n_objects; i++) {
		if (c->owner[i] == UINT32_MAX)
			continue;
		d[c->owner[i]].objects++;
		d[c->owner[i]].data += p->u->objects[i].size;
	}
	if (d)
		qsort(d, c->n, sizeof(*d), order);
	return d;
}

/* ---- by where it is written ------------------------------------------------------------- */

void mz_cut_path(const char *path, char out[PATH])
{
	size_t n = 0;

	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && !memcmp(path, "..", 2) && n && strcmp(out, "..")) {
			while (n && out[--n] != '/')
				;
		} else if (len && !(len == 1 && *path == '.') && n + len + 2 < PATH) {
			if (n)
				out[n++] = '/';
			memcpy(out + n, path, len);
			n += len;
		}
		out[n] = '\0';
		path += len + (path[len] == '/');
	}
	if (!n)
		memcpy(out, ".", 2);
}

/* A function whose file is not known is in a file of its own. */
static void name_at(const struct mz_functions *f, const struct mz_function *fn,
		    enum mz_cut_level level, char out[PATH])
{
	const char *file = mz_functions_text(f, fn->file);
	char path[PATH], *slash;

	if (level == MZ_CUT_FUNCTION) {
		mz_cut_path(file, path);
		snprintf(out, PATH, "%.*s:%.*s", PATH / 2 - 2, path, PATH / 2 - 2,
			 mz_functions_text(f, fn->name));
		return;
	}
	if (*file)
		mz_cut_path(file, path);
	else
		snprintf(path, PATH, "%.*s.v", PATH - 3, mz_functions_text(f, fn->name));
	if (level <= MZ_CUT_DIR) {
		slash = level == MZ_CUT_DIR ? strrchr(path, '/') : strchr(path, '/');
		if (slash)
			*slash = '\0';
		else
			memcpy(path, ".", 2);
	}
	memcpy(out, path, strlen(path) + 1);
}

/*
 * Domains are numbered as they are met, in the order of the functions' addresses: the same
 * kernel gives the same numbers.
 */
int mz_cut_by(struct mz_cut *c, const struct mz_functions *f, enum mz_cut_level level)
{
	char name[PATH];

	*c = (struct mz_cut){.function = malloc((f->n ? f->n : 1) * sizeof(*c->function))};
	if (!c->function)
		return -ENOMEM;
	for (size_t i = 0; i < f->n; i++) {
		name_at(f, &f->functions[i], level, name);
		c->function[i] = mz_bytes_index_put(&c->names, name, strlen(name));
		if (c->function[i] == MZ_HASH_NONE)
			return -ENOMEM;
	}
	c->n = (uint32_t)c->names.count;
	return 0;
}

/* ---- as a file says ----------------------------------------------------------------------- */

enum cut_column { KIND, NAME, FILE_, DOMAIN, COLUMNS };

#define CELLS 16

#define NOTHING UINT32_MAX

/* Things by their name. Several may share one, as static functions do: they stand in a chain. */
struct by_name {
	struct mz_bytes_index names;
	uint32_t *first; /* by name */
	uint32_t *next;	 /* by thing: the next one of the same name */
	uint32_t known;	 /* how many of the names belong to things */
};

struct cut_file {
	struct mz_cut *c;
	const struct mz_privilege *p;
	const char *path;
	struct mz_error *err;
	size_t at[COLUMNS]; /* CELLS: there is no such column */
	struct by_name functions, objects;
	uint64_t line;
	uint64_t steps; /* along chains */
};

/* Rows may repeat a name that many functions share: the number of steps is bounded. */
#define MOST_STEPS (1ull << 27)

static int by_name_init(struct by_name *b, size_t n)
{
	b->first = malloc((n ? n : 1) * sizeof(*b->first));
	b->next = malloc((n ? n : 1) * sizeof(*b->next));
	return b->first && b->next ? 0 : -ENOMEM;
}

static void by_name_deinit(struct by_name *b)
{
	mz_bytes_index_deinit(&b->names);
	free(b->first);
	free(b->next);
}

static int by_name_add(struct by_name *b, uint32_t i, const char *name)
{
	uint32_t id = mz_bytes_index_put(&b->names, name, strlen(name));

	if (id == MZ_HASH_NONE)
		return -ENOMEM;
	b->next[i] = id < b->known ? b->first[id] : NOTHING;
	b->first[id] = i;
	b->known = (uint32_t)b->names.count;
	return 0;
}

/* The first thing with this name, or NOTHING. An unknown name is kept, too, behind the known
 * ones. */
static int by_name_find(struct by_name *b, const char *name, uint32_t *first)
{
	uint32_t id = mz_bytes_index_put(&b->names, name, strlen(name));

	if (id == MZ_HASH_NONE)
		return -ENOMEM;
	*first = id < b->known ? b->first[id] : NOTHING;
	return 0;
}

static int index_functions(struct cut_file *t)
{
	const struct mz_functions *f = t->p->f;
	int ret = by_name_init(&t->functions, f->n);

	for (uint32_t i = 0; ret >= 0 && i < f->n; i++)
		ret = by_name_add(&t->functions, i, mz_functions_text(f, f->functions[i].name));
	return ret;
}

/* Objects are looked up by the text that other commands print for them. */
static int index_objects(struct cut_file *t)
{
	int ret = by_name_init(&t->objects, t->p->u->n_objects);
	char id[320];

	for (uint32_t i = 0; ret >= 0 && i < t->p->u->n_objects; i++) {
		mz_union_object_id(t->p->u, i, id, sizeof(id));
		ret = by_name_add(&t->objects, i, id);
	}
	return ret;
}

/*
 * A heading is not required: a file of two columns is the function and its domain. Its columns
 * may also have the names that published cuts give them.
 */
static bool is_head(struct cut_file *t, char **cells, size_t n)
{
	static const char *const names[COLUMNS][2] = {
		{"kind", "kind"}, {"name", "function"}, {"file", "file"}, {"domain", "cluster"}};

	for (int c = 0; c < COLUMNS; c++) {
		t->at[c] = CELLS;
		for (size_t i = 0; i < n && i < CELLS; i++)
			if (!strcmp(cells[i], names[c][0]) || !strcmp(cells[i], names[c][1]))
				t->at[c] = i;
	}
	if (t->at[NAME] < CELLS && t->at[DOMAIN] < CELLS)
		return true;
	t->at[KIND] = t->at[FILE_] = CELLS;
	t->at[NAME] = 0;
	t->at[DOMAIN] = 1;
	return false;
}

static const char *cell(const struct cut_file *t, char **cells, enum cut_column c)
{
	return t->at[c] < CELLS ? mz_csv_plain(cells[t->at[c]]) : "";
}

/*
 * Without a file all functions of the name are meant. A name that the kernel does not have is
 * counted and reported: the usual reason is a cut of another version.
 */
static int assign_function(struct cut_file *t, const char *name, const char *file, uint32_t domain)
{
	bool found = false;
	uint32_t i;

	if (by_name_find(&t->functions, name, &i) < 0)
		return -ENOMEM;
	for (; i != NOTHING && t->steps < MOST_STEPS; i = t->functions.next[i], t->steps++) {
		const struct mz_function *fn = &t->p->f->functions[i];

		if (*file && strcmp(file, mz_functions_text(t->p->f, fn->file)))
			continue;
		t->c->function[i] = domain;
		found = true;
	}
	t->c->unknown += !found;
	return 0;
}

/* Objects are open to the domain of functions of that name. */
static int assign_object(struct cut_file *t, const char *name, uint32_t domain)
{
	uint32_t i;

	if (by_name_find(&t->objects, name, &i) < 0)
		return -ENOMEM;
	t->c->unknown += i == NOTHING;
	for (; i != NOTHING && t->steps < MOST_STEPS; i = t->objects.next[i], t->steps++) {
		t->c->object[i] = t->c->owner[i] = domain;
		t->c->listed[i] = true;
	}
	return 0;
}

/* An object of another domain, and what may be done with it: letters r, w, f. */
static int allow_access(struct cut_file *t, const char *name, const char *ops, uint32_t domain)
{
	struct mz_cut *c = t->c;
	uint32_t i, at;

	if (by_name_find(&t->objects, name, &i) < 0)
		return -ENOMEM;
	c->unknown += i == NOTHING;
	for (; i != NOTHING && t->steps < MOST_STEPS; i = t->objects.next[i], t->steps++) {
		at = mz_pair_index_put(&c->allowed, domain, i);
		if (at == MZ_PAIR_INDEX_NONE ||
		    !mz_array_room((void **)&c->allowed_ops, &c->cap_allowed, at, 1))
			return -ENOMEM;
		c->listed[i] = true;
		c->allowed_ops[at] |=
			(unsigned char)((strchr(ops, 'r') ? 1u << MZ_CODE_OP_READ : 0) |
					(strchr(ops, 'w') ? 1u << MZ_CODE_OP_WRITE : 0) |
					(strchr(ops, 'f') ? 1u << MZ_CODE_OP_FREE : 0));
	}
	return 0;
}

static int assign(struct cut_file *t, char **cells, size_t n)
{
	const char *name, *domain;
	uint32_t d;

	for (int c = 0; c < COLUMNS; c++)
		if (t->at[c] < CELLS && t->at[c] >= n)
			return mz_fail_line(t->err, EINVAL, t->line,
					    "%s: line %llu: it is not 'function,domain'", t->path,
					    (unsigned long long)t->line);
	name = cell(t, cells, NAME);
	domain = cell(t, cells, DOMAIN);
	if (!*name || !*domain)
		return mz_fail_line(t->err, EINVAL, t->line,
				    "%s: line %llu: a name or a domain is empty", t->path,
				    (unsigned long long)t->line);
	d = mz_bytes_index_put(&t->c->names, domain, strlen(domain));
	if (d != MZ_HASH_NONE && !strcmp(cell(t, cells, KIND), "object"))
		return assign_object(t, name, d) < 0 ? mz_fail_memory(t->err) : 0;
	if (d != MZ_HASH_NONE && !strcmp(cell(t, cells, KIND), "access"))
		return allow_access(t, name, cell(t, cells, FILE_), d) < 0 ? mz_fail_memory(t->err)
									   : 0;
	if (d == MZ_HASH_NONE || assign_function(t, name, cell(t, cells, FILE_), d) < 0)
		return mz_fail_memory(t->err);
	return 0;
}

/* "name domain" is as good as "name,domain". */
static size_t cells_of(const char *line, size_t len, char *room, char **cells)
{
	if (!memchr(line, ',', len)) {
		size_t n = strcspn(memcpy(room, line, len), " \t");

		room[len] = '\0';
		if (n < len) {
			cells[0] = room;
			cells[1] = room + n + strspn(room + n, " \t");
			room[n] = '\0';
			return 2;
		}
	}
	return mz_csv_split(line, len, room, cells, CELLS);
}

static int read_lines(struct cut_file *t, struct mz_input *in, char *room)
{
	char *cells[CELLS];
	const char *line;
	size_t len, n;
	int ret;

	while ((ret = mz_input_line(in, &line, &len, t->err)) > 0) {
		t->line++;
		if (!len || *line == '#')
			continue;
		room[len] = '\0';
		n = memchr(line, 0, len) ? 0 : cells_of(line, len, room, cells);
		if (!n)
			return mz_fail_line(t->err, EINVAL, t->line, "%s: line %llu: not CSV",
					    t->path, (unsigned long long)t->line);
		if (t->at[DOMAIN] == t->at[NAME] && is_head(t, cells, n))
			continue;
		ret = assign(t, cells, n);
		if (ret >= 0 && t->steps >= MOST_STEPS)
			ret = mz_fail_line(t->err, EFBIG, t->line,
					   "%s: line %llu: too many rows with names that several "
					   "functions share",
					   t->path, (unsigned long long)t->line);
		if (ret < 0)
			return ret;
	}
	return ret;
}

/* What the file does not name: functions share a domain; objects stay alone. */
static int assign_rest(struct cut_file *t)
{
	struct mz_cut *c = t->c;
	uint32_t d;

	for (size_t i = 0; i < t->p->f->n; i++) {
		if (c->function[i] != UINT32_MAX)
			continue;
		d = mz_bytes_index_put(&c->names, "(unassigned)", 12);
		if (d == MZ_HASH_NONE)
			return -ENOMEM;
		c->function[i] = d;
		c->first_unassigned = c->unassigned ? c->first_unassigned : i;
		c->unassigned++;
	}
	c->n = (uint32_t)c->names.count;
	c->n_objects = c->n;
	for (size_t i = 0; i < t->p->u->n_objects; i++)
		if (c->object[i] == UINT32_MAX)
			c->object[i] = c->n_objects++;
	return 0;
}

/* Everything begins unassigned, so that what the file leaves out can be told from what it names. */
static int prepare(struct cut_file *t)
{
	size_t functions = t->p->f->n ? t->p->f->n : 1, objects = t->p->u->n_objects;

	objects = objects ? objects : 1;
	t->c->function = malloc(functions * sizeof(uint32_t));
	t->c->object = malloc(objects * sizeof(uint32_t));
	t->c->owner = malloc(objects * sizeof(uint32_t));
	t->c->listed = calloc(objects, sizeof(*t->c->listed));
	if (!t->c->listed || !t->c->function || !t->c->object || !t->c->owner)
		return -ENOMEM;
	memset(t->c->function, 0xff, functions * sizeof(uint32_t));
	memset(t->c->object, 0xff, objects * sizeof(uint32_t));
	memset(t->c->owner, 0xff, objects * sizeof(uint32_t));
	return index_functions(t) < 0 ? -ENOMEM : index_objects(t);
}

int mz_cut_read(struct mz_cut *c, const struct mz_privilege *p, const char *path,
		struct mz_error *err)
{
	struct cut_file t = {.c = c, .p = p, .path = path, .err = err};
	char *room = malloc(MZ_LINE_MAX + CELLS + 1);
	struct mz_input in;
	int ret;

	*c = (struct mz_cut){0};
	ret = room && prepare(&t) >= 0 ? mz_input_open(&in, path, err) : mz_fail_memory(err);
	if (ret >= 0) {
		ret = mz_input_unpack(&in, err);
		if (ret >= 0)
			ret = read_lines(&t, &in, room);
		mz_input_close(&in);
	}
	if (ret >= 0 && assign_rest(&t) < 0)
		ret = mz_fail_memory(err);
	by_name_deinit(&t.functions);
	by_name_deinit(&t.objects);
	free(room);
	return ret < 0 ? ret : 0;
}
