// SPDX-License-Identifier: BSD-2-Clause
/* Join and leave a recording in a program that is already running. */
/*
 * `memorizer record --pid` loads this library into a running program and makes one of its threads
 * call these functions, one after the other. They must not change errno.
 */
#include "entries.h"
#include "hooks.h"
#include "operators.h"
#include "redirect.h"
#include "region.h"
#include "ring.h"
#include "system.h"

#define EXPORT __attribute__((visibility("default")))

static bool injected;

/* A recorder is active already. */
static bool is_recorded(void)
{
	return *mz_alive >= MZ_ALIVE_ON && mz_region && !mz_region->stop && !mz_recorder_died();
}

/* Create the shared memory. It is created here, where the recorder can reach it whichever user
 * the program belongs to. Its size cannot be changed. */
static int make_region(struct mz_region **region)
{
	int fd = mz_memfd("memorizer", MFD_CLOEXEC | MFD_ALLOW_SEALING), ret;
	void *p = MAP_FAILED;

	if (fd >= 0 && !mz_ftruncate(fd, (off_t)MZ_REGION_BYTES) &&
	    !mz_fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		p = mz_own_map(NULL, MZ_REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	*region = p;
	if (p != MAP_FAILED)
		return fd;
	ret = -errno;
	if (fd >= 0)
		mz_close(fd);
	return ret;
}

static int begin(struct mz_region *region)
{
	injected |= region->flags & MZ_REGION_INJECTED;
	for (unsigned i = 0; injected && i < MZ_REALS; i++)
		if (region->real[i])
			*mz_hooks[i].real = (void *)(uintptr_t)region->real[i];
	if (!mz_attach_to(region))
		return -ENOSPC;
	if (!injected)
		return 0;
	mz_operators_find(*mz_hooks[0].real);
	mz_entries_find(*mz_hooks[0].real);
	mz_sizes_find();
	mz_own_malloc_tell();
	return (int)mz_redirect(true);
}

/* The recorder sets the region up when it sees the query for the seals. If it died before, the
 * region is empty, and nothing of it remains. */
EXPORT void memorizer_attach(struct mz_attach_call *c);
EXPORT void memorizer_attach(struct mz_attach_call *c)
{
	int saved = errno, fd, ret = -EBUSY;
	struct mz_region *region;

	if (!is_recorded()) {
		fd = ret = make_region(&region);
		if (fd >= 0) {
			c->fd = fd;
			mz_fcntl(fd, F_GET_SEALS, 0);
			mz_region_made(fd);
			ret = -EPROTO;
			if (region->magic == MZ_REGION_MAGIC &&
			    region->version == MZ_REGION_VERSION)
				ret = begin(region);
			if (ret < 0)
				mz_own_unmap(region, MZ_REGION_BYTES);
			mz_close(fd);
		}
	}
	errno = saved;
	c->result = ret;
}

/* Restore everything. */
EXPORT void memorizer_end(struct mz_attach_call *c);
EXPORT void memorizer_end(struct mz_attach_call *c)
{
	int saved = errno, ret = 0;

	*mz_alive = MZ_ALIVE_OFF;
	mz_region_unlock();
	if (injected)
		ret = (int)mz_redirect(false);
	errno = saved;
	c->result = ret;
}
