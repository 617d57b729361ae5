// SPDX-License-Identifier: BSD-2-Clause
/* Parse kallsyms into functions and variables sorted by address. */
#include "symbols/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/regular.h"

/* A kernel has some 20 MB of them at the very most. */
#define MAX_FILE (256u << 20)

/* Offsets into the text instead of pointers keep the table small: a kernel has 200,000 symbols. */
struct symbol {
	uint64_t addr;
	uint32_t name;
	uint32_t module; /* offset of its name; 0 = none */
	uint32_t file;	 /* of the source; 0 = not known */
};

struct mz_kallsyms {
	char *text;
	size_t len;
	struct symbol *syms; /* functions */
	size_t count;
	struct symbol *data; /* variables */
	size_t variables;
	bool has_files;
	bool table; /* it has lines of global_table */
	bool exact;
};

/* /proc/kallsyms has no size, so it is read until the end. The bound keeps a wrong file from
 * filling memory. */
static int read_all(struct mz_kallsyms *k, const char *path, struct mz_error *err)
{
	int fd = mz_open_regular(path, NULL);
	bool room = true;
	size_t cap = 0;
	ssize_t n = 1;

	if (fd < 0)
		return mz_fail(err, errno, "%s: cannot open: %s", path, strerror(errno));
	while (n > 0 && k->len < MAX_FILE) {
		if (cap - k->len < 65536) {
			char *p = realloc(k->text, cap ? cap * 2 : 1 << 20);

			room = p != NULL;
			if (!room)
				break;
			k->text = p;
			cap = cap ? cap * 2 : 1 << 20;
		}
		n = read(fd, k->text + k->len, cap - k->len - 1);
		k->len += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	if (!room)
		return mz_fail_memory(err);
	if (n < 0)
		return mz_fail(err, EIO, "%s: cannot read", path);
	if (n)
		return mz_fail(err, EFBIG, "%s: too large for a list of symbols", path);
	k->text[k->len] = '\0';
	return 0;
}

enum what { OTHER, FUNCTION, VARIABLE };

/* The letters of nm. Absolute symbols are constants, which contain no address. */
static enum what kind_of(char letter)
{
	return strchr("tTwW", letter) ? FUNCTION : strchr("bBdDrRvV", letter) ? VARIABLE : OTHER;
}

/* One line of global_table, "ADDR SIZE NAME SOURCE": a variable. Our kernel has a dash or
 * "[MODULE]" in the place of the source, which it does not know. */
static enum what parse_global(struct mz_kallsyms *k, char *p, struct symbol *s)
{
	size_t digits = strspn(p, "0123456789");

	if (!digits || p[digits] != ' ')
		return OTHER;
	p += digits + 1;
	k->table = true;
	s->name = (uint32_t)(p - k->text);
	s->module = s->file = 0;
	p += strcspn(p, " \r");
	if (*p == ' ' && p[1] == '[') {
		s->module = (uint32_t)(p + 2 - k->text);
		p[2 + strcspn(p + 2, "]\r")] = '\0';
	} else if (*p == ' ' && p[1] && (p[1] != '-' || p[2])) {
		s->file = (uint32_t)(p + 1 - k->text);
		p[1 + strcspn(p + 1, " \r")] = '\0';
	}
	*p = '\0';
	return k->text[s->name] ? VARIABLE : OTHER;
}

/* The rest of a line: a file. */
static void parse_file(struct mz_kallsyms *k, char *p, struct symbol *s)
{
	p += strspn(p, " \t");
	if (!*p || *p == '\r')
		return;
	s->file = (uint32_t)(p - k->text);
	p[strcspn(p, " \t\r")] = '\0';
}

/* One line, "ADDR T NAME [MODULE] FILE", with or without the last two. Ends its names in place. */
static enum what parse(struct mz_kallsyms *k, char *line, struct symbol *s)
{
	enum what what;
	char *end, *p;

	s->addr = strtoull(line, &end, 16);
	if (end == line || end[0] != ' ' || !end[1])
		return OTHER;
	if (end[1] >= '0' && end[1] <= '9')
		return parse_global(k, end + 1, s);
	if (end[2] != ' ')
		return OTHER;
	what = kind_of(end[1]);
	if (what == OTHER)
		return OTHER;
	p = end + 3;
	s->name = (uint32_t)(p - k->text);
	s->module = s->file = 0;
	p += strcspn(p, " \t\r");
	if (*p) {
		*p++ = '\0';
		p += strspn(p, " \t");
		if (*p == '[') {
			s->module = (uint32_t)(p + 1 - k->text);
			p += strcspn(p, "]\r");
			if (*p)
				*p++ = '\0';
		}
		parse_file(k, p, s);
	}
	return k->text[s->name] ? what : OTHER;
}

/* Symbols of one address stay in the order of the file, so that the first name is the same each
 * time. */
static int compare(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return MZ_ORDER(x->addr, y->addr) ?: MZ_ORDER(x->name, y->name);
}

/* The kernel's list is nearly always sorted; only modules break the order. A check is cheaper
 * than sorting 200,000 symbols. */
static void sort(struct symbol *s, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (s[i - 1].addr <= s[i].addr)
			continue;
		qsort(s, n, sizeof(*s), compare);
		return;
	}
}

