// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the tests in the guest need and no shell can do.
 *
 *   helper msgs N LEN      send and receive N System V messages of LEN bytes: each is one
 *                          kmalloc of LEN + 48 bytes, freed when it is received
 *   helper hold N LEN      send N messages, wait for a line on standard input, receive them
 *   helper tcp             connect to itself over the loopback: the kernel answers in a
 *                          softirq, and allocates there
 *   helper stream OUT STOP read kmap_stream with poll until nothing comes and STOP exists
 *   helper nonblock        drain kmap_stream; say what the last read says
 *   helper signal          drain it, block in read, get a signal; say what read says
 *   helper poll N LEN      drain it; say what poll says before and after N messages
 *   helper sip BYTES       read so many bytes one at a time, and close
 *   helper eat             take memory until somebody stops it
 *   helper numbers FILE... the sequence numbers in kmemtrace's files: how many records, the
 *                          first and last number, how many are missing or come twice
 *   helper took FILE       read FILE; say how many bytes there were, and the nanoseconds
 *   helper failing FILE    open and read FILE, once for each allocation that is made on the
 *                          way, which fails; says how many there were and how many showed
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STREAM "/sys/kernel/debug/memorizer/kmap_stream"

static struct {
	long type;
	char text[65536];
} message = {.type = 1};

static char buffer[65536];

static void send_one(int queue, size_t len)
{
	if (msgsnd(queue, &message, len, 0))
		err(1, "msgsnd");
}

static void receive_one(int queue, size_t len)
{
	if (msgrcv(queue, &message, len, 0, 0) != (ssize_t)len)
		err(1, "msgrcv");
}

static int new_queue(void)
{
	int queue = msgget(IPC_PRIVATE, 0600);

	if (queue < 0)
		err(1, "msgget");
	return queue;
}

static void msgs(long n, size_t len)
{
	int queue = new_queue();

	for (long i = 0; i < n; i++) {
		send_one(queue, len);
		receive_one(queue, len);
	}
	msgctl(queue, IPC_RMID, NULL);
}

static void hold(long n, size_t len)
{
	struct msqid_ds ds;
	int queue = new_queue();

	msgctl(queue, IPC_STAT, &ds);
	ds.msg_qbytes = (size_t)n * len + 1;
	if (msgctl(queue, IPC_SET, &ds))
		err(1, "IPC_SET");
	for (long i = 0; i < n; i++)
		send_one(queue, len);
	puts("held");
	fflush(stdout);
	if (read(STDIN_FILENO, buffer, sizeof(buffer)) < 0)
		err(1, "standard input");
	for (long i = 0; i < n; i++)
		receive_one(queue, len);
	msgctl(queue, IPC_RMID, NULL);
}

static void tcp(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(to);
	int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(server, (struct sockaddr *)&to, len) || listen(server, 1) ||
	    getsockname(server, (struct sockaddr *)&to, &len) ||
	    connect(client, (struct sockaddr *)&to, len))
		err(1, "loopback");
}

static int open_stream(int flags)
{
	int fd = open(STREAM, O_RDONLY | flags);

	if (fd < 0)
		err(1, STREAM);
	return fd;
}

static void stream(const char *path, const char *stop)
{
	struct pollfd p = {.fd = open_stream(O_NONBLOCK), .events = POLLIN};
	FILE *out = fopen(path, "w");
	ssize_t n;

	if (!out)
		err(1, "%s", path);
	for (;;) {
		if (!poll(&p, 1, 200)) {
			if (!access(stop, F_OK))
				break;
			continue;
		}
		n = read(p.fd, buffer, sizeof(buffer));
		if (n > 0)
			fwrite(buffer, 1, (size_t)n, out);
		else if (n == 0 || errno != EAGAIN)
			err(1, "kmap_stream: read");
	}
	if (fclose(out))
		err(1, "%s", path);
}

/* Until nothing has come for a second: what RCU frees comes late. */
static void drain(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	do {
		while (read(fd, buffer, sizeof(buffer)) > 0)
			;
	} while (poll(&p, 1, 1000) > 0);
}

static void say_read(int fd)
{
	ssize_t n = read(fd, buffer, sizeof(buffer));

	printf("%s\n", n > 0 ? "data" : n == 0 ? "end of file" : strerrorname_np(errno));
}

/* What read says when nothing is left. On a busy machine RCU frees objects much later still. */
static void say_last_read(int fd)
{
	ssize_t n;

	do
		n = read(fd, buffer, sizeof(buffer));
	while (n > 0);
	printf("%s\n", n == 0 ? "end of file" : strerrorname_np(errno));
}

/* What poll says when the stream is empty. An object that came since is drained first. */
static int poll_empty(struct pollfd *p)
{
	int n;

	do {
		drain(p->fd);
		n = poll(p, 1, 0);
	} while (n > 0 && read(p->fd, buffer, sizeof(buffer)) > 0);
	return n;
}

static void on_alarm(int sig)
{
	(void)sig;
}

static void ended_by_signal(void)
{
	const struct itimerval each_second = {{1, 0}, {1, 0}};
	struct sigaction act = {.sa_handler = on_alarm};
	int fd = open_stream(O_NONBLOCK);

	drain(fd);
	fcntl(fd, F_SETFL, 0);
	sigaction(SIGALRM, &act, NULL);
	/* again and again: the first may come before the read has begun */
	setitimer(ITIMER_REAL, &each_second, NULL);
	say_last_read(fd);
}

