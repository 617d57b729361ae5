// SPDX-License-Identifier: BSD-2-Clause
/* Write the Firefox Profiler's processed profile. */
/*
 * It has one thread per view (at the peak, at the end, ...), whose samples are stacks weighted in
 * bytes or blocks. The version is an old one that needs no more than this; the profiler upgrades
 * it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "export/export.h"

#define VERSION 46

/* Stacks as a tree, which all threads share: a node is a frame and its caller. */
struct stack_nodes {
	struct mz_tables *strings; /* number - 1 is the index */
	struct mz_tables *nodes;   /* as lists: node of the caller or 0, frame */
	uint32_t *leaf;		   /* of each site */
};

static void numbers(struct mz_json *j, const char *key, size_t n, uint64_t value)
{
	mz_json_array(j, key);
	while (n--)
		mz_json_u64(j, NULL, value);
	mz_json_end_array(j);
}

static void nulls(struct mz_json *j, const char *key, size_t n)
{
	mz_json_array(j, key);
	while (n--)
		mz_json_null(j, NULL);
	mz_json_end_array(j);
}

/* Every text was interned by grow_tree(), so this finds it and cannot fail. */
static uint32_t index_of(struct stack_nodes *t, const char *s)
{
	return mz_tables_string(t->strings, s, strlen(s)) - 1;
}

/* The viewer wants stacks as a tree of (caller, frame). A node is interned as a stack of these
 * two numbers, so that common callers become one node. */
static bool grow_tree(struct stack_nodes *t, const struct mz_profile *p)
{
	t->leaf = calloc(p->nsites ? p->nsites : 1, sizeof(*t->leaf));
	if (!t->leaf)
		return false;
	for (size_t i = 0; i < p->nsites; i++) {
		size_t depth;
		const uint64_t *frames = mz_profile_stack(p, &p->sites[i], &depth);
		uint64_t node[2] = {0, 0};

		while (depth--) {
			node[1] = frames[depth];
			node[0] = mz_tables_stack(t->nodes, node, 2);
			if (!node[0])
				return false;
		}
		t->leaf[i] = (uint32_t)node[0];
	}
	for (uint32_t i = 1; i <= mz_profile_frames(p); i++) {
		struct mz_frame f = mz_profile_get_frame(p, i);

		if (!mz_tables_string(t->strings, f.name, strlen(f.name)) ||
		    (f.file && !mz_tables_string(t->strings, f.file, strlen(f.file))))
			return false;
	}
	return true;
}

/* ---- the tables of a thread --------------------------------------------- */

/* The viewer distinguishes null from 0 in these columns. */
static void number_or_null(struct mz_json *j, bool known, uint64_t n)
{
	if (known)
		mz_json_u64(j, NULL, n);
	else
		mz_json_null(j, NULL);
}

/* The same value for every row: the viewer requires the column, for which there is no data. */
static void all_false(struct mz_json *j, const char *key, uint32_t n)
{
	mz_json_array(j, key);
	for (uint32_t i = 0; i < n; i++)
		mz_json_bool(j, NULL, false);
	mz_json_end_array(j);
}

static void all_none(struct mz_json *j, const char *key, uint32_t n)
{
	mz_json_array(j, key);
	for (uint32_t i = 0; i < n; i++)
		mz_json_i64(j, NULL, -1);
	mz_json_end_array(j);
}

/* The viewer groups by function and shows frames. There is one function for each frame, with the
 * same number, so that no third table is needed. */
static void put_functions(struct mz_json *j, const struct mz_profile *p, struct stack_nodes *t)
{
	uint32_t n = mz_profile_frames(p);

	mz_json_object(j, "funcTable");
	mz_json_u64(j, "length", n);
	mz_json_array(j, "name");
	for (uint32_t i = 1; i <= n; i++)
		mz_json_u64(j, NULL, index_of(t, mz_profile_get_frame(p, i).name));
	mz_json_end_array(j);
	all_false(j, "isJS", n);
	all_false(j, "relevantForJS", n);
	all_none(j, "resource", n);
	mz_json_array(j, "fileName");
	for (uint32_t i = 1; i <= n; i++) {
		struct mz_frame f = mz_profile_get_frame(p, i);

		number_or_null(j, f.file, f.file ? index_of(t, f.file) : 0);
	}
	mz_json_end_array(j);
	nulls(j, "lineNumber", n);
	nulls(j, "columnNumber", n);
	mz_json_end_object(j);
}

