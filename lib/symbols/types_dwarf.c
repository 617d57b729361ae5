// SPDX-License-Identifier: BSD-2-Clause
/* Read types from DWARF. */
/*
 * The variable that receives the result of a call shows its type: one that is in the result
 * register right after the call, or whose location is new since the call.
 */
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/regular.h"
#include "symbols/debug_bounds.h"
#include "symbols/debug_file.h"
#include "symbols/types_private.h"

#define DEEP   16 /* typedefs of typedefs */
#define NEAR   64 /* bytes behind a call within which its result is put away */
#define RESULT DW_OP_reg0

struct dwarf {
	Dwfl *dwfl;
	Dwarf *dw;
	Dwarf_Addr bias;
};

static const struct mz_types_ops dwarf_ops;

/* ---- opening ------------------------------------------------------------------------------ */

static void close_dwarf(void *source)
{
	struct dwarf *d = source;

	if (d->dwfl)
		dwfl_end(d->dwfl);
	free(d);
}

static int begin(struct dwarf *d, const char *path, struct mz_error *err)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = mz_debug_file_find,
		.section_address = dwfl_offline_section_address,
	};
	Dwfl_Module *mod;
	int fd;

	d->dwfl = dwfl_begin(&callbacks);
	if (!d->dwfl)
		return mz_fail_memory(err);
	fd = mz_open_regular(path, NULL);
	if (fd < 0)
		return mz_fail(err, errno, "%s: %s", path, strerror(errno));
	/* success takes the descriptor over */
	mod = dwfl_report_offline(d->dwfl, "vmlinux", path, fd);
	if (!mod)
		close(fd);
	if (!mod || dwfl_report_end(d->dwfl, NULL, NULL))
		return mz_fail(err, ENODATA, "%s: %s", path, dwfl_errmsg(-1));
	if (mz_debug_unpacks_large(dwfl_module_getelf(mod, &d->bias)))
		return mz_fail(err, EFBIG, "%s: its compressed sections unpack to too many bytes",
			       path);
	d->dw = dwfl_module_getdwarf(mod, &d->bias);
	if (!d->dw)
		return mz_fail(err, ENODATA, "%s: it contains no DWARF", path);
	return 0;
}

struct mz_types *mz_types_open_dwarf(const char *path, struct mz_error *err)
{
	struct dwarf *d = calloc(1, sizeof(*d));
	struct mz_types *t = NULL;

	if (!d) {
		mz_fail_memory(err);
		return NULL;
	}
	if (!begin(d, path, err)) {
		t = mz_types_new(&dwarf_ops, d);
		if (!t)
			mz_fail_memory(err);
	}
	if (!t)
		close_dwarf(d);
	return t;
}

/* ---- types ----------------------------------------------------------------------------------- */

static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute mem, *a = dwarf_attr_integrate(die, DW_AT_type, &mem);

	return a && dwarf_formref_die(a, type);
}

/* These add nothing to the layout of a type. */
static bool passes(int tag)
{
	return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
	       tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type;
}

/* Without const, volatile and, on request, typedef. False: void. */
static bool strip(Dwarf_Die *die, bool typedefs, bool *hidden)
{
	Dwarf_Die next;

	for (unsigned i = 0; i < DEEP; i++) {
		int tag = dwarf_tag(die);

		if (!passes(tag) || (tag == DW_TAG_typedef && !typedefs))
			return true;
		if (tag == DW_TAG_typedef && hidden)
			*hidden = true;
		if (!type_of(die, &next))
			return false;
		*die = next;
	}
	return false;
}

/* Elements of an array; 0 = any number. */
static uint64_t elements(Dwarf_Die *array)
{
	Dwarf_Die sub;
	uint64_t n = 1;

	if (dwarf_child(array, &sub))
		return 0;
	do {
		Dwarf_Attribute mem;
		Dwarf_Word v;

		if (dwarf_tag(&sub) != DW_TAG_subrange_type)
			continue;
		/* compilers say either how many elements there are, or which is the last one */
		if (dwarf_attr(&sub, DW_AT_count, &mem) && !dwarf_formudata(&mem, &v))
			n *= v;
		else if (dwarf_attr(&sub, DW_AT_upper_bound, &mem) && !dwarf_formudata(&mem, &v))
			n *= v + 1;
		else
			return 0;
	} while (!dwarf_siblingof(&sub, &sub));
	return n;
}

