// SPDX-License-Identifier: BSD-2-Clause
/* The lists beside a kmemtrace recording: caches, stacks, object files. What is taken
 * is found again; what is not is explained. */
#include <stdlib.h>

#include "formats/kmemtrace_beside.h"
#include "symbols/objects.h"
#include "tests/fuzz/fuzz.h"

static char *copy(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	MUST(text);
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

static void lists(const uint8_t *data, size_t size)
{
	struct mz_kmemtrace_beside b = {0};
	struct mz_error err = {0};
	char *text = copy(data, size);
	int ret = mz_kmemtrace_beside_caches(&b, text, "fuzz", &err);

	if (ret)
		must_explain(&err, ret);
	free(text);
	text = copy(data, size);
	err = (struct mz_error){0};
	ret = mz_kmemtrace_beside_stacks(&b, text, "fuzz", &err);
	if (ret)
		must_explain(&err, ret);
	for (uint32_t id = 0; id < 70; id++) {
		size_t len = 0, depth = 0;
		const char *name = mz_kmemtrace_beside_cache(&b, id, &len);
		const uint64_t *ips = mz_kmemtrace_beside_stack(&b, id, &depth);

		MUST(!name || (len && !memchr(name, '\n', len)));
		MUST(!ips || (depth && ips[depth - 1] == ips[depth - 1]));
	}
	mz_kmemtrace_beside_free(&b);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mz_error err = {0};
	char *text = copy(data, size);
	struct mz_objects *o = mz_objects_parse(text, "fuzz", &err);

	if (o) {
		mz_objects_find(o, 0);
		mz_objects_find(o, UINT64_MAX);
		mz_objects_find(o, 0xffffffff81000010);
	} else {
		must_explain(&err, -err.code);
	}
	mz_objects_free(o);
	free(text);
	lists(data, size);
	return 0;
}
