// SPDX-License-Identifier: BSD-2-Clause
/* Sum call stacks by the call site that wanted the memory. */
#include "cmds/report/report_sites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile.h"

static char *describe(struct mz_symbols *symbols, uint64_t ip)
{
	struct mz_symbol sym = {0};
	const char *file;
	char *s = NULL;
	int n;

	if (symbols)
		mz_symbols_find(symbols, ip, &sym);
	file = sym.file ? strrchr(sym.file, '/') : NULL;
	file = file ? file + 1 : sym.file;
	if (sym.function && file)
		n = asprintf(&s, "%s (%s:%d)", sym.function, file, sym.line);
	else if (sym.function)
		n = asprintf(&s, "%s (%s)", sym.function, sym.module);
	else if (sym.module)
		n = asprintf(&s, "%s+0x%llx", sym.module, (unsigned long long)sym.offset);
	else
		n = asprintf(&s, "0x%llx", (unsigned long long)ip);
	return n < 0 ? NULL : s;
}

/* The frame that stands for a stack: the first that is no go-between. */
static size_t chosen(struct mz_symbols *symbols, const uint64_t *ips, size_t depth)
{
	for (size_t i = 0; i < depth; i++) {
		struct mz_symbol sym = {0};

		if (!symbols || !mz_symbols_find(symbols, ips[i], &sym) ||
		    !mz_is_go_between(sym.function))
			return i;
	}
	return 0;
}

static struct report_site *new_site(struct report_sites *s, uint64_t ip, struct mz_symbols *symbols)
{
	struct report_site *p;

	if (s->count == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 256;

		p = realloc(s->list, cap * sizeof(*p));
		if (!p)
			return NULL;
		s->list = p;
		s->cap = cap;
	}
	p = &s->list[s->count];
	*p = (struct report_site){.ip = ip, .where = describe(symbols, ip)};
	if (!p->where)
		return NULL;
	s->count++;
	return p;
}

static void add(struct mz_usage_site *to, const struct mz_usage_site *from)
{
	to->allocs += from->allocs;
	to->bytes += from->bytes;
	to->waste += from->waste;
	to->temporary += from->temporary;
	to->live += from->live;
	to->live_blocks += from->live_blocks;
	to->at_peak += from->at_peak;
	to->peak_waste += from->peak_waste;
}

/* For each site number, the address that stands for it; sorted, so that equal
 * ones are found together. */
struct pair {
	uint64_t ip;
	uint32_t site;
	uint32_t frame;
};

static int by_ip(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return x->ip < y->ip ? -1 : x->ip > y->ip;
}

static int gather(struct report_sites *s, const struct pair *pairs, size_t n,
		  const struct mz_usage *u, const struct mz_tables *t, struct mz_symbols *symbols)
{
	struct report_site *now = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct mz_usage_site *from = &u->sites[pairs[i].site];
		const uint64_t *ips;
		size_t depth = 0;

		if (!now || now->ip != pairs[i].ip)
			now = new_site(s, pairs[i].ip, symbols);
		if (!now)
			return -ENOMEM;
		add(&now->sum, from);
		ips = mz_tables_get_stack(t, pairs[i].site, &depth);
		if (ips && from->allocs > now->caller_allocs && pairs[i].frame + 1 < depth) {
			free(now->caller);
			now->caller = describe(symbols, ips[pairs[i].frame + 1]);
			now->caller_allocs = from->allocs;
		}
	}
	return 0;
}

int report_sites_make(struct report_sites *s, const struct mz_usage *u, const struct mz_tables *t,
		      struct mz_symbols *symbols)
{
	struct pair *pairs = calloc(u->sites_cap ? u->sites_cap : 1, sizeof(*pairs));
	size_t n = 0;
	int ret;

	*s = (struct report_sites){0};
	if (!pairs)
		return -ENOMEM;
	for (uint32_t i = 1; i < u->sites_cap; i++) {
		size_t depth = 0, k;
		const uint64_t *ips = u->sites[i].allocs ? mz_tables_get_stack(t, i, &depth) : NULL;

		if (!ips || !depth)
			continue;
		k = chosen(symbols, ips, depth);
		pairs[n++] = (struct pair){ips[k], i, (uint32_t)k};
	}
	qsort(pairs, n, sizeof(*pairs), by_ip);
	ret = gather(s, pairs, n, u, t, symbols);
	free(pairs);
	return ret;
}

void report_sites_free(struct report_sites *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->list[i].where);
		free(s->list[i].caller);
	}
	free(s->list);
}
