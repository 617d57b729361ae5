// SPDX-License-Identifier: BSD-2-Clause
/* Read classic traces. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "formats/classic.h"
#include "trace/event.h"
#include "trace/live_set.h"

/* A trace must begin with an allocation: a size of any length, no older block (0x80), and serial
 * number 1 (0x81). The last byte of each number has its highest bit set. */
bool mz_classic_probe(const char *data, size_t len)
{
	const unsigned char *p = (const unsigned char *)data;
	size_t n = 0;

	while (n < len && n < 10 && p[n] < 0x80)
		n++;
	if (n == len || n == 10)
		return false;
	/* a file that ends inside its first record is a trace as well */
	return (n + 1 >= len || p[n + 1] == 0x80) && (n + 2 >= len || p[n + 2] == 0x81);
}

/* The newest serial, and the live ones: a record may not name any other. */
struct classic_state {
	uint64_t newest;
	struct mz_live_set live;
};

static int classic_open(struct mz_reader *r)
{
	struct classic_state *s = calloc(1, sizeof(*s));

	if (!s || mz_live_set_init(&s->live) < 0) {
		free(s);
		return mz_fail_memory(&r->error);
	}
	r->state = s;
	return 0;
}

static void classic_close(struct mz_reader *r)
{
	struct classic_state *s = r->state;

	if (s)
		mz_live_set_deinit(&s->live);
	free(s);
}

/* 0, or -errno. The error names the byte, since nothing else in this format says where something
 * is. */
static int take_number(struct mz_reader *r, uint64_t *out, const char *what)
{
	struct mz_input *in = &r->in;
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		unsigned char c;

		if (in->pos == in->end)
			return mz_fail_offset(&r->error, EINVAL, mz_input_tell(in),
					      "%s: byte %llu: the file ends inside a record, at "
					      "its %s; it was truncated, or it is not a trace",
					      in->name, (unsigned long long)mz_input_tell(in),
					      what);
		c = (unsigned char)*in->pos++;
		if (shift == 63 && (c & 0x7f) > 1)
			break;
		v |= (uint64_t)(c & 0x7f) << shift;
		if (c & 0x80) {
			*out = v;
			return 0;
		}
		if (shift == 63)
			break;
	}
	return mz_fail_offset(
		&r->error, EINVAL, mz_input_tell(in) - 1,
		"%s: byte %llu: a %s of more than 64 bits; the file is damaged, or not a trace",
		in->name, (unsigned long long)mz_input_tell(in) - 1, what);
}

static int bad_record(struct mz_reader *r, uint64_t at, const char *why)
{
	return mz_fail_offset(&r->error, EINVAL, at,
			      "%s: byte %llu: %s; the file is damaged, or not a trace", r->in.name,
			      (unsigned long long)at, why);
}

/* Read a number of one or two bytes, as nearly all are. The caller makes sure that two bytes are
 * there. NULL: the number is longer. */
static inline const char *take_short(const char *p, uint64_t *out)
{
	unsigned a = (unsigned char)p[0], b = (unsigned char)p[1];

	*out = a & 0x80 ? a & 0x7f : a | (b & 0x7f) << 7;
	if (a & 0x80)
		return p + 1;
	return b & 0x80 ? p + 2 : NULL;
}

/* Nearly all numbers take one or two bytes. If the window holds a whole record, no byte needs
 * a check of its own. */
static inline bool read_short(struct mz_input *in, uint64_t *size, uint64_t *back, uint64_t *fwd)
{
	const char *p;

	if (mz_input_left(in) < MZ_CLASSIC_MAX)
		return false;
	p = take_short(in->pos, size);
	if (p)
		p = take_short(p, back);
	if (p && *size)
		p = take_short(p, fwd);
	if (!p)
		return false;
	in->pos = p;
	return true;
}

static int read_fields(struct mz_reader *r, uint64_t *size, uint64_t *back, uint64_t *fwd)
{
	int ret;

	if (read_short(&r->in, size, back, fwd))
		return 0;
	ret = take_number(r, size, "size");
	if (!ret)
		ret = take_number(r, back, "reference to a block");
	if (!ret && *size)
		ret = take_number(r, fwd, "serial number");
	return ret;
}

/* Every field is checked before it is used: a reference beyond the first block, or a serial
 * that wraps, means damage. */
static int make_event(struct mz_reader *r, struct mz_event *ev, uint64_t at)
{
	struct classic_state *s = r->state;
	uint64_t size, back, fwd = 0, newest = s->newest;
	int ret = read_fields(r, &size, &back, &fwd);

	if (ret < 0)
		return ret;
	mz_event_clear(ev);
	ev->size = size;
	if (back > newest)
		return bad_record(r, at, "a reference to a block before the first");
	if (!size && !back)
		return bad_record(r, at, "an allocation of 0 bytes");
	if (size && !fwd)
		return bad_record(r, at, "an allocation without serial number");
	if (fwd > UINT64_MAX - newest)
		return bad_record(r, at, "a serial number of more than 64 bits");
	if (!size) {
		ev->kind = MZ_FREE;
		ev->call = MZ_CALL_FREE;
		ev->object = newest + 1 - back;
		return 0;
	}
	ev->kind = back ? MZ_REALLOC : MZ_ALLOC;
	ev->call = back ? MZ_CALL_REALLOC : MZ_CALL_MALLOC;
	ev->object = newest + fwd;
	ev->old_object = back ? newest + 1 - back : 0;
	return 0;
}

/* The block that the record frees must be live; the block that it allocates becomes live. */
static int follow(struct mz_reader *r, const struct mz_event *ev, uint64_t at)
{
	struct classic_state *s = r->state;
	uint64_t old = ev->kind == MZ_FREE ? ev->object : ev->old_object;

	if (old && !mz_live_set_remove(&s->live, old))
		return bad_record(r, at, "a free or realloc of a block that is not live");
	if (ev->kind == MZ_FREE)
		return 0;
	s->newest = ev->object;
	return mz_live_set_add(&s->live, ev->object) < 0 ? mz_fail_memory(&r->error) : 0;
}

static int read_one(struct mz_reader *r, struct mz_event *ev, uint64_t *place)
{
	int ret = mz_input_fill(&r->in, MZ_CLASSIC_MAX, &r->error);

	if (ret < 0)
		return ret;
	if (r->in.pos == r->in.end)
		return 0;
	*place = mz_input_tell(&r->in);
	ret = make_event(r, ev, *place);
	if (!ret)
		ret = follow(r, ev, *place);
	return ret < 0 ? ret : 1;
}

/* An error after good events is left for the next call, so that these are not lost. */
static long classic_read(struct mz_reader *r, struct mz_event *ev, size_t max)
{
	size_t n = 0;

	while (n < max) {
		int ret = read_one(r, &ev[n], &r->places[n]);

		if (ret < 0 && !n)
			return ret;
		if (ret <= 0)
			break;
		n++;
	}
	return (long)n;
}

const struct mz_reader_ops mz_classic_reader_ops = {
	.format = MZ_FORMAT_CLASSIC,
	.resolved = true,
	.open = classic_open,
	.read = classic_read,
	.close = classic_close,
};
