// SPDX-License-Identifier: BSD-2-Clause
/* Names as text: parsed or refused; what is parsed is the same after another round. */
#include "tests/fuzz/fuzz.h"
#include "trace/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mz_names *a = mz_names_new(), *b = mz_names_new();
	struct mz_buf x = {0}, y = {0};

	MUST(a && b);
	mz_names_parse(a, (const char *)data, size);
	if (size < 1 << 16) {
		MUST(mz_names_text(a, 0, &x) == mz_names_count(a));
		MUST(!mz_names_parse(b, x.data, x.len));
		MUST(mz_names_text(b, 0, &y) == mz_names_count(a));
		MUST(x.len == y.len && (!x.len || !memcmp(x.data, y.data, x.len)));
	}
	mz_buf_free(&x);
	mz_buf_free(&y);
	mz_names_free(a);
	mz_names_free(b);
	return 0;
}
