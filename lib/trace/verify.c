// SPDX-License-Identifier: BSD-2-Clause
/* Check every block, event and count of a container. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/sized.h"
#include "trace/container.h"

struct file_check {
	struct mz_container_scan scan;
	struct mz_input *in;
	struct mz_verify v;	   /* as this library knows it */
	struct mz_summary summary; /* the same */
	mz_verify_note *note;
	void *arg;
	struct mz_decoder *decoder;
	struct mz_tables *tables;
	struct mz_attrs attrs;
	struct mz_event *events;
	uint64_t *last_time; /* by stream */
	uint32_t n_streams;
	uint64_t lost[MZ_LOSSES];
	int faults;
};

#define BATCH 512

static void fault(struct file_check *c, uint64_t offset, const char *text)
{
	c->faults++;
	if (c->note)
		c->note(c->arg, offset, text);
}

/* Bytes and events of a damaged block are counted, so that the final line can say how much is
 * readable in spite of it. */
static void damage(struct file_check *c, const struct mz_index_entry *e, const char *text)
{
	struct mz_verify *v = &c->v;

	if (!v->bad_bytes || e->offset < v->first_bad)
		v->first_bad = e->offset;
	v->bad_bytes += e->size + MZ_WIRE_FRAME_SIZE;
	if (e->type == MZ_BLOCK_EVENTS)
		v->missing += e->info.events;
	fault(c, e->offset, text);
}

/* A stream number beyond the number of chunks cannot be right; the check keeps a forged number
 * from allocating gigabytes. */
static uint64_t *stream_time(struct file_check *c, uint32_t stream)
{
	if (stream >= c->n_streams) {
		/* streams are numbered in order: a file has no more than chunks */
		size_t n = (size_t)stream + 1;
		uint64_t *p = n <= c->scan.index.n ? realloc(c->last_time, n * sizeof(*p)) : NULL;

		if (!p)
			return NULL;
		memset(p + c->n_streams, 0, (n - c->n_streams) * sizeof(*p));
		c->last_time = p;
		c->n_streams = (uint32_t)n;
	}
	return &c->last_time[stream];
}

/* The losses and the order are recomputed from the events themselves: the index is what is
 * being checked. */
static int check_events(struct file_check *c, const struct mz_index_entry *e, long n)
{
	uint64_t *last = stream_time(c, e->info.stream);

	if (!last && e->info.stream < c->scan.index.n)
		return -ENOMEM;
	for (long i = 0; i < n; i++) {
		const struct mz_event *ev = &c->events[i];

		if (ev->kind == MZ_LOST)
			c->lost[ev->arg < MZ_LOSSES ? ev->arg : MZ_LOSS_UNKNOWN] += ev->size;
		else
			c->v.decoded++;
		if (!last || !(ev->has & MZ_HAS_TIME))
			continue;
		c->v.disorder += ev->time < *last;
		*last = ev->time;
	}
	return 0;
}

/* The index must say about a chunk what the chunk itself says. */
static int compare_info(struct file_check *c, const struct mz_index_entry *e)
{
	struct mz_buf x = {0}, y = {0};
	bool failed, same;

	mz_chunk_info_put(&e->info, &x);
	mz_chunk_info_put(mz_decoder_info(c->decoder), &y);
	failed = x.failed || y.failed;
	same = !failed && x.len == y.len && !memcmp(x.data, y.data, x.len);
	mz_buf_free(&x);
	mz_buf_free(&y);
	if (!same && !failed)
		fault(c, e->offset, "the index does not agree with the chunk");
	return failed ? -ENOMEM : 0;
}

/* Decoding is the check: the decoder tests every rule of the format, and reports which one was
 * broken. */
static int check_chunk(struct file_check *c, const struct mz_index_entry *e)
{
	char text[200];
	long n;
	int ret = mz_decoder_start(c->decoder, c->scan.block.data, c->scan.block.len);

	if (!ret)
		ret = compare_info(c, e);
	if (ret == -ENOMEM)
		return ret;
	for (n = ret; n >= 0;) {
		n = mz_decoder_read(c->decoder, c->events, BATCH);
		if (n <= 0)
			break;
		if (check_events(c, e, n) < 0)
			return -ENOMEM;
	}
	if (n == -ENOMEM)
		return -ENOMEM;
	if (n < 0) {
		snprintf(text, sizeof(text), "a chunk that is not well-formed: %s",
			 mz_decoder_why(c->decoder));
		damage(c, e, text);
	}
	return 0;
}

