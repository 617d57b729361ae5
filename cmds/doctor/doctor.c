// SPDX-License-Identifier: BSD-2-Clause
/* Report what this machine allows, what that means for each recorder, and the command that fixes
 * each point. Changes nothing. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "cmds/cmd.h"
#include "cmds/doctor/doctor.h"
#include "record/kmem.h"

#define KERNEL_PACKAGE "sudo apt install linux-image-amd64, and boot it"

struct doctor_opts {
	bool json;
};

static const struct mz_opt opts[] = {
	MZ_OPT_JSON(struct doctor_opts, json),
	{0},
};

struct finding *doctor_add(struct visit *v, const char *name, enum verdict verdict,
			   const char *means, const char *mend)
{
	struct finding *f = &v->f[v->n < MAX_FINDINGS ? v->n++ : MAX_FINDINGS - 1];

	*f = (struct finding){.name = name, .verdict = verdict, .means = means, .mend = mend};
	return f;
}

/* The first line of a file; false = it cannot be read. */
static bool first_line(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "re");
	bool ok = f && fgets(buf, (int)size, f);

	if (f)
		fclose(f);
	if (ok)
		buf[strcspn(buf, "\n")] = '\0';
	return ok;
}

static bool has_cap(const struct visit *v, int cap)
{
	return v->caps >> cap & 1;
}

static bool may_load(const struct visit *v)
{
	return (has_cap(v, CAP_BPF) && has_cap(v, CAP_PERFMON)) || has_cap(v, CAP_SYS_ADMIN);
}

/* ---- the checks --------------------------------------------------------- */

static void look_rights(struct visit *v)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2] = {{0}};
	bool all;
	struct finding *f;

	if (!syscall(SYS_capget, &h, d))
		v->caps = (uint64_t)d[1].effective << 32 | d[0].effective;
	all = may_load(v);
	f = doctor_add(v, "rights", all ? GOOD : BAD,
		       "kmemtraced and top cannot load their BPF programs", "sudo memorizer ...");
	snprintf(f->found, sizeof(f->found),
		 "user %u; CAP_BPF %s, CAP_PERFMON %s, CAP_SYS_ADMIN %s", geteuid(),
		 has_cap(v, CAP_BPF) ? "yes" : "no", has_cap(v, CAP_PERFMON) ? "yes" : "no",
		 has_cap(v, CAP_SYS_ADMIN) ? "yes" : "no");
}

static void look_kernel(struct visit *v)
{
	struct utsname u;
	unsigned major = 0, minor = 0;
	struct finding *f;

	uname(&u);
	sscanf(u.release, "%u.%u", &major, &minor);
	f = doctor_add(v, "kernel", major > 5 || (major == 5 && minor >= 8) ? GOOD : BAD,
		       "kmemtraced needs Linux 5.8", "boot a newer kernel");
	mz_printable(f->found, sizeof(f->found), u.release, strlen(u.release));
}

static void look_btf(struct visit *v)
{
	bool there = !access("/sys/kernel/btf/vmlinux", R_OK);
	struct finding *f = doctor_add(v, "BTF", there ? GOOD : BAD,
				       "kmemtraced and top cannot find the kernel's types",
				       KERNEL_PACKAGE " (it has CONFIG_DEBUG_INFO_BTF=y)");

	snprintf(f->found, sizeof(f->found), "/sys/kernel/btf/vmlinux %s",
		 there ? "is there" : strerror(errno));
}

static void look_lockdown(struct visit *v)
{
	char line[128] = "";
	bool there = first_line("/sys/kernel/security/lockdown", line, sizeof(line));
	bool secret = strstr(line, "[confidentiality]") != NULL;
	struct finding *f =
		doctor_add(v, "lockdown", secret ? BAD : GOOD,
			   "lockdown keeps BPF from reading kernel memory: kmemtraced cannot work",
			   "boot with lockdown=integrity");

	snprintf(f->found, sizeof(f->found), "%s", there ? line : "not in this kernel");
}

