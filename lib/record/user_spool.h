/* SPDX-License-Identifier: BSD-2-Clause */
/* The spool: an unnamed file that holds records between the rings and the packer. */
/*
 * It is there so that a program does not wait for the packer, and memory is bounded. The file is a
 * sequence of segments. A segment that was read is returned to the disk at once, and writing starts
 * again at the beginning whenever everything has been read. The beginning of the file is kept in
 * memory, which is all that a packer that keeps up needs.
 */
#ifndef MZ_RECORD_USER_SPOOL_H
#define MZ_RECORD_USER_SPOOL_H

#include <memorizer.h>
#include <pthread.h>
#include <uapi/memorizer/record.h>

#define SPOOL_LIMIT	 (2ull << 30) /* bytes, if the user requests nothing else */
#define SPOOL_SEGMENT	 (4ull << 20) /* bytes */
#define SPOOL_LEAST_ROOM (4ull << 20) /* on the disk: with less there is no spool */
#define SPOOL_HOLES	 64u
#define SPOOL_MEMORY	 (2ull << 20) /* bytes at its beginning that are in no file */

struct mz_spool_part {
	uint64_t offset;
	uint64_t first; /* number of its first record in the ring */
	uint64_t count;
};

/* The records of one ring. */
struct mz_spool_queue {
	uint64_t put;	/* numbers below this were moved here */
	uint64_t taken; /* numbers below this were read */
	struct mz_spool_part *parts;
	size_t first, count, cap;
	/* of the reader alone */
	struct mz_record *buf;
	uint64_t buf_first;
	size_t buf_count, buf_cap;
};

struct mz_user_spool {
	pthread_mutex_t lock; /* of everything except the readers' buffers */
	int fd;
	char *memory;	  /* SPOOL_MEMORY bytes; NULL: all of it is in the file */
	uint64_t limit;	  /* bytes that may wait */
	uint64_t end;	  /* of what is written */
	uint64_t given;	  /* bytes of segments that were given back */
	uint32_t *unread; /* records, by segment */
	size_t segments;
	uint64_t holes[SPOOL_HOLES]; /* segments that can be given back */
	unsigned hole_count;
	bool keeps;	  /* the disk takes nothing back before the end */
	uint64_t allowed; /* at the last check; more than that needs a new check */
	uint64_t on_disk;
	uint64_t waiting; /* records that are not read yet */
	uint64_t most;	  /* bytes that it ever had */
	bool full;	  /* something did not fit when it was last tried */
	int disk;	  /* an errno: why the disk, not the limit, had no room; 0: it had */
};

/* Opens a spool of at most limit bytes (0 = SPOOL_LIMIT) in that folder. If it cannot be created,
 * it is always full. */
void mz_spool_open(struct mz_user_spool *s, const char *folder, uint64_t limit);
void mz_spool_close(struct mz_user_spool *s);

/* Both with the lock held. Move records of a ring here, in two pieces since a
 * ring may wrap: 0 or -errno (nothing was moved). */
int mz_spool_put(struct mz_user_spool *s, struct mz_spool_queue *q, const struct mz_record *a,
		 size_t na, const struct mz_record *b, size_t nb);
/* Numbers below n were read. */
void mz_spool_taken(struct mz_user_spool *s, struct mz_spool_queue *q, uint64_t n);

/* Without the lock, in the thread of the reader: give back what was read. It takes the disk some
 * time, and the mover must not wait for it. */
void mz_spool_give_back(struct mz_user_spool *s);

/* The reader: record n, which must have been put; NULL = it cannot be read. Good
 * until the next call for the same queue. */
const struct mz_record *mz_spool_refill(struct mz_user_spool *s, struct mz_spool_queue *q,
					uint64_t n);

static inline const struct mz_record *mz_spool_at(struct mz_user_spool *s, struct mz_spool_queue *q,
						  uint64_t n)
{
	uint64_t i = n - q->buf_first;

	return __builtin_expect(i < q->buf_count, 1) ? &q->buf[i] : mz_spool_refill(s, q, n);
}

void mz_spool_queue_free(struct mz_spool_queue *q);

#endif
