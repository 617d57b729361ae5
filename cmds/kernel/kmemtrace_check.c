// SPDX-License-Identifier: BSD-2-Clause
/* Check kernel traces: the file, and every record in it. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/input.h"
#include "base/json.h"
#include "cmds/cmd.h"
#include "cmds/loss_report.h"
#include "cmds/recording.h"
#include "formats/kmemtrace.h"
#include "formats/open.h"
#include "trace/event.h"
#include "trace/reader.h"

struct kmem_check_opts {
	bool quiet;
	bool json;
};

static const struct mz_opt opts[] = {
	MZ_SWITCH('q', "quiet", struct kmem_check_opts, quiet, "print findings only"),
	MZ_SWITCH(0, "json", struct kmem_check_opts, json, "print findings and totals as JSON"),
	{0},
};

struct kmem_check {
	const struct kmem_check_opts *o;
	const char *path;
	struct mz_json json;
	struct mz_buf buf;
	uint64_t records, findings, lost, all_findings;
	uint64_t lost_by[MZ_LOSSES];
	/* of the file in hand */
	uint64_t last_time[1024]; /* by CPU */
	int64_t last_sequence;
	bool begun;
	bool broken; /* it cannot be read on */
};

/* ---- findings ----------------------------------------------------------- */

#define NO_RECORD UINT64_MAX

