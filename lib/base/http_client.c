// SPDX-License-Identifier: BSD-2-Clause
/* Send a request over HTTP/1.1, with or without TLS, and read the whole answer. */
#include "base/http_client.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/tls.h"

/* The kernel itself would try to connect for minutes. A pause within an answer may be long, since a
 * store may compute for a while before it sends anything. An answer is kept in memory as a whole;
 * HEAD_MAX bounds each line of its head. */
#define CONNECT_MS   10000
#define TALK_SECONDS 300
#define HEAD_MAX     65536
#define BODY_MAX     (2ull << 30)

struct talk {
	const struct mz_http_server *s;
	int fd;
	struct mz_tls *tls;
	struct mz_buf in; /* what came; the head is taken off */
	size_t at;
	struct mz_error *err;
};

int mz_http_server_parse(struct mz_http_server *s, const char *text, size_t len, const char *port,
			 struct mz_error *err)
{
	const char *end = text + len, *colon, *host = text;
	size_t n;

	/* an address of IPv6 contains colons, so it stands in brackets */
	if (len && *text == '[') {
		const char *close = memchr(text, ']', len);

		host = text + 1;
		n = close ? (size_t)(close - host) : 0;
		colon = close && close + 1 < end && close[1] == ':' ? close + 1 : NULL;
	} else {
		colon = memchr(text, ':', len);
		n = colon ? (size_t)(colon - text) : len;
	}
	if (memchr(text, '@', len))
		return mz_fail(err, EINVAL,
			       "a user and a password do not belong in an address, which everybody "
			       "on this machine can see: name a file with --credentials");
	if (!n || n >= sizeof(s->host) || (colon && (size_t)(end - colon) > sizeof(s->port)))
		return mz_fail(err, EINVAL, "'%.*s': not HOST:PORT", (int)len, text);
	memcpy(s->host, host, n);
	s->host[n] = '\0';
	snprintf(s->port, sizeof(s->port), "%.*s",
		 colon ? (int)(end - colon - 1) : (int)strlen(port), colon ? colon + 1 : port);
	if (!*s->port || strspn(s->port, "0123456789") != strlen(s->port) || atoi(s->port) > 65535)
		return mz_fail(err, EINVAL, "'%.*s': the port is a number up to 65535", (int)len,
			       text);
	return 0;
}

/* EBUSY is not of the network: it is what a store makes of an answer that says "try again
 * later". */
bool mz_http_is_away(int code)
{
	return code == -ECONNREFUSED || code == -ECONNRESET || code == -EPIPE ||
	       code == -ETIMEDOUT || code == -EHOSTUNREACH || code == -ENETUNREACH ||
	       code == -EHOSTDOWN || code == -EBUSY;
}

/* The error names the server, because a store may consist of several. */
static int broken(struct talk *t, int code, const char *what)
{
	return mz_fail(t->err, code, "%s:%s: %s: %s", t->s->host, t->s->port, what, strerror(code));
}

/* ---- the connection ------------------------------------------------------ */

/* Calls on a socket with a timeout fail with EINTR when the process is stopped and continued, even
 * if it handles no signal. They are made again. */

/* On failure errno has the reason. Connecting does not wait, because only poll() can be given a
 * time. The connection itself waits, with a time limit for each call. */
static int try_address(const struct addrinfo *a)
{
	struct timeval patience = {.tv_sec = TALK_SECONDS};
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), code = 0;
	socklen_t len = sizeof(code);
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	if (fd < 0)
		return -1;
	if (connect(fd, a->ai_addr, a->ai_addrlen) < 0) {
		code = errno;
		if (code == EINPROGRESS)
			code = TEMP_FAILURE_RETRY(poll(&p, 1, CONNECT_MS)) == 1 ? 0 : ETIMEDOUT;
		if (!code && getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &len) < 0)
			code = errno;
	}
	if (code) {
		close(fd);
		errno = code;
		return -1;
	}
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	return fd;
}

/* The addresses of a host are tried in turn: the first one may be of IPv6 where there is no route
 * for it. A name server that does not answer (EAI_AGAIN) may do so later. */
