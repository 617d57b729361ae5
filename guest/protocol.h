/* SPDX-License-Identifier: BSD-2-Clause */
/* The protocol between `memorizer vm` on the host and its init in the guest. */
/*
 * Host to guest at start: the file /job in the initramfs, "key=value" strings with a
 * NUL after each. Keys: arg and env (repeated), cwd, mode, must (a kernel without
 * Memorizer will not do), accesses, fields, frames, calls, owners, stream, boot, kmap, stdin,
 * shell, disk (boot its system, then run the command), kmemtrace (the path of memorizer).
 *
 * Then frames over the virtio port VM_PORT, both ways: a struct vm_frame and len bytes.
 */
#ifndef MZ_GUEST_PROTOCOL_H
#define MZ_GUEST_PROTOCOL_H

#include <stdint.h>

#define VM_PORT	     "memorizer"
#define VM_FRAME_MAX (64u * 1024)

enum vm_frame_type {
	/* guest to host */
	VM_READY = 'R',	 /* the guest is up, the command starts now */
	VM_STDOUT = 'O', /* bytes of the command */
	VM_STDERR = 'E',
	VM_EXIT = 'X',	  /* uint32_t: the status from wait() */
	VM_KMAP = 'K',	  /* bytes of kmap or kmap_stream */
	VM_STATS = 'S',	  /* bytes of show_stats */
	VM_MODULES = 'M', /* lines of kallsyms: the symbols of modules */
	VM_FILE = 'P',	  /* name: VM_KMAP frames from here on are bytes of this file */
	VM_FAILED = 'F',  /* text: the guest could not do its part; the end */
	VM_NOTE = 'N',	  /* text for the user */
	VM_DONE = 'D',	  /* everything was sent; the end */
	/* host to guest */
	VM_STDIN = 'I', /* bytes for the command; len 0 is the end of file */
	VM_BYE = 'B',	/* VM_DONE has arrived, and all before it: the guest may end */
};

struct vm_frame {
	uint8_t type;
	uint8_t reserved[3];
	uint32_t len; /* little endian, as both sides are x86 */
};

_Static_assert(sizeof(struct vm_frame) == 8, "frames have no padding");

#endif
