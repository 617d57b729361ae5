// SPDX-License-Identifier: BSD-2-Clause
/* Buffer ring records in an unnamed file until the encoder takes them. */
#include "record/user_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/array.h"
#include "base/spill.h"

#define RECORD	   sizeof(struct mz_record)
#define FIRST_READ 128u		 /* records per read, from a ring with few */
#define MOST_READ  1024u	 /* and from one with many */
#define KEEP_BYTES (64ull << 20) /* a larger file is not truncated */
#define FAR_BYTES  (1ull << 40)	 /* an offset; some file systems end at 16 TiB */

void mz_spool_close(struct mz_user_spool *s)
{
	if (s->fd >= 0)
		close(s->fd);
	free(s->unread);
	free(s->memory);
	s->unread = NULL;
	s->memory = NULL;
	s->fd = -1;
}

void mz_spool_open(struct mz_user_spool *s, const char *folder, uint64_t limit)
{
	*s = (struct mz_user_spool){.limit = limit ? limit : SPOOL_LIMIT};
	pthread_mutex_init(&s->lock, NULL);
	s->fd = mz_nameless_file(folder);
	s->disk = s->fd < 0 ? errno : 0;
	s->memory = s->fd >= 0 ? malloc(SPOOL_MEMORY) : NULL;
}

/* How many of the bytes at an offset are in memory. */
static size_t in_memory(const struct mz_user_spool *s, uint64_t offset, size_t bytes)
{
	uint64_t most = s->memory && offset < SPOOL_MEMORY ? SPOOL_MEMORY - offset : 0;

	return bytes < most ? bytes : (size_t)most;
}

/* ---- segments ----------------------------------------------------------------------- */

static int segment_room(struct mz_user_spool *s, uint64_t end)
{
	size_t want = (size_t)(end / SPOOL_SEGMENT) + 1;
	uint32_t *p;

	if (want <= s->segments)
		return 0;
	want += 64;
	p = realloc(s->unread, want * sizeof(*p));
	if (!p)
		return -ENOMEM;
	memset(p + s->segments, 0, (want - s->segments) * sizeof(*p));
	s->unread = p;
	s->segments = want;
	return 0;
}

/* The disk keeps a segment that it cannot punch out. */
static void punch(struct mz_user_spool *s, uint64_t segment, bool *failed)
{
	*failed = fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			    (off_t)(segment * SPOOL_SEGMENT), (off_t)SPOOL_SEGMENT);
}

static void count_given(struct mz_user_spool *s, bool failed)
{
	if (failed)
		s->keeps = true;
	else
		s->given += SPOOL_SEGMENT;
}

/* It has been read, and nothing is written to it any more. */
static void give_back(struct mz_user_spool *s, uint64_t segment)
{
	bool failed;

	if (s->keeps || (segment + 1) * SPOOL_SEGMENT > s->end)
		return;
	if (s->hole_count < SPOOL_HOLES) {
		s->holes[s->hole_count++] = segment;
		return;
	}
	punch(s, segment, &failed);
	count_given(s, failed);
}

/* Needs no lock while it punches holes: bytes below the end are written again only after all of
 * them were read, which happens in this same thread. */
void mz_spool_give_back(struct mz_user_spool *s)
{
	pthread_mutex_lock(&s->lock);
	while (s->hole_count) {
		uint64_t segment = s->holes[--s->hole_count];
		bool failed;

		pthread_mutex_unlock(&s->lock);
		punch(s, segment, &failed);
		pthread_mutex_lock(&s->lock);
		count_given(s, failed);
	}
	pthread_mutex_unlock(&s->lock);
}

/* Records at an offset were written (by = 1) or read (by = -1). */
static void count_records(struct mz_user_spool *s, uint64_t offset, uint64_t count, int by)
{
	while (count) {
		uint64_t segment = offset / SPOOL_SEGMENT;
		uint64_t n = ((segment + 1) * SPOOL_SEGMENT - offset) / RECORD;

		n = n < count ? n : count;
		s->unread[segment] += by > 0 ? (uint32_t)n : -(uint32_t)n;
		if (by < 0 && !s->unread[segment])
			give_back(s, segment);
		offset += n * RECORD;
		count -= n;
	}
}

