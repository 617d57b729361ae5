// SPDX-License-Identifier: BSD-2-Clause
/*
 * Run a command under a filter of system calls as containers and services have them:
 * boxed docker|systemd CMD ARGS. docker: what Docker's default profile denies gets EPERM, and
 * clone3 ENOSYS. systemd: what SystemCallFilter=@system-service leaves out ends the process.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* in both: only with privileges that neither gives away */
static const int privileged[] = {
	SYS_acct,
	SYS_bpf,
	SYS_clock_adjtime,
	SYS_clock_settime,
	SYS_create_module,
	SYS_delete_module,
	SYS_finit_module,
	SYS_init_module,
	SYS_ioperm,
	SYS_iopl,
	SYS_kexec_file_load,
	SYS_kexec_load,
	SYS_lookup_dcookie,
	SYS_mount,
	SYS_nfsservctl,
	SYS_open_by_handle_at,
	SYS_perf_event_open,
	SYS_pidfd_getfd,
	SYS_pivot_root,
	SYS_query_module,
	SYS_quotactl,
	SYS_reboot,
	SYS_settimeofday,
	SYS_swapoff,
	SYS_swapon,
	SYS_sysfs,
	SYS__sysctl,
	SYS_umount2,
	SYS_uselib,
	SYS_userfaultfd,
	SYS_ustat,
};
static const int docker[] = {
	SYS_add_key,
	SYS_get_mempolicy,
	SYS_kcmp,
	SYS_keyctl,
	SYS_mbind,
	SYS_move_pages,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_request_key,
	SYS_set_mempolicy,
	SYS_setns,
	SYS_unshare,
};
static const int systemd[] = {
	SYS_chroot,	SYS_fanotify_init, SYS_fsconfig,  SYS_fsmount, SYS_fsopen,  SYS_fspick,
	SYS_modify_ldt, SYS_move_mount,	   SYS_open_tree, SYS_ptrace,  SYS_vhangup,
};

static struct sock_filter code[256];
static unsigned short used;

static void put(struct sock_filter i)
{
	code[used++] = i;
}

static void deny(const int *calls, size_t n, uint32_t answer)
{
	for (size_t i = 0; i < n; i++) {
		put((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i], 0,
						 1));
		put((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer));
	}
}

static int enter(const char *profile)
{
	static const int clone3[] = {SYS_clone3};
	bool is_docker = !strcmp(profile, "docker");
	uint32_t answer = is_docker ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_KILL_PROCESS;
	struct sock_fprog program = {.filter = code};

	put((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					 offsetof(struct seccomp_data, nr)));
	deny(privileged, COUNT(privileged), answer);
	if (is_docker) {
		deny(docker, COUNT(docker), answer);
		deny(clone3, 1, SECCOMP_RET_ERRNO | ENOSYS);
	} else {
		deny(systemd, COUNT(systemd), answer);
	}
	put((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	program.len = used;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	if (argc < 3 || (strcmp(argv[1], "docker") && strcmp(argv[1], "systemd"))) {
		fprintf(stderr, "usage: boxed docker|systemd CMD ARGS\n");
		return 2;
	}
	if (enter(argv[1])) {
		perror("boxed");
		return 125;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
