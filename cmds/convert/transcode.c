// SPDX-License-Identifier: BSD-2-Clause
/* Read events from any trace format and write them in another. */
#include "cmds/convert/transcode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "cmds/loss_report.h"
#include "cmds/progress.h"
#include "cmds/recording.h"
#include "formats/text.h"
#include "trace/sampled.h"
#include "trace/writer.h"

/* ---- text --------------------------------------------------------------- */

/* A text that says that a name was lost would be read as a name. */
static void leave_out_lost(const struct mz_tables *t, struct mz_event *ev, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (ev[i].has & MZ_HAS_CACHE && mz_tables_lost_string(t, ev[i].cache))
			ev[i].cache = 0;
		if (ev[i].kind == MZ_MARK && mz_tables_lost_string(t, (uint32_t)ev[i].arg))
			ev[i].arg = 0;
	}
}

static int put_text(struct transcode *t, struct mz_event *ev, size_t n)
{
	const struct mz_tables *tables = mz_reader_tables(t->in);

	if (mz_tables_lost_strings(tables))
		leave_out_lost(tables, ev, n);
	for (size_t i = 0; i < n; i++) {
		struct mz_event e = ev[i];
		char *p;
		size_t len;

		if (e.has & t->drop) {
			e.has &= (uint16_t)~t->drop;
			if (t->drop & MZ_HAS_ADDR)
				e.addr = e.old_addr = 0;
		}
		p = mz_output_room(&t->out, mz_text_room(&e, tables), &t->err);
		if (!p)
			return -1;
		len = mz_text_format(p, &e, tables, t->tags);
		p[len] = '\n';
		t->out.len += len + 1;
	}
	return 0;
}

/* ---- classic ------------------------------------------------------------ */

static int cannot_express(struct transcode *t, size_t i, enum mz_classic_fit fit)
{
	char place[40];

	return mz_fail_line(&t->err, EINVAL,
			    t->in->ops->format == MZ_FORMAT_TEXT ? t->in->places[i] : 0,
			    "%s: %s: %s, which the classic format cannot express; "
			    "--skip-unmatched leaves such events out",
			    t->in->in.name, mz_reader_place(t->in, i, place, sizeof(place)),
			    mz_classic_reason(fit));
}

/* Many live blocks do not fit into the cache: prefetch their slots. */
#define AHEAD 8

static int put_classic(struct transcode *t, const struct mz_event *ev, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *p = mz_output_room(&t->out, MZ_CLASSIC_MAX, &t->err);
		char *start = p;
		int fit;

		if (!p)
			return -1;
		if (i + AHEAD < n)
			mz_live_prefetch(&t->classic.live, ev[i + AHEAD].addr);
		fit = mz_classic_put(&t->classic, &ev[i], &p);
		if (fit < 0)
			return mz_fail_memory(&t->err);
		if (fit > MZ_CLASSIC_NO_EFFECT && !t->skip_unmatched)
			return cannot_express(t, i, fit);
		t->skipped[fit]++;
		t->out.len += (size_t)(p - start);
	}
	return 0;
}

/* ---- container ---------------------------------------------------------- */

/* A string of the input as one of the output; 0 stays 0, and what was lost becomes 0. */
static int map_string(struct transcode *t, uint32_t *id)
{
	const struct mz_tables *tables = mz_reader_tables(t->in);
	const char *s;
	size_t len;

	if (*id < t->n_strings && t->strings[*id]) {
		*id = t->strings[*id];
		return 0;
	}
	s = mz_tables_get_string(tables, *id, &len);
	if (!s || mz_tables_lost_string(tables, *id)) {
		*id = 0;
		return 0;
	}
	if (!mz_array_room((void **)&t->strings, &t->n_strings, *id, sizeof(*t->strings)))
		return mz_fail_memory(&t->err);
	t->strings[*id] = mz_writer_string(t->writer, s, len);
	*id = t->strings[*id];
	return *id ? 0 : mz_fail_memory(&t->err);
}

static int map_site(struct transcode *t, uint32_t *id)
{
	size_t depth;
	const uint64_t *ips;

	if (*id < t->n_sites && t->sites[*id]) {
		*id = t->sites[*id];
		return 0;
	}
	ips = mz_tables_get_stack(mz_reader_tables(t->in), *id, &depth);
	if (!ips) {
		*id = 0;
		return 0;
	}
	if (!mz_array_room((void **)&t->sites, &t->n_sites, *id, sizeof(*t->sites)))
		return mz_fail_memory(&t->err);
	t->sites[*id] = mz_writer_stack(t->writer, ips, depth);
	*id = t->sites[*id];
	return *id ? 0 : mz_fail_memory(&t->err);
}

