// SPDX-License-Identifier: BSD-2-Clause
/* Read the stacks of one recording back, with a value of each. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "store/questions.h"

struct reading {
	struct mz_store_stacks *s;
	size_t cap;
};

/* Two columns were requested. A server that answers with others is not ours. */
static int take(void *arg, char *const *cells, size_t n)
{
	struct reading *r = arg;

	if (n != 2)
		return -EPROTO;
	if (!mz_array_room((void **)&r->s->list, &r->cap, r->s->n, sizeof(*r->s->list)))
		return -ENOMEM;
	r->s->list[r->s->n++] = (struct mz_store_sum){.key = strtoull(cells[0], NULL, 10),
						      .sum = strtoull(cells[1], NULL, 10)};
	return 0;
}

/*
 * The query selects the number of the attempt, not the digest: it is the key of the table, and only
 * the attempt that succeeded is in the list from which the entry comes.
 */
int mz_store_read_stacks(struct mz_store *s, const struct mz_store_entry *e,
			 const struct mz_profile_value *v, struct mz_store_stacks *stacks,
			 struct mz_error *err)
{
	struct reading r = {.s = stacks};
	struct mz_buf sql = {0};
	uint64_t *ids = NULL;
	int ret;

	*stacks = (struct mz_store_stacks){.strings = mz_tables_new()};
	mz_buf_printf(&sql, "SELECT stack, %s FROM profile WHERE %s > 0 AND recording = ", v->name,
		      v->name);
	mz_store_id(s, &sql, e->attempt);
	mz_buf_add(&sql, "", 1);
	ret = sql.failed || !stacks->strings
		      ? mz_fail_memory(err)
		      : mz_store_ask_shard(s, e->shard, sql.data, take, &r, err);
	ids = calloc(stacks->n + 1, sizeof(*ids));
	stacks->names = calloc(stacks->n + 1, sizeof(*stacks->names));
	if (!ret && (!ids || !stacks->names))
		ret = mz_fail_memory(err);
	for (size_t i = 0; i < stacks->n && !ret; i++)
		ids[i] = stacks->list[i].key;
	if (!ret)
		ret = mz_store_names(s, MZ_STORE_BY_STACK, ids, stacks->n, stacks->strings,
				     stacks->names, err);
	free(ids);
	mz_buf_free(&sql);
	return ret;
}

void mz_store_stacks_free(struct mz_store_stacks *s)
{
	free(s->list);
	free(s->names);
	mz_tables_free(s->strings);
	*s = (struct mz_store_stacks){0};
}
