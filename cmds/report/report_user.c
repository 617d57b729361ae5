// SPDX-License-Identifier: BSD-2-Clause
/* Print the overview of a user program's trace. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/call_sites.h"
#include "base/error.h"
#include "base/json.h"
#include "cmds/cmd.h"
#include "cmds/loss_report.h"
#include "cmds/progress.h"
#include "cmds/recording.h"
#include "cmds/report/report.h"
#include "cmds/report/report_pools.h"
#include "trace/reader.h"
#include "trace/sampled.h"

/* One of several recordings. */
struct report_file {
	const char *path;
	uint64_t events, lost, peak;
	uint64_t lost_by[MZ_LOSSES];
	unsigned files_cut;
};

struct user_report {
	const struct report_user_opts *o;
	struct mz_reader *in; /* the last one, where there are several */
	struct mz_usage u;
	struct mz_early_end end; /* of several recordings: how many end early */
	unsigned missing;	 /* files without symbols */
	struct mz_call_sites sites;
	const struct mz_call_site **order; /* those of one view, sorted */
	struct mz_wrappers wrappers;
	struct mz_suppressions suppressions;
	struct report_file *files; /* where there are several */
	int nfiles;
	size_t rows; /* 0 = all */
	struct mz_error err;
};

/* ---- the lists of call sites -------------------------------------------------------- */

static const struct view {
	const char *key;
	const char *title;
	size_t value;  /* in struct mz_heap_sum */
	size_t blocks; /* the number of blocks that the value is about, there too */
	bool count;    /* of blocks, not bytes */
} views[] = {
	{"at_peak", "by bytes at the peak", offsetof(struct mz_heap_sum, peak_bytes),
	 offsetof(struct mz_heap_sum, peak_blocks), false},
	{"churn", "by churn (total bytes requested)", offsetof(struct mz_heap_sum, bytes),
	 offsetof(struct mz_heap_sum, blocks), false},
	{"waste", "by waste (total bytes given beyond the request)",
	 offsetof(struct mz_heap_sum, waste), offsetof(struct mz_heap_sum, blocks), false},
	{"never_freed", "by bytes never freed", offsetof(struct mz_heap_sum, live_bytes),
	 offsetof(struct mz_heap_sum, live_blocks), false},
	{"temporary", "by temporary blocks", offsetof(struct mz_heap_sum, temporary),
	 offsetof(struct mz_heap_sum, temporary), true},
};

static uint64_t value_of(const struct view *v, const struct mz_heap_sum *s)
{
	return mz_heap_sum_get(s, v->value);
}

/* Puts the sites of the view into j->order, the largest first; how many are shown. */
static size_t sort_sites(const struct user_report *j, const struct view *v)
{
	size_t n = mz_call_sites_rank(&j->sites, v->value, j->order);

	return j->rows && j->rows < n ? j->rows : n;
}

/* ---- text -------------------------------------------------------------------------- */

static void print_safe(const char *s, size_t width)
{
	char buf[256];

	printf("%s", mz_printable(buf, sizeof(buf) < width ? sizeof(buf) : width, s, strlen(s)));
}

static const char *title(const struct user_report *j)
{
	static const char *const titles[] = {"Call sites", "Functions", "Files", "Modules",
					     "Threads"};

	return titles[j->o->by];
}

/* The heaviest stack of a site, one frame per line. */
static void show_backtrace(const char *lines)
{
	for (const char *end; (end = strchr(lines, '\n')); lines = end + 1) {
		char buf[256];

		printf("%45s%s\n", "", mz_printable(buf, 160, lines, (size_t)(end - lines)));
	}
}

static void show_site(const struct view *v, const struct mz_call_site *s, uint64_t total)
{
	uint64_t x = value_of(v, &s->sum);
	char a[32], b[32];

	/* for temporary blocks, the value is a number of blocks already: show the total instead */
	printf("  %10s %5.1f%%  %s%*s blocks  ",
	       v->count ? console_count(a, x) : console_bytes(a, x),
	       total ? 100.0 * (double)x / (double)total : 0, v->count ? "of " : "",
	       v->count ? 6 : 9,
	       console_count(b, v->count ? s->sum.blocks : mz_heap_sum_get(&s->sum, v->blocks)));
	print_safe(s->where, 120);
	if (s->backtrace) {
		printf("\n");
		show_backtrace(s->backtrace);
		return;
	}
	if (s->caller) {
		printf("\n%43s", "from ");
		print_safe(s->caller, 120);
	}
	printf("\n");
}

