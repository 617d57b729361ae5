// SPDX-License-Identifier: BSD-2-Clause
/* Define the table of allocation calls and the names of event kinds. */
#include "trace/event.h"

#include <assert.h>

static_assert(sizeof(struct mz_event) == 96, "the event has no padding");

const struct mz_call_info mz_calls[MZ_CALLS] = {
	[MZ_CALL_NONE] = {"none", MZ_NONE, MZ_ARGS_NONE},
	[MZ_CALL_MALLOC] = {"malloc", MZ_ALLOC, MZ_ARGS_SIZE},
	[MZ_CALL_CALLOC] = {"calloc", MZ_ALLOC, MZ_ARGS_COUNT_SIZE},
	[MZ_CALL_REALLOC] = {"realloc", MZ_REALLOC, MZ_ARGS_PTR_SIZE},
	[MZ_CALL_REALLOCARRAY] = {"reallocarray", MZ_REALLOC, MZ_ARGS_PTR_COUNT_SIZE},
	[MZ_CALL_ALIGNED_ALLOC] = {"aligned_alloc", MZ_ALLOC, MZ_ARGS_ALIGN_SIZE},
	[MZ_CALL_MEMALIGN] = {"memalign", MZ_ALLOC, MZ_ARGS_ALIGN_SIZE},
	[MZ_CALL_POSIX_MEMALIGN] = {"posix_memalign", MZ_ALLOC, MZ_ARGS_ALIGN_SIZE},
	[MZ_CALL_VALLOC] = {"valloc", MZ_ALLOC, MZ_ARGS_SIZE},
	[MZ_CALL_PVALLOC] = {"pvalloc", MZ_ALLOC, MZ_ARGS_SIZE},
	[MZ_CALL_FREE] = {"free", MZ_FREE, MZ_ARGS_PTR},
	[MZ_CALL_MMAP] = {"mmap", MZ_ALLOC, MZ_ARGS_SIZE},
	[MZ_CALL_MUNMAP] = {"munmap", MZ_FREE, MZ_ARGS_PTR_LENGTH},
	[MZ_CALL_MREMAP] = {"mremap", MZ_REALLOC, MZ_ARGS_PTR_SIZE},
	[MZ_CALL_BRK] = {"brk", MZ_ALLOC, MZ_ARGS_SIZE},
	[MZ_CALL_KMALLOC] = {"kmalloc", MZ_ALLOC, MZ_ARGS_SIZE},
	[MZ_CALL_KFREE] = {"kfree", MZ_FREE, MZ_ARGS_PTR},
	[MZ_CALL_KMEM_CACHE_ALLOC] = {"kmem_cache_alloc", MZ_ALLOC, MZ_ARGS_SIZE},
	[MZ_CALL_KMEM_CACHE_FREE] = {"kmem_cache_free", MZ_FREE, MZ_ARGS_PTR},
	[MZ_CALL_PAGE_ALLOC] = {"page_alloc", MZ_ALLOC, MZ_ARGS_SIZE},
	[MZ_CALL_PAGE_FREE] = {"page_free", MZ_FREE, MZ_ARGS_PTR},
	[MZ_CALL_VMALLOC] = {"vmalloc", MZ_ALLOC, MZ_ARGS_SIZE},
	[MZ_CALL_VFREE] = {"vfree", MZ_FREE, MZ_ARGS_PTR},
	[MZ_CALL_PERCPU_ALLOC] = {"percpu_alloc", MZ_ALLOC, MZ_ARGS_SIZE},
	[MZ_CALL_PERCPU_FREE] = {"percpu_free", MZ_FREE, MZ_ARGS_PTR},
	[MZ_CALL_ACCESS] = {"access", MZ_ACCESS, MZ_ARGS_PTR_READS_WRITES},
	[MZ_CALL_LOST] = {"lost", MZ_LOST, MZ_ARGS_EVENTS},
	[MZ_CALL_MARK] = {"mark", MZ_MARK, MZ_ARGS_STRING},
};

