// SPDX-License-Identifier: BSD-2-Clause
/* The decoder of chunks on any bytes; what it makes of them, written again and
 * read again, is the same. */
#include "tests/fuzz/fuzz.h"
#include "trace/chunk.h"

static struct mz_event *decode(struct mz_decoder *d, const void *data, size_t size, size_t *n)
{
	struct mz_event *ev;
	long got;

	*n = 0;
	if (mz_decoder_start(d, data, size) < 0) {
		MUST(mz_decoder_why(d)[0]);
		return NULL;
	}
	ev = malloc(((size_t)mz_decoder_info(d)->events + 1) * sizeof(*ev));
	MUST(ev);
	while ((got = mz_decoder_read(d, ev + *n, 300)) > 0) {
		*n += (size_t)got;
		MUST(*n <= mz_decoder_info(d)->events);
	}
	if (!got)
		return ev;
	free(ev);
	return NULL;
}

static void again(struct mz_decoder *d, const struct mz_event *ev, size_t n, bool best)
{
	struct mz_encode_options o = {.best = best, .raw = mz_decoder_info(d)->raw};
	struct mz_encoder *e = mz_encoder_new(&o);
	struct mz_buf out = {0};
	struct mz_event *back;
	size_t got;

	MUST(e && mz_encoder_add(e, ev, n) == (long)n);
	MUST(!mz_encoder_finish(e, NULL, &out, NULL));
	back = decode(d, out.data, out.len, &got);
	MUST(back && got == n && !memcmp(ev, back, n * sizeof(*ev)));
	free(back);
	mz_buf_free(&out);
	mz_encoder_free(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mz_decoder *d = mz_decoder_new();
	struct mz_event *ev;
	size_t n;

	MUST(d);
	ev = decode(d, data, size, &n);
	if (ev && n && n < 5000)
		again(d, ev, n, n & 1);
	free(ev);
	mz_decoder_free(d);
	return 0;
}
