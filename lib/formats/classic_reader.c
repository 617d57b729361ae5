// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>

#include "base/error.h"
#include "formats/classic.h"
#include "trace/event.h"

bool mz_classic_probe(const char *data, size_t len)
{
	const unsigned char *p = (const unsigned char *)data;
	size_t n = 0;

	while (n < len && n < 10 && p[n] < 0x80)
		n++;
	if (n == len || n == 10)
		return false;
	/* a file cut inside its first record is still one */
	return (n + 1 >= len || p[n + 1] == 0x80) && (n + 2 >= len || p[n + 2] == 0x81);
}

/* 0, or -errno. The caller has made sure of MZ_CLASSIC_MAX bytes or the end. */
static int take_number(struct mz_reader *r, uint64_t *out, const char *what)
{
	struct mz_input *in = &r->in;
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		unsigned char c;

		if (in->pos == in->end)
			return mz_fail_offset(&r->error, EINVAL, mz_input_tell(in),
					      "%s: byte %llu: the file ends inside a record, at its %s; "
					      "it was cut, or it is not a trace",
					      in->name, (unsigned long long)mz_input_tell(in), what);
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
	return mz_fail_offset(&r->error, EINVAL, mz_input_tell(in) - 1,
			      "%s: byte %llu: a %s of over 64 bits; the file is damaged, or not a trace",
			      in->name, (unsigned long long)mz_input_tell(in) - 1, what);
}

static int bad_record(struct mz_reader *r, uint64_t at, const char *why)
{
	return mz_fail_offset(&r->error, EINVAL, at,
			      "%s: byte %llu: %s; the file is damaged, or not a trace", r->in.name,
			      (unsigned long long)at, why);
}

static int read_fields(struct mz_reader *r, uint64_t *size, uint64_t *back, uint64_t *fwd)
{
	int ret = take_number(r, size, "size");

	if (!ret)
		ret = take_number(r, back, "reference to a block");
	if (!ret && *size)
		ret = take_number(r, fwd, "serial number");
	return ret;
}

static int make_event(struct mz_reader *r, struct mz_event *ev, uint64_t at)
{
	uint64_t size, back, fwd = 0, newest = r->live.serial;
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
		return bad_record(r, at, "a serial number of over 64 bits");
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

static int read_one(struct mz_reader *r, struct mz_event *ev, uint64_t *place)
{
	uint64_t at;
	struct mz_effect fx;
	int ret = mz_input_fill(&r->in, MZ_CLASSIC_MAX, &r->error);

	if (ret < 0)
		return ret;
	if (r->in.pos == r->in.end)
		return 0;
	*place = at = mz_input_tell(&r->in);
	ret = make_event(r, ev, at);
	if (ret < 0)
		return ret;
	if (mz_live_apply(&r->live, ev, at, &fx) < 0)
		return mz_fail_memory(&r->error);
	if (fx.unknown)
		return bad_record(r, at, "a free or realloc of a block that is not live");
	return 1;
}

static long classic_read(struct mz_reader *r, struct mz_event *ev, size_t max)
{
	size_t n = 0;

	r->live.by_object = true;
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
	.read = classic_read,
};
