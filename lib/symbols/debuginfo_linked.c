// SPDX-License-Identifier: BSD-2-Clause
/* Provide the readers of ELF, DWARF and BTF as one table: in the static library and the plugin. */
#include "symbols/debuginfo.h"

#include <errno.h>

#include "symbols/private.h"
#include "symbols/types_private.h"

/* DWARF says more than BTF (variables), so it comes first. */
static struct mz_types *open_types(const char *path, struct mz_error *err)
{
	struct mz_error first = {0};
	struct mz_types *t = mz_types_open_dwarf(path, &first);

	if (t)
		return t;
	if (first.code != ENODATA) {
		*err = first;
		return NULL;
	}
	return mz_types_open_btf(path, err);
}

const struct mz_debuginfo mz_debuginfo_table = {
	.version = MZ_VERSION,
	.size = sizeof(struct mz_debuginfo),
	.image_id = mz_image_read_id,
	.image_build = mz_image_build,
	.kaslr_guess = mz_kaslr_guess,
	.kaslr_calls = mz_kaslr_calls,
	.code_read = mz_code_read_elf,
	.types_open = open_types,
};

const struct mz_debuginfo *mz_debuginfo(struct mz_error *err)
{
	(void)err;
	return &mz_debuginfo_table;
}
