/* SPDX-License-Identifier: BSD-2-Clause */
/* Code that is in no file: what a compiler in the running program has made. */
#ifndef MZ_PRELOAD_CODE_RANGES_H
#define MZ_PRELOAD_CODE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

/* Is there such code at this address? Reads /proc/self/maps now and then. */
__attribute__((visibility("hidden"))) bool mz_in_made_code(uintptr_t pc);

#endif
