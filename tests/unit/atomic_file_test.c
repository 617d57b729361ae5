// SPDX-License-Identifier: BSD-2-Clause
/* Files that appear whole: failing system calls, leftovers, other users' files. */
#include "base/atomic_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/output.h"
#include "tests/unit/faults.h"

static char folder[] = "/tmp/mz_atomic_XXXXXX";
static char path[64], part[80];
static const char text[] = "all of it, or nothing";

static long descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	long n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static bool is_whole(void)
{
	char got[sizeof(text) + 1];
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, got, sizeof(got));

	if (fd >= 0)
		__real_close(fd);
	return n == sizeof(text) && !memcmp(got, text, sizeof(text));
}

static bool exists(const char *name)
{
	struct stat st;

	return !lstat(name, &st);
}

static int write_text(bool overwrite)
{
	struct mz_error err = {0};
	struct mz_output out;
	int ret = mz_output_open(&out, path, overwrite, &err);

	if (ret)
		return ret;
	ret = mz_output_add(&out, text, sizeof(text), &err);
	if (!ret)
		ret = mz_output_commit(&out, &err);
	mz_output_abort(&out);
	return ret;
}

static int write_with_fault(enum io_call which, long at, bool overwrite)
{
	int ret;

	io_which = which;
	io_count = 0;
	io_fail_at = at;
	has_failed = false;
	ret = write_text(overwrite);
	io_which = IO_NONE;
	return ret;
}

/* The disk fails before the file has its name: an error, and no file of any name. */
static void no_file_after_a_fault(void)
{
	static const enum io_call all[] = {IO_FSYNC, IO_CLOSE, IO_WRITEV, IO_RENAME};
	long before = descriptors();

	for (size_t i = 0; i < 4; i++)
		for (int overwrite = 0; overwrite < 2; overwrite++) {
			CHECK_EQ(write_with_fault(all[i], 1, overwrite), -EIO);
			CHECK(has_failed && !exists(path) && !exists(part));
		}
	CHECK_EQ(descriptors(), before);
	CHECK_EQ(write_text(false), 0);
	CHECK(is_whole() && !exists(part));
	unlink(path);
}

/* The old file stays as it was when its successor fails. */
static void old_file_stays(void)
{
	static const enum io_call all[] = {IO_FSYNC, IO_CLOSE, IO_WRITEV, IO_RENAME};

	CHECK_EQ(write_text(false), 0);
	CHECK_EQ(write_text(false), -EEXIST);
	for (size_t i = 0; i < 4; i++) {
		CHECK_EQ(write_with_fault(all[i], 1, true), -EIO);
		CHECK(is_whole() && !exists(part));
	}
	unlink(path);
}

/* The folder cannot be synced: an error, and the file is whole. */
static void folder_fault(void)
{
	static const int cannot[] = {EINVAL, ENOTSUP, EROFS};

	CHECK_EQ(write_with_fault(IO_FSYNC, 2, false), -EIO);
	CHECK(is_whole() && !exists(part));
	unlink(path);
	/* unless the file system cannot do it */
	for (size_t i = 0; i < sizeof(cannot) / sizeof(*cannot); i++) {
		io_code = cannot[i];
		CHECK_EQ(write_with_fault(IO_FSYNC, 2, false), 0);
		CHECK(has_failed && is_whole() && !exists(part));
		unlink(path);
	}
	io_code = 0;
	/* file and folder, and nothing else */
	CHECK_EQ(write_with_fault(IO_FSYNC, 0, false), 0);
	CHECK_EQ(io_count, 2);
	unlink(path);
}

static void make_part(const char *content)
{
	int fd = open(part, O_WRONLY | O_CREAT | O_EXCL, 0600);

	CHECK(fd >= 0 && write(fd, content, strlen(content)) == (ssize_t)strlen(content));
	__real_close(fd);
}

static void leftovers(void)
{
	struct stat before, after;
	struct mz_error err = {0};
	char other[64];

	snprintf(other, sizeof(other), "%s/other", folder);

	make_part("half");
	CHECK_EQ(mz_atomic_file_check(path, false, &err), -EEXIST);
	CHECK(strstr(err.text, "left by a writer"));
	CHECK_EQ(write_text(false), -EEXIST);
	CHECK(!stat(part, &before) && before.st_size == 4);
	CHECK_EQ(mz_atomic_file_check(path, true, NULL), 0);
	CHECK(!stat(part, &after) && before.st_ino == after.st_ino);
	/* it is replaced, not filled again: what another descriptor or name of it shows stays */
	CHECK_EQ(link(part, other), 0);
	CHECK_EQ(write_text(true), 0);
	CHECK(is_whole() && !exists(part));
	CHECK(!stat(other, &after) && after.st_ino == before.st_ino && after.st_size == 4);
	unlink(other);
	unlink(path);
}

/* Neither a link, a pipe nor another user's file is taken for a leftover of ours. */
static void strange_parts(void)
{
	char target[64];

	snprintf(target, sizeof(target), "%s/target", folder);
	CHECK_EQ(symlink(target, part), 0);
	CHECK(mz_atomic_file_check(path, true, NULL) < 0 && write_text(true) < 0);
	CHECK(exists(part) && !exists(target) && !exists(path));
	unlink(part);
	CHECK_EQ(mkfifo(part, 0600), 0);
	CHECK(mz_atomic_file_check(path, true, NULL) < 0 && write_text(true) < 0);
	CHECK(exists(part) && !exists(path));
	unlink(part);
}

static void part_of_another_user(void)
{
	struct stat st;

	make_part("theirs");
	CHECK_EQ(chown(part, 65534, 65534), 0);
	CHECK_EQ(mz_atomic_file_check(path, true, NULL), -EEXIST);
	CHECK_EQ(write_text(true), -EEXIST);
	CHECK(!stat(part, &st) && st.st_uid == 65534 && st.st_size == 6);
	CHECK(!exists(path));
	unlink(part);
}

static void two_writers(void)
{
	struct mz_atomic_file f;

	CHECK_EQ(mz_atomic_file_open(&f, path, true, NULL), 0);
	CHECK_EQ(mz_atomic_file_check(path, true, NULL), -EBUSY);
	CHECK_EQ(write_text(true), -EBUSY);
	CHECK_EQ(mz_atomic_file_append(&f, text, 4, text + 4, sizeof(text) - 4, NULL), 0);
	CHECK_EQ(mz_atomic_file_commit(&f, NULL), 0);
	CHECK(is_whole() && !exists(part));
	unlink(path);
}

static void checks(void)
{
	char deep[96];

	snprintf(deep, sizeof(deep), "%s/none/file", folder);
	CHECK_EQ(mz_atomic_file_check(deep, false, NULL), -ENOENT);
	CHECK_EQ(mz_atomic_file_check(folder, true, NULL), -EISDIR);
	CHECK_EQ(mz_atomic_file_check("/dev/null", false, NULL), 0);
	CHECK_EQ(mz_atomic_file_check(path, false, NULL), 0);
	CHECK(!exists(path) && !exists(part));
}

int main(void)
{
	test_folder(folder, path, "f");
	snprintf(part, sizeof(part), "%s.part", path);
	RUN(no_file_after_a_fault);
	RUN(old_file_stays);
	RUN(folder_fault);
	RUN(leftovers);
	RUN(strange_parts);
	if (geteuid())
		printf("skip part_of_another_user: needs root\n");
	else
		RUN(part_of_another_user);
	RUN(two_writers);
	RUN(checks);
	rmdir(folder);
	return test_end();
}
