// SPDX-License-Identifier: BSD-2-Clause
/* Find and map the shared memory, and hold the lock that shows that this program is alive. */
#include "region.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "system.h"

bool mz_sandboxed;
char **mz_region_environment;

static char path[64]; /* of the region */
static ino_t inode;
static void *life; /* the mapping that keeps the lock */

/* ---- finding it ------------------------------------------------------------ */

/* Before the C library has set up the environment, the kernel's copy is used. */
static bool from_proc_environ(char *value, size_t size)
{
	static const char name[] = "\0" MZ_REGION_ENV "=";
	char buf[8192];
	size_t keep = 0;
	int fd = mz_open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	buf[keep++] = '\0';
	while ((n = mz_read(fd, buf + keep, sizeof(buf) - 1 - keep)) > 0) {
		size_t have = keep + (size_t)n;
		char *p = memmem(buf, have, name, sizeof(name) - 1);

		if (p && memchr(p + 1, '\0', have - (size_t)(p + 1 - buf))) {
			mz_close(fd);
			p += sizeof(name) - 1;
			if (strlen(p) >= size)
				return false;
			strcpy(value, p);
			return true;
		}
		/* the variable may be cut by the end of the buffer */
		keep = have < sizeof(buf) / 2 ? have : sizeof(buf) / 2;
		memmove(buf, buf + have - keep, keep);
	}
	mz_close(fd);
	return false;
}

/* A value of the environment that was passed to our constructor. */
static const char *from_start(void)
{
	static const char name[] = MZ_REGION_ENV "=";

	for (char **v = mz_region_environment; v && *v; v++)
		if (!strncmp(*v, name, sizeof(name) - 1))
			return *v + sizeof(name) - 1;
	return NULL;
}

/* A number of this program's status, the n-th of a line; fallback = it is not there. */
static uint32_t from_status(const char *key, unsigned n, uint32_t fallback)
{
	char buf[4096];
	int fd = mz_open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : mz_read(fd, buf, sizeof(buf) - 1);
	char *p;

	if (fd >= 0)
		mz_close(fd);
	buf[len < 0 ? 0 : len] = '\0';
	p = strstr(buf, key);
	if (!p)
		return fallback;
	for (p += strlen(key); n; n--)
		strtoul(p, &p, 10);
	return (uint32_t)strtoul(p, NULL, 10);
}

/* Seccomp filters of this program. */
static uint32_t filters(void)
{
	return from_status("\nSeccomp_filters:\t", 0, 0);
}

/* PATH:INODE, into both. */
static bool parse(const char *value)
{
	const char *colon = strrchr(value, ':');
	char *end;

	if (!colon || (size_t)(colon - value) >= sizeof(path))
		return false;
	memcpy(path, value, (size_t)(colon - value));
	path[colon - value] = '\0';
	inode = (ino_t)strtoull(colon + 1, &end, 10);
	return !*end && inode;
}

/* Is this the file that was meant? */
static bool is_meant(const struct stat *st)
{
	return st->st_ino == inode && S_ISREG(st->st_mode) && st->st_size == (off_t)MZ_REGION_BYTES;
}

static bool is_region(int fd)
{
	struct stat st;

	return !mz_fstat(fd, &st) && is_meant(&st);
}

/* The process in the path may have ended, and another process may have its number and such a
 * descriptor: possibly of a device, which must not even be opened. */
static int open_named(const char *name)
{
	struct stat st;
	int fd;

	if (!*name || mz_stat(name, &st) || !is_meant(&st))
		return -1;
	fd = mz_open(name, O_RDWR | O_CLOEXEC);
	if (fd < 0 || is_region(fd))
		return fd;
	mz_close(fd);
	return -1;
}

/* ---- a program that gets another /proc ---------------------------------------- */

/* Where to begin the search for a free number for a descriptor that is kept for such programs:
 * high numbers are rarely used, but there may be a limit. */
static const int kept_from[] = {900, 200, 20};
#define KEPT_NUMBERS 32

static int find_kept(void)
{
	for (unsigned i = 0; i < sizeof(kept_from) / sizeof(*kept_from); i++)
		for (int fd = kept_from[i]; fd < kept_from[i] + KEPT_NUMBERS; fd++)
			if (is_region(fd))
				return fd;
	return -1;
}

/* Without stdio: the program may not have started yet. */
static void put_own_path(char *name, int fd)
{
	char digits[12];
	unsigned n = 0;

	strcpy(name, "/proc/self/fd/");
	name += strlen(name);
	do
		digits[n++] = (char)('0' + fd % 10);
	while (fd /= 10);
	while (n)
		*name++ = digits[--n];
	*name = '\0';
}

/* The kept descriptor, opened again: locks belong to an open file description. */
static int reopen_kept(int kept)
{
	char name[32];

	if (kept < 0)
		return -1;
	put_own_path(name, kept);
	return open_named(name);
}

