// SPDX-License-Identifier: BSD-2-Clause
/* Run as the first process of the guest of `memorizer vm`. */
/*
 * It puts the host's files under a writable overlay, or enters a disk (disk.c), and runs the
 * command (command.c).
 */
#include <errno.h>
#include <net/if.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/guest.h"

/* The image that the guest starts from has no folders but its own. */
void guest_mount(const char *what, const char *where, const char *type, unsigned long flags,
		 const char *data)
{
	mkdir(where, 0755);
	if (mount(what, where, type, flags, data))
		guest_fail("mounting %s on %s: %s", type ? type : what, where, strerror(errno));
}

/* The host's files below, a tmpfs above: the command may write anywhere. */
static void mount_root(void)
{
	guest_mount("tmpfs", "/rw", "tmpfs", 0, "size=75%");
	mkdir("/rw/upper", 0755);
	mkdir("/rw/work", 0755);
	guest_mount("host", "/lower", "9p", MS_RDONLY,
		    "trans=virtio,version=9p2000.L,msize=512000,cache=loose");
	guest_mount("overlay", "/root", "overlay", 0,
		    "lowerdir=/lower,upperdir=/rw/upper,workdir=/rw/work");
	guest_mount("proc", "/root/proc", "proc", 0, NULL);
	if (mount("/sys", "/root/sys", NULL, MS_MOVE, NULL) ||
	    mount("/dev", "/root/dev", NULL, MS_MOVE, NULL))
		guest_fail("moving /sys and /dev: %s", strerror(errno));
	if (chdir("/root") || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
		guest_fail("entering the host's files: %s", strerror(errno));
	guest_mount("devpts", "/dev/pts", "devpts", 0, "ptmxmode=0666");
	guest_mount("tmpfs", "/dev/shm", "tmpfs", 0, NULL);
	guest_mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	symlink("/proc/self/fd", "/dev/fd");
	symlink("/proc/self/fd/0", "/dev/stdin");
	symlink("/proc/self/fd/1", "/dev/stdout");
	symlink("/proc/self/fd/2", "/dev/stderr");
}

/* Commands that connect to themselves over localhost expect it. If this fails, they will report
 * it. */
static void loopback_up(void)
{
	struct ifreq r = {.ifr_name = "lo"};
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (s < 0)
		return;
	if (!ioctl(s, SIOCGIFFLAGS, &r)) {
		r.ifr_flags |= IFF_UP;
		ioctl(s, SIOCSIFFLAGS, &r);
	}
	close(s);
}

/* With a disk this program is started twice: first of all, and by the disk's own system once it
 * is up. */
static bool is_service(void)
{
	return getpid() != 1;
}

static void start_machine(struct guest_job *j)
{
	guest_mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	guest_mount("sysfs", "/sys", "sysfs", 0, NULL);
	guest_load_drivers();
	guest_open_port(); /* early: what fails from here on is told to the host */
	guest_read_job(j, "/job");
	if (j->disk)
		guest_enter_disk(j);
	mount_root();
	loopback_up();
	sethostname("memorizer-vm", 12);
}

int main(void)
{
	static struct guest_job j;

	signal(SIGPIPE, SIG_IGN);
	if (is_service()) {
		/* systemd does it if it is told to */
		mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
		guest_open_port();
		guest_read_job(&j, GUEST_FOLDER "/job");
	} else {
		start_machine(&j);
	}
	if (j.shell)
		guest_run_shell(&j);
	else if (j.nargs)
		guest_run_command(&j);
	else
		guest_fail("no command");
	guest_stop();
}
