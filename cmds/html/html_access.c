// SPDX-License-Identifier: BSD-2-Clause
/* Write the access matrix and the object explorer of a KMAP page as JSON. */
#include "cmds/html/html_access.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define NAME 320
#define WHO  12 /* readers, writers, freers of a kind that are named */

/* ---- names ------------------------------------------------------------------------- */

/* Texts of the page by number; only those that are used stand in it. */
struct names {
	struct mz_tables *texts;
};

static uint32_t name_id(struct names *n, const char *text)
{
	return mz_tables_string(n->texts, text, strlen(text));
}

static void names_json(struct mz_json *w, const struct names *n)
{
	mz_json_array(w, "names");
	mz_json_str(w, NULL, ""); /* 0 */
	for (uint32_t i = 1; i <= mz_tables_strings(n->texts); i++)
		html_json_name(w, NULL, mz_tables_get_string(n->texts, i, NULL));
	mz_json_end_array(w);
}

/* ---- code and objects by directory, file and function ------------------------------------ */

/* A function, with where it is: three names. */
struct node {
	uint32_t dir, file, function;
};

struct link {
	uint32_t from, to; /* nodes: the code, the owner of the objects */
	uint64_t reads, writes;
};

struct net {
	const struct mz_kmap_model *m;
	struct names texts;
	struct mz_pair_index node_keys, file_keys;
	struct node *nodes;
	size_t cap_nodes;
	uint32_t *place_node, *class_node;
	struct mz_pair_index link_keys;
	struct link *links;
	size_t cap_links;
};

static uint32_t node_id(struct net *n, const char *dir, const char *file, const char *function)
{
	struct node x = {name_id(&n->texts, dir), name_id(&n->texts, file),
			 name_id(&n->texts, function)};
	uint32_t in = x.dir && x.file && x.function
			      ? mz_pair_index_put(&n->file_keys, x.dir, x.file)
			      : MZ_PAIR_INDEX_NONE;
	uint32_t id = in == MZ_PAIR_INDEX_NONE ? MZ_PAIR_INDEX_NONE
					       : mz_pair_index_put(&n->node_keys, in, x.function);

	if (id == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&n->nodes, &n->cap_nodes, id, sizeof(*n->nodes)))
		return MZ_PAIR_INDEX_NONE;
	n->nodes[id] = x;
	return id;
}

static int name_all(struct net *n)
{
	const struct mz_kmap_model *m = n->m;
	char dir[NAME], file[NAME], function[NAME];

	n->place_node = calloc(m->n_places + 1, sizeof(*n->place_node));
	n->class_node = calloc(m->n_classes + 1, sizeof(*n->class_node));
	if (!n->place_node || !n->class_node)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->n_places; i++) {
		mz_kmap_place_name(m, i, MZ_KMAP_BY_DIR, dir, sizeof(dir));
		mz_kmap_place_name(m, i, MZ_KMAP_BY_FILE, file, sizeof(file));
		mz_kmap_place_name(m, i, MZ_KMAP_BY_FUNCTION, function, sizeof(function));
		n->place_node[i] = node_id(n, dir, file, function);
		if (n->place_node[i] == MZ_PAIR_INDEX_NONE)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < m->n_classes; i++) {
		mz_kmap_class_name(m, i, MZ_KMAP_BY_DIR, dir, sizeof(dir));
		mz_kmap_class_name(m, i, MZ_KMAP_BY_FILE, file, sizeof(file));
		mz_kmap_class_name(m, i, MZ_KMAP_BY_FUNCTION, function, sizeof(function));
		n->class_node[i] = node_id(n, dir, file, function);
		if (n->class_node[i] == MZ_PAIR_INDEX_NONE)
			return -ENOMEM;
	}
	return 0;
}

static int add_link(struct mz_pair_index *keys, struct link **links, size_t *cap,
		    const struct link *x)
{
	uint32_t id = mz_pair_index_put(keys, x->from, x->to);

	if (id == MZ_PAIR_INDEX_NONE || !mz_array_room((void **)links, cap, id, sizeof(**links)))
		return -ENOMEM;
	(*links)[id].from = x->from;
	(*links)[id].to = x->to;
	(*links)[id].reads += x->reads;
	(*links)[id].writes += x->writes;
	return 0;
}

static int link_all(struct net *n)
{
	int ret = 0;

	for (size_t i = 0; i < n->m->n_edges && !ret; i++) {
		const struct mz_kmap_edge *e = &n->m->edges[i];
		struct link x = {n->place_node[e->place], n->class_node[e->class], e->reads,
				 e->writes};

		ret = add_link(&n->link_keys, &n->links, &n->cap_links, &x);
	}
	return ret;
}

static int busier_first(const void *a, const void *b)
{
	const struct link *x = a, *y = b;
	uint64_t p = x->reads + x->writes, q = y->reads + y->writes;

	return MZ_ORDER(q, p) ?: MZ_ORDER(x->from, y->from) ?: MZ_ORDER(x->to, y->to);
}

