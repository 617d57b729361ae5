// SPDX-License-Identifier: GPL-2.0
/*
 * test_workload: functions whose accesses are known, for tests from outside.
 *
 *   echo "KIND SIZE WRITES READS [keep]" > test_workload
 *
 * KIND is kmalloc, pages or vmalloc. The object is written and read in
 * memorizer_workload_touch(), then freed unless kept until the next time.
 * Reading the file tells the last one:
 *
 *   va size writes reads pid function free|live
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

static DEFINE_MUTEX(workload_mutex);
static char last[160];
static void *kept;
static char kept_kind;

/* Exactly @writes stores and @reads loads of one byte each, nothing else. */
noinline void memorizer_workload_touch(volatile char *p, unsigned long size,
				       unsigned long writes, unsigned long reads);
noinline void memorizer_workload_touch(volatile char *p, unsigned long size,
				       unsigned long writes, unsigned long reads)
{
	unsigned long i;

	for (i = 0; i < writes; i++)
		p[i % size] = i;
	for (i = 0; i < reads; i++)
		(void)p[i % size];
}

static void *take(char kind, unsigned long size)
{
	switch (kind) {
	case 'k':
		return kmalloc(size, GFP_KERNEL);
	case 'p':
		return alloc_pages_exact(size, GFP_KERNEL);
	case 'v':
		return vmalloc(size);
	}
	return NULL;
}

static void give(char kind, void *p, unsigned long size)
{
	switch (kind) {
	case 'k':
		kfree(p);
		break;
	case 'p':
		free_pages_exact(p, size);
		break;
	case 'v':
		vfree(p);
		break;
	}
}

static unsigned long kept_size;

static int run(const char *line)
{
	unsigned long size, writes, reads;
	char kind[16], keep[8] = "";
	void *p;

	if (sscanf(line, "%15s %lu %lu %lu %7s", kind, &size, &writes, &reads, keep) < 4)
		return -EINVAL;
	if (!size || size > 4 << 20)
		return -EINVAL;
	if (strcmp(kind, "kmalloc") && strcmp(kind, "pages") && strcmp(kind, "vmalloc"))
		return -EINVAL;
	if (kept)
		give(kept_kind, kept, kept_size);
	kept = NULL;
	p = take(kind[0], size);
	if (!p)
		return -ENOMEM;
	memorizer_workload_touch(p, size, writes, reads);
	snprintf(last, sizeof(last), "%px %lu %lu %lu %d %px %s\n", p, size, writes,
		 reads, current->pid, memorizer_workload_touch,
		 *keep ? "live" : "free");
	if (!*keep) {
		give(kind[0], p, size);
		return 0;
	}
	kept = p;
	kept_kind = kind[0];
	kept_size = size;
	return 0;
}

static ssize_t workload_write(struct file *file, const char __user *buf,
			      size_t count, loff_t *pos)
{
	char line[80];
	int err;

	if (count >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, buf, count))
		return -EFAULT;
	line[count] = 0;
	mutex_lock(&workload_mutex);
	err = run(line);
	mutex_unlock(&workload_mutex);
	return err ?: count;
}

static ssize_t workload_read(struct file *file, char __user *buf, size_t count,
			     loff_t *pos)
{
	return simple_read_from_buffer(buf, count, pos, last, strlen(last));
}

static const struct file_operations workload_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = workload_read,
	.write = workload_write,
	.llseek = default_llseek,
};

static int __init workload_init(void)
{
	struct dentry *dir = debugfs_lookup("memorizer", NULL);

	debugfs_create_file("test_workload", 0600, dir, NULL, &workload_fops);
	dput(dir);
	return 0;
}
late_initcall_sync(workload_init);
