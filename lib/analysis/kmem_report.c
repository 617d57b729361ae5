// SPDX-License-Identifier: BSD-2-Clause
/* Compute the kernel report in one pass: groups, live blocks, matrices, findings. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kmem.h"
#include "analysis/kmem_groups.h"
#include "analysis/kmem_live.h"
#include "base/array.h"
#include "base/error.h"
#include "symbols/kallsyms.h"

#define MAX_CPUS 1024u
#define NO_SITE	 UINT32_MAX
#define SOON	 16 /* allocations of a cache */
#define BATCH	 256
#define SOONER	 8 /* how many events ahead memory is prefetched */

/* ---- names -------------------------------------------------------------- */

/* Caches that have no name in the trace: size classes of kmalloc, by their size,
 * and one for each other allocator. They are numbered after the named ones. */
enum { CLASS_BASE = MZ_KMEM_CLASS, CLASS_LARGE = 8192, CLASSES = 1200 };

/* A kmalloc event names no cache; its size class follows from the bytes given. */
static uint32_t class_number(const struct mz_event *e)
{
	switch (e->call) {
	case MZ_CALL_KMALLOC:
		return CLASS_BASE +
		       (e->given > CLASS_LARGE ? 1025 : (uint32_t)((e->given + 7) / 8));
	case MZ_CALL_PAGE_ALLOC:
	case MZ_CALL_PAGE_FREE: return CLASS_BASE + 1026;
	case MZ_CALL_VMALLOC:
	case MZ_CALL_VFREE: return CLASS_BASE + 1027;
	case MZ_CALL_PERCPU_ALLOC:
	case MZ_CALL_PERCPU_FREE: return CLASS_BASE + 1028;
	default: return CLASS_BASE; /* not known */
	}
}

/* The name of a cache is meaningful for slabs only, so each has one allocator. */
static inline uint32_t cache_number(const struct mz_event *e, uint8_t of)
{
	if ((e->has & MZ_HAS_CACHE) && e->cache < CLASS_BASE && of == MZ_KMEM_OF_SLAB)
		return e->cache;
	return class_number(e);
}

