// SPDX-License-Identifier: BSD-2-Clause
/* C++ names: real ones become readable, and those made to grow cost little. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

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

static volatile sig_atomic_t signals;

static void child_ended(int number)
{
	(void)number;
	signals++;
}

/* A program that reaps its children must not meet the helper, nor wait for it forever. */
static void the_helper_is_nobodys_child(void)
{
	struct sigaction action = {.sa_handler = child_ended}, before;
	char name[1024];

	sigaction(SIGCHLD, &action, &before);
	make_growing(name, 4);
	CHECK(!d->call || mz_demangle(d, name));
	CHECK(!d->call || d->helper >= 0);
	CHECK(wait(NULL) < 0 && errno == ECHILD);
	make_growing(name, 26); /* ends it */
	CHECK(is(name, NULL));
	make_growing(name, 4);
	CHECK(!d->call || (mz_demangle(d, name) && d->helper >= 0));
	mz_demangle_free(d);
	d = NULL;
	CHECK_EQ(signals, 0);
	/* and nothing is left of it */
	CHECK(waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD);
	sigaction(SIGCHLD, &before, NULL);
}

static bool stop;

static void *allocate(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		void *volatile p = malloc(3000);

		free(p);
	}
	return arg;
}

/* Other threads are inside malloc() when it starts. */
static void beside_other_threads(void)
{
	pthread_t threads[3];
	char name[1024];

	make_growing(name, 4);
	for (int i = 0; i < 3; i++)
		CHECK(!pthread_create(&threads[i], NULL, allocate, NULL));
	for (int i = 0; i < 20; i++) {
		d = mz_demangle_new();
		CHECK(d && (!d->call || mz_demangle(d, name)));
		CHECK(!d || !d->call || is("_ZN3foo3barEv", "foo::bar()"));
		mz_demangle_free(d);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
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
	d = mz_demangle_new();
	if (!d)
		return 1;
	RUN(the_helper_is_nobodys_child);
	RUN(beside_other_threads);
	return test_end();
}
