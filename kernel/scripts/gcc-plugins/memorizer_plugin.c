// SPDX-License-Identifier: GPL-2.0
/*
 * A GCC plugin that counts memory accesses: each load and store of a function
 * is reported to a run time, by calls that are jumped over while nobody counts.
 *
 * The pass is the last one on GIMPLE, so that the code is as good as without
 * it, and what it sees is what will be executed. It looks at stretches of a
 * basic block without a call. The accesses of a stretch whose addresses are
 * known before the first of them happens are a group. In front of a group
 * stands one branch:
 *
 *	nop				a jump label (key=SYMBOL), or
 *	cmpb $0, SYMBOL; jne		a flag (flag=SYMBOL)
 *
 * The other way leads to a cold block with a call for each object:
 *
 *	call PREFIX_KINDS_REGISTER
 *	nopl with the offsets
 *
 * KINDS is r, w or x (both, one count each) for one access, or rr, rw, wr, ww
 * for two accesses to the same object, so that one lookup serves two counts.
 * REGISTER holds the base pointer, wherever the compiler has it: the run time
 * has an entry for each and preserves all registers, so that the code around
 * needs to save none. The offsets are two signed 16-bit numbers that end the
 * nop. After a single access, the second is the number of bytes behind the
 * first one if the access is a copy of a structure.
 *
 * A site is the return address of its call; the second of a pair is the address
 * after it. The section .memorizer_sites, which is not loaded, says for each
 * site what is accessed: see write_site().
 *
 * x86-64 without a red zone. Options: prefix=, key= or flag=, note= (functions
 * with names that begin so are not called but are accesses to what their
 * argument points to: NOTEread, NOTEwrite, NOTEread_write).
 */
#include "gcc-plugin.h"
#include "plugin-version.h"
#include "context.h"
#include "tree.h"
#include "gimple.h"
#include "tree-pass.h"
#include "ssa.h"
#include "cfghooks.h"
#include "cfgloop.h"
#include "gimple-iterator.h"
#include "gimplify-me.h"
#include "gimplify.h"
#include "tree-cfg.h"
#include "tree-dfa.h"
#include "tree-ssa-alias.h"
#include "tree-ssa-address.h"
#include "fold-const.h"
#include "stringpool.h"
#include "attribs.h"
#include "diagnostic.h"

int plugin_is_GPL_compatible;

static struct plugin_info info = {
	.version = "1",
	.help = "prefix=NAME\tof the run time's entries\n"
		"key=SYMBOL\ta static key that says whether to count\n"
		"flag=SYMBOL\ta byte that says whether to count\n"
		"note=NAME\tprefix of functions that stand for an access\n",
};

static const char *prefix = "__memorizer_at";
static const char *note = "memorizer_note_";
static const char *key, *flag;

enum kind { READ, WRITE, BOTH };

/* One access: where it is in its block, and what it touches. */
struct touch {
	unsigned int at;	/* number of its statement */
	unsigned int known;	/* of the last statement that its address needs */
	enum kind kind;
	tree ref;		/* what is accessed, or NULL_TREE */
	tree pointer;		/* or what points there, of a note */
	tree base;		/* a pointer or the address of a variable, or NULL_TREE */
	HOST_WIDE_INT offset;	/* of the access from there */
	HOST_WIDE_INT size;
	bool range;
	location_t where;
	bool done;
};

struct group {
	gimple *after;		/* NULL: at the start of the block */
	auto_vec<touch> accesses;
};

static bool is_note(gimple *stmt, enum kind *kind)
{
	tree fn = is_gimple_call(stmt) ? gimple_call_fndecl(stmt) : NULL_TREE;
	const char *name;

	if (!fn || !DECL_NAME(fn) || gimple_call_num_args(stmt) < 1)
		return false;
	name = IDENTIFIER_POINTER(DECL_NAME(fn));
	if (strncmp(name, note, strlen(note)))
		return false;
	name += strlen(note);
	*kind = !strcmp(name, "read") ? READ : !strcmp(name, "write") ? WRITE : BOTH;
	return true;
}

/* A local variable whose address nobody else has: it may as well be a register. */
static bool is_private(tree base)
{
	struct pt_solution escaped;

	if (!DECL_P(base) || is_global_var(base))
		return false;
	if (!may_be_aliased(base))
		return true;
	memset(&escaped, 0, sizeof(escaped));
	escaped.escaped = 1;
	escaped.ipa_escaped = flag_ipa_pta != 0;
	return !pt_solution_includes(&escaped, base);
}

