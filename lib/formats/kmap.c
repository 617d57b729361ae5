// SPDX-License-Identifier: BSD-2-Clause
/* Read the records of a KMAP from text, from a container, or from two CSV files. */
#include "formats/kmap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/readahead.h"
#include "formats/kmap_events.h"
#include "formats/kmap_join.h"
#include "trace/container.h"
#include "trace/early_end.h"
#include "trace/reader.h"

/* Enough to see the first lines. */
#define PROBE 4096
/* The bytes of a batch, unless a line is longer. */
#define BLOCK (16u << 10)

/* Lines, parsed by a thread ahead of the consumer. */
struct batch {
	char *text; /* whole lines; the records point into it */
	size_t len, cap;
	struct mz_kmap_record *records;
	size_t n, room;
	int ret;		    /* 1 = there may be more, 0 = the end, -errno */
	uint64_t lines, bad, bytes; /* of the map, so far */
	bool open_end;
};

struct mz_kmap {
	struct mz_input in;
	struct mz_reader *reader; /* of a container that was made of a map; else NULL */
	struct mz_kmap_unpacker *unpacker;
	struct mz_error error;
	uint64_t lines, bad;
	bool open_end; /* the last line has no line break */
	int shape;     /* of the object before; -1 = none yet */
	bool skip_bad, keep_other;
	struct mz_readahead *ahead; /* NULL: no thread parses ahead */
	struct batch batches[MZ_READAHEAD];
	const struct batch *batch; /* taken last */
	bool started;
	struct mz_kmap_record one; /* without it */
	struct mz_buf text;	   /* two files, joined */
	struct mz_kmap_joined joined;
};

/* The first line that is not a comment or a header decides. */
bool mz_kmap_probe(const char *data, size_t len)
{
	struct mz_kmap_record rec;
	int shape = -1;

	if (mz_kmap_join_probe(data, len))
		return true;
	while (len) {
		const char *nl = memchr(data, '\n', len);
		size_t n = nl ? (size_t)(nl - data) : len, end = n;

		if (end && data[end - 1] == '\r')
			end--;
		if (mz_kmap_parse(data, end, &shape, &rec))
			return false;
		if (rec.kind != MZ_KMAP_OTHER)
			return true;
		if (!nl)
			break;
		len -= n + 1;
		data = nl + 1;
	}
	return false;
}

static const char *input_name(const struct mz_kmap *k)
{
	return k->reader ? k->reader->in.name : k->in.name;
}

/* A container says what it was made of. */
static int use_reader(struct mz_kmap *k, struct mz_reader *r, struct mz_error *err)
{
	const struct mz_attr *source = mz_reader_find_attr(r, "source");

	k->in = (struct mz_input){.fd = -1};
	k->reader = r;
	/* in a pipe, attributes come last: until then only the events show it */
	if (source && (source->type != MZ_ATTR_TEXT || strcmp(source->data, "kmap")))
		return mz_fail(err, EINVAL, "%s: a trace, not a KMAP; 'memorizer report' reads it",
			       r->in.name);
	k->unpacker = mz_kmap_unpacker_new(r);
	return k->unpacker ? 0 : mz_fail_memory(err);
}

/* Two files become one in memory, which is read as any other. */
static int join(struct mz_kmap *k, struct mz_error *err)
{
	char *name = strdup(k->in.name);
	int ret =
		name ? mz_kmap_join(&k->in, name, &k->text, &k->joined, err) : mz_fail_memory(err);

	mz_input_close(&k->in);
	k->in = (struct mz_input){.fd = -1};
	if (!ret)
		ret = mz_input_memory(&k->in, k->text.data, k->text.len, name, err);
	free(name);
	return ret;
}

static struct mz_kmap *new_kmap(struct mz_error *err)
{
	struct mz_kmap *k = mz_zalloc(sizeof(*k), err);

	if (!k)
		return NULL;
	k->in.fd = -1;
	k->shape = -1;
	return k;
}

