// SPDX-License-Identifier: BSD-2-Clause
/* Look up an address: images first, then the kernel's symbol list. */
#include <stdlib.h>
#include <string.h>

#include "symbols/private.h"
#include "symbols/rust_demangle.h"
#include "trace/reader.h"

#define RUST_NAME 8192 /* bytes of a readable name */

struct mz_symbols *mz_symbols_new(void)
{
	struct mz_symbols *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->texts = mz_tables_new();
	if (!s->texts) {
		free(s);
		return NULL;
	}
	s->demangle = mz_demangle_new();
	if (!s->demangle) {
		mz_symbols_close(s);
		return NULL;
	}
	return s;
}

struct mz_symbols_module *mz_symbols_add(struct mz_symbols *s, const char *path)
{
	struct mz_symbols_module *m;

	if (!mz_array_room((void **)&s->modules, &s->cap, s->count, sizeof(*m)))
		return NULL;
	m = &s->modules[s->count];
	*m = (struct mz_symbols_module){.path = strdup(path)};
	if (!m->path)
		return NULL;
	m->name = strrchr(m->path, '/');
	m->name = m->name ? m->name + 1 : m->path;
	s->count++;
	return m;
}

void mz_symbols_close(struct mz_symbols *s)
{
	if (!s)
		return;
	mz_names_free(s->own_names);
	for (size_t i = 0; i < s->count; i++) {
		mz_image_free(s->modules[i].image);
		free(s->modules[i].path);
	}
	free(s->modules);
	mz_kallsyms_free(s->kallsyms);
	mz_kallsyms_free(s->files);
	mz_kallsyms_free(s->globals);
	mz_pair_index_deinit(&s->known);
	free(s->found);
	free(s->is_found);
	mz_tables_free(s->texts);
	mz_demangle_free(s->demangle);
	free(s);
}

unsigned mz_symbols_missing(const struct mz_symbols *s)
{
	return s->missing;
}

/* Images are made when the first address needs them. */
static const struct mz_image *image_of(struct mz_symbols_module *m)
{
	if (m->opened)
		return m->image;
	m->opened = true;
	m->image = m->gone ? mz_image_open_id(m->id, m->id_len, true, NULL)
			   : mz_image_open(m->path, true, NULL);
	if (m->image && !m->shift && !m->image->fixed)
		m->shift = m->base;
	return m->image;
}

/* Folders and files come from DWARF or from a System.map with source files; without either,
 * reports group by function. */
bool mz_symbols_has_lines(struct mz_symbols *s)
{
	if (s->files || (s->kallsyms && mz_kallsyms_has_files(s->kallsyms)))
		return true;
	for (size_t i = 0; i < s->count; i++) {
		const struct mz_image *im = image_of(&s->modules[i]);

		if (im && im->has_lines)
			return true;
	}
	return false;
}

static bool is_same(const struct mz_symbols_module *a, const struct mz_symbols_module *b)
{
	return a->base == b->base && a->id_len == b->id_len && !memcmp(a->id, b->id, a->id_len) &&
	       !strcmp(a->path, b->path);
}

/* A program may have loaded a library to where another one was before. The trace does not tell
 * which of them an address belongs to: no name is better than a wrong one. */
static struct mz_symbols_module *module_at(struct mz_symbols *s, uint64_t addr)
{
	struct mz_symbols_module *found = NULL;

	for (size_t i = 0; i < s->count; i++) {
		struct mz_symbols_module *m = &s->modules[i];

		if (addr - m->base >= m->length)
			continue;
		if (s->kernel)
			return m;
		if (found && !is_same(found, m))
			return NULL;
		found = m;
	}
	return found;
}

/* ---- texts ------------------------------------------------------------------------- */

static const char *keep(struct mz_symbols *s, const char *text, size_t len)
{
	return mz_tables_get_string(s->texts, mz_tables_string(s->texts, text, len), NULL);
}

static const char *folder(struct mz_symbols *s, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	if (!path)
		return NULL;
	return slash ? keep(s, path, slash == path ? 1 : (size_t)(slash - path)) : keep(s, ".", 1);
}

