// SPDX-License-Identifier: BSD-2-Clause
/* Remove old recordings, and what unfinished attempts have left behind. */
#include "store/prune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/error.h"
#include "base/pair_index.h"

#define GRACE	  2 /* days: an attempt that takes longer is dead */
#define GRACE_OLD 6 /* hours: the same for an old recording, whose rows have an old day at once */

static const enum mz_store_table of_recordings[] = {MZ_STORE_PROFILE, MZ_STORE_SITE,
						    MZ_STORE_TIMELINE, MZ_STORE_EDGE};
#define TABLES (sizeof(of_recordings) / sizeof(*of_recordings))

/* Whether enough recordings of the same kind were kept already; the newest are kept. */
static bool is_spare(struct mz_tables *groups, uint64_t **counts, size_t *cap,
		     const struct mz_store_entry *e, size_t keep, bool *failed)
{
	struct mz_buf key = {0};
	uint32_t id;

	mz_buf_printf(&key, "%s\n%s\n%s", e->program, e->host, e->revision);
	id = key.failed ? 0 : mz_tables_string(groups, key.data, key.len);
	mz_buf_free(&key);
	if (!id || !mz_array_room((void **)counts, cap, id, sizeof(**counts))) {
		*failed = true;
		return false;
	}
	return (*counts)[id]++ >= keep;
}

/* Marks the recordings to remove; how many, or -ENOMEM. From the newest to the oldest: of each
 * program, host and revision the newest are kept. */
static ssize_t choose(const struct mz_store_entries *e, const struct mz_store_pruning *how,
		      bool *goes)
{
	struct mz_tables *groups = mz_tables_new();
	uint64_t *counts = NULL;
	size_t cap = 0;
	ssize_t n = 0;
	bool failed = !groups;

	for (size_t i = e->n; i-- && !failed;) {
		bool spare;

		if (e->list[i].time >= how->before)
			continue;
		spare = !how->keep ||
			is_spare(groups, &counts, &cap, &e->list[i], how->keep, &failed);
		goes[i] = spare;
		n += spare;
	}
	mz_tables_free(groups);
	free(counts);
	return failed ? -ENOMEM : n;
}

static void put_list(struct mz_store *s, struct mz_buf *b, const struct mz_store_entries *e,
		     const bool *goes, unsigned shard)
{
	bool first = true;

	for (size_t i = 0; i < e->n; i++) {
		if (!goes[i] || e->list[i].shard != shard)
			continue;
		mz_buf_str(b, first ? "" : ",");
		mz_store_id(s, b, e->list[i].attempt);
		first = false;
	}
}

/* The recording's own row is removed first: a recording that is removed in part is no longer
 * visible. */
static int remove_from(struct mz_store *s, unsigned shard, const struct mz_buf *list,
		       struct mz_error *err)
{
	const bool fleet = s->ops == &mz_store_clickhouse;
	struct mz_buf sql = {0};
	int ret = 0;

	for (size_t i = 0; i <= TABLES && !ret; i++) {
		const char *table = i ? mz_store_schema[of_recordings[i - 1]].name : "recording";

		sql.len = 0;
		mz_buf_printf(&sql, fleet ? "ALTER TABLE %s DELETE" : "DELETE FROM %s", table);
		mz_buf_str(&sql, " WHERE recording IN (");
		mz_buf_add(&sql, list->data, list->len);
		mz_buf_add(&sql, ")", 2);
		ret = sql.failed ? mz_fail_memory(err) : s->ops->run(s, shard, sql.data, err);
	}
	mz_buf_free(&sql);
	return ret;
}

/* Attempts without a recording, of days that are over. Only servers have them. */
static int take_id(void *arg, char *const *cells, size_t n)
{
	struct mz_buf *list = arg;

	(void)n;
	mz_buf_printf(list, "%s%llu", list->len ? "," : "", strtoull(cells[0], NULL, 10));
	return list->failed ? -ENOMEM : 0;
}

/*
 * Days that are over, by a margin: an attempt of today may still be under way. The day is when the
 * recording was made, which may be long before it is sent, so the rows must have been written some
 * time ago, too. The server knows that of each part of a table. A part that was merged since then
 * seems newer, which only delays the removal.
 */