static int check_meta(struct file_check *c, const struct mz_index_entry *e)
{
	struct mz_packer *pk = &c->scan.packer;
	const struct mz_buf *b = &c->scan.block;
	int ret = 0;

	if (e->type == MZ_BLOCK_ATTRS)
		ret = mz_attrs_get(&c->attrs, pk, b->data, b->len);
	else if (e->type == MZ_BLOCK_STRINGS)
		ret = mz_strings_get(c->tables, pk, b->data, b->len, c->scan.source.size);
	else if (e->type == MZ_BLOCK_STACKS)
		ret = mz_stacks_get(c->tables, pk, b->data, b->len, c->scan.source.size);
	else if (e->type == MZ_BLOCK_TREE)
		ret = mz_tree_get(mz_tables_tree(c->tables), pk, b->data, b->len,
				  c->scan.source.size);
	else if (e->type == MZ_BLOCK_CHAINS)
		ret = mz_chains_get(mz_tables_tree(c->tables), pk, b->data, b->len,
				    c->scan.source.size);
	else if (!(e->type & MZ_BLOCK_OPTIONAL))
		fault(c, e->offset, "a block of an unknown type");
	if (ret == -ENOMEM)
		return ret;
	if (ret < 0)
		damage(c, e, "a table that does not unpack");
	return 0;
}

/* A bad block is a finding, not the end: the blocks after it are checked as well. */
static int check_blocks(struct file_check *c, struct mz_error *err)
{
	for (size_t i = 0; i < c->scan.index.n; i++) {
		const struct mz_index_entry *e = &c->scan.index.v[i];
		int ret = mz_container_scan_load(&c->scan, e, err);

		if (ret == -EBADMSG) {
			damage(c, e, "a block whose checksum is wrong");
			continue;
		}
		if (!ret)
			ret = e->type == MZ_BLOCK_EVENTS ? check_chunk(c, e) : check_meta(c, e);
		if (ret == -ENOMEM)
			return mz_input_no_memory(c->in, err);
		if (ret < 0)
			return ret;
		if (c->v.progress)
			c->v.progress(c->arg, (double)(i + 1) / (double)c->scan.index.n,
				      c->v.decoded);
	}
	return 0;
}

/* With damaged chunks the counts cannot agree, so only a whole file is compared with its
 * index. */
static void check_counts(struct file_check *c)
{
	struct mz_summary *s = &c->summary;
	uint64_t lost = 0;

	for (int i = 0; i < MZ_LOSSES; i++) {
		lost += s->lost[i];
		if (s->lost[i] != c->lost[i] && !c->v.missing)
			fault(c, s->end, "the losses in the index differ from those of the events");
	}
	if (s->events != c->v.decoded && !c->v.missing)
		fault(c, s->end, "the count in the index differs from that of the events");
	if (s->has_produced) {
		c->v.unbalanced = s->produced - s->events - lost;
		if (c->v.unbalanced)
			fault(c, s->end,
			      "the events produced differ from those written plus those lost");
	}
	if (c->v.disorder)
		fault(c, 0, "the events of a stream are not ordered by time");
}

/* The walk finds what the index does not show: holes, and a missing end. */
static int check_walk(struct file_check *c, struct mz_error *err)
{
	struct mz_container_scan walk = {.source = c->scan.source};
	int ret = mz_container_scan_open(&walk, true, err);

	if (!ret && walk.damaged) {
		c->summary.damaged += walk.damaged;
		if (!c->v.bad_bytes || walk.first_bad < c->v.first_bad)
			c->v.first_bad = walk.first_bad;
		c->v.bad_bytes += walk.bad_bytes;
		fault(c, walk.first_bad, "bytes that are not a block");
	}
	mz_container_scan_close(&walk);
	return ret;
}

