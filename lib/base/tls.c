// SPDX-License-Identifier: BSD-2-Clause
/* Speak TLS by OpenSSL: loaded on demand, so that only users of TLS need it. */
#include "base/tls.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"

/* Values of openssl/ssl.h, which has been stable since version 1.1. */
#define VERIFY_PEER	   1
#define CTRL_SET_HOSTNAME  55
#define NAMETYPE_HOST	   0
#define CTRL_SET_MIN_PROTO 123
#define PROTO_TLS1_2	   0x0303
#define X509_OK		   0

/* The functions of OpenSSL that are used, with the types of its headers, which are not needed to
 * build. */
struct functions {
	const void *(*client_method)(void);
	void *(*ctx_new)(const void *method);
	void (*ctx_free)(void *ctx);
	int (*ctx_default_paths)(void *ctx);
	void (*ctx_verify)(void *ctx, int mode, void *callback);
	long (*ctx_ctrl)(void *ctx, int cmd, long n, void *p);
	void *(*new)(void *ctx);
	void (*free)(void *ssl);
	long (*ctrl)(void *ssl, int cmd, long n, void *p);
	int (*set1_host)(void *ssl, const char *host);
	int (*set_fd)(void *ssl, int fd);
	int (*connect)(void *ssl);
	int (*read)(void *ssl, void *data, int n);
	int (*write)(void *ssl, const void *data, int n);
	int (*shutdown)(void *ssl);
	long (*verify_result)(const void *ssl);
	const char *(*verify_text)(long code);
};

static const struct {
	const char *name;
	size_t offset;
} names[] = {
	{"TLS_client_method", offsetof(struct functions, client_method)},
	{"SSL_CTX_new", offsetof(struct functions, ctx_new)},
	{"SSL_CTX_free", offsetof(struct functions, ctx_free)},
	{"SSL_CTX_set_default_verify_paths", offsetof(struct functions, ctx_default_paths)},
	{"SSL_CTX_set_verify", offsetof(struct functions, ctx_verify)},
	{"SSL_CTX_ctrl", offsetof(struct functions, ctx_ctrl)},
	{"SSL_new", offsetof(struct functions, new)},
	{"SSL_free", offsetof(struct functions, free)},
	{"SSL_ctrl", offsetof(struct functions, ctrl)},
	{"SSL_set1_host", offsetof(struct functions, set1_host)},
	{"SSL_set_fd", offsetof(struct functions, set_fd)},
	{"SSL_connect", offsetof(struct functions, connect)},
	{"SSL_read", offsetof(struct functions, read)},
	{"SSL_write", offsetof(struct functions, write)},
	{"SSL_shutdown", offsetof(struct functions, shutdown)},
	{"SSL_get_verify_result", offsetof(struct functions, verify_result)},
	{"X509_verify_cert_error_string", offsetof(struct functions, verify_text)},
};

struct mz_tls {
	struct functions f;
	void *library, *ctx, *ssl;
};

/* Each of the names must be there: with a part of them, the first call of another would be a jump
 * to 0. */
static int load(struct mz_tls *t, struct mz_error *err)
{
	static const char *const files[] = {"libssl.so.3", "libssl.so.1.1"};

	for (size_t i = 0; i < 2 && !t->library; i++)
		t->library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
	if (!t->library)
		return mz_fail(err, ENOENT,
			       "TLS needs OpenSSL, which is not installed; install libssl3");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		void *at = dlsym(t->library, names[i].name);

		if (!at)
			return mz_fail(err, ENOSYS, "OpenSSL has no %s", names[i].name);
		*(void **)(void *)((char *)&t->f + names[i].offset) = at;
	}
	return 0;
}

/* A server whose name is not that of its certificate may be an impostor. */
static int prepare(struct mz_tls *t, int fd, const char *host)
{
	t->ctx = t->f.ctx_new(t->f.client_method());
	if (!t->ctx || t->f.ctx_default_paths(t->ctx) != 1)
		return -1;
	t->f.ctx_verify(t->ctx, VERIFY_PEER, NULL);
	t->f.ctx_ctrl(t->ctx, CTRL_SET_MIN_PROTO, PROTO_TLS1_2, NULL);
	t->ssl = t->f.new(t->ctx);
	if (!t->ssl || t->f.set1_host(t->ssl, host) != 1)
		return -1;
	/* a server with several names chooses its certificate by this one */
	t->f.ctrl(t->ssl, CTRL_SET_HOSTNAME, NAMETYPE_HOST, (void *)host);
	return t->f.set_fd(t->ssl, fd) == 1 ? 0 : -1;
}

/* Was the call interrupted by a signal, or by the end of a stop (SIGCONT)? It is made again. */
static bool interrupted(int ret)
{
	return ret <= 0 && errno == EINTR;
}

static int connect_tls(struct mz_tls *t)
{
	int ret;

	do {
		errno = 0;
		ret = t->f.connect(t->ssl);
	} while (interrupted(ret));
	return ret;
}

struct mz_tls *mz_tls_open(int fd, const char *host, struct mz_error *err)
{
	struct mz_tls *t = mz_zalloc(sizeof(*t), err);
	long why;

	if (!t)
		return NULL;
	if (!load(t, err)) {
		if (prepare(t, fd, host))
			mz_fail(err, EPROTO, "%s: OpenSSL cannot be set up", host);
		else if (connect_tls(t) == 1)
			return t;
		/* of all reasons for a failure, a refused certificate is the one that the user can
		 * do something about */
		why = t->ssl ? t->f.verify_result(t->ssl) : X509_OK;
		if (why != X509_OK)
			mz_fail(err, EACCES, "%s: its certificate is refused: %s", host,
				t->f.verify_text(why));
		else
			mz_fail(err, EPROTO, "%s: this port does not speak TLS", host);
	}
	mz_tls_close(t);
	return NULL;
}

void mz_tls_close(struct mz_tls *t)
{
	if (!t)
		return;
	if (t->ssl)
		t->f.free(t->ssl);
	if (t->ctx)
		t->f.ctx_free(t->ctx);
	/* the library stays: it has handlers that run at exit */
	free(t);
}

ssize_t mz_tls_read(struct mz_tls *t, void *data, size_t n)
{
	int ret;

	do {
		errno = 0;
		ret = t->f.read(t->ssl, data, n > INT_MAX ? INT_MAX : (int)n);
	} while (interrupted(ret));
	return ret;
}

/* OpenSSL writes with write(): the signal of a closed socket is held back and taken. */
ssize_t mz_tls_write(struct mz_tls *t, const void *data, size_t n)
{
	struct timespec now = {0};
	sigset_t pipe, before;
	int ret;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	do {
		errno = 0;
		ret = t->f.write(t->ssl, data, n > INT_MAX ? INT_MAX : (int)n);
	} while (interrupted(ret));
	if (ret <= 0 && !sigismember(&before, SIGPIPE))
		sigtimedwait(&pipe, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret > 0 ? ret : -1;
}
