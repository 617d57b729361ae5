/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of `memorizer vm`: finding and starting the machine (vm_qemu.c), serving it (vm_run.c),
 * what it boots from (vm_initramfs.c), ending it (vm_stop.c), testing whether KVM works (vm_kvm.c),
 * keeping symbols (vm_symbols.c). */
#ifndef MZ_CMDS_VM_VM_H
#define MZ_CMDS_VM_VM_H

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/output.h"
#include "cmds/cmd.h"

/* Failures of our own, distinct from those of the command, as in timeout(1) and env(1). */
enum { VM_EXIT_TIMEOUT = 124, VM_EXIT_FAILED = 125, VM_EXIT_INTERRUPTED = 130 };

enum vm_accel { VM_ACCEL_AUTO, VM_ACCEL_KVM, VM_ACCEL_TCG };

struct vm_opts {
	uint64_t smp, mem, timeout;
	const char *mode, *append, *output, *kernel, *qemu, *disk;
	unsigned accel;
	bool accesses, fields, frames, calls, owners, stream, boot, off, shell, console, force,
		kmemtrace_boot, parallel, net;
};

/* Fields and frames are details of accesses. */
static inline bool vm_counts_accesses(const struct vm_opts *o)
{
	return o->accesses || o->fields || o->frames;
}

struct vm_paths {
	char kernel[PATH_MAX]; /* bzImage */
	char init[PATH_MAX];
};

/* A running QEMU. */
struct vm_machine {
	pid_t pid;
	int port;    /* frames, see guest/protocol.h */
	int console; /* bytes of the serial console */
	int log;     /* what QEMU itself said */
	bool kvm;
};

struct vm_result {
	bool ready;  /* the guest came up */
	bool exited; /* the command ended, with: */
	int status;  /* as from wait() */
	bool done;   /* everything arrived */
	bool left;   /* the user left the shell; the guest continues */
	bool timed_out;
	int signal;	   /* the signal that ended us; 0 = none */
	char failed[1024]; /* what the guest or we could not do */
	char splat[256];   /* first complaint of the guest's kernel */
	char tail[4096];   /* end of the console */
	size_t tail_len;
};

/* The recording of --kmemtrace-boot, a folder (vm_boot.c). */
struct vm_boot {
	char dir[PATH_MAX]; /* "" = not wanted */
	bool temporary, made, keep;
	struct mz_output out; /* the file being received */
	unsigned files;	      /* so far */
};

/* Where the results go; an output with fd -1 is not wanted. */
struct vm_sinks {
	struct mz_output kmap, stats, console;
	struct vm_boot record;
	struct mz_buf account; /* a copy of the statistics, for the summary */
	struct mz_buf modules; /* symbols of the guest's modules, as lines of kallsyms */
};

/* Find the kernel and the init, building the kernel if this is a source tree. 0, or the exit
 * status after an error message. */
int vm_find(const struct vm_opts *o, struct vm_paths *paths);

/* vm_initramfs.c: a memory file with the init program, the job and the drivers of a disk that lie
 * beside the kernel; -1 with err set. */
int vm_make_initramfs(const struct vm_paths *paths, const struct mz_buf *job, struct mz_error *err);

/* 0, or -1 with err set. job: see guest/protocol.h. */
int vm_start(struct vm_machine *m, const struct vm_opts *o, const struct vm_paths *paths,
	     const struct mz_buf *job, struct mz_error *err);
/* End QEMU, whatever it is doing; does nothing if the machine ended by itself. Until it has ended,
 * and once afterwards, take() (or NULL) takes what it still says. */
void vm_stop(struct vm_machine *m, void (*take)(void *with), void *with);
void vm_show_log(struct vm_machine *m);

/* vm_stop.c: whether a process is still working. */
struct vm_progress {
	pid_t pid;
	double start, cpu; /* seconds of CPU time: at the beginning, at the last look */
	double moved;	   /* when something happened last */
};

/* The signals by which a user ends the program. */
void vm_end_signals(sigset_t *set);
void vm_progress_begin(struct vm_progress *p, pid_t pid);
/* There was progress other than CPU time of the process. */
void vm_progress_noted(struct vm_progress *p);
/* Has the process used more than cpu_limit seconds of CPU time since the beginning, or none at all
 * for very long? */
bool vm_progress_over(struct vm_progress *p, double cpu_limit);
/* The same with the limit for a machine that is to end. */
bool vm_ending_over(struct vm_progress *p);

/* vm_run.c: text of the guest for a terminal: lines and tabs; all other control characters are
 * escaped. */
void vm_write_text(FILE *to, const char *text, size_t n);
void vm_release(struct vm_machine *m);

/* Serve the guest until all has arrived or failed, and end QEMU. */
void vm_attend(struct vm_machine *m, const struct vm_opts *o, struct vm_sinks *sinks,
	       bool forward_stdin, struct vm_result *res);

/* vm_symbols.c: the path of a file in the folder of the kernel. */
void vm_beside_kernel(char *path, size_t size, const char *kernel, const char *name);
/* Copy the symbols that lie beside the kernel, and those of modules behind them,
 * with their source files if these are known there. 0 (also if there are none), or -errno with
 * err set. */
int vm_keep_symbols(const char *kernel, const struct mz_buf *modules, const char *to, bool force,
		    struct mz_error *err);
/* The same of its vmlinux, if that has DWARF: it is large, so it becomes a link. */
int vm_keep_vmlinux(const char *kernel, const char *to, bool force, struct mz_error *err);

/* All: 0 or -errno with err set. file: what follows goes into the file of this name. */
int vm_boot_open(struct vm_boot *b, const struct vm_opts *o, struct mz_error *err);
int vm_boot_file(struct vm_boot *b, const char *name, size_t len, struct mz_error *err);
/* The last file is complete; print what is live, by subsystem of the kernel at bzImage. Returns
 * enum mz_exit. */
int vm_boot_report(struct vm_boot *b, const char *bzimage);
void vm_boot_close(struct vm_boot *b);

/* Whether a guest of the kind that we start would run; *why says why not. */
bool vm_kvm_usable(const char **why);

#endif
