// SPDX-License-Identifier: BSD-2-Clause
/* The one pass over a kernel trace: groups, live blocks, matrices, findings. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kmem.h"
#include "analysis/kmem_live.h"
#include "base/error.h"
#include "symbols/kallsyms.h"

#define MAX_FINDINGS 1000000u
#define MAX_CPUS 1024u
#define NO_SITE UINT32_MAX
#define SOON 16 /* allocations of a cache */
#define BATCH 256
#define SOONER 8 /* events ahead of which memory is asked for */

/* ---- groups ------------------------------------------------------------- */

static unsigned bucket(uint64_t ns)
{
	unsigned log;

	if (ns < 8)
		return (unsigned)ns;
	log = 63 - (unsigned)__builtin_clzll(ns);
	log = (log - 2) * 8 + (unsigned)(ns >> (log - 3) & 7);
	return log < MZ_KMEM_BUCKETS ? log : MZ_KMEM_BUCKETS - 1;
}

/* The middle of a bucket. */
static uint64_t bucket_value(unsigned b)
{
	unsigned log = b / 8 + 2;

	if (b < 8)
		return b;
	return ((uint64_t)(8 + b % 8) << (log - 3)) + (log > 3 ? (1ull << (log - 3)) / 2 : 0);
}

uint64_t mz_kmem_lifetime(const struct mz_kmem_group *g, double part)
{
	uint64_t sum = 0, want = (uint64_t)((double)g->ended * part);

	if (!g->lifetimes || !g->ended)
		return 0;
	for (unsigned b = 0; b < MZ_KMEM_BUCKETS; b++) {
		sum += g->lifetimes[b];
		if (sum > want || sum == g->ended)
			return bucket_value(b);
	}
	return bucket_value(MZ_KMEM_BUCKETS - 1);
}

static void group_alloc(struct mz_kmem_group *g, uint64_t req, uint64_t given)
{
	g->allocs++;
	g->req += req;
	g->given += given;
	g->live++;
	g->live_req += req;
	g->live_given += given;
	if (g->live_given > g->peak_given)
		g->peak_given = g->live_given;
	if (g->live > g->peak_live)
		g->peak_live = g->live;
}

/* A block of the group is gone; seen: we know when and where. */
static void group_end(struct mz_kmem_group *g, const struct mz_kmem_block *b)
{
	g->live--;
	g->live_req -= b->req;
	g->live_given -= b->given;
}

static int group_free(struct mz_kmem_group *g, const struct mz_kmem_block *b, unsigned life,
		      bool cross_cpu, bool cross_node)
{
	group_end(g, b);
	g->ended++;
	g->freed_given += b->given;
	g->cross_cpu += cross_cpu;
	g->cross_node += cross_node;
	if (!g->lifetimes) {
		g->lifetimes = calloc(MZ_KMEM_BUCKETS, sizeof(*g->lifetimes));
		if (!g->lifetimes)
			return -ENOMEM;
	}
	g->lifetimes[life]++;
	return 0;
}

static int grow_groups(struct mz_kmem_group **g, uint32_t *n, uint32_t need)
{
	uint32_t to = *n ? *n : 512;
	struct mz_kmem_group *p;

	while (to < need)
		to *= 2;
	p = realloc(*g, (size_t)to * sizeof(*p));
	if (!p)
		return -ENOMEM;
	memset(p + *n, 0, (size_t)(to - *n) * sizeof(*p));
	*g = p;
	*n = to;
	return 0;
}

/* ---- names -------------------------------------------------------------- */

/* Caches that have no name in the trace: size classes of kmalloc, by their size,
 * and one for each other allocator. They are numbered after the named ones. */
enum { CLASS_BASE = MZ_KMEM_CLASS, CLASS_LARGE = 8192, CLASSES = 1200 };

