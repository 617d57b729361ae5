// SPDX-License-Identifier: BSD-2-Clause
/* Print the events of a trace, or a selection of them, as text. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/events.h"
#include "base/error.h"
#include "base/json.h"
#include "base/output.h"
#include "cmds/loss_report.h"
#include "cmds/recording.h"
#include "formats/text.h"
#include "trace/event.h"

struct cat_opts {
	struct mz_time_range time;
	const char *cpu;
	const char *tid;
	uint64_t object;
	struct mz_opt_limit limit;
	bool strict;
	bool json;
};

static const struct mz_opt opts[] = {
	MZ_OPT_TIME(0, struct cat_opts, time),
	MZ_OPT(0, "object", "N", MZ_OPT_U64, struct cat_opts, object, "events of block N"),
	MZ_OPT(0, "cpu", "N", MZ_OPT_STR, struct cat_opts, cpu, "events of CPU N"),
	MZ_OPT(0, "tid", "N", MZ_OPT_STR, struct cat_opts, tid, "events of thread N"),
	MZ_OPT_ROWS(0, struct cat_opts, limit, "stop after N events; 0 = all (the default)"),
	MZ_OPT_STRICT(struct cat_opts, strict, "events are lost or damaged"),
	MZ_SWITCH(0, "json", struct cat_opts, json, "one JSON object per line"),
	{0},
};

static bool to_number(const char *s, char end, uint64_t *v, const char **rest)
{
	char *stop;

	errno = 0;
	*v = strtoull(s, &stop, 10);
	*rest = stop;
	return *s >= '0' && *s <= '9' && !errno && *stop == end;
}

static int parse_select(const struct cat_opts *o, struct mz_select *s)
{
	const char *rest;
	uint64_t v;

	s->object = o->object;
	if (o->cpu) {
		if (!to_number(o->cpu, '\0', &v, &rest) || v > INT16_MAX)
			return console_usage("--cpu takes a number, not '%s'", o->cpu);
		s->cpu = (int)v;
		s->has_cpu = true;
	}
	if (o->tid) {
		if (!to_number(o->tid, '\0', &v, &rest) || v > UINT32_MAX)
			return console_usage("--tid takes a number, not '%s'", o->tid);
		s->tid = (uint32_t)v;
		s->has_tid = true;
	}
	return 0;
}

static void put_json(struct mz_buf *b, const struct mz_event *ev, const struct mz_tables *tables)
{
	struct mz_json j = {.out = b, .flat = true};
	size_t depth;
	const uint64_t *ip = mz_tables_get_stack(tables, ev->site, &depth);
	const char *s;

	mz_json_object(&j, NULL);
	mz_json_str(&j, "kind", mz_kind_name(ev->kind));
	mz_json_str(&j, "call", mz_call_name(ev->call));
	if (ev->has & MZ_HAS_TIME)
		mz_json_u64(&j, "time", ev->time);
	if (ev->has & MZ_HAS_CPU)
		mz_json_i64(&j, "cpu", ev->cpu);
	if (ev->has & MZ_HAS_NODE)
		mz_json_i64(&j, "node", ev->node);
	if (ev->has & MZ_HAS_PID)
		mz_json_u64(&j, "pid", ev->pid);
	if (ev->has & MZ_HAS_TID)
		mz_json_u64(&j, "tid", ev->tid);
	if (ev->object)
		mz_json_u64(&j, "object", ev->object);
	if (ev->old_object)
		mz_json_u64(&j, "old_object", ev->old_object);
	if (ev->has & MZ_HAS_ADDR)
		mz_json_hex(&j, "addr", ev->addr);
	if (ev->has & MZ_HAS_ADDR && ev->kind == MZ_REALLOC)
		mz_json_hex(&j, "old_addr", ev->old_addr);
	mz_json_u64(&j, "size", ev->size);
	if (ev->kind == MZ_LOST)
		mz_json_str(&j, "cause", mz_loss_name(ev->arg < MZ_LOSSES ? ev->arg : 0));
	else if (ev->kind == MZ_MARK &&
		 (s = mz_tables_get_string(tables, (uint32_t)ev->arg, &depth)))
		mz_json_strn(&j, "text", s, depth);
	else if (ev->arg)
		mz_json_u64(&j, "arg", ev->arg);
	if (ev->has & MZ_HAS_GIVEN)
		mz_json_u64(&j, "given", ev->given);
	if (ev->has & MZ_HAS_FLAGS)
		mz_json_hex(&j, "flags", ev->flags);
	if (ev->has & MZ_HAS_CACHE && (s = mz_tables_get_string(tables, ev->cache, &depth)))
		mz_json_strn(&j, "cache", s, depth);
	if (ev->has & MZ_HAS_SITE && ip) {
		mz_tables_get_stack(tables, ev->site, &depth);
		mz_json_array(&j, "stack");
		for (size_t i = 0; i < depth; i++)
			mz_json_hex(&j, NULL, ip[i]);
		mz_json_end_array(&j);
	}
	mz_json_end_object(&j);
}

struct cat_job {
	const struct cat_opts *o;
	struct mz_select select;
	struct mz_reader *in;	  /* one file, or */
	struct mz_recording many; /* a kernel's folder, */
	struct mz_events *events; /* which is read as these */
	struct mz_output out;
	struct mz_buf line;
	struct mz_error err;
	uint64_t shown, lost;
};

