/* SPDX-License-Identifier: BSD-2-Clause */
/* Which parts of the address space hold live bytes, over time. */
/*
 * They are counted in a grid of a fixed number of rows and columns. A row is a range of addresses
 * that was used at some time; when there are too many rows, all ranges double. Columns double in
 * the same way. Times may decrease: until the end a cell holds the changes in it, and their sum
 * does not depend on their order.
 */
#ifndef MZ_ANALYSIS_ADDRESS_HEATMAP_H
#define MZ_ANALYSIS_ADDRESS_HEATMAP_H

#include <stdbool.h>
#include <stdint.h>

#define MZ_HEATMAP_ROWS	      128
#define MZ_HEATMAP_COLUMNS    192
#define MZ_HEATMAP_GUESS_BITS 10

struct mz_heatmap {
	unsigned shift; /* a row is 2^shift bytes */
	unsigned rows, columns;
	uint64_t width;				   /* of a column, in the clock's unit */
	uint64_t start;				   /* widths before the first column */
	unsigned now;				   /* column of what is added */
	uint64_t from, span;			   /* the times of that column */
	uint64_t key[MZ_HEATMAP_ROWS];		   /* address >> shift, sorted */
	uint8_t guess[1 << MZ_HEATMAP_GUESS_BITS]; /* by the key: where it was last */
	uint64_t live[MZ_HEATMAP_ROWS];		   /* with all that was added */
	union {
		/* until the end: what came and went in a column */
		uint64_t changes[MZ_HEATMAP_ROWS][MZ_HEATMAP_COLUMNS];
		/* then: live bytes at its end */
		uint64_t cells[MZ_HEATMAP_ROWS][MZ_HEATMAP_COLUMNS];
	};
};

void mz_heatmap_init(struct mz_heatmap *s);
/* The time of what is added next. */
void mz_heatmap_tick(struct mz_heatmap *s, uint64_t at);
/* A block of size bytes came, or went. */
void mz_heatmap_add(struct mz_heatmap *s, uint64_t addr, uint64_t size, bool came);
/* A block that is there all the time. */
void mz_heatmap_always(struct mz_heatmap *s, uint64_t addr, uint64_t size);
/* After all events; at is the end of time. */
void mz_heatmap_end(struct mz_heatmap *s, uint64_t at);

#endif