static int check_all(struct file_check *c, struct mz_error *err)
{
	int ret;

	c->decoder = mz_decoder_new();
	c->tables = mz_tables_new();
	c->events = malloc(BATCH * sizeof(*c->events));
	if (!c->decoder || !c->tables || !c->events)
		return mz_fail_memory(err);
	mz_tables_set_budget(c->tables, &c->in->budget);
	c->attrs.budget = &c->in->budget;
	ret = mz_container_scan_open(&c->scan, false, err);
	if (ret < 0)
		return ret;
	mz_container_scan_summary(&c->scan, &c->summary);
	if (!c->scan.whole)
		fault(c, c->scan.end,
		      "no index at its end: the writer was stopped, or the file was truncated");
	ret = check_walk(c, err);
	if (!ret)
		ret = check_blocks(c, err);
	if (!ret)
		check_counts(c);
	return ret;
}

/* A damaged header is reported as a fault, because the rest may be readable; another version
 * or unknown features are errors, because nothing after them can be trusted. */
static int start(struct file_check *c, struct mz_input *in, struct mz_error *err)
{
	uint8_t header[MZ_WIRE_HEADER_SIZE + MZ_WIRE_FRAME_SIZE];
	struct mz_error why = {0};
	long n;

	if (!mz_source_init(&c->scan.source, in))
		return mz_fail(err, ESPIPE, "%s: only a file can be verified, not a pipe",
			       in->name);
	n = mz_source_read(&c->scan.source, 0, header, sizeof(header), err);
	if (n < 0)
		return (int)n;
	if (!mz_container_probe((const char *)header, (size_t)n))
		return mz_fail(err, EINVAL,
			       "%s: not a container; only containers have checksums to verify",
			       in->name);
	if (n < MZ_WIRE_HEADER_SIZE)
		return mz_fail(err, EBADMSG, "%s: truncated inside its header; nothing is readable",
			       in->name);
	if (mz_file_header_check(header, in->name, &why) == -EBADMSG) {
		c->v.bad_bytes = MZ_WIRE_HEADER_SIZE;
		fault(c, 0, "the file header is damaged");
		return 0;
	}
	if (why.code && err)
		*err = why;
	return -why.code;
}

static int give(const struct file_check *c, struct mz_verify *to, struct mz_error *err)
{
	struct mz_verify ours = c->v;
	bool room = to->size >= offsetof(struct mz_verify, summary) + sizeof(ours.summary);

	ours.summary = room ? to->summary : NULL;
	if ((ours.summary && mz_sized_give(ours.summary, &c->summary, sizeof(c->summary)) < 0) ||
	    mz_sized_give(to, &ours, sizeof(ours)) < 0)
		return mz_fail(err, EINVAL, "the size of a structure is not set");
	return 0;
}

/* The caller knows a longer structure, and has set something there. */
static bool asks_for_more(const struct mz_verify *v)
{
	for (size_t i = sizeof(*v); v && i < v->size; i++)
		if (((const char *)v)[i])
			return true;
	return false;
}

int mz_verify_file_with(const char *path, unsigned flags, struct mz_verify *v, mz_verify_note *note,
			void *arg, struct mz_error *err)
{
	struct mz_input in;
	struct file_check c = {.in = &in, .note = note, .arg = arg};
	int ret;

	if (flags & ~(unsigned)MZ_OPEN_LARGE || asks_for_more(v))
		return mz_fail_option(err);
	ret = mz_input_open(&in, path, err);
	if (ret < 0)
		return ret;
	in.budget.large = flags & MZ_OPEN_LARGE;
	if (v && v->size >= offsetof(struct mz_verify, progress) + sizeof(v->progress))
		c.v.progress = v->progress;
	ret = start(&c, &in, err);
	if (!ret)
		ret = check_all(&c, err);
	if (!ret && v)
		ret = give(&c, v, err);
	mz_decoder_free(c.decoder);
	mz_tables_free(c.tables);
	mz_attrs_deinit(&c.attrs);
	free(c.events);
	free(c.last_time);
	mz_container_scan_close(&c.scan);
	mz_input_close(&in);
	return ret < 0 ? ret : c.faults ? 1 : 0;
}

int mz_verify_file(const char *path, struct mz_verify *v, mz_verify_note *note, void *arg,
		   struct mz_error *err)
{
	return mz_verify_file_with(path, 0, v, note, arg, err);
}