/* Names stay in the text, which is split in place: symbols hold offsets, and nothing is
 * copied. All addresses being 0 means that kptr_restrict hides them. */
static int parse_all(struct mz_kallsyms *k, const char *path, struct mz_error *err)
{
	size_t lines = 1;
	bool nonzero = false;

	for (const char *p = k->text; (p = strchr(p, '\n')); p++)
		lines++;
	k->syms = malloc(lines * sizeof(*k->syms));
	k->data = malloc(lines * sizeof(*k->data));
	if (!k->syms || !k->data)
		return mz_fail_memory(err);
	for (char *line = k->text, *next; line; line = next) {
		enum what what;
		struct symbol s;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		what = parse(k, line, &s);
		if (what == FUNCTION)
			k->syms[k->count++] = s;
		else if (what == VARIABLE)
			k->data[k->variables++] = s;
		nonzero |= what != OTHER && s.addr;
		k->has_files |= what != OTHER && s.file;
	}
	if (!k->count && !k->table)
		return mz_fail(err, EINVAL, "%s: contains no kernel function", path);
	if (!nonzero)
		return mz_fail(err, EPERM,
			       "%s: the kernel hides its addresses; copy it as root, after sysctl "
			       "kernel.kptr_restrict=1",
			       path);
	sort(k->syms, k->count);
	sort(k->data, k->variables);
	return 0;
}

struct mz_kallsyms *mz_kallsyms_load(const char *path, struct mz_error *err)
{
	struct mz_kallsyms *k = mz_zalloc(sizeof(*k), err);

	if (!k)
		return NULL;
	if (read_all(k, path, err) < 0 || parse_all(k, path, err) < 0) {
		mz_kallsyms_free(k);
		return NULL;
	}
	return k;
}

/* A trace that carries its symbols has them in memory. They are copied, since the parser ends names
 * in place. */
struct mz_kallsyms *mz_kallsyms_parse(const char *data, size_t len, const char *name,
				      struct mz_error *err)
{
	struct mz_kallsyms *k = calloc(1, sizeof(*k));

	if (k)
		k->text = malloc(len + 1);
	if (!k || !k->text) {
		mz_kallsyms_free(k);
		mz_fail_memory(err);
		return NULL;
	}
	memcpy(k->text, data, len);
	k->text[len] = '\0';
	k->len = len;
	if (parse_all(k, name, err) < 0) {
		mz_kallsyms_free(k);
		return NULL;
	}
	return k;
}

void mz_kallsyms_exact(struct mz_kallsyms *k)
{
	k->exact = true;
}

void mz_kallsyms_free(struct mz_kallsyms *k)
{
	if (!k)
		return;
	free(k->text);
	free(k->syms);
	free(k->data);
	free(k);
}