static void show_view(const struct user_report *j, const struct view *v)
{
	size_t n = sort_sites(j, v);

	if (!n)
		return;
	printf("\n%s %s\n", title(j), v->title);
	for (size_t i = 0; i < n; i++)
		show_site(v, j->order[i], value_of(v, &j->u.all.sum));
}

static const char *attr_text(const struct user_report *j, const char *key)
{
	const struct mz_attr *a = j->nfiles > 1 ? NULL : mz_reader_find_attr(j->in, key);

	return a && a->type == MZ_ATTR_TEXT && *a->data ? a->data : NULL;
}

static void show_files(const struct user_report *j)
{
	char a[32], b[32], c[32], name[256];

	for (int i = 0; i < j->nfiles && j->nfiles > 1; i++) {
		const struct report_file *f = &j->files[i];

		printf("%-14s %s: %s events, %s lost, peak %s%s\n", "recording",
		       mz_printable(name, sizeof(name), f->path, strlen(f->path)),
		       console_count(a, f->events), console_count(b, f->lost),
		       console_bytes(c, f->peak), f->files_cut ? ", ends early" : "");
	}
}

static void show_peak(const struct user_report *j)
{
	const struct mz_usage *u = &j->u;
	char a[32], b[32], c[32], d[32];

	printf("peak           %s (%s bytes) in %s blocks", console_bytes(a, u->all.sum.peak_bytes),
	       console_count(b, u->all.sum.peak_bytes), console_count(c, u->peak_blocks));
	if (j->nfiles > 1) {
		printf(", the peaks of %d recordings added up\n", j->nfiles);
		return;
	}
	printf(", at event %s", console_count(d, u->peak_event));
	if ((u->fields & MZ_HAS_TIME) && u->peak_event)
		printf(", after %.3f s", (double)(u->peak_time - u->first_time) / 1e9);
	printf("\n");
}

/* What was left out is counted, so that the totals are exact where the rest is not. */
static void show_sampled(const struct user_report *j)
{
	const struct mz_usage *u = &j->u;
	uint64_t left_out = u->lost_by[MZ_LOSS_SAMPLED];
	struct mz_sampled s;
	char a[32], b[32];

	if (!u->sampled)
		return;
	printf("SAMPLED        %s of %s events were left out; a recorded block stands for several, "
	       "and the figures below are estimates: " SAMPLED_PEAK "\n",
	       console_count(a, left_out), console_count(b, u->events + u->lost + left_out));
	if (j->nfiles >= 2 || !mz_sampled_read(j->in, &s) || !s.weight)
		return;
	printf("               one small block in up to %s was recorded, between %.3f s and %.3f "
	       "s\n",
	       console_count(a, s.weight), (double)(s.first - u->first_time) / 1e9,
	       (double)(s.last - u->first_time) / 1e9);
	printf("               exactly: %s blocks, %s in all\n",
	       console_count(a, u->all.sum.blocks - u->stood_for + s.allocs),
	       console_bytes(b, u->all.sum.bytes - u->stood_for_bytes + s.bytes));
}

static void show_early_end(const struct user_report *j)
{
	char text[256];

	if (j->end.files)
		printf("CUT            %s\n               " EARLY_END_MEANS "\n",
		       early_end_text(text, sizeof(text), &j->end));
}