static bool is_counted(tree ref)
{
	tree base = get_base_address(ref);

	if (!base || int_size_in_bytes(TREE_TYPE(ref)) <= 0)
		return false;
	if (TREE_CODE(base) == SSA_NAME || CONSTANT_CLASS_P(base) ||
	    TREE_CODE(base) == CONSTRUCTOR)
		return false;
	if (!ADDR_SPACE_GENERIC_P(TYPE_ADDR_SPACE(TREE_TYPE(base))))
		return false;
	if (is_private(base))
		return false;
	return !TREE_READONLY(base) && !(VAR_P(base) && DECL_HARD_REGISTER(base));
}

static bool fits(HOST_WIDE_INT offset)
{
	return offset >= -32768 && offset <= 32767;
}

/* Split @ref into a base and a constant offset, if that is what it is. */
static void find_base(struct touch *a, tree ref)
{
	poly_int64 size, pos;
	tree offset, base;
	machine_mode mode;
	int uns, rev, vol;

	base = get_inner_reference(ref, &size, &pos, &offset, &mode, &uns, &rev, &vol);
	if (offset || !pos.is_constant())
		return;
	a->offset = pos.to_constant() >> LOG2_BITS_PER_UNIT;
	if (TREE_CODE(base) == MEM_REF) {
		a->offset += mem_ref_offset(base).force_shwi().to_constant();
		a->base = TREE_OPERAND(base, 0);
	} else if (DECL_P(base)) {
		a->base = build_fold_addr_expr(base);
	}
	if (a->base && TREE_CODE(a->base) != SSA_NAME &&
	    TREE_CODE(a->base) != ADDR_EXPR)
		a->base = NULL_TREE;
	if (!fits(a->offset))
		a->base = NULL_TREE;
}

/* What @a->base was made from, if that is a pointer and a constant: one step. */
static bool step_back(struct touch *a)
{
	gimple *def = SSA_NAME_DEF_STMT(a->base);
	struct touch inner = { };
	HOST_WIDE_INT more = 0;
	tree_code code;
	tree rhs;

	if (!is_gimple_assign(def))
		return false;
	code = gimple_assign_rhs_code(def);
	rhs = gimple_assign_rhs1(def);
	if (code == ADDR_EXPR) {
		find_base(&inner, TREE_OPERAND(rhs, 0));
		rhs = inner.base;
		more = inner.offset;
	} else if (code == POINTER_PLUS_EXPR && tree_fits_shwi_p(gimple_assign_rhs2(def))) {
		more = int_cst_value(gimple_assign_rhs2(def));
	} else if (!CONVERT_EXPR_CODE_P(code)) {
		return false;
	}
	if (!rhs || !POINTER_TYPE_P(TREE_TYPE(rhs)) || !fits(a->offset + more) ||
	    (TREE_CODE(rhs) != SSA_NAME && TREE_CODE(rhs) != ADDR_EXPR))
		return false;
	a->base = rhs;
	a->offset += more;
	return true;
}

/*
 * Go back to the pointer that the address comes from: it is known earlier, more
 * accesses share it, and its type says more.
 */
static void find_root(struct touch *a)
{
	for (int i = 0; i < 4 && a->base && TREE_CODE(a->base) == SSA_NAME; i++)
		if (!step_back(a))
			break;
}

/* The same for a note's pointer, whose address says what is accessed. */
static void find_pointer_base(struct touch *a, tree p)
{
	gimple *def = TREE_CODE(p) == SSA_NAME ? SSA_NAME_DEF_STMT(p) : NULL;
	struct touch inner = { };

	a->base = p;
	if (def && is_gimple_assign(def) && gimple_assign_rhs_code(def) == ADDR_EXPR)
		p = gimple_assign_rhs1(def);
	if (TREE_CODE(p) == ADDR_EXPR) {
		a->ref = TREE_OPERAND(p, 0);
		find_base(&inner, a->ref);
		if (inner.base) {
			a->base = inner.base;
			a->offset = inner.offset;
		}
	}
	find_root(a);
}

/* Statements of a block are numbered from 1; 0 is all that was before. */
static unsigned int number_of_def(tree name, basic_block bb)
{
	gimple *def = SSA_NAME_DEF_STMT(name);

	if (SSA_NAME_IS_DEFAULT_DEF(name) || gimple_code(def) == GIMPLE_PHI ||
	    gimple_bb(def) != bb)
		return 0;
	return gimple_uid(def);
}

