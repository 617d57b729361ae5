// SPDX-License-Identifier: BSD-2-Clause
#include "stack.h"

uint32_t mz_stack_slow(struct mz_thread *t)
{
	(void)t;
	return 0;
}
