// SPDX-License-Identifier: BSD-2-Clause
/* The symbols of the guest's kernel, kept beside a map: the kernel may be another one
 * tomorrow. It runs where it was linked, so System.map is as good as kallsyms. */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/input.h"
#include "cmds/vm/vm.h"

/* With source files if there are (scripts/kernel-files). */
static const char *const names[] = {"System.map.files", "System.map"};

static int copy(struct mz_input *in, const char *to, bool force, struct mz_error *err)
{
	struct mz_output out;
	int ret = mz_output_open(&out, to, force, err);

	while (!ret) {
		ret = mz_input_fill(in, 1, err);
		if (ret < 0 || !mz_input_left(in))
			break;
		ret = mz_output_add(&out, in->pos, mz_input_left(in), err);
		in->pos = in->end;
	}
	if (ret < 0)
		mz_output_abort(&out);
	return ret < 0 ? ret : mz_output_commit(&out, err);
}

static void beside(char *path, size_t size, const char *kernel, const char *name)
{
	const char *slash = strrchr(kernel, '/');

	snprintf(path, size, "%.*s%s", slash ? (int)(slash - kernel) + 1 : 0, kernel, name);
}

int vm_keep_symbols(const char *kernel, const char *to, bool force, struct mz_error *err)
{
	struct mz_input in;
	int ret;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char path[PATH_MAX];

		beside(path, sizeof(path), kernel, names[i]);
		if (mz_input_open(&in, path, NULL) < 0)
			continue;
		ret = copy(&in, to, force, err);
		mz_input_close(&in);
		return ret;
	}
	return 0;
}

static bool has_dwarf(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf_Scn *scn = NULL;
	bool found = false;
	size_t strings;
	Elf *elf;

	if (fd < 0)
		return false;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	while (!found && !elf_getshdrstrndx(elf, &strings) && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		const char *name =
			gelf_getshdr(scn, &sh) ? elf_strptr(elf, strings, sh.sh_name) : NULL;

		found = name && !strcmp(name, ".debug_info");
	}
	elf_end(elf);
	close(fd);
	return found;
}

int vm_keep_vmlinux(const char *kernel, const char *to, bool force, struct mz_error *err)
{
	char path[PATH_MAX], whole[PATH_MAX];

	beside(path, sizeof(path), kernel, "vmlinux");
	if (!has_dwarf(path))
		return 0;
	if (force)
		unlink(to);
	/* this one stays when the kernel is built again; another disk cannot have it */
	if (!link(path, to))
		return 0;
	if (errno != EEXIST && realpath(path, whole) && !symlink(whole, to))
		return 0;
	return mz_fail(err, errno, "%s: %s%s", to, strerror(errno),
		       errno == EEXIST ? "; -f replaces it" : "");
}
