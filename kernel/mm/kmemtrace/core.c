// SPDX-License-Identifier: GPL-2.0
/*
 * kmemtrace: the switch, the parameters, and the buffer before relay.
 *
 * Before relay can be opened, records go to a buffer of our own that looks to
 * the recording side like a channel of one sub-buffer. It is copied to relay
 * record by record while interrupts are off and there is one CPU, so that
 * nothing comes between.
 */
#define pr_fmt(fmt) "kmemtrace: " fmt

#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/kstrtox.h>
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

struct rchan *kmemtrace_chan = &early_chan;

static DEFINE_MUTEX(kmemtrace_mutex);
static bool enabled;
static bool enable_at_boot __initdata = IS_ENABLED(CONFIG_KMEMTRACE_DEFAULT_ENABLED);
static bool stacks_at_boot __initdata;

/* ---- parameters ---------------------------------------------------------- */

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

	if (kstrtouint(arg, 0, &n) || n < 2 || n > 65536) {
		pr_warn("subbufs=%s is not between 2 and 65536; it is %u\n",
			arg, kmemtrace_subbufs);
		return 0;
	}
	kmemtrace_subbufs = n;
	return 0;
}
early_param("kmemtrace.subbufs", parse_subbufs);

static int __init parse_subbuf_size(char *arg)
{
	unsigned long long n = memparse(arg, &arg);

	if (*arg || n < PAGE_SIZE || n > SZ_16M || !PAGE_ALIGNED(n)) {
		pr_warn("subbuf_size= takes 4K to 16M, whole pages; it is %u\n",
			kmemtrace_subbuf_size);
		return 0;
	}
	kmemtrace_subbuf_size = n;
	return 0;
}
early_param("kmemtrace.subbuf_size", parse_subbuf_size);

/* ---- loss ---------------------------------------------------------------- */

/* The event takes its number, so that its place is a gap. */
void kmemtrace_lost(enum kmemtrace_cause cause)
{
	atomic_inc(&kmemtrace_seq);
	this_cpu_inc(kmemtrace_cpu.lost[cause]);
}

/* Another sub-buffer, or count the event, whose number is taken already. */
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

bool kmemtrace_enabled(void)
{
	return READ_ONCE(enabled);
}

static int open_channel(void)
{
	struct rchan *chan;

	if (kmemtrace_chan != &early_chan)
		return 0;
	chan = kmemtrace_channel_open();
	if (!chan)
		return -ENOMEM;
	WRITE_ONCE(kmemtrace_chan, chan);
	kmemtrace_channel_files(chan, kmemtrace_dir());
	return 0;
}

int kmemtrace_enable(bool on)
{
	int ret = 0;

	mutex_lock(&kmemtrace_mutex);
	if (on != enabled) {
		if (on)
			ret = open_channel() ?: kmemtrace_probes_register();
		else
			kmemtrace_probes_unregister();
		if (!ret)
			WRITE_ONCE(enabled, on);
	}
	mutex_unlock(&kmemtrace_mutex);
	return ret;
}

/* ---- boot ---------------------------------------------------------------- */

/*
 * Opening relay allocates a page at a time and is traced like all the rest.
 * If the user asked for so much that this would not fit, take more.
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
	early_buf.data = early_space;
	early_page = grow_early(&early_order);
	if (kmemtrace_probes_register()) {
		pr_err("no memory for the probes; not tracing\n");
		return;
	}
	enabled = true;
	if (early_page) /* it is freed later, so it was allocated */
		kmemtrace_note_pages(early_page, early_order, _THIS_IP_);
}

/* From the early buffer to relay, in order. */
static void __init hand_over(struct rchan *chan)
{
	struct kmemtrace_event *e;
	size_t at;

	WRITE_ONCE(kmemtrace_chan, chan);
	for (at = 0; at < early_buf.offset; at += e->event_size) {
		struct rchan_buf *buf;
		void *to;

		e = early_buf.data + at;
		to = kmemtrace_reserve(&buf, e->event_size);
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

	if (!enabled)
		return;
	chan = kmemtrace_channel_open();
	if (!chan) {
		kmemtrace_probes_unregister();
		enabled = false;
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
