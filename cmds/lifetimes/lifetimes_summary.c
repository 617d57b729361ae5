// SPDX-License-Identifier: BSD-2-Clause
/* Count the freed blocks by lifetime and size. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/lifetimes.h"
#include "base/error.h"
#include "base/json.h"
#include "base/output.h"
#include "cmds/cmd.h"
#include "trace/reader.h"

struct opts {
	bool force;
	bool json;
};

static const struct mz_opt opts[] = {
	MZ_OPT('f', "force", NULL, MZ_OPT_FLAG, struct opts, force, "replace an existing file"),
	MZ_OPT(0, "json", NULL, MZ_OPT_FLAG, struct opts, json, "write a JSON array"),
	{0},
};

struct pair {
	uint64_t age, size, count;
};

/* Distinct pairs, by open addressing; count 0 = empty. */
struct pairs {
	struct pair *slots;
	size_t mask, used;
};

static size_t home(const struct pairs *t, uint64_t age, uint64_t size)
{
	uint64_t h = (age * 0x9e3779b97f4a7c15u) ^ (size * 0xc2b2ae3d27d4eb4fu);

	return (size_t)((h ^ h >> 32) & t->mask);
}

static struct pair *slot_of(const struct pairs *t, uint64_t age, uint64_t size)
{
	size_t i = home(t, age, size);

	while (t->slots[i].count && (t->slots[i].age != age || t->slots[i].size != size))
		i = (i + 1) & t->mask;
	return &t->slots[i];
}

static int grow(struct pairs *t)
{
	struct pairs bigger = {.mask = t->slots ? t->mask * 2 + 1 : 1023};

	bigger.slots = calloc(bigger.mask + 1, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; t->slots && i <= t->mask; i++)
		if (t->slots[i].count)
			*slot_of(&bigger, t->slots[i].age, t->slots[i].size) = t->slots[i];
	bigger.used = t->used;
	free(t->slots);
	*t = bigger;
	return 0;
}

static int count_pair(struct pairs *t, uint64_t age, uint64_t size)
{
	struct pair *p;

	if ((!t->slots || t->used >= t->mask / 4 * 3) && grow(t) < 0)
		return -ENOMEM;
	p = slot_of(t, age, size);
	if (!p->count++) {
		p->age = age;
		p->size = size;
		t->used++;
	}
	return 0;
}

static int by_age_and_size(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->age != y->age)
		return x->age < y->age ? -1 : 1;
	return x->size < y->size ? -1 : x->size > y->size;
}

/* Pack the used slots to the front, sorted. */
static void sort_pairs(struct pairs *t)
{
	size_t n = 0;

	for (size_t i = 0; t->slots && i <= t->mask; i++)
		if (t->slots[i].count)
			t->slots[n++] = t->slots[i];
	if (n)
		qsort(t->slots, n, sizeof(*t->slots), by_age_and_size);
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
	uint64_t number = 0;
	long n;

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
	}
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
	for (size_t i = 0; i < j->pairs.used && !ret; i++) {
		const struct pair *p = &j->pairs.slots[i];

		if (json) {
			mz_json_object(&js, NULL);
			mz_json_u64(&js, "count", p->count);
			mz_json_u64(&js, "lifetime", p->age);
			mz_json_u64(&js, "size", p->size);
			mz_json_end_object(&js);
		} else {
			mz_buf_printf(&b, "%7" PRIu64 " %" PRIu64 " %" PRIu64 "\n", p->count,
				      p->age, p->size);
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

	if (u.unknown_frees || u.over_live)
		console_note("%llu frees or reallocs of unknown blocks, %llu allocations over live "
			     "blocks: "
			     "not in the table",
			     (unsigned long long)u.unknown_frees, (unsigned long long)u.over_live);
}

static int run(void *options, int argc, char **argv)
{
	const struct opts *o = options;
	struct job j = {.out.file.fd = -1};
	int ret;

	if (argc > 2)
		return console_usage("an input and an output, please; not '%s' too", argv[2]);
	j.in = mz_reader_open(argc ? argv[0] : "-", &j.err);
	if (!j.in)
		return console_error(&j.err);
	ret = mz_output_open(&j.out, argc > 1 ? argv[1] : NULL, o->force, &j.err);
	if (!ret)
		ret = read_all(&j);
	if (!ret) {
		sort_pairs(&j.pairs);
		ret = print(&j, o->json);
	}
	if (!ret)
		ret = mz_output_commit(&j.out, &j.err);
	if (ret < 0) {
		mz_output_abort(&j.out);
		console_error(&j.err);
	} else {
		remarks(&j);
	}
	free(j.pairs.slots);
	mz_lifetimes_free(j.life);
	mz_reader_close(j.in);
	return ret < 0 ? MZ_EXIT_FAILED : MZ_EXIT_OK;
}

static const char *const aliases[] = {"lifetimes-summary", "lifetimes-summary.sh", NULL};

const struct mz_cmd cmd_lifetimes_summary = {
	.name = "lifetimes-summary",
	.aliases = aliases,
	.args = "[INPUT|- [OUT]]",
	.summary = "count the freed blocks by lifetime and size",
	.opts = opts,
	.opts_size = sizeof(struct opts),
	.run = run,
};