struct known_walk {
	basic_block bb;
	unsigned int known;
};

static tree walk_known(tree *tp, int *, void *data)
{
	struct known_walk *w = (struct known_walk *)data;

	if (TREE_CODE(*tp) == SSA_NAME)
		w->known = MAX(w->known, number_of_def(*tp, w->bb));
	return NULL_TREE;
}

static unsigned int known_at(tree expr, basic_block bb)
{
	struct known_walk w = { bb, 0 };

	walk_tree(&expr, walk_known, &w, NULL);
	return w.known;
}

static void finish_access(struct touch *a, gimple *stmt)
{
	a->at = gimple_uid(stmt);
	a->where = gimple_location(stmt);
	a->known = known_at(a->base ? a->base : a->ref, gimple_bb(stmt));
}

static void add_ref(vec<touch> *found, gimple *stmt, tree ref, enum kind kind)
{
	struct touch a = { };

	if (!is_counted(ref))
		return;
	a.kind = kind;
	a.ref = ref;
	a.size = int_size_in_bytes(TREE_TYPE(ref));
	a.range = a.size > 16 || (a.size & (a.size - 1));
	find_base(&a, ref);
	find_root(&a);
	finish_access(&a, stmt);
	found->safe_push(a);
}

static void add_note(vec<touch> *found, gimple *stmt, enum kind kind)
{
	struct touch a = { };

	a.kind = kind;
	a.pointer = gimple_call_arg(stmt, 0);
	a.size = gimple_call_num_args(stmt) > 1 &&
		 TREE_CODE(gimple_call_arg(stmt, 1)) == INTEGER_CST ?
		 int_cst_value(gimple_call_arg(stmt, 1)) : 0;
	find_pointer_base(&a, a.pointer);
	finish_access(&a, stmt);
	found->safe_push(a);
}

static void add_accesses(vec<touch> *found, gimple *stmt)
{
	enum kind kind;

	if (is_note(stmt, &kind)) {
		add_note(found, stmt, kind);
		return;
	}
	if (!is_gimple_assign(stmt) || gimple_clobber_p(stmt))
		return;
	if (gimple_assign_load_p(stmt))
		add_ref(found, stmt, gimple_assign_rhs1(stmt), READ);
	if (gimple_store_p(stmt))
		add_ref(found, stmt, gimple_assign_lhs(stmt), WRITE);
}

/* What may change who owns an object, or never come back. */
static bool ends_stretch(gimple *stmt)
{
	enum kind kind;
	gasm *a;

	if (is_gimple_call(stmt))
		return !is_note(stmt, &kind) && !gimple_call_internal_p(stmt);
	a = dyn_cast<gasm *>(stmt);
	if (!a || !*gimple_asm_string(a))
		return false;
	return gimple_asm_volatile_p(a) || gimple_asm_clobbers_memory_p(a);
}

/*
 * Groups of a stretch, in order. An access joins if there is a place in front of
 * all stores of the group where the addresses of all its accesses are known. A
 * store may be what hands its object over to somebody who frees it; a load is
 * not, so that it may be reported after it was made. @start: the number of what
 * ended the last stretch.
 */
static void make_groups(vec<touch> *found, unsigned int start, vec<gimple *> *stmts,
			vec<group *> *groups)
{
	unsigned int store = 0, known = 0, i;
	struct group *g = NULL;
	struct touch *a;

	FOR_EACH_VEC_ELT(*found, i, a) {
		if (!g || MAX(known, a->known) >= store) {
			g = new group;
			groups->safe_push(g);
			store = UINT_MAX;
			known = start;
		}
		if (a->kind != READ)
			store = MIN(store, a->at);
		known = MAX(known, a->known);
		g->after = known ? (*stmts)[known - 1] : NULL;
		g->accesses.safe_push(*a);
	}
	found->truncate(0);
}

