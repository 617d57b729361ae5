// SPDX-License-Identifier: BSD-2-Clause
/* Seven blocks from each corner of a program's life, of a size that names it:
 * corners [COMMAND], which is started by vfork and exec. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum corner { CONSTRUCTOR = 1101, MAIN, AFTER_VFORK, NEW, THREAD, KEY, AT_EXIT, DESTRUCTOR };

static pthread_key_t key;

static void seven(enum corner size)
{
	for (int i = 0; i < 7; i++) {
		void *volatile p = malloc(size);

		free(p);
	}
}

static __attribute__((constructor(101))) void first(void)
{
	seven(CONSTRUCTOR);
}

static __attribute__((destructor(101))) void last(void)
{
	seven(DESTRUCTOR);
}

static void at_exit(void)
{
	seven(AT_EXIT);
}

static void key_ends(void *value)
{
	(void)value;
	seven(KEY);
}

static void *thread(void *arg)
{
	pthread_setspecific(key, &key);
	seven(THREAD);
	return arg;
}

/* operator new of a library that comes late. */
static int seven_new(void)
{
	void *lib = dlopen("libstdc++.so.6", RTLD_NOW);
	void *(*make)(size_t) = NULL;
	void (*end)(void *) = NULL;

	if (lib) {
		*(void **)&make = dlsym(lib, "_Znwm");
		*(void **)&end = dlsym(lib, "_ZdlPv");
	}
	for (int i = 0; i < 7 && make && end; i++)
		end(make(NEW));
	return make && end ? 0 : -1;
}

int main(int argc, char **argv)
{
	pthread_t t;
	int status = 0;

	atexit(at_exit);
	seven(MAIN);
	if (argc > 1) {
		pid_t pid = vfork();

		if (!pid) {
			execv(argv[1], argv + 1);
			_exit(127);
		}
		waitpid(pid, &status, 0);
	}
	seven(AFTER_VFORK);
	if (pthread_key_create(&key, key_ends) || pthread_create(&t, NULL, thread, NULL))
		return 1;
	pthread_join(t, NULL);
	if (seven_new() < 0)
		printf("no libstdc++\n");
	return WEXITSTATUS(status);
}
