// SPDX-License-Identifier: BSD-2-Clause
/* Convert FreeBSD's kdump of jemalloc's utrace records to a text trace. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/output.h"
#include "cmds/cmd.h"
#include "cmds/convert/logs.h"

struct kdump_opts {
	const char *output;
	uint64_t pid;
	bool split;
	bool fields;
	bool strict;
	bool force;
};

static const struct mz_opt opts[] = {
	MZ_OPT('o', "output", "OUT", MZ_OPT_STR, struct kdump_opts, output,
	       "write to OUT (default: standard output); with --split, to OUT.PID.trace"),
	MZ_OPT('p', "pid", "PID", MZ_OPT_U64, struct kdump_opts, pid,
	       "only the events of this process"),
	MZ_SWITCH(0, "split", struct kdump_opts, split, "one file per process"),
	LOGS_OPT_TIMES(struct kdump_opts, fields,
		       "add process, thread and time to each line, where kdump shows them"),
	MZ_SWITCH(0, "strict", struct kdump_opts, strict,
		  "exit with status 3 if the log is incomplete"),
	MZ_SWITCH('f', "force", struct kdump_opts, force, "replace existing files"),
	{0},
};

/* With --split each process has a file; no more than these are kept open. */
#define MAX_PROCESSES 4096

struct process {
	uint32_t pid;
	uint64_t events;
	struct mz_output out;
};

struct kdump_job {
	const struct kdump_opts *o;
	struct mz_input in;
	struct mz_log log;
	struct mz_output out; /* without --split */
	struct process *procs;
	size_t count;
	size_t last; /* of procs: the one of the last event */
	uint64_t written;
	struct mz_error err;
};

static int open_split(struct kdump_job *j, struct process *p)
{
	struct mz_buf name = {0};
	int ret;

	mz_buf_printf(&name, "%s.%u.trace", j->o->output, p->pid);
	if (name.failed)
		ret = mz_fail_memory(&j->err);
	else
		ret = mz_output_open(&p->out, name.data, j->o->force, &j->err);
	mz_buf_free(&name);
	return ret;
}

static struct process *add_process(struct kdump_job *j, uint32_t pid)
{
	struct process *procs;

	if (j->count == MAX_PROCESSES) {
		mz_fail_line(&j->err, E2BIG, j->log.line,
			     "%s: line %llu: more than %u processes; choose one with --pid",
			     j->in.name, (unsigned long long)j->log.line, MAX_PROCESSES);
		return NULL;
	}
	procs = realloc(j->procs, (j->count + 1) * sizeof(*procs));
	if (!procs) {
		mz_fail_memory(&j->err);
		return NULL;
	}
	j->procs = procs;
	procs[j->count] = (struct process){.pid = pid, .out.file.fd = -1};
	if (j->o->split && open_split(j, &procs[j->count]) < 0)
		return NULL;
	return &procs[j->last = j->count++];
}

/* Events of one process are mostly adjacent, and processes are few. */
static struct process *find_process(struct kdump_job *j, uint32_t pid)
{
	if (j->count && j->procs[j->last].pid == pid)
		return &j->procs[j->last];
	for (size_t i = 0; i < j->count; i++)
		if (j->procs[i].pid == pid)
			return &j->procs[j->last = i];
	return add_process(j, pid);
}

static int write_event(struct kdump_job *j, const struct mz_event *ev, struct mz_output *out)
{
	char *p = mz_output_room(out, MZ_LOG_LINE_MAX, &j->err);
	size_t n;

	if (!p)
		return -j->err.code;
	n = mz_kdump_format(p, ev, j->o->fields);
	p[n] = '\n';
	out->len += n + 1;
	j->written++;
	return 0;
}

/* Addresses of different processes refer to different blocks, so one trace cannot hold them all;
 * which processes there are is known only at the end. */
