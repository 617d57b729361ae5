// SPDX-License-Identifier: BSD-2-Clause
/* Look up the names of call sites and stacks, and the other way round. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base_name.h"
#include "base/error.h"
#include "base/pair_index.h"
#include "store/item.h"
#include "store/questions.h"

#define AT_ONCE 5000 /* numbers in a question */

/* Texts by number: of frames their name, of stacks their frames in hexadecimal. */
struct texts {
	struct mz_pair_index index;
	uint32_t *list; /* strings */
	size_t cap;
	struct mz_tables *strings;
	bool plain; /* without the file */
};

static void texts_free(struct texts *t)
{
	mz_pair_index_deinit(&t->index);
	free(t->list);
}

/*
 * A frame that several builds call by different files keeps the last of them: the number is that
 * of the file's name without its folders.
 */
static int take_text(void *arg, char *const *cells, size_t n)
{
	struct texts *t = arg;
	struct mz_buf b = {0};
	uint32_t at;

	if (n < 2)
		return -EPROTO;
	at = mz_pair_index_put(&t->index, strtoull(cells[0], NULL, 10), 0);
	mz_buf_str(&b, cells[1]);
	if (n > 2 && *cells[2] && !t->plain)
		mz_buf_printf(&b, " (%s)", mz_base_name(cells[2]));
	if (at == MZ_PAIR_INDEX_NONE || b.failed ||
	    !mz_array_room((void **)&t->list, &t->cap, at, sizeof(*t->list)) ||
	    !(t->list[at] = mz_tables_string(t->strings, b.len ? b.data : "", b.len)))
		at = MZ_PAIR_INDEX_NONE;
	mz_buf_free(&b);
	return at == MZ_PAIR_INDEX_NONE ? -ENOMEM : 0;
}

static const char *text_of(const struct texts *t, uint64_t id)
{
	uint32_t at = mz_pair_index_get(&t->index, id, 0);
	size_t len;

	return at == MZ_PAIR_INDEX_NONE ? NULL
					: mz_tables_get_string(t->strings, t->list[at], &len);
}

/* Every shard has the names of its own recordings. */
static int ask(struct mz_store *s, const char *select, const char *key, const uint64_t *ids,
	       size_t n, struct texts *t, struct mz_error *err)
{
	struct mz_buf sql = {0};
	int ret = 0;

	for (size_t i = 0; i < n && !ret;) {
		size_t stop = n - i < AT_ONCE ? n : i + AT_ONCE;

		sql.len = 0;
		mz_buf_printf(&sql, "%s WHERE %s IN (", select, key);
		for (; i < stop; i++) {
			mz_store_id(s, &sql, ids[i]);
			mz_buf_str(&sql, i + 1 < stop ? "," : "");
		}
		mz_buf_add(&sql, ")", 2);
		ret = sql.failed ? mz_fail_memory(err)
				 : mz_store_ask(s, sql.data, take_text, t, err);
	}
	mz_buf_free(&sql);
	return ret;
}

static int ask_frames(struct mz_store *s, const uint64_t *ids, size_t n, struct texts *t,
		      struct mz_error *err)
{
	return ask(s, "SELECT frame, function, file FROM frame", "frame", ids, n, t, err);
}

/* ---- stacks ------------------------------------------------------------------------ */

/*
 * Frames are stored with the most significant byte first, so hex() shows 16 digits per frame
 * that read as its number on both engines.
 */
static uint64_t frame_at(const char *hex)
{
	char one[17] = "";

	memcpy(one, hex, 16);
	return strtoull(one, NULL, 16);
}

/* The frames of all stacks, each once. */
static int collect(const struct texts *stacks, const uint64_t *ids, size_t n,
		   struct mz_pair_index *frames)
{
	for (size_t i = 0; i < n; i++) {
		const char *hex = text_of(stacks, ids[i]);
		size_t len = hex ? strlen(hex) : 0;

		for (size_t k = 0; k + 16 <= len; k += 16)
			if (mz_pair_index_put(frames, frame_at(hex + k), 0) == MZ_PAIR_INDEX_NONE)
				return -ENOMEM;
	}
	return 0;
}

/* "main;work;malloc": the outermost first, as `diff --by stack` has it. */
static uint32_t join(const char *hex, const struct texts *frames, struct mz_tables *strings)
{
	struct mz_buf b = {0};
	uint32_t id;

	for (size_t k = hex ? strlen(hex) / 16 : 0; k--;) {
		const char *name = text_of(frames, frame_at(hex + 16 * k));

		mz_buf_str(&b, name ? name : "?");
		mz_buf_str(&b, k ? ";" : "");
	}
	if (!hex)
		mz_buf_str(&b, "?");
	id = b.failed ? 0 : mz_tables_string(strings, b.data, b.len);
	mz_buf_free(&b);
	return id;
}

