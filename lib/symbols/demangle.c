// SPDX-License-Identifier: BSD-2-Clause
/* Make C++ names readable, those that may grow in a process of their own. */
#include "symbols/demangle.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/single_threaded.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEMORY	    (16ull << 20) /* that the helper may take */
#define CPU_SECONDS 3		  /* for all names together */
#define STARTS	    4		  /* a name that ends the helper must not end all names */
#define SHORT	    512		  /* bytes of a name that is demangled in this process */
#define REFERENCES  10		  /* ... and how often that name may double */

struct mz_demangle *mz_demangle_new(void)
{
	struct mz_demangle *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->fd = d->helper = -1;
	d->library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
	d->release = free;
	if (d->library)
		*(void **)&d->call = dlsym(d->library, "__cxa_demangle");
	return d;
}

static void stop_helper(struct mz_demangle *d)
{
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
	if (d->helper >= 0) {
		syscall(SYS_pidfd_send_signal, d->helper, SIGKILL, NULL, 0);
		while (waitid(P_PIDFD, (id_t)d->helper, NULL, WEXITED | __WCLONE) < 0 &&
		       errno == EINTR)
			;
		close(d->helper);
	}
	d->helper = -1;
}

void mz_demangle_free(struct mz_demangle *d)
{
	if (!d)
		return;
	stop_helper(d);
	if (d->library)
		dlclose(d->library);
	free(d);
}

/* The readable name into text: its length, 0 = none. */
static size_t demangle(const struct mz_demangle *d, const char *name, char *text)
{
	int status = -1;
	char *made = d->call(name, NULL, NULL, &status);
	size_t len = made && !status ? strlen(made) : 0;

	if (len >= MZ_DEMANGLE_MAX)
		len = 0;
	if (len)
		memcpy(text, made, len);
	text[len] = '\0';
	d->release(made);
	return len;
}

/* Each reference to what stood before (S_, S0_, T_) may double the name; without any, it
 * grows by a constant factor. */
static bool may_grow(const char *name, size_t len)
{
	unsigned references = 0;

	for (const char *p = name; *p; p++)
		references += *p == 'S' || *p == 'T';
	return len > SHORT || references > REFERENCES;
}

/* ---- the helper ---------------------------------------------------------------------- */

static bool move_all(int fd, void *data, size_t n, bool out)
{
	for (char *p = data; n;) {
		ssize_t k = out ? send(fd, p, n, MSG_NOSIGNAL) : recv(fd, p, n, 0);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		p += k;
		n -= (size_t)k;
	}
	return true;
}

/* Pages of data. Not by stdio, which takes locks. */
static unsigned long data_pages(void)
{
	char text[256], *p = text;
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		_exit(1);
	close(fd);
	text[n] = '\0';
	/* size resident shared text lib data */
	for (int i = 0; i < 5; i++)
		strtoul(p, &p, 10);
	return strtoul(p, NULL, 10);
}

/* What we have, and not much more. The address space of the parent is ours, too, so only
 * what is added counts. */
static void limit_myself(void)
{
	struct rlimit cpu = {CPU_SECONDS, CPU_SECONDS}, none = {0, 0}, data;
	unsigned long pages = data_pages();

	data.rlim_cur = data.rlim_max = pages * (rlim_t)sysconf(_SC_PAGESIZE) + MEMORY;
	if (setrlimit(RLIMIT_DATA, &data) || setrlimit(RLIMIT_CPU, &cpu) ||
	    setrlimit(RLIMIT_CORE, &none))
		_exit(1);
}

/* Names are read and written, each preceded by its length, until the other side is gone. */
static void help(struct mz_demangle *d, int fd)
{
	char name[MZ_DEMANGLE_NAME];
	uint32_t n;

	if (dup2(fd, 0) < 0 || syscall(SYS_close_range, 1, ~0u, 0) < 0)
		_exit(1);
	signal(SIGSEGV, SIG_DFL);
	limit_myself();
	while (move_all(0, &n, sizeof(n), false) && n < sizeof(name) &&
	       move_all(0, name, n, false)) {
		name[n] = '\0';
		n = (uint32_t)demangle(d, name, d->text);
		if (!move_all(0, &n, sizeof(n), true) || !move_all(0, d->text, n, true))
			break;
	}
	_exit(0);
}

/* A copy of this process, as of fork(), that belongs to the library alone: it sends no signal when
 * it ends, and only the holder of its descriptor can wait for it. In the child: -1. */
static int copy_process(bool *is_child)
{
	int pidfd = -1;
	long pid = syscall(SYS_clone, CLONE_PIDFD, NULL, &pidfd, NULL, NULL);

	*is_child = !pid;
	return pid > 0 ? pidfd : -1;
}

/* Unlike fork(), this does not wait until no other thread is inside malloc(), whose locks may then
 * be held forever in the child: it gets a C++ library with a C library of its own. */
static void *own_library(struct mz_demangle *child)
{
	void *own, *call, *release;

	if (__libc_single_threaded)
		return NULL;
	own = dlmopen(LM_ID_NEWLM, "libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
	call = own ? dlsym(own, "__cxa_demangle") : NULL;
	release = own ? dlsym(own, "free") : NULL;
	if (call && release) {
		*(void **)&child->call = call;
		*(void **)&child->release = release;
	}
	return own;
}

static bool start_helper(struct mz_demangle *d)
{
	struct mz_demangle before = {.call = d->call, .release = d->release};
	bool is_child;
	void *own;
	int fds[2];

	if (d->fd >= 0)
		return true;
	if (d->starts++ >= STARTS || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return false;
	own = own_library(d);
	d->helper = copy_process(&is_child);
	if (is_child)
		help(d, fds[1]);
	d->call = before.call;
	d->release = before.release;
	if (own)
		dlclose(own);
	close(fds[1]);
	d->fd = fds[0];
	if (d->helper < 0)
		stop_helper(d);
	return d->fd >= 0;
}

static const char *ask_helper(struct mz_demangle *d, const char *name, size_t len)
{
	uint32_t n = (uint32_t)len;

	if (!start_helper(d))
		return NULL;
	if (!move_all(d->fd, &n, sizeof(n), true) ||
	    !move_all(d->fd, (char *)(uintptr_t)name, len, true) ||
	    !move_all(d->fd, &n, sizeof(n), false) || n >= MZ_DEMANGLE_MAX ||
	    !move_all(d->fd, d->text, n, false)) {
		stop_helper(d);
		return NULL;
	}
	d->text[n] = '\0';
	return n ? d->text : NULL;
}

const char *mz_demangle(struct mz_demangle *d, const char *name)
{
	size_t len = strlen(name);

	if (!d->call || strncmp(name, "_Z", 2) || len >= MZ_DEMANGLE_NAME)
		return NULL;
	if (may_grow(name, len))
		return ask_helper(d, name, len);
	return demangle(d, name, d->text) ? d->text : NULL;
}
