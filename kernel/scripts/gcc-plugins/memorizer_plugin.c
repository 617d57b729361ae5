// SPDX-License-Identifier: GPL-2.0
/*
 * A GCC plugin that counts memory accesses: each load and store of a function
 * is reported to a run time, by calls that are jumped over while nobody counts.
 *
 * The pass is the last one on GIMPLE, so that the code is as good as without
 * it, and what it sees is what will be executed. It looks at stretches of a
 * basic block without a call. The accesses of a stretch whose addresses are
 * known before the first of them happens are a group, and so are those of later
 * blocks that run whenever this one does, if nothing is called on the way. In front
 * of a group stands one branch:
 *
 *	nop				a jump label (key=SYMBOL), or
 *	cmpb $0, SYMBOL; jne		a flag (flag=SYMBOL)
 *
 * The other way leads to a cold block with a call for each object:
 *
 *	lea ADDRESS, %r11
 *	call PREFIX_KINDS
 *	jmp back		or a nop, if another call follows
 *	nopl MORE(%rax)		is never executed
 *
 * KINDS is r, w or x (both, one count each) for one access, or rr, rw, wr, ww
 * for two accesses to the same object, so that one lookup serves two counts.
 * Some accesses have entries of their own, by the ending of the name:
 *
 *	_image	a variable (option image=MACRO; not if the macro is defined,
 *		because variables may be anywhere then)
 *	_page	what is pointed to as one of the structures of page=TYPE,...
 *	_range	a copy of a structure
 *
 * MORE, 16 bits, eight bytes after the call, is the distance of the second
 * access of a pair from the first, or the number of bytes that follow the first
 * byte of a copy. The run time may use %r8 to %r11, which the compiler gives
 * away last, and preserves all other registers, so that the straight line saves
 * none.
 *
 * A site is the return address of its call; the second of a pair is the address
 * after it. The section .memorizer_sites, which is not loaded, says for each
 * site what is accessed: see write_site().
 *
 * x86-64 without a red zone. Options: prefix=, key= or flag=, image=, page=,
 * and note=: a call of NOTEread, NOTEwrite or NOTEread_write is not made, but
 * stands for an access to what its argument points to.
 */
#include "gcc-plugin.h"
#include "plugin-version.h"
#include "context.h"
#include "tree.h"
#include "gimple.h"
#include "tree-pass.h"
#include "ssa.h"
#include "cfghooks.h"
#include "cfganal.h"
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
#include "c-family/c-pragma.h"
#include "cpplib.h"

int plugin_is_GPL_compatible;

static struct plugin_info info = {
	.version = "1",
	.help = "prefix=NAME\tof the run time's entries\n"
		"key=SYMBOL\ta static key that says whether to count\n"
		"flag=SYMBOL\ta byte that says whether to count\n"
		"image=MACRO\tvariables are in the image if this is not defined\n"
		"page=TYPE,...\tstructures whose accesses have entries of their own\n"
		"note=NAME\tprefix of functions that stand for an access\n",
};

static const char *prefix = "__memorizer_at";
static const char *note = "memorizer_note_";
static const char *key, *flag, *image, *page;

/* Of the function at hand: see has_scratch_variables(). */
static bool keeps_scratch;

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
	basic_block bb;
	gimple *after;		/* NULL: at the start of the block */
	bool first, last;	/* nothing in the block ends a stretch before or after it */
	auto_vec<touch> accesses;
};

/* Of the function at hand: blocks with something that ends a stretch, by index. */
static bitmap enders;

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

/* Structures that a call passes by value are read before it. */
static void add_arguments(vec<touch> *found, gimple *call)
{
	for (unsigned int i = 0; i < gimple_call_num_args(call); i++) {
		tree arg = gimple_call_arg(call, i);

		if (!is_gimple_reg_type(TREE_TYPE(arg)) && is_gimple_lvalue(arg))
			add_ref(found, call, arg, READ);
	}
}

/*
 * A structure that a call returns is written after it, where nothing but a report
 * of the store can stand. A call that ends its block, as it may throw, has no such place.
 */
