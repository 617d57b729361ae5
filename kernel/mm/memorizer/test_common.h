/* SPDX-License-Identifier: GPL-2.0 */
/* Known accesses and what Memorizer counted of them, for all KUnit suites. */
#ifndef _MM_MEMORIZER_TEST_COMMON_H
#define _MM_MEMORIZER_TEST_COMMON_H

#include <kunit/test.h>

#include "format.h"

/*
 * Two primes: a count that was doubled, halved or swapped with the other is
 * not the expected one.
 */
#define WRITES	23
#define READS	29

/* The sum over all sites that lie in one function. */
struct memorizer_counts {
	unsigned long fn;
	pid_t pid;
	u64 writes, reads;
	memorizer_range_t range;
	unsigned int sites;
};

void memorizer_touch(volatile char *p, size_t size);
void memorizer_clear_at(char *p, size_t at, size_t n);
struct memorizer_counts memorizer_counts_of(struct memorizer_object *obj, void *fn, pid_t pid);

/* What memorizer_touch() of this task did to the object. */
static inline struct memorizer_counts memorizer_touches(struct memorizer_object *obj)
{
	return memorizer_counts_of(obj, memorizer_touch, current->pid);
}

bool memorizer_ip_is_in(u32 packed, const void *fn);
struct memorizer_object *memorizer_check(struct kunit *test, void *p, size_t size,
					 enum memorizer_type type);
void memorizer_check_freed(struct kunit *test, void *p, struct memorizer_object *obj);
int memorizer_test_begin(struct kunit_suite *suite);
void memorizer_test_end(struct kunit_suite *suite);

/* The suite memorizer_SUBJECT of the cases in SUBJECT_cases; it records everything. */
#define MEMORIZER_TEST_SUITE(subject)				\
static struct kunit_suite subject##_suite = {			\
	.name = "memorizer_" #subject,				\
	.suite_init = memorizer_test_begin,			\
	.suite_exit = memorizer_test_end,			\
	.test_cases = subject##_cases,				\
};								\
kunit_test_suite(subject##_suite)

#endif /* _MM_MEMORIZER_TEST_COMMON_H */
