// SPDX-License-Identifier: BSD-2-Clause
/* Write a container: streams build chunks, the writer appends them. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/beside.h"
#include "base/error.h"
#include "trace/block.h"
#include "trace/event.h"
#include "trace/stack_tree.h"
#include "trace/writer.h"

#define LEAST_CHUNK  4096	/* events, however many streams share the memory */
#define SPILL_FROM   (2u << 20) /* bytes of one table of the stacks */
#define TABLE_LEVEL  9		/* of zstd */
#define EASY_LEVEL   6		/* of a recorder that keeps up */
#define BESIDE_LEVEL 3		/* of one with two encoders: level 6 takes 3 MB more for each */
#define BESIDE_TABLES                                                                              \
	(5u << 18)	  /* bytes of its encoder, from which on a chunk is a quarter as long */
#define HURRY_LEVEL    1  /* of a recorder that falls behind */
#define LAST_LEVEL     14 /* of the last chunk of a recording; takes at most a tenth of a second */
#define SHORT_CHUNKS   4  /* LAST_LEVEL is used if fewer chunks than this precede the last one */
#define MIX_UPTO       16384	     /* numbers of a column of the last chunk, or of the tree */
#define MIX_NODES      32768	     /* of the tree so far */
#define LARGE_ENCODER  (10u << 20)   /* bytes: it had chunks of more than half the length */
#define PENDING_TABLES (256u * 1024) /* bytes of strings and stacks that may wait */

struct mz_stream {
	struct mz_writer *writer;
	struct mz_encoder *encoder; /* of the chunk that is being collected */
	struct mz_buf payload;
	struct mz_stream *next;
	uint32_t number, chunks;
	/* the preceding chunk, which a thread packs; the thread has all of this but the encoder
	 * above */
	struct mz_encoder *other;
	struct mz_beside thread;
	/* for the check of events of other programs */
	uint64_t last_time;
	uint32_t known_strings, known_stacks; /* at least so many there are */
};

struct mz_writer {
	pthread_mutex_t lock; /* of all below but the streams' own */
	struct mz_writer_options options;
	struct mz_atomic_file file;
	struct mz_packer packer;
	struct mz_tables *tables;
	char *folder;				     /* of the output; NULL: it is no file */
	uint32_t strings_out, nodes_out, stacks_out; /* written so far */
	size_t pending;
	struct mz_attrs attrs;
	size_t attrs_out;
	struct mz_index index;
	struct mz_stream *streams;
	struct mz_stream *own; /* of mz_writer_add() */
	uint32_t n_streams;
	int level; /* of zstd, for chunks; 0: the usual one */
	bool beside;
	struct mz_error error;
	struct mz_error refused; /* why a request was refused; the file is unchanged */
};

/* ---- blocks ------------------------------------------------------------- */

/* With the lock held. */
static int put_block(struct mz_writer *w, uint8_t type, const struct mz_buf *payload,
		     const struct mz_chunk_info *info)
{
	struct mz_index_entry entry = {.offset = w->file.size, .type = type};
	uint8_t frame[MZ_WIRE_FRAME_SIZE];
	int ret;

	if (payload->failed)
		return mz_fail_memory(&w->error);
	if (payload->len > MZ_WIRE_MAX_PAYLOAD)
		return mz_fail(&w->error, EFBIG, "%s: a block of more than %u bytes", w->file.path,
			       MZ_WIRE_MAX_PAYLOAD);
	entry.size = (uint32_t)payload->len;
	if (info)
		entry.info = *info;
	mz_block_frame_put(frame, type, payload->data, payload->len);
	ret = mz_atomic_file_append(&w->file, frame, sizeof(frame), payload->data, payload->len,
				    &w->error);
	if (ret < 0)
		return ret;
	if (type != MZ_BLOCK_INDEX && mz_index_add(&w->index, &entry) < 0)
		return mz_fail_memory(&w->error);
	return 0;
}

/* Only strings that are not in the file yet go out. The mark moves after the block is written,
 * so that a failed write is not forgotten. */
