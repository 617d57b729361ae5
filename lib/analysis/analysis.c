// SPDX-License-Identifier: BSD-2-Clause
/* Open a recording of any kind for a user of the library, read it, and answer. */
#include "analysis/analysis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "trace/sampled.h"

/* ---- opening ------------------------------------------------------------------------ */

/* The structure of the caller may be shorter than ours, if it was compiled for an older library, or
 * longer. */
int mz_analysis_take(void *to, const void *from, size_t size, struct mz_error *err)
{
	int ret = mz_sized_take(to, from, size);

	if (ret == -E2BIG)
		return mz_fail_option(err);
	return ret < 0 ? mz_fail(err, EINVAL, "the size of the options is not set") : 0;
}

#define WANT_ALL (MZ_WANT_SUMS | MZ_WANT_TIMELINE | MZ_WANT_LAYOUT | MZ_WANT_THREADS)

/* What is not requested is not kept, and cannot be asked later; a caller that requests nothing gets
 * what most questions need. */
static int take_options(struct mz_analysis *a, const struct mz_analysis_options *o)
{
	int ret;

	a->o.want = MZ_WANT_SUMS | MZ_WANT_TIMELINE;
	if (!o)
		return 0;
	ret = mz_analysis_take(&a->o, o, sizeof(a->o), &a->error);
	if (ret < 0)
		return ret;
	if (a->o.want & ~(uint32_t)WANT_ALL || a->o.flags & ~(uint32_t)MZ_OPEN_LARGE ||
	    a->o.no_default_suppressions > 1)
		return mz_fail_option(&a->error);
	if (a->o.by > MZ_KMAP_BY_SITE)
		return mz_fail(&a->error, EINVAL, "there is no level of detail %u", a->o.by);
	if (!a->o.want)
		a->o.want = MZ_WANT_SUMS | MZ_WANT_TIMELINE;
	if (a->o.want & (MZ_WANT_TIMELINE | MZ_WANT_THREADS))
		a->o.want |= MZ_WANT_SUMS; /* the others need them */
	a->symbols = a->o.symbols ? strdup(a->o.symbols) : NULL;
	return a->o.symbols && !a->symbols ? mz_fail_memory(&a->error) : 0;
}

/* Copies: a question at another level reads the recording again, when the caller's strings may
 * be gone. */
static int take_paths(struct mz_analysis *a, const char *const *paths, size_t n)
{
	if (!paths || !n || n > INT32_MAX)
		return mz_fail(&a->error, EINVAL, "no recording is named");
	a->paths = calloc(n, sizeof(*a->paths));
	for (size_t i = 0; a->paths && i < n; i++) {
		if (!paths[i])
			return mz_fail(&a->error, EINVAL, "no recording is named");
		a->paths[i] = strdup(paths[i]);
		if (!a->paths[i])
			return mz_fail_memory(&a->error);
		a->n++;
	}
	return a->paths ? 0 : mz_fail_memory(&a->error);
}

/* A KMAP is added up at one level of detail while it is read, so a question at another level needs
 * another reading. */
int mz_analysis_reopen(struct mz_analysis *a)
{
	struct mz_recording_options o = {.want = (enum mz_recording_kind)a->o.kind,
					 .symbols = a->symbols,
					 .flags = a->o.flags,
					 .skip_bad = a->o.skip_bad,
					 .progress = a->o.progress,
					 .arg = a->o.progress_arg};

	struct mz_recording fresh;
	int ret = mz_recording_open(&fresh, a->paths, a->n, &o, &a->error);

	/* the one at hand stays until there is another */
	if (ret < 0) {
		mz_recording_close(&fresh);
		return ret;
	}
	mz_recording_close(&a->recording);
	a->recording = fresh;
	return 0;
}

/* ---- errors -------------------------------------------------------------------------- */

/* The lines of a map are the same for every question; the memory and the symbols that one needs
 * are not. */
int mz_analysis_break(struct mz_analysis *a)
{
	bool again = a->recording.kind == MZ_RECORDING_KMAP && !a->recording.why.code &&
		     strcmp(a->paths[0], "-");

	if (!again)
		a->broken = a->error;
	return -a->error.code;
}

int mz_analysis_check(struct mz_analysis *a)
{
	if (a->broken.code)
		a->error = a->broken;
	return -a->broken.code;
}

