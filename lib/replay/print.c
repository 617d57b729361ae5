// SPDX-License-Identifier: BSD-2-Clause
/* Print the replayed trace with its new addresses. */
#include "replay/print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "formats/text.h"

#define BUF_SIZE (64u * 1024)
#define LINE_MAX 512

struct mz_pending {
	struct mz_event ev;
	uint32_t queue;
	uint32_t batch;
	uint32_t op;
};

int mz_print_init(struct mz_print *p, int fd, struct mz_queues *q, struct mz_error *err)
{
	*p = (struct mz_print){.fd = fd, .queues = q, .err = err, .cap = 4096, .blocks_cap = 4096};
	p->pending = malloc(p->cap * sizeof(*p->pending));
	p->blocks = calloc(p->blocks_cap, sizeof(*p->blocks));
	p->buf = malloc(BUF_SIZE);
	if (!p->pending || !p->blocks || !p->buf) {
		mz_print_deinit(p);
		return mz_fail_memory(err);
	}
	return 0;
}

void mz_print_deinit(struct mz_print *p)
{
	free(p->pending);
	free(p->blocks);
	free(p->buf);
	*p = (struct mz_print){.fd = -1};
}

/* The ring is unrolled into the new one, so that the oldest event is at its start again. */
static int more_pending(struct mz_print *p)
{
	struct mz_pending *ring = malloc(2 * p->cap * sizeof(*ring));

	if (!ring)
		return mz_fail_memory(p->err);
	for (size_t i = 0; i < p->count; i++)
		ring[i] = p->pending[(p->at + i) % p->cap];
	free(p->pending);
	p->pending = ring;
	p->at = 0;
	p->cap *= 2;
	return 0;
}

int mz_print_add(struct mz_print *p, const struct mz_event *ev, unsigned queue, uint32_t batch,
		 uint32_t i)
{
	if (p->count == p->cap && more_pending(p) < 0)
		return -ENOMEM;
	p->pending[(p->at + p->count++) % p->cap] = (struct mz_pending){*ev, queue, batch, i};
	return 0;
}

static struct mz_print_block *block_of(struct mz_print *p, uint32_t slot)
{
	while (slot >= p->blocks_cap) {
		uint32_t cap = p->blocks_cap > MZ_SLOT_MAX / 2 ? UINT32_MAX : p->blocks_cap * 2;
		struct mz_print_block *b = realloc(p->blocks, cap * sizeof(*b));

		if (!b)
			return NULL;
		memset(b + p->blocks_cap, 0, (cap - p->blocks_cap) * sizeof(*b));
		p->blocks = b;
		p->blocks_cap = cap;
	}
	return &p->blocks[slot];
}

int mz_print_flush(struct mz_print *p)
{
	for (size_t done = 0; done < p->len;) {
		ssize_t n = write(p->fd, p->buf + done, p->len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return mz_fail(p->err, errno, "standard output: cannot write: %s",
				       strerror(errno));
		done += (size_t)n;
	}
	p->len = 0;
	return 0;
}

static int print_event(struct mz_print *p, const struct mz_event *ev)
{
	if (BUF_SIZE - p->len < LINE_MAX && mz_print_flush(p) < 0)
		return -EIO;
	p->len += mz_text_format(p->buf + p->len, ev, NULL, true);
	p->buf[p->len++] = '\n';
	return 0;
}

/* A block at an address that the slot got from the allocator. */
static void begin(struct mz_print *p, struct mz_event *ev, struct mz_print_block *b, uint64_t addr)
{
	ev->addr = addr;
	ev->object = addr ? ++p->serial : 0;
	if (b) {
		b->addr = addr;
		b->object = ev->object;
	}
}

/* The new trace must be valid by itself: it shows the addresses that this run got, and a call
 * that succeeded only here is followed by its free. */
static int print_one(struct mz_print *p, const struct mz_pending *e)
{
	const struct mz_op *op = &mz_queue_batch(p->queues, e->queue, e->batch)->ops[e->op];
	struct mz_print_block none = {0};
	struct mz_print_block *b = op->slot == MZ_SLOT_NULL ? &none : block_of(p, op->slot);
	struct mz_event ev = e->ev;
	bool failed = !op->result && op->size;

	if (!b)
		return mz_fail_memory(p->err);
	ev.call = op->call;
	ev.kind = (uint8_t)mz_call_kind(ev.call);
	ev.has = (uint16_t)(MZ_HAS_ADDR | (ev.has & MZ_HAS_TID));
	ev.old_addr = ev.old_object = 0;
	if (ev.kind == MZ_FREE) {
		ev.addr = b->addr;
		ev.object = b->object;
		*b = none;
	} else if (ev.kind == MZ_REALLOC) {
		ev.old_addr = b->addr;
		ev.old_object = b->object;
		begin(p, &ev, failed ? NULL : b, op->result);
	} else {
		begin(p, &ev, b, op->result);
	}
	if (print_event(p, &ev) < 0)
		return -EIO;
	/* the block that came although the trace has none was freed at once */
	if ((op->flags & MZ_OP_NOTHING) && op->result &&
	    (ev.kind == MZ_ALLOC || !op->size || !ev.old_addr)) {
		ev.call = MZ_CALL_FREE;
		ev.kind = MZ_FREE;
		*b = none;
		return print_event(p, &ev);
	}
	return 0;
}

/* A batch may be reused only when every event that refers to it has been printed. */
size_t mz_print_needed(const struct mz_print *p, unsigned queue, uint32_t batch)
{
	for (size_t i = p->count; i; i--) {
		const struct mz_pending *e = &p->pending[(p->at + i - 1) % p->cap];

		if (e->queue == queue && (int32_t)(e->batch - batch) <= 0)
			return i;
	}
	return 0;
}

/* Events are printed in the order of the trace, although threads finish them in any order: the
 * first unfinished one stops the printing. */
int mz_print_done(struct mz_print *p, size_t needed)
{
	while (p->count) {
		const struct mz_pending *e = &p->pending[p->at];
		struct mz_queue *u = &p->queues->queues[e->queue];
		uint32_t taken = atomic_load_explicit(&u->taken, memory_order_acquire);

		if ((int32_t)(taken - e->batch) <= 0) {
			if (!needed)
				return 0;
			if (!mz_queue_wait_taken(p->queues, e->queue, e->batch + 1))
				return -EPIPE;
		}
		if (print_one(p, e) < 0)
			return -EIO;
		needed -= needed > 0;
		p->at = (p->at + 1) % p->cap;
		p->count--;
	}
	return 0;
}
