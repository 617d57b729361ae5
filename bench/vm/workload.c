// SPDX-License-Identifier: BSD-2-Clause
/*
 * The workload of the kernel cost bench: five parts, each a fixed number of rounds of
 * system calls, timed with the monotonic clock. Under QEMU's -icount shift=0 a nanosecond
 * is an instruction of the guest. Prints "PART NANOSECONDS" lines.
 *
 *   workload [DIR [DIVISOR [BATCHES]]]   DIR: a tmpfs (/dev/shm); DIVISOR: of the rounds
 *                       (1); BATCHES: the rounds are run in so many parts (1), and the
 *                       middle one counts: a tick or a thread of the kernel is in a few
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FILE_SIZE   65536
#define MAX_BATCHES 1000

static char data[FILE_SIZE];

static void must(long ret, const char *what)
{
	if (ret < 0)
		err(1, "%s", what);
}

/* open, read, close of a small file that is there */
static void part_open(void)
{
	int fd = open("small", O_RDONLY);

	must(fd, "open");
	must(read(fd, data, 4096), "read");
	close(fd);
}

static void part_fork(void)
{
	pid_t pid = fork();

	must(pid, "fork");
	if (!pid)
		_exit(0);
	must(waitpid(pid, NULL, 0), "waitpid");
}

static void part_pipe(void)
{
	int fd[2];

	must(pipe(fd), "pipe");
	for (int i = 0; i < 8; i++) {
		must(write(fd[1], data, 512), "write to a pipe");
		must(read(fd[0], data, 512), "read from a pipe");
	}
	close(fd[0]);
	close(fd[1]);
}

static void part_unix(void)
{
	int fd[2];

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), "socketpair");
	for (int i = 0; i < 8; i++) {
		must(send(fd[0], data, 512, 0), "send");
		must(recv(fd[1], data, 512, 0), "recv");
	}
	close(fd[0]);
	close(fd[1]);
}

/* a file's whole life */
static void part_tmpfs(void)
{
	int fd = open("new", O_RDWR | O_CREAT | O_EXCL, 0600);

	must(fd, "create");
	must(write(fd, data, FILE_SIZE), "write to tmpfs");
	must(lseek(fd, 0, SEEK_SET), "lseek");
	must(read(fd, data, FILE_SIZE), "read from tmpfs");
	must(ftruncate(fd, 100), "ftruncate");
	close(fd);
	must(rename("new", "old"), "rename");
	must(unlink("old"), "unlink");
}

static const struct part {
	const char *name;
	void (*round)(void);
	int rounds;
} parts[] = {
	{"open-read-close", part_open, 2000},
	{"fork", part_fork, 200},
	{"pipe", part_pipe, 500},
	{"unix", part_unix, 500},
	{"tmpfs", part_tmpfs, 300},
};

#define PARTS (sizeof(parts) / sizeof(*parts))

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	const long long *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Nanoseconds of a round: of the batch in the middle. */
static long long measure(void (*round)(void), int rounds, int batches)
{
	static long long cost[MAX_BATCHES];

	for (int n = 0; n < rounds / 10; n++) /* caches and slabs get warm */
		round();
	rounds = rounds / batches > 0 ? rounds / batches : 1;
	for (int i = 0; i < batches; i++) {
		long long start = now();

		for (int n = 0; n < rounds; n++)
			round();
		cost[i] = now() - start;
	}
	qsort(cost, (size_t)batches, sizeof(*cost), ascending);
	return cost[batches / 2] / rounds;
}

int main(int argc, char **argv)
{
	int divisor = argc > 2 ? atoi(argv[2]) : 1, batches = argc > 3 ? atoi(argv[3]) : 1;
	long long cost[PARTS];
	int fd;

	if (divisor < 1 || batches < 1 || batches > MAX_BATCHES)
		errx(2, "workload [DIR [DIVISOR [BATCHES]]]");

	must(chdir(argc > 1 ? argv[1] : "/dev/shm"), "chdir");
	fd = open("small", O_WRONLY | O_CREAT, 0600);
	must(fd, "small");
	must(write(fd, data, 4096), "write");
	close(fd);
	for (size_t i = 0; i < PARTS; i++)
		cost[i] = measure(parts[i].round, parts[i].rounds / divisor, batches);
	/* only now: whoever reads the output would run in the next part */
	for (size_t i = 0; i < PARTS; i++)
		printf("%s %lld\n", parts[i].name, cost[i]);
	unlink("small");
	return 0;
}
