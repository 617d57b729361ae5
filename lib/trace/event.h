/* SPDX-License-Identifier: BSD-2-Clause */
/* The form of the calls: one table for text, container and reports. */
#ifndef MZ_TRACE_EVENT_H
#define MZ_TRACE_EVENT_H

#include <memorizer.h>

/* The arguments of a call, as the text form writes them. */
enum mz_args {
	MZ_ARGS_NONE,
	MZ_ARGS_SIZE,		  /* malloc(SIZE) = PTR */
	MZ_ARGS_COUNT_SIZE,	  /* calloc(N, SIZE) = PTR */
	MZ_ARGS_ALIGN_SIZE,	  /* memalign(ALIGN, SIZE) = PTR */
	MZ_ARGS_PTR_SIZE,	  /* realloc(PTR, SIZE) = PTR */
	MZ_ARGS_PTR_COUNT_SIZE,	  /* reallocarray(PTR, N, SIZE) = PTR */
	MZ_ARGS_PTR,		  /* free(PTR) */
	MZ_ARGS_PTR_LENGTH,	  /* munmap(PTR, LENGTH) */
	MZ_ARGS_PTR_READS_WRITES, /* access(PTR, READS, WRITES) */
	MZ_ARGS_EVENTS,		  /* lost(EVENTS) */
	MZ_ARGS_STRING,		  /* mark(STRING) */
};

struct mz_call_info {
	const char *name;
	uint8_t kind; /* enum mz_kind */
	uint8_t args; /* enum mz_args */
};

extern const struct mz_call_info mz_calls[MZ_CALLS];

/* An array of ev->arg elements of ev->size bytes: makes size the whole of it. */
void mz_event_multiply(struct mz_event *ev);

/* What is wrong with an event by itself, so that no reader would take it; NULL = nothing. */
const char *mz_event_fault(const struct mz_event *ev);

/* Is this event selected? A container first skips whole chunks by its index; for other formats this
 * is the only test. */
bool mz_select_takes(const struct mz_select *s, const struct mz_event *ev);

/* From one time to another, both included, in ns: since the start of the recording, or as its clock
 * has it. */
struct mz_time_range {
	uint64_t from, to; /* to 0 = the end */
	bool from_clock, to_clock;
};

/* The same by the clock of a recording that starts then. */
struct mz_time_range mz_time_range_at(const struct mz_time_range *range, uint64_t start);

/* A memset of this size becomes a slow string instruction; this, six stores. */
static inline void mz_event_clear(struct mz_event *ev)
{
	typedef uint64_t lane __attribute__((vector_size(32), aligned(8), may_alias));
	lane *p = (lane *)(void *)ev;

	_Static_assert(sizeof(*ev) == 3 * sizeof(lane), "the event has no padding");
	p[0] = p[1] = p[2] = (lane){0};
}

/* How many blocks a recorded block stands for: 1 if all blocks were recorded. The format stores
 * it as the flags of malloc and similar calls. */
#define MZ_WEIGHT_MOST (1u << 15)

static inline uint32_t mz_event_weight(const struct mz_event *ev)
{
	if (__builtin_expect(!(ev->has & MZ_HAS_FLAGS), 1) || ev->call > MZ_CALL_PVALLOC)
		return 1;
	/* a file may say anything */
	return ev->flags && ev->flags <= MZ_WEIGHT_MOST && !(ev->flags & (ev->flags - 1))
		       ? ev->flags
		       : 1;
}

/*
 * What identifies the block at an address. The allocators of the kernel have address spaces of
 * their own: the first object of a slab has the address of its page, and both are live. Blocks
 * that are not slab objects get bits that no address has: bits 57 to 63 of one are all equal. The
 * key of a key is the address again. 0 = none.
 */
static inline uint64_t mz_event_key(const struct mz_event *ev, uint64_t addr)
{
	if (__builtin_expect(ev->call < MZ_CALL_PAGE_ALLOC || ev->call > MZ_CALL_PERCPU_FREE, 1))
		return addr;
	return addr ? addr ^ (uint64_t)((ev->call - MZ_CALL_PAGE_ALLOC) / 2 + 1) << 61 : 0;
}

/* A call of a kernel's allocators. */
static inline bool mz_call_is_kernel(unsigned call)
{
	return call >= MZ_CALL_KMALLOC && call <= MZ_CALL_PERCPU_FREE;
}

/* Adds an MZ_LOST to the counts by cause. */
static inline void mz_count_lost(uint64_t by_cause[MZ_LOSSES], const struct mz_event *ev)
{
	by_cause[ev->arg < MZ_LOSSES ? ev->arg : MZ_LOSS_UNKNOWN] += ev->size;
}

#endif
