// SPDX-License-Identifier: BSD-2-Clause
/* Write speedscope's JSON, with one profile per view (at the peak, at the end, ...). */
#include <string.h>

#include "base/json.h"
#include "export/export.h"

/* All views share one list of frames, to which stacks refer by index. */
static void put_frames(struct mz_json *j, const struct mz_profile *p)
{
	mz_json_object(j, "shared");
	mz_json_array(j, "frames");
	for (uint32_t i = 1; i <= mz_profile_frames(p); i++) {
		struct mz_frame f = mz_profile_get_frame(p, i);

		mz_json_object(j, NULL);
		mz_json_str(j, "name", f.name);
		/* the viewer colours by file; a library is the next best for frames without one */
		if (f.file || f.module)
			mz_json_str(j, "file", f.file ? f.file : f.module);
		if (f.line)
			mz_json_u64(j, "line", f.line);
		mz_json_end_object(j);
	}
	mz_json_end_array(j);
	mz_json_end_object(j);
}

/* The outermost frame comes first in this format. */
static void put_stack(struct mz_json *j, const struct mz_profile *p,
		      const struct mz_profile_site *s)
{
	size_t depth;
	const uint64_t *frames = mz_profile_stack(p, s, &depth);

	mz_json_array(j, NULL);
	while (depth--)
		/* frames have numbers from 1 on here, and from 0 on in the file */
		mz_json_u64(j, NULL, frames[depth] - 1);
	mz_json_end_array(j);
}

/* Stacks without weight are left out of this view: they would only enlarge the file. */
static void put_view(struct mz_json *j, const struct mz_profile *p,
		     const struct mz_profile_value *v)
{
	uint64_t total = 0;

	for (size_t i = 0; i < p->nsites; i++)
		total += mz_profile_get(v, &p->sites[i].sum);
	mz_json_object(j, NULL);
	mz_json_str(j, "type", "sampled");
	mz_json_str(j, "name", v->title);
	mz_json_str(j, "unit", v->bytes ? "bytes" : "none");
	mz_json_u64(j, "startValue", 0);
	mz_json_u64(j, "endValue", total);
	mz_json_array(j, "samples");
	for (size_t i = 0; i < p->nsites; i++)
		if (mz_profile_get(v, &p->sites[i].sum))
			put_stack(j, p, &p->sites[i]);
	mz_json_end_array(j);
	mz_json_array(j, "weights");
	for (size_t i = 0; i < p->nsites; i++)
		if (mz_profile_get(v, &p->sites[i].sum))
			mz_json_u64(j, NULL, mz_profile_get(v, &p->sites[i].sum));
	mz_json_end_array(j);
	mz_json_end_object(j);
}

int mz_export_speedscope(const struct mz_profile *p, const struct mz_export_options *o,
			 struct mz_output *out, struct mz_error *err)
{
	const struct mz_profile_value *views[MZ_EXPORT_VIEWS];
	size_t n = mz_export_views(p, views, MZ_EXPORT_VIEWS);
	struct mz_buf b = {0};
	struct mz_json j = {.out = &b, .flat = true};

	(void)o;
	mz_json_object(&j, NULL);
	mz_json_str(&j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	mz_json_str(&j, "exporter", "memorizer " MZ_VERSION);
	mz_json_str(&j, "name", mz_profile_title(p));
	mz_json_u64(&j, "activeProfileIndex", 0);
	put_frames(&j, p);
	mz_json_array(&j, "profiles");
	/* one profile per value: the viewer cannot switch values within a profile */
	for (size_t i = 0; i < n; i++)
		put_view(&j, p, views[i]);
	mz_json_end_array(&j);
	mz_json_end_object(&j);
	return mz_export_put(&b, out, err);
}