const char *mz_kmem_allocator_name(enum mz_kmem_allocator of)
{
	static const char *const names[] = {"slab", "pages", "vmalloc", "percpu"};

	return (unsigned)of < MZ_KMEM_ALLOCATORS ? names[of] : NULL;
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

/* The decision by caller is kept per site, because looking up a name for every event would
 * dominate the pass. */
static bool is_chosen(struct mz_kmem_report *r, struct mz_kmem_live *l, uint32_t site,
		      uint32_t cache)
{
	char text[300];

	if (r->filter.cache &&
	    strcmp(mz_kmem_cache_text(r, cache, text, sizeof(text)), r->filter.cache))
		return false;
	if (!r->filter.caller)
		return true;
	if (site == NO_SITE)
		return false;
	if (!mz_array_room((void **)&l->chosen, &l->cap_chosen, site, sizeof(*l->chosen)))
		return false;
	if (!l->chosen[site])
		l->chosen[site] = chosen_site(r, site) ? 2 : 1;
	return l->chosen[site] == 2;
}

static inline bool chosen(struct mz_kmem_report *r, uint32_t site, uint32_t cache)
{
	return (!r->filter.caller && !r->filter.cache) || is_chosen(r, r->live, site, cache);
}

/* ---- events ------------------------------------------------------------- */

static inline struct mz_kmem_group *site_group(struct mz_kmem_report *r, uint32_t site)
{
	if (site < r->nsites)
		return &r->sites[site];
	if (site == NO_SITE || mz_kmem_grow_groups(&r->sites, &r->nsites, site + 1) < 0)
		return NULL;
	return &r->sites[site];
}

static inline struct mz_kmem_group *cache_group(struct mz_kmem_report *r, uint32_t cache)
{
	/* unnamed caches come first in the table */
	uint32_t at = cache >= CLASS_BASE ? cache - CLASS_BASE : cache + CLASSES;

	if (at >= r->ncaches && mz_kmem_grow_groups(&r->caches, &r->ncaches, at + 1) < 0)
		return NULL;
	return &r->caches[at];
}

/* The sums over caches are made at the end; what is live has peaks on the way. */
static inline void all_end(struct mz_kmem_report *r, const struct mz_kmem_block *b)
{
	r->total.live--;
	r->total.live_given -= b->given;
	r->live_asked -= b->req;
	r->of[b->of].live--;
	r->of[b->of].live_given -= b->given;
	if (b->shape != NO_SITE)
		r->shapes[b->shape].live--;
}

/* The address was given out again, so the block must have been freed on a path without a
 * tracepoint, or its event was lost. */
static void end_unseen(struct mz_kmem_report *r, struct mz_kmem_block *b)
{
	struct mz_kmem_group *s = site_group(r, b->site), *c = cache_group(r, b->cache);

	all_end(r, b);
	/* a block that was freed twice may also be given out twice, which does not show an unseen
	 * free */
	if (s) {
		kmem_group_end(s, b);
		s->over_live++;
		s->unseen += !b->again;
	}
	if (c) {
		kmem_group_end(c, b);
		c->over_live++;
		c->unseen += !b->again;
	}
}

/* An event that the block does not explain. */
static struct mz_kmem_finding finding_of(const struct mz_kmem_block *b, const struct mz_event *e,
					 uint32_t site, uint32_t cache)
{
	bool freed = b->state == KMEM_FREED;

	return (struct mz_kmem_finding){.cpu = e->cpu,
					.site = freed ? b->freer : b->site,
					.site2 = site,
					.cache = b->cache,
					.cache2 = cache,
					.addr = e->addr,
					.req = b->req,
					.given = b->given,
					.from = freed ? b->freed : b->born,
					.to = e->time};
}

/* A block that is still live is allocated: its free was not seen. */
static int over_live(struct mz_kmem_report *r, struct mz_kmem_block *b, const struct mz_event *e,
		     uint32_t site, uint32_t cache)
{
	struct mz_kmem_finding f = finding_of(b, e, site, cache);

	end_unseen(r, b);
	f.what = MZ_KMEM_UNSEEN_FREE;
	return mz_kmem_find(r, f);
}

/* Most sites request the same few sizes again and again. Shapes that share a place, even if a file
 * chose them to, cost a search each, and no more. */
static inline int64_t shape_of(struct mz_kmem_report *r, uint32_t site, uint32_t req,
			       uint32_t given)
{
	uint64_t hash = ((uint64_t)site << 32 | req) * MZ_HASH_GOLDEN >> 32;
	uint32_t *recent = &r->recent_shapes[hash % MZ_KMEM_RECENT];
	const struct mz_kmem_shape *last = *recent ? &r->shapes[*recent - 1] : NULL;
	int64_t n;

	if (last && last->site == site && last->req == req && last->given == given)
		return *recent - 1;
	n = mz_kmem_shape_number(r, site, req, given);
	if (n >= 0)
		*recent = (uint32_t)n + 1;
	return n;
}

static inline void check_peak(struct mz_kmem_report *r, const struct mz_kmem_block *b)
{
	r->live_asked += b->req;
	if (r->live_asked <= r->peak.bytes)
		return;
	r->peak.bytes = r->live_asked;
	r->peak.blocks = r->total.live;
	r->peak.waste =
		r->total.live_given > r->live_asked ? r->total.live_given - r->live_asked : 0;
	r->peak.event = r->events;
	r->peak.time = b->born;
}

static int count_alloc(struct mz_kmem_report *r, const struct mz_kmem_block *b,
		       struct mz_kmem_group *s, struct mz_kmem_group *c)
{
	if (r->filter.watch && r->filter.watch->came(r->filter.watch->arg, b, r->stack) < 0)
		return -ENOMEM;
	if (b->given > r->largest)
		r->largest = b->given;
	kmem_group_peak(&r->total, b->given);
	check_peak(r, b);
	kmem_group_peak(&r->of[b->of], b->given);
	kmem_group_alloc(c, b->req, b->given);
	if (s) {
		kmem_group_alloc(s, b->req, b->given);
		s->allocator = b->of;
	}
	if (b->shape != NO_SITE) {
		struct mz_kmem_shape *sh = &r->shapes[b->shape];

		sh->allocs++;
		if (++sh->live > sh->peak)
			sh->peak = sh->live;
	}
	return 0;
}

/* The number of the page of a slab's object; notes that the cache uses this page. If there is no
 * memory for the note, less is known, and fewer findings are called bugs. */
static inline uint32_t slab_page(struct mz_kmem_report *r, const struct mz_event *e, uint32_t page,
				 uint32_t cache)
{
	if (!page)
		page = mz_kmem_live_page(r->live, e->addr, true);
	if (page)
		mz_kmem_live_seen(r->live, page, cache, e->time);
	return page;
}

/* Less memory was given than requested. */
static int too_small(struct mz_kmem_report *r, const struct mz_event *e,
		     const struct mz_kmem_block *b)
{
	return mz_kmem_find(r, (struct mz_kmem_finding){.what = MZ_KMEM_TOO_SMALL,
							.cpu = e->cpu,
							.site = b->site,
							.site2 = b->site,
							.cache = b->cache,
							.cache2 = b->cache,
							.addr = e->addr,
							.req = b->req,
							.given = b->given,
							.from = e->time,
							.to = e->time});
}

/* A failed allocation is counted and changes nothing else. */
static inline int do_alloc(struct mz_kmem_report *r, const struct mz_event *e)
{
	uint8_t of = mz_kmem_allocators[e->call];
	uint32_t site = e->has & MZ_HAS_SITE ? e->site : NO_SITE;
	uint32_t cache = cache_number(e, of), page;
	uint64_t given = e->has & MZ_HAS_GIVEN ? e->given : e->size;
	struct mz_kmem_group *s = site_group(r, site), *c = cache_group(r, cache);
	struct mz_kmem_block *b;
	bool ours = chosen(r, site, cache);
	int64_t shape = NO_SITE;

	if ((site != NO_SITE && !s) || !c)
		return -ENOMEM;
	c->allocator = of;
	if (!e->addr) {
		c->failed += ours;
		if (s)
			s->failed += ours;
		return 0;
	}
	b = mz_kmem_live_get(r->live, e->addr, of, e->time);
	if (!b || (b->state == KMEM_LIVE && over_live(r, b, e, site, cache) < 0))
		return -ENOMEM;
	page = b->page;
	if (of == MZ_KMEM_OF_SLAB)
		page = slab_page(r, e, page, cache);
	if (ours && e->call == MZ_CALL_KMALLOC && given <= CLASS_LARGE && s)
		shape = shape_of(r, site, (uint32_t)e->size, (uint32_t)given);
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
		.page = page,
		.cpu = e->has & MZ_HAS_CPU ? e->cpu : -1,
		.call = e->call,
		.of = of,
		.again = b->again,
		.state = ours ? KMEM_LIVE : KMEM_IGNORED,
	};
	if (!ours)
		return 0;
	if (count_alloc(r, b, s, c) < 0)
		return -ENOMEM;
	return e->size > given ? too_small(r, e, b) : 0;
}

