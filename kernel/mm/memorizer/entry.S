/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the plugin's calls arrive: __memorizer_at_KINDS, for one access (r, w, x) or
 * two of the same object (rr, rw, wr, ww); __memorizer_at_KINDS_image, if it is known
 * to be in the kernel image; __memorizer_at_KINDS_page, if it seems to be in the page
 * array; __memorizer_at_KIND_range, if the size is behind the call, as the distance of
 * the second access is. The address is in %r11; %r8 to %r11 may be used, all other
 * registers are preserved.
 *
 * This is memorizer_try_access() by hand, and behind it memorizer_try_range(); what
 * they do not count is left to memorizer_touched(). The two ways have labels of
 * their own, .Lxxx_plain_N and .Lxxx_ranges_N. Each instruction of the common ways
 * is paid at each access of the kernel.
 *
 * Preemption is not switched off: an interrupt of this code does that for it,
 * see memorizer_interrupt().
 */
#include <linux/linkage.h>
#include <linux/memorizer-compat.h>
#include <linux/objtool.h>
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

/* Behind the call. */
#define MORE			8

/* From %r10, physical, to the object in %r10; none: the map is in %r9. */
.macro find_object way:req
.Lphys_\way:
	movq	%r10, %r9
	shrq	$PAGE_SHIFT, %r9
	movq	memorizer_pages(%rip), %r8
	movq	(%r8, %r9, 8), %r9
	subq	MEMORIZER_map_base(%r9), %r10
	imulq	MEMORIZER_map_recip(%r9), %r10
	shrq	$32, %r10
	movq	MEMORIZER_map_objs(%r9, %r10, 8), %r10
	testq	%r10, %r10
	jump_if_no_object .Lmiss_\way
.endm

/* %r9: the key, with the return address. */
.macro find_key tag:req
	movq	PER_CPU_VAR(memorizer_cpu + MEMORIZER_tags + 8 * \tag), %r9
	addq	(%rsp), %r9
.endm

/* %r8: where the search for the key begins in the table at %r10. */
.macro find_slot
	imulq	$MEMORIZER_hash_factor, %r9, %r8
	shrq	$MEMORIZER_hash_shift, %r8
	andl	MEMORIZER_mask(%r10), %r8d
.endm

/*
 * memorizer_find_site(), after the first slot: the next ones, of @size, or an unused
 * one. One in 15 searches goes further than the second.
 */
.macro find_next way:req, size:req
.rept 4
	cmpq	$0, MEMORIZER_entry(%r10, %r8)
	je	.Lempty_\way
	addl	$\size, %r8d
	cmpq	%r9, MEMORIZER_entry(%r10, %r8)
	je	.Lslot_\way
.endr
	cmpq	$0, MEMORIZER_entry(%r10, %r8)
	jne	.Lslow_\way
.Lempty_\way:
	pushq	%rax
	xorl	%eax, %eax
	lock cmpxchgq %r9, MEMORIZER_entry(%r10, %r8)
.endm

/* @events: how many accesses a call stands for. */
.macro counted events:req
.if \events == 1
	incq	PER_CPU_VAR(memorizer_cpu + MEMORIZER_seen)
.else
	addq	$\events, PER_CPU_VAR(memorizer_cpu + MEMORIZER_seen)
.endif
	RET
.endm

/* No object, at the map in %r9; %r10: 0, or where to look for it. */
.macro count_miss way:req, at:req, events:req
.Lmiss_\way:
	jnz	.Lslow_plain_\at
	orb	MEMORIZER_map_miss(%r9), %r10b
	jz	.Lslow_plain_\at
	addq	$\events, %gs:memorizer_cpu + MEMORIZER_miss(, %r10, 8)
	RET
.endm

/* memorizer_try_count() without ranges */
.macro count_plain way:req, events:req
	movq	MEMORIZER_sites(%r10), %r10
	cmpl	$0, MEMORIZER_mask(%r10)
	jne	.Ltable_\way
	movq	$-1, %r8
	lock xaddq %r8, MEMORIZER_room(%r10)
	js	.Lslow_\way
	movq	%r9, MEMORIZER_entry - 8(%r10, %r8, 8)
	counted \events
