/* SPDX-License-Identifier: BSD-2-Clause */
/* A recording of another tool: read, or refused with a reason; what is read is
 * written as every format that takes it, into nothing. */
#ifndef MZ_TESTS_FUZZ_IMPORT_H
#define MZ_TESTS_FUZZ_IMPORT_H

#include "analysis/profile_files.h"
#include "export/table.h"
#include "tests/fuzz/fuzz.h"

static inline void export_profile(const struct mz_profile *p)
{
	for (const struct mz_export_format *f = mz_export_formats; f->name; f++) {
		struct mz_export_options o = {0};
		struct mz_error err = {0};
		struct mz_output out;

		if (!f->profile)
			continue;
		MUST(!mz_output_open(&out, "/dev/null", false, &err));
		MUST(!f->profile(p, &o, &out, &err));
		MUST(!mz_output_commit(&out, &err));
	}
}

static inline void export_tables(struct mz_events *s, struct mz_profile *p,
				 enum mz_table_name which)
{
	static const struct mz_table_ops *const all[] = {&mz_csv_ops, &mz_jsonl_ops,
							 &mz_parquet_ops};
	struct mz_error err = {0};
	struct mz_output out;
	int ret;

	MUST(!mz_output_open(&out, "/dev/null", false, &err));
	ret = mz_export_tables(all[which % 3], s, p, which, &out, &err);
	if (ret < 0)
		must_explain(&err, ret);
	mz_output_abort(&out);
}

/* Sums of sites are sums of the whole. */
static inline void must_add_up(const struct mz_profile *p)
{
	struct mz_heap_sum sum = {0};

	for (size_t i = 0; i < p->nsites; i++)
		mz_heap_sum_add(&sum, &p->sites[i].sum);
	MUST(sum.bytes == p->all.bytes && sum.blocks == p->all.blocks);
	MUST(sum.live_bytes == p->all.live_bytes && sum.live_blocks == p->all.live_blocks);
}

/* A file with sums. */
static inline void read_sums(const uint8_t *data, size_t size,
			     int (*read)(struct mz_profile *, struct mz_input *, struct mz_error *))
{
	struct mz_error err = {0};
	struct mz_profile p;
	struct mz_input in;
	int ret;

	MUST(!mz_profile_init(&p) && !mz_input_memory(&in, data, size, "fuzz", &err));
	ret = read(&p, &in, &err);
	if (ret < 0) {
		must_explain(&err, ret);
	} else {
		must_add_up(&p);
		export_profile(&p);
		export_tables(NULL, &p, MZ_TABLE_SITES);
		export_tables(NULL, &p, MZ_TABLE_FRAMES);
	}
	mz_input_close(&in);
	mz_profile_deinit(&p);
}

/* A file with events: once as profiles, then as each table and stream. */
static inline void read_events(const uint8_t *data, size_t size)
{
	for (int i = 0; i < 5; i++) {
		struct mz_error err = {0};
		struct mz_reader *r = mz_reader_open_memory(data, size, "fuzz", &err);
		struct mz_events *s = r ? mz_events_of(r, &err) : NULL;
		struct mz_profile p;
		struct mz_output out;
		int ret;

		if (!r) {
			must_explain(&err, -err.code);
			return;
		}
		MUST(s && !mz_profile_init(&p) && !mz_output_open(&out, "/dev/null", false, &err));
		if (i < 2) {
			export_tables(s, &p, (enum mz_table_name)i);
		} else {
			ret = i == 2   ? mz_profile_read(&p, s, NULL, NULL, &err)
			      : i == 3 ? mz_export_heaptrack(s, &out, &err)
				       : mz_export_perfetto(s, &out, &err);
			if (ret < 0)
				must_explain(&err, ret);
			else if (i == 2) {
				must_add_up(&p);
				export_profile(&p);
			}
		}
		mz_output_abort(&out);
		mz_profile_deinit(&p);
		mz_events_close(s);
	}
}

#endif
