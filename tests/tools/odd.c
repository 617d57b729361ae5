// SPDX-License-Identifier: BSD-2-Clause
/*
 * Ninety-six odd programs in one: odd N (0 to 95) is program N / 3 with strength N % 3.
 * Each prints what it finds and ends with a status of its own; recorded or not, both
 * must be the same. odd --list prints how many there are.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static int k; /* 0 to 2 */
static char **args;

static void *keep(void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

static void churn(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		free(keep(malloc(1 + i * 7919u % 5000)));
}

static int waited(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void *thread_churn(void *arg)
{
	churn(2000);
	return arg;
}

static int many_threads(void)
{
	pthread_t t[64];
	unsigned n = 4u << (2 * k);

	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, thread_churn, NULL))
			return 1;
	for (unsigned i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	return 10;
}

static int detached_threads(void)
{
	pthread_attr_t a;
	pthread_t t;

	pthread_attr_init(&a);
	pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < 20 * (k + 1); i++)
		pthread_create(&t, &a, thread_churn, NULL);
	usleep(20000);
	return 11; /* some may still run */
}

static int tiny_stacks(void)
{
	pthread_attr_t a;
	pthread_t t;

	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, (size_t)16384 * (1u << k));
	for (int i = 0; i < 8; i++) {
		if (pthread_create(&t, &a, thread_churn, NULL))
			return 1;
		pthread_join(t, NULL);
	}
	return 12;
}

static int forks(void)
{
	int sum = 0;

	for (int i = 0; i < 3 * (k + 1); i++) {
		pid_t pid = fork();

		if (!pid) {
			churn(500);
			_exit(i);
		}
		sum += waited(pid);
	}
	printf("%d\n", sum);
	return 13;
}

static int fork_tree(void)
{
	for (int i = 0; i < 2 + k; i++)
		if (fork() == 0)
			churn(200);
	while (wait(NULL) > 0)
		;
	return 14;
}

static int vforks(void)
{
	char *const argv[] = {"true", NULL};

	for (volatile int i = 0; i < 3 * (k + 1); i++) {
		pid_t pid = vfork();

		if (!pid) {
			execv("/bin/true", argv);
			_exit(1);
		}
		churn(100);
		if (waited(pid))
			return 1;
	}
	return 15;
}

static int cloned(void *arg)
{
	churn(*(unsigned *)arg);
	_exit(3);
}

static int clones(void)
{
	static char stack[262144] __attribute__((aligned(16)));
	unsigned n = 100u << k;
	pid_t pid = clone(cloned, stack + sizeof(stack), SIGCHLD, &n);

	churn(100);
	printf("%d\n", waited(pid));
	return 16;
}

static volatile sig_atomic_t seen;

static void on_alarm(int sig)
{
	(void)sig;
	free(keep(malloc(33)));
	seen++;
}

/* The handler allocates; the program does not while it may come. */
static int signals(void)
{
	struct itimerval every = {{0, 500}, {0, 500}}, off = {{0, 0}, {0, 0}};

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &every, NULL);
	while (seen < 20 * (k + 1))
		pause();
	setitimer(ITIMER_REAL, &off, NULL);
	churn(100);
	return 17;
}

static int signal_stack(void)
{
	stack_t s = {.ss_size = 65536, .ss_sp = malloc(65536)};
	struct sigaction a = {.sa_handler = on_alarm, .sa_flags = SA_ONSTACK};

	sigaltstack(&s, NULL);
	sigaction(SIGUSR1, &a, NULL);
	for (int i = 0; i < 100 * (k + 1); i++)
		raise(SIGUSR1);
	printf("%d\n", (int)seen);
	return 18;
}

static jmp_buf back;

static int jumps(void)
{
	volatile int n = 0;

	if (setjmp(back) < 100 * (k + 1)) {
		char *p = keep(malloc(64));

		free(p);
		n++;
		longjmp(back, n);
	}
	return 19;
}

static ucontext_t home, away;

static void elsewhere(void)
{
	for (int i = 0; i < 50; i++) {
		churn(20);
		swapcontext(&away, &home);
	}
}

