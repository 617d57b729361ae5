// SPDX-License-Identifier: BSD-2-Clause
/* Sum the rows that the BPF programs counted, over CPUs and nesting levels. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/kmem_private.h"

/* The kernel allocates about 64 bytes per block, at the start. */
uint32_t mz_kmem_live_default(void)
{
	uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 128;
	uint64_t blocks = bytes / 64;

	return blocks < 1u << 14 ? 1u << 14 : blocks > 1u << 21 ? 1u << 21 : (uint32_t)blocks;
}

/* Caches are compared by name: a cache has another number on each CPU. */
static int by_key(const void *a, const void *b)
{
	const struct mz_kmem_row *x = a, *y = b;

	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return strcmp(x->cache, y->cache);
}

static void from_sum(const struct mz_kmem *k, unsigned cpu, const struct kmt_sum *s,
		     struct mz_kmem_row *r)
{
	unsigned id = s->key & 0xffff;

	*r = (struct mz_kmem_row){
		.site = s->site,
		.kind = (uint8_t)(s->key >> 16),
		.count = s->count,
		.req = s->req,
		.given = s->given,
		.failed = s->failed,
		.live = __atomic_load_n(&s->live, __ATOMIC_RELAXED),
		.live_bytes = __atomic_load_n(&s->live_bytes, __ATOMIC_RELAXED),
	};
	if (id && id < KMT_CACHES)
		memcpy(r->cache, k->caches[(size_t)cpu * KMT_CACHES + id].name, KMT_NAME - 1);
}

/* Each CPU and nesting level counts in rows of its own, without locks; the reader adds them up. */
static size_t join(struct mz_kmem_row *rows, size_t n)
{
	size_t out = 0;

	qsort(rows, n, sizeof(*rows), by_key);
	for (size_t i = 0; i < n; i++) {
		struct mz_kmem_row *last = out ? &rows[out - 1] : NULL;

		if (last && !by_key(last, &rows[i])) {
			last->count += rows[i].count;
			last->req += rows[i].req;
			last->given += rows[i].given;
			last->failed += rows[i].failed;
			last->live += rows[i].live;
			last->live_bytes += rows[i].live_bytes;
		} else {
			rows[out++] = rows[i];
		}
	}
	return out;
}

struct mz_kmem_row *mz_kmem_summary(struct mz_kmem *k, size_t *count)
{
	size_t per_cpu = (size_t)KMT_LEVELS * k->sums, n = 0, used = 0;
	struct mz_kmem_row *rows;

	for (size_t i = 0; i < per_cpu * k->ncpus; i++)
		/* the programs keep counting: rows that they begin meanwhile may wait for the next
		 * summary */
		used += __atomic_load_n(&k->sum[i].key, __ATOMIC_ACQUIRE) != 0;
	rows = malloc((used + 1) * sizeof(*rows));
	if (!rows)
		return NULL;
	for (size_t i = 0; i < per_cpu * k->ncpus && n < used; i++)
		if (__atomic_load_n(&k->sum[i].key, __ATOMIC_ACQUIRE))
			from_sum(k, (unsigned)(i / per_cpu), &k->sum[i], &rows[n++]);
	*count = join(rows, n);
	return rows;
}
