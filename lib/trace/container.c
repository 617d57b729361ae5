// SPDX-License-Identifier: BSD-2-Clause
/* Read the events of a container from a file or a pipe. */
#include "trace/container.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/sized.h"
#include "trace/event.h"

bool mz_container_probe(const char *data, size_t n)
{
	/* a damaged or cut header still begins a container: no other format begins like this */
	size_t k = n < MZ_WIRE_MAGIC_SIZE ? n : MZ_WIRE_MAGIC_SIZE;
	struct mz_block_frame frame;

	if (k >= 4 && !memcmp(data, MZ_WIRE_MAGIC, k))
		return true;
	return n >= MZ_WIRE_HEADER_SIZE + MZ_WIRE_FRAME_SIZE &&
	       mz_block_frame_get((const uint8_t *)data + MZ_WIRE_HEADER_SIZE, &frame);
}

/* ---- blocks that are no chunks ------------------------------------------ */

/* A damaged table costs the names in it, not the events: it is counted, and reading continues.
 * Only a block that this version does not know how to skip ends it. */
int mz_container_meta(struct mz_reader *r, unsigned type, const void *payload, size_t size)
{
	struct mz_container *c = r->state;
	struct mz_packer *pk = &c->scan.packer;
	int ret = 0;

	switch (type) {
	case MZ_BLOCK_ATTRS: ret = mz_attrs_get(&c->attrs, pk, payload, size); break;
	case MZ_BLOCK_STRINGS:
		ret = mz_strings_get(r->tables, pk, payload, size, r->in.budget.bytes);
		break;
	case MZ_BLOCK_STACKS:
		ret = mz_stacks_get(r->tables, pk, payload, size, r->in.budget.bytes);
		break;
	case MZ_BLOCK_TREE:
		ret = mz_tree_get(mz_tables_tree(r->tables), pk, payload, size, r->in.budget.bytes);
		break;
	case MZ_BLOCK_CHAINS:
		ret = mz_chains_get(mz_tables_tree(r->tables), pk, payload, size,
				    r->in.budget.bytes);
		break;
	case MZ_BLOCK_EVENTS:
	case MZ_BLOCK_INDEX: break;
	default:
		if (!(type & MZ_BLOCK_OPTIONAL))
			return mz_fail(
				&r->error, ENOTSUP,
				"%s: a block of type %u, which this memorizer does not know; use a "
				"newer one",
				r->in.name, type);
	}
	if (ret == -ENOMEM)
		return mz_fail_memory(&r->error);
	if (ret < 0)
		c->damaged++;
	return 0;
}

/* Damage is an event in the stream, so that every analysis shows it like the losses of the
 * recorder. */
void mz_container_lost(struct mz_event *ev, uint64_t events, uint64_t time, bool has_time)
{
	*ev = (struct mz_event){.kind = MZ_LOST,
				.call = MZ_CALL_LOST,
				.arg = MZ_LOSS_DAMAGE,
				.size = events,
				.time = has_time ? time : 0,
				.has = has_time ? MZ_HAS_TIME : 0};
}

/* ---- from a pipe -------------------------------------------------------- */

/* The next frame in the window; bytes that are not a frame are skipped. 1, or 0 at the end. */
static int next_frame(struct mz_reader *r, struct mz_block_frame *frame, bool *skipped)
{
	*skipped = false;
	for (;;) {
		int ret = mz_input_fill(&r->in, MZ_WIRE_FRAME_SIZE, &r->error);
		const char *m;

		if (ret < 0)
			return ret;
		if (mz_input_left(&r->in) < MZ_WIRE_FRAME_SIZE)
			return 0; /* a trailer is shorter; so is what was cut */
		if (mz_block_frame_get((const uint8_t *)r->in.pos, frame))
			return 1;
		*skipped = true;
		m = memchr(r->in.pos + 1, 'M', mz_input_left(&r->in) - 1);
		r->in.pos = m ? m : r->in.end;
	}
}

