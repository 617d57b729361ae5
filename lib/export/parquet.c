// SPDX-License-Identifier: BSD-2-Clause
/* Write tables as Parquet. */
/*
 * Columns are in groups of rows. Each column is one page of values (and one of its dictionary, for
 * text), packed with zstd. At the end stands where all of it is. Numbers are INT64, PLAIN; texts
 * UTF8, RLE_DICTIONARY. It needs no seeking.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/array.h"
#include "base/beside.h"
#include "base/error.h"
#include "base/utf8.h"
#include "export/proto.h"
#include "export/table.h"
#include "export/thrift.h"

/* A reader decodes a whole group at a time, and we keep one in memory: groups of this size keep
 * both small and still compress well. */
#define GROUP_ROWS  (128 * 1024)
#define GROUP_BYTES (64u << 20) /* of text: long ones end a group early */
#define ZSTD_LEVEL  3

/* Numbers of types, encodings and the like, as in parquet.thrift. */
enum { INT64 = 2, BYTE_ARRAY = 6 };
enum { PLAIN = 0, RLE = 3, RLE_DICTIONARY = 8 };
enum { REQUIRED = 0, OPTIONAL = 1 };
enum { UTF8 = 0, UINT_64 = 14 };
enum { DATA_PAGE = 0, DICTIONARY_PAGE = 2 };
enum { CODEC_ZSTD = 6 };

struct parquet_column {
	struct mz_buf values; /* numbers; of text: numbers of the dictionary, 4 bytes each */
	struct mz_buf known;  /* one bit per row, if the column is optional */
	size_t nknown;	      /* values */
	struct mz_tables *dictionary;
	struct mz_buf plain; /* the dictionary's page */
	uint32_t *told;	     /* by mz_cell.same: 1 + number of the dictionary; 0 = not yet */
	size_t told_cap;
};

struct row_group {
	struct parquet_column col[MZ_COLUMNS_MAX];
	size_t rows;
	size_t text; /* bytes of dictionaries */
};

/* One group is filled while a thread compresses and writes the previous one: compressing takes as
 * long as everything else. */
struct mz_parquet_table {
	const struct mz_column *columns;
	size_t n;
	struct row_group group[2];
	struct row_group *g; /* the group that is being filled */
	struct mz_buf scratch;
	/* of the thread, while it runs */
	struct mz_beside packer;
	struct row_group *full;
	struct mz_output *out;
	uint64_t at; /* bytes written so far */
	uint64_t all_rows;
	struct mz_buf groups; /* their metadata */
	size_t ngroups;
	struct mz_buf page, packed;
	ZSTD_CCtx *zstd;
	int ret; /* of the thread */
	struct mz_error err;
};

/* The metadata refers to positions, and a pipe does not know its own. */
static int put(struct mz_parquet_table *t, const void *data, size_t n, struct mz_error *err)
{
	t->at += n;
	return mz_output_add(t->out, data, n, err);
}

static void *parquet_open(struct mz_output *out, struct mz_error *err)
{
	struct mz_parquet_table *t = calloc(1, sizeof(*t));

	if (t)
		t->zstd = ZSTD_createCCtx();
	if (!t || !t->zstd) {
		free(t);
		mz_fail_memory(err);
		return NULL;
	}
	t->out = out;
	t->g = t->group;
	return t;
}

static void free_group(struct row_group *g)
{
	for (size_t i = 0; i < MZ_COLUMNS_MAX; i++) {
		mz_buf_free(&g->col[i].values);
		mz_buf_free(&g->col[i].known);
		mz_buf_free(&g->col[i].plain);
		mz_tables_free(g->col[i].dictionary);
		free(g->col[i].told);
	}
}