static uint32_t class_number(const struct mz_event *e)
{
	switch (e->call) {
	case MZ_CALL_KMALLOC:
		return CLASS_BASE + (e->given > CLASS_LARGE ? 1025 : (uint32_t)((e->given + 7) / 8));
	case MZ_CALL_PAGE_ALLOC:
	case MZ_CALL_PAGE_FREE:
		return CLASS_BASE + 1026;
	case MZ_CALL_VMALLOC:
	case MZ_CALL_VFREE:
		return CLASS_BASE + 1027;
	case MZ_CALL_PERCPU_ALLOC:
	case MZ_CALL_PERCPU_FREE:
		return CLASS_BASE + 1028;
	default:
		return CLASS_BASE; /* not known */
	}
}

static uint32_t cache_number(const struct mz_event *e)
{
	if ((e->has & MZ_HAS_CACHE) && e->cache < CLASS_BASE)
		return e->cache;
	return class_number(e);
}

uint32_t mz_kmem_cache_at(uint32_t i)
{
	return i < CLASSES ? CLASS_BASE + i : i - CLASSES;
}

struct mz_kmem_group *mz_kmem_cache_group(const struct mz_kmem_report *r, uint32_t cache)
{
	uint32_t at = cache >= CLASS_BASE ? cache - CLASS_BASE : cache + CLASSES;

	return at < r->ncaches ? &r->caches[at] : NULL;
}

char *mz_kmem_cache_text(const struct mz_kmem_report *r, uint32_t cache, char *buf, size_t size)
{
	static const char *const rest[] = {"kmalloc-large", "pages", "vmalloc", "percpu"};
	const char *name;

	if (cache >= CLASS_BASE) {
		uint32_t n = cache - CLASS_BASE;

		if (!n)
			snprintf(buf, size, "?");
		else if (n > 1024)
			snprintf(buf, size, "%s", n < 1029 ? rest[n - 1025] : "?");
		else if (n * 8 >= 1024 && !(n * 8 % 1024))
			snprintf(buf, size, "kmalloc-%uk", n * 8 / 1024);
		else
			snprintf(buf, size, "kmalloc-%u", n * 8);
		return buf;
	}
	name = mz_kmem_input_cache(r->in, cache);
	return mz_printable(buf, size, name ? name : "?", name ? strlen(name) : 1);
}

/* ---- what is chosen ----------------------------------------------------- */

static bool chosen_site(const struct mz_kmem_report *r, uint32_t site)
{
	char text[256];

	mz_kallsyms_text(mz_kmem_input_symbols(r->in), mz_kmem_input_site(r->in, site), text,
			 sizeof(text));
	return strstr(text, r->filter.caller);
}

static bool chosen(struct mz_kmem_report *r, struct mz_kmem_live *l, uint32_t site, uint32_t cache)
{
	char text[300];

	if (r->filter.cache && strcmp(mz_kmem_cache_text(r, cache, text, sizeof(text)),
				      r->filter.cache))
		return false;
	if (!r->filter.caller)
		return true;
	if (site == NO_SITE)
		return false;
	if (site >= l->cap_chosen) {
		uint32_t to = (site + 1) * 2;
		uint8_t *p = realloc(l->chosen, to);

		if (!p)
			return false;
		memset(p + l->cap_chosen, 0, to - l->cap_chosen);
		l->chosen = p;
		l->cap_chosen = to;
	}
	if (!l->chosen[site])
		l->chosen[site] = chosen_site(r, site) ? 2 : 1;
	return l->chosen[site] == 2;
}

/* ---- findings ----------------------------------------------------------- */

static int find(struct mz_kmem_report *r, struct mz_kmem_finding f)
{
	if (r->nfindings == r->cap_findings) {
		size_t to = r->cap_findings ? r->cap_findings * 2 : 1024;
		struct mz_kmem_finding *p;

		if (r->nfindings >= MAX_FINDINGS) {
			r->findings_dropped++;
			return 0;
		}
		p = realloc(r->findings, to * sizeof(*p));
		if (!p)
			return -ENOMEM;
		r->findings = p;
		r->cap_findings = to;
	}
	r->findings[r->nfindings++] = f;
	return 0;
}

