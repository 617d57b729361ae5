// SPDX-License-Identifier: BSD-2-Clause
/* Number the strings, functions and modules of a profile. */
#include "export/names.h"

#include <string.h>

#include "export/proto.h"

/* The first four names are those of Go's heap profiles, which pprof and the servers of profiles
 * know. The order matters: OTLP takes the first MZ_EXPORT_OTLP_VALUES. */
const struct mz_export_value mz_export_values[] = {
	{"alloc_objects", "count", "blocks"},
	{"alloc_space", "bytes", "bytes"},
	{"inuse_objects", "count", "live_blocks"},
	{"inuse_space", "bytes", "live_bytes"},
	{"peak_objects", "count", "peak_blocks"},
	{"peak_space", "bytes", "peak_bytes"},
	{"temporary_objects", "count", "temporary"},
	{"waste_space", "bytes", "waste"},
	{"lifetime", "nanoseconds", "lifetime"},
	{"reads", "count", "reads"},
	{"writes", "count", "writes"},
};

void mz_export_names_init(struct mz_export_names *n)
{
	n->strings = mz_tables_new();
	n->functions = mz_tables_new();
	n->modules = mz_tables_new();
	n->failed = !n->strings || !n->functions || !n->modules;
}

void mz_export_names_deinit(struct mz_export_names *n)
{
	mz_tables_free(n->strings);
	mz_tables_free(n->functions);
	mz_tables_free(n->modules);
}

/* 0 is both "none" and what a table without memory returns, so a text that gets 0 is an error. */
static uint32_t number(struct mz_export_names *n, struct mz_tables *t, const char *s)
{
	uint32_t id = s && *s ? mz_tables_string(t, s, strlen(s)) : 0;

	n->failed |= s && *s && !id;
	return id;
}

uint64_t mz_export_string(struct mz_export_names *n, const char *s)
{
	return number(n, n->strings, s);
}

uint32_t mz_export_module(struct mz_export_names *n, const struct mz_frame *f)
{
	return number(n, n->modules, f->module);
}

/* A table of stacks numbers pairs as well: a stack of name and file is a function. */
uint32_t mz_export_function(struct mz_export_names *n, const struct mz_frame *f)
{
	uint64_t key[2] = {mz_export_string(n, f->name), mz_export_string(n, f->file)};
	uint32_t id = mz_tables_stack(n->functions, key, 2);

	n->failed |= !id;
	return id;
}

/* Both formats demand that string 0 is empty, and refer to strings by position. */
void mz_export_strings(const struct mz_export_names *n, struct mz_buf *out, unsigned field)
{
	mz_proto_string(out, field, "");
	for (uint32_t i = 1; i <= mz_tables_strings(n->strings); i++) {
		size_t len;

		mz_proto_string(out, field, mz_tables_get_string(n->strings, i, &len));
	}
}
