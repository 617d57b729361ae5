// SPDX-License-Identifier: BSD-2-Clause
/* Evaluate a seccomp filter, to find out whether recording can continue under it. */
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "sandbox.h"

struct machine {
	uint32_t a, x, mem[BPF_MEMWORDS];
	struct seccomp_data data;
};

static bool load(struct machine *m, const struct sock_filter *i)
{
	bool to_x = BPF_CLASS(i->code) == BPF_LDX;
	uint32_t v;

	switch (BPF_MODE(i->code)) {
	case BPF_IMM: v = i->k; break;
	case BPF_LEN: v = sizeof(m->data); break;
	case BPF_MEM:
		if (i->k >= BPF_MEMWORDS)
			return false;
		v = m->mem[i->k];
		break;
	case BPF_ABS:
		if (to_x || i->k % 4 || i->k > sizeof(m->data) - 4)
			return false;
		memcpy(&v, (const char *)&m->data + i->k, sizeof(v));
		break;
	default: return false;
	}
	*(to_x ? &m->x : &m->a) = v;
	return true;
}

static bool compute(struct machine *m, const struct sock_filter *i)
{
	uint32_t v = BPF_SRC(i->code) == BPF_X ? m->x : i->k;

	switch (BPF_OP(i->code)) {
	case BPF_ADD: m->a += v; return true;
	case BPF_SUB: m->a -= v; return true;
	case BPF_MUL: m->a *= v; return true;
	case BPF_DIV: m->a = v ? m->a / v : 0; return v;
	case BPF_MOD: m->a = v ? m->a % v : 0; return v;
	case BPF_OR: m->a |= v; return true;
	case BPF_AND: m->a &= v; return true;
	case BPF_XOR: m->a ^= v; return true;
	case BPF_LSH: m->a = v < 32 ? m->a << v : 0; return true;
	case BPF_RSH: m->a = v < 32 ? m->a >> v : 0; return true;
	case BPF_NEG: m->a = -m->a; return true;
	default: return false;
	}
}

/* The number of instructions to skip; -1 = this is not a jump. */
static int64_t jump(const struct machine *m, const struct sock_filter *i)
{
	uint32_t v = BPF_SRC(i->code) == BPF_X ? m->x : i->k;

	switch (BPF_OP(i->code)) {
	case BPF_JA: return i->k;
	case BPF_JEQ: return m->a == v ? i->jt : i->jf;
	case BPF_JGT: return m->a > v ? i->jt : i->jf;
	case BPF_JGE: return m->a >= v ? i->jt : i->jf;
	case BPF_JSET: return m->a & v ? i->jt : i->jf;
	default: return -1;
	}
}

static bool step(struct machine *m, const struct sock_filter *i, size_t *at)
{
	int64_t over;

	switch (BPF_CLASS(i->code)) {
	case BPF_LD:
	case BPF_LDX: return load(m, i);
	case BPF_ST:
	case BPF_STX:
		if (i->k >= BPF_MEMWORDS)
			return false;
		m->mem[i->k] = BPF_CLASS(i->code) == BPF_ST ? m->a : m->x;
		return true;
	case BPF_ALU: return compute(m, i);
	case BPF_JMP:
		over = jump(m, i);
		*at += over > 0 ? (size_t)over : 0;
		return over >= 0;
	case BPF_MISC:
		*(BPF_MISCOP(i->code) == BPF_TAX ? &m->x : &m->a) =
			BPF_MISCOP(i->code) == BPF_TAX ? m->a : m->x;
		return true;
	default: return false;
	}
}

uint32_t mz_filter_run(const struct sock_filter *code, size_t n, int nr, const uint64_t args[6])
{
	struct machine m = {.data = {.nr = nr, .arch = AUDIT_ARCH_X86_64}};

	memcpy(m.data.args, args, sizeof(m.data.args));
	/* jumps go forwards only, so it ends */
	for (size_t at = 0; at < n; at++) {
		const struct sock_filter *i = &code[at];

		if (BPF_CLASS(i->code) == BPF_RET)
			return BPF_RVAL(i->code) == BPF_A ? m.a : i->k;
		if (!step(&m, i, &at))
			break;
	}
	return SECCOMP_RET_KILL_PROCESS;
}

bool mz_filter_allows(const struct sock_filter *code, size_t n)
{
	/* what the library calls while it records, in children and new threads too */
	static const struct {
		int nr;
		uint64_t args[6];
	} needed[] = {
		{SYS_futex, {0}},
		{SYS_futex, {0, 1}},
		{SYS_gettid, {0}},
		{SYS_getpid, {0}},
		{SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1u}},
		{SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 3}},
		{SYS_munmap, {0, 4096}},
		{SYS_madvise, {0, 4096, MADV_DONTFORK}},
		{SYS_openat, {0}},
		{SYS_read, {3}},
		{SYS_close, {3}},
		{SYS_newfstatat, {3}},
		{SYS_fcntl, {3}},
		{SYS_readlink, {0}},
		{SYS_sigaltstack, {0}},
		{SYS_rt_sigprocmask, {-1u}},
	};

	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++) {
		uint32_t answer = mz_filter_run(code, n, needed[i].nr, needed[i].args);

		answer &= SECCOMP_RET_ACTION_FULL;
		if (answer != SECCOMP_RET_ALLOW && answer != SECCOMP_RET_LOG)
			return false;
	}
	return true;
}