/* ---- single allocations, the worst kept --------------------------------- */

static uint64_t worth(const struct mz_kmem_block *b)
{
	uint64_t waste = b->given > b->req ? b->given - b->req : 0;

	return waste << 32 | b->given;
}

static void sift(struct mz_kmem_one *h, size_t n, size_t i)
{
	for (;;) {
		size_t least = i, c = 2 * i + 1;

		if (c < n && worth(&h[c].block) < worth(&h[least].block))
			least = c;
		if (c + 1 < n && worth(&h[c + 1].block) < worth(&h[least].block))
			least = c + 1;
		if (least == i)
			return;
		struct mz_kmem_one t = h[i];
		h[i] = h[least];
		h[least] = t;
		i = least;
	}
}

static int keep_one(struct mz_kmem_report *r, const struct mz_kmem_block *b, uint64_t died,
		    int16_t cpu)
{
	size_t most = r->filter.ones;
	struct mz_kmem_one one = {*b, died, cpu};

	if (most && r->nones == most) {
		if (worth(b) <= worth(&r->ones[0].block))
			return 0;
		r->ones[0] = one;
		sift(r->ones, r->nones, 0);
		return 0;
	}
	if (r->nones == r->cap_ones) {
		size_t to = r->cap_ones ? r->cap_ones * 2 : 256;
		struct mz_kmem_one *p = realloc(r->ones, to * sizeof(*p));

		if (!p)
			return -ENOMEM;
		r->ones = p;
		r->cap_ones = to;
	}
	r->ones[r->nones++] = one;
	if (most && r->nones == most)
		for (size_t i = most / 2 + 1; i-- > 0;)
			sift(r->ones, r->nones, i);
	return 0;
}

/* ---- shapes: a size at a call site -------------------------------------- */

static uint32_t shape_hash(uint32_t site, uint32_t req)
{
	return (uint32_t)((((uint64_t)site << 32 | req) * 0x9e3779b97f4a7c15u) >> 32);
}

static int grow_shapes(struct mz_kmem_report *r)
{
	size_t mask = r->shapes_mask ? r->shapes_mask * 2 + 1 : 2047;
	struct mz_kmem_shape *p = realloc(r->shapes, (mask / 2 + 1) * sizeof(*p));
	uint32_t *order;

	if (!p)
		return -ENOMEM;
	r->shapes = p;
	order = calloc(mask + 1, sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < r->nshapes; i++) {
		size_t at = shape_hash(p[i].site, p[i].req) & mask;

		while (order[at])
			at = (at + 1) & mask;
		order[at] = (uint32_t)i + 1;
	}
	free(r->order);
	r->order = order;
	r->shapes_mask = mask;
	return 0;
}

static int64_t shape_number(struct mz_kmem_report *r, uint32_t site, uint32_t req, uint32_t given)
{
	size_t at;

	if (r->nshapes >= r->shapes_mask / 2 && grow_shapes(r) < 0)
		return -ENOMEM;
	at = shape_hash(site, req) & r->shapes_mask;
	while (r->order[at]) {
		struct mz_kmem_shape *s = &r->shapes[r->order[at] - 1];

		if (s->site == site && s->req == req && s->given == given)
			return r->order[at] - 1;
		at = (at + 1) & r->shapes_mask;
	}
	r->shapes[r->nshapes] = (struct mz_kmem_shape){.site = site, .req = req, .given = given};
	r->order[at] = (uint32_t)++r->nshapes;
	return (int64_t)r->nshapes - 1;
}

/* ---- events ------------------------------------------------------------- */

static struct mz_kmem_group *site_group(struct mz_kmem_report *r, uint32_t site)
{
	if (site == NO_SITE)
		return NULL;
	if (site >= r->nsites && grow_groups(&r->sites, &r->nsites, site + 1) < 0)
		return NULL;
	return &r->sites[site];
}

