/* SPDX-License-Identifier: BSD-2-Clause */
/* One request to an HTTP server, and its answer. */
#ifndef MZ_BASE_HTTP_CLIENT_H
#define MZ_BASE_HTTP_CLIENT_H

#include <memorizer.h>

#include "base/buf.h"

struct mz_http_server {
	bool tls;
	char host[256];
	char port[8];
};

struct mz_http_call {
	const char *method;  /* "POST" */
	const char *path;    /* with the query, encoded */
	const char *headers; /* further ones, each with its CR LF; NULL = none */
	const void *body;
	size_t size;
};

/* "host", "host:port", "[address]:port". 0 or -EINVAL with err set. */
int mz_http_server_parse(struct mz_http_server *s, const char *text, size_t len, const char *port,
			 struct mz_error *err);

/* The status of the answer, whose body is appended; or -errno with err set: there is no
 * answer, or it is not whole. */
int mz_http_call(const struct mz_http_server *s, const struct mz_http_call *call,
		 struct mz_buf *answer, struct mz_error *err);

/* Whether the error may go away by itself: the server does not answer, or the connection broke. */
bool mz_http_is_away(int code);

/* Text as a part of an address. */
void mz_http_escape(struct mz_buf *b, const char *s, size_t n);
void mz_http_base64(struct mz_buf *b, const unsigned char *p, size_t n);
/* "Authorization: Basic ..." with its CR LF. */
void mz_http_basic(struct mz_buf *b, const char *user, const char *password);

#endif
