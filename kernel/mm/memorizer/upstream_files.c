// SPDX-License-Identifier: GPL-2.0
/*
 * What tools and habits of other versions of Memorizer expect beside the map: warnings about
 * what gets lost, and the memory of all records as it is.
 */
#define pr_fmt(fmt) "memorizer: " fmt

#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/sizes.h>

#include "memorizer.h"

static bool verbose;

static u64 missed(int from, int to)
{
	u64 sum = 0;
	int cpu, i;

	for_each_possible_cpu(cpu)
		for (i = from; i <= to; i++)
			sum += per_cpu(memorizer_cpu, cpu).miss[i];
	return sum;
}

/* The worker has looked at the pool: say what the lack of memory has cost since last time. */
void memorizer_warn_lost(void)
{
	static u64 told;
	u64 dropped = READ_ONCE(memorizer_totals.reclaimed);
	u64 objects = missed(OBJECT_MEMORY, OBJECT_MAP);
	u64 accesses = missed(ACCESS_MEMORY, ACCESS_MEMORY);

	if (!READ_ONCE(verbose) || dropped + objects + accesses == told)
		return;
	told = dropped + objects + accesses;
	pr_warn_ratelimited("memory is low; since boot, records of freed objects dropped: %llu, objects missed: %llu, accesses missed: %llu\n",
			    dropped, objects, accesses);
}

#ifdef CONFIG_MEMORIZER_DEBUGFS_RAM
/* One read copies no more, so that it never keeps a CPU for long. */
#define MAX_RAM_READ	SZ_1M

static ssize_t read_ram(struct file *file, char __user *buf, size_t count, loff_t *pos)
{
	const void *ram = memorizer_pool_memory();

	return simple_read_from_buffer(buf, min_t(size_t, count, MAX_RAM_READ), pos, ram,
				       ram ? memorizer_pool_bytes : 0);
}

/* Not a blob of debugfs, which root can write to whatever its mode is. */
static const struct file_operations ram_fops = {
	.owner = THIS_MODULE,
	.read = read_ram,
	.llseek = default_llseek,
};

static void __init create_ram_file(struct dentry *dir)
{
	debugfs_create_file("memalloc_ram", 0400, dir, NULL, &ram_fops);
}
#else
static void __init create_ram_file(struct dentry *dir) { }
#endif

void __init memorizer_create_upstream_files(struct dentry *dir)
{
	debugfs_create_bool("verbose_warnings_enabled", 0600, dir, &verbose);
	debugfs_create_symlink("verbose_warnings", dir, "verbose_warnings_enabled");
	create_ram_file(dir);
}