static int put_strings(struct mz_writer *w)
{
	struct mz_buf b = {0};
	int ret = 0;

	if (mz_tables_strings(w->tables) > w->strings_out) {
		ret = mz_strings_put(w->tables, w->strings_out + 1, &w->packer, &b);
		ret = ret < 0 ? mz_fail_memory(&w->error)
			      : put_block(w, MZ_BLOCK_STRINGS, &b, NULL);
	}
	if (!ret)
		w->strings_out = mz_tables_strings(w->tables);
	mz_buf_free(&b);
	return ret;
}

/* The stacks of most programs are few; those of a recorder that has many must not cost it time. */
static void mix_tables(struct mz_writer *w, uint32_t nodes)
{
	if (w->options.best)
		mz_packer_mix_all(&w->packer);
	else
		mz_packer_mix_short(&w->packer, w->level && nodes <= MIX_NODES ? MIX_UPTO : 0);
}

/* Nodes of the tree that are in the file are not needed until a stack refers to them again; their
 * pages may go. */
static int put_stacks(struct mz_writer *w)
{
	struct mz_stack_tree *t = mz_tables_tree(w->tables);
	struct mz_buf b = {0};
	int ret = 0;

	mix_tables(w, t->nodes);
	if (t->stacks > w->stacks_out) {
		ret = mz_chains_put(t, w->nodes_out, w->stacks_out, &w->packer, &b);
		ret = ret < 0 ? mz_fail_memory(&w->error) : put_block(w, MZ_BLOCK_CHAINS, &b, NULL);
	}
	if (!ret) {
		w->stacks_out = t->stacks;
		w->nodes_out = t->nodes;
		mz_stack_tree_let_go(t);
	}
	mz_buf_free(&b);
	return ret;
}

/* Attributes set later replace earlier ones of the same key when the file is read. */
static int put_attrs(struct mz_writer *w)
{
	struct mz_buf b = {0};
	int ret = 0;

	if (w->attrs.n > w->attrs_out) {
		ret = mz_attrs_put(&w->attrs, w->attrs_out, &w->packer, &b);
		ret = ret < 0 ? mz_fail_memory(&w->error) : put_block(w, MZ_BLOCK_ATTRS, &b, NULL);
	}
	if (!ret)
		w->attrs_out = w->attrs.n;
	mz_buf_free(&b);
	return ret;
}

/* What chunks refer to goes out before them. */
static int put_tables(struct mz_writer *w)
{
	int ret = put_attrs(w);

	if (!ret)
		ret = put_strings(w);
	if (!ret)
		ret = put_stacks(w);
	if (!ret)
		w->pending = 0;
	return ret;
}

/* The trailer has a fixed size at a fixed distance from the end; it is the one place where a
 * reader can begin. */
static int put_index(struct mz_writer *w)
{
	uint8_t trailer[MZ_WIRE_TRAILER_SIZE];
	uint64_t at = w->file.size;
	struct mz_buf b = {0};
	int ret = mz_index_put(&w->index, &w->packer, &b);

	ret = ret < 0 ? mz_fail_memory(&w->error) : put_block(w, MZ_BLOCK_INDEX, &b, NULL);
	mz_buf_free(&b);
	if (ret < 0)
		return ret;
	mz_trailer_put(trailer, at);
	return mz_atomic_file_append(&w->file, trailer, sizeof(trailer), NULL, 0, &w->error);
}

/* ---- a thread beside ----------------------------------------------------- */

/* The writer's error as it is when other threads may set it. */
static int failed(struct mz_writer *w)
{
	int code;

	pthread_mutex_lock(&w->lock);
	code = w->error.code;
	pthread_mutex_unlock(&w->lock);
	return -code;
}

/* The chunk that a thread packs is in the file afterwards, or the writer has failed. */
static void wait_beside(struct mz_stream *s)
{
	mz_beside_wait(&s->thread);
}

/* ---- opening and closing ------------------------------------------------ */

static struct mz_writer *new_writer(const struct mz_writer_options *options)
{
	struct mz_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	if (options)
		w->options = *options;
	w->packer.level = TABLE_LEVEL;
	w->file.fd = -1;
	pthread_mutex_init(&w->lock, NULL);
	w->tables = mz_tables_new();
	if (!w->tables) {
		free(w);
		return NULL;
	}
	return w;
}

