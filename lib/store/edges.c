// SPDX-License-Identifier: BSD-2-Clause
/* Make the rows of a KMAP's edges: which code touches which objects, and which members. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kmap_questions.h"
#include "base/array.h"
#include "base/error.h"
#include "store/item.h"

struct edge_row {
	uint64_t object, member, accessor;
	uint64_t reads, writes, objects, bytes;
};

struct edges {
	struct mz_store_item *item;
	struct edge_row *rows;
	size_t cap;
};

/*
 * Objects, members and accessors are names like those of frames and share their table, so that
 * one lookup serves all questions.
 */
static uint64_t name(struct edges *e, const char *text)
{
	struct mz_frame f = {.name = text, .named = true};

	return mz_store_item_name(e->item, &f);
}

/* An object and its accessor are a pair; a member has a name that holds its structure's. */
static int add(struct edges *e, const struct edge_row *row)
{
	uint32_t n = mz_pair_index_put(&e->item->edges, row->object ^ row->member, row->accessor);
	struct edge_row *to;

	if (!row->object || n == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&e->rows, &e->cap, n, sizeof(*e->rows)))
		return -ENOMEM;
	to = &e->rows[n];
	to->object = row->object;
	to->member = row->member;
	to->accessor = row->accessor;
	to->reads += row->reads;
	to->writes += row->writes;
	to->objects += row->objects;
	to->bytes += row->bytes;
	return 0;
}

/* The class itself, without an accessor, so that objects that nothing touched are counted, too. */
static int add_class(struct edges *e, const struct mz_kmap_model *m, uint32_t class)
{
	const struct mz_kmap_class *c = &m->classes[class];
	struct edge_row row = {.objects = c->all.objects, .bytes = c->all.bytes};
	char text[256];

	row.object = name(e, mz_kmap_class_name(m, class, MZ_KMAP_BY_CACHE, text, sizeof(text)));
	return add(e, &row);
}

/* Places that have one function are one accessor: addresses change with each build. */
static int add_edge(struct edges *e, const struct mz_kmap_model *m, const struct mz_kmap_edge *x)
{
	struct edge_row row = {.reads = x->reads, .writes = x->writes};
	char text[256];

	row.object = name(e, mz_kmap_class_name(m, x->class, MZ_KMAP_BY_CACHE, text, sizeof(text)));
	row.accessor =
		name(e, mz_kmap_place_name(m, x->place, MZ_KMAP_BY_FUNCTION, text, sizeof(text)));
	return row.accessor ? add(e, &row) : -ENOMEM;
}

/* Members are known where the structures of the kernel are. */
static int add_members(struct edges *e, const struct mz_kmap_model *m)
{
	struct mz_result_table t = {0};
	int ret = 0;

	mz_kmap_fields(m, NULL, 1, &t);
	for (size_t i = 0; i < t.rows && !ret && !t.failed; i++) {
		const union mz_result_cell *cells = &t.cells[i * t.n_columns];
		struct edge_row row = {.reads = cells[5].number, .writes = cells[6].number};
		char text[700];

		snprintf(text, sizeof(text), "%s.%s", mz_result_get(&t, i, 0),
			 mz_result_get(&t, i, 3));
		row.object = name(e, mz_result_get(&t, i, 0));
		row.member = name(e, text);
		ret = row.member ? add(e, &row) : -ENOMEM;
	}
	if (t.failed)
		ret = -ENOMEM;
	mz_result_deinit(&t);
	return ret;
}

/* Columns of one kind follow each other in the schema, so only the first is looked up by name. */
static void put(struct edges *e)
{
	struct mz_store_rows *rows = &e->item->rows[MZ_STORE_EDGE];
	size_t object = mz_store_column(MZ_STORE_EDGE, "object");
	size_t reads = mz_store_column(MZ_STORE_EDGE, "reads");

	for (size_t i = 0; i < e->item->edges.count; i++, rows->n++) {
		mz_store_put_u64(rows, object, e->rows[i].object);
		mz_store_put_u64(rows, object + 1, e->rows[i].member);
		mz_store_put_u64(rows, object + 2, e->rows[i].accessor);
		mz_store_put_u64(rows, reads, e->rows[i].reads);
		mz_store_put_u64(rows, reads + 1, e->rows[i].writes);
		mz_store_put_u64(rows, reads + 2, e->rows[i].objects);
		mz_store_put_u64(rows, reads + 3, e->rows[i].bytes);
	}
}

int mz_store_item_edges(struct mz_store_item *item, const struct mz_kmap_model *m,
			struct mz_error *err)
{
	struct edges e = {.item = item};
	int ret = 0;

	for (uint32_t i = 0; i < m->n_classes && !ret; i++)
		ret = add_class(&e, m, i);
	for (size_t i = 0; i < m->n_edges && !ret; i++)
		ret = add_edge(&e, m, &m->edges[i]);
	if (!ret && m->types)
		ret = add_members(&e, m);
	if (!ret)
		put(&e);
	free(e.rows);
	return ret ? mz_fail_memory(err) : 0;
}
