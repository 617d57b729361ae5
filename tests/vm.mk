# SPDX-License-Identifier: BSD-2-Clause
# What the tests in the VM need: the witnesses, plugins for QEMU; static programs for the guest.

VM_TOOLS := $(O)/tests/vm/witness.so $(O)/tests/vm/entries.so $(O)/tests/vm/helper $(O)/tests/vm/poke $(O)/bench/vm/workload

tests: $(VM_TOOLS)

$(O)/tests/vm/witness.so $(O)/tests/vm/entries.so: $(O)/tests/vm/%.so: tests/vm/%.c tests/vm/qemu_plugin.h
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu11 -O2 $(WARN) -fPIC -fvisibility=hidden -shared -o $@ $<

$(O)/tests/vm/helper $(O)/tests/vm/poke: $(O)/tests/vm/%: tests/vm/%.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu11 -O2 $(WARN) -static -o $@ $<

$(O)/bench/vm/workload: bench/vm/workload.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu11 -O2 $(WARN) -static -o $@ $<

# All tests in QEMU; builds the kernels first. `make check` has some of them.
.PHONY: check-vm
check-vm: all tests
	$(Q)tests/run --vm $(O)

# The same on Linux 6.1, on two kernels: calls includes all of memorizer.
.PHONY: check-vm-6.1
check-vm-6.1: all tests
	$(Q)MZ_SERIES=6.1 MZ_VARIANT=calls tests/run --vm $(O) vm/kunit vm/exact vm/documents vm/upstream vm/modes \
		vm/owners vm/frames vm/stream vm/witness vm/budget vm/locks vm/read vm/stress vm/hostile vm/calls \
		vm/kmemtrace

# What takes too long for every day: half an hour of stress on each of two kernels, the second
# with lockdep and slab debugging, whose build takes as long as the other's; the other tests on
# that kernel; the patched files compiled twice; a Debian on a disk, with every access counted
# from its first allocation on; the packages of a kernel; and parts of Debian's amd64 configuration
# compiled.
.PHONY: check-vm-long
check-vm-long: all tests
	$(Q)MZ_LONG=1 MZ_STRESS_SECONDS=1800 tests/run --vm $(O) vm/stress vm/debug vm/untouched vm/disk \
		vm/package vm/amd64
