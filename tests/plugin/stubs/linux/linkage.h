/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's macros for assembler, for a user program. */
#define SYM_FUNC_START(name) .globl name ; name:
#define SYM_FUNC_END(name)
#define EXPORT_SYMBOL(name)
#define _ASM_NOKPROBE(name)
#define PER_CPU_VAR(var) %gs:var
#define RET ret
#define X86_current_task 0