static void free_writer(struct mz_writer *w)
{
	while (w->streams) {
		struct mz_stream *s = w->streams;

		w->streams = s->next;
		mz_encoder_free(s->encoder);
		mz_encoder_free(s->other);
		mz_buf_free(&s->payload);
		free(s);
	}
	mz_tables_free(w->tables);
	free(w->folder);
	mz_attrs_deinit(&w->attrs);
	mz_index_deinit(&w->index);
	mz_packer_deinit(&w->packer);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* Stacks that are many go to a file in the folder of the output. */
static int spill_beside(struct mz_writer *w, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t n = !slash ? 1 : slash == path ? 1 : (size_t)(slash - path);

	w->folder = calloc(1, n + 1);
	if (!w->folder)
		return mz_fail_memory(&w->error);
	memcpy(w->folder, slash ? path : ".", n);
	mz_tables_tree(w->tables)->spill =
		(struct mz_spill){.folder = w->folder, .from = SPILL_FROM};
	return 0;
}

/* The header goes out at once, so that a killed recorder leaves a file that is recognised. */
static int start_file(struct mz_writer *w, const char *path, int fd, unsigned how)
{
	uint8_t header[MZ_WIRE_HEADER_SIZE];
	int ret;

	how |= w->options.overwrite ? MZ_FILE_REPLACE : 0;
	ret = fd >= 0 ? mz_atomic_file_fd(&w->file, fd, path, &w->error)
		      : mz_atomic_file_open(&w->file, path, how, &w->error);
	if (ret < 0)
		return ret;
	w->file.keeps = !w->options.discard;
	if (fd < 0) {
		ret = spill_beside(w, path);
		if (ret < 0)
			return ret;
	}
	mz_file_header_put(header);
	return mz_atomic_file_append(&w->file, header, sizeof(header), NULL, 0, &w->error);
}

static int check_options(const char *path, const struct mz_writer_options *o, struct mz_error *err)
{
	if (!path || !*path)
		return mz_fail(err, EINVAL, "the trace to be written has no name");
	if (!o)
		return 0;
	for (size_t i = 0; i < sizeof(o->reserved) / sizeof(*o->reserved); i++)
		if (o->reserved[i])
			return mz_fail_option(err);
	return o->drop & ~(uint32_t)MZ_HAS_ALL ? mz_fail_option(err) : 0;
}

static struct mz_writer *open_writer(const char *path, int fd, unsigned how,
				     const struct mz_writer_options *options, struct mz_error *err)
{
	struct mz_writer *w;
	int ret = check_options(path, options, err);

	if (ret < 0) {
		errno = -ret;
		return NULL;
	}
	w = new_writer(options);
	if (!w) {
		mz_fail_memory(err);
		errno = ENOMEM;
		return NULL;
	}
	ret = start_file(w, path, fd, how);
	if (ret < 0) {
		if (err)
			*err = w->error;
		mz_atomic_file_abort(&w->file);
		free_writer(w);
		errno = -ret;
		return NULL;
	}
	return w;
}

struct mz_writer *mz_writer_open(const char *path, const struct mz_writer_options *options,
				 struct mz_error *err)
{
	if (!path || !strcmp(path, "-"))
		return open_writer("standard output", STDOUT_FILENO, 0, options, err);
	return open_writer(path, -1, 0, options, err);
}

struct mz_writer *mz_writer_open_file(const char *path, const struct mz_writer_options *options,
				      struct mz_error *err)
{
	return open_writer(path, -1, MZ_FILE_REGULAR, options, err);
}

struct mz_writer *mz_writer_open_fd(int fd, const char *name,
				    const struct mz_writer_options *options, struct mz_error *err)
{
	if (!name)
		name = "descriptor";
	if (fd < 0) { /* a failed open(): the name is no path to fall back to */
		errno = -mz_fail(err, EBADF, "%s: cannot write: %s", name, strerror(EBADF));
		return NULL;
	}
	return open_writer(name, fd, 0, options, err);
}

static void wait_for_all(struct mz_writer *w)
{
	for (struct mz_stream *s = w->streams; s; s = s->next)
		wait_beside(s);
}

static int flush_all(struct mz_writer *w)
{
	int ret = 0;

	for (struct mz_stream *s = w->streams; s && !ret; s = s->next)
		ret = mz_stream_flush(s);
	return ret;
}

/* Of a recorder, which has one stream. */
static bool is_short(const struct mz_writer *w)
{
	return !w->own || w->own->chunks < SHORT_CHUNKS;
}

/* After an error the complete blocks are left in NAME.part: a recording that ends with a full
 * disk is still readable. */
int mz_writer_close(struct mz_writer *w, struct mz_error *err)
{
	int ret;

	if (!w)
		return mz_fail(err, EINVAL, "there is no writer");
	wait_for_all(w);
	/* the program has ended, and short recordings are one chunk; of a long one it is little */
	if (w->level == EASY_LEVEL && is_short(w))
		w->level = LAST_LEVEL;
	/* after one failure the file is incomplete, whatever succeeds later */
	ret = w->error.code ? -w->error.code : flush_all(w);

	if (!ret)
		ret = put_tables(w);
	if (!ret)
		ret = put_index(w);
	if (!ret)
		ret = mz_atomic_file_commit(&w->file, &w->error);
	if (ret < 0) {
		if (err && !err->code)
			*err = w->error;
		if (w->index.n && !w->options.discard)
			mz_atomic_file_leave(&w->file);
		else
			mz_atomic_file_abort(&w->file);
	}
	free_writer(w);
	return ret;
}

void mz_writer_abort(struct mz_writer *w)
{
	if (!w)
		return;
	wait_for_all(w);
	mz_atomic_file_abort(&w->file);
	free_writer(w);
}

/* For a recorder, which must keep up: it compresses less than it could, and least of all while it
 * is behind. The tables are small. */
void mz_writer_hurry(struct mz_writer *w, bool behind)
{
	int level = behind ? HURRY_LEVEL : EASY_LEVEL;

	if (level == w->level)
		return;
	/* a thread beside may be writing tables */
	pthread_mutex_lock(&w->lock);
	w->level = level;
	pthread_mutex_unlock(&w->lock);
}

void mz_writer_beside(struct mz_writer *w, bool beside)
{
	w->beside = beside && w->options.raw;
}

const struct mz_error *mz_writer_error(const struct mz_writer *w)
{
	return w->error.code ? &w->error : &w->refused;
}

/* ---- attributes, strings, stacks ---------------------------------------- */

static int set_attr(struct mz_writer *w, const struct mz_attr *attr)
{
	int ret;

	if (!attr->key || (!attr->data && (attr->size || attr->type == MZ_ATTR_TEXT)))
		return -EINVAL;
	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < w->attrs_out; i++) {
		if (!strcmp(w->attrs.v[i].key, attr->key)) {
			/* a new value: all go out again, the later ones count */
			w->attrs_out = 0;
		}
	}
	ret = mz_attrs_set(&w->attrs, attr);
	if (ret < 0 && ret != -EINVAL)
		mz_fail_memory(&w->error);
	pthread_mutex_unlock(&w->lock);
	return ret;
}

