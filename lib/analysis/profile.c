// SPDX-License-Identifier: BSD-2-Clause
/* Hold the sums of a recording by call stack. */
#include "analysis/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/wrappers.h"
#include "base/array.h"
#include "base/base_name.h"
#include "symbols/kallsyms.h"

/* A frame in the tables: a list of these. */
enum { FRAME_ADDR, FRAME_NAME, FRAME_FILE, FRAME_LINE, FRAME_MODULE, FRAME_NAMED, FRAME_PARTS };

#define VALUE(member, text, need, is_bytes)                                                        \
	{                                                                                          \
#member, text, offsetof(struct mz_heap_sum, member), need, is_bytes                \
	}

const struct mz_profile_value mz_profile_values[] = {
	VALUE(bytes, "bytes allocated in all", MZ_PROFILE_TOTAL, true),
	VALUE(blocks, "blocks allocated in all", MZ_PROFILE_TOTAL, false),
	VALUE(peak_bytes, "bytes at the peak", MZ_PROFILE_PEAK, true),
	VALUE(peak_blocks, "blocks at the peak", MZ_PROFILE_PEAK, false),
	VALUE(live_bytes, "bytes live at the end", MZ_PROFILE_LIVE, true),
	VALUE(live_blocks, "blocks live at the end", MZ_PROFILE_LIVE, false),
	VALUE(max_bytes, "bytes at the stack's own peak", MZ_PROFILE_PEAK, true),
	VALUE(max_blocks, "blocks at the stack's own peak", MZ_PROFILE_PEAK, false),
	VALUE(temporary, "temporary blocks", MZ_PROFILE_TEMPORARY, false),
	VALUE(waste, "bytes given beyond the request", MZ_PROFILE_WASTE, true),
	VALUE(peak_waste, "bytes given beyond the request at the peak", MZ_PROFILE_WASTE, true),
	VALUE(lifetime, "lifetimes added up", MZ_PROFILE_LIFETIME, false),
	VALUE(reads, "reads", MZ_PROFILE_ACCESS, false),
	VALUE(writes, "writes", MZ_PROFILE_ACCESS, false),
};
const size_t mz_profile_nvalues = sizeof(mz_profile_values) / sizeof(*mz_profile_values);

const struct mz_profile_value *mz_profile_find_value(const char *name)
{
	for (size_t i = 0; i < mz_profile_nvalues; i++)
		if (!strcmp(mz_profile_values[i].name, name))
			return &mz_profile_values[i];
	return NULL;
}

const char *mz_clock_name(enum mz_clock clock)
{
	static const char *const names[] = {"ns", "events", "instructions"};

	return names[clock];
}

const char *mz_profile_kind_name(enum mz_profile_kind kind)
{
	static const char *const names[] = {"a recording of a program", "a trace of a kernel",
					    "a KMAP", "an allocinfo"};

	return names[kind];
}

const char *mz_profile_title(const struct mz_profile *p)
{
	return p->command ? p->command : p->kind == MZ_PROFILE_PROGRAM ? "?" : "the kernel";
}

const char *mz_profile_program(const struct mz_profile *p, char *buf, size_t size)
{
	const char *command = mz_profile_title(p), *name;

	if (p->kind != MZ_PROFILE_PROGRAM)
		return "kernel";
	snprintf(buf, size, "%.*s", (int)strcspn(command, " "), command);
	name = mz_base_name(buf);
	return *name ? name : "?";
}

int mz_profile_init(struct mz_profile *p)
{
	*p = (struct mz_profile){.names = mz_tables_new(), .stacks = mz_tables_new()};
	if (p->names && p->stacks)
		return 0;
	mz_profile_deinit(p);
	return -ENOMEM;
}

void mz_profile_deinit(struct mz_profile *p)
{
	mz_tables_free(p->names);
	mz_tables_free(p->stacks);
	free(p->command);
	free(p->sites);
	free(p->timeline);
	free(p->by_stack);
	free(p->from);
	*p = (struct mz_profile){0};
}

/* ---- frames ------------------------------------------------------------- */

static uint32_t string_of(struct mz_profile *p, const char *s)
{
	return s ? mz_tables_string(p->names, s, strlen(s)) : 0;
}

/* A frame is interned as a list of its parts, so that equal frames have one number and no table of
 * their own is needed. */
