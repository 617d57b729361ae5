/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where ftrace leads the entries of all functions while calls are counted. On
 * the stack: the address behind the function's call, then the call site.
 * All registers but %r10 and %r11 may hold arguments.
 */
#include <linux/linkage.h>
#include <linux/memorizer-compat.h>
#include <asm/asm.h>
#include <asm/asm-offsets.h>
#include <asm/percpu.h>
#include "entry-offsets.h"

#define EDGE	MEMORIZER_calls_call
#define TAG	MEMORIZER_calls_call + MEMORIZER_call_tag
#define COUNT	MEMORIZER_calls_call + MEMORIZER_call_count

SYM_FUNC_START(memorizer_calls_entry)
	pushq	%rax
	pushq	%rdx
	movl	16(%rsp), %r10d
	movq	24(%rsp), %rax
	shlq	$32, %rax
	orq	%r10, %rax				/* the edge */
	testl	$MEMORIZER_irq_bits, MEMORIZER_ASM_PREEMPT_COUNT
	jnz	.Linterrupt
	movq	MEMORIZER_ASM_CURRENT, %r11
	movq	MEMORIZER_tag(%r11), %r11
.Lfind:
	leaq	(%rax, %r11), %rdx
	imulq	factor(%rip), %rdx
	movq	PER_CPU_VAR(memorizer_calls_fast), %r10
	shrq	$32, %rdx
	andl	MEMORIZER_calls_mask(%r10), %edx
	cmpq	%rax, EDGE(%r10, %rdx)
	jne	.Lsecond
	cmpq	%r11, TAG(%r10, %rdx)
	jne	.Lsecond
.Lcount:
	lock incq COUNT(%r10, %rdx)
	popq	%rdx
	popq	%rax
	RET
.Lsecond:
	xorl	$MEMORIZER_call_size, %edx
	cmpq	%rax, EDGE(%r10, %rdx)
	jne	.Lslow
	cmpq	%r11, TAG(%r10, %rdx)
	je	.Lcount
.Lslow:
	pushq	%rcx
	pushq	%rsi
	pushq	%rdi
	pushq	%r8
	pushq	%r9
	movq	%rax, %rdi
	call	memorizer_call
	popq	%r9
	popq	%r8
	popq	%rdi
	popq	%rsi
	popq	%rcx
	popq	%rdx
	popq	%rax
	RET
.Linterrupt:
	testl	$MEMORIZER_nmi_mask, MEMORIZER_ASM_PREEMPT_COUNT
	jnz	.Lslow
	movq	PER_CPU_VAR(memorizer_cpu + MEMORIZER_irq_tag), %r11
	jmp	.Lfind
SYM_FUNC_END(memorizer_calls_entry)
_ASM_NOKPROBE(memorizer_calls_entry)

	.section .rodata, "a"
	.balign 8
factor:
	.quad	MEMORIZER_calls_factor
