// SPDX-License-Identifier: BSD-2-Clause
/*
 * For `memorizer record --pid`, which loads this library into a running program
 * and has one of its threads call these, one after the other. errno is not theirs
 * to change.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "hooks.h"
#include "redirect.h"
#include "ring.h"

#define EXPORT __attribute__((visibility("default")))

static struct mz_region *next;
static bool injected;

/* A recorder is at work already. */
static bool is_recorded(void)
{
	return *mz_alive >= MZ_ALIVE_ON && mz_region && !mz_region->stop && !mz_recorder_died();
}

/* The memory to share is created here, where the recorder can reach it whichever user the
 * program belongs to. Returns its descriptor, or -errno. */
EXPORT int memorizer_region(void);
EXPORT int memorizer_region(void)
{
	int saved = errno, fd, ret;
	void *p;

	if (is_recorded())
		return -EBUSY;
	fd = memfd_create("memorizer", MFD_CLOEXEC);
	ret = fd;
	if (fd < 0 || ftruncate(fd, (off_t)MZ_REGION_BYTES)) {
		ret = -errno;
	} else {
		p = mmap(NULL, MZ_REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (p == MAP_FAILED)
			ret = -errno;
		else
			next = p;
	}
	if (ret < 0 && fd >= 0)
		close(fd);
	errno = saved;
	return ret;
}

/* The recorder has set it up. How many places now lead to us, or -errno. */
EXPORT int memorizer_begin(int fd);
EXPORT int memorizer_begin(int fd)
{
	int saved = errno, ret = 0;

	close(fd);
	if (!next || next->magic != MZ_REGION_MAGIC || next->version != MZ_REGION_VERSION)
		return -EPROTO;
	injected |= next->flags & MZ_REGION_INJECTED;
	for (unsigned i = 0; injected && i < MZ_REALS; i++)
		if (next->real[i])
			*mz_hooks[i].real = (void *)(uintptr_t)next->real[i];
	if (!mz_attach_to(next))
		ret = -ENOSPC;
	else if (injected)
		ret = (int)mz_redirect(true);
	errno = saved;
	return ret;
}

/* Everything as it was. */
EXPORT int memorizer_end(void);
EXPORT int memorizer_end(void)
{
	int saved = errno, ret = 0;

	*mz_alive = MZ_ALIVE_OFF;
	if (injected)
		ret = (int)mz_redirect(false);
	errno = saved;
	return ret;
}
