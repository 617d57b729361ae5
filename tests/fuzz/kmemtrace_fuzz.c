// SPDX-License-Identifier: BSD-2-Clause
/* The raw kmemtrace formats, every layout forced on the same bytes: records stay
 * inside the input, and what is read writes back as the same fields. */
#include "formats/kmemtrace.h"
#include "tests/fuzz/fuzz.h"

static void walk(const struct mz_kmemtrace_layout *l, const char *p, size_t left)
{
	while (left) {
		struct mz_event ev, again;
		struct mz_kmemtrace_extra x, y;
		const char *why = NULL;
		char rec[MZ_KMT_PUT_MAX];
		long n = mz_kmemtrace_get(l, p, left, &ev, &x, &why);
		size_t size;

		if (n <= 0) {
			MUST(!n || why);
			return;
		}
		MUST((size_t)n <= left);
		size = mz_kmemtrace_put(l, &ev, &x, rec, &why);
		MUST(size >= mz_kmemtrace_size(l->shape, ev.kind == MZ_FREE) &&
		     size <= MZ_KMT_PUT_MAX);
		MUST(mz_kmemtrace_get(l, rec, size, &again, &y, &why) == (long)size);
		MUST(x.site == y.site && x.sequence == y.sequence && x.context == y.context);
		MUST(!x.context || (x.cache == y.cache && x.stack == y.stack));
		MUST(!memcmp(&ev, &again, sizeof(ev)));
		p += n;
		left -= (size_t)n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mz_error err = {0};
	struct mz_reader *r;
	struct mz_event ev[32];
	long n;

	for (int shape = 0; shape < MZ_KMT_SHAPES; shape++)
		for (int big = 0; big < 2; big++)
			walk(&(struct mz_kmemtrace_layout){shape, big}, (const char *)data, size);
	if (!mz_kmemtrace_probe((const char *)data, size < 4096 ? size : 4096))
		return 0;
	r = mz_reader_open_memory(data, size, "fuzz", &err);
	if (!r)
		return 0;
	while ((n = mz_reader_read(r, ev, 32)) > 0)
		;
	if (n < 0)
		must_explain(mz_reader_error(r), n);
	mz_reader_close(r);
	return 0;
}
