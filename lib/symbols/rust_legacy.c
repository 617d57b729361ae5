// SPDX-License-Identifier: BSD-2-Clause
/* Make names of Rust's older scheme readable: they look like C++, with a hash at the end. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "symbols/rust_demangle.h"

struct text {
	char *out;
	size_t size, used;
	bool full;
};

static void put(struct text *t, const char *s, size_t n)
{
	/* one byte stays free for the NUL */
	t->full |= n >= t->size - t->used;
	if (t->full)
		return;
	memcpy(t->out + t->used, s, n);
	t->used += n;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "$LT$" and the like, "$u7e$": the letter; 0 = none. The length with both dollars. */
static uint32_t escape(const char *s, size_t len, size_t *used)
{
	static const struct {
		const char *name;
		char is;
	} list[] = {{"$SP$", '@'}, {"$BP$", '*'}, {"$RF$", '&'}, {"$LT$", '<'},
		    {"$GT$", '>'}, {"$LP$", '('}, {"$RP$", ')'}, {"$C$", ','}};
	uint32_t code = 0;

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		*used = strlen(list[i].name);
		if (len >= *used && !strncmp(s, list[i].name, *used))
			return (uint32_t)list[i].is;
	}
	if (len < 4 || s[1] != 'u')
		return 0;
	for (*used = 2; *used < len && *used < 8 && s[*used] != '$'; ++*used) {
		int d = hex(s[*used]);

		if (d < 0)
			return 0;
		code = code << 4 | (uint32_t)d;
	}
	if (*used >= len || s[*used] != '$' || code < 0x20 || code > 0x10ffff ||
	    (code >= 0xd800 && code < 0xe000))
		return 0;
	++*used;
	return code;
}

static void put_element(struct text *t, const char *s, size_t len)
{
	/* an underscore stands before a name that must not begin with a dollar */
	if (len > 1 && s[0] == '_' && s[1] == '$') {
		s++;
		len--;
	}
	while (len) {
		size_t used = 1;
		uint32_t c = *s == '$' ? escape(s, len, &used) : 0;
		char buf[4];

		if (c) {
			put(t, buf, mz_rust_utf8(buf, c));
		} else if (len > 1 && s[0] == '.' && s[1] == '.') {
			used = 2;
			put(t, "::", 2);
		} else {
			used = 1;
			put(t, s, 1);
		}
		s += used;
		len -= used;
	}
}

/* The hash tells a name of Rust from one of C++, which is mangled in the same way. */
static bool is_hash(const char *s, size_t len)
{
	return len == 17 && s[0] == 'h' && strspn(s + 1, "0123456789abcdef") >= 16;
}

/* The length of the next element, and where it starts; 0 = there is none. */
static size_t element(const char **s)
{
	size_t n = 0;

	/* a length of more than 2^20 is no name, and the limit keeps the number from wrapping */
	for (; **s >= '0' && **s <= '9' && n < 1 << 20; ++*s)
		n = 10 * n + (size_t)(**s - '0');
	return strnlen(*s, n) == n ? n : 0;
}

/* _ZN, elements behind their lengths, the last of them the hash, E. */
size_t mz_rust_demangle_old(const char *name, char *out, size_t size)
{
	struct text t = {.out = out, .size = size};
	const char *s = name + 3, *last = NULL;
	size_t len = 0, n;

	while (*s != 'E' && (n = element(&s))) {
		/* an element is written when the next one is known: the last one is the hash, which
		 * is left out */
		if (last) {
			put(&t, "::", t.used ? 2 : 0);
			put_element(&t, last, len);
		}
		last = s;
		len = n;
		s += n;
	}
	if (t.full || *s != 'E' || (s[1] && s[1] != '.') || !last || !is_hash(last, len))
		t.used = 0;
	out[t.used] = '\0';
	return t.used;
}
