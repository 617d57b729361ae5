// SPDX-License-Identifier: BSD-2-Clause
/* Read DHAT's JSON, version 2, from Valgrind, dhat-rs or `export`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile_files.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/json_read.h"

#define DEPTH_MAX 4096 /* frames of a stack */

/* A program point: the stack's frames are known only at the end of the file. */
struct program_point {
	struct mz_heap_sum sum;
	size_t frames; /* where they begin */
	uint32_t depth;
};

struct dhat_import {
	struct mz_profile *p;
	struct mz_json_reader json;
	struct mz_error *err;
	struct mz_buf points;  /* struct program_point */
	struct mz_buf indexes; /* uint32_t: frames of the file */
	struct mz_buf table;   /* uint64_t: frames of the profile */
	uint64_t scale;	       /* of times */
	bool version, lifetimes;
	struct mz_heap_sum all; /* merged: of the whole */
};

static int wrong(struct dhat_import *j, const char *what)
{
	uint64_t at = mz_input_tell(j->json.in);

	return mz_fail_offset(j->err, EINVAL, at, "%s: byte %llu: not a DHAT file: %s",
			      j->json.in->name, (unsigned long long)at, what);
}

/* DHAT writes integers only. A fraction here is another file, or a damaged one. */
static int get_number(struct dhat_import *j, uint64_t *v)
{
	int piece = mz_json_read(&j->json, j->err);

	if (piece < 0)
		return piece;
	if (piece != MZ_JSON_NUMBER || !j->json.whole)
		return wrong(j, "expected an integer");
	*v = j->json.number;
	return 0;
}

/* ---- program points ----------------------------------------------------- */

static const struct {
	const char *key;
	size_t offset;
	bool time;
} sums[] = {
	{"tb", offsetof(struct mz_heap_sum, bytes), false},
	{"tbk", offsetof(struct mz_heap_sum, blocks), false},
	{"tl", offsetof(struct mz_heap_sum, lifetime), true},
	{"mb", offsetof(struct mz_heap_sum, max_bytes), false},
	{"mbk", offsetof(struct mz_heap_sum, max_blocks), false},
	{"gb", offsetof(struct mz_heap_sum, peak_bytes), false},
	{"gbk", offsetof(struct mz_heap_sum, peak_blocks), false},
	{"eb", offsetof(struct mz_heap_sum, live_bytes), false},
	{"ebk", offsetof(struct mz_heap_sum, live_blocks), false},
	{"rb", offsetof(struct mz_heap_sum, reads), false},
	{"wb", offsetof(struct mz_heap_sum, writes), false},
};

/* The table of frames comes after the points, so indexes are kept until it is known how many there
 * are. */
static int get_frames(struct dhat_import *j, struct program_point *pt)
{
	int piece = mz_json_read(&j->json, j->err);

	pt->frames = j->indexes.len / sizeof(uint32_t);
	if (piece < 0)
		return piece;
	if (piece != MZ_JSON_ARRAY)
		return wrong(j, "fs should be an array");
	while ((piece = mz_json_read(&j->json, j->err)) == MZ_JSON_NUMBER) {
		uint32_t index = (uint32_t)j->json.number;

		if (!j->json.whole || j->json.number > UINT32_MAX)
			return wrong(j, "not the number of a frame");
		if (pt->depth++ == DEPTH_MAX)
			return wrong(j, "a stack of more than 4096 frames");
		mz_buf_add(&j->indexes, &index, sizeof(index));
	}
	if (piece >= 0 && piece != MZ_JSON_ARRAY_END)
		return wrong(j, "fs should hold numbers");
	return piece < 0 ? piece : 0;
}

/* An array of n numbers, as `merge` writes them. */
/* The last of them may be missing: more were added since. */
static int get_numbers(struct dhat_import *j, uint64_t *v, size_t n, size_t least)
{
	int piece = mz_json_read(&j->json, j->err);

	if (piece >= 0 && piece != MZ_JSON_ARRAY)
		return wrong(j, "mz should be an array");
	for (size_t i = 0; i < n && piece >= 0; i++) {
		piece = mz_json_read(&j->json, j->err);
		if (piece == MZ_JSON_ARRAY_END && i >= least)
			return 0;
		if (piece >= 0 && (piece != MZ_JSON_NUMBER || !j->json.whole))
			return wrong(j, "mz should hold numbers");
		v[i] = j->json.number;
	}
	if (piece >= 0)
		piece = mz_json_read(&j->json, j->err);
	if (piece >= 0 && piece != MZ_JSON_ARRAY_END)
		return wrong(j, "mz holds too many numbers");
	return piece < 0 ? piece : 0;
}

