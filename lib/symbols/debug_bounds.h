/* SPDX-License-Identifier: BSD-2-Clause */
/* Which ELF files may be read at all. */
#ifndef MZ_SYMBOLS_DEBUG_BOUNDS_H
#define MZ_SYMBOLS_DEBUG_BOUNDS_H

#include <libelf.h>
#include <stdbool.h>

/* Do the packed sections of a file unpack to more than the file explains? */
bool mz_debug_unpacks_large(Elf *elf);

#endif
