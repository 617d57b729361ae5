/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What Memorizer must know about x86-64: where a kernel address lies in
 * physical memory, and how to keep a code address in 32 bits.
 */
#ifndef _ASM_X86_MEMORIZER_H
#define _ASM_X86_MEMORIZER_H

#include <linux/pgtable.h>
#include <linux/version.h>
#include <asm/current.h>
#include <asm/page.h>
#include <asm/percpu.h>
#include <asm/processor.h>
#include <asm/sections.h>

#define MEMORIZER_NO_PHYS	(~0UL)

/* Kernel and module text lie in the top 2 GiB: the low half says it all. */
static __always_inline u32 memorizer_pack_ip(unsigned long ip)
{
	return (u32)ip;
}

static inline unsigned long memorizer_unpack_ip(u32 ip)
{
	return ip ? (unsigned long)(long)(int)ip : 0;
}

/*
 * The key of a site is pid << 32 | packed ip. As the upper half of @ip is all
 * ones, a sum does it, and leaves the tag's top bit where it is.
 */
static __always_inline u64 memorizer_tag(u32 pid)
{
	return (pid + 1ULL) << 32;
}

static __always_inline u64 memorizer_key(u64 tag, unsigned long ip)
{
	return tag + ip;
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define MEMORIZER_IRQ_STACK	pcpu_hot.hardirq_stack_ptr
#else
#define MEMORIZER_IRQ_STACK	hardirq_stack_ptr
#endif

/* The lowest address of the stack on which this CPU serves interrupts. */
static __always_inline unsigned long memorizer_irq_stack(void)
{
	/* What is kept is the address of its last word. */
	return (unsigned long)raw_cpu_read(MEMORIZER_IRQ_STACK) + 8 - IRQ_STACK_SIZE;
}

/*
 * Clear @size bytes, a multiple of 8, without a call: memset() is what Memorizer
 * counts.
 */
static __always_inline void memorizer_clear(void *p, size_t size)
{
	size_t words = size / 8;

	asm volatile("rep stosq" : "+D" (p), "+c" (words) : "a" (0) : "memory");
}

/* Physical addresses of the page array, which is mapped in pieces of 2 MiB. */
#define MEMORIZER_VMEMMAP_PIECES	4096
extern unsigned long memorizer_vmemmap[MEMORIZER_VMEMMAP_PIECES];

/* Of a direct map address; anything else gives a value beyond all RAM. */
static __always_inline unsigned long memorizer_direct_phys(unsigned long addr)
{
	return addr - PAGE_OFFSET;
}

/* Of an address in the kernel image or the page array; else the same. */
static __always_inline unsigned long memorizer_fixed_phys(unsigned long addr)
{
	unsigned long phys = addr - __START_KERNEL_map, piece;

	if (likely(phys < KERNEL_IMAGE_SIZE))
		return phys + phys_base;
	phys = addr - VMEMMAP_START;
	piece = phys >> PMD_SHIFT;
	if (unlikely(piece >= MEMORIZER_VMEMMAP_PIECES))
		return MEMORIZER_NO_PHYS;
	return memorizer_vmemmap[piece] + (phys & ~PMD_MASK);
}

/* Walk the kernel's page table. No locks: the code that accesses @addr keeps it mapped. */
static inline unsigned long memorizer_mapped_phys(unsigned long addr)
{
	pgd_t *pgd;
	p4d_t *p4d;
	pud_t *pud, pudv;
	pmd_t *pmd, pmdv;
	pte_t pte;

	if (addr < VMALLOC_START)
		return MEMORIZER_NO_PHYS;
	pgd = pgd_offset_k(addr);
	if (pgd_none(*pgd))
		return MEMORIZER_NO_PHYS;
	p4d = p4d_offset(pgd, addr);
	if (p4d_none(*p4d))
		return MEMORIZER_NO_PHYS;
	pud = pud_offset(p4d, addr);
	pudv = READ_ONCE(*pud);
	if (!pud_present(pudv))
		return MEMORIZER_NO_PHYS;
	if (pud_leaf(pudv))
		return (pud_pfn(pudv) << PAGE_SHIFT) + (addr & ~PUD_MASK);
	pmd = pmd_offset(&pudv, addr);
	pmdv = READ_ONCE(*pmd);
	if (!pmd_present(pmdv))
		return MEMORIZER_NO_PHYS;
	if (pmd_leaf(pmdv))
		return (pmd_pfn(pmdv) << PAGE_SHIFT) + (addr & ~PMD_MASK);
	pte = READ_ONCE(*pte_offset_kernel(&pmdv, addr));
	if (!pte_present(pte))
		return MEMORIZER_NO_PHYS;
	return (pte_pfn(pte) << PAGE_SHIFT) + (addr & ~PAGE_MASK);
}

/* Before the first access; pieces that are not there stay beyond all RAM. */
static inline void memorizer_vmemmap_init(void)
{
	unsigned long i;

	for (i = 0; i < MEMORIZER_VMEMMAP_PIECES; i++)
		memorizer_vmemmap[i] =
			memorizer_mapped_phys(VMEMMAP_START + (i << PMD_SHIFT)) & PMD_MASK;
}

static inline bool memorizer_is_user_address(unsigned long addr)
{
	return (long)addr >= 0;
}

static inline bool memorizer_is_page_struct(unsigned long addr)
{
	return addr >= VMEMMAP_START && addr < VMEMMAP_START + (1UL << 40);
}

#endif /* _ASM_X86_MEMORIZER_H */
