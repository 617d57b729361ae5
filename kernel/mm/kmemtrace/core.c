// SPDX-License-Identifier: GPL-2.0
/*
 * kmemtrace: the switch, the parameters, and the buffer before relay.
 *
 * Before relay can be opened, records go to a buffer of our own, which looks to
 * the recording side like a channel with one sub-buffer. It is copied to relay
 * record by record while interrupts are off and only one CPU runs, so that no
 * event comes in between.
 */
#define pr_fmt(fmt) "kmemtrace: " fmt

#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/memorizer-compat.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/string.h>

#include "kmemtrace.h"

#define EARLY_SIZE (512 * 1024)

DEFINE_PER_CPU(struct kmemtrace_cpu, kmemtrace_cpu);
atomic_t kmemtrace_seq = ATOMIC_INIT(0);
unsigned int kmemtrace_subbufs = KMEMTRACE_SUBBUFS;
unsigned int kmemtrace_subbuf_size = KMEMTRACE_SUBBUF_SIZE;

static struct rchan_buf early_buf;
static DEFINE_PER_CPU(struct rchan_buf *, early_ptr) = &early_buf;
static struct rchan early_chan = {
	.subbuf_size = EARLY_SIZE,
	.n_subbufs = 1,
	.buf = &early_ptr,
};
static char early_space[EARLY_SIZE] __initdata __aligned(8);

struct rchan *kmemtrace_chan;

static DEFINE_MUTEX(kmemtrace_mutex);
static struct rchan *channel = &early_chan;
static bool enable_at_boot __initdata = IS_ENABLED(CONFIG_KMEMTRACE_DEFAULT_ENABLED);
static bool stacks_at_boot __initdata;

/* ---- parameters ---------------------------------------------------------- */

/*
 * A parameter without a value is passed as NULL. A value that cannot be parsed
 * is reported and changes nothing: a typing error must not prevent the machine
 * from booting.
 */
static int __init parse_enable(char *arg)
{
	return kstrtobool(arg, &enable_at_boot);
}
early_param("kmemtrace.enable", parse_enable);

static int __init parse_stacks(char *arg)
{
	return kstrtobool(arg, &stacks_at_boot);
}
early_param("kmemtrace.stacks", parse_stacks);

static int __init parse_subbufs(char *arg)
{
	unsigned int n;

	if (!arg || kstrtouint(arg, 0, &n) || n < 2 || n > 65536) {
		pr_warn("subbufs=%s is not between 2 and 65536; it is %u\n",
			arg ?: "", kmemtrace_subbufs);
		return 0;
	}
	kmemtrace_subbufs = n;
	return 0;
}
early_param("kmemtrace.subbufs", parse_subbufs);

static int __init parse_subbuf_size(char *arg)
{
	char *end = arg;
	unsigned long long n = arg ? memparse(arg, &end) : 0;

	if (!arg || *end || n < PAGE_SIZE || n > SZ_16M || !PAGE_ALIGNED(n)) {
		pr_warn("subbuf_size=%s is not 4K to 16M in whole pages; it is %u\n",
			arg ?: "", kmemtrace_subbuf_size);
		return 0;
	}
	kmemtrace_subbuf_size = n;
	return 0;
}
early_param("kmemtrace.subbuf_size", parse_subbuf_size);

/*
 * relay allocates page by page until none is left for the rest of the kernel.
 * All buffers together may therefore take half of the memory; beyond that,
 * first the number of sub-buffers is reduced, then their size.
 */
void kmemtrace_fit_buffers(void)
{
	u64 most = ((u64)totalram_pages() << PAGE_SHIFT) / 2 / num_possible_cpus();
	unsigned int subbufs = kmemtrace_subbufs, size = kmemtrace_subbuf_size;

	if ((u64)subbufs * size <= most)
		return;
	subbufs = max_t(u64, most / size, 2);
	if ((u64)subbufs * size > most)
		size = max_t(u64, round_down(most / 2, PAGE_SIZE), PAGE_SIZE);
	pr_warn("%u sub-buffers of %u bytes a CPU are more than half of the memory; they are %u of %u\n",
		kmemtrace_subbufs, kmemtrace_subbuf_size, subbufs, size);
	kmemtrace_subbufs = subbufs;
	kmemtrace_subbuf_size = size;
}

/* ---- loss ---------------------------------------------------------------- */

/* The event takes its number, so that the files show a gap in its place. */
void kmemtrace_lost(enum kmemtrace_cause cause)
{
	if (!READ_ONCE(kmemtrace_chan))
		return;
	atomic_inc(&kmemtrace_seq);
	this_cpu_inc(kmemtrace_cpu.lost[cause]);
}

