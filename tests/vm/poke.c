// SPDX-License-Identifier: BSD-2-Clause
/* Writes, reads, seeks, polls and maps files of debugfs at random, from several processes.
 *
 *   poke SEED OPERATIONS PROCESSES FOLDER...
 *
 * A write is a word that the file may know, a mutation of one, or bytes of any kind, from
 * a good or a bad address. What the kernel answers does not matter: that it goes on does.
 * Folders that are not debugfs are refused: to others it would only be damage.
 * Ends with "poked N files, M operations, K accepted"; the same seed does the same.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_FILES 128

static char files[MAX_FILES][256];
static unsigned nfiles;
static uint64_t state;

static uint64_t chance(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

static void list(const char *dir)
{
	struct statfs fs;
	struct dirent *e;
	DIR *d;

	if (statfs(dir, &fs) || fs.f_type != DEBUGFS_MAGIC) {
		fprintf(stderr, "poke: %s is not in debugfs\n", dir);
		exit(2);
	}
	d = opendir(dir);
	while (d && (e = readdir(d)) && nfiles < MAX_FILES) {
		struct stat st;
		char *path = files[nfiles];

		snprintf(path, sizeof(files[0]), "%s/%.120s", dir, e->d_name);
		if (!stat(path, &st) && S_ISREG(st.st_mode))
			nfiles++;
	}
	if (d)
		closedir(d);
}

/* Words that mean something, and some that nearly do. */
static size_t word(char *buf, size_t size)
{
	static const char *const words[] = {
		"0",
		"1",
		"2",
		"3",
		"y",
		"n",
		"on",
		"off",
		"yes",
		"no",
		"Y\n",
		"N\n",
		"forget",
		"reclaim",
		"keep",
		"pid 1",
		"pid 0",
		"pid -1",
		"pid 99999999",
		"4194304",
		"2147483647",
		"-2147483648",
		"18446744073709551616",
		"1 2",
		"0x1",
		"pid",
		"pid ",
		"",
		"\n",
		"\t1",
		"1e9",
		"%s%n",
		"../../etc",
		"o",
		"of",
		"10",
	};
	size_t n = (size_t)snprintf(buf, size, "%s", words[chance(sizeof(words) / sizeof(*words))]);

	for (uint64_t i = chance(8) ? 0 : chance(4); i && n; i--)
		buf[chance(n)] = (char)chance(256);
	if (!chance(50)) {
		n = chance(size);
		for (size_t i = 0; i < n; i++)
			buf[i] = (char)chance(256);
	}
	return n;
}

/* An address that is not ours, now and then. */
static void *odd(void *good)
{
	static void *const bad[] = {NULL, (void *)8, (void *)0xffff888000000000,
				    (void *)0x7ffffffff000, (void *)-1};

	return chance(20) ? good : bad[chance(sizeof(bad) / sizeof(*bad))];
}

static long operate(int fd, char *buf, size_t size)
{
	struct pollfd p = {fd, POLLIN | POLLOUT, 0};
	size_t len = 4096 * (1 + chance(64));
	void *at;

	switch (chance(10)) {
	case 0: return lseek(fd, (off_t)chance(1u << 20) - 1000, (int)chance(5));
	case 1: return poll(&p, 1, 0);
	case 2:
		at = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, (off_t)(4096 * chance(3)));
		if (at == MAP_FAILED)
			return -1;
		buf[0] = *(volatile char *)at;
		return munmap(at, len);
	case 3: return pread(fd, odd(buf), chance(size), (off_t)chance(100000));
	case 4:
	case 5: return read(fd, odd(buf), chance(4) ? 1 + chance(size - 1) : chance(3));
	default:
		size = word(buf, 200);
		return chance(100) ? write(fd, odd(buf), size) : write(fd, buf, 100000);
	}
}

static uint64_t poke(uint64_t seed, uint64_t operations)
{
	static char buf[200000];
	uint64_t accepted = 0;

	state = seed * 0x9e3779b97f4a7c15u + 1;
	while (operations) {
		/* a stream without O_NONBLOCK waits for the next dead object, rightly */
		int fd = open(files[chance(nfiles)], (chance(3)	  ? O_RDWR
						      : chance(2) ? O_RDONLY
								  : O_WRONLY) |
							     O_NONBLOCK | O_CLOEXEC);

		if (fd < 0 && errno == EACCES) {
			operations--;
			continue;
		}
		for (uint64_t n = 1 + chance(6); n && operations; n--, operations--)
			accepted += fd >= 0 && operate(fd, buf, sizeof(buf)) >= 0;
		if (fd >= 0)
			close(fd);
	}
	return accepted;
}

int main(int argc, char **argv)
{
	uint64_t seed, operations, accepted = 0, got;
	int processes, out[2], status, bad = 0;

	if (argc < 5)
		return 2;
	seed = strtoull(argv[1], NULL, 0);
	operations = strtoull(argv[2], NULL, 0);
	processes = atoi(argv[3]);
	for (int i = 4; i < argc; i++)
		list(argv[i]);
	if (!nfiles || processes < 1 || pipe(out))
		return 2;
	for (int i = 0; i < processes; i++) {
		if (fork())
			continue;
		got = poke(seed + (uint64_t)i, operations / (uint64_t)processes);
		_exit(write(out[1], &got, sizeof(got)) != sizeof(got));
	}
	while (wait(&status) > 0)
		bad |= status;
	close(out[1]);
	while (read(out[0], &got, sizeof(got)) == sizeof(got))
		accepted += got;
	printf("poked %u files, %llu operations, %llu accepted%s\n", nfiles,
	       (unsigned long long)operations, (unsigned long long)accepted,
	       bad ? ", a process died" : "");
	return bad != 0;
}