/* Merging needs the first chunk of each stream, and a pipe cannot go back for them. */
static int wrong_stream(struct mz_reader *r)
{
	return mz_fail_offset(&r->error, ESPIPE, mz_input_tell(&r->in),
			      "%s: it has several streams, which can only be merged from a file; "
			      "save it to a file first",
			      r->in.name);
}

/* Open a chunk in the window. 1: open; 0: damaged, and a lost event was made. */
static int open_piped(struct mz_reader *r, const struct mz_block_frame *frame, const void *payload,
		      struct mz_event *ev)
{
	struct mz_container *c = r->state;
	const struct mz_chunk_info *info = mz_decoder_info(c->decoder);
	int ret = mz_crc32c(0, payload, frame->size) == frame->crc
			  ? mz_decoder_start(c->decoder, payload, frame->size)
			  : -EBADMSG;

	if (ret == -ENOMEM)
		return mz_fail_memory(&r->error);
	if (ret < 0) {
		c->damaged++;
		mz_container_lost(ev, 0, 0, false);
		c->sequence++;
		return 0;
	}
	if (c->met && info->stream != c->stream)
		return wrong_stream(r);
	c->met = true;
	c->stream = info->stream;
	c->raw = info->raw;
	r->fields |= info->fields;
	c->open = true;
	if (info->sequence == c->sequence++)
		return 1;
	/* chunks are missing before this one */
	c->sequence = info->sequence + 1;
	mz_container_lost(ev, 0, info->first_time, info->fields & MZ_HAS_TIME);
	return 0;
}

/* The next block, which stays in the window whole: 1, or 0 at the end. The index at the end of the
 * file is not needed here; its presence shows that the file was not cut. */
static int peek_block(struct mz_reader *r, struct mz_block_frame *frame)
{
	struct mz_container *c = r->state;
	bool skipped;
	int ret = next_frame(r, frame, &skipped);

	c->damaged += skipped;
	c->ended = ret <= 0;
	if (ret <= 0)
		return ret;
	ret = mz_input_fill(&r->in, MZ_WIRE_FRAME_SIZE + (size_t)frame->size, &r->error);
	if (ret < 0)
		return ret;
	if (mz_input_left(&r->in) < MZ_WIRE_FRAME_SIZE + (size_t)frame->size) {
		c->scan.end = mz_input_tell(&r->in);
		c->scan.whole = false;
		c->ended = true;
		return 0;
	}
	c->scan.whole = frame->type == MZ_BLOCK_INDEX;
	return 1;
}

/* The block in the window, and on to the next. */
static const char *take_block(struct mz_reader *r, const struct mz_block_frame *frame)
{
	struct mz_container *c = r->state;
	const char *payload = r->in.pos + MZ_WIRE_FRAME_SIZE;

	c->place = mz_input_tell(&r->in);
	r->in.pos = payload + frame->size;
	return payload;
}

/* Reads the tables before the next chunk, which stays in the window: 1, or 0 at the end. */
static int find_chunk(struct mz_reader *r, struct mz_block_frame *frame)
{
	struct mz_container *c = r->state;
	int ret;

	while ((ret = peek_block(r, frame)) > 0 && frame->type != MZ_BLOCK_EVENTS) {
		const char *payload = take_block(r, frame);

		if (mz_crc32c(0, payload, frame->size) != frame->crc)
			c->damaged++;
		else if ((ret = mz_container_meta(r, frame->type, payload, frame->size)) < 0)
			return ret;
	}
	return ret;
}

/* Go to the next chunk: 1, 0 at the end, 2: ev is a lost event. */
static int next_piped(struct mz_reader *r, struct mz_event *ev)
{
	struct mz_block_frame frame;
	int ret = find_chunk(r, &frame);

	if (ret <= 0)
		return ret;
	ret = open_piped(r, &frame, take_block(r, &frame), ev);
	return ret < 0 ? ret : ret ? 1 : 2;
}

/* One chunk after another, in the order of the file. A chunk that cannot be decoded to its end
 * has lost the rest of its events. */
