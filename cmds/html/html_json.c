// SPDX-License-Identifier: BSD-2-Clause
/* Write the parts that the page models of all recordings share as JSON. */
#include <stdlib.h>
#include <string.h>

#include "cmds/html/html.h"

#define NAME_MOST 240

void html_json_name(struct mz_json *w, const char *key, const char *name)
{
	char buf[NAME_MOST + 8];
	size_t n = strlen(name);

	if (n <= NAME_MOST) {
		mz_json_strn(w, key, name, n);
		return;
	}
	memcpy(buf, name, NAME_MOST * 2 / 3);
	memcpy(buf + NAME_MOST * 2 / 3, "...", 3);
	memcpy(buf + NAME_MOST * 2 / 3 + 3, name + n - NAME_MOST / 3, NAME_MOST / 3);
	mz_json_strn(w, key, buf, NAME_MOST + 3);
}

/* ---- over time --------------------------------------------------------------- */

static uint64_t value_of(const struct mz_timeline *c, unsigned from, unsigned to,
			 enum html_bin what)
{
	uint64_t high = 0;

	for (unsigned i = from; i < to; i++)
		if (c->bins[i].high > high)
			high = c->bins[i].high;
	return what == HTML_BIN_HIGH   ? high
	       : what == HTML_BIN_LIVE ? c->bins[to - 1].live
				       : c->bins[to - 1].blocks;
}

void html_json_bins(struct mz_json *w, const char *key, const struct mz_timeline *c, unsigned step,
		    enum html_bin what)
{
	mz_json_array(w, key);
	for (unsigned i = 0; i < c->used; i += step)
		mz_json_u64(w, NULL, value_of(c, i, i + step < c->used ? i + step : c->used, what));
	mz_json_end_array(w);
}

void html_json_curve(struct mz_json *w, const struct mz_timeline *c, const struct html_limits *l)
{
	mz_json_object(w, "curve");
	mz_json_u64(w, "first", c->first);
	mz_json_u64(w, "duration", c->now - c->first);
	mz_json_u64(w, "width", c->width * l->step);
	html_json_bins(w, "live", c, l->step, HTML_BIN_LIVE);
	html_json_bins(w, "high", c, l->step, HTML_BIN_HIGH);
	html_json_bins(w, "blocks", c, l->step, HTML_BIN_BLOCKS);
	mz_json_end_object(w);
}

void html_json_histogram(struct mz_json *w, const char *key, const struct mz_histogram *h)
{
	mz_json_object(w, key);
	mz_json_u64(w, "count", h->count);
	if (h->count) {
		mz_json_u64(w, "min", h->min);
		mz_json_u64(w, "max", h->max);
		mz_json_u64(w, "median", mz_histogram_quantile(h, 0.5));
		mz_json_u64(w, "p99", mz_histogram_quantile(h, 0.99));
	}
	mz_json_array(w, "doublings");
	for (unsigned i = 0, last = h->max ? 63 - (unsigned)__builtin_clzll(h->max) : 0; i <= last;
	     i++)
		mz_json_u64(w, NULL, mz_histogram_doubling(h, i));
	mz_json_end_array(w);
	mz_json_end_object(w);
}

static void layout(struct mz_json *w, uint64_t first, const struct mz_layout *p)
{
	mz_json_object(w, "pages");
	mz_json_u64(w, "page_bytes", MZ_PAGE);
	mz_json_u64(w, "peak_pages", p->peak_pages);
	mz_json_u64(w, "peak_pages_at", p->peak_pages_at - first);
	mz_json_u64(w, "live_at_peak_pages", p->live_at_peak_pages);
	mz_json_u64(w, "end_pages", p->pages);
	mz_json_u64(w, "end_bytes", p->live_bytes);
	mz_json_array(w, "points");
	for (unsigned i = 0; i < p->time.used; i++) {
		mz_json_array(w, NULL);
		mz_json_u64(w, NULL, p->time.bins[i].at - first);
		mz_json_u64(w, NULL, p->time.bins[i].live);
		mz_json_u64(w, NULL, p->time.bins[i].pages);
		mz_json_end_array(w);
	}
	mz_json_end_array(w);
	mz_json_end_object(w);
}

void html_json_space(struct mz_json *w, const struct mz_heatmap *s, uint64_t before,
		     const struct html_limits *l)
{
	if (!s->rows)
		return;
	mz_json_object(w, "space");
	mz_json_u64(w, "row_bytes", (uint64_t)1 << s->shift);
	mz_json_u64(w, "width", s->width * l->step);
	mz_json_u64(w, "before", before);
	mz_json_array(w, "from");
	for (unsigned i = 0; i < s->rows; i++)
		mz_json_hex(w, NULL, s->key[i] << s->shift);
	mz_json_end_array(w);
	mz_json_array(w, "cells");
	for (unsigned i = 0; i < s->rows; i++) {
		mz_json_array(w, NULL);
		for (unsigned k = 0; k < s->columns; k += l->step)
			mz_json_u64(w, NULL,
				    s->cells[i][k + l->step <= s->columns ? k + l->step - 1
									  : s->columns - 1]);
		mz_json_end_array(w);
	}
	mz_json_end_array(w);
	mz_json_end_object(w);
}

