/* SPDX-License-Identifier: BSD-2-Clause */
/* What the verbs for kernel traces share. */
#ifndef MZ_CMDS_KMEM_H
#define MZ_CMDS_KMEM_H

#include "cmds/cmd.h"

struct mz_kmem;

/* The counts of --summary as a table or JSON; returns enum mz_exit. */
int kmem_print_summary(struct mz_kmem *k, uint64_t limit, uint64_t ns, bool json);

#endif
