// SPDX-License-Identifier: BSD-2-Clause
/* Write the events of another tool's log as text traces, one per process if need be. */
#include "export/log_text.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/output.h"
#include "formats/text.h"

struct log_writer {
	const struct mz_log_text_options *o;
	struct mz_log *log;
	struct mz_output out;	 /* without split */
	struct mz_output *files; /* with split, of each process */
	struct mz_log_processes *procs;
	size_t cap_procs, cap_files;
	size_t last; /* of the processes: that of the last event */
	struct mz_error *err;
};

/* ---- processes ----------------------------------------------------------- */

static int open_file(struct log_writer *w, struct mz_output *out, uint32_t pid)
{
	struct mz_buf name = {0};
	int ret;

	mz_buf_printf(&name, "%s.%u.trace", w->o->output, pid);
	if (name.failed)
		ret = mz_fail_memory(w->err);
	else
		ret = mz_output_open(out, name.data, w->o->overwrite, w->err);
	mz_buf_free(&name);
	return ret;
}

static int add_process(struct log_writer *w, uint32_t pid)
{
	struct mz_log_processes *p = w->procs;

	if (p->n == MZ_LOG_PROCESSES)
		return mz_fail_line(w->err, E2BIG, w->log->line,
				    "%s: line %llu: more than %u processes; choose one with --pid",
				    w->log->in->name, (unsigned long long)w->log->line,
				    MZ_LOG_PROCESSES);
	if (!mz_array_room((void **)&p->v, &w->cap_procs, p->n, sizeof(*p->v)) ||
	    !mz_array_room((void **)&w->files, &w->cap_files, p->n, sizeof(*w->files)))
		return mz_fail_memory(w->err);
	p->v[p->n].pid = pid;
	p->v[p->n].events = 0;
	w->files[p->n] = (struct mz_output){.file.fd = -1};
	w->last = p->n++;
	return w->o->split ? open_file(w, &w->files[w->last], pid) : 0;
}

/* Events of one process are mostly adjacent, and processes are few. */
static int find_process(struct log_writer *w, uint32_t pid)
{
	struct mz_log_processes *p = w->procs;

	if (p->n && p->v[w->last].pid == pid)
		return 0;
	for (size_t i = 0; i < p->n; i++) {
		if (p->v[i].pid != pid)
			continue;
		w->last = i;
		return 0;
	}
	return add_process(w, pid);
}

/* Which processes there are is known only at the end. */
static int too_many(struct log_writer *w)
{
	const struct mz_log_processes *p = w->procs;
	struct mz_buf list = {0};
	int ret;

	for (size_t i = 0; i < p->n && i < 12; i++)
		mz_buf_printf(&list, "%s%u (%llu)", i ? ", " : "", p->v[i].pid,
			      (unsigned long long)p->v[i].events);
	if (p->n > 12)
		mz_buf_str(&list, ", ...");
	if (list.failed)
		ret = mz_fail_memory(w->err);
	else
		ret = mz_fail(w->err, EINVAL,
			      "%s: events of %zu processes: %s; choose one with --pid, or write "
			      "one file each with --split",
			      w->log->in->name, p->n, list.data);
	mz_buf_free(&list);
	return ret;
}

/* ---- events -------------------------------------------------------------- */

static int write_event(struct log_writer *w, struct mz_event *ev, struct mz_output *out)
{
	char *p = mz_output_room(out, MZ_LOG_LINE_MAX, w->err);
	size_t n;

	if (!p)
		return mz_error_code(w->err);
	if (w->log->dtrace) {
		if (!w->o->fields)
			ev->has = MZ_HAS_ADDR;
		n = mz_text_format(p, ev, NULL, false);
	} else {
		n = mz_kdump_format(p, ev, w->o->fields);
	}
	p[n] = '\n';
	out->len += n + 1;
	return 0;
}

static int write_of_process(struct log_writer *w, struct mz_event *ev)
{
	int ret;

	if (w->o->pid && ev->pid != w->o->pid)
		return 0;
	ret = find_process(w, ev->pid);
	if (ret < 0)
		return ret;
	w->procs->v[w->last].events++;
	if (w->o->split)
		return write_event(w, ev, &w->files[w->last]);
	return w->procs->n == 1 ? write_event(w, ev, &w->out) : 0;
}

static int write_all(struct log_writer *w)
{
	struct mz_event ev;
	int ret;

	while ((ret = mz_log_next(w->log, &ev, w->err)) > 0) {
		ret = w->log->dtrace ? write_event(w, &ev, &w->out) : write_of_process(w, &ev);
		if (ret < 0)
			return ret;
	}
	if (!ret && !w->o->split && w->procs->n > 1)
		return too_many(w);
	if (!ret && w->o->pid && !w->procs->n)
		return mz_fail(w->err, ESRCH, "%s: no events of process %llu", w->log->in->name,
			       (unsigned long long)w->o->pid);
	return ret;
}

/* ---- all of it ----------------------------------------------------------- */

static int commit(struct log_writer *w)
{
	struct mz_log_processes *p = w->procs;
	int ret = 0;

	if (!w->o->split)
		return mz_output_commit(&w->out, w->err);
	for (; p->files < p->n && !ret; p->files += !ret)
		ret = mz_output_commit(&w->files[p->files], w->err);
	return ret;
}

int mz_log_write_text(struct mz_log *log, const struct mz_log_text_options *o,
		      struct mz_log_processes *processes, struct mz_error *err)
{
	struct log_writer w = {
		.o = o, .log = log, .out.file.fd = -1, .procs = processes, .err = err};
	int ret = o->split ? 0 : mz_output_open(&w.out, o->output, o->overwrite, err);

	*processes = (struct mz_log_processes){0};
	if (ret >= 0)
		ret = write_all(&w);
	if (ret >= 0)
		ret = commit(&w);
	mz_output_abort(&w.out);
	for (size_t i = 0; i < processes->n; i++)
		mz_output_abort(&w.files[i]);
	free(w.files);
	return ret;
}

void mz_log_processes_deinit(struct mz_log_processes *p)
{
	free(p->v);
	*p = (struct mz_log_processes){0};
}
