// SPDX-License-Identifier: BSD-2-Clause
/* The ELF files that the library opens itself are read and not mapped: one that is truncated
 * meanwhile must not end the reader with SIGBUS. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "symbols/code.h"
#include "symbols/debuginfo.h"
#include "symbols/image.h"
#include "test.h"

static unsigned maps; /* of files */

/* In the place of the C library's mmap(), also for libelf. A sanitizer has its own. The name is
 * given to the linker, because headers may give it another one. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
MZ_API void *counting_mmap(void *addr, size_t len, int prot, int flags, int fd,
			   long offset) __asm__("mmap");

void *counting_mmap(void *addr, size_t len, int prot, int flags, int fd, long offset)
{
	maps += fd >= 0;
	return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, offset);
}
#endif

static const char self[] = "/proc/self/exe";

static void build_id(void)
{
	uint8_t id[64];

	maps = 0;
	CHECK(mz_debuginfo_table.image_id(self, id) > 0);
	CHECK_EQ(maps, 0);
}

static void code(void)
{
	struct mz_code c = {0};
	struct mz_error err = {0};

	maps = 0;
	CHECK_EQ(mz_debuginfo_table.code_read(&c, self, &err), 0);
	CHECK(c.n > 100);
	CHECK_EQ(maps, 0);
	mz_code_deinit(&c);
}

/* This program is no kernel: no shift is found, but its code is read for it. */
static void shift(void)
{
	uint64_t ips[64], by;

	for (size_t i = 0; i < 64; i++)
		ips[i] = 0xffffffff81000000u + 4096 * i;
	maps = 0;
	CHECK(!mz_debuginfo_table.kaslr_guess(self, ips, 64, &by));
	CHECK_EQ(maps, 0);
}

/* The counter counts. */
static void mapped(void)
{
	struct mz_error err = {0};
	struct mz_image *im;

	maps = 0;
	im = mz_image_open(self, false, &err);
	CHECK(im);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	CHECK(maps > 0); /* by libdw, which has no other way */
#endif
	mz_image_free(im);
}

int main(void)
{
	RUN(build_id);
	RUN(code);
	RUN(shift);
	RUN(mapped);
	return test_end();
}
