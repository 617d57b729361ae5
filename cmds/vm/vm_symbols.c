// SPDX-License-Identifier: BSD-2-Clause
/* Keep the symbols of the guest's kernel beside a map: the kernel may be another one tomorrow.
 * It runs where it was linked, so System.map is as good as kallsyms. */
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

/* The source files of the symbols of modules (kernel/build): lines "NAME [MODULE]\tFILE". */
struct module_files {
	struct mz_buf text;
	const char **lines; /* sorted; a line ends in a NUL */
	size_t n;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int split_lines(struct module_files *f)
{
	size_t lines = 0;

	mz_buf_add(&f->text, "", 1);
	for (size_t i = 0; i < f->text.len && !f->text.failed; i++)
		lines += f->text.data[i] == '\n';
	f->lines = calloc(lines + 1, sizeof(*f->lines));
	if (!f->lines || f->text.failed)
		return -1;
	for (char *p = f->text.data, *end; (end = strchr(p, '\n')); p = end + 1) {
		*end = '\0';
		if (strchr(p, '\t'))
			f->lines[f->n++] = p;
	}
	qsort(f->lines, f->n, sizeof(*f->lines), by_text);
	return 0;
}

static int read_module_files(struct module_files *f, const char *path, struct mz_error *err)
{
	struct mz_input in;
	int ret = 0;

	if (mz_input_open(&in, path, NULL) < 0)
		return 0;
	while (!ret && !(ret = mz_input_fill(&in, 1, err)) && mz_input_left(&in)) {
		mz_buf_add(&f->text, in.pos, mz_input_left(&in));
		in.pos = in.end;
	}
	mz_input_close(&in);
	if (ret >= 0 && split_lines(f) < 0)
		ret = mz_fail_memory(err);
	return ret;
}

/* The first line that begins with key and a tab, or where it would be. */
static size_t first_line(const struct module_files *f, const char *key)
{
	size_t low = 0, high = f->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(f->lines[middle], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The file of "NAME [MODULE]", or NULL: two static functions with the same name cannot be told
 * apart. */
static const char *file_of(const struct module_files *f, const char *key)
{
	size_t n = strlen(key), i = first_line(f, key);

	if (i == f->n || strncmp(f->lines[i], key, n) || f->lines[i][n] != '\t')
		return NULL;
	if (i + 1 < f->n && !strncmp(f->lines[i + 1], key, n) && f->lines[i + 1][n] == '\t')
		return NULL;
	return f->lines[i] + n + 1;
}

/* A line "ADDR T NAME\t[MODULE]" of the guest, and the file behind it. */
static int add_symbol(struct mz_output *out, const struct module_files *f, const char *line,
		      size_t n, struct mz_error *err)
{
	char text[512], name[256], module[128], kind;
	unsigned long long addr;
	const char *file;
	int len;

	if (n >= sizeof(text))
		return 0;
	memcpy(text, line, n);
	text[n] = '\0';
	if (sscanf(text, "%llx %c %255s [%127[^]]", &addr, &kind, name, module) != 4)
		return 0;
	snprintf(text, sizeof(text), "%s [%s]", name, module);
	file = file_of(f, text);
	len = snprintf(text, sizeof(text), "%llx %c %s\t[%s]%s%.100s\n", addr, kind, name, module,
		       file ? "\t" : "", file ? file : "");
	return mz_output_add(out, text, (size_t)len, err);
}

static int add_modules(struct mz_output *out, const struct mz_buf *modules, const char *files,
		       struct mz_error *err)
{
	struct module_files f = {0};
	int ret = read_module_files(&f, files, err);

	for (size_t at = 0; at < modules->len && ret >= 0;) {
		const char *line = modules->data + at;
		const char *end = memchr(line, '\n', modules->len - at);
		size_t n = end ? (size_t)(end - line) : modules->len - at;

		ret = add_symbol(out, &f, line, n, err);
		at += n + 1;
	}
	mz_buf_free(&f.text);
	free(f.lines);
	return ret;
}

static int copy(struct mz_input *in, struct mz_output *out, struct mz_error *err)
{
	int ret;

	while (!(ret = mz_input_fill(in, 1, err)) && mz_input_left(in) && !ret) {
		ret = mz_output_add(out, in->pos, mz_input_left(in), err);
		in->pos = in->end;
	}
	return ret;
}

void vm_beside_kernel(char *path, size_t size, const char *kernel, const char *name)
{
	const char *slash = strrchr(kernel, '/');

	snprintf(path, size, "%.*s%s", slash ? (int)(slash - kernel) + 1 : 0, kernel, name);
}

/* The list of the kernel's symbols, open; false if there is none. */
static bool open_symbols(struct mz_input *in, const char *kernel)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char path[PATH_MAX];

		vm_beside_kernel(path, sizeof(path), kernel, names[i]);
		if (mz_input_open(in, path, NULL) >= 0)
			return true;
	}
	return false;
}

int vm_keep_symbols(const char *kernel, const struct mz_buf *modules, const char *to, bool force,
		    struct mz_error *err)
{
	char files[PATH_MAX];
	struct mz_output out;
	struct mz_input in;
	int ret;

	if (!open_symbols(&in, kernel))
		return 0;
	vm_beside_kernel(files, sizeof(files), kernel, "modules.files");
	ret = mz_output_open(&out, to, force, err);
	if (ret >= 0)
		ret = copy(&in, &out, err);
	if (ret >= 0 && modules && modules->len)
		ret = add_modules(&out, modules, files, err);
	mz_input_close(&in);
	if (ret < 0)
		mz_output_abort(&out);
	return ret < 0 ? ret : mz_output_commit(&out, err);
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

	vm_beside_kernel(path, sizeof(path), kernel, "vmlinux");
	if (!has_dwarf(path))
		return 0;
	if (force)
		unlink(to);
	/* a hard link keeps this file when the kernel is built again, but cannot lead to another
	 * disk */
	if (!link(path, to))
		return 0;
	if (errno != EEXIST && realpath(path, whole) && !symlink(whole, to))
		return 0;
	return mz_fail(err, errno, "%s: %s%s", to, strerror(errno),
		       errno == EEXIST ? "; -f replaces it" : "");
}
