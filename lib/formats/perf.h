/* SPDX-License-Identifier: BSD-2-Clause */
/* What `perf script` prints of the kernel's kmem events, with call chains or without. */
/*
 *   cc1 21973 [000] 13932.497830: kmem:kmalloc: call_site=f+0x10c ptr=0xffff8881048905c0
 *       bytes_req=32 bytes_alloc=32 gfp_flags=GFP_KERNEL node=-1 accounted=false
 *   	ffffffff816338cd __kmalloc+0x20d ([kernel.kallsyms])
 *
 * Other events, and those of kmem that neither allocate nor free memory, are ignored.
 */
#ifndef MZ_FORMATS_PERF_H
#define MZ_FORMATS_PERF_H

#include "trace/reader.h"

bool mz_perf_probe(const char *data, size_t len);
extern const struct mz_reader_ops mz_perf_reader_ops;

#endif
