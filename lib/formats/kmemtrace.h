/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The raw records of the original kmemtrace. No file header: what a file is
 * (format, byte order, word size) is told by its first records.
 *
 *   C: u8 event, u8 type, u16 size, s32 sequence, u64 call site, u64 pointer;
 *      alloc: u64 requested, u64 allocated, u32 gfp, s32 node.
 *      24 and 48 bytes, and what an extension adds.
 *   E: u8 event, u8 type, u16 size, u32 cpu, u64 time, long call site, long
 *      pointer; alloc: size_t requested, size_t allocated, u32 gfp, s32 node.
 *      32 and 56 bytes with words of 64 bits, 24 and 40 with 32.
 *
 * event: 0 alloc, 1 free. type: 0 kmalloc, 1 kmem_cache, 2 pages.
 */
#ifndef MZ_FORMATS_KMEMTRACE_H
#define MZ_FORMATS_KMEMTRACE_H

#include "trace/reader.h"

enum mz_kmemtrace_shape { MZ_KMT_C, MZ_KMT_E64, MZ_KMT_E32, MZ_KMT_SHAPES };

struct mz_kmemtrace_layout {
	enum mz_kmemtrace_shape shape;
	bool big; /* most significant byte first */
};

#define MZ_KMT_RECORD_MAX 65535 /* a size of 16 bits */
#define MZ_KMT_PUT_MAX 56

/* Bytes of a free and of an allocation without extension. */
size_t mz_kmemtrace_size(enum mz_kmemtrace_shape shape, bool is_free);
const char *mz_kmemtrace_shape_name(const struct mz_kmemtrace_layout *l);

/* What the data is; false = nothing of the kind. */
bool mz_kmemtrace_detect(const char *data, size_t len, struct mz_kmemtrace_layout *l);

/* The next record. Its bytes; 0 = more than len are needed (cut, if the input
 * ends here); -1 = no record, with the reason in why. sequence: of format C,
 * as it stands there. The event has no objects, and no site yet: *site. */
long mz_kmemtrace_get(const struct mz_kmemtrace_layout *l, const char *p, size_t len,
		      struct mz_event *ev, uint64_t *site, int32_t *sequence, const char **why);

/* One event as a record at p, which has room for MZ_KMT_PUT_MAX: its bytes, or
 * 0: the format has no such event (why says it). */
size_t mz_kmemtrace_put(const struct mz_kmemtrace_layout *l, const struct mz_event *ev,
			uint64_t site, int32_t sequence, char *p, const char **why);

const struct mz_reader_ops *mz_kmemtrace_probe(const char *data, size_t len);

#endif
