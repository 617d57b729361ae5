// SPDX-License-Identifier: BSD-2-Clause
/* Test whether KVM works. */
/*
 * /dev/kvm alone says little: in nested machines it may open and then run nothing. So one
 * instruction is run, and the CPU that KVM offers is examined.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "cmds/vm/vm.h"

#define MAX_CPUID   256
#define GUEST_PAGE  0x1000
#define LEAF1_SSE3  1u
#define LEAF8_LM    (1u << 29)
#define RUN_SECONDS 2

static void on_alarm(int sig)
{
	(void)sig; /* only interrupts KVM_RUN */
}

/* A machine whose KVM offers no SSE3 or no 64-bit mode is a broken nested one. */
static bool cpu_is_whole(int kvm)
{
	struct kvm_cpuid2 *c = calloc(1, sizeof(*c) + MAX_CPUID * sizeof(c->entries[0]));
	bool sse3 = false, lm = false;

	if (!c)
		return false;
	c->nent = MAX_CPUID;
	if (!ioctl(kvm, KVM_GET_SUPPORTED_CPUID, c)) {
		for (unsigned i = 0; i < c->nent; i++) {
			if (c->entries[i].function == 1)
				sse3 = c->entries[i].ecx & LEAF1_SSE3;
			if (c->entries[i].function == 0x80000001)
				lm = c->entries[i].edx & LEAF8_LM;
		}
	}
	free(c);
	return sse3 && lm;
}

/* Runs HLT in real mode. */
static bool runs(int kvm, int vm, unsigned char *page)
{
	struct kvm_userspace_memory_region mem = {
		.guest_phys_addr = GUEST_PAGE,
		.memory_size = GUEST_PAGE,
		.userspace_addr = (uintptr_t)page,
	};
	struct kvm_regs regs = {.rip = GUEST_PAGE, .rflags = 2};
	struct itimerval limit = {.it_value.tv_sec = RUN_SECONDS}, none = {0};
	struct sigaction act = {.sa_handler = on_alarm}, old;
	struct kvm_sregs sregs;
	struct kvm_run *run = MAP_FAILED;
	int size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0), cpu;
	bool ok = false;

	page[0] = 0xf4;
	if (size <= 0 || ioctl(vm, KVM_SET_USER_MEMORY_REGION, &mem))
		return false;
	cpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	if (cpu < 0)
		return false;
	run = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, cpu, 0);
	if (run != MAP_FAILED && !ioctl(cpu, KVM_GET_SREGS, &sregs)) {
		sregs.cs.base = sregs.cs.selector = 0;
		sigaction(SIGALRM, &act, &old);
		setitimer(ITIMER_REAL, &limit, NULL);
		ok = !ioctl(cpu, KVM_SET_SREGS, &sregs) && !ioctl(cpu, KVM_SET_REGS, &regs) &&
		     !ioctl(cpu, KVM_RUN, 0) && run->exit_reason == KVM_EXIT_HLT;
		setitimer(ITIMER_REAL, &none, NULL);
		sigaction(SIGALRM, &old, NULL);
	}
	if (run != MAP_FAILED)
		munmap(run, (size_t)size);
	close(cpu);
	return ok;
}

bool vm_kvm_usable(const char **why)
{
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	void *page;
	int vm;
	bool ok = false;

	if (kvm < 0) {
		*why = errno == EACCES ? "/dev/kvm: no permission; join its group" : "no /dev/kvm";
		return false;
	}
	*why = "the CPU that /dev/kvm offers lacks basic features";
	if (cpu_is_whole(kvm)) {
		*why = "/dev/kvm does not run a guest";
		vm = ioctl(kvm, KVM_CREATE_VM, 0);
		page = mmap(NULL, GUEST_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);
		if (vm >= 0 && page != MAP_FAILED)
			ok = runs(kvm, vm, page);
		if (page != MAP_FAILED)
			munmap(page, GUEST_PAGE);
		if (vm >= 0)
			close(vm);
	}
	close(kvm);
	return ok;
}
