// SPDX-License-Identifier: BSD-2-Clause
/* Store each distinct string and stack once. */
#include <memorizer.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/bytes_index.h"
#include "trace/block.h"
#include "trace/reader.h"
#include "trace/stack_tree.h"

struct mz_tables {
	struct mz_bytes_index strings;
	struct mz_stack_tree stacks;
	struct mz_mem_budget *budget; /* NULL: there is no account */
	bool incomplete;	      /* a string got no number */
	uint32_t lost;		      /* strings */
};

/* Numbers of tables begin with 1; 0 = no memory. */
static uint32_t intern(struct mz_bytes_index *ix, const void *data, size_t len)
{
	return mz_bytes_index_put(ix, data, len) + 1;
}

static const struct mz_bytes_item *get(const struct mz_bytes_index *ix, uint32_t id)
{
	return id && id <= ix->count ? &ix->items[id - 1] : NULL;
}

struct mz_tables *mz_tables_new(void)
{
	return calloc(1, sizeof(struct mz_tables));
}

void mz_tables_free(struct mz_tables *t)
{
	if (!t)
		return;
	mz_bytes_index_deinit(&t->strings);
	mz_stack_tree_deinit(&t->stacks);
	free(t);
}

void mz_tables_set_budget(struct mz_tables *t, struct mz_mem_budget *budget)
{
	t->budget = t->stacks.budget = budget;
}

uint32_t mz_tables_string(struct mz_tables *t, const char *s, size_t len)
{
	size_t before = t->strings.count;
	uint32_t id = intern(&t->strings, s, len);

	/* only what is new costs something */
	if (t->strings.count > before && !mz_mem_take(t->budget, len + MZ_MEM_ENTRY))
		id = 0;
	t->incomplete |= !id;
	return id;
}

uint32_t mz_tables_add_lost(struct mz_tables *t)
{
	uint32_t id;

	if (!mz_mem_take(t->budget, MZ_MEM_ENTRY))
		return 0;
	id = mz_bytes_index_skip(&t->strings) + 1;
	t->lost += id != 0;
	return id;
}

uint32_t mz_tables_lost_strings(const struct mz_tables *t)
{
	return t->lost;
}

uint32_t mz_tables_lost_frames(const struct mz_tables *t)
{
	return t->stacks.lost;
}

bool mz_tables_incomplete(const struct mz_tables *t)
{
	return t->incomplete;
}

uint32_t mz_tables_stack(struct mz_tables *t, const uint64_t *ips, size_t depth)
{
	/* the innermost are kept */
	return mz_stack_tree_put(&t->stacks, ips,
				 depth < MZ_WIRE_MAX_DEPTH ? depth : MZ_WIRE_MAX_DEPTH);
}

struct mz_stack_tree *mz_tables_tree(struct mz_tables *t)
{
	return &t->stacks;
}

const char *mz_tables_get_string(const struct mz_tables *t, uint32_t id, size_t *len)
{
	const struct mz_bytes_item *item = get(&t->strings, id);

	if (len)
		*len = item ? item->len : 0;
	return item ? item->data : NULL;
}

const uint64_t *mz_tables_get_stack(const struct mz_tables *t, uint32_t id, size_t *depth)
{
	size_t n;

	/* the tree writes the result to its own buffers, which are not part of its value */
	return mz_stack_tree_get((struct mz_stack_tree *)(uintptr_t)&t->stacks, id,
				 depth ? depth : &n);
}

uint32_t mz_tables_strings(const struct mz_tables *t)
{
	return (uint32_t)t->strings.count;
}

uint32_t mz_tables_stacks(const struct mz_tables *t)
{
	return t->stacks.stacks;
}
