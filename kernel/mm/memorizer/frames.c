// SPDX-License-Identifier: GPL-2.0
/*
 * Stack frames as objects: the function whose frame an access touches.
 *
 * The kernel's unwinder finds it. objtool has noted for each instruction where
 * the frame of its function ends (ORC), and frames follow each other without a
 * gap. Nothing is kept at calls and returns, so that nothing can get out of step
 * with the stack, whichever way functions are left.
 *
 * One object stands for all frames of a function on one stack. A table of the
 * stack's own object finds it, and it ends with the stack. Only the stacks in
 * use on this CPU are looked at, that of the task and that of its interrupts,
 * with interrupts off: a table is never used by two at the same time.
 */
#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/kallsyms.h>
#include <linux/kstrtox.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <asm/unwind.h>

#include "frames.h"

/* A code address, or that of a function with KEY_FUNCTION, and its object. */
struct memorizer_frame {
	u64 key;			/* 0: unused */
	struct memorizer_object *obj;	/* NULL: to be looked up again */
};

/* An open-addressed hash table of nr slots, the last of them mask. */
struct memorizer_frames {
	u32 mask;
	u32 used;
	u32 generation;			/* of the code that it was filled for */
	u32 unused;
	struct memorizer_frame frame[];
};

#define KEY_FUNCTION	BIT_ULL(32)
#define HASH_FACTOR	0x9e3779b97f4a7c15ULL
#define MIN_SLOTS	32U
#define MANY_SLOTS	2048U

/* Where a frame lies, and code of its function. */
struct frame_bounds {
	unsigned long low, end;
	unsigned long ip;
};

/* Why an access to a stack is not counted at a frame; the last are lost. */
enum frame_miss {
	FRAME_OUTSIDE,
	FRAME_UNKNOWN,
	FRAME_MEMORY,
	FRAME_SITE,
	NR_FRAME_MISSES,
};

/* Accesses to the stack in use. */
struct frame_counts {
	u64 seen;
	u64 miss[NR_FRAME_MISSES];
};

static DEFINE_PER_CPU(struct frame_counts, counts);
bool memorizer_frames;
u32 memorizer_frames_generation;

static int __init parse_frames(char *arg)
{
	return kstrtobool(arg, &memorizer_frames);
}
early_param("stack_trace_boot", parse_frames);

bool memorizer_log_frames(void)
{
	return memorizer_frames;
}

/* When this returns, all code has seen the switch. */
int memorizer_set_log_frames(bool on)
{
	if (!memorizer_pages)
		return -ENOMEM;
	WRITE_ONCE(memorizer_frames, on);
	memorizer_set_fast();
	synchronize_rcu();
	return 0;
}

/* The slot of @key, or the unused one where it belongs. */
static struct memorizer_frame *slot_of(struct memorizer_frames *frames, u64 key)
{
	u32 i = key * HASH_FACTOR >> 32;

	while (frames->frame[i & frames->mask].key &&
	       frames->frame[i & frames->mask].key != key)
		i++;
	return &frames->frame[i & frames->mask];
}

/*
 * Other code may now be where a module was: drop what is known about its
 * addresses. The functions themselves stay, because their objects do.
 */
static void forget_modules(struct memorizer_frames *frames)
{
	u32 i;

	for (i = 0; i <= frames->mask; i++)
		if (!(frames->frame[i].key & KEY_FUNCTION) &&
		    memorizer_unpack_ip((u32)frames->frame[i].key) >= MODULES_VADDR)
			frames->frame[i].obj = NULL;
}

static void free_table(struct memorizer_frames *frames)
{
	unsigned long flags = memorizer_lock();

	memorizer_pool_free(frames);
	memorizer_unlock(flags);
}

/* A larger table with all entries of the old one, which may be NULL. */
static struct memorizer_frames *grow(struct memorizer_frames *old)
{
	struct memorizer_frames *new;
	u32 i, nr = MIN_SLOTS;

