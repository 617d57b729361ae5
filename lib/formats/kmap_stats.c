// SPDX-License-Identifier: BSD-2-Clause
/* Read the losses of a KMAP from the statistics file beside it. */
#include "formats/kmap_stats.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/kmap_companions.h"

#define MOST 65536 /* it has some 50 lines */

/* A line is "  name   number"; deeper ones are parts of the one before. */
static uint64_t *place_of(struct mz_kmap_stats *s, bool objects, const char *name, size_t len)
{
	static const char missed[] = "missed", nameless[] = "under pid -1 (no memory)",
			  dropped[] = "dropped for the budget";

	if (len == sizeof(missed) - 1 && !memcmp(name, missed, len))
		return objects ? &s->objects_missed : &s->accesses_missed;
	if (!objects && len == sizeof(nameless) - 1 && !memcmp(name, nameless, len))
		return &s->accesses_nameless;
	if (objects && len == sizeof(dropped) - 1 && !memcmp(name, dropped, len))
		return &s->objects_dropped;
	return NULL;
}

static void read_line(struct mz_kmap_stats *s, bool objects, const char *line, size_t len)
{
	const char *number;
	uint64_t *to;

	while (len && *line == ' ') {
		line++;
		len--;
	}
	number = memrchr(line, ' ', len);
	if (!number || number[1] < '0' || number[1] > '9')
		return;
	len = (size_t)(number - line);
	while (len && line[len - 1] == ' ')
		len--;
	to = place_of(s, objects, line, len);
	if (to)
		*to = strtoull(number + 1, NULL, 10);
}

/* ---- upstream's ------------------------------------------------------------------------ */

/*
 * "------- SECTION -------", and rows " LABEL: NUMBER[, NUMBER...]". Two of the sections contain
 * losses: accesses that found no object, and allocations that got none.
 */
static void read_upstream_row(struct mz_kmap_stats *s, const char *section, const char *line,
			      size_t len)
{
	const char *colon = memchr(line, ':', len);
	uint64_t n;

	if (!colon)
		return;
	n = strtoull(colon + 1, NULL, 10);
	line += strspn(line, " ");
	if (!strncmp(section, "------- Memory Accesses -", 25)) {
		if (!strncmp(line, "Missing", 7))
			s->accesses_missed = n;
	} else if (!strncmp(section, "------- Missing Allocs -", 24)) {
		if (strncmp(line, "Total", 5))
			s->objects_missed += n;
	}
}

void mz_kmap_stats_parse(const char *text, struct mz_kmap_stats *s)
{
	const char *section = "";

	*s = (struct mz_kmap_stats){0};
	while (*text) {
		size_t len = strcspn(text, "\n");

		if (*text != ' ')
			section = text;
		else if (!strncmp(section, "accesses\n", 9) || !strncmp(section, "objects\n", 8))
			read_line(s, *section == 'o', text, len);
		else if (!strncmp(section, "-------", 7))
			read_upstream_row(s, section, text, len);
		text += len + (text[len] == '\n');
	}
}

/* ---- files ----------------------------------------------------------------------------- */

bool mz_kmap_stats_beside(const char *map, struct mz_kmap_stats *s)
{
	/* if a kernel has both files, the first one says more */
	static const char *const names[2] = {"show_stats", "stats"};
	char path[PATH_MAX];
	int fd = mz_kmap_open_beside(map, ".stats", names, path, sizeof(path));
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char *text = NULL;
	size_t n = 0;

	*s = (struct mz_kmap_stats){0};
	if (fd >= 0 && !f)
		close(fd);
	if (f)
		text = calloc(1, MOST);
	if (text)
		n = fread(text, 1, MOST - 1, f);
	if (n)
		mz_kmap_stats_parse(text, s);
	free(text);
	if (f)
		fclose(f);
	return n;
}
