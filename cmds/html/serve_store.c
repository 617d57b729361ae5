// SPDX-License-Identifier: BSD-2-Clause
/* Make the pages of a store: programs, trends, regressions, recordings and their flame graphs.
 * They are plain HTML without scripts, whose links are paths of the server. */
#include "cmds/html/serve_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/flame.h"
#include "base/error.h"
#include "base/http_client.h"
#include "base/sha256.h"
#include "cmds/cmd.h"
#include "store/questions.h"

#define ROWS  200  /* of a table */
#define NODES 4000 /* of a flame graph */
#define DEPTH 200
#define WIDTH 1200
#define LINE  18

static const char style[] =
	"body{font:14px sans-serif;margin:1.5em;max-width:90em}table{border-collapse:collapse}"
	"th,td{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}"
	"th:last-child,td:last-child,.t{text-align:left}svg{border:1px solid #ddd}"
	"svg text{font:11px monospace;pointer-events:none}";

struct site_page {
	struct mz_store *s;
	const struct mz_profile_value *v;
	struct mz_buf *b;
	struct mz_error *err;
};

bool serve_is_store(const char *name)
{
	char head[16] = "";
	int fd;
	bool is;

	if (mz_store_is_address(name))
		return true;
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	is = fd >= 0 && read(fd, head, sizeof(head)) == sizeof(head) &&
	     !memcmp(head, "SQLite format 3", 16);
	if (fd >= 0)
		close(fd);
	return is;
}

/* ---- HTML ------------------------------------------------------------------------ */

/* Names are hostile: nothing in them may act as markup. */
static void text(struct mz_buf *b, const char *s)
{
	for (; *s; s++) {
		if (strchr("<>&\"'", *s))
			mz_buf_printf(b, "&#%d;", *s);
		else if ((unsigned char)*s >= ' ' || *s == '\n')
			mz_buf_add(b, s, 1);
	}
}

/* A link to /KIND/A or to /KIND/A<tab>B: names have no tabs. */
static void link_to(struct mz_buf *b, const char *kind, const char *a, const char *c,
		    const char *shown)
{
	mz_buf_printf(b, "<a href=\"/%s/", kind);
	mz_http_escape(b, a, strlen(a));
	if (c) {
		mz_buf_str(b, "%09");
		mz_http_escape(b, c, strlen(c));
	}
	mz_buf_str(b, "\">");
	text(b, *shown ? shown : "(none)");
	mz_buf_str(b, "</a>");
}

