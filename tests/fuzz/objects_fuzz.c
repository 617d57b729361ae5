// SPDX-License-Identifier: BSD-2-Clause
/* The memory of a running program, which may hold anything: the linker's list of
 * objects and their symbols. Addresses are places in the input; its program
 * headers are at 64. */
#include <sys/mman.h>

#include "record/attach_objects.c"
#include "tests/fuzz/fuzz.h"

#define HEADERS	    64u
#define HEADERS_MAX 8u

static void ask(const struct mz_attach_objects *o)
{
	static const char *const names[] = {"malloc", "free", "dlsym", "f", ""};

	for (size_t i = 0; i < o->count; i++)
		MUST(memchr(o->list[i].name, '\0', sizeof(o->list[i].name)));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		uint64_t at = mz_attach_function(o, names[i]);

		for (size_t k = 0; at && k < o->count; k++)
			if (mz_attach_symbol(o, &o->list[k], names[i]) == at)
				at = 0;
		MUST(!at); /* it is of one of them */
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mz_attach_objects o = {.mem = memfd_create("fuzz", MFD_CLOEXEC)};
	struct mz_error err = {0};
	uint64_t dynamic, debug;

	/* a list that runs in a circle is as long as one may be: not many of those */
	if (size > 4096 || o.mem < 0 || write(o.mem, data, size) != (ssize_t)size) {
		mz_attach_objects_close(&o);
		return 0;
	}
	dynamic = find_dynamic(&o, HEADERS, HEADERS_MAX);
	debug = dynamic ? dynamic_entry(&o, dynamic, DT_DEBUG) : 0;
	if (debug) {
		int ret = read_list(&o, 1, debug, &err);

		if (ret < 0)
			must_explain(&err, ret);
		MUST(o.count <= MAX_OBJECTS);
		ask(&o);
	}
	mz_attach_objects_close(&o);
	return 0;
}
