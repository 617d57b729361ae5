// SPDX-License-Identifier: BSD-2-Clause
/* Show the recordings of a folder in the browser, on this machine only. Each request is answered
 * by a process of its own: a bad recording cannot end the server. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "cmds/html/html.h"
#include "cmds/html/serve_about.h"
#include "cmds/html/serve_http.h"
#include "cmds/html/serve_store.h"
#include "cmds/loss_report.h"

#define CHILDREN 32
#define PATIENCE 30 /* seconds for a client to send its request */
#define TAKING	 10 /* a client may take this many times as long to receive its answer */

/* Limits of a process that answers a request. */
#define ANSWER_BYTES   (4ull << 30)
#define ANSWER_SECONDS 300

struct serve_opts {
	const char *credentials;
	uint64_t port;
	uint64_t timeout;
};

static const struct mz_opt opts[] = {
	/* -p is a process in the other verbs */
	{.name = "port",
	 .old_letter = 'p',
	 .arg = "N",
	 .help = "listen on this port (default: a free one)",
	 .type = MZ_OPT_U64,
	 .offset = offsetof(struct serve_opts, port)},
	MZ_OPT(0, "timeout", "SECONDS", MZ_OPT_U64, struct serve_opts, timeout,
	       "close a connection whose request takes longer (default 30), or whose answer "
	       "takes ten times as long"),
	MZ_OPT_CREDENTIALS(struct serve_opts, credentials, "a store on servers: ", ""),
	{0},
};

/* The phase of a child: one that waits for its browser can be ended in favour of another. */
enum phase { ASKING, WORKING, TAKEN };

struct server {
	const char *dir;
	bool store; /* dir is a store of recordings */
	const char *credentials;
	int fd;
	unsigned port;
	unsigned patience;
	char token[MZ_HTTP_TOKEN + 1]; /* that a request must show */
	pid_t children[CHILDREN];
	uint64_t started[CHILDREN]; /* in which order */
	uint64_t starts;
	volatile unsigned char *phases; /* enum phase of each, shared with them */
};

static volatile sig_atomic_t stopped;

static void on_stop(int sig)
{
	(void)sig;
	stopped = 1;
}

/* ---- the folder ------------------------------------------------------------------- */

struct folder_entry {
	char name[256];
	char path[4096];
	struct stat st;
};

/* An entry that may be a recording: a file or a folder, but no link to elsewhere. */
static bool look(const struct server *s, const char *name, struct folder_entry *e)
{
	if (name[0] == '.' || strlen(name) >= sizeof(e->name))
		return false;
	strcpy(e->name, name);
	if ((size_t)snprintf(e->path, sizeof(e->path), "%s/%s", s->dir, name) >= sizeof(e->path))
		return false;
	return !lstat(e->path, &e->st) && (S_ISREG(e->st.st_mode) || S_ISDIR(e->st.st_mode));
}

