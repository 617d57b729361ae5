// SPDX-License-Identifier: BSD-2-Clause
/* Run the threads and files of a kernel recording and balance its account at the end. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "record/kmem_private.h"
#include "symbols/kallsyms.h"

/* The attributes of every file, so that it can be read alone and elsewhere. */
static int describe(struct kmem_drain *d)
{
	struct utsname u;
	struct timespec wall;
	char gfp[16];
	struct mz_writer *w = d->w;

	uname(&u);
	clock_gettime(CLOCK_REALTIME, &wall);
	snprintf(gfp, sizeof(gfp), "%d", (int)(sizeof(void *) * 8));
	mz_writer_set_text(w, "source", "kmemtrace");
	mz_writer_set_text(w, "clock", "monotonic");
	mz_writer_set_text(w, "host", u.nodename);
	mz_writer_set_text(w, "kernel", u.release);
	mz_writer_set_text(w, "machine", u.machine);
	mz_writer_set_text(w, "bits", gfp);
	mz_writer_set_number(w, "kmem.cpu", d->cpu);
	mz_writer_set_number(w, "kmem.cpus", d->k->ncpus);
	mz_writer_set_number(w, "kmem.start", d->k->start);
	mz_writer_set_number(w, "kmem.sample", d->k->o.sample ? d->k->o.sample : 1);
	mz_writer_set_number(w, "kmem.filtered", d->k->o.pid || d->k->o.cgroup || d->k->o.cache);
	return mz_writer_set_number(w, "time.start", (uint64_t)wall.tv_sec);
}

int mz_kmem_start(struct mz_kmem *k, const char *dir, bool overwrite, struct mz_error *err)
{
	char path[512];
	int ret = 0;

	snprintf(path, sizeof(path), "%s/kallsyms", dir);
	k->syms = mz_kallsyms_load(path, NULL);
	k->drains = calloc(k->ncpus, sizeof(*k->drains));
	if (!k->drains)
		return mz_fail_memory(err);
	for (unsigned i = 0; i < k->ncpus && ret >= 0; i++) {
		struct kmem_drain *d = &k->drains[i];

		d->k = k;
		d->cpu = i;
		if (snprintf(d->path, sizeof(d->path), "%s/cpu%u.out", dir, i) >=
		    (int)sizeof(d->path))
			return mz_fail(err, ENAMETOOLONG, "%s: the name is too long", dir);
		ret = kmem_drain_open(d, overwrite, err);
		if (ret >= 0)
			describe(d);
		if (ret >= 0 && pthread_create(&d->thread, NULL, kmem_drain_thread, d))
			ret = mz_fail(err, EAGAIN, "cannot start a thread per CPU");
		d->started = ret >= 0;
	}
	return ret;
}

/* The names of its call sites, so that the file can be read alone. */
static void put_symbols(struct kmem_drain *d)
{
	struct mz_buf lines = {0};

	if (d->k->syms && !d->ips.failed)
		mz_kallsyms_pick(d->k->syms, (uint64_t *)(void *)d->ips.data,
				 d->ips.len / sizeof(uint64_t), &lines);
	if (lines.len && !lines.failed)
		mz_writer_set_bytes(d->w, "kallsyms", lines.data, lines.len);
	mz_buf_free(&lines);
}

/* The account of one file: all events of its CPU, and what was not recorded and why. */
static void settle(struct kmem_drain *d, uint64_t reentry)
{
	const struct kmt_cpu *c = &d->k->cpus[d->cpu];
	uint64_t nulls = 0, own = 0, filtered = 0, seen = 0, rescued = 0;

	for (int l = 0; l < KMT_LEVELS; l++) {
		seen += c->lv[l].seen;
		nulls += c->lv[l].nulls;
		own += c->lv[l].own;
		filtered += c->lv[l].filtered;
		rescued += c->lv[l].rescued;
	}
	mz_writer_set_number(d->w, "kmem.nulls", nulls);
	mz_writer_set_number(d->w, "kmem.own", own);
	mz_writer_set_number(d->w, "kmem.not_asked", filtered);
	mz_writer_set_number(d->w, "kmem.rescued", rescued);
	mz_writer_set_number(d->w, "kmem.no_cache", c->no_cache);
	mz_writer_set_number(d->w, "kmem.no_stack", c->no_stack);
	mz_writer_produced(d->w, seen - nulls - own - filtered + c->deep + reentry);
}