static void add_result(vec<touch> *found, gimple *call)
{
	unsigned int n = found->length();

	if (!gimple_store_p(call) || stmt_ends_bb_p(call))
		return;
	add_ref(found, call, gimple_call_lhs(call), WRITE);
	if (found->length() > n)
		found->last().at++;
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
	/* A jump label does nothing but jump. */
	if (gimple_asm_nlabels(a) && strstr(gimple_asm_string(a), "__jump_table"))
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
			basic_block bb, vec<group *> *groups)
{
	unsigned int store = 0, known = 0, i;
	struct group *g = NULL;
	struct touch *a;

	FOR_EACH_VEC_ELT(*found, i, a) {
		if (!g || MAX(known, a->known) >= store) {
			g = new group;
			g->bb = bb;
			g->first = !bitmap_bit_p(enders, bb->index);
			g->last = true;
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
	unsigned int n = 0, start = 0, begin = groups->length();
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
			if (is_gimple_call(stmt))
				add_arguments(&found, stmt);
			make_groups(&found, start, &stmts, bb, groups);
			for (unsigned int j = begin; j < groups->length(); j++)
				(*groups)[j]->last = false;
			bitmap_set_bit(enders, bb->index);
			start = i + 1;
			if (is_gimple_call(stmt))
				add_result(&found, stmt);
			continue;
		}
		add_accesses(&found, stmt);
	}
	make_groups(&found, start, &stmts, bb, groups);
}

#define MAX_BETWEEN	32

/* Is there no call, no loop and no end on any way from @from to @to? */
static bool is_clear(basic_block from, basic_block to)
{
	auto_vec<basic_block> todo;
	auto_bitmap seen;
	edge_iterator ei;
	basic_block bb;
	edge e;

	todo.safe_push(from);
	for (unsigned int n = 0; !todo.is_empty(); n++) {
		bb = todo.pop();
		FOR_EACH_EDGE(e, ei, bb->succs) {
			if (e->flags & EDGE_COMPLEX)
				return false;
			if (e->dest == to || !bitmap_set_bit(seen, e->dest->index))
				continue;
			if (n == MAX_BETWEEN || e->dest == from ||
			    e->dest == EXIT_BLOCK_PTR_FOR_FN(cfun) ||
			    bitmap_bit_p(enders, e->dest->index) ||
			    e->dest->loop_father != from->loop_father)
				return false;
			todo.safe_push(e->dest);
		}
	}
	return true;
}

/* Does @b run once after each time that @a does? */
static bool runs_after(basic_block a, basic_block b)
{
	return a != b && dominated_by_p(CDI_DOMINATORS, b, a) &&
	       dominated_by_p(CDI_POST_DOMINATORS, a, b) &&
	       a->loop_father == b->loop_father && is_clear(a, b);
}

static tree walk_unknown(tree *tp, int *, void *data)
{
	const struct group *g = (const struct group *)data;
	gimple *def;

	if (TREE_CODE(*tp) != SSA_NAME || SSA_NAME_IS_DEFAULT_DEF(*tp))
		return NULL_TREE;
	def = SSA_NAME_DEF_STMT(*tp);
	if (gimple_bb(def) != g->bb)
		return dominated_by_p(CDI_DOMINATORS, g->bb, gimple_bb(def)) ?
		       NULL_TREE : *tp;
	if (gimple_code(def) == GIMPLE_PHI || (g->after && gimple_uid(def) <= gimple_uid(g->after)))
		return NULL_TREE;
	return *tp;
}

/* Is the address of @a known where @g is reported? */
static bool is_known(const struct touch *a, struct group *g)
{
	tree expr = a->base ? a->base : a->ref;

	return !walk_tree(&expr, walk_unknown, g, NULL);
}

/* Let @g report what it can of @later, too. */
static void take_from(struct group *g, struct group *later)
{
	unsigned int i, kept = 0;
	struct touch *a;

	FOR_EACH_VEC_ELT(later->accesses, i, a) {
		if (is_known(a, g))
			g->accesses.safe_push(*a);
		else
			later->accesses[kept++] = *a;
	}
	later->accesses.truncate(kept);
}

