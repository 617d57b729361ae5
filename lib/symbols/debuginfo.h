/* SPDX-License-Identifier: BSD-2-Clause */
/* Everything that needs libelf and libdw (and what they load), behind one table. */
/*
 * A program that only reads a recording must not load them. The shared library loads the table with
 * a plugin when the first image or type is requested (debuginfo_load.c); in the static library and
 * in the commands it is linked (debuginfo_linked.c).
 */
#ifndef MZ_SYMBOLS_DEBUGINFO_H
#define MZ_SYMBOLS_DEBUGINFO_H

#include "symbols/code.h"
#include "symbols/image.h"
#include "symbols/types.h"

struct mz_debuginfo {
	char version[24]; /* MZ_VERSION: plugin and library come from one build */
	size_t size;	  /* of this structure */
	/* image_build.c */
	size_t (*image_id)(const char *path, uint8_t *id);
	int (*image_build)(struct mz_image *im, const char *path, struct mz_error *err);
	/* kaslr.c */
	bool (*kaslr_guess)(const char *vmlinux, const uint64_t *ips, size_t n, uint64_t *shift);
	/* of the addresses (as linked) that are tried, how many a call is before */
	size_t (*kaslr_calls)(const char *vmlinux, const uint64_t *ips, size_t n, size_t *tried);
	/* code_elf.c */
	int (*code_read)(struct mz_code *c, const char *path, struct mz_error *err);
	/* types_dwarf.c, types_btf.c */
	struct mz_types *(*types_open)(const char *path, struct mz_error *err);
};

/* NULL with err (which may be NULL) set: the plugin is not there, or not ours. */
const struct mz_debuginfo *mz_debuginfo(struct mz_error *err);

/* What the plugin exports; its name is looked up with dlsym. */
#define MZ_DEBUGINFO_PLUGIN "memorizer/memorizer-debuginfo.so"
#define MZ_DEBUGINFO_TABLE  "mz_debuginfo_table"
extern MZ_API const struct mz_debuginfo mz_debuginfo_table;

#endif
