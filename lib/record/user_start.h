/* SPDX-License-Identifier: BSD-2-Clause */
/* Starting a program with the library loaded into it. */
#ifndef MZ_RECORD_USER_START_H
#define MZ_RECORD_USER_START_H

#include <memorizer.h>
#include <sys/types.h>

/* The library that belongs to this program: 0, or -errno with err. */
int mz_user_library(char *path, size_t size, struct mz_error *err);

/* Is there such a command, and can it be run? 0 or -errno. */
int mz_user_find_command(const char *command, struct mz_error *err);
/* Can this command be recorded? If not, why, and what to do. 0 or -errno. */
int mz_user_check_program(const char *command, struct mz_error *err);
/* Can the program in this file? */
int mz_user_check_file(const char *path, struct mz_error *err);

/* Start it; the library finds the region through /proc/SELF/fd/region_fd. The
 * program begins when *main_pid is set. in_child runs in its process, before exec. The pid, or
 * -errno with err. */
pid_t mz_user_start(char **argv, const char *library, int region_fd, uint32_t *main_pid,
		    void (*in_child)(void), struct mz_error *err);

#endif
