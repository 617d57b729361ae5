// SPDX-License-Identifier: BSD-2-Clause
/* Read the files of a kernel trace merged by time. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/kmem.h"
#include "analysis/kmem_readahead.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/merge.h"
#include "base/pair_index.h"
#include "base/regular.h"
#include "formats/kmemtrace.h"
#include "symbols/kallsyms.h"
#include "symbols/symbols.h"
#include "trace/reader.h"

#define MAX_THREADS 32 /* of more files the rest is decoded when it is needed */

struct source {
	char *path;
	struct mz_reader *r;
	struct kmem_ahead *ahead; /* once it is being read */
	struct mz_event *ev;
	const uint64_t *orders; /* of those, if the file has them */
	uint32_t *stack_of;	/* of those, our numbers of their stacks; NULL = not wanted */
	long n, at;
	bool ended;
	uint64_t key;			   /* order of the next event; UINT64_MAX = at its end */
	int cpu;			   /* by the file's name; -1 = not told */
	uint32_t *sites, *caches, *stacks; /* file number -> merged number */
	uint32_t nsites, ncaches, nstacks;
	size_t cap_sites, cap_caches, cap_stacks;
};

struct mz_kmem_input {
	struct source *src;
	unsigned n;
	struct mz_merge merge; /* of the sources, while all that have not ended have events */
	bool ready;	       /* they have */
	bool whole;	       /* all files of a recording, with numbered events: a gap is a loss */
	bool begun;
	struct mz_event lost; /* a gap, told as an event */
	uint64_t last;	      /* number of the last event */
	uint64_t last_time;
	uint64_t missing;	    /* by the gaps so far */
	uint64_t overruns;	    /* as the recorder counted them */
	struct mz_pair_index sites; /* addresses */
	struct mz_tables *names;    /* caches: our number is the string's - 1 */
	struct mz_tables *stacks;   /* NULL = not wanted */
	struct mz_kallsyms *syms;
	struct mz_symbols *files; /* System.map beside the trace; NULL = none */
	int *nodes;
	int nnodes;
	char *base; /* the folder of the first file */
	bool by_sequence;
	unsigned cut;
	unsigned flags; /* enum mz_open_flags, of all files */
};

/* ---- opening ------------------------------------------------------------ */

/* "…/cpu7.out" or "…/cpu7.out.part": 7 */
static int cpu_of(const char *path)
{
	const char *base = strrchr(path, '/');
	int cpu, end = 0;

	base = base ? base + 1 : path;
	if (sscanf(base, "cpu%d.out%n", &cpu, &end) == 1 && end && cpu >= 0 && cpu < 32768 &&
	    (!base[end] || !strcmp(base + end, ".part")))
		return cpu;
	return -1;
}

/* Takes over the reader, in failure too. */
static int add_reader(struct mz_kmem_input *in, struct mz_reader *r, const char *path,
		      struct mz_error *err)
{
	struct source *p = realloc(in->src, (in->n + 1) * sizeof(*p));

	if (!p) {
		mz_reader_close(r);
		return mz_fail_memory(err);
	}
	in->src = p;
	p[in->n] = (struct source){.path = strdup(path), .cpu = cpu_of(path), .r = r};
	r->unnamed = true;
	return p[in->n++].path ? 0 : mz_fail_memory(err);
}

static int add_file(struct mz_kmem_input *in, const char *path, struct mz_error *err)
{
	struct mz_reader *r = mz_reader_open_with(path, in->flags, err);

	return r ? add_reader(in, r, path, err) : -(err && err->code ? err->code : EIO);
}

static int by_cpu(const struct dirent **a, const struct dirent **b)
{
	return cpu_of((*a)->d_name) - cpu_of((*b)->d_name);
}

static int is_trace(const struct dirent *d)
{
	return cpu_of(d->d_name) >= 0;
}

/* cpu0.out.part beside cpu0.out is what an earlier, stopped recording left */
static bool has_whole(struct dirent **list, int n, const char *name)
{
	size_t len = strlen(name);

	if (len < 5 || strcmp(name + len - 5, ".part"))
		return false;
	for (int i = 0; i < n; i++)
		if (strlen(list[i]->d_name) == len - 5 && !strncmp(list[i]->d_name, name, len - 5))
			return true;
	return false;
}

