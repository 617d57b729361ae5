// SPDX-License-Identifier: BSD-2-Clause
/* Annotate each line of a trace with the block's neighbours, gaps and pages. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/layout.h"
#include "base/error.h"
#include "cmds/lifetimes/annotate.h"
#include "cmds/loss_report.h"

static const struct mz_opt opts[] = {
	ANNOTATE_OPTS("show peaks, gaps and fragmentation over time instead of the lines"),
	{0},
};

static int start(struct annotator *a, bool by_object)
{
	(void)by_object; /* each event shows whether there are addresses */
	a->state = mz_layout_new();
	return a->state ? 0 : mz_fail_memory(&a->err);
}

static char *put_gap(char *p, int64_t gap)
{
	if (gap < 0) {
		*p++ = '-';
		gap = -gap;
	}
	return mz_put_u64(p, (uint64_t)gap);
}

static char *put_spot(char *p, const struct mz_spot *s, const char *dash)
{
	p = mz_put_hex(mz_put_str(p, "prev "), s->prev);
	p = put_gap(mz_put_str(p, ", gap "), s->prev_gap);
	p = mz_put_hex(mz_put_str(p, ", next "), s->next);
	p = put_gap(mz_put_str(p, ", gap "), s->next_gap);
	p = mz_put_u64(mz_put_str(p, ", pages ["), s->first_page);
	p = mz_put_u64(mz_put_str(p, dash), s->last_page);
	p = mz_put_u64(mz_put_str(p, "], "), s->pages);
	return p;
}

/* For a realloc only the end of the old block is shown, as the original does. */
static size_t note_text(char *note, const struct mz_layout_step *step, uint64_t now)
{
	char *p = note;

	if (step->went) {
		p = mz_put_str(mz_put_u64(p, step->old.size), " bytes, allocated ");
		p = mz_put_str(mz_put_u64(p, now - step->old.born), " lines ago, ");
		p = mz_put_str(put_spot(p, &step->old, "-"), " fewer pages");
	} else if (step->unknown) {
		p = mz_put_str(p, "a block that was not allocated in this trace");
	} else if (step->came) {
		p = mz_put_str(put_spot(p, &step->new, ", "), " more pages ");
	}
	return (size_t)(p - note);
}

static size_t spot_json(char *p, const struct mz_spot *s)
{
	return (size_t)sprintf(p,
			       "\"prev\": \"%" PRIx64 "\", \"prev_gap\": %" PRId64
			       ", \"next\": \"%" PRIx64 "\", \"next_gap\": %" PRId64
			       ", \"first_page\": %" PRIu64 ", \"last_page\": %" PRIu64,
			       s->prev, s->prev_gap, s->next, s->next_gap, s->first_page,
			       s->last_page);
}

static size_t note_json(char *note, const struct mz_layout_step *step, uint64_t now)
{
	size_t n;

	if (step->unknown)
		return (size_t)sprintf(note, "\"unknown\": true");
	if (step->went) {
		n = (size_t)sprintf(note, "\"bytes\": %" PRIu64 ", \"age\": %" PRIu64 ", ",
				    step->old.size, now - step->old.born);
		n += spot_json(note + n, &step->old);
		return n +
		       (size_t)sprintf(note + n, ", \"fewer_pages\": %" PRIu64, step->old.pages);
	}
	if (!step->came)
		return 0;
	n = spot_json(note, &step->new);
	return n + (size_t)sprintf(note + n, ", \"more_pages\": %" PRIu64, step->new.pages);
}

static int event(struct annotator *a, struct mz_event *ev, const struct mz_text_line *info,
		 uint64_t now, char *note)
{
	struct mz_layout_step step;
	int ret;

	(void)info;
	if (!(ev->has & MZ_HAS_ADDR) && ev->kind <= MZ_REALLOC)
		return mz_fail(&a->err, EINVAL,
			       "%s: this trace has no addresses; 'cmtreplay -v' gives it some",
			       a->in->in.name);
	ret = mz_layout_add(a->state, ev, now, &step);
	if (ret < 0 || !note)
		return ret;
	return (int)(a->opts->json ? note_json(note, &step, now) : note_text(note, &step, now));
}

