// SPDX-License-Identifier: BSD-2-Clause
/* Load the preload library into a running program through ptrace. */
#include "record/attach.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

static const char *const calls[MZ_REALS] = {MZ_REAL_CALLS};

/* ---- what is needed of the program ------------------------------------------------ */

/* Nothing is locked where one of these begins. */
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

/* In the C library: a function that is hardly more than a system call. */
static uint64_t find_syscall(struct mz_attach *a)
{
	uint64_t at = mz_attach_function(&a->objects, "getppid", "");
	uint8_t code[64];

	if (!at || !mz_attach_read(&a->objects, at, code, sizeof(code)))
		return 0;
	for (size_t i = 0; i + 1 < sizeof(code); i++)
		if (code[i] == 0x0f && code[i + 1] == 0x05)
			return at + i;
	return 0;
}

static uint64_t find_dlopen(struct mz_attach *a, uint64_t *mode)
{
	uint64_t at = mz_attach_function(&a->objects, "dlopen", "");

	*mode = RTLD_NOW;
	if (!at) {
		/* before glibc 2.34 it was in a library of its own, but this was there */
		at = mz_attach_function(&a->objects, "__libc_dlopen_mode", "");
		*mode |= 0x80000000u;
	}
	return at;
}

static int look(struct mz_attach *a, const char *library, struct mz_error *err)
{
	int ret = mz_attach_objects_open(&a->objects, a->pid, err);

	if (ret < 0)
		return ret;
	a->thread.pid = a->pid;
	a->thread.objects = &a->objects;
	find_entries(a);
	a->thread.syscall_at = find_syscall(a);
	a->loaded_before = mz_attach_find(&a->objects, library);
	for (unsigned i = 0; i < MZ_REALS; i++)
		a->functions[i] = mz_attach_function(&a->objects, calls[i], library);
	if (!a->functions[0] || !a->thread.syscall_at)
		return mz_fail(err, ENOEXEC,
			       "pid %d: no C library was found in it; start it "
			       "with memorizer record -- CMD",
			       (int)a->pid);
	return 0;
}

/* ---- calls in it -------------------------------------------------------------------- */

static int call(struct mz_attach *a, const char *name, uint64_t function, uint64_t x, uint64_t y,
		uint64_t *result, struct mz_error *err)
{
	const uint64_t args[3] = {x, y, 0};

	if (!function)
		return mz_fail(err, ENOEXEC,
			       "pid %d: has no %s; start it with memorizer record -- CMD",
			       (int)a->pid, name);
	return mz_attach_thread_call(&a->thread, function, args, result, err);
}

static int hold(struct mz_attach *a, struct mz_error *err)
{
	int ret = mz_attach_thread_hold(&a->thread, err);
	struct mz_attach_thread *t = &a->thread;

	if (!ret)
		ret = call(a, "errno", mz_attach_function(&a->objects, "__errno_location", ""), 0,
			   0, &t->errno_at, err);
	if (!ret && !mz_attach_read(&a->objects, t->errno_at, &t->its_errno, sizeof(int)))
		t->errno_at = 0;
	return ret;
}

static void let_go(struct mz_attach *a)
{
	struct mz_attach_thread *t = &a->thread;

	if (t->tid && t->errno_at)
		mz_attach_write(&a->objects, t->errno_at, &t->its_errno, sizeof(int));
	mz_attach_thread_release(t);
	t->errno_at = 0;
}

/* What the linker of the program has to say. */
static int say_why(struct mz_attach *a, const char *library, struct mz_error *err)
{
	char why[200] = "it does not say why";
	uint64_t text = 0;
	uint64_t at = mz_attach_function(&a->objects, "dlerror", "");

	if (at && !call(a, "dlerror", at, 0, 0, &text, err) && text)
		for (size_t i = 0; i < sizeof(why) - 1; i++) {
			why[i + 1] = '\0';
			if (!mz_attach_read(&a->objects, text + i, &why[i], 1) || !why[i])
				break;
		}
	return mz_fail(
		err, ELIBACC,
		"pid %d: cannot load %s: %s; is it in a container or a chroot without that file?",
		(int)a->pid, library, why);
}

static int load(struct mz_attach *a, const char *library, struct mz_error *err)
{
	uint64_t mode, function = find_dlopen(a, &mode), path, handle;
	int ret;

	path = mz_attach_thread_put(&a->thread, library, strlen(library) + 1);
	if (!path)
		return mz_fail(err, EFAULT, "pid %d: its memory cannot be written", (int)a->pid);
	ret = call(a, "dlopen", function, path, mode, &handle, err);
	if (!ret && !handle)
		ret = say_why(a, library, err);
	return ret;
}

/* A function of our library, in the program. */
static int call_ours(struct mz_attach *a, const char *library, const char *name, uint64_t arg,
		     struct mz_error *err)
{
	const struct mz_attach_object *in = mz_attach_find(&a->objects, library);
	uint64_t result;
	int ret = call(a, name, in ? mz_attach_symbol(&a->objects, in, name) : 0, arg, 0, &result,
		       err);

	return ret ? ret : (int)result;
}

static int read_again(struct mz_attach *a, struct mz_error *err)
{
	mz_attach_objects_close(&a->objects);
	return mz_attach_objects_open(&a->objects, a->pid, err);
}

#define LIBRARY "memorizer-preload.so"

int mz_attach_load(struct mz_attach *a, pid_t pid, const char *library, struct mz_error *err)
{
	char path[64];
	int ret, fd;

	*a = (struct mz_attach){.pid = pid, .objects = {.mem = -1}, .program_fd = -1};
	ret = look(a, library, err);
	if (!ret)
		ret = hold(a, err);
	if (!ret)
		ret = load(a, library, err);
	if (!ret)
		ret = read_again(a, err);
	if (!ret)
		ret = a->program_fd = call_ours(a, LIBRARY, "memorizer_region", 0, err);
	if (ret == -EBUSY && !err->code)
		mz_fail(err, EBUSY, "pid %d: is being recorded already", (int)pid);
	if (ret < 0)
		return mz_fail(err, -ret, "pid %d: cannot create the shared memory in it: %s",
			       (int)pid, strerror(-ret));
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, a->program_fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd >= 0 ? fd : mz_fail(err, errno, "%s: %s", path, strerror(errno));
}

int mz_attach_begin(struct mz_attach *a, struct mz_error *err)
{
	int ret = call_ours(a, LIBRARY, "memorizer_begin", (uint64_t)a->program_fd, err);

	let_go(a);
	return ret < 0 ? mz_fail(err, -ret, "pid %d: the library does not start: %s", (int)a->pid,
				 strerror(-ret))
		       : ret;
}

int mz_attach_end(struct mz_attach *a, struct mz_error *err)
{
	int ret = read_again(a, err);

	if (!ret) {
		find_entries(a);
		ret = hold(a, err);
	}
	if (!ret)
		ret = call_ours(a, LIBRARY, "memorizer_end", 0, err);
	let_go(a);
	return ret;
}

void mz_attach_drop(struct mz_attach *a)
{
	let_go(a);
	mz_attach_objects_close(&a->objects);
}
