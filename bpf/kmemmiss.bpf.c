// SPDX-License-Identifier: GPL-2.0
/* Count by CPU how often the kernel did not re-enter our programs. */
/*
 * The kernel counts that by program and CPU, but reports only the sum of all CPUs. An iterator over
 * the programs may read the counters themselves.
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "uapi/memorizer/kmemtrace.h"

char LICENSE[] SEC("license") = "GPL";

const volatile __u32 cfg_ids[KMT_MISS_PROGRAMS];
const volatile __u32 cfg_nids;
const volatile __u32 cfg_ncpus;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, KMT_MISS_CPUS);
	__type(key, __u32);
	__type(value, __u64);
} missed SEC(".maps");

/* A variable that every CPU has: its address tells where the other data of the CPU is. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} anchor SEC(".maps");

/*
 * A pointer as a number: the verifier treats a value that is read from memory
 * as a number.
 */
static __always_inline __u64 number_of(void *p)
{
	__u64 n = 0;

	bpf_probe_read_kernel(&n, sizeof(n), &p);
	return n;
}

static __always_inline bool is_ours(__u32 id)
{
	for (__u32 i = 0; i < KMT_MISS_PROGRAMS; i++)
		if (i < cfg_nids && cfg_ids[i] == id)
			return true;
	return false;
}

SEC("iter/bpf_prog") int count_missed(struct bpf_iter__bpf_prog *ctx)
{
	struct bpf_prog *prog = ctx->prog;
	__u64 stats = 0, base = 0, n = 0;

	if (!prog || !is_ours(prog->aux->id))
		return 0;
	bpf_probe_read_kernel(&base, sizeof(base),
			      (void *)(number_of(&anchor) +
				       bpf_core_field_offset(((struct bpf_array *)0)->pptrs)));
	bpf_core_read(&stats, sizeof(stats), &prog->stats);
	if (bpf_core_field_exists(((struct bpf_prog_stats *)0)->misses))
		stats += bpf_core_field_offset(((struct bpf_prog_stats *)0)->misses);
	else
		stats += bpf_core_field_offset(((struct bpf_prog_stats___old *)0)->misses);
	for (__u32 cpu = 0; cpu < KMT_MISS_CPUS; cpu++) {
		__u32 key = cpu, zero = 0;
		__u64 *sum, *mine;

		if (cpu >= cfg_ncpus)
			break;
		sum = bpf_map_lookup_elem(&missed, &key);
		mine = bpf_map_lookup_percpu_elem(&anchor, &zero, cpu);
		if (sum && mine &&
		    !bpf_probe_read_kernel(&n, sizeof(n), (void *)(stats + (number_of(mine) - base))))
			*sum += n;
	}
	return 0;
}