struct mz_kmap *mz_kmap_of(struct mz_reader *r, struct mz_error *err)
{
	struct mz_kmap *k = new_kmap(err);

	if (!k) {
		mz_reader_close(r);
		return NULL;
	}
	if (use_reader(k, r, err) < 0) {
		mz_kmap_close(k);
		return NULL;
	}
	return k;
}

struct mz_kmap *mz_kmap_open_input(struct mz_input *in, struct mz_error *err)
{
	struct mz_reader *r;
	struct mz_kmap *k;

	if (mz_input_unpack(in, err) < 0 || mz_input_fill(in, PROBE, err) < 0) {
		mz_input_close(in);
		return NULL;
	}
	if (mz_container_probe(in->pos, mz_input_left(in))) {
		r = mz_reader_open_input(in, err);
		return r ? mz_kmap_of(r, err) : NULL;
	}
	k = new_kmap(err);
	if (!k) {
		mz_input_close(in);
		return NULL;
	}
	k->in = *in;
	if (mz_kmap_join_probe(k->in.pos, mz_input_left(&k->in)) && join(k, err) < 0) {
		mz_kmap_close(k);
		return NULL;
	}
	return k;
}

struct mz_kmap *mz_kmap_open(const char *path, unsigned flags, struct mz_error *err)
{
	struct mz_input in;

	if (mz_input_open(&in, path, err) < 0)
		return NULL;
	in.budget.large = flags & MZ_OPEN_LARGE;
	return mz_kmap_open_input(&in, err);
}

struct mz_kmap *mz_kmap_open_memory(const void *data, size_t size, const char *name,
				    struct mz_error *err)
{
	struct mz_input in;

	return mz_input_memory(&in, data, size, name, err) < 0 ? NULL
							       : mz_kmap_open_input(&in, err);
}

/* What the batches hold; no thread may be at work on them. */
static void free_batches(struct mz_kmap *k)
{
	for (int i = 0; i < MZ_READAHEAD; i++) {
		free(k->batches[i].text);
		free(k->batches[i].records);
		k->batches[i].text = NULL;
		k->batches[i].records = NULL;
	}
}

void mz_kmap_close(struct mz_kmap *k)
{
	if (!k)
		return;
	mz_readahead_free(k->ahead);
	free_batches(k);
	mz_kmap_unpacker_free(k->unpacker);
	mz_reader_close(k->reader);
	mz_input_close(&k->in);
	mz_buf_free(&k->text);
	free(k);
}

void mz_kmap_skip_bad(struct mz_kmap *k, bool skip)
{
	k->skip_bad = skip;
}

void mz_kmap_keep_other(struct mz_kmap *k, bool keep)
{
	k->keep_other = keep;
}

/* A crash of the kernel may have cut the map that it printed, so the message names the option that
 * skips bad lines. */
static int bad_line(struct mz_kmap *k, const char *line, size_t len, const char *wrong)
{
	char shown[64];

	return mz_fail_line(&k->error, EINVAL, k->lines,
			    "%s: line %llu: '%s': %s; --skip-bad leaves such lines out", k->in.name,
			    (unsigned long long)k->lines,
			    mz_printable(shown, sizeof(shown), line, len), wrong);
}

/* Lines that are not records are kept only for conversions that must restore every byte. */
static int next_unpacked(struct mz_kmap *k, struct mz_kmap_record *rec)
{
	int ret;

	do {
		ret = mz_kmap_unpack(k->unpacker, rec, &k->error);
		k->lines += ret > 0;
	} while (ret > 0 && rec->kind == MZ_KMAP_OTHER && !k->keep_other);
	return ret;
}

/* 1 = a record, 0 = it is left out, -errno. */
static inline int take_line(struct mz_kmap *k, const char *line, size_t len,
			    struct mz_kmap_record *rec)
{
	const char *wrong;

