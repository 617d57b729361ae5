// SPDX-License-Identifier: BSD-2-Clause
/* Load the preload library into a running program through ptrace. */
#include "record/attach.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

static const char *const calls[MZ_REALS] = {MZ_REAL_CALLS};

/* ---- what is needed of the program ------------------------------------------------ */

/* At the first instruction of these functions no lock is held. */
static void find_entries(struct mz_attach *a)
{
	static const char *const names[] = {"malloc", "free", "calloc", "realloc"};

	a->thread.entry_count = 0;
	for (size_t i = 0; i < a->objects.count; i++)
		for (size_t k = 0; k < 4 && a->thread.entry_count < ATTACH_ENTRIES; k++) {
			uint64_t at = mz_attach_symbol(&a->objects, &a->objects.list[i], names[k]);

			if (at)
				a->thread.entries[a->thread.entry_count++] = at;
		}
}

/* A function of the C library that does little more than a system call. */
static uint64_t find_syscall(struct mz_attach *a)
{
	uint64_t at = mz_attach_function(&a->objects, "getppid");
	uint8_t code[64];

	if (!at || !mz_attach_read(&a->objects, at, code, sizeof(code)))
		return 0;
	for (size_t i = 0; i + 2 < sizeof(code); i++)
		if (code[i] == 0x0f && code[i + 1] == 0x05 && code[i + 2] == 0xc3)
			return at + i;
	return 0;
}

/* Where signal handlers return to: mov $15, %rax; syscall. The linker knows no name for it, but
 * every C library contains these bytes. */
static uint64_t find_sigreturn(struct mz_attach *a, uint64_t in_library)
{
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	struct mz_attach_map m;
	uint64_t found = 0;
	uint8_t block[8192];

	if (!mz_attach_mapping(a->pid, in_library, &m))
		return 0;
	for (uint64_t at = m.start; at + sizeof(block) <= m.end && !found;
	     at += sizeof(block) - sizeof(code)) {
		const uint8_t *p;

		if (!mz_attach_read(&a->objects, at, block, sizeof(block)))
			return 0;
		p = memmem(block, sizeof(block), code, sizeof(code));
		if (p)
			found = at + (uint64_t)(p - block);
	}
	return found;
}

static uint64_t find_dlopen(struct mz_attach *a, uint64_t *mode)
{
	uint64_t at = mz_attach_function(&a->objects, "dlopen");

	*mode = RTLD_NOW;
	if (!at) {
		/* before glibc 2.34, dlopen() was in a library of its own, but this function
		 * existed */
		at = mz_attach_function(&a->objects, "__libc_dlopen_mode");
		*mode |= 0x80000000u;
	}
	return at;
}

/* The library, whatever its file is called in the program. */
static const struct mz_attach_object *find_ours(const struct mz_attach *a)
{
	for (size_t i = 0; i < a->objects.count; i++)
		if (mz_attach_symbol(&a->objects, &a->objects.list[i], "memorizer_mark") &&
		    mz_attach_symbol(&a->objects, &a->objects.list[i], "memorizer_attach"))
			return &a->objects.list[i];
	return NULL;
}

static uint64_t function_not_ours(const struct mz_attach *a, const char *name)
{
	const struct mz_attach_object *ours = find_ours(a);
	uint64_t at = 0;

	for (size_t i = 0; i < a->objects.count && !at; i++)
		if (&a->objects.list[i] != ours)
			at = mz_attach_symbol(&a->objects, &a->objects.list[i], name);
	return at;
}

static int look(struct mz_attach *a, struct mz_error *err)
{
	int ret = mz_attach_objects_open(&a->objects, a->pid, err);

	if (ret < 0)
		return ret;
	a->thread.pid = a->pid;
	a->thread.objects = &a->objects;
	find_entries(a);
	a->thread.syscall_at = find_syscall(a);
	a->thread.sigreturn_at = find_sigreturn(a, a->thread.syscall_at);
	a->loaded_before = find_ours(a);
	for (unsigned i = 0; i < MZ_REALS; i++)
		a->functions[i] = function_not_ours(a, calls[i]);
	a->thread.mmap_at = function_not_ours(a, "mmap");
	a->thread.munmap_at = function_not_ours(a, "munmap");
	if (!a->functions[0] || !a->thread.syscall_at || !a->thread.sigreturn_at ||
	    !a->thread.mmap_at || !a->thread.munmap_at)
		return mz_fail(err, ENOEXEC,
			       "pid %d: no C library was found in it; start it "
			       "with memorizer record -- CMD",
			       (int)a->pid);
	return 0;
}

/* ---- calls in it -------------------------------------------------------------------- */

static int no_function(const struct mz_attach *a, const char *name, struct mz_error *err)
{
	return mz_fail(err, ENOEXEC, "pid %d: has no %s; start it with memorizer record -- CMD",
		       (int)a->pid, name);
}

/* A function of the C library that returns a pointer. */
static int call_pointer(struct mz_attach *a, const char *name, uint64_t *result,
			struct mz_error *err)
{
	struct mz_attach_request q = {.function = function_not_ours(a, name), .pointer = true};
	int ret =
		q.function ? mz_attach_thread_call(&a->thread, &q, err) : no_function(a, name, err);

