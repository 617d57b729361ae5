// SPDX-License-Identifier: GPL-2.0
/*
 * Owners: the cgroup and the pid namespace of each process.
 *
 * An owner is a pid in a cgroup and a pid namespace. While owners are noted, the
 * tag of a task holds the number of its owner in the place of its pid. Objects,
 * access sites and calls thus keep the owner without another field, and
 * counting takes no more instructions. A task that moves to another cgroup gets
 * another owner and counts at other sites from then on. A pid that is used again
 * in the same cgroup and namespace is the same owner, as it is the same site.
 *
 * Owners are kept until the next boot: a record may name them at any time. A
 * task for which there is no memory keeps its pid as its tag, and is counted.
 */
#include <linux/cgroup.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/pid_namespace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include "memorizer.h"
#include "seq.h"

/* A cgroup of the default hierarchy. Its path cannot change while it exists. */
struct group {
	struct group *next;
	u64 id;
	char path[];
};

struct owner {
	struct group *group;
	s32 pid;
	u32 pidns;
	u32 next;			/* in its bucket; 0: none */
	u32 tasks;			/* how often one became this owner */
	char comm[TASK_COMM_LEN];	/* of the last of them */
};

#define BLOCK_OWNERS	(65536 / sizeof(struct owner))
#define NR_BLOCKS	1024U
#define NR_BUCKETS	4096U
#define NR_GROUPS	256U

/* All of these change only under css_set_lock. */
static struct owner *blocks[NR_BLOCKS];
static u32 nr_owners;			/* the last number; 0 is no owner */
static u32 buckets[NR_BUCKETS];
static struct group *groups[NR_GROUPS];
static bool owners_on;
static bool owners_boot __initdata;

static DEFINE_MUTEX(owners_mutex);	/* one switches at a time */

static int __init parse_owners(char *arg)
{
	return kstrtobool(arg, &owners_boot);
}
early_param("memorizer_owners_boot", parse_owners);

static struct owner *owner_at(u32 nr)
{
	return &blocks[nr / BLOCK_OWNERS][nr % BLOCK_OWNERS];
}

/* The pid of a site or object, as it is shown, and the number of its owner or 0. */
s32 memorizer_pid_of(s32 who, u32 *owner)
{
	*owner = 0;
	if (who < 0 || !(who & MEMORIZER_WHO_OWNER))
		return who;
	*owner = who & ~MEMORIZER_WHO_OWNER;
	return owner_at(*owner)->pid;
}

static struct group *add_group(struct cgroup *cgrp, u64 id)
{
	static char path[PATH_MAX];
	struct group *group;
	int len = cgroup_path(cgrp, path, sizeof(path));

	/* cgroup_path() cuts a path that does not fit; the cgroup also has a number. */
	if (len < 0 || len >= sizeof(path))
		len = strnlen(path, sizeof(path) - 1);
	group = memorizer_pool_alloc(sizeof(*group) + len + 1);
	if (!group)
		return NULL;
	group->id = id;
	memcpy(group->path, path, len);
	group->next = groups[id % NR_GROUPS];
	groups[id % NR_GROUPS] = group;
	return group;
}

static struct group *find_group(struct cgroup *cgrp)
{
	u64 id = cgroup_id(cgrp);
	struct group *group;

	for (group = groups[id % NR_GROUPS]; group; group = group->next)
		if (group->id == id)
			return group;
	return add_group(cgrp, id);
}

static u32 add_owner(s32 pid, u32 pidns, struct group *group, u32 *bucket)
{
	u32 nr = nr_owners + 1;
	struct owner *owner;

	if (nr / BLOCK_OWNERS >= NR_BLOCKS)
		return 0;
	if (!blocks[nr / BLOCK_OWNERS])
		blocks[nr / BLOCK_OWNERS] =
			memorizer_pool_alloc(BLOCK_OWNERS * sizeof(struct owner));
	if (!blocks[nr / BLOCK_OWNERS])
		return 0;
	owner = owner_at(nr);
	owner->pid = pid;
	owner->pidns = pidns;
	owner->group = group;
	owner->next = *bucket;
	*bucket = nr;
	smp_store_release(&nr_owners, nr);	/* for owners_start() */
	return nr;
}

/* The number of the owner that a task belongs to now, or 0. */
static u32 find_owner(struct task_struct *task, u32 pidns)
{
	struct group *group = find_group(task_dfl_cgroup(task));
	struct owner *owner;
	u32 *bucket, nr;

	if (!group)
		return 0;
	bucket = &buckets[(task->pid ^ group->id * 31 ^ pidns) % NR_BUCKETS];
	for (nr = *bucket; nr; nr = owner->next) {
		owner = owner_at(nr);
		if (owner->pid == task->pid && owner->pidns == pidns && owner->group == group)
			return nr;
	}
	return add_owner(task->pid, pidns, group, bucket);
}

static u32 tag_owner(u64 tag)
{
	return tag & MEMORIZER_OWNER ?
		((u32)((tag & ~MEMORIZER_HIDDEN) >> 32) - 1) & ~MEMORIZER_WHO_OWNER : 0;
}

