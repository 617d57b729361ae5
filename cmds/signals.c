// SPDX-License-Identifier: BSD-2-Clause
/* Keep the signal dispositions that a command was started with. */
#include "cmds/signals.h"

#include <signal.h>
#include <stddef.h>

/* Those that commands ignore or handle. */
static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGCHLD, SIGXFSZ};

#define COUNT (sizeof(numbers) / sizeof(*numbers))

static bool ignored[COUNT];

void signals_keep(void)
{
	struct sigaction was;

	for (size_t i = 0; i < COUNT; i++)
		ignored[i] = !sigaction(numbers[i], NULL, &was) && was.sa_handler == SIG_IGN;
}

bool signals_ignored(int sig)
{
	for (size_t i = 0; i < COUNT; i++)
		if (numbers[i] == sig)
			return ignored[i];
	return false;
}

void signals_restore(void)
{
	for (size_t i = 0; i < COUNT; i++)
		signal(numbers[i], ignored[i] ? SIG_IGN : SIG_DFL);
}
