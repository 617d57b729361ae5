// SPDX-License-Identifier: GPL-2.0
/*
 * What the KUnit suites share: known accesses, the counts that Memorizer has of
 * them, and a mode that records everything.
 *
 * This file is instrumented. Accesses are made in functions of their own, so
 * that the function of a site identifies the code that made it.
 */
#include <linux/kallsyms.h>
#include <linux/string.h>

#include "test_common.h"

/*
 * The suite runs on a kernel that may be recording; what it changes is
 * restored.
 */
static int saved_mode;
static bool saved_log, saved_fields;

/* Spread over the whole object. */
noinline void memorizer_touch(volatile char *p, size_t size)
{
	int i;

	for (i = 0; i < WRITES; i++)
		p[(size - 1) * i / (WRITES - 1)] = i;
	for (i = 0; i < READS; i++)
		(void)p[(size - 1) * i / (READS - 1)];
}

/* memset() is one access, however many bytes it writes. */
noinline void memorizer_clear_at(char *p, size_t at, size_t n)
{
	memset(p + at, 0, n);
	barrier();
}

/*
 * A site is the return address of the hook, one behind the access; hence - 1.
 */
static bool add_counts(void *data, const struct memorizer_sum *sum)
{
	unsigned long ip = memorizer_unpack_ip((u32)sum->key) - 1, size, off;
	struct memorizer_counts *c = data;

	if ((pid_t)(sum->key >> 32) != c->pid ||
	    !kallsyms_lookup_size_offset(ip, &size, &off) || ip - off != c->fn)
		return true;
	c->writes += sum->writes;
	c->reads += sum->reads;
	c->range = memorizer_range_add(c->range, sum->range);
	c->sites++;
	return true;
}

/* What @fn of process @pid did to the object, as Memorizer has it. */
struct memorizer_counts memorizer_counts_of(struct memorizer_object *obj, void *fn, pid_t pid)
{
	struct memorizer_counts c = { .fn = (unsigned long)fn, .pid = pid };

	if (obj)
		memorizer_each_site(obj, add_counts, &c);
	return c;
}

/* Hooks must name the caller of the allocator, not a helper inside of it. */
bool memorizer_ip_is_in(u32 packed, const void *fn)
{
	unsigned long ip = memorizer_unpack_ip(packed) - 1, size, off;

	return kallsyms_lookup_size_offset(ip, &size, &off) &&
	       ip - off == (unsigned long)fn;
}

/* Touch @p, which must be an object of that type and size, and compare. */
struct memorizer_object *memorizer_check(struct kunit *test, void *p, size_t size,
					 enum memorizer_type type)
{
	struct memorizer_object *obj;
	struct memorizer_counts c;

	KUNIT_ASSERT_NOT_NULL(test, p);
	memorizer_touch(p, size);
	obj = memorizer_find((unsigned long)p);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, obj->type, type);
	KUNIT_EXPECT_EQ(test, obj->va, (unsigned long)p);
	KUNIT_EXPECT_EQ(test, obj->size, size);
	KUNIT_EXPECT_EQ(test, obj->state, OBJ_LIVE);
	c = memorizer_touches(obj);
	KUNIT_EXPECT_EQ_MSG(test, c.writes, WRITES, "type %d size %zu", type, size);
	KUNIT_EXPECT_EQ_MSG(test, c.reads, READS, "type %d size %zu", type, size);
	KUNIT_EXPECT_EQ(test, c.sites, 2);
	KUNIT_EXPECT_EQ(test, memorizer_range_first(c.range), 0);
	KUNIT_EXPECT_EQ_MSG(test, memorizer_range_last(c.range),
			    min_t(size_t, size - 1, MEMORIZER_FAR),
			    "type %d size %zu", type, size);
	return obj;
}

/* @p was freed: its record is dead and has kept what memorizer_check() saw. */
void memorizer_check_freed(struct kunit *test, void *p, struct memorizer_object *obj)
{
	struct memorizer_counts c = memorizer_touches(obj);

	KUNIT_EXPECT_EQ(test, obj->state, OBJ_DEAD);
	KUNIT_EXPECT_NE(test, (u64)obj->free.jiffies, 0ULL);
	KUNIT_EXPECT_GT(test, (u64)obj->free.serial, (u64)obj->alloc.serial);
	KUNIT_EXPECT_EQ(test, obj->flags & OBJ_OVERLAID, 0);
	KUNIT_EXPECT_EQ(test, c.writes, WRITES);
	KUNIT_EXPECT_EQ(test, c.reads, READS);
	KUNIT_EXPECT_PTR_NE(test, memorizer_find((unsigned long)p), obj);
}

/* Everything is recorded, of every process. */
int memorizer_test_begin(struct kunit_suite *suite)
{
	saved_mode = memorizer_mode;
	saved_log = memorizer_log_access();
	saved_fields = memorizer_print_fields;
	memorizer_print_fields = true;
	memorizer_set_log_access(true);
	return memorizer_set_mode(1, NULL, 0);
}

/* In the order of the dependencies: the mode before what it switches on. */
void memorizer_test_end(struct kunit_suite *suite)
{
	memorizer_print_fields = saved_fields;
	memorizer_set_mode(saved_mode, current, 0);
	memorizer_set_log_access(saved_log);
}
