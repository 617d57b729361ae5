// SPDX-License-Identifier: BSD-2-Clause
/* Print the kernel report as text, section by section. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kmem.h"
#include "base/error.h"
#include "cmds/kernel/kmem.h"
#include "cmds/loss_report.h"

static void heading(const char *text)
{
	printf("\n%s\n", text);
}

static size_t cut(size_t all, size_t limit)
{
	return limit && limit < all ? limit : all;
}

static void more(size_t all, size_t shown)
{
	if (shown < all)
		printf("  ... and %zu more (--limit 0 shows all)\n", all - shown);
}

/* How much a loss can matter: each event is one block, of the largest size at most. */
static void print_loss(const struct mz_kmem_report *r)
{
	char a[32], b[32], c[32];

	printf("LOST: %s events (%.2g %% of %s produced): counts below may be off by as many "
	       "blocks, live bytes by %s (blocks of at most %s)\n",
	       console_count(a, r->lost_all),
	       100.0 * (double)r->lost_all / (double)(r->lost_all + r->events),
	       console_count(b, r->lost_all + r->events),
	       console_bytes(c, r->lost_all * r->largest),
	       console_bytes((char[32]){0}, r->largest));
	if (r->lost[MZ_LOSS_REENTRY])
		printf("  'kmemtraced --rescue' records the events that are lost to re-entry\n");
}

static void print_source(const struct mz_kmem_report *r)
{
	const char *host = mz_kmem_input_text(r->in, "host");
	const char *kernel = mz_kmem_input_text(r->in, "kernel");
	struct mz_early_end end = mz_kmem_input_early_end(r->in);
	char a[32], span[32], h[100], k[100], text[256];
	uint64_t sample = mz_kmem_input_sum(r->in, "kmem.sample");

	printf("%s events in %u files", console_count(a, r->events), mz_kmem_input_files(r->in));
	printf(", %s", kmem_time_text(r, r->last - r->first, span, sizeof(span)));
	if (host && kernel)
		printf(", recorded on %s, Linux %s", mz_printable(h, sizeof(h), host, strlen(host)),
		       mz_printable(k, sizeof(k), kernel, strlen(kernel)));
	printf("\n");
	if (r->lost_all)
		print_loss(r);
	else
		printf("lost: 0\n");
	for (unsigned i = 0; i < MZ_LOSSES; i++)
		if (r->lost[i])
			printf("  %-12s %s\n", mz_loss_name(i), console_count(a, r->lost[i]));
	if (end.files)
		printf("CUT: %s\n  " EARLY_END_MEANS "\n",
		       early_end_text(text, sizeof(text), &end));
	if (sample > mz_kmem_input_files(r->in))
		printf("sampled: one block in %" PRIu64 "; multiply counts and bytes by it\n",
		       sample / mz_kmem_input_files(r->in));
	if (mz_kmem_input_sum(r->in, "kmem.filtered"))
		printf("recorded with a filter: other blocks are not in the trace\n");
}

static void print_totals(const struct mz_kmem_report *r)
{
	const struct mz_kmem_group *t = &r->total;
	char a[32], b[32], c[32];

	heading("TOTALS");
	printf("  allocations   %16s   frees %s, and %s of blocks whose allocation was not seen\n",
	       console_count(a, t->allocs), console_count(b, t->ended),
	       console_count(c, r->unknown_frees));
	printf("  requested     %16s B %s\n", console_count(a, t->req), console_bytes(b, t->req));
	printf("  allocated     %16s B %s\n", console_count(a, t->given),
	       console_bytes(b, t->given));
	printf("  freed         %16s B %s\n", console_count(a, t->freed_given),
	       console_bytes(b, t->freed_given));
	printf("  net           %16s B %s in %s live blocks at the end\n",
	       console_count(a, t->live_given), console_bytes(b, t->live_given),
	       console_count(c, t->live));
	printf("  peak          %16s B %s\n", console_count(a, t->peak_given),
	       console_bytes(b, t->peak_given));
	printf("  wasted        %16s B %s\n",
	       console_count(a, t->given > t->req ? t->given - t->req : 0),
	       console_bytes(b, t->given > t->req ? t->given - t->req : 0));
	printf("  internal fragmentation   %5.2f %%\n", kmem_frag(t->req, t->given));
	for (int i = 0; i < MZ_KMEM_ALLOCATORS; i++)
		if (r->of[i].allocs && r->of[i].allocs != t->allocs)
			printf("  of %-8s    %16s allocations, net %s\n", mz_kmem_allocator_name(i),
			       console_count(a, r->of[i].allocs),
			       console_bytes(b, r->of[i].live_given));
	if (t->failed)
		printf("  failed        %16s\n", console_count(a, t->failed));
	if (t->over_live)
		printf("  ended unseen  %16s   (their memory was reused: see INCONSISTENCIES)\n",
		       console_count(a, t->over_live));
}

