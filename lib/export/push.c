// SPDX-License-Identifier: BSD-2-Clause
/* Requests that bring a profile to a server: Pyroscope, Parca, or a collector of OTLP. */
#include "export/push.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"

#define BOUNDARY "memorizer-3f1c9a"

/* Pyroscope's name{key=value,...} has no quoting. */
bool mz_push_accepts(enum mz_push_server to, const char *text)
{
	for (; to == MZ_PUSH_PYROSCOPE && *text; text++)
		if (strchr("{},", *text) || (unsigned char)*text < ' ')
			return false;
	return true;
}

/* Labels of all three kinds, in order: visit(name, value). */
static void each_label(struct mz_push_request *r,
		       void (*visit)(struct mz_push_request *r, const char *name, size_t n,
				     const char *value, bool first))
{
	bool first = true;

	if (r->how.revision)
		visit(r, "revision", 8, r->how.revision, first), first = false;
	if (r->how.host)
		visit(r, "host", 4, r->how.host, first), first = false;
	for (size_t i = 0; i < r->nlabels; i++) {
		const char *equal = strchr(r->labels[i], '=');

		visit(r, r->labels[i], (size_t)(equal - r->labels[i]), equal + 1, first);
		first = false;
	}
}

/* ---- Pyroscope -------------------------------------------------------------------- */

static void name_label(struct mz_push_request *r, const char *name, size_t n, const char *value,
		       bool first)
{
	mz_buf_str(&r->body, first ? "" : ",");
	mz_buf_add(&r->body, name, n);
	mz_buf_printf(&r->body, "=%s", value);
}

static void put_part(struct mz_push_request *r, const char *name, const char *type,
		     const struct mz_buf *data)
{
	mz_buf_printf(&r->body,
		      "--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"%s\"; "
		      "filename=\"%s\"\r\nContent-Type: %s\r\n\r\n",
		      name, name, type);
	mz_buf_add(&r->body, data->data, data->len);
	mz_buf_str(&r->body, "\r\n");
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
static void make_pyroscope(struct mz_push_request *r, const struct mz_profile *p,
			   const struct mz_buf *pprof)
{
	uint64_t end = r->how.time_ns / 1000000000;
	uint64_t took = p->clock == MZ_CLOCK_NS ? (p->last - p->first) / 1000000000 : 0;
	uint64_t from = end > took ? end - (took ? took : 1) : 0;
	struct mz_buf types = {0};

	mz_buf_str(&r->body, r->how.program);
	mz_buf_str(&r->body, "{");
	each_label(r, name_label);
	mz_buf_str(&r->body, "}");
	mz_buf_printf(&r->path, "%s/ingest?name=", r->prefix);
	mz_http_escape(&r->path, r->body.data, r->body.len);
	mz_buf_printf(&r->path, "&from=%llu&until=%llu&format=pprof&spyName=memorizer",
		      (unsigned long long)from, (unsigned long long)end);
	r->body.len = 0;
	put_types(&types);
	put_part(r, "profile", "application/octet-stream", pprof);
	put_part(r, "sample_type_config", "application/json", &types);
	mz_buf_str(&r->body, "--" BOUNDARY "--\r\n");
	mz_buf_str(&r->headers, "Content-Type: multipart/form-data; boundary=" BOUNDARY "\r\n");
	r->body.failed |= types.failed;
	mz_buf_free(&types);
}

/* ---- Parca ------------------------------------------------------------------------ */

static void parca_label(struct mz_push_request *r, const char *name, size_t n, const char *value,
			bool first)
{
	struct mz_json w = {.out = &r->body, .flat = true};

	(void)first;
	mz_buf_str(&r->body, ",");
	mz_json_object(&w, NULL);
	mz_json_strn(&w, "name", name, n);
	mz_json_str(&w, "value", value);
	mz_json_end_object(&w);
	while (r->body.len && r->body.data[r->body.len - 1] == '\n')
		r->body.len--;
}

/* WriteRawRequest as JSON, by the gateway beside gRPC. */
static void make_parca(struct mz_push_request *r, const struct mz_buf *pprof)
{
	mz_buf_printf(&r->path, "%s/api/profiles/writeraw", r->prefix);
	mz_buf_str(&r->body, "{\"normalized\":true,\"series\":[{\"labels\":{\"labels\":["
			     "{\"name\":\"__name__\",\"value\":\"memory\"}");
	parca_label(r, "job", 3, r->how.program, false);
	each_label(r, parca_label);
	mz_buf_str(&r->body, "]},\"samples\":[{\"rawProfile\":\"");
	mz_http_base64(&r->body, (const unsigned char *)pprof->data, pprof->len);
	mz_buf_str(&r->body, "\"}]}]}");
	mz_buf_str(&r->headers, "Content-Type: application/json\r\n");
}

/* ---- any server ------------------------------------------------------------------- */

static int make_otlp(struct mz_push_request *r, const struct mz_profile *p, struct mz_error *err)
{
	mz_buf_printf(&r->path, "%s/v1development/profiles", r->prefix);
	mz_buf_str(&r->headers, "Content-Type: application/x-protobuf\r\n");
	return mz_export_to_buf(mz_export_otlp, p, &r->how, &r->body, err);
}

static int make_with_pprof(struct mz_push_request *r, const struct mz_profile *p,
			   struct mz_error *err)
{
	struct mz_buf pprof = {0};
	int ret = mz_export_to_buf(mz_export_pprof, p, &r->how, &pprof, err);

	if (!ret && r->to == MZ_PUSH_PYROSCOPE)
		make_pyroscope(r, p, &pprof);
	else if (!ret)
		make_parca(r, &pprof);
	mz_buf_free(&pprof);
	return ret;
}

int mz_push_make(struct mz_push_request *r, const struct mz_profile *p, struct mz_error *err)
{
	int ret = r->to == MZ_PUSH_OTLP ? make_otlp(r, p, err) : make_with_pprof(r, p, err);

	if (ret)
		return ret;
	mz_buf_add(&r->path, "", 1);
	mz_buf_add(&r->headers, "", 1);
	return r->path.failed || r->headers.failed || r->body.failed ? mz_fail_memory(err) : 0;
}

int mz_push_send(const struct mz_push_request *r, const struct mz_http_server *server,
		 struct mz_error *err)
{
	struct mz_http_call call = {.method = "POST",
				    .path = r->path.data,
				    .headers = r->headers.data,
				    .body = r->body.data,
				    .size = r->body.len};
	struct mz_buf answer = {0};
	char shown[200];
	int status = mz_http_call(server, &call, &answer, err);

	if (status >= 300)
		mz_fail(err, EIO, "%s:%s: %d: %s", server->host, server->port, status,
			mz_printable(shown, sizeof(shown), answer.data,
				     answer.len < 180 ? answer.len : 180));
	mz_buf_free(&answer);
	return status < 0 ? status : status >= 300 ? -EIO : 0;
}

void mz_push_reset(struct mz_push_request *r)
{
	mz_buf_free(&r->path);
	mz_buf_free(&r->headers);
	mz_buf_free(&r->body);
}