static long read_piped(struct mz_reader *r, struct mz_event *ev, size_t max)
{
	struct mz_container *c = r->state;

	for (;;) {
		long n = c->open ? mz_decoder_read(c->decoder, ev, max) : 0;

		if (n > 0) {
			for (long i = 0; i < n; i++)
				r->places[i] = c->place;
			return n;
		}
		c->open = false;
		if (n == -ENOMEM)
			return mz_fail_memory(&r->error);
		if (n < 0) {
			c->damaged++;
			mz_container_lost(ev, 0, 0, false);
			return 1;
		}
		n = next_piped(r, ev);
		if (n <= 0)
			return n;
		r->places[0] = c->place;
		if (n == 2)
			return 1;
	}
}

/* ---- selecting ---------------------------------------------------------- */

/* Number the blocks of a raw trace, and keep the selected events. */
static long finish(struct mz_reader *r, struct mz_event *ev, long n)
{
	struct mz_container *c = r->state;
	long kept = 0;

	for (long i = 0; i < n && c->raw && !r->unnamed; i++) {
		struct mz_effect fx;

		if (mz_live_apply(&r->live, &ev[i], r->places[i], &fx) < 0)
			return mz_fail_memory(&r->error);
	}
	if (!c->selecting)
		return n;
	for (long i = 0; i < n; i++) {
		if (mz_select_takes(&c->select, &ev[i])) {
			ev[kept] = ev[i];
			r->places[kept++] = r->places[i];
		}
	}
	return kept;
}

static long container_read(struct mz_reader *r, struct mz_event *ev, size_t max)
{
	struct mz_container *c = r->state;
	long n, kept;

	if (c->seekable && !c->started) {
		int ret = mz_container_merge_start(r);

		if (ret < 0)
			return ret;
		c->started = true;
	}
	/* a batch of which nothing was selected is not the end */
	do {
		n = c->seekable ? mz_container_merge_read(r, ev, max) : read_piped(r, ev, max);
		if (n <= 0)
			return n;
		kept = finish(r, ev, n);
	} while (!kept);
	return kept;
}

/* ---- opening ------------------------------------------------------------ */

