// SPDX-License-Identifier: BSD-2-Clause
/*
 * A plugin for QEMU (7.2, plugin API 1) that counts the loads and stores which chosen
 * functions of the guest's kernel make, by address: the second witness of the kmap.
 *
 *   -plugin witness.so,functions=FILE,out=FILE,arm=ADDRESS,switch=ADDRESS
 *
 * functions: lines "START END NAME", hex; those whose name is "*" are not counted. switch: the
 * variable that tells the kernel to count; the first store to it, by any of the functions, after
 * the instruction at arm has run starts or stops the plugin too, so that both begin and end
 * with the same instruction. out, written at the end: lines "NAME ADDRESS LOADS STORES".
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qemu_plugin.h"

EXPORT int qemu_plugin_version = 1;

struct function {
	uint64_t start, end;
	char name[128];
};

struct count {
	const struct function *f; /* NULL: an empty slot */
	uint64_t vaddr, loads, stores;
};

static struct function *functions;
static size_t nfunctions;
static struct count *counts; /* open addressing, size a power of 2, at most half full */
static size_t size = 1 << 16, used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *out_path;
static uint64_t arm_at, switch_at;
static bool armed, counting;

static struct count *slot(struct count *table, size_t n, const struct function *f, uint64_t vaddr)
{
	uint64_t h = (vaddr ^ (uintptr_t)f) * 0x9e3779b97f4a7c15u;

	for (size_t i = h >> 20 & (n - 1);; i = (i + 1) & (n - 1))
		if (!table[i].f || (table[i].f == f && table[i].vaddr == vaddr))
			return &table[i];
}

static void *must_calloc(size_t n, size_t each)
{
	void *p = calloc(n, each);

	if (!p) {
		fprintf(stderr, "witness: out of memory\n");
		exit(1);
	}
	return p;
}

static void grow(void)
{
	struct count *bigger = must_calloc(size * 2, sizeof(*bigger));

	for (size_t i = 0; i < size; i++)
		if (counts[i].f)
			*slot(bigger, size * 2, counts[i].f, counts[i].vaddr) = counts[i];
	free(counts);
	counts = bigger;
	size *= 2;
}

/* An atomic instruction is one event that is both; API 1 tells it apart only by the bits
 * of the information word, which QEMU 7.2 lays out as (operation | rw << 16). */
static void on_access(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	bool store = qemu_plugin_mem_is_store(info);
	bool load = !store || (info >> 16 & QEMU_PLUGIN_MEM_R);
	struct count *c;

	(void)cpu;
	if (!counting)
		return;
	pthread_mutex_lock(&lock);
	if (used * 2 >= size)
		grow();
	c = slot(counts, size, data, vaddr);
	if (!c->f) {
		used++;
		c->f = data;
		c->vaddr = vaddr;
	}
	c->loads += load;
	c->stores += store;
	pthread_mutex_unlock(&lock);
}

static void on_arm(unsigned cpu, void *data)
{
	(void)cpu;
	(void)data;
	armed = true;
}

/* Of a function that may write the switch. */
static void on_store(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	(void)cpu;
	(void)info;
	(void)data;
	if (armed && vaddr == switch_at) {
		counting = !counting;
		armed = false;
	}
}

static bool is_counted(const struct function *f)
{
	return f->name[0] != '*';
}

static int by_place(const void *key, const void *member)
{
	const struct function *f = member;
	uint64_t pc = *(const uint64_t *)key;

	return pc < f->start ? -1 : pc >= f->end;
}

static void watch(struct qemu_plugin_insn *insn, uint64_t pc)
{
	struct function *f = bsearch(&pc, functions, nfunctions, sizeof(*functions), by_place);

	if (pc == arm_at)
		plugin_on_run(insn, on_arm, NULL);
	if (f && !is_counted(f))
		plugin_on_store(insn, on_store);
	else if (f)
		qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, f);
}

static void on_exit_write(qemu_plugin_id_t id, void *data)
{
	FILE *out = fopen(out_path, "w");

	(void)id;
	(void)data;
	if (!out) {
		perror(out_path);
		return;
	}
	for (size_t i = 0; i < size; i++)
		if (counts[i].f)
			fprintf(out, "%s %016llx %llu %llu\n", counts[i].f->name,
				(unsigned long long)counts[i].vaddr,
				(unsigned long long)counts[i].loads,
				(unsigned long long)counts[i].stores);
	if (fprintf(out, "end\n") < 0 || fclose(out))
		perror(out_path);
}

static int compare(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int read_functions(FILE *in)
{
	unsigned long long start, end;
	struct function f;

	if (!in)
		return -1;
	while (fscanf(in, "%llx %llx %127s", &start, &end, f.name) == 3) {
		f.start = start;
		f.end = end;
		functions = realloc(functions, (nfunctions + 1) * sizeof(f));
		if (!functions)
			break;
		functions[nfunctions++] = f;
	}
	fclose(in);
	if (functions)
		qsort(functions, nfunctions, sizeof(*functions), compare);
	return nfunctions ? 0 : -1;
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc, char **argv)
{
	(void)info;
	out_path = plugin_text(argc, argv, "out");
	arm_at = plugin_address(argc, argv, "arm");
	switch_at = plugin_address(argc, argv, "switch");
	if (read_functions(plugin_file(argc, argv, "functions")))
		return -1;
	if (!out_path || !nfunctions || !arm_at || !switch_at) {
		fprintf(stderr,
			"witness: needs functions=FILE,out=FILE,arm=ADDRESS,switch=ADDRESS\n");
		return -1;
	}
	counts = must_calloc(size, sizeof(*counts));
	qemu_plugin_register_vcpu_tb_trans_cb(id, plugin_on_block);
	qemu_plugin_register_atexit_cb(id, on_exit_write, NULL);
	return 0;
}
