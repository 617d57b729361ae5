// SPDX-License-Identifier: BSD-2-Clause
/* Find the blocks of a container through its index or by scanning. */
#include "trace/container_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

#define HEAD	   (MZ_WIRE_FRAME_SIZE + 2048) /* a frame and the longest info */
#define LOOK_FIRST 512			       /* bytes that are looked through at once, at first */
#define LOOK_MOST  (64 * 1024)

/* ---- the source --------------------------------------------------------- */

/* False for what cannot be read at any place: a pipe, or compressed input. */
bool mz_source_init(struct mz_source *s, const struct mz_input *in)
{
	struct stat st;
	off_t at;

	*s = (struct mz_source){.fd = in->fd, .name = in->name};
	if (in->unpack)
		return false;
	if (in->fd < 0) {
		s->memory = (const uint8_t *)in->pos;
		s->size = mz_input_left(in);
		return true;
	}
	at = lseek(in->fd, 0, SEEK_CUR);
	if (at < 0 || fstat(in->fd, &st) || !S_ISREG(st.st_mode) || (uint64_t)at < in->offset)
		return false;
	/* the input has read ahead; nothing of it was used */
	s->base = (uint64_t)at - in->offset;
	s->size = (uint64_t)st.st_size - s->base;
	return true;
}

long mz_source_read(const struct mz_source *s, uint64_t offset, void *buf, size_t n,
		    struct mz_error *err)
{
	size_t done = 0;

