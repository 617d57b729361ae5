// SPDX-License-Identifier: GPL-2.0
/*
 * The files kmap, allocations, accesses and kmap_stream.
 *
 * The first three walk the records by number and can be read while recording
 * continues. kmap_stream takes dead objects, oldest first, and gives a record
 * back once its text has been read completely. When a reader closes the file,
 * the objects that it took and did not read completely are put back.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>

#include "format.h"

#define TEXT_SIZE	(64UL << 10)
#define STREAM_BATCH	256

bool memorizer_print_live = true;
bool memorizer_print_fields;

/* An open file: the text that is ready, and where to continue. */
struct reader {
	struct mutex mutex;
	char *text;
	size_t size, len, off;
	unsigned long slot;
	memorizer_format_fn format;
	bool shows;				/* what it shows counts as printed */
	struct memorizer_object *taken;		/* stream: not yet formatted */
	struct memorizer_object *first, *last;	/* stream: in the text */
};

/* Text of many pages: vmalloc, as it need not be contiguous. */
static struct reader *reader_new(memorizer_format_fn format)
{
	struct reader *r = kzalloc(sizeof(*r), GFP_KERNEL);

	if (!r)
		return NULL;
	r->text = vmalloc(TEXT_SIZE);
	if (!r->text) {
		kfree(r);
		return NULL;
	}
	r->size = TEXT_SIZE;
	r->format = format;
	mutex_init(&r->mutex);
	return r;
}

static void reader_free(struct reader *r)
{
	vfree(r->text);
	kfree(r);
}

/* An object did not fit into an empty buffer: allocate a larger one. */
static int reader_grow(struct reader *r)
{
	char *text = vmalloc(r->size * 2);

	if (!text)
		return -ENOMEM;
	vfree(r->text);
	r->text = text;
	r->size *= 2;
	return 0;
}

/* Copy the text that is ready to the reader. */
static ssize_t reader_copy(struct reader *r, char __user *buf, size_t count)
{
	size_t n = min(count, r->len - r->off), left;

	/* A page that faults ends the read early; the rest of the text stays. */
	left = copy_to_user(buf, r->text + r->off, n);
	r->off += n - left;
	return n - left ?: -EFAULT;
}

/* Neither unused records nor those that covered other objects are shown. */
static bool wanted(const struct memorizer_object *obj)
{
	switch (smp_load_acquire(&obj->state)) {
	case OBJ_LIVE:
		return memorizer_print_live;
	case OBJ_DEAD:
	case OBJ_TAKEN:
		return true;
	default:
		return false;
	}
}

/* Fill the buffer with whole objects from r->slot on. 0: there are no more. */
static int kmap_fill(struct reader *r)
{
	unsigned long slots = memorizer_pool_slots();
	struct memorizer_object *obj;
	char *p = r->text, *q;
	int err = 0;

	mutex_lock(&memorizer_mutex);
	while (r->slot < slots) {
		cond_resched(); /* unwanted objects fill no text: many may pass by */
		obj = memorizer_pool_object(r->slot);
		if (obj && wanted(obj)) {
			q = r->format(obj, p, r->text + r->size);
			if (!q && p > r->text)
				break;
			if (!q) {
				err = reader_grow(r);
				if (err)
					break;
				p = r->text;
				continue;
			}
			p = q;
			if (r->shows && obj->state == OBJ_DEAD)
				obj->flags |= OBJ_PRINTED;
		}
		r->slot++;
	}
	mutex_unlock(&memorizer_mutex);
	r->off = 0;
	r->len = p - r->text;
	return err;
}

/*
 * A reader walks the records by number. A record that is made behind its
 * position is not shown, and none is shown twice. Objects are formatted whole:
 * a line may be split between two reads, but never between two states of an
 * object.
 */