/* @groups: those of a block before those of the blocks that it dominates. */
static void share_groups(vec<group *> *groups)
{
	struct group *g, *later;
	unsigned int i, j;

	FOR_EACH_VEC_ELT(*groups, i, g) {
		if (!g->last || (g->bb->flags & BB_IRREDUCIBLE_LOOP))
			continue;
		for (j = i + 1; groups->iterate(j, &later); j++)
			if (later->first && runs_after(g->bb, later->bb))
				take_from(g, later);
	}
}

static tree string_operand(const char *s)
{
	return build_tree_list(NULL_TREE, build_string(strlen(s) + 1, s));
}

static gasm *build_branch(const char *text, tree label)
{
	vec<tree, va_gc> *labels = NULL;
	gasm *stmt;

	vec_safe_push(labels, build_tree_list(NULL_TREE, label));
	stmt = gimple_build_asm_vec(ggc_strdup(text), NULL, NULL, NULL, labels);
	gimple_asm_set_volatile(stmt, true);
	return stmt;
}

/* What the run time may use. */
static const char *const scratch[] = { "r8", "r9", "r10", "r11" };

/* @constraint: of @operand, %0 in @text; @back: where it jumps to, or NULL_TREE. */
static gasm *build_report(const char *text, const char *constraint, tree operand, tree back)
{
	vec<tree, va_gc> *inputs = NULL, *clobbers = NULL, *labels = NULL;
	gasm *stmt;

	if (back)
		vec_safe_push(labels, build_tree_list(NULL_TREE, back));

	vec_safe_push(inputs, build_tree_list(string_operand(constraint), operand));
	for (unsigned int i = 0; !keeps_scratch && i < ARRAY_SIZE(scratch); i++)
		vec_safe_push(clobbers, string_operand(scratch[i]));
	stmt = gimple_build_asm_vec(ggc_strdup(text), inputs, NULL, clobbers, labels);
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

#define SAVE_SCRATCH	"pushq %%r8; pushq %%r9; pushq %%r10; pushq %%r11\n\t"
#define RESTORE_SCRATCH	"popq %%r11; popq %%r10; popq %%r9; popq %%r8\n\t"

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

/* A pointer to the access, or to what it is at an offset from. */
static tree pointer_of(gimple_stmt_iterator *gsi, const struct touch *a)
{
	tree address = a->base ? a->base : a->ref ? address_expr(a->ref) : a->pointer;
	gimple_seq seq = NULL;

	if (TREE_CODE(address) == SSA_NAME || is_gimple_min_invariant(address))
		return address;
	address = force_gimple_operand(unshare_expr(address), &seq, true, NULL_TREE);
	if (seq)
		gsi_insert_seq_after(gsi, seq, GSI_CONTINUE_LINKING);
	return address;
}

/* The first byte of the access, as an operand in memory. */
static tree byte_of(gimple_stmt_iterator *gsi, const struct touch *a)
{
	tree pointer = pointer_of(gsi, a);
	tree offset = build_int_cst(build_pointer_type(char_type_node),
				    a->base ? a->offset : 0);

	return fold_build2(MEM_REF, char_type_node, pointer, offset);
}

/*
 * A function with variables in registers that the run time uses: they are saved
 * around the call, and the address is in a register, as the stack pointer moves.
 */
static bool has_scratch_variables(function *fn)
{
	unsigned int i;
	tree var;

	FOR_EACH_LOCAL_DECL(fn, i, var) {
		const char *name;

		if (!VAR_P(var) || is_global_var(var) || !DECL_HARD_REGISTER(var))
			continue;
		name = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(var));
		for (unsigned int j = 0; j < ARRAY_SIZE(scratch); j++)
			if (strstr(name, scratch[j]))
				return true;
	}
	return false;
}

