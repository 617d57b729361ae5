/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What Memorizer adds to existing structures.
 */
#ifndef _LINUX_MEMORIZER_TYPES_H
#define _LINUX_MEMORIZER_TYPES_H

#include <linux/types.h>

/**
 * struct memorizer_task - the part of a task that Memorizer needs
 * @tag: pid in the upper half, as it is kept in access sites; its top bit is
 *	 set while the task runs Memorizer's own code
 * @mark: the task is marked when this equals the current mark generation
 */
struct memorizer_task {
	u64 tag;
	u32 mark;
};

#endif /* _LINUX_MEMORIZER_TYPES_H */