static int show(struct cat_job *j, const struct mz_event *ev)
{
	const struct mz_tables *tables =
		j->in ? mz_reader_tables(j->in) : mz_events_tables(j->events);
	char *p;
	size_t len;

	if (j->o->json) {
		j->line.len = 0;
		put_json(&j->line, ev, tables);
		if (j->line.failed)
			return mz_fail_memory(&j->err);
		return mz_output_add(&j->out, j->line.data, j->line.len, &j->err);
	}
	p = mz_output_room(&j->out, mz_text_room(ev, tables), &j->err);
	if (!p)
		return -1;
	len = mz_text_format(p, ev, tables, true);
	p[len] = '\n';
	j->out.len += len + 1;
	return 0;
}

/* The next events: how many, 0 at the end, below 0 with an error. */
static long get(struct cat_job *j, struct mz_event ev[MZ_BATCH])
{
	long n;

	if (j->events)
		return mz_events_next(j->events, ev, &j->err);
	n = mz_reader_read(j->in, ev, MZ_BATCH);
	if (n < 0)
		j->err = *mz_reader_error(j->in);
	return n;
}

static bool by_start(const struct mz_time_range *t)
{
	return (t->from && !t->from_clock) || (t->to && !t->to_clock);
}

static void select_time(struct cat_job *j, uint64_t start)
{
	struct mz_time_range at = mz_time_range_at(&j->o->time, start);

	j->select.time_from = at.from;
	j->select.time_to = at.to;
}

/* A container's index says when it starts; otherwise the first event with a time does, and it has
 * to be read before anything can be selected by time. */
static bool select_early(struct cat_job *j)
{
	struct mz_summary s = {.size = sizeof(s)};
	bool known = !by_start(&j->o->time) || (j->in && !mz_reader_summary(j->in, &s));

	if (known) {
		select_time(j, s.first_time);
		if (j->in)
			mz_reader_select(j->in, &j->select);
	}
	return known;
}

static int show_all(struct cat_job *j)
{
	struct mz_event ev[MZ_BATCH];
	bool known = select_early(j);
	long n;

	while ((n = get(j, ev)) > 0) {
		for (long i = 0; i < n; i++) {
			if (!known && ev[i].has & MZ_HAS_TIME) {
				select_time(j, ev[i].time);
				known = true;
			}
			if (!mz_select_takes(&j->select, &ev[i]))
				continue;
			j->lost += ev[i].kind == MZ_LOST;
			if (show(j, &ev[i]) < 0)
				return -1;
			if (++j->shown == j->o->limit.n)
				return 0;
		}
	}
	return n < 0 ? -1 : 0;
}

/* A folder is read as its files joined by time. 0 or an exit status. */
static int open_input(struct cat_job *j, char *path)
{
	struct mz_recording_options how = {.flags = options_open_flags()};
	int ret = 0;

	if (recording_is_folder(path)) {
		ret = mz_recording_open(&j->many, &path, 1, &how, &j->err);
		j->events = ret ? NULL : mz_recording_events(&j->many, &j->err);
	} else {
		j->in = mz_reader_open_with(path, how.flags, &j->err);
	}
	if (j->in)
		j->in->beside = true;
	return j->in || j->events ? 0 : console_error(&j->err);
}

/* Says what is missing; is something? */
static bool report_missing(struct cat_job *j)
{
	if (j->in)
		return damage_note(j->in, 0);
	recording_note_end(&j->many);
	return mz_recording_early_end(&j->many).files;
}

static int run(void *options, int argc, char **argv)
{
	static char standard_input[] = "-";
	struct cat_job j = {.o = options, .many.in.fd = -1};
	bool damaged = false;
	int ret;

	if (argc > 1)
		return console_usage("one input only; '%s' is one too many", argv[1]);
	ret = parse_select(j.o, &j.select);
	if (ret)
		return ret;
	ret = open_input(&j, argc ? argv[0] : standard_input);
	if (!ret) {
		ret = mz_output_open(&j.out, NULL, false, &j.err);
		if (!ret)
			ret = show_all(&j);
		ret = mz_output_end(&j.out, ret, &j.err);
		/* earlier versions took a bare number as ns */
		if (!ret && !j.shown && by_start(&j.o->time))
			console_note("no event is within --time, which is in seconds from the "
				     "start; for times as they are printed, append ns: "
				     "500ns,2000ns");
		damaged = report_missing(&j);
		ret = ret < 0				   ? console_error(&j.err)
		      : j.o->strict && (damaged || j.lost) ? MZ_EXIT_INCOMPLETE
							   : MZ_EXIT_OK;
	}
	mz_buf_free(&j.line);
	mz_recording_close(&j.many);
	mz_reader_close(j.in);
	return ret;
}

MZ_CMD(cat, "cat", struct cat_opts, "[TRACE|-]",
       "print the events of a trace, or a selection of them", .reads = true);
