// SPDX-License-Identifier: BSD-2-Clause
/* Print the overview of a user program's trace. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/call_sites.h"
#include "base/error.h"
#include "base/json.h"
#include "cmds/cmd.h"
#include "cmds/lost.h"
#include "cmds/report/report.h"
#include "cmds/report/report_pools.h"
#include "trace/reader.h"

struct job {
	struct mz_reader *in;
	struct mz_usage u;
	struct mz_symbols *symbols;
	struct mz_call_sites sites;
	size_t rows; /* 0 = all */
	struct mz_error err;
};

/* ---- the lists of call sites -------------------------------------------------------- */

static uint64_t at_peak(const struct mz_call_site *s)
{
	return s->sum.at_peak;
}

static uint64_t churn(const struct mz_call_site *s)
{
	return s->sum.bytes;
}

static uint64_t waste(const struct mz_call_site *s)
{
	return s->sum.waste;
}

static uint64_t leaked(const struct mz_call_site *s)
{
	return s->sum.live;
}

static uint64_t temporary(const struct mz_call_site *s)
{
	return s->sum.temporary;
}

static const struct view {
	const char *key;
	const char *title;
	uint64_t (*of)(const struct mz_call_site *);
	size_t total; /* in struct mz_usage_site */
	bool count;   /* of blocks, not bytes */
} views[] = {
	{"at_peak", "by bytes at the peak", at_peak, offsetof(struct mz_usage_site, at_peak),
	 false},
	{"churn", "by churn (total bytes asked for)", churn, offsetof(struct mz_usage_site, bytes),
	 false},
	{"waste", "by waste (total bytes given and not asked for)", waste,
	 offsetof(struct mz_usage_site, waste), false},
	{"never_freed", "by bytes never freed", leaked, offsetof(struct mz_usage_site, live),
	 false},
	{"temporary", "by temporary blocks", temporary, offsetof(struct mz_usage_site, temporary),
	 true},
};

static uint64_t total_of(const struct job *j, const struct view *v)
{
	return *(const uint64_t *)(const void *)((const char *)&j->u.all + v->total);
}

static bool more(const struct job *j, size_t shown)
{
	return !j->rows || shown < j->rows;
}

/* The next smaller one after the last shown; the list is short, and few are shown. */
static const struct mz_call_site *next_site(const struct job *j, const struct view *v,
					    const struct mz_call_site *last)
{
	const struct mz_call_site *best = NULL;

	for (size_t i = 0; i < j->sites.count; i++) {
		const struct mz_call_site *s = &j->sites.list[i];
		uint64_t x = v->of(s);

		if (!x || (last && (x > v->of(last) || (x == v->of(last) && s <= last))))
			continue;
		if (!best || x > v->of(best))
			best = s;
	}
	return best;
}

/* ---- text -------------------------------------------------------------------------- */

static void print_safe(const char *s, size_t width)
{
	char buf[256];

	printf("%s", mz_printable(buf, sizeof(buf) < width ? sizeof(buf) : width, s, strlen(s)));
}

static void show_view(const struct job *j, const struct view *v)
{
	const struct mz_call_site *s = next_site(j, v, NULL);
	uint64_t total = total_of(j, v);
	char a[32], b[32];

	if (!s)
		return;
	printf("\nCall sites %s\n", v->title);
	for (size_t i = 0; s && more(j, i); i++, s = next_site(j, v, s)) {
		uint64_t x = v->of(s);

		printf("  %10s %5.1f%%  %9s blocks  ",
		       v->count ? console_count(a, x) : console_bytes(a, x),
		       total ? 100.0 * (double)x / (double)total : 0,
		       console_count(b, s->sum.allocs));
		print_safe(s->where, 120);
		if (s->caller) {
			printf("\n%43s", "from ");
			print_safe(s->caller, 120);
		}
		printf("\n");
	}
}

static const char *attr_text(const struct job *j, const char *key)
{
	const struct mz_attr *a = mz_reader_find_attr(j->in, key);

	return a && a->type == MZ_ATTR_TEXT && *a->data ? a->data : NULL;
}

static void show_head(const struct job *j)
{
	const struct mz_usage *u = &j->u;
	const char *command = attr_text(j, "command");
	struct mz_stack_share stacks;
	char a[32], b[32], c[32], d[32];

	if (command) {
		printf("command        ");
		print_safe(command, 256);
		printf("\n");
	}
	printf("events         %s", console_count(a, u->events));
	if (u->fields & MZ_HAS_TIME)
		printf(" in %.3f s", (double)(u->last_time - u->first_time) / 1e9);
	if (u->fields & MZ_HAS_TID)
		printf(", %s thread%s", console_count(b, u->threads), u->threads == 1 ? "" : "s");
	printf("\n");
	if (u->lost)
		printf("LOST           %s events; every figure below is too small\n",
		       console_count(a, u->lost));
	if (mz_stack_share_read(j->in, &stacks)) {
		printf("stacks         ");
		console_stacks(stdout, &stacks);
	}
	printf("allocations    %s blocks, %s in all\n", console_count(a, u->all.allocs),
	       console_bytes(b, u->all.bytes));
	printf("peak           %s (%s bytes) in %s blocks, at event %s",
	       console_bytes(a, u->all.at_peak), console_count(b, u->all.at_peak),
	       console_count(c, u->peak_blocks), console_count(d, u->peak_event));
	if ((u->fields & MZ_HAS_TIME) && u->peak_event)
		printf(", after %.3f s", (double)(u->peak_time - u->first_time) / 1e9);
	printf("\n");
}