	if (old)
		nr = (old->mask + 1) * (old->mask < MANY_SLOTS ? 4 : 2);
	new = memorizer_pool_alloc(struct_size(new, frame, nr));
	if (!new)
		return NULL;
	new->mask = nr - 1;
	new->generation = old ? old->generation : READ_ONCE(memorizer_frames_generation);
	for (i = 0; old && i <= old->mask; i++) {
		if (old->frame[i].key) {
			*slot_of(new, old->frame[i].key) = old->frame[i];
			new->used++;
		}
	}
	if (old)
		free_table(old);
	return new;
}

/* The table of a stack, or NULL, without entries that are out of date. */
static struct memorizer_frames *table_of(struct memorizer_object *stack)
{
	struct memorizer_frames *frames = stack->map.frames;
	u32 generation = READ_ONCE(memorizer_frames_generation);

	if (frames && frames->generation != generation) {
		frames->generation = generation;
		forget_modules(frames);
	}
	return frames;
}

/* The same with room for two more keys; NULL: no memory. */
static struct memorizer_frames *roomy_table_of(struct memorizer_object *stack)
{
	struct memorizer_frames *frames = stack->map.frames;

	if (frames && frames->used + 2 <= frames->mask / 4 * 3)
		return frames;
	frames = grow(frames);
	if (frames)
		stack->map.frames = frames;
	return frames;
}

static void enter(struct memorizer_frames *frames, u64 key, struct memorizer_object *obj)
{
	struct memorizer_frame *frame = slot_of(frames, key);

	if (!frame->key)
		frames->used++;
	frame->key = key;
	frame->obj = obj;
}

/* The object of a function, made if it is the first time; NULL: no memory. */
static struct memorizer_object *object_of(struct memorizer_frames *frames,
					  unsigned long function, unsigned long stack)
{
	u64 key = memorizer_pack_ip(function) | KEY_FUNCTION;
	struct memorizer_object *obj = slot_of(frames, key)->obj;

	if (obj)
		return obj;
	obj = memorizer_create(MEMORIZER_STACK_FRAME, stack, 0, 0, function);
	if (!obj)
		return NULL;
	/* Of an interrupt that came from user space, too: it uses the task's stack. */
	if (stack == (unsigned long)task_stack_page(current))
		memorizer_set_task(obj, current);
	enter(frames, key, obj);
	return obj;
}

/* Where the function begins; 0: not known. Any context. */
static unsigned long function_at(unsigned long ip)
{
	unsigned long size, offset;

	return kallsyms_lookup_size_offset(ip, &size, &offset) ? ip - offset : 0;
}

/* The object of the frame in @stack; NULL: none, for the reason in @miss. */
static struct memorizer_object *find(struct memorizer_object *stack,
				     const struct frame_bounds *at, unsigned long base,
				     enum frame_miss *miss)
{
	struct memorizer_frames *frames = table_of(stack);
	struct memorizer_object *obj = NULL;
	u64 key = memorizer_pack_ip(at->ip);
	unsigned long function;

	if (frames)
		obj = slot_of(frames, key)->obj;
	if (obj)
		return obj;
	*miss = FRAME_UNKNOWN;
	function = function_at(at->ip);
	if (!function)
		return NULL;
	*miss = FRAME_MEMORY;
	frames = roomy_table_of(stack);
	if (!frames)
		return NULL;
	obj = object_of(frames, function, base);
	if (obj)
		enter(frames, key, obj);
	return obj;
}

/*
 * Walk up from here to the frame that @addr lies in, on the stack at @base. It
 * is the first that ends behind @addr: those below are of Memorizer. The walk
 * may begin on the stack of interrupts and go on on that of the task.
 */
static bool frame_at(unsigned long addr, unsigned long base, struct frame_bounds *at,
		     enum frame_miss *miss)
{
	struct unwind_state state;
	bool more;

	unwind_start(&state, current, NULL, NULL);
	*miss = FRAME_UNKNOWN;
	for (more = !unwind_done(&state); more && !state.error; ) {
		at->low = state.sp;
		at->ip = state.ip - !state.signal;
		more = unwind_next_frame(&state);
		at->end = state.sp;
		if (more && !state.error && at->end > addr && at->end - base <= THREAD_SIZE)
			return true;
	}
	/* Above the last frame: the registers of user space. */
	if (!state.error)
		*miss = FRAME_OUTSIDE;
	return false;
}

