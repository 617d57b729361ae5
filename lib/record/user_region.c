// SPDX-License-Identifier: BSD-2-Clause
/* Make and check the shared memory, and find out which of its users are alive. */
#include "record/user_region.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/error.h"

/* A process that has the descriptor cannot truncate the file under a mapping. */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

int mz_region_make(void)
{
	int fd = memfd_create("memorizer", MFD_CLOEXEC | MFD_ALLOW_SEALING), ret;

	if (fd >= 0 && !ftruncate(fd, (off_t)MZ_REGION_BYTES) && !fcntl(fd, F_ADD_SEALS, SEALS))
		return fd;
	ret = -errno;
	if (fd >= 0)
		close(fd);
	return ret;
}

int mz_region_check(int fd, struct mz_error *err)
{
	int seals = fcntl(fd, F_GET_SEALS), mode = fcntl(fd, F_GETFL);
	struct stat st;

	/* only memfds have seals; a file on a disk or in /dev/shm cannot get these, and one of
	 * huge pages cannot have this size */
	if (seals < 0 || mode < 0 || (mode & O_ACCMODE) != O_RDWR || (seals & F_SEAL_WRITE) ||
	    fstat(fd, &st) || st.st_size != (off_t)MZ_REGION_BYTES)
		return mz_fail(err, EPROTO,
			       "the program offered no shared memory of its own, but some "
			       "other file; nothing was written to it");
	if ((seals & SEALS) != SEALS && fcntl(fd, F_ADD_SEALS, SEALS))
		return mz_fail(err, EPROTO, "the shared memory cannot be sealed: %s",
			       strerror(errno));
	/* it may have been resized before it was sealed */
	if (fstat(fd, &st) || st.st_size != (off_t)MZ_REGION_BYTES)
		return mz_fail(err, EPROTO, "the shared memory changes its size");
	return 0;
}

/* ---- the recorder's life ---------------------------------------------------------- */

/* The list and its node are in private memory; only the word is shared. (A robust
 * mutex of the C library has its links beside the word, where programs could
 * change them.) */
void mz_region_own(struct mz_region_owner *o, struct mz_region *region)
{
	syscall(SYS_get_robust_list, 0, &o->former, &o->former_size);
	o->node.next = &o->head.list;
	o->head.list.next = &o->node;
	o->head.list_op_pending = NULL;
	o->head.futex_offset = (char *)&region->recorder - (char *)&o->node;
	__atomic_store_n(&region->recorder, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	syscall(SYS_set_robust_list, &o->head, sizeof(o->head));
}

void mz_region_disown(struct mz_region_owner *o)
{
	if (o->head.list.next)
		syscall(SYS_set_robust_list, o->former, o->former_size);
	o->head.list.next = NULL;
}

/* ---- the programs' lives ------------------------------------------------------------ */

bool mz_region_locked(int fd, unsigned image)
{
	struct flock l = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)image, .l_len = 1};

	return !fcntl(fd, F_OFD_GETLK, &l) && l.l_type != F_UNLCK;
}

/* Does a process map this file? */
static bool maps_file(const char *pid, const struct stat *st)
{
	char path[64], line[512];
	bool found = false, begins = true;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%.16s/maps", pid);
	in = fopen(path, "re");
	while (in && !found && fgets(line, sizeof(line), in)) {
		unsigned major, minor;
		unsigned long ino;

		/* the rest of a long path can look like a line */
		found = begins &&
			sscanf(line, "%*s %*s %*s %x:%x %lu", &major, &minor, &ino) == 3 &&
			ino == st->st_ino && makedev(major, minor) == st->st_dev;
		begins = strchr(line, '\n');
	}
	if (in)
		fclose(in);
	return found;
}

/* The last number of NSpid is the one that the process itself sees. */
static uint32_t own_number(const char *pid)
{
	char path[64], line[256];
	uint32_t number = 0;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%.16s/status", pid);
	in = fopen(path, "re");
	while (in && fgets(line, sizeof(line), in))
		if (!strncmp(line, "NSpid:", 6)) {
			const char *last = strrchr(line, '\t');

			number = last ? (uint32_t)strtoul(last, NULL, 10) : 0;
			break;
		}
	if (in)
		fclose(in);
	return number;
}

/* The descriptor is opened first, so that both checks apply to the process that it refers to. */
static int pidfd_if_mapped(const char *pid, uint32_t number, const struct stat *st)
{
	/* the recorder maps it too */
	int fd = atoi(pid) == getpid() ? -1 : (int)syscall(SYS_pidfd_open, atoi(pid), 0);

	if (fd < 0)
		return -ESRCH;
	if (own_number(pid) == number && maps_file(pid, st) &&
	    !syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0))
		return fd;
	close(fd);
	return -ESRCH;
}

/* A pidfd of the process, whose number here is put into name, or -errno. */
static int find_process(int fd, uint32_t pid, bool search, char name[16])
{
	struct stat st;
	struct dirent *e;
	int found;
	DIR *d;

	if (!pid || fstat(fd, &st))
		return -ESRCH;
	snprintf(name, 16, "%u", pid);
	found = pidfd_if_mapped(name, pid, &st);
	if (found >= 0 || !search)
		return found;
	d = opendir("/proc");
	while (d && found < 0 && (e = readdir(d)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && own_number(e->d_name) == pid) {
			snprintf(name, 16, "%.15s", e->d_name);
			found = pidfd_if_mapped(name, pid, &st);
		}
	if (d)
		closedir(d);
	return found;
}

int mz_region_process(int fd, uint32_t pid)
{
	char name[16];

	return find_process(fd, pid, true, name);
}

/* The 22nd field of its line; 0 = there is no such process. The second field is its name, which
 * may contain anything. */
static uint64_t start_of(uint32_t pid)
{
	char path[64], line[1024];
	const char *p;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	in = fopen(path, "re");
	p = in && fgets(line, sizeof(line), in) ? strrchr(line, ')') : NULL;
	if (in)
		fclose(in);
	for (unsigned field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p, NULL, 10) : 0;
}

struct mz_process mz_region_find(int fd, uint32_t pid, bool search)
{
	struct mz_process p = {0};
	char name[16];
	int found = find_process(fd, pid, search, name);

	if (found < 0)
		return p;
	p.pid = (uint32_t)strtoul(name, NULL, 10);
	p.start = start_of(p.pid);
	close(found);
	return p;
}

/* A process that ends has given up its memory, and with it its program, before its locks. */
bool mz_process_runs(const struct mz_process *p)
{
	char path[64], program[8];

	snprintf(path, sizeof(path), "/proc/%u/exe", p->pid);
	return p->pid && readlink(path, program, sizeof(program)) > 0 &&
	       start_of(p->pid) == p->start;
}

uint32_t mz_region_filters(const char *status_path)
{
	uint32_t filters = 0;
	FILE *in = fopen(status_path, "re");
	char line[256];

	while (in && fgets(line, sizeof(line), in))
		if (!strncmp(line, "Seccomp_filters:", 16))
			filters = (uint32_t)strtoul(line + 16, NULL, 10);
	if (in)
		fclose(in);
	return filters;
}