static int too_many(struct kdump_job *j)
{
	struct mz_buf list = {0};
	int ret;

	for (size_t i = 0; i < j->count && i < 12; i++)
		mz_buf_printf(&list, "%s%u (%llu)", i ? ", " : "", j->procs[i].pid,
			      (unsigned long long)j->procs[i].events);
	if (j->count > 12)
		mz_buf_str(&list, ", ...");
	if (list.failed)
		ret = mz_fail_memory(&j->err);
	else
		ret = mz_fail(&j->err, EINVAL,
			      "%s: events of %zu processes: %s; choose one with --pid, or write "
			      "one file each with --split",
			      j->in.name, j->count, list.data);
	mz_buf_free(&list);
	return ret;
}

static int convert(struct kdump_job *j)
{
	struct mz_event ev;
	int ret;

	while ((ret = mz_log_next(&j->log, &ev, &j->err)) > 0) {
		struct process *p;

		if (j->o->pid && ev.pid != j->o->pid)
			continue;
		p = find_process(j, ev.pid);
		if (!p)
			return -1;
		p->events++;
		if (j->o->split)
			ret = write_event(j, &ev, &p->out);
		else if (j->count == 1)
			ret = write_event(j, &ev, &j->out);
		if (ret < 0)
			return ret;
	}
	if (!ret && !j->o->split && j->count > 1)
		return too_many(j);
	if (!ret && j->o->pid && !j->count)
		return mz_fail(&j->err, ESRCH, "%s: no events of process %llu", j->in.name,
			       (unsigned long long)j->o->pid);
	return ret;
}

static int commit(struct kdump_job *j)
{
	if (!j->o->split)
		return mz_output_commit(&j->out, &j->err);
	for (size_t i = 0; i < j->count; i++) {
		struct process *p = &j->procs[i];

		if (mz_output_commit(&p->out, &j->err) < 0)
			return -1;
		console_note("%s.%u.trace: %llu events", j->o->output, p->pid,
			     (unsigned long long)p->events);
	}
	return 0;
}

static void allow_many_files(void)
{
	struct rlimit lim;

	if (!getrlimit(RLIMIT_NOFILE, &lim) && lim.rlim_cur < lim.rlim_max) {
		lim.rlim_cur =
			lim.rlim_max < MAX_PROCESSES + 64 ? lim.rlim_max : MAX_PROCESSES + 64;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
}

static int check_usage(const struct kdump_opts *o, int argc, char **argv)
{
	if (argc > 1)
		return console_usage("one input only; '%s' is one too many", argv[1]);
	if (o->split && (!o->output || !strcmp(o->output, "-")))
		return console_usage("--split needs -o PREFIX: the files are PREFIX.PID.trace");
	if (o->split && o->pid)
		return console_usage("--pid takes one process, --split all; choose one");
	if (o->pid > UINT32_MAX)
		return console_usage("--pid takes a process number");
	return MZ_EXIT_OK;
}

static int run(void *options, int argc, char **argv)
{
	struct kdump_job j = {.o = options, .log.in = &j.in, .out.file.fd = -1};
	int ret = check_usage(j.o, argc, argv);

	if (ret)
		return ret;
	if (j.o->split)
		allow_many_files();
	if (mz_input_open(&j.in, argc ? argv[0] : "-", &j.err) < 0)
		return console_error(&j.err);
	if ((!j.o->split && mz_output_open(&j.out, j.o->output, j.o->force, &j.err) < 0) ||
	    convert(&j) < 0 || commit(&j) < 0)
		ret = console_error(&j.err);
	else
		ret = logs_report(&j.log, j.o->strict);
	mz_output_abort(&j.out);
	for (size_t i = 0; i < j.count; i++)
		mz_output_abort(&j.procs[i].out);
	free(j.procs);
	mz_input_close(&j.in);
	return ret;
}

static const char *const aliases[] = {"kdump2trace", "kdump2trace.sh", NULL};

MZ_CMD(kdump2trace, "kdump2trace", struct kdump_opts, "[INPUT|-]",
       "convert FreeBSD's kdump of malloc's utrace records to a text trace", .aliases = aliases,
       .reads = true);
