// SPDX-License-Identifier: BSD-2-Clause
/* The lists beside a kmemtrace recording: caches, stacks. What is taken
 * is found again; what is not is explained. */
#include <stdlib.h>

#include "formats/kmemtrace_companions.h"
#include "tests/fuzz/fuzz.h"

static char *copy(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	MUST(text);
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mz_kmemtrace_companions b = {0};
	struct mz_error err = {0};
	char *text = copy(data, size);
	int ret = mz_kmemtrace_companions_caches(&b, text, "fuzz", &err);

	if (ret)
		must_explain(&err, ret);
	free(text);
	text = copy(data, size);
	err = (struct mz_error){0};
	ret = mz_kmemtrace_companions_stacks(&b, text, "fuzz", &err);
	if (ret)
		must_explain(&err, ret);
	for (uint32_t id = 0; id < 70; id++) {
		size_t len = 0, depth = 0;
		const char *name = mz_kmemtrace_companions_cache(&b, id, &len);
		const uint64_t *ips = mz_kmemtrace_companions_stack(&b, id, &depth);

		MUST(!name || (len && !memchr(name, '\n', len)));
		MUST(!ips || (depth && ips[depth - 1] == ips[depth - 1]));
	}
	mz_kmemtrace_companions_free(&b);
	free(text);
	return 0;
}
