/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the plugin's calls arrive: __memorizer_at_KINDS_REGISTER, for one access (r,
 * w, x) or two of the same object (rr, rw, wr, ww) through the pointer in
 * REGISTER. All registers are preserved. The nop after the call has the offsets.
 *
 * This is memorizer_try_access() by hand; what it does not count is left to
 * memorizer_touched().
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

/* %rcx: the return address; %rdx: the address that is accessed. */
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
.ifc \reg, rax
	addq	16(%rsp), %rdx
.else
.ifc \reg, rsp
	leaq	32(%rsp, %rdx), %rdx		/* as it was before the call */
.else
	addq	%\reg, %rdx
.endif
.endif
.endif
.endif
.endm

/* @bit: of the kind in the key, or 0; @events: how many accesses it stands for. */
.macro entry kinds:req, bit:req, events:req, reg:req
SYM_FUNC_START(__memorizer_at_\kinds\()_\reg)
	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	find_address \reg
	incl	MEMORIZER_ASM_PREEMPT_COUNT
	movq	%rdx, %rax
	subq	memorizer_direct_base(%rip), %rax
	cmpq	memorizer_fast_end(%rip), %rax
	jae	.Limage_\@
.Lphys_\@:
	/* memorizer_at() */
	movq	%rax, %rdx
	shrq	$(PAGE_SHIFT - 3), %rdx
	andq	$-8, %rdx
	addq	memorizer_pages(%rip), %rdx
	movq	(%rdx), %rdx
	subq	MEMORIZER_map_base(%rdx), %rax
	imulq	MEMORIZER_map_recip(%rdx), %rax
	shrq	$32, %rax
	movq	MEMORIZER_map_objs(%rdx, %rax, 8), %rax
	testq	%rax, %rax
	jump_if_no_object .Lmiss_\@
	/* The key. */
	testl	$MEMORIZER_irq_bits, MEMORIZER_ASM_PREEMPT_COUNT
	jnz	.Lirq_\@
	movq	MEMORIZER_ASM_CURRENT, %rdx
	addq	MEMORIZER_tag(%rdx), %rcx
.Lkey_\@:
	js	.Lslow_\@
.if \bit
	btsq	$\bit, %rcx
.endif
	/* memorizer_try_count() */
	movq	MEMORIZER_sites(%rax), %rax
	cmpl	$0, MEMORIZER_mask(%rax)
	jne	.Ltable_\@
	movq	$-1, %rdx
	lock xaddq %rdx, MEMORIZER_room(%rax)
	js	.Lslow_\@
	movq	%rcx, MEMORIZER_entry - 8(%rax, %rdx, 8)
.Lcounted_\@:
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
.Ltable_\@:
	imulq	$MEMORIZER_hash_factor, %rcx, %rdx
	shrq	$MEMORIZER_hash_shift, %rdx
	andl	MEMORIZER_mask(%rax), %edx
	cmpq	%rcx, MEMORIZER_entry(%rax, %rdx)
	jne	.Lnext_\@
	lock incq MEMORIZER_entry + 8(%rax, %rdx)
	jmp	.Lcounted_\@
.Lnext_\@:
	cmpq	%rcx, MEMORIZER_entry + 16(%rax, %rdx)
	jne	.Lslow_\@
	lock incq MEMORIZER_entry + 24(%rax, %rdx)
	jmp	.Lcounted_\@
.Lmiss_\@:
	jnz	.Lslow_\@
	movzbl	MEMORIZER_map_miss(%rdx), %eax
	testl	%eax, %eax
	jz	.Lslow_\@
	testl	$MEMORIZER_irq_bits, MEMORIZER_ASM_PREEMPT_COUNT
	jnz	.Lslow_\@
	movq	MEMORIZER_ASM_CURRENT, %rdx
	testb	$0x80, MEMORIZER_tag + 7(%rdx)
	jnz	.Lslow_\@
	addq	$\events, %gs:memorizer_cpu + MEMORIZER_miss(, %rax, 8)
	jmp	.Lcounted_\@
.Limage_\@:
	/* memorizer_fixed_phys() */
	movq	%rdx, %rax
	subq	$__START_KERNEL_map, %rax
	cmpq	$KERNEL_IMAGE_SIZE, %rax
	jae	.Lpages_\@
	addq	phys_base(%rip), %rax
	cmpq	memorizer_fast_end(%rip), %rax
	jb	.Lphys_\@
	jmp	.Lslow_\@
.Lpages_\@:
	subq	memorizer_vmemmap_base(%rip), %rdx
	movq	%rdx, %rax
	shrq	$PMD_SHIFT, %rax
	cmpq	$MEMORIZER_vmemmap_pieces, %rax
	jae	.Lslow_\@
	andl	$((1 << PMD_SHIFT) - 1), %edx
	movq	memorizer_vmemmap(, %rax, 8), %rax
	addq	%rdx, %rax
	cmpq	memorizer_fast_end(%rip), %rax
	jb	.Lphys_\@
	jmp	.Lslow_\@
.Lirq_\@:
	testl	$MEMORIZER_nmi_mask, MEMORIZER_ASM_PREEMPT_COUNT
	jnz	.Lslow_\@
	addq	PER_CPU_VAR(memorizer_cpu + MEMORIZER_irq_tag), %rcx
	jmp	.Lkey_\@
.Lslow_\@:
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
	entry r, 0, 1, \reg
	entry w, 60, 1, \reg
	entry x, 62, 2, \reg
	entry rr, 56, 2, \reg
	entry rw, 57, 2, \reg
	entry wr, 58, 2, \reg
	entry ww, 59, 2, \reg
.endr