/* Only mangled names are touched; one that cannot be demangled is shown as it is. */
static const char *readable(struct mz_symbols *s, const char *name)
{
	char rust[RUST_NAME];
	const char *made, *kept;
	size_t n = name ? mz_rust_demangle(name, rust, sizeof(rust)) : 0;

	/* first: older names of Rust would be names of C++, too */
	if (n)
		return keep(s, rust, n);
	made = name ? mz_demangle(s->demangle, name) : NULL;
	kept = made ? keep(s, made, strlen(made)) : NULL;
	return kept ? kept : name;
}

/* ---- one address --------------------------------------------------------------------- */

static bool find_in_list(const struct mz_symbols *s, uint64_t addr, struct mz_symbol *out)
{
	if (!s->kallsyms)
		return false;
	out->function = mz_kallsyms_find(s->kallsyms, addr + (uint64_t)s->list_shift,
					 &out->in_function, &out->module);
	out->in_function += 1; /* of the return address, not of the call */
	return out->function;
}

/* Without DWARF the list may know the file, for all of the kernel but modules. */
static const char *file_in_list(const struct mz_symbols *s, uint64_t addr, bool variable)
{
	if (s->files)
		return mz_kallsyms_file(s->files, addr + (uint64_t)s->files_shift, variable);
	return s->kallsyms ? mz_kallsyms_file(s->kallsyms, addr + (uint64_t)s->list_shift, variable)
			   : NULL;
}

static void add_home(struct mz_symbols *s, uint64_t addr, struct mz_symbol *out)
{
	if (out->home || !out->function || out->module)
		return;
	out->home = file_in_list(s, addr, false);
	out->dir = folder(s, out->home);
}

/* The image knows lines and inlined functions, the list only functions, so the image is consulted
 * first. */
static bool look_up(struct mz_symbols *s, uint64_t addr, struct mz_symbol *out)
{
	struct mz_symbols_module *m = module_at(s, addr);
	const struct mz_image *im = m ? image_of(m) : NULL;
	struct mz_image_place p;
	uint32_t scope;

	*out = (struct mz_symbol){0};
	if (m && !s->kernel) {
		out->module = m->name;
		out->offset = addr - m->base;
	}
	if (!im || !mz_image_find(im, addr - m->shift, &p)) {
		bool known = find_in_list(s, addr, out);

		add_home(s, addr, out);
		return known || (m && !s->kernel);
	}
	out->function = readable(s, p.function);
	out->in_function = p.in_function + 1;
	/* the line in the function that is named, not one of what was inlined into it */
	for (scope = p.scope; mz_image_outer(im, &scope, &p.file, &p.line);)
		;
	out->file = p.file;
	out->line = (int)p.line;
	out->home = p.home;
	out->dir = folder(s, p.home);
	if (s->kernel && m != s->modules)
		out->module = m->name;
	add_home(s, addr, out);
	return true;
}

/* Of what was inlined, the function that is really there is the last. */
static bool find_name(const struct mz_symbols *s, uint64_t ip, struct mz_symbol *out)
{
	struct mz_name names[MZ_NAMES_INLINED];
	size_t n;

	*out = (struct mz_symbol){0};
	n = s->names ? mz_names_find(s->names, ip, &out->module, names) : 0;
	if (!n)
		return false;
	out->function = names[n - 1].function;
	out->file = names[n - 1].file;
	out->line = (int)names[n - 1].line;
	out->home = names[n - 1].file;
	out->offset = ip;
	return true;
}

/* Results are remembered: traces mention few addresses many times. Without memory for that,
 * the lookup still answers. */
bool mz_symbols_find(struct mz_symbols *s, uint64_t ip, struct mz_symbol *out)
{
	size_t before = s->known.count;
	uint32_t id = mz_pair_index_put(&s->known, ip, 0);

	if (find_name(s, ip, out))
		return true;
	if (ip == MZ_LOST_FRAME) /* find_name() has emptied out */
		return false;
	/* the call is before the address that it returns to */
	if (id == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&s->found, &s->cap_found, id, sizeof(*s->found)) ||
	    !mz_array_room((void **)&s->is_found, &s->cap_is_found, id, sizeof(*s->is_found)))
		return look_up(s, ip - 1, out);
	if (s->known.count > before)
		s->is_found[id] = look_up(s, ip - 1, &s->found[id]);
	*out = s->found[id];
	return s->is_found[id];
}

