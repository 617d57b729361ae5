// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/memorizer/, and the four names that are documented one
 * level up, as links.
 */
#include <linux/ctype.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/sched/task.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "frames.h"
#include "memorizer.h"

/*
 * A short word from user space, without the newline. A word that does not fit
 * is refused, not cut.
 */
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

/* 0, 1, or a word that kstrtobool() takes (yes, no, on, off), but not "10". */
static int get_switch(const char *word, bool *on)
{
	if (isalpha(word[0]))
		return kstrtobool(word, on);
	if ((word[0] != '0' && word[0] != '1') || word[1])
		return -EINVAL;
	*on = word[0] == '1';
	return 0;
}

/* The reference keeps the task while all of its threads are marked. */
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
static int enable_number(const char *word, bool pid)
{
	int nr, err = kstrtoint(word, 10, &nr);

	if (err)
		return err;
	if (nr < 0 || (pid && !nr))
		return -EINVAL;
	if (pid || nr > 3)
		return mark_pid(nr);
	return memorizer_set_mode(nr, current, 0);
}

/* Words, for users who know the file as a switch. `forget` clears all marks. */
static int enable_word(const char *word)
{
	bool on;
	int err;

	if (!strncmp(word, "pid ", 4))
		return enable_number(skip_spaces(word + 4), true);
	if (!strcmp(word, "forget"))
		return memorizer_forget_marks();
	if (!isalpha(word[0]))
		return enable_number(word, false);
	err = get_switch(word, &on);
	return err ?: memorizer_set_mode(on, NULL, 0);
}

static ssize_t enabled_write(struct file *file, const char __user *buf,
			     size_t count, loff_t *pos)
{
	u64 old = memorizer_hide();
	char word[32];
	int err = get_word(word, sizeof(word), buf, count);

	if (!err)
		err = enable_word(word);
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

/* A switch: how to read it, how to set it, how it is shown. A file's private data. */
struct control_switch {
	bool (*get)(void);
	int (*set)(bool on);
	const char *off, *on;
};

static ssize_t switch_read(struct file *file, char __user *buf, size_t count,
			   loff_t *pos)
{
	const struct control_switch *s = file_inode(file)->i_private;

	return simple_read_from_buffer(buf, count, pos, s->get() ? s->on : s->off, 2);
}

static ssize_t switch_write(struct file *file, const char __user *buf,
			    size_t count, loff_t *pos)
{
	const struct control_switch *s = file_inode(file)->i_private;
	u64 old = memorizer_hide();
	char word[16];
	bool on;
	int err = get_word(word, sizeof(word), buf, count);

	err = err ?: get_switch(word, &on);
	err = err ?: s->set(on);
	memorizer_show(old);
	return err ?: count;
}

static const struct file_operations switch_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = switch_read,
	.write = switch_write,
	.llseek = default_llseek,
};

static bool fields_get(void)
{
	return memorizer_print_fields;
}

/* When this returns, every CPU has seen the new value of the switch. */
static int fields_set(bool on)
{
	WRITE_ONCE(memorizer_print_fields, on);
	memorizer_set_fast();
	synchronize_rcu();
	return 0;
}

static struct control_switch log_switch = {
	memorizer_log_access, memorizer_set_log_access, "0\n", "1\n"
};

/* Under its upstream name, a switch reads as it does upstream. */
static struct control_switch accesses_switch = {
	memorizer_log_access, memorizer_set_log_access, "N\n", "Y\n"
};
#ifdef CONFIG_MEMORIZER_CALLS
static struct control_switch calls_switch = {
	memorizer_log_calls, memorizer_set_log_calls, "N\n", "Y\n"
};

/* Under the current names, and under those that older scripts use. */
static void __init create_calls_files(struct dentry *dir)
{
	debugfs_create_file("log_calls_enabled", 0600, dir, &calls_switch, &switch_fops);
	debugfs_create_file("function_calls", 0600, dir, NULL, &memorizer_calls_fops);
	debugfs_create_file("clear_function_calls", 0200, dir, NULL, &memorizer_calls_fops);
	debugfs_create_symlink("cfg_log_on", dir, "log_calls_enabled");
	debugfs_create_symlink("cfgmap", dir, "function_calls");
}
#else
static void __init create_calls_files(struct dentry *dir) { }
#endif

#ifdef CONFIG_MEMORIZER_FRAMES
static struct control_switch frames_switch = {
	memorizer_log_frames, memorizer_set_log_frames, "N\n", "Y\n"
};

static void __init create_frames_files(struct dentry *dir)
{
	debugfs_create_file("log_frames_enabled", 0600, dir, &frames_switch, &switch_fops);
	debugfs_create_symlink("stack_trace_on", dir, "log_frames_enabled");
}
#else
static void __init create_frames_files(struct dentry *dir) { }
#endif