static struct mz_kmem_group *cache_group(struct mz_kmem_report *r, uint32_t cache)
{
	/* the unnamed ones have the top of the table to themselves */
	uint32_t at = cache >= CLASS_BASE ? cache - CLASS_BASE : cache + CLASSES;

	if (at >= r->ncaches && grow_groups(&r->caches, &r->ncaches, at + 1) < 0)
		return NULL;
	return &r->caches[at];
}

static void end_unseen(struct mz_kmem_report *r, struct mz_kmem_block *b)
{
	struct mz_kmem_group *s = site_group(r, b->site), *c = cache_group(r, b->cache);

	group_end(&r->total, b);
	r->total.over_live++;
	if (s) {
		group_end(s, b);
		s->over_live++;
	}
	if (c) {
		group_end(c, b);
		c->over_live++;
	}
	if (b->shape != NO_SITE)
		r->shapes[b->shape].live--;
}

static int do_alloc(struct mz_kmem_report *r, const struct mz_event *e)
{
	struct mz_kmem_live *l = r->live;
	uint32_t site = e->has & MZ_HAS_SITE ? e->site : NO_SITE;
	uint32_t cache = cache_number(e);
	uint64_t given = e->has & MZ_HAS_GIVEN ? e->given : e->size;
	struct mz_kmem_group *s, *c;
	struct mz_kmem_block *b;
	bool ours = chosen(r, l, site, cache);
	int64_t shape = NO_SITE;

	s = site_group(r, site);
	c = cache_group(r, cache);
	if ((site != NO_SITE && !s) || !c)
		return -ENOMEM;
	if (!e->addr) {
		if (ours) {
			r->total.failed++;
			c->failed++;
			if (s)
				s->failed++;
		}
		return 0;
	}
	b = mz_kmem_live_get(l, e->addr, e->time);
	if (!b)
		return -ENOMEM;
	if (b->state == KMEM_LIVE) {
		end_unseen(r, b);
		if (find(r, (struct mz_kmem_finding){.what = MZ_KMEM_UNSEEN_FREE, .cpu = e->cpu,
						     .site = b->site, .site2 = site, .cache = b->cache,
						     .cache2 = cache, .addr = e->addr, .from = b->born,
						     .to = e->time}) < 0)
			return -ENOMEM;
	}
	mz_kmem_live_page(l, e->addr, cache, e->time);
	if (ours && e->call == MZ_CALL_KMALLOC && given <= CLASS_LARGE && site != NO_SITE)
		shape = shape_number(r, site, (uint32_t)e->size, (uint32_t)given);
	if (shape < 0)
		return -ENOMEM;
	*b = (struct mz_kmem_block){
		.addr = e->addr,
		.born = e->time,
		.site = site,
		.cache = cache,
		.shape = (uint32_t)shape,
		.req = (uint32_t)(e->size < UINT32_MAX ? e->size : UINT32_MAX),
		.given = (uint32_t)(given < UINT32_MAX ? given : UINT32_MAX),
		.cpu = e->has & MZ_HAS_CPU ? e->cpu : -1,
		.call = e->call,
		.state = ours ? KMEM_LIVE : KMEM_IGNORED,
	};
	if (!ours)
		return 0;
	if (r->filter.watch && r->filter.watch->came(r->filter.watch->arg, b) < 0)
		return -ENOMEM;
	group_alloc(&r->total, b->req, b->given);
	group_alloc(c, b->req, b->given);
	if (s)
		group_alloc(s, b->req, b->given);
	if (shape != NO_SITE) {
		struct mz_kmem_shape *sh = &r->shapes[shape];

		sh->allocs++;
		if (++sh->live > sh->peak)
			sh->peak = sh->live;
	}
	if (e->size > given)
		return find(r, (struct mz_kmem_finding){.what = MZ_KMEM_TOO_SMALL, .cpu = e->cpu,
							.site = site, .site2 = site, .cache = cache,
							.cache2 = cache, .addr = e->addr, .req = b->req,
							.given = b->given, .from = e->time,
							.to = e->time});
	return 0;
}

