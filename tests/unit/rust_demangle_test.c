// SPDX-License-Identifier: BSD-2-Clause
/* Names of Rust, as RFC 2603 explains them, and names that are damaged or made to grow. */
#include "symbols/rust_demangle.h"

#include <string.h>

#include "tests/unit/test.h"

static const struct {
	const char *name, *text;
} names[] = {
	/* the parts of the grammar: crates, functions, methods, closures */
	{"_RC5mycra", "mycra"},
	{"_RNvC7mycrate3foo", "mycrate::foo"},
	{"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"},
	{"_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example"},
	{"_RNCNvCs15kBYyAo9fc_7mycrate7example0B2_", "mycrate::example::{closure#0}"},
	{"_RNCNvCs15kBYyAo9fc_7mycrate7examples0_0B2_", "mycrate::example::{closure#2}"},
	{"_RNSNvC1a1bs_6vtable", "a::b::{shim:vtable#1}"},
	{"_RNvMC1aNtB2_3Foo3bar", "<a::Foo>::bar"},
	{"_RNvXC1aNtB2_3FooNtB2_3Bar3baz", "<a::Foo as a::Bar>::baz"},
	{"_RNvYNtC1a3FooNtB4_3Bar3baz", "<a::Foo as a::Bar>::baz"},
	/* generic arguments, in values and in types */
	{"_RINvC1a1fjE", "a::f::<usize>"},
	{"_RINvC1a1fINtB2_3VecjEE", "a::f::<a::Vec<usize>>"},
	{"_RINvCs15kBYyAo9fc_7mycrate7examplehE", "mycrate::example::<u8>"},
	/* types */
	{"_RINvC1a1fReQePhOtE", "a::f::<&str, &mut str, *const u8, *mut u16>"},
	{"_RINvC1a1fAhj4_ShTEThETijEE", "a::f::<[u8; 4], [u8], (), (u8,), (isize, usize)>"},
	{"_RINvC1a1fFG_RL0_hEuFKChEhFUEzE",
	 "a::f::<for<'a> fn(&'a u8), extern \"C\" fn(u8) -> u8, unsafe fn() -> !>"},
	{"_RINvC1a1fDNtB2_3FooEL_E", "a::f::<dyn a::Foo>"},
	{"_RINvC1a1fDNtB2_3FoopuEL_E", NULL},
	{"_RINvC1a1fDNtB2_3Foop3BaruEL_E", "a::f::<dyn a::Foo<Bar = ()>>"},
	/* constants */
	{"_RINvC1a1fKj1f_E", "a::f::<31>"},
	{"_RINvC1a1fKln5_E", "a::f::<-5>"},
	{"_RINvC1a1fKb1_Kb0_KpE", "a::f::<true, false, _>"},
	{"_RINvC1a1fKc61_Kc27_KcA_E", NULL},
	{"_RINvC1a1fKc61_Kc27_Kca_E", "a::f::<'a', '\\'', '\\u{a}'>"},
	{"_RINvC1a1fKo100000000000000000_E", "a::f::<0x100000000000000000>"},
	/* not ASCII */
	{"_RNvC7mycrateu8gdel_5qa", "mycrate::g\303\266del"},
	{"_RNvCs4_11utf8_identsu21____7hkackfecea1cbdat", NULL},
	/* what a compiler adds */
	{"_RNvC7mycrate3foo.llvm.123", "mycrate::foo"},
	/* the older scheme */
	{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"},
	{"_ZN56_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..Foo$GT$3bar17h0123456789abcdefE",
	 NULL},
	{"_ZN40_$LT$a..Vec$LT$T$GT$$u20$as$u20$b..C$GT$3bar17h0123456789abcdefE",
	 "<a::Vec<T> as b::C>::bar"},
	{"_ZN3foo3barE", NULL},
	{"_ZN3foo17h0123456789abcdeXE", NULL},
	/* no names of Rust */
	{"", NULL},
	{"_R", NULL},
	{"malloc", NULL},
	{"_Z3foov", NULL},
	{"_R1NvC1a1b", NULL},
	{"_RNvC7mycrat", NULL},
	{"_RNvC99999999999999999999999a1b", NULL},
	{"_RB_", NULL},
	{"_RNvB_1a", NULL},
	{"_RINvC1a1fRL0_hE", NULL},
};

static void names_of_the_grammar(void)
{
	char out[1024];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t n = mz_rust_demangle(names[i].name, out, sizeof(out));

		if (names[i].text ? strcmp(out, names[i].text) != 0 : n != 0)
			printf("# %s: '%s'\n", names[i].name, out);
		CHECK(names[i].text ? n == strlen(out) && !strcmp(out, names[i].text) : !n);
	}
}

/* Each tuple holds the one before twice: 2 to the 40th letters, if nothing stopped it. */
static void a_name_that_grows(void)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	static char out[65536];
	char name[2048] = "_RINvC1a1f";
	size_t at = strlen(name), last = 0;

	for (unsigned i = 0; i < 40; i++) {
		size_t here = at - 2;

		name[at++] = 'T';
		for (unsigned k = 0; k < 2; k++) {
			if (!i) {
				name[at++] = 'h';
				continue;
			}
			name[at++] = 'B';
			if (last - 1 >= 62)
				name[at++] = digits[(last - 1) / 62];
			name[at++] = digits[(last - 1) % 62];
			name[at++] = '_';
		}
		name[at++] = 'E';
		last = here;
	}
	strcpy(name + at, "E");
	CHECK(mz_rust_demangle(name, out, sizeof(out)) == 0);
}

static void a_name_that_is_deep(void)
{
	static char name[100000], out[65536];

	strcpy(name, "_RINvC1a1f");
	memset(name + 10, 'S', 90000);
	strcpy(name + 90010, "hE");
	CHECK(mz_rust_demangle(name, out, sizeof(out)) == 0);
}

/* However little room there is: all of it or nothing, and nothing behind it. */
static void little_room(void)
{
	const char *name = "_RNvMC1aNtB2_3Foo3bar";
	char out[32];

	for (size_t room = 1; room < sizeof(out); room++) {
		size_t n;

		memset(out, 'x', sizeof(out));
		n = mz_rust_demangle(name, out, room);
		CHECK(n == (room > strlen("<a::Foo>::bar") ? strlen("<a::Foo>::bar") : 0));
		CHECK(out[n] == '\0' && out[room] == 'x');
	}
}

int main(void)
{
	RUN(names_of_the_grammar);
	RUN(a_name_that_grows);
	RUN(a_name_that_is_deep);
	RUN(little_room);
	return test_end();
}
