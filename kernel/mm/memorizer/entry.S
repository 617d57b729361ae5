/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the plugin's calls arrive: __memorizer_at_KINDS_REGISTER, for one access (r,
 * w, x) or two of the same object (rr, rw, wr, ww) through the pointer in
 * REGISTER. All registers are preserved. The nop after the call has the offsets.
 *
 * This is memorizer_try_access() by hand, and behind it memorizer_try_range(); what
 * they do not count is left to memorizer_touched(). The two ways have labels of
 * their own, .Lxxx_plain_N and .Lxxx_ranges_N.
 */
#include <linux/export.h>
#include <linux/linkage.h>
#include <linux/memorizer-compat.h>
#include <asm/asm.h>
#include <asm/asm-offsets.h>
#include <asm/page_types.h>
#include <asm/percpu.h>
#include <asm/pgtable_64_types.h>
#include "entry-offsets.h"

/* Objects are in the upper half, where the sign is set; not so in a test. */
#ifndef jump_if_no_object
#define jump_if_no_object	jns
#endif

/*
 * %rcx: the return address; %rdx: the address that is accessed, from the start of
 * the direct map.
 */
.macro find_address reg:req
.ifc \reg, rcx
	movq	24(%rsp), %rax
	movswq	4(%rax), %rdx
	addq	%rcx, %rdx
	movq	%rax, %rcx
.else
	movq	24(%rsp), %rcx
.ifc \reg, rdx
	movswq	4(%rcx), %rax
	addq	%rax, %rdx
.else
	movswq	4(%rcx), %rdx
.ifc \reg, rsp
	leaq	32(%rsp, %rdx), %rdx		/* as it was before the call */
.else
	addq	%\reg, %rdx
.endif
.endif
.endif
	subq	memorizer_direct_base(%rip), %rdx
.endm

/* memorizer_at(): from %rdx, physical, to %rax; no object: the map is in %rdx. */
.macro find_object way:req
	movq	%rdx, %rax
	shrq	$PAGE_SHIFT, %rdx
	movq	memorizer_pages(%rip), %rcx
	movq	(%rcx, %rdx, 8), %rdx
	subq	MEMORIZER_map_base(%rdx), %rax
	imulq	MEMORIZER_map_recip(%rdx), %rax
	shrq	$32, %rax
	movq	MEMORIZER_map_objs(%rdx, %rax, 8), %rax
	testq	%rax, %rax
	jump_if_no_object .Lmiss_\way
.endm

/* %rcx: the key, from the return address at @ip(%rsp). */
.macro find_key way:req, ip:req, bit:req
	testl	$MEMORIZER_irq_bits, MEMORIZER_ASM_PREEMPT_COUNT
	jnz	.Lirq_\way
	movq	MEMORIZER_ASM_CURRENT, %rcx
	movq	MEMORIZER_tag(%rcx), %rcx
.Ltag_\way:
	addq	\ip(%rsp), %rcx
	js	.Lslow_\way
.if \bit
	btsq	$\bit, %rcx
.endif
.endm

/* ... in an interrupt */
.macro find_irq_tag way:req
.Lirq_\way:
	testl	$MEMORIZER_nmi_mask, MEMORIZER_ASM_PREEMPT_COUNT
	jnz	.Lslow_\way
	movq	PER_CPU_VAR(memorizer_cpu + MEMORIZER_irq_tag), %rcx
	jmp	.Ltag_\way
.endm

/* %rdx: where the search for the key begins in the table at %rax. */
.macro find_slot
	imulq	$MEMORIZER_hash_factor, %rcx, %rdx
	shrq	$MEMORIZER_hash_shift, %rdx
	andl	MEMORIZER_mask(%rax), %edx
.endm

/* The next slots; one in 15 searches goes further than the second. */
.macro find_next found:req
.rept 4
	addl	$16, %edx
	cmpq	%rcx, MEMORIZER_entry(%rax, %rdx)
	je	\found
.endr
.endm

/* @events: how many accesses a call stands for. */
.macro counted events:req
.if \events == 2
	addq	$2, PER_CPU_VAR(memorizer_cpu + MEMORIZER_seen)