	if (offset >= s->size)
		return 0;
	if (n > s->size - offset)
		n = (size_t)(s->size - offset);
	if (s->memory) {
		memcpy(buf, s->memory + offset, n);
		return (long)n;
	}
	while (done < n) {
		ssize_t got = pread(s->fd, (char *)buf + done, n - done,
				    (off_t)(s->base + offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return mz_fail_offset(err, errno, offset, "%s: byte %llu: cannot read: %s",
					      s->name, (unsigned long long)offset, strerror(errno));
		if (!got)
			break;
		done += (size_t)got;
	}
	return (long)done;
}

/* ---- loading blocks ----------------------------------------------------- */

/* The frame is read again and must agree with the entry: the index is as untrusted as any other
 * part of the file. */
int mz_container_scan_load_to(const struct mz_container_scan *s, const struct mz_index_entry *entry,
			      struct mz_buf *to, struct mz_error *err)
{
	uint8_t head[MZ_WIRE_FRAME_SIZE];
	struct mz_block_frame frame;
	long n = mz_source_read(&s->source, entry->offset, head, sizeof(head), err);

	if (n < 0)
		return (int)n;
	if (n != sizeof(head) || !mz_block_frame_get(head, &frame) || frame.type != entry->type ||
	    frame.size != entry->size)
		return -EBADMSG;
	to->len = 0;
	if (!mz_buf_room(to, frame.size + 1)) {
		to->failed = false;
		return mz_fail_memory(err);
	}
	n = mz_source_read(&s->source, entry->offset + sizeof(head), to->data, frame.size, err);
	if (n < 0)
		return (int)n;
	to->len = (size_t)n;
	if (to->len != frame.size || mz_crc32c(0, to->data, to->len) != frame.crc)
		return -EBADMSG;
	return 0;
}

int mz_container_scan_load(struct mz_container_scan *s, const struct mz_index_entry *entry,
			   struct mz_error *err)
{
	return mz_container_scan_load_to(s, entry, &s->block, err);
}

/* ---- by walking --------------------------------------------------------- */

/* The entry of the block at offset: 1; 0: there is none; -errno. */
static int look_at(struct mz_container_scan *s, uint64_t offset, struct mz_index_entry *entry,
		   struct mz_error *err)
{
	uint8_t head[HEAD];
	struct mz_block_frame frame;
	struct mz_bytes in;
	long n = mz_source_read(&s->source, offset, head, sizeof(head), err);

	if (n < 0)
		return (int)n;
	if (n < MZ_WIRE_FRAME_SIZE || !mz_block_frame_get(head, &frame) ||
	    frame.size > s->source.size - offset - MZ_WIRE_FRAME_SIZE)
		return 0;
	*entry = (struct mz_index_entry){.offset = offset, .size = frame.size, .type = frame.type};
	if (frame.type != MZ_BLOCK_EVENTS)
		return 1;
	in.p = head + MZ_WIRE_FRAME_SIZE;
	in.end =
		in.p + ((size_t)n - MZ_WIRE_FRAME_SIZE < frame.size ? (size_t)n - MZ_WIRE_FRAME_SIZE
								    : frame.size);
	in.bad = false;
	mz_chunk_info_get(&in, &entry->info); /* loading it will show damage */
	return 1;
}

/* The next frame at or behind offset, or the end of the file. */
static int find_frame(struct mz_container_scan *s, uint64_t *offset, struct mz_error *err)
{
	uint8_t *buf = malloc(LOOK_MOST);
	int ret = buf ? 0 : mz_fail_memory(err);

	/* damage is often short, and a file may have much of it */
	for (size_t look = LOOK_FIRST; !ret; look = look < LOOK_MOST ? 2 * look : look) {
		long n = mz_source_read(&s->source, *offset, buf, look, err);
		const uint8_t *p = buf, *end = buf + (n > 0 ? n : 0);
		struct mz_block_frame frame;

		if (n < MZ_WIRE_FRAME_SIZE) {
			ret = n < 0 ? (int)n : 0;
			*offset = s->source.size;
			break;
		}
		for (; p + MZ_WIRE_FRAME_SIZE <= end; p++)
			if (*p == 'M' && mz_block_frame_get(p, &frame))
				break;
		*offset += (uint64_t)(p - buf);
		if (p + MZ_WIRE_FRAME_SIZE <= end)
			break;
	}
	free(buf);
	return ret;
}

/* What looks like damage at the very end may be the trailer of a file whose index is damaged. */
static bool is_trailer(struct mz_container_scan *s, uint64_t offset)
{
	uint8_t b[MZ_WIRE_TRAILER_SIZE];
	uint64_t index;

	return s->source.size - offset == sizeof(b) &&
	       mz_source_read(&s->source, offset, b, sizeof(b), NULL) == sizeof(b) &&
	       mz_trailer_get(b, &index);
}

/* From one byte behind the bad place: the bytes of a damaged frame may hold the start of a good
 * one. */
static int skip_damage(struct mz_container_scan *s, uint64_t *at, struct mz_error *err)
{
	uint64_t from = *at;
	int ret;

	++*at;
	ret = find_frame(s, at, err);
	if (!s->damaged++)
		s->first_bad = from;
	s->bad_bytes += *at - from;
	return ret;
}

/* Frame by frame, without the index: for files whose writer was killed, and for verify. */
static int walk_blocks(struct mz_container_scan *s, struct mz_error *err)
{
	uint64_t at = MZ_WIRE_HEADER_SIZE;
	int ret = 0;

	s->end = at;
	while (!ret && at < s->source.size && !is_trailer(s, at)) {
		struct mz_index_entry entry;

		ret = look_at(s, at, &entry, err);
		if (ret < 0)
			return ret;
		if (!ret) {
			ret = skip_damage(s, &at, err);
			continue;
		}
		ret = 0;
		at = s->end = entry.offset + MZ_WIRE_FRAME_SIZE + entry.size;
		if (entry.type != MZ_BLOCK_INDEX && mz_index_add(&s->index, &entry) < 0)
			return mz_fail_memory(err);
	}
	return ret;
}

/* ---- by the index ------------------------------------------------------- */

/* An index with a good checksum may still have been made to point anywhere. */
static bool is_sane(const struct mz_index *x, uint64_t end)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->v[i].offset > end || x->v[i].size > end - x->v[i].offset)
			return false;
	return true;
}

