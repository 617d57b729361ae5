// SPDX-License-Identifier: BSD-2-Clause
/* Print what the index of a container says, or those of a kernel's folder together. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/kmem.h"
#include "base/error.h"
#include "base/json.h"
#include "cmds/cmd.h"
#include "cmds/loss_report.h"
#include "cmds/recording.h"
#include "trace/reader.h"
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

struct info {
	struct mz_reader *r;	  /* one file, or */
	struct mz_kmem_input *in; /* those of a folder: */
	unsigned files;		  /* so many; 0 = it is no folder */
	unsigned cut;		  /* files that end early */
	struct mz_summary s;	  /* of them all */
};

static struct mz_reader *first_file(const struct info *f)
{
	return f->r ? f->r : mz_kmem_input_reader(f->in, 0);
}

static bool is_same(const struct mz_attr *a, const struct mz_attr *b)
{
	return b && a->type == b->type && a->number == b->number && a->size == b->size &&
	       (!a->size || !memcmp(a->data, b->data, a->size));
}

/* Attribute i of the first file, if all files have it. */
static const struct mz_attr *common_attr(const struct info *f, size_t i)
{
	const struct mz_attr *a = mz_reader_attr(first_file(f), i);

	for (unsigned n = 1; n < f->files; n++)
		if (!is_same(a, mz_reader_find_attr(mz_kmem_input_reader(f->in, n), a->key)))
			return NULL;
	return a;
}

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

static void show_end(const struct info *f)
{
	const struct mz_summary *s = &f->s;

	if (!s->whole && !f->files)
		printf("%-12s no index: its writer was stopped, or it was cut; good up to byte "
		       "%" PRIu64 "\n",
		       "end", s->end);
	else if (f->files && f->cut)
		printf("%-12s %u of %u files end early: the recorder was stopped, or they were "
		       "cut\n",
		       "end", f->cut, f->files);
	else if (f->cut)
		printf("%-12s early: it was made from a recording whose recorder was stopped, or "
		       "that was cut\n",
		       "end");
}

