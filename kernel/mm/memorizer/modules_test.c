// SPDX-License-Identifier: GPL-2.0
/* Names and addresses of modules: those of the tests have symbols, but no code. */
#include <linux/mm.h>
#include <linux/module.h>

#include "test_common.h"

#define NAME_LEN	500
#define SYMBOL_STEP	16

/* A module at @base with @nr functions of one long name. */
static struct module *make_module(struct kunit *test, unsigned long base, u32 nr)
{
	struct module *mod = kunit_kzalloc(test, sizeof(*mod), GFP_KERNEL);
	struct mod_kallsyms *ks = kunit_kzalloc(test, sizeof(*ks), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, mod);
	KUNIT_ASSERT_NOT_NULL(test, ks);
	ks->symtab = kunit_kzalloc(test, (nr + 1) * sizeof(Elf_Sym), GFP_KERNEL);
	ks->strtab = kunit_kzalloc(test, NAME_LEN + 2, GFP_KERNEL);
	ks->typetab = kunit_kzalloc(test, nr + 1, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ks->symtab);
	KUNIT_ASSERT_NOT_NULL(test, ks->strtab);
	KUNIT_ASSERT_NOT_NULL(test, ks->typetab);
	memset(ks->strtab + 1, 'f', NAME_LEN);
	ks->num_symtab = nr + 1;
	for (i = 1; i <= nr; i++) {
		ks->symtab[i].st_name = 1;
		ks->symtab[i].st_shndx = 1;
		ks->symtab[i].st_value = base + (i - 1) * SYMBOL_STEP;
		ks->typetab[i] = 'T';
	}
	strscpy(mod->name, "mz_test", sizeof(mod->name));
	memorizer_place_module(mod, base, PAGE_ALIGN(nr * SYMBOL_STEP));
	rcu_assign_pointer(mod->kallsyms, ks);
	return mod;
}

static void keep(struct module *mod)
{
	memorizer_modules_lock();
	rcu_read_lock();
	memorizer_keep_symbols(mod, rcu_dereference(mod->kallsyms), false);
	rcu_read_unlock();
	memorizer_modules_unlock();
}

static void drop(struct module *mod)
{
	memorizer_modules_lock();
	memorizer_drop_symbols(mod);
	memorizer_modules_unlock();
}

/* Symbols go where a module comes, and only there. */
static void test_reuse(struct kunit *test)
{
	struct memorizer_symbols before = memorizer_symbols;
	unsigned long base = MODULES_END - SZ_64M;
	struct module *one = make_module(test, base, 100);
	struct module *two = make_module(test, base + PAGE_SIZE, 50);
	struct module *three = make_module(test, base + 2 * PAGE_SIZE, 7);

	keep(one);
	keep(two);
	KUNIT_EXPECT_EQ(test, memorizer_symbols.kept, before.kept + 150);
	KUNIT_EXPECT_EQ(test, memorizer_symbols.bytes,
			before.bytes + 150 * (NAME_LEN + 1 + sizeof(u32) + 1));
	drop(three);
	KUNIT_EXPECT_EQ(test, memorizer_symbols.kept, before.kept + 150);
	drop(two);
	KUNIT_EXPECT_EQ(test, memorizer_symbols.kept, before.kept + 100);
	drop(one);
	KUNIT_EXPECT_EQ(test, memorizer_symbols.kept, before.kept);
	KUNIT_EXPECT_EQ(test, memorizer_symbols.lost_reused, before.lost_reused + 150);
	memorizer_symbols = before;
}

/* The newest symbols stay, and together they keep to their part of the budget. */
static void test_limit(struct kunit *test)
{
	struct memorizer_symbols before = memorizer_symbols;
	unsigned long base = MODULES_END - SZ_64M, pool = memorizer_pool_used();
	u32 i, nr = memorizer_budget / 32 / NAME_LEN / 3;
	struct module *mod[5];

	for (i = 0; i < ARRAY_SIZE(mod); i++) {
		mod[i] = make_module(test, base + i * SZ_8M, nr);
		keep(mod[i]);
		KUNIT_EXPECT_LE(test, memorizer_symbols.bytes, memorizer_budget / 32);
	}
	/* Three of them do not fit, with what a symbol has besides its name. */
	KUNIT_EXPECT_EQ(test, memorizer_symbols.kept, 2 * nr);
	KUNIT_EXPECT_EQ(test, memorizer_symbols.lost_old, before.lost_old + before.kept + 3 * nr);
	drop(mod[0]);
	KUNIT_EXPECT_EQ(test, memorizer_symbols.lost_reused, before.lost_reused);
	drop(mod[3]);
	drop(mod[4]);
	KUNIT_EXPECT_EQ(test, memorizer_symbols.kept, 0);
	KUNIT_EXPECT_EQ(test, memorizer_symbols.bytes, 0);
	KUNIT_EXPECT_LE(test, memorizer_pool_used(), pool + memorizer_budget / 64);
	memorizer_symbols = (struct memorizer_symbols){ };
}

/* No two callers get the same room, and no room behind the end is handed out. */
static void test_code_start(struct kunit *test)
{
	unsigned long start = MODULES_VADDR, end = MODULES_END, one, two;

	one = memorizer_code_start(start, end, PAGE_SIZE + 1, 1);
	two = memorizer_code_start(start, end, 1, SZ_64K);
	KUNIT_EXPECT_GE(test, one, start);
	KUNIT_EXPECT_GE(test, two, one + 3 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, two % SZ_64K, 0);
	KUNIT_EXPECT_GE(test, memorizer_code_start(start, end, 1, 1), two + 2 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, memorizer_code_start(start, end, end - start, 1), start);
	KUNIT_EXPECT_EQ(test, memorizer_code_start(VMALLOC_START, VMALLOC_END, 1, 1),
			VMALLOC_START);
}

static struct kunit_case modules_cases[] = {
	KUNIT_CASE(test_reuse),
	KUNIT_CASE(test_limit),
	KUNIT_CASE(test_code_start),
	{ }
};

MEMORIZER_TEST_SUITE(modules);