.Ltable_\way:
	find_slot
	cmpq	%r9, MEMORIZER_entry(%r10, %r8)
	jne	.Lnext_\way
.Lslot_\way:
	lock incq MEMORIZER_entry + 8(%r10, %r8)
	counted \events
.Lnext_\way:
	cmpb	$0, MEMORIZER_ranges(%r10)
	jne	.Lslow_\way			/* slots of another size */
	find_next \way, 16
	popq	%rax
	je	.Lslot_\way
	jmp	.Lslow_\way			/* somebody else took it */
.endm

/* memorizer_extent(), in the place of the address. @more: see entry. */
.macro find_extent more:req
	shlq	$16, %r11
.if \more
	movq	(%rsp), %r8
	movw	MORE(%r8), %r11w
.endif
.endm

/* Of a slot with ranges: its extents follow the count. */
#define LOWEST			MEMORIZER_entry + 16
#define HIGHEST			MEMORIZER_entry + 24

/* The same with ranges. */
.macro count_range way:req, events:req, more:req
	find_extent \more
	movq	MEMORIZER_sites(%r10), %r10
	cmpb	$0, MEMORIZER_ranges(%r10)
	jne	.Ltable_\way
	movq	$-2, %r8
	lock xaddq %r8, MEMORIZER_range_room(%r10)
	js	.Lslow_\way
	movq	%r11, MEMORIZER_entry - 8(%r10, %r8, 8)
	movq	%r9, MEMORIZER_entry - 16(%r10, %r8, 8)
	counted \events
.Ltable_\way:
	find_slot
	cmpq	%r9, MEMORIZER_entry(%r10, %r8)
	jne	.Lnext_\way
.Lslot_\way:
	cmpq	%r11, HIGHEST(%r10, %r8)
	jne	.Lelsewhere_\way
.Lnoted_\way:
	lock incq MEMORIZER_entry + 8(%r10, %r8)
	counted \events
.Lelsewhere_\way:
	jb	.Labove_\way
	cmpq	LOWEST(%r10, %r8), %r11
	jae	.Lnoted_\way
	jmp	.Lslow_\way
.Labove_\way:
	/* Often the next element of an array, or else the first access of all. */
	movq	%rax, %r9
	movq	HIGHEST(%r10, %r8), %rax
	testq	%rax, %rax
	jz	.Lfirst_\way
	cmpq	%rax, %r11
	jbe	.Lfirst_\way			/* not any more */
	lock cmpxchgq %r11, HIGHEST(%r10, %r8)
	jne	.Lfirst_\way
	movq	%r9, %rax
	jmp	.Lnoted_\way
.Lfirst_\way:
	movq	%r9, %rax
	jmp	.Lslow_\way
.Lnext_\way:
	find_next \way, 32
	jne	.Ltaken_\way
	/* Nothing is noted yet. The highest is written last. */
	lock cmpxchgq %r11, LOWEST(%r10, %r8)
	jne	.Ltaken_\way
	lock cmpxchgq %r11, HIGHEST(%r10, %r8)
	jne	.Ltaken_\way
	popq	%rax
	jmp	.Lnoted_\way
.Ltaken_\way:
	popq	%rax
	jmp	.Lslow_\way
.endm

/*
 * On to the way in use, .Lphys_plain or .Lphys_ranges, if %r10 is in RAM. The jump is a
 * jb, and ways.c changes its target when the way changes.
 */
.macro take_way at:req
	cmpq	PER_CPU_VAR(memorizer_cpu + MEMORIZER_end), %r10
661:	.byte	0x0f, 0x82
	.long	.Lphys_plain_\at - 662f
662:
	.pushsection .rodata
	.long	661b - __memorizer_entries
	.long	.Lphys_plain_\at - __memorizer_entries
	.long	.Lphys_ranges_\at - __memorizer_entries
	.popsection
.endm

