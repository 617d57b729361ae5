// SPDX-License-Identifier: BSD-2-Clause
/* Convert a KMAP to another form, with progress and messages. */
#include "cmds/kmap/kmap_convert.h"

#include <unistd.h>

#include "cmds/loss_report.h"
#include "cmds/recording.h"
#include "trace/reader.h"

/* Says what is missing. */
static int result(const struct mz_kmap *in, const char *input, bool strict)
{
	bool open_end = mz_kmap_open_end(in);
	unsigned cut = mz_kmap_files_cut(in);
	uint64_t bad = mz_kmap_bad_lines(in);

	recording_note_map(input, NULL, 0, open_end, cut, bad);
	if (mz_kmap_tables(in))
		lost_tables_note(input, mz_tables_lost_strings(mz_kmap_tables(in)),
				 mz_tables_lost_frames(mz_kmap_tables(in)));
	return strict && (bad || cut || open_end) ? MZ_EXIT_INCOMPLETE : MZ_EXIT_OK;
}

static void show_lines(void *progress, double share, uint64_t lines)
{
	progress_show(progress, share, lines, "lines");
}

int kmap_convert(struct mz_kmap *in, const char *input, struct mz_kmap_convert_options *o,
		 bool strict)
{
	struct mz_error err = {0};
	struct progress progress;
	int ret;

	if (o->to == MZ_KMAP_TO_CONTAINER && !o->output && isatty(STDOUT_FILENO))
		return console_usage(
			"a container is binary and is not written to a terminal; use -o FILE");
	progress_start(&progress, input);
	o->progress = show_lines;
	o->arg = &progress;
	ret = mz_kmap_convert(in, o, &err);
	progress_end(&progress);
	return ret < 0 ? console_error(&err) : result(in, input, strict);
}
