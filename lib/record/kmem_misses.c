// SPDX-License-Identifier: BSD-2-Clause
/* Count the events that were missed because the kernel does not re-enter our programs. */
/*
 * It enters none on a CPU where it is running already. Every kernel reports the sum; a small BPF
 * program reads it by CPU, where the kernel accepts that program. Both must agree.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/kmem_private.h"

#include "kmemmiss.skel.h"
#include "kmemtrace.skel.h"

struct kmem_misses {
	struct kmemmiss *skel;
	struct bpf_link *link;
	unsigned ncpus;
	uint64_t *sums; /* mapped */
	uint64_t *before, *now;
	uint64_t last; /* sum of now */
};

/* A first program: see kmemtrace.bpf.c. */
static bool is_first(const struct bpf_program *prog)
{
	const char *name = bpf_program__name(prog);

	return bpf_program__fd(prog) >= 0 && name[strlen(name) - 1] == '1';
}

static bool info_of(const struct bpf_program *prog, struct bpf_prog_info *info)
{
	uint32_t len = sizeof(*info);

	memset(info, 0, sizeof(*info));
	return !bpf_obj_get_info_by_fd(bpf_program__fd(prog), info, &len);
}

uint64_t kmem_misses_total(const struct mz_kmem *k)
{
	struct bpf_program *prog;
	struct bpf_prog_info info;
	uint64_t sum = 0;

	bpf_object__for_each_program(prog, k->skel->obj) if (is_first(prog) && info_of(prog, &info))
		sum += info.recursion_misses;
	return sum;
}

static bool set_programs(struct kmem_misses *m, const struct mz_kmem *k)
{
	struct bpf_program *prog;
	struct bpf_prog_info info;
	uint32_t n = 0;

	bpf_object__for_each_program(prog, k->skel->obj)
	{
		if (!is_first(prog))
			continue;
		if (n == KMT_MISS_PROGRAMS || !info_of(prog, &info))
			return false;
		m->skel->rodata->cfg_ids[n++] = info.id;
	}
	m->skel->rodata->cfg_nids = n;
	m->skel->rodata->cfg_ncpus = k->ncpus;
	return k->ncpus <= KMT_MISS_CPUS;
}

struct kmem_misses *kmem_misses_open(const struct mz_kmem *k)
{
	struct kmem_misses *m = calloc(1, sizeof(*m));
	void *p;

	if (!m)
		return NULL;
	m->ncpus = k->ncpus;
	m->before = calloc(k->ncpus, sizeof(*m->before));
	m->now = calloc(k->ncpus, sizeof(*m->now));
	m->skel = kmemmiss__open();
	if (!m->before || !m->now || !m->skel || !set_programs(m, k) || kmemmiss__load(m->skel))
		goto fail;
	p = mmap(NULL, KMT_MISS_CPUS * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED,
		 bpf_map__fd(m->skel->maps.missed), 0);
	if (p == MAP_FAILED)
		goto fail;
	m->sums = p;
	m->link = bpf_program__attach_iter(m->skel->progs.count_missed, NULL);
	if (!m->link)
		goto fail;
	return m;
fail:
	kmem_misses_close(m);
	return NULL;
}

void kmem_misses_close(struct kmem_misses *m)
{
	if (!m)
		return;
	bpf_link__destroy(m->link);
	if (m->sums)
		munmap(m->sums, KMT_MISS_CPUS * sizeof(uint64_t));
	kmemmiss__destroy(m->skel);
	free(m->before);
	free(m->now);
	free(m);
}

/* Into now: what each CPU missed since the programs were loaded. */
static bool read_all(struct kmem_misses *m, uint64_t *sum)
{
	int fd = bpf_iter_create(bpf_link__fd(m->link));
	char nothing[64];
	ssize_t n;

	if (fd < 0)
		return false;
	memset(m->sums, 0, KMT_MISS_CPUS * sizeof(uint64_t));
	while ((n = read(fd, nothing, sizeof(nothing))) > 0)
		;
	close(fd);
	*sum = 0;
	for (unsigned i = 0; i < m->ncpus; i++)
		*sum += m->now[i] = m->sums[i];
	return !n;
}

bool kmem_misses_read(struct kmem_misses *m, const struct mz_kmem *k)
{
	uint64_t least = kmem_misses_total(k);

	if (least == m->last)
		return true;
	return read_all(m, &m->last) && m->last >= least && m->last <= kmem_misses_total(k);
}

void kmem_misses_begin(struct kmem_misses *m)
{
	memcpy(m->before, m->now, m->ncpus * sizeof(*m->now));
}

uint64_t kmem_misses_of(const struct kmem_misses *m, unsigned cpu)
{
	return m->now[cpu] - m->before[cpu];
}
