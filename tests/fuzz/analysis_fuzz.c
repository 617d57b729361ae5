// SPDX-License-Identifier: BSD-2-Clause
/* Any trace through the annotators and the classic writer: what they count must
 * agree, and what was written must be read. */
#include "analysis/layout.h"
#include "analysis/lifetimes.h"
#include "formats/classic.h"
#include "tests/fuzz/fuzz.h"

struct fuzz_job {
	struct mz_lifetimes *life;
	struct mz_layout *layout;
	struct mz_classic_writer w;
	char *out, *end;
	uint64_t events, written;
	bool addresses;
};

static void take(struct fuzz_job *j, struct mz_event *ev)
{
	struct mz_layout_step step;
	struct mz_effect fx;
	int fit = mz_classic_put(&j->w, ev, &j->end);

	MUST(fit >= 0 && fit < MZ_CLASSIC_FIT_KINDS);
	j->written += fit == MZ_CLASSIC_FITS;
	if (ev->kind <= MZ_REALLOC && !(ev->has & MZ_HAS_ADDR))
		j->addresses = false;
	if (j->addresses)
		MUST(!mz_layout_add(j->layout, ev, j->events, &step));
	MUST(!mz_lifetimes_add(j->life, ev, j->events, &fx));
	MUST(!(fx.went && fx.kept) && !(fx.went && fx.unknown));
	j->events++;
}

static void check(struct fuzz_job *j)
{
	struct mz_error err = {0};
	struct mz_reader *r;
	struct mz_event ev[16];
	uint64_t read = 0;
	long n;

	MUST(j->life->events == j->events);
	MUST(j->life->blocks == j->life->ages.count + mz_live_count(&j->life->live) +
					j->life->live.unmatched.over_live);
	if (!j->written)
		return;
	r = mz_reader_open_memory(j->out, (size_t)(j->end - j->out), "written", &err);
	MUST(r && mz_reader_format(r) == MZ_FORMAT_CLASSIC);
	while ((n = mz_reader_read(r, ev, 16)) > 0)
		read += (uint64_t)n;
	MUST(!n && read == j->written);
	mz_reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mz_reader *r = mz_reader_open_memory(data, size, "fuzz", NULL);
	struct fuzz_job j = {.addresses = true};
	struct mz_event ev[16];
	long n;

	if (!r)
		return 0;
	j.out = j.end = malloc((size + 16) * MZ_CLASSIC_MAX);
	j.layout = mz_layout_new();
	MUST(j.out && j.layout && !mz_classic_writer_init(&j.w));
	while ((n = mz_reader_read_raw(r, ev, 16)) > 0) {
		if (!j.life)
			j.life = mz_lifetimes_new(r->live.by_object);
		MUST(j.life);
		for (long i = 0; i < n; i++)
			take(&j, &ev[i]);
	}
	if (j.life)
		check(&j);
	mz_lifetimes_free(j.life);
	mz_layout_free(j.layout);
	mz_classic_writer_deinit(&j.w);
	free(j.out);
	mz_reader_close(r);
	return 0;
}