/* The record shows the largest frame that was seen, and where. */
static void note_size(struct memorizer_object *obj, const struct frame_bounds *at,
		      unsigned long base)
{
	/* A function that changes stacks has its frame on two. */
	if (at->low - base >= THREAD_SIZE || at->end - at->low <= obj->size)
		return;
	obj->va = at->low;
	obj->size = at->end - at->low;
	obj->given = obj->size;
}

static struct memorizer_object *look_up(struct memorizer_object *stack,
					unsigned long addr, enum frame_miss *miss)
{
	unsigned long base = memorizer_own_stack(addr);
	struct memorizer_object *obj;
	struct frame_bounds at;

	if (!frame_at(addr, base, &at, miss))
		return NULL;
	obj = find(stack, &at, base, miss);
	if (obj)
		note_size(obj, &at, base);
	return obj;
}

/*
 * The frame that @addr lies in, or @stack if it is none. The kernel's functions
 * that are called here are instrumented: what they do is Memorizer's business.
 */
struct memorizer_object *memorizer_frame(struct memorizer_object *stack,
					 unsigned long addr, u64 kind)
{
	unsigned long *tag = (unsigned long *)&current->memorizer.tag;
	struct memorizer_object *obj;
	enum frame_miss miss;
	unsigned long flags;

	raw_local_irq_save(flags);
	if (preempt_count() & MEMORIZER_IRQ_BITS)
		tag = (unsigned long *)raw_cpu_ptr(&memorizer_cpu.irq_tag);
	arch_set_bit(MEMORIZER_HIDDEN_BIT, tag);
	memorizer_context();
	obj = look_up(stack, addr, &miss);
	arch_clear_bit(MEMORIZER_HIDDEN_BIT, tag);
	memorizer_context();
	raw_local_irq_restore(flags);
	this_cpu_add(counts.seen, memorizer_events(kind));
	if (obj)
		return obj;
	this_cpu_add(counts.miss[miss], memorizer_events(kind));
	return stack;
}

/* The object of the frame has no memory for the site. */
void memorizer_frame_lost(u64 kind)
{
	this_cpu_add(counts.miss[FRAME_SITE], memorizer_events(kind));
}

/* seen = counted + at the stack + missed. @counted: what the objects have. */
void memorizer_show_frames(struct seq_file *m, u64 counted)
{
	struct frame_counts all = {};
	const struct frame_counts *c;
	int cpu, i;

	for_each_possible_cpu(cpu) {
		c = per_cpu_ptr(&counts, cpu);
		all.seen += c->seen;
		for (i = 0; i < NR_FRAME_MISSES; i++)
			all.miss[i] += c->miss[i];
	}
	seq_puts(m, "frames\n");
	seq_printf(m, "  seen                         %llu\n", all.seen);
	seq_printf(m, "  counted                      %llu\n", counted);
	seq_printf(m, "  at the stack                 %llu\n", all.miss[FRAME_OUTSIDE] +
		   all.miss[FRAME_UNKNOWN] + all.miss[FRAME_MEMORY]);
	seq_printf(m, "    above all frames           %llu\n", all.miss[FRAME_OUTSIDE]);
	seq_printf(m, "    frame not known            %llu\n", all.miss[FRAME_UNKNOWN]);
	seq_printf(m, "    no memory for frame        %llu\n", all.miss[FRAME_MEMORY]);
	seq_printf(m, "  missed (no memory for site)  %llu\n", all.miss[FRAME_SITE]);
}

/* The stack is not in use any more. */
void __memorizer_end_frames(struct memorizer_frames *frames, unsigned long ip)
{
	u32 i;

	for (i = 0; i <= frames->mask; i++)
		if (frames->frame[i].key & KEY_FUNCTION)
			memorizer_kill(frames->frame[i].obj, ip);
	free_table(frames);
}
