// SPDX-License-Identifier: BSD-2-Clause
/* Keep tables in the user's cache. */
/*
 * They are in $XDG_CACHE_HOME/memorizer/symbols/BUILD-ID-SIZE-TIME.2, or below ~/.cache. A header,
 * then the arrays. A file that is not valid is ignored.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output.h"
#include "symbols/image.h"

#define MAGIC "MZsyms3\n"

struct header {
	char magic[8];
	uint64_t base;
	uint64_t rows, scopes, functions, variables, strings; /* counts */
	uint64_t has_lines, fixed, id_len;
	uint64_t file_size, file_time;
	uint8_t id[64];
};

/* Private to the user: a file that others can write could make us believe anything. */
static bool own_folder(const char *path)
{
	struct stat st;

	if (mkdir(path, 0700) && errno != EEXIST)
		return false;
	return !lstat(path, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* Size and time of the file are part of the name: build IDs of hand-made files repeat, and a
 * rebuilt program must not get the old table. */
bool mz_image_cache_path(const struct mz_image *im, char *buf, size_t size)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	size_t n;

	if (xdg && *xdg == '/')
		n = (size_t)snprintf(buf, size, "%s", xdg);
	else if (home && *home == '/')
		n = (size_t)snprintf(buf, size, "%s/.cache", home);
	else
		return false;
	if (n + 2 * im->id_len + 80 > size)
		return false;
	mkdir(buf, 0700); /* it is there, or the next step says no */
	n += (size_t)snprintf(buf + n, size - n, "/memorizer");
	if (!own_folder(buf))
		return false;
	n += (size_t)snprintf(buf + n, size - n, "/symbols");
	if (!own_folder(buf))
		return false;
	buf[n++] = '/';
	for (size_t i = 0; i < im->id_len; i++)
		n += (size_t)snprintf(buf + n, size - n, "%02x", im->id[i]);
	snprintf(buf + n, size - n, "-%llx-%llx.2", (unsigned long long)im->file_size,
		 (unsigned long long)im->file_time);
	return true;
}

/* The arrays in their order; each is a multiple of 8 bytes long but the last. */
struct cached_array {
	size_t size; /* of a member */
	uint64_t count;
	void **data;
	size_t *n;
};

#define PARTS 5

static void parts_of(struct mz_image *im, const struct header *h, struct cached_array p[PARTS])
{
	p[0] = (struct cached_array){sizeof(*im->functions), h->functions, (void **)&im->functions,
				     &im->n_functions};
	p[1] = (struct cached_array){sizeof(*im->variables), h->variables, (void **)&im->variables,
				     &im->n_variables};
	p[2] = (struct cached_array){sizeof(*im->rows), h->rows, (void **)&im->rows, &im->n_rows};
	p[3] = (struct cached_array){sizeof(*im->scopes), h->scopes, (void **)&im->scopes,
				     &im->n_scopes};
	p[4] = (struct cached_array){1, h->strings, (void **)&im->strings, &im->n_strings};
}

/* The arrays are used where they are mapped, so every count is checked against the length before
 * anything points into them. */
static bool lay_out(struct mz_image *im, char *map, size_t len)
{
	struct cached_array parts[PARTS];
	struct header h;
	size_t at = sizeof(h);

	if (len < sizeof(h))
		return false;
	memcpy(&h, map, sizeof(h));
	if (memcmp(h.magic, MAGIC, 8) || h.id_len != im->id_len ||
	    memcmp(h.id, im->id, im->id_len) || h.file_size != im->file_size ||
	    h.file_time != im->file_time || !h.strings)
		return false;
	parts_of(im, &h, parts);
	for (size_t i = 0; i < PARTS; i++) {
		if (parts[i].count > (len - at) / parts[i].size)
			return false;
		at += (size_t)parts[i].count * parts[i].size;
	}
	if (at != len || map[len - 1]) /* strings end with a NUL */
		return false;
	at = sizeof(h);
	for (size_t i = 0; i < PARTS; i++) {
		*parts[i].data = map + at;
		*parts[i].n = (size_t)parts[i].count;
		at += (size_t)parts[i].count * parts[i].size;
	}
	im->base = h.base;
	im->has_lines = h.has_lines;
	im->fixed = h.fixed;
	return true;
}

/* Not a link, and our own: the folder may have been writable by others once. */
bool mz_image_load(struct mz_image *im, const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	void *map = MAP_FAILED;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_size > 0)
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return false;
	if (!lay_out(im, map, (size_t)st.st_size)) {
		munmap(map, (size_t)st.st_size);
		return false;
	}
	im->map = map;
	im->map_len = (size_t)st.st_size;
	return true;
}

/* A cache that cannot be written is no error. */
void mz_image_save(const struct mz_image *im, const char *file)
{
	struct header h = {.magic = MAGIC,
			   .base = im->base,
			   .rows = im->n_rows,
			   .scopes = im->n_scopes,
			   .functions = im->n_functions,
			   .variables = im->n_variables,
			   .strings = im->n_strings,
			   .has_lines = im->has_lines,
			   .fixed = im->fixed,
			   .id_len = im->id_len,
			   .file_size = im->file_size,
			   .file_time = im->file_time};
	struct mz_image copy = *im;
	struct cached_array parts[PARTS];
	struct mz_output out;
	int ret;

	memcpy(h.id, im->id, sizeof(h.id));
	if (mz_output_open(&out, file, true, NULL) < 0)
		return;
	parts_of(&copy, &h, parts);
	ret = mz_output_add(&out, &h, sizeof(h), NULL);
	for (size_t i = 0; i < PARTS && !ret; i++)
		ret = mz_output_add(&out, *parts[i].data, (size_t)parts[i].count * parts[i].size,
				    NULL);
	if (ret)
		mz_output_abort(&out);
	else
		mz_output_commit(&out, NULL);
}
