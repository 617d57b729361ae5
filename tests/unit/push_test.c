// SPDX-License-Identifier: BSD-2-Clause
/* What each profile server is sent: the address, the headers and the labels. */
#include "export/push.h"

#include <string.h>
#include <unistd.h>

#include "analysis/recording.h"
#include "tests/unit/test.h"

static char folder[] = "/tmp/push_test.XXXXXX";
static char path[64];
static struct mz_recording recording;
static const struct mz_profile *profile;
static struct mz_error err;

static void open_profile(void)
{
	char *paths[] = {path};
	FILE *f = fopen(path, "w");

	if (!f || fputs("malloc(8) = 1000\nfree(1000)\n", f) < 0 || fclose(f) ||
	    mz_recording_open(&recording, paths, 1, NULL, &err) < 0)
		abort();
	profile = mz_recording_profile(&recording, &err);
	if (!profile)
		abort();
}

static const char *const labels[] = {"zone=a b", "url=x=y"};

/* Makes a request with every kind of label, behind a header of the caller's own. */
static void make(struct mz_push_request *r, enum mz_push_server to, const char *prefix)
{
	*r = (struct mz_push_request){.to = to,
				      .prefix = prefix,
				      .how = {.program = "prog",
					      .revision = "r1",
					      .host = "h1",
					      .time_ns = 100 * (uint64_t)1000000000},
				      .labels = labels,
				      .nlabels = 2};
	mz_buf_str(&r->headers, "X-Own: 1\r\n");
	CHECK_EQ(mz_push_make(r, profile, &err), 0);
}

#define CHECK_TEXT(buf, want)                                                                      \
	do {                                                                                       \
		CHECK((buf).len == strlen(want) + 1 && !strcmp((buf).data, want));                 \
		if ((buf).len && strcmp((buf).data, want))                                         \
			TEST_SHOW("# %s\n", (buf).data);                                           \
	} while (0)

static bool holds(const struct mz_buf *b, const char *text)
{
	return memmem(b->data, b->len, text, strlen(text));
}

static void pyroscope(void)
{
	struct mz_push_request r;

	make(&r, MZ_PUSH_PYROSCOPE, "/base");
	CHECK_TEXT(r.path,
		   "/base/ingest?name=prog%7Brevision%3Dr1%2Chost%3Dh1%2Czone%3Da%20b%2Curl%3Dx%3D"
		   "y%7D&from=99&until=100&format=pprof&spyName=memorizer");
	CHECK_TEXT(r.headers,
		   "X-Own: 1\r\nContent-Type: multipart/form-data; boundary=memorizer-3f1c9a\r\n");
	CHECK(holds(&r.body, "name=\"profile\""));
	CHECK(holds(&r.body, "name=\"sample_type_config\""));
	CHECK(!holds(&r.body, "revision"));
	mz_push_reset(&r);
	CHECK(!r.path.len && !r.headers.len && !r.body.len);
}

/* A recording may take longer than its file is old, by a clock that was wrong. */
static void old_file(void)
{
	struct mz_push_request r = {.prefix = "", .how = {.program = "prog", .time_ns = 5}};

	CHECK_EQ(mz_push_make(&r, profile, &err), 0);
	CHECK(r.path.len && strstr(r.path.data, "&from=0&until=0&"));
	mz_push_reset(&r);
}

static void parca(void)
{
	struct mz_push_request r;

	make(&r, MZ_PUSH_PARCA, "");
	CHECK_TEXT(r.path, "/api/profiles/writeraw");
	CHECK_TEXT(r.headers, "X-Own: 1\r\nContent-Type: application/json\r\n");
	CHECK(holds(&r.body, "{\"name\": \"job\", \"value\": \"prog\"}"));
	CHECK(holds(&r.body, "{\"name\": \"revision\", \"value\": \"r1\"}"));
	CHECK(holds(&r.body, "{\"name\": \"url\", \"value\": \"x=y\"}]},\"samples\":"));
	mz_push_reset(&r);
}

/* The labels are attributes in the profile itself. */
static void otlp(void)
{
	struct mz_push_request r;

	make(&r, MZ_PUSH_OTLP, "");
	CHECK_TEXT(r.path, "/v1development/profiles");
	CHECK_TEXT(r.headers, "X-Own: 1\r\nContent-Type: application/x-protobuf\r\n");
	CHECK(holds(&r.body, "service.name") && holds(&r.body, "prog"));
	CHECK(!holds(&r.body, "zone"));
	mz_push_reset(&r);
}

static void names(void)
{
	static const char *const bad[] = {"a{b", "a}", "a,b", "a\nb"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		CHECK(!mz_push_accepts(MZ_PUSH_PYROSCOPE, bad[i]));
		CHECK(mz_push_accepts(MZ_PUSH_PARCA, bad[i]));
	}
	CHECK(mz_push_accepts(MZ_PUSH_PYROSCOPE, "a=b c"));
}

int main(void)
{
	test_folder(folder, path, "a.txt");
	open_profile();
	RUN(pyroscope);
	RUN(old_file);
	RUN(parca);
	RUN(otlp);
	RUN(names);
	mz_recording_close(&recording);
	unlink(path);
	rmdir(folder);
	return test_end();
}
