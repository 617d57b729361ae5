// SPDX-License-Identifier: BSD-2-Clause
/*
 * A plugin for QEMU (7.2, plugin API 1) that counts how often functions of the guest's kernel
 * run: the second witness of function_calls.
 *
 *   -plugin entries.so,functions=FILE,out=FILE,switch=ADDRESS,setter=ADDRESS
 *
 * functions: lines "START NAME", hex, sorted. switch: the variable that tells the kernel to
 * count, which the function at setter changes: each store starts or stops the plugin, too, and
 * a start forgets what was counted. out, written at the end: lines "START COUNT", and "end".
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qemu_plugin.h"

EXPORT int qemu_plugin_version = 1;

struct entry {
	uint64_t start, count;
};

static struct entry *entries;
static size_t nentries;
static const char *out_path;
static uint64_t switch_at, setter, setter_end;
static bool counting;

static void on_entry(unsigned cpu, void *data)
{
	struct entry *e = data;

	(void)cpu;
	e->count += counting;
}

/* The kernel stores only what is new. QEMU calls for loads, too. */
static void on_store(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	(void)cpu;
	(void)data;
	if (vaddr != switch_at || !qemu_plugin_mem_is_store(info))
		return;
	counting = !counting;
	for (size_t i = 0; counting && i < nentries; i++)
		entries[i].count = 0;
}

static int by_start(const void *key, const void *member)
{
	uint64_t pc = *(const uint64_t *)key, start = ((const struct entry *)member)->start;

	return pc < start ? -1 : pc > start;
}

static int read_functions(FILE *in)
{
	unsigned long long start;

	if (!in)
		return -1;
	while (fscanf(in, "%llx %*s", &start) == 1) {
		entries = realloc(entries, (nentries + 1) * sizeof(*entries));
		if (!entries)
			break;
		entries[nentries++] = (struct entry){.start = start};
	}
	fclose(in);
	return entries ? 0 : -1;
}

static void watch(struct qemu_plugin_insn *insn, uint64_t pc)
{
	struct entry *e = bsearch(&pc, entries, nentries, sizeof(*entries), by_start);

	if (e)
		plugin_on_run(insn, on_entry, e);
	if (pc >= setter && pc < setter_end)
		plugin_on_store(insn, on_store);
}

static void on_exit_write(qemu_plugin_id_t id, void *data)
{
	FILE *out = fopen(out_path, "w");

	(void)id;
	(void)data;
	for (size_t i = 0; out && i < nentries; i++)
		if (entries[i].count)
			fprintf(out, "%016llx %llu\n", (unsigned long long)entries[i].start,
				(unsigned long long)entries[i].count);
	if (out)
		fprintf(out, "end\n");
	if (!out || ferror(out) || fclose(out))
		perror(out_path);
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc, char **argv)
{
	(void)info;
	out_path = plugin_text(argc, argv, "out");
	switch_at = plugin_address(argc, argv, "switch");
	setter = plugin_address(argc, argv, "setter");
	if (read_functions(plugin_file(argc, argv, "functions")))
		return -1;
	for (size_t i = 0; i + 1 < nentries; i++)
		if (entries[i].start == setter)
			setter_end = entries[i + 1].start;
	if (!out_path || !switch_at || !setter_end) {
		fprintf(stderr, "entries: needs functions=FILE,out=FILE,switch=ADDRESS,"
				"setter=ADDRESS\n");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, plugin_on_block);
	qemu_plugin_register_atexit_cb(id, on_exit_write, NULL);
	return 0;
}
