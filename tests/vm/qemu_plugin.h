/* SPDX-License-Identifier: BSD-2-Clause */
/* What is used of QEMU's plugin API 1, whose header is not packaged. */
#ifndef MZ_TESTS_VM_QEMU_PLUGIN_H
#define MZ_TESTS_VM_QEMU_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info_t;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_MEM_RW };

typedef void (*tb_cb_t)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*mem_cb_t)(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data);
typedef void (*exec_cb_t)(unsigned cpu, void *data);
typedef void (*exit_cb_t)(qemu_plugin_id_t id, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, tb_cb_t cb);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, mem_cb_t cb,
				      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
				      void *data);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, exec_cb_t cb,
					    enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, exit_cb_t cb, void *data);

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc,
			       char **argv);

/* Called for each store of the instruction, and each time that it runs. */
static inline void plugin_on_store(struct qemu_plugin_insn *insn, mem_cb_t cb)
{
	qemu_plugin_register_vcpu_mem_cb(insn, cb, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_W, NULL);
}

static inline void plugin_on_run(struct qemu_plugin_insn *insn, exec_cb_t cb, void *data)
{
	qemu_plugin_register_vcpu_insn_exec_cb(insn, cb, QEMU_PLUGIN_CB_NO_REGS, data);
}

/* The value of NAME= among the arguments; NULL: it is not there. */
static inline const char *plugin_argument(int argc, char **argv, const char *name)
{
	size_t n = strlen(name);

	for (int i = 0; i < argc; i++)
		if (!strncmp(argv[i], name, n) && argv[i][n] == '=')
			return argv[i] + n + 1;
	return NULL;
}

/* Each plugin has one: what to watch of the instruction at this address. */
static void watch(struct qemu_plugin_insn *insn, uint64_t pc);

/* QEMU translates a block: watch() sees each of its instructions. */
static inline void plugin_on_block(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);

	(void)id;

	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		watch(insn, qemu_plugin_insn_vaddr(insn));
	}
}

/* A copy of it: QEMU frees the arguments once the plugin is installed. */
static inline const char *plugin_text(int argc, char **argv, const char *name)
{
	const char *text = plugin_argument(argc, argv, name);

	return text ? strdup(text) : NULL;
}

/* The file that it names, for reading; NULL: there is none, which was said. */
static inline FILE *plugin_file(int argc, char **argv, const char *name)
{
	const char *path = plugin_argument(argc, argv, name);
	FILE *in = path ? fopen(path, "r") : NULL;

	if (!in)
		perror(path ? path : name);
	return in;
}

/* The same as an address; 0: it is not there. */
static inline uint64_t plugin_address(int argc, char **argv, const char *name)
{
	const char *text = plugin_argument(argc, argv, name);

	return text ? strtoull(text, NULL, 16) : 0;
}

#endif