/* The two CPUs and nodes of a block's life. */
static inline void cross(struct mz_kmem_report *r, const struct mz_kmem_block *b,
			 const struct mz_event *e, struct mz_kmem_group *s, struct mz_kmem_group *c)
{
	int na, nf;
	bool node;

	if (b->cpu < 0 || !(e->has & MZ_HAS_CPU) || e->cpu < 0)
		return;
	mz_kmem_live_matrix(r->live, (unsigned)b->cpu, (unsigned)e->cpu);
	if (b->cpu == e->cpu)
		return;
	na = mz_kmem_input_node(r->in, b->cpu);
	nf = mz_kmem_input_node(r->in, e->cpu);
	node = na >= 0 && nf >= 0 && na != nf;
	for (int i = 0; i < 2; i++) {
		struct mz_kmem_group *g = i ? s : c;

		if (g) {
			g->cross_cpu++;
			g->cross_node += node;
		}
	}
}

/* The kind of free does not match the kind of allocation. */
static int found_pair(struct mz_kmem_report *r, const struct mz_kmem_block *b,
		      const struct mz_event *e, uint32_t site, uint32_t cache)
{
	struct mz_kmem_finding f = finding_of(b, e, site, cache);

	if (e->call == MZ_CALL_KFREE)
		f.what = MZ_KMEM_KFREE_CACHE;
	else if (b->call == MZ_CALL_KMALLOC)
		f.what = MZ_KMEM_FREE_KMALLOC;
	else
		f.what = MZ_KMEM_WRONG_CACHE;
	f.recycled = mz_kmem_live_recycled(r->live, e->addr, b->cache, b->born);
	return mz_kmem_find(r, f);
}

