// SPDX-License-Identifier: BSD-2-Clause
/* Name code that a program generated at run time, from the map that its runtime wrote for perf. */
#include "record/user_perfmap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/regular.h"
#include "trace/names.h"
#include "trace/writer.h"

/* The file is the program's and may contain anything: limits apply to what is read and kept. */
#define MOST_FRAMES 1048576u	   /* addresses that are looked up */
#define MOST_BYTES  (256ull << 20) /* of the file */
#define MOST_TEXT   (32ull << 20)  /* of names that are kept */
#define MOST_HITS   (16ull << 20)  /* addresses that all lines together name, again and again */
#define LINE	    1024u	   /* of a longer line, the name is cut */

struct perfmap {
	uint64_t *ips;	/* sorted, each once */
	uint32_t *name; /* of each: offset into text, + 1; 0 = none */
	size_t count;
	struct mz_buf text;
	uint64_t read, hits;
};

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return MZ_ORDER(x, y);
}

static bool collect(struct perfmap *p, struct mz_writer *w)
{
	size_t n;

	p->ips = malloc(MOST_FRAMES * sizeof(*p->ips));
	if (!p->ips)
		return false;
	n = mz_writer_frames(w, p->ips, MOST_FRAMES);
	qsort(p->ips, n, sizeof(*p->ips), compare);
	for (size_t i = 0; i < n; i++)
		if (!i || p->ips[i] != p->ips[p->count - 1])
			p->ips[p->count++] = p->ips[i];
	p->name = calloc(p->count ? p->count : 1, sizeof(*p->name));
	return p->name;
}

/* The first address from at on. */
static size_t first_from(const struct perfmap *p, uint64_t at)
{
	return mz_array_below(p->ips, p->count, sizeof(*p->ips), 0, at);
}

/* Nothing in a name may control a terminal. */
static void keep_name(struct perfmap *p, const char *name)
{
	for (; *name && *name != '\n'; name++) {
		char c = (unsigned char)*name < ' ' || *name == 127 ? '?' : *name;

		mz_buf_add(&p->text, &c, 1);
	}
	mz_buf_add(&p->text, "", 1);
}

/* A stack has return addresses: if a call ends a function, its return address is behind the
 * function. The later of two lines counts: memory of code is reused. */
static void take_line(struct perfmap *p, const char *line)
{
	size_t at = p->text.len, i;
	uint64_t start, size;
	char *end;

	start = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return;
	line = end + 1;
	size = strtoull(line, &end, 16);
	if (end == line || *end != ' ' || !size || start + size < start)
		return;
	i = first_from(p, start + 1);
	if (i == p->count || p->ips[i] - 1 - start >= size)
		return;
	keep_name(p, end + 1);
	for (; i < p->count && p->ips[i] - 1 - start < size && p->hits < MOST_HITS; i++, p->hits++)
		p->name[i] = (uint32_t)at + 1;
}

static void read_lines(struct perfmap *p, FILE *in)
{
	char line[LINE];
	bool whole = true;

	while (p->read < MOST_BYTES && p->text.len < MOST_TEXT && p->hits < MOST_HITS &&
	       !p->text.failed && fgets(line, sizeof(line), in)) {
		size_t n = strlen(line);
		bool begins = whole;

		whole = n && line[n - 1] == '\n';
		/* zero bytes, as of a hole, hide how much was read: no more than there is room for
		 */
		p->read += whole ? n : sizeof(line);
		if (begins)
			take_line(p, line);
	}
}

static int put(const struct perfmap *p, struct mz_writer *w)
{
	struct mz_names *names = mz_names_new();
	int ret = names ? 0 : -ENOMEM;

	for (size_t i = 0; i < p->count && !ret; i++) {
		struct mz_name name = {.function = p->text.data + p->name[i] - 1};

		if (p->name[i])
			ret = mz_names_add(names, p->ips[i], "[jit]", &name, 1);
	}
	if (!ret)
		ret = mz_names_put(names, w);
	mz_names_free(names);
	return ret;
}

/* In a folder that all users can write to, another user may have chosen the target of a link. */
static FILE *open_map(const char *path, uid_t owner)
{
	struct stat st, link;
	int fd = mz_open_regular(path, &st);
	FILE *in = NULL;

	if (fd >= 0 && st.st_uid == owner && !lstat(path, &link) && link.st_dev == st.st_dev &&
	    link.st_ino == st.st_ino)
		in = fdopen(fd, "re");
	if (!in && fd >= 0)
		close(fd);
	return in;
}

int mz_user_perfmap(struct mz_writer *w, uint32_t pid, uid_t owner)
{
	struct perfmap p = {0};
	char path[64];
	int ret = 0;
	FILE *in;

	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	in = open_map(path, owner);
	if (!in)
		return 0;
	if (collect(&p, w)) {
		read_lines(&p, in);
		ret = p.text.failed ? -ENOMEM : p.text.len ? put(&p, w) : 0;
	} else {
		ret = -ENOMEM;
	}
	fclose(in);
	free(p.ips);
	free(p.name);
	mz_buf_free(&p.text);
	return ret;
}