	*result = q.result;
	return ret;
}

/* Is the held process the requested one? While that one lives, its number cannot be reused. */
static int check_same(const struct mz_attach *a, struct mz_error *err)
{
	if (!syscall(SYS_pidfd_send_signal, a->pidfd, 0, NULL, 0))
		return 0;
	return mz_fail(err, ESRCH, "pid %d: has ended already", (int)a->pid);
}

static int hold(struct mz_attach *a, struct mz_error *err)
{
	struct mz_attach_thread *t = &a->thread;
	struct mz_error why = {0};
	int ret = mz_attach_thread_hold(t, &why);

	/* checked first: if another process has the number now, it does not matter why it was not
	 * held */
	if (check_same(a, err) < 0)
		return -err->code;
	if (ret < 0)
		return mz_fail(err, -ret, "%s", why.text);
	ret = call_pointer(a, "__errno_location", &t->errno_at, err);
	if (!ret && !mz_attach_read(&a->objects, t->errno_at, &t->its_errno, sizeof(int)))
		t->errno_at = 0;
	return ret;
}

static void let_go(struct mz_attach *a)
{
	mz_attach_thread_release(&a->thread);
	a->thread.errno_at = 0;
}

static int read_again(struct mz_attach *a, struct mz_error *err)
{
	mz_attach_objects_close(&a->objects);
	return mz_attach_objects_open(&a->objects, a->pid, err);
}

/* ---- loading the library ---------------------------------------------------------------- */

/* A message of the program's dynamic linker: it may contain anything. */
static int say_why(struct mz_attach *a, const char *library, struct mz_error *err)
{
	char why[200] = "", shown[400];
	uint64_t text = 0;
	size_t n = 0;

	if (!call_pointer(a, "dlerror", &text, err) && text)
		while (n < sizeof(why) - 1 && mz_attach_read(&a->objects, text + n, &why[n], 1) &&
		       why[n])
			n++;
	return mz_fail(err, ELIBACC, "pid %d: cannot load %s: %s", (int)a->pid, library,
		       n ? mz_printable(shown, sizeof(shown), why, n) : "it does not say why");
}

/* Does the program find the same file under this path? */
static bool reaches(pid_t pid, const char *library)
{
	struct stat here, there;
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, library);
	return !stat(library, &here) && !stat(path, &there) && here.st_dev == there.st_dev &&
	       here.st_ino == there.st_ino;
}

/* Without /proc the program has no path for its descriptors. */
static bool has_proc(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/root/proc/self", (int)pid);
	return !faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW);
}

static int open_library(struct mz_attach *a, const char *path, struct mz_error *err)
{
	uint64_t mode, function = find_dlopen(a, &mode), room = mz_attach_thread_room(&a->thread);
	struct mz_attach_request q = {.function = function, .args = {room, mode}};
	int ret;

	if (!function)
		return no_function(a, "dlopen", err);
	if (!mz_attach_write(&a->objects, room, path, strlen(path) + 1))
		return mz_fail(err, EFAULT, "pid %d: its memory cannot be written", (int)a->pid);
	ret = mz_attach_thread_call(&a->thread, &q, err);
	return ret ? ret : read_again(a, err);
}

static int see_memfd(void *arg, const struct user_regs_struct *r, bool entry, struct mz_error *err)
{
	(void)err;
	if (!entry && r->orig_rax == SYS_memfd_create)
		*(int *)arg = (int)r->rax;
	return 0;
}

static bool copy_file(const char *path, int to)
{
	int from = open(path, O_RDONLY | O_CLOEXEC);
	char block[65536];
	ssize_t n = -1;

	while (from >= 0 && (n = read(from, block, sizeof(block))) > 0)
		if (write(to, block, (size_t)n) != n) {
			n = -1;
			break;
		}
	if (from >= 0)
		close(from);
	return from >= 0 && !n;
}

/* In another mount namespace, or for another user, the file may be out of reach: its bytes are
 * then copied into memory of the program and loaded from there. */
static int load_from_memory(struct mz_attach *a, const char *library, struct mz_error *err)
{
	static const char name[] = "memorizer-preload.so";
	uint64_t room = mz_attach_thread_room(&a->thread);
	int there = -1, here, ret;
	struct mz_attach_request q = {.function = function_not_ours(a, "memfd_create"),
				      .args = {room, MFD_CLOEXEC},
				      .watch = see_memfd,
				      .arg = &there};
	char path[64];

	if (!q.function || !mz_attach_write(&a->objects, room, name, sizeof(name)))
		return no_function(a, "memfd_create", err);
	ret = mz_attach_thread_call(&a->thread, &q, err);
	if (ret)
		return ret;
	here = there < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, a->pidfd, there, 0);
	if (here < 0 || fcntl(here, F_GET_SEALS) < 0 || !copy_file(library, here))
		ret = mz_fail(err, EPERM, "pid %d: the library cannot be put into its memory",
			      (int)a->pid);
	if (here >= 0)
		close(here);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", there);
	if (!ret)
		ret = open_library(a, path, err);
	if (!ret && !find_ours(a))
		ret = has_proc(a->pid)
			      ? say_why(a, library, err)
			      : mz_fail(err, ENOENT,
					"pid %d: its root has no /proc, and the library is "
					"not there either; mount one: mount -t proc proc "
					"/proc/%d/root/proc",
					(int)a->pid, (int)a->pid);
	q = (struct mz_attach_request){.function = function_not_ours(a, "close"),
				       .args = {(uint64_t)there}};
	if (there >= 0 && q.function)
		mz_attach_thread_call(&a->thread, &q, &(struct mz_error){0});
	return ret;
}

