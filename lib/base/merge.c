// SPDX-License-Identifier: BSD-2-Clause
/* Keep streams in a heap by the key of their next item. */
#include "base/merge.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

int mz_merge_init(struct mz_merge *m, uint32_t streams)
{
	*m = (struct mz_merge){.cap = streams};
	m->heap = malloc(((size_t)streams + 1) * sizeof(*m->heap));
	return m->heap ? 0 : -ENOMEM;
}

void mz_merge_deinit(struct mz_merge *m)
{
	free(m->heap);
	*m = (struct mz_merge){0};
}

/* Ranks make the order total: streams with the same key then come in the same order each time. */
static bool before(const struct mz_merge_stream *a, const struct mz_merge_stream *b)
{
	return a->key != b->key ? a->key < b->key : a->rank < b->rank;
}

/* The stream at the top moves down until no child precedes it. Its way is a hole that the children
 * move into, so each of them is stored once. */
static void sink(struct mz_merge *m)
{
	struct mz_merge_stream moving = m->heap[0];
	uint32_t i = 0;

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child + 1 < m->n && before(&m->heap[child + 1], &m->heap[child]))
			child++;
		if (child >= m->n || !before(&m->heap[child], &moving))
			break;
		m->heap[i] = m->heap[child];
		i = child;
	}
	m->heap[i] = moving;
}

void mz_merge_add(struct mz_merge *m, uint32_t number, uint32_t rank, uint64_t key)
{
	struct mz_merge_stream new = {key, rank, number};
	uint32_t i = m->n++;

	while (i && before(&new, &m->heap[(i - 1) / 2])) {
		m->heap[i] = m->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	m->heap[i] = new;
}

/* The first stream nearly always remains near the top, so this costs less than to drop it and add
 * it again. */
void mz_merge_set(struct mz_merge *m, uint64_t key)
{
	m->heap[0].key = key;
	sink(m);
}

void mz_merge_drop(struct mz_merge *m)
{
	m->heap[0] = m->heap[--m->n];
	if (m->n)
		sink(m);
}