static void summary_text(struct annotator *a, struct mz_buf *b)
{
	const struct mz_layout *l = a->state;

	mz_buf_printf(b, "events      %" PRIu64 "\n", l->events);
	mz_buf_printf(b, "peak bytes  %" PRIu64 " live, at line %" PRIu64 "\n", l->peak_bytes,
		      l->peak_bytes_at);
	mz_buf_printf(b,
		      "peak pages  %" PRIu64 " of %d bytes, at line %" PRIu64
		      "; %.1f %% of them unused\n",
		      l->peak_pages, MZ_PAGE, l->peak_pages_at,
		      100 * mz_layout_fragmentation(l->live_at_peak_pages, l->peak_pages));
	mz_buf_printf(b, "at the end  %" PRIu64 " bytes live in %zu blocks, %" PRIu64 " pages\n",
		      l->live_bytes, l->blocks.entries, l->pages);
	mz_buf_printf(b, "no effect   %" PRIu64 "  (free(NULL), failed calls)\n", l->no_effect);
	mz_buf_printf(b,
		      "unmatched   %" PRIu64 " frees of unknown blocks, %" PRIu64
		      " allocations at live blocks, %" PRIu64 " overlapping one\n",
		      l->unknown, l->over_live, l->overlaps);
	mz_buf_printf(b, "lost        %" PRIu64 " events\n", l->lost);
	annotate_histogram_text(
		b, "Gap to the block before, in bytes, at each allocation (within 0.8 %)",
		&l->gaps);
	mz_buf_printf(b, "\nOver time\n%14s %16s %10s %8s\n", "line", "live bytes", "pages",
		      "unused");
	for (unsigned i = 0; i < l->time.used; i++) {
		const struct mz_timeline_bin *p = &l->time.bins[i];

		mz_buf_printf(b, "%14" PRIu64 " %16" PRIu64 " %10" PRIu64 " %6.1f %%\n", p->at,
			      p->live, p->pages, 100 * mz_layout_fragmentation(p->live, p->pages));
	}
}

static void summary_json(struct annotator *a, struct mz_json *j)
{
	const struct mz_layout *l = a->state;

	mz_json_u64(j, "events", l->events);
	mz_json_u64(j, "page_bytes", MZ_PAGE);
	mz_json_u64(j, "peak_bytes", l->peak_bytes);
	mz_json_u64(j, "peak_bytes_line", l->peak_bytes_at);
	mz_json_u64(j, "peak_pages", l->peak_pages);
	mz_json_u64(j, "peak_pages_line", l->peak_pages_at);
	mz_json_double(j, "fragmentation_at_peak_pages",
		       mz_layout_fragmentation(l->live_at_peak_pages, l->peak_pages));
	mz_json_u64(j, "end_bytes", l->live_bytes);
	mz_json_u64(j, "end_blocks", l->blocks.entries);
	mz_json_u64(j, "end_pages", l->pages);
	mz_json_u64(j, "no_effect", l->no_effect);
	mz_json_u64(j, "unknown_frees", l->unknown);
	mz_json_u64(j, "over_live", l->over_live);
	mz_json_u64(j, "overlaps", l->overlaps);
	lost_json(j, "lost", l->lost_by);
	early_end_json(j, mz_reader_files_cut(a->in));
	annotate_histogram_json(j, "gaps", &l->gaps);
	mz_json_array(j, "over_time");
	for (unsigned i = 0; i < l->time.used; i++) {
		const struct mz_timeline_bin *p = &l->time.bins[i];

		mz_json_object(j, NULL);
		mz_json_u64(j, "line", p->at);
		mz_json_u64(j, "live_bytes", p->live);
		mz_json_u64(j, "pages", p->pages);
		mz_json_double(j, "fragmentation", mz_layout_fragmentation(p->live, p->pages));
		mz_json_end_object(j);
	}
	mz_json_end_array(j);
}

static void remarks(struct annotator *a, struct mz_buf *b)
{
	const struct mz_layout *l = a->state;

	if (l->unknown || l->over_live || l->overlaps)
		mz_buf_printf(b,
			      "%" PRIu64 " frees or reallocs of unknown blocks, %" PRIu64
			      " allocations at live blocks, %" PRIu64
			      " overlapping one: pages and gaps may be wrong",
			      l->unknown, l->over_live, l->overlaps);
	if (l->lost)
		mz_buf_printf(b, "%s%" PRIu64 " events were lost during recording",
			      b->len ? "; " : "", l->lost);
}

static void end(struct annotator *a)
{
	mz_layout_free(a->state);
}

static const struct annotate_ops ops = {start, event, summary_text, summary_json, remarks, end};

ANNOTATE_CMD(overhead, "annotate a trace with the neighbours, gaps and pages of each block")