/* Switch to another sub-buffer, or count the event, which has its number already. */
void *kmemtrace_no_room(struct rchan_buf *buf, size_t size)
{
	enum kmemtrace_cause cause = KMEMTRACE_FULL;

	if (!buf)
		cause = KMEMTRACE_NO_BUFFER;
	else if (buf == &early_buf)
		cause = KMEMTRACE_EARLY;
	else if (relay_switch_subbuf(buf, size))
		return buf->data + buf->offset;
	this_cpu_inc(kmemtrace_cpu.lost[cause]);
	return NULL;
}

/* ---- the switch ---------------------------------------------------------- */

struct rchan *kmemtrace_channel(void)
{
	return READ_ONCE(channel);
}

bool kmemtrace_enabled(void)
{
	return READ_ONCE(kmemtrace_chan);
}

static int switch_on(void)
{
	int ret;

	if (channel == &early_chan) {
		struct rchan *chan = kmemtrace_channel_open();

		if (!chan)
			return -ENOMEM;
		WRITE_ONCE(channel, chan);
		kmemtrace_channel_files(kmemtrace_dir());
	}
	ret = kmemtrace_probes_register();
	if (!ret)
		WRITE_ONCE(kmemtrace_chan, channel);
	return ret;
}

/* When it returns, no probe is running: all records are in the buffers. */
static void switch_off(void)
{
	WRITE_ONCE(kmemtrace_chan, NULL);
	kmemtrace_probes_unregister();
}

int kmemtrace_enable(bool on)
{
	int ret = 0;

	mutex_lock(&kmemtrace_mutex);
	if (on && !kmemtrace_enabled())
		ret = switch_on();
	else if (!on && kmemtrace_enabled())
		switch_off();
	mutex_unlock(&kmemtrace_mutex);
	return ret;
}

/* Once there are files and RCU. */
void __init kmemtrace_late_init(struct dentry *dir)
{
	if (!kmemtrace_enabled())
		return;
	if (channel == &early_chan)
		kmemtrace_enable(false);
	else
		kmemtrace_channel_files(dir);
}

/* ---- boot ---------------------------------------------------------------- */

/*
 * Opening relay allocates page by page and is traced like everything else. If
 * the user asked for so many buffers that these events would not fit, enlarge
 * the buffer.
 */
static struct page * __init grow_early(unsigned int *order)
{
	size_t each = sizeof(struct kmemtrace_event) + sizeof(struct kmemtrace_sizes) +
		      sizeof(struct kmemtrace_context);
	size_t need = EARLY_SIZE / 2 +
		      (size_t)kmemtrace_subbufs * kmemtrace_subbuf_size / PAGE_SIZE * each;
	struct page *page;

	if (need <= EARLY_SIZE)
		return NULL;
	*order = min(get_order(need), MAX_PAGE_ORDER);
	page = alloc_pages(GFP_KERNEL, *order);
	if (page) {
		early_buf.data = page_address(page);
		early_chan.subbuf_size = PAGE_SIZE << *order;
	}
	return page;
}

static struct page *early_page __initdata;
static unsigned int early_order __initdata;

void __init kmemtrace_init(void)
{
	if (!enable_at_boot)
		return;
	kmemtrace_fit_buffers();
	early_buf.data = early_space;
	early_page = grow_early(&early_order);
	if (kmemtrace_probes_register()) {
		pr_err("no memory for the probes; not tracing\n");
		return;
	}
	WRITE_ONCE(kmemtrace_chan, channel);
	if (early_page) /* it is freed later, so it was allocated */
		kmemtrace_on_pages_alloc(early_page, early_order, GFP_KERNEL, _THIS_IP_);
}

/* From the early buffer to relay, in order. */
static void __init hand_over(struct rchan *chan)
{
	struct kmemtrace_event *e;
	size_t at;

	WRITE_ONCE(channel, chan);
	WRITE_ONCE(kmemtrace_chan, chan);
	for (at = 0; at < early_buf.offset; at += e->event_size) {
		struct rchan_buf *buf;
		void *to;

		e = early_buf.data + at;
		to = kmemtrace_reserve(chan, &buf, e->event_size);
		if (to) {
			memcpy(to, e, e->event_size);
			kmemtrace_commit(buf, e->event_size);
		} else {
			this_cpu_dec(kmemtrace_cpu.recorded);
		}
	}
}

void __init kmemtrace_relay_init(void)
{
	struct rchan *chan;

	if (!kmemtrace_enabled())
		return;
	chan = kmemtrace_channel_open();
	if (!chan) { /* too early to unregister; until then events are dropped */
		pr_err("no memory for %u sub-buffers of %u bytes; not tracing\n",
		       kmemtrace_subbufs, kmemtrace_subbuf_size);
		return;
	}
	hand_over(chan);
	if (early_page)
		__free_pages(early_page, early_order);
	if (stacks_at_boot && kmemtrace_stacks_enable(true))
		pr_warn("no memory for stacks\n");
	pr_info("tracing since the slab allocator began, %d events so far, %u sub-buffers of %u bytes a CPU\n",
		atomic_read(&kmemtrace_seq), kmemtrace_subbufs, kmemtrace_subbuf_size);
}