static void find_groups(basic_block bb, vec<group *> *groups)
{
	unsigned int n = 0, start = 0;
	auto_vec<gimple *> stmts;
	auto_vec<touch> found;
	gimple_stmt_iterator gsi;
	gimple *stmt;

	for (gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi)) {
		stmt = gsi_stmt(gsi);
		gimple_set_uid(stmt, ++n);
		stmts.safe_push(stmt);
		if (gimple_code(stmt) == GIMPLE_LABEL)
			start = n;
	}
	for (unsigned int i = start; i < n; i++) {
		stmt = stmts[i];
		if (ends_stretch(stmt)) {
			make_groups(&found, start, &stmts, groups);
			start = i + 1;
			continue;
		}
		add_accesses(&found, stmt);
	}
	make_groups(&found, start, &stmts, groups);
}

static tree string_operand(const char *s)
{
	return build_tree_list(NULL_TREE, build_string(strlen(s) + 1, s));
}

static gasm *build_asm(const char *text, tree input, tree label)
{
	vec<tree, va_gc> *inputs = NULL, *labels = NULL;
	gasm *stmt;

	/* Any register but the stack pointer, which a call changes. */
	if (input)
		vec_safe_push(inputs, build_tree_list(string_operand("l"), input));
	if (label)
		vec_safe_push(labels, build_tree_list(NULL_TREE, label));
	stmt = gimple_build_asm_vec(ggc_strdup(text), inputs, NULL, NULL, labels);
	gimple_asm_set_volatile(stmt, true);
	return stmt;
}

static const char *name_of_type(tree type)
{
	tree name = TYPE_NAME(TYPE_MAIN_VARIANT(type));

	if (name && TREE_CODE(name) == TYPE_DECL)
		name = DECL_NAME(name);
	return name ? IDENTIFIER_POINTER(name) : "";
}

/* What an access touches, for the table. */
struct member {
	tree type;		/* the outermost structure or union; NULL_TREE: none */
	HOST_WIDE_INT offset;	/* in it */
	char path[256];
};

static void put_step(struct member *m, tree parent, tree field)
{
	size_t n = strlen(m->path);

	/* What has no name is seen through. */
	if (!DECL_NAME(field))
		return;
	snprintf(m->path + n, sizeof(m->path) - n, "%s%s%s",
		 TREE_CODE(parent) == UNION_TYPE ? "|" : ".",
		 IDENTIFIER_POINTER(DECL_NAME(field)),
		 DECL_BIT_FIELD_TYPE(field) ? ":" : "");
}

static void put_element(struct member *m)
{
	size_t n = strlen(m->path);

	snprintf(m->path + n, sizeof(m->path) - n, "[]");
}

/* The members that lead to @ref, outermost first; returns what they are members of. */
static tree put_path(struct member *m, tree ref)
{
	tree outer;

	if (!handled_component_p(ref))
		return ref;
	outer = put_path(m, TREE_OPERAND(ref, 0));
	if (TREE_CODE(ref) == COMPONENT_REF)
		put_step(m, TREE_TYPE(TREE_OPERAND(ref, 0)), TREE_OPERAND(ref, 1));
	else if (TREE_CODE(ref) == ARRAY_REF || TREE_CODE(ref) == ARRAY_RANGE_REF)
		put_element(m);
	return outer;
}

/* The field of @type with the byte at @offset; NULL_TREE if there is none or several. */
static tree field_at(tree type, HOST_WIDE_INT offset)
{
	tree found = NULL_TREE;

	for (tree f = TYPE_FIELDS(type); f; f = DECL_CHAIN(f)) {
		HOST_WIDE_INT at;

		if (TREE_CODE(f) != FIELD_DECL || !DECL_SIZE_UNIT(f) || DECL_BIT_FIELD_TYPE(f) ||
		    !tree_fits_shwi_p(DECL_SIZE_UNIT(f)) || !tree_fits_shwi_p(DECL_FIELD_OFFSET(f)))
			continue;
		at = int_byte_position(f);
		if (offset < at || offset >= at + tree_to_shwi(DECL_SIZE_UNIT(f)))
			continue;
		if (found)
			return NULL_TREE;
		found = f;
	}
	return found;
}

/* The same path, by the layout: the optimizers leave offsets of pointers behind. */
static void put_layout(struct member *m, tree type, HOST_WIDE_INT offset)
{
	tree field;

	while (type) {
		if (TREE_CODE(type) == ARRAY_TYPE) {
			HOST_WIDE_INT size = int_size_in_bytes(TREE_TYPE(type));

			if (size <= 0)
				return;
			put_element(m);
			offset %= size;
			type = TREE_TYPE(type);
			continue;
		}
		field = RECORD_OR_UNION_TYPE_P(type) ? field_at(type, offset) : NULL_TREE;
		if (!field)
			return;
		put_step(m, type, field);
		offset -= int_byte_position(field);
		type = TREE_TYPE(field);
	}
}

