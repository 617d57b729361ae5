// SPDX-License-Identifier: BSD-2-Clause
/* Save the files of `memorizer vm --kmemtrace-boot` as the guest sends them, then report. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/kmem.h"
#include "base/error.h"
#include "cmds/kernel/kmem.h"
#include "cmds/vm/vm.h"

#define ROWS	  20
#define MAX_FILES 512 /* cpuN.out of 64 CPUs, and some beside them */

int vm_boot_open(struct vm_boot *b, const struct vm_opts *o, struct mz_error *err)
{
	b->temporary = !o->output;
	if (b->temporary) {
		const char *tmp = getenv("TMPDIR");

		snprintf(b->dir, sizeof(b->dir), "%s/memorizer-boot.XXXXXX", tmp ? tmp : "/tmp");
		b->made = mkdtemp(b->dir);
	} else {
		snprintf(b->dir, sizeof(b->dir), "%s", o->output);
		b->made = !mkdir(b->dir, 0700);
	}
	if (b->made || (!b->temporary && errno == EEXIST && o->force))
		return 0;
	mz_fail(err, errno, "%s: cannot create the folder: %s%s", b->dir, strerror(errno),
		errno == EEXIST ? "; write into it with -f, or name another with -o" : "");
	b->dir[0] = '\0';
	return -err->code;
}

static int end_file(struct vm_boot *b, struct mz_error *err)
{
	return b->out.file.fd >= 0 ? mz_output_commit(&b->out, err) : 0;
}

/* The name of a file in this folder, without control characters. */
static bool good_name(const char *name, size_t len)
{
	if (!len || len > 64 || name[0] == '.')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && (!name[i] || !strchr("._-", name[i])))
			return false;
	return true;
}

int vm_boot_file(struct vm_boot *b, const char *name, size_t len, struct mz_error *err)
{
	char path[PATH_MAX + 80];

	if (end_file(b, err) < 0)
		return -err->code;
	if (!b->dir[0] || !good_name(name, len))
		return mz_fail(err, EBADMSG, "the guest sent a file with an invalid name");
	if (++b->files > MAX_FILES)
		return mz_fail(err, EBADMSG, "the guest sent more than %d files", MAX_FILES);
	snprintf(path, sizeof(path), "%s/%.*s", b->dir, (int)len, name);
	return mz_output_open(&b->out, path, true, err);
}

/* The kernel's symbols with their source files, beside the recording. */
static int keep_symbols(struct vm_boot *b, const char *bzimage, struct mz_error *err)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/System.map", b->dir);
	return vm_keep_symbols(bzimage, NULL, path, true, err);
}

int vm_boot_report(struct vm_boot *b, const char *bzimage)
{
	struct mz_kmem_filter filter = {.ones = ROWS};
	struct mz_kmem_report r = {0};
	struct mz_kmem_input *in = NULL;
	struct mz_error err = {0};
	char *dirs[] = {b->dir};
	int ret = MZ_EXIT_OK;

	if (end_file(b, &err) >= 0 && keep_symbols(b, bzimage, &err) >= 0)
		in = mz_kmem_input_open(dirs, 1, options_open_flags(), &err);
	if (!in)
		return console_error(&err);
	if (mz_kmem_report_make(&r, in, &filter, &err) < 0)
		ret = console_error(&err);
	else
		kmem_live_text(&r, ROWS);
	mz_kmem_report_free(&r);
	mz_kmem_input_close(in);
	b->keep = !ret && !b->temporary;
	if (b->keep)
		console_note("the recording is in %s; next: memorizer report %s", b->dir, b->dir);
	return ret;
}

/* Remove an incomplete folder. */
void vm_boot_close(struct vm_boot *b)
{
	DIR *d = b->made && !b->keep ? opendir(b->dir) : NULL;
	struct dirent *e;

	mz_output_abort(&b->out);
	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d) {
		closedir(d);
		rmdir(b->dir);
	}
	*b = (struct vm_boot){.out = {.file.fd = -1}};
}
