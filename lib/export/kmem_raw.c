// SPDX-License-Identifier: BSD-2-Clause
/* Write the events of a kernel trace as raw records of kmemtrace. */
#include <errno.h>

#include "analysis/kmem.h"
#include "base/error.h"
#include "base/output.h"
#include "export/kmem.h"
#include "formats/kmemtrace.h"

/* What is written, and what the format cannot express. */
struct kmem_raw {
	struct mz_kmemtrace_layout layout;
	struct mz_output out;
	uint64_t written;
	struct mz_kmem_raw_left left;
};

/* The sequence number is that of what is written: a reader takes a gap for a loss, and an event
 * that the format cannot express is none. */
static int put_raw(struct kmem_raw *r, const struct mz_event *ev, uint64_t site,
		   struct mz_error *err)
{
	struct mz_kmemtrace_extra x = {.sequence = (int32_t)(uint32_t)(r->written + 1),
				       .site = site};
	const char *reason;
	size_t size;
	char *p;

	if (ev->kind == MZ_LOST) {
		r->left.lost += ev->size;
		return 0;
	}
	p = mz_output_room(&r->out, MZ_KMT_PUT_MAX, err);
	if (!p)
		return -EIO;
	size = mz_kmemtrace_put(&r->layout, ev, &x, p, &reason);
	if (!size) {
		r->left.events++;
		r->left.why = reason;
	}
	r->written += size != 0;
	r->out.len += size;
	return 0;
}

static int put_all(struct kmem_raw *r, struct mz_kmem_input *in, struct mz_error *err)
{
	struct mz_event ev;
	uint32_t stack;
	int ret;

	while ((ret = mz_kmem_input_next(in, &ev, &stack, err)) > 0) {
		ret = put_raw(r, &ev, ev.has & MZ_HAS_SITE ? mz_kmem_input_site(in, ev.site) : 0,
			      err);
		if (ret < 0)
			break;
	}
	return ret;
}

int mz_kmem_write_raw(struct mz_kmem_input *in, const struct mz_kmemtrace_layout *layout,
		      const char *output, bool overwrite, struct mz_kmem_raw_left *left,
		      struct mz_error *err)
{
	struct kmem_raw r = {.layout = *layout, .out = {.file.fd = -1}};
	int ret = mz_output_open(&r.out, output, overwrite, err);

	if (ret >= 0)
		ret = mz_output_end(&r.out, put_all(&r, in, err), err);
	*left = r.left;
	return ret;
}
