// SPDX-License-Identifier: BSD-2-Clause
/* Sample kernel source of four functions, for tests of symbols; never run. */
#include "../include/inline.h"
volatile int counter;
int mm_get(volatile int *p);
int fs_read(volatile int *p, int n);
void start_kernel(void)
{
	for (int i = 0; i < 10; i++)
		counter += mm_get(&counter) + shallow(&counter);
	fs_read(&counter, 3);
}
