// SPDX-License-Identifier: BSD-2-Clause
/* Join the files of a kernel trace into one container. */
#include <errno.h>
#include <string.h>

#include "analysis/kmem.h"
#include "base/buf.h"
#include "base/error.h"
#include "export/kmem.h"
#include "symbols/kallsyms.h"
#include "trace/early_end.h"
#include "trace/reader.h"
#include "trace/writer.h"

/* Numbers of strings and stacks are those of the input, and each file has its own; object numbers
 * follow from the addresses once the streams are merged. */
static int copy_events(struct mz_reader *r, struct mz_writer *w, struct mz_stream *s,
		       uint64_t *lost, struct mz_error *err)
{
	struct mz_event ev[256];
	long n;

	while ((n = mz_reader_read_raw(r, ev, 256)) > 0) {
		const struct mz_tables *t = mz_reader_tables(r);

		for (long i = 0; i < n; i++) {
			size_t depth, len;
			const uint64_t *ips = mz_tables_get_stack(t, ev[i].site, &depth);
			const char *name = mz_tables_get_string(t, ev[i].cache, &len);

			ev[i].site = ips ? mz_writer_stack(w, ips, depth) : 0;
			ev[i].cache = name ? mz_writer_string(w, name, len) : 0;
			if (ev[i].kind == MZ_MARK) {
				name = mz_tables_get_string(t, (uint32_t)ev[i].arg, &len);
				ev[i].arg = name ? mz_writer_string(w, name, len) : 0;
			}
			ev[i].object = ev[i].old_object = 0;
			*lost += ev[i].kind == MZ_LOST ? ev[i].size : 0;
		}
		if (mz_stream_put(s, ev, (size_t)n) < 0) {
			*err = *mz_writer_error(w);
			return -EIO;
		}
	}
	if (n < 0)
		*err = *mz_reader_error(r);
	return n < 0 ? -EIO : 0;
}

/* The attributes of the first file, and the counts of all files added up. */
static void copy_attrs(struct mz_reader *r, struct mz_writer *w, const struct mz_kmem_input *in,
		       bool first)
{
	for (size_t i = 0; i < mz_reader_attrs(r); i++) {
		const struct mz_attr *a = mz_reader_attr(r, i);
		bool counts = !strcmp(a->key, "kmem.nulls") || !strcmp(a->key, "kmem.own") ||
			      !strcmp(a->key, "kmem.not_asked") || !strcmp(a->key, "kmem.rescued");

		if (counts && first)
			mz_writer_set_number(w, a->key, mz_kmem_input_sum(in, a->key));
		else if (counts || !strcmp(a->key, "kmem.cpu") || !strcmp(a->key, "kallsyms"))
			continue;
		else if (a->type == MZ_ATTR_NUMBER && (first || !strncmp(a->key, "node.", 5)))
			mz_writer_set_number(w, a->key, a->number);
		else if (a->type == MZ_ATTR_TEXT && first)
			mz_writer_set_text(w, a->key, a->data);
		else if (a->type == MZ_ATTR_BYTES && first)
			mz_writer_set_bytes(w, a->key, a->data, a->size);
	}
}

/* The functions of all call sites, so that the one file can be read alone. */
static void put_symbols(struct mz_writer *w, const struct mz_kmem_input *in)
{
	const struct mz_kallsyms *syms = mz_kmem_input_symbols(in);
	struct mz_buf ips = {0}, lines = {0};

	for (unsigned i = 0; syms && i < mz_kmem_input_files(in); i++) {
		const struct mz_tables *t = mz_reader_tables(mz_kmem_input_reader(in, i));

		for (uint32_t id = 1; id <= mz_tables_stacks(t); id++) {
			size_t depth = 0;
			const uint64_t *ip = mz_tables_get_stack(t, id, &depth);

			if (ip)
				mz_buf_add(&ips, ip, depth * sizeof(*ip));
		}
	}
	if (syms && !ips.failed)
		mz_kallsyms_pick(syms, (uint64_t *)(void *)ips.data, ips.len / sizeof(uint64_t),
				 &lines);
	if (lines.len && !lines.failed)
		mz_writer_set_bytes(w, "kallsyms", lines.data, lines.len);
	mz_buf_free(&ips);
	mz_buf_free(&lines);
}

