// SPDX-License-Identifier: BSD-2-Clause
/* Group the accesses, frees and owners of a KMAP by the kind of object. */
#include "analysis/kmap_deeds.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/kmap.h"
#include "base/array.h"

static int by_class_and_who(const void *x, const void *y)
{
	const struct mz_kmap_deed *p = x, *q = y;

	return MZ_ORDER(p->class, q->class) ?: MZ_ORDER(p->who, q->who);
}

/* Equal sums are ordered by number, so that the same map always gives the same page. */
static int larger_in_class(const void *x, const void *y)
{
	const struct mz_kmap_deed *p = x, *q = y;

	return MZ_ORDER(p->class, q->class) ?: MZ_ORDER(q->a + q->b, p->a + p->b) ?: MZ_ORDER(p->who, q->who);
}

/* Equal entries are added up; the largest of each class come first. */
static size_t gather(struct mz_kmap_deed *d, size_t n)
{
	size_t to = 0;

	if (n)
		qsort(d, n, sizeof(*d), by_class_and_who);
	for (size_t i = 0; i < n; i++) {
		if (to && d[to - 1].class == d[i].class && d[to - 1].who == d[i].who) {
			d[to - 1].a += d[i].a;
			d[to - 1].b += d[i].b;
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
static int index_deeds(struct mz_kmap_deeds *d, size_t classes)
{
	size_t at = 0;

	d->n = gather(d->list, d->n);
	d->first = calloc(classes + 1, sizeof(*d->first));
	for (size_t c = 0; d->first && c <= classes; c++) {
		while (at < d->n && d->list[at].class < c)
			at++;
		d->first[c] = (uint32_t)at;
	}
	return d->first ? 0 : -ENOMEM;
}

/* One item more, because an allocation of 0 bytes may return NULL. */
static struct mz_kmap_deed *make_room(struct mz_kmap_deeds *d, size_t n)
{
	*d = (struct mz_kmap_deeds){.list = malloc((n + 1) * sizeof(*d->list)), .n = n};
	return d->list;
}

int mz_kmap_deeds_of_accesses(struct mz_kmap_deeds *d, const struct mz_kmap_model *m)
{
	struct mz_kmap_deed *list = make_room(d, m->n_edges);

	for (size_t i = 0; list && i < m->n_edges; i++)
		list[i] = (struct mz_kmap_deed){m->edges[i].class, m->edges[i].place,
						m->edges[i].reads, m->edges[i].writes};
	return list ? index_deeds(d, m->n_classes) : -ENOMEM;
}

int mz_kmap_deeds_of_frees(struct mz_kmap_deeds *d, const struct mz_kmap_model *m)
{
	struct mz_kmap_deed *list = make_room(d, m->n_freers);

	for (size_t i = 0; list && i < m->n_freers; i++)
		list[i] = (struct mz_kmap_deed){m->freers[i].class, m->freers[i].place,
						m->freers[i].objects, 0};
	return list ? index_deeds(d, m->n_classes) : -ENOMEM;
}

int mz_kmap_deeds_of_owners(struct mz_kmap_deeds *d, const struct mz_kmap_model *m)
{
	struct mz_kmap_deed *list = make_room(d, m->n_owners);

	for (size_t i = 0; list && i < m->n_owners; i++)
		list[i] = (struct mz_kmap_deed){m->owners[i].class, m->owners[i].process,
						m->owners[i].sum.objects, 0};
	return list ? index_deeds(d, m->n_classes) : -ENOMEM;
}

void mz_kmap_deeds_deinit(struct mz_kmap_deeds *d)
{
	free(d->list);
	free(d->first);
}