static void parquet_close(void *state)
{
	struct mz_parquet_table *t = state;

	if (!t)
		return;
	mz_beside_wait(&t->packer);
	free_group(&t->group[0]);
	free_group(&t->group[1]);
	mz_buf_free(&t->groups);
	mz_buf_free(&t->page);
	mz_buf_free(&t->packed);
	mz_buf_free(&t->scratch);
	ZSTD_freeCCtx(t->zstd);
	free(t);
}

/* ---- a group of rows ---------------------------------------------------- */

/* A dictionary belongs to its group: a reader may skip to any group and needs nothing from the
 * others. */
static int begin_group(struct mz_parquet_table *t, struct mz_error *err)
{
	t->g->rows = t->g->text = 0;
	for (size_t i = 0; i < t->n; i++) {
		struct parquet_column *c = &t->g->col[i];

		c->values.len = c->known.len = c->plain.len = 0;
		c->nknown = 0;
		if (c->told)
			memset(c->told, 0, c->told_cap * sizeof(*c->told));
		mz_tables_free(c->dictionary);
		c->dictionary = NULL;
		if (t->columns[i].type == MZ_CELL_TEXT && !(c->dictionary = mz_tables_new()))
			return mz_fail_memory(err);
		if (!t->columns[i].optional)
			continue;
		if (!mz_buf_room(&c->known, GROUP_ROWS / 8))
			return mz_fail_memory(err);
		memset(c->known.data, 0, GROUP_ROWS / 8);
	}
	return 0;
}

static int parquet_begin(void *state, const char *name, const struct mz_column *columns, size_t n,
			 struct mz_error *err)
{
	struct mz_parquet_table *t = state;
	int ret;

	(void)name;
	t->columns = columns;
	t->n = n;
	ret = put(t, "PAR1", 4, err);
	return ret ? ret : begin_group(t, err);
}

/* The number of a text in the dictionary, from 1; 0: no memory. */
static uint32_t number_text(struct mz_parquet_table *t, struct parquet_column *c,
			    const struct mz_cell *cell)
{
	uint32_t before = mz_tables_strings(c->dictionary), id;

	t->scratch.len = 0;
	mz_utf8_add(&t->scratch, cell->s, cell->n);
	id = mz_tables_string(c->dictionary, t->scratch.data ? t->scratch.data : "",
			      t->scratch.len);
	if (id > before) {
		uint32_t len = (uint32_t)t->scratch.len;

		mz_buf_add(&c->plain, &len, sizeof(len));
		mz_buf_add(&c->plain, t->scratch.data, len);
		t->g->text += len;
	}
	return c->plain.failed || t->scratch.failed ? 0 : id;
}

/* Call sites and functions repeat in nearly every row; a text is stored once per group, and rows
 * hold its number. A text that the group has already is not looked up again. False: no memory. */
static bool add_text(struct mz_parquet_table *t, struct parquet_column *c,
		     const struct mz_cell *cell)
{
	uint32_t id = cell->same && cell->same < c->told_cap ? c->told[cell->same] : 0;

	if (!id) {
		id = number_text(t, c, cell);
		if (!id || (cell->same && !mz_array_room((void **)&c->told, &c->told_cap,
							 cell->same, sizeof(*c->told))))
			return false;
		if (cell->same)
			c->told[cell->same] = id;
	}
	id--;
	memcpy(c->values.data + c->nknown++ * sizeof(id), &id, sizeof(id));
	return true;
}

/* Make room for all values of the group, so that no row has to check it. The many columns without
 * values need none. */
static bool values_room(struct parquet_column *c, bool text)
{
	return c->nknown || mz_buf_room(&c->values, GROUP_ROWS * (text ? 4 : 8));
}

static int end_group(struct mz_parquet_table *t, struct mz_error *err);

