/* SPDX-License-Identifier: BSD-2-Clause */
/* Parsing HTTP requests: what they request, and whether they are meant for this server. */
#ifndef MZ_BASE_HTTP_H
#define MZ_BASE_HTTP_H

#include <stdbool.h>

#define MZ_HTTP_TOKEN 32 /* characters of a token */

struct mz_http_request {
	bool head;	 /* HEAD, not GET */
	char path[4096]; /* decoded; starts with / */
	/* its tokens: ?token= of the address, and the cookie memorizer-PORT; empty: nothing, or
	 * something of another length */
	char token[MZ_HTTP_TOKEN + 1], cookie[MZ_HTTP_TOKEN + 1];
};

/* Whether the request has this token; the time does not depend on the token. */
bool mz_http_has_token(const struct mz_http_request *r, const char *token);

/* head: everything up to and including the empty line, terminated by a NUL; it is modified.
 * port: the port at which the request arrived. Returns 0, or the status to answer with: 400,
 * 403 (it is for another host), 405, 414. */
int mz_http_parse(char *head, unsigned port, struct mz_http_request *r);

#endif