/* A type that is only declared has no size, and nothing can be said about its members. */
static uint64_t size_of(Dwarf_Die *die, unsigned depth)
{
	Dwarf_Die type = *die, element;
	int bytes;

	if (depth == DEEP || !strip(&type, true, NULL))
		return 0;
	if (dwarf_tag(&type) == DW_TAG_array_type)
		return type_of(&type, &element) ? elements(&type) * size_of(&element, depth + 1)
						: 0;
	bytes = dwarf_bytesize(&type);
	if (bytes < 0)
		return dwarf_tag(&type) == DW_TAG_pointer_type ? 8 : 0;
	return (uint64_t)bytes;
}

/* As C would write it, more or less. */
static void name_of(Dwarf_Die *die, char *buf, size_t size, unsigned depth)
{
	const char *name = dwarf_diename(die), *word = "";
	Dwarf_Die inner;
	char of[100] = "void";

	if (depth == DEEP) {
		snprintf(buf, size, "...");
		return;
	}
	switch (dwarf_tag(die)) {
	case DW_TAG_structure_type: word = "struct "; break;
	case DW_TAG_union_type: word = "union "; break;
	case DW_TAG_enumeration_type: word = "enum "; break;
	case DW_TAG_subroutine_type: snprintf(buf, size, "function"); return;
	case DW_TAG_pointer_type:
	case DW_TAG_array_type:
		if (type_of(die, &inner))
			name_of(&inner, of, sizeof(of), depth + 1);
		if (dwarf_tag(die) == DW_TAG_pointer_type)
			snprintf(buf, size, "%s *", of);
		else if (elements(die))
			snprintf(buf, size, "%s[%llu]", of, (unsigned long long)elements(die));
		else
			snprintf(buf, size, "%s[]", of);
		return;
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
		if (type_of(die, &inner))
			name_of(&inner, buf, size, depth + 1);
		else
			snprintf(buf, size, "void");
		return;
	default: break;
	}
	snprintf(buf, size, "%s%s", word, name ? name : "");
	if (!name && *word)
		buf[strlen(word) - 1] = '\0';
}

static bool is_aggregate(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_union_type || tag == DW_TAG_class_type;
}

static uint32_t node_of(struct mz_types *t, Dwarf_Die *die)
{
	Dwarf_Die type = *die;
	bool hidden = false, fresh;
	struct mz_type_node *n;
	char name[120];
	uint32_t id;
	bool some = strip(&type, true, &hidden);
	int tag = some ? dwarf_tag(&type) : 0;

	id = mz_types_node(t, is_aggregate(tag) ? dwarf_dieoffset(&type) : dwarf_dieoffset(die),
			   hidden, &fresh);
	if (id == MZ_TYPES_NONE || !fresh)
		return id;
	name_of(die, name, sizeof(name), 0);
	n = &t->nodes[id];
	n->name = mz_types_string(t, name);
	n->size = size_of(die, 0);
	n->opaque = hidden;
	if (is_aggregate(tag))
		n->kind = tag == DW_TAG_union_type ? MZ_TYPE_UNION : MZ_TYPE_STRUCT;
	else
		n->kind = tag == DW_TAG_array_type ? MZ_TYPE_ARRAY : MZ_TYPE_SCALAR;
	return id;
}

static bool number(Dwarf_Die *die, unsigned name, uint64_t *v)
{
	Dwarf_Attribute mem;
	Dwarf_Word w;

	if (!dwarf_attr(die, name, &mem) || dwarf_formudata(&mem, &w))
		return false;
	*v = w;
	return true;
}

/* Bit-fields are placed by bits; DWARF 3 counts them from the other end of their storage, and
 * is not supported. */
static int add_member(struct mz_types *t, uint32_t to, Dwarf_Die *die)
{
	uint64_t offset = 0, bits = 0, at, size;
	uint32_t of;
	Dwarf_Die type;

	if (!type_of(die, &type))
		return 0;
	number(die, DW_AT_data_member_location, &offset);
	size = size_of(&type, 0);
	if (number(die, DW_AT_bit_size, &bits)) {
		if (!number(die, DW_AT_data_bit_offset, &at))
			return 0; /* of DWARF 3 and before */
		at += offset * 8;
		offset = at / 8;
		size = (at + bits + 7) / 8 - offset;
	}
	of = node_of(t, &type);
	return mz_types_add_member(t, to, dwarf_diename(die), of, offset, size);
}

