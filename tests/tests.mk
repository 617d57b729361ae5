# SPDX-License-Identifier: BSD-2-Clause
# Test programs: tests/unit/*_test.c against the static library; tools that the
# scripts use from tests/tools/*.c; fuzz targets from tests/fuzz/*_fuzz.c.

UNIT  := $(patsubst %.c,$(O)/%,$(sort $(wildcard tests/unit/*_test.c)))
TOOLS := $(patsubst %.c,$(O)/%,$(sort $(wildcard tests/tools/*.c)))

.PHONY: tests
tests: $(UNIT) $(TOOLS)

$(O)/tests/unit/%_test: $(O)/tests/unit/%_test.o $(LIB_A)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(LIB_A) $(LDLIBS) $(LDFLAGS_$*)

$(O)/tests/tools/%: $(O)/tests/tools/%.o $(LIB_A)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(LIB_A) $(LDLIBS)

# a fault at every allocation: the test counts them and makes one fail
LDFLAGS_fault := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup

FUZZ := $(patsubst tests/fuzz/%.c,$(O)/fuzz/%,$(sort $(wildcard tests/fuzz/*_fuzz.c)))
.PHONY: fuzz
fuzz: $(FUZZ)

$(O)/fuzz/%: tests/fuzz/%.c $(LIB_SRC)
	$(call say,FUZZ,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(CPPFLAGS) -std=gnu11 -O1 -g -fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=all -Wno-gnu-designator -o $@ $^ $(LDLIBS)

-include $(UNIT:=.d) $(TOOLS:=.d)