/* The rules are about what runtimes of programs do. */
static int read_suppressions(struct mz_analysis *a)
{
	if (a->recording.kind != MZ_RECORDING_USER)
		return 0;
	if (!a->o.no_default_suppressions && mz_suppressions_init(&a->suppressions) < 0)
		return mz_fail_memory(&a->error);
	return a->o.suppressions
		       ? mz_suppressions_read(&a->suppressions, a->o.suppressions, &a->error)
		       : 0;
}

/* What is counted is decided before the first event, so that nothing unwanted is kept. */
static int prepare(struct mz_analysis *a)
{
	if (!mz_recording_has_events(&a->recording))
		return 0;
	a->events = mz_recording_events(&a->recording, &a->error);
	if (!a->events)
		return -a->error.code;
	if (mz_usage_init(&a->usage) < 0)
		return mz_fail_memory(&a->error);
	a->usage.by_cache = true;
	a->usage.by_thread = a->o.want & MZ_WANT_THREADS;
	if (a->o.want & MZ_WANT_TIMELINE)
		a->history = mz_history_new();
	if (a->o.want & MZ_WANT_LAYOUT && mz_events_reader(a->events) &&
	    mz_sampled_refuse(mz_events_reader(a->events), "the layout of pages", &a->error))
		return -EINVAL;
	if (a->o.want & MZ_WANT_LAYOUT)
		a->layout = mz_layout_new();
	a->usage.history = a->history;
	if ((a->o.want & MZ_WANT_TIMELINE && !a->history) ||
	    (a->o.want & MZ_WANT_LAYOUT && !a->layout))
		return mz_fail_memory(&a->error);
	return 0;
}

void *mz_analysis_failed(struct mz_error *err, const struct mz_error *why, int ret)
{
	if (err)
		*err = *why;
	errno = -ret;
	return NULL;
}

struct mz_analysis *mz_analysis_open(const char *const *paths, size_t n,
				     const struct mz_analysis_options *options,
				     struct mz_error *err)
{
	struct mz_analysis *a = calloc(1, sizeof(*a));
	struct mz_error why;
	int ret;

	if (!a) {
		mz_fail_memory(err);
		return NULL;
	}
	/* an early failure closes the recording, which must not close descriptor 0 */
	a->recording.in.fd = -1;
	ret = take_options(a, options);
	if (!ret)
		ret = take_paths(a, paths, n);
	if (!ret)
		ret = mz_analysis_reopen(a);
	if (!ret)
		ret = prepare(a);
	if (!ret)
		ret = read_suppressions(a);
	if (!ret)
		return a;
	why = a->error;
	mz_analysis_close(a);
	return mz_analysis_failed(err, &why, ret);
}

void mz_analysis_close(struct mz_analysis *a)
{
	if (!a)
		return;
	/* the sums are initialized for recordings with events only */
	if (a->events)
		mz_usage_deinit(&a->usage);
	if (a->has_model)
		mz_kmap_model_deinit(&a->model);
	mz_history_free(a->history);
	mz_layout_free(a->layout);
	mz_suppressions_deinit(&a->suppressions);
	mz_recording_close(&a->recording);
	for (int i = 0; i < a->n; i++)
		free(a->paths[i]);
	free(a->paths);
	free(a->symbols);
	free(a);
}

enum mz_recording_kind mz_analysis_kind(const struct mz_analysis *a)
{
	return a->recording.kind;
}

const struct mz_error *mz_analysis_error(const struct mz_analysis *a)
{
	return &a->error;
}

/* A KMAP has no events, so its texts come from the model. */
const char *mz_analysis_text(struct mz_analysis *a, const char *key)
{
	if (a->has_model && key)
		return mz_analysis_kmap_text(a, key);
	return a->events && key ? mz_events_text(a->events, key) : NULL;
}

/* A question at another level may have opened the map again; the model is that of the last complete
 * reading. */
static uint64_t files_cut(struct mz_analysis *a)
{
	if (a->events)
		return mz_events_files_cut(a->events);
	return a->has_model ? a->model.files_cut : a->recording.profile.files_cut;
}

/* Before, the tables may be growing in a thread. */
static struct mz_lost_tables lost_tables(const struct mz_analysis *a)
{
	return a->done || a->has_model ? mz_recording_lost_tables(&a->recording)
				       : (struct mz_lost_tables){0};
}

uint64_t mz_analysis_number(struct mz_analysis *a, const char *key)
{
	if (!key)
		return 0;
	if (!strcmp(key, MZ_FILES_CUT))
		return files_cut(a);
	if (!strcmp(key, MZ_LOST_NAMES))
		return lost_tables(a).names;
	if (!strcmp(key, MZ_LOST_FRAMES))
		return lost_tables(a).frames;
	if (a->has_model)
		return mz_analysis_kmap_number(a, key);
	return a->events ? mz_events_number(a->events, key) : 0;
}

