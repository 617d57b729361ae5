// SPDX-License-Identifier: BSD-2-Clause
/* Replay a trace with several allocators and compare their time and memory. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "base/output.h"
#include "cmds/cmd.h"
#include "cmds/loss_report.h"
#include "cmds/recording.h"
#include "cmds/replay/compare_run.h"
#include "cmds/replay/plot.h"
#include "cmds/replay/replay_options.h"
#include "replay/runs.h"

#define DEFAULT_LIST "glibc,jemalloc,mimalloc,tcmalloc"
#define DEFAULT_RUNS 5
#define MAX_RUNS     1000
#define MAX_LIST     16

struct compare_opts {
	const char *allocators;
	struct mz_opt_limit runs;
	unsigned touch;
	const char *plot;
	bool one_thread;
	bool force;
	bool json;
};

static const char *const touches[] = {"all", "first", "none", NULL};

static const struct mz_opt opts[] = {
	/* -a is --accesses of vm */
	{.name = "allocators",
	 .old_letter = 'a',
	 .arg = "LIST",
	 .help = "comma-separated names and paths; default " DEFAULT_LIST,
	 .type = MZ_OPT_STR,
	 .offset = offsetof(struct compare_opts, allocators)},
	MZ_OPT('n', "runs", "N", MZ_OPT_LIMIT, struct compare_opts, runs,
	       "runs with each allocator; default 5"),
	MZ_OPT_ONE_OF(0, "touch", "WHAT", struct compare_opts, touch, touches,
		      "write to the blocks: all (bytes), first (byte), none; default all"),
	MZ_SWITCH(0, "one-thread", struct compare_opts, one_thread,
		  "replay in one thread, whatever the trace has"),
	MZ_OPT(0, "plot", "FILE", MZ_OPT_STR, struct compare_opts, plot,
	       "draw live bytes and RSS over the replay into FILE (SVG)"),
	MZ_SWITCH('f', "force", struct compare_opts, force, "replace an existing FILE"),
	MZ_SWITCH(0, "json", struct compare_opts, json, "print the table as JSON"),
	{0},
};

struct contestant {
	struct mz_allocator a;
	struct mz_runs runs;
	struct compare_run first;
};

struct comparison {
	const struct compare_opts *o;
	const char *trace;
	unsigned runs;
	struct contestant *list;
	size_t count;
	struct mz_error err;
};

/* ---- running ---------------------------------------------------------------------- */

static int add_allocator(struct comparison *j, const char *name, bool asked_for)
{
	struct contestant *e = &j->list[j->count];
	struct mz_error why = {0};
	int ret;

	if (j->count == MAX_LIST)
		return mz_fail(&j->err, E2BIG, "at most %d allocators at a time", MAX_LIST);
	ret = mz_allocator_find(name, &e->a, &why);
	if (ret == -ENOENT && !asked_for) {
		console_note("%s", why.text);
		return 0;
	}
	if (ret < 0) {
		j->err = why;
		return ret;
	}
	j->count++;
	return mz_runs_init(&e->runs, j->runs) < 0 ? mz_fail_memory(&j->err) : 0;
}

static int make_list(struct comparison *j)
{
	char *list = strdup(j->o->allocators ? j->o->allocators : DEFAULT_LIST);
	int ret = list ? 0 : mz_fail_memory(&j->err);

	for (char *p = list; p && !ret;) {
		char *comma = strchr(p, ',');

		if (comma)
			*comma = '\0';
		if (*p)
			ret = add_allocator(j, p, j->o->allocators);
		p = comma ? comma + 1 : NULL;
	}
	free(list);
	if (!ret && !j->count)
		ret = mz_fail(&j->err, EINVAL, "no allocator to compare");
	return ret;
}

static int run_one(struct comparison *j, unsigned run, struct contestant *e)
{
	struct compare_how how = {.trace = j->trace,
				  .touch = touches[j->o->touch],
				  .samples = j->o->plot && !run,
				  .one_thread = j->o->one_thread,
				  .allow_large = options_open_flags() & MZ_OPEN_LARGE};
	struct compare_run *r = calloc(1, sizeof(*r));
	int ret = r ? compare_run(&e->a, &how, r, &j->err) : mz_fail_memory(&j->err);

	if (!ret) {
		e->runs.of[MZ_RUN_NS][run] = r->ns;
		e->runs.of[MZ_RUN_PEAK][run] = r->rss_peak - r->rss_before;
		e->runs.of[MZ_RUN_AFTER][run] = r->rss_after - r->rss_before;
		e->runs.of[MZ_RUN_FAULTS][run] = r->faults;
		if (!run)
			e->first = *r;
	}
	free(r);
	return ret;
}

/* Runs are interleaved, and each round begins with another allocator: changes on the machine
 * affect all of them. */
