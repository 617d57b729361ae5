// SPDX-License-Identifier: BSD-2-Clause
/* Load and attach the BPF programs, and read their counters. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "record/kmem_private.h"

#include "kmemtrace.skel.h" /* needs the types of the header before it */
#include "symbols/kallsyms.h"

uint64_t kmem_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t power_of_two(uint64_t v, uint32_t most)
{
	uint32_t p = 64;

	while (p < v && p < most)
		p *= 2;
	return p;
}

/* --cache kmalloc-64, kmalloc-cg-2k: the size of the class; 0 = a cache's name */
static uint32_t kmalloc_class(const char *name)
{
	const char *digits;
	char *end;
	unsigned long n;

	if (strncmp(name, "kmalloc-", 8))
		return 0;
	digits = strrchr(name, '-') + 1;
	n = strtoul(digits, &end, 10);
	if (*end == 'k')
		n *= 1024;
	else if (*end)
		return 0;
	return (uint32_t)n;
}

/* Options are constants of the BPF programs: the verifier removes the code that they disable, so
 * unused options cost nothing. */
static int set_options(struct mz_kmem *k, struct mz_error *err)
{
	struct kmemtrace__rodata *ro = k->skel->rodata;
	const struct mz_kmem_options *o = &k->o;

	ro->cfg_ncpus = k->ncpus;
	ro->cfg_ring = k->ring;
	ro->cfg_small = k->small;
	ro->cfg_own = (uint32_t)getpid();
	ro->cfg_pid = o->pid;
	ro->cfg_cgroup = o->cgroup;
	ro->cfg_sample = o->sample > 1 ? UINT32_MAX / o->sample : UINT32_MAX;
	ro->cfg_rescue = o->rescue;
	ro->cfg_stacks = o->stacks;
	ro->cfg_summary = o->summary;
	ro->cfg_live = o->live_blocks != 0;
	ro->cfg_sums = k->sums;
	ro->cfg_page_shift = (uint32_t)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
#if defined(__x86_64__) || defined(__i386__)
	ro->cfg_ordered = true;
#endif
	ro->cfg_track = o->pid || o->cgroup || o->cache;
	ro->cfg_track_bits = ro->cfg_track ? 20 : 0;
	if (o->cache) {
		ro->cfg_class = kmalloc_class(o->cache);
		ro->cfg_by_cache = !ro->cfg_class;
		if (strlen(o->cache) >= KMT_NAME)
			return mz_fail(err, EINVAL, "--cache: no cache has a name of %zu bytes",
				       strlen(o->cache));
		memcpy((char *)ro->cfg_cache, o->cache, strlen(o->cache));
	}
	return 0;
}

/* Maps that the options do not need shrink to one entry; their memory is allocated when the
 * programs are loaded. */
static void set_sizes(struct mz_kmem *k)
{
	struct kmemtrace *s = k->skel;
	uint32_t n = k->ncpus;

	bpf_map__set_max_entries(s->maps.cpus, n);
	bpf_map__set_max_entries(s->maps.rings, n * (k->ring + (KMT_LEVELS - 1) * k->small));
	bpf_map__set_max_entries(s->maps.caches, n * KMT_CACHES);
	bpf_map__set_max_entries(s->maps.seen, n * KMT_CACHES);
	bpf_map__set_max_entries(s->maps.sums, k->o.summary ? n * KMT_LEVELS * k->sums : 1);
	bpf_map__set_max_entries(s->maps.live, k->o.live_blocks ? k->o.live_blocks : 1);
	bpf_map__set_max_entries(s->maps.own_blocks, KMT_OWN_BUCKETS);
	bpf_map__set_max_entries(s->maps.track, 1u << s->rodata->cfg_track_bits);
	bpf_map__set_max_entries(
		s->maps.stacks,
		k->o.stacks || (k->o.groups & ~(unsigned)MZ_KMEM_SLAB) ? KMEM_STACKS : 1);
}

/* libbpf's messages are discarded: ours say what to do. */
static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level, (void)fmt, (void)ap;
	return 0;
}

