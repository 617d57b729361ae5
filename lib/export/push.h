/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests that bring a profile to a server: Pyroscope, Parca, or a collector of OTLP. */
#ifndef MZ_EXPORT_PUSH_H
#define MZ_EXPORT_PUSH_H

#include "base/buf.h"
#include "base/http_client.h"
#include "export/export.h"

enum mz_push_server { MZ_PUSH_PYROSCOPE, MZ_PUSH_PARCA, MZ_PUSH_OTLP };

struct mz_push_request {
	enum mz_push_server to;
	const char *prefix;	      /* of all paths of the server; "" = none */
	struct mz_export_options how; /* program and time_ns are set */
	const char *const *labels;    /* KEY=VALUE, besides the revision and the host; not OTLP */
	size_t nlabels;
	/* The request. The caller may put headers first, each with its CR LF. */
	struct mz_buf path, headers, body;
};

/* Whether the server takes a text as the name of a program or as a label. */
bool mz_push_accepts(enum mz_push_server to, const char *text);

/* Makes the request and sends it. 0, or -errno with err set: the server cannot be reached, or its
 * status is not one of success. */
int mz_push_make(struct mz_push_request *r, const struct mz_profile *p, struct mz_error *err);
int mz_push_send(const struct mz_push_request *r, const struct mz_http_server *server,
		 struct mz_error *err);

/* For the next one: frees path, headers and body. */
void mz_push_reset(struct mz_push_request *r);

#endif
