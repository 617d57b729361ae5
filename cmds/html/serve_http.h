/* SPDX-License-Identifier: BSD-2-Clause */
/* As much of HTTP as a server on this machine needs: one request, one answer. */
#ifndef MZ_CMDS_HTML_SERVE_HTTP_H
#define MZ_CMDS_HTML_SERVE_HTTP_H

#include <stddef.h>

#include "base/http.h"

/* Reads a request and checks it. 0, or the status to answer with: those of mz_http_parse(), 408,
 * 431; -1: the client has gone. */
int http_read(int fd, unsigned port, struct mz_http_request *r);

struct http_page {
	const void *body;
	size_t size;
	const char *cookie; /* that the browser is to keep; NULL: none */
};

/* Sends a page. */
void http_answer(int fd, const struct http_page *page, bool head);
/* A short text with the status. */
void http_refuse(int fd, int status, const char *text, bool head);
/* Ends the connection so that the client gets the answer, even if it is still sending. */
void http_close(int fd);

#endif