static void show_head(const struct user_report *j)
{
	const struct mz_usage *u = &j->u;
	const char *command = attr_text(j, "command");
	struct mz_stack_share stacks;
	char a[32], b[32];

	show_files(j);
	if (command) {
		printf("command        ");
		print_safe(command, 256);
		printf("\n");
	}
	printf("events         %s", console_count(a, u->events));
	if (u->fields & MZ_HAS_TIME && j->nfiles < 2)
		printf(" in %.3f s", (double)(u->last_time - u->first_time) / 1e9);
	if (u->fields & MZ_HAS_TID)
		printf(", %s thread%s", console_count(b, u->threads), u->threads == 1 ? "" : "s");
	printf("\n");
	if (u->lost)
		printf("LOST           %s events; every figure below is too small\n",
		       console_count(a, u->lost));
	show_early_end(j);
	show_sampled(j);
	if (j->nfiles < 2 && mz_stack_share_read(j->in, &stacks)) {
		printf("stacks         ");
		console_stacks(stdout, &stacks);
	}
	printf("allocations    %s blocks, %s in all\n", console_count(a, u->all.sum.blocks),
	       console_bytes(b, u->all.sum.bytes));
	show_peak(j);
}

static void show_rest(const struct user_report *j)
{
	const struct mz_usage *u = &j->u;
	uint64_t blocks = u->all.sum.blocks ? u->all.sum.blocks : 1;
	char a[32], b[32];

	printf("never freed    %s blocks, %s\n", console_count(a, u->all.sum.live_blocks),
	       console_bytes(b, u->all.sum.live_bytes));
	if (j->sites.suppressed_blocks)
		printf("suppressed     %s of these blocks, %s: runtimes never free them "
		       "(--no-suppressions shows them)\n",
		       console_count(a, j->sites.suppressed_blocks),
		       console_bytes(b, j->sites.suppressed_bytes));
	if (u->sampled)
		printf("temporary      unknown: blocks were sampled\n");
	else
		printf("temporary      %s blocks (%.1f%%), freed before their thread's next "
		       "allocation\n",
		       console_count(a, u->all.sum.temporary),
		       100.0 * (double)u->all.sum.temporary / (double)blocks);
	if (u->fields & MZ_HAS_GIVEN)
		printf("waste          %s given beyond the requests at the peak (%.1f%%)\n",
		       console_bytes(a, u->all.sum.peak_waste),
		       u->all.sum.peak_bytes ? 100.0 * (double)u->all.sum.peak_waste /
						       (double)u->all.sum.peak_bytes
					     : 0);
	else
		printf("waste          unknown: the trace does not contain the sizes given\n");
	printf("calls         ");
	for (unsigned i = 0; i < MZ_CALLS; i++)
		if (u->calls[i])
			printf(" %s %s", mz_call_name(i), console_count(a, u->calls[i]));
	printf("\n");
	if (u->failed || u->null_frees || u->unknown || u->over_live)
		printf("odd            %s failed calls, %s free(NULL), ",
		       console_count(a, u->failed), console_count(b, u->null_frees));
	if (u->failed || u->null_frees || u->unknown || u->over_live)
		printf("%s frees of %s blocks, %s allocations at live blocks\n",
		       console_count(a, u->unknown),
		       j->nfiles < 2 && mz_reader_find_attr(j->in, "attached")
			       ? "unknown (older than the recording)"
			       : "unknown",
		       console_count(b, u->over_live));
}

/* What the recorder cannot have seen. */
static void show_blind(const struct user_report *j)
{
	if (j->nfiles >= 2)
		return;
	if (mz_reader_find_attr(j->in, "own_malloc"))
		printf("\nThe program defines malloc itself: only calls of its libraries were "
		       "seen.\n");
	if (mz_reader_find_attr(j->in, "namespaces"))
		printf("\nIt loaded libraries into a namespace of their own (dlmopen): their calls "
		       "were not seen.\n");
	if (mz_reader_find_attr(j->in, "no_stacks"))
		printf("\nNo call sites: call stacks can be taken in programs of glibc on x86-64 "
		       "only.\n");
}

/* Are there no call sites because stacks were not recorded? */
static bool sites_were_not_asked_for(const struct user_report *j)
{
	return j->u.all.sum.blocks && !j->sites.count &&
	       !(j->nfiles < 2 && (mz_reader_find_attr(j->in, "own_malloc") ||
				   mz_reader_find_attr(j->in, "no_stacks")));
}

