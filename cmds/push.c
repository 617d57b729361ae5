// SPDX-License-Identifier: BSD-2-Clause
/* Send recordings to profile servers: Pyroscope, Parca, and collectors of OTLP. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/error.h"
#include "base/http_client.h"
#include "base/json.h"
#include "cmds/loss_report.h"
#include "cmds/recording.h"
#include "export/export.h"
#include "store/store.h"

#define BOUNDARY "memorizer-3f1c9a"

static const char *const servers[] = {"pyroscope", "parca", "otlp", NULL};
enum { PYROSCOPE, PARCA, OTLP };

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
	struct mz_export_options how;
	const char *program;
	char name[256]; /* of the program, if no option says it */
	struct mz_buf path, headers, body, pprof;
	struct mz_error err;
};

/* ---- what each server wants ------------------------------------------------------- */

/* Labels of all three kinds, in order: visit(name, value). */
static void each_label(struct push_job *j, void (*visit)(struct push_job *j, const char *name,
							 size_t n, const char *value, bool first))
{
	const struct push_opts *o = j->o;
	bool first = true;

	if (o->revision)
		visit(j, "revision", 8, o->revision, first), first = false;
	if (o->host)
		visit(j, "host", 4, o->host, first), first = false;
	for (unsigned i = 0; i < o->labels.n; i++) {
		const char *equal = strchr(o->labels.value[i], '=');

		visit(j, o->labels.value[i], (size_t)(equal - o->labels.value[i]), equal + 1,
		      first);
		first = false;
	}
}

static void name_label(struct push_job *j, const char *name, size_t n, const char *value,
		       bool first)
{
	mz_buf_str(&j->body, first ? "" : ",");
	mz_buf_add(&j->body, name, n);
	mz_buf_printf(&j->body, "=%s", value);
}

static void put_part(struct push_job *j, const char *name, const char *type,
		     const struct mz_buf *data)
{
	mz_buf_printf(&j->body,
		      "--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"%s\"; "
		      "filename=\"%s\"\r\nContent-Type: %s\r\n\r\n",
		      name, name, type);
	mz_buf_add(&j->body, data->data, data->len);
	mz_buf_str(&j->body, "\r\n");
}

/* How our sample types add up: the server knows only its own. */
static void put_types(struct mz_buf *b)
{
	static const char *const types[][2] = {
		{"alloc_objects", "count"},	{"alloc_space", "bytes"},
		{"inuse_objects", "count"},	{"inuse_space", "bytes"},
		{"peak_objects", "count"},	{"peak_space", "bytes"},
		{"temporary_objects", "count"}, {"waste_space", "bytes"},
	};
	struct mz_json w = {.out = b, .flat = true};

	mz_json_object(&w, NULL);
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		mz_json_object(&w, types[i][0]);
		mz_json_str(&w, "units", !strcmp(types[i][1], "count") ? "objects" : "bytes");
		mz_json_str(&w, "aggregation",
			    strncmp(types[i][0], "alloc", 5) ? "average" : "sum");
		mz_json_str(&w, "display-name", types[i][0]);
		mz_json_bool(&w, "sampled", false);
		mz_json_end_object(&w);
	}
	mz_json_end_object(&w);
}

/* /ingest?name=app{k=v}&from=&until=&format=pprof, in parts. */
static void make_pyroscope(struct push_job *j, const struct mz_profile *p)
{
	uint64_t end = j->how.time_ns / 1000000000;
	uint64_t took = p->clock == MZ_CLOCK_NS ? (p->last - p->first) / 1000000000 : 0;
	struct mz_buf types = {0};

	mz_buf_str(&j->body, j->program);
	mz_buf_str(&j->body, "{");
	each_label(j, name_label);
	mz_buf_str(&j->body, "}");
	mz_buf_printf(&j->path, "%s/ingest?name=", j->prefix);
	mz_http_escape(&j->path, j->body.data, j->body.len);
	mz_buf_printf(&j->path, "&from=%llu&until=%llu&format=pprof&spyName=memorizer",
		      (unsigned long long)(end - (took ? took : 1)), (unsigned long long)end);
	j->body.len = 0;
	put_types(&types);
	put_part(j, "profile", "application/octet-stream", &j->pprof);
	put_part(j, "sample_type_config", "application/json", &types);
	mz_buf_str(&j->body, "--" BOUNDARY "--\r\n");
	mz_buf_str(&j->headers, "Content-Type: multipart/form-data; boundary=" BOUNDARY "\r\n");
	j->body.failed |= types.failed;
	mz_buf_free(&types);
}

static void parca_label(struct push_job *j, const char *name, size_t n, const char *value,
			bool first)
{
	struct mz_json w = {.out = &j->body, .flat = true};

	(void)first;
	mz_buf_str(&j->body, ",");
	mz_json_object(&w, NULL);
	mz_json_strn(&w, "name", name, n);
	mz_json_str(&w, "value", value);
	mz_json_end_object(&w);
	while (j->body.len && j->body.data[j->body.len - 1] == '\n')
		j->body.len--;
}