static void show(const struct info *f)
{
	const struct mz_summary *s = &f->s;
	struct mz_reader *r = first_file(f);
	struct mz_stack_share stacks;
	struct mz_sampled sampling;
	char a[32], b[32];

	printf("%-12s %s in %s: %.3f bytes per event\n", "events", console_count(a, s->events),
	       console_bytes(b, s->bytes), s->events ? (double)s->bytes / (double)s->events : 0);
	if (f->files)
		printf("%-12s %u\n", "files", f->files);
	show_losses(s);
	if (mz_sampled_read(r, &sampling))
		printf("%-12s blocks stand for up to %s; sums are estimates\n", "sampled",
		       console_count(a, sampling.weight));
	if (!f->files && mz_stack_share_read(r, &stacks)) {
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
		if (common_attr(f, i))
			show_attr(common_attr(f, i));
	show_end(f);
	if (s->damaged)
		printf("%-12s in %" PRIu64 " place%s; 'memorizer verify' shows what is damaged\n",
		       "damaged", s->damaged, s->damaged == 1 ? "" : "s");
}

static void attrs_json(struct mz_json *j, const struct info *f)
{
	mz_json_object(j, "attributes");
	for (size_t i = 0; i < mz_reader_attrs(first_file(f)); i++) {
		const struct mz_attr *a = common_attr(f, i);

		if (!a)
			continue;
		if (a->type == MZ_ATTR_NUMBER)
			mz_json_u64(j, a->key, a->number);
		else
			mz_json_strn(j, a->key, a->data, a->size);
	}
	mz_json_end_object(j);
}

static int show_json(const struct info *f)
{
	const struct mz_summary *s = &f->s;
	struct mz_reader *r = first_file(f);
	struct mz_buf b = {0};
	struct mz_json j = {.out = &b};
	struct mz_stack_share stacks;

	mz_json_object(&j, NULL);
	mz_json_str(&j, "format", mz_format_name(mz_reader_format(r)));
	if (f->files)
		mz_json_u64(&j, "files", f->files);
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
	early_end_json(&j, f->cut);
	mz_json_u64(&j, "damaged", s->damaged);
	if (!f->files)
		mz_json_u64(&j, "end", s->end);
	if (!f->files && mz_stack_share_read(r, &stacks))
		mz_stack_share_json(&stacks, &j);
	attrs_json(&j, f);
	mz_json_end_object(&j);
	return console_put(&b, stdout) < 0 ? console_fail("out of memory") : MZ_EXIT_OK;
}

/* ---- the sums ----------------------------------------------------------- */

static void add(struct mz_summary *sum, const struct mz_summary *s)
{
	bool timed = s->fields & MZ_HAS_TIME && s->events;

	sum->bytes += s->bytes;
	sum->events += s->events;
	for (int i = 0; i < MZ_LOSSES; i++)
		sum->lost[i] += s->lost[i];
	sum->produced += s->produced;
	sum->has_produced &= s->has_produced;
	sum->chunks += s->chunks;
	sum->streams += s->streams;
	sum->births += s->births;
	if (timed && (!(sum->fields & MZ_HAS_TIME) || s->first_time < sum->first_time))
		sum->first_time = s->first_time;
	if (timed && s->last_time > sum->last_time)
		sum->last_time = s->last_time;
	sum->fields |= s->events ? s->fields : 0;
	sum->whole &= s->whole;
	sum->damaged += s->damaged;
}

static int summarize(struct mz_reader *r, struct mz_summary *s, struct mz_error *err)
{
	const char *name = r->in.name;

	*s = (struct mz_summary){.size = sizeof(*s)};
	if (!mz_reader_summary(r, s))
		return 0;
	if (mz_reader_format(r) == MZ_FORMAT_CONTAINER)
		return mz_fail(err, ESPIPE,
			       "%s: the index is at the end of the trace, where a pipe cannot be "
			       "read first; save the trace to a file",
			       name);
	return mz_fail(err, EINVAL,
		       "%s: a %s trace has no index; 'memorizer convert %s -o OUT' writes a "
		       "container, which has one",
		       name, mz_format_name(mz_reader_format(r)), name);
}

static int open_folder(struct info *f, char *path, struct mz_error *err)
{
	struct mz_summary s;
	int ret = 0;

	f->in = mz_kmem_input_open(&path, 1, options_open_flags(), err);
	if (!f->in)
		return mz_error_code(err);
	f->files = mz_kmem_input_files(f->in);
	f->cut = mz_kmem_input_cut(f->in);
	f->s = (struct mz_summary){.whole = true, .has_produced = true};
	for (unsigned i = 0; i < f->files && !ret; i++) {
		ret = summarize(mz_kmem_input_reader(f->in, i), &s, err);
		if (!ret)
			add(&f->s, &s);
	}
	return ret;
}

static int open_file(struct info *f, char *path, struct mz_error *err)
{
	int ret;

	f->r = mz_reader_open_with(path, options_open_flags(), err);
	ret = f->r ? summarize(f->r, &f->s, err) : mz_error_code(err);
	f->cut = ret ? 0 : mz_reader_files_cut(f->r);
	return ret;
}

static int run(void *options, int argc, char **argv)
{
	const struct info_opts *o = options;
	struct mz_error err = {0};
	struct info f = {0};
	int ret;

	if (argc != 1)
		return console_usage("info takes one trace");
	ret = recording_is_folder(argv[0]) ? open_folder(&f, argv[0], &err)
					   : open_file(&f, argv[0], &err);
	if (ret < 0)
		ret = console_error(&err);
	else if (o->json)
		ret = show_json(&f);
	else
		show(&f);
	mz_reader_close(f.r);
	mz_kmem_input_close(f.in);
	return ret;
}

MZ_CMD(info, "info", struct info_opts, "TRACE", "show the contents of a container from its index",
       .reads = true, .prints = true);