/* The two CPUs and nodes of a block's life. */
static void cross(struct mz_kmem_report *r, const struct mz_kmem_block *b, const struct mz_event *e,
		  bool *cpu, bool *node)
{
	int na, nf;

	*cpu = *node = false;
	if (b->cpu < 0 || !(e->has & MZ_HAS_CPU) || e->cpu < 0)
		return;
	*cpu = b->cpu != e->cpu;
	mz_kmem_live_matrix(r->live, b->cpu, e->cpu);
	na = mz_kmem_input_node(r->in, b->cpu);
	nf = mz_kmem_input_node(r->in, e->cpu);
	*node = na >= 0 && nf >= 0 && na != nf;
}

/* Does the way of freeing go with the way of allocating? */
static int check_pair(struct mz_kmem_report *r, const struct mz_kmem_block *b,
		      const struct mz_event *e, uint32_t site, uint32_t cache)
{
	struct mz_kmem_finding f = {.cpu = e->cpu, .site = b->site, .site2 = site, .cache = b->cache,
				    .cache2 = cache, .addr = e->addr, .req = b->req,
				    .given = b->given, .from = b->born, .to = e->time};
	bool named = (e->has & MZ_HAS_CACHE) && b->cache < CLASS_BASE;

	if (e->call == MZ_CALL_KMEM_CACHE_FREE && b->call == MZ_CALL_KMALLOC)
		f.what = MZ_KMEM_FREE_KMALLOC;
	else if (e->call == MZ_CALL_KMEM_CACHE_FREE && named && e->cache != b->cache)
		f.what = MZ_KMEM_WRONG_CACHE;
	else if (e->call == MZ_CALL_KFREE && b->call == MZ_CALL_KMEM_CACHE_ALLOC)
		f.what = MZ_KMEM_KFREE_CACHE;
	else
		return 0;
	f.recycled = mz_kmem_live_recycled(r->live, e->addr, b->cache, b->born);
	return find(r, f);
}

static int free_again(struct mz_kmem_report *r, struct mz_kmem_block *b, const struct mz_event *e,
		      uint32_t site, uint32_t cache)
{
	struct mz_kmem_group *c = cache_group(r, b->cache), *g = cache_group(r, cache);
	struct mz_kmem_finding f = {.what = MZ_KMEM_DOUBLE_FREE, .cpu = e->cpu, .site = b->site,
				    .site2 = site, .cache = b->cache, .cache2 = cache,
				    .addr = e->addr, .req = b->req, .given = b->given,
				    .from = b->born, .to = e->time};

	/* what was freed last is given out first: after many allocations of its cache
	 * the block was given out too, only unseen */
	f.recycled = mz_kmem_live_recycled(r->live, e->addr, b->cache, b->born) ||
		     (c && (uint32_t)c->allocs - b->shape > SOON);
	if (c) {
		c->again++;
		b->shape = (uint32_t)c->allocs;
	}
	if (g && g != c)
		g->again++;
	c = site_group(r, site);
	if (c)
		c->again++;
	b->born = e->time;
	b->site = site;
	return find(r, f);
}

