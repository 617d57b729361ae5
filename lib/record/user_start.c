// SPDX-License-Identifier: BSD-2-Clause
/* Check a command and start it with the preload library. */
#include "record/user_start.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/error.h"
#include "base/self.h"
#include <uapi/memorizer/record.h>

#define LIBRARY "lib/memorizer/memorizer-preload.so"

int mz_user_library(char *path, size_t size, struct mz_error *err)
{
	char prefix[PATH_MAX];

	if (!mz_self_path(prefix, sizeof(prefix), 2))
		return mz_fail(err, ENOENT,
			       "/proc/self/exe: cannot determine the path of this program");
	if ((size_t)snprintf(path, size, "%s/%s", prefix, LIBRARY) >= size || access(path, R_OK))
		return mz_fail(
			err, ENOENT,
			"%s/%s: the library to preload is missing; is the installation complete?",
			prefix, LIBRARY);
	return 0;
}

/* ---- what is to be run ---------------------------------------------------------- */

static bool find_in_path(const char *command, char *path, size_t size)
{
	const char *dirs = getenv("PATH");

	if (strchr(command, '/'))
		return (size_t)snprintf(path, size, "%s", command) < size;
	for (const char *p = dirs ? dirs : "/usr/bin:/bin"; *p;) {
		size_t n = strcspn(p, ":");

		if ((size_t)snprintf(path, size, "%.*s/%s", (int)n, n ? p : ".", command) < size &&
		    !access(path, X_OK))
			return true;
		p += n + (p[n] == ':');
	}
	return false;
}

static int check_privilege(const char *path, const struct stat *st, struct mz_error *err)
{
	if ((st->st_mode & S_ISUID && st->st_uid != geteuid()) ||
	    (st->st_mode & S_ISGID && st->st_gid != getegid()))
		return mz_fail(err, EPERM,
			       "%s: is set%cid: the system does not preload libraries into it; run "
			       "it as its owner, or record a copy without that bit",
			       path, st->st_mode & S_ISUID ? 'u' : 'g');
	if (geteuid() && getxattr(path, "security.capability", NULL, 0) > 0)
		return mz_fail(err, EPERM,
			       "%s: has file capabilities: the system does not preload libraries "
			       "into it; record a copy without them",
			       path);
	return 0;
}

/* A program without a dynamic linker loads nothing. */
static int check_elf(const char *path, const Elf64_Ehdr *head, int fd, struct mz_error *err)
{
	if (head->e_ident[EI_CLASS] != ELFCLASS64)
		return mz_fail(err, ENOEXEC,
			       "%s: is not a 64-bit program; only those can be recorded", path);
	for (unsigned i = 0; i < head->e_phnum; i++) {
		Elf64_Phdr ph;

		if (pread(fd, &ph, sizeof(ph), (off_t)(head->e_phoff + i * sizeof(ph))) !=
		    sizeof(ph))
			break;
		if (ph.p_type == PT_INTERP)
			return 0;
	}
	return mz_fail(err, ENOEXEC,
		       "%s: is statically linked: no library can replace its allocator; link it "
		       "dynamically",
		       path);
}

static int check_file(const char *path, unsigned depth, struct mz_error *err);

/* #!: what is really run is the interpreter. */
static int check_script(char *line, unsigned depth, struct mz_error *err)
{
	char *path = line + 2 + strspn(line + 2, " \t");

	path[strcspn(path, " \t\r\n")] = '\0';
	return depth < 4 ? check_file(path, depth + 1, err) : 0;
}

static int check_file(const char *path, unsigned depth, struct mz_error *err)
{
	union {
		Elf64_Ehdr elf;
		char line[256];
	} head = {0};
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int ret = 0;
	ssize_t n;

	if (fd < 0)
		return 0; /* may be run without being read; exec says what is wrong */
	n = read(fd, &head, sizeof(head) - 1);
	if (!fstat(fd, &st))
		ret = check_privilege(path, &st, err);
	if (!ret && n > 2 && !memcmp(head.line, "#!", 2))
		ret = check_script(head.line, depth, err);
	else if (!ret && n >= (ssize_t)sizeof(head.elf) &&
		 !memcmp(head.elf.e_ident, ELFMAG, SELFMAG))
		ret = check_elf(path, &head.elf, fd, err);
	close(fd);
	return ret;
}

