// SPDX-License-Identifier: BSD-2-Clause
/* Check the parts of this installation, and name the package of each that is missing. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/self.h"
#include "cmds/cmd.h"
#include "cmds/doctor/doctor.h"
#include "cmds/html/html.h"
#include "symbols/debuginfo.h"

#define REINSTALL "sudo apt install --reinstall memorizer"
#define LIBRARY	  "libmemorizer.so.0"

/* The tables at the end of the file, and the loaded segments, are inside the file: in a
 * truncated copy they are not. */
static bool elf_is_whole(const uint8_t *file, size_t size)
{
	Elf64_Ehdr h;
	Elf64_Phdr p;

	if (size < sizeof(h))
		return false;
	memcpy(&h, file, sizeof(h));
	if (memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_ident[EI_CLASS] != ELFCLASS64 ||
	    (h.e_type != ET_EXEC && h.e_type != ET_DYN) || h.e_phentsize != sizeof(p) ||
	    h.e_shoff > size || size - h.e_shoff < (size_t)h.e_shnum * h.e_shentsize ||
	    h.e_phoff > size || size - h.e_phoff < (size_t)h.e_phnum * sizeof(p))
		return false;
	for (unsigned i = 0; i < h.e_phnum; i++) {
		memcpy(&p, file + h.e_phoff + i * sizeof(p), sizeof(p));
		if (p.p_offset > size || p.p_filesz > size - p.p_offset)
			return false;
	}
	return true;
}

/* Why a part cannot be used, or "". mark: a name that only this part contains, so that another
 * library in its place is noticed. */
static const char *wrong_part(const char *path, const char *mark)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *file;
	bool ok;

	if (fd < 0)
		return errno == EACCES ? ": cannot be read" : ": is missing";
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size)
		file = MAP_FAILED;
	else
		file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (file == MAP_FAILED)
		return ": is damaged";
	ok = elf_is_whole(file, (size_t)st.st_size) &&
	     memmem(file, (size_t)st.st_size, mark, strlen(mark) + 1);
	munmap(file, (size_t)st.st_size);
	return ok ? "" : ": is damaged";
}

/* The first of two places below the prefix; the second is that of a build tree. */
static bool find_part(char *path, const char *installed, const char *built)
{
	const char *const places[] = {installed, built};
	char top[PATH_MAX - 64];

	path[0] = '\0';
	if (!mz_self_path(top, sizeof(top), 2))
		return false;
	for (int i = 0; i < 2; i++)
		if (snprintf(path, PATH_MAX, "%s/%s", top, places[i]) < PATH_MAX &&
		    !access(path, F_OK))
			return true;
	snprintf(path, PATH_MAX, "%s/%s", top, installed);
	return false;
}

/* The end of a long path says more than its beginning. */
static void say_path(struct finding *f, const char *path, const char *what)
{
	size_t len = strlen(path), max = 110;

	if (len > max)
		path += len - max;
	mz_printable(f->found, sizeof(f->found) - 40, path, strlen(path));
	len = strlen(f->found);
	snprintf(f->found + len, sizeof(f->found) - len, "%s", what);
}

static void look_preload(struct visit *v)
{
	char path[PATH_MAX];
	const char *why;

	find_part(path, "lib/memorizer/memorizer-preload.so", "lib/memorizer/memorizer-preload.so");
	why = wrong_part(path, "memorizer_attach");
	v->user_ok = !*why;
	say_path(doctor_add(v, "preload library", *why ? BAD : GOOD,
			    "record cannot record user programs", REINSTALL),
		 path, why);
}

/* The names in reports: this program's own file is one that must be readable. */
static void look_debuginfo(struct visit *v)
{
	const struct mz_debuginfo *d = mz_debuginfo(NULL);
	uint8_t id[64];
	size_t n = d ? d->image_id("/proc/self/exe", id) : 0;
	struct finding *f = doctor_add(v, "debugging information", n ? GOOD : LESS,
				       "call sites of programs have addresses instead of names",
				       "sudo apt install --reinstall libdw1 libelf1");

	snprintf(f->found, sizeof(f->found), "%s",
		 n ? "libdw reads this program" : "libdw cannot read this program");
}

