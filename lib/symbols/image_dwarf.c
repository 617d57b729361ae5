// SPDX-License-Identifier: BSD-2-Clause
/* Read the lines and scopes (functions and inlined calls) of one DWARF unit. */
#include <dwarf.h>
#include <string.h>

#include "symbols/image_build.h"

/* ---- lines ---------------------------------------------------------------------------------- */

/* Does a row at the end of a sequence belong to the sequence that begins there? The last row of
 * the one that ends may be there as well, and is the line of no code. */
static bool begins_at_end(Dwarf_Die *unit, Dwarf_Addr addr, Dwarf_Addr last_end)
{
	return addr != last_end || dwarf_haspc(unit, addr) != 0;
}

void mz_build_lines(struct build *b, Dwarf_Die *unit)
{
	Dwarf_Addr last_end = UINT64_MAX;
	Dwarf_Lines *lines;
	size_t n;

	if (dwarf_getsrclines(unit, &lines, &n))
		return;
	for (size_t i = 0; i < n && !b->failed; i++) {
		Dwarf_Line *l = dwarf_onesrcline(lines, i);
		Dwarf_Addr addr;
		int number = 0;
		bool end = false;

		if (dwarf_lineaddr(l, &addr) || dwarf_lineendsequence(l, &end))
			continue;
		if (end)
			last_end = addr;
		else if (!begins_at_end(unit, addr, last_end))
			continue;
		addr += b->bias;
		/* the end of a sequence may be the end of the code */
		if (!mz_build_is_code(b, addr) && !(end && mz_build_is_code(b, addr - 1)))
			continue;
		if (!mz_array_room((void **)&b->lines, &b->cap_lines, b->n_lines,
				   sizeof(*b->lines))) {
			b->failed = true;
			return;
		}
		dwarf_lineno(l, &number);
		b->lines[b->n_lines] = (struct mz_image_line){(uint32_t)(addr - b->im->base),
							      (uint32_t)b->n_lines + 1, 0, 0};
		if (!end) {
			b->lines[b->n_lines].file = mz_build_file(b, dwarf_linesrc(l, NULL, NULL));
			b->lines[b->n_lines].line = number > 0 ? (uint32_t)number : 0;
		}
		b->n_lines++;
	}
}

/* ---- scopes ------------------------------------------------------------------------------------
 */

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	if (!name && dwarf_attr_integrate(die, DW_AT_name, &attr))
		name = dwarf_formstring(&attr);
	return name;
}

static uint32_t number_of(Dwarf_Die *die, unsigned what)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;

	if (!dwarf_attr(die, what, &attr) || dwarf_formudata(&attr, &v) || v > UINT32_MAX)
		return 0;
	return (uint32_t)v;
}

static uint32_t add_scope(struct build *b, Dwarf_Die *die, uint32_t parent)
{
	struct mz_image *im = b->im;
	const char *name = name_of(die), *file;
	struct mz_image_scope *s;

	if (im->n_scopes >= MZ_IMAGE_NONE - 1 ||
	    !mz_array_room((void **)&im->scopes, &b->cap_scopes, im->n_scopes, sizeof(*s))) {
		b->failed = true;
		return MZ_IMAGE_NONE;
	}
	s = &im->scopes[im->n_scopes];
	*s = (struct mz_image_scope){.parent = parent, .start = UINT32_MAX};
	s->name = name ? mz_build_string(b, name) : 0;
	if (parent == MZ_IMAGE_NONE) {
		s->home = mz_build_file(b, dwarf_decl_file(die));
	} else {
		uint32_t at = number_of(die, DW_AT_call_file);

		file = b->files ? dwarf_filesrc(b->files, at, NULL, NULL) : NULL;
		s->call_file = mz_build_file(b, file);
		s->call_line = number_of(die, DW_AT_call_line);
	}
	return (uint32_t)im->n_scopes++;
}

/* The ranges of a scope; false: it has no code. */
static bool add_ranges(struct build *b, Dwarf_Die *die, uint32_t scope, uint32_t depth)
{
	struct mz_image_scope *s = &b->im->scopes[scope];
	Dwarf_Addr base, lo, hi;
	ptrdiff_t next = 0;
	bool any = false;

	while ((next = dwarf_ranges(die, next, &base, &lo, &hi)) > 0) {
		lo += b->bias;
		hi += b->bias;
		if (lo >= hi || !mz_build_is_code(b, lo) || hi - b->im->base >= UINT32_MAX)
			continue;
		if (!mz_array_room((void **)&b->ranges, &b->cap_ranges, b->n_ranges,
				   sizeof(*b->ranges))) {
			b->failed = true;
			return false;
		}
		lo -= b->im->base;
		hi -= b->im->base;
		b->ranges[b->n_ranges++] = (struct range){(uint32_t)lo, (uint32_t)hi, scope, depth};
		/* the first range is where a function starts; cold parts come behind */
		if (!any)
			s->start = (uint32_t)lo;
		any = true;
	}
	return any;
}

void mz_build_scopes(struct build *b, Dwarf_Die *die, uint32_t parent, uint32_t depth)
{
	Dwarf_Die child;

	if (depth >= DEEPEST || b->failed || dwarf_child(die, &child))
		return;
	do {
		int tag = dwarf_tag(&child);
		size_t before = b->im->n_scopes;
		uint32_t scope;

		switch (tag) {
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
			if (!dwarf_hasattr(&child, DW_AT_low_pc) &&
			    !dwarf_hasattr(&child, DW_AT_ranges))
				break; /* a declaration */
			scope = add_scope(b, &child,
					  tag == DW_TAG_subprogram ? MZ_IMAGE_NONE : parent);
			if (scope == MZ_IMAGE_NONE)
				return;
			if (add_ranges(b, &child, scope, depth))
				mz_build_scopes(b, &child, scope, depth + 1);
			else
				b->im->n_scopes = before; /* the linker left it out */
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_namespace: mz_build_scopes(b, &child, parent, depth + 1); break;
		default: break;
		}
	} while (!dwarf_siblingof(&child, &child) && !b->failed);
}