/* What is small is added up by directory: the sums there stay exact. */
static int fold(struct net *n, size_t most, size_t *folded)
{
	struct mz_pair_index keys = {0};
	struct link *links = NULL;
	size_t cap = 0, all = n->link_keys.count;
	int ret = 0;

	*folded = 0;
	if (all)
		qsort(n->links, all, sizeof(*n->links), busier_first);
	for (size_t i = 0; i < all && !ret; i++) {
		struct link x = n->links[i];

		if (i >= most) {
			const char *from =
				mz_tables_get_string(n->texts.texts, n->nodes[x.from].dir, NULL);
			const char *to =
				mz_tables_get_string(n->texts.texts, n->nodes[x.to].dir, NULL);

			x.from = node_id(n, from, "(smaller ones)", "(smaller ones)");
			x.to = node_id(n, to, "(smaller ones)", "(smaller ones)");
			ret = x.from == MZ_PAIR_INDEX_NONE || x.to == MZ_PAIR_INDEX_NONE ? -ENOMEM
											 : 0;
			++*folded;
		}
		if (!ret)
			ret = add_link(&keys, &links, &cap, &x);
	}
	mz_pair_index_deinit(&n->link_keys);
	free(n->links);
	n->link_keys = keys;
	n->links = links;
	n->cap_links = cap;
	return ret;
}

/* Only what the links lead to stands in the page, under numbers of its own. */
static void net_json(struct mz_json *w, struct net *n, size_t folded)
{
	struct names used = {mz_tables_new()};
	uint32_t *number = calloc(n->node_keys.count + 1, sizeof(*number)), nodes = 0;

	if (!used.texts || !number) {
		w->out->failed = true;
		goto out;
	}
	mz_json_object(w, "access");
	mz_json_u64(w, "folded", folded);
	mz_json_array(w, "nodes");
	for (size_t i = 0; i < 2 * n->link_keys.count; i++) {
		uint32_t at = i % 2 ? n->links[i / 2].to : n->links[i / 2].from;
		const uint32_t x[] = {n->nodes[at].dir, n->nodes[at].file, n->nodes[at].function};

		if (number[at])
			continue;
		number[at] = ++nodes;
		for (int k = 0; k < 3; k++)
			mz_json_u64(
				w, NULL,
				name_id(&used, mz_tables_get_string(n->texts.texts, x[k], NULL)));
	}
	mz_json_end_array(w);
	mz_json_array(w, "links");
	for (size_t i = 0; i < n->link_keys.count; i++) {
		mz_json_u64(w, NULL, number[n->links[i].from] - 1);
		mz_json_u64(w, NULL, number[n->links[i].to] - 1);
		mz_json_u64(w, NULL, n->links[i].reads);
		mz_json_u64(w, NULL, n->links[i].writes);
	}
	mz_json_end_array(w);
	names_json(w, &used);
	mz_json_end_object(w);
out:
	free(number);
	mz_tables_free(used.texts);
}

static int access_json(struct mz_json *w, const struct mz_kmap_model *m,
		       const struct html_limits *l)
{
	struct net n = {.m = m, .texts.texts = mz_tables_new()};
	size_t folded = 0;
	int ret = n.texts.texts ? name_all(&n) : -ENOMEM;

	if (!ret)
		ret = link_all(&n);
	if (!ret)
		ret = fold(&n, l->nodes, &folded);
	if (!ret)
		net_json(w, &n, folded);
	mz_pair_index_deinit(&n.node_keys);
	mz_pair_index_deinit(&n.file_keys);
	mz_pair_index_deinit(&n.link_keys);
	free(n.nodes);
	free(n.links);
	free(n.place_node);
	free(n.class_node);
	mz_tables_free(n.texts.texts);
	return ret;
}

/* ---- what becomes of a kind of object --------------------------------------------------- */

/* Code that frees, reads or writes a kind of object. */
struct deed {
	uint32_t class, who; /* place, or process */
	uint64_t a, b;
};

static int by_class_and_who(const void *x, const void *y)
{
	const struct deed *p = x, *q = y;

	return MZ_ORDER(p->class, q->class) ?: MZ_ORDER(p->who, q->who);
}

static int larger_in_class(const void *x, const void *y)
{
	const struct deed *p = x, *q = y;

	return MZ_ORDER(p->class, q->class) ?: MZ_ORDER(q->a + q->b, p->a + p->b) ?: MZ_ORDER(p->who, q->who);
}

/* Equal ones become one; the largest of each class first. */
static size_t gather(struct deed *d, size_t n)
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

struct deeds {
	struct deed *list;
	size_t n;
	uint32_t *first; /* by class: where its deeds begin; [n_classes] is the end */
};

