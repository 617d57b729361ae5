// SPDX-License-Identifier: BSD-2-Clause
/* Define the options and print the results that cmtreplay and replay share. */
#include "cmds/replay/replay_options.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/json.h"
#include "cmds/loss_report.h"

#define SAMPLES 1024

const char *const replay_touches[] = {"none", "first", "all", NULL};

static double ns_per_op(const struct mz_replay_result *r)
{
	return r->done.ops ? (double)r->done.ns / (double)r->done.ops : 0;
}

static void tell(uint64_t n, const char *what)
{
	char a[32];

	if (n)
		fprintf(stderr, "note           %s %s\n", console_count(a, n), what);
}

/* Prints on standard error the figures, then everything that did not go as in the trace. */
static void talk_text(const struct mz_replay_opts *o, const struct mz_replay_result *r)
{
	char a[32], b[32], c[32], end[256];

	fprintf(stderr, "events         %s", console_count(a, r->done.ops));
	if (o->rounds > 1)
		fprintf(stderr, " in %u rounds", o->rounds);
	if (o->threads)
		fprintf(stderr, " in %u thread%s", r->threads, r->threads == 1 ? "" : "s");
	fprintf(stderr, "\nns per event    %.1f (the calls%s; decoding runs in another process)\n",
		ns_per_op(r), o->touch ? " and the memory accesses" : "");
	if (o->rounds > 1 && r->done.ops)
		fprintf(stderr, "best round     %.1f ns per event\n",
			(double)r->done.best_ns * o->rounds / (double)r->done.ops);
	if (o->threads)
		fprintf(stderr, "wall time      %.3f ms\n", (double)r->wall_ns / 1e6);
	fprintf(stderr, "peak live      %s (%s bytes requested, in %s blocks)\n",
		console_bytes(a, r->trace.peak_bytes), console_count(b, r->trace.peak_bytes),
		console_count(c, r->trace.peak_blocks));
	fprintf(stderr, "peak RSS       %s (%s before the first event)\n",
		console_bytes(a, r->rss_peak), console_bytes(b, r->rss_before));
	tell(r->done.failed, "calls succeeded in the trace and failed here");
	tell(r->done.given,
	     "calls failed in the trace and succeeded here; the block was freed at once");
	tell(r->trace.unknown_frees, "frees left out: the trace does not contain the allocation");
	tell(r->trace.unknown_olds, "reallocs of unknown blocks, made as allocations");
	tell(r->trace.late_frees,
	     "frees added where an address was allocated while its block was live");
	tell(r->trace.repaired, "frees moved before the reuse of their address");
	tell(r->trace.not_calls, "events left out that are not allocator calls");
	tell(r->trace.lost, "events were lost during recording");
	if (r->trace.end.files)
		fprintf(stderr, "cut            %s; what came later is not replayed\n",
			early_end_text(end, sizeof(end), &r->trace.end));
	if (o->pace)
		fprintf(stderr, "late           %.3f ms at most\n", (double)r->done.late_ns / 1e6);
}

static void talk_json(const struct mz_replay_opts *o, const struct mz_replay_result *r, FILE *out)
{
	struct mz_buf b = {0};
	struct mz_json j = {.out = &b};
	Dl_info info;

	mz_json_object(&j, NULL);
	mz_json_u64(&j, "events", r->done.ops);
	mz_json_u64(&j, "rounds", o->rounds > 1 ? o->rounds : 1);
	mz_json_u64(&j, "threads", r->threads);
	mz_json_double(&j, "ns_per_event", ns_per_op(r));
	mz_json_double(&j, "best_round_ns_per_event",
		       r->done.ops ? (double)r->done.best_ns * (o->rounds > 1 ? o->rounds : 1) /
					     (double)r->done.ops
				   : 0);
	mz_json_u64(&j, "ns", r->done.ns);
	mz_json_u64(&j, "wall_ns", r->wall_ns);
	mz_json_u64(&j, "peak_live_bytes", r->trace.peak_bytes);
	mz_json_u64(&j, "peak_live_blocks", r->trace.peak_blocks);
	mz_json_u64(&j, "final_live_bytes", r->trace.live_bytes);
	mz_json_u64(&j, "rss_before", r->rss_before);
	mz_json_u64(&j, "rss_peak", r->rss_peak);
	mz_json_u64(&j, "rss_after", r->rss_after);
	mz_json_u64(&j, "table_bytes", r->table_bytes);
	mz_json_u64(&j, "minor_faults", r->minor_faults);
	mz_json_u64(&j, "major_faults", r->major_faults);
	mz_json_u64(&j, "failed_here", r->done.failed);
	mz_json_u64(&j, "failed_in_trace_only", r->done.given);
	mz_json_u64(&j, "unknown_frees", r->trace.unknown_frees);
	mz_json_u64(&j, "unknown_reallocs", r->trace.unknown_olds);
	mz_json_u64(&j, "late_frees", r->trace.late_frees);
	mz_json_u64(&j, "repaired", r->trace.repaired);
	mz_json_u64(&j, "not_calls", r->trace.not_calls);
	lost_json(&j, "lost", r->trace.lost_by);
	early_end_json(&j, r->trace.end.files);
	mz_json_u64(&j, "waits", r->done.waits);
	if (dladdr((void *)(uintptr_t)malloc, &info) && info.dli_fname)
		mz_json_str(&j, "allocator", info.dli_fname);
	if (o->samples) {
		mz_json_array(&j, "samples");
		for (size_t i = 0; i < r->samples; i++) {
			mz_json_array(&j, NULL);
			mz_json_u64(&j, NULL,
				    r->samples_by_time ? o->samples[i].ns : o->samples[i].calls);
			mz_json_u64(&j, NULL, o->samples[i].live);
			mz_json_u64(&j, NULL, o->samples[i].rss);
			mz_json_end_array(&j);
		}
		mz_json_end_array(&j);
	}
	mz_json_end_object(&j);
	console_put(&b, out);
}

/* Not from malloc: the heap belongs to the trace. */
static int make_samples(struct mz_replay_opts *r)
{
	r->samples = mmap(NULL, SAMPLES * sizeof(*r->samples), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (r->samples == MAP_FAILED)
		return -1;
	r->samples_cap = SAMPLES;
	return 0;
}

int replay_main(const struct replay_opts *o, int argc, char **argv)
{
	struct mz_replay_opts r = {.touch = o->touch,
				   .free_rest = o->free_rest,
				   .verbose = o->verbose,
				   .threads = !o->one_thread,
				   .pace = o->pace,
				   .flags = options_open_flags(),
				   .rounds = (unsigned)o->repeat};
	struct mz_replay_result result;
	struct mz_error err = {0};

	if (argc != 1)
		return console_usage("give exactly one input (- is standard input)");
	if (o->repeat > 1000000)
		return console_usage("--repeat %llu is too large; the maximum is 1000000",
				     (unsigned long long)o->repeat);
	if (o->pace && o->repeat > 1)
		return console_usage("--pace and --repeat exclude each other");
	if (o->samples && make_samples(&r) < 0)
		return console_fail("out of memory");
	if (mz_replay(argv[0], &r, &result, &err) < 0)
		return console_error(&err);
	if (o->json)
		talk_json(&r, &result, stderr);
	else
		talk_text(&r, &result);
	return MZ_EXIT_OK;
}