static void show_text(const struct user_report *j)
{
	show_head(j);
	show_rest(j);
	if (j->nfiles < 2)
		report_pools_text(&j->u, mz_reader_tables(j->in));
	for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++)
		show_view(j, &views[i]);
	show_blind(j);
	if (sites_were_not_asked_for(j))
		printf("\nNo call sites: record with --stacks to get them.\n");
	else if (j->missing)
		printf("\n%u files of the program are missing or have changed: their code has no "
		       "names.\n",
		       j->missing);
}

/* ---- JSON -------------------------------------------------------------------------- */

static void json_backtrace(struct mz_json *out, const char *lines)
{
	mz_json_array(out, "stack");
	for (const char *end; (end = strchr(lines, '\n')); lines = end + 1) {
		char *line = strndup(lines, (size_t)(end - lines));

		mz_json_str(out, NULL, line ? line : "");
		free(line);
	}
	mz_json_end_array(out);
}

static void json_files(const struct user_report *j, struct mz_json *out)
{
	mz_json_array(out, "recordings");
	for (int i = 0; i < j->nfiles; i++) {
		mz_json_object(out, NULL);
		mz_json_str(out, "path", j->files[i].path);
		mz_json_u64(out, "events", j->files[i].events);
		lost_json(out, "lost", j->files[i].lost_by);
		early_end_json(out, j->files[i].files_cut);
		mz_json_u64(out, "peak_bytes", j->files[i].peak);
		mz_json_end_object(out);
	}
	mz_json_end_array(out);
}

static void json_sites(const struct user_report *j, struct mz_json *out)
{
	for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++) {
		size_t n = sort_sites(j, &views[i]);

		mz_json_array(out, views[i].key);
		for (size_t k = 0; k < n; k++) {
			const struct mz_call_site *s = j->order[k];

			mz_json_object(out, NULL);
			mz_json_str(out, "where", s->where);
			if (s->caller)
				mz_json_str(out, "caller", s->caller);
			mz_json_hex(out, "ip", s->ip);
			mz_json_u64(out, "blocks", mz_heap_sum_get(&s->sum, views[i].blocks));
			mz_json_u64(out, "value", value_of(&views[i], &s->sum));
			if (s->backtrace)
				json_backtrace(out, s->backtrace);
			mz_json_end_object(out);
		}
		mz_json_end_array(out);
	}
}

void report_json_summary(struct mz_json *out, const struct mz_usage *u, unsigned files_cut,
			 const char *command)
{
	if (command)
		mz_json_str(out, "command", command);
	mz_json_u64(out, "events", u->events);
	lost_json(out, "lost", u->lost_by);
	early_end_json(out, files_cut);
	mz_json_u64(out, "threads", u->threads);
	mz_json_u64(out, "blocks", u->all.sum.blocks);
	mz_json_u64(out, "bytes", u->all.sum.bytes);
	mz_json_u64(out, "peak_bytes", u->all.sum.peak_bytes);
	mz_json_u64(out, "peak_blocks", u->peak_blocks);
	mz_json_u64(out, "peak_event", u->peak_event);
	mz_json_u64(out, "peak_time", u->peak_time);
	mz_json_u64(out, "never_freed_blocks", u->all.sum.live_blocks);
	mz_json_u64(out, "never_freed_bytes", u->all.sum.live_bytes);
	mz_json_u64(out, "temporary_blocks", u->all.sum.temporary);
	if (u->fields & MZ_HAS_GIVEN) {
		mz_json_u64(out, "waste_bytes", u->all.sum.waste);
		mz_json_u64(out, "waste_at_peak", u->all.sum.peak_waste);
	}
	mz_json_u64(out, "failed", u->failed);
	mz_json_u64(out, "null_frees", u->null_frees);
	mz_json_u64(out, "unknown_frees", u->unknown);
	mz_json_u64(out, "over_live", u->over_live);
	mz_json_object(out, "calls");
	for (unsigned i = 0; i < MZ_CALLS; i++)
		if (u->calls[i])
			mz_json_u64(out, mz_call_name(i), u->calls[i]);
	mz_json_end_object(out);
}