static int find_dead(struct mz_store *s, unsigned shard, uint64_t now, struct mz_buf *list,
		     struct mz_error *err)
{
	struct mz_buf sql = {0};
	char day[32];
	time_t t = (time_t)(now / 1000 - GRACE * 86400);
	struct tm tm;
	int ret = 0;

	strftime(day, sizeof(day), "%Y-%m-%d", gmtime_r(&t, &tm));
	for (size_t i = 0; i < TABLES && !ret; i++) {
		const char *table = mz_store_schema[of_recordings[i]].name;

		sql.len = 0;
		mz_buf_printf(
			&sql,
			"SELECT DISTINCT recording FROM %s WHERE day < '%s' AND _part IN (SELECT "
			"name FROM system.parts WHERE active AND database = currentDatabase() AND "
			"table = '%s' AND modification_time < now() - %d) AND recording NOT IN "
			"(SELECT recording FROM $R)",
			table, day, table, GRACE_OLD * 3600);
		mz_buf_add(&sql, "", 1);
		ret = sql.failed ? mz_fail_memory(err)
				 : mz_store_ask_shard(s, shard, sql.data, take_id, list, err);
	}
	mz_buf_free(&sql);
	return ret;
}

/* Names that nothing refers to any more. A server keeps them: a sender may have been told
 * that they are there, and they are small. */
static int remove_names(struct mz_store *s, struct mz_error *err)
{
	int ret = s->ops->run(
		s, 0, "DELETE FROM stack WHERE stack NOT IN (SELECT stack FROM profile)", err);

	return ret ? ret : s->ops->run(s, 0, "PRAGMA incremental_vacuum", err);
}

/*
 * One shard after the other. A shard that does not answer ends this with an error. What was removed
 * from others before is consistent nevertheless, because recordings do not span shards.
 */
static int prune_shard(struct mz_store *s, unsigned shard, const struct mz_store_entries *e,
		       const bool *goes, uint64_t now, struct mz_error *err)
{
	struct mz_store_attempt a = {0};
	struct mz_buf list = {0};
	bool fleet = s->ops == &mz_store_clickhouse;
	int ret = 0, end;

	put_list(s, &list, e, goes, shard);
	if (fleet)
		ret = find_dead(s, shard, now, &list, err);
	if (!ret && !list.len) {
		mz_buf_free(&list);
		return 0;
	}
	if (!ret)
		ret = s->ops->begin(s, shard, &a, err);
	if (!ret)
		ret = list.failed ? mz_fail_memory(err) : remove_from(s, shard, &list, err);
	if (!ret && !fleet)
		ret = remove_names(s, err);
	end = s->ops->end(s, shard, !ret, err);
	mz_buf_free(&list);
	return ret ? ret : end;
}

int mz_store_prune(struct mz_store *s, const struct mz_store_pruning *how,
		   struct mz_store_pruned *pruned, struct mz_error *err)
{
	const struct mz_store_filter all = {0};
	struct mz_store_entries e;
	bool *goes = NULL;
	ssize_t n = 0;
	int ret = mz_store_list(s, &how->of, &e, err);

	*pruned = (struct mz_store_pruned){0};
	if (!ret)
		ret = mz_store_count(s, &all, &pruned->left, err);
	goes = calloc(e.n + 1, sizeof(*goes));
	if (!ret && (!goes || (n = choose(&e, how, goes)) < 0))
		ret = mz_fail_memory(err);
	for (size_t i = 0; i < e.n && !ret; i++)
		pruned->rows += goes[i] ? e.list[i].rows : 0;
	pruned->recordings = n > 0 ? (uint64_t)n : 0;
	pruned->left -= pruned->left < pruned->recordings ? pruned->left : pruned->recordings;
	for (unsigned i = 0; i < s->shards && !ret && !how->dry_run; i++)
		ret = prune_shard(s, i, &e, goes, how->now, err);
	free(goes);
	mz_store_entries_free(&e);
	return ret;
}
