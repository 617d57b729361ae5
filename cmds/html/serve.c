// SPDX-License-Identifier: BSD-2-Clause
/* Recordings of a folder in the browser, for this machine alone. Each request is
 * answered by a process of its own: a bad recording cannot end the server. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "cmds/html/html.h"
#include "cmds/html/serve_http.h"

#define CHILDREN 8
#define PATIENCE 30 /* seconds for the other side to ask */
#define TAKING	 10 /* times that to take the answer */

struct opts {
	uint64_t port;
	uint64_t timeout;
};

static const struct mz_opt opts[] = {
	MZ_OPT('p', "port", "N", MZ_OPT_U64, struct opts, port,
	       "listen at this port; default a free one"),
	MZ_OPT(0, "timeout", "S", MZ_OPT_U64, struct opts, timeout,
	       "hang up on a browser that takes longer to ask (30), or ten times that to take the "
	       "answer"),
	{0},
};

struct server {
	const char *dir;
	int fd;
	unsigned port;
	unsigned patience;
	pid_t children[CHILDREN];
};

static volatile sig_atomic_t stopped;

static void on_stop(int sig)
{
	(void)sig;
	stopped = 1;
}

/* ---- the folder ------------------------------------------------------------------- */

struct entry {
	char name[256];
	char path[4096];
	struct stat st;
};

/* An entry that may be a recording: a file or a folder, no link to elsewhere. */
static bool look(const struct server *s, const char *name, struct entry *e)
{
	if (name[0] == '.' || strlen(name) >= sizeof(e->name))
		return false;
	strcpy(e->name, name);
	if ((size_t)snprintf(e->path, sizeof(e->path), "%s/%s", s->dir, name) >= sizeof(e->path))
		return false;
	return !lstat(e->path, &e->st) && (S_ISREG(e->st.st_mode) || S_ISDIR(e->st.st_mode));
}

/* Any text may look like a trace at first; a container is one, if empty too. */
static bool has_event(struct mz_recording *r)
{
	struct mz_reader *in = mz_recording_reader(r, NULL);
	struct mz_event ev;

	return in && (r->format == MZ_FORMAT_CONTAINER || mz_reader_read(in, &ev, 1) > 0);
}

/* As in struct html_model; NULL: no recording, or none that a page shows. */
static const char *kind_of(const struct entry *e)
{
	char *paths[] = {(char *)e->path};
	const char *kind = NULL;
	struct mz_recording r;
	struct mz_error err = {0};

	if (S_ISREG(e->st.st_mode) && !e->st.st_size)
		return NULL;
	if (!mz_recording_open(&r, paths, 1, NULL, &err) && r.kind != MZ_RECORDING_SUMS &&
	    (r.kind != MZ_RECORDING_USER || has_event(&r)))
		kind = mz_recording_kind_name(r.kind);
	mz_recording_close(&r);
	return kind;
}

/* Any name as a part of an address. */
static void href_json(struct mz_json *w, const char *name)
{
	char text[16 + 3 * sizeof(((struct entry *)0)->name)];
	size_t n = (size_t)sprintf(text, "/view/");

	for (; *name; name++) {
		unsigned char c = (unsigned char)*name;

		if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		    strchr("-._~", c))
			text[n++] = (char)c;
		else
			n += (size_t)sprintf(text + n, "%%%02X", c);
	}
	mz_json_strn(w, "href", text, n);
}

static void entry_json(struct mz_json *w, const struct entry *e, const char *kind)
{
	mz_json_object(w, NULL);
	mz_json_str(w, "name", e->name);
	href_json(w, e->name);
	mz_json_str(w, "kind", kind);
	if (S_ISREG(e->st.st_mode))
		mz_json_u64(w, "bytes", (uint64_t)e->st.st_size);
	mz_json_u64(w, "modified", (uint64_t)e->st.st_mtime);
	mz_json_end_object(w);
}

static int list(const struct server *s, struct mz_buf *page, struct mz_error *err)
{
	struct mz_buf json = {0};
	struct mz_json w = {.out = &json, .flat = true, .tight = true, .html = true};
	struct dirent **found;
	int n = scandir(s->dir, &found, NULL, alphasort), ret;

	if (n < 0)
		return mz_fail(err, errno, "%s: %s", s->dir, strerror(errno));
	mz_json_object(&w, NULL);
	mz_json_str(&w, "version", MZ_VERSION);
	mz_json_str(&w, "folder", s->dir);
	mz_json_array(&w, "index");
	for (int i = 0; i < n; i++) {
		struct entry e;
		const char *kind = look(s, found[i]->d_name, &e) ? kind_of(&e) : NULL;

		if (kind && json.len < HTML_BYTES / 2)
			entry_json(&w, &e, kind);
		free(found[i]);
	}
	free(found);
	mz_json_end_array(&w);
	mz_json_end_object(&w);
	ret = html_page_of(page, &json, err);
	mz_buf_free(&json);
	return ret;
}

/* ---- one request -------------------------------------------------------------------- */

static int view(const struct server *s, const char *name, struct mz_buf *page, struct mz_error *err)
{
	struct html_model m;
	struct entry e;
	int ret;

	/* a name with a / would be another folder's: there is none */
	if (!*name || strchr(name, '/') || !look(s, name, &e))
		return mz_fail(err, ENOENT, "there is no such recording here");
	ret = html_model_open(&m, e.path, NULL, err);
	if (ret < 0)
		return ret;
	ret = html_page(page, &m, 1, err);
	html_model_close(&m);
	return ret;
}