static bool is_structure(tree type)
{
	return type && RECORD_OR_UNION_TYPE_P(type) && COMPLETE_TYPE_P(type);
}

static struct member member_of(const struct touch *a)
{
	poly_int64 size, pos;
	struct member m = { };
	tree outer, offset;
	machine_mode mode;
	int uns, rev, vol;

	outer = a->ref ? put_path(&m, a->ref) : NULL_TREE;
	if (m.path[0] && is_structure(TREE_TYPE(outer))) {
		get_inner_reference(a->ref, &size, &pos, &offset, &mode, &uns, &rev, &vol);
		m.type = TREE_TYPE(outer);
		m.offset = pos.is_constant() ? pos.to_constant() >> LOG2_BITS_PER_UNIT : 0;
		return m;
	}
	m.path[0] = '\0';
	if (outer && is_structure(TREE_TYPE(outer))) {
		m.type = TREE_TYPE(outer);	/* all of it */
		return m;
	}
	if (!a->base || TREE_CODE(a->base) != SSA_NAME || !POINTER_TYPE_P(TREE_TYPE(a->base)))
		return m;
	outer = TREE_TYPE(TREE_TYPE(a->base));
	if (!is_structure(outer) || a->offset < 0 || a->offset >= int_size_in_bytes(outer))
		return m;
	m.type = outer;
	m.offset = a->offset;
	put_layout(&m, outer, a->offset);
	return m;
}

/*
 * A row of the table: address, file, function, type, members, line, offset in the
 * type, size of the type, size of the access, what it does, and whether the type
 * is a structure (1), a union (2) or none (0). Members: .NAME of a structure,
 * |NAME of a union, [] an element, NAME: bits. Strings are in a section that the
 * linker merges, like those of debugging information.
 */
static void write_site(char *s, size_t size, const struct touch *a, int second)
{
	expanded_location where = expand_location(a->where);
	struct member m = member_of(a);

	snprintf(s, size,
		 ".pushsection .memorizer_strings,\"MS\",@progbits,1\n"
		 "661:\t.asciz \"%s\"\n662:\t.asciz \"%s\"\n663:\t.asciz \"%s\"\n664:\t.asciz \"%s\"\n"
		 "\t.popsection\n"
		 "\t.pushsection .memorizer_sites,\"\",@progbits\n"
		 "\t.quad 660b + %d\n\t.long 661b, 662b, 663b, 664b\n\t.long %d, %d, %d\n"
		 "\t.short %d\n\t.byte %d, %d\n"
		 "\t.popsection\n\t",
		 where.file ? where.file : "",
		 IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(current_function_decl)),
		 m.type ? name_of_type(m.type) : "", m.path, second, where.line,
		 (int)m.offset, m.type ? (int)int_size_in_bytes(m.type) : 0,
		 (int)MIN(a->size, 65535), (int)a->kind,
		 !m.type ? 0 : TREE_CODE(m.type) == UNION_TYPE ? 2 : 1);
}

static const char *const letters = "rwx";

/* One or two accesses through the same base. */
static void emit_call(gimple_stmt_iterator *gsi, tree base, const struct touch *a,
		      const struct touch *b)
{
	char text[4096], kinds[3] = { letters[a->kind], b ? letters[b->kind] : '\0' };
	int offset = a->base ? a->offset : 0, second;
	gasm *stmt;
	size_t n;

	second = b ? b->offset : a->range ? MIN(a->size - 1, 65535) : 0;
	n = snprintf(text, sizeof(text),
		     "call %s_%s_%%V0\n660:\t.byte 0x0f, 0x1f, 0x84, 0\n\t.short %d, %d\n\t",
		     prefix, kinds, offset, second);
	write_site(text + n, sizeof(text) - n, a, 0);
	if (b) {
		n = strlen(text);
		write_site(text + n, sizeof(text) - n, b, 1);
	}
	stmt = build_asm(text, base, NULL_TREE);
	gimple_set_location(stmt, a->where);
	gsi_insert_after(gsi, stmt, GSI_NEW_STMT);
}