static void show_rest(const struct job *j)
{
	const struct mz_usage *u = &j->u;
	uint64_t blocks = u->all.allocs ? u->all.allocs : 1;
	char a[32], b[32];

	printf("never freed    %s blocks, %s\n", console_count(a, u->all.live_blocks),
	       console_bytes(b, u->all.live));
	printf("temporary      %s blocks (%.1f%%), freed before their thread's next allocation\n",
	       console_count(a, u->all.temporary),
	       100.0 * (double)u->all.temporary / (double)blocks);
	if (u->fields & MZ_HAS_GIVEN)
		printf("waste          %s given and not asked for at the peak (%.1f%%)\n",
		       console_bytes(a, u->all.peak_waste),
		       u->all.at_peak ? 100.0 * (double)u->all.peak_waste / (double)u->all.at_peak
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
		       mz_reader_find_attr(j->in, "attached") ? "unknown (older than the recording)"
							      : "unknown",
		       console_count(b, u->over_live));
}

static void show_text(const struct job *j)
{
	show_head(j);
	show_rest(j);
	report_pools_text(&j->u, mz_reader_tables(j->in));
	for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++)
		show_view(j, &views[i]);
	if (mz_reader_find_attr(j->in, "own_malloc"))
		printf("\nThe program defines malloc itself: calls inside it were not seen.\n");
	else if (!j->sites.count)
		printf("\nNo call sites: record with --stacks to get them.\n");
	else if (mz_symbols_missing(j->symbols))
		printf("\n%u files of the program are missing or have changed: their code has no "
		       "names.\n",
		       mz_symbols_missing(j->symbols));
}

/* ---- JSON -------------------------------------------------------------------------- */

static void json_sites(const struct job *j, struct mz_json *out)
{
	for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++) {
		const struct mz_call_site *s = next_site(j, &views[i], NULL);

		mz_json_array(out, views[i].key);
		for (size_t k = 0; s && more(j, k); k++, s = next_site(j, &views[i], s)) {
			mz_json_object(out, NULL);
			mz_json_str(out, "where", s->where);
			if (s->caller)
				mz_json_str(out, "caller", s->caller);
			mz_json_hex(out, "ip", s->ip);
			mz_json_u64(out, "blocks", s->sum.allocs);
			mz_json_u64(out, "value", views[i].of(s));
			mz_json_end_object(out);
		}
		mz_json_end_array(out);
	}
}

void report_json_summary(struct mz_json *out, const struct mz_usage *u, const char *command)
{
	if (command)
		mz_json_str(out, "command", command);
	mz_json_u64(out, "events", u->events);
	lost_json(out, "lost", u->lost_by);
	mz_json_u64(out, "threads", u->threads);
	mz_json_u64(out, "blocks", u->all.allocs);
	mz_json_u64(out, "bytes", u->all.bytes);
	mz_json_u64(out, "peak_bytes", u->all.at_peak);
	mz_json_u64(out, "peak_blocks", u->peak_blocks);
	mz_json_u64(out, "peak_event", u->peak_event);
	mz_json_u64(out, "peak_time", u->peak_time);
	mz_json_u64(out, "never_freed_blocks", u->all.live_blocks);
	mz_json_u64(out, "never_freed_bytes", u->all.live);
	mz_json_u64(out, "temporary_blocks", u->all.temporary);
	if (u->fields & MZ_HAS_GIVEN) {
		mz_json_u64(out, "waste_bytes", u->all.waste);
		mz_json_u64(out, "waste_at_peak", u->all.peak_waste);
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

static void show_json(const struct job *j)
{
	struct mz_buf b = {0};
	struct mz_json out = {.out = &b};
	struct mz_stack_share stacks;

	mz_json_object(&out, NULL);
	report_json_summary(&out, &j->u, attr_text(j, "command"));
	if (mz_stack_share_read(j->in, &stacks))
		mz_stack_share_json(&stacks, &out);
	report_pools_json(&out, &j->u, mz_reader_tables(j->in));
	mz_json_object(&out, "sites");
	json_sites(j, &out);
	mz_json_end_object(&out);
	mz_json_end_object(&out);
	if (!b.failed)
		fwrite(b.data, 1, b.len, stdout);
	mz_buf_free(&b);
}

/* ---- the verb ------------------------------------------------------------------------ */

static int read_all(struct job *j)
{
	struct mz_event ev[MZ_BATCH];
	int ret = 0;
	long n;

	while (!ret && (n = mz_reader_read_raw(j->in, ev, MZ_BATCH)) > 0)
		for (long i = 0; i < n && !ret; i++)
			ret = mz_usage_add(&j->u, &ev[i]);
	if (ret < 0)
		return mz_fail_memory(&j->err);
	if (n < 0) {
		j->err = *mz_reader_error(j->in);
		return (int)n;
	}
	mz_usage_end(&j->u);
	if (!(j->u.fields & MZ_HAS_SITE))
		return 0;
	j->symbols = mz_symbols_open(j->in);
	if (!j->symbols ||
	    mz_call_sites_of_reader(&j->sites, &j->u, mz_reader_tables(j->in), j->symbols) < 0)
		return mz_fail_memory(&j->err);
	return 0;
}

int report_user(struct mz_recording *r, size_t rows, bool json)
{
	struct job j = {.rows = rows};
	int ret;

	j.in = mz_recording_reader(r, &j.err);
	if (!j.in)
		return console_error(&j.err);
	ret = mz_usage_init(&j.u) < 0 ? mz_fail_memory(&j.err) : 0;
	j.u.by_cache = true;
	if (!ret)
		ret = read_all(&j);
	if (ret < 0)
		console_error(&j.err);
	else if (json)
		show_json(&j);
	else
		show_text(&j);
	mz_call_sites_free(&j.sites);
	mz_symbols_close(j.symbols);
	mz_usage_deinit(&j.u);
	return ret < 0 ? MZ_EXIT_FAILED : MZ_EXIT_OK;
}
