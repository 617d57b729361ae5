/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of other tools that hold sums of call sites and no events: told apart here, read
 * in lib/analysis/profile_dhat.c and profile_allocinfo.c. */
#ifndef MZ_FORMATS_SUMS_H
#define MZ_FORMATS_SUMS_H

#include <stdbool.h>
#include <stddef.h>

bool mz_dhat_probe(const char *data, size_t len);
bool mz_allocinfo_probe(const char *data, size_t len);

#endif