/* The policy allows our style sheet, and nothing else. */
static void begin(struct mz_buf *b, const char *title)
{
	unsigned char sum[32];
	struct mz_sha256 s;

	mz_sha256_init(&s);
	mz_sha256_add(&s, style, sizeof(style) - 1);
	mz_sha256_end(&s, sum);
	mz_buf_str(b, "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
		      "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		      "style-src 'sha256-");
	mz_http_base64(b, sum, sizeof(sum));
	mz_buf_str(b, "'\"><title>");
	text(b, title);
	mz_buf_printf(b,
		      "</title><style>%s</style></head><body><p><a href=\"/\">Programs</a></p><h1>",
		      style);
	text(b, title);
	mz_buf_str(b, "</h1>");
}

static void put_cell(struct mz_buf *b, const struct mz_result_table *t, size_t row, size_t col)
{
	const union mz_result_cell *c = &t->cells[row * t->n_columns + col];
	char buf[64];

	if ((t->columns[col].type == MZ_RESULT_COUNT || t->columns[col].type == MZ_RESULT_BYTES) &&
	    c->number == MZ_RESULT_UNKNOWN) {
		text(b, "?");
		return;
	}
	switch (t->columns[col].type) {
	case MZ_RESULT_COUNT: text(b, console_count(buf, c->number)); break;
	case MZ_RESULT_BYTES: text(b, console_bytes(buf, c->number)); break;
	case MZ_RESULT_SHARE:
		snprintf(buf, sizeof(buf), "%.1f%%", 100 * c->share);
		text(b, buf);
		break;
	case MZ_RESULT_TEXT: text(b, mz_result_get(t, row, col)); break;
	}
}

/* The column `link` leads to /KIND/PROGRAM<tab>NAME, or to /KIND/NAME without a program. */
static void put_table(struct mz_buf *b, const struct mz_result_table *t, size_t link,
		      const char *kind, const char *program)
{
	size_t rows = t->rows < ROWS ? t->rows : ROWS;

	mz_buf_str(b, "<table><tr>");
	for (size_t i = 0; i < t->n_columns; i++) {
		mz_buf_str(b, "<th>");
		text(b, t->columns[i].title);
	}
	for (size_t r = 0; r < rows; r++) {
		mz_buf_str(b, "<tr>");
		for (size_t i = 0; i < t->n_columns; i++) {
			const char *name = i == link ? mz_result_get(t, r, i) : NULL;

			mz_buf_str(b, "<td>");
			if (name && program)
				link_to(b, kind, program, name, name);
			else if (name)
				link_to(b, kind, name, NULL, name);
			else
				put_cell(b, t, r, i);
		}
	}
	mz_buf_str(b, "</table>");
	if (rows < t->rows)
		mz_buf_printf(b, "<p>and %zu more</p>", t->rows - rows);
	if (!rows)
		mz_buf_str(b, "<p>none</p>");
}

/* The column of means of a trend, as a curve over its steps. */
static void put_curve(struct mz_buf *b, const struct mz_result_table *t, size_t column)
{
	uint64_t most = 1;

	for (size_t i = 0; i < t->rows; i++) {
		uint64_t v = t->cells[i * t->n_columns + column].number;

		most = v > most ? v : most;
	}
	mz_buf_printf(b,
		      "<svg width=\"%d\" height=\"160\" role=\"img\"><polyline fill=\"none\" "
		      "stroke=\"#27c\" points=\"",
		      WIDTH);
	for (size_t i = 0; i < t->rows; i++)
		mz_buf_printf(b, "%.1f,%.1f ",
			      10 + (double)i * (WIDTH - 20) /
					      (t->rows > 1 ? (double)t->rows - 1 : 1),
			      150 - 140 * (double)t->cells[i * t->n_columns + column].number /
					      (double)most);
	mz_buf_str(b, "\"/></svg>");
}

/* ---- pages ------------------------------------------------------------------------ */

static int programs(struct site_page *p)
{
	const struct mz_store_filter all = {0};
	struct mz_result_table t = {0};
	int ret = mz_store_answer_top(p->s, MZ_STORE_BY_PROGRAM, p->v, &all, 0, &t, p->err);

	begin(p->b, "Programs");
	if (!ret)
		put_table(p->b, &t, 0, "program", NULL);
	mz_result_deinit(&t);
	return ret;
}

/* KMAPs have no peak: if a program has nothing but KMAPs, its live bytes are shown. */
static int choose_value(struct site_page *p, const char *program)
{
	struct mz_store_filter of = {.program = program, .known = p->v->has};
	uint64_t n;
	int ret = mz_store_count(p->s, &of, &n, p->err);

	if (!ret && !n)
		p->v = mz_profile_find_value("live_bytes");
	return ret;
}

static int trend(struct site_page *p, const char *program, const char *site)
{
	const struct mz_store_filter of = {.program = program};
	struct mz_result_table t = {0};
	int ret = mz_store_answer_trend(p->s, site, p->v, &of, MZ_STORE_STEP_REVISION, &t, p->err);

	mz_buf_str(p->b, "<h2>Trend: ");
	text(p->b, p->v->title);
	mz_buf_str(p->b, ", by revision</h2>");
	if (!ret) {
		put_curve(p->b, &t, 3);
		put_table(p->b, &t, SIZE_MAX, "", NULL);
	}
	mz_result_deinit(&t);
	return ret;
}

static int recordings(struct site_page *p, const char *program)
{
	const struct mz_store_filter of = {.program = program};
	struct mz_store_entries e;
	struct mz_result_table t = {0};
	int ret = mz_store_list(p->s, &of, &e, p->err);

	if (!ret && !e.n)
		ret = mz_fail(p->err, ENOENT, "the store has no such program");
	if (!ret && mz_store_answer_list(&e, &t))
		ret = mz_fail_memory(p->err);
	mz_buf_str(p->b, "<h2>Recordings</h2>");
	if (!ret)
		put_table(p->b, &t, 0, "recording", NULL);
	mz_result_deinit(&t);
	mz_store_entries_free(&e);
	return ret;
}

static int program_page(struct site_page *p, const char *program)
{
	const struct mz_store_noise noise = {.chance = 0.001, .least = 0.05, .runs = 1000};
	const struct mz_store_filter of = {.program = program};
	struct mz_result_table found = {0}, top = {0};
	int ret;

	begin(p->b, program);
	ret = choose_value(p, program);
	if (!ret)
		ret = trend(p, program, "");
	if (!ret)
		ret = mz_store_answer_regressions(p->s, p->v, &of, &noise, &found, NULL, p->err);
	mz_buf_str(p->b, "<h2>Regressions</h2>");
	if (!ret)
		put_table(p->b, &found, 9, "site", program);
	if (!ret)
		ret = mz_store_answer_top(p->s, MZ_STORE_BY_SITE, p->v, &of, ROWS, &top, p->err);
	mz_buf_str(p->b, "<h2>Call sites</h2>");
	if (!ret)
		put_table(p->b, &top, 0, "site", program);
	mz_result_deinit(&found);
	mz_result_deinit(&top);
	return ret ? ret : recordings(p, program);
}

static int site_page(struct site_page *p, char *names)
{
	char *tab = strchr(names, '\t');
	int ret;

	if (!tab)
		return mz_fail(p->err, ENOENT, "there is no page at this address");
	*tab = '\0';
	begin(p->b, tab + 1);
	mz_buf_str(p->b, "<p>of ");
	link_to(p->b, "program", names, NULL, names);
	mz_buf_str(p->b, "</p>");
	ret = choose_value(p, names);
	return ret ? ret : trend(p, names, strcmp(tab + 1, "(all)") ? tab + 1 : "");
}

/* ---- a recording -------------------------------------------------------------------- */

/* "main;work;malloc" as a path of strings; names have no semicolons. */
static int add_path(struct mz_flame *f, struct mz_tables *names, const char *stack, uint64_t value)
{
	uint64_t values[MZ_FLAME_VALUES] = {[MZ_FLAME_PEAK] = value};
	uint32_t path[DEPTH];
	size_t depth = 0;

	while (depth < DEPTH) {
		size_t n = strcspn(stack, ";");

		path[depth] = mz_tables_string(names, stack, n);
		if (!path[depth++])
			return -ENOMEM;
		if (!stack[n])
			break;
		stack += n + 1;
	}
	return mz_flame_add(f, path, depth, values);
}

/* The nodes that are shown, each below its parent; a parent comes before its children. */
static int draw(struct mz_buf *b, const struct mz_flame *f, const struct mz_flame_cut *cut)
{
	double *x = calloc(f->count + 1, sizeof(*x)), *next = calloc(f->count + 1, sizeof(*next));
	unsigned *level = calloc(f->count + 1, sizeof(*level)), deepest = 0;
	double scale = f->nodes[0].value[MZ_FLAME_PEAK]
			       ? WIDTH / (double)f->nodes[0].value[MZ_FLAME_PEAK]
			       : 0;
	struct mz_buf body = {0};
	size_t len;

	for (uint32_t i = 1; x && next && level && i < f->count; i++) {
		const struct mz_flame_node *n = &f->nodes[i];
		double width = scale * (double)n->value[MZ_FLAME_PEAK];
		const char *name = mz_tables_get_string(f->names, n->name, &len);
		char size[32];

		x[i] = x[n->parent] + next[n->parent];
		next[n->parent] += width;
		level[i] = level[n->parent] + 1;
		if (!cut->shown[i] || width < 0.5)
			continue;
		deepest = level[i] > deepest ? level[i] : deepest;
		mz_buf_str(&body, "<g><title>");
		text(&body, name);
		mz_buf_printf(&body,
			      " %s</title><rect x=\"%.1f\" y=\"%u\" width=\"%.1f\" height=\"%d\" "
			      "fill=\"hsl(%u,60%%,75%%)\" stroke=\"#fff\"/>",
			      console_bytes(size, n->value[MZ_FLAME_PEAK]), x[i],
			      (level[i] - 1) * LINE, width, LINE, 20 + n->name * 37 % 40);
		if (width > 40) {
			char shown[200];

			snprintf(shown, sizeof(shown), "%.*s", (int)(width / 7), name);
			mz_buf_printf(&body, "<text x=\"%.1f\" y=\"%u\">", x[i] + 3,
				      (level[i] - 1) * LINE + 13);
			text(&body, shown);
			mz_buf_str(&body, "</text>");
		}
		mz_buf_str(&body, "</g>");
	}
	mz_buf_printf(b, "<svg width=\"%d\" height=\"%u\" role=\"img\">", WIDTH,
		      (deepest + 1) * LINE);
	mz_buf_add(b, body.data, body.len);
	mz_buf_printf(b,
		      "</svg><p>%u nodes are too small to draw and are shown as parts of their "
		      "parents</p>",
		      cut->folded);
	b->failed |= body.failed || !x || !next || !level;
	mz_buf_free(&body);
	free(x);
	free(next);
	free(level);
	return b->failed ? -ENOMEM : 0;
}

static int flame_graph(struct site_page *p, const struct mz_store_entry *e)
{
	struct mz_tables *names = mz_tables_new();
	struct mz_store_stacks stacks;
	struct mz_flame_cut cut = {0};
	struct mz_flame f = {0};
	size_t len;
	int ret = mz_store_read_stacks(p->s, e, p->v, &stacks, p->err);

	if (!ret && (!names || mz_flame_init(&f, names)))
		ret = mz_fail_memory(p->err);
	for (size_t i = 0; i < stacks.n && !ret; i++)
		if (add_path(&f, names, mz_tables_get_string(stacks.strings, stacks.names[i], &len),
			     stacks.list[i].sum))
			ret = mz_fail_memory(p->err);
	if (!ret && (mz_flame_cut(&f, NODES, &cut) || draw(p->b, &f, &cut)))
		ret = mz_fail_memory(p->err);
	free(cut.shown);
	mz_flame_deinit(&f);
	mz_store_stacks_free(&stacks);
	mz_tables_free(names);
	return ret;
}

static bool is_there(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) &&
	       !access(path, R_OK);
}

