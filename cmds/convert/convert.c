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

struct opts {
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
	MZ_OPT_OUTPUT(struct opts, output),
	MZ_OPT_ONE_OF(0, "to", "FORMAT", struct opts, to, formats,
		      "container (default), text, classic; of a KMAP: container, kmap (its "
		      "original lines), kmap-g2 or kmap-g3 (lines of 10 or 11 fields, as "
		      "upstream's kernels write them); or raw kmemtrace records: kmemtrace-c, "
		      "kmemtrace-e, kmemtrace-e32, and each with -be for big endian"),
	MZ_SWITCH(0, "best", struct opts, best, "compress better, but slower"),
	MZ_OPT(0, "drop", "FIELDS", MZ_OPT_STR, struct opts, drop,
	       "leave out addresses, times, ...: comma-separated names"),
	MZ_SWITCH(0, "tags", struct opts, tags, "text with serial numbers"),
	MZ_SWITCH(0, "skip-unmatched", struct opts, skip_unmatched,
		  "leave out and count events that the classic format cannot express"),
	MZ_SWITCH(0, "strict", struct opts, strict, "exit with 3 if events are lost or damaged"),
	MZ_SWITCH(0, "skip-bad", struct opts, skip_bad,
		  "leave out and count lines of a KMAP that cannot be parsed"),
	MZ_OPT_FORCE(struct opts, force),
	{0},
};

/* Recordings that are not converted as one trace: the lines of a KMAP, and the files of a
 * kernel. */
struct input {
	bool kmap, files;
	/* Standard input cannot be opened again: what it turned out to be is read on. */
	struct mz_recording piped;
	struct mz_kmap *map;
	struct mz_reader *trace;
};

static int look_at_pipe(struct input *in, const struct mz_recording_options *how)
{
	struct mz_error err = {0};
	char *name = "-";
	int ret = mz_recording_open(&in->piped, &name, 1, how, &err);

	in->kmap = !ret && in->piped.kind == MZ_RECORDING_KMAP;
	if (in->kmap)
		in->map = mz_recording_kmap(&in->piped, &err);
	else if (!ret)
		in->trace = mz_recording_reader(&in->piped, &err);
	return in->map || in->trace ? 0 : console_error(&err);
}

/* 0, or enum mz_exit with a message printed. */
static int look(struct input *in, const struct opts *o, int argc, char **argv)
{
	struct mz_recording_options how = {.flags = options_open_flags()};
	struct mz_recording r;
	struct mz_error err = {0};

	in->kmap = o->to >= TO_KMAP && o->to < TO_RAW;
	in->files = argc > 1;
	if (in->kmap || argc > 1 || o->to != TO_CONTAINER || o->drop)
		return 0;
	if (!argc || !strcmp(argv[0], "-")) /* a terminal gets its message before a read waits */
		return o->output || !isatty(STDOUT_FILENO) ? look_at_pipe(in, &how) : 0;
	/* what cannot be opened says why when it is converted */
	if (!mz_recording_open(&r, argv, 1, &how, &err))
		in->kmap = r.kind == MZ_RECORDING_KMAP && r.format != MZ_FORMAT_CONTAINER;
	in->files = r.folder;
	mz_recording_close(&r);
	return 0;
}

static int convert_kmap(const struct opts *o, const struct input *in, int argc, char **argv)
{
	struct kmap_convert k = {.output = o->output,
				 .best = o->best,
				 .force = o->force,
				 .skip_bad = o->skip_bad,
				 .strict = o->strict,
				 .opened = in->map,
				 .to = o->to == TO_KMAP	     ? KMAP_TO_LINES
				       : o->to == TO_KMAP_G2 ? KMAP_TO_G2
				       : o->to == TO_KMAP_G3 ? KMAP_TO_G3
							     : KMAP_TO_CONTAINER};

	return argc > 1 ? console_usage("one map only; '%s' is one too many", argv[1])
			: kmap_convert(&k, argc ? argv[0] : "-");
}

static int convert_trace(const struct opts *o, const struct input *in, int argc, char **argv)
{
	static const enum mz_format to[] = {MZ_FORMAT_CONTAINER, MZ_FORMAT_TEXT, MZ_FORMAT_CLASSIC};
	struct transcode t = {.to = to[o->to], .output = o->output, .opened = in->trace};
	int ret = transcode_drop(o->drop, &t.drop);

	t.tags = o->tags;
	t.best = o->best;
	t.force = o->force;
	t.strict = o->strict;
	t.skip_unmatched = o->skip_unmatched;
	if (ret)
		return ret;
	if (argc > 1)
		return console_usage(
			"one input only; '%s' is one too many (several are joined into a container "
			"only)",
			argv[1]);
	return transcode_run(&t, argc ? argv[0] : "-");
}

static int convert(const struct opts *o, const struct input *in, int argc, char **argv)
{
	struct kmem_convert kmem = {
		.output = o->output, .best = o->best, .force = o->force, .strict = o->strict};

	if (in->kmap)
		return convert_kmap(o, in, argc, argv);
	if (o->to >= TO_RAW)
		return argc ? kmem_export(&kmem, argv, argc, raw[o->to - TO_RAW].shape,
					  raw[o->to - TO_RAW].big)
			    : console_usage(
				      "no files given; name files, or a folder of kmemtraced");
	if (o->to == TO_CONTAINER && !o->drop && in->files)
		return kmem_join(&kmem, argv, argc);
	return convert_trace(o, in, argc, argv);
}

static int run(void *options, int argc, char **argv)
{
	struct input in = {.piped.in.fd = -1};
	int ret = look(&in, options, argc, argv);

	if (!ret)
		ret = convert(options, &in, argc, argv);
	mz_recording_close(&in.piped);
	return ret;
}

MZ_CMD(convert, "convert", struct opts, "[INPUT|-|DIR|FILES...]",
       "convert a recording to another trace format", .reads = true);
