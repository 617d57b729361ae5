// SPDX-License-Identifier: BSD-2-Clause
/* Parse the mangled names of Rust and write them as the source would. */
#include "symbols/rust_demangle.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define DEEPEST 128   /* paths and types inside each other */
#define STEPS	20000 /* of a name: what is referred to again is parsed again */

struct parser {
	const char *in; /* behind "_R" */
	size_t len, at;
	char *out;
	size_t size, used;
	unsigned depth, steps, skip; /* skip: parsed, not written */
	uint64_t lifetimes;	     /* that are bound around here */
	bool bad;
};

static void path(struct parser *p, bool value);
static void type(struct parser *p);
static void constant(struct parser *p);

/* ---- output --------------------------------------------------------------------------- */

static void put(struct parser *p, const char *s, size_t n)
{
	if (p->bad || p->skip)
		return;
	if (n >= p->size - p->used) {
		p->bad = true;
		return;
	}
	memcpy(p->out + p->used, s, n);
	p->used += n;
}

static void text(struct parser *p, const char *s)
{
	put(p, s, strlen(s));
}

static void number(struct parser *p, uint64_t v)
{
	char buf[24];

	put(p, buf, (size_t)snprintf(buf, sizeof(buf), "%llu", (unsigned long long)v));
}

/* ---- input ---------------------------------------------------------------------------- */

static char peek(const struct parser *p)
{
	return p->bad || p->at >= p->len ? '\0' : p->in[p->at];
}

static bool eat(struct parser *p, char c)
{
	bool is = c && peek(p) == c;

	p->at += is;
	return is;
}

static char next(struct parser *p)
{
	char c = peek(p);

	if (c)
		p->at++;
	else
		p->bad = true;
	return c;
}

static bool times_plus(uint64_t *v, uint64_t by, uint64_t plus)
{
	return !__builtin_mul_overflow(*v, by, v) && !__builtin_add_overflow(*v, plus, v);
}

static uint64_t decimal(struct parser *p)
{
	uint64_t v = 0;

	if (peek(p) < '0' || peek(p) > '9')
		p->bad = true;
	if (eat(p, '0'))
		return 0;
	while (peek(p) >= '0' && peek(p) <= '9')
		if (!times_plus(&v, 10, (uint64_t)(next(p) - '0')))
			p->bad = true;
	return v;
}

static int digit62(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'Z' ? c - 'A' + 36 : -1;
}

/* "_" is 0, "0_" is 1, and so on. */
static uint64_t base62(struct parser *p)
{
	uint64_t v = 0;

	if (eat(p, '_'))
		return 0;
	while (!p->bad && !eat(p, '_')) {
		int d = digit62(next(p));

		if (d < 0 || !times_plus(&v, 62, (uint64_t)d))
			p->bad = true;
	}
	if (v == UINT64_MAX)
		p->bad = true;
	return v + 1;
}

/* One that may be left out, behind its letter. */
static uint64_t optional62(struct parser *p, char letter)
{
	uint64_t v = eat(p, letter) ? base62(p) : UINT64_MAX;

	if (v == UINT64_MAX - 1)
		p->bad = true;
	return v + 1;
}

/* ---- nesting -------------------------------------------------------------------------- */

static bool enter(struct parser *p)
{
	if (p->depth >= DEEPEST || p->steps >= STEPS)
		p->bad = true;
	p->depth++;
	p->steps++;
	return !p->bad;
}

/* What was parsed before, again: only backwards, so that there is an end. What is not written
 * is not followed. */
static void back(struct parser *p, void (*what)(struct parser *, bool), bool value)
{
	size_t start = p->at - 1, to = (size_t)base62(p), stay = p->at;

	if (to >= start)
		p->bad = true;
	if (p->bad || p->skip)
		return;
	p->at = to;
	what(p, value);
	p->at = stay;
}

static void type_again(struct parser *p, bool value)
{
	(void)value;
	type(p);
}

static void constant_again(struct parser *p, bool value)
{
	(void)value;
	constant(p);
}

/* ---- identifiers ---------------------------------------------------------------------- */

struct ident {
	const char *name;
	size_t len;
	bool punycode;
};