static int load(struct mz_attach *a, const char *library, struct mz_error *err)
{
	int ret = 0;

	if (a->loaded_before)
		return 0;
	if (reaches(a->pid, library))
		ret = open_library(a, library, err);
	if (!ret && !find_ours(a))
		ret = load_from_memory(a, library, err);
	return ret;
}

/* ---- our own functions in it ------------------------------------------------------------- */

/* They return their results through memory. */
static int call_ours(struct mz_attach *a, const char *name, mz_attach_watch *watch, int *result,
		     struct mz_error *err)
{
	const struct mz_attach_object *in = find_ours(a);
	struct mz_attach_call c = {.result = INT32_MIN, .fd = -1};
	struct mz_attach_request q = {.function = in ? mz_attach_symbol(&a->objects, in, name) : 0,
				      .watch = watch,
				      .arg = a};
	int ret;

	a->call_at = q.args[0] = mz_attach_thread_room(&a->thread);
	if (!q.function)
		return no_function(a, name, err);
	if (!mz_attach_write(&a->objects, a->call_at, &c, sizeof(c)))
		return mz_fail(err, EFAULT, "pid %d: its memory cannot be written", (int)a->pid);
	ret = mz_attach_thread_call(&a->thread, &q, err);
	if (ret)
		return ret;
	if (!mz_attach_read(&a->objects, a->call_at, &c, sizeof(c)) || c.result == INT32_MIN)
		return mz_fail(err, EPROTO, "pid %d: the library in it is of another version",
			       (int)a->pid);
	*result = c.result;
	return 0;
}

/* The library has created the memory and queries its seals: this is the moment to set it up. The
 * descriptor is taken over with the rights that the program has, and checked. */
static int see_region(void *arg, const struct user_regs_struct *r, bool entry, struct mz_error *err)
{
	struct mz_attach *a = arg;
	struct mz_attach_call c;
	int fd;

	if (!entry || a->ready || r->orig_rax != SYS_fcntl || (int)r->rsi != F_GET_SEALS ||
	    !mz_attach_read(&a->objects, a->call_at, &c, sizeof(c)) || c.fd != (int)r->rdi)
		return 0;
	fd = (int)syscall(SYS_pidfd_getfd, a->pidfd, c.fd, 0);
	if (fd < 0)
		return mz_fail(err, errno, "pid %d: its shared memory cannot be taken: %s",
			       (int)a->pid, strerror(errno));
	a->ready = true;
	return a->set_up(a, fd, err);
}

int mz_attach_open(struct mz_attach *a, pid_t pid, struct mz_error *err)
{
	memset(a, 0, sizeof(*a));
	a->pid = pid;
	a->objects.mem = -1;
	a->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (a->pidfd < 0)
		return mz_fail(err, errno, "pid %d: %s", (int)pid,
			       errno == ESRCH ? "there is no such process" : strerror(errno));
	return mz_attach_check(pid, err);
}

/* What the library in the program answered when it was asked to start. */
static int started(const struct mz_attach *a, int result, struct mz_error *err)
{
	if (result == -EBUSY)
		return mz_fail(err, EBUSY, "pid %d: is being recorded already", (int)a->pid);
	if (result < 0)
		return mz_fail(err, -result, "pid %d: the library does not start: %s", (int)a->pid,
			       strerror(-result));
	return result;
}

int mz_attach_begin(struct mz_attach *a, const char *library, struct mz_error *err)
{
	int ret = look(a, err), result = 0;

	if (!ret)
		ret = hold(a, err);
	if (!ret)
		ret = load(a, library, err);
	if (!ret)
		ret = call_ours(a, "memorizer_attach", see_region, &result, err);
	if (!ret)
		ret = started(a, result, err);
	let_go(a);
	return ret;
}

int mz_attach_end(struct mz_attach *a, struct mz_error *err)
{
	int ret = read_again(a, err), result = 0;

	if (!ret) {
		find_entries(a);
		ret = hold(a, err);
	}
	if (!ret)
		ret = call_ours(a, "memorizer_end", NULL, &result, err);
	let_go(a);
	if (!ret && result < 0)
		ret = mz_fail(err, -result, "pid %d: the library does not stop: %s", (int)a->pid,
			      strerror(-result));
	return ret;
}

void mz_attach_close(struct mz_attach *a)
{
	let_go(a);
	mz_attach_objects_close(&a->objects);
	if (a->pidfd >= 0)
		close(a->pidfd);
	a->pidfd = -1;
}
