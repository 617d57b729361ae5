// SPDX-License-Identifier: BSD-2-Clause
/* Open a trace and determine its format from its content, never from its name. */
#include "formats/open.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formats/classic.h"
#include "formats/heaptrack.h"
#include "formats/kmap.h"
#include "formats/kmemtrace.h"
#include "formats/perf.h"
#include "formats/sums.h"
#include "formats/text.h"
#include "trace/container.h"
#include "trace/event.h"

static const char *const format_names[MZ_FORMATS] = {
	[MZ_FORMAT_UNKNOWN] = "unknown",	 [MZ_FORMAT_TEXT] = "text",
	[MZ_FORMAT_CLASSIC] = "classic",	 [MZ_FORMAT_CONTAINER] = "container",
	[MZ_FORMAT_KMEMTRACE_C] = "kmemtrace-c", [MZ_FORMAT_KMEMTRACE_E] = "kmemtrace-e",
	[MZ_FORMAT_HEAPTRACK] = "heaptrack",	 [MZ_FORMAT_PERF] = "perf script",
};

const char *mz_format_name(enum mz_format format)
{
	return (unsigned)format < MZ_FORMATS ? format_names[format] : NULL;
}

/* The order goes from the most to the least specific signature. */
static const struct mz_reader_ops *trace_ops(const char *data, size_t len)
{
	if (mz_classic_probe(data, len))
		return &mz_classic_reader_ops;
	if (mz_container_probe(data, len))
		return &mz_container_reader_ops;
	if (mz_kmemtrace_probe(data, len))
		return mz_kmemtrace_probe(data, len);
	if (mz_heaptrack_probe(data, len))
		return &mz_heaptrack_reader_ops;
	return mz_perf_probe(data, len) ? &mz_perf_reader_ops : NULL;
}

/* Formats with a signature come before those that are recognized by the form of their lines. */
enum mz_content mz_content_of(const char *data, size_t len, const struct mz_reader_ops **ops)
{
	*ops = trace_ops(data, len);
	if (*ops)
		return MZ_CONTENT_TRACE;
	if (mz_dhat_probe(data, len))
		return MZ_CONTENT_DHAT;
	if (mz_allocinfo_probe(data, len))
		return MZ_CONTENT_ALLOCINFO;
	if (mz_kmap_probe(data, len))
		return MZ_CONTENT_KMAP;
	/* last: any text may be a trace whose first line is wrong, and no text is one without
	 * events, as is written for a trace that has none */
	if (!mz_text_probe(data, len))
		return MZ_CONTENT_UNKNOWN;
	*ops = &mz_text_reader_ops;
	return MZ_CONTENT_TRACE;
}

struct mz_reader *mz_reader_peek(const struct mz_input *in, const struct mz_reader_ops *ops,
				 struct mz_error *err)
{
	size_t left = mz_input_left(in);
	struct mz_input lines;

	return mz_input_memory(&lines, in->pos, left < MZ_CONTENT_PROBE ? left : MZ_CONTENT_PROBE,
			       in->name, err) < 0
		       ? NULL
		       : mz_reader_open_known(&lines, ops, err);
}

/* Text does not say what was recorded, but its first block does: it is looked for in the lines that
 * come next, which are not taken. A wrong line is left to the reader; only a lack of memory must
 * not pass for an answer. */
static int kind_of_text(const struct mz_reader *r, enum mz_recording_kind *kind,
			struct mz_error *err)
{
	struct mz_error why = {0};
	struct mz_reader *peek = mz_reader_peek(&r->in, r->ops, &why);
	struct mz_event ev;

	*kind = MZ_RECORDING_USER;
	while (peek && mz_reader_read_raw(peek, &ev, 1) > 0) {
		if (ev.kind != MZ_ALLOC && ev.kind != MZ_FREE && ev.kind != MZ_REALLOC)
			continue;
		if (mz_call_is_kernel(ev.call))
			*kind = MZ_RECORDING_KERNEL;
		break;
	}
	if (peek && mz_reader_error(peek))
		why = *mz_reader_error(peek);
	mz_reader_close(peek);
	return why.code == ENOMEM ? mz_fail_memory(err) : 0;
}

/* A container says what it was made of. */
static enum mz_recording_kind kind_of_others(const struct mz_reader *r)
{
	const struct mz_attr *source = mz_reader_find_attr(r, "source");
	enum mz_format format = mz_reader_format(r);

	/* of perf's output, the kmem events are read */
	if (format == MZ_FORMAT_KMEMTRACE_C || format == MZ_FORMAT_KMEMTRACE_E ||
	    format == MZ_FORMAT_PERF)
		return MZ_RECORDING_KERNEL;
	if (!source || source->type != MZ_ATTR_TEXT)
		return MZ_RECORDING_USER;
	/* by kmemtraced, or converted from a raw format of kmemtrace */
	if (!strncmp(source->data, "kmemtrace", 9) ||
	    !strcmp(source->data, mz_format_name(MZ_FORMAT_PERF)))
		return MZ_RECORDING_KERNEL;
	return strcmp(source->data, "kmap") ? MZ_RECORDING_USER : MZ_RECORDING_KMAP;
}

