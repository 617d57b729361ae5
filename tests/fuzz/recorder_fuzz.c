// SPDX-License-Identifier: BSD-2-Clause
/*
 * The program against a hostile recorder: whatever the shared memory says while the
 * program appends, the library stays within it, and no call waits for ever. The input
 * is a list of appends and of writes to the region.
 */
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fuzz.h"
#include "preload/forks.c"
#include "preload/join.c"
#include "preload/ring.c"

static const uint8_t *in, *in_end;
static unsigned waits;

/* ---- what the rest of the library does ------------------------------------------ */

bool mz_sandboxed;
bool mz_thinned;
static struct mz_region *given;

struct mz_region *mz_region_map(void)
{
	return given;
}

bool mz_region_lock(uint32_t image)
{
	return image < MZ_IMAGES;
}

void mz_region_unlock(void)
{
}

void mz_region_forked(void)
{
}

void mz_region_keep(void)
{
}

bool mz_region_barred(void)
{
	return false;
}

void mz_stack_forget(void)
{
}

void mz_stack_restart(void)
{
}

static uint64_t get(unsigned bytes)
{
	uint64_t v = 0;

	for (; bytes; bytes--)
		v = v << 8 | (in < in_end ? *in++ : 0);
	return v;
}

/* While the program sleeps the recorder does something, or dies at last. */
long syscall(long nr, ...)
{
	va_list ap;
	int op;

	if (nr == SYS_gettid)
		return 42;
	va_start(ap, nr);
	if (nr == SYS_mmap) {
		void *at = va_arg(ap, void *);
		size_t size = va_arg(ap, size_t);
		long prot = va_arg(ap, long), flags = va_arg(ap, long), fd = va_arg(ap, long);

		va_end(ap);
		return (long)mmap(at, size, (int)prot, (int)flags, (int)fd, 0);
	}
	(void)va_arg(ap, void *);
	op = va_arg(ap, int);
	va_end(ap);
	if (nr != SYS_futex || op != FUTEX_WAIT)
		return 0;
	if (++waits > MZ_WAIT_SECONDS * 50 + 100)
		abort(); /* it waited too long */
	if (in < in_end && mz_me.ring && get(1) & 1)
		mz_me.ring->tail = get(8);
	return 0;
}

/* ---- both sides -------------------------------------------------------------------- */

/* Anywhere but where the addresses of the program's functions are. */
static void scribble(void)
{
	uint64_t at = get(3) % (sizeof(*mz_region) / 8), value = get(1) & 1 ? get(8) : get(1);

	memcpy((char *)given + at * 8, &value, 8);
}

static void append(void)
{
	struct mz_record r[3] = {
		{.type = MZ_REC_SIZE, .value = 1}, {.type = MZ_REC_ADDR}, {.type = 1}};
	char raw[480] = "";
	uint64_t how = get(1), many = how < 8 ? 4000 : how < 32 ? 300 : 1;

	for (uint64_t i = 0; i < many && mz_on(); i++) {
		waits = 0; /* the limit is that of one call */
		if (how & 1)
			mz_append(&mz_me, r, 1 + (unsigned)(how >> 1 & 1), raw, how & 4 ? how : 0);
		else
			mz_append_text(MZ_REC_MARK, how, raw, how & 8 ? sizeof(raw) : how);
	}
}

static void act(void)
{
	switch (get(1) % 8) {
	case 0:
	case 1: scribble(); break;
	case 2:
		if (mz_me.ring)
			mz_me.ring->tail = get(1) & 1 ? mz_me.ring->head : get(8);
		break;
	case 3: given->recorder = (uint32_t)(get(1) & 3 ? 1 : FUTEX_OWNER_DIED); break;
	case 4: at_thread_exit(&mz_me); break;
	default: append(); break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	in = data;
	in_end = data + size;
	given = mmap(NULL, MZ_REGION_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	MUST(given != MAP_FAILED);
	given->magic = MZ_REGION_MAGIC;
	given->version = MZ_REGION_VERSION;
	given->recorder = 1;
	given->flags = MZ_REGION_FORKS | (size & 1 ? MZ_REGION_DROP : 0);
	memset(&mz_me, 0, sizeof(mz_me));
	mz_region = NULL;
	counts_missed = false;
	*mz_alive = MZ_ALIVE_UNKNOWN;
	while (in < in_end)
		act();
	munmap(given, MZ_REGION_BYTES);
	return 0;
}
