// SPDX-License-Identifier: BSD-2-Clause
/* Run a command under Memorizer's kernel in QEMU and fetch its KMAP. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/self.h"
#include "cmds/vm/vm.h"

static const char *const accels[] = {"auto", "kvm", "tcg", NULL};

static const struct mz_opt opts[] = {
	MZ_OPT(0, "smp", "N", MZ_OPT_U64, struct vm_opts, smp, "CPUs of the guest (2)"),
	MZ_OPT(0, "mem", "SIZE", MZ_OPT_SIZE, struct vm_opts, mem, "memory of the guest (2G)"),
	MZ_OPT(0, "mode", "MODE", MZ_OPT_STR, struct vm_opts, mode,
	       "1: all processes, 2: the command and interrupts, 3: the command (3)"),
	MZ_SWITCH('a', "accesses", struct vm_opts, accesses, "also count accesses"),
	MZ_SWITCH(0, "fields", struct vm_opts, fields,
		  "count accesses, and record which bytes of an object they touch, its type and "
		  "cache"),
	MZ_SWITCH(0, "frames", struct vm_opts, frames,
		  "count accesses, and attribute those to local variables to the stack frame of "
		  "their function"),
	MZ_SWITCH(0, "calls", struct vm_opts, calls,
		  "count function calls and put them first in the map (kernel variant calls)"),
	MZ_SWITCH(0, "owners", struct vm_opts, owners,
		  "note the cgroup and the pid namespace of each process, for 'memorizer kmap "
		  "select'"),
	MZ_SWITCH(0, "stream", struct vm_opts, stream,
		  "copy freed objects to the host while the command runs, and drop them in the "
		  "guest"),
	MZ_SWITCH(
		0, "boot", struct vm_opts, boot,
		"record from the first allocation of the boot, not from the start of the command"),
	MZ_SWITCH(0, "kmemtrace-boot", struct vm_opts, kmemtrace_boot,
		  "trace with kmemtrace from the start of the slab allocator to the end of the "
		  "command, and "
		  "print what is live, by call site and subsystem; -o keeps the recording in a "
		  "folder"),
	MZ_OPT(0, "disk", "IMAGE", MZ_OPT_STR, struct vm_opts, disk,
	       "boot the system of this disk (raw, or NAME.qcow2), and run the command when it is "
	       "up; the image stays as it is"),
	MZ_SWITCH(0, "net", struct vm_opts, net,
		  "give the guest a network card; it reaches what the host reaches, through QEMU"),
	MZ_SWITCH(0, "off", struct vm_opts, off, "do not record; only run the command"),
	MZ_OPT(0, "timeout", "SECONDS", MZ_OPT_U64, struct vm_opts, timeout,
	       "give up after so many seconds (never)"),
	MZ_OPT(0, "append", "ARGS", MZ_OPT_STR, struct vm_opts, append,
	       "add to the kernel's command line"),
	MZ_OPT('o', "output", "OUT.kmap", MZ_OPT_STR, struct vm_opts, output,
	       "write the map here, and OUT.stats, OUT.console, OUT.kallsyms and OUT.vmlinux "
	       "beside "
	       "it"),
	MZ_SWITCH('f', "force", struct vm_opts, force, "replace existing files"),
	MZ_SWITCH(0, "shell", struct vm_opts, shell, "open a shell in the guest; Ctrl-] leaves it"),
	MZ_SWITCH(0, "console", struct vm_opts, console,
		  "show the guest's console on standard error"),
	MZ_OPT(0, "kernel", "DIR", MZ_OPT_STR, struct vm_opts, kernel,
	       "folder of the bzImage (the one that 'make kernel' built)"),
	MZ_OPT_ONE_OF(0, "accel", "HOW", struct vm_opts, accel, accels,
		      "auto, kvm or tcg (auto: KVM where it works)"),
	MZ_SWITCH(
		0, "parallel", struct vm_opts, parallel,
		"without KVM: one QEMU thread per CPU, for kernels that do not modify their code"),
	MZ_OPT(0, "qemu", "ARGS", MZ_OPT_STR, struct vm_opts, qemu, "add to QEMU's command line"),
	{0},
};

/* Was an option given that says what Memorizer is to record? */
static bool asks(const struct vm_opts *o)
{
	return o->mode || vm_counts_accesses(o) || o->calls || o->owners || o->boot;
}

