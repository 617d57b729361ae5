// SPDX-License-Identifier: BSD-2-Clause
/* Look up addresses in the table of one ELF file. */
#include "symbols/image.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "symbols/debuginfo.h"

/* How far a symbol without a size reaches. */
#define NO_SIZE (1u << 20)

size_t mz_image_id(const char *path, uint8_t *id)
{
	const struct mz_debuginfo *d = mz_debuginfo(NULL);

	return d ? d->image_id(path, id) : 0;
}

/* From the file itself: this is what takes long, and what needs libdw. */
static int build(struct mz_image *im, const char *path, struct mz_error *err)
{
	const struct mz_debuginfo *d = mz_debuginfo(err);

	return d ? d->image_build(im, path, err) : -ENOENT;
}

static struct mz_image *open_image(const char *path, const uint8_t *id, size_t len, bool use_cache,
				   struct mz_error *err)
{
	struct mz_image *im = calloc(1, sizeof(*im));
	char file[PATH_MAX];
	struct stat st;
	bool cached;

	if (!im) {
		mz_fail_memory(err);
		return NULL;
	}
	/* size and time belong to the key of the cache: a file may change and keep its build ID */
	memcpy(im->id, id, len);
	im->id_len = len;
	if (path && !stat(path, &st)) {
		im->file_size = (uint64_t)st.st_size;
		im->file_time =
			(uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	}
	cached = use_cache && len && mz_image_cache_path(im, file, sizeof(file));
	if (cached && mz_image_load(im, file)) {
		im->from_cache = true;
		return im;
	}
	if (build(im, path, err) < 0) {
		mz_image_free(im);
		return NULL;
	}
	/* a table without lines is quickly made, and debugging files may still come */
	if (cached && im->has_lines)
		mz_image_save(im, file);
	return im;
}

struct mz_image *mz_image_open(const char *path, bool use_cache, struct mz_error *err)
{
	uint8_t id[64];
	size_t len = mz_image_id(path, id);

	return open_image(path, id, len, use_cache, err);
}

/* Without the file: its table may be in the cache, or its debugging information is found by the
 * ID. */
struct mz_image *mz_image_open_id(const uint8_t *id, size_t len, bool use_cache,
				  struct mz_error *err)
{
	if (!len || len > 64) {
		mz_fail(err, EINVAL, "no build id");
		return NULL;
	}
	return open_image(NULL, id, len, use_cache, err);
}

/* A table from the cache is one mapping; a table that was built has separate arrays. */
void mz_image_free(struct mz_image *im)
{
	if (!im)
		return;
	if (im->map) {
		munmap(im->map, im->map_len);
	} else {
		free(im->rows);
		free(im->scopes);
		free(im->functions);
		free(im->variables);
		free(im->strings);
	}
	free(im);
}

/* Offsets come from a file: one that is wrong is the empty string. */
static const char *string(const struct mz_image *im, uint32_t at)
{
	return at && at < im->n_strings ? im->strings + at : NULL;
}

/* The last row that begins at or before the address describes it. */
static const struct mz_image_row *find_row(const struct mz_image *im, uint64_t addr)
{
	size_t lo = 0, hi = im->n_rows;
	uint64_t at = addr - im->base;

	if (addr < im->base || at > UINT32_MAX)
		return NULL;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (im->rows[mid].at <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &im->rows[lo - 1] : NULL;
}

/* The symbol that holds the address; one without a size holds all up to the next. */
static const struct mz_image_symbol *find_symbol(const struct mz_image_symbol *s, size_t n,
						 uint64_t addr)
{
	size_t lo =
		mz_array_not_above(s, n, sizeof(*s), offsetof(struct mz_image_symbol, addr), addr);

	/* it may lie in a longer one that starts before, not far before */
	for (unsigned i = 0; lo && i < 8; i++, lo--) {
		uint64_t in = addr - s[lo - 1].addr;

		if (s[lo - 1].size ? in < s[lo - 1].size : !i && in < NO_SIZE)
			return &s[lo - 1];
	}
	return NULL;
}

const char *mz_image_scope_name(const struct mz_image *im, uint32_t scope)
{
	return scope < im->n_scopes ? string(im, im->scopes[scope].name) : NULL;
}

bool mz_image_outer(const struct mz_image *im, uint32_t *scope, const char **file, unsigned *line)
{
	const struct mz_image_scope *s;

	if (*scope >= im->n_scopes)
		return false;
	s = &im->scopes[*scope];
	/* parents come first, so that no chain can be a circle */
	if (s->parent >= *scope)
		return false;
	*file = string(im, s->call_file);
	*line = s->call_line;
	*scope = s->parent;
	return true;
}

/* The outermost scope is the function that the code belongs to; its source file is the home of
 * the code, also where a header was inlined. */
bool mz_image_find(const struct mz_image *im, uint64_t addr, struct mz_image_place *out)
{
	const struct mz_image_symbol *sym = find_symbol(im->functions, im->n_functions, addr);
	const struct mz_image_row *row = find_row(im, addr);
	uint32_t root;

	*out = (struct mz_image_place){.scope = MZ_IMAGE_NONE};
	if (row && (row->file || row->scope != MZ_IMAGE_NONE)) {
		out->file = string(im, row->file);
		out->line = row->line;
		out->scope = row->scope;
		for (root = row->scope; root < im->n_scopes && im->scopes[root].parent < root;)
			root = im->scopes[root].parent;
		if (root < im->n_scopes) {
			out->function = string(im, im->scopes[root].name);
			out->home = string(im, im->scopes[root].home);
			out->in_function = addr - im->base - im->scopes[root].start;
		}
		if (!out->home)
			out->home = out->file;
	}
	if (!out->function && sym) {
		out->function = string(im, sym->name);
		out->in_function = addr - sym->addr;
	}
	return out->function || out->file;
}

const char *mz_image_variable(const struct mz_image *im, uint64_t addr, uint64_t *offset,
			      const char **file)
{
	const struct mz_image_symbol *s = find_symbol(im->variables, im->n_variables, addr);

	if (!s)
		return NULL;
	*offset = addr - s->addr;
	if (file)
		*file = string(im, s->file);
	return string(im, s->name);
}

uint64_t mz_image_variable_size(const struct mz_image *im, uint64_t addr, uint64_t *start)
{
	const struct mz_image_symbol *s = find_symbol(im->variables, im->n_variables, addr);

	if (!s)
		return 0;
	*start = s->addr;
	return s->size;
}

static uint64_t by_name(const struct mz_image *im, const struct mz_image_symbol *s, size_t n,
			const char *name)
{
	for (size_t i = 0; i < n; i++) {
		const char *has = string(im, s[i].name);

		if (has && !strcmp(has, name))
			return s[i].addr;
	}
	return 0;
}

uint64_t mz_image_symbol(const struct mz_image *im, const char *name)
{
	uint64_t addr = by_name(im, im->functions, im->n_functions, name);

	return addr ? addr : by_name(im, im->variables, im->n_variables, name);
}