static void put_frames(struct mz_json *j, const struct mz_profile *p)
{
	uint32_t n = mz_profile_frames(p);

	mz_json_object(j, "frameTable");
	mz_json_u64(j, "length", n);
	all_none(j, "address", n); /* only functions of a library that is listed in libs count */
	numbers(j, "inlineDepth", n, 0);
	numbers(j, "category", n, 0);
	numbers(j, "subcategory", n, 0);
	mz_json_array(j, "func");
	for (uint32_t i = 0; i < n; i++)
		mz_json_u64(j, NULL, i);
	mz_json_end_array(j);
	nulls(j, "nativeSymbol", n);
	nulls(j, "innerWindowID", n);
	nulls(j, "implementation", n);
	mz_json_array(j, "line");
	for (uint32_t i = 1; i <= n; i++) {
		uint32_t line = mz_profile_get_frame(p, i).line;

		number_or_null(j, line, line);
	}
	mz_json_end_array(j);
	nulls(j, "column", n);
	nulls(j, "optimizations", n);
	mz_json_end_object(j);
}

/* Node numbers begin with 1 here and with 0 in the file; no caller is null. */
static void put_stacks(struct mz_json *j, const struct stack_nodes *t)
{
	uint32_t n = mz_tables_stacks(t->nodes);
	size_t two;

	mz_json_object(j, "stackTable");
	mz_json_u64(j, "length", n);
	mz_json_array(j, "prefix");
	for (uint32_t i = 1; i <= n; i++) {
		uint64_t caller = mz_tables_get_stack(t->nodes, i, &two)[0];

		number_or_null(j, caller, caller - 1);
	}
	mz_json_end_array(j);
	mz_json_array(j, "frame");
	for (uint32_t i = 1; i <= n; i++)
		mz_json_u64(j, NULL, mz_tables_get_stack(t->nodes, i, &two)[1] - 1);
	mz_json_end_array(j);
	numbers(j, "category", n, 0);
	numbers(j, "subcategory", n, 0);
	mz_json_end_object(j);
}

/* One sample per stack; the times only give the order. */
static void put_samples(struct mz_json *j, const struct mz_profile *p, const struct stack_nodes *t,
			const struct mz_profile_value *v)
{
	uint64_t n = 0;

	for (size_t i = 0; i < p->nsites; i++)
		n += mz_profile_get(v, &p->sites[i].sum) != 0;
	mz_json_object(j, "samples");
	mz_json_u64(j, "length", n);
	mz_json_str(j, "weightType", v->bytes ? "bytes" : "samples");
	mz_json_array(j, "stack");
	for (size_t i = 0; i < p->nsites; i++)
		if (mz_profile_get(v, &p->sites[i].sum))
			mz_json_u64(j, NULL, t->leaf[i] - 1);
	mz_json_end_array(j);
	mz_json_array(j, "time");
	for (uint64_t i = 0; i < n; i++)
		mz_json_u64(j, NULL, i);
	mz_json_end_array(j);
	mz_json_array(j, "weight");
	for (size_t i = 0; i < p->nsites; i++)
		if (mz_profile_get(v, &p->sites[i].sum))
			mz_json_u64(j, NULL, mz_profile_get(v, &p->sites[i].sum));
	mz_json_end_array(j);
	mz_json_end_object(j);
}

/* The viewer requires these tables, also where they have no rows. */
static void put_empty(struct mz_json *j, const char *key, const char *const *columns)
{
	mz_json_object(j, key);
	mz_json_u64(j, "length", 0);
	for (; *columns; columns++)
		numbers(j, *columns, 0, 0);
	mz_json_end_object(j);
}

/* One thread per view is the only way to show several weights of the same stacks in this
 * viewer. */