static int fill(struct mz_types *t, uint32_t type)
{
	const struct dwarf *d = t->source;
	Dwarf_Die die, member;
	int ret = 0;

	if (!dwarf_offdie(d->dw, t->nodes[type].from, &die) || dwarf_child(&die, &member))
		return 0;
	do {
		if (dwarf_tag(&member) == DW_TAG_member)
			ret = add_member(t, type, &member);
	} while (!ret && !dwarf_siblingof(&member, &member));
	return ret;
}

/* ---- what a call makes -------------------------------------------------------------------------
 */

struct site {
	struct mz_types *t;
	const struct mz_types_query *q;
	Dwarf_Addr pc;	 /* as the DWARF has it */
	Dwarf_Addr next; /* where the next call returns to, or not much further */
	struct mz_types_votes result, fresh, returned, cache;
};

/* The structure that a variable of this type points to. */
static uint32_t pointee(struct mz_types *t, Dwarf_Die *die)
{
	Dwarf_Die type, to;

	if (!type_of(die, &type) || !strip(&type, true, NULL) ||
	    dwarf_tag(&type) != DW_TAG_pointer_type || !type_of(&type, &to) ||
	    !strip(&to, true, NULL) || dwarf_tag(&to) != DW_TAG_structure_type ||
	    !dwarf_diename(&to) || dwarf_hasattr(&to, DW_AT_declaration))
		return MZ_TYPES_NONE;
	return node_of(t, &to);
}

/* These describe pages: they are not what is in them. */
static bool describes_pages(const char *name)
{
	return !strcmp(name, "struct page") || !strcmp(name, "struct folio") ||
	       !strcmp(name, "struct ptdesc") || !strcmp(name, "struct slab");
}

/* The expression that says where a variable is at pc: its length; 0: the variable is nowhere. */
static size_t expression(Dwarf_Attribute *a, Dwarf_Addr pc, Dwarf_Op **ops)
{
	size_t len = 0;

	return dwarf_getlocation_addr(a, pc, ops, &len, 1) == 1 ? len : 0;
}

static bool same_place(const Dwarf_Op *a, size_t na, const Dwarf_Op *b, size_t nb)
{
	if (na != nb)
		return false;
	for (size_t i = 0; i < na; i++)
		if (a[i].atom != b[i].atom || a[i].number != b[i].number)
			return false;
	return true;
}

/* Where a variable is at the call and behind it: 2 = its value is the call's result, 1 = it gets a
 * value soon, 0 = it has nothing to do with the call. */
static int gets_result(Dwarf_Die *var, Dwarf_Addr pc, Dwarf_Addr next)
{
	Dwarf_Attribute mem, *a = dwarf_attr(var, DW_AT_location, &mem);
	Dwarf_Op *before = NULL, *after;
	size_t nb, na;

	if (!a)
		return 0;
	nb = expression(a, pc - 1, &before);
	if (nb == 1 && before[0].atom == RESULT)
		return 0; /* an older result */
	for (Dwarf_Addr at = pc; at < next; at++) {
		na = expression(a, at, &after);
		if (!na || same_place(before, nb, after, na))
			continue;
		if (na == 1 && after[0].atom == RESULT)
			return 2;
		return nb ? 0 : 1;
	}
	return 0;
}

static void try_variable(struct site *s, Dwarf_Die *var)
{
	int gets = gets_result(var, s->pc, s->next);
	uint32_t type = gets ? pointee(s->t, var) : MZ_TYPES_NONE;

	if (type == MZ_TYPES_NONE || describes_pages(mz_types_name(s->t, type)))
		return;
	if (gets == 2 && mz_types_fits(s->t, type, s->q, false))
		mz_types_vote(s->t, &s->result, type, dwarf_diename(var));
	else if (gets == 1 && mz_types_fits(s->t, type, s->q, true))
		mz_types_vote(s->t, &s->fresh, type, dwarf_diename(var));
}

static void try_function(struct site *s, Dwarf_Die *function)
{
	uint32_t type = pointee(s->t, function);

	if (type != MZ_TYPES_NONE && !describes_pages(mz_types_name(s->t, type)) &&
	    mz_types_fits(s->t, type, s->q, true))
		mz_types_vote(s->t, &s->returned, type, dwarf_diename(function));
}

