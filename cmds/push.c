// SPDX-License-Identifier: BSD-2-Clause
/* Send recordings to profile servers: Pyroscope, Parca, and collectors of OTLP. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/http_client.h"
#include "cmds/loss_report.h"
#include "cmds/recording.h"
#include "export/push.h"
#include "store/store.h"

/* as enum mz_push_server */
static const char *const servers[] = {"pyroscope", "parca", "otlp", NULL};

struct push_opts {
	unsigned to;
	const char *program, *revision, *host, *credentials, *tenant, *symbols;
	struct mz_opt_list labels;
};

static const struct mz_opt opts[] = {
	{.name = "to",
	 .arg = "FORMAT",
	 .help = "what the server takes: pyroscope (default), parca, or otlp (OTLP profiles "
		 "1.11.0)",
	 .type = MZ_OPT_CHOICE,
	 .offset = offsetof(struct push_opts, to),
	 .choices = servers},
	MZ_OPT(0, "program", "NAME", MZ_OPT_STR, struct push_opts, program,
	       "the name of the program there (default: its command, without folders and "
	       "arguments)"),
	MZ_OPT(0, "revision", "REV", MZ_OPT_STR, struct push_opts, revision,
	       "a label: the revision of the program"),
	MZ_OPT(0, "host", "NAME", MZ_OPT_STR, struct push_opts, host, "a label: the machine"),
	MZ_OPT(0, "label", "KEY=VALUE", MZ_OPT_LIST, struct push_opts, labels,
	       "a further label (pyroscope, parca); may be repeated"),
	MZ_OPT(0, "tenant", "NAME", MZ_OPT_STR, struct push_opts, tenant,
	       "the tenant, for servers that have several (X-Scope-OrgID)"),
	MZ_OPT_CREDENTIALS(struct push_opts, credentials, "", ""),
	RECORDING_SYMBOLS(struct push_opts, symbols),
	{0},
};

struct push_job {
	const struct push_opts *o;
	struct mz_http_server server;
	char *prefix; /* of the address */
	struct mz_push_request request;
	char name[256]; /* of the program, if no option says it */
	struct mz_error err;
};

static int start_headers(struct push_job *j)
{
	struct mz_buf *headers = &j->request.headers;
	struct mz_store_credentials c;
	int ret = 0;

	if (j->o->credentials) {
		ret = mz_store_read_credentials(&c, j->o->credentials, &j->err);
		if (!ret)
			mz_http_basic(headers, c.user, c.password);
		explicit_bzero(&c, sizeof(c));
	}
	if (j->o->tenant)
		mz_buf_printf(headers, "X-Scope-OrgID: %s\r\n", j->o->tenant);
	return ret;
}

/* That of the file, or now if it comes through a pipe. */
static uint64_t time_of(const char *path)
{
	bool is_file = strcmp(path, "-");
	struct timespec t;
	struct stat st;

	if (!(is_file ? stat(path, &st) : fstat(STDIN_FILENO, &st)) &&
	    (is_file || S_ISREG(st.st_mode)))
		t = st.st_mtim;
	else
		clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int send_profile(struct push_job *j, const char *path, const struct mz_profile *p)
{
	struct mz_push_request *r = &j->request;
	int ret;

	*r = (struct mz_push_request){
		.to = j->o->to,
		.prefix = j->prefix,
		.how = {.program = j->o->program ? j->o->program
						 : mz_profile_program(p, j->name, sizeof(j->name)),
			.revision = j->o->revision,
			.host = j->o->host,
			.time_ns = time_of(path)},
		.labels = j->o->labels.value,
		.nlabels = j->o->labels.n};
	ret = start_headers(j);
	if (!ret && !mz_push_accepts(r->to, r->how.program))
		ret = mz_fail(&j->err, EINVAL,
			      "%s: Pyroscope does not accept the program name '%s'; choose another "
			      "with --program",
			      path, r->how.program);
	if (!ret)
		ret = mz_push_make(r, p, &j->err);
	if (!ret)
		ret = mz_push_send(r, &j->server, &j->err);
	mz_push_reset(r);
	return ret;
}

static int push_one(struct push_job *j, char *path)
{
	struct mz_recording_options how = {.symbols = j->o->symbols};
	struct progress progress;
	const struct mz_profile *p = NULL;
	struct mz_recording r;
	char lost[64];
	int ret = recording_open(&r, &path, 1, &how, &progress, &j->err);

	if (!ret && !(p = mz_recording_profile(&r, &j->err)))
		ret = -EIO;
	progress_end(&progress);
	if (!ret)
		ret = send_profile(j, path, p);
	if (!ret && p->lost)
		console_note("%s: %s during recording; its figures are too small", path,
			     console_lost(lost, p->lost));
	if (!ret) {
		sampled_note(path, p->lost_by);
		recording_note_end(&r);
		printf("sent %s to %s:%s\n", path, j->server.host, j->server.port);
	}
	mz_recording_close(&r);
	return ret;
}

/* http[s]://HOST[:PORT][/PREFIX] */
static int parse_address(struct push_job *j, const char *text)
{
	static const char *const ports[] = {"4040", "7070", "4318"};
	bool tls = !strncmp(text, "https://", 8);
	const char *host = text + (tls ? 8 : 7);
	size_t n;

	if (!tls && strncmp(text, "http://", 7))
		return console_usage("'%s' is not http://HOST:PORT or https://HOST:PORT", text);
	n = strcspn(host, "/");
	j->server.tls = tls;
	if (mz_http_server_parse(&j->server, host, n, ports[j->o->to], &j->err))
		return console_error(&j->err);
	j->prefix = strdup(host + n);
	if (!j->prefix)
		return console_fail("out of memory");
	for (n = strlen(j->prefix); n && j->prefix[n - 1] == '/';)
		j->prefix[--n] = '\0';
	return 0;
}

/* As in the store; Pyroscope has them in a text of its own. */
static int check_label(const struct push_opts *o, const char *label)
{
	if (!mz_store_is_label(label))
		return console_usage("--label: '%s' is not KEY=VALUE", label);
	if (!mz_push_accepts(o->to, label))
		return console_usage("--label: '%s': Pyroscope accepts no label with { } or ,",
				     label);
	return 0;
}

static int check_options(const struct push_opts *o)
{
	const char *const texts[] = {o->program, o->revision, o->host};

	for (unsigned i = 0; i < o->labels.n; i++)
		if (check_label(o, o->labels.value[i]))
			return MZ_EXIT_USAGE;
	for (size_t i = 0; i < 3; i++)
		if (texts[i] && !mz_push_accepts(o->to, texts[i]))
			return console_usage("'%s': Pyroscope accepts no name with { } or ,",
					     texts[i]);
	if (o->tenant && strpbrk(o->tenant, "\r\n"))
		return console_usage("--tenant takes a name without newlines");
	return 0;
}

static int run(void *options, int argc, char **argv)
{
	struct push_job j = {.o = options};
	int ret;

	if (argc < 2)
		return console_usage("name the server (http://HOST:PORT) and the recordings");
	ret = recording_one_stdin(argc - 1, argv + 1);
	if (!ret)
		ret = check_options(j.o);
	if (!ret)
		ret = parse_address(&j, argv[0]);
	for (int i = 1; i < argc && !ret; i++)
		if (push_one(&j, argv[i]) < 0)
			ret = console_error(&j.err);
	free(j.prefix);
	return ret;
}

MZ_CMD(push, "push", struct push_opts, "http://HOST:PORT RECORDING...",
       "send recordings to a profile server", .reads = true);