static int add_dir(struct mz_kmem_input *in, const char *dir, struct mz_error *err)
{
	struct dirent **list;
	int n = scandir(dir, &list, is_trace, by_cpu), ret = 0;

	if (n < 0)
		return mz_fail(err, errno, "%s: cannot read the folder: %s", dir, strerror(errno));
	for (int i = 0; i < n; i++) {
		char path[4096];

		struct stat st;

		snprintf(path, sizeof(path), "%s/%s", dir, list[i]->d_name);
		/* a CPU that did nothing has an empty file, which has no format */
		if (!ret && !has_whole(list, n, list[i]->d_name) && (stat(path, &st) || st.st_size))
			ret = add_file(in, path, err);
	}
	for (int i = 0; i < n; i++)
		free(list[i]);
	free(list);
	if (!ret && !in->n)
		ret = mz_fail(
			err, ENOENT,
			"%s: contains no cpuN.out file%s; kmemtraced -o creates such a folder", dir,
			n ? " with events" : "");
	in->whole = true;
	return ret;
}

static void set_node(struct mz_kmem_input *in, int cpu, int node)
{
	if (cpu < 0 || cpu >= 32768 || node < 0 || node >= 1024)
		return;
	if (cpu >= in->nnodes) {
		int *p = realloc(in->nodes, (size_t)(cpu + 1) * sizeof(*p));

		if (!p)
			return;
		in->nodes = p;
		for (int i = in->nnodes; i <= cpu; i++)
			in->nodes[i] = -1;
		in->nnodes = cpu + 1;
	}
	in->nodes[cpu] = node;
}

/* From the recording machine: the file beside the traces, else the traces. */
static void load_nodes(struct mz_kmem_input *in)
{
	char path[4200];
	FILE *f;
	int cpu, node;

	for (unsigned i = 0; i < in->n; i++)
		for (size_t a = 0; a < mz_reader_attrs(in->src[i].r); a++) {
			const struct mz_attr *at = mz_reader_attr(in->src[i].r, a);

			if (at && at->type == MZ_ATTR_NUMBER &&
			    sscanf(at->key, "node.%d", &cpu) == 1 && at->number < 1024)
				set_node(in, cpu, (int)at->number);
		}
	snprintf(path, sizeof(path), "%s/nodes", in->base);
	f = mz_fopen_regular(path);
	while (f && fscanf(f, "%d %d", &cpu, &node) == 2)
		set_node(in, cpu, node);
	if (f)
		fclose(f);
}

/* What the files say themselves, each of its own call sites: it is less to read
 * than all of the kernel's functions. all: only if every file does. */
static bool load_own_symbols(struct mz_kmem_input *in, bool all)
{
	struct mz_buf b = {0};

	for (unsigned i = 0; i < in->n && !b.failed; i++) {
		const struct mz_attr *a = mz_reader_find_attr(in->src[i].r, "kallsyms");

		if (a && a->type == MZ_ATTR_BYTES)
			mz_buf_add(&b, a->data, a->size);
		else
			b.failed |= all;
	}
	if (b.len && !b.failed)
		in->syms = mz_kallsyms_parse(b.data, b.len, in->src[0].path, NULL);
	mz_buf_free(&b);
	return in->syms;
}