uint32_t mz_profile_frame(struct mz_profile *p, uint64_t addr, const char *name, const char *file,
			  uint32_t line, const char *module)
{
	uint64_t parts[FRAME_PARTS] = {
		[FRAME_ADDR] = addr, [FRAME_LINE] = file ? line : 0, [FRAME_NAMED] = name != NULL};
	char text[32];

	if (!name) {
		snprintf(text, sizeof(text), "0x%llx", (unsigned long long)addr);
		name = text;
	}
	parts[FRAME_NAME] = string_of(p, name);
	parts[FRAME_FILE] = string_of(p, file);
	parts[FRAME_MODULE] = string_of(p, module);
	if (!parts[FRAME_NAME] || (file && !parts[FRAME_FILE]) || (module && !parts[FRAME_MODULE]))
		return 0;
	return mz_tables_stack(p->names, parts, FRAME_PARTS);
}

uint32_t mz_profile_frames(const struct mz_profile *p)
{
	return mz_tables_stacks(p->names);
}

struct mz_frame mz_profile_get_frame(const struct mz_profile *p, uint32_t frame)
{
	size_t n;
	const uint64_t *parts = mz_tables_get_stack(p->names, frame, &n);

	if (!parts)
		return (struct mz_frame){.name = "?"};
	return (struct mz_frame){
		.addr = parts[FRAME_ADDR],
		.name = mz_tables_get_string(p->names, (uint32_t)parts[FRAME_NAME], &n),
		.file = mz_tables_get_string(p->names, (uint32_t)parts[FRAME_FILE], &n),
		.module = mz_tables_get_string(p->names, (uint32_t)parts[FRAME_MODULE], &n),
		.line = (uint32_t)parts[FRAME_LINE],
		.named = parts[FRAME_NAMED],
	};
}

/* ---- sites -------------------------------------------------------------- */

struct mz_profile_site *mz_profile_site(struct mz_profile *p, const uint64_t *frames, size_t depth)
{
	uint64_t none;
	uint32_t stack;

	if (!depth) { /* so that no caller needs a special case */
		none = mz_profile_frame(p, 0, "(no stack)", NULL, 0, NULL);
		frames = &none;
		depth = none != 0;
	}
	stack = depth ? mz_tables_stack(p->stacks, frames, depth) : 0;

	if (!stack ||
	    !mz_array_room((void **)&p->by_stack, &p->by_stack_cap, stack, sizeof(*p->by_stack)))
		return NULL;
	if (p->by_stack[stack])
		return &p->sites[p->by_stack[stack] - 1];
	if (!mz_array_room((void **)&p->sites, &p->cap, p->nsites, sizeof(*p->sites)))
		return NULL;
	p->sites[p->nsites] = (struct mz_profile_site){.stack = stack};
	p->by_stack[stack] = (uint32_t)++p->nsites;
	return &p->sites[p->nsites - 1];
}

const uint64_t *mz_profile_stack(const struct mz_profile *p, const struct mz_profile_site *s,
				 size_t *depth)
{
	*depth = 0;
	return mz_tables_get_stack(p->stacks, s->stack, depth);
}

/* ---- the place of a stack ----------------------------------------------- */

/* The first frame outside of the kernel's allocators. Inlined functions have the address of the
 * function around them, which is the one that the list knows. */
static size_t kernel_place(const struct mz_profile *p, const uint64_t *frames, size_t depth)
{
	size_t from = 0, last;

	for (size_t i = 0; i < depth; i = last + 1) {
		struct mz_frame f = mz_profile_get_frame(p, (uint32_t)frames[i]);

		from = last = i;
		while (f.addr && last + 1 < depth &&
		       mz_profile_get_frame(p, (uint32_t)frames[last + 1]).addr == f.addr)
			f = mz_profile_get_frame(p, (uint32_t)frames[++last]);
		if (!f.named || !mz_kernel_inner(f.name))
			break;
	}
	return from;
}

size_t mz_profile_place(const struct mz_profile *p, const struct mz_profile_site *s)
{
	size_t depth, from;
	const uint64_t *frames = mz_profile_stack(p, s, &depth);

	from = p->kind == MZ_PROFILE_KERNEL ? kernel_place(p, frames, depth) : 0;
	for (size_t i = from; i < depth; i++) {
		struct mz_frame f = mz_profile_get_frame(p, (uint32_t)frames[i]);

		if (!f.named || !mz_wrappers_has(NULL, f.name))
			return i;
	}
	return from;
}