/* The equation, from counters that were kept independently of each other. */
static int check_account(struct mz_kmem *k, const struct mz_kmem_counts *n, struct mz_error *err)
{
	uint64_t written = 0, told = 0;

	for (unsigned i = 0; i < k->ncpus; i++) {
		written += k->drains[i].written;
		told += k->drains[i].told_lost;
	}
	if (n->rescued > n->misses)
		return mz_fail(err, EBADMSG,
			       "the account does not balance: %" PRIu64
			       " events were rescued, but only %" PRIu64
			       " were missed; some may be recorded twice",
			       n->rescued, n->misses);
	if (mz_kmem_produced(n) != written + mz_kmem_lost(n) || told != mz_kmem_lost(n))
		return mz_fail(err, EBADMSG,
			       "the account does not balance: %" PRIu64 " produced, %" PRIu64
			       " written, %" PRIu64 " lost, %" PRIu64 " reported lost",
			       mz_kmem_produced(n), written, mz_kmem_lost(n), told);
	return 0;
}

/* The events that no program could take on a CPU. If the kernel does not report the CPU, all of
 * them go into the first file. */
static uint64_t reentry_of(const struct mz_kmem *k, unsigned cpu, const struct mz_kmem_counts *n)
{
	uint64_t missed, rescued = 0;

	if (!k->by_cpu)
		return cpu ? 0 : mz_kmem_reentry(n);
	missed = kmem_misses_of(k->by_cpu, cpu);
	for (int l = 0; l < KMT_LEVELS; l++)
		rescued += __atomic_load_n(&k->cpus[cpu].lv[l].rescued, __ATOMIC_RELAXED);
	return missed > rescued ? missed - rescued : 0;
}

/* For the threads that write: what was missed since the previous check. */
static void tell_reentry(struct mz_kmem *k, struct mz_kmem_counts *n)
{
	uint64_t now = kmem_now();

	mz_kmem_counts(k, n);
	for (unsigned i = 0; k->drains && i < k->ncpus; i++) {
		struct kmem_drain *d = &k->drains[i];
		uint64_t lost = reentry_of(k, i, n);

		if (lost <= d->reentry_given)
			continue;
		/* what was not taken yet is older */
		if (!__atomic_load_n(&d->reentry, __ATOMIC_RELAXED))
			__atomic_store_n(&d->reentry_since, k->looked, __ATOMIC_RELAXED);
		__atomic_fetch_add(&d->reentry, lost - d->reentry_given, __ATOMIC_RELEASE);
		d->reentry_given = lost;
	}
	k->looked = now;
}

int mz_kmem_stop(struct mz_kmem *k, struct mz_error *err)
{
	struct mz_kmem_counts n;
	int ret = 0;

	if (!k->drains)
		return 0; /* nothing was started */
	if (!k->stop)
		tell_reentry(k, &n);
	__atomic_store_n(&k->stop, 1, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < k->ncpus; i++) {
		struct kmem_drain *d = &k->drains[i];

		if (d->started)
			pthread_join(d->thread, NULL);
		d->started = false;
		if (d->err.code && ret >= 0)
			ret = mz_fail(err, d->err.code, "%s", d->err.text);
	}
	return ret;
}

int mz_kmem_finish(struct mz_kmem *k, struct mz_error *err)
{
	struct mz_kmem_counts n;
	int ret = mz_kmem_stop(k, err);

	mz_kmem_counts(k, &n);
	for (unsigned i = 0; k->drains && i < k->ncpus; i++) {
		struct kmem_drain *d = &k->drains[i];

		if (d->w) {
			int closed;

			put_symbols(d);
			settle(d, d->reentry_given);
			closed = mz_writer_close(d->w, err);
			ret = ret < 0 ? ret : closed;
		}
		mz_buf_free(&d->ips);
		free(d->batch);
		free(d->site_keys);
		free(d->site_ids);
		free(d->stack_ids);
		d->w = NULL;
	}
	return ret < 0 || !k->drains ? ret : check_account(k, &n, err);
}

uint64_t mz_kmem_written(const struct mz_kmem *k)
{
	uint64_t n = 0;

	for (unsigned i = 0; k->drains && i < k->ncpus; i++)
		n += __atomic_load_n(&k->drains[i].written, __ATOMIC_RELAXED);
	return n;
}

uint64_t mz_kmem_bytes(const struct mz_kmem *k)
{
	uint64_t n = 0;

	for (unsigned i = 0; k->drains && i < k->ncpus; i++) {
		char part[600];
		struct stat st;

		snprintf(part, sizeof(part), "%s.part", k->drains[i].path);
		if (!stat(part, &st) || !stat(k->drains[i].path, &st))
			n += (uint64_t)st.st_size;
	}
	return n;
}

int mz_kmem_failed(struct mz_kmem *k, struct mz_error *err)
{
	struct mz_kmem_counts n;

	tell_reentry(k, &n);
	for (unsigned i = 0; k->drains && i < k->ncpus; i++)
		if (__atomic_load_n(&k->drains[i].failed, __ATOMIC_ACQUIRE))
			return mz_fail(err, k->drains[i].err.code, "%s", k->drains[i].err.text);
	return 0;
}