/* ---- writing ------------------------------------------------------------------------ */

static int add_part(struct mz_spool_queue *q, const struct mz_spool_part *part)
{
	struct mz_spool_part *last = q->count ? &q->parts[q->first + q->count - 1] : NULL;

	if (last && last->offset + last->count * RECORD == part->offset) {
		last->count += part->count;
		return 0;
	}
	if (q->first + q->count == q->cap && q->first > q->cap / 2) {
		memmove(q->parts, q->parts + q->first, q->count * sizeof(*q->parts));
		q->first = 0;
	}
	if (!mz_array_room((void **)&q->parts, &q->cap, q->first + q->count, sizeof(*q->parts)))
		return -ENOMEM;
	q->parts[q->first + q->count++] = *part;
	return 0;
}

/* For the user, who is told what to do: false. */
static bool disk_failed(struct mz_user_spool *s, int why)
{
	__atomic_store_n(&s->disk, why, __ATOMIC_RELAXED);
	return false;
}

/* Half of the free space is left to the output. */
static bool has_room(struct mz_user_spool *s, uint64_t end)
{
	struct statvfs v;

	if (s->fd < 0 || end - s->given > s->limit || segment_room(s, end) < 0)
		return false;
	/* checked again for every segment: others write to the disk, too */
	if (end > s->allowed && !fstatvfs(s->fd, &v))
		/* refused: a shorter request must not slip through, so the space is checked
		 * again */
		s->allowed = (uint64_t)v.f_bavail * v.f_frsize > end - s->given + SPOOL_SEGMENT
				     ? end + SPOOL_SEGMENT
				     : s->end;
	return end <= s->allowed || disk_failed(s, ENOSPC);
}

/* Skips the bytes that were written: the number of pieces that are left. */
static int pass(struct iovec **v, int n, size_t did)
{
	for (; n && did >= (*v)->iov_len; ++*v, n--)
		did -= (*v)->iov_len;
	if (n) {
		(*v)->iov_base = (char *)(*v)->iov_base + did;
		(*v)->iov_len -= did;
	}
	return n;
}

/* As many bytes as there is room for in memory, of the first piece; 0: there is none. */
static size_t keep(struct mz_user_spool *s, const struct iovec *v, uint64_t at)
{
	size_t n = in_memory(s, at, v->iov_len);

	if (n)
		memcpy(s->memory + at, v->iov_base, n);
	return n;
}

/* All of it or nothing. */
static int append(struct mz_user_spool *s, struct iovec *v, int n, size_t bytes)
{
	uint64_t at = s->end;

	if (!has_room(s, at + bytes))
		return -ENOSPC;
	while (bytes) {
		ssize_t did = (ssize_t)keep(s, v, at);

		if (!did)
			did = pwritev(s->fd, v, n, (off_t)at);
		if (did < 0 && errno == EINTR)
			continue;
		if (did <= 0) {
			int why = did ? errno : ENOSPC;

			disk_failed(s, why);
			return -why;
		}
		at += (size_t)did;
		bytes -= (size_t)did;
		n = pass(&v, n, (size_t)did);
	}
	s->end = at;
	return 0;
}

int mz_spool_put(struct mz_user_spool *s, struct mz_spool_queue *q, const struct mz_record *a,
		 size_t na, const struct mz_record *b, size_t nb)
{
	struct iovec v[2] = {{(void *)a, na * RECORD}, {(void *)b, nb * RECORD}};
	struct mz_spool_part part = {.offset = s->end, .first = q->put, .count = na + nb};
	int ret = append(s, v, nb ? 2 : 1, (na + nb) * RECORD);

	if (!ret)
		ret = add_part(q, &part);
	if (ret < 0) {
		s->end = part.offset;
		return ret;
	}
	q->put += na + nb;
	s->waiting += na + nb;
	count_records(s, part.offset, na + nb, 1);
	/* segments that were read completely while they were still being written */
	for (uint64_t i = part.offset / SPOOL_SEGMENT; i < s->end / SPOOL_SEGMENT; i++)
		if (!s->unread[i])
			give_back(s, i);
	s->on_disk = s->end > s->on_disk ? s->end : s->on_disk;
	s->most = s->end - s->given > s->most ? s->end - s->given : s->most;
	return 0;
}

