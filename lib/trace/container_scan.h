/* SPDX-License-Identifier: BSD-2-Clause */
/* The blocks of a container: from its index, or by walking over them. */
#ifndef MZ_TRACE_CONTAINER_SCAN_H
#define MZ_TRACE_CONTAINER_SCAN_H

#include "base/input.h"
#include "trace/block.h"

/* Bytes that can be read at any place: a file or memory. */
struct mz_source {
	const uint8_t *memory; /* NULL: fd */
	int fd;
	uint64_t base; /* where in the file the container begins */
	uint64_t size;
	const char *name;
};

/* false: the input is a pipe. */
bool mz_source_init(struct mz_source *s, const struct mz_input *in);
/* n bytes at offset, fewer at the end: how many, or -errno with err set. */
long mz_source_read(const struct mz_source *s, uint64_t offset, void *buf, size_t n,
		    struct mz_error *err);

struct mz_container_scan {
	struct mz_source source;
	struct mz_index index;
	struct mz_packer packer;
	struct mz_buf block; /* the payload last loaded */
	bool whole;	     /* index and trailer are good */
	uint64_t damaged;    /* places that were skipped while walking */
	uint64_t bad_bytes;
	uint64_t first_bad;
	uint64_t end; /* behind the last good block */
};

/* Fill the index. 0 or -errno with err set. walk: whatever the trailer says. */
int mz_container_scan_open(struct mz_container_scan *s, bool walk, struct mz_error *err);
void mz_container_scan_close(struct mz_container_scan *s);

/* Load the payload of a block: 0, -EBADMSG if it is damaged, else -errno. */
int mz_container_scan_load(struct mz_container_scan *s, const struct mz_index_entry *entry,
			   struct mz_error *err);

/* The same into a buffer of the caller's: several threads may load at once. */
int mz_container_scan_load_to(const struct mz_container_scan *s, const struct mz_index_entry *entry,
			      struct mz_buf *to, struct mz_error *err);

/* As this library knows it, with its own size. */
void mz_container_scan_summary(const struct mz_container_scan *s, struct mz_summary *summary);

#endif
