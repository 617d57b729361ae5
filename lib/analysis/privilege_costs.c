// SPDX-License-Identifier: BSD-2-Clause
/* Say what crossing a boundary costs: by built-in mechanism, or as a file says. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/privilege_cluster.h"
#include "base/csv.h"
#include "base/error.h"
#include "base/input.h"

/* Cycles of one checked access, and of one call with its return. Published ones where there are
 * any (EPT switching, capability hardware, checks in hardware); MPK: two writes of the rights
 * register on a trap-free path. */
static const struct {
	const char *name;
	double access, call;
} mechanisms[] = {
	{"page-tables", 1490, 2 * 645}, {"mpk", 2 * 60, 2 * 60},	   {"tagged", 10, 2 * 10},
	{"capability", 50, 2 * 600},	{"kernel-switch", 6000, 2 * 6000}, {"sfi", 150, 2 * 50},
};

static int built_in(struct mz_cluster_options *o, const char *name, struct mz_error *err)
{
	name = name ? name : mechanisms[0].name;
	for (size_t i = 0; i < sizeof(mechanisms) / sizeof(*mechanisms); i++) {
		if (strcmp(mechanisms[i].name, name))
			continue;
		o->access = mechanisms[i].access;
		o->call = mechanisms[i].call;
		return 0;
	}
	return mz_fail(err, ENOENT, "no mechanism '%s'; --weights names a file that has it", name);
}

static bool number(const char *s, double *v)
{
	char *end;

	*v = strtod(s, &end);
	return end != s && !*end && *v >= 0 && *v < 1e15;
}

#define CELLS 4

struct weights {
	struct mz_cluster_options *o;
	const char *path, *mechanism;
	struct mz_error *err;
	uint64_t line;
	bool head; /* was read */
};

/* 1: it is the mechanism; 0: it is not; or -errno. */
static int read_row(struct weights *w, char *cells[CELLS], size_t n)
{
	unsigned long long line = w->line;

	if (!w->head) {
		w->head = true;
		if (n == 3 && !strcmp(cells[0], "mechanism") && !strcmp(cells[1], "access") &&
		    !strcmp(cells[2], "call"))
			return 0;
		return mz_fail_line(w->err, EINVAL, w->line,
				    "%s: its first line is not mechanism,access,call", w->path);
	}
	if (w->mechanism && strcmp(w->mechanism, cells[0]))
		return 0;
	if (n == 3 && number(cells[1], &w->o->access) && number(cells[2], &w->o->call))
		return 1;
	return mz_fail_line(w->err, EINVAL, w->line,
			    "%s: line %llu: expected two costs, both of them numbers", w->path,
			    line);
}

static int read_lines(struct weights *w, struct mz_input *in, char *room)
{
	char *cells[CELLS];
	const char *line;
	size_t len, n;
	int ret;

	while ((ret = mz_input_line(in, &line, &len, w->err)) > 0) {
		w->line++;
		if (!len || *line == '#')
			continue;
		n = memchr(line, 0, len) ? 0 : mz_csv_split(line, len, room, cells, CELLS);
		if (!n)
			return mz_fail_line(w->err, EINVAL, w->line, "%s: line %llu: not CSV",
					    w->path, (unsigned long long)w->line);
		ret = read_row(w, cells, n);
		if (ret)
			return ret;
	}
	if (ret < 0)
		return ret;
	return w->mechanism
		       ? mz_fail(w->err, ENOENT, "%s: no mechanism '%s'", w->path, w->mechanism)
		       : mz_fail(w->err, ENOENT, "%s: no mechanism", w->path);
}

int mz_cut_costs(struct mz_cluster_options *o, const char *file, const char *mechanism,
		 struct mz_error *err)
{
	struct weights w = {.o = o, .path = file, .mechanism = mechanism, .err = err};
	struct mz_input in;
	char *room;
	int ret;

	if (!file)
		return built_in(o, mechanism, err);
	room = malloc(MZ_LINE_MAX + CELLS + 1);
	ret = room ? mz_input_open(&in, file, err) : mz_fail_memory(err);
	if (ret >= 0) {
		ret = read_lines(&w, &in, room);
		mz_input_close(&in);
	}
	free(room);
	return ret < 0 ? ret : 0;
}