/* Only rows with a value take space in a column; the bits say which rows have one. */
static int parquet_row(void *state, int table, const struct mz_cell *cells, struct mz_error *err)
{
	struct mz_parquet_table *t = state;
	struct row_group *g = t->g;

	(void)table;
	for (size_t i = 0; i < t->n; i++) {
		struct parquet_column *c = &g->col[i];
		bool text = t->columns[i].type == MZ_CELL_TEXT;

		if (!cells[i].known)
			continue;
		if (t->columns[i].optional)
			c->known.data[g->rows / 8] |= (char)(1 << g->rows % 8);
		if (!values_room(c, text) || (text && !add_text(t, c, &cells[i])))
			return mz_fail_memory(err);
		if (!text)
			memcpy(c->values.data + c->nknown++ * sizeof(cells[i].n), &cells[i].n,
			       sizeof(cells[i].n));
	}
	/* a few long names could make the dictionary of a group larger than its rows */
	if (++g->rows < GROUP_ROWS && g->text < GROUP_BYTES)
		return 0;
	return end_group(t, err);
}

/* ---- pages -------------------------------------------------------------- */

/* Compress t->page and write it with its header. total: grows by its uncompressed size. */
static int put_page(struct mz_parquet_table *t, int type, size_t values, int encoding,
		    uint64_t *total, struct mz_error *err)
{
	struct mz_buf head = {0};
	struct mz_thrift th = {.out = &head};
	size_t n, bound = ZSTD_compressBound(t->page.len);
	int ret;

	t->packed.len = 0;
	if (t->page.failed || !mz_buf_room(&t->packed, bound))
		return mz_fail_memory(err);
	n = ZSTD_compressCCtx(t->zstd, t->packed.data, bound, t->page.data, t->page.len,
			      ZSTD_LEVEL);
	if (ZSTD_isError(n))
		return ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation
			       ? mz_fail_memory(err)
			       : mz_fail(err, EIO, "%s: cannot compress: %s", t->out->file.path,
					 ZSTD_getErrorName(n));
	mz_thrift_i32(&th, 1, type);
	mz_thrift_i32(&th, 2, (int32_t)t->page.len);
	mz_thrift_i32(&th, 3, (int32_t)n);
	mz_thrift_begin(&th, type == DATA_PAGE ? 5 : 7);
	mz_thrift_i32(&th, 1, (int32_t)values);
	mz_thrift_i32(&th, 2, encoding);
	if (type == DATA_PAGE) {
		mz_thrift_i32(&th, 3, RLE);
		mz_thrift_i32(&th, 4, RLE);
	}
	mz_thrift_end(&th);
	/* a header is one structure, and a zero ends it */
	mz_buf_add(&head, "", 1);
	*total += head.len + t->page.len;
	ret = head.failed ? mz_fail_memory(err) : put(t, head.data, head.len, err);
	mz_buf_free(&head);
	return ret ? ret : put(t, t->packed.data, n, err);
}

/* Which rows have a value: one run if all or none have one, else bit by bit. */
static void put_known(struct mz_parquet_table *t, const struct parquet_column *c)
{
	size_t rows = t->full->rows;
	struct mz_buf levels = {0};
	uint32_t len;

	if (c->nknown == rows || !c->nknown) {
		mz_proto_varint(&levels, (uint64_t)rows << 1);
		mz_buf_add(&levels, c->nknown ? "\1" : "\0", 1);
	} else {
		mz_proto_varint(&levels, (uint64_t)((rows + 7) / 8) << 1 | 1);
		mz_buf_add(&levels, c->known.data, (rows + 7) / 8);
	}
	len = (uint32_t)levels.len;
	mz_buf_add(&t->page, &len, sizeof(len));
	mz_buf_add(&t->page, levels.data, levels.len);
	t->page.failed |= levels.failed;
	mz_buf_free(&levels);
}