/* Bits have no address: that of the structure around them stands for it. */
static tree address_expr(tree ref)
{
	while (TREE_CODE(ref) == BIT_FIELD_REF ||
	       (TREE_CODE(ref) == COMPONENT_REF &&
		DECL_BIT_FIELD_TYPE(TREE_OPERAND(ref, 1))))
		ref = TREE_OPERAND(ref, 0);
	if (TREE_CODE(ref) == TARGET_MEM_REF)
		return tree_mem_ref_addr(ptr_type_node, ref);
	return build_fold_addr_expr(unshare_expr(ref));
}

/* The address of an access in a register. */
static tree address_of(gimple_stmt_iterator *gsi, const struct touch *a)
{
	tree address = a->base ? a->base : a->ref ? address_expr(a->ref) : a->pointer;
	gimple_seq seq = NULL;

	if (TREE_CODE(address) == SSA_NAME)
		return address;
	address = force_gimple_operand(unshare_expr(address), &seq, true, NULL_TREE);
	if (TREE_CODE(address) != SSA_NAME) {
		gassign *set = gimple_build_assign(make_ssa_name(ptr_type_node),
						   fold_convert(ptr_type_node, address));
		gimple_seq_add_stmt(&seq, set);
		address = gimple_assign_lhs(set);
	}
	gsi_insert_seq_after(gsi, seq, GSI_NEW_STMT);
	return address;
}

/* Is the access to a member of the structure that its base points to? */
static bool is_inside(const struct touch *a)
{
	tree type = TREE_TYPE(TREE_TYPE(a->base));

	return RECORD_OR_UNION_TYPE_P(type) && a->offset >= 0 &&
	       a->offset < int_size_in_bytes(type);
}

/*
 * May one lookup serve both? At the same place, in the same variable, or in the
 * structure at the same address, they are in the same object.
 */
static bool is_partner(const struct touch *a, const struct touch *b)
{
	if (b->done || b->kind == BOTH || a->kind == BOTH || a->range || b->range)
		return false;
	if (!a->base || !b->base || !operand_equal_p(a->base, b->base, 0))
		return false;
	if (a->offset == b->offset || TREE_CODE(a->base) == ADDR_EXPR)
		return true;
	return (is_inside(a) && is_inside(b)) ||
	       (a->ref && TREE_CODE(a->ref) == COMPONENT_REF &&
		b->ref && TREE_CODE(b->ref) == COMPONENT_REF);
}

static void fill_cold(basic_block bb, struct group *g)
{
	gimple_stmt_iterator gsi = gsi_last_bb(bb);
	struct touch *a, *b;
	unsigned int i, j;

	FOR_EACH_VEC_ELT(g->accesses, i, a) {
		if (a->done)
			continue;
		b = NULL;
		for (j = i + 1; j < g->accesses.length() && !b; j++)
			if (is_partner(a, &g->accesses[j]))
				b = &g->accesses[j];
		if (b)
			b->done = true;
		emit_call(&gsi, address_of(&gsi, a), a, b);
	}
}

static const char *branch_text(void)
{
	static char text[512];

	if (key)
		snprintf(text, sizeof(text),
			 "1:\t.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\t"
			 ".pushsection __jump_table, \"aw\"\n\t.balign 8\n\t"
			 ".long 1b - ., %%l0 - .\n\t.quad %s - .\n\t.popsection\n\t", key);
	else
		snprintf(text, sizeof(text), "cmpb $0, %s(%%%%rip)\n\tjne %%l0\n\t", flag);
	return text;
}

/* Put the branch and the cold block of @g into @bb. */
static void insert_group(basic_block bb, struct group *g)
{
	basic_block cold;
	gimple *branch;
	gimple_stmt_iterator gsi;
	edge on, off;

	off = g->after ? split_block(bb, g->after) : split_block_after_labels(bb);
	bb = off->src;
	cold = create_empty_bb(bb);
	cold->count = profile_count::zero();
	if (current_loops)
		add_bb_to_loop(cold, bb->loop_father);
	branch = build_asm(branch_text(), NULL_TREE, gimple_block_label(cold));
	gimple_set_location(branch, g->accesses[0].where);
	gsi = gsi_last_bb(bb);
	gsi_insert_after(&gsi, branch, GSI_NEW_STMT);
	on = make_edge(bb, cold, 0);
	on->probability = profile_probability::never();
	off->probability = profile_probability::always();
	make_single_succ_edge(cold, off->dest, EDGE_FALLTHRU);
	fill_cold(cold, g);
}

