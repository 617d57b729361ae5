// SPDX-License-Identifier: BSD-2-Clause
/* Make the signal frame from which the kernel restores a borrowed thread. */
#include "record/attach_thread.h"

#ifdef __x86_64__

#include <cpuid.h>
#include <signal.h>
#include <string.h>

/* What the kernel puts on the stack for a handler; see its asm/sigframe.h. */
struct frame {
	uint64_t back; /* where the handler returns to */
	uint64_t flags, link;
	uint64_t alt_at;
	uint32_t alt_flags, pad;
	uint64_t alt_size;
	struct sigcontext regs;
	uint64_t signals;
	uint8_t info[128];
};

/* What the kernel looks for in a frame with extended state. */
struct extended {
	uint32_t magic, size;
	uint64_t features;
	uint32_t state_size, pad[7];
};

enum {
	FLAG_XSTATE = 1,
	FLAG_STACK_SEGMENT = 2 | 4,
	EXTENDED_AT = 464,
	HEADER_AT = 512,
	LEAST_STATE = 576,
	/* no mode of an alternate stack: the kernel leaves the thread's as it is */
	NO_ALT_STACK = 0x55,
};
#define MAGIC_FIRST 0x46505853u
#define MAGIC_LAST  0x46505845u

/* The end of the last component that is not in its initial state. */
static size_t used_state(const struct mz_attach_thread *t, uint64_t features)
{
	size_t size = LEAST_STATE;

	for (unsigned i = 2; i < 63; i++) {
		unsigned bytes, at, c, d;

		if (!(features >> i & 1))
			continue;
		__cpuid_count(0xd, i, bytes, at, c, d);
		size = at + bytes > size ? at + bytes : size;
	}
	return size < t->vectors_size ? size : t->vectors_size;
}

size_t mz_attach_frame_room(const struct mz_attach_thread *t)
{
	return sizeof(struct frame) + t->vectors_size + 256;
}

/* An interrupted system call is made again, as after a signal with SA_RESTART. A call with a
 * time limit starts again with its full time. (When we release the thread, the call continues
 * with the time that was left.) */
static void set_regs(struct sigcontext *c, const struct user_regs_struct *r)
{
	int64_t ret = (int64_t)r->rax;
	bool again = (int64_t)r->orig_rax >= 0 && ret <= -512 && ret >= -516;

	*c = (struct sigcontext){.r8 = r->r8,
				 .r9 = r->r9,
				 .r10 = r->r10,
				 .r11 = r->r11,
				 .r12 = r->r12,
				 .r13 = r->r13,
				 .r14 = r->r14,
				 .r15 = r->r15,
				 .rdi = r->rdi,
				 .rsi = r->rsi,
				 .rbp = r->rbp,
				 .rbx = r->rbx,
				 .rdx = r->rdx,
				 .rcx = r->rcx,
				 .rsp = r->rsp,
				 .eflags = r->eflags,
				 .cs = (uint16_t)r->cs,
				 .gs = (uint16_t)r->gs,
				 .fs = (uint16_t)r->fs,
				 .__pad0 = (uint16_t)r->ss,
				 .rax = again ? r->orig_rax : r->rax,
				 .rip = again ? r->rip - 2 : r->rip};
}

/* The vector registers, as in a signal frame. */
static size_t set_vectors(const struct mz_attach_thread *t, uint8_t *to, uint64_t *flags)
{
	uint64_t features;
	struct extended x = {.magic = MAGIC_FIRST};
	const uint32_t last = MAGIC_LAST;

	memcpy(to, t->vectors, t->vectors_size);
	if (t->vectors_size < LEAST_STATE)
		return t->vectors_size;
	memcpy(&features, t->vectors + HEADER_AT, sizeof(features));
	x.features = features | 3;
	x.state_size = (uint32_t)used_state(t, features);
	x.size = x.state_size + (uint32_t)sizeof(last);
	memcpy(to + EXTENDED_AT, &x, sizeof(x));
	memcpy(to + x.state_size, &last, sizeof(last));
	*flags |= FLAG_XSTATE;
	return x.size;
}

uint64_t mz_attach_frame(const struct mz_attach_thread *t, uint64_t end)
{
	struct frame f = {.back = t->sigreturn_at,
			  .flags = FLAG_STACK_SEGMENT,
			  .alt_flags = NO_ALT_STACK,
			  .signals = t->signals};
	uint8_t state[ATTACH_STATE + 8];
	size_t bytes = set_vectors(t, state, &f.flags);
	uint64_t state_at = (end - bytes) & ~63ull;
	/* where the return address of a function stands */
	uint64_t at = ((state_at - sizeof(f)) & ~15ull) - 8;

	set_regs(&f.regs, &t->regs);
	memcpy(&f.regs.fpstate, &state_at, sizeof(state_at));
	return mz_attach_write(t->objects, state_at, state, bytes) &&
			       mz_attach_write(t->objects, at, &f, sizeof(f))
		       ? at
		       : 0;
}

#endif