.else
	incq	PER_CPU_VAR(memorizer_cpu + MEMORIZER_seen)
.endif
	decl	MEMORIZER_ASM_PREEMPT_COUNT
	popq	%rdx
	popq	%rcx
	popq	%rax
	RET
.endm

/* No object, at the map in %rdx. @drop: bytes on the stack to forget. */
.macro count_miss way:req, events:req, drop:req
.Lmiss_\way:
	jnz	.Lslow_\way
	movzbl	MEMORIZER_map_miss(%rdx), %ecx
	jrcxz	.Lunknown_\way
	testl	$MEMORIZER_irq_bits, MEMORIZER_ASM_PREEMPT_COUNT
	jnz	.Lirq_miss_\way
	movq	MEMORIZER_ASM_CURRENT, %rdx
	testb	$0x80, MEMORIZER_tag + 7(%rdx)
.Lmissed_\way:
	jnz	.Lslow_\way
	addq	$\events, %gs:memorizer_cpu + MEMORIZER_miss(, %rcx, 8)
.if \drop
	addq	$\drop, %rsp
.endif
	counted \events
.Lunknown_\way:
	jmp	.Lslow_\way
.Lirq_miss_\way:
	testl	$MEMORIZER_nmi_mask, MEMORIZER_ASM_PREEMPT_COUNT
	jnz	.Lslow_\way
	testb	$0x80, PER_CPU_VAR(memorizer_cpu + MEMORIZER_irq_tag + 7)
	jmp	.Lmissed_\way
.endm

/* memorizer_try_count() without ranges */
.macro count_plain way:req, events:req
	movq	MEMORIZER_sites(%rax), %rax
	cmpl	$0, MEMORIZER_mask(%rax)
	jne	.Ltable_\way
	movq	$-1, %rdx
	lock xaddq %rdx, MEMORIZER_room(%rax)
	js	.Lslow_\way
	movq	%rcx, MEMORIZER_entry - 8(%rax, %rdx, 8)
	counted \events
.Ltable_\way:
	find_slot
	cmpq	%rcx, MEMORIZER_entry(%rax, %rdx)
	jne	.Lnext_\way
.Lslot_\way:
	lock incq MEMORIZER_entry + 8(%rax, %rdx)
	counted \events
.Lnext_\way:
	find_next .Lslot_\way
	jmp	.Lslow_\way
.endm

/* The same with ranges; the extent is on top of the stack. */
.macro count_range way:req, events:req
	movq	MEMORIZER_sites(%rax), %rax
	cmpb	$0, MEMORIZER_ranges(%rax)
	jne	.Ltable_\way
	movq	$-2, %rdx
	lock xaddq %rdx, MEMORIZER_range_room(%rax)
	js	.Lslow_\way
	popq	MEMORIZER_entry - 8(%rax, %rdx, 8)
	movq	%rcx, MEMORIZER_entry - 16(%rax, %rdx, 8)
	counted \events
.Ltable_\way:
	find_slot
	cmpq	%rcx, MEMORIZER_entry(%rax, %rdx)
	jne	.Lnext_\way
.Lslot_\way:
	leaq	MEMORIZER_entry(%rax, %rdx), %rdx
	movl	MEMORIZER_mask(%rax), %eax
	popq	%rcx
	cmpq	MEMORIZER_extents + 8(%rdx, %rax), %rcx
	ja	.Labove_\way
	cmpq	MEMORIZER_extents(%rdx, %rax), %rcx
	jb	.Lbelow_\way
.Lnoted_\way:
	lock incq 8(%rdx)
	counted \events
.Labove_\way:
	/* Often the next element of an array, or else the first access of all. */
	pushq	%rdx
	leaq	MEMORIZER_extents + 8(%rdx, %rax), %rdx
	movq	(%rdx), %rax
	testq	%rax, %rax
	jz	.Lfirst_\way
	cmpq	%rax, %rcx
	jbe	.Lfirst_\way			/* not any more */
	lock cmpxchgq %rcx, (%rdx)
	jne	.Lfirst_\way
	popq	%rdx
	jmp	.Lnoted_\way
.Lfirst_\way:
	popq	%rdx
.Lbelow_\way:
	pushq	%rcx
	jmp	.Lslow_\way
