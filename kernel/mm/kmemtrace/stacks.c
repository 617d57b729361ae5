// SPDX-License-Identifier: GPL-2.0
/*
 * kmemtrace: numbers for stacks. A table of fixed size, filled without locks: a
 * stack is identified by a hash of 64 bits. Two stacks with the same hash would
 * become one; with this many stacks the chance is one in 10^11.
 */
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/stacktrace.h>
#include <linux/vmalloc.h>

#include "kmemtrace.h"

#define DEPTH	16
#define SLOTS	16384	/* 2 MiB; a power of two */
#define PROBES	64

struct slot {
	u64		hash;	/* 0 = free */
	u32		depth;	/* set last; 0 = not yet */
	unsigned long	ip[DEPTH];
};

static struct slot *slots;
DEFINE_STATIC_KEY_FALSE(kmemtrace_stacks_on);

/*
 * The table stays when stacks are off: records in the buffers refer to it. One
 * writer at a time: a static key that is being switched must not be switched
 * back.
 */
int kmemtrace_stacks_enable(bool on)
{
	static DEFINE_MUTEX(mutex);
	int ret = 0;

	mutex_lock(&mutex);
	if (on && !slots)
		slots = vzalloc(SLOTS * sizeof(*slots));
	if (on && !slots)
		ret = -ENOMEM;
	else if (on)
		static_branch_enable(&kmemtrace_stacks_on);
	else
		static_branch_disable(&kmemtrace_stacks_on);
	mutex_unlock(&mutex);
	return ret;
}

/* One multiplication per address; the shift moves the high bits down again. */
static u64 hash_of(const unsigned long *ip, unsigned int n)
{
	u64 h = n;

	while (n--)
		h = (h ^ ip[n]) * 0x9e3779b97f4a7c15ull, h ^= h >> 29;
	return h ?: 1;
}

/* The number of the current stack, from the call site on. */
u32 kmemtrace_save_stack(unsigned long site)
{
	unsigned long ip[DEPTH + 8];
	unsigned int n = stack_trace_save(ip, ARRAY_SIZE(ip), 0), from = 0, i;
	u64 hash;

	for (i = 0; i < n; i++) {
		if (ip[i] == site) {
			from = i;
			break;
		}
	}
	n = min(n - from, DEPTH);
	if (!n)
		goto none;
	hash = hash_of(ip + from, n);
	for (i = 0; i < PROBES; i++) {
		u32 at = (hash + i) & (SLOTS - 1);
		u64 was = READ_ONCE(slots[at].hash);

		if (!was) {
			was = cmpxchg(&slots[at].hash, 0, hash);
			if (!was) {
				memcpy(slots[at].ip, ip + from, n * sizeof(*ip));
				smp_store_release(&slots[at].depth, n);
				return at + 1;
			}
		}
		if (was == hash)
			return at + 1;
	}
none:
	this_cpu_inc(kmemtrace_cpu.no_stack);
	return 0;
}

int kmemtrace_stacks_show(struct seq_file *m, void *v)
{
	u32 i, j;

	seq_puts(m, "# id address...\n");
	for (i = 0; slots && i < SLOTS; i++) {
		u32 depth = smp_load_acquire(&slots[i].depth);

		if (!depth)
			continue;
		seq_printf(m, "%u", i + 1);
		for (j = 0; j < depth; j++)
			seq_printf(m, " %lx", slots[i].ip[j]);
		seq_putc(m, '\n');
	}
	return 0;
}
