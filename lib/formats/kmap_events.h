/* SPDX-License-Identifier: BSD-2-Clause */
/* A KMAP as events of a container, and back (docs/format.md). */
/*
 * An object becomes an alloc, an access for each of its lines, and a free. What events have no
 * field for (the shape of the line, the process's name, the type) is stored in a mark before the
 * event whenever it changes. So is a line in a form that the kernel does not write, so that nothing
 * is lost.
 */
#ifndef MZ_FORMATS_KMAP_EVENTS_H
#define MZ_FORMATS_KMAP_EVENTS_H

#include "base/buf.h"
#include "formats/kmap.h"

/* ---- records to events ---------------------------------------------------------------- */

struct mz_kmap_packer {
	struct mz_writer *w;	  /* receives the events; the caller owns it */
	struct mz_kmap_object of; /* the current object, without its texts */
	uint64_t objects, events;
	uint64_t last_time;
	bool open;	    /* an object's free is still to come */
	struct mz_buf mark; /* the last mark of an object */
	struct mz_buf text; /* scratch */
	struct mz_event ev[64];
	size_t n;
};

void mz_kmap_packer_init(struct mz_kmap_packer *p, struct mz_writer *w);
void mz_kmap_packer_deinit(struct mz_kmap_packer *p);
/* 0 or -errno. */
int mz_kmap_pack(struct mz_kmap_packer *p, const struct mz_kmap_record *rec);
int mz_kmap_pack_end(struct mz_kmap_packer *p);

/* ---- events to records ---------------------------------------------------------------- */

struct mz_kmap_unpacker;

/* r is the caller's, and stays open. NULL = no memory. */
struct mz_kmap_unpacker *mz_kmap_unpacker_new(struct mz_reader *r);
void mz_kmap_unpacker_free(struct mz_kmap_unpacker *u);
/* As mz_kmap_next(); errors are in err. */
int mz_kmap_unpack(struct mz_kmap_unpacker *u, struct mz_kmap_record *rec, struct mz_error *err);

#endif