static tree report_operand(gimple_stmt_iterator *gsi, const struct touch *a)
{
	tree byte = byte_of(gsi, a);
	gassign *set;

	if (!keeps_scratch)
		return byte;
	set = gimple_build_assign(make_ssa_name(ptr_type_node),
				  fold_convert(ptr_type_node, build_fold_addr_expr(byte)));
	gsi_insert_after(gsi, set, GSI_NEW_STMT);
	return gimple_assign_lhs(set);
}

/* Is the access to a variable, and where variables are is known? */
static bool is_in_image(const struct touch *a)
{
	tree ref = a->ref;

	if (!image || cpp_defined(parse_in, (const unsigned char *)image, strlen(image)))
		return false;
	if (a->base)
		ref = TREE_CODE(a->base) == ADDR_EXPR ? TREE_OPERAND(a->base, 0) : NULL_TREE;
	while (ref && handled_component_p(ref))
		ref = TREE_OPERAND(ref, 0);
	return ref && VAR_P(ref) && is_global_var(ref);
}

/* Is it to one of the structures that the option names? */
static bool is_in_page(const struct touch *a)
{
	const char *name, *at = page;
	size_t n;

	if (!page || !a->base || TREE_CODE(a->base) != SSA_NAME)
		return false;
	name = name_of_type(TREE_TYPE(TREE_TYPE(a->base)));
	n = strlen(name);
	for (; n && (at = strstr(at, name)); at += n)
		if ((at == page || at[-1] == ',') && (!at[n] || at[n] == ','))
			return true;
	return false;
}

static const char *ending(const struct touch *a)
{
	return a->range ? "_range" : is_in_image(a) ? "_image" : is_in_page(a) ? "_page" : "";
}

/*
 * What follows the call: the way back, with MORE behind it where nobody goes, or a nop
 * that ends in it.
 */
#define WAY_BACK	"660:\t.byte 0xe9\n\t.long %%l1 - . - 4\n\t" \
			".byte 0x0f, 0x1f, 0x80\n\t.short %d, 0\n\t"
#define WAY_ON		"660:\t.byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0\n\t.short 0, %d\n\t"

/* One or two accesses through the same base. @back: see build_report(). */
static void emit_call(gimple_stmt_iterator *gsi, const struct touch *a, const struct touch *b,
		      tree back)
{
	char text[4096], kinds[3] = { letters[a->kind], b ? letters[b->kind] : '\0' };
	HOST_WIDE_INT more = b ? b->offset - a->offset : a->range ? MIN(a->size - 1, 65535) : 0;
	gasm *stmt;
	size_t n;

	n = snprintf(text, sizeof(text), "%s %%0, %%%%r11\n\tcall %s_%s%s\n",
		     keeps_scratch ? SAVE_SCRATCH "movq" : "leaq", prefix, kinds,
		     ending(a));
	n += snprintf(text + n, sizeof(text) - n, back ? WAY_BACK : WAY_ON, (int)(short)more);
	if (keeps_scratch)
		n += snprintf(text + n, sizeof(text) - n, "%s", RESTORE_SCRATCH);
	write_site(text + n, sizeof(text) - n, a, 0);
	if (b) {
		n = strlen(text);
		write_site(text + n, sizeof(text) - n, b, 1);
	}
	stmt = build_report(text, keeps_scratch ? "l" : "m", report_operand(gsi, a), back);
	gimple_set_location(stmt, a->where);
	gsi_insert_after(gsi, stmt, GSI_NEW_STMT);
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
	if (!a->base || !b->base || !operand_equal_p(a->base, b->base, 0) ||
	    !fits(b->offset - a->offset))
		return false;
	if (a->offset == b->offset || TREE_CODE(a->base) == ADDR_EXPR)
		return true;
	return (is_inside(a) && is_inside(b)) ||
	       (a->ref && TREE_CODE(a->ref) == COMPONENT_REF &&
		b->ref && TREE_CODE(b->ref) == COMPONENT_REF);
}

/* The partner of the access @i of @g, if it has one. */
static struct touch *find_partner(struct group *g, unsigned int i)
{
	for (unsigned int j = i + 1; j < g->accesses.length(); j++)
		if (is_partner(&g->accesses[i], &g->accesses[j]))
			return &g->accesses[j];
	return NULL;
}

