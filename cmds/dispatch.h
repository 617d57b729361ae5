/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MZ_CMDS_DISPATCH_H
#define MZ_CMDS_DISPATCH_H

#include "cmds/cmd.h"

/* The verb that these arguments are meant for: cmd, or its twin for the kernel,
 * with the option that chose it taken out. */
const struct mz_cmd *twin_of(const struct mz_cmd *cmd, int *argc, char **argv);

/* A folder is what kmemtraced leaves; a file says where it comes from. */
bool twin_is_kernel_trace(const char *path);

#endif
