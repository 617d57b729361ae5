// SPDX-License-Identifier: BSD-2-Clause
/* Open a store of either engine, and query all of its shards. */
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/pair_index.h"

bool mz_store_is_address(const char *name)
{
	return strstr(name, "://") != NULL;
}

bool mz_store_is_label(const char *text)
{
	const char *equal = strchr(text, '=');

	return equal && equal != text && !strchr(text, '\n');
}

/* ---- credentials ----------------------------------------------------------- */

/* A line break in a password would begin a header of the sender's own in the request. */
static int set(char *to, size_t size, const char *from, struct mz_error *err)
{
	if (strlen(from) >= size || strpbrk(from, "\r\n"))
		return mz_fail(err, EINVAL, "the user or the password is too long for a store");
	strcpy(to, from);
	return 0;
}

/* A file that others can read is no secret. */
int mz_store_read_credentials(struct mz_store_credentials *c, const char *path,
			      struct mz_error *err)
{
	char line[2][300] = {"", ""};
	struct stat st;
	FILE *f = fopen(path, "re");
	int ret = 0;

	if (!f || fstat(fileno(f), &st))
		ret = mz_fail(err, errno, "%s: %s", path, strerror(errno));
	else if (st.st_mode & 077)
		ret = mz_fail(err, EACCES, "%s: other users can read this file; 'chmod 600' it",
			      path);
	for (int i = 0; i < 2 && !ret; i++) {
		if (!fgets(line[i], sizeof(line[i]), f))
			ret = mz_fail(err, EINVAL,
				      "%s: expected the user and the password on two lines", path);
		line[i][strcspn(line[i], "\r\n")] = '\0';
	}
	if (f)
		fclose(f);
	if (!ret)
		ret = set(c->user, sizeof(c->user), line[0], err);
	return ret ? ret : set(c->password, sizeof(c->password), line[1], err);
}

/* Never from the command line, which every user of the machine can read. */
static int from_environment(struct mz_store_credentials *c, struct mz_error *err)
{
	const char *user = getenv("MEMORIZER_STORE_USER");
	const char *password = getenv("MEMORIZER_STORE_PASSWORD");
	int ret = set(c->user, sizeof(c->user), user ? user : "default", err);

	return ret ? ret : set(c->password, sizeof(c->password), password ? password : "", err);
}

/* ---- opening ---------------------------------------------------------------- */

int mz_store_open(struct mz_store *s, const char *name, const char *credentials, bool create,
		  struct mz_error *err)
{
	bool address = mz_store_is_address(name);
	int ret;

	*s = (struct mz_store){.name = name, .shards = 1};
	s->ops = address ? &mz_store_clickhouse : &mz_store_sqlite;
	if (!address && credentials)
		return mz_fail(err, EINVAL, "--credentials: %s is a file and needs none", name);
	if (address) {
		s->credentials = calloc(1, sizeof(*s->credentials));
		if (!s->credentials)
			return mz_fail_memory(err);
		ret = credentials ? mz_store_read_credentials(s->credentials, credentials, err)
				  : from_environment(s->credentials, err);
		if (ret < 0)
			return ret;
	}
	return s->ops->open(s, create, err);
}

void mz_store_close(struct mz_store *s)
{
	if (s->ops)
		s->ops->close(s);
	if (s->credentials)
		explicit_bzero(s->credentials, sizeof(*s->credentials));
	free(s->credentials);
	for (int i = 0; i < 2; i++) {
		if (s->known[i])
			mz_pair_index_deinit(s->known[i]);
		free(s->known[i]);
	}
	*s = (struct mz_store){0};
}

/* A newer store may have columns that this program would leave empty, so it is not touched. */
int mz_store_check_version(const char *name, const char *version, struct mz_error *err)
{
	unsigned long v = strtoul(version, NULL, 10);

	if (v > MZ_STORE_VERSION)
		return mz_fail(err, EPROTO,
			       "%s: a store of version %lu; this program knows version %d: use a "
			       "newer memorizer",
			       name, v, MZ_STORE_VERSION);
	if (v != MZ_STORE_VERSION)
		return mz_fail(err, EINVAL, "%s: not a store of recordings", name);
	return 0;
}

/*
 * The digest is spread evenly already: its first half decides. The number of shards is kept on
 * the servers and compared when they are opened, because another one would move recordings.
 */
unsigned mz_store_shard(const struct mz_store *s, const char *digest)
{
	char start[9] = "";

	memcpy(start, digest, 8);
	return (unsigned)(strtoul(start, NULL, 16) % s->shards);
}

/* ---- queries ------------------------------------------------------------------ */

/*
 * ClickHouse takes a backslash as an escape, SQLite takes it as it is: a name that ends in one
 * would otherwise end the text too late.
 */
void mz_store_quote(const struct mz_store *s, struct mz_buf *b, const char *text, size_t n)
{
	mz_buf_str(b, "'");
	for (size_t i = 0; i < n; i++) {
		if (!text[i])
			continue; /* no text has one */
		if (text[i] == '\'')
			mz_buf_str(b, "'");
		if (text[i] == '\\' && s->ops->backslash)
			mz_buf_str(b, "\\");
		mz_buf_add(b, text + i, 1);
	}
	mz_buf_str(b, "'");
}

/* SQLite's integers are signed: the same 64 bits. */
void mz_store_id(const struct mz_store *s, struct mz_buf *b, uint64_t id)
{
	if (s->ops == &mz_store_sqlite)
		mz_buf_printf(b, "%lld", (long long)id);
	else
		mz_buf_printf(b, "%llu", (unsigned long long)id);
}

int mz_store_row_failed(const struct mz_store *s, int code, struct mz_error *err)
{
	return code == -ENOMEM ? mz_fail_memory(err)
			       : mz_fail(err, EPROTO,
					 "%s: the answer has other columns than the "
					 "question",
					 s->name);
}

/*
 * "$R" stands for the recordings, each once: SQLite has each once, ClickHouse may have two rows
 * of one until it has merged its parts, and FINAL chooses the newer one. A quoted text is
 * somebody's name: a "$R" in it is left alone.
 */
static void put_question(const struct mz_store *s, struct mz_buf *text, const char *sql)
{
	bool quoted = false;

	for (; *sql; sql++) {
		if (quoted && *sql == '\\' && s->ops->backslash && sql[1])
			mz_buf_add(text, sql++, 1);
		else if (*sql == '\'')
			quoted = !quoted;
		if (!quoted && !strncmp(sql, "$R", 2)) {
			mz_buf_printf(text, "recording %s", s->ops->final);
			sql++;
		} else {
			mz_buf_add(text, sql, 1);
		}
	}
	mz_buf_add(text, "", 1);
}

int mz_store_ask_shard(struct mz_store *s, unsigned shard, const char *sql, mz_store_row *row,
		       void *arg, struct mz_error *err)
{
	struct mz_buf text = {0};
	int ret;

	put_question(s, &text, sql);
	ret = text.failed ? mz_fail_memory(err) : s->ops->ask(s, shard, text.data, row, arg, err);
	mz_buf_free(&text);
	return ret;
}

int mz_store_ask(struct mz_store *s, const char *sql, mz_store_row *row, void *arg,
		 struct mz_error *err)
{
	int ret = 0;

	for (unsigned i = 0; i < s->shards && !ret; i++)
		ret = mz_store_ask_shard(s, i, sql, row, arg, err);
	return ret;
}
