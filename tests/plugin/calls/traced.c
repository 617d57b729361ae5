// SPDX-License-Identifier: BSD-2-Clause
/* Compiled with -pg -mfentry: each of these functions begins with a call of the kernel's entry. */
#include "traced.h"

#include <stdarg.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))

/* Every argument counts: a register that is not preserved changes the sum. */
NOINLINE long target(long a, long b, long c, long d, long e, long f)
{
	return a + 2 * b + 3 * c + 5 * d + 7 * e + 11 * f;
}

NOINLINE long variadic(int n, ...)
{
	va_list list;
	double sum = 0;

	va_start(list, n);
	for (int i = 0; i < n; i++)
		sum += va_arg(list, double);
	va_end(list);
	return (long)sum;
}

NOINLINE long direct(void)
{
	long sum = 0;

	for (long i = 0; i < DIRECT; i++)
		sum += target(i, 1, i, 2, i, 3);
	return sum;
}

static long (*volatile pointer)(long a, long b, long c, long d, long e, long f) = target;

NOINLINE long pointed(void)
{
	long sum = 0;

	for (long i = 0; i < POINTED; i++)
		sum += pointer(i, 1, i, 2, i, 3);
	return sum;
}

NOINLINE long deep(int n)
{
	long below = n ? deep(n - 1) : 0;

	__asm__ volatile("" : "+r"(below)); /* no loop instead of the call */
	return below + n;
}

NOINLINE void in_interrupt(void)
{
	long v = target(1, 1, 1, 1, 1, 1);

	__asm__ volatile("" : "+r"(v));
}

#define ONE(n)                                                                                     \
	NOINLINE static void f##n(void)                                                            \
	{                                                                                          \
		__asm__ volatile("" ::: "memory");                                                 \
	}
#define FOUR(n) ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3)
#define X16(n)	FOUR(n##0) FOUR(n##1) FOUR(n##2) FOUR(n##3)
#define X64(n)	X16(n##0) X16(n##1) X16(n##2) X16(n##3)
#define X256(n) X64(n##0) X64(n##1) X64(n##2) X64(n##3)
/* clang-format off */
X256(0) X256(1) X256(2) X256(3)
/* clang-format on */

#define N1(n)	f##n,
#define N4(n)	N1(n##0) N1(n##1) N1(n##2) N1(n##3)
#define N16(n)	N4(n##0) N4(n##1) N4(n##2) N4(n##3)
#define N64(n)	N16(n##0) N16(n##1) N16(n##2) N16(n##3)
#define N256(n) N64(n##0) N64(n##1) N64(n##2) N64(n##3)
	static void (*const table[MANY])(void) = {N256(0) N256(1) N256(2) N256(3)};

NOINLINE void many(int from, int to)
{
	for (int i = from; i < to; i++)
		table[i % MANY]();
}

__attribute__((no_instrument_function)) void *many_of(int i)
{
	return (void *)table[i];
}