/* The shared library: below the prefix, or in the folder of its architecture. */
static bool find_library(char *path)
{
	char top[PATH_MAX - 64], pattern[PATH_MAX];
	glob_t found = {0};
	bool there;

	if (find_part(path, "lib/" LIBRARY, "lib/" LIBRARY))
		return true;
	if (!mz_self_path(top, sizeof(top), 2))
		return false;
	snprintf(pattern, sizeof(pattern), "%s/lib/*/%s", top, LIBRARY);
	there = !glob(pattern, GLOB_NOESCAPE, NULL, &found) && found.gl_pathc &&
		strlen(found.gl_pathv[0]) < PATH_MAX;
	if (there)
		memcpy(path, found.gl_pathv[0], strlen(found.gl_pathv[0]) + 1);
	globfree(&found);
	return there;
}

static bool look_library(struct visit *v, char *path)
{
	bool there = find_library(path);
	const char *why = wrong_part(path, "mz_reader_open");

	say_path(doctor_add(v, "libmemorizer", *why ? LESS : GOOD,
			    "other programs and the Python module cannot read recordings",
			    there ? "sudo apt install --reinstall libmemorizer0"
				  : "sudo apt install libmemorizer0"),
		 path, why);
	return there;
}

/* Loads it as the library would. This program has the same code linked in. */
static void look_plugin(struct visit *v, const char *library)
{
	const char *slash = strrchr(library, '/'), *why;
	const struct mz_debuginfo *table;
	char path[PATH_MAX] = "";
	void *plugin;

	if (slash)
		snprintf(path, sizeof(path), "%.*s%s", (int)(slash + 1 - library), library,
			 MZ_DEBUGINFO_PLUGIN);
	/* the dynamic loader would crash on a truncated file */
	why = wrong_part(path, MZ_DEBUGINFO_TABLE);
	plugin = *why ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
	table = plugin ? dlsym(plugin, MZ_DEBUGINFO_TABLE) : NULL;
	if (!*why && !table)
		why = ": cannot be loaded";
	else if (!*why && strcmp(table->version, MZ_VERSION))
		why = ": is of another version";
	say_path(doctor_add(v, "debugging plugin", *why ? LESS : GOOD,
			    "libmemorizer shows addresses instead of function names",
			    "sudo apt install --reinstall libmemorizer0"),
		 path, why);
}

static void look_page(struct visit *v)
{
	size_t bytes = html_page_check();
	struct finding *f =
		doctor_add(v, "page of html", bytes ? GOOD : BAD,
			   "memorizer html and serve write a page that shows nothing", REINSTALL);

	if (bytes)
		snprintf(f->found, sizeof(f->found), "%zu bytes, part of this program", bytes);
	else
		snprintf(f->found, sizeof(f->found), "it is damaged in this program");
}

static void look_guest(struct visit *v)
{
	char path[PATH_MAX];
	const char *why;

	find_part(path, "lib/memorizer/init", "guest/init");
	why = wrong_part(path, "/sys/class/virtio-ports/*/name");
	say_path(doctor_add(v, "init of the guest", *why ? LESS : GOOD,
			    "memorizer vm does not work", REINSTALL),
		 path, why);
}

static void look_guest_kernel(struct visit *v)
{
	char path[PATH_MAX];
	bool there = find_part(path, "lib/memorizer/kernel/bzImage", "kernel/memorizer/bzImage");

	say_path(doctor_add(v, "kernel of the guest", there ? GOOD : LESS,
			    "memorizer vm needs --kernel DIR, or a kernel that is built first",
			    "sudo apt install memorizer-kernel-source; memorizer kernel build"),
		 path, there ? "" : ": is missing");
}

static void look_qemu(struct visit *v)
{
	const char *dirs = getenv("PATH");
	char path[PATH_MAX];
	bool there = false;

	for (const char *p = dirs ? dirs : "/usr/bin:/bin"; *p && !there;) {
		size_t n = strcspn(p, ":");

		there = snprintf(path, sizeof(path), "%.*s/qemu-system-x86_64", (int)n, p) <
				(int)sizeof(path) &&
			!access(path, X_OK);
		p += n + (p[n] == ':');
	}
	say_path(doctor_add(v, "QEMU", there ? GOOD : LESS, "memorizer vm does not work",
			    "sudo apt install qemu-system-x86"),
		 there ? path : "qemu-system-x86_64", there ? "" : ": is not in PATH");
}

void doctor_installation(struct visit *v)
{
	char library[PATH_MAX];

	look_preload(v);
	look_debuginfo(v);
	if (look_library(v, library))
		look_plugin(v, library);
	look_page(v);
	look_guest(v);
	look_guest_kernel(v);
	look_qemu(v);
}
