# SPDX-License-Identifier: BSD-2-Clause
# The library that is loaded into programs under test. It is never built with a
# sanitizer: those have allocators of their own.
PRELOAD_SRC := $(sort $(wildcard preload/*.c))
PRELOAD_SO  := $(O)/lib/memorizer/memorizer-preload.so

# initfirst: constructors of other libraries may call operators of an allocator, which are seen
# after ours has run. It takes nothing from a library that asks for the same: the last one wins.

# a warning of GCC alone: clang warns of its name
PRELOAD_WARN := $(if $(findstring clang,$(CC)),,-Wno-alloc-size-larger-than)

all: $(PRELOAD_SO)

$(PRELOAD_SO): $(PRELOAD_SRC) $(wildcard preload/*.h) include/uapi/memorizer/record.h include/memorizer.h include/memorizer/pool.h | $(CHECKED)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -std=gnu11 -O2 -g $(PREFIX_MAP) $(WARN) $(PRELOAD_WARN) \
		-fvisibility=hidden -fPIC -fno-builtin -fno-strict-aliasing \
		-fno-omit-frame-pointer -fno-optimize-sibling-calls -ftls-model=initial-exec \
		-shared -Wl,-z,now -Wl,-z,nodelete -Wl,-z,initfirst -o $@ $(PRELOAD_SRC) -ldl -lpthread
