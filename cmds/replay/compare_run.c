// SPDX-License-Identifier: BSD-2-Clause
/* Replay a trace once with one allocator, in a fresh process. */
#include "cmds/replay/compare_run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/self.h"

static const struct known {
	const char *name;
	const char *library;
	const char *package;
} known[] = {
	{"glibc", "", ""},
	{"jemalloc", "libjemalloc.so.2", "libjemalloc2"},
	{"mimalloc", "libmimalloc.so.2", "libmimalloc2.0"},
	{"tcmalloc", "libtcmalloc.so.4", "libgoogle-perftools4"},
	{"tcmalloc-minimal", "libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"},
};

static const char *const folders[] = {
	"/usr/local/lib",
	"/usr/lib/x86_64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu",
	"/lib/x86_64-linux-gnu",
	"/usr/lib64",
	"/usr/lib",
};

static bool find_library(const char *file, char *path, size_t size)
{
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		snprintf(path, size, "%s/%s", folders[i], file);
		if (!access(path, R_OK))
			return true;
	}
	return false;
}

static int find_path(const char *name, struct compare_allocator *a, struct mz_error *err)
{
	const char *base = strrchr(name, '/') + 1;

	if (access(name, R_OK))
		return mz_fail(err, EINVAL, "%s: %s", name, strerror(errno));
	if (strlen(name) >= sizeof(a->library))
		return mz_fail(err, EINVAL, "%s: the path is too long", name);
	strcpy(a->library, name);
	snprintf(a->name, sizeof(a->name), "%.60s", base);
	return 0;
}

int compare_find(const char *name, struct compare_allocator *a, struct mz_error *err)
{
	if (strchr(name, '/'))
		return find_path(name, a, err);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const struct known *k = &known[i];

		if (strcmp(k->name, name))
			continue;
		snprintf(a->name, sizeof(a->name), "%s", name);
		a->library[0] = '\0';
		if (!*k->library || find_library(k->library, a->library, sizeof(a->library)))
			return 0;
		return mz_fail(err, ENOENT,
			       "%s: %s is not installed; it is in the Debian package %s", name,
			       k->library, k->package);
	}
	return mz_fail(err, EINVAL,
		       "unknown allocator '%s'; known are glibc, jemalloc, mimalloc, tcmalloc, "
		       "tcmalloc-minimal, or a path with a '/'",
		       name);
}

/* ---- the process --------------------------------------------------------------- */

static void child(const struct compare_allocator *a, const struct compare_how *how, int out)
{
	char self[PATH_MAX];
	const char *argv[16];
	unsigned n = 0;

	if (!mz_self_path(self, sizeof(self), 0))
		_exit(126);
	argv[n++] = "memorizer";
	argv[n++] = "replay";
	argv[n++] = "--json";
	argv[n++] = "--touch";
	argv[n++] = how->touch;
	if (how->samples)
		argv[n++] = "--samples";
	if (how->one_thread)
		argv[n++] = "--one-thread";
	if (how->allow_large)
		argv[n++] = "--allow-large";
	argv[n++] = "--";
	argv[n++] = how->trace;
	argv[n] = NULL;
	dup2(out, STDERR_FILENO);
	if (*a->library)
		setenv("LD_PRELOAD", a->library, 1);
	else
		unsetenv("LD_PRELOAD");
	execv(self, (char *const *)(uintptr_t)argv);
	_exit(127);
}

/* The number after "key": in the output of our own replay. */
static double number(const char *json, const char *key)
{
	char want[64];
	const char *p;

	snprintf(want, sizeof(want), "\"%s\":", key);
	p = strstr(json, want);
	return p ? strtod(p + strlen(want), NULL) : 0;
}

static size_t samples(const char *json, bool by_time, struct mz_sample *s)
{
	const char *p = strstr(json, "\"samples\":");
	uint64_t v[3];
	unsigned k = 0;
	size_t n = 0;

	for (p = p ? p + 10 : ""; *p && *p != '}' && n < COMPARE_SAMPLES;) {
		char *end;

		if (*p < '0' || *p > '9') {
			p++;
			continue;
		}
		v[k++] = strtoull(p, &end, 10);
		p = end;
		if (k == 3) {
			s[n++] = (struct mz_sample){.calls = by_time ? 0 : v[0],
						    .ns = by_time ? v[0] : 0,
						    .live = v[1],
						    .rss = v[2]};
			k = 0;
		}
	}
	return n;
}

static int parse(const struct compare_allocator *a, const char *json, struct compare_run *run,
		 struct mz_error *err)
{
	const char *base = strrchr(a->library, '/');
	const char *used = strstr(json, "\"allocator\":");
	const char *end = used ? strchr(used, '\n') : NULL;

	/* a library that could not be loaded is only warned of by the system */
	if (base && (!used || !memmem(used, (size_t)((end ? end : used + strlen(used)) - used),
				      base, strlen(base))))
		return mz_fail(err, ENOEXEC, "%s: it was not loaded, or it does not define malloc",
			       a->library);
	run->events = number(json, "events");
	run->ns = number(json, "ns_per_event");
	run->peak_live = number(json, "peak_live_bytes");
	run->rss_before = number(json, "rss_before");
	run->rss_peak = number(json, "rss_peak");
	run->rss_after = number(json, "rss_after");
	run->faults = number(json, "minor_faults") + number(json, "major_faults");
	run->failed = number(json, "failed_here");
	run->files_cut = number(json, "files_cut");
	/* in one thread, calls are counted */
	run->samples_by_time = number(json, "threads") > 1;
	run->samples = samples(json, run->samples_by_time, run->sample);
	return 0;
}

static int failed(const struct compare_allocator *a, const char *said, int status,
		  struct mz_error *err)
{
	const char *p = strstr(said, "\"message\": \"");
	size_t n = p ? strcspn(p + 12, "\"") : 0;

	if (n)
		return mz_fail(err, EIO, "%.*s", (int)n, p + 12);
	if (WIFSIGNALED(status))
		return mz_fail(err, EIO, "the replay with %s was ended by signal %d (%s)", a->name,
			       WTERMSIG(status), strsignal(WTERMSIG(status)));
	return mz_fail(err, EIO, "the replay with %s failed: %.200s", a->name, said);
}

int compare_run(const struct compare_allocator *a, const struct compare_how *how,
		struct compare_run *run, struct mz_error *err)
{
	int fd = memfd_create("memorizer-compare", MFD_CLOEXEC);
	int status = 0, ret;
	char *json = NULL;
	off_t size;
	pid_t pid;

	if (fd < 0)
		return mz_fail(err, errno, "cannot create a buffer: %s", strerror(errno));
	pid = fork();
	if (!pid)
		child(a, how, fd);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	size = lseek(fd, 0, SEEK_END);
	json = calloc(1, (size_t)size + 1);
	if (pid < 0)
		ret = mz_fail(err, errno, "cannot start a process: %s", strerror(errno));
	else if (!json || pread(fd, json, (size_t)size, 0) != size)
		ret = mz_fail_memory(err);
	else if (!WIFEXITED(status) || WEXITSTATUS(status))
		ret = failed(a, json, status, err);
	else
		ret = parse(a, json, run, err);
	free(json);
	close(fd);
	return ret;
}
