// SPDX-License-Identifier: BSD-2-Clause
/* Write collapsed stacks: "main;parse;new_node 4096", one line per stack, outermost first, for
 * FlameGraph, speedscope and Perfetto. */
#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"
#include "export/export.h"

/* A name must not look like two frames, or end the line. */
static void put_name(struct mz_buf *b, const char *s)
{
	size_t start = b->len;

	mz_utf8_add(b, s, strlen(s));
	for (size_t i = start; i < b->len; i++) {
		if (b->data[i] == ';')
			b->data[i] = ':';
		else if ((unsigned char)b->data[i] < 0x20)
			b->data[i] = ' ';
	}
}

/* Stacks are written one by one, so that a profile of any size needs memory for one line only. */
int mz_export_collapsed(const struct mz_profile *p, const struct mz_export_options *o,
			struct mz_output *out, struct mz_error *err)
{
	const struct mz_profile_value *v = o->value ? o->value : mz_export_usual(p);

	for (size_t i = 0; i < p->nsites; i++) {
		uint64_t x = mz_profile_get(v, &p->sites[i].sum);
		struct mz_buf b = {0};
		const uint64_t *frames;
		size_t depth;
		int ret;

		if (!x)
			continue;
		frames = mz_profile_stack(p, &p->sites[i], &depth);
		for (size_t k = depth; k--;) {
			put_name(&b, mz_profile_get_frame(p, (uint32_t)frames[k]).name);
			/* the innermost frame comes last, and the value after it */
			mz_buf_str(&b, k ? ";" : " ");
		}
		mz_buf_printf(&b, "%" PRIu64 "\n", x);
		ret = mz_export_put(&b, out, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}
