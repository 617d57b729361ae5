// SPDX-License-Identifier: GPL-2.0
/* What counts as one access, the sites of an object, and the bytes that they touch. */
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "test_common.h"

/* Copied by the compiler without a call to memcpy(). */
struct block {
	u64 w[5];
};

/*
 * Six writes of a and five reads of b. Whether the compiler makes a call or
 * instructions of a copy must not matter.
 */
static noinline void copies(char *a, char *b, size_t n)
{
	memcpy(a, b, n);
	memmove(a, b, n);
	memset(a, 1, n);
	memcpy(a, b, 8);
	memcpy(a, b, 40);
	*(struct block *)a = *(struct block *)b;
}

/* A read-modify-write counts as a write; a test of one bit is a read. */
static noinline void atomics(atomic_t *v, unsigned long *bits, unsigned long nr)
{
	atomic_set(v, 1);
	atomic_inc(v);
	(void)atomic_read(v);
	(void)atomic_cmpxchg(v, 2, 3);
	set_bit(3, bits);
	(void)test_bit(3, bits);
	(void)test_bit(nr, bits);
	(void)xchg(bits, 1);
	(void)cmpxchg(bits, 1, 2);
}

static void expect_counts(struct kunit *test, void *p, void *fn, u64 writes, u64 reads)
{
	struct memorizer_object *obj = memorizer_find((unsigned long)p);
	struct memorizer_counts c = memorizer_counts_of(obj, fn, current->pid);

	KUNIT_EXPECT_EQ(test, c.writes, writes);
	KUNIT_EXPECT_EQ(test, c.reads, reads);
}

static void test_what_one_count_is(struct kunit *test)
{
	char *a = kmalloc(128, GFP_KERNEL), *b = kmalloc(128, GFP_KERNEL);
	unsigned long *bits = kmalloc(8, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, a);
	KUNIT_ASSERT_NOT_NULL(test, b);
	KUNIT_ASSERT_NOT_NULL(test, bits);
	copies(a, b, 100);
	expect_counts(test, a, copies, 6, 0);
	expect_counts(test, b, copies, 0, 5);
	atomics((atomic_t *)b, bits, 3);
	expect_counts(test, b, atomics, 3, 3);
	expect_counts(test, bits, atomics, 3, 5);
	kfree(a);
	kfree(b);
	kfree(bits);
}

/*
 * Far more than an object of a real kernel has, to make its tables grow many
 * times.
 */
#define MANY_SITES	200000
#define MANY_ROUNDS	3

/* A key has the process above and the site below; both vary. */
static u64 many_key(int i)
{
	return (u64)(i % 1000 + 1) << 32 | i * 16;
}

struct many {
	unsigned long sites, wrong, others;
};

/*
 * Each key must come exactly once: a site that is in two tables would be
 * counted twice by a reader that forgets one.
 */
static bool look_at_one(void *data, const struct memorizer_sum *sum)
{
	struct many *many = data;

	if (sum->key != many_key((u32)sum->key / 16)) {
		many->others++;
		return true;
	}
	many->sites++;
	if (sum->writes != MANY_ROUNDS || sum->reads)
		many->wrong++;
	return true;
}

/*
 * Very many sites of one object, each counted a known number of times and each
 * shown once. They must lie in few tables: a reader looks into all of them.
 */