/* @back: where the last call leads, or NULL_TREE. */
static void fill_cold(basic_block bb, struct group *g, tree back)
{
	gimple_stmt_iterator gsi = gsi_last_bb(bb);
	struct touch *a, *b, *last = NULL, *last_b = NULL;
	unsigned int i;

	FOR_EACH_VEC_ELT(g->accesses, i, a) {
		if (a->done)
			continue;
		b = find_partner(g, i);
		if (b)
			b->done = true;
		if (last)
			emit_call(&gsi, last, last_b, NULL_TREE);
		last = a;
		last_b = b;
	}
	emit_call(&gsi, last, last_b, back);
}

/* The calls in @cold, and the way from there to @next. */
static void make_cold(basic_block cold, struct group *g, basic_block next)
{
	gimple_stmt_iterator gsi;
	basic_block never;
	gasm *nothing;

	if (keeps_scratch) {
		make_single_succ_edge(cold, next, EDGE_FALLTHRU);
		fill_cold(cold, g, NULL_TREE);
		return;
	}
	/* The last call jumps; what would be behind it is never reached. */
	fill_cold(cold, g, gimple_block_label(next));
	never = create_empty_bb(cold);
	never->count = profile_count::zero();
	if (current_loops)
		add_bb_to_loop(never, current_loops->tree_root);
	gsi = gsi_start_bb(never);
	/* It has something in it, or else GCC may take it away and put a jump there. */
	nothing = gimple_build_asm_vec("", NULL, NULL, NULL, NULL);
	gimple_asm_set_volatile(nothing, true);
	gsi_insert_after(&gsi, nothing, GSI_NEW_STMT);
	gsi_insert_after(&gsi, gimple_build_call(builtin_decl_implicit(BUILT_IN_UNREACHABLE), 0),
			 GSI_NEW_STMT);
	make_edge(cold, next, 0)->probability = profile_probability::always();
	make_edge(cold, never, EDGE_FALLTHRU)->probability = profile_probability::never();
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
	branch = build_branch(branch_text(), gimple_block_label(cold));
	gimple_set_location(branch, g->accesses[0].where);
	gsi = gsi_last_bb(bb);
	gsi_insert_after(&gsi, branch, GSI_NEW_STMT);
	on = make_edge(bb, cold, 0);
	on->probability = profile_probability::never();
	off->probability = profile_probability::always();
	make_cold(cold, g, off->dest);
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

static void instrument_blocks(function *fn)
{
	int *order = XNEWVEC(int, n_basic_blocks_for_fn(fn));
	auto_vec<group *> groups;
	struct group *g;
	int n;

	calculate_dominance_info(CDI_DOMINATORS);
	calculate_dominance_info(CDI_POST_DOMINATORS);
	loop_optimizer_init(AVOID_CFG_MODIFICATIONS | LOOPS_HAVE_MARKED_IRREDUCIBLE_REGIONS);
	enders = BITMAP_ALLOC(NULL);
	n = pre_and_rev_post_order_compute_fn(fn, NULL, order, false);
	for (int i = 0; i < n; i++)
		find_groups(BASIC_BLOCK_FOR_FN(fn, order[i]), &groups);
	share_groups(&groups);
	loop_optimizer_finalize();
	free_dominance_info(CDI_DOMINATORS);
	free_dominance_info(CDI_POST_DOMINATORS);
	/* From the last: what is before a split stays where it is. */
	while (!groups.is_empty()) {
		g = groups.pop();
		if (!g->accesses.is_empty())
			insert_group(g->bb, g);
		delete g;
	}
	BITMAP_FREE(enders);
	XDELETEVEC(order);
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
	basic_block bb;

	keeps_scratch = has_scratch_variables(fn);
	if (!is_left_alone(fn->decl))
		instrument_blocks(fn);
	FOR_EACH_BB_FN(bb, fn)
		remove_notes(bb);
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
	else if (!strcmp(arg->key, "image"))
		image = arg->value;
	else if (!strcmp(arg->key, "page"))
		page = arg->value;
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