static int recording_page(struct site_page *p, const struct mz_store_entry *e)
{
	const struct mz_profile_value *usual = p->v;
	int ret;

	begin(p->b, e->digest);
	mz_buf_str(p->b, "<p>");
	link_to(p->b, "program", e->program, NULL, e->program);
	mz_buf_str(p->b, ", revision ");
	text(p->b, e->revision);
	mz_buf_str(p->b, ", host ");
	text(p->b, e->host);
	if (is_there(e->path)) {
		mz_buf_str(p->b, ", ");
		link_to(p->b, "view", e->digest, NULL, "the recording itself");
	} else {
		mz_buf_str(p->b, "; its file is not on this machine: ");
		text(p->b, e->path);
	}
	if (!(e->known & p->v->has)) /* KMAPs have no peak */
		p->v = mz_profile_find_value("bytes");
	mz_buf_str(p->b, "</p><h2>Call stacks: ");
	text(p->b, p->v->title);
	mz_buf_str(p->b, "</h2>");
	ret = flame_graph(p, e);
	p->v = usual;
	return ret;
}

/* view: the file, not the page. */
static int find_recording(struct site_page *p, const char *digest, bool view, char **original)
{
	const struct mz_store_filter all = {0};
	struct mz_store_entries e;
	int ret = mz_store_list(p->s, &all, &e, p->err);
	size_t i = 0;

	while (!ret && i < e.n && strcmp(e.list[i].digest, digest))
		i++;
	if (!ret && (i == e.n || (view && !is_there(e.list[i].path))))
		ret = mz_fail(p->err, ENOENT, "there is no such recording here");
	if (!ret && view && !(*original = strdup(e.list[i].path)))
		ret = mz_fail_memory(p->err);
	else if (!ret && !view)
		ret = recording_page(p, &e.list[i]);
	mz_store_entries_free(&e);
	return ret;
}