/* 1: done; 0: there is no good index; -errno. */
static int use_index(struct mz_container_scan *s, struct mz_error *err)
{
	struct mz_index_entry entry = {.type = MZ_BLOCK_INDEX};
	uint8_t b[MZ_WIRE_TRAILER_SIZE];
	uint64_t end = s->source.size - sizeof(b);
	int ret;

	if (s->source.size < MZ_WIRE_HEADER_SIZE + MZ_WIRE_FRAME_SIZE + sizeof(b))
		return 0;
	ret = (int)mz_source_read(&s->source, end, b, sizeof(b), err);
	if (ret < 0)
		return ret;
	if (ret != sizeof(b) || !mz_trailer_get(b, &entry.offset) || entry.offset > end ||
	    end - entry.offset < MZ_WIRE_FRAME_SIZE ||
	    end - entry.offset - MZ_WIRE_FRAME_SIZE > MZ_WIRE_MAX_PAYLOAD)
		return 0;
	entry.size = (uint32_t)(end - entry.offset - MZ_WIRE_FRAME_SIZE);
	ret = mz_container_scan_load(s, &entry, err);
	if (!ret)
		ret = mz_index_get(&s->index, &s->packer, s->block.data, s->block.len,
				   s->source.size / MZ_WIRE_FRAME_SIZE);
	if (!ret && !is_sane(&s->index, entry.offset)) {
		mz_index_deinit(&s->index);
		ret = -EBADMSG;
	}
	if (ret == -ENOMEM)
		return mz_fail_memory(err);
	if (ret < 0)
		return ret == -EBADMSG ? 0 : ret;
	s->end = s->source.size;
	s->whole = true;
	return 1;
}

int mz_container_scan_open(struct mz_container_scan *s, bool walk, struct mz_error *err)
{
	int ret = use_index(s, err);

	if (ret < 0)
		return ret;
	/* the count of produced events is nowhere else */
	if (walk && ret) {
		uint64_t produced = s->index.produced;
		bool has = s->index.has_produced;

		mz_index_deinit(&s->index);
		s->index.produced = produced;
		s->index.has_produced = has;
	}
	return ret && !walk ? 0 : walk_blocks(s, err);
}

void mz_container_scan_close(struct mz_container_scan *s)
{
	mz_index_deinit(&s->index);
	mz_packer_deinit(&s->packer);
	mz_buf_free(&s->block);
}

/* ---- the whole ---------------------------------------------------------- */

/* From the index alone: every chunk's entry repeats its counts for this purpose. */
void mz_container_scan_summary(const struct mz_container_scan *s, struct mz_summary *sum)
{
	uint32_t streams = 0;

	*sum = (struct mz_summary){.size = sizeof(*sum),
				   .bytes = s->source.size,
				   .produced = s->index.produced,
				   .has_produced = s->index.has_produced,
				   .whole = s->whole,
				   .damaged = s->damaged,
				   .end = s->end};
	for (size_t i = 0; i < s->index.n; i++) {
		const struct mz_chunk_info *info = &s->index.v[i].info;

		if (s->index.v[i].type != MZ_BLOCK_EVENTS)
			continue;
		if (info->fields & MZ_HAS_TIME) {
			bool first = !(sum->fields & MZ_HAS_TIME);

			if (first || info->first_time < sum->first_time)
				sum->first_time = info->first_time;
			if (first || info->last_time > sum->last_time)
				sum->last_time = info->last_time;
		}
		sum->chunks++;
		sum->events += info->events - info->n_lost;
		sum->births += info->births;
		sum->fields |= info->fields;
		sum->raw |= info->raw;
		if (info->stream >= streams)
			streams = info->stream + 1;
		for (int k = 0; k < MZ_LOSSES; k++)
			sum->lost[k] += info->lost[k];
	}
	sum->streams = streams;
}
