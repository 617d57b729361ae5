// SPDX-License-Identifier: BSD-2-Clause
/* Print what the index of a container says. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "cmds/cmd.h"
#include "cmds/loss_report.h"
#include "cmds/recording.h"
#include "trace/sampled.h"

struct info_opts {
	bool json;
};

static const struct mz_opt opts[] = {
	MZ_OPT_JSON(struct info_opts, json),
	{0},
};

static const char *const field_names[] = {"addresses", "times", "cpus",	 "nodes",  "pids",
					  "tids",      "given", "flags", "stacks", "caches"};

static void show_attr(const struct mz_attr *a)
{
	char text[300];

	if (a->type == MZ_ATTR_NUMBER)
		printf("%-12s %" PRIu64 "\n", a->key, a->number);
	else
		printf("%-12s %s\n", a->key, mz_printable(text, sizeof(text), a->data, a->size));
}

static void show_losses(const struct mz_summary *s)
{
	char n[32];

	for (int i = 0; i < MZ_LOSSES; i++)
		if (s->lost[i])
			printf("%-12s %s (%s)\n", "lost", console_count(n, s->lost[i]),
			       mz_loss_name(i));
}

static void show_end(const struct mz_reader *r, const struct mz_summary *s)
{
	if (!s->whole)
		printf("%-12s no index: its writer was stopped, or it was cut; good up to byte "
		       "%" PRIu64 "\n",
		       "end", s->end);
	else if (mz_reader_files_cut(r))
		printf("%-12s early: it was made from a recording whose recorder was stopped, or "
		       "that was cut\n",
		       "end");
}

static void show(struct mz_reader *r, const struct mz_summary *s)
{
	struct mz_stack_share stacks;
	struct mz_sampled sampling;
	char a[32], b[32];

	printf("%-12s %s in %s: %.3f bytes per event\n", "events", console_count(a, s->events),
	       console_bytes(b, s->bytes), s->events ? (double)s->bytes / (double)s->events : 0);
	show_losses(s);
	if (mz_sampled_read(r, &sampling))
		printf("%-12s blocks stand for up to %s; sums are estimates\n", "sampled",
		       console_count(a, sampling.weight));
	if (mz_stack_share_read(r, &stacks)) {
		printf("%-12s ", "stacks");
		console_stacks(stdout, &stacks);
	}
	if (s->has_produced)
		printf("%-12s %s\n", "produced", console_count(a, s->produced));
	printf("%-12s %s\n", "blocks", console_count(a, s->births));
	printf("%-12s %s in %s\n", "chunks", console_count(a, s->chunks),
	       s->streams == 1 ? "1 stream" : "several streams");
	if (s->fields & MZ_HAS_TIME)
		printf("%-12s %" PRIu64 " to %" PRIu64 " ns: %.6f s\n", "time", s->first_time,
		       s->last_time, (double)(s->last_time - s->first_time) / 1e9);
	printf("%-12s", "fields");
	for (size_t i = 0; i < sizeof(field_names) / sizeof(*field_names); i++)
		if (s->fields >> i & 1)
			printf(" %s", field_names[i]);
	printf("%s\n", s->fields ? "" : " none but sizes and order");
	for (size_t i = 0; i < mz_reader_attrs(r); i++)
		show_attr(mz_reader_attr(r, i));
	show_end(r, s);
	if (s->damaged)
		printf("%-12s in %" PRIu64 " place%s; 'memorizer verify' shows what is damaged\n",
		       "damaged", s->damaged, s->damaged == 1 ? "" : "s");
}

static void attrs_json(struct mz_json *j, struct mz_reader *r)
{
	mz_json_object(j, "attributes");
	for (size_t i = 0; i < mz_reader_attrs(r); i++) {
		const struct mz_attr *a = mz_reader_attr(r, i);

		if (a->type == MZ_ATTR_NUMBER)
			mz_json_u64(j, a->key, a->number);
		else
			mz_json_strn(j, a->key, a->data, a->size);
	}
	mz_json_end_object(j);
}

static int show_json(struct mz_reader *r, const struct mz_summary *s)
{
	struct mz_buf b = {0};
	struct mz_json j = {.out = &b};
	struct mz_stack_share stacks;

	mz_json_object(&j, NULL);
	mz_json_str(&j, "format", mz_format_name(mz_reader_format(r)));
	mz_json_u64(&j, "bytes", s->bytes);
	mz_json_u64(&j, "events", s->events);
	lost_json(&j, "lost", s->lost);
	if (s->has_produced)
		mz_json_u64(&j, "produced", s->produced);
	mz_json_u64(&j, "blocks", s->births);
	mz_json_u64(&j, "chunks", s->chunks);
	mz_json_u64(&j, "streams", s->streams);
	if (s->fields & MZ_HAS_TIME) {
		mz_json_u64(&j, "first_time", s->first_time);
		mz_json_u64(&j, "last_time", s->last_time);
	}
	mz_json_array(&j, "fields");
	for (size_t i = 0; i < sizeof(field_names) / sizeof(*field_names); i++)
		if (s->fields >> i & 1)
			mz_json_str(&j, NULL, field_names[i]);
	mz_json_end_array(&j);
	mz_json_bool(&j, "whole", s->whole);
	early_end_json(&j, mz_reader_files_cut(r));
	mz_json_u64(&j, "damaged", s->damaged);
	mz_json_u64(&j, "end", s->end);
	if (mz_stack_share_read(r, &stacks))
		mz_stack_share_json(&stacks, &j);
	attrs_json(&j, r);
	mz_json_end_object(&j);
	return console_put(&b, stdout) < 0 ? console_fail("out of memory") : MZ_EXIT_OK;
}

static int run(void *options, int argc, char **argv)
{
	const struct info_opts *o = options;
	struct mz_error err = {0};
	struct mz_reader *r;
	struct mz_summary s = {.size = sizeof(s)};
	int ret = MZ_EXIT_OK;

	if (argc != 1)
		return console_usage("info takes one trace");
	r = recording_file(argv[0], &err);
	if (!r)
		return console_error(&err);
	if (mz_reader_summary(r, &s)) {
		if (mz_reader_format(r) == MZ_FORMAT_CONTAINER)
			ret = console_fail("%s: the index is at the end of the trace, where a pipe "
					   "cannot be read first; save the trace to a file",
					   argv[0]);
		else
			ret = console_fail("%s: a %s trace has no index; 'memorizer convert %s -o "
					   "OUT' writes a container, which has one",
					   argv[0], mz_format_name(mz_reader_format(r)), argv[0]);
	} else if (o->json) {
		ret = show_json(r, &s);
	} else {
		show(r, &s);
	}
	mz_reader_close(r);
	return ret;
}

MZ_CMD(info, "info", struct info_opts, "TRACE", "show the contents of a container from its index",
       .reads = true, .prints = true);
