// SPDX-License-Identifier: BSD-2-Clause
/* Make the initramfs that the guest starts from: a "newc" cpio archive. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "cmds/vm/vm.h"

struct cpio_entry {
	const char *name;
	unsigned mode, major, minor;
	const void *data;
	size_t size;
};

static void pad4(struct mz_buf *b)
{
	while (b->len % 4 && !b->failed)
		mz_buf_add(b, "", 1);
}

/* One member of a "newc" archive. */
static void cpio_add(struct mz_buf *b, unsigned ino, const struct cpio_entry *e)
{
	mz_buf_printf(b, "070701%08X%08X%08X%08X%08X%08X%08zX%08X%08X%08X%08X%08zX%08X", ino,
		      e->mode, 0, 0, 1, 0, e->size, 0, 0, e->major, e->minor, strlen(e->name) + 1,
		      0);
	mz_buf_add(b, e->name, strlen(e->name) + 1);
	pad4(b);
	if (e->size)
		mz_buf_add(b, e->data, e->size);
	pad4(b);
}

static int read_file(const char *path, struct mz_buf *b)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : 0;

	while (fd >= 0 && mz_buf_room(b, 65536) && (n = read(fd, b->data + b->len, 65536)) > 0)
		b->len += (size_t)n;
	if (fd >= 0)
		close(fd);
	return n < 0 || b->failed ? -1 : 0;
}

/* Drivers, as early/NAME: kernel/build numbers them in the order of loading. */
static int add_drivers(struct mz_buf *b, unsigned *ino, const char *kernel, struct mz_error *err)
{
	char dir[PATH_MAX], name[PATH_MAX], path[2 * PATH_MAX];
	struct dirent *e;
	int ret = 0;
	DIR *d;

	vm_beside_kernel(dir, sizeof(dir), kernel, "early");
	d = opendir(dir);
	while (d && !ret && (e = readdir(d))) {
		struct mz_buf file = {0};

		if (e->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "early/%s", e->d_name);
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (read_file(path, &file) < 0)
			ret = mz_fail(err, errno, "%s: cannot read: %s", path, strerror(errno));
		else
			cpio_add(b, (*ino)++,
				 &(struct cpio_entry){name, S_IFREG | 0600, 0, 0, file.data,
						      file.len});
		mz_buf_free(&file);
	}
	if (d)
		closedir(d);
	return ret;
}

static void add_all(struct mz_buf *b, unsigned *ino, const struct cpio_entry *e, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cpio_add(b, (*ino)++, &e[i]);
}

int vm_make_initramfs(const struct vm_paths *paths, const struct mz_buf *job, struct mz_error *err)
{
	struct mz_buf prog = {0}, b = {0};
	struct cpio_entry end = {"TRAILER!!!", 0, 0, 0, NULL, 0};
	struct cpio_entry e[] = {
		{"dev", S_IFDIR | 0755, 0, 0, NULL, 0},
		{"dev/console", S_IFCHR | 0600, 5, 1, NULL, 0},
		{"early", S_IFDIR | 0755, 0, 0, NULL, 0},
		{"init", S_IFREG | 0755, 0, 0, NULL, 0},
		{"job", S_IFREG | 0600, 0, 0, job->data, job->len},
	};
	unsigned ino = 1;
	int fd = -1;

	if (read_file(paths->init, &prog) < 0) {
		mz_fail(err, errno, "%s: cannot read: %s", paths->init, strerror(errno));
		goto out;
	}
	e[3].data = prog.data;
	e[3].size = prog.len;
	add_all(&b, &ino, e, sizeof(e) / sizeof(*e));
	if (add_drivers(&b, &ino, paths->kernel, err) < 0)
		goto out;
	add_all(&b, &ino, &end, 1);
	fd = memfd_create("initramfs", 0);
	if (b.failed || fd < 0 || write(fd, b.data, b.len) != (ssize_t)b.len) {
		mz_fail(err, ENOMEM, "no memory for the initramfs");
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
out:
	mz_buf_free(&prog);
	mz_buf_free(&b);
	return fd;
}