/* Any name, escaped as a part of an address. */
static void href_json(struct mz_json *w, const char *name)
{
	char text[16 + 3 * sizeof(((struct folder_entry *)0)->name)];
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

static void entry_json(struct mz_json *w, const struct folder_entry *e, const struct serve_about *a)
{
	mz_json_object(w, NULL);
	mz_json_str(w, "name", e->name);
	href_json(w, e->name);
	mz_json_str(w, "kind", a->kind);
	if (*a->command)
		mz_json_str(w, "command", a->command);
	if (a->has_pid)
		mz_json_u64(w, "pid", a->pid);
	if (a->has_events)
		mz_json_u64(w, "events", a->events);
	if (a->has_peak)
		mz_json_u64(w, "peak", a->peak);
	early_end_json(w, a->files_cut);
	if (S_ISREG(e->st.st_mode))
		mz_json_u64(w, "bytes", (uint64_t)e->st.st_size);
	mz_json_u64(w, "modified", (uint64_t)e->st.st_mtime);
	mz_json_end_object(w);
}

/* trace.cmt, trace.2.cmt, trace.10.cmt: in the order in which they were made. */
static int by_number(const struct dirent **a, const struct dirent **b)
{
	const char *names[2] = {(*a)->d_name, (*b)->d_name};
	char stems[2][256];

	for (unsigned i = 0; i < 2; i++) {
		const char *dot = strrchr(names[i], '.');

		snprintf(stems[i], sizeof(stems[i]), "%.*s",
			 (int)(dot && dot > names[i] ? (size_t)(dot - names[i]) : strlen(names[i])),
			 names[i]);
	}
	return strverscmp(stems[0], stems[1]) ? strverscmp(stems[0], stems[1])
					      : strcmp(names[0], names[1]);
}

static int list(const struct server *s, struct mz_buf *page, struct mz_error *err)
{
	struct mz_buf json = {0};
	struct mz_json w = {.out = &json, .flat = true, .tight = true, .html = true};
	struct dirent **found;
	int n = scandir(s->dir, &found, NULL, by_number), ret;

	if (n < 0)
		return mz_fail(err, errno, "%s: %s", s->dir, strerror(errno));
	mz_json_object(&w, NULL);
	mz_json_str(&w, "version", MZ_VERSION);
	mz_json_str(&w, "folder", s->dir);
	mz_json_array(&w, "index");
	for (int i = 0; i < n; i++) {
		struct serve_about a = {0};
		struct folder_entry e;

		if (look(s, found[i]->d_name, &e))
			serve_look(e.path, &a);
		if (a.kind && json.len < HTML_BYTES / 2)
			entry_json(&w, &e, &a);
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
	struct folder_entry e;
	int ret;

	/* a name with a / would be another folder's: there is none */
	if (!*name || strchr(name, '/') || !look(s, name, &e))
		return mz_fail(err, ENOENT, "there is no such recording here");
	ret = html_model_open(&m, e.path, NULL, NULL, err);
	if (ret < 0)
		return ret;
	ret = html_page(page, &m, 1, err);
	html_model_close(&m);
	return ret;
}

/* A page of the store, or of the original file of one of its recordings. */
static int store_page(const struct server *s, const char *path, struct mz_buf *page,
		      struct mz_error *err)
{
	char *original = NULL;
	struct html_model m;
	int ret = serve_store_page(s->dir, s->credentials, path, page, &original, err);

	if (!ret && original) {
		page->len = 0;
		ret = html_model_open(&m, original, NULL, NULL, err);
		if (!ret) {
			ret = html_page(page, &m, 1, err);
			html_model_close(&m);
		}
	}
	free(original);
	return ret;
}

static int make_page(const struct server *s, const char *path, struct mz_buf *page,
		     struct mz_error *err)
{
	if (s->store)
		return store_page(s, path, page, err);
	if (!strcmp(path, "/"))
		return list(s, page, err);
	if (!strncmp(path, "/view/", 6))
		return view(s, path + 6, page, err);
	return mz_fail(err, ENOENT, "there is no page at this address");
}

/* 0: the request may be answered. */
static int read_request(const struct server *s, int fd, struct mz_http_request *r)
{
	int status;

	/* a client that sends a byte from time to time must not hold its place for ever: SIGALRM
	 * ends us */
	alarm(s->patience);
	status = http_read(fd, s->port, r);
	alarm(0);
	if (status > 0)
		http_refuse(fd, status, "This server answers GET and HEAD, to this machine only.\n",
			    r->head);
	if (!status && !mz_http_has_token(r, s->token)) {
		http_refuse(fd, 403,
			    "Open the address that 'memorizer serve' has printed, with its token: "
			    "other users of this machine must not read your recordings.\n",
			    r->head);
		return 403;
	}
	return status;
}

static void answer(const struct server *s, int fd, int place)
{
	struct mz_http_request r;
	struct mz_error err = {0};
	struct mz_buf page = {0};
	char cookie[64];
	int ret;

	if (read_request(s, fd, &r))
		return;
	s->phases[place] = WORKING;
	ret = make_page(s, r.path, &page, &err);
	s->phases[place] = TAKEN;
	alarm(TAKING * s->patience);
	snprintf(cookie, sizeof(cookie), "memorizer-%u=%s", s->port, s->token);
	if (ret < 0)
		http_refuse(fd, ret == -ENOENT ? 404 : 500, err.text, r.head);
	else
		http_answer(fd, &(struct http_page){page.data, page.len, cookie}, r.head);
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

	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return console_fail("cannot create a socket: %s", strerror(errno));
	setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(s->fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(s->fd, 64) < 0)
		return console_fail("127.0.0.1:%u: %s; choose another port with --port",
				    (unsigned)port, strerror(errno));
	if (getsockname(s->fd, (struct sockaddr *)&a, &len) < 0)
		return console_fail("getsockname: %s", strerror(errno));
	s->port = ntohs(a.sin_port);
	return 0;
}

/* The child that has been in a phase for the longest time; -1: none is. */
static int oldest_in(const struct server *s, enum phase phase)
{
	int oldest = -1;

	for (int i = 0; i < CHILDREN; i++)
		if (s->children[i] && s->phases[i] == phase &&
		    (oldest < 0 || s->started[i] < s->started[oldest]))
			oldest = i;
	return oldest;
}

/* A slot for one more child, or -1; those that ended leave theirs. */
static int free_place(struct server *s)
{
	pid_t gone;

	while ((gone = waitpid(-1, NULL, WNOHANG)) > 0)
		for (int i = 0; i < CHILDREN; i++)
			if (s->children[i] == gone)
				s->children[i] = 0;
	for (int i = 0; i < CHILDREN; i++)
		if (!s->children[i])
			return i;
	return -1;
}

/* A client has connected, and there is no slot. The client that is slowest to send its request
 * is dropped first, then the one that is slowest to take its answer. -1: all requests are being
 * processed. */
static int make_place(struct server *s)
{
	int place = oldest_in(s, ASKING);

	if (place < 0)
		place = oldest_in(s, TAKEN);
	if (place < 0)
		return -1;
	kill(s->children[place], SIGKILL);
	while (waitpid(s->children[place], NULL, 0) < 0 && errno == EINTR)
		;
	s->children[place] = 0;
	return place;
}

static void set_patience(int fd, unsigned seconds)
{
	struct timeval t = {.tv_sec = seconds};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
}

static void start_child(struct server *s, int place, int fd, const sigset_t *usual)
{
	pid_t pid;

	s->phases[place] = ASKING;
	s->started[place] = s->starts++;
	pid = fork();
	if (!pid) {
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		sigprocmask(SIG_SETMASK, usual, NULL);
		close(s->fd);
		set_patience(fd, s->patience);
		serve_limit(ANSWER_BYTES, ANSWER_SECONDS);
		answer(s, fd, place);
		http_close(fd);
		_exit(0);
	}
	s->children[place] = pid > 0 ? pid : 0;
	if (pid < 0)
		http_refuse(fd, 500, "The server cannot start another process.\n", false);
}

/* Signals are delivered only while we wait, so that none is missed. */
static void serve(struct server *s, const sigset_t *usual)
{
	bool full = false;

	while (!stopped) {
		struct pollfd p = {.fd = s->fd, .events = POLLIN};
		struct timespec wait = {.tv_sec = full ? 0 : 5, .tv_nsec = full ? 10000000 : 0};
		int place, fd;

		ppoll(&p, !full, &wait, usual);
		place = free_place(s);
		/* no client is dropped before another one waits */
		if (poll(&p, 1, 0) <= 0) {
			full = false;
			continue;
		}
		if (place < 0)
			place = make_place(s);
		full = place < 0;
		fd = full ? -1 : accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
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

/* Every local user can reach the port; only our user has the token. */
static int make_token(char *token)
{
	unsigned char bytes[MZ_HTTP_TOKEN / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -1;
	for (size_t i = 0; i < sizeof(bytes); i++)
		sprintf(token + 2 * i, "%02x", bytes[i]);
	return 0;
}

static int make_phases(struct server *s)
{
	void *p = mmap(NULL, CHILDREN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	s->phases = p;
	return p == MAP_FAILED ? -1 : 0;
}

static int run(void *options, int argc, char **argv)
{
	const struct serve_opts *o = options;
	struct sigaction sa = {.sa_handler = on_stop};
	struct server s = {.fd = -1};
	sigset_t ours, usual;
	struct stat st;

	if (argc > 1)
		return console_usage("serve takes one folder; '%s' is one too many", argv[1]);
	if (o->port > 65535)
		return console_usage("--port: %llu is over 65535", (unsigned long long)o->port);
	if (o->timeout > 3600)
		return console_usage("--timeout takes 1 to 3600 seconds");
	s.patience = o->timeout ? (unsigned)o->timeout : PATIENCE;
	s.dir = argc ? argv[0] : ".";
	s.store = serve_is_store(s.dir);
	s.credentials = o->credentials;
	if (!s.store && stat(s.dir, &st))
		return console_fail("%s: %s", s.dir, strerror(errno));
	if (!s.store && !S_ISDIR(st.st_mode))
		return console_fail("%s: not a folder; 'memorizer html' shows one recording",
				    s.dir);
	if (make_token(s.token) || make_phases(&s))
		return console_fail("cannot make a token: %s", strerror(errno));
	if (listen_at(&s, o->port))
		return MZ_EXIT_FAILED;
	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigprocmask(SIG_BLOCK, &ours, &usual);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	printf("http://127.0.0.1:%u/?token=%s\n", s.port, s.token);
	fflush(stdout);
	console_note("recordings in %s, for this machine only; Ctrl-C ends it", s.dir);
	serve(&s, &usual);
	stop(&s);
	return MZ_EXIT_OK;
}

MZ_CMD(serve, "serve", struct serve_opts, "[DIR|STORE]",
       "show the recordings of a folder in a browser", .reads = true);
