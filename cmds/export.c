// SPDX-License-Identifier: BSD-2-Clause
/* Write a recording in the format of another viewer or a database. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cmds/loss_report.h"
#include "cmds/metric.h"
#include "cmds/recording.h"
#include "export/table.h"
#include "trace/sampled.h"

struct export_opts {
	const char *output;
	const char *to;
	const char *metric;
	const char *table;
	const char *symbols;
	bool force;
};

static const char *const formats[] = {"dhat",	     "pprof",	   "collapsed", "heaptrack",
				      "massif",	     "speedscope", "firefox",	"otlp",
				      "openmetrics", "perfetto",   "parquet",	"sqlite",
				      "csv",	     "jsonl",	   NULL};

static const struct mz_opt opts[] = {
	MZ_OPT_WORD_OF(0, "to", "FORMAT", struct export_opts, to, formats,
		       "dhat, pprof, collapsed, heaptrack, massif, speedscope, firefox, otlp, "
		       "openmetrics, "
		       "perfetto, parquet, sqlite, csv or jsonl"),
	MZ_OPT_OUTPUT(struct export_opts, output),
	MZ_OPT_WORD_OF(0, "table", "TABLE", struct export_opts, table, mz_table_names,
		       "parquet, csv, jsonl: events (default), blocks, sites or frames"),
	METRIC_OPT(0, struct export_opts, metric, "value", "collapsed: "),
	RECORDING_SYMBOLS(struct export_opts, symbols),
	MZ_OPT_FORCE(struct export_opts, force),
	{0},
};

struct export_job {
	const struct export_opts *o;
	const struct mz_export_format *format;
	struct mz_export_options how;
	enum mz_table_name table;
	struct mz_recording in;
	struct progress progress;
	uint64_t lost; /* as the events have it, where there is no profile */
	struct mz_output out;
	struct mz_error err;
};

static int find_format(struct export_job *j)
{
	const char *names[16];
	const char *near;
	size_t n = 0;

	if (!j->o->to)
		return console_usage(
			"no format given; use --to dhat, pprof, collapsed, heaptrack, massif, "
			"speedscope, firefox, otlp, openmetrics, perfetto, parquet, sqlite, csv, "
			"jsonl");
	for (const struct mz_export_format *f = mz_export_formats; f->name; f++) {
		if (!strcmp(f->name, j->o->to)) {
			j->format = f;
			return 0;
		}
		names[n++] = f->name;
	}
	near = options_nearest(j->o->to, names, n);
	return console_usage("--to: no format '%s'%s%s%s", j->o->to, near ? "; did you mean " : "",
			     near ? near : "",
			     near ? "?" : "; 'memorizer export --help' lists them");
}

static int find_table(struct export_job *j)
{
	int i = 0;

	if (!j->o->table)
		return 0;
	if (!j->format->table)
		return console_usage("--table applies to parquet, csv and jsonl only, not to %s",
				     j->format->name);
	while (mz_table_names[i] && strcmp(mz_table_names[i], j->o->table))
		i++;
	if (!mz_table_names[i])
		return console_usage("--table takes events, blocks, sites or frames; not '%s'",
				     j->o->table);
	j->table = (enum mz_table_name)i;
	return 0;
}

static int find_metric(struct export_job *j)
{
	if (!j->o->metric)
		return 0;
	j->how.value = metric_find(j->o->metric);
	if (!j->how.value)
		return MZ_EXIT_USAGE;
	if (strcmp(j->format->name, "collapsed"))
		return console_usage("--metric applies to collapsed only; %s contains all values",
				     j->format->name);
	return 0;
}

static int write_profile(struct export_job *j)
{
	const struct mz_profile *p = mz_recording_profile(&j->in, &j->err);

	if (!p)
		return -EIO;
	if (j->how.value && !(p->has & j->how.value->has))
		return mz_fail(&j->err, EINVAL, "%s: it does not contain %s; leave --metric out",
			       j->in.name, j->how.value->title);
	return j->format->profile(p, &j->how, &j->out, &j->err);
}

/* Sums have call sites only. */
static int write_table_of_sums(struct export_job *j)
{
	if (j->table < MZ_TABLE_SITES && j->o->table)
		return mz_fail(
			&j->err, EINVAL,
			"%s: it has sums by call site but no events; use --table sites or frames",
			j->in.name);
	if (j->table < MZ_TABLE_SITES)
		j->table = MZ_TABLE_SITES;
	if (!mz_recording_profile(&j->in, &j->err))
		return -EIO;
	return mz_export_tables(j->format->table, NULL, &j->in.profile, j->table, &j->out, &j->err);
}

static int write_all(struct export_job *j)
{
	struct mz_sampled sampled;
	struct mz_events *events;

	if (j->format->profile)
		return write_profile(j);
	if (!mz_recording_has_events(&j->in) && j->format->events)
		return mz_fail(&j->err, EINVAL,
			       "%s: it has sums by call site but no events, which %s needs; try "
			       "dhat, pprof, or the table sites",
			       j->in.name, j->format->name);
	if (!mz_recording_has_events(&j->in))
		return write_table_of_sums(j);
	events = mz_recording_events(&j->in, &j->err);
	if (!events)
		return -EIO;
	if (j->format->events && mz_events_reader(events) &&
	    mz_sampled_read(mz_events_reader(events), &sampled))
		console_note("%s: blocks were sampled; its figures are estimates", j->in.name);
	if (j->format->events) {
		int ret = j->format->events(events, &j->out, &j->err);

		j->lost = mz_events_lost(events);
		return ret;
	}
	return mz_export_tables(j->format->table, events, &j->in.profile, j->table, &j->out,
				&j->err);
}

static int run(void *options, int argc, char **argv)
{
	static char standard_input[] = "-";
	char *usual[] = {standard_input};
	struct export_job j = {.o = options, .out = {.file.fd = -1}};
	int ret = find_format(&j);

	if (!ret)
		ret = find_table(&j);
	if (!ret)
		ret = find_metric(&j);
	if (ret)
		return ret;
	if (j.format->whole_file && (!j.o->output || !strcmp(j.o->output, "-")))
		return console_usage("%s needs a file; name one with -o FILE", j.format->name);
	if (j.format->binary && !j.o->output && isatty(STDOUT_FILENO))
		return console_usage("%s is binary and is not written to a terminal; use -o FILE",
				     j.format->name);
	ret = recording_open(&j.in, argc ? argv : usual, argc ? argc : 1,
			     &(struct mz_recording_options){.symbols = j.o->symbols}, &j.progress,
			     &j.err);
	if (!ret)
		ret = mz_output_open(&j.out, j.o->output, j.o->force, &j.err);
	if (!ret)
		ret = write_all(&j);
	ret = mz_output_end(&j.out, ret, &j.err);
	progress_end(&j.progress);
	if (!j.lost)
		j.lost = mz_recording_lost(&j.in);
	if (!ret && j.lost) {
		char a[64];

		console_note("%s: %s during recording; every figure is too small", j.in.name,
			     console_lost(a, j.lost));
	}
	if (!ret) {
		sampled_note(j.in.name, j.in.profile.lost_by);
		recording_note_end(&j.in);
	}
	mz_recording_close(&j.in);
	return ret < 0 ? console_error(&j.err) : MZ_EXIT_OK;
}

MZ_CMD(export, "export", struct export_opts, "--to FORMAT [RECORDING|-|DIR|FILES...]",
       "write a recording for another viewer or a database", .reads = true);