static int contexts(void)
{
	char *stack = malloc((size_t)65536 << k);

	getcontext(&away);
	away.uc_stack.ss_sp = stack;
	away.uc_stack.ss_size = (size_t)65536 << k;
	away.uc_link = &home;
	makecontext(&away, elsewhere, 0);
	for (int i = 0; i < 50; i++) {
		swapcontext(&home, &away);
		churn(5);
	}
	return 20;
}

static int huge_sizes(void)
{
	volatile size_t huge = SIZE_MAX >> k;
	void *a = malloc(huge), *b = calloc(huge, 3), *c = realloc(NULL, huge), *d = NULL;
	int e = posix_memalign(&d, 64, huge);

	printf("%p %p %p %p %d\n", a, b, c, d, e);
	free(keep(malloc((size_t)200 << 20)));
	return 21;
}

static int zero_sizes(void)
{
	for (int i = 0; i < 1000 * (k + 1); i++) {
		void *p = keep(malloc(0)), *q = keep(calloc(0, 5)), *r;

		r = keep(realloc(keep(malloc(10)), 20));
		free(p);
		free(q);
		free(r);
		free(NULL);
	}
	return 22;
}

static int odd_alignments(void)
{
	int good = 0;

	for (size_t a = sizeof(void *); a <= (size_t)4096 << (4 * k); a *= 2) {
		void *p = NULL;

		good += !posix_memalign(&p, a, a + 3) && !((uintptr_t)p % a);
		free(p);
	}
	for (size_t a = 1; a < 4; a++) {
		void *p = NULL;

		good += posix_memalign(&p, a, 5) == EINVAL;
	}
	printf("%d\n", good);
	return 23;
}

static int closes_all(void)
{
	for (int i = 3; i < 1024 << k; i++)
		close(i);
	churn(100000);
	printf("%d\n", open("/dev/null", O_RDONLY));
	return 24;
}

static int closes_std(void)
{
	for (int i = 0; i <= k; i++)
		close(i == 1 ? 0 : i);
	churn(50000);
	return 25;
}

/* A child that allocates as well. */
static void fork_and_churn(void)
{
	if (!fork()) {
		churn(1000);
		_exit(0);
	}
	wait(NULL);
}

static int no_files(void)
{
	struct rlimit r = {(rlim_t)(3 + k), (rlim_t)(3 + k)};

	setrlimit(RLIMIT_NOFILE, &r);
	churn(50000);
	printf("%d\n", open("/dev/null", O_RDONLY) < 0 ? errno : 0);
	fork_and_churn();
	return 26;
}

static int roots(void)
{
	char dir[] = "/tmp/oddXXXXXX";
	int outside = open("/", O_PATH | O_DIRECTORY);
	int r = mkdtemp(dir) ? chroot(dir) : -1;

	printf("%d\n", r ? errno : 0);
	unlinkat(outside, dir + 1, AT_REMOVEDIR); /* the path from here is another one now */
	close(outside);
	churn(20000u << k);
	fork_and_churn();
	return 27;
}

static int drops_rights(void)
{
	printf("%d\n", setgid(65534) || setuid(65534) ? errno : 0);
	churn(20000u << k);
	fork_and_churn();
	return 28;
}

static int not_dumpable(void)
{
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	churn(20000u << k);
	fork_and_churn();
	return 29;
}

static int recurse(int n)
{
	char room[512];

	memset(keep(room), n, sizeof(room));
	free(keep(malloc(100)));
	return n ? recurse(n - 1) + room[0] % 2 : 0;
}

static int deep(void)
{
	struct rlimit r = {64u << 20, 64u << 20};

	setrlimit(RLIMIT_STACK, &r);
	printf("%d\n", recurse(1000 << k) >= 0);
	return 30;
}

/* exec, k + 1 times, each a program of its own. */
static int exec_chain(void)
{
	int left = args[2] ? atoi(args[2]) : 3 * (k + 1);
	char n[16];

	churn(300);
	if (!left)
		return 31;
	snprintf(n, sizeof(n), "%d", left - 1);
	execl("/proc/self/exe", args[0], args[1], n, NULL);
	return 1;
}

static int empty_environment(void)
{
	char *const argv[] = {"sh", "-c", "echo ${LD_PRELOAD-none}; exit 4", NULL}, *env[] = {NULL};
	pid_t pid;

	fflush(stdout);
	if (k)
		clearenv();
	pid = fork();
	if (!pid)
		execve("/bin/sh", argv, env);
	return waited(pid) == 4 ? 32 : 1;
}

