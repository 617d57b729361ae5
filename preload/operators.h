/* SPDX-License-Identifier: BSD-2-Clause */
/* operator new and delete of an allocator that defines its own: they do not call malloc and
 * free. */
#ifndef MZ_PRELOAD_OPERATORS_H
#define MZ_PRELOAD_OPERATORS_H

#include <stdbool.h>

/* Find those in the library that malloc comes from. False: there are none; those of the C++
 * library call malloc. */
__attribute__((visibility("hidden"))) bool mz_operators_find(const void *malloc);

/* Were some found? */
extern bool mz_operators_found __attribute__((visibility("hidden")));

/* The replacement for an operator, and the operator itself. False: it is not one of those that
 * were found. */
__attribute__((visibility("hidden"))) bool mz_operator(const char *name, void **hook, void **real);

#endif
