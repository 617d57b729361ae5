/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that the compiler makes call __fentry__, and how often they call each other. */
#ifndef TRACED_H
#define TRACED_H

#define DIRECT	29
#define POINTED 23
#define MANY	1024
#define DEPTH	10

long target(long a, long b, long c, long d, long e, long f);
long variadic(int n, ...);
long direct(void);	     /* calls target DIRECT times; what target returned, in all */
long pointed(void);	     /* through a pointer, POINTED times */
long deep(int n);	     /* calls itself, n times */
void many(int from, int to); /* calls functions of a table of MANY, each once */
void in_interrupt(void);     /* calls target once */
void *many_of(int i);

#endif
