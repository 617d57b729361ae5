// SPDX-License-Identifier: GPL-2.0
/*
 * function_calls: a line for each edge,
 *
 *   call_site function count
 *
 * addresses in hexadecimal. With print_fields an edge has a line for each
 * process, and its pid follows. The counters of all CPUs are added up when the
 * file is opened, each of them read once, so that reading may take its time.
 */
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>

#include "calls.h"
#include "seq.h"

/* One line. */
struct call_sum {
	u64 edge, tag, count;
};

/* All lines: a hash table. */
struct call_sums {
	u32 mask, used;
	bool fields;		/* by process */
	struct call_sum sum[];
};

static bool add(struct call_sums *s, const struct memorizer_call *call)
{
	u64 edge = READ_ONCE(call->edge), count = READ_ONCE(call->count), tag = 0;
	struct call_sum *sum;
	u32 i;

	if (!edge || !count)
		return true;
	if (s->fields)
		tag = READ_ONCE(call->tag);
	i = (edge + tag) * MEMORIZER_CALLS_FACTOR >> 32;
	for (;; i++) {
		sum = &s->sum[i & s->mask];
		if (!sum->edge)
			break;
		if (sum->edge == edge && sum->tag == tag)
			goto found;
	}
	if (s->used > s->mask / 4 * 3)
		return false;
	s->used++;
	sum->edge = edge;
	sum->tag = tag;
found:
	sum->count += count;
	return true;
}

static bool add_all(struct call_sums *s)
{
	struct memorizer_calls *calls;
	int cpu;
	u32 i;

	for_each_possible_cpu(cpu) {
		for (calls = READ_ONCE(per_cpu(memorizer_calls, cpu)); calls; calls = calls->prev) {
			for (i = 0; i < memorizer_calls_nr(calls); i++)
				if (!add(s, &calls->call[i]))
					return false;
			cond_resched();
		}
	}
	return true;
}

static u64 entries(void)
{
	u64 edges = 0, counted = 0, bytes = 0;

	memorizer_calls_sum(&edges, &counted, &bytes);
	return edges;
}

/* Try again with more room if many edges were added meanwhile. */
static struct call_sums *sums_new(void)
{
	u64 nr = roundup_pow_of_two(entries() * 2 + 64);
	struct call_sums *s;
	bool whole;

	for (;; nr *= 2) {
		if (nr > U32_MAX)
			return NULL;
		s = vzalloc(sizeof(*s) + nr * sizeof(s->sum[0]));
		if (!s)
			return NULL;
		s->mask = nr - 1;
		s->fields = memorizer_print_fields;
		mutex_lock(&memorizer_calls_mutex);
		whole = add_all(s);
		mutex_unlock(&memorizer_calls_mutex);
		if (whole)
			return s;
		vfree(s);
	}
}

/* The next line; the position is its slot in the table plus one. */
static void *calls_start(struct seq_file *m, loff_t *pos)
{
	struct call_sums *s = m->private;

	for (; *pos <= s->mask; ++*pos)
		if (s->sum[*pos].edge)
			return &s->sum[*pos];
	return NULL;
}

static void *calls_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return calls_start(m, pos);
}

static void calls_stop(struct seq_file *m, void *v)
{
}

static int calls_show(struct seq_file *m, void *v)
{
	const struct call_sums *s = m->private;
	const struct call_sum *sum = v;
	u32 owner;

	seq_printf(m, "%lx %lx %llu", memorizer_unpack_ip(sum->edge >> 32),
		   memorizer_calls_function(sum->edge), sum->count);
	if (s->fields)
		seq_printf(m, " %d", memorizer_pid_of((int)(sum->tag >> 32) - 1, &owner));
	if (s->fields && owner)
		seq_printf(m, "@%u", owner);
	seq_putc(m, '\n');
	return 0;
}

static const struct seq_operations calls_ops = {
	.start = calls_start,
	.next = calls_next,
	.stop = calls_stop,
	.show = calls_show,
};

static int open_sums(struct file *file)
{
	struct call_sums *s = memorizer_pages ? sums_new() : NULL;
	int err;

	if (!s)
		return -ENOMEM;
	err = seq_open(file, &calls_ops);
	if (err) {
		vfree(s);
		return err;
	}
	((struct seq_file *)file->private_data)->private = s;
	return 0;
}

/*
 * An open for writing only needs no sums. What this task does here is
 * Memorizer's own work, and hidden.
 */
static int calls_open(struct inode *inode, struct file *file)
{
	u64 old = memorizer_hide();
	int err = file->f_mode & FMODE_READ ? open_sums(file) : 0;

	memorizer_show(old);
	return err;
}

static int calls_release(struct inode *inode, struct file *file)
{
	u64 old = memorizer_hide();

	if (file->f_mode & FMODE_READ) {
		vfree(((struct seq_file *)file->private_data)->private);
		seq_release(inode, file);
	}
	memorizer_show(old);
	return 0;
}

/* Any write clears, under this name or as clear_function_calls. */
static ssize_t calls_write(struct file *file, const char __user *buf, size_t count,
			   loff_t *pos)
{
	u64 old = memorizer_hide();

	memorizer_calls_clear();
	memorizer_show(old);
	return count;
}

const struct file_operations memorizer_calls_fops = {
	.owner = THIS_MODULE,
	.open = calls_open,
	.read = memorizer_seq_read,
	.write = calls_write,
	.release = calls_release,
};

/* For show_stats: the number of counters, their sum, and their bytes. */
void memorizer_calls_sum(u64 *edges, u64 *counted, u64 *bytes)
{
	struct memorizer_calls *calls;
	int cpu;
	u32 i;

	mutex_lock(&memorizer_calls_mutex);
	for_each_possible_cpu(cpu) {
		for (calls = READ_ONCE(per_cpu(memorizer_calls, cpu)); calls; calls = calls->prev) {
			for (i = 0; i < memorizer_calls_nr(calls); i++) {
				*counted += READ_ONCE(calls->call[i].count);
				*edges += !!calls->call[i].edge;
			}
			*bytes += sizeof(*calls) + calls->mask + sizeof(struct memorizer_call);
			cond_resched();
		}
	}
	mutex_unlock(&memorizer_calls_mutex);
}
