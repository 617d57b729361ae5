// SPDX-License-Identifier: BSD-2-Clause
/* Write the files beside the traces that are needed to read them on another machine: symbols,
 * the nodes of the CPUs, the names of gfp bits, the caches, the loss. */
#include <bpf/btf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/output.h"
#include "record/kmem_private.h"

int kmem_save_file(const char *dir, const char *name, const char *data, size_t len,
		   struct mz_error *err)
{
	struct mz_output out;
	char path[600];
	int ret;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	ret = mz_output_open_file(&out, path, true, err);
	if (ret >= 0)
		ret = mz_output_add(&out, data, len, err);
	if (ret >= 0)
		return mz_output_commit(&out, err);
	mz_output_abort(&out);
	return ret;
}

/* Functions only: nothing else allocates. */
int mz_kmem_save_kallsyms(const char *dir, struct mz_error *err)
{
	FILE *in = fopen("/proc/kallsyms", "re");
	struct mz_buf b = {0};
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int ret;

	if (!in)
		return mz_fail(err, errno, "/proc/kallsyms: cannot open: %s", strerror(errno));
	while ((n = getline(&line, &cap, in)) > 0) {
		const char *type = strchr(line, ' ');

		if (type && strchr("tTwW", type[1]) && type[1])
			mz_buf_add(&b, line, (size_t)n);
	}
	free(line);
	fclose(in);
	if (b.failed)
		ret = mz_fail_memory(err);
	else if (b.len && !strncmp(b.data, "0000000000000000 ", 17) &&
		 !memmem(b.data, b.len, "\nffff", 5))
		ret = mz_fail(err, EPERM,
			      "/proc/kallsyms: the kernel hides its addresses; as root: sysctl "
			      "kernel.kptr_restrict=1");
	else
		ret = kmem_save_file(dir, "kallsyms", b.data, b.len, err);
	mz_buf_free(&b);
	return ret;
}

/* The node of a CPU; -1 = the machine does not report it. */
static int node_of(unsigned cpu)
{
	for (int node = 0; node < 1024; node++) {
		char path[96];

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/node%d", cpu, node);
		if (!access(path, F_OK))
			return node;
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d", node);
		if (node && access(path, F_OK))
			break;
	}
	return -1;
}

int kmem_save_nodes(const char *dir, unsigned cpus, struct mz_error *err)
{
	struct mz_buf b = {0};
	int ret;

	for (unsigned cpu = 0; cpu < cpus; cpu++)
		mz_buf_printf(&b, "%u %d\n", cpu, node_of(cpu));
	ret = b.failed ? mz_fail_memory(err) : kmem_save_file(dir, "nodes", b.data, b.len, err);
	mz_buf_free(&b);
	return ret;
}

/* Each file contains it as well, so that it can be read alone. */
static void tell_nodes(struct mz_kmem *k)
{
	for (unsigned cpu = 0; cpu < k->ncpus; cpu++) {
		int node = node_of(cpu);
		char key[24];

		snprintf(key, sizeof(key), "node.%u", cpu);
		for (unsigned i = 0; k->drains && node >= 0 && i < k->ncpus; i++)
			mz_writer_set_number(k->drains[i].w, key, (uint64_t)node);
	}
}

/* "BIT NAME" lines, from the kernel's own types: the bits differ between versions. */
static void list_gfp(struct mz_buf *b)
{
	struct btf *btf = btf__load_vmlinux_btf();

	for (uint32_t id = 1; btf && id < btf__type_cnt(btf); id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);
		const struct btf_enum *e;

		if (!btf_is_enum(t) || !btf_vlen(t))
			continue;
		e = btf_enum(t);
		if (strncmp(btf__name_by_offset(btf, e->name_off), "___GFP_", 7))
			continue;
		for (unsigned i = 0; i < btf_vlen(t); i++) {
			const char *name = btf__name_by_offset(btf, e[i].name_off);
			size_t len = strlen(name);

			if (len > 11 && !strcmp(name + len - 4, "_BIT"))
				mz_buf_printf(b, "%d %.*s\n", e[i].val, (int)len - 11, name + 7);
		}
		break;
	}
	btf__free(btf);
}

/* A cache has a number per CPU; it is listed once, by address and name, because an address may
 * be reused for another cache. */
static bool listed(struct mz_kmem *k, unsigned cpu, unsigned id)
{
	const struct kmt_cache *me = &k->caches[(size_t)cpu * KMT_CACHES + id];

	for (unsigned c = 0; c < cpu; c++)
		for (unsigned i = 1; i <= k->cpus[c].caches; i++) {
			const struct kmt_cache *o = &k->caches[(size_t)c * KMT_CACHES + i];

			if (o->addr == me->addr && !strncmp(o->name, me->name, KMT_NAME))
				return true;
		}
	return false;
}

/* Names of caches come from kernel modules and are printed safely. */
static void list_caches(struct mz_kmem *k, struct mz_buf *b)
{
	for (unsigned cpu = 0; cpu < k->ncpus; cpu++)
		for (unsigned id = 1; id <= k->cpus[cpu].caches && id < KMT_CACHES; id++) {
			const struct kmt_cache *c = &k->caches[(size_t)cpu * KMT_CACHES + id];
			char name[KMT_NAME * 4 + 8];

			if (listed(k, cpu, id))
				continue;
			mz_printable(name, sizeof(name), c->name, strnlen(c->name, KMT_NAME));
			mz_buf_printf(b, "%u %u %u %s\n", c->object_size, c->size, c->align, name);
		}
}

/* The names of gfp bits are stored in every container as well, so that a single file can be
 * read elsewhere. */
int mz_kmem_save_tables(struct mz_kmem *k, const char *dir, struct mz_error *err)
{
	struct mz_buf gfp = {0}, caches = {0};
	int ret;

	tell_nodes(k);
	list_gfp(&gfp);
	mz_buf_str(&caches, "# object_size size align name\n");
	list_caches(k, &caches);
	for (unsigned i = 0; k->drains && gfp.len && i < k->ncpus; i++)
		mz_writer_set_bytes(k->drains[i].w, "gfp", gfp.data, gfp.len);
	if (gfp.failed || caches.failed)
		ret = mz_fail_memory(err);
	else
		ret = kmem_save_nodes(dir, k->ncpus, err);
	if (ret >= 0)
		ret = kmem_save_file(dir, "gfp", gfp.data ? gfp.data : "", gfp.len, err);
	if (ret >= 0)
		ret = kmem_save_file(dir, "caches", caches.data, caches.len, err);
	mz_buf_free(&gfp);
	mz_buf_free(&caches);
	return ret;
}

int mz_kmem_save_loss(struct mz_kmem *k, const char *dir, struct mz_error *err)
{
	struct mz_kmem_counts n;
	char text[32];
	int len;

	mz_kmem_counts(k, &n);
	len = snprintf(text, sizeof(text), "%" PRIu64 "\n", mz_kmem_lost(&n));
	return kmem_save_file(dir, "total_overruns", text, (size_t)len, err);
}