/* All values, in the order of mz_profile_values. */
static int get_all(struct dhat_import *j, struct mz_heap_sum *sum)
{
	uint64_t v[sizeof(*sum) / sizeof(uint64_t)];
	int ret = get_numbers(j, v, mz_profile_nvalues, mz_profile_nvalues);

	for (size_t i = 0; i < mz_profile_nvalues && !ret; i++)
		*(uint64_t *)(void *)((char *)sum + mz_profile_values[i].offset) = v[i];
	return ret;
}

/* What was left out by sampling is not lost: other events stand for it. */
static void set_lost(struct mz_profile *p, const uint64_t by_cause[MZ_LOSSES])
{
	p->lost = 0;
	for (int i = 0; i < MZ_LOSSES; i++) {
		p->lost_by[i] = by_cause[i];
		p->lost += i != MZ_LOSS_SAMPLED ? by_cause[i] : 0;
	}
}

static int get_merged(struct dhat_import *j)
{
	enum { COUNT, KIND, HAS, CLOCK, EVENTS, LOST, N = LOST + MZ_LOSSES };
	struct mz_profile *p = j->p;
	uint64_t v[N] = {0};
	int ret = get_numbers(j, v, N, LOST + MZ_LOSS_SAMPLED);

	if (ret)
		return ret;
	if (v[KIND] > MZ_PROFILE_ALLOCINFO || v[CLOCK] > MZ_CLOCK_INSTRUCTIONS || !v[COUNT])
		return wrong(j, "the head of a merged profile is damaged");
	p->merged = v[COUNT];
	p->kind = (enum mz_profile_kind)v[KIND];
	p->has = (uint32_t)v[HAS];
	p->clock = (enum mz_clock)v[CLOCK];
	p->events = v[EVENTS];
	set_lost(p, v + LOST);
	return 0;
}

static int get_lost(struct dhat_import *j)
{
	uint64_t v[MZ_LOSSES] = {0};
	int ret = get_numbers(j, v, MZ_LOSSES, MZ_LOSS_SAMPLED);

	if (!ret)
		set_lost(j->p, v);
	return ret;
}

static int get_files_cut(struct dhat_import *j)
{
	uint64_t files = 0;
	int ret = get_number(j, &files);

	j->p->files_cut = files < UINT32_MAX ? (unsigned)files : UINT32_MAX;
	return ret;
}

/* Members that we do not know are skipped: later versions may add some. */
static int get_member(struct dhat_import *j, struct program_point *pt)
{
	const char *name = j->json.text.data;

	if (!strcmp(name, "fs"))
		return get_frames(j, pt);
	if (!strcmp(name, "mz"))
		return get_all(j, &pt->sum);
	for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++)
		if (!strcmp(name, sums[i].key)) {
			uint64_t *to = (uint64_t *)(void *)((char *)&pt->sum + sums[i].offset);
			int ret = get_number(j, to);

			*to *= sums[i].time ? j->scale : 1;
			return ret;
		}
	return mz_json_skip(&j->json, MZ_JSON_KEY, j->err);
}

static int get_points(struct dhat_import *j)
{
	int piece = mz_json_read(&j->json, j->err);

	if (piece >= 0 && piece != MZ_JSON_ARRAY)
		return wrong(j, "pps should be an array");
	while (piece >= 0 && (piece = mz_json_read(&j->json, j->err)) == MZ_JSON_OBJECT) {
		struct program_point pt = {0};

		while ((piece = mz_json_read(&j->json, j->err)) == MZ_JSON_KEY) {
			int ret = get_member(j, &pt);

			if (ret < 0)
				return ret;
		}
		mz_buf_add(&j->points, &pt, sizeof(pt));
		if (j->points.failed || j->indexes.failed)
			return mz_fail_memory(j->err);
	}
	if (piece >= 0 && piece != MZ_JSON_ARRAY_END)
		return wrong(j, "pps should hold objects");
	return piece < 0 ? piece : 0;
}

