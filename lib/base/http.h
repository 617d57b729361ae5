/* SPDX-License-Identifier: BSD-2-Clause */
/* What a request over HTTP asks for, and whether it is for us. */
#ifndef MZ_BASE_HTTP_H
#define MZ_BASE_HTTP_H

#include <stdbool.h>

struct mz_http_request {
	bool head;	 /* HEAD, not GET */
	char path[4096]; /* decoded; starts with / */
};

/* head: all up to and with the empty line, ended by a 0, and changed by this. port:
 * of this machine, at which it arrived. 0, or the status to answer with: 400, 403 (it
 * is for another host: somebody's page asks through a name of its own), 405, 414. */
int mz_http_parse(char *head, unsigned port, struct mz_http_request *r);

#endif
