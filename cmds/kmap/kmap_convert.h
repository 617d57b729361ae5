/* SPDX-License-Identifier: BSD-2-Clause */
/* Convert a KMAP to another form. */
#ifndef MZ_CMDS_KMAP_KMAP_CONVERT_H
#define MZ_CMDS_KMAP_KMAP_CONVERT_H

#include "cmds/cmd.h"
#include "export/kmap.h"

/* The map has this name in messages. strict: incomplete input is no success. Returns enum
 * mz_exit. */
int kmap_convert(struct mz_kmap *in, const char *input, struct mz_kmap_convert_options *o,
		 bool strict);

#endif
