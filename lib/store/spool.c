// SPDX-License-Identifier: BSD-2-Clause
/* Keep the rows of a recording in a file until its store is back. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/output.h"
#include "base/regular.h"
#include "base/sha256.h"
#include "base/varint.h"
#include "store/send.h"

#define MAGIC  "MZSPOOL1"
#define SUFFIX ".spool"

/* ---- writing ------------------------------------------------------------------ */

static void put_bytes(struct mz_buf *b, const void *data, uint64_t n)
{
	mz_buf_add(b, &n, sizeof(n));
	if (n)
		mz_buf_add(b, data, n);
}

/*
 * The rows as they are in memory: the file is read back by the same program on the same
 * machine, which is why numbers have its byte order.
 */
static void put_item(struct mz_buf *b, const struct mz_store_item *item)
{
	mz_buf_add(b, MAGIC, 8);
	put_bytes(b, item->digest, MZ_STORE_DIGEST);
	put_bytes(b, item->program, strlen(item->program));
	mz_buf_add(b, &item->day, sizeof(item->day));
	for (int t = 0; t < MZ_STORE_TABLES; t++) {
		uint64_t n = item->rows[t].n;

		mz_buf_add(b, &n, sizeof(n));
		for (size_t i = 0; i < mz_store_schema[t].n; i++)
			put_bytes(b, item->rows[t].column[i].data, item->rows[t].column[i].len);
	}
}

/* The file is there whole or not at all, and on the disk. */
int mz_store_spool_put(const char *dir, const struct mz_store_item *item, struct mz_error *err)
{
	struct mz_output out = {.file.fd = -1};
	struct mz_buf b = {0};
	unsigned char sum[32];
	struct mz_sha256 s;
	char *path = NULL;
	int ret;

	put_item(&b, item);
	mz_sha256_init(&s);
	mz_sha256_add(&s, b.data, b.len);
	mz_sha256_end(&s, sum);
	mz_buf_add(&b, sum, sizeof(sum));
	if (b.failed || asprintf(&path, "%s/%s%s", dir, item->digest, SUFFIX) < 0) {
		mz_buf_free(&b);
		return mz_fail_memory(err);
	}
	ret = mz_output_open(&out, path, true, err);
	if (!ret)
		ret = mz_output_add(&out, b.data, b.len, err);
	ret = mz_output_end(&out, ret, err);
	mz_buf_free(&b);
	free(path);
	return ret;
}

/* ---- reading -------------------------------------------------------------------- */

struct spool_cursor {
	const char *p, *end;
	bool bad;
};

/*
 * Every read is checked against the end: the checksum shows that a file was damaged, not that it
 * was forged.
 */
static uint64_t get_u64(struct spool_cursor *c)
{
	uint64_t v = 0;

	if ((size_t)(c->end - c->p) < sizeof(v)) {
		c->bad = true;
		return 0;
	}
	memcpy(&v, c->p, sizeof(v));
	c->p += sizeof(v);
	return v;
}

static const char *get_bytes(struct spool_cursor *c, uint64_t *n)
{
	const char *at;

	*n = get_u64(c);
	if (*n > (size_t)(c->end - c->p)) {
		c->bad = true;
		*n = 0;
	}
	at = c->p;
	c->p += *n;
	return at;
}

/* As many cells as rows, and nothing behind them: the engines trust it. */
static bool column_fits(const struct mz_store_column *c, const struct mz_buf *b, uint64_t rows)
{
	const char *p = b->data, *end;

	if (!b->len) /* and perhaps no memory at all */
		return c->from != MZ_STORE_OWN || !rows;
	if (c->from != MZ_STORE_OWN)
		return false;
	if (c->type != MZ_STORE_TEXT)
		return b->len % 8 == 0 && b->len / 8 == rows;
	for (end = p + b->len; rows; rows--) {
		uint64_t len;

		if (!mz_varint_get(&p, end, &len) || len > (size_t)(end - p))
			return false;
		p += len;
	}
	return p == end;
}