/* Numbers of the dictionary, each in as many bits as the largest needs. */
static void put_indexes(struct mz_parquet_table *t, const struct parquet_column *c)
{
	uint32_t most = mz_tables_strings(c->dictionary);
	unsigned width = most > 1 ? 32 - (unsigned)__builtin_clz(most - 1) : 1, bits = 0;
	size_t groups = (c->nknown + 7) / 8;
	char byte = (char)width, *to;
	uint64_t word = 0;

	mz_buf_add(&t->page, &byte, 1);
	mz_proto_varint(&t->page, (uint64_t)groups << 1 | 1);
	if (!mz_buf_room(&t->page, groups * width))
		return;
	to = t->page.data + t->page.len;
	t->page.len += groups * width;
	/* the format packs numbers in groups of eight; the last group is padded */
	for (size_t i = 0; i < groups * 8; i++) {
		uint32_t id = 0;

		if (i < c->nknown)
			memcpy(&id, c->values.data + i * sizeof(id), sizeof(id));
		word |= (uint64_t)id << bits;
		for (bits += width; bits >= 8; bits -= 8) {
			*to++ = (char)word;
			word >>= 8;
		}
	}
}

/* One column of the group, and its metadata for the end of the file. */
static int put_column(struct mz_parquet_table *t, size_t i, struct mz_thrift *meta,
		      struct mz_error *err)
{
	const struct mz_column *def = &t->columns[i];
	const struct parquet_column *c = &t->full->col[i];
	bool text = def->type == MZ_CELL_TEXT;
	uint64_t start = t->at, data, total = 0;
	int ret = 0;

	/* the dictionary comes first, so that a reader has it before the numbers that refer to
	 * it */
	if (text) {
		t->page.len = 0;
		mz_buf_add(&t->page, c->plain.data, c->plain.len);
		ret = put_page(t, DICTIONARY_PAGE, mz_tables_strings(c->dictionary), PLAIN, &total,
			       err);
	}
	data = t->at;
	t->page.len = 0;
	if (def->optional)
		put_known(t, c);
	if (text)
		put_indexes(t, c);
	else
		mz_buf_add(&t->page, c->values.data, c->nknown * sizeof(uint64_t));
	if (!ret)
		ret = put_page(t, DATA_PAGE, t->full->rows, text ? RLE_DICTIONARY : PLAIN, &total,
			       err);
	/* the footer repeats where the pages are, because readers begin with the footer */
	mz_thrift_begin(meta, 0);
	mz_thrift_i64(meta, 2, (int64_t)start);
	mz_thrift_begin(meta, 3);
	mz_thrift_i32(meta, 1, text ? BYTE_ARRAY : INT64);
	mz_thrift_list(meta, 2, MZ_THRIFT_I32, 3);
	mz_thrift_element_i32(meta, PLAIN);
	mz_thrift_element_i32(meta, RLE);
	mz_thrift_element_i32(meta, RLE_DICTIONARY);
	mz_thrift_list(meta, 3, MZ_THRIFT_STRING, 1);
	mz_thrift_element_string(meta, def->name);
	mz_thrift_i32(meta, 4, CODEC_ZSTD);
	mz_thrift_i64(meta, 5, (int64_t)t->full->rows);
	mz_thrift_i64(meta, 6, (int64_t)total);
	mz_thrift_i64(meta, 7, (int64_t)(t->at - start));
	mz_thrift_i64(meta, 9, (int64_t)data);
	if (text)
		mz_thrift_i64(meta, 11, (int64_t)start);
	mz_thrift_end(meta);
	mz_thrift_end(meta);
	return ret;
}

/* The columns of a group follow each other, so that a reader of two columns reads only these
 * two. */
static int pack_group(struct mz_parquet_table *t, struct mz_error *err)
{
	struct mz_thrift meta = {.out = &t->groups};
	uint64_t start = t->at;
	int ret = 0;

	mz_thrift_begin(&meta, 0);
	mz_thrift_list(&meta, 1, MZ_THRIFT_STRUCT, t->n);
	for (size_t i = 0; i < t->n && !ret; i++)
		ret = put_column(t, i, &meta, err);
	mz_thrift_i64(&meta, 2, (int64_t)(t->at - start));
	mz_thrift_i64(&meta, 3, (int64_t)t->full->rows);
	mz_thrift_end(&meta);
	t->ngroups++;
	t->all_rows += t->full->rows;
	return ret;
}

