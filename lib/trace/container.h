/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading a container. */
#ifndef MZ_TRACE_CONTAINER_H
#define MZ_TRACE_CONTAINER_H

#include "base/merge.h"
#include "trace/chunk_readahead.h"
#include "trace/container_scan.h"
#include "trace/reader.h"

extern const struct mz_reader_ops mz_container_reader_ops;

bool mz_container_probe(const char *data, size_t n);
/* Is the index there, which the writer puts at the end? For a pipe, this is true until the end was
 * read without one. Other formats have no end that could be missing. */
bool mz_container_has_end(const struct mz_reader *r);

/* The chunks of a stream, in order. */
struct mz_merge_lane {
	const struct mz_container *of;
	struct mz_chunk_readahead *ahead; /* NULL: no chunk is open */
	const uint32_t *chunks;		  /* in the index */
	uint32_t n, at;
	uint32_t stream;
	uint32_t sequence;	  /* of the chunk that should be next */
	uint64_t place;		  /* offset of the open chunk */
	uint64_t time;		  /* of the next event, or the least that it can be */
	struct mz_event *waiting; /* decoded, and others come first */
	uint32_t n_waiting, at_waiting;
	uint64_t charge; /* what decoding costs, in the input's budget */
	bool open;
};

struct mz_container {
	struct mz_container_scan scan;
	bool seekable;
	bool raw;
	bool started;
	struct mz_attrs attrs;
	struct mz_select select;
	bool selecting;
	uint64_t damaged; /* met while reading */

	struct mz_merge_lane *lanes;
	uint32_t n_lanes;
	uint32_t *chunks;      /* of all lanes, one after the other */
	struct mz_merge merge; /* of the lanes, by time */

	/* from a pipe */
	struct mz_decoder *decoder;
	bool open, met, ended;
	uint32_t stream, sequence;
	uint64_t place;
};

/* From a file: start, then events in order of time. */
int mz_container_merge_start(struct mz_reader *r);
long mz_container_merge_read(struct mz_reader *r, struct mz_event *ev, size_t max);
void mz_container_merge_stop(struct mz_reader *r);

/* A block that is no chunk: attributes and tables. 0 or -errno. */
int mz_container_meta(struct mz_reader *r, unsigned type, const void *payload, size_t size);
/* The event that stands for what is damaged. */
void mz_container_lost(struct mz_event *ev, uint64_t events, uint64_t time, bool has_time);

#endif
