// SPDX-License-Identifier: BSD-2-Clause
/* Sum call stacks by the call site that wanted the memory. */
#include "analysis/call_sites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/events.h"
#include "analysis/profile.h"

static const uint64_t *reader_stack(const struct mz_call_lookup *l, uint32_t stack, size_t *depth)
{
	return mz_tables_get_stack(l->tables, stack, depth);
}

static bool reader_find(const struct mz_call_lookup *l, uint64_t ip, struct mz_symbol *out)
{
	return l->symbols && mz_symbols_find(l->symbols, ip, out);
}

struct mz_call_lookup mz_call_lookup_reader(const struct mz_tables *t, struct mz_symbols *symbols)
{
	return (struct mz_call_lookup){
		.stack = reader_stack, .find = reader_find, .tables = t, .symbols = symbols};
}

static const uint64_t *events_stack(const struct mz_call_lookup *l, uint32_t stack, size_t *depth)
{
	return mz_events_stack(l->events, stack, depth);
}

/* The function that is really there is the last; the line is where the code was written. */
static bool events_find(const struct mz_call_lookup *l, uint64_t ip, struct mz_symbol *out)
{
	struct mz_place_name names[MZ_EVENTS_INLINED];
	size_t n = mz_events_names(l->events, ip, names);

	*out = (struct mz_symbol){.function = names[n - 1].function,
				  .file = names[0].file,
				  .line = (int)names[0].line,
				  .module = names[n - 1].module,
				  .offset = names[n - 1].offset};
	return out->function || out->module;
}

struct mz_call_lookup mz_call_lookup_events(struct mz_events *events)
{
	return (struct mz_call_lookup){
		.stack = events_stack, .find = events_find, .events = events};
}

char *mz_call_describe(const struct mz_call_lookup *l, uint64_t ip)
{
	struct mz_symbol sym = {0};
	const char *file;
	char *s = NULL;
	int n;

	l->find(l, ip, &sym);
	file = sym.file ? strrchr(sym.file, '/') : NULL;
	file = file ? file + 1 : sym.file;
	if (sym.function && file)
		n = asprintf(&s, "%s (%s:%d)", sym.function, file, sym.line);
	else if (sym.function)
		n = asprintf(&s, "%s (%s)", sym.function, sym.module ? sym.module : "kernel");
	else if (sym.module)
		n = asprintf(&s, "%s+0x%llx", sym.module, (unsigned long long)sym.offset);
	else
		n = asprintf(&s, "0x%llx", (unsigned long long)ip);
	return n < 0 ? NULL : s;
}

size_t mz_call_place(const struct mz_call_lookup *l, const uint64_t *ips, size_t depth)
{
	for (size_t i = 0; i < depth; i++) {
		struct mz_symbol sym = {0};

		if (!l->find(l, ips[i], &sym) || !mz_is_go_between(sym.function))
			return i;
	}
	return 0;
}

static struct mz_call_site *new_site(struct mz_call_sites *s, uint64_t ip,
				     const struct mz_call_lookup *l)
{
	struct mz_call_site *p;

	if (s->count == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 256;

		p = realloc(s->list, cap * sizeof(*p));
		if (!p)
			return NULL;
		s->list = p;
		s->cap = cap;
	}
	p = &s->list[s->count];
	*p = (struct mz_call_site){.ip = ip, .where = mz_call_describe(l, ip)};
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

static int gather(struct mz_call_sites *s, const struct pair *pairs, size_t n,
		  const struct mz_usage *u, const struct mz_call_lookup *l)
{
	struct mz_call_site *now = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct mz_usage_site *from = &u->sites[pairs[i].site];
		const uint64_t *ips;
		size_t depth = 0;

		if (!now || now->ip != pairs[i].ip)
			now = new_site(s, pairs[i].ip, l);
		if (!now)
			return -ENOMEM;
		add(&now->sum, from);
		ips = l->stack(l, pairs[i].site, &depth);
		if (ips && from->allocs > now->caller_allocs && pairs[i].frame + 1 < depth) {
			free(now->caller);
			now->caller = mz_call_describe(l, ips[pairs[i].frame + 1]);
			now->caller_allocs = from->allocs;
		}
	}
	return 0;
}

int mz_call_sites_make(struct mz_call_sites *s, const struct mz_usage *u,
		       const struct mz_call_lookup *l)
{
	struct pair *pairs = calloc(u->sites_cap ? u->sites_cap : 1, sizeof(*pairs));
	size_t n = 0;
	int ret;

	*s = (struct mz_call_sites){0};
	if (!pairs)
		return -ENOMEM;
	for (uint32_t i = 1; i < u->sites_cap; i++) {
		size_t depth = 0, k;
		const uint64_t *ips = u->sites[i].allocs ? l->stack(l, i, &depth) : NULL;

		if (!ips || !depth)
			continue;
		k = mz_call_place(l, ips, depth);
		pairs[n++] = (struct pair){ips[k], i, (uint32_t)k};
	}
	qsort(pairs, n, sizeof(*pairs), by_ip);
	ret = gather(s, pairs, n, u, l);
	free(pairs);
	return ret;
}

int mz_call_sites_of_reader(struct mz_call_sites *s, const struct mz_usage *u,
			    const struct mz_tables *t, struct mz_symbols *symbols)
{
	struct mz_call_lookup l = mz_call_lookup_reader(t, symbols);

	return mz_call_sites_make(s, u, &l);
}

void mz_call_sites_free(struct mz_call_sites *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->list[i].where);
		free(s->list[i].caller);
	}
	free(s->list);
	*s = (struct mz_call_sites){0};
}