/* kfree of a cache's object is legal since Linux 6.4, kmem_cache_free of kmalloc memory never
 * was; the classification comes later. */
static inline int check_pair(struct mz_kmem_report *r, const struct mz_kmem_block *b,
			     const struct mz_event *e, uint32_t site, uint32_t cache)
{
	bool fits = true;

	if (e->call == MZ_CALL_KMEM_CACHE_FREE)
		fits = b->call != MZ_CALL_KMALLOC &&
		       (!(e->has & MZ_HAS_CACHE) || b->cache >= CLASS_BASE || e->cache == b->cache);
	else if (e->call == MZ_CALL_KFREE)
		fits = b->call != MZ_CALL_KMEM_CACHE_ALLOC;
	return fits ? 0 : found_pair(r, b, e, site, cache);
}

/* A block freed twice is only a candidate here: whether an unseen allocation explains it is
 * decided when the whole trace is known. */
static int free_again(struct mz_kmem_report *r, struct mz_kmem_block *b, const struct mz_event *e,
		      uint32_t site, uint32_t cache)
{
	struct mz_kmem_group *c = cache_group(r, b->cache), *g = cache_group(r, cache);
	struct mz_kmem_finding f = finding_of(b, e, site, cache);

	f.what = MZ_KMEM_DOUBLE_FREE;
	/* what was freed last is given out first: after many allocations of its cache
	 * the block was given out too, only unseen */
	f.recycled = mz_kmem_live_recycled(r->live, e->addr, b->cache, b->freed) ||
		     (c && (uint32_t)c->allocs - b->cache_allocs > SOON);
	if (c) {
		c->again += !b->again;
		b->cache_allocs = (uint32_t)c->allocs;
	}
	if (g && g != c)
		g->again += !b->again;
	c = site_group(r, site);
	if (c)
		c->again += !b->again;
	b->again = true;
	b->freed = e->time;
	b->freer = site;
	return mz_kmem_find(r, f);
}

/* A free of a block whose allocation was not seen. */
static void free_unknown(struct mz_kmem_report *r, struct mz_kmem_group *s, uint32_t cache)
{
	struct mz_kmem_group *c;

	if (r->filter.caller || r->filter.cache)
		return;
	c = cache_group(r, cache);
	r->unknown_frees++;
	if (c)
		c->unknown++;
	if (s)
		s->unknown++;
}