static int open_seekable(struct mz_reader *r)
{
	struct mz_container *c = r->state;
	struct mz_summary sum;
	int ret = mz_container_scan_open(&c->scan, false, &r->error);

	if (ret < 0)
		return ret;
	mz_container_scan_summary(&c->scan, &sum);
	r->fields = sum.fields;
	c->raw = sum.raw;
	for (size_t i = 0; i < c->scan.index.n; i++) {
		const struct mz_index_entry *e = &c->scan.index.v[i];

		if (e->type == MZ_BLOCK_EVENTS && e->info.raw != c->raw)
			return mz_fail_offset(
				&r->error, EINVAL, e->offset,
				"%s: byte %llu: blocks are named in some chunks and not in "
				"others",
				r->in.name, (unsigned long long)e->offset);
		if (e->type == MZ_BLOCK_EVENTS || e->type & MZ_BLOCK_OPTIONAL)
			continue;
		if (e->type != MZ_BLOCK_ATTRS && e->type <= MZ_BLOCK_CHAINS)
			continue; /* tables are read when they are needed */
		ret = mz_container_scan_load(&c->scan, e, &r->error);
		if (ret < 0 && ret != -EBADMSG)
			return ret;
		ret = mz_container_meta(r, e->type, c->scan.block.data, c->scan.block.len);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int open_header(struct mz_reader *r)
{
	struct mz_container *c = r->state;
	int ret;

	ret = mz_input_fill(&r->in, MZ_WIRE_HEADER_SIZE, &r->error);
	if (ret < 0)
		return ret;
	if (mz_input_left(&r->in) < MZ_WIRE_HEADER_SIZE)
		return mz_fail_offset(
			&r->error, EBADMSG, 0,
			"%s: a container truncated inside its header; nothing is readable",
			r->in.name);
	ret = mz_file_header_check((const uint8_t *)r->in.pos, r->in.name, &r->error);
	if (ret == -EBADMSG) {
		/* the blocks have checksums of their own */
		r->error = (struct mz_error){0};
		c->damaged++;
	} else if (ret < 0) {
		return ret;
	}
	c->attrs.budget = &r->in.budget;
	c->seekable = mz_source_init(&c->scan.source, &r->in);
	if (c->seekable)
		return open_seekable(r);
	r->in.pos += MZ_WIRE_HEADER_SIZE;
	c->decoder = mz_decoder_new();
	if (!c->decoder)
		return mz_fail_memory(&r->error);
	/* the attributes say what kind of recording it is, before the first event is read */
	ret = find_chunk(r, &(struct mz_block_frame){0});
	return ret < 0 ? ret : 0;
}

static void container_close(struct mz_reader *r)
{
	struct mz_container *c = r->state;

	if (!c)
		return;
	mz_container_merge_stop(r);
	mz_decoder_free(c->decoder);
	mz_attrs_deinit(&c->attrs);
	mz_container_scan_close(&c->scan);
	free(c);
	r->state = NULL;
}

static int container_open(struct mz_reader *r)
{
	int ret;

	r->state = calloc(1, sizeof(struct mz_container));
	if (!r->state)
		return mz_fail_memory(&r->error);
	ret = open_header(r);
	if (ret < 0)
		container_close(r);
	return ret;
}

const struct mz_reader_ops mz_container_reader_ops = {
	.format = MZ_FORMAT_CONTAINER,
	.resolved = true,
	.open = container_open,
	.read = container_read,
	.close = container_close,
};

/* ---- what only a container has ------------------------------------------ */

static struct mz_container *as_container(const struct mz_reader *r)
{
	return r->ops == &mz_container_reader_ops ? r->state : NULL;
}

bool mz_container_has_end(const struct mz_reader *r)
{
	const struct mz_container *c = as_container(r);

	return !c || c->scan.whole || (!c->seekable && !c->ended);
}

static const struct mz_attrs *attrs_of(const struct mz_reader *r)
{
	const struct mz_container *c = as_container(r);

	return c ? &c->attrs : r->attrs;
}

size_t mz_reader_attrs(const struct mz_reader *r)
{
	const struct mz_attrs *a = attrs_of(r);

	return a ? a->n : 0;
}

const struct mz_attr *mz_reader_attr(const struct mz_reader *r, size_t i)
{
	const struct mz_attrs *a = attrs_of(r);

	return a && i < a->n ? &a->v[i] : NULL;
}

const struct mz_attr *mz_reader_find_attr(const struct mz_reader *r, const char *key)
{
	for (size_t i = 0; key && i < mz_reader_attrs(r); i++)
		if (!strcmp(mz_reader_attr(r, i)->key, key))
			return mz_reader_attr(r, i);
	return NULL;
}

/* A refused request is not an error of the reading. */
static int refuse(struct mz_reader *r, int code, const char *why)
{
	r->refused = (struct mz_error){0};
	return mz_fail(&r->refused, code, "%s: %s", r->in.name, why);
}

int mz_reader_select(struct mz_reader *r, const struct mz_select *select)
{
	struct mz_container *c = as_container(r);

	if (!c)
		return refuse(r, EINVAL, "events can be selected from a container only");
	if (c->started || !select)
		return refuse(r, EINVAL,
			      select ? "events must be selected before the first one is read"
				     : "nothing is selected");
	if (select->reserved[0] | select->reserved[1] | select->reserved[2]) {
		r->refused = (struct mz_error){0};
		return mz_fail_option(&r->refused);
	}
	c->select = *select;
	c->selecting = true;
	return 0;
}

int mz_reader_summary(struct mz_reader *r, struct mz_summary *summary)
{
	struct mz_container *c = as_container(r);
	struct mz_summary ours;

	if (!c)
		return refuse(r, EINVAL, "only a container has a summary");
	if (!c->seekable)
		return refuse(r, ESPIPE, "a container in a pipe has no summary before its end");
	mz_container_scan_summary(&c->scan, &ours);
	ours.damaged += c->damaged;
	if (mz_sized_give(summary, &ours, sizeof(ours)) < 0)
		return refuse(r, EINVAL, "the size of the summary is not set");
	return 0;
}
