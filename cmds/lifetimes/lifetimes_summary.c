// SPDX-License-Identifier: BSD-2-Clause
/* Count the freed blocks by lifetime and size. */
#include <inttypes.h>

#include "analysis/lifetime_pairs.h"
#include "analysis/lifetimes.h"
#include "base/error.h"
#include "base/json.h"
#include "base/output.h"
#include "cmds/cmd.h"
#include "cmds/loss_report.h"
#include "cmds/progress.h"
#include "cmds/recording.h"
#include "trace/reader.h"
#include "trace/sampled.h"

struct summary_opts {
	bool force;
	bool json;
};

static const struct mz_opt opts[] = {
	MZ_OPT_FORCE(struct summary_opts, force),
	MZ_SWITCH(0, "json", struct summary_opts, json, "write a JSON array"),
	{0},
};

struct summary_job {
	struct mz_reader *in;
	struct mz_lifetimes *life;
	struct mz_lifetime_pairs pairs;
	struct mz_output out;
	struct mz_error err;
};

static int read_all(struct summary_job *j)
{
	bool lines = mz_reader_format(j->in) == MZ_FORMAT_TEXT;
	struct mz_event ev[MZ_BATCH];
	struct progress progress;
	uint64_t number = 0, events = 0;
	long n;

	j->in->beside = true;
	progress_read(&progress, j->in, false);
	while ((n = mz_reader_read_raw(j->in, ev, MZ_BATCH)) > 0) {
		for (long i = 0; i < n; i++) {
			struct mz_effect fx;
			uint64_t now = lines ? j->in->places[i] : ++number;

			if (!j->life)
				j->life = mz_lifetimes_new(!lines || !(ev[i].has & MZ_HAS_ADDR));
			if (!j->life || mz_lifetimes_add(j->life, &ev[i], now, &fx) < 0 ||
			    (fx.went &&
			     mz_lifetime_pairs_add(&j->pairs, now - fx.old.born, fx.old.size) < 0))
				return mz_fail_memory(&j->err);
		}
		progress_events(&progress, events += (uint64_t)n);
	}
	progress_end(&progress);
	if (n < 0)
		j->err = *mz_reader_error(j->in);
	return n < 0 ? -1 : 0;
}

static int print(struct summary_job *j, bool json)
{
	struct mz_buf b = {0};
	struct mz_json js = {.out = &b};
	int ret = 0;

	if (json)
		mz_json_array(&js, NULL);
	for (size_t i = 0; i < j->pairs.index.count && !ret; i++) {
		uint32_t at = j->pairs.order[i];
		const struct mz_key *p = &j->pairs.index.keys[at];
		uint64_t count = j->pairs.count[at];

		if (json) {
			mz_json_object(&js, NULL);
			mz_json_u64(&js, "count", count);
			mz_json_u64(&js, "lifetime", p->a);
			mz_json_u64(&js, "size", p->b);
			mz_json_end_object(&js);
		} else {
			mz_buf_printf(&b, "%7" PRIu64 " %" PRIu64 " %" PRIu64 "\n", count, p->a,
				      p->b);
		}
		if (b.len > 65536) {
			ret = mz_output_add(&j->out, b.data, b.len, &j->err);
			b.len = 0;
		}
	}
	if (json)
		mz_json_end_array(&js);
	if (!ret)
		ret = b.failed ? mz_fail_memory(&j->err)
			       : mz_output_add(&j->out, b.data, b.len, &j->err);
	mz_buf_free(&b);
	return ret;
}

static void remarks(const struct summary_job *j)
{
	struct mz_unmatched u = j->life ? j->life->live.unmatched : (struct mz_unmatched){0};
	struct mz_early_end end = mz_reader_early_end(j->in);

	if (u.unknown_frees || u.over_live)
		console_note("%llu frees or reallocs of unknown blocks, %llu allocations at live "
			     "blocks: not in the table",
			     (unsigned long long)u.unknown_frees, (unsigned long long)u.over_live);
	early_end_note(j->in->in.name, &end);
}

static int run(void *options, int argc, char **argv)
{
	const struct summary_opts *o = options;
	struct summary_job j = {.out.file.fd = -1};
	struct mz_recording r;
	int ret;

	if (argc > 2)
		return console_usage("expected an input and an output; '%s' is one too many",
				     argv[2]);
	j.in = recording_trace(&r, argc ? argv[0] : "-", &j.err);
	ret = j.in ? mz_sampled_refuse(j.in, "a count of all pairs", &j.err) : -EIO;
	if (!ret)
		ret = mz_output_open(&j.out, argc > 1 ? argv[1] : NULL, o->force, &j.err);
	if (!ret)
		ret = read_all(&j);
	if (!ret && mz_lifetime_pairs_sort(&j.pairs) < 0)
		ret = mz_fail_memory(&j.err);
	if (!ret)
		ret = print(&j, o->json);
	if (!ret)
		ret = mz_output_commit(&j.out, &j.err);
	if (ret < 0) {
		mz_output_abort(&j.out);
		console_error(&j.err);
	} else {
		remarks(&j);
	}
	mz_lifetime_pairs_deinit(&j.pairs);
	mz_lifetimes_free(j.life);
	mz_recording_close(&r);
	return ret < 0 ? MZ_EXIT_FAILED : MZ_EXIT_OK;
}

static const char *const aliases[] = {"lifetimes-summary", "lifetimes-summary.sh", NULL};

MZ_CMD(lifetimes_summary, "lifetimes-summary", struct summary_opts, "[INPUT|- [OUT]]",
       "count the freed blocks by lifetime and size", .aliases = aliases, .reads = true,
       .prints = true);
