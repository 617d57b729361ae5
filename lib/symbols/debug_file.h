/* SPDX-License-Identifier: BSD-2-Clause */
/* Separate files of debugging information. */
#ifndef MZ_SYMBOLS_DEBUG_FILE_H
#define MZ_SYMBOLS_DEBUG_FILE_H

#include <elfutils/libdwfl.h>

/* A callback of libdwfl, in the place of dwfl_standard_find_debuginfo(): by build id, by the
 * debug link, from servers if DEBUGINFOD_URLS is set. A program names the file that its link
 * leads to, so only regular files are opened, and none that mz_debug_unpacks_large(). */
int mz_debug_file_find(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
		       const char *file, const char *link, GElf_Word crc, char **found);

#endif
