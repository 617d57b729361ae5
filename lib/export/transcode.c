// SPDX-License-Identifier: BSD-2-Clause
/* Read the events of a trace and write them in another trace format. */
#include "export/transcode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/output.h"
#include "formats/text.h"
#include "trace/early_end.h"
#include "trace/sampled.h"
#include "trace/writer.h"

struct transcoder {
	struct mz_transcode_options o;
	struct mz_reader *in;
	struct mz_output out;
	struct mz_classic_writer classic;
	struct mz_writer *writer;
	uint32_t *sites, *strings; /* of the input, by number: those of the output */
	size_t n_sites, n_strings;
	struct mz_transcode_counts counts;
	struct mz_error *err;
};

/* ---- text --------------------------------------------------------------- */

static int put_text(struct transcoder *t, const struct mz_event *ev, size_t n)
{
	const struct mz_tables *tables = mz_reader_tables(t->in);

	for (size_t i = 0; i < n; i++) {
		struct mz_event e = ev[i];
		char *p;
		size_t len;

		if (e.has & t->o.drop) {
			e.has &= (uint16_t)~t->o.drop;
			if (t->o.drop & MZ_HAS_ADDR)
				e.addr = e.old_addr = 0;
		}
		p = mz_output_room(&t->out, mz_text_room(&e, tables), t->err);
		if (!p)
			return -1;
		len = mz_text_format(p, &e, tables, t->o.tags);
		p[len] = '\n';
		t->out.len += len + 1;
	}
	return 0;
}

/* ---- classic ------------------------------------------------------------ */

static int cannot_express(struct transcoder *t, size_t i, enum mz_classic_fit fit)
{
	char place[40];

	return mz_fail_line(t->err, EINVAL,
			    t->in->ops->format == MZ_FORMAT_TEXT ? t->in->places[i] : 0,
			    "%s: %s: %s, which the classic format cannot express; "
			    "--skip-unmatched leaves such events out",
			    t->in->in.name, mz_reader_place(t->in, i, place, sizeof(place)),
			    mz_classic_reason(fit));
}

/* Many live blocks do not fit into the cache: prefetch their slots. */
#define AHEAD 8

static int put_classic(struct transcoder *t, const struct mz_event *ev, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *p = mz_output_room(&t->out, MZ_CLASSIC_MAX, t->err);
		char *start = p;
		int fit;

		if (!p)
			return -1;
		if (i + AHEAD < n)
			mz_live_prefetch(&t->classic.live, ev[i + AHEAD].addr);
		fit = mz_classic_put(&t->classic, &ev[i], &p);
		if (fit < 0)
			return mz_fail_memory(t->err);
		if (fit > MZ_CLASSIC_NO_EFFECT && !t->o.skip_unmatched)
			return cannot_express(t, i, fit);
		t->counts.skipped[fit]++;
		t->out.len += (size_t)(p - start);
	}
	return 0;
}

/* ---- container ---------------------------------------------------------- */

/* Sets the number of a text or stack of the input to that of the output, if it has one. */
static inline bool is_known(const uint32_t *numbers, size_t n, uint32_t *id)
{
	if (*id >= n || !numbers[*id])
		return false;
	*id = numbers[*id];
	return true;
}

/* Notes that it has got the number `out`; 0: there was no memory for it. */
static int note(struct transcoder *t, uint32_t **numbers, size_t *n, uint32_t *id, uint32_t out)
{
	if (!out || !mz_array_room((void **)numbers, n, *id, sizeof(**numbers)))
		return mz_fail_memory(t->err);
	(*numbers)[*id] = out;
	*id = out;
	return 0;
}

/* A string of the input as one of the output; 0 stays 0, and what was lost becomes 0. */
static int map_string(struct transcoder *t, uint32_t *id)
{
	const struct mz_tables *tables = mz_reader_tables(t->in);
	const char *s;
	size_t len;

	if (is_known(t->strings, t->n_strings, id))
		return 0;
	s = mz_tables_get_string(tables, *id, &len);
	if (!s) {
		*id = 0;
		return 0;
	}
	return note(t, &t->strings, &t->n_strings, id, mz_writer_string(t->writer, s, len));
}

static int map_site(struct transcoder *t, uint32_t *id)
{
	size_t depth;
	const uint64_t *ips;

	if (is_known(t->sites, t->n_sites, id))
		return 0;
	ips = mz_tables_get_stack(mz_reader_tables(t->in), *id, &depth);
	if (!ips) {
		*id = 0;
		return 0;
	}
	return note(t, &t->sites, &t->n_sites, id, mz_writer_stack(t->writer, ips, depth));
}

static int map_tables(struct transcoder *t, struct mz_event *ev)
{
	if (ev->has & MZ_HAS_SITE && !(t->o.drop & MZ_HAS_SITE) && map_site(t, &ev->site) < 0)
		return -1;
	if (ev->has & MZ_HAS_CACHE && !(t->o.drop & MZ_HAS_CACHE) && map_string(t, &ev->cache) < 0)
		return -1;
	if (ev->kind == MZ_MARK) {
		uint32_t id = (uint32_t)ev->arg;

		if (map_string(t, &id) < 0)
			return -1;
		ev->arg = id;
	}
	return 0;
}

static int put_container(struct transcoder *t, struct mz_event *ev, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((ev[i].has & (MZ_HAS_SITE | MZ_HAS_CACHE) || ev[i].kind == MZ_MARK) &&
		    map_tables(t, &ev[i]) < 0)
			return -1;
	if (mz_writer_put(t->writer, ev, n) < 0) {
		*t->err = *mz_writer_error(t->writer);
		return -1;
	}
	return 0;
}

