/* SPDX-License-Identifier: BSD-2-Clause */
/* The raw records of the original kmemtrace. */
/*
 * There is no file header: the first records show the format, byte order and word size.
 *
 *   C: u8 event, u8 type, u16 size, s32 sequence, u64 call site, u64 pointer;
 *      alloc: u64 requested, u64 allocated, u32 gfp, s32 node.
 *      24 and 48 bytes, and what extensions add, each u16 size, u8 id, data:
 *      1 (24 bytes): u8 kind, u32 cache, u64 time, u32 process, u32 thread;
 *      2 (8 bytes): u8 0, u32 stack. kind 1 is vmalloc (of type 2). cache and
 *      stack are numbers of the files `caches` and `stacks` beside the trace.
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
#define MZ_KMT_PUT_MAX	  80

/* What a record contains besides the event. */
struct mz_kmemtrace_extra {
	uint64_t site;
	int32_t sequence; /* of format C, as in the file */
	bool context;	  /* has the extension with time, process and cache */
	uint32_t cache;	  /* numbers of the files beside; 0 = none */
	uint32_t stack;
};

/* Bytes of a free and of an allocation without extension. */
size_t mz_kmemtrace_size(enum mz_kmemtrace_shape shape, bool is_free);
const char *mz_kmemtrace_shape_name(const struct mz_kmemtrace_layout *l);

/* Determines the layout of the data; false = these are no such records. */
bool mz_kmemtrace_detect(const char *data, size_t len, struct mz_kmemtrace_layout *l);

/* Reads the next record. Returns its size in bytes; 0 = len is too small (the record is cut if the
 * input ends here); -1 = not a record, with the reason in why. The event has no objects, and
 * neither site nor cache yet: see x. Its time is known if x->context is set, and in format E. */
long mz_kmemtrace_get(const struct mz_kmemtrace_layout *l, const char *p, size_t len,
		      struct mz_event *ev, struct mz_kmemtrace_extra *x, const char **why);

/* Writes an event as a record at p, where MZ_KMT_PUT_MAX bytes must be free. Returns its size, or 0
 * with the reason in why if the format has no such event. The extension is written if x->context is
 * set. */
size_t mz_kmemtrace_put(const struct mz_kmemtrace_layout *l, const struct mz_event *ev,
			const struct mz_kmemtrace_extra *x, char *p, const char **why);

const struct mz_reader_ops *mz_kmemtrace_probe(const char *data, size_t len);

/* Of a reader of format C: its times are ns, not sequence numbers. */
bool mz_kmemtrace_timed(const struct mz_reader *r);

#endif