/* ---- events -------------------------------------------------------------------------- */

/* Lost events are counted here as well as in the sums, because a caller may not want the sums. */
static int count(struct mz_analysis *a, const struct mz_event *ev)
{
	struct mz_layout_step step;

	if (ev->kind == MZ_LOST)
		a->lost[ev->arg < MZ_LOSSES ? ev->arg : MZ_LOSS_UNKNOWN] += ev->size;
	a->number++;
	if (a->o.want & MZ_WANT_SUMS && mz_usage_add(&a->usage, ev) < 0)
		return -ENOMEM;
	if (a->layout && ev->has & MZ_HAS_ADDR)
		return mz_layout_add(a->layout, ev, a->number, &step);
	return 0;
}

/* After an error there are no more events: incomplete sums would pass for complete ones. */
static int next(struct mz_analysis *a, struct mz_event *ev)
{
	int ret;

	if (a->broken.code)
		return mz_analysis_check(a);
	if (a->done)
		return 0;
	ret = mz_events_next(a->events, ev, &a->error);
	if (ret > 0 && count(a, ev) < 0)
		ret = mz_fail_memory(&a->error);
	if (ret < 0)
		return mz_analysis_break(a);
	if (!ret) {
		a->done = true;
		mz_usage_end(&a->usage);
	}
	return ret;
}

int mz_analysis_next(struct mz_analysis *a, struct mz_event *ev)
{
	mz_analysis_begin(a);
	if (!a->events)
		return mz_fail(&a->error, ENODATA, "%s: it has no events", a->paths[0]);
	return next(a, ev);
}

int mz_analysis_run(struct mz_analysis *a)
{
	struct mz_event ev;
	int ret;

	mz_analysis_begin(a);
	if (!a->events)
		return 0;
	do
		ret = next(a, &ev);
	while (ret > 0);
	return ret;
}

const uint64_t *mz_analysis_stack(struct mz_analysis *a, uint32_t stack, size_t *depth)
{
	size_t unused;

	depth = depth ? depth : &unused;
	*depth = 0;
	return a->events ? mz_events_stack(a->events, stack, depth) : NULL;
}

const char *mz_analysis_string(struct mz_analysis *a, uint32_t id, size_t *len)
{
	size_t unused;

	len = len ? len : &unused;
	*len = 0;
	return a->events ? mz_events_string(a->events, id, len) : NULL;
}

static int no_size(struct mz_analysis *a)
{
	return mz_fail(&a->error, EINVAL, "the size of a structure is not set");
}

/* The answer is made in a structure of ours and then copied, since that of the caller may have
 * another size. */
int mz_analysis_frame(struct mz_analysis *a, uint64_t ip, size_t i, struct mz_code_frame *frame)
{
	struct mz_place_name names[MZ_EVENTS_INLINED];
	struct mz_code_frame f = {0};
	size_t n;

	mz_analysis_begin(a);
	if (!a->events)
		return mz_fail(&a->error, ENODATA, "%s: it has no events", a->paths[0]);
	n = mz_events_names(a->events, ip, names);
	if (i >= n)
		return 0;
	f.function = names[i].function;
	f.file = names[i].file;
	f.line = names[i].line;
	f.module = names[i].module;
	f.offset = names[i].offset;
	f.inlined = i + 1 < n;
	return mz_sized_give(frame, &f, sizeof(f)) < 0 ? no_size(a) : 1;
}

/* ---- totals -------------------------------------------------------------------------- */

/* Field by field, so that the internal structure may change without the public one. */
static void totals_of_usage(const struct mz_analysis *a, struct mz_totals *t)
{
	const struct mz_usage *u = &a->usage;

	*t = (struct mz_totals){
		.events = u->events,
		.lost = u->lost,
		.blocks = u->all.sum.blocks,
		.bytes = u->all.sum.bytes,
		.peak_bytes = u->all.sum.peak_bytes,
		.peak_blocks = u->peak_blocks,
		.peak_event = u->peak_event,
		.peak_time = u->peak_time,
		.live_blocks = u->all.sum.live_blocks,
		.live_bytes = u->all.sum.live_bytes,
		.temporary_blocks = u->all.sum.temporary,
		.waste_bytes = u->all.sum.waste,
		.waste_at_peak = u->all.sum.peak_waste,
		.failed = u->failed,
		.null_frees = u->null_frees,
		.unknown_frees = u->unknown,
		.over_live = u->over_live,
		.threads = u->threads,
		.first_time = u->first_time,
		.last_time = u->last_time,
	};
	t->files_cut = mz_events_files_cut(a->events);
	memcpy(t->lost_by, a->lost, sizeof(a->lost));
}

