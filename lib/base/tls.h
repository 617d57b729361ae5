/* SPDX-License-Identifier: BSD-2-Clause */
/* TLS on a connected socket, by OpenSSL, which is loaded when it is first needed. */
#ifndef MZ_BASE_TLS_H
#define MZ_BASE_TLS_H

#include <memorizer.h>
#include <sys/types.h>

struct mz_tls;

/* The certificate must be valid for host, by the authorities of the system or of the file in
 * SSL_CERT_FILE. NULL with err set. The socket stays the caller's. */
struct mz_tls *mz_tls_open(int fd, const char *host, struct mz_error *err);
void mz_tls_close(struct mz_tls *t);

/* As read() and write(), without SIGPIPE: < 0 = an error. */
ssize_t mz_tls_read(struct mz_tls *t, void *data, size_t n);
ssize_t mz_tls_write(struct mz_tls *t, const void *data, size_t n);

#endif
