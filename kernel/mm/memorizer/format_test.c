// SPDX-License-Identifier: GPL-2.0
/* The lines of kmap and of the other files, from records made by hand. */
#include <linux/slab.h>
#include <linux/string.h>

#include "format.h"
#include "test_common.h"

/* A line stays a line whatever the process is called. */
static void test_format(struct kunit *test)
{
	struct memorizer_object *obj = kunit_kzalloc(test, sizeof(*obj), GFP_KERNEL);
	char *text = kunit_kzalloc(test, 1024, GFP_KERNEL), *end;
	struct memorizer_sites *table = kunit_kzalloc(test, 1024, GFP_KERNEL);
	u64 key;

	KUNIT_ASSERT_NOT_NULL(test, obj);
	KUNIT_ASSERT_NOT_NULL(test, text);
	KUNIT_ASSERT_NOT_NULL(test, table);
	table->mask = memorizer_slot_size(true);
	table->ranges = true;
	table->prev = &obj->first;
	obj->sites = table;
	obj->first.words = MEMORIZER_FIRST_LOG;
	obj->first.room = MEMORIZER_FIRST_LOG - 1;
	obj->va = 0xffff888000001000;
	obj->size = 100;
	obj->alloc_ip = 0x81000010;
	obj->pid = 7;
	obj->alloc.jiffies = 5;
	obj->alloc.serial = 9;
	memcpy(obj->comm, "a,b\n\\c\xff", 8);
	key = 7ULL << 32 | 0x81000020;
	obj->first_entry[MEMORIZER_FIRST_LOG - 1] = key;
	*memorizer_slot(table, 0) = (struct memorizer_site){ key, READS - 2 };
	*memorizer_slot(table, 1) = (struct memorizer_site){ key | MEMORIZER_WRITE, WRITES - 1 };
	*memorizer_slot(table, 2) = (struct memorizer_site){ key | MEMORIZER_READ_WRITE, 1 };
	end = memorizer_format_kmap(obj, text, text + 1023);
	KUNIT_ASSERT_NOT_NULL(test, end);
	*end = 0;
	KUNIT_EXPECT_STREQ(test, text,
		"ffffffff81000010,7,ffff888000001000,100,5,0,0000000000000000,a\\x2cb\\x0a\\x5cc\\xff\n"
		"  ffffffff81000020,7,23,29\n");
	obj->flags = OBJ_OVERLAID;
	memorizer_format_kmap(obj, text, text + 1023);
	KUNIT_EXPECT_NOT_NULL(test, strnstr(text, ",00000000deadbeef,", 1023));
	obj->flags = 0;
	obj->given = 128;
	*memorizer_extents(memorizer_slot(table, 0)) = (struct memorizer_extents){
		memorizer_extent(obj->va + 8, 3), memorizer_extent(obj->va + 37, 3)
	};
	end = memorizer_format_fields(obj, text, text + 1023);
	KUNIT_ASSERT_NOT_NULL(test, end);
	*end = 0;
	KUNIT_EXPECT_STREQ(test, text,
		"ffffffff81000010,7,ffff888000001000,100,5,0,0000000000000000,a\\x2cb\\x0a\\x5cc\\xff,KMALLOC,,128\n"
		"  ffffffff81000020,7,23,29,8,40\n");
	obj->free.serial = 11;
	end = memorizer_format_allocation(obj, text, text + 1023);
	KUNIT_ASSERT_NOT_NULL(test, end);
	*end = 0;
	KUNIT_EXPECT_STREQ(test, text,
		"ffffffff81000010,7,ffff888000001000,100,9,11,0000000000000000,KMALLOC,a\\x2cb\\x0a\\x5cc\\xff,no-slab,\n");
	end = memorizer_format_accesses(obj, text, text + 1023);
	KUNIT_ASSERT_NOT_NULL(test, end);
	*end = 0;
	KUNIT_EXPECT_STREQ(test, text, "9,ffffffff81000020,7,23,29\n");
	obj->alloc_ip = 0;
	memorizer_format_allocation(obj, text, text + 1023);
	KUNIT_EXPECT_NOT_NULL(test, strnstr(text, "0               ,7,", 19));
}

static struct kunit_case format_cases[] = {
	KUNIT_CASE(test_format),
	{ }
};

MEMORIZER_TEST_SUITE(format);