static const char *const kind_names[] = {
	[MZ_NONE] = "none",	[MZ_ALLOC] = "alloc", [MZ_FREE] = "free", [MZ_REALLOC] = "realloc",
	[MZ_ACCESS] = "access", [MZ_LOST] = "lost",   [MZ_MARK] = "mark",
};
static_assert(sizeof(kind_names) / sizeof(*kind_names) == MZ_KINDS, "a name for every kind");

static const char *const loss_names[] = {
	[MZ_LOSS_UNKNOWN] = "unknown",	   [MZ_LOSS_RING_FULL] = "ring_full",
	[MZ_LOSS_REENTRY] = "reentry",	   [MZ_LOSS_DAMAGE] = "damage",
	[MZ_LOSS_NO_MEMORY] = "no_memory", [MZ_LOSS_FILTER] = "filter",
	[MZ_LOSS_SANDBOX] = "sandbox",	   [MZ_LOSS_SAMPLED] = "sampled",
};
static_assert(sizeof(loss_names) / sizeof(*loss_names) == MZ_LOSSES, "a name for every loss");

/* calloc and reallocarray: the event holds the product. What the product cannot restore (0
 * elements, overflow) is kept in unit. */
void mz_event_multiply(struct mz_event *ev)
{
	uint64_t total;

	if (__builtin_mul_overflow(ev->arg, ev->size, &total)) {
		/* legal: the call fails, and says so by its result */
		ev->unit = MZ_UNIT_OVERFLOW;
		return;
	}
	if (!ev->arg)
		ev->unit = ev->size < MZ_UNIT_OVERFLOW ? (uint32_t)ev->size : MZ_UNIT_OVERFLOW - 1;
	ev->size = total;
}

const char *mz_event_fault(const struct mz_event *ev)
{
	if (!ev->call || ev->call >= MZ_CALLS)
		return "there is no such call";
	if (ev->kind != mz_calls[ev->call].kind)
		return "its call does not make events of its kind";
	if (ev->has & ~MZ_HAS_ALL)
		return "it has a field that is not in enum mz_field";
	if (ev->kind == MZ_LOST && ev->arg >= MZ_LOSSES)
		return "there is no such cause of a loss";
	if (ev->kind == MZ_MARK && ev->arg > UINT32_MAX)
		return "its text is not in the writer's table of strings";
	return NULL;
}

const char *mz_call_name(enum mz_call call)
{
	return (unsigned)call < MZ_CALLS ? mz_calls[call].name : NULL;
}

enum mz_kind mz_call_kind(enum mz_call call)
{
	return (unsigned)call < MZ_CALLS ? mz_calls[call].kind : MZ_NONE;
}

const char *mz_kind_name(enum mz_kind kind)
{
	return (unsigned)kind < MZ_KINDS ? kind_names[kind] : NULL;
}

const char *mz_loss_name(enum mz_loss loss)
{
	return (unsigned)loss < MZ_LOSSES ? loss_names[loss] : NULL;
}

/* A loss passes every filter except time: the missing events may be selected ones. */
bool mz_select_takes(const struct mz_select *s, const struct mz_event *ev)
{
	if (ev->has & MZ_HAS_TIME &&
	    (ev->time < s->time_from || (s->time_to && ev->time > s->time_to)))
		return false;
	if (ev->kind == MZ_LOST)
		return true;
	if (s->object && ev->object != s->object && ev->old_object != s->object)
		return false;
	if (s->has_cpu && !(ev->has & MZ_HAS_CPU && ev->cpu == s->cpu))
		return false;
	return !s->has_tid || (ev->has & MZ_HAS_TID && ev->tid == s->tid);
}

static uint64_t later(uint64_t time, uint64_t ns)
{
	return time > UINT64_MAX - ns ? UINT64_MAX : time + ns;
}

struct mz_time_range mz_time_range_at(const struct mz_time_range *range, uint64_t start)
{
	struct mz_time_range at = {range->from, range->to, true, true};

	if (!range->from_clock)
		at.from = later(start, range->from);
	if (range->to && !range->to_clock)
		at.to = later(start, range->to);
	return at;
}
