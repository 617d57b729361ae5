// SPDX-License-Identifier: BSD-2-Clause
/* Join upstream's files `allocations` and `accesses` into the lines of one KMAP. */
#include "formats/kmap_join.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/regular.h"
#include "formats/kmap.h"

/* A row of `accesses`. */
struct access_row {
	uint64_t index;
	uint64_t order; /* in the file: the rows of an object keep it */
	struct mz_kmap_access access;
	bool nameless; /* it names no object (from:...) */
	bool taken;
};

struct join {
	struct access_row *rows;
	size_t count, cap;
	struct mz_buf *lines;
	struct mz_kmap_joined *joined;
	bool in_accesses; /* the section that is being read */
	bool has_pid;	  /* of its rows */
	uint64_t line;
	bool sorted;
	struct mz_error *err;
};

static bool starts(const char *line, size_t len, const char *text)
{
	return len >= strlen(text) && !memcmp(line, text, strlen(text));
}

static bool is_accesses_header(const char *line, size_t len)
{
	return starts(line, len, "alloc_index,access_ip,");
}

static bool is_allocations_header(const char *line, size_t len)
{
	return starts(line, len, "alloc_ip,pid,ptr,");
}

bool mz_kmap_join_probe(const char *data, size_t len)
{
	return is_accesses_header(data, len) || is_allocations_header(data, len);
}

/* ---- accesses -------------------------------------------------------------------------- */

static int bad_row(struct join *j, const char *name, const char *line, size_t len)
{
	char shown[64];

	return mz_fail_line(j->err, EINVAL, j->line, "%s: line %" PRIu64 ": '%s': it is not '%s'",
			    name, j->line, mz_printable(shown, sizeof(shown), line, len),
			    j->has_pid ? "alloc_index,access_ip,pid,writes,reads"
				       : "alloc_index,access_ip,writes,reads");
}

/* The row without its index is an access line of 8 fields, or of 10. */
static int add_row(struct join *j, const char *name, const char *line, size_t len)
{
	struct mz_cursor c = {line, line + len};
	struct access_row row = {.order = j->count};
	int shape = j->has_pid ? MZ_KMAP_G1 : MZ_KMAP_G2;
	struct mz_kmap_record rec;
	char text[256];
	int n;

	mz_cursor_blanks(&c);
	row.nameless = mz_cursor_skip(&c, "from:");
	if (row.nameless)
		c.p -= 5;
	else if (!mz_cursor_u64(&c, &row.index) || !mz_cursor_skip(&c, ","))
		return bad_row(j, name, line, len);
	n = snprintf(text, sizeof(text), "  %.*s", (int)(c.end - c.p), c.p);
	if (n < 0 || (size_t)n >= sizeof(text) || mz_kmap_parse(text, (size_t)n, &shape, &rec) ||
	    rec.kind != MZ_KMAP_ACCESS)
		return bad_row(j, name, line, len);
	row.access = rec.access;
	if (!mz_array_room((void **)&j->rows, &j->cap, j->count, sizeof(*j->rows)))
		return mz_fail_memory(j->err);
	j->rows[j->count++] = row;
	return 0;
}

/* The rows of an object stay in the order of the file, which qsort() alone would not keep. */
static int compare(const void *a, const void *b)
{
	const struct access_row *x = a, *y = b;

	return MZ_ORDER(x->index, y->index) ?: MZ_ORDER(x->order, y->order);
}

/* Sorted, the rows of an object are neighbours, and a binary search finds them. */
static void sort_rows(struct join *j)
{
	if (!j->sorted && j->count)
		qsort(j->rows, j->count, sizeof(*j->rows), compare);
	j->sorted = true;
}

/* ---- objects with their accesses ------------------------------------------------------- */

static void put_access(struct join *j, struct access_row *r, const struct mz_kmap_object *of)
{
	struct mz_kmap_record rec = {.kind = MZ_KMAP_ACCESS, .access = r->access};

	if (!mz_buf_room(j->lines, MZ_KMAP_ROOM))
		return;
	rec.access.fields = 4;
	j->lines->len += mz_kmap_format(j->lines->data + j->lines->len, &rec, of);
	mz_buf_add(j->lines, "\n", 1);
	r->taken = true;
}

static struct access_row *first_row(const struct join *j, uint64_t index)
{
	return j->rows + mz_array_below(j->rows, j->count, sizeof(*j->rows),
					offsetof(struct access_row, index), index);
}

static void put_rows(struct join *j, uint64_t index, const struct mz_kmap_object *of)
{
	struct access_row *end;

	/* without rows there is no array to point into */
	if (!j->count)
		return;
	end = j->rows + j->count;
	for (struct access_row *r = first_row(j, index); r < end && r->index == index; r++) {
		if (r->nameless)
			continue;
		/* a second object has the same index: it is not known whose the rows are */
		if (r->taken) {
			j->joined->ambiguous++;
			return;
		}
		put_access(j, r, of);
	}
}

/* An object of which nothing but its index is known. */
static void put_unknown(struct join *j, uint64_t index)
{
	mz_buf_printf(j->lines, "0,0,0,0,%" PRIu64 ",0,0,NONE,,no-slab,\n", index);
}