.Lnext_\way:
	find_next .Lslot_\way
	jmp	.Lslow_\way
.endm

/*
 * memorizer_extent(), on the stack: %rax, from the start of the direct map, and the
 * bytes that follow or, of a pair, the distance of the second access.
 */
.macro push_extent way:req, pair:req
	shlq	$16, %rax
	movw	6(%rcx), %ax
.if \pair
	subw	4(%rcx), %ax
	pushq	%rax
	jo	.Lslow_\way
.else
	pushq	%rax
.endif
.endm

/* @bit: of the kind in the key, or 0; @events: how many accesses it stands for. */
.macro entry kinds:req, bit:req, events:req, pair:req, reg:req
SYM_FUNC_START(__memorizer_at_\kinds\()_\reg)
	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	find_address \reg
	incl	MEMORIZER_ASM_PREEMPT_COUNT
	cmpq	memorizer_fast_end(%rip), %rdx
	jae	.Lother_\@
.Lphys_plain_\@:
	find_object plain_\@
	find_key plain_\@, 24, \bit
	count_plain plain_\@, \events
	count_miss plain_\@, \events, 0
	find_irq_tag plain_\@
.Lother_\@:
	movq	%rdx, %rax
	cmpq	memorizer_range_end(%rip), %rdx
	jae	.Limage_\@
.Lphys_ranges_\@:
	push_extent ranges_\@, \pair
	find_object ranges_\@
	find_key ranges_\@, 32, \bit
	count_range ranges_\@, \events
	count_miss ranges_\@, \events, 8
	find_irq_tag ranges_\@
.Limage_\@:
	/* memorizer_fixed_phys() */
	subq	memorizer_image_base(%rip), %rdx
	cmpq	$KERNEL_IMAGE_SIZE, %rdx
	jae	.Lpages_\@
	addq	phys_base(%rip), %rdx
	cmpq	memorizer_fast_end(%rip), %rdx
	jb	.Lphys_plain_\@
	cmpq	memorizer_range_end(%rip), %rdx
	jb	.Lphys_ranges_\@
	jmp	.Lslow_plain_\@
.Lpages_\@:
	subq	memorizer_vmemmap_base(%rip), %rdx
	movq	%rdx, %rcx
	shrq	$PMD_SHIFT, %rcx
	cmpq	$MEMORIZER_vmemmap_pieces, %rcx
	jae	.Lslow_plain_\@
	andl	$((1 << PMD_SHIFT) - 1), %edx
	addq	memorizer_vmemmap(, %rcx, 8), %rdx
	cmpq	memorizer_fast_end(%rip), %rdx
	jb	.Lphys_plain_\@
	movq	24(%rsp), %rcx
	cmpq	memorizer_range_end(%rip), %rdx
	jb	.Lphys_ranges_\@
	jmp	.Lslow_plain_\@
.Lslow_ranges_\@:
	addq	$8, %rsp
.Lslow_plain_\@:
	movq	(%rsp), %rdx
	movq	8(%rsp), %rcx
	movq	16(%rsp), %rax
	pushq	%rdi
	pushq	%rsi
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
.ifc \reg, rsp
	leaq	80(%rsp), %rdi
.else
.ifnc \reg, rdi
	movq	%\reg, %rdi
.endif
.endif
	movq	72(%rsp), %rsi
	xorl	%edx, %edx
.if \bit
	btsq	$\bit, %rdx
.endif
	call	memorizer_touched
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rsi
	popq	%rdi
	popq	%rdx
	popq	%rcx
	popq	%rax
	RET
SYM_FUNC_END(__memorizer_at_\kinds\()_\reg)
_ASM_NOKPROBE(__memorizer_at_\kinds\()_\reg)
	EXPORT_SYMBOL(__memorizer_at_\kinds\()_\reg)
.endm

.irp reg, rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15
	entry r, 0, 1, 0, \reg
	entry w, 60, 1, 0, \reg
	entry x, 62, 2, 0, \reg
	entry rr, 56, 2, 1, \reg
	entry rw, 57, 2, 1, \reg
	entry wr, 58, 2, 1, \reg
	entry ww, 59, 2, 1, \reg
.endr