/* What the recorder counted as lost; it may have been after the last event. */
static void load_overruns(struct mz_kmem_input *in)
{
	char path[4200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/total_overruns", in->base);
	f = mz_fopen_regular(path);
	if (f && fscanf(f, "%" SCNu64, &in->overruns) != 1)
		in->overruns = 0;
	if (f)
		fclose(f);
}

static void load_clock(struct mz_kmem_input *in, struct mz_reader *r)
{
	const struct mz_attr *clock = mz_reader_find_attr(r, "clock");

	if (mz_reader_format(r) == MZ_FORMAT_KMEMTRACE_C && !mz_kmemtrace_timed(r))
		in->by_sequence = true;
	if (clock && clock->type == MZ_ATTR_TEXT && !strcmp(clock->data, "sequence"))
		in->by_sequence = true;
	/* the original gave no number to what it lost: there a gap means nothing */
	if (!r->ordered || !mz_kmemtrace_timed(r))
		in->whole = false;
}

/* The kernel's System.map, perhaps with source files (scripts/kernel-files). */
static int load_files(struct mz_kmem_input *in, struct mz_error *err)
{
	char list[4200], map[4200];
	struct mz_symbols_kernel from = {.map = map};

	snprintf(list, sizeof(list), "%s/kallsyms", in->base);
	snprintf(map, sizeof(map), "%s/System.map", in->base);
	if (access(map, F_OK))
		return 0;
	if (!access(list, F_OK)) /* the kernel may have been moved */
		from.kallsyms = list;
	in->files = mz_symbols_open_kernel(&from, err);
	return in->files ? 0 : -EINVAL;
}

static int load_beside(struct mz_kmem_input *in, struct mz_error *err)
{
	char path[4200];
	struct stat st;
	const char *slash = strrchr(in->src[0].path, '/');

	in->base =
		slash ? strndup(in->src[0].path, (size_t)(slash - in->src[0].path)) : strdup(".");
	if (!in->base)
		return mz_fail_memory(err);
	snprintf(path, sizeof(path), "%s/kallsyms", in->base);
	if (!load_own_symbols(in, true) && !stat(path, &st)) {
		in->syms = mz_kallsyms_load(path, err);
		if (!in->syms)
			return -EINVAL;
	} else if (!in->syms) {
		load_own_symbols(in, false);
	}
	if (load_files(in, err) < 0)
		return -EINVAL;
	load_nodes(in);
	for (unsigned i = 0; i < in->n; i++) {
		struct mz_summary s = {.size = sizeof(s)};

		if (!mz_reader_summary(in->src[i].r, &s) && !s.whole)
			in->cut++;
		load_clock(in, in->src[i].r);
	}
	if (in->whole)
		load_overruns(in);
	return 0;
}

static struct mz_kmem_input *new_input(struct mz_error *err)
{
	struct mz_kmem_input *in = calloc(1, sizeof(*in));

	if (!in) {
		mz_fail_memory(err);
		return NULL;
	}
	in->names = mz_tables_new();
	if (in->names)
		return in;
	mz_fail_memory(err);
	mz_kmem_input_close(in);
	return NULL;
}

/* ret: of adding the files. */
static struct mz_kmem_input *opened(struct mz_kmem_input *in, int ret, struct mz_error *err)
{
	if (!ret)
		ret = load_beside(in, err);
	if (!ret)
		return in;
	mz_kmem_input_close(in);
	return NULL;
}

struct mz_kmem_input *mz_kmem_input_open(char **paths, int n, unsigned flags, struct mz_error *err)
{
	struct mz_kmem_input *in = new_input(err);
	int ret = 0;

	if (!in)
		return NULL;
	in->flags = flags;
	for (int i = 0; i < n && !ret; i++) {
		struct stat st;

		ret = !stat(paths[i], &st) && S_ISDIR(st.st_mode) ? add_dir(in, paths[i], err)
								  : add_file(in, paths[i], err);
	}
	return opened(in, ret, err);
}

struct mz_kmem_input *mz_kmem_input_of(struct mz_reader *r, const char *path, struct mz_error *err)
{
	struct mz_kmem_input *in = new_input(err);

	if (!in) {
		mz_reader_close(r);
		return NULL;
	}
	return opened(in, add_reader(in, r, path, err), err);
}

void mz_kmem_input_close(struct mz_kmem_input *in)
{
	if (!in)
		return;
	for (unsigned i = 0; i < in->n; i++) {
		kmem_ahead_free(in->src[i].ahead);
		mz_reader_close(in->src[i].r);
		free(in->src[i].path);
		free(in->src[i].sites);
		free(in->src[i].caches);
		free(in->src[i].stacks);
		free(in->src[i].stack_of);
	}
	free(in->src);
	mz_pair_index_deinit(&in->sites);
	mz_merge_deinit(&in->merge);
	mz_tables_free(in->names);
	mz_tables_free(in->stacks);
	mz_kallsyms_free(in->syms);
	mz_symbols_close(in->files);
	free(in->nodes);
	free(in->base);
	free(in);
}

/* ---- numbers over all files --------------------------------------------- */

static int64_t site_number(struct mz_kmem_input *in, uint64_t addr)
{
	uint32_t n = mz_pair_index_put(&in->sites, addr, 0);

	return n == MZ_PAIR_INDEX_NONE ? -ENOMEM : (int64_t)n;
}

/* The next number of a file corresponds to this merged number. */
static int append(uint32_t **table, uint32_t *n, size_t *cap, uint32_t ours)
{
	if (!mz_array_room((void **)table, cap, *n, sizeof(**table)))
		return -ENOMEM;
	(*table)[(*n)++] = ours;
	return 0;
}

static int add_site(struct mz_kmem_input *in, struct source *s, uint64_t addr)
{
	int64_t n = site_number(in, addr);

	return n < 0 ? -ENOMEM : append(&s->sites, &s->nsites, &s->cap_sites, (uint32_t)n);
}

static int add_cache(struct mz_kmem_input *in, struct source *s, const char *name)
{
	uint32_t n = mz_tables_string(in->names, name, strlen(name));

	return !n ? -ENOMEM : append(&s->caches, &s->ncaches, &s->cap_caches, n - 1);
}

/* The stacks of a batch's new sites, as they stand in it. One address is no more
 * than the site. */
static int add_stacks(struct mz_kmem_input *in, struct source *s, const struct kmem_batch *b)
{
	for (uint32_t at = 0; at < b->nstacks;) {
		size_t depth = b->stacks[at++];
		uint32_t n = depth > 1 ? mz_tables_stack(in->stacks, &b->stacks[at], depth) : 0;

		if ((depth > 1 && !n) || append(&s->stacks, &s->nstacks, &s->cap_stacks, n) < 0)
			return -ENOMEM;
		at += (uint32_t)depth;
	}
	return 0;
}

/* Our number of the whole stack of an allocation or a free, before its site is translated. */
static inline uint32_t stack_number(const struct source *s, const struct mz_event *e)
{
	bool known = (e->kind == MZ_ALLOC || e->kind == MZ_FREE) && e->has & MZ_HAS_SITE &&
		     e->site < s->nstacks;

	return known ? s->stacks[e->site] : 0;
}

/* Our numbers for the file's, and the CPU that the file's name tells. */
static inline void translate(const struct source *s, struct mz_event *e)
{
	/* a number that the file's tables do not have is unknown, not a size */
	if (e->site >= s->nsites)
		e->has &= (uint16_t)~MZ_HAS_SITE;
	if (e->cache >= s->ncaches)
		e->has &= (uint16_t)~MZ_HAS_CACHE;
	if (e->has & MZ_HAS_SITE)
		e->site = s->sites[e->site];
	if (e->has & MZ_HAS_CACHE)
		e->cache = s->caches[e->cache];
	if (!(e->has & MZ_HAS_CPU) && s->cpu >= 0 && e->kind != MZ_LOST) {
		e->cpu = (int16_t)s->cpu;
		e->has |= MZ_HAS_CPU;
	}
}

/* ---- reading ------------------------------------------------------------ */

/* What orders the next event: its number if it has one, else its time. */
static void set_key(struct source *s)
{
	if (s->at >= s->n)
		s->key = UINT64_MAX;
	else
		s->key = s->r->ordered ? s->orders[s->at] : s->ev[s->at].time;
}

static int start(struct mz_kmem_input *in, struct source *s)
{
	s->ahead = kmem_ahead_new(s->r, in->syms, s - in->src < MAX_THREADS, in->stacks != NULL);
	/* the number 0 is none of the tables' */
	if (in->stacks && append(&s->stacks, &s->nstacks, &s->cap_stacks, 0) < 0)
		return -ENOMEM;
	if (in->stacks)
		s->stack_of = malloc(MZ_BATCH * sizeof(*s->stack_of));
	if (in->stacks && !s->stack_of)
		return -ENOMEM;
	return !s->ahead || add_site(in, s, 0) < 0 || add_cache(in, s, "") < 0 ? -ENOMEM : 0;
}

static int refill(struct mz_kmem_input *in, struct source *s, struct mz_error *err)
{
	struct kmem_batch *b;
	int ret = s->ahead ? 0 : start(in, s);

	if (ret < 0)
		return mz_fail_memory(err);
	b = kmem_ahead_next(s->ahead);
	s->ev = b->ev;
	s->orders = b->orders;
	s->at = 0;
	s->n = b->n;
	s->ended = b->n <= 0;
	if (b->n == -ENOMEM)
		return mz_fail_memory(err);
	if (b->n < 0) {
		if (err)
			*err = *mz_reader_error(s->r);
		return (int)b->n;
	}
	for (uint32_t i = 0; i < b->nsites && ret >= 0; i++)
		ret = add_site(in, s, b->sites[i]);
	for (uint32_t i = 0; i < b->ncaches && ret >= 0; i++)
		ret = add_cache(in, s, b->caches[i]);
	if (ret >= 0)
		ret = add_stacks(in, s, b);
	if (ret < 0)
		return mz_fail_memory(err);
	for (long i = 0; i < s->n; i++) {
		if (s->stack_of)
			s->stack_of[i] = stack_number(s, &s->ev[i]);
		translate(s, &s->ev[i]);
	}
	set_key(s);
	return 0;
}

/* All sources that have events, in the order of these. */
static void line_up(struct mz_kmem_input *in)
{
	mz_merge_clear(&in->merge);
	for (unsigned i = 0; i < in->n; i++)
		if (in->src[i].at < in->src[i].n)
			mz_merge_add(&in->merge, i, i, in->src[i].key);
}

/* Events are missing up to time. */
static void say_lost(struct mz_kmem_input *in, uint64_t n, uint64_t time, struct mz_event *ev)
{
	*ev = (struct mz_event){
		.kind = MZ_LOST,
		.call = MZ_CALL_LOST,
		.time = time,
		.size = n,
		.arg = MZ_LOSS_RING_FULL,
		.given = time > in->last_time ? time - in->last_time : 0,
		.has = MZ_HAS_TIME,
	};
	in->missing += n;
}

/* Dropped events took their numbers: is there a gap before the next event? */
static bool gap_before(struct mz_kmem_input *in, const struct source *s, struct mz_event *ev)
{
	uint64_t last = in->last, time = s->ev[s->at].time;
	bool gap = in->begun && s->key > last + 1;

	in->begun = true;
	if (gap) {
		say_lost(in, s->key - last - 1, time, ev);
		in->last = s->key - 1;
		return true;
	}
	in->last = s->key;
	in->last_time = time;
	return false;
}

/* What was lost after the last event has no gap to show. */
static int lost_at_end(struct mz_kmem_input *in, struct mz_event *ev)
{
	if (!in->whole || in->overruns <= in->missing)
		return 0;
	say_lost(in, in->overruns - in->missing, in->last_time, ev);
	return 1;
}

/* Batches for all that have none, and the first to go: 1, or 0 at the end. What was
 * taken of the batches before is gone. */
static int prepare(struct mz_kmem_input *in, struct mz_error *err)
{
	for (unsigned i = 0; i < in->n; i++)
		if (!in->src[i].ahead && start(in, &in->src[i]) < 0)
			return mz_fail_memory(err); /* all at once */
	for (unsigned i = 0; i < in->n; i++) {
		struct source *s = &in->src[i];

		if (s->at >= s->n && !s->ended && refill(in, s, err) < 0)
			return -EIO;
	}
	line_up(in);
	in->ready = in->merge.n;
	return in->ready;
}

/* The next event of the batches at hand, and the number of its stack. */
static inline const struct mz_event *take(struct mz_kmem_input *in, uint32_t *stack)
{
	struct source *s = &in->src[in->merge.heap[0].number];
	const struct mz_event *e = &s->ev[s->at];

	*stack = 0;
	if (in->whole && gap_before(in, s, &in->lost))
		return &in->lost;
	if (s->stack_of)
		*stack = s->stack_of[s->at];
	if (++s->at >= s->n) {
		in->ready = false;
	} else {
		s->key = s->r->ordered ? s->orders[s->at] : e[1].time;
		if (s->key > mz_merge_second(&in->merge))
			mz_merge_set(&in->merge, s->key);
	}
	return e;
}

long mz_kmem_input_read(struct mz_kmem_input *in, const struct mz_event **ev, uint32_t *stacks,
			size_t max, struct mz_error *err)
{
	size_t n = 0;

	if (!in->ready) {
		int ret = in->merge.heap || !mz_merge_init(&in->merge, in->n) ? prepare(in, err)
									      : mz_fail_memory(err);

		ev[0] = &in->lost;
		stacks[0] = 0;
		if (ret <= 0)
			return ret < 0 ? ret : lost_at_end(in, &in->lost);
	}
	while (n < max && in->ready) {
		ev[n] = take(in, &stacks[n]);
		if (ev[n++] == &in->lost)
			break;
	}
	return (long)n;
}

int mz_kmem_input_next(struct mz_kmem_input *in, struct mz_event *ev, uint32_t *stack,
		       struct mz_error *err)
{
	const struct mz_event *e;
	long n = mz_kmem_input_read(in, &e, stack, 1, err);

	if (n > 0)
		*ev = *e;
	return (int)n;
}

/* ---- asking ------------------------------------------------------------- */

int mz_kmem_input_keep_stacks(struct mz_kmem_input *in)
{
	if (!in->stacks)
		in->stacks = mz_tables_new();
	return in->stacks ? 0 : -ENOMEM;
}

const uint64_t *mz_kmem_input_stack(const struct mz_kmem_input *in, uint32_t stack, size_t *depth)
{
	*depth = 0;
	return in->stacks ? mz_tables_get_stack(in->stacks, stack, depth) : NULL;
}

uint64_t mz_kmem_input_site(const struct mz_kmem_input *in, uint32_t site)
{
	return site < in->sites.count ? in->sites.keys[site].a : 0;
}

const char *mz_kmem_input_cache(const struct mz_kmem_input *in, uint32_t cache)
{
	return mz_tables_get_string(in->names, cache + 1, NULL);
}

uint32_t mz_kmem_input_sites(const struct mz_kmem_input *in)
{
	return (uint32_t)in->sites.count;
}

uint32_t mz_kmem_input_caches(const struct mz_kmem_input *in)
{
	return mz_tables_strings(in->names);
}

const struct mz_kallsyms *mz_kmem_input_symbols(const struct mz_kmem_input *in)
{
	return in->syms;
}

const char *mz_kmem_input_file(const struct mz_kmem_input *in, uint32_t site)
{
	struct mz_symbol s;

	return in->files && mz_symbols_find(in->files, mz_kmem_input_site(in, site), &s) ? s.home
											 : NULL;
}

bool mz_kmem_input_has_files(const struct mz_kmem_input *in)
{
	return in->files && mz_symbols_has_lines(in->files);
}

int mz_kmem_input_node(const struct mz_kmem_input *in, int cpu)
{
	return cpu >= 0 && cpu < in->nnodes ? in->nodes[cpu] : -1;
}

uint64_t mz_kmem_input_sum(const struct mz_kmem_input *in, const char *key)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < in->n; i++) {
		const struct mz_attr *a = mz_reader_find_attr(in->src[i].r, key);

		sum += a && a->type == MZ_ATTR_NUMBER ? a->number : 0;
	}
	return sum;
}

const char *mz_kmem_input_text(const struct mz_kmem_input *in, const char *key)
{
	const struct mz_attr *a = mz_reader_find_attr(in->src[0].r, key);

	return a && a->type == MZ_ATTR_TEXT ? a->data : NULL;
}

bool mz_kmem_input_by_sequence(const struct mz_kmem_input *in)
{
	return in->by_sequence;
}

bool mz_kmem_input_numbered(const struct mz_kmem_input *in)
{
	return in->whole;
}

unsigned mz_kmem_input_files(const struct mz_kmem_input *in)
{
	return in->n;
}

struct mz_reader *mz_kmem_input_reader(const struct mz_kmem_input *in, unsigned i)
{
	return i < in->n ? in->src[i].r : NULL;
}

unsigned mz_kmem_input_cut(const struct mz_kmem_input *in)
{
	return in->cut;
}
