// SPDX-License-Identifier: BSD-2-Clause
/* Boot the system of a disk, with a service of ours that runs the command once the system is up. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "guest/guest.h"

#define ROOT  "/root"
#define UNITS ROOT "/run/systemd/system"

/* A system is up when it offers a login. Without default dependencies: otherwise systemd starts
 * a service that a target wants before the target is reached. */
static const char unit[] = "[Unit]\n"
			   "Description=The command of memorizer vm\n"
			   "DefaultDependencies=no\n"
			   "After=multi-user.target getty.target\n"
			   "[Service]\n"
			   "ExecStart=" GUEST_FOLDER "/agent\n"
			   "TimeoutStopSec=infinity\n"
			   "OOMScoreAdjust=-1000\n";

void guest_load_drivers(void)
{
	glob_t g;

	if (glob("/early/*.ko", 0, NULL, &g))
		return;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		int fd = open(g.gl_pathv[i], O_RDONLY | O_CLOEXEC);

		if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST))
			guest_fail("loading %s: %s", g.gl_pathv[i], strerror(errno));
		close(fd);
	}
	globfree(&g);
}

/* The first partition, or a disk without any. The kernel finds disks in its own time. */
static const char *find_disk(void)
{
	for (int try = 0; try < 30000; try++) {
		if (!access("/dev/vda1", F_OK))
			return "/dev/vda1";
		if (!access("/dev/vda", F_OK)) {
			usleep(100000); /* its partitions are announced right after it */
			return access("/dev/vda1", F_OK) ? "/dev/vda" : "/dev/vda1";
		}
		usleep(10000);
	}
	guest_fail("the kernel sees no disk: it needs virtio_blk (kernel/build disk)");
}

static void mount_disk(void)
{
	static const char *const types[] = {"ext4", "xfs", "btrfs"};
	const char *disk = find_disk();
	int first = 0;

	mkdir(ROOT, 0755);
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (!mount(disk, ROOT, types[i], 0, NULL))
			return;
		first = first ? first : errno;
	}
	guest_fail("mounting %s: %s; it must hold a root in ext4, xfs or btrfs", disk,
		   strerror(first));
}

/* The modules of this kernel are on a second disk: the first one does not have them. */
static void mount_modules(void)
{
	char path[256];
	struct utsname u;

	if (access("/dev/vdb", F_OK) || uname(&u))
		return;
	mkdir(ROOT "/lib", 0755);
	mkdir(ROOT "/lib/modules", 0755);
	snprintf(path, sizeof(path), ROOT "/lib/modules/%.128s", u.release);
	guest_mount("/dev/vdb", path, "ext4", MS_RDONLY, NULL);
}

static void copy(const char *from, const char *to, mode_t mode)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	ssize_t n = in < 0 || out < 0 ? -1 : 1;

	while (n > 0)
		n = sendfile(out, in, NULL, 1 << 20);
	if (n < 0)
		guest_fail("copying %s to %s: %s", from, to, strerror(errno));
	close(in);
	close(out);
}

/* All of it goes to /run, which systemd takes over as it is: nothing of ours is on the disk. */
static void add_service(void)
{
	FILE *f;

	guest_mount("tmpfs", ROOT "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755");
	mkdir(ROOT GUEST_FOLDER, 0700);
	copy("/init", ROOT GUEST_FOLDER "/agent", 0700);
	copy("/job", ROOT GUEST_FOLDER "/job", 0600);
	mkdir(ROOT "/run/systemd", 0755);
	mkdir(UNITS, 0755);
	mkdir(UNITS "/multi-user.target.wants", 0755);
	f = fopen(UNITS "/memorizer-vm.service", "we");
	if (!f || fputs(unit, f) < 0 || fclose(f) ||
	    symlink("../memorizer-vm.service",
		    UNITS "/multi-user.target.wants/memorizer-vm.service"))
		guest_fail("adding a service to the disk's system: %s", strerror(errno));
}

void guest_enter_disk(const struct guest_job *j)
{
	struct stat st;

	mount_disk();
	mount_modules();
	if (lstat(ROOT "/sbin/init", &st)) /* a link, and its target begins at the disk's root */
		guest_fail("the disk has no /sbin/init");
	if (!j->shell)
		add_service();
	guest_mount("proc", ROOT "/proc", "proc", 0, NULL);
	if (mount("/sys", ROOT "/sys", NULL, MS_MOVE, NULL) ||
	    mount("/dev", ROOT "/dev", NULL, MS_MOVE, NULL) || chdir(ROOT) ||
	    mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
		guest_fail("entering the disk: %s", strerror(errno));
	/* the login prompt is on the console, and the user sees how the system comes up */
	if (j->shell)
		guest_send(VM_READY, NULL, 0);
	execl("/sbin/init", "/sbin/init", NULL);
	guest_fail("/sbin/init: %s", strerror(errno));
}