static int open_region(void)
{
	int fd = open_named(path);

	return fd >= 0 || !inode ? fd : reopen_kept(find_kept());
}

/* Where there is no /proc at all, the kept descriptor itself is good enough for the mapping. */
static int open_to_map(void)
{
	int fd = open_region(), kept;

	if (fd >= 0)
		return fd;
	kept = find_kept();
	return kept < 0 ? -1 : mz_fcntl(kept, F_DUPFD_CLOEXEC, 0);
}

static int keep_as(int fd, int from)
{
	int kept = mz_fcntl(fd, F_DUPFD, from);

	if (kept < from + KEPT_NUMBERS)
		return kept;
	mz_close(kept);
	return -1;
}

void mz_region_keep(void)
{
	int saved = errno, kept = -1;
	int fd = inode && find_kept() < 0 ? open_region() : -1;

	for (unsigned i = 0; fd >= 0 && kept < 0 && i < sizeof(kept_from) / sizeof(*kept_from); i++)
		kept = keep_as(fd, kept_from[i]);
	if (fd >= 0)
		mz_close(fd);
	errno = saved;
}

/* Rights that this program still has may end with exec, so its user counts, unless that is root.
 * The owner of the file is the recorder's user. */
static bool is_other_user(const struct stat *st)
{
	uint32_t user = from_status("\nUid:\t", 1, st->st_uid);

	return user && (user != st->st_uid || from_status("\nGid:\t", 1, st->st_gid) != st->st_gid);
}

bool mz_region_barred(void)
{
	struct stat st;
	int saved = errno;
	bool barred = *path && (mz_stat(path, &st) ? errno == EACCES : is_other_user(&st)) &&
		      find_kept() < 0;

	errno = saved;
	return barred;
}

/* ---- mapping it ------------------------------------------------------------------ */

/* The size is fixed, so that reading it can never raise SIGBUS. */
static bool is_sealed(int fd)
{
	int seals = mz_fcntl(fd, F_GET_SEALS, 0), want = F_SEAL_SHRINK | F_SEAL_GROW;

	return seals >= 0 && (seals & want) == want;
}

struct mz_region *mz_region_map(void)
{
	const char *value = environ ? getenv(MZ_REGION_ENV) : from_start();
	struct mz_region *r = MAP_FAILED;
	char from_kernel[96];
	int fd;

	if (!value && !environ && !mz_region_environment &&
	    from_proc_environ(from_kernel, sizeof(from_kernel)))
		value = from_kernel;
	fd = value && parse(value) ? open_to_map() : -1;
	if (fd < 0)
		return NULL;
	r = mz_own_map(NULL, MZ_REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	if (r == MAP_FAILED) {
		mz_close(fd);
		return NULL;
	}
	/* the dynamic linker has made the calls up to here itself; a filter that the recorder does
	 * not have might punish the next ones */
	if (filters() > r->filters) {
		__atomic_fetch_add(&r->sandboxed, 1, __ATOMIC_RELAXED);
		mz_sandboxed = true;
	}
	if (mz_sandboxed || !is_sealed(fd) || r->magic != MZ_REGION_MAGIC ||
	    r->version != MZ_REGION_VERSION) {
		mz_own_unmap(r, MZ_REGION_BYTES);
		r = NULL;
	}
	mz_close(fd);
	return r;
}

/* ---- the lock ---------------------------------------------------------------- */

/* The lock belongs to an open file description, which lives as long as something refers to it:
 * here only a mapping, which children do not inherit. */
static bool lock_through(int fd, uint32_t image)
{
	struct flock l = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)image, .l_len = 1};
	void *p;

	if (mz_fcntl(fd, F_OFD_SETLK, (long)&l))
		return false;
	p = mz_own_map(NULL, 4096, PROT_READ, MAP_SHARED, fd);
	if (p == MAP_FAILED)
		return false;
	if (mz_madvise(p, 4096, MADV_DONTFORK)) {
		mz_own_unmap(p, 4096);
		return false;
	}
	__atomic_store_n(&life, p, __ATOMIC_RELEASE);
	return true;
}

bool mz_region_lock(uint32_t image)
{
	int fd = open_region();
	bool locked = fd >= 0 && lock_through(fd, image);

	if (fd >= 0)
		mz_close(fd);
	return locked;
}

/* Two threads may notice at once that the recorder is gone: only one of them unmaps it, because
 * the program may have something else there by the time of the other. */
void mz_region_unlock(void)
{
	void *p = __atomic_exchange_n(&life, NULL, __ATOMIC_ACQ_REL);

	if (p)
		mz_own_unmap(p, 4096);
}

void mz_region_forked(void)
{
	__atomic_store_n(&life, NULL, __ATOMIC_RELAXED);
}

void mz_region_made(int fd)
{
	struct stat st;

	mz_region_unlock();
	path[0] = '\0';
	if (!mz_fstat(fd, &st)) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		inode = st.st_ino;
	}
}