static void put_thread(struct mz_json *j, const struct mz_profile *p, struct stack_nodes *t,
		       const struct mz_profile_value *v, size_t number)
{
	static const char *const markers[] = {"category", "data",      "endTime", "name",
					      "phase",	  "startTime", NULL};
	static const char *const resources[] = {"lib", "name", "host", "type", NULL};
	static const char *const symbols[] = {"address", "functionSize", "libIndex", "name", NULL};
	char pid[24];

	mz_json_object(j, NULL);
	mz_json_str(j, "processType", "default");
	mz_json_u64(j, "processStartupTime", 0);
	mz_json_null(j, "processShutdownTime");
	mz_json_u64(j, "registerTime", 0);
	mz_json_null(j, "unregisterTime");
	mz_json_array(j, "pausedRanges");
	mz_json_end_array(j);
	mz_json_str(j, "name", v->title);
	mz_json_str(j, "processName", mz_profile_title(p));
	mz_json_bool(j, "isMainThread", !number);
	snprintf(pid, sizeof(pid), "%llu", (unsigned long long)p->pid);
	/* this version of the format has texts as process numbers */
	mz_json_str(j, "pid", pid);
	mz_json_u64(j, "tid", p->pid + number);
	put_samples(j, p, t, v);
	put_empty(j, "markers", markers);
	put_stacks(j, t);
	put_frames(j, p);
	put_functions(j, p, t);
	put_empty(j, "resourceTable", resources);
	put_empty(j, "nativeSymbols", symbols);
	mz_json_array(j, "stringArray");
	for (uint32_t i = 1; i <= mz_tables_strings(t->strings); i++) {
		size_t n;
		const char *s = mz_tables_get_string(t->strings, i, &n);

		mz_json_strn(j, NULL, s, n);
	}
	mz_json_end_array(j);
	mz_json_end_object(j);
}

/* An old version is written on purpose: the viewer upgrades old profiles, and refuses ones
 * newer than itself. */
static void put_meta(struct mz_json *j, const struct mz_profile *p)
{
	mz_json_object(j, "meta");
	mz_json_u64(j, "interval", 1);
	mz_json_u64(j, "startTime", 0);
	mz_json_u64(j, "processType", 0);
	mz_json_str(j, "product", mz_profile_title(p));
	mz_json_str(j, "importedFrom", "memorizer " MZ_VERSION);
	mz_json_u64(j, "stackwalk", 1);
	mz_json_u64(j, "debug", 0);
	mz_json_u64(j, "version", 24);
	mz_json_u64(j, "preprocessedProfileVersion", VERSION);
	mz_json_bool(j, "symbolicated", true);
	mz_json_array(j, "categories");
	mz_json_object(j, NULL);
	mz_json_str(j, "name", "Other");
	mz_json_str(j, "color", "grey");
	mz_json_array(j, "subcategories");
	mz_json_str(j, NULL, "Other");
	mz_json_end_array(j);
	mz_json_end_object(j);
	mz_json_end_array(j);
	mz_json_array(j, "markerSchema");
	mz_json_end_array(j);
	mz_json_end_object(j);
}

int mz_export_firefox(const struct mz_profile *p, const struct mz_export_options *o,
		      struct mz_output *out, struct mz_error *err)
{
	const struct mz_profile_value *views[MZ_EXPORT_VIEWS];
	size_t n = mz_export_views(p, views, MZ_EXPORT_VIEWS);
	struct stack_nodes t = {.strings = mz_tables_new(), .nodes = mz_tables_new()};
	struct mz_buf b = {0};
	struct mz_json j = {.out = &b, .flat = true};

	(void)o;
	b.failed = !t.strings || !t.nodes || !grow_tree(&t, p);
	if (!b.failed) {
		mz_json_object(&j, NULL);
		put_meta(&j, p);
		mz_json_array(&j, "libs");
		mz_json_end_array(&j);
		mz_json_array(&j, "threads");
		for (size_t i = 0; i < n; i++)
			put_thread(&j, p, &t, views[i], i);
		mz_json_end_array(&j);
		mz_json_end_object(&j);
	}
	mz_tables_free(t.strings);
	mz_tables_free(t.nodes);
	free(t.leaf);
	return mz_export_put(&b, out, err);
}