static void look_kallsyms(struct visit *v)
{
	char restrict_to[32] = "?", line[128] = "";
	bool hidden;
	struct finding *f;

	first_line("/proc/sys/kernel/kptr_restrict", restrict_to, sizeof(restrict_to));
	hidden = !first_line("/proc/kallsyms", line, sizeof(line)) ||
		 !strncmp(line, "0000000000000000", 16);
	f = doctor_add(v, "symbols", hidden ? LESS : GOOD,
		       "kernel addresses are hidden: call sites would have no names",
		       /* with up to 1, root sees the addresses; above 1, no user does */
		       atoi(restrict_to) > 1 ? "sudo sysctl kernel.kptr_restrict=1"
					     : "sudo memorizer ...");
	snprintf(f->found, sizeof(f->found), "kptr_restrict=%s, addresses are %s", restrict_to,
		 hidden ? "hidden from this user" : "shown");
	/* in some kernels the first symbol is at address 0: look for another one */
	if (hidden) {
		FILE *k = fopen("/proc/kallsyms", "re");

		for (int i = 0; k && i < 2000 && fgets(line, sizeof(line), k); i++)
			if (!strncmp(line, "ffff", 4)) {
				f->verdict = GOOD;
				snprintf(f->found, sizeof(f->found),
					 "kptr_restrict=%s, addresses are shown", restrict_to);
				break;
			}
		if (k)
			fclose(k);
	}
}

static void look_perf(struct visit *v)
{
	char level[32] = "?";
	int n;
	struct finding *f;

	first_line("/proc/sys/kernel/perf_event_paranoid", level, sizeof(level));
	n = atoi(level);
	f = doctor_add(v, "perf_event_paranoid", n <= 2 || has_cap(v, CAP_PERFMON) ? GOOD : LESS,
		       "unprivileged users cannot count page faults",
		       "sudo sysctl kernel.perf_event_paranoid=2");
	snprintf(f->found, sizeof(f->found), "%s", level);
}

static void look_tracefs(struct visit *v)
{
	bool there = !access("/sys/kernel/tracing/events/kmem", R_OK) ||
		     !access("/sys/kernel/debug/tracing/events/kmem", R_OK);
	struct finding *f =
		doctor_add(v, "tracefs", there ? GOOD : LESS,
			   "Memorizer does not need it; perf and ftrace do, for comparison",
			   "sudo mount -t tracefs none /sys/kernel/tracing");

	snprintf(f->found, sizeof(f->found), there ? "mounted" : "not mounted, or not readable");
}

static void look_memlock(struct visit *v)
{
	struct rlimit r = {0};
	struct finding *f;
	struct utsname u;
	unsigned major = 0, minor = 0;
	bool counts;

	uname(&u);
	sscanf(u.release, "%u.%u", &major, &minor);
	counts = major < 5 || (major == 5 && minor < 11);
	getrlimit(RLIMIT_MEMLOCK, &r);
	f = doctor_add(
		v, "memlock",
		counts && r.rlim_cur < (64u << 20) && !has_cap(v, CAP_SYS_RESOURCE) ? BAD : GOOD,
		"before Linux 5.11, ring buffers count as locked memory", "ulimit -l unlimited");
	if (r.rlim_cur == RLIM_INFINITY)
		snprintf(f->found, sizeof(f->found), "unlimited");
	else
		snprintf(f->found, sizeof(f->found), "%" PRIu64 " bytes%s", (uint64_t)r.rlim_cur,
			 counts ? "" : " (this kernel does not count ring buffers)");
}

