// SPDX-License-Identifier: BSD-2-Clause
/* Add up the live blocks of a kernel trace by subsystem. */
#include "analysis/kmem_subsystems.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* "drivers/tty/serial/8250.c" -> "drivers/tty"; "mm/slub.c" -> "mm". The folder drivers/ alone
 * would say little. */
static void name_of(const char *file, char *buf, size_t size)
{
	const char *first = file ? strchr(file, '/') : NULL;
	const char *second = first ? strchr(first + 1, '/') : NULL;
	const char *end = second ? second : first;

	if (!file)
		snprintf(buf, size, "?");
	else if (!end)
		snprintf(buf, size, "%s", file);
	else
		mz_printable(buf, size, file, (size_t)(end - file));
}

/* A kernel has some hundred subsystems, so the list is searched from its beginning. */
static struct mz_kmem_subsystem *find(struct mz_kmem_subsystems *s, const char *name)
{
	struct mz_kmem_subsystem *p;

	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->list[i].name, name))
			return &s->list[i];
	p = realloc(s->list, (s->n + 1) * sizeof(*p));
	if (!p)
		return NULL;
	s->list = p;
	p += s->n++;
	*p = (struct mz_kmem_subsystem){.blocks = 0};
	snprintf(p->name, sizeof(p->name), "%s", name);
	return p;
}

static int by_given(const void *a, const void *b)
{
	const struct mz_kmem_subsystem *x = a, *y = b;

	if (x->given != y->given)
		return x->given > y->given ? -1 : 1;
	return strcmp(x->name, y->name);
}

struct mz_kmem_subsystems mz_kmem_subsystems_of(const struct mz_kmem_report *r)
{
	struct mz_kmem_subsystems s = {0};

	for (uint32_t i = 0; i < r->nsites; i++) {
		const struct mz_kmem_group *g = &r->sites[i];
		struct mz_kmem_subsystem *to;
		char name[64];

		if (!g->live)
			continue;
		name_of(mz_kmem_input_file(r->in, i), name, sizeof(name));
		to = find(&s, name);
		if (!to)
			break;
		to->blocks += g->live;
		to->given += g->live_given;
		to->req += g->live_req;
		to->of[g->allocator] += g->live_given;
	}
	if (s.n)
		qsort(s.list, s.n, sizeof(*s.list), by_given);
	return s;
}

void mz_kmem_subsystems_free(struct mz_kmem_subsystems *s)
{
	free(s->list);
	*s = (struct mz_kmem_subsystems){0};
}
