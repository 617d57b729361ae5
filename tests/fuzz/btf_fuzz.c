// SPDX-License-Identifier: BSD-2-Clause
/* Fuzz the BTF parser: questions come to an end, and members lie inside their structure. */
#include "symbols/types_private.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t sizes[] = {8, 11, 64, 80, 4096};
	struct mz_error err = {0};
	struct mz_types *t = mz_types_open_btf_memory(data, size, "fuzz", &err);

	if (!t) {
		must_explain(&err, -err.code);
		return 0;
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct mz_types_query q = {.function = "make_known",
					   .cache = "known",
					   .least = sizes[i],
					   .greatest = sizes[i]};
		struct mz_types_answer a;
		struct mz_types_member m;

		MUST(!mz_types_ask(t, &q, &a));
		if (a.type == MZ_TYPES_NONE)
			continue;
		MUST(mz_types_size(t, a.type) <= sizes[i] && *mz_types_name(t, a.type));
		for (uint64_t at = 0; at < sizes[i]; at++) {
			MUST(!mz_types_member(t, a.type, at, &m));
			MUST(m.offset <= at && strlen(m.path) < sizeof(m.path) && m.type);
		}
	}
	mz_types_close(t);
	return 0;
}
