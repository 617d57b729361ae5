// SPDX-License-Identifier: BSD-2-Clause
/* Fuzz the parser of symbol lists: names come out printable, and a selection of lines names
 * addresses as the whole list does. */
#include "symbols/kallsyms.h"
#include "tests/fuzz/fuzz.h"

static void same_names(const struct mz_kallsyms *all, const uint64_t *addrs, size_t n)
{
	uint64_t copy[64];
	struct mz_buf lines = {0};
	struct mz_kallsyms *some;

	memcpy(copy, addrs, n * sizeof(*addrs));
	mz_kallsyms_pick(all, copy, n, &lines);
	some = lines.len ? mz_kallsyms_parse(lines.data, lines.len, "some", NULL) : NULL;
	for (size_t i = 0; i < n; i++) {
		char a[300], b[300];

		mz_kallsyms_text(all, addrs[i], a, sizeof(a));
		mz_kallsyms_text(some, addrs[i], b, sizeof(b));
		MUST(!strcmp(a, b));
		for (const char *p = a; *p; p++)
			MUST(*p >= 0x20 && *p < 0x7f);
	}
	mz_kallsyms_free(some);
	mz_buf_free(&lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mz_error err = {0};
	struct mz_kallsyms *k = mz_kallsyms_parse((const char *)data, size, "list", &err);
	uint64_t addrs[64];
	size_t n = 0;

	if (!k) {
		must_explain(&err, -err.code);
		return 0;
	}
	/* the addresses that the text names, and their neighbours */
	for (size_t i = 0; i < size && n + 3 <= 64; i++) {
		if (!i || data[i - 1] == '\n') {
			char word[20] = "";

			memcpy(word, data + i, size - i < 19 ? size - i : 19);
			addrs[n] = strtoull(word, NULL, 16);
			addrs[n + 1] = addrs[n] - 1;
			addrs[n + 2] = addrs[n] + 0x1234;
			n += 3;
		}
	}
	same_names(k, addrs, n);
	mz_kallsyms_free(k);
	return 0;
}