static int page_at(struct site_page *p, char *path, char **original)
{
	if (!strcmp(path, "/"))
		return programs(p);
	if (!strncmp(path, "/program/", 9))
		return program_page(p, path + 9);
	if (!strncmp(path, "/site/", 6))
		return site_page(p, path + 6);
	if (!strncmp(path, "/recording/", 11))
		return find_recording(p, path + 11, false, original);
	if (!strncmp(path, "/view/", 6))
		return find_recording(p, path + 6, true, original);
	return mz_fail(p->err, ENOENT, "there is no page at this address");
}

int serve_store_page(const char *store, const char *credentials, const char *path,
		     struct mz_buf *page, char **original, struct mz_error *err)
{
	struct site_page p = {.v = mz_profile_find_value("peak_bytes"), .b = page, .err = err};
	struct mz_store s;
	char *own = strdup(path);
	int ret = own ? mz_store_open(&s, store, credentials, false, err) : mz_fail_memory(err);

	*original = NULL;
	p.s = &s;
	if (own && !ret)
		ret = page_at(&p, own, original);
	if (!ret && !*original)
		mz_buf_str(page, "</body></html>\n");
	if (own)
		mz_store_close(&s);
	free(own);
	return !ret && page->failed ? mz_fail_memory(err) : ret;
}
