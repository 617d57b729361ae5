/* SPDX-License-Identifier: BSD-2-Clause */
static inline __attribute__((always_inline)) int deep(volatile int *p)
{
	return *p + 3;
}
static inline __attribute__((always_inline)) int shallow(volatile int *p)
{
	int x = *p;
	x += deep(p);
	return x * 7;
}
