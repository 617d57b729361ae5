// SPDX-License-Identifier: BSD-2-Clause
/* Print what is live at the end of a kernel trace: by allocator, subsystem and call site. */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/kmem_subsystems.h"
#include "base/json.h"
#include "cmds/kernel/kmem.h"

static uint64_t waste(uint64_t given, uint64_t req)
{
	return given > req ? given - req : 0;
}

static void print_allocators(const struct mz_kmem_report *r)
{
	char bytes[32];

	printf("\nALLOCATORS (pages include those that slab and vmalloc took from the page "
	       "allocator)\n");
	printf("  %-10s %10s %14s %12s %6s %10s %12s\n", "", "blocks", "live", "wasted", "frag", "",
	       "allocations");
	for (int i = 0; i < MZ_KMEM_ALLOCATORS; i++) {
		const struct mz_kmem_group *g = &r->of[i];

		if (g->allocs)
			printf("  %-10s %10" PRIu64 " %14" PRIu64 " %12" PRIu64
			       " %5.1f%% %10s %12" PRIu64 "\n",
			       mz_kmem_allocator_name(i), g->live, g->live_given,
			       waste(g->live_given, g->live_req),
			       kmem_frag(g->live_req, g->live_given),
			       console_bytes(bytes, g->live_given), g->allocs);
	}
}

static void print_subsystems(const struct mz_kmem_report *r, size_t limit)
{
	struct mz_kmem_subsystems s = mz_kmem_subsystems_of(r);
	size_t shown = limit && limit < s.n ? limit : s.n;

	printf("\nSUBSYSTEMS\n");
	if (!mz_kmem_input_has_files(r->in)) {
		printf("  unknown: no System.map with source files (see scripts/kernel-files) "
		       "beside the trace\n");
		shown = s.n = 0;
	} else {
		printf("  %10s %14s %12s %12s %12s %12s  %s\n", "blocks", "live", "wasted",
		       "of slab", "of pages", "of vmalloc", "subsystem");
	}
	for (size_t i = 0; i < shown; i++)
		printf("  %10" PRIu64 " %14" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64
		       " %12" PRIu64 "  %s\n",
		       s.list[i].blocks, s.list[i].given, waste(s.list[i].given, s.list[i].req),
		       s.list[i].of[MZ_KMEM_OF_SLAB], s.list[i].of[MZ_KMEM_OF_PAGES],
		       s.list[i].of[MZ_KMEM_OF_VMALLOC], s.list[i].name);
	if (shown < s.n)
		printf("  ... and %zu more\n", s.n - shown);
	mz_kmem_subsystems_free(&s);
}

static void print_sites(const struct mz_kmem_report *r, size_t limit)
{
	size_t n, shown = 0;
	struct kmem_row *rows = kmem_rows(r, false, KMEM_SORT_LIVE, &n);

	printf("\nCALL SITES\n  %10s %14s %12s %6s %-8s  %s\n", "blocks", "live", "wasted", "frag",
	       "of", "call site");
	for (size_t i = 0; rows && i < n && rows[i].g->live && (!limit || shown < limit);
	     i++, shown++) {
		const struct mz_kmem_group *g = rows[i].g;
		const char *file = mz_kmem_input_file(r->in, rows[i].id);
		char site[300];

		printf("  %10" PRIu64 " %14" PRIu64 " %12" PRIu64 " %5.1f%% %-8s  %s%s%s%s\n",
		       g->live, g->live_given, waste(g->live_given, g->live_req),
		       kmem_frag(g->live_req, g->live_given), mz_kmem_allocator_name(g->allocator),
		       kmem_site_text(r, rows[i].id, site, sizeof(site)), file ? " (" : "",
		       file ? file : "", file ? ")" : "");
	}
	free(rows);
}

void kmem_live_text(const struct mz_kmem_report *r, size_t limit)
{
	char a[32], b[32], span[32];

	printf("LIVE after %s events, %s; lost: %s\n", console_count(a, r->events),
	       kmem_time_text(r, r->last - r->first, span, sizeof(span)),
	       console_count(b, r->lost_all));
	print_allocators(r);
	print_subsystems(r, limit);
	print_sites(r, limit);
}

static void json_live(struct mz_json *w, uint64_t blocks, uint64_t given, uint64_t req)
{
	mz_json_u64(w, "never_freed_blocks", blocks);
	mz_json_u64(w, "never_freed_bytes", req);
	mz_json_u64(w, "never_freed_given_bytes", given);
	mz_json_u64(w, "waste_at_end", waste(given, req));
}

void kmem_live_json(struct mz_json *w, const struct mz_kmem_report *r, size_t limit)
{
	struct mz_kmem_subsystems s = mz_kmem_subsystems_of(r);

	mz_json_object(w, "allocators");
	for (int i = 0; i < MZ_KMEM_ALLOCATORS; i++) {
		if (!r->of[i].allocs)
			continue;
		mz_json_object(w, mz_kmem_allocator_name(i));
		mz_json_u64(w, "blocks", r->of[i].allocs);
		json_live(w, r->of[i].live, r->of[i].live_given, r->of[i].live_req);
		mz_json_end_object(w);
	}
	mz_json_end_object(w);
	if (mz_kmem_input_has_files(r->in)) {
		mz_json_array(w, "subsystems");
		for (size_t i = 0; i < s.n && (!limit || i < limit); i++) {
			mz_json_object(w, NULL);
			mz_json_str(w, "name", s.list[i].name);
			json_live(w, s.list[i].blocks, s.list[i].given, s.list[i].req);
			mz_json_end_object(w);
		}
		mz_json_end_array(w);
	}
	mz_kmem_subsystems_free(&s);
}