/* Numbered events (kmemtrace in the kernel) have one order over all files, which the clocks of
 * several CPUs may not show: one stream, and times that never decrease. */
static int join_numbered(struct mz_kmem_input *in, struct mz_writer *w, uint64_t *lost,
			 struct mz_error *err)
{
	uint64_t time = 0, events = 0;
	struct mz_event ev;
	uint32_t stack;
	int got;

	if (mz_kmem_input_keep_stacks(in) < 0)
		return mz_fail_memory(err);
	mz_writer_set_text(w, "clock", "monotonic");
	while ((got = mz_kmem_input_next(in, &ev, &stack, err)) > 0) {
		uint64_t site = ev.has & MZ_HAS_SITE ? mz_kmem_input_site(in, ev.site) : 0;
		size_t depth;
		const uint64_t *ips = mz_kmem_input_stack(in, stack, &depth);
		const char *name = ev.has & MZ_HAS_CACHE ? mz_kmem_input_cache(in, ev.cache) : NULL;

		if (!ips) {
			ips = &site;
			depth = 1;
		}
		ev.site = ev.has & MZ_HAS_SITE ? mz_writer_stack(w, ips, depth) : 0;
		ev.cache = name ? mz_writer_string(w, name, strlen(name)) : 0;
		if (ev.kind == MZ_MARK) {
			name = ev.arg ? mz_kmem_input_cache(in, (uint32_t)ev.arg - 1) : NULL;
			ev.arg = name ? mz_writer_string(w, name, strlen(name)) : 0;
		}
		ev.time = time = ev.time > time ? ev.time : time;
		events += ev.kind != MZ_LOST;
		*lost += ev.kind == MZ_LOST ? ev.size : 0;
		if (mz_writer_put(w, &ev, 1) < 0) {
			*err = *mz_writer_error(w);
			return -EIO;
		}
	}
	mz_writer_produced(w, events + *lost);
	return got;
}

/* Each file as a stream of its own, which readers merge by time. */
static int join_streams(struct mz_kmem_input *in, struct mz_writer *w, uint64_t *lost,
			struct mz_error *err)
{
	uint64_t produced = 0;
	bool counted = true;
	int ret = 0;

	for (unsigned i = 0; !ret && i < mz_kmem_input_files(in); i++) {
		struct mz_reader *r = mz_kmem_input_reader(in, i);
		struct mz_stream *s = mz_writer_stream(w);
		struct mz_summary sum = {.size = sizeof(sum)};

		copy_attrs(r, w, in, !i);
		if (mz_reader_summary(r, &sum) < 0 || !sum.has_produced)
			counted = false;
		else
			produced += sum.produced;
		ret = s ? copy_events(r, w, s, lost, err) : mz_fail_memory(err);
	}
	if (!ret && counted)
		mz_writer_produced(w, produced);
	return ret;
}

int mz_kmem_join(struct mz_kmem_input *in, const char *output, bool best, bool overwrite,
		 uint64_t *lost, struct mz_error *err)
{
	struct mz_writer_options how = {
		.raw = true, .best = best, .overwrite = overwrite, .discard = true};
	struct mz_writer *w = mz_writer_open(output ? output : "-", &how, err);
	int ret;

	*lost = 0;
	if (!w)
		return mz_error_code(err);
	/* said of text, too: without it the joined file would be read as a program's trace */
	ret = mz_writer_set_text(w, "source", "kmemtrace") < 0 ? mz_fail_memory(err) : 0;
	if (!ret)
		ret = mz_kmem_input_numbered(in) ? join_numbered(in, w, lost, err)
						 : join_streams(in, w, lost, err);
	if (ret) {
		mz_writer_abort(w);
		return ret;
	}
	put_symbols(w, in);
	mz_writer_set_files_cut(w, mz_kmem_input_cut(in));
	return mz_writer_close(w, err);
}