static size_t find_names(const struct mz_symbols *s, uint64_t ip, struct mz_symbol_frame *frames,
			 size_t max)
{
	struct mz_name names[MZ_NAMES_INLINED];
	const char *module;
	size_t n = mz_names_find(s->names, ip, &module, names);

	n = n < max ? n : max;
	for (size_t i = 0; i < n; i++)
		frames[i] =
			(struct mz_symbol_frame){names[i].function, names[i].file, names[i].line};
	return n;
}

/* Inlined functions have the same address; the chain goes from the innermost scope outwards,
 * and each caller's line is where the call was inlined. */
size_t mz_symbols_frames(struct mz_symbols *s, uint64_t ip, struct mz_symbol_frame *frames,
			 size_t max)
{
	struct mz_symbols_module *m = module_at(s, ip - 1);
	const struct mz_image *im = m ? image_of(m) : NULL;
	struct mz_image_place p;
	struct mz_symbol sym;
	size_t n = 0;

	if (!max || !mz_symbols_find(s, ip, &sym))
		return 0;
	if (s->names && (n = find_names(s, ip, frames, max)))
		return n;
	frames[n++] = (struct mz_symbol_frame){sym.function, sym.file, (unsigned)sym.line};
	if (!im || !mz_image_find(im, ip - 1 - m->shift, &p) || p.scope == MZ_IMAGE_NONE)
		return n;
	frames[0].file = p.file;
	frames[0].line = p.line;
	for (;;) {
		const char *file;
		unsigned line;

		frames[n - 1].function = readable(s, mz_image_scope_name(im, p.scope));
		if (n == max || !mz_image_outer(im, &p.scope, &file, &line))
			return n;
		frames[n++] = (struct mz_symbol_frame){NULL, file, line};
	}
}

/* An image without debugging information names a variable; upstream's table has its file. */
static const char *file_in_table(const struct mz_symbols *s, uint64_t addr,
				 const struct mz_symbol_variable *v)
{
	uint64_t offset;

	if (!s->globals || !mz_kallsyms_variable(s->globals, addr, &offset) || offset != v->offset)
		return NULL;
	return mz_kallsyms_file(s->globals, addr, true);
}

/* The kernel chooses where to load each section of a module: the file does not contain the
 * address of a variable. kallsyms does. */
static size_t image_count(const struct mz_symbols *s)
{
	return s->kernel && s->count ? 1 : s->count;
}

bool mz_symbols_variable(struct mz_symbols *s, uint64_t addr, struct mz_symbol_variable *out)
{
	*out = (struct mz_symbol_variable){0};
	for (size_t i = 0; i < image_count(s) && !out->name; i++) {
		const struct mz_image *im = image_of(&s->modules[i]);

		if (im)
			out->name = mz_image_variable(im, addr - s->modules[i].shift, &out->offset,
						      &out->file);
	}
	if (!out->name && s->globals)
		out->name = mz_kallsyms_variable(s->globals, addr, &out->offset);
	if (!out->name && s->kallsyms)
		out->name = mz_kallsyms_variable(s->kallsyms, addr + (uint64_t)s->list_shift,
						 &out->offset);
	if (!out->name)
		return false;
	if (!out->file)
		out->file = file_in_table(s, addr, out);
	if (!out->file)
		out->file = file_in_list(s, addr, true);
	out->dir = folder(s, out->file);
	return true;
}

uint64_t mz_symbols_variable_size(struct mz_symbols *s, uint64_t addr, uint64_t *start)
{
	uint64_t size = 0;

	for (size_t i = 0; i < image_count(s) && !size; i++) {
		const struct mz_image *im = image_of(&s->modules[i]);

		size = im ? mz_image_variable_size(im, addr - s->modules[i].shift, start) : 0;
		*start += size ? s->modules[i].shift : 0;
	}
	return size;
}