static int free_block(struct mz_kmem_report *r, const struct mz_event *e)
{
	uint32_t site = e->has & MZ_HAS_SITE ? e->site : NO_SITE, cache = cache_number(e);
	struct mz_kmem_block *b = mz_kmem_live_find(r->live, e->addr);
	struct mz_kmem_group *s = site_group(r, site), *c;
	bool cross_cpu, cross_node;
	unsigned life;
	int ret;

	if (s)
		s->freed_here++;
	if (b && b->state == KMEM_FREED)
		return free_again(r, b, e, site, cache);
	if (!b || b->state == KMEM_GONE) {
		if (!r->filter.caller && !r->filter.cache) {
			r->unknown_frees++;
			c = cache_group(r, cache);
			if (c)
				c->unknown++;
			if (s)
				s->unknown++;
		}
		return 0;
	}
	if (b->state == KMEM_IGNORED) {
		b->state = KMEM_GONE;
		return 0;
	}
	ret = check_pair(r, b, e, site, cache);
	if (!ret && r->filter.watch)
		ret = r->filter.watch->went(r->filter.watch->arg, b, e);
	cross(r, b, e, &cross_cpu, &cross_node);
	life = bucket(e->time > b->born ? e->time - b->born : 0);
	if (!ret)
		ret = group_free(&r->total, b, life, cross_cpu, cross_node);
	c = cache_group(r, b->cache);
	if (!ret && c)
		ret = group_free(c, b, life, cross_cpu, cross_node);
	s = site_group(r, b->site);
	if (!ret && s)
		ret = group_free(s, b, life, cross_cpu, cross_node);
	if (b->shape != NO_SITE)
		r->shapes[b->shape].live--;
	if (!ret)
		ret = keep_one(r, b, e->time, e->has & MZ_HAS_CPU ? e->cpu : -1);
	b->state = KMEM_FREED;
	b->born = e->time;
	b->site = site;
	b->shape = c ? (uint32_t)c->allocs : 0;
	return ret;
}

static int do_free(struct mz_kmem_report *r, const struct mz_event *e)
{
	int ret = e->addr ? free_block(r, e) : 0;

	/* after the checks, which ask what was known of the page before */
	if (e->addr && (e->has & MZ_HAS_CACHE))
		mz_kmem_live_page(r->live, e->addr, cache_number(e), e->time);
	return ret;
}

static int do_lost(struct mz_kmem_report *r, const struct mz_event *e)
{
	struct mz_kmem_gap *p;

	r->lost[e->arg < MZ_LOSSES ? e->arg : MZ_LOSS_UNKNOWN] += e->size;
	r->lost_all += e->size;
	if (r->ngaps == r->cap_gaps) {
		size_t to = r->cap_gaps ? r->cap_gaps * 2 : 64;

		p = realloc(r->gaps, to * sizeof(*p));
		if (!p)
			return -ENOMEM;
		r->gaps = p;
		r->cap_gaps = to;
	}
	/* it ends with the next event of that CPU, which is not known yet */
	r->gaps[r->ngaps++] = (struct mz_kmem_gap){
		.from = e->time > e->given ? e->time - e->given : 0,
		.to = UINT64_MAX,
		.events = e->size,
		.cause = (uint8_t)e->arg,
		.cpu = e->has & MZ_HAS_CPU ? e->cpu : -1,
	};
	r->live->open_gaps++;
	return 0;
}

static void close_gaps(struct mz_kmem_report *r, const struct mz_event *e)
{
	for (size_t i = r->ngaps; i-- > 0 && r->live->open_gaps;) {
		struct mz_kmem_gap *g = &r->gaps[i];

		if (g->to == UINT64_MAX && (g->cpu < 0 || g->cpu == e->cpu)) {
			g->to = e->time;
			r->live->open_gaps--;
		}
	}
}

static int in_time(const struct mz_kmem_report *r, uint64_t time)
{
	double s;

	if (r->filter.from <= 0 && r->filter.to <= 0)
		return 1;
	s = (double)(time - r->first) / 1e9;
	if (s < r->filter.from)
		return 0;
	return r->filter.to > 0 && s > r->filter.to ? -1 : 1;
}

static int event(struct mz_kmem_report *r, const struct mz_event *e)
{
	if (r->live->open_gaps && e->kind != MZ_LOST)
		close_gaps(r, e);
	if (e->has & MZ_HAS_CPU && e->cpu >= 0 && (unsigned)e->cpu >= r->ncpus &&
	    (unsigned)e->cpu < MAX_CPUS)
		r->ncpus = (unsigned)e->cpu + 1;
	switch (e->kind) {
	case MZ_ALLOC:
		r->events++;
		return do_alloc(r, e);
	case MZ_FREE:
		r->events++;
		return do_free(r, e);
	case MZ_LOST:
		return do_lost(r, e);
	default:
		return 0;
	}
}