int mz_writer_set_text(struct mz_writer *w, const char *key, const char *text)
{
	return set_attr(w, &(struct mz_attr){.key = key,
					     .type = MZ_ATTR_TEXT,
					     .data = text,
					     .size = text ? strlen(text) : 0});
}

int mz_writer_set_number(struct mz_writer *w, const char *key, uint64_t number)
{
	return set_attr(w, &(struct mz_attr){.key = key, .type = MZ_ATTR_NUMBER, .number = number});
}

int mz_writer_set_bytes(struct mz_writer *w, const char *key, const void *data, size_t size)
{
	return set_attr(w, &(struct mz_attr){
				   .key = key, .type = MZ_ATTR_BYTES, .data = data, .size = size});
}

/* With the lock held: what waits does not grow without end. */
static void count_pending(struct mz_writer *w, size_t bytes, bool is_new)
{
	w->pending += is_new ? bytes : 0;
	if (w->pending > PENDING_TABLES)
		put_tables(w);
}

uint32_t mz_writer_string(struct mz_writer *w, const char *s, size_t len)
{
	uint32_t before, id = 0;

	pthread_mutex_lock(&w->lock);
	before = mz_tables_strings(w->tables);
	if (len <= MZ_WIRE_MAX_STRING)
		id = mz_tables_string(w->tables, s, len);
	count_pending(w, len + 8, mz_tables_strings(w->tables) > before);
	pthread_mutex_unlock(&w->lock);
	return id;
}

