/* SPDX-License-Identifier: GPL-2.0 */
/* Files that seq_file serves, with the work for them hidden. */
#ifndef _MM_MEMORIZER_SEQ_H
#define _MM_MEMORIZER_SEQ_H

#include <linux/fs.h>
#include <linux/seq_file.h>

int memorizer_seq_open(struct file *file, const struct seq_operations *ops, int size);
ssize_t memorizer_seq_read(struct file *file, char __user *buf, size_t size, loff_t *pos);
int memorizer_seq_release(struct inode *inode, struct file *file);

/* The file operations FOPS; m->private has SIZE bytes, which are zero at first. */
#define MEMORIZER_SEQ_FILE(fops, ops, size)				\
static int fops##_open(struct inode *inode, struct file *file)		\
{									\
	return memorizer_seq_open(file, &ops, size);			\
}									\
									\
const struct file_operations fops = {					\
	.owner = THIS_MODULE,						\
	.open = fops##_open,						\
	.read = memorizer_seq_read,					\
	.llseek = seq_lseek,						\
	.release = memorizer_seq_release,				\
}

#endif /* _MM_MEMORIZER_SEQ_H */
