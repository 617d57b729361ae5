#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static _Atomic int in_the_middle, asker;
static void *ask(void *arg)
{
	asker = gettid();
	while (!in_the_middle)
		sched_yield();
	return dlsym(RTLD_DEFAULT, "printf");
}
static int sleeps(int tid)
{
	char name[64], text[512] = "";
	int fd;
	snprintf(name, sizeof(name), "/proc/self/task/%d/stat", tid);
	fd = open(name, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		abort();
	close(fd);
	return strrchr(text, ')')[2] == 'S';
}
void middle(void)
{
	in_the_middle = 1;
	while (!sleeps(asker))
		sched_yield();
}
int main(void)
{
	void *(*plug)(void), *h;
	pthread_t t;
	pthread_create(&t, NULL, ask, NULL);
	while (!asker)
		sched_yield();
	h = dlopen("./plug.so", RTLD_NOW | RTLD_DEEPBIND);
	pthread_join(t, NULL);
	*(void **)&plug = h ? dlsym(h, "plug") : NULL;
	for (int i = 0; plug && i < 10; i++)
		free(plug());
	return plug ? 9 : 1;
}