/* A live block ends normally. */
static inline int free_live(struct mz_kmem_report *r, struct mz_kmem_block *b,
			    const struct mz_event *e, uint32_t site, uint32_t cache)
{
	unsigned life = kmem_bucket(e->time > b->born ? e->time - b->born : 0);
	struct mz_kmem_group *c, *s;
	int ret = check_pair(r, b, e, site, cache);

	if (!ret && r->filter.watch)
		ret = r->filter.watch->went(r->filter.watch->arg, b, e);
	c = cache_group(r, b->cache);
	s = site_group(r, b->site);
	cross(r, b, e, s, c);
	all_end(r, b);
	if (!ret && c)
		ret = kmem_group_free(c, b, life);
	if (!ret && s)
		ret = kmem_group_free(s, b, life);
	if (!ret)
		ret = kmem_keep_one(r, b, e->time, e->has & MZ_HAS_CPU ? e->cpu : -1);
	b->state = KMEM_FREED;
	b->freed = e->time;
	b->freer = site;
	b->cache_allocs = c ? (uint32_t)c->allocs : 0;
	return ret;
}

static inline int do_free(struct mz_kmem_report *r, const struct mz_event *e)
{
	uint8_t of = mz_kmem_allocators[e->call];
	uint32_t site = e->has & MZ_HAS_SITE ? e->site : NO_SITE, cache = cache_number(e, of), page;
	struct mz_kmem_block *b;
	struct mz_kmem_group *s;
	int ret = 0;

	if (!e->addr)
		return 0;
	b = mz_kmem_live_find(r->live, e->addr, of);
	s = site_group(r, site);
	if (s)
		s->freed_here++;
	if (b && b->state == KMEM_LIVE)
		ret = free_live(r, b, e, site, cache);
	else if (b && b->state == KMEM_FREED)
		ret = free_again(r, b, e, site, cache);
	else if (b && b->state == KMEM_IGNORED)
		b->state = KMEM_GONE;
	else
		free_unknown(r, s, cache);
	/* after the checks, which look up what was known about the page before */
	if (e->has & MZ_HAS_CACHE) {
		page = b ? b->page : 0;
		if (!page)
			page = mz_kmem_live_page(r->live, e->addr, true);
		if (page)
			mz_kmem_live_seen(r->live, page, cache, e->time);
	}
	return ret;
}

static int do_lost(struct mz_kmem_report *r, const struct mz_event *e)
{
	r->lost[e->arg < MZ_LOSSES ? e->arg : MZ_LOSS_UNKNOWN] += e->size;
	r->lost_all += e->size;
	if (!mz_array_room((void **)&r->gaps, &r->cap_gaps, r->ngaps, sizeof(*r->gaps)) ||
	    mz_kmem_live_open_gap(r->live, e->has & MZ_HAS_CPU ? e->cpu : -1, r->ngaps) < 0)
		return -ENOMEM;
	/* it ends with the next event of that CPU, which is not known yet */
	r->gaps[r->ngaps++] = (struct mz_kmem_gap){
		.from = e->time > e->given ? e->time - e->given : 0,
		.to = UINT64_MAX,
		.events = e->size,
		.cause = (uint8_t)e->arg,
		.cpu = e->has & MZ_HAS_CPU ? e->cpu : -1,
	};
	return 0;
}

/* A CPU may be silent to the end, with any number of gaps: those are not looked at. */
static void close_gaps(struct mz_kmem_report *r, const struct mz_event *e)
{
	for (size_t i = mz_kmem_live_take_gaps(r->live, -1); i; i = r->live->older[i - 1])
		r->gaps[i - 1].to = e->time;
	for (size_t i = e->cpu < 0 ? 0 : mz_kmem_live_take_gaps(r->live, e->cpu); i;
	     i = r->live->older[i - 1])
		r->gaps[i - 1].to = e->time;
}

static int in_time(const struct mz_kmem_report *r, uint64_t time)
{
	const struct mz_time_range *t = &r->filter.time;

	if (time < t->from)
		return 0;
	return t->to && time > t->to ? -1 : 1;
}

