// SPDX-License-Identifier: BSD-2-Clause
/* Load the table of debuginfo.h from the plugin beside the shared library, on demand. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "symbols/debuginfo.h"

/* The folder of this library, wherever it was installed; with the slash. */
static int own_folder(char *path, size_t size)
{
	const char *slash;
	Dl_info info;

	if (!dladdr((void *)(uintptr_t)mz_debuginfo, &info) || !info.dli_fname)
		return -ENOENT;
	slash = strrchr(info.dli_fname, '/');
	if (!slash || (size_t)(slash + 1 - info.dli_fname) >= size)
		return -ENOENT;
	memcpy(path, info.dli_fname, (size_t)(slash + 1 - info.dli_fname));
	path[slash + 1 - info.dli_fname] = '\0';
	return 0;
}

/*
 * Called for each image and each file of types, so rarely; dlopen() of a library that
 * is loaded gives the same handle. The plugin is never unloaded: tables of types point
 * into it.
 */
const struct mz_debuginfo *mz_debuginfo(struct mz_error *err)
{
	const struct mz_debuginfo *table;
	char path[PATH_MAX];
	size_t len;
	void *plugin;

	if (own_folder(path, sizeof(path)) < 0) {
		mz_fail(err, ENOENT, "libmemorizer: cannot determine where it was loaded from");
		return NULL;
	}
	len = strlen(path);
	snprintf(path + len, sizeof(path) - len, "%s", MZ_DEBUGINFO_PLUGIN);
	plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	table = plugin ? dlsym(plugin, MZ_DEBUGINFO_TABLE) : NULL;
	if (!table) {
		mz_fail(err, ENOENT, "%s: debugging information cannot be read: %s", path,
			dlerror());
		return NULL;
	}
	if (table->size != sizeof(*table) || strcmp(table->version, MZ_VERSION)) {
		mz_fail(err, EINVAL, "%s: is of another version than libmemorizer", path);
		return NULL;
	}
	return table;
}