/* ---- frames ------------------------------------------------------------- */

/* Cuts ":NUMBER" off the end; false: there is none. */
static bool cut_number(char *s, uint32_t *v)
{
	char *colon = strrchr(s, ':');
	uint64_t n;

	if (!colon ||
	    !mz_cursor_whole_u64((struct mz_cursor){colon + 1, colon + strlen(colon)}, &n) ||
	    n > UINT32_MAX)
		return false;
	*v = (uint32_t)n;
	*colon = '\0';
	return true;
}

/* "0x4AA1D9F: parse (json.c:332)", "... (json.rs:332:9)", "... (in /lib/libjson.so)" */
static uint32_t make_frame(struct dhat_import *j, char *s, size_t len)
{
	struct mz_cursor c = {s, s + len};
	char *name = s, *open, *file = NULL, *module = NULL;
	uint64_t addr = 0;
	uint32_t line = 0, column;

	for (size_t i = 0; i < len; i++) /* they are C strings from here on */
		if (!s[i])
			s[i] = ' ';
	if (len > 2 && s[0] == '0' && s[1] == 'x' && mz_cursor_hex(&c, &addr) &&
	    mz_cursor_skip(&c, ": "))
		name = s + (c.p - s);
	else
		addr = 0;
	len = strlen(name);
	open = len && name[len - 1] == ')' ? strrchr(name, '(') : NULL;
	if (open && open > name + 1 && open[-1] == ' ') {
		name[len - 1] = '\0';
		open[-1] = '\0';
		if (!strncmp(open + 1, "in ", 3)) {
			module = open + 4;
		} else {
			file = open + 1;
			if (cut_number(file, &line) && cut_number(file, &column))
				line = column; /* the last one was the column */
		}
	}
	return mz_profile_frame(j->p, addr, *name ? name : "?", file, line, module);
}

static int get_table(struct dhat_import *j)
{
	int piece = mz_json_read(&j->json, j->err);

	if (piece >= 0 && piece != MZ_JSON_ARRAY)
		return wrong(j, "ftbl should be an array");
	while (piece >= 0 && (piece = mz_json_read(&j->json, j->err)) == MZ_JSON_STRING) {
		uint64_t frame = make_frame(j, j->json.text.data, j->json.text.len);

		mz_buf_add(&j->table, &frame, sizeof(frame));
		if (!frame || j->table.failed)
			return mz_fail_memory(j->err);
	}
	if (piece >= 0 && piece != MZ_JSON_ARRAY_END)
		return wrong(j, "ftbl should hold strings");
	return piece < 0 ? piece : 0;
}

/* ---- all of it ---------------------------------------------------------- */

static int get_text(struct dhat_import *j, char **to)
{
	int piece = mz_json_read(&j->json, j->err);

	if (piece < 0)
		return piece;
	if (piece != MZ_JSON_STRING)
		return wrong(j, "expected a string");
	free(*to);
	*to = strdup(j->json.text.data);
	return *to ? 0 : mz_fail_memory(j->err);
}

static int get_flag(struct dhat_import *j, bool *to)
{
	int piece = mz_json_read(&j->json, j->err);

	if (piece >= 0 && piece != MZ_JSON_TRUE && piece != MZ_JSON_FALSE)
		return wrong(j, "expected true or false");
	*to = piece == MZ_JSON_TRUE;
	return piece < 0 ? piece : 0;
}

/* The unit decides the clock; everything that is no known unit is a time. */
static int get_unit(struct dhat_import *j)
{
	char *unit = NULL;
	int ret = get_text(j, &unit);

	if (!ret) {
		j->p->clock = !strcmp(unit, "events")	? MZ_CLOCK_EVENTS
			      : !strcmp(unit, "instrs") ? MZ_CLOCK_INSTRUCTIONS
							: MZ_CLOCK_NS;
		if (!strcmp(unit, "\xc2\xb5s") || !strcmp(unit, "us"))
			j->scale = 1000;
	}
	free(unit);
	return ret;
}

