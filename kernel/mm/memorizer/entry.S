/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the plugin's calls arrive: __memorizer_at_KINDS_REGISTER, for one access (r,
 * w, x) or two of the same object (rr, rw, wr, ww) through the pointer in
 * REGISTER. All registers are preserved. The nop after the call has the offsets.
 *
 * This is memorizer_access() by hand: what is recent is counted here.
 */
#include <linux/export.h>
#include <linux/linkage.h>
#include <linux/memorizer-compat.h>
#include <asm/asm.h>
#include <asm/asm-offsets.h>
#include <asm/percpu.h>
#include "entry-offsets.h"

/* From %rcx, the return address, and the pointer: %rdx, the address. */
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

/* @how: of memorizer_touched(); @bit: that of a pair's key, or 0. */
.macro entry kinds:req, how:req, bit:req, reg:req
SYM_FUNC_START(__memorizer_at_\kinds\()_\reg)
	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	find_address \reg
	incl	MEMORIZER_ASM_PREEMPT_COUNT
	testl	$MEMORIZER_irq_bits, MEMORIZER_ASM_PREEMPT_COUNT
	jnz	.Lslow_\@
	leaq	(%rdx, %rcx, 8), %rax
	andl	$MEMORIZER_recent_mask, %eax
	cmpq	%rdx, %gs:memorizer_recents(%rax)
	jne	.Lslow_\@
	movq	MEMORIZER_ASM_CURRENT, %rdx
	movq	%gs:memorizer_recents+8(%rax), %rax
	addq	MEMORIZER_tag(%rdx), %rcx
.if \bit
	btsq	$\bit, %rcx
.endif
	cmpq	%rcx, (%rax)
	jne	.Lslow_\@
.ifnc \kinds, w
	lock incq 8(%rax)
.endif
.ifnc \kinds, r
	lock incq 16(%rax)
.endif
.if (\bit || \how == 2)
	addq	$2, PER_CPU_VAR(memorizer_cpu + MEMORIZER_seen)
.else
	incq	PER_CPU_VAR(memorizer_cpu + MEMORIZER_seen)
.endif
	decl	MEMORIZER_ASM_PREEMPT_COUNT
	popq	%rdx
	popq	%rcx
	popq	%rax
	RET
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
.if \bit
	xorl	%edx, %edx
	btsq	$\bit, %rdx
.else
	movl	$\how, %edx
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
	entry r, 0, 0, \reg
	entry w, 1, 0, \reg
	entry x, 2, 0, \reg
	entry rr, 2, 56, \reg
	entry rw, 2, 57, \reg
	entry wr, 2, 58, \reg
	entry ww, 2, 59, \reg
.endr
