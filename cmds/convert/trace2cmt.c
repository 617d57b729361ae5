// SPDX-License-Identifier: BSD-2-Clause
/* Pack a text trace into a compact one. */
#include "cmds/convert/transcode.h"
#include "cmds/recording.h"

struct trace2cmt_opts {
	const char *output;
	const char *drop;
	bool text;
	bool classic;
	bool best;
	bool skip_unmatched;
	bool force;
};

static const struct mz_opt opts[] = {
	MZ_OPT('o', "output", "OUT", MZ_OPT_STR, struct trace2cmt_opts, output,
	       "write to OUT (default: standard output, unless it is a terminal)"),
	MZ_SWITCH('s', "text", struct trace2cmt_opts, text,
		  "write text with serial numbers (default: to standard output)"),
	MZ_SWITCH(0, "classic", struct trace2cmt_opts, classic, "write the classic format"),
	TRANSCODE_OPT_BEST(struct trace2cmt_opts, best),
	TRANSCODE_OPT_WITHOUT(struct trace2cmt_opts, drop),
	TRANSCODE_OPT_SKIP(struct trace2cmt_opts, skip_unmatched),
	MZ_OPT_FORCE(struct trace2cmt_opts, force),
	{0},
};

static int run(void *options, int argc, char **argv)
{
	const struct trace2cmt_opts *o = options;
	struct mz_transcode_options t = {.to = MZ_FORMAT_CONTAINER,
					 .output = o->output,
					 .tags = true,
					 .best = o->best,
					 .overwrite = o->force,
					 .skip_unmatched = o->skip_unmatched};
	struct mz_error err = {0};
	struct mz_recording r;
	struct mz_reader *in;
	int ret = transcode_drop(o->drop, &t.drop);

	if (ret)
		return ret;
	if (argc > 1)
		return console_usage("one input only; '%s' is one too many", argv[1]);
	if (o->text && o->classic)
		return console_usage("-s writes text, --classic does not; choose one");
	if (o->text)
		t.to = MZ_FORMAT_TEXT;
	if (o->classic)
		t.to = MZ_FORMAT_CLASSIC;
	ret = transcode_terminal(o->text, o->output);
	if (ret)
		return ret;
	in = recording_trace(&r, argc ? argv[0] : "-", &err);
	t.kernel = r.kind == MZ_RECORDING_KERNEL;
	ret = in ? transcode(in, &t, false) : console_error(&err);
	mz_recording_close(&r);
	return ret;
}

static const char *const aliases[] = {"trace2cmt", NULL};

MZ_CMD(trace2cmt, "trace2cmt", struct trace2cmt_opts, "[INPUT|-]",
       "pack a text trace into a compact one", .aliases = aliases, .reads = true);