static ssize_t kmap_read(struct file *file, char __user *buf, size_t count,
			 loff_t *pos)
{
	struct reader *r = file->private_data;
	u64 old = memorizer_hide();
	ssize_t ret = 0;

	if (mutex_lock_interruptible(&r->mutex)) {
		ret = -ERESTARTSYS;
		goto out;
	}
	if (r->off == r->len)
		ret = kmap_fill(r);
	if (!ret && count && r->off < r->len)
		ret = reader_copy(r, buf, count);
	if (ret > 0)
		*pos += ret;
	mutex_unlock(&r->mutex);
out:
	memorizer_show(old);
	return ret;
}

/* The format is chosen when the file is opened: one map has one format. */
static int open_with(struct file *file, memorizer_format_fn format)
{
	u64 old = memorizer_hide();

	file->private_data = memorizer_pages ? reader_new(format) : NULL;
	memorizer_show(old);
	return file->private_data ? nonseekable_open(NULL, file) : -ENOMEM;
}

static int kmap_open(struct inode *inode, struct file *file)
{
	int err = open_with(file, memorizer_print_fields ? memorizer_format_fields :
							 memorizer_format_kmap);
	struct reader *r = file->private_data;

	if (!err)
		r->shows = true;
	return err;
}

/*
 * A file of comma-separated values. Neither of the two files has all of an
 * object.
 */
static int open_csv(struct file *file, memorizer_format_fn format, const char *header)
{
	int err = open_with(file, format);
	struct reader *r = file->private_data;

	if (!err) {
		r->len = strlen(header);
		memcpy(r->text, header, r->len);
	}
	return err;
}

static int allocations_open(struct inode *inode, struct file *file)
{
	/* As upstream writes it: the lines have comm between type and slab. */
	return open_csv(file, memorizer_format_allocation,
			"alloc_ip,pid,ptr,size,alloc_serial,free_serial,free_ip,"
			"type,slab,new_type\n");
}

static int accesses_open(struct inode *inode, struct file *file)
{
	return open_csv(file, memorizer_format_accesses,
			"alloc_index,access_ip,pid,writes,reads\n");
}

static int kmap_release(struct inode *inode, struct file *file)
{
	u64 old = memorizer_hide();

	reader_free(file->private_data);
	memorizer_show(old);
	return 0;
}

const struct file_operations memorizer_kmap_fops = {
	.owner = THIS_MODULE,
	.open = kmap_open,
	.read = kmap_read,
	.release = kmap_release,
};

const struct file_operations memorizer_allocations_fops = {
	.owner = THIS_MODULE,
	.open = allocations_open,
	.read = kmap_read,
	.release = kmap_release,
};

const struct file_operations memorizer_accesses_fops = {
	.owner = THIS_MODULE,
	.open = accesses_open,
	.read = kmap_read,
	.release = kmap_release,
};

static DECLARE_WAIT_QUEUE_HEAD(stream_wait);
static int stream_waiting;

bool memorizer_stream_wanted(void)
{
	return READ_ONCE(stream_waiting) && memorizer_have_dead();
}

void memorizer_stream_wake_now(void)
{
	WRITE_ONCE(stream_waiting, 0);
	wake_up_interruptible_all(&stream_wait);
}

/* An object died. This may be any context, so the wakeup is left to a worker. */
void memorizer_stream_wake(void)
{
	/* Pairs with smp_store_mb() in the waiters. */
	smp_mb();
	if (unlikely(READ_ONCE(stream_waiting)))
		memorizer_kick();
}

static struct memorizer_object *next_taken(struct memorizer_object *obj)
{
	struct memorizer_map *next = obj->map.next;

	return next ? container_of(next, struct memorizer_object, map) : NULL;
}

/* Where an object's text ends; its map is out of use. */
static unsigned long *text_end(struct memorizer_object *obj)
{
	return &obj->map.base;
}

/*
 * Take dead objects and turn them into text. After the grace period no CPU can
 * count accesses to them any more, so the text is final.
 */
