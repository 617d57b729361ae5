// SPDX-License-Identifier: BSD-2-Clause
/* Parse and check the head of an HTTP request. */
#include "base/http.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* %41 becomes A. A path with a 0 in it, or a broken escape, is refused. */
static int decode(const char *from, size_t n, char *to, size_t size)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		int c = (unsigned char)from[i];

		if (c == '%') {
			int hi = i + 2 < n ? digit(from[i + 1]) : -1,
			    lo = i + 2 < n ? digit(from[i + 2]) : -1;

			if (hi < 0 || lo < 0)
				return 400;
			c = hi << 4 | lo;
			i += 2;
		}
		if (!c)
			return 400;
		if (len == size - 1)
			return 414;
		to[len++] = (char)c;
	}
	to[len] = '\0';
	return 0;
}

static void keep_token(char *to, const char *from, size_t n)
{
	if (n != MZ_HTTP_TOKEN)
		return;
	memcpy(to, from, n);
	to[n] = '\0';
}

/* "?a=b&token=...": the first token counts. */
static void read_query(const char *p, struct mz_http_request *r)
{
	while (*p == '?' || *p == '&') {
		size_t n = strcspn(++p, "&#");

		if (!*r->token && n > 6 && !strncmp(p, "token=", 6))
			keep_token(r->token, p + 6, n - 6);
		p += n;
	}
}

bool mz_http_has_token(const struct mz_http_request *r, const char *token)
{
	unsigned by_query = 0, by_cookie = 0;

	for (size_t i = 0; i < MZ_HTTP_TOKEN; i++) {
		by_query |= (unsigned char)(r->token[i] ^ token[i]);
		by_cookie |= (unsigned char)(r->cookie[i] ^ token[i]);
	}
	return !by_query || !by_cookie;
}

/* The first line: method, path, version. */
static int read_line(char *line, struct mz_http_request *r)
{
	char *path = strchr(line, ' '), *version = path ? strchr(path + 1, ' ') : NULL;
	size_t n;

	if (!version || strncmp(version + 1, "HTTP/1.", 7))
		return 400;
	*path++ = '\0';
	*version = '\0';
	r->head = !strcmp(line, "HEAD");
	if (!r->head && strcmp(line, "GET"))
		return 405;
	n = strcspn(path, "?#");
	read_query(path + n, r);
	return *path == '/' ? decode(path, n, r->path, sizeof(r->path)) : 400;
}

/* A foreign web page may make its name point to this machine; the browser then sends us requests
 * for that name. */
static bool is_for_us(const char *host, size_t n, unsigned port)
{
	static const char *const names[] = {"127.0.0.1", "localhost"};
	char want[64];

	for (int i = 0; i < 2; i++) {
		int len = snprintf(want, sizeof(want), "%s:%u", names[i], port);

		if (n == (size_t)len && !strncasecmp(host, want, n))
			return true;
		if (port == 80 && n == strlen(names[i]) && !strncasecmp(host, names[i], n))
			return true;
	}
	return false;
}

/* "name=value; name=value": cookies are those of all ports, so ours is named by its port. */
static void read_cookies(const char *p, const char *end, unsigned port, struct mz_http_request *r)
{
	char name[32];
	size_t len = (size_t)snprintf(name, sizeof(name), "memorizer-%u=", port);

	while (p < end) {
		const char *semicolon = memchr(p, ';', (size_t)(end - p));
		const char *stop = semicolon ? semicolon : end;

		while (p < stop && (*p == ' ' || *p == '\t'))
			p++;
		if ((size_t)(stop - p) > len && !memcmp(p, name, len))
			keep_token(r->cookie, p + len, (size_t)(stop - p) - len);
		p = stop + 1;
	}
}

/* A web page elsewhere can point its own name at 127.0.0.1 (DNS rebinding); the Host header
 * then carries that name. Exactly one Host that names this machine is required. */
static int read_lines(const char *lines, unsigned port, struct mz_http_request *r)
{
	int hosts = 0;

	for (const char *p = lines, *end; (end = strstr(p, "\r\n")) && end != p; p = end + 2) {
		size_t n = (size_t)(end - p);

		if (n > 7 && !strncasecmp(p, "Cookie:", 7))
			read_cookies(p + 7, end, port, r);
		if (n > 5 && !strncasecmp(p, "Host:", 5)) {
			const char *v = p + 5 + strspn(p + 5, " \t");
			size_t len = (size_t)(p + n - v);

			while (len && (v[len - 1] == ' ' || v[len - 1] == '\t'))
				len--;
			if (!is_for_us(v, len, port))
				return 403;
			hosts++;
		}
	}
	return hosts == 1 ? 0 : 400;
}

/* Only the request line and Host matter; all other headers are ignored, so there is nothing in
 * them to exploit. */
int mz_http_parse(char *head, unsigned port, struct mz_http_request *r)
{
	char *rest = strstr(head, "\r\n");
	int status;

	*r = (struct mz_http_request){0};
	if (!rest)
		return 400;
	*rest = '\0';
	status = read_line(head, r);
	return status ? status : read_lines(rest + 2, port, r);
}