void html_json_places(struct mz_json *w, const struct mz_history *h, const struct mz_layout *pages,
		      const struct html_limits *l)
{
	if (h->space.rows)
		layout(w, h->time.first, pages);
	html_json_space(w, &h->space, 0, l);
}

/* ---- flame graphs ------------------------------------------------------------- */

/* For each shown node: the sum of its folded children. */
struct folded_rest {
	uint64_t value[MZ_FLAME_VALUES];
	uint32_t nodes;
};

struct drawing {
	const struct mz_flame *f;
	struct mz_flame_cut cut;
	struct folded_rest *rest; /* by number of the shown node */
	uint32_t *names;	  /* string of the tables -> place in the list, + 1 */
};

static void gather_rest(struct drawing *d)
{
	for (uint32_t i = 1; i < d->f->count; i++) {
		const struct mz_flame_node *n = &d->f->nodes[i];
		uint32_t above = d->cut.shown[n->parent];

		if (d->cut.shown[i] || !above)
			continue;
		d->rest[above - 1].nodes++;
		for (int k = 0; k < MZ_FLAME_VALUES; k++)
			d->rest[above - 1].value[k] += n->value[k];
	}
}

/* Name 0 stands for "folded". */
static void names_json(struct mz_json *w, struct drawing *d)
{
	uint32_t used = 1;

	mz_json_array(w, "names");
	mz_json_str(w, NULL, "");
	for (uint32_t i = 1; i < d->f->count; i++) {
		uint32_t name = d->f->nodes[i].name;
		const char *text;

		if (!d->cut.shown[i] || d->names[name])
			continue;
		text = mz_tables_get_string(d->f->names, name, NULL);
		html_json_name(w, NULL, text ? text : "?");
		d->names[name] = used++;
	}
	mz_json_end_array(w);
}

/* The column of parents (what < 0: of names), then those of the folded ones. */
static void column(struct mz_json *w, const char *key, const struct drawing *d, int what)
{
	mz_json_array(w, key);
	for (uint32_t i = 0; i < d->f->count; i++) {
		const struct mz_flame_node *n = &d->f->nodes[i];

		if (!d->cut.shown[i])
			continue;
		if (what >= 0)
			mz_json_u64(w, NULL, n->value[what]);
		else
			mz_json_u64(w, NULL,
				    what == -1 ? d->cut.shown[n->parent] - 1
				    : i	       ? d->names[n->name]
					       : 0);
	}
	for (uint32_t i = 0; i < d->cut.kept; i++)
		if (d->rest[i].nodes)
			mz_json_u64(w, NULL,
				    what >= 0	 ? d->rest[i].value[what]
				    : what == -1 ? i
						 : 0);
	mz_json_end_array(w);
}

const char *const html_values[] = {"peak", "total", "never_freed", "temporary", "wasted"};

static void drawing_json(struct mz_json *w, const char *key, const char *title,
			 const char *const *values, struct drawing *d)
{
	mz_json_object(w, key);
	mz_json_str(w, "title", title);
	mz_json_u64(w, "folded", d->cut.folded);
	names_json(w, d);
	column(w, "parent", d, -1);
	column(w, "name", d, -2);
	for (int k = 0; k < MZ_FLAME_VALUES; k++)
		if (values[k])
			column(w, values[k], d, k);
	mz_json_end_object(w);
}

int html_json_flame(struct mz_json *w, const char *key, const char *title, const struct mz_flame *f,
		    const char *const *values, const struct html_limits *l)
{
	struct drawing d = {.f = f};
	int ret = mz_flame_cut(f, l->nodes, &d.cut);

	if (ret < 0)
		return ret;
	d.rest = calloc(d.cut.kept, sizeof(*d.rest));
	d.names = calloc(mz_tables_strings(f->names) + 1, sizeof(*d.names));
	if (d.rest && d.names) {
		gather_rest(&d);
		drawing_json(w, key, title, values, &d);
	} else {
		ret = -1;
	}
	free(d.rest);
	free(d.names);
	free(d.cut.shown);
	return ret;
}

/* ---- tables ------------------------------------------------------------------- */

void html_json_table(struct mz_json *w, const char *key, const char *title,
		     const struct html_column *columns, size_t n)
{
	mz_json_object(w, key);
	mz_json_str(w, "title", title);
	mz_json_array(w, "columns");
	for (size_t i = 0; i < n; i++) {
		mz_json_object(w, NULL);
		mz_json_str(w, "key", columns[i].key);
		mz_json_str(w, "title", columns[i].title);
		mz_json_str(w, "unit", columns[i].unit);
		mz_json_end_object(w);
	}
	mz_json_end_array(w);
	mz_json_array(w, "rows");
}

void html_json_table_end(struct mz_json *w, size_t all, size_t shown)
{
	mz_json_end_array(w);
	mz_json_u64(w, "all", all);
	mz_json_u64(w, "folded", all - shown);
	mz_json_end_object(w);
}