static int event(struct mz_kmem_report *r, const struct mz_event *e)
{
	if (r->live->open_gaps && e->kind != MZ_LOST)
		close_gaps(r, e);
	/* a negative one is a large one here */
	if ((unsigned)e->cpu >= r->ncpus && (unsigned)e->cpu < MAX_CPUS && e->has & MZ_HAS_CPU)
		r->ncpus = (unsigned)e->cpu + 1;
	switch (e->kind) {
	case MZ_ALLOC: r->events++; return do_alloc(r, e);
	case MZ_FREE: r->events++; return do_free(r, e);
	case MZ_LOST: return do_lost(r, e);
	default: return 0;
	}
}

/* ---- the end ------------------------------------------------------------ */

static int finish(struct mz_kmem_report *r)
{
	struct mz_kmem_live *l = r->live;
	const struct mz_kmem_block *b;
	size_t at = 0;

	if (mz_kmem_sum_up(r) < 0)
		return -ENOMEM;
	while ((b = mz_kmem_live_next(l, &at))) {
		struct mz_kmem_group *g[3];

		if (b->state != KMEM_LIVE)
			continue;
		g[0] = &r->total;
		g[1] = site_group(r, b->site);
		g[2] = cache_group(r, b->cache);
		for (int j = 0; j < 3; j++)
			if (g[j] && (!g[j]->oldest || b->born < g[j]->oldest))
				g[j]->oldest = b->born;
		if (kmem_keep_one(r, b, 0, -1) < 0)
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
	uint64_t p = kmem_worth(&x->block), q = kmem_worth(&y->block);

	return MZ_ORDER(q, p) ?: MZ_ORDER(x->block.born, y->block.born);
}

/* The events of a batch; 1 = the rest is later than the requested interval. */
static int events(struct mz_kmem_report *r, const struct mz_event **ev, const uint32_t *stacks,
		  long n)
{
	bool all = r->filter.time.from <= r->first && !r->filter.time.to;

	for (long i = 0; i < n; i++) {
		const struct mz_event *e = ev[i];
		int when = all ? 1 : in_time(r, e->time), ret;

		if (i + SOONER < n)
			mz_kmem_live_prefetch(r->live, ev[i + SOONER]->addr,
					      mz_kmem_allocators[ev[i + SOONER]->call]);
		if (when < 0)
			return 1;
		if (e->time > r->last)
			r->last = e->time;
		r->stack = stacks[i];
		ret = when ? event(r, e) : 0;
		if (ret < 0)
			return ret;
	}
	return 0;
}

int mz_kmem_report_make(struct mz_kmem_report *r, struct mz_kmem_input *in,
			const struct mz_kmem_filter *filter, struct mz_error *err)
{
	const struct mz_event *ev[BATCH];
	uint32_t stacks[BATCH];
	bool begun = false;
	long got;
	int ret = 0;

	*r = (struct mz_kmem_report){.in = in, .filter = *filter};
	r->live = mz_kmem_live_new();
	if (!r->live || mz_kmem_grow_groups(&r->caches, &r->ncaches, CLASSES + 64) < 0)
		ret = -ENOMEM;
	while (!ret && (got = mz_kmem_input_read(in, ev, stacks, BATCH, err)) != 0) {
		if (got < 0)
			return (int)got;
		if (!begun) {
			r->first = ev[0]->time;
			r->filter.time = mz_time_range_at(&filter->time, r->first);
		}
		begun = true;
		ret = events(r, ev, stacks, got);
	}
	ret = ret < 0 ? ret : finish(r);
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
	for (int i = 0; i < MZ_KMEM_ALLOCATORS; i++)
		free(r->of[i].lifetimes);
	free(r->cpu_matrix);
	free(r->node_matrix);
	free(r->ones);
	free(r->findings);
	free(r->gaps);
	free(r->shapes);
	mz_pair_index_deinit(&r->shape_index);
	free(r->advice);
	mz_kmem_live_free(r->live);
	*r = (struct mz_kmem_report){0};
}