static void remove_notes(basic_block bb)
{
	gimple_stmt_iterator gsi = gsi_start_bb(bb);
	enum kind kind;
	gimple *stmt;

	while (!gsi_end_p(gsi)) {
		stmt = gsi_stmt(gsi);
		if (!is_note(stmt, &kind)) {
			gsi_next(&gsi);
			continue;
		}
		unlink_stmt_vdef(stmt);
		gsi_remove(&gsi, true);
		release_defs(stmt);
	}
}

static void instrument_block(basic_block bb)
{
	auto_vec<group *> groups;
	struct group *g;

	find_groups(bb, &groups);
	/* From the last: what is before a split stays where it is. */
	while (!groups.is_empty()) {
		g = groups.pop();
		insert_group(bb, g);
		delete g;
	}
}

static bool is_left_alone(tree fn)
{
	tree attr = lookup_attribute("no_sanitize", DECL_ATTRIBUTES(fn));

	if (attr && TREE_VALUE(attr) &&
	    (tree_to_uhwi(TREE_VALUE(attr)) & SANITIZE_THREAD))
		return true;
	return lookup_attribute("no_sanitize_thread", DECL_ATTRIBUTES(fn)) ||
	       lookup_attribute("naked", DECL_ATTRIBUTES(fn));
}

static unsigned int instrument_function(function *fn)
{
	bool alone = is_left_alone(fn->decl);
	auto_vec<basic_block> blocks;
	basic_block bb;
	unsigned int i;

	FOR_EACH_BB_FN(bb, fn)
		blocks.safe_push(bb);
	FOR_EACH_VEC_ELT(blocks, i, bb)
		if (!alone)
			instrument_block(bb);
	FOR_EACH_BB_FN(bb, fn)
		remove_notes(bb);
	free_dominance_info(CDI_DOMINATORS);
	free_dominance_info(CDI_POST_DOMINATORS);
	return 0;
}

static const struct pass_data memorizer_data = {
	.type = GIMPLE_PASS,
	.name = "memorizer",
	.optinfo_flags = OPTGROUP_NONE,
	.tv_id = TV_NONE,
	.properties_required = PROP_ssa | PROP_cfg,
	.properties_provided = 0,
	.properties_destroyed = 0,
	.todo_flags_start = 0,
	.todo_flags_finish = TODO_update_ssa_only_virtuals,
};

class memorizer_pass : public gimple_opt_pass {
public:
	memorizer_pass() : gimple_opt_pass(memorizer_data, g) { }
	unsigned int execute(function *fn) final override
	{
		return instrument_function(fn);
	}
};

/* What is left alone must not become a part of what is not. */
static void keep_apart(void *event, void *)
{
	tree fn = (tree)event;

	if (TREE_CODE(fn) == FUNCTION_DECL && is_left_alone(fn) &&
	    !lookup_attribute("always_inline", DECL_ATTRIBUTES(fn)))
		DECL_UNINLINABLE(fn) = 1;
}

static bool take_option(const struct plugin_argument *arg)
{
	if (!arg->value)
		return false;
	if (!strcmp(arg->key, "prefix"))
		prefix = arg->value;
	else if (!strcmp(arg->key, "note"))
		note = arg->value;
	else if (!strcmp(arg->key, "key"))
		key = arg->value;
	else if (!strcmp(arg->key, "flag"))
		flag = arg->value;
	else
		return false;
	return true;
}

int plugin_init(struct plugin_name_args *plugin, struct plugin_gcc_version *version)
{
	struct register_pass_info pass = {
		.pass = new memorizer_pass(),
		.reference_pass_name = "optimized",
		.ref_pass_instance_number = 1,
		.pos_op = PASS_POS_INSERT_AFTER,
	};

	if (!plugin_default_version_check(version, &gcc_version)) {
		error("memorizer: made for another version of GCC");
		return 1;
	}
	for (int i = 0; i < plugin->argc; i++) {
		if (take_option(&plugin->argv[i]))
			continue;
		error("memorizer: wrong option %qs", plugin->argv[i].key);
		return 1;
	}
	if (!key == !flag) {
		error("memorizer: one of the options key and flag is needed");
		return 1;
	}
	register_callback(plugin->base_name, PLUGIN_INFO, NULL, &info);
	register_callback(plugin->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &pass);
	register_callback(plugin->base_name, PLUGIN_FINISH_PARSE_FUNCTION, keep_apart, NULL);
	return 0;
}
