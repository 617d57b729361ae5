// SPDX-License-Identifier: BSD-2-Clause
/* Text to compact trace. */
#include <string.h>

#include "base/error.h"
#include "base/output.h"
#include "cmds/cmd.h"
#include "formats/classic.h"
#include "formats/text.h"

struct opts {
	const char *output;
	bool text;
	bool classic;
	bool skip_unmatched;
	bool force;
};

static const struct mz_opt opts[] = {
	MZ_OPT('o', "output", "OUT", MZ_OPT_STR, struct opts, output,
	       "write to OUT; without it, to standard output if that is no terminal"),
	MZ_OPT('s', "text", NULL, MZ_OPT_FLAG, struct opts, text,
	       "write text with serial numbers, to standard output unless -o says where"),
	MZ_OPT(0, "classic", NULL, MZ_OPT_FLAG, struct opts, classic,
	       "write the classic format"),
	MZ_OPT(0, "skip-unmatched", NULL, MZ_OPT_FLAG, struct opts, skip_unmatched,
	       "leave out, and count, what the classic format cannot express"),
	MZ_OPT('f', "force", NULL, MZ_OPT_FLAG, struct opts, force, "replace an existing file"),
	{0},
};

struct job {
	const struct opts *o;
	struct mz_reader *in;
	struct mz_output out;
	struct mz_classic_writer classic;
	uint64_t events;
	uint64_t skipped[MZ_CLASSIC_FIT_KINDS];
	struct mz_error err;
};

static int write_text(struct job *j, const struct mz_event *ev, size_t n)
{
	const struct mz_tables *tables = mz_reader_tables(j->in);

	for (size_t i = 0; i < n; i++) {
		char *p = mz_output_room(&j->out, mz_text_room(&ev[i], tables), &j->err);
		size_t len;

		if (!p)
			return -1;
		len = mz_text_format(p, &ev[i], tables, true);
		p[len] = '\n';
		j->out.len += len + 1;
	}
	return 0;
}

static int cannot_express(struct job *j, size_t i, enum mz_classic_fit fit)
{
	char place[40];

	return mz_fail_line(&j->err, 22, j->in->ops->format == MZ_FORMAT_TEXT ? j->in->places[i] : 0,
			    "%s: %s: %s, which the classic format cannot express; "
			    "--skip-unmatched leaves such events out",
			    j->in->in.name, mz_reader_place(j->in, i, place, sizeof(place)),
			    mz_classic_reason(fit));
}

/* Many live blocks do not fit the cache: ask for their slots early. */
#define AHEAD 8

static int write_classic(struct job *j, const struct mz_event *ev, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *p = mz_output_room(&j->out, MZ_CLASSIC_MAX, &j->err);
		char *start = p;
		int fit;

		if (!p)
			return -1;
		if (i + AHEAD < n)
			mz_live_prefetch(&j->classic.live, ev[i + AHEAD].addr);
		fit = mz_classic_put(&j->classic, &ev[i], &p);
		if (fit < 0)
			return mz_fail_memory(&j->err);
		if (fit > MZ_CLASSIC_NO_EFFECT && !j->o->skip_unmatched)
			return cannot_express(j, i, fit);
		j->skipped[fit]++;
		j->out.len += (size_t)(p - start);
	}
	return 0;
}

static int convert(struct job *j)
{
	struct mz_event ev[MZ_BATCH];
	long n;
	int ret = 0;

	do {
		n = j->o->text ? mz_reader_read(j->in, ev, MZ_BATCH)
			       : mz_reader_read_raw(j->in, ev, MZ_BATCH);
		if (n > 0)
			ret = j->o->text ? write_text(j, ev, (size_t)n)
					 : write_classic(j, ev, (size_t)n);
		j->events += n > 0 ? (uint64_t)n : 0;
	} while (n > 0 && !ret);
	if (n < 0)
		j->err = *mz_reader_error(j->in);
	return n < 0 ? -1 : ret;
}

static void report(const struct job *j)
{
	struct mz_unmatched u = mz_reader_unmatched(j->in);

	if (j->in->junk)
		talk_note("%s: %llu lines with unknown text at their end, which was left out",
			  j->in->in.name, (unsigned long long)j->in->junk);
	for (int i = MZ_CLASSIC_NO_EFFECT; i < MZ_CLASSIC_FIT_KINDS && !j->o->text; i++) {
		if (!j->skipped[i])
			continue;
		talk_note("left out: %llu of %llu events: %s", (unsigned long long)j->skipped[i],
			  (unsigned long long)j->events,
			  i == MZ_CLASSIC_NO_EFFECT ? "without effect (free(NULL), failed calls)"
						    : mz_classic_reason(i));
	}
	if (j->o->text && (u.unknown_frees || u.over_live))
		talk_note("%llu frees or reallocs of unknown blocks, %llu allocations over live blocks",
			  (unsigned long long)u.unknown_frees, (unsigned long long)u.over_live);
}

static int run(void *options, int argc, char **argv)
{
	struct job j = {.o = options};
	int ret = MZ_EXIT_FAILED;

	if (argc > 1)
		return talk_usage("one input, please; not '%s' too", argv[1]);
	if (j.o->text && j.o->classic)
		return talk_usage("-s writes text, --classic does not; choose one");
	j.in = mz_reader_open(argc ? argv[0] : "-", &j.err);
	if (!j.in)
		return talk_error(&j.err);
	if (mz_output_open(&j.out, j.o->output, j.o->force, &j.err) < 0 ||
	    (mz_classic_writer_init(&j.classic) < 0 && mz_fail_memory(&j.err)) ||
	    convert(&j) < 0 || mz_output_commit(&j.out, &j.err) < 0) {
		talk_error(&j.err);
		mz_output_abort(&j.out);
	} else {
		report(&j);
		ret = MZ_EXIT_OK;
	}
	mz_classic_writer_deinit(&j.classic);
	mz_reader_close(j.in);
	return ret;
}

static const char *const aliases[] = {"trace2cmt", NULL};

const struct mz_cmd cmd_trace2cmt = {
	.name = "trace2cmt",
	.aliases = aliases,
	.args = "[INPUT|-]",
	.summary = "pack a text trace into a compact one",
	.opts = opts,
	.opts_size = sizeof(struct opts),
	.run = run,
};