static int copy_attrs(struct transcoder *t)
{
	size_t n = mz_reader_attrs(t->in);
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++) {
		const struct mz_attr *a = mz_reader_attr(t->in, i);

		if (a->type == MZ_ATTR_NUMBER)
			ret = mz_writer_set_number(t->writer, a->key, a->number);
		else if (a->type == MZ_ATTR_TEXT)
			ret = mz_writer_set_text(t->writer, a->key, a->data);
		else
			ret = mz_writer_set_bytes(t->writer, a->key, a->data, a->size);
	}
	return ret;
}

static int start_container(struct transcoder *t)
{
	struct mz_writer_options o = {
		.best = t->o.best, .overwrite = t->o.overwrite, .drop = t->o.drop, .discard = true};
	int ret = 0;

	t->writer = mz_writer_open(t->o.output ? t->o.output : "-", &o, t->err);
	if (!t->writer)
		return -1;
	/* a kernel's text is known by its lines, which a container does not show */
	if (!mz_reader_find_attr(t->in, "source"))
		ret = mz_writer_set_text(t->writer, "source",
					 t->o.kernel && mz_reader_format(t->in) == MZ_FORMAT_TEXT
						 ? "kmemtrace"
						 : mz_format_name(mz_reader_format(t->in)));
	if (!ret)
		ret = copy_attrs(t);
	return ret < 0 ? mz_fail_memory(t->err) : 0;
}

/* Names that the input brings along. */
static int put_names(struct transcoder *t)
{
	int ret = t->in->names ? mz_names_put(t->in->names, t->writer) : 0;

	return ret < 0 ? mz_fail_memory(t->err) : 0;
}

static int end_container(struct transcoder *t)
{
	struct mz_writer *w = t->writer;
	struct mz_summary s = {.size = sizeof(s)};

	/* what the recorder counted stays; what was read is all there is otherwise */
	if (!mz_reader_summary(t->in, &s) && s.has_produced)
		mz_writer_produced(w, s.produced);
	else
		mz_writer_produced(w, t->counts.events + t->counts.lost);
	/* other formats provide attributes while they are read */
	if (t->in->attrs && copy_attrs(t) < 0)
		return mz_fail_memory(t->err);
	if (put_names(t) < 0)
		return -ENOMEM;
	if (mz_writer_set_files_cut(w, mz_reader_files_cut(t->in)) < 0)
		return mz_fail_memory(t->err);
	t->writer = NULL;
	return mz_writer_close(w, t->err);
}

/* ---- all of it ---------------------------------------------------------- */

static int start(struct transcoder *t)
{
	if (t->o.to == MZ_FORMAT_CONTAINER)
		return start_container(t);
	if (mz_classic_writer_init(&t->classic) < 0)
		return mz_fail_memory(t->err);
	return mz_output_open(&t->out, t->o.output, t->o.overwrite, t->err);
}

static int convert(struct transcoder *t)
{
	struct mz_event ev[MZ_BATCH];
	bool raw = t->o.to == MZ_FORMAT_CLASSIC;
	long n;
	int ret = 0;

	t->in->beside = true;
	do {
		n = raw ? mz_reader_read_raw(t->in, ev, MZ_BATCH)
			: mz_reader_read(t->in, ev, MZ_BATCH);
		for (long i = 0; i < n; i++) {
			bool lost = ev[i].kind == MZ_LOST;

			t->counts.events += !lost;
			t->counts.lost += lost ? ev[i].size : 0;
			t->counts.damaged += lost && ev[i].arg == MZ_LOSS_DAMAGE;
		}
		if (n <= 0)
			break;
		if (t->o.to == MZ_FORMAT_TEXT)
			ret = put_text(t, ev, (size_t)n);
		else if (t->o.to == MZ_FORMAT_CLASSIC)
			ret = put_classic(t, ev, (size_t)n);
		else
			ret = put_container(t, ev, (size_t)n);
		if (t->o.progress)
			t->o.progress(t->o.arg, t->counts.events);
	} while (!ret);
	if (n < 0)
		*t->err = *mz_reader_error(t->in);
	return n < 0 ? -1 : ret;
}

static void clean_up(struct transcoder *t)
{
	if (t->writer)
		mz_writer_abort(t->writer);
	else if (t->o.to != MZ_FORMAT_CONTAINER)
		mz_output_abort(&t->out);
	mz_classic_writer_deinit(&t->classic);
	free(t->sites);
	free(t->strings);
}

int mz_transcode(struct mz_reader *in, const struct mz_transcode_options *o,
		 struct mz_transcode_counts *counts, struct mz_error *err)
{
	struct transcoder t = {.o = *o, .in = in, .out.file.fd = -1, .err = err};
	int ret = 0;

	/* neither keeps the weights */
	if (o->to == MZ_FORMAT_CLASSIC || o->drop & MZ_HAS_FLAGS)
		ret = mz_sampled_refuse(
			in, o->drop & MZ_HAS_FLAGS ? "a trace without flags" : "a classic trace",
			err);
	if (!ret)
		ret = start(&t);
	if (!ret)
		ret = convert(&t);
	if (!ret)
		ret = o->to == MZ_FORMAT_CONTAINER ? end_container(&t)
						   : mz_output_commit(&t.out, err);
	clean_up(&t);
	*counts = t.counts;
	return ret < 0 ? mz_error_code(err) : 0;
}