	k->lines++;
	wrong = mz_kmap_parse(line, len, &k->shape, rec);
	if (!wrong)
		return rec->kind != MZ_KMAP_OTHER || k->keep_other;
	if (!k->skip_bad)
		return bad_line(k, line, len, wrong);
	k->bad++;
	if (rec->kind == MZ_KMAP_OBJECT)
		k->shape = -1; /* its accesses belong to no object */
	return 0;
}

/* One record after another, without a thread: for callers that stop early. */
int mz_kmap_next(struct mz_kmap *k, struct mz_kmap_record *rec)
{
	const char *line;
	size_t len;
	int ret, taken;

	if (k->unpacker)
		return next_unpacked(k, rec);
	do {
		ret = mz_input_line(&k->in, &line, &len, &k->error);
		if (ret <= 0)
			return ret;
		k->open_end = k->in.pos[-1] != '\n';
		taken = take_line(k, line, len, rec);
	} while (!taken);
	return taken;
}

/* ---- ahead ---------------------------------------------------------------------------- */

/* Where the whole lines of the window end; NULL: it has none. */
static const char *whole_lines(const struct mz_kmap *k)
{
	size_t n = mz_input_left(&k->in);
	const char *end;

	n = n < BLOCK ? n : BLOCK;
	end = memrchr(k->in.pos, '\n', n);
	if (!end && n < mz_input_left(&k->in))
		end = memchr(k->in.pos + n, '\n', mz_input_left(&k->in) - n);
	if (end)
		return end + 1;
	return k->in.eof ? k->in.end : NULL;
}

/* Whole lines into the batch: 1, 0 at the end, -errno. */
static int take_block(struct mz_kmap *k, struct batch *b)
{
	const char *end;
	size_t n;

	while (!(end = whole_lines(k))) {
		size_t left = mz_input_left(&k->in);
		int ret;

		if (left >= MZ_LINE_MAX) { /* it returns the error */
			const char *line;

			return mz_input_line(&k->in, &line, &n, &k->error);
		}
		ret = mz_input_fill(&k->in, left + 1, &k->error);
		if (ret < 0)
			return ret;
	}
	n = (size_t)(end - k->in.pos);
	if (n > b->cap) {
		char *text = realloc(b->text, n > BLOCK ? n : BLOCK);

		if (!text)
			return mz_fail_memory(&k->error);
		b->text = text;
		b->cap = n > BLOCK ? n : BLOCK;
	}
	if (n)
		memcpy(b->text, k->in.pos, n);
	k->in.pos = end;
	b->len = n;
	return n > 0;
}

/* A batch that ends with an error still has the records before it; the reader gets these first. */
static int take_lines(struct mz_kmap *k, struct batch *b)
{
	const char *p = b->text, *end = p + b->len;

	k->open_end = b->len && end[-1] != '\n';
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((nl ? nl : end) - p);
		int ret;

		if (!mz_array_room((void **)&b->records, &b->room, b->n, sizeof(*b->records)))
			return mz_fail_memory(&k->error);
		ret = take_line(k, p, len && p[len - 1] == '\r' ? len - 1 : len, &b->records[b->n]);
		if (ret < 0)
			return ret;
		b->n += (size_t)ret;
		p = nl ? nl + 1 : end;
	}
	return 1;
}

/* Counts are copied into the batch, because the thread is already further ahead than what the
 * consumer has seen. */
static bool make_batch(void *arg, unsigned i)
{
	struct mz_kmap *k = arg;
	struct batch *b = &k->batches[i];

	b->n = 0;
	b->ret = take_block(k, b);
	if (b->ret > 0)
		b->ret = take_lines(k, b);
	b->lines = k->lines;
	b->bad = k->bad;
	b->open_end = k->open_end;
	b->bytes = mz_input_tell(&k->in);
	return b->ret > 0;
}

/* The thread has ended, and the caller's work begins: it may need the memory. */
static int end_of_batches(struct mz_kmap *k)
{
	free_batches(k);
	return k->batch->ret;
}

