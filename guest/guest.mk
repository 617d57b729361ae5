# SPDX-License-Identifier: BSD-2-Clause
# The init of the guest of `memorizer vm`: static, since it runs before there are files.

GUEST_INIT := $(O)/guest/init
GUEST_SRC := $(wildcard guest/*.c)

all: $(GUEST_INIT)

$(GUEST_INIT): $(GUEST_SRC) $(wildcard guest/*.h) guest/guest.mk | $(CHECKED)
	$(call say,CC,guest)
	@mkdir -p $(@D)
	$(Q)$(CC) -I. -D_GNU_SOURCE -std=gnu11 -O2 $(WARN) -static -s -o $@ $(GUEST_SRC)
