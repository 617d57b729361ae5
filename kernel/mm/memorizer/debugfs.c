// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/memorizer/, and the four names that are documented one
 * level up, as links.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/sched/task.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "memorizer.h"

/* A short word from user space, without the newline. */
static int get_word(char *word, size_t size, const char __user *buf, size_t count)
{
	if (count >= size)
		return -EINVAL;
	if (copy_from_user(word, buf, count))
		return -EFAULT;
	word[count] = 0;
	strim(word);
	return 0;
}

static int mark_pid(pid_t nr)
{
	struct task_struct *task;
	int err;

	rcu_read_lock();
	task = find_task_by_vpid(nr);
	if (task)
		get_task_struct(task);
	rcu_read_unlock();
	if (!task)
		return -ESRCH;
	err = memorizer_set_mode(3, task, nr);
	put_task_struct(task);
	return err;
}

/* 0 to 3 are modes, other numbers and `pid N` are processes. */
static ssize_t enabled_write(struct file *file, const char __user *buf,
			     size_t count, loff_t *pos)
{
	u64 old = memorizer_hide();
	bool pid = false;
	char word[32];
	int err, nr;

	err = get_word(word, sizeof(word), buf, count);
	if (err)
		goto out;
	pid = !strncmp(word, "pid ", 4);
	err = kstrtoint(skip_spaces(pid ? word + 4 : word), 10, &nr);
	if (err)
		goto out;
	if (nr < 0 || (pid && !nr))
		err = -EINVAL;
	else if (pid || nr > 3)
		err = mark_pid(nr);
	else
		err = memorizer_set_mode(nr, current, 0);
out:
	memorizer_show(old);
	return err ?: count;
}

static ssize_t enabled_read(struct file *file, char __user *buf, size_t count,
			    loff_t *pos)
{
	char words[80];
	int n = memorizer_state_words(words, sizeof(words));

	return simple_read_from_buffer(buf, count, pos, words, n);
}

static const struct file_operations enabled_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = enabled_read,
	.write = enabled_write,
	.llseek = default_llseek,
};

static int log_get(void *data, u64 *val)
{
	*val = memorizer_log_access();
	return 0;
}

static int log_set(void *data, u64 val)
{
	u64 old = memorizer_hide();
	int err = val > 1 ? -EINVAL : memorizer_set_log_access(val);

	memorizer_show(old);
	return err;
}
DEFINE_DEBUGFS_ATTRIBUTE(log_fops, log_get, log_set, "%llu\n");

static int fields_get(void *data, u64 *val)
{
	*val = memorizer_print_fields;
	return 0;
}

/*
 * What is recent was not noted: it must be looked at once more. Forgotten when
 * nobody is left who has not seen the switch, and would enter it again.
 */
static int fields_set(void *data, u64 val)
{
	u64 old;

	if (val > 1)
		return -EINVAL;
	old = memorizer_hide();
	WRITE_ONCE(memorizer_print_fields, val);
	synchronize_rcu();
	memorizer_forget_recent();
	memorizer_show(old);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(fields_fops, fields_get, fields_set, "%llu\n");

/* Any write drops dead objects; @data: only those that kmap has shown. */
static ssize_t clear_write(struct file *file, const char __user *buf,
			   size_t count, loff_t *pos)
{
	bool printed = file_inode(file)->i_private;
	u64 old = memorizer_hide();

	memorizer_totals.cleared += memorizer_drop_dead(U64_MAX, printed);
	memorizer_show(old);
	return count;
}

/* Nothing to read. */
static ssize_t clear_read(struct file *file, char __user *buf, size_t count,
			  loff_t *pos)
{
	return 0;
}

static const struct file_operations clear_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = clear_read,
	.write = clear_write,
	.llseek = noop_llseek,
};

static ssize_t full_read(struct file *file, char __user *buf, size_t count,
			 loff_t *pos)
{
	const char *s = memorizer_reclaim_policy ? "reclaim\n" : "keep\n";

	return simple_read_from_buffer(buf, count, pos, s, strlen(s));
}

static ssize_t full_write(struct file *file, const char __user *buf,
			  size_t count, loff_t *pos)
{
	char word[16];
	int err = get_word(word, sizeof(word), buf, count);

	if (err)
		return err;
	if (!strcmp(word, "reclaim"))
		memorizer_reclaim_policy = true;
	else if (!strcmp(word, "keep"))
		memorizer_reclaim_policy = false;
	else
		return -EINVAL;
	return count;
}

static const struct file_operations full_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = full_read,
	.write = full_write,
	.llseek = default_llseek,
};

struct dentry *memorizer_dir;

static int __init memorizer_debugfs_init(void)
{
	static const char * const links[] = {
		"memorizer_enabled", "memorizer_log_access",
		"clear_object_list", "clear_dead_objects",
	};
	struct dentry *dir = debugfs_create_dir("memorizer", NULL);
	char target[48];
	int i;

	memorizer_dir = dir;
	debugfs_create_file("memorizer_enabled", 0600, dir, NULL, &enabled_fops);
	debugfs_create_file_unsafe("memorizer_log_access", 0600, dir, NULL, &log_fops);
	debugfs_create_file("kmap", 0400, dir, NULL, &memorizer_kmap_fops);
	debugfs_create_file("kmap_stream", 0400, dir, NULL, &memorizer_stream_fops);
	debugfs_create_file("allocations", 0400, dir, NULL, &memorizer_allocations_fops);
	debugfs_create_file("show_stats", 0400, dir, NULL, &memorizer_stats_fops);
	debugfs_create_file("clear_object_list", 0600, dir, NULL, &clear_fops);
	debugfs_create_file("clear_dead_objects", 0600, dir, NULL, &clear_fops);
	debugfs_create_file("clear_printed_list", 0600, dir, (void *)1, &clear_fops);
	debugfs_create_bool("print_live_obj", 0600, dir, &memorizer_print_live);
	debugfs_create_file("print_fields", 0600, dir, NULL, &fields_fops);
	debugfs_create_file("on_full", 0600, dir, NULL, &full_fops);
	for (i = 0; i < ARRAY_SIZE(links); i++) {
		snprintf(target, sizeof(target), "memorizer/%s", links[i]);
		debugfs_create_symlink(links[i], NULL, target);
	}
	return 0;
}
late_initcall(memorizer_debugfs_init);