static void found(struct kmem_check *c, uint64_t offset, uint64_t record, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void found(struct kmem_check *c, uint64_t offset, uint64_t record, const char *fmt, ...)
{
	char text[400], path[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->findings++;
	if (c->o->json) {
		mz_json_object(&c->json, NULL);
		mz_json_u64(&c->json, "offset", offset);
		if (record != NO_RECORD)
			mz_json_u64(&c->json, "event", record);
		mz_json_str(&c->json, "fault", text);
		mz_json_end_object(&c->json);
		return;
	}
	mz_printable(path, sizeof(path), c->path, strlen(c->path));
	if (record == NO_RECORD)
		printf("%s: byte %" PRIu64 ": %s\n", path, offset, text);
	else
		printf("%s: byte %" PRIu64 ", record %" PRIu64 ": %s\n", path, offset, record,
		       text);
}

/* ---- an event ----------------------------------------------------------- */

static void check_event(struct kmem_check *c, const struct mz_event *e, uint64_t at, bool timed)
{
	unsigned cpu = e->has & MZ_HAS_CPU ? (unsigned)e->cpu : 0;

	if (e->kind == MZ_LOST) {
		c->lost += e->size;
		mz_count_lost(c->lost_by, e);
		return;
	}
	c->records++;
	if (e->kind != MZ_ALLOC && e->kind != MZ_FREE)
		return;
	if ((e->has & MZ_HAS_CPU) && e->cpu < 0)
		found(c, at, c->records, "CPU %d", e->cpu);
	if (e->kind == MZ_ALLOC && !e->size)
		found(c, at, c->records, "%s of 0 bytes at 0x%" PRIx64, mz_call_name(e->call),
		      e->addr);
	if (e->kind == MZ_ALLOC && e->addr && (e->has & MZ_HAS_GIVEN) && e->given < e->size)
		found(c, at, c->records, "%" PRIu64 " bytes given for %" PRIu64 " at 0x%" PRIx64,
		      e->given, e->size, e->addr);
	if (!timed || !(e->has & MZ_HAS_TIME) || cpu >= 1024)
		return;
	if (e->time < c->last_time[cpu])
		found(c, at, c->records, "time %" PRIu64 " after %" PRIu64 " on CPU %u", e->time,
		      c->last_time[cpu], cpu);
	c->last_time[cpu] = e->time;
}

/* ---- raw records -------------------------------------------------------- */

static void check_sequence(struct kmem_check *c, uint64_t at, int32_t sequence)
{
	int64_t next = c->begun ? c->last_sequence +
					  (int32_t)((uint32_t)sequence - (uint32_t)c->last_sequence)
				: sequence;

	if (c->begun && next <= c->last_sequence)
		found(c, at, c->records, "sequence number %d after %d", sequence,
		      (int32_t)c->last_sequence);
	c->last_sequence = next;
	c->begun = true;
}

/* Skip bytes that are not a record, up to where records begin again. */
static uint64_t skip_bad(struct mz_input *in, const struct mz_kmemtrace_layout *l,
			 struct mz_error *err)
{
	uint64_t skipped = 0;

	int ret;

	while (!(ret = mz_input_fill(in, MZ_KMT_RECORD_MAX, err)) && mz_input_left(in)) {
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

static int check_raw(struct kmem_check *c, struct mz_input *in, const struct mz_kmemtrace_layout *l,
		     struct mz_error *err)
{
	int ret;

	while (!(ret = mz_input_fill(in, MZ_KMT_RECORD_MAX, err)) && mz_input_left(in)) {
		uint64_t at = mz_input_tell(in);
		struct mz_kmemtrace_extra x;
		struct mz_event e;
		const char *why = "";
		long n = mz_kmemtrace_get(l, in->pos, mz_input_left(in), &e, &x, &why);

		if (!n) {
			found(c, at, c->records + 1, "truncated: %zu bytes of a record are left",
			      mz_input_left(in));
			return 0;
		}
		if (n < 0) {
			uint64_t skipped = skip_bad(in, l, err);

			found(c, at, c->records + 1, "%s; %" PRIu64 " bytes skipped", why, skipped);
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

struct noted {
	struct kmem_check *c;
};

static void note(void *arg, uint64_t offset, const char *text)
{
	struct noted *n = arg;

	found(n->c, offset, NO_RECORD, "%s", text);
}

/* The checks of the container itself need to read it a second time. */
static void check_container(struct kmem_check *c, struct mz_error *err)
{
	const char *path = strcmp(c->path, "-") ? c->path : "/dev/stdin";
	struct noted to = {c};
	struct stat st;

	if (!stat(path, &st) && S_ISREG(st.st_mode))
		mz_verify_file_with(path, options_open_flags(), NULL, note, &to, err);
}

/* Takes over the input: it may be a pipe, which cannot be opened again. */
static int check_reader(struct kmem_check *c, struct mz_input *in, struct mz_error *err)
{
	struct mz_reader *r = mz_reader_open_input(in, err);
	enum mz_recording_kind kind;
	struct mz_event *ev;
	long n;
	int ret;

	if (!r)
		return -EIO;
	ret = mz_reader_kind(r, &kind, err);
	if (!ret && kind == MZ_RECORDING_KMAP)
		ret = mz_kind_refuse(c->path, kind, err);
	if (ret < 0) {
		mz_reader_close(r);
		return ret;
	}
	ev = malloc(MZ_BATCH * sizeof(*ev));
	if (!ev) {
		mz_reader_close(r);
		return mz_fail_memory(err);
	}
	if (mz_reader_format(r) == MZ_FORMAT_CONTAINER)
		check_container(c, err);
	while ((n = mz_reader_read_raw(r, ev, MZ_BATCH)) > 0)
		for (long i = 0; i < n; i++)
			check_event(c, &ev[i], r->places[i], true);
	if (n < 0)
		found(c, r->error.has_offset ? r->error.offset : 0, c->records + 1, "%s",
		      r->error.text);
	free(ev);
	mz_reader_close(r);
	return 0;
}

/* ---- a file ------------------------------------------------------------- */

/* Raw records are checked here and not by the reader, so that one fault does not hide the next.
 * Zeros before the first record are a fault too, not another format. */
static bool is_raw(struct mz_input *in, struct mz_kmemtrace_layout *l)
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

static int check_file(struct kmem_check *c, struct mz_error *err)
{
	struct mz_kmemtrace_layout l;
	struct mz_input in;
	int ret;

	if (mz_input_open(&in, c->path, err) < 0)
		return -EIO;
	in.budget.large = options_open_flags() & MZ_OPEN_LARGE;
	if (mz_input_fill(&in, 4096, err) < 0) {
		ret = -EIO;
	} else if (!mz_input_left(&in)) {
		found(c, 0, NO_RECORD, "the file is empty");
		ret = 0;
	} else if (is_raw(&in, &l)) {
		ret = check_raw(c, &in, &l, err);
	} else {
		return check_reader(c, &in, err);
	}
	mz_input_close(&in);
	return ret;
}

/* A file that cannot be read has no figures: why is the answer. */
static void end_unread(struct kmem_check *c, const struct mz_error *err)
{
	if (c->o->json) {
		mz_json_end_array(&c->json);
		mz_json_bool(&c->json, "good", false);
		mz_json_str(&c->json, "error", err->text);
		mz_json_end_object(&c->json);
	}
	c->all_findings += c->findings;
}

static void end_file(struct kmem_check *c)
{
	char path[300];

	if (c->o->json) {
		mz_json_end_array(&c->json);
		mz_json_bool(&c->json, "good", !c->findings);
		mz_json_u64(&c->json, "events", c->records);
		lost_json(&c->json, "lost", c->lost_by);
		mz_json_end_object(&c->json);
	} else if (!c->o->quiet) {
		printf("%s: %" PRIu64 " records, %" PRIu64 " lost, %" PRIu64 " findings\n",
		       mz_printable(path, sizeof(path), c->path, strlen(c->path)), c->records,
		       c->lost, c->findings);
	}
	c->all_findings += c->findings;
}

/* 0, or MZ_EXIT_FAILED if it cannot be read. */
static int check_one(void *arg, char *path)
{
	struct kmem_check *c = arg;
	struct mz_error err = {0};
	int ret = MZ_EXIT_OK;

	c->path = path;
	c->records = c->findings = c->lost = 0;
	memset(c->lost_by, 0, sizeof(c->lost_by));
	c->begun = false;
	memset(c->last_time, 0, sizeof(c->last_time));
	if (c->o->json) {
		mz_json_object(&c->json, NULL);
		mz_json_str(&c->json, "path", path);
		mz_json_array(&c->json, "faults");
	}
	if (check_file(c, &err) < 0) {
		ret = console_error(&err);
		end_unread(c, &err);
	} else {
		end_file(c);
	}
	return ret;
}

static int run(void *options, int argc, char **argv)
{
	struct kmem_check *c;
	struct stat st;
	bool several = argc > 1 || (argc && !stat(argv[0], &st) && S_ISDIR(st.st_mode));
	int ret = MZ_EXIT_OK;

	if (!argc)
		return console_usage(
			"no files given; for example: kmemtrace_check kmemtrace.data/cpu*.out");
	c = calloc(1, sizeof(*c));
	if (!c)
		return console_fail("out of memory");
	c->o = options;
	c->json.out = &c->buf;
	if (c->o->json && several) {
		mz_json_object(&c->json, NULL);
		mz_json_array(&c->json, "files");
	}
	for (int i = 0; i < argc; i++)
		if (recording_each_file(argv[i], check_one, c))
			ret = MZ_EXIT_FAILED;
	if (c->all_findings)
		ret = MZ_EXIT_FAILED;
	if (c->o->json && several) {
		mz_json_end_array(&c->json);
		mz_json_bool(&c->json, "good", !ret);
		mz_json_end_object(&c->json);
	}
	if (c->o->json)
		printf("%.*s\n", (int)c->buf.len, c->buf.data ? c->buf.data : "");
	mz_buf_free(&c->buf);
	free(c);
	return ret;
}

static const char *const aliases[] = {"kmemtrace_check", NULL};

MZ_CMD(kmemtrace_check, "kmemtrace_check", struct kmem_check_opts, "DIR|FILES...",
       "check kernel traces and raw kmemtrace files", .aliases = aliases, .reads = true,
       .prints = true);
