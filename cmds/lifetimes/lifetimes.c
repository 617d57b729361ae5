// SPDX-License-Identifier: BSD-2-Clause
/* Annotate each line of a trace with the size and age of the block that ends. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/lifetimes.h"
#include "base/error.h"
#include "cmds/lifetimes/annotate.h"
#include "cmds/loss_report.h"
#include "trace/event.h"

static const struct mz_opt opts[] = {
	ANNOTATE_OPTS("show totals, sizes and lifetimes instead of the lines"),
	{0},
};

static int start(struct annotator *a, bool by_object)
{
	a->state = mz_lifetimes_new(by_object);
	return a->state ? 0 : mz_fail_memory(&a->err);
}

/* Sizes are printed as they are in the trace: 008 stays 008. Such blocks are rare, and their object
 * number is not needed; it stores the number of leading zeros instead. */
#define MAX_ZEROS	   64
#define ZEROS_TO_OBJECT(n) (UINT64_MAX - (n))

static char *put_size(char *p, const struct mz_block *b)
{
	uint64_t zeros = UINT64_MAX - b->object;

	for (uint64_t i = 0; zeros <= MAX_ZEROS && i < zeros; i++)
		*p++ = '0';
	return mz_put_u64(p, b->size);
}

static void remember_zeros(struct mz_live *live, uint64_t key, const struct mz_text_line *info)
{
	struct mz_block *b = mz_live_find(live, key);
	uint64_t n = 0;

	while (n + 1 < info->size_len && n < MAX_ZEROS && info->size[n] == '0')
		n++;
	if (b)
		b->object = ZEROS_TO_OBJECT(n);
}

static size_t note_text(char *note, const struct mz_effect *fx, uint64_t now)
{
	char *p = note;

	if (fx->went) {
		p = mz_put_str(put_size(p, &fx->old), " bytes, allocated ");
		p = mz_put_str(mz_put_u64(p, now - fx->old.born), " lines ago");
	} else if (fx->kept) {
		p = mz_put_str(put_size(mz_put_str(p, "failed, the block of "), &fx->old),
			       " bytes stays");
	} else if (fx->unknown) {
		p = mz_put_str(p, "a block that was not allocated in this trace");
	}
	return (size_t)(p - note);
}

static size_t note_json(char *note, const struct mz_effect *fx, uint64_t now)
{
	if (fx->unknown)
		return (size_t)sprintf(note, "\"unknown\": true");
	if (fx->went)
		return (size_t)sprintf(note, "\"bytes\": %" PRIu64 ", \"age\": %" PRIu64,
				       fx->old.size, now - fx->old.born);
	return 0;
}

static int event(struct annotator *a, struct mz_event *ev, const struct mz_text_line *info,
		 uint64_t now, char *note)
{
	struct mz_lifetimes *l = a->state;
	struct mz_effect fx;
	int ret;

	/* the lines need the blocks only, the summary all the counts */
	if (note && ev->kind != MZ_LOST)
		ret = mz_live_apply(&l->live, ev, now, &fx);
	else
		ret = mz_lifetimes_add(l, ev, now, &fx);
	if (ret < 0)
		return ret;
	if (fx.came && info->size_len > 1 && *info->size == '0' && !l->live.by_object)
		remember_zeros(&l->live, mz_event_key(ev, ev->addr), info);
	if (!note)
		return 0;
	return (int)(a->opts->json ? note_json(note, &fx, now) : note_text(note, &fx, now));
}

static void summary_text(struct annotator *a, struct mz_buf *b)
{
	const struct mz_lifetimes *l = a->state;

	mz_buf_printf(b,
		      "events      %" PRIu64 "  (%" PRIu64 " allocations, %" PRIu64
		      " reallocs, %" PRIu64 " frees)\n",
		      l->events, l->by_kind[MZ_ALLOC], l->by_kind[MZ_REALLOC], l->by_kind[MZ_FREE]);
	mz_buf_printf(b, "blocks      %" PRIu64 ", %" PRIu64 " bytes in all\n", l->blocks,
		      l->bytes);
	mz_buf_printf(b,
		      "peak        %" PRIu64 " bytes in %" PRIu64 " blocks, at line %" PRIu64 "\n",
		      l->peak_bytes, l->peak_blocks, l->peak_at);
	mz_buf_printf(b, "never freed %" PRIu64 " bytes in %zu blocks\n", l->live_bytes,
		      mz_live_count(&l->live));
	mz_buf_printf(b, "no effect   %" PRIu64 "  (free(NULL), failed calls)\n", l->no_effect);
	mz_buf_printf(b,
		      "unmatched   %" PRIu64 " frees of unknown blocks, %" PRIu64
		      " allocations at live blocks\n",
		      l->live.unmatched.unknown_frees, l->live.unmatched.over_live);
	mz_buf_printf(b, "lost        %" PRIu64 " events\n", l->lost);
	annotate_histogram_text(b, "Lifetimes in lines, of the blocks that ended (within 0.8 %)",
				&l->ages);
	annotate_histogram_text(b, "Sizes in bytes, of all blocks (within 0.8 %)", &l->sizes);
}

static void summary_json(struct annotator *a, struct mz_json *j)
{
	const struct mz_lifetimes *l = a->state;

	mz_json_u64(j, "events", l->events);
	mz_json_u64(j, "allocations", l->by_kind[MZ_ALLOC]);
	mz_json_u64(j, "reallocs", l->by_kind[MZ_REALLOC]);
	mz_json_u64(j, "frees", l->by_kind[MZ_FREE]);
	mz_json_u64(j, "blocks", l->blocks);
	mz_json_u64(j, "bytes", l->bytes);
	mz_json_u64(j, "peak_bytes", l->peak_bytes);
	mz_json_u64(j, "peak_blocks", l->peak_blocks);
	mz_json_u64(j, "peak_line", l->peak_at);
	mz_json_u64(j, "never_freed_blocks", mz_live_count(&l->live));
	mz_json_u64(j, "never_freed_bytes", l->live_bytes);
	mz_json_u64(j, "no_effect", l->no_effect);
	mz_json_u64(j, "unknown_frees", l->live.unmatched.unknown_frees);
	mz_json_u64(j, "over_live", l->live.unmatched.over_live);
	lost_json(j, "lost", l->lost_by);
	early_end_json(j, mz_reader_files_cut(a->in));
	annotate_histogram_json(j, "lifetimes", &l->ages);
	annotate_histogram_json(j, "sizes", &l->sizes);
}

static void remarks(struct annotator *a, struct mz_buf *b)
{
	const struct mz_lifetimes *l = a->state;
	const struct mz_unmatched *u = &l->live.unmatched;

	if (u->unknown_frees || u->over_live)
		mz_buf_printf(b,
			      "%" PRIu64 " frees or reallocs of unknown blocks, %" PRIu64
			      " allocations at live blocks",
			      u->unknown_frees, u->over_live);
	if (l->lost)
		mz_buf_printf(b,
			      "%s%" PRIu64 " events were lost during recording; ages may be wrong",
			      b->len ? "; " : "", l->lost);
}

static void end(struct annotator *a)
{
	mz_lifetimes_free(a->state);
}

static const struct annotate_ops ops = {start, event, summary_text, summary_json, remarks, end};

ANNOTATE_CMD(lifetimes, "annotate a trace with the size and age of each freed block")