/* What remains: rows of objects that are not in the other file, and rows without an object. */
static void put_rest(struct join *j)
{
	static const struct mz_kmap_object of = {.shape = MZ_KMAP_G3};
	const struct access_row *before = NULL;

	for (size_t i = 0; i < j->count; i++) {
		struct access_row *r = &j->rows[i];

		if (r->taken || r->nameless)
			continue;
		if (!before || before->index != r->index) {
			put_unknown(j, r->index);
			j->joined->unknown++;
		}
		before = r;
		put_access(j, r, &of);
	}
	before = NULL;
	for (size_t i = 0; i < j->count; i++) {
		if (!j->rows[i].nameless)
			continue;
		if (!before)
			put_unknown(j, 0);
		before = &j->rows[i];
		put_access(j, &j->rows[i], &of);
	}
}

static void put_object(struct join *j, const char *line, size_t len)
{
	int shape = MZ_KMAP_G3;
	struct mz_kmap_record rec;

	mz_buf_add(j->lines, line, len);
	mz_buf_add(j->lines, "\n", 1);
	/* a bad line is reported when the joined lines are read */
	if (mz_kmap_parse(line, len, &shape, &rec) || rec.kind != MZ_KMAP_OBJECT)
		return;
	put_rows(j, rec.object.alloc_time, &rec.object);
}

/* ---- files ------------------------------------------------------------------------------- */

/* One file, section by section. Objects are written as they come, if their accesses are
 * known by then. */
static int read_file(struct join *j, struct mz_input *in, bool objects)
{
	const char *line;
	size_t len;
	int ret;

	j->line = 0;
	while ((ret = mz_input_line(in, &line, &len, j->err)) > 0) {
		j->line++;
		if (is_accesses_header(line, len)) {
			j->in_accesses = true;
			j->has_pid = starts(line, len, "alloc_index,access_ip,pid,");
		} else if (is_allocations_header(line, len)) {
			j->in_accesses = false;
		} else if (len && j->in_accesses && !objects) {
			ret = add_row(j, in->name, line, len);
		} else if (len && !j->in_accesses && objects) {
			put_object(j, line, len);
		}
		if (ret < 0)
			return ret;
		if (j->lines->failed)
			return mz_fail_memory(j->err);
	}
	return ret;
}

/* Nobody named this file, so a FIFO or a device of its name must not be opened. */
static bool is_regular(const char *path)
{
	int fd = mz_open_regular(path, NULL);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* path with the last `from` in its file name replaced by `to`; false: it has none. */
static bool sibling(char *out, size_t size, const char *path, const char *from, const char *to)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *at = NULL;

	for (const char *p = name; (p = strstr(p, from)); p++)
		at = p;
	return at &&
	       (size_t)snprintf(out, size, "%.*s%s%s", (int)(at - path), path, to,
				at + strlen(from)) < size &&
	       is_regular(out);
}

/* The other file: its path, or "" if there is none. */
static void find_other(char *out, size_t size, const char *path, bool accesses)
{
	if (accesses ? sibling(out, size, path, "accesses", "allocations") ||
			       sibling(out, size, path, "accesses", "allocs")
		     : sibling(out, size, path, "allocations", "accesses") ||
			       sibling(out, size, path, "allocs", "accesses"))
		return;
	out[0] = '\0';
}

static int read_path(struct join *j, const char *path, bool objects)
{
	int fd = mz_open_regular(path, NULL), ret;
	struct mz_input in;

	if (fd < 0)
		return mz_fail(j->err, errno, "%s: %s", path, strerror(errno));
	ret = mz_input_fd(&in, fd, path, j->err);
	if (ret < 0) {
		close(fd);
		return ret;
	}
	in.own_fd = true;
	ret = mz_input_unpack(&in, j->err);
	if (ret >= 0)
		ret = read_file(j, &in, objects);
	mz_input_close(&in);
	return ret;
}

/* Read a whole stream into memory: it is needed twice, and may be a pipe. */
static int slurp(struct mz_input *in, struct mz_buf *all, struct mz_error *err)
{
	for (;;) {
		int ret = mz_input_fill(in, 1, err);

		if (ret < 0)
			return ret;
		if (!mz_input_left(in))
			return 0;
		mz_buf_add(all, in->pos, mz_input_left(in));
		in->pos = in->end;
		if (all->failed)
			return mz_fail_memory(err);
	}
}

static int read_memory(struct join *j, const struct mz_buf *all, const char *name, bool objects)
{
	struct mz_input in;
	int ret = mz_input_memory(&in, all->data, all->len, name, j->err);

	if (ret < 0)
		return ret;
	j->in_accesses = false;
	ret = read_file(j, &in, objects);
	mz_input_close(&in);
	return ret;
}

int mz_kmap_join(struct mz_input *in, const char *path, struct mz_buf *lines,
		 struct mz_kmap_joined *joined, struct mz_error *err)
{
	struct join j = {.lines = lines, .joined = joined, .err = err};
	bool accesses = is_accesses_header(in->pos, mz_input_left(in));
	struct mz_buf all = {0};
	char other[PATH_MAX];
	int ret;

	*joined = (struct mz_kmap_joined){0};
	find_other(other, sizeof(other), path, accesses);
	ret = slurp(in, &all, err);
	if (ret >= 0)
		ret = read_memory(&j, &all, in->name, false);
	if (ret >= 0 && *other)
		ret = read_path(&j, other, false);
	sort_rows(&j);
	if (ret >= 0)
		ret = read_memory(&j, &all, in->name, true);
	if (ret >= 0 && *other)
		ret = read_path(&j, other, true);
	joined->no_allocations = !lines->len;
	if (ret >= 0)
		put_rest(&j);
	if (ret >= 0 && lines->failed)
		ret = mz_fail_memory(err);
	mz_buf_free(&all);
	free(j.rows);
	return ret < 0 ? ret : 0;
}