static bool print_groups(const struct mz_kmem_report *r, bool caches, enum kmem_sort sort,
			 size_t limit)
{
	size_t n, shown;
	struct kmem_row *rows = kmem_rows(r, caches, sort, &n);
	char title[64];

	if (!rows)
		return false;
	snprintf(title, sizeof(title), "%s, by %s (--metric)", caches ? "CACHES" : "CALL SITES",
		 kmem_metrics[sort]);
	heading(title);
	printf("  %10s %14s %14s %12s %6s %12s %12s %8s %8s  %s\n", "allocs", "requested",
	       "allocated", "wasted", "frag", "live", "peak", "median", "99 %",
	       caches ? "cache" : "call site");
	shown = cut(n, limit);
	for (size_t i = 0; i < shown; i++) {
		const struct mz_kmem_group *g = rows[i].g;
		char name[300], median[32], most[32];

		if (caches)
			mz_kmem_cache_text(r, rows[i].id, name, sizeof(name));
		else
			kmem_site_text(r, rows[i].id, name, sizeof(name));
		printf("  %10" PRIu64 " %14" PRIu64 " %14" PRIu64 " %12" PRIu64
		       " %5.1f%% %12" PRIu64 " %12" PRIu64 " %8s %8s  %s\n",
		       g->allocs, g->req, g->given, g->given > g->req ? g->given - g->req : 0,
		       kmem_frag(g->req, g->given), g->live_given, g->peak_given,
		       g->ended ? kmem_time_text(r, mz_kmem_lifetime(g, 0.5), median, 32) : "-",
		       g->ended ? kmem_time_text(r, mz_kmem_lifetime(g, 0.99), most, 32) : "-",
		       name);
	}
	more(n, shown);
	free(rows);
	return true;
}

static void print_ones(const struct mz_kmem_report *r, size_t limit)
{
	size_t shown = cut(r->nones, limit);

	heading("ALLOCATIONS, one by one, most wasted first");
	printf("  %10s %10s %10s %6s %10s %5s %5s  %-18s %-18s %s\n", "requested", "allocated",
	       "wasted", "frag", "lived", "CPU", "freed", "address", "cache", "call site");
	for (size_t i = 0; i < shown; i++) {
		const struct mz_kmem_one *o = &r->ones[i];
		const struct mz_kmem_block *b = &o->block;
		char site[300], cache[300], life[32], freed[8];

		snprintf(freed, sizeof(freed), o->died ? "%d" : "-", o->died_cpu);
		printf("  %10u %10u %10u %5.1f%% %10s %5d %5s  0x%-16" PRIx64 " %-18s %s\n", b->req,
		       b->given, b->given > b->req ? b->given - b->req : 0,
		       kmem_frag(b->req, b->given),
		       o->died ? kmem_time_text(r, o->died - b->born, life, 32) : "live", b->cpu,
		       freed, b->addr, mz_kmem_cache_text(r, b->cache, cache, sizeof(cache)),
		       kmem_site_text(r, b->site, site, sizeof(site)));
	}
}

static void print_matrix(const char *title, const uint64_t *m, unsigned n)
{
	if (n > 16) {
		printf("  %s: %u by %u, in --json\n", title, n, n);
		return;
	}
	printf("  %s (row: allocated on, column: freed on)\n  %6s", title, "");
	for (unsigned f = 0; f < n; f++)
		printf(" %12u", f);
	for (unsigned a = 0; a < n; a++) {
		printf("\n  %6u", a);
		for (unsigned f = 0; f < n; f++)
			printf(" %12" PRIu64, m[(size_t)a * n + f]);
	}
	printf("\n");
}

static bool print_cross(const struct mz_kmem_report *r, size_t limit)
{
	const struct mz_kmem_group *t = &r->total;
	size_t n, shown;
	struct kmem_row *rows = kmem_rows(r, false, KMEM_SORT_CROSS, &n);
	char a[32];

	if (!rows)
		return false;
	heading("FREED ON ANOTHER CPU");
	printf("  %s of %" PRIu64 " freed blocks (%.2f %%)", console_count(a, t->cross_cpu),
	       t->ended, t->ended ? 100.0 * (double)t->cross_cpu / (double)t->ended : 0.0);
	if (r->nnodes)
		printf("; on another node: %s\n", console_count(a, t->cross_node));
	else
		printf("; the trace has no map of CPUs to nodes\n");
	if (r->ncpus)
		print_matrix("CPUs", r->cpu_matrix, r->ncpus);
	if (r->nnodes > 1)
		print_matrix("nodes", r->node_matrix, r->nnodes);
	shown = cut(n, limit);
	for (size_t i = 0; i < shown && rows[i].g->cross_cpu; i++) {
		char site[300];

		printf("  %10" PRIu64 " of %10" PRIu64 " (%5.1f %%), other node %" PRIu64 "  %s\n",
		       rows[i].g->cross_cpu, rows[i].g->ended,
		       100.0 * (double)rows[i].g->cross_cpu / (double)rows[i].g->ended,
		       rows[i].g->cross_node, kmem_site_text(r, rows[i].id, site, sizeof(site)));
	}
	free(rows);
	return true;
}

