// SPDX-License-Identifier: BSD-2-Clause
/* Names of Rust: a text that fits and ends, or none; room decides nothing but that. */
#include "symbols/rust_demangle.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[4096], large[65536], small[64];
	size_t n, k;

	if (size >= sizeof(name))
		return 0;
	memcpy(name, data, size);
	name[size] = '\0';
	n = mz_rust_demangle(name, large, sizeof(large));
	MUST(n < sizeof(large) && large[n] == '\0');
	k = mz_rust_demangle(name, small, sizeof(small));
	MUST(k == 0 || (k == n && !memcmp(small, large, n + 1)));
	return 0;
}
