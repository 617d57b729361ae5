// SPDX-License-Identifier: BSD-2-Clause
/* Sample kernel source: a function in fs/ that inlines code of a header. */
#include "../include/inline.h"
int mm_get(volatile int *p);
int fs_read(volatile int *p, int n)
{
	int sum = 0;
	while (n-- > 0)
		sum += mm_get(p) * shallow(p);
	return sum;
}