static int map_tables(struct transcode *t, struct mz_event *ev)
{
	if (ev->has & MZ_HAS_SITE && !(t->drop & MZ_HAS_SITE) && map_site(t, &ev->site) < 0)
		return -1;
	if (ev->has & MZ_HAS_CACHE && !(t->drop & MZ_HAS_CACHE) && map_string(t, &ev->cache) < 0)
		return -1;
	if (ev->kind == MZ_MARK) {
		uint32_t id = (uint32_t)ev->arg;

		if (map_string(t, &id) < 0)
			return -1;
		ev->arg = id;
	}
	return 0;
}

static int put_container(struct transcode *t, struct mz_event *ev, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((ev[i].has & (MZ_HAS_SITE | MZ_HAS_CACHE) || ev[i].kind == MZ_MARK) &&
		    map_tables(t, &ev[i]) < 0)
			return -1;
	if (mz_writer_put(t->writer, ev, n) < 0) {
		t->err = *mz_writer_error(t->writer);
		return -1;
	}
	return 0;
}

static int copy_attrs(struct transcode *t)
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

static int start_container(struct transcode *t)
{
	struct mz_writer_options o = {
		.best = t->best, .overwrite = t->force, .drop = t->drop, .discard = true};
	int ret = 0;

	t->writer = mz_writer_open(t->output ? t->output : "-", &o, &t->err);
	if (!t->writer)
		return -1;
	/* a kernel's text is known by its lines, which a container does not show */
	if (!mz_reader_find_attr(t->in, "source"))
		ret = mz_writer_set_text(t->writer, "source",
					 t->kernel && mz_reader_format(t->in) == MZ_FORMAT_TEXT
						 ? "kmemtrace"
						 : mz_format_name(mz_reader_format(t->in)));
	if (!ret)
		ret = copy_attrs(t);
	return ret < 0 ? mz_fail_memory(&t->err) : 0;
}

/* Names that the input brings along. */
static int put_names(struct transcode *t)
{
	int ret = t->in->names ? mz_names_put(t->in->names, t->writer) : 0;

	return ret < 0 ? mz_fail_memory(&t->err) : 0;
}

static int end_container(struct transcode *t)
{
	struct mz_writer *w = t->writer;
	struct mz_summary s = {.size = sizeof(s)};

	/* what the recorder counted stays; what was read is all there is otherwise */
	if (!mz_reader_summary(t->in, &s) && s.has_produced)
		mz_writer_produced(w, s.produced);
	else
		mz_writer_produced(w, t->events + t->lost);
	/* other formats provide attributes while they are read */
	if (t->in->attrs && copy_attrs(t) < 0)
		return mz_fail_memory(&t->err);
	if (put_names(t) < 0)
		return -ENOMEM;
	if (mz_writer_set_files_cut(w, mz_reader_files_cut(t->in)) < 0)
		return mz_fail_memory(&t->err);
	t->writer = NULL;
	return mz_writer_close(w, &t->err);
}

/* ---- all of it ---------------------------------------------------------- */

static int start(struct transcode *t)
{
	if (t->to == MZ_FORMAT_CONTAINER)
		return start_container(t);
	if (mz_classic_writer_init(&t->classic) < 0)
		return mz_fail_memory(&t->err);
	return mz_output_open(&t->out, t->output, t->force, &t->err);
}

static int convert(struct transcode *t)
{
	struct mz_event ev[MZ_BATCH];
	bool raw = t->to == MZ_FORMAT_CLASSIC;
	struct progress progress;
	long n;
	int ret = 0;

	t->in->beside = true;
	progress_read(&progress, t->in, !t->output);
	do {
		n = raw ? mz_reader_read_raw(t->in, ev, MZ_BATCH)
			: mz_reader_read(t->in, ev, MZ_BATCH);
		for (long i = 0; i < n; i++) {
			bool lost = ev[i].kind == MZ_LOST;

			t->events += !lost;
			t->lost += lost ? ev[i].size : 0;
			t->damaged += lost && ev[i].arg == MZ_LOSS_DAMAGE;
		}
		if (n <= 0)
			break;
		if (t->to == MZ_FORMAT_TEXT)
			ret = put_text(t, ev, (size_t)n);
		else if (t->to == MZ_FORMAT_CLASSIC)
			ret = put_classic(t, ev, (size_t)n);
		else
			ret = put_container(t, ev, (size_t)n);
		progress_events(&progress, t->events);
	} while (!ret);
	progress_end(&progress);
	if (n < 0)
		t->err = *mz_reader_error(t->in);
	return n < 0 ? -1 : ret;
}