int mz_reader_kind(const struct mz_reader *r, enum mz_recording_kind *kind, struct mz_error *err)
{
	if (mz_reader_format(r) == MZ_FORMAT_TEXT)
		return kind_of_text(r, kind, err);
	*kind = kind_of_others(r);
	return 0;
}

int mz_kind_refuse(const char *name, enum mz_recording_kind kind, struct mz_error *err)
{
	static const char *const what[MZ_RECORDING_KINDS] = {
		[MZ_RECORDING_USER] = "a recording of a program; 'memorizer report' reads it",
		[MZ_RECORDING_KERNEL] = "a recording of a kernel; 'memorizer report' reads it",
		[MZ_RECORDING_KMAP] = "a KMAP, which has no events; 'memorizer kmap', 'report', "
				      "'html', 'diff' and 'export' read it",
		[MZ_RECORDING_SUMS] =
			"it contains sums by call site and no events; 'memorizer report', 'diff', "
			"'export', 'merge', 'push' and 'store' read it",
	};

	return mz_fail(err, EINVAL, "%s: %s", name, what[kind]);
}

/* For a file that is not a trace but the input of another verb, the error names that verb. */
static void choose_reader(struct mz_reader *r)
{
	switch (mz_content_of(r->in.pos, mz_input_left(&r->in), &r->ops)) {
	case MZ_CONTENT_TRACE: return;
	case MZ_CONTENT_KMAP: mz_kind_refuse(r->in.name, MZ_RECORDING_KMAP, &r->error); return;
	case MZ_CONTENT_DHAT:
	case MZ_CONTENT_ALLOCINFO: mz_kind_refuse(r->in.name, MZ_RECORDING_SUMS, &r->error); return;
	default:
		mz_fail_offset(&r->error, EINVAL, 0,
			       "%s: byte 0: this is not a trace of any known kind", r->in.name);
	}
}

/* From here on, the reader owns the input, even if opening fails. The error is copied before the
 * reader, which owns it, is closed. */
struct mz_reader *mz_reader_open_input(struct mz_input *in, struct mz_error *err)
{
	return mz_reader_open_known(in, NULL, err);
}

struct mz_reader *mz_reader_open_known(struct mz_input *in, const struct mz_reader_ops *ops,
				       struct mz_error *err)
{
	struct mz_reader *r = calloc(1, sizeof(*r));
	bool opened = false;

	if (!r) {
		mz_fail_memory(err);
		mz_input_close(in);
		errno = ENOMEM;
		return NULL;
	}
	/* compressed input is unpacked before the content is looked at */
	r->in = *in;
	r->tables = mz_tables_new();
	if (r->tables)
		mz_tables_set_budget(r->tables, &r->in.budget);
	if (!r->tables || mz_live_init(&r->live) < 0)
		mz_fail_memory(&r->error);
	else if (ops)
		r->ops = ops;
	else if (!mz_input_unpack(&r->in, &r->error) &&
		 !mz_input_fill(&r->in, MZ_CONTENT_PROBE, &r->error))
		choose_reader(r);
	if (r->ops)
		opened = !r->ops->open || r->ops->open(r) >= 0;
	if (!opened) {
		int code = -mz_reader_check_budget(r);

		if (err)
			*err = r->error;
		mz_reader_close(r);
		errno = code;
		return NULL;
	}
	return r;
}

/* The error was set by whatever opened the input; errno is for callers that gave no err. */
static struct mz_reader *open_or_fail(int ret, struct mz_input *in, unsigned flags,
				      struct mz_error *err)
{
	if (ret < 0) {
		errno = -ret;
		return NULL;
	}
	in->budget.large = flags & MZ_OPEN_LARGE;
	return mz_reader_open_input(in, err);
}

struct mz_reader *mz_reader_open_with(const char *path, unsigned flags, struct mz_error *err)
{
	struct mz_input in;

	if (flags & ~(unsigned)MZ_OPEN_LARGE) {
		errno = -mz_fail_option(err);
		return NULL;
	}
	return open_or_fail(mz_input_open(&in, path, err), &in, flags, err);
}

struct mz_reader *mz_reader_open(const char *path, struct mz_error *err)
{
	return mz_reader_open_with(path, 0, err);
}

struct mz_reader *mz_reader_open_fd(int fd, const char *name, struct mz_error *err)
{
	struct mz_input in;

	return open_or_fail(mz_input_fd(&in, fd, name, err), &in, 0, err);
}

struct mz_reader *mz_reader_open_memory(const void *data, size_t size, const char *name,
					struct mz_error *err)
{
	struct mz_input in;

	return open_or_fail(mz_input_memory(&in, data, size, name, err), &in, 0, err);
}