#ifdef CONFIG_CGROUPS
static struct control_switch owners_switch = {
	memorizer_log_owners, memorizer_set_log_owners, "N\n", "Y\n"
};

static void __init create_owners_files(struct dentry *dir)
{
	debugfs_create_file("log_owners_enabled", 0600, dir, &owners_switch, &switch_fops);
	debugfs_create_file("owners", 0400, dir, NULL, &memorizer_owners_fops);
}
#else
static void __init create_owners_files(struct dentry *dir) { }
#endif

static struct control_switch fields_switch = { fields_get, fields_set, "0\n", "1\n" };

/*
 * Any write drops dead objects; @data: only those that kmap has shown. The
 * value does not matter, as in the original: scripts write 0 or 1.
 */
static ssize_t clear_write(struct file *file, const char __user *buf,
			   size_t count, loff_t *pos)
{
	bool printed = file_inode(file)->i_private;
	u64 old = memorizer_hide();

	memorizer_drop_dead(U64_MAX, printed, &memorizer_totals.cleared);
	memorizer_show(old);
	return count;
}

/* Empty, but not an error: scripts read all files of the folder. */
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

/* Any write waits until the events in progress on all CPUs are in the records. */
static ssize_t drain_write(struct file *file, const char __user *buf,
			   size_t count, loff_t *pos)
{
	u64 old = memorizer_hide();

	mutex_lock(&memorizer_mutex);
	memorizer_quiesce();
	memorizer_map_collect();
	mutex_unlock(&memorizer_mutex);
	memorizer_show(old);
	return count;
}

static const struct file_operations drain_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = drain_write,
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

/* The same files under the names that other versions of Memorizer use. */
static void __init create_aliases(struct dentry *dir)
{
	static const char * const aliases[][2] = {
		{ "allocs", "allocations" },
		{ "clear_dead_objs", "clear_dead_objects" },
		{ "clear_printed_objects", "clear_printed_list" },
		{ "log_live_enabled", "print_live_obj" },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(aliases); i++)
		debugfs_create_symlink(aliases[i][0], dir, aliases[i][1]);
}

/* For root only: the files contain kernel addresses and the names of all processes. */
static int __init memorizer_debugfs_init(void)
{
	static const char * const links[] = {
		"memorizer_enabled", "memorizer_log_access",
		"clear_object_list", "clear_dead_objects",
	};
	struct dentry *dir = debugfs_create_dir("memorizer", NULL);
	char target[48];
	int i;

	debugfs_create_file("memorizer_enabled", 0600, dir, NULL, &enabled_fops);
	debugfs_create_file("memorizer_log_access", 0600, dir, &log_switch, &switch_fops);
	debugfs_create_file("log_accesses_enabled", 0600, dir, &accesses_switch, &switch_fops);
	debugfs_create_file("kmap", 0400, dir, NULL, &memorizer_kmap_fops);
	debugfs_create_file("kmap_stream", 0400, dir, NULL, &memorizer_stream_fops);
	debugfs_create_file("allocations", 0400, dir, NULL, &memorizer_allocations_fops);
	debugfs_create_file("accesses", 0400, dir, NULL, &memorizer_accesses_fops);
	debugfs_create_file("global_table", 0400, dir, NULL, &memorizer_globals_fops);
	debugfs_create_file("show_stats", 0400, dir, NULL, &memorizer_stats_fops);
	debugfs_create_file("stats", 0400, dir, NULL, &memorizer_upstream_stats_fops);
	debugfs_create_file("clear_object_list", 0600, dir, NULL, &clear_fops);
	debugfs_create_file("clear_dead_objects", 0600, dir, NULL, &clear_fops);
	debugfs_create_file("clear_printed_list", 0600, dir, (void *)1, &clear_fops);
	debugfs_create_bool("print_live_obj", 0600, dir, &memorizer_print_live);
	debugfs_create_file("print_fields", 0600, dir, &fields_switch, &switch_fops);
	debugfs_create_file("on_full", 0600, dir, NULL, &full_fops);
	debugfs_create_file("drain_active_work_queue", 0200, dir, NULL, &drain_fops);
	create_aliases(dir);
	create_calls_files(dir);
	create_frames_files(dir);
	create_owners_files(dir);
	memorizer_create_upstream_files(dir);
#ifdef CONFIG_MODULES
	debugfs_create_file("module_symbols", 0400, dir, NULL, &memorizer_symbols_fops);
#endif
	for (i = 0; i < ARRAY_SIZE(links); i++) {
		snprintf(target, sizeof(target), "memorizer/%s", links[i]);
		debugfs_create_symlink(links[i], NULL, target);
	}
	return 0;
}
late_initcall(memorizer_debugfs_init);
