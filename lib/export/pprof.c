// SPDX-License-Identifier: BSD-2-Clause
/* Write gzipped profile.proto, for pprof, Grafana, Speedscope, Polar Signals and others. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "export/export.h"
#include "export/gzip.h"
#include "export/names.h"
#include "export/proto.h"

/* Numbers of fields, as in profile.proto. */
enum { TYPE_NAME = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2 };
enum { MAPPING_ID = 1, MAPPING_FILE = 5, MAPPING_HAS_FUNCTIONS = 7 };
enum { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_NUMBER = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };
enum {
	PROFILE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_DURATION = 10,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
};

/* part and inner are buffers for the message that is being built, and for one within it. */
struct pprof_export {
	const struct mz_profile *p;
	struct mz_export_names n; /* strings are written at the end */
	struct mz_buf out, part, inner;
};

/* A value that the recording does not know has no column, instead of one of zeros. Lifetimes in
 * events have no unit that pprof understands. */
static bool has_column(const struct pprof_export *j, const struct mz_export_value *c)
{
	return j->p->has & mz_profile_find_value(c->value)->has &&
	       (strcmp(c->value, "lifetime") || j->p->clock == MZ_CLOCK_NS);
}

static void put_types(struct pprof_export *j)
{
	for (size_t i = 0; i < MZ_EXPORT_VALUES; i++) {
		if (!has_column(j, &mz_export_values[i]))
			continue;
		mz_proto_u64(&j->part, TYPE_NAME,
			     mz_export_string(&j->n, mz_export_values[i].name));
		mz_proto_u64(&j->part, TYPE_UNIT,
			     mz_export_string(&j->n, mz_export_values[i].unit));
		mz_proto_message(&j->out, PROFILE_TYPE, &j->part);
	}
}

/* Locations and values are packed lists. Each must be complete before its length can be written;
 * hence the inner buffer. */
static void put_samples(struct pprof_export *j)
{
	for (size_t i = 0; i < j->p->nsites; i++) {
		const struct mz_profile_site *s = &j->p->sites[i];
		size_t depth;
		const uint64_t *frames = mz_profile_stack(j->p, s, &depth);

		for (size_t k = 0; k < depth; k++)
			/* a frame has the number of its location; both begin with 1 */
			mz_proto_varint(&j->inner, frames[k]);
		mz_proto_message(&j->part, SAMPLE_LOCATIONS, &j->inner);
		for (size_t k = 0; k < MZ_EXPORT_VALUES; k++)
			if (has_column(j, &mz_export_values[k]))
				mz_proto_varint(&j->inner,
						mz_profile_get(mz_profile_find_value(
								       mz_export_values[k].value),
							       &s->sum));
		mz_proto_message(&j->part, SAMPLE_VALUES, &j->inner);
		mz_proto_message(&j->out, PROFILE_SAMPLE, &j->part);
	}
}

/* A location is a frame; its function is the name and the file. */
static void put_location(struct pprof_export *j, uint32_t frame)
{
	struct mz_frame f = mz_profile_get_frame(j->p, frame);
	uint32_t known = mz_tables_stacks(j->n.functions);
	uint32_t id = mz_export_function(&j->n, &f), module = mz_export_module(&j->n, &f);

	/* numbers are given in the order of first use, so a greater one is a function that was not
	 * written yet */
	if (id > known) {
		uint64_t name = mz_export_string(&j->n, f.name);

		mz_proto_u64(&j->part, FUNCTION_ID, id);
		mz_proto_u64(&j->part, FUNCTION_NAME, name);
		mz_proto_u64(&j->part, FUNCTION_SYSTEM_NAME, name);
		mz_proto_u64(&j->part, FUNCTION_FILE, mz_export_string(&j->n, f.file));
		mz_proto_message(&j->out, PROFILE_FUNCTION, &j->part);
	}
	mz_proto_u64(&j->part, LOCATION_ID, frame);
	if (module)
		mz_proto_u64(&j->part, LOCATION_MAPPING, module);
	mz_proto_u64(&j->part, LOCATION_ADDRESS, f.addr);
	mz_proto_u64(&j->inner, LINE_FUNCTION, id);
	mz_proto_u64(&j->inner, LINE_NUMBER, f.line);
	mz_proto_message(&j->part, LOCATION_LINE, &j->inner);
	mz_proto_message(&j->out, PROFILE_LOCATION, &j->part);
}

/* Mappings without addresses: they only name the module of a location. The flag tells pprof not to
 * look for symbols itself. */
static void put_mappings(struct pprof_export *j)
{
	for (uint32_t i = 1; i <= mz_tables_strings(j->n.modules); i++) {
		size_t n;

		mz_proto_u64(&j->part, MAPPING_ID, i);
		mz_proto_u64(&j->part, MAPPING_FILE,
			     mz_export_string(&j->n, mz_tables_get_string(j->n.modules, i, &n)));
		mz_proto_u64(&j->part, MAPPING_HAS_FUNCTIONS, 1);
		mz_proto_message(&j->out, PROFILE_MAPPING, &j->part);
	}
}

/* Strings come last: everything before adds to them. */
static void put_all(struct pprof_export *j)
{
	const struct mz_profile *p = j->p;

	put_types(j);
	put_samples(j);
	for (uint32_t i = 1; i <= mz_profile_frames(p); i++)
		put_location(j, i);
	put_mappings(j);
	if (p->clock == MZ_CLOCK_NS)
		mz_proto_u64(&j->out, PROFILE_DURATION, p->last - p->first);
	if (p->command)
		mz_proto_u64(&j->out, PROFILE_COMMENT, mz_export_string(&j->n, p->command));
	/* what users look for first; otherwise pprof would show the last column */
	if (p->has & MZ_PROFILE_PEAK)
		mz_proto_u64(&j->out, PROFILE_DEFAULT_TYPE, mz_export_string(&j->n, "peak_space"));
	mz_export_strings(&j->n, &j->out, PROFILE_STRING);
}

int mz_export_pprof(const struct mz_profile *p, const struct mz_export_options *o,
		    struct mz_output *out, struct mz_error *err)
{
	struct pprof_export j = {.p = p};
	int ret;

	(void)o;
	mz_export_names_init(&j.n);
	if (!j.n.failed)
		put_all(&j);
	ret = j.n.failed || j.out.failed ? mz_fail_memory(err)
					 : mz_gzip_put(out, j.out.data, j.out.len, err);
	mz_export_names_deinit(&j.n);
	mz_buf_free(&j.out);
	mz_buf_free(&j.part);
	mz_buf_free(&j.inner);
	return ret;
}