/* A stack deeper than the format allows keeps its innermost frames, which tell what allocated. */
uint32_t mz_writer_stack(struct mz_writer *w, const uint64_t *ips, size_t depth)
{
	uint32_t before, made, id;

	if (depth > MZ_WIRE_MAX_DEPTH)
		depth = MZ_WIRE_MAX_DEPTH; /* the innermost */
	pthread_mutex_lock(&w->lock);
	before = mz_tables_tree(w->tables)->nodes;
	id = mz_tables_stack(w->tables, ips, depth);
	made = mz_tables_tree(w->tables)->nodes - before;
	count_pending(w, made * 12 + 8, made);
	pthread_mutex_unlock(&w->lock);
	return id;
}

size_t mz_writer_frames(struct mz_writer *w, uint64_t *ips, size_t max)
{
	const struct mz_stack_tree *t;
	size_t n = 0;

	pthread_mutex_lock(&w->lock);
	t = mz_tables_tree(w->tables);
	for (uint32_t i = 1; i <= t->nodes && n < max; i++)
		ips[n++] = mz_stack_tree_ip(t, i);
	pthread_mutex_unlock(&w->lock);
	return n;
}

void mz_writer_produced(struct mz_writer *w, uint64_t events)
{
	pthread_mutex_lock(&w->lock);
	w->index.produced = events;
	w->index.has_produced = true;
	pthread_mutex_unlock(&w->lock);
}

/* ---- streams ------------------------------------------------------------ */

/* An encoder per stream: chunks of several streams are collected at the same time. */
static struct mz_encoder *new_encoder(const struct mz_writer *w)
{
	struct mz_encode_options options = {
		.best = w->options.best,
		.level = w->level,
		.raw = w->options.raw,
		.drop = w->options.drop,
		.max_events = w->options.chunk_events,
	};

	return mz_encoder_new(&options);
}

struct mz_stream *mz_writer_stream(struct mz_writer *w)
{
	struct mz_stream *s = calloc(1, sizeof(*s));

	if (s)
		s->encoder = new_encoder(w);
	if (!s || !s->encoder) {
		free(s);
		errno = ENOMEM;
		return NULL;
	}
	s->writer = w;
	pthread_mutex_lock(&w->lock);
	s->number = w->n_streams;
	__atomic_store_n(&w->n_streams, w->n_streams + 1, __ATOMIC_RELAXED);
	s->next = w->streams;
	w->streams = s;
	pthread_mutex_unlock(&w->lock);
	return s;
}

/* Encoding, the expensive part, runs without the lock, so that streams of several threads
 * encode at the same time. Tables go out before the chunk that refers to them. */
static int write_chunk(struct mz_stream *s, struct mz_encoder *e)
{
	struct mz_writer *w = s->writer;
	struct mz_chunk_info info;
	int ret;

	s->payload.len = 0;
	ret = mz_encoder_finish(e, &info, &s->payload, NULL);
	pthread_mutex_lock(&w->lock);
	if (w->error.code)
		ret = -w->error.code;
	else if (ret < 0)
		mz_fail_memory(&w->error);
	if (!ret)
		ret = put_tables(w);
	if (!ret)
		ret = put_block(w, MZ_BLOCK_EVENTS, &s->payload, &info);
	pthread_mutex_unlock(&w->lock);
	return ret;
}

static void *pack_beside(void *arg)
{
	struct mz_stream *s = arg;

	write_chunk(s, s->other);
	return NULL;
}

/* The chunk at hand goes to a thread, and the next one into the other encoder, which that
 * thread had before. False: no memory, or no thread; the chunk is still here. */