static void show_json(const struct user_report *j)
{
	struct mz_buf b = {0};
	struct mz_json out = {.out = &b};
	struct mz_stack_share stacks;

	mz_json_object(&out, NULL);
	mz_json_str(&out, "kind", mz_recording_kind_name(MZ_RECORDING_USER));
	report_json_summary(&out, &j->u, j->end.files, attr_text(j, "command"));
	if (!j->o->no_suppressions) {
		mz_json_u64(&out, "suppressed_blocks", j->sites.suppressed_blocks);
		mz_json_u64(&out, "suppressed_bytes", j->sites.suppressed_bytes);
	}
	if (j->nfiles > 1)
		json_files(j, &out);
	if (j->nfiles < 2 && mz_stack_share_read(j->in, &stacks))
		mz_stack_share_json(&stacks, &out);
	if (j->nfiles < 2)
		report_pools_json(&out, &j->u, mz_reader_tables(j->in));
	mz_json_object(&out, "sites");
	json_sites(j, &out);
	mz_json_end_object(&out);
	mz_json_end_object(&out);
	console_put(&b, stdout);
}

/* ---- the verb ------------------------------------------------------------------------ */

static int read_events(struct user_report *j, struct mz_usage *u)
{
	struct mz_event ev[MZ_BATCH];
	struct progress p;
	int ret = 0;
	long n;

	/* the usage knows blocks by their addresses: a second table of them is not needed */
	j->in->unnamed = true;
	j->in->beside = true;
	progress_read(&p, j->in, false);
	while (!ret && (n = mz_reader_read_raw(j->in, ev, MZ_BATCH)) > 0) {
		mz_reader_forget_unknown(j->in, ev, n);
		for (long i = 0; i < n && !ret; i++)
			ret = mz_usage_add(u, &ev[i]);
		progress_events(&p, u->events);
	}
	progress_end(&p);
	if (ret < 0)
		return mz_fail_memory(&j->err);
	if (n < 0) {
		j->err = *mz_reader_error(j->in);
		return (int)n;
	}
	mz_usage_end(u);
	return 0;
}

static int add_sites(struct user_report *j, const struct mz_usage *u)
{
	struct mz_call_options o = {
		.by = j->o->by,
		.wrappers = &j->wrappers,
		.suppressions = j->o->no_suppressions ? NULL : &j->suppressions,
		.backtraces = j->o->stacks,
	};
	struct mz_symbols *symbols;
	int ret;

	if (!(u->fields & MZ_HAS_SITE) && o.by != MZ_BY_THREAD)
		return 0;
	symbols = mz_symbols_open(j->in);
	ret = symbols ? mz_call_sites_of_reader(&j->sites, u, mz_reader_tables(j->in), symbols, &o)
		      : -ENOMEM;
	j->missing += symbols ? mz_symbols_missing(symbols) : 0;
	mz_symbols_close(symbols);
	return ret < 0 ? mz_fail_memory(&j->err) : 0;
}

/* Several recordings end at several places. Where a pipe ends is known from its events alone. */
static void add_end(struct user_report *j)
{
	struct mz_early_end end = mz_reader_early_end(j->in);
	const struct mz_usage *u = &j->u;

	if (j->nfiles > 1) {
		j->end.files += end.files;
		j->end.of = (unsigned)j->nfiles;
		return;
	}
	j->end = end;
	if (end.files && !end.events) {
		j->end.events = u->events;
		j->end.nothing = !u->events;
		j->end.ns = u->fields & MZ_HAS_TIME ? u->last_time - u->first_time : 0;
	}
}

static int add_recording(struct user_report *j, struct mz_recording *r)
{
	struct mz_usage one;
	struct mz_usage *u = j->nfiles > 1 ? &one : &j->u;
	int ret;

	j->in = mz_recording_reader(r, &j->err);
	if (!j->in)
		return -EIO;
	if (mz_usage_init(u) < 0)
		return mz_fail_memory(&j->err);
	u->by_cache = j->nfiles < 2;
	u->by_thread = j->o->by == MZ_BY_THREAD;
	ret = read_events(j, u);
	if (!ret)
		ret = add_sites(j, u);
	if (u == &one) {
		mz_usage_merge(&j->u, u);
		mz_usage_deinit(u);
	}
	if (!ret)
		add_end(j);
	return ret;
}