/* The next call behind the place: from then on, the result register holds its result. */
static void find_next(struct site *s, Dwarf_Die *scope, unsigned depth)
{
	Dwarf_Die child;

	if (depth > 2 * DEEP || dwarf_child(scope, &child))
		return;
	do {
		Dwarf_Attribute mem;
		Dwarf_Addr at;

		switch (dwarf_tag(&child)) {
		case DW_TAG_call_site:
		case DW_TAG_GNU_call_site:
			if ((dwarf_attr(&child, DW_AT_call_return_pc, &mem) ||
			     dwarf_attr(&child, DW_AT_low_pc, &mem)) &&
			    !dwarf_formaddr(&mem, &at) && at > s->pc && at < s->next)
				s->next = at;
			break;
		case DW_TAG_inlined_subroutine:
		case DW_TAG_lexical_block: find_next(s, &child, depth + 1); break;
		default: break;
		}
	} while (!dwarf_siblingof(&child, &child));
}

/* Variables of a scope, then those of the scopes within that hold the place. */
static void look_into(struct site *s, Dwarf_Die *scope, unsigned depth)
{
	Dwarf_Die child;

	if (depth > 2 * DEEP || dwarf_child(scope, &child))
		return;
	do {
		switch (dwarf_tag(&child)) {
		case DW_TAG_variable:
		case DW_TAG_formal_parameter: try_variable(s, &child); break;
		case DW_TAG_inlined_subroutine:
		case DW_TAG_lexical_block:
			if (dwarf_haspc(&child, s->pc - 1) <= 0)
				break;
			look_into(s, &child, depth + 1);
			if (dwarf_tag(&child) == DW_TAG_inlined_subroutine)
				try_function(s, &child);
			break;
		default: break;
		}
	} while (!dwarf_siblingof(&child, &child));
}

static bool named_like(const char *cache, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(cache, name, n) && (!cache[n] || !strcmp(cache + n, "_cache"));
}

/* Each kind of evidence is collected by itself: ask() decides which of them counts more. */
static void look_at_unit(struct site *s, Dwarf_Die *unit)
{
	Dwarf_Die child;

	if (dwarf_child(unit, &child))
		return;
	do {
		int tag = dwarf_tag(&child);
		const char *name;
		uint32_t type;

		if (tag == DW_TAG_subprogram && dwarf_haspc(&child, s->pc - 1) > 0) {
			find_next(s, &child, 0);
			look_into(s, &child, 0);
			try_function(s, &child);
		}
		name = tag == DW_TAG_structure_type && s->q->cache ? dwarf_diename(&child) : NULL;
		if (!name || !named_like(s->q->cache, name))
			continue;
		type = node_of(s->t, &child);
		if (type != MZ_TYPES_NONE && s->q->least == s->q->greatest &&
		    s->t->nodes[type].size == s->q->least)
			mz_types_vote(s->t, &s->cache, type, s->q->cache);
	} while (!dwarf_siblingof(&child, &child));
}

/* Of several that get the result, those that are just as large as the object count. */
static void prefer_exact(struct site *s)
{
	struct mz_types_votes exact = {0};

	for (size_t i = 0; i < s->result.n; i++)
		if (mz_types_fits(s->t, s->result.type[i], s->q, true))
			mz_types_vote(s->t, &exact, s->result.type[i], s->result.by[i]);
	if (exact.n)
		s->result = exact;
}

static int ask(struct mz_types *t, const struct mz_types_query *q, struct mz_types_answer *out)
{
	const struct dwarf *d = t->source;
	struct site s = {.t = t, .q = q, .pc = q->ip - d->bias, .next = q->ip - d->bias + NEAR};
	Dwarf_Die unit;

	if (!q->ip || !dwarf_addrdie(d->dw, s.pc - 1, &unit))
		return 0;
	look_at_unit(&s, &unit);
	prefer_exact(&s);
	if (!mz_types_decide(t, &s.result, MZ_TYPES_VARIABLE, out) &&
	    !mz_types_decide(t, &s.cache, MZ_TYPES_CACHE, out) &&
	    !mz_types_decide(t, &s.returned, MZ_TYPES_RETURNED, out))
		mz_types_decide(t, &s.fresh, MZ_TYPES_VARIABLE, out);
	return 0;
}

static const struct mz_types_ops dwarf_ops = {
	.name = "DWARF", .fill = fill, .ask = ask, .close = close_dwarf};
