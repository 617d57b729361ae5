# SPDX-License-Identifier: GPL-2.0
#
# The kernel of `memorizer vm`. Included by the top Makefile; also works by itself:
#   make -f kernel/kernel.mk O=build kernel

O ?= build
KERNEL_BUILD := kernel/build -o $(O)/kernel

.PHONY: kernel kernel-plain kernel-debug kernel-kmemtrace kernel-deb

kernel:
	@$(KERNEL_BUILD) memorizer

kernel-plain:
	@$(KERNEL_BUILD) plain

kernel-debug:
	@$(KERNEL_BUILD) debug

kernel-kmemtrace:
	@$(KERNEL_BUILD) kmemtrace

# Packages for apt and dpkg: linux-image and linux-headers of Debian's configuration, or of VARIANT.
kernel-deb:
	@$(KERNEL_BUILD) -p $(or $(VARIANT),debian)