/* EACCES means a missing privilege only for ordinary users: root gets it from the verifier. */
static int load_failed(int ret, struct mz_error *err)
{
	if (ret == -EPERM || (ret == -EACCES && geteuid()))
		return mz_fail(
			err, EPERM,
			"the kernel refuses to load BPF programs: root is needed (or CAP_BPF, "
			"CAP_PERFMON); run it with sudo, and see 'memorizer doctor'");
	if (ret == -ENOMEM)
		return mz_fail(err, ENOMEM,
			       "not enough memory for the rings and tables; make them "
			       "smaller: --subbufs, --subbuf-size, --live-blocks");
	return mz_fail(err, -ret,
		       "the kernel rejects the BPF programs: %s; see 'memorizer doctor' "
		       "(MEMORIZER_LIBBPF=1 shows the details)",
		       strerror(-ret));
}

/* The rings are read through shared memory, so that draining needs no system call per event. */
static void *map_in(struct bpf_map *map, size_t *size, struct mz_error *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t n = (size_t)bpf_map__max_entries(map) * ((bpf_map__value_size(map) + 7u) & ~7u);
	void *p;

	n = (n + page - 1) / page * page;
	p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	if (p == MAP_FAILED) {
		mz_fail(err, errno, "cannot map the rings of %zu bytes: %s", n, strerror(errno));
		return NULL;
	}
	*size = n;
	return p;
}

static int map_all(struct mz_kmem *k, struct mz_error *err)
{
	struct kmemtrace *s = k->skel;

	k->cpus = map_in(s->maps.cpus, &k->mapped[0], err);
	k->rings = k->cpus ? map_in(s->maps.rings, &k->mapped[1], err) : NULL;
	k->caches = k->rings ? map_in(s->maps.caches, &k->mapped[2], err) : NULL;
	k->sum = k->caches ? map_in(s->maps.sums, &k->mapped[3], err) : NULL;
	k->stacks_fd = bpf_map__fd(s->maps.stacks);
	return k->sum ? 0 : -ENOMEM;
}

/* The programs are loaded but not attached: doctor uses this to test whether the kernel accepts
 * them. The rings of nested levels are smaller, because interrupts make few events. */
struct mz_kmem *mz_kmem_load(const struct mz_kmem_options *options, struct mz_error *err)
{
	struct mz_kmem *k = calloc(1, sizeof(*k));
	int ret;

	if (!getenv("MEMORIZER_LIBBPF"))
		libbpf_set_print(quiet);
	if (!k) {
		mz_fail_memory(err);
		return NULL;
	}
	k->o = *options;
	k->ncpus = (unsigned)libbpf_num_possible_cpus();
	k->ring = options->summary
			  ? 64
			  : power_of_two(options->ring_bytes / sizeof(struct kmt_rec), 1u << 24);
	k->small = k->ring >= 512 ? k->ring / 8 : 64;
	k->sums = 4096;
	k->skel = kmemtrace__open();
	if (!k->skel) {
		load_failed(-errno, err);
		goto fail;
	}
	if (set_options(k, err) < 0 || kmem_btf_configure(k->skel, &k->o, err) < 0)
		goto fail;
	set_sizes(k);
	ret = kmemtrace__load(k->skel);
	if (ret < 0) {
		load_failed(ret, err);
		goto fail;
	}
	if (map_all(k, err) < 0)
		goto fail;
	return k;
fail:
	mz_kmem_free(k);
	return NULL;
}

/* Is it a first or a second program? See kmemtrace.bpf.c. */
static bool is_half(const struct bpf_program *prog, char half)
{
	const char *name = bpf_program__name(prog);

	return bpf_program__fd(prog) >= 0 && name[strlen(name) - 1] == half;
}

/* Read the counts of missed events, by CPU as long as those counts are credible. */
static uint64_t take_misses(struct mz_kmem *k)
{
	uint64_t sum = 0;

	if (k->by_cpu && !kmem_misses_read(k->by_cpu, k)) {
		kmem_misses_close(k->by_cpu);
		k->by_cpu = NULL;
	}
	__atomic_store_n(&k->cpu_known, k->by_cpu, __ATOMIC_RELAXED);
	for (unsigned i = 0; k->by_cpu && i < k->ncpus; i++)
		sum += kmem_misses_of(k->by_cpu, i);
	return k->by_cpu ? sum : kmem_misses_total(k) - k->misses_before;
}

