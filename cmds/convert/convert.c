// SPDX-License-Identifier: BSD-2-Clause
/* Convert a recording to another trace format. */
#include <string.h>
#include <unistd.h>

#include "analysis/recording.h"
#include "cmds/convert/transcode.h"
#include "cmds/kernel/kmem.h"
#include "cmds/kmap/kmap_convert.h"
#include "formats/kmemtrace.h"

enum to { TO_CONTAINER, TO_TEXT, TO_CLASSIC, TO_KMAP, TO_KMAP_G2, TO_KMAP_G3, TO_RAW };

/* From TO_RAW on: the raw formats of kmemtrace, as raw[] has them. */
static const char *const formats[] = {
	"container",   "text",		 "classic",	  "kmap",
	"kmap-g2",     "kmap-g3",	 "kmemtrace-c",	  "kmemtrace-c-be",
	"kmemtrace-e", "kmemtrace-e-be", "kmemtrace-e32", "kmemtrace-e32-be",
	NULL};

static const struct mz_kmemtrace_layout raw[] = {{MZ_KMT_C, false},   {MZ_KMT_C, true},
						 {MZ_KMT_E64, false}, {MZ_KMT_E64, true},
						 {MZ_KMT_E32, false}, {MZ_KMT_E32, true}};

struct convert_opts {
	const char *output;
	const char *drop;
	unsigned to;
	bool tags;
	bool best;
	bool skip_unmatched;
	bool strict;
	bool skip_bad;
	bool force;
};

static const struct mz_opt opts[] = {
	MZ_OPT_OUTPUT(struct convert_opts, output),
	MZ_OPT_ONE_OF(0, "to", "FORMAT", struct convert_opts, to, formats,
		      "container (default), text, classic; of a KMAP: container, kmap (its "
		      "original lines), kmap-g2 or kmap-g3 (lines of 10 or 11 fields, as "
		      "upstream's kernels write them); or raw kmemtrace records: kmemtrace-c, "
		      "kmemtrace-e, kmemtrace-e32, and each with -be for big endian"),
	TRANSCODE_OPT_BEST(struct convert_opts, best),
	TRANSCODE_OPT_WITHOUT(struct convert_opts, drop),
	MZ_SWITCH(0, "tags", struct convert_opts, tags, "text with serial numbers"),
	TRANSCODE_OPT_SKIP(struct convert_opts, skip_unmatched),
	MZ_OPT_STRICT(struct convert_opts, strict, "events are lost or damaged"),
	MZ_SWITCH(0, "skip-bad", struct convert_opts, skip_bad,
		  "leave out and count lines of a KMAP that cannot be parsed"),
	MZ_OPT_FORCE(struct convert_opts, force),
	{0},
};

static int convert_kmap(const struct convert_opts *o, struct mz_recording *r, int argc, char **argv)
{
	struct mz_error err = {0};
	struct mz_kmap *in = mz_recording_kmap(r, &err);
	struct mz_kmap_convert_options k = {.output = o->output,
					    .best = o->best,
					    .overwrite = o->force,
					    .to = o->to == TO_KMAP	? MZ_KMAP_TO_LINES
						  : o->to == TO_KMAP_G2 ? MZ_KMAP_TO_G2
						  : o->to == TO_KMAP_G3 ? MZ_KMAP_TO_G3
									: MZ_KMAP_TO_CONTAINER};

	if (!in)
		return console_error(&err);
	mz_kmap_skip_bad(in, o->skip_bad);
	return kmap_convert(in, argc ? argv[0] : "-", &k, o->strict);
}

static int convert_trace(const struct convert_opts *o, struct mz_recording *r, uint32_t drop)
{
	static const enum mz_format to[] = {MZ_FORMAT_CONTAINER, MZ_FORMAT_TEXT, MZ_FORMAT_CLASSIC};
	struct mz_error err = {0};
	struct mz_reader *in = mz_recording_reader(r, &err);
	struct mz_transcode_options t = {.to = to[o->to],
					 .output = o->output,
					 .tags = o->tags,
					 .best = o->best,
					 .overwrite = o->force,
					 .skip_unmatched = o->skip_unmatched,
					 .drop = drop,
					 .kernel = r->kind == MZ_RECORDING_KERNEL};

	return in ? transcode(in, &t, o->strict) : console_error(&err);
}

/* By what the recording turned out to be. */
static int convert(const struct convert_opts *o, struct mz_recording *r, uint32_t drop, int argc,
		   char **argv)
{
	struct kmem_convert kmem = {
		.output = o->output, .best = o->best, .force = o->force, .strict = o->strict};

	if (o->to >= TO_RAW)
		return kmem_export(&kmem, r, &raw[o->to - TO_RAW]);
	if (o->to >= TO_KMAP || (o->to == TO_CONTAINER && !drop && r->kind == MZ_RECORDING_KMAP))
		return convert_kmap(o, r, argc, argv);
	if (o->to == TO_CONTAINER && !drop && r->folder)
		return kmem_join(&kmem, r);
	return convert_trace(o, r, drop);
}

static int check_usage(const struct convert_opts *o, int argc, char **argv)
{
	if (o->to >= TO_RAW)
		return argc ? 0
			    : console_usage(
				      "no files given; name files, or a folder of kmemtraced");
	if (o->to >= TO_KMAP && argc > 1)
		return console_usage("one map only; '%s' is one too many", argv[1]);
	if (argc > 1 && (o->to != TO_CONTAINER || o->drop))
		return console_usage(
			"one input only; '%s' is one too many (several are joined into a container "
			"only)",
			argv[1]);
	/* a terminal gets its message before a read waits */
	return o->to < TO_KMAP ? transcode_terminal(o->to == TO_TEXT, o->output) : 0;
}

static int run(void *options, int argc, char **argv)
{
	static char standard_input[] = "-";
	char *usual[] = {standard_input};
	const struct convert_opts *o = options;
	struct mz_recording_options how = {
		.want = o->to >= TO_KMAP && o->to < TO_RAW ? MZ_RECORDING_KMAP : MZ_RECORDING_ANY,
		.flags = options_open_flags()};
	struct mz_recording r;
	struct mz_error err = {0};
	uint32_t drop;
	int ret = transcode_drop(o->drop, &drop);

	if (!ret)
		ret = check_usage(o, argc, argv);
	if (ret)
		return ret;
	/* it is opened once: a pipe cannot be opened again */
	ret = mz_recording_open(&r, argc ? argv : usual, argc ? argc : 1, &how, &err);
	ret = ret < 0 ? console_error(&err) : convert(o, &r, drop, argc, argv);
	mz_recording_close(&r);
	return ret;
}

MZ_CMD(convert, "convert", struct convert_opts, "[INPUT|-|DIR|FILES...]",
       "convert a recording to another trace format", .reads = true);
