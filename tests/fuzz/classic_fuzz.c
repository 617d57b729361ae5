// SPDX-License-Identifier: BSD-2-Clause
/* The classic reader, after a first record that makes any bytes a classic trace;
 * and the writer: what it writes reads as the same events. */
#include "formats/classic.h"
#include "tests/fuzz/fuzz.h"

#define FIRST "\x88\x80\x81"

struct list {
	struct mz_event *ev;
	size_t n;
};

static struct list read_all(const void *data, size_t size, bool *failed)
{
	struct mz_error err = {0};
	struct mz_reader *r = mz_reader_open_memory(data, size, "fuzz", &err);
	struct list l = {malloc((size + 64) * sizeof(*l.ev)), 0};
	long n;

	MUST(r && l.ev && mz_reader_format(r) == MZ_FORMAT_CLASSIC);
	while ((n = mz_reader_read(r, l.ev + l.n, 32)) > 0) {
		l.n += (size_t)n;
		MUST(l.n <= size); /* a record takes two bytes at least */
	}
	if (n < 0)
		must_explain(mz_reader_error(r), n);
	*failed = n < 0;
	mz_reader_close(r);
	return l;
}

/* As bytes again; every event of a classic trace can be expressed. */
static size_t write_all(struct list l, char *out)
{
	struct mz_classic_writer w;
	char *p = out;

	MUST(!mz_classic_writer_init(&w));
	for (size_t i = 0; i < l.n; i++) {
		int fit = mz_classic_put(&w, &l.ev[i], &p);

		/* serial numbers may skip, and so come twice; that is all */
		MUST(fit == MZ_CLASSIC_FITS);
	}
	mz_classic_writer_deinit(&w);
	return (size_t)(p - out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *whole = malloc(size + 3), *again;
	struct list a, b;
	bool failed;
	size_t n;

	MUST(whole);
	memcpy(whole, FIRST, 3);
	memcpy(whole + 3, data, size);
	a = read_all(whole, size + 3, &failed);
	again = malloc((a.n + 1) * MZ_CLASSIC_MAX);
	MUST(again && a.n);
	n = write_all(a, again);
	b = read_all(again, n, &failed);
	MUST(!failed && a.n == b.n);
	for (size_t i = 0; i < a.n; i++)
		MUST(a.ev[i].kind == b.ev[i].kind && a.ev[i].size == b.ev[i].size);
	free(a.ev);
	free(b.ev);
	free(again);
	free(whole);
	return 0;
}
