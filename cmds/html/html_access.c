// SPDX-License-Identifier: BSD-2-Clause
/* Write the access matrix and the object explorer of a KMAP page as JSON. */
#include "cmds/html/html_access.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/kmap_users.h"
#include "base/array.h"
#include "cmds/html/html_net.h"

#define WHO 12 /* readers, writers, freers of a kind that are named */

/* ---- which code accesses which objects ------------------------------------------------- */

static int access_json(struct mz_json *w, const struct mz_kmap_model *m,
		       const struct html_limits *l)
{
	struct mz_kmap_net n;
	int ret = mz_kmap_net_of_accesses(&n, m, l->nodes);

	if (!ret)
		html_net_json(w, "access", &n);
	mz_kmap_net_deinit(&n);
	return ret;
}

/* ---- what becomes of a kind of object --------------------------------------------------- */

struct explorer {
	const struct mz_kmap_model *m;
	struct mz_kmap_users touched, freed, owned;
	struct html_names texts;
};

static int collect(struct explorer *x)
{
	int ret = mz_kmap_users_of_accesses(&x->touched, x->m);

	if (!ret)
		ret = mz_kmap_users_of_frees(&x->freed, x->m);
	return ret ? ret : mz_kmap_users_of_owners(&x->owned, x->m);
}

/* [name, a, b, name, a, b, ..., 0, rest of a, rest of b] of a class: a is reads or objects, b is
 * writes. */
static void users_json(struct mz_json *w, struct explorer *x, const struct mz_kmap_users *u,
		       uint32_t class, bool processes)
{
	uint64_t a = 0, b = 0;
	uint32_t from = u->first[class], to = u->first[class + 1];
	char name[HTML_NAME];

	mz_json_array(w, NULL);
	for (uint32_t i = from; i < to; i++) {
		const struct mz_kmap_user *e = &u->list[i];

		if (i - from >= WHO) {
			a += e->reads;
			b += e->writes;
			continue;
		}
		if (processes)
			mz_kmap_pid_name(x->m, x->m->processes[e->who].pid, name, sizeof(name));
		else
			mz_kmap_place_name(x->m, e->who, MZ_KMAP_BY_SITE, name, sizeof(name));
		mz_json_u64(w, NULL, html_name_id(&x->texts, name));
		mz_json_u64(w, NULL, e->reads);
		mz_json_u64(w, NULL, e->writes);
	}
	if (to - from > WHO) {
		mz_json_u64(w, NULL, 0);
		mz_json_u64(w, NULL, a);
		mz_json_u64(w, NULL, b);
	}
	mz_json_end_array(w);
}

static void class_json(struct mz_json *w, struct explorer *x, uint32_t i)
{
	const struct mz_kmap_class *c = &x->m->classes[i];
	char name[HTML_NAME];

	mz_json_array(w, NULL);
	html_json_name(w, NULL, mz_kmap_class_name(x->m, i, MZ_KMAP_BY_CACHE, name, sizeof(name)));
	if (c->global)
		mz_json_str(w, NULL, "(global variable)");
	else
		html_json_name(
			w, NULL,
			mz_kmap_place_name(x->m, c->place, MZ_KMAP_BY_SITE, name, sizeof(name)));
	mz_json_u64(w, NULL, c->all.objects);
	mz_json_u64(w, NULL, c->all.bytes);
	mz_json_u64(w, NULL, c->all.bytes - c->freed.bytes);
	mz_json_u64(w, NULL, c->untouched.objects);
	mz_json_u64(w, NULL, c->reads);
	mz_json_u64(w, NULL, c->writes);
	mz_json_u64(w, NULL, i); /* hidden: which one it is */
	mz_json_end_array(w);
}

struct ranked_class {
	uint64_t bytes;
	uint32_t class;
};

static int more_bytes(const void *a, const void *b)
{
	const struct ranked_class *x = a, *y = b;

	return MZ_ORDER(y->bytes, x->bytes) ?: MZ_ORDER(x->class, y->class);
}

static struct ranked_class *rank(const struct mz_kmap_model *m)
{
	struct ranked_class *r = malloc((m->n_classes + 1) * sizeof(*r));

	for (size_t i = 0; r && i < m->n_classes; i++)
		r[i] = (struct ranked_class){m->classes[i].all.bytes, (uint32_t)i};
	if (r && m->n_classes)
		qsort(r, m->n_classes, sizeof(*r), more_bytes);
	return r;
}

static void explorer_json(struct mz_json *w, struct explorer *x, const struct ranked_class *order,
			  size_t n)
{
	static const struct html_column columns[] = {
		{"object", "Object", "text"},	  {"caller", "Allocated at", "text"},
		{"objects", "Objects", "count"},  {"bytes", "In all", "bytes"},
		{"live", "Never freed", "bytes"}, {"untouched", "Untouched", "count"},
		{"reads", "Reads", "count"},	  {"writes", "Writes", "count"},
	};

	mz_json_object(w, "objects");
	html_json_table(w, "table", "Objects", columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < n; i++)
		class_json(w, x, order[i].class);
	html_json_table_end(w, x->m->n_classes, n);
	mz_json_object(w, "who");
	for (size_t i = 0; i < n; i++) {
		char key[16];

		snprintf(key, sizeof(key), "%u", order[i].class);
		mz_json_array(w, key);
		users_json(w, x, &x->owned, order[i].class, true);
		users_json(w, x, &x->freed, order[i].class, false);
		users_json(w, x, &x->touched, order[i].class, false);
		mz_json_end_array(w);
	}
	mz_json_end_object(w);
	html_names_json(w, &x->texts);
	mz_json_end_object(w);
}

static int objects_json(struct mz_json *w, const struct mz_kmap_model *m,
			const struct html_limits *l)
{
	struct explorer x = {.m = m, .texts.texts = mz_tables_new()};
	struct ranked_class *order = rank(m);
	size_t n = m->n_classes < l->rows / 4 ? m->n_classes : l->rows / 4;
	int ret = x.texts.texts && order ? collect(&x) : -ENOMEM;

	if (!ret)
		explorer_json(w, &x, order, n);
	mz_kmap_users_deinit(&x.touched);
	mz_kmap_users_deinit(&x.freed);
	mz_kmap_users_deinit(&x.owned);
	free(order);
	mz_tables_free(x.texts.texts);
	return ret;
}

int html_access_json(struct mz_json *w, const struct mz_kmap_model *m, const struct html_limits *l)
{
	int ret = access_json(w, m, l);

	return ret ? ret : objects_json(w, m, l);
}
