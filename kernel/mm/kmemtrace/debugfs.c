// SPDX-License-Identifier: GPL-2.0
/* kmemtrace: the files in debugfs beside the buffers. */
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/log2.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "../internal.h"
#include "kmemtrace.h"

static struct dentry *dir;

struct dentry *kmemtrace_dir(void)
{
	return dir;
}

/* ---- counts -------------------------------------------------------------- */

static const char *const causes[] = {
	[KMEMTRACE_FULL] = "buffer_full",
	[KMEMTRACE_EARLY] = "early_full",
	[KMEMTRACE_NO_BUFFER] = "no_buffer",
	[KMEMTRACE_NMI] = "nmi",
};
static_assert(ARRAY_SIZE(causes) == KMEMTRACE_CAUSES);

/* One number, as in the original: all events that are missing, whatever the cause. */
static int overruns_show(struct seq_file *m, void *v)
{
	u64 sum = 0;
	int cpu, i;

	for_each_possible_cpu(cpu)
		for (i = 0; i < KMEMTRACE_CAUSES; i++)
			sum += per_cpu(kmemtrace_cpu, cpu).lost[i];
	seq_printf(m, "%llu\n", sum);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(overruns);

/*
 * A line of names, then one line per CPU; "sequence" is the last number given
 * out. The recorder checks its files against these numbers, so they come from
 * the writing side alone: what was recorded, what found no room, how far relay
 * has got.
 */
static int counts_show(struct seq_file *m, void *v)
{
	int cpu, i;

	seq_printf(m, "sequence %u\n", (u32)atomic_read(&kmemtrace_seq));
	seq_printf(m, "subbufs %u\nsubbuf_size %u\n", kmemtrace_subbufs, kmemtrace_subbuf_size);
	seq_puts(m, "cpu recorded");
	for (i = 0; i < KMEMTRACE_CAUSES; i++)
		seq_printf(m, " %s", causes[i]);
	seq_puts(m, " null_frees no_cache no_stack produced consumed offset\n");
	for_each_possible_cpu(cpu) {
		const struct kmemtrace_cpu *c = per_cpu_ptr(&kmemtrace_cpu, cpu);
		struct rchan_buf *buf = *per_cpu_ptr(kmemtrace_channel()->buf, cpu);

		seq_printf(m, "%d %llu", cpu, c->recorded);
		for (i = 0; i < KMEMTRACE_CAUSES; i++)
			seq_printf(m, " %llu", c->lost[i]);
		seq_printf(m, " %llu %llu %llu", c->nulls, c->no_cache, c->no_stack);
		if (buf)
			seq_printf(m, " %zu %zu %zu\n", buf->subbufs_produced,
				   buf->subbufs_consumed, buf->offset);
		else
			seq_puts(m, " 0 0 0\n");
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counts);

/* The bits differ between kernels: "BIT NAME" lines, to be kept with a trace. */
static int gfp_show(struct seq_file *m, void *v)
{
	const struct trace_print_flags *f;

	for (f = gfpflag_names; f->name; f++)
		if (is_power_of_2(f->mask) && strstarts(f->name, "__GFP_"))
			seq_printf(m, "%d %s\n", ilog2(f->mask), f->name + 6);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(gfp);

DEFINE_SHOW_ATTRIBUTE(kmemtrace_caches);
DEFINE_SHOW_ATTRIBUTE(kmemtrace_stacks);

static int abi_version_show(struct seq_file *m, void *v)
{
	seq_printf(m, "%d\n", KMEMTRACE_ABI_VERSION);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(abi_version);

/* ---- switches ------------------------------------------------------------ */

/* 0 or 1, which scripts compare; words are accepted only in writes. */
static ssize_t show_bool(char __user *to, size_t count, loff_t *pos, bool value)
{
	return simple_read_from_buffer(to, count, pos, value ? "1\n" : "0\n", 2);
}

static ssize_t enabled_read(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	return show_bool(to, count, pos, kmemtrace_enabled());
}

static ssize_t enabled_write(struct file *file, const char __user *from, size_t count,
			     loff_t *pos)
{
	bool on;
	int ret = kstrtobool_from_user(from, count, &on) ?: kmemtrace_enable(on);

	return ret ?: count;
}

static const struct file_operations enabled_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = enabled_read,
	.write = enabled_write,
};

static ssize_t record_stacks_read(struct file *file, char __user *to, size_t count,
				  loff_t *pos)
{
	return show_bool(to, count, pos, static_key_enabled(&kmemtrace_stacks_on));
}

static ssize_t record_stacks_write(struct file *file, const char __user *from, size_t count,
				   loff_t *pos)
{
	bool on;
	int ret = kstrtobool_from_user(from, count, &on) ?: kmemtrace_stacks_enable(on);

	return ret ?: count;
}

static const struct file_operations record_stacks_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = record_stacks_read,
	.write = record_stacks_write,
};

/* Before late_initcalls, so that the files exist early when the boot is traced. */
static int __init kmemtrace_debugfs_init(void)
{
	dir = debugfs_create_dir("kmemtrace", NULL);
	debugfs_create_file("enabled", 0600, dir, NULL, &enabled_fops);
	debugfs_create_file("record_stacks", 0600, dir, NULL, &record_stacks_fops);
	debugfs_create_file("abi_version", 0400, dir, NULL, &abi_version_fops);
	debugfs_create_file("total_overruns", 0400, dir, NULL, &overruns_fops);
	debugfs_create_file("counts", 0400, dir, NULL, &counts_fops);
	debugfs_create_file("caches", 0400, dir, NULL, &kmemtrace_caches_fops);
	debugfs_create_file("gfp", 0400, dir, NULL, &gfp_fops);
	debugfs_create_file("stacks", 0400, dir, NULL, &kmemtrace_stacks_fops);
	kmemtrace_late_init(dir);
	return 0;
}
fs_initcall(kmemtrace_debugfs_init);