static int open_talk(struct talk *t)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
	int code = getaddrinfo(t->s->host, t->s->port, &hints, &list);

	if (code)
		return mz_fail(t->err, code == EAI_AGAIN ? EHOSTUNREACH : ENOENT, "%s: %s",
			       t->s->host, gai_strerror(code));
	for (const struct addrinfo *a = list; a && t->fd < 0; a = a->ai_next)
		t->fd = try_address(a);
	code = errno;
	freeaddrinfo(list);
	if (t->fd < 0)
		return broken(t, code, "cannot connect");
	if (t->s->tls && !(t->tls = mz_tls_open(t->fd, t->s->host, t->err)))
		return mz_error_code(t->err);
	return 0;
}

/* A connection that the server has closed must be an error and not SIGPIPE, which would end the
 * program. */
static int send_all(struct talk *t, const char *p, size_t n)
{
	while (n) {
		ssize_t done = t->tls ? mz_tls_write(t->tls, p, n)
				      : TEMP_FAILURE_RETRY(send(t->fd, p, n, MSG_NOSIGNAL));

		if (done <= 0)
			return t->tls || errno == EAGAIN ? ETIMEDOUT : errno;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

/* More bytes at the end of t->in: 1, 0 = the other side ended, -errno. */
static int receive(struct talk *t)
{
	ssize_t n;

	if (t->in.len > BODY_MAX)
		return mz_fail(t->err, EFBIG, "%s:%s: the answer is over 2 GiB", t->s->host,
			       t->s->port);
	if (!mz_buf_room(&t->in, 65536))
		return mz_fail_memory(t->err);
	n = t->tls ? mz_tls_read(t->tls, t->in.data + t->in.len, 65536)
		   : TEMP_FAILURE_RETRY(recv(t->fd, t->in.data + t->in.len, 65536, 0));
	if (n < 0 && !t->tls)
		return broken(t, errno == EAGAIN ? ETIMEDOUT : errno, "no answer");
	if (n > 0)
		t->in.len += (size_t)n;
	return n > 0;
}

/* ---- the answer ----------------------------------------------------------- */

struct head {
	int status;
	bool chunked, has_length;
	uint64_t length;
};

/* Only these two lines say where the body ends. */
static void head_line(struct head *h, const char *p, size_t n)
{
	if (n > 15 && !strncasecmp(p, "Content-Length:", 15)) {
		h->has_length = true;
		h->length = strtoull(p + 15, NULL, 10);
	}
	if (n > 18 && !strncasecmp(p, "Transfer-Encoding:", 18))
		h->chunked = memmem(p, n, "chunked", 7) != NULL;
}

static int cut_short(struct talk *t)
{
	return mz_fail(t->err, ECONNRESET,
		       "%s:%s: the connection ended in the middle of the answer", t->s->host,
		       t->s->port);
}

/* t->at is the start of the next line, which is there as a whole; its length or -errno. */
static ssize_t line(struct talk *t)
{
	for (;;) {
		/* computed anew each time: receive() may move the buffer */
		const char *from = t->in.data + t->at;
		const char *end =
			t->in.len > t->at ? memmem(from, t->in.len - t->at, "\r\n", 2) : NULL;
		int more;

		if (end)
			return end - from;
		if (t->in.len - t->at > HEAD_MAX)
			return mz_fail(t->err, EPROTO, "%s:%s: the answer is not HTTP", t->s->host,
				       t->s->port);
		more = receive(t);
		if (more <= 0)
			return more ? more : cut_short(t);
	}
}

static int read_head(struct talk *t, struct head *h)
{
	ssize_t n = line(t);

	if (n < 0)
		return (int)n;
	if (n < 12 || strncmp(t->in.data + t->at, "HTTP/1.", 7))
		return mz_fail(t->err, EPROTO, "%s:%s: the answer is not HTTP", t->s->host,
			       t->s->port);
	/* "HTTP/1.1 200 OK": the status is always at this place */
	h->status = atoi(t->in.data + t->at + 9);
	do {
		t->at += (size_t)n + 2;
		n = line(t);
		if (n > 0)
			head_line(h, t->in.data + t->at, (size_t)n);
	} while (n > 0);
	t->at += 2;
	return n < 0 ? (int)n : 0;
}

/* n bytes of the body, from t->at on. */
static int take(struct talk *t, uint64_t n, struct mz_buf *answer)
{
	if (n > BODY_MAX)
		return mz_fail(t->err, EFBIG, "%s:%s: the answer is over 2 GiB", t->s->host,
			       t->s->port);
	while (t->in.len - t->at < n) {
		int more = receive(t);

		if (more <= 0)
			return more ? more : cut_short(t);
	}
	mz_buf_add(answer, t->in.data + t->at, n);
	t->at += n;
	return 0;
}

/* Each chunk is a line with its size in hexadecimal, the bytes, and a line end; the last one has no
 * bytes. What may follow it is not read, because the connection ends with this answer. */
static int read_chunks(struct talk *t, struct mz_buf *answer)
{
	uint64_t size;
	int ret;

	do {
		ssize_t n = line(t);

		if (n < 0)
			return (int)n;
		size = strtoull(t->in.data + t->at, NULL, 16);
		t->at += (size_t)n + 2;
		ret = take(t, size, answer);
		if (!ret && (n = line(t)) < 0)
			ret = (int)n;
		t->at += 2;
	} while (!ret && size);
	return ret;
}

/* A body of unknown length ends with the connection. */
static int read_body(struct talk *t, const struct head *h, struct mz_buf *answer)
{
	int more;

	if (h->chunked)
		return read_chunks(t, answer);
	if (h->has_length)
		return take(t, h->length, answer);
	while ((more = receive(t)) > 0)
		;
	return more < 0 ? more : take(t, t->in.len - t->at, answer);
}

int mz_http_call(const struct mz_http_server *s, const struct mz_http_call *call,
		 struct mz_buf *answer, struct mz_error *err)
{
	struct talk t = {.s = s, .fd = -1, .err = err};
	struct head h = {0};
	struct mz_buf head = {0};
	int ret = open_talk(&t), sent = 0;

	/* the server closes after this answer, so nothing of a next one can follow */
	mz_buf_printf(&head,
		      "%s %s HTTP/1.1\r\nHost: %s:%s\r\nConnection: close\r\nUser-Agent: "
		      "memorizer/%s\r\nContent-Length: %zu\r\n%s\r\n",
		      call->method, call->path, s->host, s->port, MZ_VERSION, call->size,
		      call->headers ? call->headers : "");
	if (!ret && head.failed)
		ret = mz_fail_memory(err);
	if (!ret && !(sent = send_all(&t, head.data, head.len)))
		sent = send_all(&t, call->body, call->size);
	/* a server that refuses may answer and close before it has read everything */
	if (!ret && (ret = read_head(&t, &h)) < 0 && sent && err && err->code == ECONNRESET)
		ret = -ECONNRESET;
	if (!ret)
		ret = read_body(&t, &h, answer);
	if (!ret && answer->failed)
		ret = mz_fail_memory(err);
	mz_tls_close(t.tls);
	if (t.fd >= 0)
		close(t.fd);
	mz_buf_free(&t.in);
	mz_buf_free(&head);
	return ret < 0 ? ret : h.status;
}

/* ---- texts ------------------------------------------------------------------ */

/* All but the unreserved characters of RFC 3986. */
void mz_http_escape(struct mz_buf *b, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		    (c && strchr("-._~", c)))
			mz_buf_add(b, s + i, 1);
		else
			mz_buf_printf(b, "%%%02X", c);
	}
}

void mz_http_base64(struct mz_buf *b, const unsigned char *p, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < n; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) |
			     (i + 2 < n ? p[i + 2] : 0);
		char four[4] = {digits[v >> 18], digits[v >> 12 & 63],
				i + 1 < n ? digits[v >> 6 & 63] : '=',
				i + 2 < n ? digits[v & 63] : '='};

		mz_buf_add(b, four, 4);
	}
}

/* The password is taken as it is: a colon in it is allowed, one in the user name is not. */
void mz_http_basic(struct mz_buf *b, const char *user, const char *password)
{
	struct mz_buf both = {0};

	mz_buf_printf(&both, "%s:%s", user, password);
	mz_buf_str(b, "Authorization: Basic ");
	if (both.failed)
		b->failed = true;
	else
		mz_http_base64(b, (const unsigned char *)both.data, both.len);
	mz_buf_str(b, "\r\n");
	mz_buf_free(&both);
}
