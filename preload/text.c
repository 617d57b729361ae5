// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>

#include "stack.h"

void mz_append_text(uint8_t type, uint64_t addr, const char *text, size_t len)
{
	struct mz_thread *t = &mz_me;
	unsigned n;
	uint64_t at;

	if (len > MZ_TEXT_MAX)
		len = MZ_TEXT_MAX;
	n = (unsigned)((len + sizeof(struct mz_record) - 1) / sizeof(struct mz_record));
	if (!mz_begin(t, 1 + n, &at))
		return;
	*mz_slot(t, at) = (struct mz_record){
		.type = type, .addr = addr, .size = len, .time = mz_clock_before()};
	for (unsigned i = 0; i < n; i++) {
		size_t left = len - i * sizeof(struct mz_record);
		struct mz_record *r = mz_slot(t, at + 1 + i);

		memset(r, 0, sizeof(*r));
		memcpy(r, text + i * sizeof(*r), left < sizeof(*r) ? left : sizeof(*r));
	}
	mz_end(t);
}
