// SPDX-License-Identifier: BSD-2-Clause
/* Address ranges of object files, sorted; paths stay where they were read. */
#include "symbols/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/input.h"

struct range {
	uint64_t start, end;
	const char *path;
};

struct mz_objects {
	char *text; /* NULL = the caller's */
	struct range *ranges;
	size_t n;
};

static bool parse_line(char *line, struct range *r)
{
	char *end;
	uint64_t size;

	r->start = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return false;
	line = end + 1;
	size = strtoull(line, &end, 16);
	if (end == line || *end != ' ' || !end[1] || !size || r->start + size < r->start)
		return false;
	r->end = r->start + size;
	r->path = end + 1;
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

struct mz_objects *mz_objects_parse(char *text, const char *name, struct mz_error *err)
{
	struct mz_objects *o = calloc(1, sizeof(*o));
	size_t lines = 1, number = 1;

	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	if (o)
		o->ranges = malloc(lines * sizeof(*o->ranges));
	if (!o || !o->ranges) {
		mz_fail_memory(err);
		mz_objects_free(o);
		return NULL;
	}
	for (char *line = text, *next; line; line = next, number++) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!*line || *line == '#')
			continue;
		if (!parse_line(line, &o->ranges[o->n++])) {
			mz_fail(err, EINVAL,
				"%s: line %zu: not of the form \"START SIZE PATH\"; take the file "
				"away to do "
				"without subsystems",
				name, number);
			mz_objects_free(o);
			return NULL;
		}
	}
	qsort(o->ranges, o->n, sizeof(*o->ranges), compare);
	return o;
}

struct mz_objects *mz_objects_load(const char *path, struct mz_error *err)
{
	struct mz_objects *o = NULL;
	struct mz_input in;
	char *text = NULL;
	size_t n;

	if (mz_input_open(&in, path, err) < 0)
		return NULL;
	if (mz_input_fill(&in, 16u << 20, err) == 0) {
		n = mz_input_left(&in);
		text = strndup(in.pos, n);
		if (!text)
			mz_fail_memory(err);
	}
	mz_input_close(&in);
	if (text)
		o = mz_objects_parse(text, path, err);
	if (o)
		o->text = text;
	else
		free(text);
	return o;
}

void mz_objects_free(struct mz_objects *o)
{
	if (!o)
		return;
	free(o->text);
	free(o->ranges);
	free(o);
}

const char *mz_objects_find(const struct mz_objects *o, uint64_t addr)
{
	size_t lo = 0, hi = o->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (o->ranges[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr < o->ranges[lo - 1].end ? o->ranges[lo - 1].path : NULL;
}
