# SPDX-License-Identifier: BSD-2-Clause
# make [O=DIR] [V=1] [SAN=address,undefined]; see CONTRIBUTING.md.

O       ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
CC      := gcc
CLANG   ?= clang-14
SAN     ?=

VERSION := $(shell sed -n 's/^#define MZ_VERSION "\(.*\)"/\1/p' include/memorizer.h)

OPTIM    ?= -O2 -g
WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla
CPPFLAGS := -Iinclude -Ilib -I. -I$(O)/gen -D_GNU_SOURCE
CFLAGS   := -std=gnu11 $(OPTIM) $(WARN) -fvisibility=hidden -fPIC -fno-strict-aliasing
LDLIBS   := -lzstd -lz -lsqlite3 -ldw -lelf -lm -lpthread
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

LIB_SRC := $(sort $(wildcard lib/*/*.c))
CMD_SRC := $(sort $(wildcard cmds/*.c cmds/*/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(O)/%.o)
CMD_OBJ := $(CMD_SRC:%.c=$(O)/%.o)

LIB_A  := $(O)/libmemorizer.a
LIB_SO := $(O)/libmemorizer.so.0
PROG   := $(O)/bin/memorizer
LINKS  := $(O)/bin/.links

.PHONY: all
all: $(PROG) $(LIB_A) $(LIB_SO) $(LINKS) man completion

$(O)/%.o: %.c Makefile
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(LIB_A): $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(LIB_SO): $(LIB_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,libmemorizer.so.0 -o $@ $^ $(LDLIBS)
	$(Q)ln -sf libmemorizer.so.0 $(O)/libmemorizer.so

$(PROG): $(CMD_OBJ) $(LIB_A)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(CMD_OBJ) $(LIB_A) $(LDLIBS)

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

.PHONY: install dist clean
install: all
	$(Q)scripts/install $(O) "$(DESTDIR)" "$(PREFIX)" $(VERSION)

dist:
	@mkdir -p $(O)
	$(Q)git archive --format=tar.gz --prefix=memorizer-$(VERSION)/ \
		-o $(O)/memorizer-$(VERSION).tar.gz HEAD
	@echo $(O)/memorizer-$(VERSION).tar.gz

clean:
	rm -rf $(O)

-include $(LIB_OBJ:.o=.d) $(CMD_OBJ:.o=.d)
