// SPDX-License-Identifier: BSD-2-Clause
/* The allocators that a trace can be replayed with, and where their libraries are. */
#include "replay/allocators.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

static const struct known {
	const char *name;
	const char *library;
	const char *package;
} known[] = {
	{"glibc", "", ""},
	{"jemalloc", "libjemalloc.so.2", "libjemalloc2"},
	{"mimalloc", "libmimalloc.so.2", "libmimalloc2.0"},
	{"tcmalloc", "libtcmalloc.so.4", "libgoogle-perftools4"},
	{"tcmalloc-minimal", "libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"},
};

static const char *const folders[] = {
	"/usr/local/lib",
	"/usr/lib/x86_64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu",
	"/lib/x86_64-linux-gnu",
	"/usr/lib64",
	"/usr/lib",
};

static bool find_library(const char *file, char *path, size_t size)
{
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		snprintf(path, size, "%s/%s", folders[i], file);
		if (!access(path, R_OK))
			return true;
	}
	return false;
}

static int find_path(const char *name, struct mz_allocator *a, struct mz_error *err)
{
	const char *base = strrchr(name, '/') + 1;

	if (access(name, R_OK))
		return mz_fail(err, EINVAL, "%s: %s", name, strerror(errno));
	if (strlen(name) >= sizeof(a->library))
		return mz_fail(err, EINVAL, "%s: the path is too long", name);
	strcpy(a->library, name);
	snprintf(a->name, sizeof(a->name), "%.60s", base);
	return 0;
}

int mz_allocator_find(const char *name, struct mz_allocator *a, struct mz_error *err)
{
	if (strchr(name, '/'))
		return find_path(name, a, err);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const struct known *k = &known[i];

		if (strcmp(k->name, name))
			continue;
		snprintf(a->name, sizeof(a->name), "%s", name);
		a->library[0] = '\0';
		if (!*k->library || find_library(k->library, a->library, sizeof(a->library)))
			return 0;
		return mz_fail(err, ENOENT,
			       "%s: %s is not installed; it is in the Debian package %s", name,
			       k->library, k->package);
	}
	return mz_fail(err, EINVAL,
		       "unknown allocator '%s'; known are glibc, jemalloc, mimalloc, tcmalloc, "
		       "tcmalloc-minimal, or a path with a '/'",
		       name);
}