int mz_user_check_file(const char *path, struct mz_error *err)
{
	return check_file(path, 0, err);
}

int mz_user_find_command(const char *command, struct mz_error *err)
{
	char path[PATH_MAX];
	struct stat st;

	if (!find_in_path(command, path, sizeof(path)))
		return mz_fail(err, ENOENT, "%s: no such command", command);
	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		errno = EISDIR;
	else if (!access(path, X_OK))
		return 0;
	return mz_fail(err, errno, "%s: cannot run: %s", command, strerror(errno));
}

int mz_user_check_program(const char *command, struct mz_error *err)
{
	char path[PATH_MAX];

	if (!find_in_path(command, path, sizeof(path)))
		return mz_fail(err, ENOENT, "%s: no such command", command);
	return check_file(path, 0, err);
}

/* ---- running it ------------------------------------------------------------------- */

/*
 * The dynamic linker splits LD_PRELOAD at blanks and colons, and there is no way
 * to quote them. A library in such a folder is named through a descriptor of the
 * folder instead, which stays open as long as this process: programs that the
 * recorded one starts later look it up again. The file keeps its name.
 */
static int loadable_path(const char *library, char *path, size_t size, struct mz_error *err)
{
	const char *slash = strrchr(library, '/');
	char folder[PATH_MAX];
	int fd;

	if (!strpbrk(library, " :")) {
		snprintf(path, size, "%s", library);
		return 0;
	}
	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - library), library);
	fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return mz_fail(err, errno, "%s: %s", folder, strerror(errno));
	snprintf(path, size, "/proc/%d/fd/%d%s", (int)getpid(), fd, slash);
	return 0;
}

static void set_environment(const char *library, int region_fd, pid_t recorder)
{
	const char *others = getenv("LD_PRELOAD");
	struct stat st = {0};
	char region[96], *list = NULL;

	fstat(region_fd, &st);
	snprintf(region, sizeof(region), "/proc/%d/fd/%d:%ju", (int)recorder, region_fd,
		 (uintmax_t)st.st_ino);
	setenv(MZ_REGION_ENV, region, 1);
	/* ours first: the next definitions in line are those that it calls */
	if (others && *others && asprintf(&list, "%s:%s", library, others) > 0)
		setenv("LD_PRELOAD", list, 1);
	else
		setenv("LD_PRELOAD", library, 1);
}

static void child(char **argv, const char *library, int region_fd, pid_t recorder, const int *go,
		  const int *failed)
{
	char c;
	int code;

	close(go[1]);
	close(failed[0]);
	if (read(go[0], &c, 1) != 1)
		_exit(127);
	set_environment(library, region_fd, recorder);
	execvp(argv[0], argv);
	code = errno;
	if (write(failed[1], &code, sizeof(code)) < 0)
		_exit(126);
	_exit(127);
}

pid_t mz_user_start(char **argv, const char *library, int region_fd, uint32_t *main_pid,
		    void (*in_child)(void), struct mz_error *err)
{
	int go[2], failed[2], code;
	pid_t self = getpid(), pid;
	char path[PATH_MAX];
	ssize_t n;

	if (loadable_path(library, path, sizeof(path), err) < 0)
		return -err->code;
	if (pipe2(go, O_CLOEXEC) || pipe2(failed, O_CLOEXEC))
		return mz_fail(err, errno, "cannot create a pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		return mz_fail(err, errno, "cannot start a process: %s", strerror(errno));
	if (!pid) {
		in_child();
		child(argv, path, region_fd, self, go, failed);
	}
	close(go[0]);
	close(failed[1]);
	__atomic_store_n(main_pid, (uint32_t)pid, __ATOMIC_RELEASE);
	if (write(go[1], "", 1) != 1)
		mz_fail(err, errno, "%s: the process ended before it ran the program", argv[0]);
	close(go[1]);
	n = read(failed[0], &code, sizeof(code));
	close(failed[0]);
	if (n == sizeof(code)) {
		waitpid(pid, NULL, 0);
		return mz_fail(err, code, "%s: cannot run: %s", argv[0], strerror(code));
	}
	return pid;
}