static int run_all(struct comparison *j)
{
	for (unsigned run = 0; run < j->runs; run++) {
		for (size_t i = 0; i < j->count; i++) {
			int ret = run_one(j, run, &j->list[(i + run) % j->count]);

			if (ret < 0)
				return ret;
		}
		if (isatty(STDERR_FILENO))
			fprintf(stderr, "\rrun %u of %u", run + 1, j->runs);
	}
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r              \r");
	for (size_t i = 0; i < j->count; i++)
		mz_runs_sort(&j->list[i].runs);
	return 0;
}

/* ---- showing ---------------------------------------------------------------------- */

/* All of them replay the same trace. */
static unsigned files_cut(const struct comparison *j)
{
	return (unsigned)j->list[0].first.files_cut;
}

static const struct contestant *fastest(const struct comparison *j)
{
	const struct contestant *best = &j->list[0];

	for (size_t i = 1; i < j->count; i++)
		if (mz_runs_median(&j->list[i].runs, MZ_RUN_NS) <
		    mz_runs_median(&best->runs, MZ_RUN_NS))
			best = &j->list[i];
	return best;
}

static void verdict(const struct comparison *j, const struct contestant *e, char *buf, size_t size)
{
	const struct contestant *base = &j->list[0];
	double ratio = mz_runs_median(&e->runs, MZ_RUN_NS) / mz_runs_median(&base->runs, MZ_RUN_NS);

	/* a trace without events takes no time */
	if (e == base || !isfinite(ratio))
		snprintf(buf, size, "-");
	else if (j->runs < MZ_RUNS_ENOUGH)
		snprintf(buf, size, "%.2fx, too few runs to tell", ratio);
	else if (!mz_runs_faster(&e->runs, &base->runs))
		snprintf(buf, size, "%.2fx, within the noise", ratio);
	else
		snprintf(buf, size, "%.2fx, %s", ratio, ratio < 1 ? "faster" : "slower");
}

static void show_text(const struct comparison *j)
{
	const struct contestant *best = fastest(j);
	char a[32], b[32], v[64], line[64];

	printf("%s: %s events, %s live at most, each allocator %u time%s\n\n", j->trace,
	       console_count(a, (uint64_t)j->list[0].first.events),
	       console_bytes(b, (uint64_t)j->list[0].first.peak_live), j->runs,
	       j->runs == 1 ? "" : "s");
	snprintf(line, sizeof(line), "against %.40s", j->list[0].a.name);
	printf("%-18s %9s %7s %10s %10s %9s %8s  %s\n", "allocator", "ns/event", "spread",
	       "peak RSS", "final RSS", "RSS/live", "faults", line);
	for (size_t i = 0; i < j->count; i++) {
		const struct contestant *e = &j->list[i];
		double peak = mz_runs_median(&e->runs, MZ_RUN_PEAK);

		verdict(j, e, v, sizeof(v));
		printf("%-18s %9.1f %6.1f%% %10s %10s %9.2f %8.0f  %s\n", e->a.name,
		       mz_runs_median(&e->runs, MZ_RUN_NS), mz_runs_spread(&e->runs, MZ_RUN_NS),
		       console_bytes(a, (uint64_t)peak),
		       console_bytes(b, (uint64_t)mz_runs_median(&e->runs, MZ_RUN_AFTER)),
		       e->first.peak_live > 0 ? peak / e->first.peak_live : 0,
		       mz_runs_median(&e->runs, MZ_RUN_FAULTS), v);
		if (e->first.failed > 0)
			printf("%-18s %.0f calls failed that did not fail in the trace\n", "",
			       e->first.failed);
	}
	printf("\nRSS is what the replay added to the process. ");
	for (size_t i = 0; i < j->count; i++)
		if (&j->list[i] != best && mz_runs_faster(&best->runs, &j->list[i].runs) <= 0) {
			printf("None is the fastest beyond the noise.\n");
			return;
		}
	printf("%s is the fastest, beyond the noise.\n", best->a.name);
}

static void show_json(const struct comparison *j)
{
	struct mz_buf b = {0};
	struct mz_json out = {.out = &b};

	mz_json_object(&out, NULL);
	mz_json_str(&out, "trace", j->trace);
	mz_json_u64(&out, "events", (uint64_t)j->list[0].first.events);
	mz_json_u64(&out, "peak_live_bytes", (uint64_t)j->list[0].first.peak_live);
	early_end_json(&out, files_cut(j));
	mz_json_u64(&out, "runs", j->runs);
	mz_json_array(&out, "allocators");
	for (size_t i = 0; i < j->count; i++) {
		const struct contestant *e = &j->list[i];

		mz_json_object(&out, NULL);
		mz_json_str(&out, "name", e->a.name);
		mz_json_str(&out, "library", e->a.library);
		mz_json_double(&out, "ns_per_event", mz_runs_median(&e->runs, MZ_RUN_NS));
		mz_json_double(&out, "ns_min", e->runs.of[MZ_RUN_NS][0]);
		mz_json_double(&out, "ns_max", e->runs.of[MZ_RUN_NS][j->runs - 1]);
		mz_json_double(&out, "peak_rss", mz_runs_median(&e->runs, MZ_RUN_PEAK));
		mz_json_double(&out, "final_rss", mz_runs_median(&e->runs, MZ_RUN_AFTER));
		mz_json_double(&out, "page_faults", mz_runs_median(&e->runs, MZ_RUN_FAULTS));
		mz_json_u64(&out, "failed", (uint64_t)e->first.failed);
		mz_json_str(&out, "against_first",
			    e == j->list || !mz_runs_faster(&e->runs, &j->list->runs)
				    ? "within the noise"
			    : mz_runs_median(&e->runs, MZ_RUN_NS) <
					    mz_runs_median(&j->list->runs, MZ_RUN_NS)
				    ? "faster"
				    : "slower");
		mz_json_end_object(&out);
	}
	mz_json_end_array(&out);
	mz_json_end_object(&out);
	console_put(&b, stdout);
}

