// SPDX-License-Identifier: BSD-2-Clause
/* Sample kernel source: a module. */
#include "../include/inline.h"
int mm_get(volatile int *p);
int probe_init(volatile int *p)
{
	return mm_get(p) + shallow(p);
}
int probe_exit(volatile int *p)
{
	return probe_init(p) - deep(p);
}
