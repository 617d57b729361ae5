/* SPDX-License-Identifier: BSD-2-Clause */
/* operator new and delete of an allocator that brings its own: they do not pass by
 * malloc and free. */
#ifndef MZ_PRELOAD_OPERATORS_H
#define MZ_PRELOAD_OPERATORS_H

#include <stdbool.h>

/* Find those that lie in the library that malloc is of. False: there are none, as with
 * the C++ library's, which call malloc. */
__attribute__((visibility("hidden"))) bool mz_operators_find(const void *malloc);

/* What is called in the place of an operator, and itself. False: it is none of those
 * that were found. */
__attribute__((visibility("hidden"))) bool mz_operator(const char *name, void **hook, void **real);

#endif
