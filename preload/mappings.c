// SPDX-License-Identifier: BSD-2-Clause
/* Record the calls that map memory, which is done on request (MZ_REGION_MMAP). */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memorizer.h>

#include "hooks.h"
#include "mappings.h"
#include "ring.h"
#include "stack.h"

#define EXPORT __attribute__((visibility("default")))

struct mz_real_maps mz_real_maps;

static inline bool maps_on(void)
{
	return mz_on() && (mz_region->flags & MZ_REGION_MMAP);
}

static void record_map(uint8_t call, void *p, uint64_t size)
{
	struct mz_thread *t = &mz_me;
	struct mz_record r[3];
	uint32_t site = mz_stack(t);
	unsigned n = 0;

	if (site)
		r[n++] = (struct mz_record){.type = MZ_REC_SITE, .value = site};
	r[n++] = (struct mz_record){.type = MZ_REC_SIZE, .value = size};
	r[n++] = (struct mz_record){.type = call, .value = p == MAP_FAILED ? 0 : (uintptr_t)p};
	mz_append(t, r, n, NULL, 0);
}

static void record_unmap(void *p, uint64_t size)
{
	struct mz_record r[2] = {{.type = MZ_REC_SIZE, .value = size},
				 {.type = MZ_CALL_MUNMAP, .value = (uintptr_t)p}};

	mz_append(&mz_me, r, 2, NULL, 0);
}

EXPORT void *mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
	void *p;

	if (!mz_prepared()) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	p = mz_real_maps.mmap(addr, size, prot, flags, fd, offset);
	if (maps_on())
		record_map(MZ_CALL_MMAP, p, size);
	return p;
}

EXPORT void *mmap64(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
	__attribute__((alias("mmap")));

EXPORT int munmap(void *p, size_t size)
{
	if (!mz_prepared()) {
		errno = EINVAL;
		return -1;
	}
	if (maps_on())
		record_unmap(p, size);
	return mz_real_maps.munmap(p, size);
}

EXPORT void *mremap(void *old, size_t old_size, size_t size, int flags, ...)
{
	void *where = NULL, *p;
	va_list ap;
	bool on;

	va_start(ap, flags);
	if (flags & MREMAP_FIXED)
		where = va_arg(ap, void *);
	va_end(ap);
	if (!mz_prepared()) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	on = maps_on();
	if (on)
		on = mz_record_old(old);
	p = mz_real_maps.mremap(old, old_size, size, flags, where);
	if (on && *mz_alive >= MZ_ALIVE_ON)
		record_map(MZ_CALL_MREMAP, p, size);
	return p;
}

/* Changes of the end of the heap. Growth is an event at the old end. Shrinking is recorded as
 * munmap, which ends a piece only if it has the size of that piece. */
static void record_end_of_heap(char *old, char *now)
{
	if (now > old)
		record_map(MZ_CALL_BRK, old, (uint64_t)(now - old));
	else if (now < old)
		record_unmap(now, (uint64_t)(old - now));
}

EXPORT void *sbrk(intptr_t by)
{
	void *old;

	if (!mz_prepared()) {
		errno = ENOMEM;
		return (void *)-1;
	}
	old = mz_real_maps.sbrk(by);
	if (old != (void *)-1 && maps_on())
		record_end_of_heap(old, (char *)old + by);
	return old;
}

EXPORT int brk(void *end)
{
	void *old;
	int ret;

	if (!mz_prepared()) {
		errno = ENOMEM;
		return -1;
	}
	old = mz_real_maps.sbrk(0);
	ret = mz_real_maps.brk(end);
	if (!ret && old != (void *)-1 && maps_on())
		record_end_of_heap(old, end);
	return ret;
}

MZ_SEE(mmap);
MZ_SEE(munmap);
MZ_SEE(mremap);
MZ_SEE(brk);
MZ_SEE(sbrk);