/* WriteRawRequest as JSON, by the gateway beside gRPC. */
static void make_parca(struct push_job *j, const struct mz_profile *p)
{
	(void)p;
	mz_buf_printf(&j->path, "%s/api/profiles/writeraw", j->prefix);
	mz_buf_str(&j->body, "{\"normalized\":true,\"series\":[{\"labels\":{\"labels\":["
			     "{\"name\":\"__name__\",\"value\":\"memory\"}");
	parca_label(j, "job", 3, j->program, false);
	each_label(j, parca_label);
	mz_buf_str(&j->body, "]},\"samples\":[{\"rawProfile\":\"");
	mz_http_base64(&j->body, (const unsigned char *)j->pprof.data, j->pprof.len);
	mz_buf_str(&j->body, "\"}]}]}");
	mz_buf_str(&j->headers, "Content-Type: application/json\r\n");
}

static int make_request(struct push_job *j, const struct mz_profile *p)
{
	int ret;

	if (j->o->to == OTLP) {
		mz_buf_printf(&j->path, "%s/v1development/profiles", j->prefix);
		mz_buf_str(&j->headers, "Content-Type: application/x-protobuf\r\n");
		return mz_export_to_buf(mz_export_otlp, p, &j->how, &j->body, &j->err);
	}
	ret = mz_export_to_buf(mz_export_pprof, p, &j->how, &j->pprof, &j->err);
	if (ret)
		return ret;
	if (j->o->to == PYROSCOPE)
		make_pyroscope(j, p);
	else
		make_parca(j, p);
	return 0;
}

/* Pyroscope's name{key=value,...} has no quoting. */
static bool breaks_name(const char *text)
{
	for (; *text; text++)
		if (strchr("{},", *text) || (unsigned char)*text < ' ')
			return true;
	return false;
}

/* ---- sending -------------------------------------------------------------------------- */

static int send_request(struct push_job *j)
{
	struct mz_http_call call = {.method = "POST"};
	struct mz_buf answer = {0};
	char shown[200];
	int status;

	mz_buf_add(&j->path, "", 1);
	mz_buf_add(&j->headers, "", 1);
	if (j->path.failed || j->headers.failed || j->body.failed)
		return mz_fail_memory(&j->err);
	call.path = j->path.data;
	call.headers = j->headers.data;
	call.body = j->body.data;
	call.size = j->body.len;
	status = mz_http_call(&j->server, &call, &answer, &j->err);
	if (status >= 300)
		mz_fail(&j->err, EIO, "%s:%s: %d: %s", j->server.host, j->server.port, status,
			mz_printable(shown, sizeof(shown), answer.data,
				     answer.len < 180 ? answer.len : 180));
	mz_buf_free(&answer);
	return status < 0 ? status : status >= 300 ? -EIO : 0;
}

static int start_headers(struct push_job *j)
{
	struct mz_store_credentials c;
	int ret = 0;

	if (j->o->credentials) {
		ret = mz_store_read_credentials(&c, j->o->credentials, &j->err);
		if (!ret)
			mz_http_basic(&j->headers, c.user, c.password);
		explicit_bzero(&c, sizeof(c));
	}
	if (j->o->tenant)
		mz_buf_printf(&j->headers, "X-Scope-OrgID: %s\r\n", j->o->tenant);
	return ret;
}

static int push_one(struct push_job *j, char *path)
{
	struct mz_recording_options how = {.symbols = j->o->symbols};
	struct progress progress;
	const struct mz_profile *p = NULL;
	struct mz_recording r;
	struct stat st = {0};
	char lost[64];
	int ret = recording_open(&r, &path, 1, &how, &progress, &j->err);

	if (!ret && !(p = mz_recording_profile(&r, &j->err)))
		ret = -EIO;
	progress_end(&progress);
	if (!ret) {
		stat(path, &st);
		j->program = j->o->program ? j->o->program
					   : mz_profile_program(p, j->name, sizeof(j->name));
		j->how = (struct mz_export_options){.program = j->program,
						    .revision = j->o->revision,
						    .host = j->o->host,
						    .time_ns = (uint64_t)st.st_mtim.tv_sec *
								       1000000000 +
							       (uint64_t)st.st_mtim.tv_nsec};
		j->path.len = j->headers.len = j->body.len = j->pprof.len = 0;
		ret = start_headers(j);
	}
	if (!ret && j->o->to == PYROSCOPE && breaks_name(j->program))
		ret = mz_fail(&j->err, EINVAL,
			      "%s: Pyroscope does not accept the program name '%s'; choose another "
			      "with --program",
			      path, j->program);
	if (!ret)
		ret = make_request(j, p);
	if (!ret)
		ret = send_request(j);
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
	if (o->to == PYROSCOPE && breaks_name(label))
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
	for (size_t i = 0; i < 3 && o->to == PYROSCOPE; i++)
		if (texts[i] && breaks_name(texts[i]))
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
	ret = check_options(j.o);
	if (!ret)
		ret = parse_address(&j, argv[0]);
	for (int i = 1; i < argc && !ret; i++)
		if (push_one(&j, argv[i]) < 0)
			ret = console_error(&j.err);
	free(j.prefix);
	mz_buf_free(&j.path);
	mz_buf_free(&j.headers);
	mz_buf_free(&j.body);
	mz_buf_free(&j.pprof);
	return ret;
}

MZ_CMD(push, "push", struct push_opts, "http://HOST:PORT RECORDING...",
       "send recordings to a profile server", .reads = true);