/* The first programs are attached before the second ones: they run in that order. */
int mz_kmem_attach(struct mz_kmem *k, struct mz_error *err)
{
	for (char half = '1'; half <= '2'; half++) {
		struct bpf_program *prog;

		bpf_object__for_each_program(prog, k->skel->obj)
		{
			struct bpf_link *link;

			if (!is_half(prog, half))
				continue;
			link = bpf_program__attach(prog);
			if (!link)
				return mz_fail(err, errno,
					       "cannot attach to the tracepoint of %s: %s; see "
					       "'memorizer doctor'",
					       bpf_program__name(prog), strerror(errno));
			k->links[k->nlinks++] = link;
		}
	}
	k->by_cpu = kmem_misses_open(k);
	k->start = k->looked = kmem_now();
	take_misses(k);
	k->misses_before = kmem_misses_total(k);
	if (k->by_cpu)
		kmem_misses_begin(k->by_cpu);
	__atomic_store_n(&k->skel->bss->recording, 1, __ATOMIC_RELEASE);
	return 0;
}

/* recording goes to 0 before the links are destroyed, and the misses are read at that moment:
 * events after it are on neither side of the account. */
void mz_kmem_detach(struct mz_kmem *k)
{
	struct timespec t = {.tv_nsec = 20 * 1000000};

	if (k->skel->bss->recording) {
		__atomic_store_n(&k->skel->bss->recording, 0, __ATOMIC_RELEASE);
		k->misses = take_misses(k);
		k->stopped = true;
	}
	while (k->nlinks)
		bpf_link__destroy(k->links[--k->nlinks]);
	/* a program that runs at this moment ends on its own, in microseconds */
	nanosleep(&t, NULL);
}

void mz_kmem_free(struct mz_kmem *k)
{
	void *maps[4];

	if (!k)
		return;
	mz_kmem_stop(k, NULL); /* no thread reads what is unmapped now */
	memcpy(maps, (void *[4]){k->cpus, k->rings, k->caches, k->sum}, sizeof(maps));
	for (int i = 0; i < 4; i++)
		if (k->mapped[i])
			munmap(maps[i], k->mapped[i]);
	while (k->nlinks)
		bpf_link__destroy(k->links[--k->nlinks]);
	kmem_misses_close(k->by_cpu);
	kmemtrace__destroy(k->skel);
	mz_kallsyms_free(k->syms);
	free(k->drains);
	free(k);
}

#define READ(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)

/* The counters are read while the programs run, each for itself. They balance exactly only
 * after detaching. */
void mz_kmem_counts(struct mz_kmem *k, struct mz_kmem_counts *n)
{
	*n = (struct mz_kmem_counts){.misses = k->stopped ? k->misses : take_misses(k)};
	for (unsigned cpu = 0; cpu < k->ncpus; cpu++) {
		struct kmt_cpu *c = &k->cpus[cpu];

		n->deep += READ(c->deep);
		n->no_cache += READ(c->no_cache);
		n->no_stack += READ(c->no_stack);
		n->no_free += READ(c->no_free);
		n->other += READ(c->other);
		n->unfollowed += READ(c->unfollowed);
		n->reused += READ(c->reused);
		for (int l = 0; l < KMT_LEVELS; l++) {
			n->seen += READ(c->lv[l].seen);
			n->nulls += READ(c->lv[l].nulls);
			n->own += READ(c->lv[l].own);
			n->filtered += READ(c->lv[l].filtered);
			n->full += READ(c->lv[l].full);
			n->rescued += READ(c->lv[l].rescued);
			n->recorded += READ(c->lv[l].head) - READ(c->lv[l].extra);
		}
	}
	if (k->o.summary)
		n->recorded = n->seen - n->nulls - n->own - n->filtered;
}

unsigned mz_kmem_cpus(const struct mz_kmem *k)
{
	return k->ncpus;
}

uint64_t mz_kmem_ring_bytes(const struct mz_kmem *k)
{
	return (uint64_t)k->ring * sizeof(struct kmt_rec);
}