static bool hand_over(struct mz_stream *s)
{
	struct mz_encoder *full = s->encoder;

	if (!s->other)
		s->other = new_encoder(s->writer);
	if (!s->other)
		return false;
	s->encoder = s->other;
	s->other = full;
	if (mz_beside_start(&s->thread, pack_beside, s))
		return true;
	s->other = s->encoder;
	s->encoder = full;
	return false;
}

/* An encoder keeps the memory of its longest chunk, which it collected while it had all the
 * room. */
static bool is_large(const struct mz_encoder *e)
{
	return mz_encoder_memory(e) > LARGE_ENCODER;
}

/* Beside a large encoder there is no room for another. */
static void let_go_of_large(struct mz_stream *s, bool beside)
{
	if (s->other && (!beside || is_large(s->other) || is_large(s->encoder))) {
		mz_encoder_free(s->other);
		s->other = NULL;
	}
}

/* A small one instead of one that has written its chunk. */
static void renew_encoder(struct mz_stream *s)
{
	struct mz_encoder *small = new_encoder(s->writer);

	if (!small)
		return;
	mz_encoder_free(s->encoder);
	s->encoder = small;
}

/* The first chunk of a stream that gets two encoders is a long one: its encoder is replaced with a
 * small one before there is a second. */
static int write_large(struct mz_stream *s)
{
	int ret = write_chunk(s, s->encoder);

	renew_encoder(s);
	return ret;
}

static void set_level(struct mz_stream *s, bool beside)
{
	int level = s->writer->level;

	if (level)
		mz_encoder_set_level(s->encoder,
				     beside && level > BESIDE_LEVEL ? BESIDE_LEVEL : level);
	mz_encoder_mix_short(s->encoder, level == LAST_LEVEL ? MIX_UPTO : 0);
}

/* The second half of a chunk takes longer than the first one: instead of waiting for the thread,
 * this one begins with the second half of its own chunk, if there is room for both. What fails here
 * fails again when the chunk is written. */
static void work_meanwhile(struct mz_stream *s)
{
	while (!is_large(s->encoder) && mz_beside_busy(&s->thread) &&
	       mz_encoder_step(s->encoder) > 0)
		;
}

static int flush_stream(struct mz_stream *s, bool beside)
{
	int ret;

	if (mz_encoder_events(s->encoder)) {
		mz_encoder_set_stream(s->encoder, s->number);
		mz_encoder_set_sequence(s->encoder, s->chunks);
		set_level(s, beside);
		work_meanwhile(s);
	}
	wait_beside(s);
	ret = failed(s->writer);
	if (ret < 0 || !mz_encoder_events(s->encoder))
		return ret;
	s->chunks++;
	let_go_of_large(s, beside);
	if (beside && is_large(s->encoder))
		return write_large(s);
	return beside && hand_over(s) ? 0 : write_chunk(s, s->encoder);
}

int mz_stream_flush(struct mz_stream *s)
{
	return flush_stream(s, false);
}

/* All streams together keep to the memory of one. A chunk of half as many events may have nearly as
 * many patterns; then each of two encoders gets a quarter of the events. */
static bool is_full(const struct mz_stream *s)
{
	uint32_t streams = __atomic_load_n(&s->writer->n_streams, __ATOMIC_RELAXED);
	uint32_t share = MZ_WIRE_MAX_EVENTS / (streams ? streams : 1);
	uint32_t n = mz_encoder_events(s->encoder);

	if (s->writer->beside || s->other)
		share /= n >= share / 4 && mz_encoder_tables(s->encoder) > BESIDE_TABLES ? 4 : 2;
	return mz_encoder_full(s->encoder) || n >= (share > LEAST_CHUNK ? share : LEAST_CHUNK);
}

/* Events are handed over in small parts, so that the check for a full chunk comes often
 * enough. */