static void print_finding(const struct mz_kmem_report *r, const struct mz_kmem_finding *f)
{
	char a[300], b[300], c[300], d[300], when[32];

	printf("    at %s, CPU %d: 0x%" PRIx64 " ", kmem_time_text(r, f->to - r->first, when, 32),
	       f->cpu, f->addr);
	kmem_site_text(r, f->site, a, sizeof(a));
	kmem_site_text(r, f->site2, b, sizeof(b));
	mz_kmem_cache_text(r, f->cache, c, sizeof(c));
	mz_kmem_cache_text(r, f->cache2, d, sizeof(d));
	if (f->what == MZ_KMEM_TOO_SMALL)
		printf("of %s: %u bytes for %u, requested by %s\n", c, f->given, f->req, a);
	else if (f->what == MZ_KMEM_DOUBLE_FREE || f->what == MZ_KMEM_UNSEEN_ALLOC)
		printf("of %s: freed by %s, and again by %s\n", c, a, b);
	else if (f->what == MZ_KMEM_UNSEEN_FREE)
		printf("of %s: allocated by %s, and again (%s) by %s\n", c, a, d, b);
	else
		printf("of %s: allocated by %s, freed (%s) by %s\n", c, a,
		       f->cache2 >= MZ_KMEM_CLASS ? "kfree" : d, b);
}

static void print_anomalies(const struct mz_kmem_report *r, size_t limit)
{
	static const char *const titles[MZ_KMEM_CLASSES] = {"certain bugs", "legal mixtures",
							    "blind spots of the tracer",
							    "effects of lost events"};
	char a[32];

	heading("INCONSISTENCIES");
	for (int c = 0; c < MZ_KMEM_CLASSES; c++) {
		uint64_t sum = 0;
		size_t shown = 0;

		for (int w = 0; w < MZ_KMEM_WHATS; w++)
			sum += r->counts[c][w];
		printf("  %s: %s\n", titles[c], console_count(a, sum));
		for (int w = 0; w < MZ_KMEM_WHATS; w++)
			if (r->counts[c][w])
				printf("    %10s  %s\n", console_count(a, r->counts[c][w]),
				       mz_kmem_what_name(w));
		for (size_t i = 0; i < r->nfindings && c == MZ_KMEM_BUG; i++) {
			if (r->findings[i].class != MZ_KMEM_BUG)
				continue;
			if (limit && shown++ >= limit)
				break;
			printf("  ERROR: %s\n", mz_kmem_what_name(r->findings[i].what));
			print_finding(r, &r->findings[i]);
		}
	}
	if (r->findings_dropped)
		printf("  %s more were not examined\n", console_count(a, r->findings_dropped));
}

static void print_advice(const struct mz_kmem_report *r, size_t limit)
{
	size_t shown = cut(r->nadvice, limit);

	heading("ADVICE: sizes that fit their size class badly");
	if (!r->nadvice)
		printf("  none\n");
	else
		printf("  %10s %10s %10s %10s %10s %12s  %s\n", "size", "class", "own cache",
		       "allocs", "peak live", "saves at peak", "call site");
	for (size_t i = 0; i < shown; i++) {
		const struct mz_kmem_advice *a = &r->advice[i];
		char site[300];

		printf("  %10u %10u %10u %10" PRIu64 " %10" PRIu64 " %12" PRIu64 "  %s\n", a->req,
		       a->given, a->own, a->allocs, a->peak, a->saves,
		       kmem_site_text(r, a->site, site, sizeof(site)));
	}
	more(r->nadvice, shown);
}

static bool print_never_freed(const struct mz_kmem_report *r, size_t limit)
{
	size_t n, shown = 0, all = 0;
	struct kmem_row *rows = kmem_rows(r, false, KMEM_SORT_LIVE, &n);

	if (!rows)
		return false;
	heading("NEVER FREED in the trace, by call site");
	printf("  %10s %14s %10s %8s  %s\n", "blocks", "bytes", "oldest", "of all", "call site");
	for (size_t i = 0; i < n && rows[i].g->live; i++) {
		const struct mz_kmem_group *g = rows[i].g;
		char site[300], age[32];

		all++;
		if (limit && shown >= limit)
			continue;
		shown++;
		printf("  %10" PRIu64 " %14" PRIu64 " %10s %7.1f%%  %s%s\n", g->live, g->live_given,
		       kmem_time_text(r, r->last - g->oldest, age, 32),
		       100.0 * (double)g->live / (double)g->allocs,
		       kmem_site_text(r, rows[i].id, site, sizeof(site)),
		       g->over_live ? "  (some of its blocks were freed unseen)" : "");
	}
	more(all, shown);
	free(rows);
	return true;
}

int kmem_report_text(const struct mz_kmem_report *r, enum kmem_sort sort, size_t limit)
{
	bool whole;

	print_source(r);
	print_totals(r);
	whole = print_groups(r, false, sort, limit) && print_groups(r, true, sort, limit);
	print_ones(r, limit);
	whole = whole && print_cross(r, limit);
	print_anomalies(r, limit);
	print_advice(r, limit);
	whole = whole && print_never_freed(r, limit);
	return whole ? MZ_EXIT_OK : console_fail("out of memory: tables are missing");
}