/* An empty batch (comments only) is not the end. */
int mz_kmap_read(struct mz_kmap *k, const struct mz_kmap_record **records)
{
	if (!k->started && !k->unpacker)
		k->ahead = mz_readahead_new(make_batch, k, MZ_READAHEAD, true);
	k->started = true;
	*records = &k->one;
	if (!k->ahead)
		return mz_kmap_next(k, &k->one);
	do {
		if (k->batch && k->batch->ret <= 0)
			return end_of_batches(k);
		k->batch = &k->batches[mz_readahead_next(k->ahead)];
	} while (!k->batch->n && k->batch->ret > 0);
	*records = k->batch->records;
	return k->batch->n ? (int)k->batch->n : end_of_batches(k);
}

/* Collect code addresses from the buffered lines, to find out how far KASLR moved the kernel.
 * Nothing is consumed. */
size_t mz_kmap_peek(struct mz_kmap *k, uint64_t *ips, size_t max)
{
	struct mz_kmap_record rec;
	const char *p = k->in.pos;
	int shape = k->shape;
	size_t n = 0;

	while (p && n + 2 <= max) {
		const char *nl = memchr(p, '\n', (size_t)(k->in.end - p));

		if (!nl)
			break;
		if (!mz_kmap_parse(p, (size_t)(nl - p), &shape, &rec)) {
			if (rec.kind == MZ_KMAP_ACCESS)
				ips[n++] = rec.access.ip;
			if (rec.kind == MZ_KMAP_OBJECT) {
				ips[n++] = rec.object.alloc_ip;
				ips[n++] = rec.object.free_ip;
			}
		}
		p = nl + 1;
	}
	return n;
}

const struct mz_error *mz_kmap_error(const struct mz_kmap *k)
{
	return &k->error;
}

uint64_t mz_kmap_lines(const struct mz_kmap *k)
{
	return k->batch ? k->batch->lines : k->lines;
}

uint64_t mz_kmap_bad_lines(const struct mz_kmap *k)
{
	return k->batch ? k->batch->bad : k->bad;
}

bool mz_kmap_open_end(const struct mz_kmap *k)
{
	return k->batch ? k->batch->open_end : k->open_end;
}

unsigned mz_kmap_files_cut(const struct mz_kmap *k)
{
	return k->reader ? mz_reader_files_cut(k->reader) : 0;
}

const struct mz_tables *mz_kmap_tables(const struct mz_kmap *k)
{
	return k->reader ? mz_reader_tables(k->reader) : NULL;
}

uint64_t mz_kmap_bytes(const struct mz_kmap *k)
{
	if (k->batch)
		return k->batch->bytes;
	/* those of a container are not of lines, and only a pipe would tell them */
	return k->reader ? 0 : mz_input_tell(&k->in);
}

/* For progress only. It is the position of the descriptor, which a pipe does not have. */
double mz_kmap_share(const struct mz_kmap *k)
{
	struct stat st;
	off_t at = k->in.fd < 0 ? -1 : lseek(k->in.fd, 0, SEEK_CUR);

	if (at < 0 || fstat(k->in.fd, &st) || !S_ISREG(st.st_mode) || !st.st_size)
		return -1;
	return (double)at / (double)st.st_size;
}

const char *mz_kmap_note(const struct mz_kmap *k, char *buf, size_t size)
{
	const struct mz_kmap_joined *j = &k->joined;

	if (j->no_allocations)
		snprintf(buf, size,
			 "no allocations beside it: objects are known by their number "
			 "alone");
	else if (j->unknown)
		snprintf(buf, size, "%llu objects are in `accesses` and not in `allocations`",
			 (unsigned long long)j->unknown);
	else if (j->ambiguous)
		snprintf(buf, size,
			 "%llu objects share their number with an earlier one, which has the "
			 "accesses of both",
			 (unsigned long long)j->ambiguous);
	else
		return NULL;
	return buf;
}

const char *mz_kmap_name(const struct mz_kmap *k)
{
	return input_name(k);
}