static int get_top(struct dhat_import *j)
{
	const char *name = j->json.text.data;
	uint64_t version = 0;
	bool flag = false;
	int ret;

	if (!strcmp(name, "dhatFileVersion")) {
		ret = get_number(j, &version);
		if (!ret && version != 2)
			return wrong(j, "its version is not 2, the one that can be read");
		j->version = true;
		return ret;
	}
	if (!strcmp(name, "bklt")) {
		ret = get_flag(j, &flag);
		j->lifetimes = flag;
		j->p->has |= flag ? MZ_PROFILE_PEAK | MZ_PROFILE_LIVE | MZ_PROFILE_LIFETIME : 0;
		return ret;
	}
	if (!strcmp(name, "bkacc")) {
		ret = get_flag(j, &flag);
		j->p->has |= flag ? MZ_PROFILE_ACCESS : 0;
		return ret;
	}
	if (!strcmp(name, "tu"))
		return get_unit(j);
	if (!strcmp(name, "cmd"))
		return get_text(j, &j->p->command);
	if (!strcmp(name, "pid"))
		return get_number(j, &j->p->pid);
	if (!strcmp(name, "te"))
		return get_number(j, &j->p->last);
	if (!strcmp(name, "tg"))
		return get_number(j, &j->p->peak_time);
	if (!strcmp(name, "mz"))
		return get_merged(j);
	if (!strcmp(name, "mzcut"))
		return get_files_cut(j);
	if (!strcmp(name, "mzlost"))
		return get_lost(j);
	if (!strcmp(name, "mzall"))
		return get_all(j, &j->all);
	if (!strcmp(name, "pps"))
		return get_points(j);
	if (!strcmp(name, "ftbl"))
		return get_table(j);
	return mz_json_skip(&j->json, MZ_JSON_KEY, j->err);
}

static int make_sites(struct dhat_import *j)
{
	size_t n = j->points.len / sizeof(struct program_point),
	       known = j->table.len / sizeof(uint64_t);

	for (size_t i = 0; i < n; i++) {
		uint64_t frames[DEPTH_MAX];
		struct mz_profile_site *s;
		struct program_point pt;

		memcpy(&pt, j->points.data + i * sizeof(pt), sizeof(pt));
		for (uint32_t k = 0; k < pt.depth; k++) {
			uint32_t index;

			memcpy(&index, j->indexes.data + (pt.frames + k) * sizeof(index),
			       sizeof(index));
			if (index >= known)
				return mz_fail(j->err, EINVAL,
					       "%s: program point %zu names frame %u, and "
					       "ftbl has %zu: the file is damaged",
					       j->json.in->name, i, index, known);
			memcpy(&frames[k], j->table.data + index * sizeof(*frames),
			       sizeof(*frames));
		}
		s = mz_profile_site(j->p, frames, pt.depth);
		if (!s)
			return mz_fail_memory(j->err);
		mz_heap_sum_add(&s->sum, &pt.sum);
		mz_heap_sum_add(&j->p->all, &pt.sum);
	}
	return 0;
}

int mz_dhat_read(struct mz_profile *p, struct mz_input *in, struct mz_error *err)
{
	struct dhat_import j = {.p = p, .err = err, .scale = 1};
	int piece, ret;

	p->source = "dhat";
	p->has = MZ_PROFILE_TOTAL;
	mz_json_reader_init(&j.json, in);
	piece = mz_json_read(&j.json, err);
	ret = piece < 0 ? piece : piece == MZ_JSON_OBJECT ? 0 : wrong(&j, "it is not an object");
	while (!ret && (piece = mz_json_read(&j.json, err)) == MZ_JSON_KEY)
		ret = get_top(&j);
	if (!ret && piece >= 0)
		piece = mz_json_read(&j.json, err); /* nothing may follow */
	if (!ret)
		ret = piece < 0	  ? piece
		      : j.version ? make_sites(&j)
				  : wrong(&j, "no dhatFileVersion");
	if (!ret && p->merged)
		p->all = j.all;
	p->last *= j.scale;
	p->peak_time *= j.scale;
	mz_json_reader_deinit(&j.json);
	mz_buf_free(&j.points);
	mz_buf_free(&j.indexes);
	mz_buf_free(&j.table);
	return ret;
}