/* No text ends here: the bytes after the n may continue it. */
static bool is_hex(const char *p, uint64_t n)
{
	while (n && *p && strchr("0123456789abcdef", *p))
		p++, n--;
	return !n;
}

/*
 * The checks are those of a hostile file. What passes is trusted by the engines, which walk
 * texts by their lengths without looking at the end again.
 */
static void get_item(struct spool_cursor *c, struct mz_store_item *item)
{
	uint64_t n;
	const char *p = get_bytes(c, &n);

	c->bad |= n != MZ_STORE_DIGEST || !is_hex(p, n);
	if (!c->bad)
		memcpy(item->digest, p, n);
	p = get_bytes(c, &n);
	item->program = strndup(p, n);
	c->bad |= !item->program;
	item->day = get_u64(c);
	for (int t = 0; t < MZ_STORE_TABLES && !c->bad; t++) {
		const struct mz_store_schema *m = &mz_store_schema[t];

		item->rows[t].n = get_u64(c);
		for (size_t i = 0; i < m->n && !c->bad; i++) {
			struct mz_buf *b = &item->rows[t].column[i];

			p = get_bytes(c, &n);
			mz_buf_add(b, p, n);
			c->bad |= b->failed || !column_fits(&m->columns[i], b, item->rows[t].n);
		}
	}
	c->bad |= c->p != c->end || item->rows[MZ_STORE_RECORDING].n != 1;
}

/* Another user may have put a pipe or a device into the folder. */
static int read_file(const char *path, struct mz_buf *b, struct mz_error *err)
{
	FILE *in = mz_fopen_regular(path);
	char part[65536];
	size_t n;
	int ret = 0;

	if (!in)
		return mz_fail(err, errno, "%s: cannot open: %s", path, strerror(errno));
	while (!b->failed && (n = fread(part, 1, sizeof(part), in)))
		mz_buf_add(b, part, n);
	if (b->failed)
		ret = mz_fail_memory(err);
	else if (ferror(in))
		ret = mz_fail(err, EIO, "%s: cannot read", path);
	fclose(in);
	return ret;
}

int mz_store_spool_get(const char *path, struct mz_store_item *item, struct mz_error *err)
{
	struct mz_buf b = {0};
	struct spool_cursor c = {.bad = true};
	unsigned char sum[32];
	struct mz_sha256 s;
	int ret = read_file(path, &b, err);

	memset(item, 0, sizeof(*item));
	if (!ret && b.len > 40 && !memcmp(b.data, MAGIC, 8)) {
		mz_sha256_init(&s);
		mz_sha256_add(&s, b.data, b.len - 32);
		mz_sha256_end(&s, sum);
		if (!memcmp(sum, b.data + b.len - 32, 32)) {
			c = (struct spool_cursor){.p = b.data + 8, .end = b.data + b.len - 32};
			get_item(&c, item);
		}
	}
	if (!ret && c.bad)
		ret = mz_fail(err, EINVAL, "%s: not a complete spool file", path);
	mz_buf_free(&b);
	return ret;
}

static int is_spooled(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return n > strlen(SUFFIX) && !strcmp(e->d_name + n - strlen(SUFFIX), SUFFIX);
}

/* Sorted, so that the order of sending does not depend on the file system. */
char **mz_store_spool_list(const char *dir, struct mz_error *err)
{
	struct dirent **list;
	int n = scandir(dir, &list, is_spooled, alphasort);
	char **paths;

	if (n < 0) {
		mz_fail(err, errno, "%s: %s", dir, strerror(errno));
		return NULL;
	}
	paths = calloc((size_t)n + 1, sizeof(*paths));
	for (int i = 0; i < n; i++) {
		if (paths && asprintf(&paths[i], "%s/%s", dir, list[i]->d_name) < 0)
			paths[i] = NULL;
		free(list[i]);
	}
	free(list);
	if (!paths)
		mz_fail_memory(err);
	return paths;
}
