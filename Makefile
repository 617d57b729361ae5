# SPDX-License-Identifier: BSD-2-Clause
# make [O=DIR] [V=1] [SAN=address,undefined]; see CONTRIBUTING.md.

O       ?= build
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
DESTDIR ?=
CC      := gcc
CLANG   ?= clang-14
SAN     ?=

VERSION := $(shell sed -n 's/^#define MZ_VERSION "\(.*\)"/\1/p' include/memorizer.h)

OPTIM    ?= -O2 -g
# where the build was must not be in what a package holds
PREFIX_MAP := $(filter -ffile-prefix-map=%,$(OPTIM))
WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla
# no function needs a large stack, however it is compiled
WARN     += -Wframe-larger-than=262144
CPPFLAGS := -Iinclude -Ilib -I. -I$(O)/gen -D_GNU_SOURCE
CFLAGS   := -std=gnu11 $(OPTIM) $(WARN) -fvisibility=hidden -fPIC -fno-strict-aliasing
LDLIBS   := -lzstd -lz -lsqlite3 -ldw -lelf -llzma -lm -lpthread -ldl
ifneq ($(SAN),)
CFLAGS  += -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer
LDFLAGS += -fsanitize=$(SAN)
endif

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-7s %s\n' $(1) $(2)
endif

.DEFAULT_GOAL := all
.SECONDARY:
.DELETE_ON_ERROR:

# libmemorizer reads and analyses recordings. What the commands need beyond that is an
# archive of its own, so that the library depends on neither libbpf nor SQLite.
TOOL_SRC := $(sort $(wildcard lib/record/*.c lib/replay/*.c lib/export/*.c lib/store/*.c))
LIB_SRC  := $(filter-out $(TOOL_SRC) lib/symbols/debuginfo_load.c,$(sort $(wildcard lib/*/*.c)))
# libdw and what needs it: linked into the static library, a plugin of the shared one
DEBUGINFO_SRC := $(addprefix lib/symbols/,debuginfo_linked.c code_elf.c image_build.c image_dwarf.c \
	image_rows.c debug_bounds.c debug_file.c kaslr.c types_btf.c types_dwarf.c)
SO_SRC  := $(filter-out $(DEBUGINFO_SRC),$(LIB_SRC)) lib/symbols/debuginfo_load.c
CMD_SRC := $(sort $(wildcard cmds/*.c cmds/*/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(O)/%.o)
SO_OBJ  := $(SO_SRC:%.c=$(O)/%.o)
TOOL_OBJ := $(TOOL_SRC:%.c=$(O)/%.o)
CMD_OBJ := $(CMD_SRC:%.c=$(O)/%.o)

LIB_A  := $(O)/libmemorizer.a
TOOL_A := $(O)/libmemorizer-tools.a
LIB_SO := $(O)/lib/libmemorizer.so.0
LIB_MAP := lib/libmemorizer.map
DEBUGINFO_SO := $(O)/lib/memorizer/memorizer-debuginfo.so
SO_LIBS := -lzstd -lz -lm -lpthread -ldl
PROG   := $(O)/bin/memorizer
LINKS  := $(O)/bin/.links

.PHONY: all
all: $(PROG) $(LIB_A) $(LIB_SO) $(DEBUGINFO_SO) $(LINKS) man completion

# What the build needs is looked for once, before the first file is compiled.
CHECKED := $(O)/.checked
$(CHECKED): scripts/check-build
	@mkdir -p $(@D)
	$(Q)CC='$(CC)' CLANG='$(CLANG)' BPFTOOL='$(BPFTOOL)' LDFLAGS='$(filter-out -fsanitize=%,$(LDFLAGS))' scripts/check-build
	@touch $@

$(O)/%.o: %.c Makefile | $(CHECKED)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(LIB_A): $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(TOOL_A): $(TOOL_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(LIB_SO): $(SO_OBJ) $(LIB_MAP)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,libmemorizer.so.0 \
		-Wl,--version-script=$(LIB_MAP) -Wl,--as-needed $(if $(SAN),,-Wl,-z,defs) \
		-o $@ $(SO_OBJ) $(SO_LIBS)
	$(Q)ln -sf libmemorizer.so.0 $(O)/lib/libmemorizer.so

# It has copies of the few functions that it shares with the library, all of them hidden.
$(DEBUGINFO_SO): $(O)/lib/symbols/debuginfo_linked.o $(LIB_A)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-z,nodelete -Wl,--as-needed \
		-Wl,--exclude-libs,ALL -o $@ $^ $(LDLIBS)

$(PROG): $(CMD_OBJ) $(TOOL_A) $(LIB_A)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(CMD_OBJ) $(TOOL_A) $(LIB_A) $(LDLIBS)

$(LINKS): $(PROG)
	$(Q)for l in $$($(PROG) help --links); do ln -sf memorizer $(O)/bin/$$l; done && touch $@

# ---- manual and completion, both from the option tables -------------------

MAN_SRC := $(sort $(wildcard docs/man/*.[1-8]))
MAN     := $(MAN_SRC:docs/man/%=$(O)/man/%)

.PHONY: man completion
man: $(MAN)
completion: $(O)/memorizer.bash

$(O)/man/%: docs/man/% $(PROG) scripts/man-page
	@mkdir -p $(@D)
	$(Q)scripts/man-page $(PROG) $< $(VERSION) > $@

$(O)/memorizer.bash: $(PROG)
	$(Q)$(PROG) help --completion > $@

include $(sort $(wildcard */*.mk))

# ---- tests ----------------------------------------------------------------

.PHONY: check check-quick bench
check: all tests
	$(Q)tests/run --all $(O)

check-quick: all tests
	$(Q)tests/run --quick $(O)

bench: all tests
	$(Q)bench/run $(O)

# ---- install and dist ------------------------------------------------------

.PHONY: install dist deb clean
install: all
	$(Q)scripts/install $(O) "$(DESTDIR)" "$(PREFIX)" $(VERSION) "$(LIBDIR)"

dist:
	@mkdir -p $(O)
	$(Q)git archive --format=tar.gz --prefix=memorizer-$(VERSION)/ \
		-o $(O)/memorizer-$(VERSION).tar.gz HEAD
	@echo $(O)/memorizer-$(VERSION).tar.gz

# Debian packages, from the files as they are, into $(O)/deb
deb:
	$(Q)scripts/deb $(O) $(VERSION)

clean:
	rm -rf $(O)

-include $(LIB_OBJ:.o=.d) $(SO_OBJ:.o=.d) $(TOOL_OBJ:.o=.d) $(CMD_OBJ:.o=.d)