static int read_lists(struct user_report *j)
{
	int ret = 0;

	j->wrappers.shown = j->o->show_wrappers;
	if (mz_suppressions_init(&j->suppressions) < 0)
		return mz_fail_memory(&j->err);
	for (unsigned i = 0; i < j->o->wrappers.n; i++)
		if (mz_wrappers_add(&j->wrappers, j->o->wrappers.value[i]) < 0)
			return mz_fail_memory(&j->err);
	for (unsigned i = 0; i < j->o->wrapper_files.n && !ret; i++)
		ret = mz_wrappers_read(&j->wrappers, j->o->wrapper_files.value[i], &j->err);
	for (unsigned i = 0; i < j->o->suppressions.n && !ret; i++)
		ret = mz_suppressions_read(&j->suppressions, j->o->suppressions.value[i], &j->err);
	return ret;
}

static int show(struct user_report *j)
{
	j->order = calloc(j->sites.count + 1, sizeof(*j->order));
	if (!j->order)
		return mz_fail_memory(&j->err);
	if (j->o->json)
		show_json(j);
	else
		show_text(j);
	free(j->order);
	return 0;
}

static int finish(struct user_report *j, int ret)
{
	bool whole;

	ret = ret < 0 ? ret : show(j);
	whole = !j->u.lost && !j->end.files;
	if (ret < 0)
		console_error(&j->err);
	mz_call_sites_free(&j->sites);
	mz_wrappers_deinit(&j->wrappers);
	mz_suppressions_deinit(&j->suppressions);
	mz_usage_deinit(&j->u);
	free(j->files);
	return ret < 0 ? MZ_EXIT_FAILED : j->o->strict && !whole ? MZ_EXIT_INCOMPLETE : MZ_EXIT_OK;
}

int report_user(struct mz_recording *r, const struct report_user_opts *o)
{
	struct user_report j = {.o = o, .rows = o->rows};
	int ret = read_lists(&j);

	return finish(&j, ret < 0 ? ret : add_recording(&j, r));
}

static int add_file(struct user_report *j, char *path, struct mz_recording *r,
		    struct report_file *f)
{
	struct report_file before = {path, j->u.events, j->u.lost, j->u.all.sum.peak_bytes,
				     {0},  j->end.files};
	int ret;

	memcpy(before.lost_by, j->u.lost_by, sizeof(before.lost_by));
	ret = add_recording(j, r);
	*f = (struct report_file){path,
				  j->u.events - before.events,
				  j->u.lost - before.lost,
				  j->u.all.sum.peak_bytes - before.peak,
				  {0},
				  j->end.files - before.files_cut};
	for (unsigned i = 0; i < MZ_LOSSES; i++)
		f->lost_by[i] = j->u.lost_by[i] - before.lost_by[i];
	return ret;
}

static int open_and_add(struct user_report *j, const char *first, char *path, struct report_file *f)
{
	struct mz_recording_options how = {.symbols = j->o->symbols};
	struct mz_recording r;
	struct progress progress;
	int ret = recording_open(&r, &path, 1, &how, &progress, &j->err);

	if (!ret && r.kind != MZ_RECORDING_USER)
		ret = mz_fail(&j->err, EINVAL,
			      "%s: not a recording of a program, as %s is; 'memorizer report %s' "
			      "reads it by itself",
			      path, first, path);
	if (!ret)
		ret = add_file(j, path, &r, f);
	mz_recording_close(&r);
	return ret;
}

int report_users(struct mz_recording *r, char **paths, int n, const struct report_user_opts *o)
{
	struct user_report j = {.o = o, .rows = o->rows, .nfiles = n};
	int ret = read_lists(&j);

	j.files = calloc((size_t)n, sizeof(*j.files));
	if (!j.files)
		ret = mz_fail_memory(&j.err);
	for (int i = 0; i < n && !ret; i++)
		ret = i ? open_and_add(&j, paths[0], paths[i], &j.files[i])
			: add_file(&j, paths[i], r, &j.files[i]);
	return finish(&j, ret);
}