static void test_many_sites(struct kunit *test)
{
	char *p = kmalloc(64, GFP_KERNEL);
	struct memorizer_object *obj = memorizer_find((unsigned long)p);
	struct memorizer_sites *sites;
	u64 reads = 0, writes = 0;
	int round, i, bad = 0, tables = 0;
	struct many many = { };

	KUNIT_ASSERT_NOT_NULL(test, obj);
	memorizer_count_sites(obj, &reads, &writes);
	KUNIT_ASSERT_EQ(test, reads + writes, 0);
	for (round = 0; round < MANY_ROUNDS; round++) {
		for (i = 1; i <= MANY_SITES; i++) {
			preempt_disable();
			/* What is counted must have been seen. */
			if (memorizer_count(obj, many_key(i) | MEMORIZER_WRITE))
				this_cpu_inc(memorizer_cpu.seen);
			else
				bad++;
			preempt_enable();
		}
	}
	KUNIT_EXPECT_EQ(test, bad, 0);
	memorizer_count_sites(obj, &reads, &writes);
	KUNIT_EXPECT_EQ(test, writes, MANY_ROUNDS * MANY_SITES);
	memorizer_each_site(obj, look_at_one, &many);
	KUNIT_EXPECT_EQ(test, many.sites, MANY_SITES);
	KUNIT_EXPECT_EQ(test, many.wrong, 0);
	KUNIT_EXPECT_EQ(test, many.others, 0);
	for (sites = obj->sites; sites; sites = sites->prev)
		tables++;
	kunit_info(test, "%d sites in %d tables\n", MANY_SITES, tables);
	KUNIT_EXPECT_LT(test, tables, 50);
	kfree(p);
	/* Nothing changes after the free, before which SLUB of 6.1 reads it. */
	many = (struct many){ };
	memorizer_each_site(obj, look_at_one, &many);
	KUNIT_EXPECT_EQ(test, many.sites, MANY_SITES);
	KUNIT_EXPECT_EQ(test, many.wrong, 0);
	KUNIT_EXPECT_LE(test, many.others, 1);
}

/* One site whose offset the test chooses. */
static noinline void write_at(volatile char *p, size_t at)
{
	p[at] = 1;
}

static noinline void copy_from(char *to, const char *from, size_t at, size_t n)
{
	memcpy(to, from + at, n);
	barrier();
}

/*
 * One function, one site: then the range of the site is the range of the
 * function.
 */
static void expect_range(struct kunit *test, struct memorizer_object *obj, void *fn,
			 u32 first, u32 last)
{
	struct memorizer_counts c = memorizer_counts_of(obj, fn, current->pid);

	KUNIT_EXPECT_EQ(test, c.sites, 1);
	KUNIT_EXPECT_EQ(test, memorizer_range_first(c.range), first);
	KUNIT_EXPECT_EQ(test, memorizer_range_last(c.range), last);
}

/* Where accesses fall: what is recent, what grows, and what is far. */
static void test_ranges(struct kunit *test)
{
	char *p = kmalloc(100, GFP_KERNEL), *far = vmalloc(100000), to[64];
	struct memorizer_object *obj = memorizer_find((unsigned long)p);
	struct memorizer_object *large = memorizer_find((unsigned long)far);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, obj);
	KUNIT_ASSERT_NOT_NULL(test, large);
	write_at(p, 40);
	expect_range(test, obj, write_at, 40, 40);
	for (i = 0; i < 5; i++)
		write_at(p, 8);
	write_at(p, 40);
	expect_range(test, obj, write_at, 8, 40);
	memorizer_clear_at(p, 16, 4);
	expect_range(test, obj, memorizer_clear_at, 16, 19);
	memorizer_clear_at(p, 16, 32);
	expect_range(test, obj, memorizer_clear_at, 16, 47);
	copy_from(to, p, 50, 50);
	expect_range(test, obj, copy_from, 50, 99);
	write_at(far, 65534);
	expect_range(test, large, write_at, 65534, 65534);
	write_at(far, 99999);
	expect_range(test, large, write_at, 65534, MEMORIZER_FAR);
	vfree(far);
	kfree(p);
	expect_range(test, obj, write_at, 8, 40);
}

struct members {
	u64 a, b, c, d;
};

/* Of each member two reads or two writes, in pairs where the plugin reports them. */
static noinline void touch_members(struct members *m)
{
	u64 sum = READ_ONCE(m->a) + READ_ONCE(m->b);

	WRITE_ONCE(m->c, sum);
	WRITE_ONCE(m->d, READ_ONCE(m->a) + READ_ONCE(m->b));
	WRITE_ONCE(m->c, 1);
	WRITE_ONCE(m->d, 2);
}

