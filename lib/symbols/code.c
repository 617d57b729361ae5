// SPDX-License-Identifier: BSD-2-Clause
/* Hand out the functions of an image, which the reader of ELF files counts. */
#include "symbols/code.h"

#include <errno.h>
#include <stdlib.h>

#include "symbols/debuginfo.h"

int mz_code_read(struct mz_code *c, const char *path, struct mz_error *err)
{
	const struct mz_debuginfo *d = mz_debuginfo(err);

	*c = (struct mz_code){0};
	return d ? d->code_read(c, path, err) : -ENOENT;
}

void mz_code_deinit(struct mz_code *c)
{
	free(c->functions);
	free(c->names);
	free(c->sections);
	*c = (struct mz_code){0};
}
