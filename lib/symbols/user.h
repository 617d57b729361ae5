/* SPDX-License-Identifier: BSD-2-Clause */
/* Names for the addresses of a user program: see symbols/symbols.h. */
#ifndef MZ_SYMBOLS_USER_H
#define MZ_SYMBOLS_USER_H

#include "symbols/symbols.h"

#endif
