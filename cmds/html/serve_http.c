// SPDX-License-Identifier: BSD-2-Clause
/* Read one HTTP request from a socket and send one response. */
#include "cmds/html/serve_http.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#define HEAD_MOST 16384

static const char *reason(int status)
{
	switch (status) {
	case 200: return "OK";
	case 400: return "Bad Request";
	case 403: return "Forbidden";
	case 404: return "Not Found";
	case 405: return "Method Not Allowed";
	case 408: return "Request Timeout";
	case 414: return "URI Too Long";
	case 431: return "Request Header Fields Too Large";
	default: return "Internal Server Error";
	}
}

static void send_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return; /* the client is gone, so there is no one to report it to */
		p += sent;
		n -= (size_t)sent;
	}
}

static void answer(int fd, int status, const char *type, const struct http_page *page, bool head)
{
	char text[1024], cookie[128] = "";
	int n;

	/* other sites' pages cannot make the browser send it along, nor a script read it */
	if (page->cookie)
		snprintf(cookie, sizeof(cookie),
			 "Set-Cookie: %s; Path=/; HttpOnly; SameSite=Strict\r\n", page->cookie);
	n = snprintf(text, sizeof(text),
		     "HTTP/1.1 %d %s\r\n"
		     "Content-Type: %s\r\n"
		     "Content-Length: %zu\r\n"
		     "Connection: close\r\n"
		     "Cache-Control: no-store\r\n"
		     "X-Content-Type-Options: nosniff\r\n"
		     "Referrer-Policy: no-referrer\r\n"
		     "Cross-Origin-Resource-Policy: same-origin\r\n"
		     "Content-Security-Policy: frame-ancestors 'none'%s\r\n"
		     "%s%s\r\n",
		     status, reason(status), type, page->size,
		     strncmp(type, "text/html", 9) ? "; default-src 'none'" : "", cookie,
		     status == 405 ? "Allow: GET, HEAD\r\n" : "");
	send_all(fd, text, (size_t)n);
	if (!head)
		send_all(fd, page->body, page->size);
}

void http_answer(int fd, const struct http_page *page, bool head)
{
	answer(fd, 200, "text/html; charset=utf-8", page, head);
}

void http_refuse(int fd, int status, const char *text, bool head)
{
	const struct http_page page = {.body = text, .size = strlen(text)};

	answer(fd, status, "text/plain; charset=utf-8", &page, head);
}

void http_close(int fd)
{
	struct timeval soon = {.tv_sec = 2};
	char rest[4096];

	shutdown(fd, SHUT_WR);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon));
	/* what is left unread would make the system drop the answer */
	for (int i = 0; i < 256 && recv(fd, rest, sizeof(rest), 0) > 0; i++)
		;
}

/* ---- reading ---------------------------------------------------------------------- */

/* The head of a request, up to the empty line. 0 or a status. */
static int read_head(int fd, char *buf, size_t size)
{
	size_t len = 0;

	for (;;) {
		ssize_t n = recv(fd, buf + len, size - 1 - len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK ? 408 : -1;
		if (!n)
			return len ? 400 : -1;
		len += (size_t)n;
		buf[len] = '\0';
		if (memchr(buf, '\0', len))
			return 400;
		if (strstr(buf, "\r\n\r\n"))
			return 0;
		if (len == size - 1)
			return strstr(buf, "\r\n") ? 431 : 414;
	}
}

int http_read(int fd, unsigned port, struct mz_http_request *r)
{
	char buf[HEAD_MOST];
	int status;

	r->head = false;
	status = read_head(fd, buf, sizeof(buf));
	return status ? status : mz_http_parse(buf, port, r);
}