/* What an array's elements have in common with a structure: one site, several offsets. */
static void test_members(struct kunit *test)
{
	struct members *m = kcalloc(3, sizeof(*m), GFP_KERNEL);
	struct memorizer_object *obj = memorizer_find((unsigned long)m);
	struct memorizer_counts c;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, obj);
	for (i = 0; i < 5; i++)
		touch_members(m);
	c = memorizer_counts_of(obj, touch_members, current->pid);
	KUNIT_EXPECT_EQ(test, c.reads, 5 * 4);
	KUNIT_EXPECT_EQ(test, c.writes, 5 * 4);
	KUNIT_EXPECT_EQ(test, c.sites, 8);
	KUNIT_EXPECT_EQ(test, memorizer_range_first(c.range), 0);
	KUNIT_EXPECT_EQ(test, memorizer_range_last(c.range), 24);
	for (i = 0; i < 6; i++)
		touch_members(&m[i % 3]);
	c = memorizer_counts_of(obj, touch_members, current->pid);
	KUNIT_EXPECT_EQ(test, c.reads, 11 * 4);
	KUNIT_EXPECT_EQ(test, c.writes, 11 * 4);
	KUNIT_EXPECT_EQ(test, memorizer_range_last(c.range), 2 * 32 + 24);
	kfree(m);
	c = memorizer_counts_of(obj, touch_members, current->pid);
	KUNIT_EXPECT_EQ(test, c.reads + c.writes, 22 * 4);
}

/* What the sites of touch_members() should have touched, and how many did, by member. */
struct member_sites {
	u32 span;		/* from the first element to the last, in bytes */
	unsigned int found[4], wrong;
};

static bool look_at_member(void *data, const struct memorizer_sum *sum)
{
	u32 first = memorizer_range_first(sum->range), last = memorizer_range_last(sum->range);
	struct member_sites *m = data;

	if (!memorizer_ip_is_in((u32)sum->key, touch_members))
		return true;
	if (first % 8 || first / 8 >= ARRAY_SIZE(m->found) || last != first + m->span ||
	    (first < offsetof(struct members, c) ? sum->writes : sum->reads))
		m->wrong++;
	else
		m->found[first / 8]++;
	return true;
}

static void expect_members(struct kunit *test, struct memorizer_object *obj, u32 span)
{
	struct member_sites m = { .span = span };
	int i;

	memorizer_each_site(obj, look_at_member, &m);
	KUNIT_EXPECT_EQ(test, m.wrong, 0);
	for (i = 0; i < ARRAY_SIZE(m.found); i++)
		KUNIT_EXPECT_EQ(test, m.found[i], 2);
}

/* The range of each site: in a log, and of so many accesses that there is a table. */
static void test_range_of_each_member(struct kunit *test)
{
	struct members *m = kcalloc(3, sizeof(*m), GFP_KERNEL);
	struct memorizer_object *obj = memorizer_find((unsigned long)m);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, obj);
	touch_members(m);
	KUNIT_EXPECT_TRUE(test, memorizer_is_log(obj->sites));
	expect_members(test, obj, 0);
	for (i = 0; i < 300; i++)
		touch_members(m);
	KUNIT_EXPECT_FALSE(test, memorizer_is_log(obj->sites));
	expect_members(test, obj, 0);
	for (i = 0; i < 300; i++)
		touch_members(&m[i % 3]);
	expect_members(test, obj, 2 * sizeof(*m));
	kfree(m);
	expect_members(test, obj, 2 * sizeof(*m));
}

static struct kunit_case accesses_cases[] = {
	KUNIT_CASE(test_what_one_count_is),
	KUNIT_CASE(test_many_sites),
	KUNIT_CASE(test_ranges),
	KUNIT_CASE(test_members),
	KUNIT_CASE(test_range_of_each_member),
	{ }
};

MEMORIZER_TEST_SUITE(accesses);