bool transcode_report_damage(struct mz_reader *r, uint64_t lost_to_damage)
{
	struct mz_early_end end = mz_reader_early_end(r);
	struct mz_summary s = {.size = sizeof(s)};

	early_end_note(r->in.name, &end);
	if (mz_reader_summary(r, &s))
		return end.files || lost_to_damage;
	if (s.damaged)
		console_note("%s: damaged in %llu place%s, left out here; 'memorizer verify' shows "
			     "what is damaged",
			     r->in.name, (unsigned long long)s.damaged, s.damaged == 1 ? "" : "s");
	return end.files || s.damaged || lost_to_damage;
}

static int report(const struct transcode *t)
{
	struct mz_unmatched u = mz_reader_unmatched(t->in);
	bool damaged = transcode_report_damage(t->in, t->damaged);

	lost_tables_note(t->in->in.name, mz_reader_tables(t->in));
	if (t->in->junk)
		console_note("%s: %llu lines end in unknown text, which was left out",
			     t->in->in.name, (unsigned long long)t->in->junk);
	for (int i = MZ_CLASSIC_NO_EFFECT; i < MZ_CLASSIC_FIT_KINDS; i++) {
		if (!t->skipped[i])
			continue;
		console_note("left out: %llu of %llu events: %s", (unsigned long long)t->skipped[i],
			     (unsigned long long)t->events,
			     i == MZ_CLASSIC_NO_EFFECT ? "without effect (free(NULL), failed calls)"
						       : mz_classic_reason(i));
	}
	if (t->to != MZ_FORMAT_CLASSIC && (u.unknown_frees || u.over_live))
		console_note(
			"%llu frees or reallocs of unknown blocks, %llu allocations at live blocks",
			(unsigned long long)u.unknown_frees, (unsigned long long)u.over_live);
	return t->strict && (damaged || t->lost) ? MZ_EXIT_INCOMPLETE : MZ_EXIT_OK;
}

static void clean_up(struct transcode *t)
{
	if (t->writer)
		mz_writer_abort(t->writer);
	else if (t->to != MZ_FORMAT_CONTAINER)
		mz_output_abort(&t->out);
	mz_classic_writer_deinit(&t->classic);
	free(t->sites);
	free(t->strings);
}

int transcode_terminal(bool text, const char *output)
{
	if (text || output || !isatty(STDOUT_FILENO))
		return 0;
	return console_usage(
		"a compact trace is binary and is not written to a terminal; use -o FILE");
}

static int transcode(struct transcode *t)
{
	int ret = 0;

	t->out.file.fd = -1;
	/* neither keeps the weights */
	if (t->to == MZ_FORMAT_CLASSIC || t->drop & MZ_HAS_FLAGS)
		ret = mz_sampled_refuse(
			t->in, t->drop & MZ_HAS_FLAGS ? "a trace without flags" : "a classic trace",
			&t->err);
	if (!ret)
		ret = start(t);
	if (!ret)
		ret = convert(t);
	if (!ret)
		ret = t->to == MZ_FORMAT_CONTAINER ? end_container(t)
						   : mz_output_commit(&t->out, &t->err);
	ret = ret < 0 ? console_error(&t->err) : report(t);
	clean_up(t);
	return ret;
}

int transcode_run(struct transcode *t, const char *input)
{
	struct mz_recording r;
	int ret;

	t->in = t->opened;
	if (t->in)
		return transcode(t);
	ret = transcode_terminal(t->to == MZ_FORMAT_TEXT, t->output);
	if (ret)
		return ret;
	t->in = recording_trace(&r, input, &t->err);
	t->kernel = r.kind == MZ_RECORDING_KERNEL;
	ret = t->in ? transcode(t) : console_error(&t->err);
	mz_recording_close(&r);
	return ret;
}

/* ---- fields by name ----------------------------------------------------- */

static const struct {
	const char *name;
	uint32_t field;
} fields[] = {
	{"addresses", MZ_HAS_ADDR}, {"times", MZ_HAS_TIME},  {"cpus", MZ_HAS_CPU},
	{"nodes", MZ_HAS_NODE},	    {"pids", MZ_HAS_PID},    {"tids", MZ_HAS_TID},
	{"given", MZ_HAS_GIVEN},    {"flags", MZ_HAS_FLAGS}, {"stacks", MZ_HAS_SITE},
	{"caches", MZ_HAS_CACHE},
};

int transcode_drop(const char *list, uint32_t *drop)
{
	*drop = 0;
	while (list && *list) {
		size_t len = strcspn(list, ","), i, n = sizeof(fields) / sizeof(*fields);

		for (i = 0; i < n; i++)
			if (strlen(fields[i].name) == len && !strncmp(fields[i].name, list, len))
				break;
		if (i == n)
			return console_usage(
				"--without takes addresses, times, cpus, nodes, pids, tids, given, "
				"flags, stacks, caches, separated by commas; not '%.*s'",
				(int)len, list);
		*drop |= fields[i].field;
		list += len + (list[len] == ',');
	}
	return 0;
}
