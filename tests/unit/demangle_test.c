// SPDX-License-Identifier: BSD-2-Clause
/* C++ names: real ones become readable, and those made to grow cost little. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "symbols/demangle.h"
#include "tests/unit/test.h"

static struct mz_demangle *d;

static bool is(const char *name, const char *want)
{
	const char *got = mz_demangle(d, name);

	if (want ? !got || strcmp(got, want) : !!got)
		printf("# %s: %.200s\n", name, got ? got : "(none)");
	return want ? got && !strcmp(got, want) : !got;
}

static void real_names(void)
{
	if (!d->call) {
		printf("# there is no C++ library\n");
		return;
	}
	CHECK(is("_ZN3foo3barEv", "foo::bar()"));
	CHECK(is("main", NULL));
	CHECK(is("_Zwhatever", NULL));
	/* as std::map<std::string, std::vector<std::string>>::operator[]: many references */
	CHECK(is("_ZNSt3mapINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt6vectorIS5_SaIS5_"
		 "EESt4lessIS5_ESaISt4pairIKS5_S8_EEEixERSC_",
		 "std::map<std::__cxx11::basic_string<char, std::char_traits<char>, "
		 "std::allocator<char> >, std::vector<std::__cxx11::basic_string<char, "
		 "std::char_traits<char>, std::allocator<char> >, "
		 "std::allocator<std::__cxx11::basic_string<char, std::char_traits<char>, "
		 "std::allocator<char> > > >, std::less<std::__cxx11::basic_string<char, "
		 "std::char_traits<char>, std::allocator<char> > >, "
		 "std::allocator<std::pair<std::__cxx11::basic_string<char, "
		 "std::char_traits<char>, std::allocator<char> > const, "
		 "std::vector<std::__cxx11::basic_string<char, std::char_traits<char>, "
		 "std::allocator<char> >, std::allocator<std::__cxx11::basic_string<char, "
		 "std::char_traits<char>, std::allocator<char> > > > > > "
		 ">::operator[](std::__cxx11::basic_string<char, std::char_traits<char>, "
		 "std::allocator<char> > const&)"));
}

/* f(pair<int, int>, pair<of it, of it>, ...): each is twice the one before. */
static void make_growing(char *name, int levels)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	strcpy(name, "_Z1fSt4pairIiiE");
	for (int i = 0; i < levels; i++)
		sprintf(name + strlen(name), "S_IS%c_S%c_E", digits[i], digits[i]);
}

static void names_that_grow(void)
{
	struct rusage self, helper;
	char name[1024];

	make_growing(name, 2);
	CHECK(!d->call ||
	      is(name,
		 "f(std::pair<int, int>, std::pair<std::pair<int, int>, std::pair<int, int> >, "
		 "std::pair<std::pair<std::pair<int, int>, std::pair<int, int> >, "
		 "std::pair<std::pair<int, int>, std::pair<int, int> > >)"));
	make_growing(name, 26);
	CHECK(strlen(name) < 300);
	for (int i = 0; i < 2; i++)
		CHECK(is(name, NULL));
	/* and the next is none the worse for it */
	CHECK(!d->call || is("_ZN3foo3barEv", "foo::bar()"));
	mz_demangle_free(d);
	d = NULL;
	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &helper);
	CHECK(self.ru_maxrss < 64 * 1024);
	CHECK(helper.ru_maxrss < 160 * 1024);
}

/* A name that takes down the process that makes it readable. */
static void deep_names(void)
{
	size_t n = MZ_DEMANGLE_NAME - 1;
	char *name = malloc(n + 1);

	memset(name, 'P', n);
	memcpy(name, "_Z1f", 4);
	name[n] = '\0';
	for (int i = 0; i < 6; i++)
		mz_demangle(d, name);
	CHECK(!d->call || is("_ZN3foo3barEv", "foo::bar()"));
	free(name);
}

int main(void)
{
	d = mz_demangle_new();
	if (!d)
		return 1;
	RUN(real_names);
	RUN(deep_names);
	mz_demangle_free(d);
	d = mz_demangle_new();
	RUN(names_that_grow);
	mz_demangle_free(d);
	return test_end();
}
