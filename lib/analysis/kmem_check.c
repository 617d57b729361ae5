// SPDX-License-Identifier: BSD-2-Clause
/* Check a kernel trace: the file, and every record in it. */
#include "analysis/kmem_check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/input.h"
#include "formats/kmemtrace.h"
#include "formats/open.h"
#include "trace/event.h"
#include "trace/reader.h"

#define CPUS 1024 /* whose times are compared */

struct kmem_file {
	const char *path;
	unsigned flags;
	struct mz_kmem_check *sum;
	mz_kmem_check_note *note;
	void *arg;
	uint64_t last_time[CPUS];
	int64_t last_sequence;
	bool begun;
};

static void found(struct kmem_file *c, uint64_t offset, uint64_t record, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void found(struct kmem_file *c, uint64_t offset, uint64_t record, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->sum->findings++;
	c->note(c->arg, offset, record, text);
}

/* ---- an event ----------------------------------------------------------- */

static void check_event(struct kmem_file *c, const struct mz_event *e, uint64_t at, bool timed)
{
	unsigned cpu = e->has & MZ_HAS_CPU ? (unsigned)e->cpu : 0;
	uint64_t record;

	if (e->kind == MZ_LOST) {
		c->sum->lost += e->size;
		mz_count_lost(c->sum->lost_by, e);
		return;
	}
	record = ++c->sum->records;
	if (e->kind != MZ_ALLOC && e->kind != MZ_FREE)
		return;
	if ((e->has & MZ_HAS_CPU) && e->cpu < 0)
		found(c, at, record, "CPU %d", e->cpu);
	if (e->kind == MZ_ALLOC && !e->size)
		found(c, at, record, "%s of 0 bytes at 0x%" PRIx64, mz_call_name(e->call), e->addr);
	if (e->kind == MZ_ALLOC && e->addr && (e->has & MZ_HAS_GIVEN) && e->given < e->size)
		found(c, at, record, "%" PRIu64 " bytes given for %" PRIu64 " at 0x%" PRIx64,
		      e->given, e->size, e->addr);
	if (!timed || !(e->has & MZ_HAS_TIME) || cpu >= CPUS)
		return;
	if (e->time < c->last_time[cpu])
		found(c, at, record, "time %" PRIu64 " after %" PRIu64 " on CPU %u", e->time,
		      c->last_time[cpu], cpu);
	c->last_time[cpu] = e->time;
}

/* ---- raw records -------------------------------------------------------- */

/* Sequence numbers have 32 bits and wrap around. */
static void check_sequence(struct kmem_file *c, uint64_t at, int32_t sequence)
{
	int64_t next = c->begun ? c->last_sequence +
					  (int32_t)((uint32_t)sequence - (uint32_t)c->last_sequence)
				: sequence;

	if (c->begun && next <= c->last_sequence)
		found(c, at, c->sum->records, "sequence number %d after %d", sequence,
		      (int32_t)c->last_sequence);
	c->last_sequence = next;
	c->begun = true;
}

/* Skips bytes that are not a record, up to where records begin again. */
static uint64_t skip_bad(struct mz_input *in, const struct mz_kmemtrace_layout *l,
			 struct mz_error *err)
{
	uint64_t skipped = 0;

	while (!mz_input_fill(in, MZ_KMT_RECORD_MAX, err) && mz_input_left(in)) {
		struct mz_kmemtrace_extra x;
		struct mz_event e;
		const char *why;

		if (mz_kmemtrace_get(l, in->pos, mz_input_left(in), &e, &x, &why) > 0 && skipped)
			break;
		in->pos++;
		skipped++;
	}
	return skipped;
}

static int check_raw(struct kmem_file *c, struct mz_input *in, const struct mz_kmemtrace_layout *l,
		     struct mz_error *err)
{
	int ret;

	while (!(ret = mz_input_fill(in, MZ_KMT_RECORD_MAX, err)) && mz_input_left(in)) {
		uint64_t at = mz_input_tell(in), record = c->sum->records + 1;
		struct mz_kmemtrace_extra x;
		struct mz_event e;
		const char *why = "";
		long n = mz_kmemtrace_get(l, in->pos, mz_input_left(in), &e, &x, &why);

		if (!n) {
			found(c, at, record, "truncated: %zu bytes of a record are left",
			      mz_input_left(in));
			return 0;
		}
		if (n < 0) {
			uint64_t skipped = skip_bad(in, l, err);

			found(c, at, record, "%s; %" PRIu64 " bytes skipped", why, skipped);
			continue;
		}
		check_event(c, &e, at, l->shape != MZ_KMT_C || x.context);
		if (l->shape == MZ_KMT_C)
			check_sequence(c, at, x.sequence);
		in->pos += n;
	}
	return ret;
}

/* ---- containers and the rest -------------------------------------------- */

static void note_container(void *arg, uint64_t offset, const char *text)
{
	found(arg, offset, MZ_KMEM_NO_RECORD, "%s", text);
}

/* The checks of the container itself need to read it a second time. */
static void check_container(struct kmem_file *c, struct mz_error *err)
{
	const char *path = strcmp(c->path, "-") ? c->path : "/dev/stdin";
	struct stat st;

	if (!stat(path, &st) && S_ISREG(st.st_mode))
		mz_verify_file_with(path, c->flags, NULL, note_container, c, err);
}

static int check_events(struct kmem_file *c, struct mz_reader *r, struct mz_error *err)
{
	struct mz_event *ev = malloc(MZ_BATCH * sizeof(*ev));
	long n;

	if (!ev)
		return mz_fail_memory(err);
	if (mz_reader_format(r) == MZ_FORMAT_CONTAINER)
		check_container(c, err);
	while ((n = mz_reader_read_raw(r, ev, MZ_BATCH)) > 0)
		for (long i = 0; i < n; i++)
			check_event(c, &ev[i], r->places[i], true);
	if (n < 0)
		found(c, r->error.has_offset ? r->error.offset : 0, c->sum->records + 1, "%s",
		      r->error.text);
	free(ev);
	return 0;
}

/* Takes over the input: it may be a pipe, which cannot be opened again. */
static int check_reader(struct kmem_file *c, struct mz_input *in, struct mz_error *err)
{
	struct mz_reader *r = mz_reader_open_input(in, err);
	enum mz_recording_kind kind;
	int ret;

	if (!r)
		return -EIO;
	ret = mz_reader_kind(r, &kind, err);
	if (!ret && kind == MZ_RECORDING_KMAP)
		ret = mz_kind_refuse(c->path, kind, err);
	if (!ret)
		ret = check_events(c, r, err);
	mz_reader_close(r);
	return ret;
}

/* ---- a file ------------------------------------------------------------- */

/* Raw records are checked here and not by the reader, so that one fault does not hide the next.
 * Zeros before the first record are a fault too, not another format. */
static bool is_raw(const struct mz_input *in, struct mz_kmemtrace_layout *l)
{
	size_t at = 0, len = mz_input_left(in);

	if (mz_kmemtrace_detect(in->pos, len, l))
		return true;
	while (at < len && !in->pos[at])
		at++;
	for (size_t back = 0; at >= 4 && back < 4; back++)
		if (mz_kmemtrace_detect(in->pos + at - back, len - at + back, l))
			return true;
	return false;
}

int mz_kmem_check_file(const char *path, unsigned flags, struct mz_kmem_check *to,
		       mz_kmem_check_note *note, void *arg, struct mz_error *err)
{
	struct kmem_file c = {.path = path, .flags = flags, .sum = to, .note = note, .arg = arg};
	struct mz_kmemtrace_layout l;
	struct mz_input in;
	int ret;

	*to = (struct mz_kmem_check){0};
	if (mz_input_open(&in, path, err) < 0)
		return -EIO;
	in.budget.large = flags & MZ_OPEN_LARGE;
	if (mz_input_fill(&in, 4096, err) < 0) {
		ret = -EIO;
	} else if (!mz_input_left(&in)) {
		found(&c, 0, MZ_KMEM_NO_RECORD, "the file is empty");
		ret = 0;
	} else if (is_raw(&in, &l)) {
		ret = check_raw(&c, &in, &l, err);
	} else {
		return check_reader(&c, &in, err);
	}
	mz_input_close(&in);
	return ret;
}
