// SPDX-License-Identifier: BSD-2-Clause
/* Write the totals of a recording as OpenMetrics 1.0, for a textfile collector: few series, and
 * never one per stack. */
#include <string.h>

#include "base/utf8.h"
#include "export/export.h"

/* Quotes, backslashes and newlines are escaped. */
static void put_label(struct mz_buf *b, const char *name, const char *value, bool *first)
{
	struct mz_buf text = {0};

	if (!value || !*value)
		return;
	mz_utf8_add(&text, value, strlen(value));
	b->failed |= text.failed;
	mz_buf_printf(b, "%s%s=\"", *first ? "" : ",", name);
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] == '\n')
			mz_buf_str(b, "\\n");
		else if (text.data[i] == '"' || text.data[i] == '\\')
			mz_buf_printf(b, "\\%c", text.data[i]);
		else
			mz_buf_add(b, &text.data[i], 1);
	}
	mz_buf_str(b, "\"");
	mz_buf_free(&text);
	*first = false;
}

/*
 * Only labels with few values: each combination is one more series, for ever, in the database that
 * collects them.
 */
static void put_series(struct mz_buf *b, const struct mz_profile *p,
		       const struct mz_export_options *o, const char *name, uint64_t v)
{
	bool first = true;

	mz_buf_printf(b, "%s{", name);
	put_label(b, "program", o->program ? o->program : mz_profile_title(p), &first);
	put_label(b, "revision", o->revision, &first);
	put_label(b, "host", o->host, &first);
	mz_buf_printf(b, "} %llu\n", (unsigned long long)v);
}

int mz_export_openmetrics(const struct mz_profile *p, const struct mz_export_options *o,
			  struct mz_output *out, struct mz_error *err)
{
	static const struct {
		const char *name, *type, *unit, *help, *value;
	} series[] = {
		{"memorizer_allocated_bytes", "counter", "bytes", "Bytes allocated in all.",
		 "bytes"},
		{"memorizer_allocated_blocks", "counter", NULL, "Blocks allocated in all.",
		 "blocks"},
		{"memorizer_peak_bytes", "gauge", "bytes", "Bytes live at the peak.", "peak_bytes"},
		{"memorizer_live_bytes", "gauge", "bytes", "Bytes live at the end.", "live_bytes"},
		{"memorizer_live_blocks", "gauge", NULL, "Blocks live at the end.", "live_blocks"},
	};
	struct mz_buf b = {0};

	for (size_t i = 0; i < sizeof(series) / sizeof(*series); i++) {
		const struct mz_profile_value *v = mz_profile_find_value(series[i].value);
		bool counter = !strcmp(series[i].type, "counter");
		char name[64];

		if (!(p->has & v->has))
			continue;
		mz_buf_printf(&b, "# TYPE %s %s\n", series[i].name, series[i].type);
		if (series[i].unit)
			mz_buf_printf(&b, "# UNIT %s %s\n", series[i].name, series[i].unit);
		mz_buf_printf(&b, "# HELP %s %s\n", series[i].name, series[i].help);
		strcpy(name, series[i].name);
		strcat(name, counter ? "_total" : "");
		put_series(&b, p, o, name, mz_profile_get(v, &p->all));
	}
	mz_buf_str(&b, "# TYPE memorizer_events_lost counter\n"
		       "# HELP memorizer_events_lost Events that the recording lacks.\n");
	put_series(&b, p, o, "memorizer_events_lost_total", p->lost);
	mz_buf_str(&b, "# TYPE memorizer_files_cut gauge\n"
		       "# HELP memorizer_files_cut Files of the recording that end early.\n");
	put_series(&b, p, o, "memorizer_files_cut", p->files_cut);
	mz_buf_str(&b, "# EOF\n");
	return mz_export_put(&b, out, err);
}