/* ---- reading ------------------------------------------------------------------------ */

/* Everything was read: start again at the beginning where that costs nothing. Truncating a large
 * file takes the disk long, and the mover would wait: its segments are returned one by one
 * instead, and offsets continue, but not to where files end. */
static void begin_again(struct mz_user_spool *s)
{
	bool far = s->end > FAR_BYTES && !s->hole_count;

	if (s->end > KEEP_BYTES && !s->keeps && !far)
		return;
	if (s->keeps && s->on_disk > KEEP_BYTES && !ftruncate(s->fd, 0))
		s->on_disk = 0;
	if (s->segments)
		memset(s->unread, 0, s->segments * sizeof(*s->unread));
	s->allowed = s->end = s->given = 0;
	s->hole_count = 0;
}

void mz_spool_taken(struct mz_user_spool *s, struct mz_spool_queue *q, uint64_t n)
{
	s->waiting -= n - q->taken;
	for (size_t i = q->first; i < q->first + q->count; i++) {
		const struct mz_spool_part *p = &q->parts[i];
		uint64_t from = q->taken > p->first ? q->taken - p->first : 0;
		uint64_t to = n > p->first ? n - p->first : 0;

		to = to < p->count ? to : p->count;
		if (to > from)
			count_records(s, p->offset + from * RECORD, to - from, -1);
		if (p->first + p->count > n)
			break;
	}
	q->taken = n;
	while (q->count && q->parts[q->first].first + q->parts[q->first].count <= n) {
		q->first++;
		q->count--;
	}
	if (!q->count)
		q->first = 0;
	if (!s->waiting)
		begin_again(s);
}

static bool find_part(struct mz_user_spool *s, const struct mz_spool_queue *q, uint64_t n,
		      struct mz_spool_part *out)
{
	bool found = false;

	pthread_mutex_lock(&s->lock);
	for (size_t i = q->first; i < q->first + q->count && !found; i++) {
		const struct mz_spool_part *p = &q->parts[i];

		if (n - p->first < p->count) {
			*out = *p;
			found = true;
		}
	}
	pthread_mutex_unlock(&s->lock);
	return found;
}

/* Into the buffer of the queue. False: the file cannot be read. */
static bool read_at(const struct mz_user_spool *s, char *to, size_t bytes, uint64_t offset)
{
	size_t done = in_memory(s, offset, bytes);

	if (done)
		memcpy(to, s->memory + offset, done);
	while (done < bytes) {
		ssize_t got = pread(s->fd, to + done, bytes - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

const struct mz_record *mz_spool_refill(struct mz_user_spool *s, struct mz_spool_queue *q,
					uint64_t n)
{
	struct mz_spool_part p;
	size_t want;

	if (!find_part(s, q, n, &p))
		return NULL;
	want = p.count - (n - p.first) < MOST_READ ? (size_t)(p.count - (n - p.first)) : MOST_READ;
	if (want > q->buf_cap) {
		size_t cap = want <= FIRST_READ ? FIRST_READ : MOST_READ;
		struct mz_record *b = realloc(q->buf, cap * RECORD);

		if (!b)
			return NULL;
		q->buf = b;
		q->buf_cap = cap;
	}
	if (!read_at(s, (char *)q->buf, want * RECORD, p.offset + (n - p.first) * RECORD))
		return NULL;
	q->buf_first = n;
	q->buf_count = want;
	return q->buf;
}

void mz_spool_queue_free(struct mz_spool_queue *q)
{
	free(q->parts);
	free(q->buf);
	*q = (struct mz_spool_queue){.put = q->put, .taken = q->taken};
}
