// SPDX-License-Identifier: BSD-2-Clause
/* Print the counts of `kmemtraced --summary` by call site, most bytes first. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "cmds/kernel/kmem.h"
#include "cmds/loss_report.h"
#include "record/kmem.h"
#include "symbols/kallsyms.h"

static const char *const kinds[KMT_KINDS] = {
	[KMT_KMALLOC] = "kmalloc",
	[KMT_KFREE] = "kfree",
	[KMT_CACHE_ALLOC] = "kmem_cache_alloc",
	[KMT_CACHE_FREE] = "kmem_cache_free",
	[KMT_PAGE_ALLOC] = "page_alloc",
	[KMT_PAGE_FREE] = "page_free",
	[KMT_VMALLOC] = "vmalloc",
	[KMT_VFREE] = "vfree",
	[KMT_PERCPU_ALLOC] = "percpu_alloc",
	[KMT_PERCPU_FREE] = "percpu_free",
};

static int by_bytes(const void *a, const void *b)
{
	const struct mz_kmem_row *x = a, *y = b;

	if (x->given != y->given)
		return x->given > y->given ? -1 : 1;
	return x->count > y->count ? -1 : x->count < y->count;
}

static void row_json(struct mz_json *w, const struct mz_kmem_row *r, const struct mz_kallsyms *syms,
		     bool live)
{
	char site[256];

	mz_json_object(w, NULL);
	mz_json_str(w, "call", r->kind < KMT_KINDS ? kinds[r->kind] : "?");
	mz_json_hex(w, "ip", r->site);
	mz_json_str(w, "where", mz_kallsyms_text(syms, r->site, site, sizeof(site)));
	if (r->cache[0])
		mz_json_str(w, "cache", r->cache);
	mz_json_u64(w, "events", r->count);
	mz_json_u64(w, "bytes", r->req);
	mz_json_u64(w, "given_bytes", r->given);
	mz_json_u64(w, "failed", r->failed);
	if (live) {
		mz_json_u64(w, "live_blocks", r->live);
		mz_json_u64(w, "live_given_bytes", r->live_bytes);
	}
	mz_json_end_object(w);
}

static void print_json(const struct mz_kmem_counts *n, const struct mz_kmem_row *rows, size_t count,
		       uint64_t ns, const struct mz_kallsyms *syms, bool live)
{
	struct mz_buf b = {0};
	struct mz_json w = {.out = &b};

	mz_json_object(&w, NULL);
	mz_json_double(&w, "seconds", (double)ns / 1e9);
	mz_json_u64(&w, "produced", mz_kmem_produced(n));
	mz_json_u64(&w, "counted", n->recorded - n->other);
	mz_json_u64(&w, "no_row", n->other);
	lost_json(&w, "lost",
		  (uint64_t[MZ_LOSSES]){[MZ_LOSS_RING_FULL] = n->full,
					[MZ_LOSS_REENTRY] = n->deep + mz_kmem_reentry(n)});
	mz_json_u64(&w, "null_frees", n->nulls);
	mz_json_u64(&w, "own", n->own);
	if (live) {
		mz_json_u64(&w, "not_followed", n->unfollowed);
		mz_json_u64(&w, "frees_not_seen", n->reused);
	}
	mz_json_array(&w, "rows");
	for (size_t i = 0; i < count; i++)
		row_json(&w, &rows[i], syms, live);
	mz_json_end_array(&w);
	mz_json_end_object(&w);
	console_put(&b, stdout);
}

static void print_text(const struct mz_kmem_row *rows, size_t count, size_t all, uint64_t ns,
		       const struct mz_kallsyms *syms, bool live)
{
	printf("%12s %10s %14s %14s %6s", "count", "per s", "requested", "allocated", "waste");
	if (live)
		printf(" %12s %14s", "live blocks", "live");
	printf("  %-16s %-20s %s\n", "call", "cache", "call site");
	for (size_t i = 0; i < count; i++) {
		const struct mz_kmem_row *r = &rows[i];
		char site[256], cache[KMT_NAME * 4 + 8];

		mz_printable(cache, sizeof(cache), r->cache, strnlen(r->cache, KMT_NAME));
		printf("%12" PRIu64 " %10.0f %14" PRIu64 " %14" PRIu64 " %5.1f%%", r->count,
		       (double)r->count * 1e9 / (double)(ns ? ns : 1), r->req, r->given,
		       r->given ? 100.0 * (double)(r->given - r->req) / (double)r->given : 0.0);
		if (live)
			printf(" %12" PRIu64 " %14" PRIu64, r->live, r->live_bytes);
		printf("  %-16s %-20s %s\n", r->kind < KMT_KINDS ? kinds[r->kind] : "?", cache,
		       mz_kallsyms_text(syms, r->site, site, sizeof(site)));
	}
	if (count < all)
		printf("... and %zu more rows\n", all - count);
}

int kmem_print_summary(struct mz_kmem *k, const struct mz_kallsyms *syms, uint64_t limit,
		       uint64_t ns, bool json, bool live)
{
	struct mz_kmem_counts n;
	size_t count, shown;
	struct mz_kmem_row *rows = mz_kmem_summary(k, &count);
	uint64_t sum = 0;
	char a[32], b[32], c[32];

	if (!rows)
		return console_fail("out of memory");
	mz_kmem_counts(k, &n);
	for (size_t i = 0; i < count; i++)
		sum += rows[i].count;
	qsort(rows, count, sizeof(*rows), by_bytes);
	shown = limit && limit < count ? (size_t)limit : count;
	if (json)
		print_json(&n, rows, shown, ns, syms, live);
	else
		print_text(rows, shown, count, ns, syms, live);
	free(rows);
	if (sum + n.other + mz_kmem_lost(&n) != mz_kmem_produced(&n))
		return console_fail(
			"the account does not balance: %s produced, %s counted, %s lost",
			console_count(a, mz_kmem_produced(&n)), console_count(b, sum + n.other),
			console_count(c, mz_kmem_lost(&n)));
	if (!json)
		console_note("produced %s = counted %s + lost %s: verified",
			     console_count(a, mz_kmem_produced(&n)),
			     console_count(b, sum + n.other), console_count(c, mz_kmem_lost(&n)));
	if (n.other && !json)
		console_note("%s events were not counted: the table of call sites was full",
			     console_count(a, n.other));
	if (n.unfollowed && !json)
		console_note("live counts are too small: %s blocks were not followed; raise "
			     "--live-blocks",
			     console_count(a, n.unfollowed));
	return MZ_EXIT_OK;
}
