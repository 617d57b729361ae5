// SPDX-License-Identifier: BSD-2-Clause
/* Send the symbols of modules to the host. */
/*
 * Their addresses are those of one boot. Those of loaded modules are in /proc/kallsyms; Memorizer
 * keeps those of modules that were unloaded, and of the code that a module only needs to start.
 */
#include <stdio.h>
#include <string.h>

#include "guest/guest.h"

/* The kernel's own symbols have no "[MODULE]" at the end; the host has those. */
static void send_symbols(const char *path)
{
	static char lines[VM_FRAME_MAX];
	FILE *f = fopen(path, "re");
	char line[1024];
	size_t len = 0;

	while (f && fgets(line, sizeof(line), f)) {
		size_t n = strlen(line);

		if (!strstr(line, "\t["))
			continue;
		/* whole lines only, as many as a frame holds */
		if (len + n > sizeof(lines)) {
			guest_send(VM_MODULES, lines, len);
			len = 0;
		}
		memcpy(lines + len, line, n);
		len += n;
	}
	if (len)
		guest_send(VM_MODULES, lines, len);
	if (f)
		fclose(f);
}

/* A kernel that does not keep symbols lacks the second file, and its map those names. */
void guest_send_modules(void)
{
	send_symbols("/proc/kallsyms");
	send_symbols(GUEST_MEMORIZER "module_symbols");
}
