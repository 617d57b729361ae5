// SPDX-License-Identifier: BSD-2-Clause
/* From the guest to the host: frames over a virtio port (protocol.h). */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/reboot.h>
#include <unistd.h>

#include "guest/guest.h"

int guest_port = -1;

static void write_port(const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		ssize_t w = write(guest_port, p, n);

		if (w < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (w <= 0)
			_exit(1); /* the host is gone: the kernel panics, QEMU ends */
		p += w;
		n -= (size_t)w;
	}
}

/* Header and data in one write: the port is a stream, and a reader that gets half a frame would
 * have to wait for the rest. */
void guest_send(enum vm_frame_type type, const void *data, size_t n)
{
	static char buf[sizeof(struct vm_frame) + VM_FRAME_MAX];
	struct vm_frame f = {.type = (uint8_t)type, .len = (uint32_t)n};

	memcpy(buf, &f, sizeof(f));
	if (n)
		memcpy(buf + sizeof(f), data, n);
	write_port(buf, sizeof(f) + n);
}

/* Before the port is open, only the console can carry a message to the user. */
void guest_send_text(enum vm_frame_type type, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (guest_port >= 0)
		guest_send(type, text, strlen(text));
	else
		fprintf(stderr, "memorizer vm: %s\n", text);
}

/* The first process must not return: the kernel would panic. */
void guest_stop(void)
{
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

/* Opens the port that this name file belongs to, if it is ours. */
static int try_port(char *name_file)
{
	char name[64] = "", dev[128];
	int fd = open(name_file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, name, sizeof(name) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0 || strncmp(name, VM_PORT, strlen(VM_PORT)))
		return -1;
	snprintf(dev, sizeof(dev), "/dev/%s", basename(dirname(name_file)));
	return open(dev, O_RDWR | O_CLOEXEC);
}

void guest_open_port(void)
{
	/* five minutes: on a busy host the other side is late, and nothing else to do */
	for (int try = 0; try < 30000 && guest_port < 0; try++) {
		glob_t g;

		if (!glob("/sys/class/virtio-ports/*/name", 0, NULL, &g)) {
			for (size_t i = 0; i < g.gl_pathc && guest_port < 0; i++)
				guest_port = try_port(g.gl_pathv[i]);
			globfree(&g);
		}
		if (guest_port < 0)
			usleep(10000);
	}
	if (guest_port < 0)
		guest_fail("no virtio port to the host");
}