/* ---- the plot ---------------------------------------------------------------------- */

static void set_line(struct plot_line *l, double *room, const struct contestant *e, bool live)
{
	const struct mz_sample *s = e->first.sample;
	double last;

	l->count = e->first.samples;
	l->x = room;
	l->y = room + l->count;
	for (size_t i = 0; i < l->count; i++) {
		room[i] = (double)(e->first.samples_by_time ? s[i].ns : s[i].calls);
		room[l->count + i] =
			live ? (double)s[i].live : (double)s[i].rss - e->first.rss_before;
	}
	last = l->count ? room[l->count - 1] : 0;
	for (size_t i = 0; i < l->count && last > 0; i++)
		room[i] /= last;
}

static int draw(struct comparison *j)
{
	struct plot_line lines[MAX_LIST + 1] = {{.name = "live bytes", .area = true}};
	double *room = calloc((j->count + 1) * COMPARE_SAMPLES * 2, sizeof(*room));
	struct mz_buf b = {0};
	struct mz_output out;
	int ret;

	if (!room)
		return mz_fail_memory(&j->err);
	set_line(&lines[0], room, &j->list[0], true);
	for (size_t i = 0; i < j->count; i++) {
		lines[i + 1].name = j->list[i].a.name;
		set_line(&lines[i + 1], room + (i + 1) * COMPARE_SAMPLES * 2, &j->list[i], false);
	}
	plot_svg(&b, j->trace, "progress of the replay", lines, j->count + 1);
	ret = b.failed ? mz_fail_memory(&j->err)
		       : mz_output_open(&out, j->o->plot, j->o->force, &j->err);
	if (!ret) {
		ret = mz_output_add(&out, b.data, b.len, &j->err);
		if (ret < 0)
			mz_output_abort(&out);
		else
			ret = mz_output_commit(&out, &j->err);
	}
	mz_buf_free(&b);
	free(room);
	return ret;
}

/* A path that does not exist is reported by the replay. */
static bool is_pipe(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* The runs know that the trace ends early; the trace knows where. */
static void note_end(const struct comparison *j)
{
	struct mz_recording_options how = {.flags = options_open_flags()};
	struct mz_early_end end = {.files = files_cut(j)};
	char *path = (char *)j->trace;
	struct mz_recording r;
	struct mz_error err = {0};

	if (!mz_recording_open(&r, &path, 1, &how, &err))
		end = mz_recording_early_end(&r);
	mz_recording_close(&r);
	early_end_note(j->trace, &end);
}

static int run(void *options, int argc, char **argv)
{
	struct comparison j = {.o = options};
	int ret;

	if (argc != 1)
		return console_usage("give exactly one trace");
	if (!strcmp(argv[0], "-"))
		return console_usage("the trace is read many times, so it must be a file");
	if (is_pipe(argv[0]))
		return console_usage("%s: the trace is read many times, so it must be a file; save "
				     "it to one first",
				     argv[0]);
	if (j.o->runs.given && (!j.o->runs.n || j.o->runs.n > MAX_RUNS))
		return console_usage("--runs takes a number from 1 to %d", MAX_RUNS);
	j.trace = argv[0];
	j.runs = j.o->runs.given ? (unsigned)j.o->runs.n : DEFAULT_RUNS;
	j.list = calloc(MAX_LIST, sizeof(*j.list));
	if (!j.list)
		return console_fail("out of memory");
	ret = make_list(&j);
	if (!ret && j.o->plot && !j.o->force && !access(j.o->plot, F_OK))
		ret = mz_fail(&j.err, EEXIST, "%s: exists; use -f to replace it", j.o->plot);
	if (!ret)
		ret = run_all(&j);
	if (!ret && j.o->plot)
		ret = draw(&j);
	if (!ret && j.o->json)
		show_json(&j);
	else if (!ret)
		show_text(&j);
	if (!ret && files_cut(&j))
		note_end(&j);
	for (size_t i = 0; i < j.count; i++)
		mz_runs_deinit(&j.list[i].runs);
	free(j.list);
	return ret < 0 ? console_error(&j.err) : MZ_EXIT_OK;
}

MZ_CMD(compare, "compare", struct compare_opts, "TRACE",
       "replay a trace with several allocators and compare them", .reads = true, .prints = true);