static int stream_fill(struct reader *r)
{
	char *p = r->text, *q;

	if (!r->taken) {
		mutex_lock(&memorizer_mutex);
		r->taken = memorizer_take_dead(STREAM_BATCH);
		mutex_unlock(&memorizer_mutex);
		if (r->taken)
			memorizer_quiesce();
	}
	r->off = 0;
	while (r->taken) {
		q = r->format(r->taken, p, r->text + r->size);
		if (!q) {
			if (p > r->text)
				break;
			if (reader_grow(r))
				return -ENOMEM;
			p = r->text;
			continue;
		}
		p = q;
		*text_end(r->taken) = p - r->text;
		if (!r->first)
			r->first = r->taken;
		r->last = r->taken;
		r->taken = next_taken(r->taken);
	}
	r->len = p - r->text;
	return 0;
}

/* Records whose text has been read completely are not needed any more. */
static void stream_done(struct reader *r)
{
	struct memorizer_object *obj;
	unsigned long n = 0;

	mutex_lock(&memorizer_mutex);
	while (r->first && *text_end(r->first) <= r->off) {
		obj = r->first;
		r->first = obj == r->last ? NULL : next_taken(obj);
		memorizer_release(obj);
		n++;
		cond_resched();
	}
	memorizer_totals.streamed += n;
	mutex_unlock(&memorizer_mutex);
	if (!r->first) {
		r->last = NULL;
		r->off = 0;
		r->len = 0;
	}
}

static int stream_sleep(struct file *file)
{
	if (file->f_flags & O_NONBLOCK)
		return -EAGAIN;
	/* Pairs with the check of stream_waiting after an object has died. */
	return wait_event_interruptible(stream_wait, ({
		smp_store_mb(stream_waiting, 1);
		memorizer_have_dead();
	}));
}

/*
 * Text that is ready is copied first. Records are given back after all of their
 * text has been copied, so that nothing is lost if the reader is killed in
 * between.
 */
static ssize_t stream_read(struct file *file, char __user *buf, size_t count,
			   loff_t *pos)
{
	struct reader *r = file->private_data;
	ssize_t ret;
	u64 old;

	if (!count)
		return 0;
	old = memorizer_hide();
	ret = mutex_lock_interruptible(&r->mutex);
	if (ret)
		goto out;
	while (!ret && r->off == r->len) {
		ret = stream_fill(r);
		if (!ret && !r->len)
			ret = stream_sleep(file);
	}
	if (!ret)
		ret = reader_copy(r, buf, count);
	if (r->first)
		stream_done(r);
	mutex_unlock(&r->mutex);
out:
	memorizer_show(old);
	return ret;
}

/*
 * The order matters: enter the wait queue, then look. Otherwise an object could
 * die unseen in between.
 */
static __poll_t stream_poll(struct file *file, poll_table *wait)
{
	struct reader *r = file->private_data;

	poll_wait(file, &stream_wait, wait);
	smp_store_mb(stream_waiting, 1);
	return r->off < r->len || r->taken || memorizer_have_dead() ?
		EPOLLIN | EPOLLRDNORM : 0;
}

/* While a stream is open, nothing is dropped for the budget; see work_fn(). */
static int kmap_stream_open(struct inode *inode, struct file *file)
{
	int err = kmap_open(inode, file);

	if (!err)
		atomic_inc(&memorizer_streams);
	return err;
}

/* Objects that were not read completely are put back, in their old order. */
static int stream_release(struct inode *inode, struct file *file)
{
	struct reader *r = file->private_data;
	u64 old = memorizer_hide();

	mutex_lock(&memorizer_mutex);
	if (r->first)
		r->last->map.next = r->taken ? &r->taken->map : NULL;
	memorizer_put_back(r->first ?: r->taken);
	mutex_unlock(&memorizer_mutex);
	atomic_dec(&memorizer_streams);
	reader_free(r);
	memorizer_show(old);
	return 0;
}

const struct file_operations memorizer_stream_fops = {
	.owner = THIS_MODULE,
	.open = kmap_stream_open,
	.read = stream_read,
	.poll = stream_poll,
	.release = stream_release,
};