static void answer(const struct server *s, int fd)
{
	struct mz_http_request r;
	struct mz_error err = {0};
	struct mz_buf page = {0};
	int status, ret;

	/* who sends a byte now and then must not keep a place for ever: SIGALRM ends us */
	alarm(s->patience);
	status = http_read(fd, s->port, &r);
	alarm(0);
	if (status < 0)
		return;
	if (status) {
		http_refuse(fd, status, "This server answers GET and HEAD, to this machine only.\n",
			    r.head);
		return;
	}
	if (!strcmp(r.path, "/"))
		ret = list(s, &page, &err);
	else if (!strncmp(r.path, "/view/", 6))
		ret = view(s, r.path + 6, &page, &err);
	else
		ret = mz_fail(&err, ENOENT, "there is nothing at this address");
	alarm(TAKING * s->patience);
	if (ret < 0)
		http_refuse(fd, ret == -ENOENT ? 404 : 500, err.text, r.head);
	else
		http_answer(fd, 200, "text/html; charset=utf-8", page.data, page.len, r.head);
	mz_buf_free(&page);
}

/* ---- the server ---------------------------------------------------------------------- */

static int listen_at(struct server *s, uint64_t port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)port),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int on = 1;

	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->fd < 0)
		return console_fail("no socket: %s", strerror(errno));
	setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(s->fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(s->fd, 64) < 0)
		return console_fail("127.0.0.1:%u: %s; choose another one with --port",
				    (unsigned)port, strerror(errno));
	if (getsockname(s->fd, (struct sockaddr *)&a, &len) < 0)
		return console_fail("getsockname: %s", strerror(errno));
	s->port = ntohs(a.sin_port);
	return 0;
}

/* A place for one more, or NULL; those that ended leave theirs. */
static pid_t *free_place(struct server *s)
{
	pid_t gone;

	while ((gone = waitpid(-1, NULL, WNOHANG)) > 0)
		for (int i = 0; i < CHILDREN; i++)
			if (s->children[i] == gone)
				s->children[i] = 0;
	for (int i = 0; i < CHILDREN; i++)
		if (!s->children[i])
			return &s->children[i];
	return NULL;
}

static void set_patience(int fd, unsigned seconds)
{
	struct timeval t = {.tv_sec = seconds};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
}

static void start_child(struct server *s, pid_t *place, int fd, const sigset_t *usual)
{
	*place = fork();
	if (!*place) {
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		sigprocmask(SIG_SETMASK, usual, NULL);
		close(s->fd);
		set_patience(fd, s->patience);
		answer(s, fd);
		http_close(fd);
		_exit(0);
	}
	if (*place < 0) {
		*place = 0;
		http_refuse(fd, 500, "no more processes\n", false);
	}
}

/* Signals come in only while we wait, so that none is overlooked. */
static void serve(struct server *s, const sigset_t *usual)
{
	while (!stopped) {
		pid_t *place = free_place(s);
		struct pollfd p = {.fd = s->fd, .events = POLLIN};
		struct timespec wait = {.tv_sec = place ? 5 : 0, .tv_nsec = place ? 0 : 10000000};
		int fd;

		if (ppoll(&p, place != NULL, &wait, usual) <= 0 || !place)
			continue;
		fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		start_child(s, place, fd, usual);
		close(fd);
	}
}

static void stop(struct server *s)
{
	for (int i = 0; i < CHILDREN; i++)
		if (s->children[i])
			kill(s->children[i], SIGTERM);
	while (wait(NULL) > 0)
		;
	close(s->fd);
}

static int run(void *options, int argc, char **argv)
{
	const struct opts *o = options;
	struct sigaction sa = {.sa_handler = on_stop};
	struct server s = {.fd = -1};
	sigset_t ours, usual;
	struct stat st;

	if (argc > 1)
		return console_usage("one folder, please; not '%s' too", argv[1]);
	if (o->port > 65535)
		return console_usage("--port: %llu is over 65535", (unsigned long long)o->port);
	if (o->timeout > 3600)
		return console_usage("--timeout takes 1 to 3600 seconds");
	s.patience = o->timeout ? (unsigned)o->timeout : PATIENCE;
	s.dir = argc ? argv[0] : ".";
	if (stat(s.dir, &st))
		return console_fail("%s: %s", s.dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return console_fail("%s: not a folder; 'memorizer html' shows one recording",
				    s.dir);
	if (listen_at(&s, o->port))
		return MZ_EXIT_FAILED;
	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigprocmask(SIG_BLOCK, &ours, &usual);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	printf("http://127.0.0.1:%u/\n", s.port);
	fflush(stdout);
	console_note("recordings in %s, for this machine only; Ctrl-C ends it", s.dir);
	serve(&s, &usual);
	stop(&s);
	return MZ_EXIT_OK;
}

const struct mz_cmd cmd_serve = {
	.name = "serve",
	.args = "[DIR]",
	.summary = "show the recordings of a folder in a browser",
	.opts = opts,
	.opts_size = sizeof(struct opts),
	.run = run,
};