size_t mz_kallsyms_count(const struct mz_kallsyms *k)
{
	return k->count;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sections of one module are between those of others, so a module may occur several times. */
const char **mz_kallsyms_modules(const struct mz_kallsyms *k, size_t *n)
{
	const char **names = NULL, *before = "";
	size_t cap = 0, met = 0;

	*n = 0;
	if (!mz_array_room((void **)&names, &cap, 0, sizeof(*names)))
		return NULL;
	for (size_t i = 0; i < k->count; i++) {
		const char *of = k->syms[i].module ? k->text + k->syms[i].module : "";

		if (!*of || !strcmp(of, before))
			continue;
		if (!mz_array_room((void **)&names, &cap, met, sizeof(*names))) {
			free(names);
			return NULL;
		}
		names[met++] = before = of;
	}
	qsort(names, met, sizeof(*names), by_text);
	for (size_t i = 0; i < met; i++)
		if (!*n || strcmp(names[*n - 1], names[i]))
			names[(*n)++] = names[i];
	return names;
}

/* "__lock_text_start", "_stext": where something begins, not what. */
static bool is_mark(const char *name)
{
	static const char *const ends[] = {"start", "end", "stop", "begin", "text", "data"};
	size_t n = strlen(name);

	for (size_t i = 0; *name == '_' && i < sizeof(ends) / sizeof(*ends); i++) {
		size_t len = strlen(ends[i]);

		if (n > len && !strcmp(name + n - len, ends[i]))
			return true;
	}
	return false;
}

/* The symbol at the highest address that is not above addr; of several there, the first
 * that is no mark. */
static const struct symbol *find(const struct mz_kallsyms *k, const struct symbol *s, size_t n,
				 uint64_t addr)
{
	size_t lo = mz_array_not_above(s, n, sizeof(*s), offsetof(struct symbol, addr), addr), at;

	/* an address more than 1 MiB behind the last symbol belongs to no function */
	if (!lo || !s[lo - 1].addr || addr - s[lo - 1].addr > 1u << 20)
		return NULL;
	for (at = lo - 1; at && s[at - 1].addr == s[lo - 1].addr; at--)
		;
	for (size_t i = at; i < lo; i++)
		if (!is_mark(k->text + s[i].name))
			return &s[i];
	return &s[at];
}

const char *mz_kallsyms_find(const struct mz_kallsyms *k, uint64_t addr, uint64_t *offset,
			     const char **module)
{
	const struct symbol *s = find(k, k->syms, k->count, addr);

	if (!s || (k->exact && s->addr != addr))
		return NULL;
	if (offset)
		*offset = addr - s->addr;
	if (module)
		*module = s->module ? k->text + s->module : NULL;
	return k->text + s->name;
}

const char *mz_kallsyms_variable(const struct mz_kallsyms *k, uint64_t addr, uint64_t *offset)
{
	const struct symbol *s = find(k, k->data, k->variables, addr);

	if (!s)
		return NULL;
	*offset = addr - s->addr;
	return k->text + s->name;
}

const char *mz_kallsyms_file(const struct mz_kallsyms *k, uint64_t addr, bool variable)
{
	const struct symbol *s =
		variable ? find(k, k->data, k->variables, addr) : find(k, k->syms, k->count, addr);

	return s && s->file ? k->text + s->file : NULL;
}

bool mz_kallsyms_has_files(const struct mz_kallsyms *k)
{
	return k->has_files;
}

/* By name there are a handful of questions for each kernel, so no index is made. */
static uint64_t address(const struct mz_kallsyms *k, const struct symbol *s, size_t n,
			const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(k->text + s[i].name, name))
			return s[i].addr;
	return 0;
}

uint64_t mz_kallsyms_address(const struct mz_kallsyms *k, const char *name)
{
	uint64_t addr = address(k, k->syms, k->count, name);

	return addr ? addr : address(k, k->data, k->variables, name);
}

const char *mz_kallsyms_at(const struct mz_kallsyms *k, size_t i, uint64_t *addr,
			   const char **module)
{
	if (i >= k->count)
		return NULL;
	*addr = k->syms[i].addr;
	*module = k->syms[i].module ? k->text + k->syms[i].module : NULL;
	return k->text + k->syms[i].name;
}

static int by_address(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return MZ_ORDER(*x, *y);
}

/* Only functions that contain one of the addresses are written, once each: a trace carries the
 * lines it needs, not 10 MB. */
void mz_kallsyms_pick(const struct mz_kallsyms *k, uint64_t *addrs, size_t n, struct mz_buf *lines)
{
	uint64_t last = 0;

	if (n)
		qsort(addrs, n, sizeof(*addrs), by_address);
	for (size_t i = 0; i < n; i++) {
		const char *module = NULL, *name;
		uint64_t offset = 0;

		name = mz_kallsyms_find(k, addrs[i], &offset, &module);
		if (!name || addrs[i] - offset == last)
			continue;
		last = addrs[i] - offset;
		mz_buf_printf(lines, "%llx T %s%s%s%s\n", (unsigned long long)last, name,
			      module ? "\t[" : "", module ? module : "", module ? "]" : "");
	}
}

/* Names may come from a hostile file, so they are printed safely. */
char *mz_kallsyms_text(const struct mz_kallsyms *k, uint64_t addr, char *buf, size_t size)
{
	const char *module = NULL, *name;
	char clean[160], from[80];
	uint64_t offset = 0;

	name = k ? mz_kallsyms_find(k, addr, &offset, &module) : NULL;
	if (!name) {
		snprintf(buf, size, "0x%llx", (unsigned long long)addr);
		return buf;
	}
	mz_printable(clean, sizeof(clean), name, strlen(name));
	if (module)
		mz_printable(from, sizeof(from), module, strlen(module));
	if (k->exact)
		snprintf(buf, size, "%s", clean);
	else
		snprintf(buf, size, "%s+0x%llx%s%s%s", clean, (unsigned long long)offset,
			 module ? " [" : "", module ? from : "", module ? "]" : "");
	return buf;
}