/* A name cannot be longer than the rest of the symbol; a forged length ends the parser here. */
static struct ident identifier(struct parser *p)
{
	struct ident id = {.punycode = eat(p, 'u')};
	uint64_t len = decimal(p);

	eat(p, '_');
	if (p->bad || len > p->len - p->at) {
		p->bad = true;
		return (struct ident){0};
	}
	id.name = p->in + p->at;
	id.len = (size_t)len;
	p->at += id.len;
	return id;
}

/* Names outside of ASCII are stored in Punycode, as domain names are. */
static void put_ident(struct parser *p, struct ident id)
{
	char buf[4 * MZ_PUNYCODE_LETTERS + 8];
	size_t n;

	if (p->bad || !id.punycode) {
		put(p, id.name, id.len);
		return;
	}
	n = mz_rust_punycode(id.name, id.len, buf, sizeof(buf));
	if (!n)
		p->bad = true;
	put(p, buf, n);
}

/* ---- lifetimes ------------------------------------------------------------------------ */

/* Numbered from the innermost that is bound; 0 is one that has no name. */
static void lifetime(struct parser *p, uint64_t n)
{
	char name[2] = {'\'', 'a'};
	uint64_t depth;

	if (!n) {
		text(p, "'_");
		return;
	}
	if (n > p->lifetimes) {
		p->bad = !p->skip;
		return;
	}
	depth = p->lifetimes - n;
	if (depth < 26) {
		name[1] = (char)('a' + depth);
		put(p, name, 2);
		return;
	}
	text(p, "'_");
	number(p, depth);
}

/* "for<'a, 'b> "; how many, to be given back at the end. */
static uint64_t binder(struct parser *p)
{
	uint64_t n = optional62(p, 'G');

	if (!n || p->bad)
		return 0;
	if (n > 64 || p->lifetimes > 1024) {
		p->bad = true;
		return 0;
	}
	text(p, "for<");
	for (uint64_t i = 0; i < n; i++) {
		text(p, i ? ", " : "");
		p->lifetimes++;
		lifetime(p, 1);
	}
	text(p, "> ");
	return n;
}

/* ---- paths ---------------------------------------------------------------------------- */

static void generic_argument(struct parser *p)
{
	if (eat(p, 'L'))
		lifetime(p, base62(p));
	else if (eat(p, 'K'))
		constant(p);
	else
		type(p);
}

static void generic_arguments(struct parser *p)
{
	for (unsigned i = 0; !p->bad && !eat(p, 'E'); i++) {
		text(p, i ? ", " : "");
		generic_argument(p);
	}
}

/* Lower-case namespaces are ordinary names; upper-case ones are made by the compiler and have no
 * name in the source. */
static void nested(struct parser *p, bool value)
{
	char space = next(p);
	struct ident id;
	uint64_t which;

	path(p, value);
	which = optional62(p, 's');
	id = identifier(p);
	if (space >= 'a' && space <= 'z') {
		text(p, id.len ? "::" : "");
		put_ident(p, id);
	} else if (space >= 'A' && space <= 'Z') {
		text(p, "::{");
		if (space == 'C')
			text(p, "closure");
		else if (space == 'S')
			text(p, "shim");
		else
			put(p, &space, 1);
		text(p, id.len ? ":" : "");
		put_ident(p, id);
		text(p, "#");
		number(p, which);
		text(p, "}");
	} else {
		p->bad = true;
	}
}

/* <T>, <T as Trait>. The location of an impl adds nothing to its type. */
static void implementation(struct parser *p, char tag)
{
	if (tag != 'Y') {
		p->skip++;
		optional62(p, 's');
		path(p, false);
		p->skip--;
	}
	text(p, "<");
	type(p);
	if (tag != 'M') {
		text(p, " as ");
		path(p, false);
	}
	text(p, ">");
}

/* value: of a function, so that generic arguments follow "::". */
static void path(struct parser *p, bool value)
{
	char tag;

	if (!enter(p))
		return;
	tag = next(p);
	switch (tag) {
	case 'C':
		optional62(p, 's');
		put_ident(p, identifier(p));
		break;
	case 'N': nested(p, value); break;
	case 'M':
	case 'X':
	case 'Y': implementation(p, tag); break;
	case 'I':
		path(p, value);
		text(p, value ? "::<" : "<");
		generic_arguments(p);
		text(p, ">");
		break;
	case 'B': back(p, path, value); break;
	default: p->bad = true;
	}
	p->depth--;
}