static int maps_over(void)
{
	for (int i = 0; i < 20 << k; i++) {
		char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);

		munmap(p + 4096, 8192);
		p = mremap(p, 4096, 65536, MREMAP_MAYMOVE);
		if (p == MAP_FAILED)
			return 1;
		munmap(p, 65536);
	}
	sbrk(4096);
	sbrk(-4096);
	return 33;
}

static int memory_limit(void)
{
	struct rlimit r = {(rlim_t)256 << (20 + k), (rlim_t)256 << (20 + k)};
	size_t n = 0;

	setrlimit(RLIMIT_AS, &r);
	while (n < 10000 && malloc(1 << 20))
		n++;
	printf("%d\n", n > 10 && n < 10000 && errno == ENOMEM);
	return 34;
}

static int loads(void)
{
	for (int i = 0; i < 10 << k; i++) {
		void *h = dlopen("libz.so.1", RTLD_NOW);

		if (h)
			dlclose(h);
		churn(10);
	}
	return 35;
}

static void late(void)
{
	churn(1000u << k);
}

static int at_end(void)
{
	for (int i = 0; i < 10; i++)
		atexit(late);
	return 36;
}

static pthread_key_t key;

static void destroy(void *p)
{
	free(p);
	churn(10);
	if (k)
		pthread_setspecific(key, malloc(5));
}

static void *with_key(void *arg)
{
	pthread_setspecific(key, malloc(50));
	return arg;
}

static int thread_keys(void)
{
	pthread_t t;

	pthread_key_create(&key, destroy);
	for (int i = 0; i < 30; i++) {
		pthread_create(&t, NULL, with_key, NULL);
		pthread_join(t, NULL);
	}
	return 37;
}

static int dies(void)
{
	static const int how[] = {SIGKILL, SIGSEGV, SIGABRT};

	churn(5000);
	fflush(stdout);
	signal(how[k], SIG_DFL);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	kill(getpid(), how[k]);
	return 1;
}

static void *exits(void *arg)
{
	churn(1000);
	exit(39 + (arg != NULL));
}

static int thread_exits(void)
{
	pthread_t t;

	pthread_create(&t, NULL, exits, NULL);
	if (k == 2)
		pthread_exit(NULL);
	for (;;)
		k ? usleep(100) : (void)churn(10);
}

static int shares(void)
{
	int fd[2], n = 0;
	char c;

	if (pipe(fd))
		return 1;
	if (!fork()) {
		churn(30000u << k);
		_exit(write(fd[1], "xyz", 3) != 3);
	}
	close(fd[1]);
	while (read(fd[0], &c, 1) == 1)
		n++;
	wait(NULL);
	printf("%d\n", n);
	return 40;
}

static int daemonizes(void)
{
	int fd[2];
	char c = 0;

	if (pipe(fd))
		return 1;
	if (!fork()) {
		setsid();
		if (fork())
			_exit(0);
		churn(5000u << k);
		_exit(write(fd[1], "d", 1) != 1);
	}
	wait(NULL);
	if (read(fd[0], &c, 1) != 1)
		return 1;
	printf("%c\n", c);
	return 41;
}

static int (*const programs[])(void) = {
	many_threads,
	detached_threads,
	tiny_stacks,
	forks,
	fork_tree,
	vforks,
	clones,
	signals,
	signal_stack,
	jumps,
	contexts,
	huge_sizes,
	zero_sizes,
	odd_alignments,
	closes_all,
	closes_std,
	no_files,
	roots,
	drops_rights,
	not_dumpable,
	deep,
	exec_chain,
	empty_environment,
	maps_over,
	memory_limit,
	loads,
	at_end,
	thread_keys,
	dies,
	thread_exits,
	shares,
	daemonizes,
};

int main(int argc, char **argv)
{
	unsigned count = 3 * sizeof(programs) / sizeof(*programs), n;

	if (argc > 1 && !strcmp(argv[1], "--list"))
		return printf("%u\n", count) < 0;
	n = argc > 1 ? (unsigned)atoi(argv[1]) : count;
	if (n >= count)
		return 2;
	args = argv;
	k = (int)(n % 3);
	mallopt(M_ARENA_MAX, 2);
	return programs[n / 3]();
}
