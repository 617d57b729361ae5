// SPDX-License-Identifier: BSD-2-Clause
/* Write massif.out, for ms_print and massif-visualizer. */
/* It contains the live bytes over time, and the tree of callers at the peak. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pair_index.h"
#include "base/utf8.h"
#include "export/export.h"

#define THRESHOLD 0.001 /* of the whole: what is smaller becomes one line */

/* ---- the tree ----------------------------------------------------------- */

struct node {
	uint32_t frame;
	uint32_t child, sibling; /* 0 = none; the root is 0 */
	uint64_t bytes;
};

struct peak_tree {
	struct node *nodes;
	size_t n, cap;
	struct mz_pair_index children; /* parent and frame -> node - 1: all but the root are one */
	bool failed;
};

/* Node 0 is the root, so 0 can stand for "none" in links and for failure here. */
static uint32_t new_node(struct peak_tree *t, uint32_t frame)
{
	if (t->n == t->cap) {
		size_t cap = t->cap ? 2 * t->cap : 256;
		struct node *p = cap < UINT32_MAX ? realloc(t->nodes, cap * sizeof(*p)) : NULL;

		if (!p) {
			t->failed = true;
			return 0;
		}
		t->nodes = p;
		t->cap = cap;
	}
	t->nodes[t->n] = (struct node){.frame = frame};
	return (uint32_t)t->n++;
}

/* A file may have as many callers of one frame as it likes, so they are not searched one by one. */
static uint32_t child_of(struct peak_tree *t, uint32_t parent, uint32_t frame)
{
	uint32_t number = mz_pair_index_put(&t->children, parent, frame), i;

	if (number == MZ_PAIR_INDEX_NONE)
		t->failed = true;
	if (t->failed || number + 1 < t->n)
		return t->failed ? 0 : number + 1;
	i = new_node(t, frame);
	if (!i)
		return 0;
	t->nodes[i].sibling = t->nodes[parent].child;
	t->nodes[parent].child = i;
	return i;
}

/* The tree grows from the allocating function outwards, which is the order in which massif shows
 * callers. */
static void add_stack(struct peak_tree *t, const struct mz_profile *p,
		      const struct mz_profile_site *s, uint64_t bytes)
{
	size_t depth;
	const uint64_t *frames = mz_profile_stack(p, s, &depth);
	uint32_t at = 0;

	t->nodes[0].bytes += bytes;
	for (size_t i = 0; i < depth && !t->failed; i++) {
		at = child_of(t, at, (uint32_t)frames[i]);
		if (!t->failed)
			t->nodes[at].bytes += bytes;
	}
}

/* Equal nodes keep the order in which they came, so that the output does not depend on the
 * sort. */
static int by_bytes(const void *a, const void *b, void *nodes)
{
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	uint64_t x = ((const struct node *)nodes)[i].bytes,
		 y = ((const struct node *)nodes)[k].bytes;

	return x != y ? (x < y ? 1 : -1) : i < k ? -1 : 1;
}

/* ---- its lines ---------------------------------------------------------- */

/* ms_print takes '#' for a comment. */
static void put_name(struct mz_buf *b, const char *s)
{
	size_t start = b->len;

	mz_utf8_add(b, s, strlen(s));
	for (size_t i = start; i < b->len; i++) {
		if ((unsigned char)b->data[i] < 0x20)
			b->data[i] = ' ';
		else if (b->data[i] == '#')
			b->data[i] = '@';
	}
}

/* "0xADDRESS: function (file:line)" is what massif-visualizer parses. */
static void put_place(struct mz_buf *b, const struct mz_frame *f)
{
	mz_buf_printf(b, "0x%" PRIX64 ": ", f->addr);
	put_name(b, f->name);
	if (f->file || f->module) {
		mz_buf_str(b, f->file ? " (" : " (in ");
		put_name(b, f->file ? f->file : f->module);
		if (f->file && f->line)
			mz_buf_printf(b, ":%u", f->line);
		mz_buf_str(b, ")");
	}
}

static void put_node(struct mz_buf *b, const struct mz_profile *p, struct peak_tree *t, uint32_t at,
		     int indent);

/* Many small callers become one line, as massif itself does; their bytes are still in the sum. */
static void put_children(struct mz_buf *b, const struct mz_profile *p, struct peak_tree *t,
			 const uint32_t *kids, size_t shown, size_t n, int indent)
{
	uint64_t rest = 0;

	for (size_t i = 0; i < shown; i++)
		put_node(b, p, t, kids[i], indent);
	for (size_t i = shown; i < n; i++)
		rest += t->nodes[kids[i]].bytes;
	if (shown < n)
		mz_buf_printf(b,
			      "%*sn0: %" PRIu64 " in %zu place%s, all below massif's threshold "
			      "(%.2f%%)\n",
			      indent, "", rest, n - shown, n - shown == 1 ? "" : "s",
			      100 * THRESHOLD);
}

