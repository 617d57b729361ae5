// SPDX-License-Identifier: BSD-2-Clause
#include "stack.h"

void mz_append_text(uint8_t type, uint64_t addr, const char *text, size_t len)
{
	struct mz_record r = {.type = type, .value = addr};

	r.size = (uint16_t)(len < MZ_TEXT_MAX ? len : MZ_TEXT_MAX);
	mz_append(&mz_me, &r, 1, text, r.size);
}
