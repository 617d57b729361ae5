/* SPDX-License-Identifier: BSD-2-Clause */
/* The addresses of the kernel that entry.S knows. */
#define PAGE_SHIFT 12
#define __START_KERNEL_map 0xffffffff80000000
#define KERNEL_IMAGE_SIZE 0x40000000
