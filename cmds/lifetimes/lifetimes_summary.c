// SPDX-License-Identifier: BSD-2-Clause
/* Count the freed blocks by lifetime and size. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/lifetimes.h"
#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "base/output.h"
#include "base/pair_index.h"
#include "cmds/cmd.h"
#include "cmds/lost.h"
#include "cmds/progress.h"
#include "cmds/recording.h"
#include "trace/reader.h"
#include "trace/sampled.h"

struct opts {
	bool force;
	bool json;
};

static const struct mz_opt opts[] = {
	MZ_OPT_FORCE(struct opts, force),
	MZ_SWITCH(0, "json", struct opts, json, "write a JSON array"),
	{0},
};

/* How often each pair occurred. */
struct pairs {
	struct mz_pair_index index; /* age, size */
	uint64_t *count;	    /* by number */
	size_t cap;
	uint32_t *order; /* numbers, sorted by age and size */
};

static int count_pair(struct pairs *t, uint64_t age, uint64_t size)
{
	uint32_t at = mz_pair_index_put(&t->index, age, size);

	if (at == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&t->count, &t->cap, at, sizeof(*t->count)))
		return -ENOMEM;
	t->count[at]++;
	return 0;
}

static int by_age_and_size(const void *a, const void *b, void *keys)
{
	const struct mz_key *x = (struct mz_key *)keys + *(const uint32_t *)a;
	const struct mz_key *y = (struct mz_key *)keys + *(const uint32_t *)b;

	return MZ_ORDER(x->a, y->a) ?: MZ_ORDER(x->b, y->b);
}

static int sort_pairs(struct pairs *t)
{
	uint32_t n = (uint32_t)t->index.count;

	t->order = malloc((n + 1) * sizeof(*t->order));
	if (!t->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		t->order[i] = i;
	qsort_r(t->order, n, sizeof(*t->order), by_age_and_size, t->index.keys);
	return 0;
}

static void free_pairs(struct pairs *t)
{
	mz_pair_index_deinit(&t->index);
	free(t->count);
	free(t->order);
}

struct job {
	struct mz_reader *in;
	struct mz_lifetimes *life;
	struct pairs pairs;
	struct mz_output out;
	struct mz_error err;
};

static int read_all(struct job *j)
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
			    (fx.went && count_pair(&j->pairs, now - fx.old.born, fx.old.size) < 0))
				return mz_fail_memory(&j->err);
		}
		progress_events(&progress, events += (uint64_t)n);
	}
	progress_end(&progress);
	if (n < 0)
		j->err = *mz_reader_error(j->in);
	return n < 0 ? -1 : 0;
}

static int print(struct job *j, bool json)
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

static void remarks(const struct job *j)
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
	const struct opts *o = options;
	struct job j = {.out.file.fd = -1};
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
	if (!ret && sort_pairs(&j.pairs) < 0)
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
	free_pairs(&j.pairs);
	mz_lifetimes_free(j.life);
	mz_recording_close(&r);
	return ret < 0 ? MZ_EXIT_FAILED : MZ_EXIT_OK;
}

static const char *const aliases[] = {"lifetimes-summary", "lifetimes-summary.sh", NULL};

MZ_CMD(lifetimes_summary, "lifetimes-summary", struct opts, "[INPUT|- [OUT]]",
       "count the freed blocks by lifetime and size", .aliases = aliases, .reads = true,
       .prints = true);