/* memorizer_fixed_phys(): from %r11 to %r10. */
.macro find_fixed at:req, base:req
.ifnc \base, memorizer_direct_base		/* not where it seemed to be */
	movq	%r11, %r10
	subq	memorizer_direct_base(%rip), %r10
	take_way \at
.endif
	movq	%r11, %r10
	subq	$__START_KERNEL_map, %r10
	cmpq	$KERNEL_IMAGE_SIZE, %r10
	jae	.Lpages_\at
	addq	phys_base(%rip), %r10
.Lram_\at:
	take_way \at
	/* Never taken here: it tells objtool that there is a way with ranges. */
	jb	.Lphys_ranges_\at
	jmp	.Lslow_plain_\at
.Lpages_\at:
	movq	%r11, %r10
	subq	memorizer_vmemmap_base(%rip), %r10
	movq	%r10, %r9
	shrq	$PMD_SHIFT, %r9
	cmpq	$MEMORIZER_vmemmap_pieces, %r9
	jae	.Lslow_plain_\at
	andl	$((1 << PMD_SHIFT) - 1), %r10d
	addq	memorizer_vmemmap(, %r9, 8), %r10
	jmp	.Lram_\at
.endm

/* From the address in %r11 on. @base: what it is from there is where it is in RAM. */
.macro count_access at:req, base:req, tag:req, events:req, more:req
	movq	%r11, %r10
	subq	\base(%rip), %r10
	take_way \at
	find_fixed \at, \base
	find_object plain_\at
	find_key \tag
	count_plain plain_\at, \events
	count_miss plain_\at, \at, \events
	find_object ranges_\at
	find_key \tag
	count_range ranges_\at, \events, \more
	count_miss ranges_\at, \at, \events
.endm

/*
 * To memorizer_touched(), with the address in %r11. It switches preemption on again.
 */
.macro touched bit:req
	incl	MEMORIZER_ASM_PREEMPT_COUNT
	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	pushq	%rsi
	pushq	%rdi
	movq	%r11, %rdi
	movq	40(%rsp), %rsi
	xorl	%edx, %edx
.if \bit
	btsq	$\bit, %rdx
.endif
	call	memorizer_touched
	popq	%rdi
	popq	%rsi
	popq	%rdx
	popq	%rcx
	popq	%rax
	RET
.endm

/*
 * @tag: the number of the kinds, see memorizer_kinds[]; @bit: what they are in the key,
 * or 0; @events: how many accesses; @more: whether there is a size or a distance.
 */
.macro entry name:req, base:req, tag:req, bit:req, events:req, more:req
SYM_FUNC_START(__memorizer_at_\name)
	count_access \@, \base, \tag, \events, \more
.Lslow_ranges_\@:
	sarq	$16, %r11
.Lslow_plain_\@:
	touched \bit
SYM_FUNC_END(__memorizer_at_\name)
_ASM_NOKPROBE(__memorizer_at_\name)
.endm

.macro entries kinds:req, tag:req, bit:req, events:req, pair=0
	entry \kinds, memorizer_direct_base, \tag, \bit, \events, \pair
	entry \kinds\()_image, memorizer_image_base, \tag, \bit, \events, \pair
	entry \kinds\()_page, memorizer_page_base, \tag, \bit, \events, \pair
.if \pair == 0
	entry \kinds\()_range, memorizer_direct_base, \tag, \bit, \events, 1
.endif
.endm

	.globl	__memorizer_entries, __memorizer_entries_end
	.globl	__memorizer_ways, __memorizer_ways_end
	.pushsection .rodata
	.balign	4
__memorizer_ways:
	.popsection
__memorizer_entries:
	ANNOTATE_NOENDBR	/* for comparisons; nobody jumps there */
	entries r, 0, 0, 1
	entries w, 1, 60, 1
	entries x, 2, 62, 2
	entries rr, 3, 56, 2, pair=1
	entries rw, 4, 57, 2, pair=1
	entries wr, 5, 58, 2, pair=1
	entries ww, 6, 59, 2, pair=1
__memorizer_entries_end:
	.pushsection .rodata
__memorizer_ways_end:
	.popsection
