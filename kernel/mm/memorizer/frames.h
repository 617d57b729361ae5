/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stack frames as objects: frames.c for the rest of Memorizer. Without
 * CONFIG_MEMORIZER_FRAMES nothing of it is left.
 */
#ifndef _MM_MEMORIZER_FRAMES_H
#define _MM_MEMORIZER_FRAMES_H

#include "memorizer.h"

struct seq_file;

#ifdef CONFIG_MEMORIZER_FRAMES

#include <linux/sched/task_stack.h>

extern bool memorizer_frames;
extern u32 memorizer_frames_generation;
int memorizer_set_log_frames(bool on);
bool memorizer_log_frames(void);

/* Are accesses counted at frames? */
static __always_inline bool memorizer_frames_on(void)
{
	return unlikely(READ_ONCE(memorizer_frames));
}

/* The lowest address of the stack in use here that @addr lies on; 0: on none. */
static __always_inline unsigned long memorizer_own_stack(unsigned long addr)
{
	unsigned long stack = (unsigned long)task_stack_page(current);

	static_assert(THREAD_SIZE == IRQ_STACK_SIZE);
	if (addr - stack < THREAD_SIZE)
		return stack;
	stack = memorizer_irq_stack();
	return addr - stack < IRQ_STACK_SIZE ? stack : 0;
}

/* Is an access to @addr one to a frame? */
static __always_inline bool memorizer_framed(unsigned long addr)
{
	return memorizer_frames_on() && memorizer_own_stack(addr);
}

static __always_inline bool memorizer_is_frame(const struct memorizer_object *obj)
{
	return obj->type == MEMORIZER_STACK_FRAME;
}

struct memorizer_object *memorizer_frame(struct memorizer_object *stack,
					 unsigned long addr, u64 kind);
void memorizer_frame_lost(u64 kind);
void memorizer_show_frames(struct seq_file *m, u64 counted);
void __memorizer_end_frames(struct memorizer_frames *frames, unsigned long ip);

/* @obj ends: takes its frames, if it is a stack; the caller holds the lock. */
static inline struct memorizer_frames *memorizer_take_frames(struct memorizer_object *obj)
{
	struct memorizer_frames *frames = obj->map.frames;

	obj->map.frames = NULL;
	return frames;
}

/* Ends the frames that were taken; the caller does not hold the lock. */
static inline void memorizer_end_frames(struct memorizer_frames *frames, unsigned long ip)
{
	if (unlikely(frames))
		__memorizer_end_frames(frames, ip);
}

/* New code may take the addresses of code that is gone. */
static inline void memorizer_frames_new_code(void)
{
	WRITE_ONCE(memorizer_frames_generation, memorizer_frames_generation + 1);
}

#else

static __always_inline bool memorizer_frames_on(void)
{
	return false;
}

static __always_inline unsigned long memorizer_own_stack(unsigned long addr)
{
	return 0;
}

static __always_inline bool memorizer_framed(unsigned long addr)
{
	return false;
}

static __always_inline bool memorizer_is_frame(const struct memorizer_object *obj)
{
	return false;
}

static inline struct memorizer_object *memorizer_frame(struct memorizer_object *stack,
						       unsigned long addr, u64 kind)
{
	return stack;
}

static inline void memorizer_frame_lost(u64 kind) { }
static inline void memorizer_show_frames(struct seq_file *m, u64 counted) { }
static inline struct memorizer_frames *memorizer_take_frames(struct memorizer_object *obj)
{
	return NULL;
}

static inline void memorizer_end_frames(struct memorizer_frames *frames, unsigned long ip) { }
static inline void memorizer_frames_new_code(void) { }

#endif

#endif /* _MM_MEMORIZER_FRAMES_H */
