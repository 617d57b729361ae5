// SPDX-License-Identifier: BSD-2-Clause
/*
 * The unwinder of the preloaded library: whatever a module has as its tables, it reads no page that
 * is not there. The tables end where nothing is mapped, and their segment may claim to go on.
 */
#include "fuzz.h"
#include "preload/unwind.c"

#define ROOM (64u << 10)

struct input_head {
	int32_t pc;	/* from the start of the tables */
	uint8_t offset; /* of .eh_frame_hdr */
	uint8_t beyond; /* pages that are not there */
	uint16_t pad;
};

/* The tables contain addresses: always the same ones. */
static uint8_t *room(void)
{
	static uint8_t *p;

	if (!p) {
		p = mmap((void *)0x200000000000, 2 * ROOM, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		MUST(p != MAP_FAILED && !mprotect(p, ROOM, PROT_READ | PROT_WRITE));
	}
	return p;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uintptr_t known[PAGES];
	struct mz_module m = {.path = ""};
	struct input_head h;
	struct mz_row row;

	if (size <= sizeof(h) || size - sizeof(h) > ROOM)
		return 0;
	memcpy(&h, data, sizeof(h));
	data += sizeof(h);
	size -= sizeof(h);
	MUST(mz_unwind_table() == sizeof(known));
	memset(known, 0, sizeof(known));
	mz_unwind_use(known);

	m.tables = (uintptr_t)room() + ROOM - size;
	memcpy((void *)m.tables, data, size);
	m.tables_end = m.tables + size + h.beyond % 16 * PAGE;
	m.start = (uintptr_t)room();
	m.end = m.start + 2 * ROOM;
	m.eh_frame_hdr = (const void *)(m.tables + h.offset);
	row = mz_find_row(&m, m.tables + (uintptr_t)(intptr_t)h.pc);
	MUST(row.cfa <= MZ_CFA_SIGNAL);
	return 0;
}
