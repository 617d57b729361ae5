// SPDX-License-Identifier: BSD-2-Clause
/* Read the names of caches and stacks from the files beside a kmemtrace recording. */
#include "formats/kmemtrace_companions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/regular.h"

/* The files come from a recording, perhaps of another machine: hostile input. A number is an index
 * into a table, so a large one would require gigabytes. */
#define MAX_FILE  (64u << 20)
#define MAX_ID	  (1u << 20)
#define MAX_DEPTH 64

/* ---- numbered lines ------------------------------------------------------ */

/* The entry of a number; the table grows up to it. */
static struct mz_kmemtrace_span *reach(struct mz_kmemtrace_span **table, uint32_t *n, uint64_t id)
{
	if (id >= *n) {
		uint32_t to = (uint32_t)id * 2 + 64;
		struct mz_kmemtrace_span *p = realloc(*table, to * sizeof(*p));

		if (!p)
			return NULL;
		memset(p + *n, 0, (to - *n) * sizeof(*p));
		*table = p;
		*n = to;
	}
	return *table + id;
}

/* The trace itself is readable without these files, and the message says so. */
static int bad_line(const char *name, unsigned line, const char *want, struct mz_error *err)
{
	return mz_fail(
		err, EINVAL,
		"%s: line %u: not of the form \"%s\"; remove the file to continue without it", name,
		line, want);
}

/* "ID": its end, or NULL. */
static char *parse_id(char *line, uint64_t *id)
{
	char *end;

	errno = 0;
	*id = strtoull(line, &end, 10);
	return end == line || errno || !*id || *id > MAX_ID || *line < '0' || *line > '9' ? NULL
											  : end;
}

/* The sizes and the alignment of a cache are not used; its name follows them. */
static char *skip_numbers(char *p, int n)
{
	while (n-- && *p == ' ' && p[1] >= '0' && p[1] <= '9')
		strtoul(p, &p, 10);
	return n == -1 && *p == ' ' && p[1] ? p + 1 : NULL;
}

/* A number that occurs twice gets its last name: a cache may be destroyed and its number used
 * again. */
static int cache_line(struct mz_kmemtrace_companions *b, char *line, const char *name,
		      unsigned number, struct mz_error *err)
{
	struct mz_kmemtrace_span *s;
	uint64_t id;
	char *p = parse_id(line, &id);

	p = p ? skip_numbers(p, 3) : NULL;
	if (!p)
		return bad_line(name, number, "ID OBJECT-SIZE SIZE ALIGN NAME", err);
	s = reach(&b->caches, &b->ncaches, id);
	if (!s)
		return mz_fail_memory(err);
	*s = (struct mz_kmemtrace_span){(uint32_t)b->names.len, (uint32_t)strlen(p)};
	mz_buf_str(&b->names, p);
	return b->names.failed ? mz_fail_memory(err) : 0;
}

/* Addresses go into one array for all stacks; a stack is a part of it. */
static int stack_line(struct mz_kmemtrace_companions *b, char *line, const char *name,
		      unsigned number, struct mz_error *err)
{
	struct mz_kmemtrace_span s = {.at = (uint32_t)(b->ips.len / sizeof(uint64_t))}, *to;
	uint64_t id;
	char *p = parse_id(line, &id);

	while (p && *p == ' ' && s.len < MAX_DEPTH) {
		char *end;
		uint64_t ip = strtoull(p + 1, &end, 16);

		if (end == p + 1)
			break;
		mz_buf_add(&b->ips, &ip, sizeof(ip));
		s.len++;
		p = end;
	}
	if (!p || *p || !s.len)
		return bad_line(name, number, "ID ADDRESS...", err);
	to = reach(&b->stacks, &b->nstacks, id);
	if (!to || b->ips.failed)
		return mz_fail_memory(err);
	*to = s;
	return 0;
}

typedef int (*line_fn)(struct mz_kmemtrace_companions *b, char *line, const char *name,
		       unsigned number, struct mz_error *err);

static int each_line(struct mz_kmemtrace_companions *b, char *text, const char *name, line_fn take,
		     struct mz_error *err)
{
	unsigned number = 1;
	int ret = 0;

	if (strncmp(text, "# id ", 5))
		return 0; /* the recorder for stock kernels has a list of its own */
	for (char *line = text, *next; line && !ret; line = next, number++) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (*line && *line != '#')
			ret = take(b, line, name, number, err);
	}
	return ret;
}

int mz_kmemtrace_companions_caches(struct mz_kmemtrace_companions *b, char *text, const char *name,
				   struct mz_error *err)
{
	return each_line(b, text, name, cache_line, err);
}

int mz_kmemtrace_companions_stacks(struct mz_kmemtrace_companions *b, char *text, const char *name,
				   struct mz_error *err)
{
	return each_line(b, text, name, stack_line, err);
}

/* ---- files --------------------------------------------------------------- */

/* The text of a file; NULL if there is no such file, or one that cannot be valid. */
static char *read_text(const char *path)
{
	int fd = mz_open_regular(path, NULL);
	struct mz_buf text = {0};
	ssize_t n = -1;

	while (fd >= 0 && text.len < MAX_FILE && mz_buf_room(&text, 65536) &&
	       (n = read(fd, text.data + text.len, 65536)) > 0)
		text.len += (size_t)n;
	if (fd >= 0)
		close(fd);
	mz_buf_add(&text, "", 1);
	if (!n && !text.failed)
		return text.data;
	mz_buf_free(&text);
	return NULL;
}

int mz_kmemtrace_companions_load(struct mz_kmemtrace_companions *b, const char *trace,
				 struct mz_error *err)
{
	static const struct {
		const char *name;
		line_fn take;
	} files[] = {{"caches", cache_line}, {"stacks", stack_line}};
	const char *slash = strrchr(trace, '/');
	int ret = 0;

	for (int i = 0; i < 2 && !ret; i++) {
		char path[4200], *text;

		snprintf(path, sizeof(path), "%.*s%s%s", slash ? (int)(slash - trace) : 0, trace,
			 slash ? "/" : "", files[i].name);
		text = read_text(path);
		if (text)
			ret = each_line(b, text, path, files[i].take, err);
		free(text);
	}
	return ret;
}

void mz_kmemtrace_companions_free(struct mz_kmemtrace_companions *b)
{
	free(b->caches);
	free(b->stacks);
	mz_buf_free(&b->names);
	mz_buf_free(&b->ips);
	*b = (struct mz_kmemtrace_companions){0};
}

const char *mz_kmemtrace_companions_cache(const struct mz_kmemtrace_companions *b, uint32_t id,
					  size_t *len)
{
	if (id >= b->ncaches || !b->caches[id].len)
		return NULL;
	*len = b->caches[id].len;
	return b->names.data + b->caches[id].at;
}

const uint64_t *mz_kmemtrace_companions_stack(const struct mz_kmemtrace_companions *b, uint32_t id,
					      size_t *depth)
{
	if (id >= b->nstacks || !b->stacks[id].len)
		return NULL;
	*depth = b->stacks[id].len;
	return (const uint64_t *)(const void *)b->ips.data + b->stacks[id].at;
}