static void polled(long n, size_t len)
{
	struct pollfd p = {.fd = open_stream(O_NONBLOCK), .events = POLLIN};
	pid_t pid;

	printf("before: %d\n", poll_empty(&p));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		usleep(300000);
		msgs(n, len);
		_exit(0);
	}
	n = poll(&p, 1, 600000);
	printf("after: %ld %s\n", n, p.revents & POLLIN ? "POLLIN" : "");
	say_read(p.fd);
	waitpid(pid, NULL, 0);
}

static void sip(long n)
{
	int fd = open_stream(O_NONBLOCK);

	while (n-- && read(fd, buffer, 1) == 1)
		;
}

/* In large pages where there are any: the end comes soon. */
static void eat(void)
{
	size_t size = 16u << 20;

	for (;;) {
		char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);

		if (p == MAP_FAILED)
			continue;
		madvise(p, size, MADV_HUGEPAGE);
		for (size_t i = 0; i < size; i += 4096)
			((volatile char *)p)[i] = 1;
	}
}

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void took(const char *path)
{
	int fd = open(path, O_RDONLY);
	long long from, bytes = 0;
	ssize_t n;

	if (fd < 0)
		err(1, "%s", path);
	from = now();
	while ((n = read(fd, buffer, sizeof(buffer))) > 0)
		bytes += n;
	if (n < 0)
		err(1, "%s", path);
	printf("%lld %lld\n", bytes, now() - from);
}

static void set_nth(int fd, int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", n);

	if (pwrite(fd, text, (size_t)len, 0) != len)
		err(1, "fail-nth");
}

static int get_nth(int fd)
{
	char text[16] = "";

	if (pread(fd, text, sizeof(text) - 1, 0) <= 0)
		err(1, "fail-nth");
	return atoi(text);
}

static bool read_once(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	bool ok = fd >= 0 && read(fd, buffer, 4096) >= 0;
	int why = errno;

	if (fd >= 0)
		close(fd);
	if (!ok && why != ENOMEM && why != EAGAIN)
		errx(1, "%s: %s", path, strerror(why));
	return ok || why == EAGAIN;
}

static void failing(const char *path)
{
	int nth = open("/proc/thread-self/fail-nth", O_RDWR), failed = 0, n = 0;

	if (nth < 0)
		err(1, "fail-nth");
	do {
		set_nth(nth, ++n);
		failed += !read_once(path);
	} while (!get_nth(nth) && n < 1000);
	set_nth(nth, 0);
	printf("%d allocations, %d failures\n", n - 1, failed);
}

/* ---- kmemtrace's records, by the ABI alone ---------------------------------- */

#define MOST_NUMBERS (1u << 28)

struct seen_numbers {
	unsigned char *seen; /* a bit each */
	unsigned long records, first, last, twice;
};

static void add_number(struct seen_numbers *n, unsigned long seq, const char *path)
{
	if (!seq || seq >= MOST_NUMBERS)
		errx(1, "%s: number %lu", path, seq);
	if (n->seen[seq / 8] & 1u << seq % 8)
		n->twice++;
	n->seen[seq / 8] |= (unsigned char)(1u << seq % 8);
	n->first = !n->records || seq < n->first ? seq : n->first;
	n->last = seq > n->last ? seq : n->last;
	n->records++;
}

static void read_numbers(struct seen_numbers *n, const char *path)
{
	unsigned char head[8];
	FILE *f = fopen(path, "r");
	size_t got;

	if (!f)
		err(1, "%s", path);
	while ((got = fread(head, 1, 8, f)) == 8) {
		size_t size = head[2] | (size_t)head[3] << 8;
		unsigned seq;

		memcpy(&seq, head + 4, 4);
		if (head[0] > 1 || size < 24 || fread(buffer, 1, size - 8, f) != size - 8)
			errx(1, "%s: byte %ld: no record", path, ftell(f));
		add_number(n, seq, path);
	}
	if (got)
		errx(1, "%s: ends in a record", path);
	fclose(f);
}

static void numbers(char **paths)
{
	struct seen_numbers n = {.seen = calloc(MOST_NUMBERS / 8, 1)};

	if (!n.seen)
		err(1, "numbers");
	for (; *paths; paths++)
		read_numbers(&n, *paths);
	printf("records %lu first %lu last %lu missing %lu twice %lu\n", n.records, n.first, n.last,
	       n.last - n.first + 1 - (n.records - n.twice), n.twice);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long a = argc > 2 ? atol(argv[2]) : 0, b = argc > 3 ? atol(argv[3]) : 0;

	if (!strcmp(what, "msgs"))
		msgs(a, (size_t)b);
	else if (!strcmp(what, "hold"))
		hold(a, (size_t)b);
	else if (!strcmp(what, "tcp"))
		tcp();
	else if (!strcmp(what, "stream") && argc > 3)
		stream(argv[2], argv[3]);
	else if (!strcmp(what, "nonblock")) {
		int fd = open_stream(O_NONBLOCK);

		drain(fd);
		say_last_read(fd);
	} else if (!strcmp(what, "signal"))
		ended_by_signal();
	else if (!strcmp(what, "poll"))
		polled(a, (size_t)b);
	else if (!strcmp(what, "eat"))
		eat();
	else if (!strcmp(what, "took") && argc > 2)
		took(argv[2]);
	else if (!strcmp(what, "failing") && argc > 2)
		failing(argv[2]);
	else if (!strcmp(what, "numbers"))
		numbers(argv + 2);
	else if (!strcmp(what, "sip"))
		sip(a);
	else
		errx(2, "unknown: %s", what);
	return 0;
}