static int check(const struct vm_opts *o, int argc)
{
	if (o->kmemtrace_boot && (o->shell || o->off || o->stream || asks(o)))
		return console_usage(
			"--kmemtrace-boot is another recorder; leave out the options of Memorizer");
	if (!argc && !o->shell && !o->kmemtrace_boot)
		return console_usage(
			"no command given; use memorizer vm [OPTIONS] -- CMD ARGS, or --shell");
	if (o->mode && strcmp(o->mode, "1") && strcmp(o->mode, "2") && strcmp(o->mode, "3"))
		return console_usage("--mode takes 1, 2 or 3, not '%s'", o->mode);
	if (o->shell && (o->output || o->stream))
		return console_usage("--shell records nothing; leave out -o and --stream");
	if (o->off && (o->output || o->stream || asks(o)))
		return console_usage("--off records nothing; leave out the options that do");
	if (o->disk && o->kmemtrace_boot)
		return console_usage("--kmemtrace-boot needs the host's files; leave out --disk");
	if (o->disk && access(o->disk, R_OK))
		return console_usage("--disk %s: %s", o->disk, strerror(errno));
	if (o->smp > 64)
		return console_usage("--smp takes 1 to 64");
	if (o->mem && o->mem < 256u << 20)
		return console_usage("--mem: the guest needs 256M at least");
	return -1;
}

/* ---- what the guest is told --------------------------------------------------------- */

static void say(struct mz_buf *b, const char *key, const char *value)
{
	mz_buf_str(b, key);
	mz_buf_str(b, "=");
	mz_buf_add(b, value, strlen(value) + 1);
}

static void say_if(struct mz_buf *b, bool yes, const char *name)
{
	if (yes)
		say(b, name, "1");
}

