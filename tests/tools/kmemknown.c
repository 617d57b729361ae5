// SPDX-License-Identifier: BSD-2-Clause
/* Makes the kernel allocate a known number of objects: kmemknown N. Says that it
 * is ready, waits for a line, makes N pipes, N sockets and N epoll instances, says so, waits for
 * another line, closes them all, says so, and waits for a last line. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 23, *fd = calloc((size_t)n * 4, sizeof(*fd));
	char line[16];

	if (!fd || write(1, "ready\n", 6) < 0 || read(0, line, sizeof(line)) < 0)
		return 1;
	for (int i = 0; i < n; i++) {
		if (pipe(fd + 4 * i))
			return 1;
		fd[4 * i + 2] = socket(AF_UNIX, SOCK_STREAM, 0);
		fd[4 * i + 3] = epoll_create1(0);
	}
	if (write(1, "made\n", 5) < 0 || read(0, line, sizeof(line)) < 0)
		return 1;
	for (int i = 0; i < 4 * n; i++)
		if (fd[i] < 0 || close(fd[i]))
			return 1;
	return write(1, "closed\n", 7) < 0 || read(0, line, sizeof(line)) < 0;
}
