/* SPDX-License-Identifier: BSD-2-Clause */
/* A unit test: static void name(void) functions with CHECKs, run by RUN(name)
 * from main(), which ends with return test_end(). */
#ifndef MZ_TESTS_TEST_H
#define MZ_TESTS_TEST_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned test_failures;
static unsigned test_shown; /* in this test */
static bool test_failed;

/* A loop that fails a million times says so ten times. */
#define TEST_SHOW(...)                                                                             \
	do {                                                                                       \
		if (test_shown++ < 10)                                                             \
			printf(__VA_ARGS__);                                                       \
		test_failed = true;                                                                \
	} while (0)

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond))                                                                       \
			TEST_SHOW("# %s:%d: %s\n", __FILE__, __LINE__, #cond);                     \
	} while (0)

/* The same for numbers, which are shown. */
#define CHECK_EQ(a, b)                                                                             \
	do {                                                                                       \
		long long a_ = (long long)(a), b_ = (long long)(b);                                \
		if (a_ != b_)                                                                      \
			TEST_SHOW("# %s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #a, a_,   \
				  b_);                                                             \
	} while (0)

#define RUN(name)                                                                                  \
	do {                                                                                       \
		test_failed = false;                                                               \
		test_shown = 0;                                                                    \
		name();                                                                            \
		printf(test_failed ? "not ok %s: see above\n" : "ok %s\n", #name);                 \
		test_failures += test_failed;                                                      \
	} while (0)

/* Makes the folder, whose name ends in XXXXXX, and the path of a file in it. */
static inline void test_folder(char *folder, char path[64], const char *file)
{
	if (!mkdtemp(folder))
		abort();
	snprintf(path, 64, "%s/%s", folder, file);
}

static inline int test_end(void)
{
	return test_failures ? 1 : 0;
}

#endif