/* Input is passed on if it is a file or a pipe. */
static bool has_input(const struct vm_opts *o)
{
	struct stat st;

	return !o->shell && !fstat(STDIN_FILENO, &st) &&
	       (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

/* The guest has our files: there, this program takes the records as well. */
static void say_kmemtrace(struct mz_buf *b, int argc)
{
	char self[PATH_MAX];

	mz_self_path(self, sizeof(self), 0);
	say(b, "kmemtrace", self);
	if (!argc)
		say(b, "arg", "true");
}

/* With the host's files, the guest gets its folder and environment; a disk has its own. */
static int say_surroundings(struct mz_buf *b, const struct vm_opts *o)
{
	const char *term = getenv("TERM");
	char cwd[PATH_MAX];

	if (!o->disk) {
		if (!getcwd(cwd, sizeof(cwd)))
			return -1;
		say(b, "cwd", cwd);
		for (char **e = environ; *e; e++)
			say(b, "env", *e);
		return 0;
	}
	say(b, "disk", "1");
	say(b, "cwd", "/root");
	say(b, "env", "HOME=/root");
	say(b, "env", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	snprintf(cwd, sizeof(cwd), "TERM=%.64s", term ? term : "dumb");
	say(b, "env", cwd);
	return 0;
}

static int make_job(struct mz_buf *b, const struct vm_opts *o, int argc, char **argv)
{
	if (say_surroundings(b, o) < 0)
		return -1;
	if (o->kmemtrace_boot)
		say_kmemtrace(b, argc);
	else if (!o->off && !o->shell)
		say(b, "mode", o->mode ? o->mode : "3");
	say_if(b, o->output || o->stream || asks(o), "must");
	say_if(b, vm_counts_accesses(o), "accesses");
	say_if(b, o->fields, "fields");
	say_if(b, o->frames, "frames");
	say_if(b, o->calls, "calls");
	say_if(b, o->owners, "owners");
	say_if(b, o->stream, "stream");
	say_if(b, o->boot, "boot");
	say_if(b, o->output && !o->kmemtrace_boot, "kmap");
	say_if(b, has_input(o), "stdin");
	say_if(b, o->shell, "shell");
	for (int i = 0; i < argc; i++)
		say(b, "arg", argv[i]);
	return b->failed ? -1 : 0;
}

/* ---- where the results go -------------------------------------------------------------- */

/* OUT.kmap -> OUT.stats; OUT -> OUT.stats */
static void beside(char *buf, size_t size, const char *path, const char *suffix)
{
	size_t n = strlen(path);

	if (n > 5 && !strcmp(path + n - 5, ".kmap"))
		n -= 5;
	snprintf(buf, size, "%.*s%s", (int)n, path, suffix);
}

static int sinks_open(struct vm_sinks *s, const struct vm_opts *o, struct mz_error *err)
{
	char path[PATH_MAX];

	s->account = s->modules = (struct mz_buf){0};
	s->kmap = s->stats = s->console = (struct mz_output){.file.fd = -1};
	s->record = (struct vm_boot){.out = {.file.fd = -1}};
	if (o->kmemtrace_boot)
		return vm_boot_open(&s->record, o, err);
	if (!o->output)
		return 0;
	if (mz_output_open(&s->kmap, o->output, o->force, err) < 0)
		return -1;
	if (!s->kmap.file.part)
		return 0; /* a pipe or a device: the map alone */
	beside(path, sizeof(path), o->output, ".stats");
	if (mz_output_open(&s->stats, path, o->force, err) < 0)
		return -1;
	beside(path, sizeof(path), o->output, ".console");
	return mz_output_open(&s->console, path, o->force, err) < 0 ? -1 : 0;
}

static void sinks_abort(struct vm_sinks *s)
{
	mz_output_abort(&s->kmap);
	mz_output_abort(&s->stats);
	mz_output_abort(&s->console);
	vm_boot_close(&s->record);
	mz_buf_free(&s->account);
	mz_buf_free(&s->modules);
}

/* The map and the statistics are kept only if they are complete; the console always. */
static int sinks_finish(struct vm_sinks *s, bool whole, struct mz_error *err)
{
	int ret = 0;

	if (s->console.file.fd >= 0)
		ret |= mz_output_commit(&s->console, err);
	if (whole && s->stats.file.fd >= 0)
		ret |= mz_output_commit(&s->stats, err);
	if (whole && s->kmap.file.fd >= 0)
		ret |= mz_output_commit(&s->kmap, err);
	sinks_abort(s);
	return ret;
}

/* ---- the end ------------------------------------------------------------------------------ */

static void show_tail(const struct vm_result *res)
{
	size_t at = res->tail_len, lines = 0;

	while (at && lines < 12)
		lines += res->tail[--at] == '\n';
	fprintf(stderr, "The end of the guest's console:\n");
	vm_write_text(stderr, res->tail + at, res->tail_len - at);
	fputc('\n', stderr);
}

static int say_failure(const struct vm_result *res)
{
	if (res->signal) {
		console_fail("stopped by %s; nothing was kept", strsignal(res->signal));
		return 128 + res->signal;
	}
	if (res->timed_out) {
		show_tail(res);
		console_fail(
			"not finished within --timeout; the guest was ended, nothing was kept%s%s",
			res->splat[0] ? "; its kernel said: " : "", res->splat);
		return VM_EXIT_TIMEOUT;
	}
	if (res->failed[0]) {
		console_fail("%s", res->failed);
	} else {
		show_tail(res);
		console_fail("the guest ended before the command was done%s%s",
			     res->splat[0] ? ": " : "", res->splat);
	}
	return VM_EXIT_FAILED;
}

/* A number of show_stats: "  NAME   NUMBER" in the section SECTION. */
static uint64_t stat_of(const char *text, const char *section, const char *name)
{
	size_t n = strlen(name), in = strlen(section);
	bool here = false;

	for (const char *line = text; line && *line; line = strchr(line, '\n'), line += !!line) {
		if (*line != ' ')
			here = !strncmp(line, section, in) && line[in] == '\n';
		else if (here && !strncmp(line + 2, name, n) && line[2 + n] == ' ')
			return strtoull(line + 2 + n, NULL, 10);
	}
	return 0;
}

/* What was recorded and what was lost, one line each. */
static void say_account(const char *text)
{
	char a[32], b[32];
	uint64_t objects = stat_of(text, "objects", "missed");
	uint64_t accesses = stat_of(text, "accesses", "missed");
	uint64_t dropped = stat_of(text, "objects", "  dropped for the budget");
	uint64_t calls = stat_of(text, "calls", "counted");
	uint64_t lost_calls = stat_of(text, "calls", "missed");
	uint64_t names = stat_of(text, "modules", "symbols lost");

	console_note("%s objects and %s accesses recorded since the boot",
		     console_count(a, stat_of(text, "objects", "tracked")),
		     console_count(b, stat_of(text, "accesses", "counted")));
	if (objects || accesses)
		console_note("lost: %s objects, %s accesses; see the statistics for why",
			     console_count(a, objects), console_count(b, accesses));
	if (calls || lost_calls)
		console_note("%s calls counted, %s lost", console_count(a, calls),
			     console_count(b, lost_calls));
	if (names)
		console_note("the names of %s functions and variables of unloaded modules were "
			     "lost; see the statistics for why",
			     console_count(a, names));
	if (dropped)
		console_note("%s freed objects were dropped to free memory; --stream, more --mem "
			     "or --append memorizer_mem=SIZE keeps them",
			     console_count(a, dropped));
}

static void say_success(const struct vm_opts *o, const struct vm_result *res, uint64_t bytes,
			struct mz_buf *account)
{
	char size[32];

	if (res->splat[0])
		console_note("the guest's kernel complained: %s", res->splat);
	if (WIFSIGNALED(res->status))
		console_note("the command was ended by signal %d (%s)", WTERMSIG(res->status),
			     strsignal(WTERMSIG(res->status)));
	mz_buf_add(account, "", 1);
	if (account->len > 1 && !account->failed)
		say_account(account->data);
	if (o->output && !o->kmemtrace_boot)
		console_note("%s of map in %s", console_bytes(size, bytes), o->output);
}

static int finish(const struct vm_opts *o, const struct vm_paths *paths,
		  const struct vm_result *res, struct vm_sinks *sinks)
{
	struct mz_error err = {0};
	bool whole = res->done && !res->failed[0];
	uint64_t bytes = sinks->kmap.file.size + sinks->kmap.len;
	struct mz_buf account = sinks->account;
	int ret;

	sinks->account = (struct mz_buf){0};
	if (whole && o->kmemtrace_boot && vm_boot_report(&sinks->record, paths->kernel)) {
		sinks_abort(sinks);
		ret = VM_EXIT_FAILED;
	} else if (sinks_finish(sinks, whole, &err)) {
		console_error(&err);
		ret = VM_EXIT_FAILED;
	} else if (!whole) {
		ret = say_failure(res);
	} else {
		say_success(o, res, bytes, &account);
		ret = WIFSIGNALED(res->status) ? 128 + WTERMSIG(res->status)
					       : WEXITSTATUS(res->status);
	}
	mz_buf_free(&account);
	return ret;
}

/* Beside the map, where `memorizer kmap` looks for them. */
static void keep_symbols(const struct vm_opts *o, const struct vm_paths *paths,
			 const struct mz_buf *modules)
{
	struct mz_error err = {0};
	struct stat st;
	char path[PATH_MAX];

	if (!o->output || stat(o->output, &st) || !S_ISREG(st.st_mode))
		return;
	beside(path, sizeof(path), o->output, ".kallsyms");
	if (vm_keep_symbols(paths->kernel, modules, path, o->force, &err) < 0)
		console_note("the kernel's symbols were not saved beside the map: %s", err.text);
	beside(path, sizeof(path), o->output, ".vmlinux");
	err = (struct mz_error){0};
	if (vm_keep_vmlinux(paths->kernel, path, o->force, &err) < 0)
		console_note("the kernel's vmlinux was not linked beside the map: %s", err.text);
}

/* One attempt. Returns -1 if KVM was only tried and did not bring the guest up. */
static int attempt(const struct vm_opts *o, const struct vm_paths *paths, const struct mz_buf *job,
		   bool kvm)
{
	struct vm_machine m = {.kvm = kvm};
	struct vm_result *res = calloc(1, sizeof(*res));
	struct vm_sinks sinks;
	struct mz_buf modules;
	struct mz_error err = {0};
	int ret = VM_EXIT_FAILED;

	if (!res || sinks_open(&sinks, o, &err) < 0 || vm_start(&m, o, paths, job, &err) < 0) {
		if (res)
			sinks_abort(&sinks);
		console_error(&err);
		free(res);
		return ret;
	}
	vm_attend(&m, o, &sinks, has_input(o), res);
	if (kvm && !res->ready && !res->signal && !res->timed_out && o->accel == VM_ACCEL_AUTO) {
		sinks_abort(&sinks);
		ret = -1;
	} else {
		if (!res->ready && !res->signal && !res->done)
			vm_show_log(&m);
		modules = sinks.modules;
		sinks.modules = (struct mz_buf){0};
		ret = finish(o, paths, res, &sinks);
		if (res->done && !res->failed[0])
			keep_symbols(o, paths, &modules);
		mz_buf_free(&modules);
	}
	vm_release(&m);
	free(res);
	return ret;
}

static int run_job(const struct vm_opts *o, const struct vm_paths *paths, const struct mz_buf *job)
{
	const char *why = "";
	bool kvm = o->accel != VM_ACCEL_TCG && vm_kvm_usable(&why);
	int ret;

	if (o->accel == VM_ACCEL_KVM && !kvm) {
		console_fail("--accel kvm: %s", why);
		return VM_EXIT_FAILED;
	}
	ret = attempt(o, paths, job, kvm);
	if (ret < 0) {
		console_note("the guest did not boot with KVM; trying without it");
		ret = attempt(o, paths, job, false);
	}
	return ret;
}

static int run(void *options, int argc, char **argv)
{
	const struct vm_opts *o = options;
	struct vm_paths *paths;
	struct mz_buf job = {0};
	int ret = check(o, argc);

	if (ret >= 0)
		return ret;
	paths = calloc(1, sizeof(*paths));
	ret = paths ? vm_find(o, paths) : VM_EXIT_FAILED;
	if (!ret && make_job(&job, o, argc, argv) < 0) {
		console_fail("cannot send the command to the guest: %s", strerror(errno));
		ret = VM_EXIT_FAILED;
	}
	if (!ret)
		ret = run_job(o, paths, &job);
	mz_buf_free(&job);
	free(paths);
	return ret;
}

MZ_CMD(vm, "vm", struct vm_opts, "-- CMD [ARGS]", "run a command under Memorizer's kernel in QEMU",
       .raw_tail = true);
