// SPDX-License-Identifier: BSD-2-Clause
/*
 * Send the symbols of modules to the host while the modules are loaded: their addresses are those
 * of one boot, and a module that was unloaded has none any more.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest/guest.h"

#define MODULES_MAX 4096

/* A module that the host has: the same name at another address is another module. */
struct module {
	char name[64];
	unsigned long long base;
	bool sent;
};

static struct module modules[MODULES_MAX];
static size_t known;

static struct module *find(const char *name)
{
	for (size_t i = known; i--;)
		if (!strcmp(modules[i].name, name))
			return &modules[i];
	return NULL;
}

/* Lines of /proc/modules: NAME SIZE USES BY STATE ADDRESS. Returns whether one is new. */
static bool list_modules(void)
{
	FILE *f = fopen("/proc/modules", "re");
	unsigned long long base;
	char line[4096], name[64];
	bool new = false;

	while (f && fgets(line, sizeof(line), f)) {
		const char *hex = strstr(line, " 0x");
		const struct module *m;

		if (!hex || sscanf(line, "%63s", name) != 1)
			continue;
		base = strtoull(hex, NULL, 16);
		m = find(name);
		if ((m && m->base == base) || known == MODULES_MAX)
			continue;
		memcpy(modules[known].name, name, sizeof(name));
		modules[known++].base = base;
		new = true;
	}
	if (f)
		fclose(f);
	return new;
}

/* The module of a line "ADDR T NAME [MODULE]". */
static const struct module *module_of(const char *line)
{
	const char *open = strrchr(line, '['), *close = open ? strchr(open, ']') : NULL;
	char name[64];

	if (!close || (size_t)(close - open) > sizeof(name))
		return NULL;
	memcpy(name, open + 1, (size_t)(close - open) - 1);
	name[close - open - 1] = '\0';
	return find(name);
}

/* Whole lines only, as many as a frame holds. */
static void send_symbols(void)
{
	static char lines[VM_FRAME_MAX];
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[1024];
	size_t len = 0;

	while (f && fgets(line, sizeof(line), f)) {
		const struct module *m = module_of(line);
		size_t n = strlen(line);

		if (!m || m->sent)
			continue;
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

void guest_send_modules(void)
{
	if (!list_modules())
		return;
	send_symbols();
	for (size_t i = 0; i < known; i++)
		modules[i].sent = true;
}

int guest_watch_modules(void)
{
	struct sockaddr_nl a = {.nl_family = AF_NETLINK, .nl_groups = 1};
	int size = 1 << 20;
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_KOBJECT_UEVENT);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a))) {
		close(fd);
		return -1;
	}
	return fd;
}

void guest_take_modules(int fd)
{
	char event[4096];
	bool module = false;
	ssize_t n;

	while ((n = recv(fd, event, sizeof(event) - 1, 0)) > 0 || (n < 0 && errno == ENOBUFS)) {
		if (n > 0)
			event[n] = '\0';
		/* after a loss of events the state is not known: look */
		module |= n < 0 || !strncmp(event, "add@/module/", 12);
	}
	if (module)
		guest_send_modules();
}
