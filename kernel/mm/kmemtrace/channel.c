// SPDX-License-Identifier: GPL-2.0
/*
 * kmemtrace: the relay channel and its files cpuN.
 *
 * relay keeps the buffers, wakes readers and follows CPU hotplug. Reading is
 * done by our own code: relay's cannot be spliced, and mistakes a buffer that
 * fills up while another CPU reads it for one that was overwritten.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/memorizer-compat.h>
#include <linux/splice.h>
#include <linux/uio.h>

#include "kmemtrace.h"

static DEFINE_PER_CPU(struct dentry *, kmemtrace_file);

/* ---- reading ------------------------------------------------------------- */

/*
 * The bytes that can be read at once: whole sub-buffers up to their padding,
 * then the one being written up to what is committed. The inode is locked.
 */
static size_t kmemtrace_readable(struct rchan_buf *buf, void **from)
{
	size_t size = buf->chan->subbuf_size, produced, nr, end;

	for (;;) {
		nr = buf->subbufs_consumed % buf->chan->n_subbufs;
		produced = smp_load_acquire(&buf->subbufs_produced);
		end = smp_load_acquire(&buf->offset);
		if (produced != buf->subbufs_consumed)
			end = size - buf->padding[nr];
		else if (produced != READ_ONCE(buf->subbufs_produced))
			continue;
		else if (end > size) /* full; the next is not begun */
			end = 0;
		if (buf->bytes_consumed < end)
			break;
		if (produced == buf->subbufs_consumed)
			return 0;
		/*
		 * This sub-buffer has been read. The writer may reuse it once
		 * it sees the count.
		 */
		buf->bytes_consumed = 0;
		smp_store_release(&buf->subbufs_consumed, buf->subbufs_consumed + 1);
	}
	*from = buf->start + nr * size + buf->bytes_consumed;
	return end - buf->bytes_consumed;
}

static ssize_t kmemtrace_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct rchan_buf *buf = iocb->ki_filp->private_data;
	struct inode *inode = file_inode(iocb->ki_filp);
	ssize_t done = 0;

	inode_lock(inode);
	while (iov_iter_count(to)) {
		void *from;
		size_t n = min(kmemtrace_readable(buf, &from), iov_iter_count(to));
		size_t copied = n ? copy_to_iter(from, n, to) : 0;

		buf->bytes_consumed += copied;
		done += copied;
		if (copied < n && !done)
			done = -EFAULT;
		if (!n || copied < n)
			break;
	}
	if (done > 0) { /* give a sub-buffer that is done back at once */
		void *from;

		kmemtrace_readable(buf, &from);
	}
	inode_unlock(inode);
	return done;
}

static int kmemtrace_open(struct inode *inode, struct file *file)
{
	file->private_data = inode->i_private;
	return nonseekable_open(inode, file);
}

static int kmemtrace_mmap(struct file *file, struct vm_area_struct *vma)
{
	return relay_file_operations.mmap(file, vma);
}

static __poll_t kmemtrace_poll(struct file *file, poll_table *wait)
{
	return relay_file_operations.poll(file, wait);
}

static const struct file_operations kmemtrace_fops = {
	.owner = THIS_MODULE,
	.open = kmemtrace_open,
	.read_iter = kmemtrace_read_iter,
	.splice_read = copy_splice_read,
	.mmap = kmemtrace_mmap,
	.poll = kmemtrace_poll,
};

/* ---- the channel --------------------------------------------------------- */

/*
 * relay asks for a file when it creates a buffer, which may be long before
 * there are files: ours are created by kmemtrace_cpu_online(). relay only
 * checks that the result is not an error.
 */
static struct dentry *create_buf_file(const char *name, struct dentry *parent,
				      umode_t mode, struct rchan_buf *buf,
				      int *is_global)
{
	return (struct dentry *)buf;
}

static int remove_buf_file(struct dentry *dentry)
{
	return 0;
}

static const struct rchan_callbacks callbacks = {
	.create_buf_file = create_buf_file,
	.remove_buf_file = remove_buf_file,
};

struct rchan *kmemtrace_channel_open(void)
{
	kmemtrace_fit_buffers();
	return relay_open(NULL, NULL, kmemtrace_subbuf_size, kmemtrace_subbufs,
			  &callbacks, NULL);
}

static int kmemtrace_cpu_online(unsigned int cpu)
{
	struct rchan_buf *buf = *per_cpu_ptr(kmemtrace_channel()->buf, cpu);
	struct dentry **file = per_cpu_ptr(&kmemtrace_file, cpu);
	char name[16];

	if (*file || !buf)
		return 0;
	snprintf(name, sizeof(name), "cpu%u", cpu);
	/* unsafe: debugfs' own files have neither mmap nor splice; ours stay for ever */
	*file = debugfs_create_file_unsafe(name, 0400, kmemtrace_dir(), buf,
					   &kmemtrace_fops);
	return 0;
}

/* Files for the CPUs that are online and for those that come later. Once. */
void kmemtrace_channel_files(struct dentry *dir)
{
	if (dir)
		cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "mm/kmemtrace:online",
				  kmemtrace_cpu_online, NULL);
}
