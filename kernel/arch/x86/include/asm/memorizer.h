/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What Memorizer must know about x86-64: where a kernel address lies in
 * physical memory, and how to keep a code address in 32 bits.
 */
#ifndef _ASM_X86_MEMORIZER_H
#define _ASM_X86_MEMORIZER_H

#include <linux/pgtable.h>
#include <asm/page.h>
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
 * Physical address of a direct map or kernel image address. Anything else
 * gives a value of at least @limit, the end of RAM.
 */
static __always_inline unsigned long
memorizer_linear_phys(unsigned long addr, unsigned long limit)
{
	unsigned long phys = addr - PAGE_OFFSET;

	if (unlikely(phys >= limit)) {
		phys = addr - __START_KERNEL_map;
		if (phys >= KERNEL_IMAGE_SIZE)
			return MEMORIZER_NO_PHYS;
		phys += phys_base;
	}
	return phys;
}

/* Walk the kernel's page table. No locks: whoever accesses @addr keeps it mapped. */
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

static inline bool memorizer_is_user_address(unsigned long addr)
{
	return (long)addr >= 0;
}

static inline bool memorizer_is_page_struct(unsigned long addr)
{
	return addr >= VMEMMAP_START && addr < VMEMMAP_START + (1UL << 40);
}

#endif /* _ASM_X86_MEMORIZER_H */