/* The decisive test: do the programs load? Nothing is attached. */
static void look_bpf(struct visit *v)
{
	struct mz_kmem_options o = {.groups = MZ_KMEM_SLAB, .ring_bytes = 4096};
	struct mz_error err = {0};
	struct mz_kmem *k = mz_kmem_load(&o, &err);
	struct finding *f =
		doctor_add(v, "BPF programs", k ? GOOD : BAD, "kmemtraced and top do not work",
			   /* with all rights it is the kernel that lacks something */
			   may_load(v) ? KERNEL_PACKAGE : "sudo memorizer doctor");

	snprintf(f->found, sizeof(f->found), "%.150s", k ? "the kernel accepts them" : err.text);
	v->kernel_ok = k;
	mz_kmem_free(k);
}

static void look_memorizer(struct visit *v)
{
	bool there = !access("/sys/kernel/debug/memorizer", F_OK);
	struct finding *f =
		doctor_add(v, "Memorizer in the kernel", there ? GOOD : LESS,
			   "accesses to kernel memory cannot be recorded; allocations can",
			   "sudo apt install memorizer-kernel-source; memorizer kernel build");

	snprintf(f->found, sizeof(f->found),
		 there ? "present in debugfs"
		       : "not in this kernel, or debugfs is "
			 "not mounted");
}

/* ---- printing the findings ---------------------------------------------- */

static const char *const verdicts[] = {[GOOD] = "good", [LESS] = "less", [BAD] = "bad"};

static void print_json(const struct visit *v)
{
	struct mz_buf b = {0};
	struct mz_json w = {.out = &b};

	mz_json_object(&w, NULL);
	mz_json_array(&w, "findings");
	for (size_t i = 0; i < v->n; i++) {
		mz_json_object(&w, NULL);
		mz_json_str(&w, "name", v->f[i].name);
		mz_json_str(&w, "verdict", verdicts[v->f[i].verdict]);
		mz_json_str(&w, "found", v->f[i].found);
		if (v->f[i].verdict != GOOD) {
			mz_json_str(&w, "means", v->f[i].means);
			if (v->f[i].mend)
				mz_json_str(&w, "mend", v->f[i].mend);
		}
		mz_json_end_object(&w);
	}
	mz_json_end_array(&w);
	mz_json_object(&w, "recorders");
	mz_json_bool(&w, "record", v->user_ok);
	mz_json_bool(&w, "kmemtraced", v->kernel_ok);
	mz_json_bool(&w, "top", v->kernel_ok);
	mz_json_end_object(&w);
	mz_json_end_object(&w);
	console_put(&b, stdout);
}

static void print_text(const struct visit *v)
{
	for (size_t i = 0; i < v->n; i++) {
		const struct finding *f = &v->f[i];

		printf("%-4s  %-24s %s\n", verdicts[f->verdict], f->name, f->found);
		if (f->verdict == GOOD)
			continue;
		printf("      %-24s %s\n", "", f->means);
		if (f->mend)
			printf("      %-24s to fix it: %s\n", "", f->mend);
	}
	printf("\nrecord (user programs): %s\n", v->user_ok ? "works" : "does not work; see above");
	printf("kmemtraced, record --kernel, top: %s\n",
	       v->kernel_ok ? "work" : "do not work; see above");
}

static int run(void *options, int argc, char **argv)
{
	const struct doctor_opts *o = options;
	struct visit v = {0};

	if (argc)
		return console_usage("doctor takes no arguments; '%s' is one too many", argv[0]);
	look_kernel(&v);
	look_rights(&v);
	look_btf(&v);
	look_lockdown(&v);
	look_bpf(&v);
	look_kallsyms(&v);
	look_memlock(&v);
	look_perf(&v);
	look_tracefs(&v);
	look_memorizer(&v);
	doctor_installation(&v);
	if (o->json)
		print_json(&v);
	else
		print_text(&v);
	return v.kernel_ok && v.user_ok ? MZ_EXIT_OK : MZ_EXIT_FAILED;
}

MZ_CMD(doctor, "doctor", struct doctor_opts, NULL,
       "check what this machine allows, and how to fix what is missing", .prints = true);