/* ---- the end ------------------------------------------------------------ */

static int finish(struct mz_kmem_report *r)
{
	struct mz_kmem_live *l = r->live;

	for (size_t i = 0; i <= l->mask; i++) {
		struct mz_kmem_block *b = &l->slots[i];
		struct mz_kmem_group *g[3];

		if (!b->addr || b->state != KMEM_LIVE)
			continue;
		g[0] = &r->total;
		g[1] = site_group(r, b->site);
		g[2] = cache_group(r, b->cache);
		for (int j = 0; j < 3; j++)
			if (g[j] && (!g[j]->oldest || b->born < g[j]->oldest))
				g[j]->oldest = b->born;
		if (keep_one(r, b, 0, -1) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < r->ngaps; i++)
		if (r->gaps[i].to == UINT64_MAX)
			r->gaps[i].to = r->last;
	return mz_kmem_live_matrices(l, r);
}

static int by_worth(const void *a, const void *b)
{
	const struct mz_kmem_one *x = a, *y = b;
	uint64_t p = worth(&x->block), q = worth(&y->block);

	if (p != q)
		return p > q ? -1 : 1;
	return x->block.born < y->block.born ? -1 : x->block.born > y->block.born;
}

/* The events of a batch; 1 = the rest is later than asked for. */
static int events(struct mz_kmem_report *r, const struct mz_event *ev, long n)
{
	for (long i = 0; i < n; i++) {
		int when = in_time(r, ev[i].time), ret;

		if (i + SOONER < n)
			mz_kmem_live_prefetch(r->live, ev[i + SOONER].addr);
		if (when < 0)
			return 1;
		if (ev[i].time > r->last)
			r->last = ev[i].time;
		ret = when ? event(r, &ev[i]) : 0;
		if (ret < 0)
			return ret;
	}
	return 0;
}

int mz_kmem_report_make(struct mz_kmem_report *r, struct mz_kmem_input *in,
			const struct mz_kmem_filter *filter, struct mz_error *err)
{
	struct mz_event ev[BATCH];
	bool begun = false;
	long got;
	int ret = 0;

	*r = (struct mz_kmem_report){.in = in, .filter = *filter};
	r->live = mz_kmem_live_new();
	if (!r->live || grow_groups(&r->caches, &r->ncaches, CLASSES + 64) < 0)
		ret = -ENOMEM;
	while (!ret && (got = mz_kmem_input_read(in, ev, BATCH, err)) != 0) {
		if (got < 0)
			return (int)got;
		if (!begun)
			r->first = ev[0].time;
		begun = true;
		ret = events(r, ev, got);
	}
	ret = ret < 0 ? ret : 0;
	if (!ret)
		ret = finish(r);
	if (!ret) {
		mz_kmem_classify(r);
		ret = mz_kmem_advise(r);
	}
	if (ret < 0)
		return mz_fail_memory(err);
	if (r->nones)
		qsort(r->ones, r->nones, sizeof(*r->ones), by_worth);
	return 0;
}

static void free_groups(struct mz_kmem_group *g, uint32_t n)
{
	for (uint32_t i = 0; g && i < n; i++)
		free(g[i].lifetimes);
	free(g);
}

void mz_kmem_report_free(struct mz_kmem_report *r)
{
	free_groups(r->sites, r->nsites);
	free_groups(r->caches, r->ncaches);
	free(r->total.lifetimes);
	free(r->cpu_matrix);
	free(r->node_matrix);
	free(r->ones);
	free(r->findings);
	free(r->gaps);
	free(r->shapes);
	free(r->order);
	free(r->advice);
	mz_kmem_live_free(r->live);
	*r = (struct mz_kmem_report){0};
}