static bool index_deeds(struct deeds *d, size_t classes)
{
	size_t at = 0;

	d->n = gather(d->list, d->n);
	d->first = calloc(classes + 1, sizeof(*d->first));
	for (size_t c = 0; d->first && c <= classes; c++) {
		while (at < d->n && d->list[at].class < c)
			at++;
		d->first[c] = (uint32_t)at;
	}
	return d->first;
}

struct explorer {
	const struct mz_kmap_model *m;
	struct deeds touched, freed, owned;
	struct names texts;
};

static int collect(struct explorer *x)
{
	const struct mz_kmap_model *m = x->m;

	x->touched.list = malloc((m->n_edges + 1) * sizeof(struct deed));
	x->freed.list = malloc((m->n_freers + 1) * sizeof(struct deed));
	x->owned.list = malloc((m->n_owners + 1) * sizeof(struct deed));
	if (!x->touched.list || !x->freed.list || !x->owned.list)
		return -ENOMEM;
	for (size_t i = 0; i < m->n_edges; i++)
		x->touched.list[i] = (struct deed){m->edges[i].class, m->edges[i].place,
						   m->edges[i].reads, m->edges[i].writes};
	for (size_t i = 0; i < m->n_freers; i++)
		x->freed.list[i] = (struct deed){m->freers[i].class, m->freers[i].place,
						 m->freers[i].objects, 0};
	for (size_t i = 0; i < m->n_owners; i++)
		x->owned.list[i] = (struct deed){m->owners[i].class, m->owners[i].process,
						 m->owners[i].sum.objects, 0};
	x->touched.n = m->n_edges;
	x->freed.n = m->n_freers;
	x->owned.n = m->n_owners;
	return index_deeds(&x->touched, m->n_classes) && index_deeds(&x->freed, m->n_classes) &&
			       index_deeds(&x->owned, m->n_classes)
		       ? 0
		       : -ENOMEM;
}

/* [name, a, b, name, a, b, ..., 0, rest of a, rest of b] of a class. */
static void deeds_json(struct mz_json *w, struct explorer *x, const struct deeds *d, uint32_t class,
		       bool processes)
{
	uint64_t a = 0, b = 0;
	uint32_t from = d->first[class], to = d->first[class + 1];
	char name[NAME];

	mz_json_array(w, NULL);
	for (uint32_t i = from; i < to; i++) {
		const struct deed *e = &d->list[i];

		if (i - from >= WHO) {
			a += e->a;
			b += e->b;
			continue;
		}
		if (processes)
			mz_kmap_pid_name(x->m, x->m->processes[e->who].pid, name, sizeof(name));
		else
			mz_kmap_place_name(x->m, e->who, MZ_KMAP_BY_SITE, name, sizeof(name));
		mz_json_u64(w, NULL, name_id(&x->texts, name));
		mz_json_u64(w, NULL, e->a);
		mz_json_u64(w, NULL, e->b);
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
	char name[NAME];

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

struct ranked {
	uint64_t bytes;
	uint32_t class;
};

static int more_bytes(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return MZ_ORDER(y->bytes, x->bytes) ?: MZ_ORDER(x->class, y->class);
}

static struct ranked *rank(const struct mz_kmap_model *m)
{
	struct ranked *r = malloc((m->n_classes + 1) * sizeof(*r));

	for (size_t i = 0; r && i < m->n_classes; i++)
		r[i] = (struct ranked){m->classes[i].all.bytes, (uint32_t)i};
	if (r && m->n_classes)
		qsort(r, m->n_classes, sizeof(*r), more_bytes);
	return r;
}

static void explorer_json(struct mz_json *w, struct explorer *x, const struct ranked *order,
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
		deeds_json(w, x, &x->owned, order[i].class, true);
		deeds_json(w, x, &x->freed, order[i].class, false);
		deeds_json(w, x, &x->touched, order[i].class, false);
		mz_json_end_array(w);
	}
	mz_json_end_object(w);
	names_json(w, &x->texts);
	mz_json_end_object(w);
}

static void deeds_free(struct deeds *d)
{
	free(d->list);
	free(d->first);
}

static int objects_json(struct mz_json *w, const struct mz_kmap_model *m,
			const struct html_limits *l)
{
	struct explorer x = {.m = m, .texts.texts = mz_tables_new()};
	struct ranked *order = rank(m);
	size_t n = m->n_classes < l->rows / 4 ? m->n_classes : l->rows / 4;
	int ret = x.texts.texts && order ? collect(&x) : -ENOMEM;

	if (!ret)
		explorer_json(w, &x, order, n);
	deeds_free(&x.touched);
	deeds_free(&x.freed);
	deeds_free(&x.owned);
	free(order);
	mz_tables_free(x.texts.texts);
	return ret;
}

int html_access_json(struct mz_json *w, const struct mz_kmap_model *m, const struct html_limits *l)
{
	int ret = access_json(w, m, l);

	return ret ? ret : objects_json(w, m, l);
}
