// SPDX-License-Identifier: BSD-2-Clause
/* Insert the data of the recordings into the built-in page web/dist/report.html. */
#include "cmds/html/html.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

__asm__(".pushsection .rodata\n"
	".global html_template, html_template_end\n"
	"html_template: .incbin \"web/dist/report.html\"\n"
	"html_template_end: .byte 0\n"
	".popsection\n");
extern const char html_template[], html_template_end[];

#define MARK   "@DATA@"
#define SCALES 12

/* The page is data in this program: a bad disk or copy can damage it. */
size_t html_page_check(void)
{
	size_t size = (size_t)(html_template_end - html_template);
	const char *mark = memmem(html_template, size, MARK, strlen(MARK));
	const char *end = memmem(html_template, size, "</html>", 7);

	return mark && end && mark < end && (size_t)(html_template_end - end) <= 16 ? size : 0;
}

/* ---- models --------------------------------------------------------------------- */

static char *base_name(const char *path)
{
	size_t len = strlen(path);
	const char *from;

	while (len > 1 && path[len - 1] == '/')
		len--;
	for (from = path + len; from > path && from[-1] != '/';)
		from--;
	return strndup(from, len - (size_t)(from - path));
}

void *html_state(struct html_model *m, size_t size, html_json_fn *json, html_free_fn *free,
		 struct mz_error *err)
{
	m->state = mz_zalloc(size, err);
	m->json = json;
	m->free = free;
	return m->state;
}

static int open_kind(struct html_model *m, struct mz_error *err)
{
	m->kind = mz_recording_kind_name(m->recording.kind);
	switch (m->recording.kind) {
	case MZ_RECORDING_KMAP: return html_kmap_open(m, err);
	case MZ_RECORDING_KERNEL: return html_kmem_open(m, err);
	case MZ_RECORDING_USER: return html_user_open(m, err);
	default: return mz_recording_refuse(&m->recording, err);
	}
}

int html_model_open(struct html_model *m, const char *path, const char *symbols,
		    const char *functions, struct mz_error *err)
{
	struct mz_recording_options o = {.symbols = symbols};
	char *paths[] = {(char *)path};
	int ret;

	*m = (struct html_model){.name = base_name(path), .functions = functions};
	if (!m->name)
		return mz_fail_memory(err);
	ret = recording_open(&m->recording, paths, 1, &o, &m->progress, err);
	if (!ret)
		ret = open_kind(m, err);
	progress_end(&m->progress);
	if (ret < 0)
		html_model_close(m);
	return ret;
}

void html_model_close(struct html_model *m)
{
	if (!m->name) /* never opened */
		return;
	if (m->free && m->state)
		m->free(m->state);
	mz_recording_close(&m->recording);
	free(m->name);
	*m = (struct html_model){0};
}

/* ---- the page --------------------------------------------------------------------- */

static struct html_limits limits_at(unsigned scale)
{
	struct html_limits l = {
		.nodes = 12000u >> scale, .rows = 4000u >> scale, .cells = 64, .step = 1};

	if (scale > 2)
		l.step = 1u << (scale - 2);
	if (l.step > 64)
		l.step = 64;
	if (l.nodes < 16)
		l.nodes = 16;
	if (l.rows < 8)
		l.rows = 8;
	if (scale > 3)
		l.cells = 16;
	return l;
}

static int models_json(struct mz_buf *b, const struct html_model *models, size_t n, unsigned scale)
{
	struct mz_json w = {.out = b, .flat = true, .tight = true, .html = true};
	struct html_limits l = limits_at(scale);
	int ret = 0;

	mz_json_object(&w, NULL);
	mz_json_str(&w, "version", MZ_VERSION);
	mz_json_u64(&w, "halved", scale); /* how often the limits were halved */
	mz_json_array(&w, "recordings");
	for (size_t i = 0; i < n && !ret; i++) {
		mz_json_object(&w, NULL);
		html_json_name(&w, "name", models[i].name);
		mz_json_str(&w, "kind", models[i].kind);
		ret = models[i].json(&models[i], &w, &l);
		mz_json_end_object(&w);
	}
	mz_json_end_array(&w);
	mz_json_end_object(&w);
	return ret;
}

static const char *mark(void)
{
	return memmem(html_template, (size_t)(html_template_end - html_template), MARK,
		      sizeof(MARK) - 1);
}

int html_page_of(struct mz_buf *out, const struct mz_buf *json, struct mz_error *err)
{
	const char *at = mark();

	mz_buf_add(out, html_template, (size_t)(at - html_template));
	mz_buf_add(out, json->data, json->len);
	at += sizeof(MARK) - 1;
	mz_buf_add(out, at, (size_t)(html_template_end - at));
	return out->failed || json->failed ? mz_fail_memory(err) : 0;
}

int html_page(struct mz_buf *out, const struct html_model *models, size_t n, struct mz_error *err)
{
	size_t room = HTML_BYTES - (size_t)(html_template_end - html_template);
	struct mz_buf json = {0};
	int ret = 0;

	for (unsigned scale = 0; scale < SCALES; scale++) {
		json.len = 0;
		ret = models_json(&json, models, n, scale);
		if (ret < 0 || json.failed || json.len <= room)
			break;
	}
	if (ret < 0 || json.failed)
		ret = mz_fail_memory(err);
	else if (json.len > room)
		ret = mz_fail(err, E2BIG,
			      "%zu recordings do not fit into one page of %u bytes; give fewer", n,
			      HTML_BYTES);
	else
		ret = html_page_of(out, &json, err);
	mz_buf_free(&json);
	return ret;
}
