// SPDX-License-Identifier: BSD-2-Clause
/* Grow arrays in memory and then in a file. */
#include "base/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Not every file system has files without names. There, a file gets a name for the moment until it
 * is removed. */
int mz_nameless_file(const char *folder)
{
	char name[PATH_MAX];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);

	if (fd >= 0 ||
	    (size_t)snprintf(name, sizeof(name), "%s/.memorizer-XXXXXX", folder) >= sizeof(name))
		return fd;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		unlink(name);
	return fd;
}

/* The blocks are taken now: a store into a hole of a full disk would be a SIGBUS. */
static int map_file(int fd, size_t from, size_t bytes, void **data)
{
	void *p;
	int ret;

	do
		ret = posix_fallocate(fd, (off_t)from, (off_t)(bytes - from));
	while (ret == EINTR);
	if (ret)
		return -ENOSPC;
	p = *data ? mremap(*data, from, bytes, MREMAP_MAYMOVE)
		  : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	*data = p;
	return 0;
}

/* If there is no room on the disk, the array stays where it is. */
static int move_to_file(const struct mz_spill *s, struct mz_spill_array *a, size_t bytes)
{
	int fd = mz_nameless_file(s->folder);
	void *data = NULL;

	if (fd < 0 || map_file(fd, 0, bytes, &data) < 0) {
		if (fd >= 0)
			close(fd);
		return -ENOSPC;
	}
	if (a->bytes)
		memcpy(data, a->data, a->bytes);
	free(a->data);
	*a = (struct mz_spill_array){.data = data, .bytes = bytes, .mapped = bytes, .fd = fd};
	return 0;
}

int mz_spill_room(const struct mz_spill *s, struct mz_spill_array *a, size_t bytes)
{
	/* half as much again, so that an array that grows by small steps is copied seldom */
	size_t want = a->bytes + a->bytes / 2;
	void *p;

	if (bytes <= a->bytes)
		return 0;
	want = ((want > bytes ? want : bytes) + 4095) & ~(size_t)4095;
	if (a->mapped) {
		if (map_file(a->fd, a->mapped, want, &a->data) < 0)
			return -ENOMEM;
		a->mapped = a->bytes = want;
		return 0;
	}
	if (s && s->folder && want > s->from && !move_to_file(s, a, want))
		return 0;
	/* calloc() knows which memory is new from the kernel and therefore zero */
	p = a->data ? realloc(a->data, want) : calloc(1, want);
	if (!p)
		return -ENOMEM;
	if (a->data)
		memset((char *)p + a->bytes, 0, want - a->bytes);
	a->data = p;
	a->bytes = want;
	return 0;
}

void mz_spill_free(struct mz_spill_array *a)
{
	if (a->mapped) {
		munmap(a->data, a->mapped);
		close(a->fd);
	} else {
		free(a->data);
	}
	*a = (struct mz_spill_array){0};
}

/* The file holds what the pages held, so the next access finds it again. */
void mz_spill_let_go(const struct mz_spill_array *a)
{
	if (a->mapped)
		madvise(a->data, a->mapped, MADV_DONTNEED);
}
