/* SPDX-License-Identifier: BSD-2-Clause */
/* Convert a KMAP into a container and back. */
#ifndef MZ_CMDS_KMAP_KMAP_CONVERT_H
#define MZ_CMDS_KMAP_KMAP_CONVERT_H

#include "cmds/cmd.h"

enum kmap_to { KMAP_TO_CONTAINER, KMAP_TO_LINES, KMAP_TO_G2, KMAP_TO_G3 };

struct kmap_convert {
	enum kmap_to to;
	const char *output; /* NULL: standard output */
	bool best, force, skip_bad;
	bool strict;		/* incomplete input is no success */
	struct mz_kmap *opened; /* the caller's, in place of the input; NULL = open the input */
};

/* Returns enum mz_exit. */
int kmap_convert(const struct kmap_convert *o, const char *input);

#endif
