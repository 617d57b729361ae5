// SPDX-License-Identifier: BSD-2-Clause
/* Copy a trace line by line and append a note to each line. */
#include "cmds/lifetimes/annotate.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "cmds/loss_report.h"
#include "cmds/recording.h"
#include "trace/sampled.h"

/* The column of the notes, as in the originals. */
#define NOTE_COLUMN 49
#define SHOW_EVERY  4096 /* lines */

static int write_line(struct annotator *a, const char *line, size_t len, const char *note,
		      size_t note_len)
{
	char *p;

	if (len > MZ_OUTPUT_ROOM / 2) {
		if (mz_output_add(&a->out, line, len, &a->err) < 0)
			return -1;
		line += len;
		len = 0;
	}
	p = mz_output_room(&a->out, len + NOTE_COLUMN + note_len + 8, &a->err);
	if (!p)
		return -1;
	memcpy(p, line, len);
	if (note_len) {
		if (len < NOTE_COLUMN) {
			memset(p + len, ' ', NOTE_COLUMN - len);
			len = NOTE_COLUMN;
		}
		memcpy(p + len, " # ", 3);
		memcpy(p + len + 3, note, note_len);
		len += 3 + note_len;
	}
	p[len++] = '\n';
	a->out.len += len;
	return 0;
}

static int write_json(struct annotator *a, const char *line, size_t len, const char *note,
		      size_t note_len)
{
	struct mz_buf b = {0};
	struct mz_json j = {.out = &b, .comma = false};
	int ret;

	mz_buf_printf(&b, "{\"line\": %" PRIu64 ", ", a->lines);
	mz_json_strn(&j, "event", line, len);
	if (note_len) {
		mz_buf_str(&b, ", ");
		mz_buf_add(&b, note, note_len);
	}
	mz_buf_str(&b, "}\n");
	ret = b.failed ? mz_fail_memory(&a->err) : mz_output_add(&a->out, b.data, b.len, &a->err);
	mz_buf_free(&b);
	return ret < 0 ? -1 : 0;
}

static int take_event(struct annotator *a, struct mz_event *ev, const struct mz_text_line *info,
		      const char *line, size_t len)
{
	char note[ANNOTATE_NOTE_MAX];
	int n;

	/* marks may come before the first block, which would start it */
	if (!a->state && a->ops->start(a, false) < 0)
		return -1;
	n = a->ops->event(a, ev, info, a->lines, a->opts->summary ? NULL : note);
	if (n == -ENOMEM)
		mz_fail_memory(&a->err);
	if (n < 0)
		return -1;
	if (a->opts->summary)
		return 0;
	if (a->opts->json)
		return write_json(a, line, len, note, (size_t)n);
	return write_line(a, line, len, note, (size_t)n);
}

static size_t trimmed(const char *line, size_t len)
{
	while (len && (line[len - 1] == ' ' || (line[len - 1] >= '\t' && line[len - 1] <= '\r')))
		len--;
	return len;
}

static int at_line(struct annotator *a, const struct mz_error *why)
{
	mz_text_fail(&a->err, why, a->in->in.name, a->lines);
	return -1;
}

/* Blocks are named by address or by tag, in the same way throughout the trace. */
static int name_blocks(struct annotator *a, struct mz_event *ev, const struct mz_text_line *info,
		       int *by_tag)
{
	int tag = !(ev->has & MZ_HAS_ADDR);

	if (ev->kind > MZ_ACCESS)
		return 0;
	if (*by_tag < 0 && !a->state && a->ops->start(a, tag) < 0)
		return -1;
	if (*by_tag >= 0 && *by_tag != tag) {
		struct mz_error why = {0};

		mz_fail(&why, EINVAL,
			"some blocks of the trace have an address, and some have none");
		return at_line(a, &why);
	}
	*by_tag = tag;
	if (tag) {
		ev->object = info->tag;
		ev->old_object = info->old_tag;
	}
	return 0;
}

/* A text trace: its own lines are annotated, including comments. */
static int annotate_text(struct annotator *a)
{
	bool silent = a->opts->summary || a->opts->json;
	struct mz_text_line info;
	struct mz_event ev;
	struct mz_error why;
	int by_tag = -1;
	int ret;

	why.code = 0;
	while ((ret = mz_text_next(&a->in->in, a->in->tables, &ev, &info, &why)) > 0) {
		size_t len = trimmed(info.line, info.len);

		if (++a->lines % SHOW_EVERY == 0)
			progress_show(&a->progress, -1, a->lines, "lines");
		if (ret == MZ_TEXT_NO_EVENT) {
			if (!silent && write_line(a, info.line, len, NULL, 0) < 0)
				return -1;
			continue;
		}
		if (name_blocks(a, &ev, &info, &by_tag) < 0 ||
		    take_event(a, &ev, &info, info.line, len) < 0)
			return -1;
	}
	if (ret < 0) {
		a->lines++;
		return at_line(a, &why);
	}
	return a->state ? 0 : a->ops->start(a, false);
}

/* Any other trace: the lines are those of its text form. */
static int annotate_binary(struct annotator *a)
{
	const struct mz_tables *tables = mz_reader_tables(a->in);
	static const struct mz_text_line no_line;
	struct mz_event ev[64];
	struct mz_buf line = {0};
	bool started = false;
	long n;
	int ret = 0;

	a->in->beside = true;
	while (!ret && (n = mz_reader_read(a->in, ev, 64)) > 0) {
		if (!started && a->ops->start(a, true) < 0)
			ret = -1;
		started = true;
		for (long i = 0; i < n && !ret; i++) {
			line.len = 0;
			if (!mz_buf_room(&line, mz_text_room(&ev[i], tables))) {
				ret = mz_fail_memory(&a->err);
				break;
			}
			line.len = mz_text_format(line.data, &ev[i], tables, true);
			a->lines++;
			ret = take_event(a, &ev[i], &no_line, line.data, line.len);
		}
		progress_events(&a->progress, a->lines);
	}
	mz_buf_free(&line);
	if (!ret && n < 0) {
		a->err = *mz_reader_error(a->in);
		return -1;
	}
	if (!ret && !started)
		ret = a->ops->start(a, true);
	return ret;
}

