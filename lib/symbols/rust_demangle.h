/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of Rust made readable. */
/*
 * There are two schemes: v0 (RFC 2603), and an older one, which looks like C++ with a hash at its
 * end. Hashes are left out. Names are hostile input: the text, the depth and the number of steps
 * are bounded.
 */
#ifndef MZ_SYMBOLS_RUST_DEMANGLE_H
#define MZ_SYMBOLS_RUST_DEMANGLE_H

#include <stddef.h>
#include <stdint.h>

/* The readable name into out, with a NUL: its length; 0 = no name of Rust, or one that is
 * damaged or does not fit. */
size_t mz_rust_demangle(const char *name, char *out, size_t size);

/* rust_legacy.c: for a name that begins with _ZN; size is not 0. */
size_t mz_rust_demangle_old(const char *name, char *out, size_t size);

/* rust_punycode.c */
#define MZ_PUNYCODE_LETTERS 128 /* of an identifier */
/* A letter as UTF-8, at most 4 bytes: how many. */
size_t mz_rust_utf8(char *out, uint32_t letter);
/* Punycode (RFC 3492, with '_' for '-') as UTF-8: its length; 0 = damaged or too long. */
size_t mz_rust_punycode(const char *in, size_t len, char *out, size_t size);

#endif
