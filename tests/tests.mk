# SPDX-License-Identifier: BSD-2-Clause
# Test programs: tests/unit/*_test.c against the static library; tools that the
# scripts use from tests/tools/*.c; fuzz targets from tests/fuzz/*_fuzz.c.

UNIT  := $(patsubst %.c,$(O)/%,$(sort $(wildcard tests/unit/*_test.c)))
TOOLS := $(patsubst %.c,$(O)/%,$(sort $(wildcard tests/tools/*.c)))

.PHONY: tests
tests: $(UNIT) $(TOOLS)

$(O)/tests/unit/%_test: $(O)/tests/unit/%_test.o $(TOOL_A) $(LIB_A)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(TOOL_A) $(LIB_A) $(LDLIBS) $(LDFLAGS_$*)

$(O)/tests/tools/%: $(O)/tests/tools/%.o $(TOOL_A) $(LIB_A)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(TOOL_A) $(LIB_A) $(LDLIBS)

# a fault at every allocation or system call: the test counts them and makes one fail
LDFLAGS_fault = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=free
LDFLAGS_fault += -Wl,--wrap=fsync,--wrap=close,--wrap=writev,--wrap=rename,--wrap=renameat2
LDFLAGS_export_fault = $(LDFLAGS_fault)
LDFLAGS_convert = $(LDFLAGS_fault)
LDFLAGS_atomic_file = $(LDFLAGS_fault)

# fuzz targets: tests/fuzz/X_fuzz.c, with the library built once for them all
FUZZ       := $(patsubst tests/fuzz/%.c,$(O)/fuzz/%,$(sort $(wildcard tests/fuzz/*_fuzz.c)))
FUZZ_LIB   := $(patsubst %.c,$(O)/fuzz/%.o,$(LIB_SRC) $(TOOL_SRC))
FUZZ_FLAGS := -std=gnu11 -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
.PHONY: fuzz fuzz-run
fuzz: $(FUZZ)

# all targets in turn, at the lowest priority: make fuzz-run MINUTES=60
MINUTES ?= 10
fuzz-run: fuzz
	$(Q)nice -n 19 tests/fuzz/run-all $(O) $(MINUTES)

$(O)/fuzz/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(CPPFLAGS) $(FUZZ_FLAGS) -MMD -MP -c -o $@ $<

$(O)/fuzz/libmemorizer.a: $(FUZZ_LIB)
	$(Q)rm -f $@ && ar rcs $@ $^

$(O)/fuzz/%: $(O)/fuzz/tests/fuzz/%.o $(O)/fuzz/libmemorizer.a
	$(call say,FUZZ,$@)
	$(Q)$(CLANG) -fsanitize=fuzzer,address,undefined -o $@ $^ $(LDLIBS)

-include $(FUZZ_LIB:.o=.d) $(FUZZ:$(O)/fuzz/%=$(O)/fuzz/tests/fuzz/%.d)

-include $(UNIT:=.d) $(TOOLS:=.d)