/* A file of sums does not contain everything; what it lacks stays 0. */
static int totals_of_profile(struct mz_analysis *a, struct mz_totals *t)
{
	const struct mz_profile *p = mz_recording_profile(&a->recording, &a->error);

	if (!p)
		return -a->error.code;
	*t = (struct mz_totals){
		.events = p->events,
		.lost = p->lost,
		.blocks = p->all.blocks,
		.bytes = p->all.bytes,
		.peak_bytes = p->all.peak_bytes,
		.peak_blocks = p->all.peak_blocks,
		.peak_time = p->peak_time,
		.live_blocks = p->all.live_blocks,
		.live_bytes = p->all.live_bytes,
		.temporary_blocks = p->all.temporary,
		.waste_bytes = p->all.waste,
		.waste_at_peak = p->all.peak_waste,
		.first_time = p->first,
		.last_time = p->last,
		.files_cut = p->files_cut,
	};
	memcpy(t->lost_by, p->lost_by, sizeof(p->lost_by));
	return 0;
}

/* The first call reads all events; the numbers are those of the whole recording in any case. */
int mz_analysis_totals(struct mz_analysis *a, struct mz_totals *totals)
{
	struct mz_totals t = {0};
	int ret;

	mz_analysis_begin(a);
	if (a->recording.kind == MZ_RECORDING_KMAP)
		return mz_fail(&a->error, ENODATA,
			       "%s: a KMAP has classes, and no totals of events", a->paths[0]);
	if (a->events && !(a->o.want & MZ_WANT_SUMS))
		return mz_fail(&a->error, ENODATA,
			       "%s: totals need MZ_WANT_SUMS, which was not requested",
			       a->paths[0]);
	ret = mz_analysis_run(a);
	if (ret < 0)
		return ret;
	if (a->events)
		totals_of_usage(a, &t);
	else
		ret = totals_of_profile(a, &t);
	if (ret < 0)
		return ret;
	return mz_sized_give(totals, &t, sizeof(t)) < 0 ? no_size(a) : 0;
}

/* ---- questions ------------------------------------------------------------------------ */

/* In the order of enum mz_question. */
const char *mz_question_name(enum mz_question question)
{
	static const char *const names[MZ_QUESTIONS] = {
		"sites",   "stacks",	"pools",     "timeline",     "lifetimes",     "sizes",
		"layout",  "loss",	"classes",   "allocated-by", "freed-by",      "written-by",
		"read-by", "types",	"fields",    "touched",	     "matrix",	      "shared",
		"unused",  "privilege", "processes", "accessors",    "calls",	      "functions",
		"files",   "modules",	"threads",   "suppressed",   "stack-quality",
	};

	return (unsigned)question < MZ_QUESTIONS ? names[question] : NULL;
}

/* Questions that came later have later numbers, whatever they are about. */
static bool is_about_kmaps(enum mz_question q)
{
	return q >= MZ_ASK_CLASSES && q <= MZ_ASK_CALLS;
}

static int answer(struct mz_analysis *a, enum mz_question q, const char *pattern,
		  struct mz_result_table *t)
{
	bool kmap = a->recording.kind == MZ_RECORDING_KMAP;
	const char *name = mz_question_name(q);

	if (!name)
		return mz_fail(&a->error, EINVAL, "there is no question %d", (int)q);
	if (kmap != is_about_kmaps(q))
		return mz_fail(&a->error, ENODATA, "%s: '%s' can only be asked of %s", a->paths[0],
			       name, kmap ? "a recording with events or sums" : "a KMAP");
	return kmap ? mz_analysis_kmap(a, q, pattern, t) : mz_analysis_table(a, q, t);
}

struct mz_result_table *mz_analysis_ask(struct mz_analysis *a, enum mz_question question,
					const char *pattern, struct mz_error *err)
{
	struct mz_result_table *t = calloc(1, sizeof(*t));
	int ret;

	mz_analysis_begin(a);
	ret = t ? answer(a, question, pattern, t) : mz_fail_memory(&a->error);
	if (!ret && t->failed)
		ret = mz_fail_memory(&a->error);
	if (!ret)
		return t;
	mz_result_free(t);
	return mz_analysis_failed(err, &a->error, ret);
}
