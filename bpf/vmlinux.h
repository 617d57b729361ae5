/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The few kernel types that the programs touch, and only the fields that they
 * read. preserve_access_index lets the loader find the real offsets in the BTF
 * of the running kernel, so no kernel is needed to build.
 */
#ifndef MZ_BPF_VMLINUX_H
#define MZ_BPF_VMLINUX_H

typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

typedef __u8 uint8_t;
typedef __s16 int16_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
typedef _Bool bool;

#define false 0
#define true 1

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kmem_cache {
	unsigned int size;
	unsigned int object_size;
	unsigned int align;
	const char *name;
};

struct task_struct {
	void *stack;
};

struct bpf_prog_aux {
	__u32 id;
};

struct u64_stats {
	__u64 v;
};

struct bpf_prog_stats {
	struct u64_stats misses;
};

struct bpf_prog_stats___old { /* up to Linux 5.15 */
	__u64 misses;
};

struct bpf_prog {
	struct bpf_prog_aux *aux;
	struct bpf_prog_stats *stats; /* one per CPU */
};

struct bpf_array {
	void *pptrs[0];
};

struct bpf_iter__bpf_prog {
	struct bpf_prog *prog;
};

#pragma clang attribute pop

enum bpf_func_id {
	BPF_FUNC_get_current_task_btf = 158,
};

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_STACK_TRACE = 7,
};

enum { BPF_F_MMAPABLE = 1 << 10 };
enum { BPF_F_SKIP_FIELD_MASK = 0xff, BPF_F_FAST_STACK_CMP = 1 << 9 };

#endif
