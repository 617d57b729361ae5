// SPDX-License-Identifier: BSD-2-Clause
/* Decode identifiers of Rust that are not ASCII. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "symbols/rust_demangle.h"

size_t mz_rust_utf8(char *out, uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* The bias of RFC 3492, 3.4. It keeps the differences between neighbouring letters short. The
 * constants are those of the RFC: skew 38, damp 700, base 36, and thresholds from 1 to 26. */
static uint32_t adapt(uint32_t delta, uint32_t letters, bool first)
{
	uint32_t k = 0;

	delta = first ? delta / 700 : delta / 2;
	delta += delta / letters;
	for (; delta > 35 * 26 / 2; k += 36)
		delta /= 35;
	return k + 36 * delta / (delta + 38);
}

/* A number of variable length, in digits a-z and 0-9; false = damaged. */
static bool delta_of(const char *in, size_t len, size_t *at, uint32_t bias, uint32_t *delta)
{
	uint64_t w = 1, sum = 0;

	for (uint32_t k = 36;; k += 36) {
		uint32_t t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
		char c = *at < len ? in[(*at)++] : '\0';
		uint32_t d;

		if (c >= 'a' && c <= 'z')
			d = (uint32_t)(c - 'a');
		else if (c >= '0' && c <= '9')
			d = (uint32_t)(c - '0') + 26;
		else
			return false;
		sum += d * w;
		/* names are hostile input, and each digit may be worth 35 times as much as the one
		 * before it */
		if (sum > UINT32_MAX)
			return false;
		if (d < t)
			break;
		w *= 36 - t;
		if (w > UINT32_MAX)
			return false;
	}
	*delta = (uint32_t)sum;
	return true;
}

/* Insert the letters that are not ASCII, in the order of their codes (RFC 3492, 6.2). */
static size_t decode(const char *in, size_t len, uint32_t *letters, size_t n)
{
	uint32_t code = 0x80, bias = 72, delta;
	uint64_t i = 0;

	for (size_t at = 0; at < len; i++) {
		bool first = at == 0;

		if (n == MZ_PUNYCODE_LETTERS || !delta_of(in, len, &at, bias, &delta))
			return 0;
		i += delta;
		n++;
		bias = adapt(delta, (uint32_t)n, first);
		/* no letter has a higher code in Unicode */
		if (i / n > 0x10ffff - code)
			return 0;
		code += (uint32_t)(i / n);
		i %= n;
		/* surrogates are no letters, and UTF-8 must not contain them */
		if (code >= 0xd800 && code < 0xe000)
			return 0;
		memmove(letters + i + 1, letters + i, (n - 1 - i) * sizeof(*letters));
		letters[i] = code;
	}
	return n;
}

size_t mz_rust_punycode(const char *in, size_t len, char *out, size_t size)
{
	uint32_t letters[MZ_PUNYCODE_LETTERS];
	size_t ascii = len, n = 0, used = 0;

	/* the last underscore separates the ASCII letters from the digits that stand for the
	 * others */
	while (ascii && in[ascii - 1] != '_')
		ascii--;
	for (size_t i = 0; i + 1 < ascii; i++, n++) {
		if (n == MZ_PUNYCODE_LETTERS)
			return 0;
		letters[n] = (unsigned char)in[i];
	}
	n = decode(in + ascii, len - ascii, letters, n);
	for (size_t i = 0; i < n; i++) {
		if (used + 4 >= size)
			return 0;
		used += mz_rust_utf8(out + used, letters[i]);
	}
	return used;
}
