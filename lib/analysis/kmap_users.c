// SPDX-License-Identifier: BSD-2-Clause
/* Group the accesses, frees and owners of a KMAP by the kind of object. */
#include "analysis/kmap_users.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/kmap.h"
#include "base/array.h"

static int by_class_and_who(const void *x, const void *y)
{
	const struct mz_kmap_user *p = x, *q = y;

	return MZ_ORDER(p->class, q->class) ?: MZ_ORDER(p->who, q->who);
}

/* Equal sums are ordered by number, so that the same map always gives the same page. */
static int larger_in_class(const void *x, const void *y)
{
	const struct mz_kmap_user *p = x, *q = y;

	return MZ_ORDER(p->class, q->class)
		       ?: MZ_ORDER(q->reads + q->writes, p->reads + p->writes)
				  ?: MZ_ORDER(p->who, q->who);
}

/* Equal entries are added up; the largest of each class come first. Reads and objects share a
 * member, so the sums of either are made here. */
static size_t gather(struct mz_kmap_user *d, size_t n)
{
	size_t to = 0;

	if (n)
		qsort(d, n, sizeof(*d), by_class_and_who);
	for (size_t i = 0; i < n; i++) {
		if (to && d[to - 1].class == d[i].class && d[to - 1].who == d[i].who) {
			d[to - 1].reads += d[i].reads;
			d[to - 1].writes += d[i].writes;
		} else {
			d[to++] = d[i];
		}
	}
	if (to)
		qsort(d, to, sizeof(*d), larger_in_class);
	return to;
}

/* first[class] to first[class + 1] are the entries of a class: one array holds all lists, since
 * most of them are short. */
static int index_users(struct mz_kmap_users *u, size_t classes)
{
	size_t at = 0;

	u->n = gather(u->list, u->n);
	u->first = calloc(classes + 1, sizeof(*u->first));
	for (size_t c = 0; u->first && c <= classes; c++) {
		while (at < u->n && u->list[at].class < c)
			at++;
		u->first[c] = (uint32_t)at;
	}
	return u->first ? 0 : -ENOMEM;
}

/* One item more, because an allocation of 0 bytes may return NULL. */
static struct mz_kmap_user *make_room(struct mz_kmap_users *u, size_t n)
{
	*u = (struct mz_kmap_users){.list = malloc((n + 1) * sizeof(*u->list)), .n = n};
	return u->list;
}

int mz_kmap_users_of_accesses(struct mz_kmap_users *u, const struct mz_kmap_model *m)
{
	struct mz_kmap_user *list = make_room(u, m->n_edges);

	for (size_t i = 0; list && i < m->n_edges; i++)
		list[i] = (struct mz_kmap_user){.class = m->edges[i].class,
						.who = m->edges[i].place,
						.reads = m->edges[i].reads,
						.writes = m->edges[i].writes};
	return list ? index_users(u, m->n_classes) : -ENOMEM;
}

int mz_kmap_users_of_frees(struct mz_kmap_users *u, const struct mz_kmap_model *m)
{
	struct mz_kmap_user *list = make_room(u, m->n_freers);

	for (size_t i = 0; list && i < m->n_freers; i++)
		list[i] = (struct mz_kmap_user){.class = m->freers[i].class,
						.who = m->freers[i].place,
						.objects = m->freers[i].objects};
	return list ? index_users(u, m->n_classes) : -ENOMEM;
}

int mz_kmap_users_of_owners(struct mz_kmap_users *u, const struct mz_kmap_model *m)
{
	struct mz_kmap_user *list = make_room(u, m->n_owners);

	for (size_t i = 0; list && i < m->n_owners; i++)
		list[i] = (struct mz_kmap_user){.class = m->owners[i].class,
						.who = m->owners[i].process,
						.objects = m->owners[i].sum.objects};
	return list ? index_users(u, m->n_classes) : -ENOMEM;
}

void mz_kmap_users_deinit(struct mz_kmap_users *u)
{
	free(u->list);
	free(u->first);
}
