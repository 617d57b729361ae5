// SPDX-License-Identifier: BSD-2-Clause
/* The symbols of the guest's kernel, kept beside a map: the kernel may be another one
 * tomorrow. It runs where it was linked, so System.map is as good as kallsyms. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/input.h"
#include "cmds/vm.h"

/* With source files if there are (scripts/kernel-files). */
static const char *const names[] = {"System.map.files", "System.map"};

static int copy(struct mz_input *in, const char *to, bool force, struct mz_error *err)
{
	struct mz_output out;
	int ret = mz_output_open(&out, to, force, err);

	while (!ret) {
		ret = mz_input_fill(in, 1, err);
		if (ret < 0 || !mz_input_left(in))
			break;
		ret = mz_output_add(&out, in->pos, mz_input_left(in), err);
		in->pos = in->end;
	}
	if (ret < 0)
		mz_output_abort(&out);
	return ret < 0 ? ret : mz_output_commit(&out, err);
}

int vm_keep_symbols(const char *kernel, const char *to, bool force, struct mz_error *err)
{
	const char *slash = strrchr(kernel, '/');
	struct mz_input in;
	int ret;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash - kernel) + 1 : 0,
			 kernel, names[i]);
		if (mz_input_open(&in, path, NULL) < 0)
			continue;
		ret = copy(&in, to, force, err);
		mz_input_close(&in);
		return ret;
	}
	return 0;
}
