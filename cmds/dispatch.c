// SPDX-License-Identifier: BSD-2-Clause
/* Verbs that serve two worlds: `record --kernel` is kmemtraced, and a report on a
 * kernel trace is kmemtrace-report, on a KMAP what `kmap report` says. One verb to learn, one
 * program for each. */
#include "cmds/dispatch.h"

#include <string.h>
#include <sys/stat.h>

#include "analysis/recording.h"
#include "formats/kmap.h"

extern const struct mz_cmd cmd_kmemtraced, cmd_kmemtrace_report, cmd_kmap_report,
	cmd_profile_report;

static const struct mz_cmd *record_twin(int *argc, char **argv)
{
	for (int i = 1; i < *argc && argv[i][0] == '-' && strcmp(argv[i], "--"); i++) {
		if (strcmp(argv[i], "--kernel"))
			continue;
		memmove(argv + i, argv + i + 1, (size_t)(*argc - i) * sizeof(*argv));
		--*argc;
		return &cmd_kmemtraced;
	}
	return NULL;
}

bool twin_is_kernel_trace(const char *path)
{
	const struct mz_attr *source;
	struct mz_reader *r;
	struct stat st;
	bool kernel = false;

	if (!strcmp(path, "-") || stat(path, &st))
		return false;
	if (S_ISDIR(st.st_mode))
		return true;
	r = S_ISREG(st.st_mode) ? mz_reader_open(path, NULL) : NULL;
	if (r) {
		source = mz_reader_find_attr(r, "source");
		kernel = source && source->type == MZ_ATTR_TEXT &&
			 !strcmp(source->data, "kmemtrace");
		kernel |= mz_reader_format(r) == MZ_FORMAT_KMEMTRACE_C ||
			  mz_reader_format(r) == MZ_FORMAT_KMEMTRACE_E;
	}
	mz_reader_close(r);
	return kernel;
}

static const struct mz_cmd *report_twin(int *argc, char **argv)
{
	/* a folder may also be the value of an option of a KMAP's report */
	for (int i = 1; i < *argc; i++)
		if (argv[i][0] != '-' && mz_kmap_is(argv[i]))
			return &cmd_kmap_report;
	for (int i = 1; i < *argc; i++)
		if (argv[i][0] != '-' && mz_recording_is_profile(argv[i]))
			return &cmd_profile_report;
	for (int i = 1; i < *argc; i++)
		if (argv[i][0] != '-' && twin_is_kernel_trace(argv[i]))
			return &cmd_kmemtrace_report;
	return NULL;
}

const struct mz_cmd *twin_of(const struct mz_cmd *cmd, int *argc, char **argv)
{
	const struct mz_cmd *twin = NULL;

	if (!strcmp(cmd->name, "record"))
		twin = record_twin(argc, argv);
	else if (!strcmp(cmd->name, "report"))
		twin = report_twin(argc, argv);
	return twin ? twin : cmd;
}
