/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of the guest's init process: init.c, disk.c, job.c, command.c, modules.c, port.c. */
#ifndef MZ_GUEST_GUEST_H
#define MZ_GUEST_GUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "guest/protocol.h"

#define GUEST_MEMORIZER "/sys/kernel/debug/memorizer/"

/* The job of the host. The texts lie in the buffer that the job was read into. */
struct guest_job {
	char *args[4096];
	char *env[4096];
	size_t nargs, nenv;
	const char *cwd;
	const char *mode;
	const char *kmemtrace; /* memorizer, to take the kernel's records with */
	bool must, accesses, fields, frames, calls, owners, stream, boot, kmap;
	bool stdin_open, shell, disk;
};

/* port.c */
extern int guest_port;
void guest_open_port(void);
void guest_send(enum vm_frame_type type, const void *data, size_t n);
void guest_send_text(enum vm_frame_type type, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* End the machine. */
void guest_stop(void) __attribute__((noreturn));

/* A macro, so that the compiler checks the format. The host prints the text. */
#define guest_fail(...)                                                                            \
	do {                                                                                       \
		guest_send_text(VM_FAILED, __VA_ARGS__);                                           \
		guest_stop();                                                                      \
	} while (0)

/* job.c */
void guest_read_job(struct guest_job *j, const char *path);

/* init.c: the folder is made if it is not there. */
void guest_mount(const char *what, const char *where, const char *type, unsigned long flags,
		 const char *data);

/* disk.c */
/* Load the drivers of the machine, if they are modules: the host put them into /early, numbered
 * in the order of loading. */
void guest_load_drivers(void);
/* Hand the machine over to the system on the disk, which starts this program again as a service
 * once it is up. */
#define GUEST_FOLDER "/run/memorizer" /* there: this program and the job */
void guest_enter_disk(const struct guest_job *j) __attribute__((noreturn));

/* modules.c: the symbols of modules, loaded and unloaded. */
void guest_send_modules(void);

/* command.c */
void guest_run_command(struct guest_job *j);
void guest_run_shell(struct guest_job *j);

#endif
