/* SPDX-License-Identifier: BSD-2-Clause */
/* The signal dispositions that a command was started with, for the programs that it starts. */
#ifndef MZ_CMDS_SIGNALS_H
#define MZ_CMDS_SIGNALS_H

#include <stdbool.h>

/* At the start of a command, before it changes any. */
void signals_keep(void);
/* The caller of the command ignores this one, as nohup does; false if nothing was kept. */
bool signals_ignored(int sig);
/* In a child, before exec: as they were, or the default if nothing was kept. */
void signals_restore(void);

#endif
