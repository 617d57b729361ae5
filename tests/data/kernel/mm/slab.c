// SPDX-License-Identifier: BSD-2-Clause
/* Sample kernel source: functions in mm/ with inlined callees. */
#include "../include/inline.h"
static int table[64];
static __attribute__((noinline)) int helper(volatile int *p)
{
	return shallow(p) + table[*p & 63];
}
int mm_get(volatile int *p)
{
	int a = helper(p);
	return a + deep(p);
}
