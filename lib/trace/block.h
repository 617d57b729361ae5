/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks: framed, checksummed payloads, and the contents of all blocks other than chunks. */
#ifndef MZ_TRACE_BLOCK_H
#define MZ_TRACE_BLOCK_H

#include "base/mem_budget.h"
#include "trace/chunk.h"

struct mz_block_frame {
	uint8_t type; /* enum mz_block_type */
	uint32_t size;
	uint32_t crc;
};

void mz_file_header_put(uint8_t out[MZ_WIRE_HEADER_SIZE]);
/* 0, -EBADMSG: no header, or damaged; -ENOTSUP: made by a later version, which
 * err explains. */
int mz_file_header_check(const uint8_t in[MZ_WIRE_HEADER_SIZE], const char *name,
			 struct mz_error *err);

void mz_block_frame_put(uint8_t out[MZ_WIRE_FRAME_SIZE], uint8_t type, const void *payload,
			size_t size);
/* false: this is no frame. */
bool mz_block_frame_get(const uint8_t in[MZ_WIRE_FRAME_SIZE], struct mz_block_frame *frame);

void mz_trailer_put(uint8_t out[MZ_WIRE_TRAILER_SIZE], uint64_t index);
bool mz_trailer_get(const uint8_t in[MZ_WIRE_TRAILER_SIZE], uint64_t *index);

/* ---- attributes --------------------------------------------------------- */

struct mz_attrs {
	struct mz_attr *v;
	size_t n, cap;
	struct mz_tables *keys;	      /* attribute i has the key with number i + 1 */
	struct mz_mem_budget *budget; /* that they are taken from; NULL: there is no account */
};

void mz_attrs_deinit(struct mz_attrs *a);
/* Copies; of two attributes with the same key, the last stays. -EINVAL: the key is not valid. */
int mz_attrs_set(struct mz_attrs *a, const struct mz_attr *attr);
int mz_attrs_put(const struct mz_attrs *a, size_t from, struct mz_packer *pk, struct mz_buf *out);
int mz_attrs_get(struct mz_attrs *a, struct mz_packer *pk, const void *payload, size_t size);

/* ---- tables ------------------------------------------------------------- */

/* Strings from number `from` on. */
int mz_strings_put(const struct mz_tables *t, uint32_t from, struct mz_packer *pk,
		   struct mz_buf *out);
/* lost: how many numbers may be missing before the first one, because of damage. */
int mz_strings_get(struct mz_tables *t, struct mz_packer *pk, const void *payload, size_t size,
		   uint64_t lost);
/* The lists in files of version 2.0. */
int mz_stacks_get(struct mz_tables *t, struct mz_packer *pk, const void *payload, size_t size,
		  uint64_t lost);

/* The tree of the stacks in the tables: the nodes and stacks after those numbers. */
struct mz_stack_tree;
struct mz_stack_tree *mz_tables_tree(struct mz_tables *t);
int mz_chains_put(const struct mz_stack_tree *t, uint32_t nodes, uint32_t stacks,
		  struct mz_packer *pk, struct mz_buf *out);
int mz_chains_get(struct mz_stack_tree *t, struct mz_packer *pk, const void *payload, size_t size,
		  uint64_t lost);
/* The tree in files of version 2.1. */
int mz_tree_get(struct mz_stack_tree *t, struct mz_packer *pk, const void *payload, size_t size,
		uint64_t lost);

/* ---- the index ---------------------------------------------------------- */

struct mz_index_entry {
	uint64_t offset; /* of the frame */
	uint32_t size;	 /* of the payload */
	uint8_t type;
	struct mz_chunk_info info; /* EVENTS */
};

struct mz_index {
	struct mz_index_entry *v;
	size_t n, cap;
	uint64_t produced;
	bool has_produced;
};

void mz_index_deinit(struct mz_index *x);
int mz_index_add(struct mz_index *x, const struct mz_index_entry *entry);
int mz_index_put(const struct mz_index *x, struct mz_packer *pk, struct mz_buf *out);
/* most: blocks that the file has room for. */
int mz_index_get(struct mz_index *x, struct mz_packer *pk, const void *payload, size_t size,
		 uint64_t most);

#endif
