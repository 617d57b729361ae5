// SPDX-License-Identifier: GPL-2.0
/* Serve files with seq_file; what the reading task does meanwhile is not recorded. */
#include "memorizer.h"
#include "seq.h"

int memorizer_seq_open(struct file *file, const struct seq_operations *ops, int size)
{
	u64 old = memorizer_hide();
	int err = seq_open_private(file, ops, size);

	memorizer_show(old);
	return err;
}

ssize_t memorizer_seq_read(struct file *file, char __user *buf, size_t size, loff_t *pos)
{
	u64 old = memorizer_hide();
	ssize_t ret = seq_read(file, buf, size, pos);

	memorizer_show(old);
	return ret;
}

int memorizer_seq_release(struct inode *inode, struct file *file)
{
	u64 old = memorizer_hide();
	int err = seq_release_private(inode, file);

	memorizer_show(old);
	return err;
}