int mz_stream_put(struct mz_stream *s, const struct mz_event *ev, size_t n)
{
	while (n) {
		size_t part = n < 512 ? n : 512;
		long took = mz_encoder_add(s->encoder, ev, part);

		if (took < 0) {
			pthread_mutex_lock(&s->writer->lock);
			if (took == -ENOMEM)
				mz_fail_memory(&s->writer->error);
			else
				mz_fail(&s->writer->error, (int)-took,
					"%s: an event does not fit into a chunk",
					s->writer->file.path);
			pthread_mutex_unlock(&s->writer->lock);
			return (int)took;
		}
		ev += took;
		n -= (size_t)took;
		if (is_full(s)) {
			int ret = flush_stream(s, s->writer->beside);

			if (ret < 0)
				return ret;
		}
	}
	return 0;
}

/* ---- events of other programs -------------------------------------------- */

/* The tables are the writer's: they are counted when a number is above those that were there. */
static void count_tables(struct mz_stream *s)
{
	pthread_mutex_lock(&s->writer->lock);
	s->known_strings = mz_tables_strings(s->writer->tables);
	s->known_stacks = mz_tables_stacks(s->writer->tables);
	pthread_mutex_unlock(&s->writer->lock);
}

static const char *fault_of(struct mz_stream *s, const struct mz_event *ev, uint64_t last_time)
{
	uint32_t stack = ev->has & MZ_HAS_SITE ? ev->site : 0;
	uint32_t string = ev->has & MZ_HAS_CACHE ? ev->cache : 0;
	const char *fault = mz_event_fault(ev);

	if (fault)
		return fault;
	if (ev->has & MZ_HAS_TIME && ev->time < last_time)
		return "it is earlier than the one before it in its stream";
	if (ev->kind == MZ_MARK && ev->arg > string)
		string = (uint32_t)ev->arg;
	if (stack > s->known_stacks || string > s->known_strings)
		count_tables(s);
	if (stack > s->known_stacks)
		return "its site is not in the writer's table of stacks";
	return string > s->known_strings ? "its text is not in the writer's table of strings"
					 : NULL;
}

/* One event that a reader would not take costs all others of its chunk. */
static int check_events(struct mz_stream *s, const struct mz_event *ev, size_t n)
{
	struct mz_writer *w = s->writer;
	uint64_t time = s->last_time;

	for (size_t i = 0; i < n; i++) {
		const char *fault = fault_of(s, &ev[i], time);

		if (fault) {
			pthread_mutex_lock(&w->lock);
			w->refused = (struct mz_error){0};
			mz_fail(&w->refused, EINVAL, "%s: event %zu of %zu (kind %u, call %u): %s",
				w->file.path, i + 1, n, ev[i].kind, ev[i].call, fault);
			pthread_mutex_unlock(&w->lock);
			return -EINVAL;
		}
		if (ev[i].has & MZ_HAS_TIME)
			time = ev[i].time;
	}
	s->last_time = time;
	return 0;
}

int mz_stream_add(struct mz_stream *s, const struct mz_event *ev, size_t n)
{
	int ret = check_events(s, ev, n);

	return ret < 0 ? ret : mz_stream_put(s, ev, n);
}

/* ---- memory ------------------------------------------------------------- */

size_t mz_writer_memory(const struct mz_writer *w)
{
	const struct mz_stream *s = w->own;

	return s ? mz_encoder_memory(s->encoder) + (s->other ? mz_encoder_memory(s->other) : 0) : 0;
}

int mz_writer_shrink(struct mz_writer *w)
{
	struct mz_stream *s = w->own;
	int ret;

	if (!s || mz_encoder_events(s->encoder) < LEAST_CHUNK)
		return 0;
	ret = flush_stream(s, false);
	if (!ret)
		renew_encoder(s);
	return ret;
}

static int own_stream(struct mz_writer *w)
{
	if (!w->own)
		w->own = mz_writer_stream(w);
	return w->own ? 0 : mz_fail_memory(&w->error);
}

int mz_writer_put(struct mz_writer *w, const struct mz_event *ev, size_t n)
{
	int ret = own_stream(w);

	return ret < 0 ? ret : mz_stream_put(w->own, ev, n);
}

int mz_writer_add(struct mz_writer *w, const struct mz_event *ev, size_t n)
{
	int ret = own_stream(w);

	return ret < 0 ? ret : mz_stream_add(w->own, ev, n);
}

int mz_writer_flush(struct mz_writer *w)
{
	return w->own ? mz_stream_flush(w->own) : 0;
}