/*
 * Two rounds of questions, stacks and then the frames that they have: a join would send the name
 * of each frame once per stack.
 */
static int name_stacks(struct mz_store *s, const uint64_t *ids, size_t n, struct mz_tables *strings,
		       uint32_t *names, struct mz_error *err)
{
	struct mz_tables *own = mz_tables_new();
	struct texts stacks = {.strings = own}, frames = {.strings = own, .plain = true};
	struct mz_pair_index used = {0};
	uint64_t *list = NULL;
	int ret =
		own ? ask(s, "SELECT stack, hex(frames) FROM stack", "stack", ids, n, &stacks, err)
		    : mz_fail_memory(err);

	if (!ret && (collect(&stacks, ids, n, &used) < 0 ||
		     !(list = calloc(used.count + 1, sizeof(*list)))))
		ret = mz_fail_memory(err);
	for (size_t i = 0; !ret && i < used.count; i++)
		list[i] = used.keys[i].a;
	if (!ret)
		ret = ask_frames(s, list, used.count, &frames, err);
	for (size_t i = 0; i < n && !ret; i++) {
		names[i] = join(text_of(&stacks, ids[i]), &frames, strings);
		if (!names[i])
			ret = mz_fail_memory(err);
	}
	free(list);
	mz_pair_index_deinit(&used);
	texts_free(&stacks);
	texts_free(&frames);
	mz_tables_free(own);
	return ret;
}

/* Number 0 is not a site: it stands for the sum of all of them. */
int mz_store_names(struct mz_store *s, enum mz_store_by by, const uint64_t *ids, size_t n,
		   struct mz_tables *strings, uint32_t *names, struct mz_error *err)
{
	struct texts frames = {.strings = strings};
	int ret;

	if (by == MZ_STORE_BY_STACK)
		return name_stacks(s, ids, n, strings, names, err);
	ret = ask_frames(s, ids, n, &frames, err);
	for (size_t i = 0; i < n && !ret; i++) {
		const char *name = ids[i] ? text_of(&frames, ids[i]) : "(all)";

		if (!name)
			name = "?";
		names[i] = mz_tables_string(strings, name, strlen(name));
		if (!names[i])
			ret = mz_fail_memory(err);
	}
	texts_free(&frames);
	return ret;
}

/* ---- from names to numbers ----------------------------------------------------------- */

/* The last " (...)" of a text is a file, or a part of a C++ function: both are looked for. */
static void put_candidates(struct mz_store *s, struct mz_buf *sql, const char *text)
{
	const char *end = text + strlen(text), *open = end;

	mz_buf_str(sql, "SELECT frame, function, file FROM frame WHERE function IN (");
	mz_store_quote(s, sql, text, strlen(text));
	while (open > text && strncmp(open, " (", 2))
		open--;
	if (open > text && end[-1] == ')') {
		mz_buf_str(sql, ", ");
		mz_store_quote(s, sql, text, (size_t)(open - text));
	}
	mz_buf_add(sql, ")", 2);
}

int mz_store_find_site(struct mz_store *s, const char *text, uint64_t **ids, size_t *n,
		       struct mz_error *err)
{
	struct mz_tables *own = mz_tables_new();
	struct texts found = {.strings = own};
	struct mz_buf sql = {0};
	size_t len = strlen(text);
	int ret = 0;

	*ids = NULL;
	*n = 0;
	put_candidates(s, &sql, text);
	ret = sql.failed || !own ? mz_fail_memory(err)
				 : mz_store_ask(s, sql.data, take_text, &found, err);
	if (!ret && !(*ids = calloc(found.index.count + 1, sizeof(**ids))))
		ret = mz_fail_memory(err);
	for (size_t i = 0; i < found.index.count && !ret; i++) {
		uint64_t id = found.index.keys[i].a;
		const char *name = text_of(&found, id);

		/* "function (file)" as it is, or the function with any file */
		if (!strcmp(name, text) ||
		    (!strncmp(name, text, len) && !strncmp(name + len, " (", 2)))
			(*ids)[(*n)++] = id;
	}
	texts_free(&found);
	mz_tables_free(own);
	mz_buf_free(&sql);
	return ret;
}