static void *pack_beside(void *arg)
{
	struct mz_parquet_table *t = arg;

	t->ret = pack_group(t, &t->err);
	return NULL;
}

/* Wait until the previous group is in the file, or has failed. */
static int wait_packed(struct mz_parquet_table *t, struct mz_error *err)
{
	mz_beside_wait(&t->packer);
	if (t->ret && err)
		*err = t->err;
	return t->ret;
}

/* The group is compressed while the next one is filled. */
static int end_group(struct mz_parquet_table *t, struct mz_error *err)
{
	int ret = wait_packed(t, err);

	if (ret)
		return ret;
	t->full = t->g;
	t->g = t->g == t->group ? t->group + 1 : t->group;
	if (!mz_beside_possible() || !mz_beside_start(&t->packer, pack_beside, t))
		ret = pack_group(t, err);
	return ret ? ret : begin_group(t, err);
}

/* ---- the end of the file ------------------------------------------------ */

/* The tree of columns, flattened: a root with n children, then the children. There are no nested
 * columns. */
static void put_schema(struct mz_parquet_table *t, struct mz_thrift *th)
{
	mz_thrift_list(th, 2, MZ_THRIFT_STRUCT, t->n + 1);
	mz_thrift_begin(th, 0);
	mz_thrift_string(th, 4, "schema");
	mz_thrift_i32(th, 5, (int32_t)t->n);
	mz_thrift_end(th);
	for (size_t i = 0; i < t->n; i++) {
		const struct mz_column *c = &t->columns[i];

		mz_thrift_begin(th, 0);
		mz_thrift_i32(th, 1, c->type == MZ_CELL_TEXT ? BYTE_ARRAY : INT64);
		mz_thrift_i32(th, 3, c->optional ? OPTIONAL : REQUIRED);
		mz_thrift_string(th, 4, c->name);
		/* the physical type has no sign and no character set; readers show addresses and
		 * sizes above 2^63 correctly only with this */
		if (c->type == MZ_CELL_TEXT)
			mz_thrift_i32(th, 6, UTF8);
		else if (c->type != MZ_CELL_I64)
			mz_thrift_i32(th, 6, UINT_64);
		mz_thrift_end(th);
	}
}

/* The footer is last and ends with its own length: a reader starts from the end of the file. */
static int parquet_end(void *state, struct mz_error *err)
{
	struct mz_parquet_table *t = state;
	struct mz_buf foot = {0};
	struct mz_thrift th = {.out = &foot};
	uint32_t len;
	int ret = wait_packed(t, err);

	t->full = t->g;
	if (!ret && t->g->rows)
		ret = pack_group(t, err);
	mz_thrift_i32(&th, 1, 2);
	put_schema(t, &th);
	mz_thrift_i64(&th, 3, (int64_t)t->all_rows);
	mz_thrift_list(&th, 4, MZ_THRIFT_STRUCT, t->ngroups);
	mz_buf_add(&foot, t->groups.data, t->groups.len);
	mz_thrift_string(&th, 6, "memorizer " MZ_VERSION);
	mz_buf_add(&foot, "", 1);
	len = (uint32_t)foot.len;
	mz_buf_add(&foot, &len, sizeof(len));
	mz_buf_str(&foot, "PAR1");
	if (!ret && (foot.failed || t->groups.failed))
		ret = mz_fail_memory(err);
	if (!ret)
		ret = put(t, foot.data, foot.len, err);
	mz_buf_free(&foot);
	return ret;
}

const struct mz_table_ops mz_parquet_ops = {.open = parquet_open,
					    .begin = parquet_begin,
					    .row = parquet_row,
					    .end = parquet_end,
					    .close = parquet_close};