static int print_summary(struct annotator *a)
{
	struct mz_buf b = {0};
	struct mz_json j = {.out = &b};
	int ret;

	if (a->opts->json) {
		mz_json_object(&j, NULL);
		a->ops->summary_json(a, &j);
		mz_json_end_object(&j);
	} else {
		a->ops->summary_text(a, &b);
	}
	ret = b.failed ? mz_fail_memory(&a->err) : mz_output_add(&a->out, b.data, b.len, &a->err);
	mz_buf_free(&b);
	return ret;
}

static void print_remarks(struct annotator *a)
{
	struct mz_early_end end = mz_reader_early_end(a->in);
	struct mz_buf b = {0};

	a->ops->remarks(a, &b);
	if (b.len && !b.failed)
		console_note("%.*s", (int)b.len, b.data);
	early_end_note(a->in->in.name, &end);
	mz_buf_free(&b);
}

static int annotate(struct annotator *a)
{
	int ret = mz_output_open(&a->out, a->opts->output, a->opts->force, &a->err);

	progress_read(&a->progress, a->in, !a->opts->output && !a->opts->summary);
	if (!ret)
		ret = mz_reader_format(a->in) == MZ_FORMAT_TEXT ? annotate_text(a)
								: annotate_binary(a);
	progress_end(&a->progress);
	if (!ret && a->opts->summary)
		ret = print_summary(a);
	if (!ret)
		ret = mz_output_commit(&a->out, &a->err);
	if (ret < 0) {
		mz_output_abort(&a->out);
		console_error(&a->err);
	} else {
		print_remarks(a);
	}
	return ret < 0 ? MZ_EXIT_FAILED : MZ_EXIT_OK;
}

int annotate_run(const struct annotate_opts *opts, const struct annotate_ops *ops, int argc,
		 char **argv)
{
	struct annotator a = {.opts = opts, .ops = ops};
	struct mz_recording r;
	int ret;

	if (argc > 1)
		return console_usage("expected one input; '%s' is one too many", argv[1]);
	a.in = recording_trace(&r, argc ? argv[0] : "-", &a.err);
	if (!a.in || mz_sampled_refuse(a.in, "a note on every event", &a.err)) {
		mz_recording_close(&r);
		return console_error(&a.err);
	}
	ret = annotate(&a);
	ops->end(&a);
	mz_recording_close(&r);
	return ret;
}

/* ---- histograms --------------------------------------------------------- */

#define BAR 40

void annotate_histogram_text(struct mz_buf *b, const char *title, const struct mz_histogram *h)
{
	uint64_t most = 1;
	unsigned first = 64, last = 0;

	mz_buf_printf(b, "\n%s\n", title);
	if (!h->count) {
		mz_buf_str(b, "  none\n");
		return;
	}
	mz_buf_printf(b,
		      "  least %" PRIu64 ", median %" PRIu64 ", 90 %% %" PRIu64 ", 99 %% %" PRIu64
		      ", greatest %" PRIu64 ", mean %.1f\n",
		      h->min, mz_histogram_quantile(h, 0.5), mz_histogram_quantile(h, 0.9),
		      mz_histogram_quantile(h, 0.99), h->max, (double)h->sum / (double)h->count);
	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t n = mz_histogram_doubling(h, bit);

		if (n) {
			first = first < bit ? first : bit;
			last = bit;
		}
		most = n > most ? n : most;
	}
	for (unsigned bit = first; bit <= last; bit++) {
		uint64_t n = mz_histogram_doubling(h, bit);
		int bar = (int)((double)n / (double)most * BAR + 0.5);

		mz_buf_printf(b, "  from %20" PRIu64 " %12" PRIu64 " %.*s\n",
			      bit ? (uint64_t)1 << bit : 0, n, n && !bar ? 1 : bar,
			      "########################################");
	}
}

void annotate_histogram_json(struct mz_json *j, const char *key, const struct mz_histogram *h)
{
	static const struct {
		const char *name;
		double share;
	} quantiles[] = {{"p1", .01},  {"p10", .1}, {"p25", .25}, {"p50", .5},
			 {"p75", .75}, {"p90", .9}, {"p99", .99}, {"p999", .999}};

	mz_json_object(j, key);
	mz_json_u64(j, "count", h->count);
	mz_json_u64(j, "sum", h->sum);
	mz_json_u64(j, "min", h->min);
	mz_json_u64(j, "max", h->max);
	for (unsigned i = 0; i < sizeof(quantiles) / sizeof(*quantiles); i++)
		mz_json_u64(j, quantiles[i].name, mz_histogram_quantile(h, quantiles[i].share));
	mz_json_array(j, "doublings");
	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t n = mz_histogram_doubling(h, bit);

		if (!n)
			continue;
		mz_json_object(j, NULL);
		mz_json_u64(j, "from", bit ? (uint64_t)1 << bit : 0);
		mz_json_u64(j, "count", n);
		mz_json_end_object(j);
	}
	mz_json_end_array(j);
	mz_json_end_object(j);
}
