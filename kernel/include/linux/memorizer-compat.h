/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between the kernel series which Memorizer and kmemtrace support,
 * 6.1 and 6.12, but for the one name that kmemtrace.h needs. The other files are
 * the same in all of them.
 */
#ifndef _LINUX_MEMORIZER_COMPAT_H
#define _LINUX_MEMORIZER_COMPAT_H

#include <linux/version.h>

#ifdef __ASSEMBLY__

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#include <asm/export.h>
#endif

/* With asm-offsets.h, and entry-offsets.h of mm/memorizer. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define MEMORIZER_ASM_PREEMPT_COUNT	PER_CPU_VAR(pcpu_hot + MEMORIZER_preempt_count)
#define MEMORIZER_ASM_CURRENT		PER_CPU_VAR(pcpu_hot + X86_current_task)
#else
#define MEMORIZER_ASM_PREEMPT_COUNT	PER_CPU_VAR(__preempt_count)
#define MEMORIZER_ASM_CURRENT		PER_CPU_VAR(current_task)
#endif

#else

#include <linux/atomic.h>
#include <linux/kconfig.h>
#include <linux/module.h>
#include <linux/spinlock_types.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define MAX_PAGE_ORDER			(MAX_ORDER - 1)
#endif
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
/* For files that can be read with read_iter. */
#define copy_splice_read		generic_file_splice_read
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
/* Atomics without instrumentation, by their older names. */
#define raw_atomic_read			arch_atomic_read
#define raw_atomic_sub			arch_atomic_sub
#define raw_atomic_dec_and_test		arch_atomic_dec_and_test
#define raw_atomic_cmpxchg_acquire	arch_atomic_cmpxchg_acquire
#define raw_atomic_set_release		arch_atomic_set_release
#define raw_atomic64_inc		arch_atomic64_inc
#define raw_atomic64_fetch_dec		arch_atomic64_fetch_dec
#define raw_atomic64_fetch_sub		arch_atomic64_fetch_sub
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)

static inline int memorizer_module_areas(void)
{
	return 3;
}

/* The areas of a module that stay after init and are not code. */
static inline void memorizer_module_area(const struct module *mod, int i,
					 unsigned long *base, unsigned long *size)
{
	static const enum mod_mem_type types[] = {
		MOD_DATA, MOD_RODATA, MOD_RO_AFTER_INIT,
	};

	*base = (unsigned long)mod->mem[types[i]].base;
	*size = mod->mem[types[i]].size;
}

#else

static inline int memorizer_module_areas(void)
{
	return 1;
}

/* Code and data are one area; the code comes first. */
static inline void memorizer_module_area(const struct module *mod, int i,
					 unsigned long *base, unsigned long *size)
{
	*base = (unsigned long)mod->core_layout.base + mod->core_layout.text_size;
	*size = mod->core_layout.size - mod->core_layout.text_size;
}

#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
/* The address of symbol @i; kernel/kallsyms.c keeps its own to itself. */
#define kallsyms_sym_address(i)						\
	(kallsyms_offsets[i] >= 0 ? (unsigned long)kallsyms_offsets[i] :	\
	 kallsyms_relative_base - 1 - kallsyms_offsets[i])
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
/* For owners.c; the cgroups declare it for themselves. */
extern spinlock_t css_set_lock;
#endif

/* For the tests. */
static inline void memorizer_place_module(struct module *mod, unsigned long base,
					  unsigned long size)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	mod->mem[MOD_TEXT].base = (void *)base;
	mod->mem[MOD_TEXT].size = size;
#else
	mod->core_layout.base = (void *)base;
	mod->core_layout.size = size;
#endif
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#define SLAB_NO_MERGE			SLAB_NOLEAKTRACE	/* nor is this merged */
#endif
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
#define KUNIT_CASE_SLOW(test)		KUNIT_CASE(test)
#endif

#endif /* __ASSEMBLY__ */

#endif /* _LINUX_MEMORIZER_COMPAT_H */