/* The recursion is as deep as a stack; readers limit the depth of stacks. */
static void put_node(struct mz_buf *b, const struct mz_profile *p, struct peak_tree *t, uint32_t at,
		     int indent)
{
	uint64_t least = (uint64_t)((double)t->nodes[0].bytes * THRESHOLD);
	size_t n = 0, shown = 0;
	uint32_t *kids;

	for (uint32_t i = t->nodes[at].child; i; i = t->nodes[i].sibling)
		n++;
	kids = malloc((n ? n : 1) * sizeof(*kids));
	if (!kids) {
		b->failed = true;
		return;
	}
	n = 0;
	for (uint32_t i = t->nodes[at].child; i; i = t->nodes[i].sibling)
		kids[n++] = i;
	qsort_r(kids, n, sizeof(*kids), by_bytes, t->nodes);
	while (shown < n && t->nodes[kids[shown]].bytes >= least)
		shown++;
	mz_buf_printf(b, "%*sn%zu: %" PRIu64 " ", indent, "", shown + (shown < n),
		      t->nodes[at].bytes);
	if (at) {
		struct mz_frame f = mz_profile_get_frame(p, t->nodes[at].frame);

		put_place(b, &f);
	} else {
		mz_buf_str(b, "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.");
	}
	mz_buf_str(b, "\n");
	put_children(b, p, t, kids, shown, n, indent + 1);
	free(kids);
}

/* By the usual value: the peak, if the recording knows it. */
static void put_tree(struct mz_buf *b, const struct mz_profile *p)
{
	const struct mz_profile_value *v = mz_export_usual(p);
	struct peak_tree t = {0};

	new_node(&t, 0);
	for (size_t i = 0; i < p->nsites && !t.failed; i++)
		if (mz_profile_get(v, &p->sites[i].sum))
			add_stack(&t, p, &p->sites[i], mz_profile_get(v, &p->sites[i].sum));
	if (t.failed)
		b->failed = true;
	else
		put_node(b, p, &t, 0, 0);
	mz_pair_index_deinit(&t.children);
	free(t.nodes);
}

/* ---- snapshots ---------------------------------------------------------- */

/* Only the peak has a tree: the profile knows no other moment by call stack. */
static void put_snapshot(struct mz_buf *b, size_t number, const struct mz_timeline_bin *at,
			 uint64_t time, bool peak)
{
	mz_buf_printf(b,
		      "#-----------\nsnapshot=%zu\n#-----------\ntime=%" PRIu64
		      "\nmem_heap_B=%" PRIu64 "\nmem_heap_extra_B=%" PRIu64
		      "\nmem_stacks_B=0\nheap_tree=%s\n",
		      number, time, at->live, at->waste, peak ? "peak" : "empty");
}

/* massif knows ms and instructions only; ms are too coarse for a short run. */
#define LONG_RUN 10000000000u

int mz_export_massif(const struct mz_profile *p, const struct mz_export_options *o,
		     struct mz_output *out, struct mz_error *err)
{
	bool ms = p->clock == MZ_CLOCK_NS && p->last - p->first >= LONG_RUN;
	uint64_t top = mz_profile_get(mz_export_usual(p), &p->all);
	struct mz_timeline_bin whole = {.live = top, .blocks = p->all.live_blocks};
	const struct mz_timeline_bin *points =
		p->timeline && p->timeline->used ? p->timeline->bins : &whole;
	size_t n = points == &whole ? 1 : p->timeline->used;
	struct mz_buf b = {0};
	bool done = false;

	(void)o;
	mz_buf_printf(&b, "desc: memorizer " MZ_VERSION ", 1 %s of time is one of %s\ncmd: ",
		      ms ? "ms" : "i", ms ? "ms" : mz_clock_name(p->clock));
	put_name(&b, mz_profile_title(p));
	mz_buf_printf(&b, "\ntime_unit: %s\n", ms ? "ms" : "i");
	for (size_t i = 0; i < n; i++) {
		uint64_t time = points[i].at > p->first ? points[i].at - p->first : 0;
		/* the first of several equal peaks, as massif takes it */
		bool peak = !done && points[i].live == top;

		put_snapshot(&b, i, &points[i], ms ? time / 1000000 : time, peak);
		if (peak)
			put_tree(&b, p);
		done |= peak;
	}
	return mz_export_put(&b, out, err);
}
