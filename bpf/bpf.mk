# SPDX-License-Identifier: GPL-2.0
# The BPF programs: clang makes the object, bpftool the skeleton that holds it.
# No kernel and no BTF are needed to build.

BPF_ARCH := $(shell uname -m | sed 's/x86_64/x86/;s/i.86/x86/;s/aarch64/arm64/;s/ppc64.*/powerpc/;s/riscv.*/riscv/;s/s390x/s390/')
BPFTOOL  ?= $(shell PATH=$$PATH:/usr/sbin:/sbin command -v bpftool)
BPF_SKEL := $(patsubst bpf/%.bpf.c,$(O)/gen/%.skel.h,$(wildcard bpf/*.bpf.c))
LDLIBS   += -lbpf -lncurses

$(O)/bpf/%.bpf.o: bpf/%.bpf.c bpf/vmlinux.h include/uapi/memorizer/kmemtrace.h bpf/bpf.mk | $(CHECKED)
	$(call say,BPF,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) -target bpf -mcpu=v3 -O2 -g -Wall -Wno-unused-function -D__TARGET_ARCH_$(BPF_ARCH) \
		-ffile-prefix-map=$(CURDIR)=. \
		-Iinclude -Ibpf -c -o $@.tmp $<
	$(Q)llvm-strip-14 -g $@.tmp 2>/dev/null || true
	$(Q)mv $@.tmp $@

$(O)/gen/%.skel.h: $(O)/bpf/%.bpf.o
	$(call say,SKEL,$@)
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen skeleton $< name $* > $@.tmp && mv $@.tmp $@

$(patsubst %.c,$(O)/%.o,$(wildcard lib/record/kmem*.c)): $(BPF_SKEL)
$(patsubst lib/record/%.c,$(O)/fuzz/lib/record/%.o,$(wildcard lib/record/kmem*.c)): $(BPF_SKEL)