/* ---- types ---------------------------------------------------------------------------- */

static const char *basic_type(char c)
{
	static const char *const names[] = {
		"i8",	 "bool", "char", "f64", "str",	"f32",	NULL,  "u8", "isize",
		"usize", NULL,	 "i32",	 "u32", "i128", "u128", "_",   NULL, NULL,
		"i16",	 "u16",	 "()",	 "...", NULL,	"i64",	"u64", "!",
	};

	return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

/* Names of calling conventions are identifiers there, with underscores for dashes. */
static void function_type(struct parser *p)
{
	uint64_t bound = binder(p);

	if (eat(p, 'U'))
		text(p, "unsafe ");
	if (eat(p, 'K')) {
		text(p, "extern \"");
		if (eat(p, 'C')) {
			text(p, "C");
		} else {
			struct ident id = identifier(p);

			for (size_t i = 0; i < id.len; i++)
				put(p, id.name[i] == '_' ? "-" : id.name + i, 1);
		}
		text(p, "\" ");
	}
	text(p, "fn(");
	generic_arguments(p);
	text(p, ")");
	if (!eat(p, 'u')) {
		text(p, " -> ");
		type(p);
	}
	p->lifetimes -= bound;
}

/* A path whose generic arguments stay open for those that are bound by name; true: it has
 * some. */
static bool open_path(struct parser *p)
{
	bool open = false;

	if (!enter(p))
		return false;
	if (eat(p, 'B')) {
		size_t start = p->at - 1, to = (size_t)base62(p), stay = p->at;

		if (to >= start)
			p->bad = true;
		if (!p->bad && !p->skip) {
			p->at = to;
			open = open_path(p);
			p->at = stay;
		}
	} else if (eat(p, 'I')) {
		path(p, false);
		text(p, "<");
		generic_arguments(p);
		open = true;
	} else {
		path(p, false);
	}
	p->depth--;
	return open;
}

/* Associated types are listed with the generic arguments, so the bracket stays open for them. */
static void dyn_trait(struct parser *p)
{
	bool open = open_path(p);

	while (eat(p, 'p')) {
		text(p, open ? ", " : "<");
		open = true;
		put_ident(p, identifier(p));
		text(p, " = ");
		type(p);
	}
	text(p, open ? ">" : "");
}

static void dyn_type(struct parser *p)
{
	uint64_t bound, life;

	text(p, "dyn ");
	bound = binder(p);
	for (unsigned i = 0; !p->bad && !eat(p, 'E'); i++) {
		text(p, i ? " + " : "");
		dyn_trait(p);
	}
	p->lifetimes -= bound;
	if (!eat(p, 'L')) {
		p->bad = true;
		return;
	}
	life = base62(p);
	if (life) {
		text(p, " + ");
		lifetime(p, life);
	}
}

static void reference(struct parser *p, bool mutable)
{
	uint64_t life = eat(p, 'L') ? base62(p) : 0;

	text(p, "&");
	if (life) {
		lifetime(p, life);
		text(p, " ");
	}
	text(p, mutable ? "mut " : "");
	type(p);
}

/* A tuple of one has a comma, or it would be the type in parentheses. */
static void tuple(struct parser *p)
{
	unsigned n = 0;

	text(p, "(");
	for (; !p->bad && !eat(p, 'E'); n++) {
		text(p, n ? ", " : "");
		type(p);
	}
	text(p, n == 1 ? ",)" : ")");
}

static void array(struct parser *p, bool sized)
{
	text(p, "[");
	type(p);
	if (sized) {
		text(p, "; ");
		constant(p);
	}
	text(p, "]");
}

static void pointer(struct parser *p, const char *kind)
{
	text(p, kind);
	type(p);
}

static void type(struct parser *p)
{
	const char *basic = basic_type(peek(p));
	char tag;

	if (!enter(p))
		return;
	if (basic) {
		p->at++;
		text(p, basic);
		p->depth--;
		return;
	}
	tag = next(p);
	switch (tag) {
	case 'R': reference(p, false); break;
	case 'Q': reference(p, true); break;
	case 'P': pointer(p, "*const "); break;
	case 'O': pointer(p, "*mut "); break;
	case 'A': array(p, true); break;
	case 'S': array(p, false); break;
	case 'T': tuple(p); break;
	case 'F': function_type(p); break;
	case 'D': dyn_type(p); break;
	case 'B': back(p, type_again, false); break;
	default: p->at -= !p->bad; path(p, false);
	}
	p->depth--;
}

/* ---- constants ------------------------------------------------------------------------ */

/* Hexadecimal up to "_"; more than 64 bits are written as they are. */
static void whole_number(struct parser *p, uint64_t *v)
{
	const char *from = p->in + p->at;
	size_t digits = 0;

	*v = 0;
	while (!p->bad && !eat(p, '_')) {
		int d = digit62(next(p));

		if (d < 0 || d > 15)
			p->bad = true;
		*v = *v << 4 | (uint64_t)(d & 15);
		digits++;
	}
	if (digits <= 16)
		return;
	text(p, "0x");
	put(p, from, digits);
	*v = UINT64_MAX;
}

/* Larger numbers than we can hold were written already, as they stood. */
static void integer(struct parser *p)
{
	size_t before = p->used;
	uint64_t v;

	whole_number(p, &v);
	if (p->used == before)
		number(p, v);
}

static void character(struct parser *p)
{
	char buf[16];
	uint64_t v;

	whole_number(p, &v);
	if (v > 0x10ffff || (v >= 0xd800 && v < 0xe000)) {
		p->bad = true;
		return;
	}
	text(p, "'");
	if (v == '\'' || v == '\\')
		text(p, "\\");
	if (v < 0x20 || v == 0x7f)
		put(p, buf, (size_t)snprintf(buf, sizeof(buf), "\\u{%x}", (unsigned)v));
	else
		put(p, buf, mz_rust_utf8(buf, (uint32_t)v));
	text(p, "'");
}

static void truth(struct parser *p)
{
	uint64_t v;

	whole_number(p, &v);
	if (v > 1)
		p->bad = true;
	text(p, v ? "true" : "false");
}

static void constant(struct parser *p)
{
	char tag;

	if (!enter(p))
		return;
	tag = next(p);
	if (tag == 'p') {
		text(p, "_");
	} else if (tag == 'B') {
		back(p, constant_again, false);
	} else if (tag == 'b') {
		truth(p);
	} else if (tag == 'c') {
		character(p);
	} else if (tag && strchr("hjmtoy", tag)) {
		integer(p);
	} else if (tag && strchr("ailnsx", tag)) {
		text(p, eat(p, 'n') ? "-" : "");
		integer(p);
	} else {
		p->bad = true;
	}
	p->depth--;
}

/* ---- names ---------------------------------------------------------------------------- */

/* The v0 form. The crate that instantiated a generic function is no part of its name. */
static void new_name(struct parser *p)
{
	/* a version would stand here; none is defined yet */
	if (peek(p) >= '0' && peek(p) <= '9') {
		p->bad = true;
		return;
	}
	path(p, true);
	if (!p->bad && peek(p) >= 'A' && peek(p) <= 'Z') { /* the crate that made the copy */
		p->skip++;
		path(p, false);
		p->skip--;
	}
}

size_t mz_rust_demangle(const char *name, char *out, size_t size)
{
	struct parser p = {.out = out, .size = size};

	if (!size)
		return 0;
	out[0] = '\0';
	if (!strncmp(name, "_ZN", 3))
		return mz_rust_demangle_old(name, out, size);
	if (strncmp(name, "_R", 2))
		return 0;
	p.in = name + 2;
	p.len = strlen(p.in);
	new_name(&p);
	/* only what a compiler adds to any name may follow: .llvm.123, .cold */
	if (p.bad || !p.used || (p.at < p.len && p.in[p.at] != '.')) {
		out[0] = '\0';
		return 0;
	}
	out[p.used] = '\0';
	return p.used;
}
