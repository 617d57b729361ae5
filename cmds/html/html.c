// SPDX-License-Identifier: BSD-2-Clause
/* Write recordings as one self-contained HTML file. */
#include "cmds/html/html.h"
#include "cmds/recording.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/output.h"

struct html_opts {
	const char *output;
	const char *symbols;
	const char *functions;
	bool force;
};

static const struct mz_opt opts[] = {
	MZ_OPT_OUTPUT(struct html_opts, output),
	RECORDING_MODULES_FOR(0, struct html_opts, symbols, RECORDING_ROOT),
	MZ_OPT(0, "functions", "FILE", MZ_OPT_STR, struct html_opts, functions,
	       "KMAPs: show privileges and a cut, with this table of functions ('memorizer kmap "
	       "functions') or vmlinux"),
	MZ_OPT_FORCE(struct html_opts, force),
	{0},
};

static int write_page(const struct html_opts *o, const struct mz_buf *page, struct mz_error *err)
{
	struct mz_output out;
	int ret = mz_output_open(&out, o->output, o->force, err);

	if (!ret)
		ret = mz_output_add(&out, page->data, page->len, err);
	if (!ret)
		return mz_output_commit(&out, err);
	mz_output_abort(&out);
	return ret;
}

static int make(const struct html_opts *o, struct html_model *models, int argc, char **argv)
{
	struct mz_error err = {0};
	struct mz_buf page = {0};
	char size[32];
	int ret = 0;

	for (int i = 0; i < argc && !ret; i++)
		ret = html_model_open(&models[i], argv[i], o->symbols, o->functions, &err);
	if (!ret)
		ret = html_page(&page, models, (size_t)argc, &err);
	if (!ret)
		ret = write_page(o, &page, &err);
	for (int i = 0; i < argc && !ret; i++)
		if (models[i].recording.kind != MZ_RECORDING_KMAP) /* for maps, loading said so */
			recording_note_end(&models[i].recording);
	if (ret < 0)
		console_error(&err);
	else if (!ret && o->output)
		console_note("%s: %s; open it in a browser", o->output,
			     console_bytes(size, page.len));
	mz_buf_free(&page);
	return ret < 0 ? MZ_EXIT_FAILED : MZ_EXIT_OK;
}

static int run(void *options, int argc, char **argv)
{
	const struct html_opts *o = options;
	struct html_model *models;
	int ret;

	if (!argc)
		return console_usage(
			"no recording given; name traces, folders of kernel traces, or KMAPs");
	ret = recording_one_stdin(argc, argv);
	if (ret)
		return ret;
	if (!o->output && isatty(1))
		return console_usage("a page is not written to a terminal; use -o FILE");
	models = calloc((size_t)argc, sizeof(*models));
	if (!models)
		return console_fail("out of memory");
	ret = make(o, models, argc, argv);
	for (int i = 0; i < argc; i++)
		html_model_close(&models[i]);
	free(models);
	return ret;
}

MZ_CMD(html, "html", struct html_opts, "RECORDING...", "write recordings as one HTML page",
       .reads = true);