/* The task may be running Memorizer's own code on another CPU and stays hidden. */
static void set_tag(struct task_struct *task, u64 tag)
{
	u64 old = READ_ONCE(task->memorizer.tag), seen;

	for (;; old = seen) {
		seen = cmpxchg(&task->memorizer.tag, old, tag | (old & MEMORIZER_HIDDEN));
		if (seen == old)
			break;
	}
	memorizer_task_tag_changed(task);
}

/* Called with css_set_lock held. */
static void note_owner(struct task_struct *task)
{
	u32 was = tag_owner(READ_ONCE(task->memorizer.tag)), nr;
	struct pid_namespace *ns = task_active_pid_ns(task);
	struct owner *owner;

	if (!ns)	/* it has ended, and only waits for its memory to be freed */
		return;
	nr = find_owner(task, ns->ns.inum);
	if (!nr) {
		memorizer_miss(OWNER_MEMORY);
		set_tag(task, memorizer_tag(task->pid));
		return;
	}
	owner = owner_at(nr);
	memcpy(owner->comm, task->comm, TASK_COMM_LEN);
	if (nr == was)
		return;
	owner->tasks++;
	set_tag(task, MEMORIZER_OWNER | memorizer_tag(nr));
}

/*
 * A task was created in a cgroup, has moved to another, or leaves its last one.
 * Called with css_set_lock held. The work done here does not count as the
 * task's.
 */
void memorizer_task_owner(struct task_struct *task)
{
	u64 old;

	if (!owners_on)
		return;
	old = memorizer_hide();
	note_owner(task);
	memorizer_show(old);
}

bool memorizer_log_owners(void)
{
	return owners_on;
}

/*
 * Existing tasks get their owner, or their pid, here. Tasks that are being
 * created are in the list before they reach memorizer_task_owner(). Idle tasks
 * are in no list and keep pid 0.
 */
int memorizer_set_log_owners(bool on)
{
	struct task_struct *p, *task;

	if (!memorizer_pages)
		return -ENOMEM;
	mutex_lock(&owners_mutex);
	spin_lock_irq(&css_set_lock);
	owners_on = on;
	spin_unlock_irq(&css_set_lock);
	rcu_read_lock();	/* tasks keep their pid, its namespace and their cgroup */
	for_each_process_thread(p, task) {
		spin_lock_irq(&css_set_lock);
		if (!on)
			set_tag(task, memorizer_tag(task->pid));
		else
			note_owner(task);
		spin_unlock_irq(&css_set_lock);
	}
	rcu_read_unlock();
	mutex_unlock(&owners_mutex);
	return 0;
}

void memorizer_show_owners(struct seq_file *m, u64 missed)
{
	seq_puts(m, "owners\n");
	seq_printf(m, "  known                        %u\n", READ_ONCE(nr_owners));
	seq_printf(m, "  tasks without (no memory)    %llu\n", missed);
}

/*
 * The file `owners`: comment lines of a KMAP, so that the file can precede one.
 * 0 is the header.
 */
static void *owners_start(struct seq_file *m, loff_t *pos)
{
	return *pos <= smp_load_acquire(&nr_owners) ? pos : NULL;
}

static void *owners_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return owners_start(m, pos);
}

static void owners_stop(struct seq_file *m, void *v)
{
}

/* The line has seven fields, whatever the name of the cgroup contains. */
static void put_text(struct seq_file *m, const char *s)
{
	for (; *s; s++) {
		unsigned char c = *s;

		if (c >= ' ' && c < 0x7f && c != ',' && c != '\\')
			seq_putc(m, c);
		else
			seq_printf(m, "\\x%02x", c);
	}
}

/* The current name of a living task, or the last name of a dead one. */
static void put_comm(struct seq_file *m, u32 nr, const struct owner *owner)
{
	struct task_struct *task;
	char comm[TASK_COMM_LEN + 1] = "";

	memcpy(comm, owner->comm, TASK_COMM_LEN);
	rcu_read_lock();
	task = find_task_by_pid_ns(owner->pid, &init_pid_ns);
	if (task && tag_owner(READ_ONCE(task->memorizer.tag)) == nr)
		memcpy(comm, task->comm, TASK_COMM_LEN);
	rcu_read_unlock();
	put_text(m, comm);
}

static int owners_show(struct seq_file *m, void *v)
{
	u32 nr = *(loff_t *)v;
	const struct owner *owner;

	if (!nr) {
		seq_puts(m, "#owner,pid,tasks,pidns,cgroup,comm,path\n");
		return 0;
	}
	owner = owner_at(nr);
	seq_printf(m, "#owner %u,%d,%u,%u,%llu,", nr, owner->pid, READ_ONCE(owner->tasks),
		   owner->pidns, owner->group->id);
	put_comm(m, nr, owner);
	seq_putc(m, ',');
	put_text(m, owner->group->path);
	seq_putc(m, '\n');
	return 0;
}

static const struct seq_operations owners_ops = {
	.start = owners_start,
	.next = owners_next,
	.stop = owners_stop,
	.show = owners_show,
};

MEMORIZER_SEQ_FILE(memorizer_owners_fops, owners_ops, 0);

/* Cgroups are initialised by now, and processes start later. */
static int __init owners_init(void)
{
	if (owners_boot && memorizer_set_log_owners(true))
		pr_warn("memorizer: memorizer_owners_boot: owners cannot be noted\n");
	return 0;
}
core_initcall(owners_init);
