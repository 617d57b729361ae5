// SPDX-License-Identifier: BSD-2-Clause
/* Symbols of the kernel: what is a function, which one holds an address, and
 * that a selection of lines names its addresses like the whole. */
#include "symbols/kallsyms.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/random.h"
#include "tests/unit/test.h"

static struct mz_kallsyms *parse(const char *text, struct mz_error *err)
{
	return mz_kallsyms_parse(text, strlen(text), "list", err);
}

static bool names(const struct mz_kallsyms *k, uint64_t addr, const char *want)
{
	char buf[300];

	return !strcmp(mz_kallsyms_text(k, addr, buf, sizeof(buf)), want);
}

static void lines(void)
{
	struct mz_kallsyms *k = parse("ffffffff81000000 T start\n"
				      "ffffffff81000100 t inner\n"
				      "ffffffff81000180 D data\n" /* no function */
				      "not a line\n"
				      "ffffffff81000200 W weak\r\n"
				      "ffffffffc0000000 t probe\t[ext4]\n"
				      "ffffffffc0000010 t last [a]b]", /* no end of line */
				      NULL);

	if (!k) {
		CHECK(!"it is read");
		return;
	}
	CHECK_EQ(mz_kallsyms_count(k), 5);
	CHECK(names(k, 0xffffffff81000000, "start+0x0"));
	CHECK(names(k, 0xffffffff810000ff, "start+0xff"));
	CHECK(names(k, 0xffffffff81000190, "inner+0x90"));
	CHECK(names(k, 0xffffffff81000200, "weak+0x0"));
	CHECK(names(k, 0xffffffffc000000f, "probe+0xf [ext4]"));
	CHECK(names(k, 0xffffffffc0000012, "last+0x2 [a]"));
	CHECK(names(k, 0xffffffff80ffffff, "0xffffffff80ffffff")); /* before the first */
	CHECK(names(k, 0xffffffff82000000, "0xffffffff82000000")); /* no function is so long */
	CHECK(names(NULL, 16, "0x10"));
	mz_kallsyms_free(k);
}

static void files(void)
{
	struct mz_kallsyms *k = parse("1000 T here\tmm/slub.c\n"
				      "2000 t of_module\t[dummy]\tdrivers/net/dummy.c\r\n"
				      "3000 t without\t[dummy]\r\n",
				      NULL);

	CHECK(k && mz_kallsyms_has_files(k));
	CHECK(k && !strcmp(mz_kallsyms_file(k, 0x1001, false), "mm/slub.c"));
	CHECK(k && !strcmp(mz_kallsyms_file(k, 0x2001, false), "drivers/net/dummy.c"));
	CHECK(k && names(k, 0x2001, "of_module+0x1 [dummy]"));
	CHECK(k && !mz_kallsyms_file(k, 0x3001, false));
	CHECK(k && names(k, 0x3001, "without+0x1 [dummy]"));
	mz_kallsyms_free(k);
}

static void order(void)
{
	/* unsorted; two names for one address: the first in the list */
	struct mz_kallsyms *k = parse("3000 T c\n1000 T a\n2000 T b1\n2000 T b2\n", NULL);

	CHECK(k && names(k, 0x1fff, "a+0xfff") && names(k, 0x2001, "b1+0x1") &&
	      names(k, 0x3000, "c+0x0"));
	mz_kallsyms_free(k);
}

static void refused(void)
{
	struct mz_error err = {0};

	CHECK(!parse("", &err) && strstr(err.text, "contains no kernel function"));
	err = (struct mz_error){0};
	CHECK(!parse("1000 D data\n", &err) && strstr(err.text, "contains no kernel function"));
	err = (struct mz_error){0};
	CHECK(!parse("0 T a\n0 T b\n", &err) && strstr(err.text, "kptr_restrict"));
	err = (struct mz_error){0};
	CHECK(!mz_kallsyms_load("/nowhere", &err) && strstr(err.text, "/nowhere"));
}

static void hostile(void)
{
	struct mz_kallsyms *k = parse("1000 T \033[2Jx\n2000 t y\t[\033]0;z\a]\n", NULL);
	char buf[300];

	CHECK(k && !strchr(mz_kallsyms_text(k, 0x1000, buf, sizeof(buf)), '\033'));
	CHECK(k && !strchr(mz_kallsyms_text(k, 0x2000, buf, sizeof(buf)), '\033'));
	mz_kallsyms_free(k);
}

static void picked(void)
{
	struct mz_buf all = {0}, some = {0};
	uint64_t addrs[500], kept[500], seed = 7;
	struct mz_kallsyms *k, *p;

	for (unsigned i = 0; i < 3000; i++)
		mz_buf_printf(&all, "%x T f%u%s\n", 0x100000 + i * 0x40, i, i % 7 ? "" : "\t[mod]");
	for (unsigned i = 0; i < 500; i++)
		kept[i] = addrs[i] = 0x100000 + random_below(&seed, 3100 * 0x40);
	k = mz_kallsyms_parse(all.data, all.len, "all", NULL);
	mz_kallsyms_pick(k, addrs, 500, &some);
	p = mz_kallsyms_parse(some.data, some.len, "some", NULL);
	CHECK(k && p && mz_kallsyms_count(p) <= 500);
	for (unsigned i = 0; k && p && i < 500; i++) {
		char a[300], b[300];

		mz_kallsyms_text(k, kept[i], a, sizeof(a));
		mz_kallsyms_text(p, kept[i], b, sizeof(b));
		CHECK(!strcmp(a, b));
	}
	mz_kallsyms_free(k);
	mz_kallsyms_free(p);
	mz_buf_free(&all);
	mz_buf_free(&some);
}

static void call_site(void)
{
	struct mz_kallsyms *k = parse("ffffffff81000000 T __alloc_pages\n"
				      "ffffffff81000100 T alloc_pages_bulk\n"
				      "ffffffff81000200 T user\n"
				      "ffffffff81000300 T realloc_pages\n"
				      "ffffffff81000400 T __vmalloc_node\n",
				      NULL);
	const uint64_t whole[] = {0xffffffff81000010, 0xffffffff81000110, 0xffffffff81000210,
				  0xffffffff81000410};
	const uint64_t only[] = {0xffffffff81000010, 0xffffffff81000410};
	const uint64_t like[] = {0xffffffff81000310, 0xffffffff81000210};
	const uint64_t unknown[] = {0x1234, 0xffffffff81000210};

	CHECK_EQ(mz_kallsyms_call_site(k, whole, 4), 2);
	/* as older recorders stored it: the allocator's frames are gone */
	CHECK_EQ(mz_kallsyms_call_site(k, whole + 2, 2), 0);
	CHECK_EQ(mz_kallsyms_call_site(k, only, 2), 1);
	CHECK_EQ(mz_kallsyms_call_site(k, only, 1), 0);
	CHECK_EQ(mz_kallsyms_call_site(k, like, 2), 0);
	CHECK_EQ(mz_kallsyms_call_site(k, unknown, 2), 0);
	CHECK_EQ(mz_kallsyms_call_site(NULL, whole, 4), 0);
	CHECK(!mz_kernel_inner(NULL) && !mz_kernel_inner("") && mz_kernel_inner("vmalloc"));
	mz_kallsyms_free(k);
}

int main(void)
{
	RUN(lines);
	RUN(files);
	RUN(order);
	RUN(refused);
	RUN(hostile);
	RUN(picked);
	RUN(call_site);
	return test_end();
}
