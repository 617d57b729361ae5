// SPDX-License-Identifier: BSD-2-Clause
/* Make the rows of a store from a recording. */
#include "store/item.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/profile_files.h"
#include "base/array.h"
#include "base/base_name.h"
#include "base/error.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "base/varint.h"

#define DAY	 86400000
#define DAYS_MAX 65535	/* of the engine's dates: 2149 */
#define FUTURE	 300000 /* ms that clocks may differ by */

/* ---- rows -------------------------------------------------------------------- */

/*
 * A name that the schema lacks would be a bug, and the search would run off the end. The names are
 * constants, and the tests use all of them.
 */
size_t mz_store_column(enum mz_store_table table, const char *name)
{
	size_t i = 0;

	while (strcmp(mz_store_schema[table].columns[i].name, name))
		i++;
	return i;
}

void mz_store_put_u64(struct mz_store_rows *rows, size_t column, uint64_t v)
{
	mz_buf_add(&rows->column[column], &v, sizeof(v));
}

/*
 * The length in groups of seven bits: it is what ClickHouse's Native format wants, so its blocks
 * are copies of these columns.
 */
void mz_store_put_text(struct mz_store_rows *rows, size_t column, const char *s, size_t n)
{
	mz_varint_put(&rows->column[column], n);
	mz_buf_add(&rows->column[column], s, n);
}

/* Names may contain any bytes; the store has UTF-8. */
static void put_name(struct mz_store_rows *rows, size_t column, const char *s)
{
	struct mz_buf b = {0};

	mz_utf8_add(&b, s, strlen(s));
	rows->column[column].failed |= b.failed;
	mz_store_put_text(rows, column, b.len ? b.data : "", b.len);
	mz_buf_free(&b);
}

/*
 * By name and not by position: the order of the columns and that of the values may change
 * separately.
 */
static void put_values(struct mz_store_rows *rows, size_t column, const struct mz_heap_sum *sum)
{
	const struct mz_store_column *c = mz_store_schema[MZ_STORE_SITE].columns;
	size_t n = mz_store_schema[MZ_STORE_SITE].n,
	       first = mz_store_column(MZ_STORE_SITE, "blocks");

	for (size_t i = first; i < n; i++)
		mz_store_put_u64(rows, column + i - first,
				 mz_profile_get(mz_profile_find_value(c[i].name), sum));
}

/* Buffers remember that memory ran out; they are checked once, at the end. */
static bool failed(const struct mz_store_item *item)
{
	for (int t = 0; t < MZ_STORE_TABLES; t++)
		for (int i = 0; i < MZ_STORE_COLUMNS; i++)
			if (item->rows[t].column[i].failed)
				return true;
	return false;
}

void mz_store_item_free(struct mz_store_item *item)
{
	for (int t = 0; t < MZ_STORE_TABLES; t++)
		for (int i = 0; i < MZ_STORE_COLUMNS; i++)
			mz_buf_free(&item->rows[t].column[i]);
	mz_pair_index_deinit(&item->frames);
	mz_pair_index_deinit(&item->stacks);
	mz_pair_index_deinit(&item->sites);
	mz_pair_index_deinit(&item->edges);
	free(item->program);
	memset(item, 0, sizeof(*item));
}

/* ---- names ------------------------------------------------------------------- */

/* As in `diff`: function and file without folders. Lines and addresses change with each build
 * and are no part of it. */
uint64_t mz_store_frame_id(const char *function, const char *file)
{
	struct mz_buf b = {0};
	uint64_t id = 0;

	mz_buf_add(&b, function, strlen(function) + 1);
	mz_buf_str(&b, file ? mz_base_name(file) : "");
	if (!b.failed)
		id = mz_sha256_u64(b.data, b.len);
	mz_buf_free(&b);
	return id;
}

/*
 * The first line of a frame that is seen is kept: it shows where the function was, and is no
 * part of its identity.
 */
uint64_t mz_store_item_name(struct mz_store_item *item, const struct mz_frame *f)
{
	const char *name = f->named ? f->name : "(unknown)";
	struct mz_store_rows *rows = &item->rows[MZ_STORE_FRAME];
	uint64_t id = mz_store_frame_id(name, f->file);
	uint32_t number = mz_pair_index_put(&item->frames, id, 0);

	if (!id || number == MZ_PAIR_INDEX_NONE)
		return 0;
	if (number == rows->n) {
		mz_store_put_u64(rows, 0, id);
		put_name(rows, 1, name);
		put_name(rows, 2, f->file ? f->file : "");
		put_name(rows, 3, f->module ? f->module : "");
		mz_store_put_u64(rows, 4, f->line);
		rows->n++;
	}
	return id;
}

/* ---- stacks and sites ---------------------------------------------------------- */

struct sum_row {
	uint64_t site, stack;
	struct mz_heap_sum sum;
};

struct making {
	struct mz_store_item *item;
	const struct mz_profile *p;
	uint64_t *frame_ids; /* by number of the profile's frame */
	struct sum_row *stacks, *sites;
	size_t cap_stacks, cap_sites;
	struct mz_buf frames;
};

static int name_frames(struct making *m)
{
	uint32_t n = mz_profile_frames(m->p);

	m->frame_ids = calloc((size_t)n + 1, sizeof(*m->frame_ids));
	for (uint32_t i = 1; m->frame_ids && i <= n; i++) {
		struct mz_frame f = mz_profile_get_frame(m->p, i);

		m->frame_ids[i] = mz_store_item_name(m->item, &f);
		if (!m->frame_ids[i])
			return -ENOMEM;
	}
	return m->frame_ids ? 0 : -ENOMEM;
}

/* Each frame is 8 bytes, the most significant first, so that hex() shows its number. */
static int number_stack(struct making *m, const struct mz_profile_site *s, uint64_t *stack,
			uint64_t *site)
{
	size_t depth;
	const uint64_t *frames = mz_profile_stack(m->p, s, &depth);
	size_t place = mz_profile_place(m->p, s);

	m->frames.len = 0;
	for (size_t i = 0; i < depth; i++) {
		uint64_t id = __builtin_bswap64(m->frame_ids[frames[i]]);

		mz_buf_add(&m->frames, &id, sizeof(id));
	}
	if (m->frames.failed)
		return -ENOMEM;
	*site = m->frame_ids[frames[place]];
	*stack = mz_sha256_u64(m->frames.data, m->frames.len);
	return 0;
}

/*
 * Several stacks of a profile may have one number here, if they differ in lines alone: their
 * values are added up.
 */
static int add_sum(struct mz_pair_index *ix, struct sum_row **rows, size_t *cap,
		   const struct sum_row *add, uint64_t key)
{
	uint32_t n = mz_pair_index_put(ix, key, 0);

	if (n == MZ_PAIR_INDEX_NONE || !mz_array_room((void **)rows, cap, n, sizeof(**rows)))
		return -ENOMEM;
	(*rows)[n].site = add->site;
	(*rows)[n].stack = add->stack;
	mz_heap_sum_add(&(*rows)[n].sum, &add->sum);
	return 0;
}

static int add_stack(struct making *m, const struct mz_profile_site *s)
{
	struct mz_store_rows *rows = &m->item->rows[MZ_STORE_STACK];
	struct sum_row row = {.sum = s->sum};
	int ret = number_stack(m, s, &row.stack, &row.site);

	if (!ret)
		ret = add_sum(&m->item->stacks, &m->stacks, &m->cap_stacks, &row, row.stack);
	if (!ret)
		ret = add_sum(&m->item->sites, &m->sites, &m->cap_sites, &row, row.site);
	if (!ret && m->item->stacks.count > rows->n) {
		mz_store_put_u64(rows, 0, row.stack);
		mz_store_put_u64(rows, 1, row.site);
		mz_store_put_text(rows, 2, m->frames.data, m->frames.len);
		rows->n++;
	}
	return ret;
}

static int by_place(const void *x, const void *y)
{
	const struct sum_row *a = x, *b = y;

	return MZ_ORDER(a->site, b->site) ?: MZ_ORDER(a->stack, b->stack);
}

/* Sorted as the server keeps them: it then has less to sort. */
static void put_sums(struct making *m)
{
	struct mz_store_rows *stacks = &m->item->rows[MZ_STORE_PROFILE];
	struct mz_store_rows *sites = &m->item->rows[MZ_STORE_SITE];
	size_t ns = m->item->stacks.count, nc = m->item->sites.count;
	size_t site = mz_store_column(MZ_STORE_PROFILE, "site");
	size_t stack = mz_store_column(MZ_STORE_PROFILE, "stack");
	size_t of_site = mz_store_column(MZ_STORE_SITE, "site");

	if (ns)
		qsort(m->stacks, ns, sizeof(*m->stacks), by_place);
	if (nc)
		qsort(m->sites, nc, sizeof(*m->sites), by_place);
	for (size_t i = 0; i < ns; i++, stacks->n++) {
		mz_store_put_u64(stacks, site, m->stacks[i].site);
		mz_store_put_u64(stacks, stack, m->stacks[i].stack);
		put_values(stacks, mz_store_column(MZ_STORE_PROFILE, "blocks"), &m->stacks[i].sum);
	}
	for (size_t i = 0; i < nc; i++, sites->n++) {
		mz_store_put_u64(sites, of_site, m->sites[i].site);
		put_values(sites, mz_store_column(MZ_STORE_SITE, "blocks"), &m->sites[i].sum);
	}
}

static int add_profile(struct mz_store_item *item, const struct mz_profile *p, struct mz_error *err)
{
	struct making m = {.item = item, .p = p};
	int ret = name_frames(&m);

	for (size_t i = 0; i < p->nsites && !ret; i++)
		ret = add_stack(&m, &p->sites[i]);
	if (!ret)
		put_sums(&m);
	free(m.frame_ids);
	free(m.stacks);
	free(m.sites);
	mz_buf_free(&m.frames);
	return ret ? mz_fail_memory(err) : 0;
}

/* The moments of a profile are those of its highest levels; their times are their keys. Before the
 * first time of a trace, moments are numbers of events, which are all the beginning here. */
static void add_timeline(struct mz_store_item *item, const struct mz_profile *p)
{
	struct mz_store_rows *rows = &item->rows[MZ_STORE_TIMELINE];
	size_t t = mz_store_column(MZ_STORE_TIMELINE, "t");
	uint64_t last = 0;

	for (unsigned i = 0; p->timeline && i < p->timeline->used; i++) {
		const struct mz_timeline_bin *b = &p->timeline->bins[i];
		uint64_t since = b->at > p->first ? b->at - p->first : 0;

		if (rows->n && since <= last)
			continue;
		last = since;
		mz_store_put_u64(rows, t, since);
		mz_store_put_u64(rows, t + 1, b->live);
		mz_store_put_u64(rows, t + 2, b->blocks);
		mz_store_put_u64(rows, t + 3, b->waste);
		rows->n++;
	}
}

/* ---- the recording's own row ----------------------------------------------------- */

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "\nkey=value\nkey=value\n": sorted, so that the order given does not matter. own: a label of
 * ours; NULL = none. */
static int join_labels(struct mz_buf *b, const struct mz_store_about *about, const char *own,
		       struct mz_error *err)
{
	const char **sorted = calloc(about->nlabels + 1, sizeof(*sorted));
	size_t n = about->nlabels;

	if (!sorted)
		return mz_fail_memory(err);
	for (size_t i = 0; i < n; i++)
		sorted[i] = about->labels[i];
	if (own)
		sorted[n++] = own;
	qsort(sorted, n, sizeof(*sorted), compare_texts);
	for (size_t i = 0; i < n; i++)
		mz_buf_printf(b, "\n%s%s", sorted[i], i + 1 == n ? "\n" : "");
	mz_buf_add(b, "", 1);
	free(sorted);
	return b->failed ? mz_fail_memory(err) : 0;
}

/* The recording's own row, from the options or from the recording itself. */
struct own {
	const char *program, *revision, *host, *labels, *path;
	uint64_t time;
};

/* The content and the sender's description: the same file of two hosts is two recordings. */
static int make_digest(struct mz_store_item *item, const struct own *o, const char *path,
		       struct mz_error *err)
{
	const char *const parts[] = {o->program, o->revision, o->host, o->labels};
	unsigned char content[32], out[32];
	struct mz_sha256 s;
	int ret = mz_store_digest(path, content, err);

	if (ret)
		return ret;
	mz_sha256_init(&s);
	mz_sha256_add(&s, content, sizeof(content));
	for (size_t i = 0; i < 4; i++)
		mz_sha256_add(&s, parts[i], strlen(parts[i]) + 1);
	mz_sha256_end(&s, out);
	for (int i = 0; i < MZ_STORE_DIGEST / 2; i++)
		sprintf(item->digest + 2 * i, "%02x", out[i]);
	return 0;
}

static void put_own(struct mz_store_item *item, const struct own *o, const struct mz_profile *p,
		    uint64_t now)
{
	static const char *const kinds[] = {"user", "kernel", "kmap", "allocinfo"};
	const struct {
		const char *name, *text;
		uint64_t n;
	} cells[] = {
		{"digest", item->digest, 0},
		{"revision", o->revision, 0},
		{"host", o->host, 0},
		{"kind", kinds[p->kind], 0},
		{"source", p->source ? p->source : "", 0},
		{"path", o->path, 0},
		{"labels", o->labels, 0},
		{"clock", mz_clock_name(p->clock), 0},
		{"time", NULL, o->time},
		{"stored", NULL, now},
		{"duration", NULL, p->last > p->first ? p->last - p->first : 0},
		{"known", NULL, p->has},
		{"events", NULL, p->events},
		{"lost", NULL, p->lost},
		{"rows", NULL, item->rows[MZ_STORE_PROFILE].n},
	};
	struct mz_store_rows *rows = &item->rows[MZ_STORE_RECORDING];

	for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++) {
		size_t c = mz_store_column(MZ_STORE_RECORDING, cells[i].name);

		if (cells[i].text)
			put_name(rows, c, cells[i].text);
		else
			mz_store_put_u64(rows, c, cells[i].n);
	}
	put_values(rows, mz_store_column(MZ_STORE_RECORDING, "blocks"), &p->all);
	rows->n = 1;
}

/* A time in the future would be the newest of all for years. */
static int check_time(const char *path, uint64_t time, uint64_t now, struct mz_error *err)
{
	if (time > now + FUTURE)
		return mz_fail(
			err, ERANGE,
			"%s: was made %llu s in the future: the clock of this machine, or of "
			"the one that recorded it, is wrong; --recorded says when it was",
			path, (unsigned long long)(time - now) / 1000);
	if (time / DAY > DAYS_MAX)
		return mz_fail(err, ERANGE, "%s: a time after 2149", path);
	return 0;
}

/* A file that says nothing of its time was recorded when it was written. */
static int look_at_file(const char *path, const struct stat *st, uint64_t *time,
			struct mz_error *err)
{
	if (*time)
		return 0;
	if (st->st_mtime < 0)
		return mz_fail(
			err, ERANGE,
			"%s: the date of the file is before 1970; --recorded says when it was "
			"recorded",
			path);
	*time = (uint64_t)st->st_mtime * 1000 + (uint64_t)st->st_mtim.tv_nsec / 1000000;
	return 0;
}

/* ---- all of it --------------------------------------------------------------------- */

/* A KMAP is read once, and gives both its profile and its edges. */
static int read_kmap(struct mz_store_item *item, struct mz_recording *r, struct mz_error *err)
{
	struct mz_recording_model how = {.by = MZ_KMAP_BY_FUNCTION, .types = true};
	struct mz_kmap_model m;
	int ret = mz_recording_model(r, &how, &m, err);

	if (!ret)
		ret = mz_profile_of_kmap(&r->profile, &m, err);
	if (!ret) {
		r->read = true;
		ret = mz_store_item_edges(item, &m, err);
	}
	mz_kmap_model_deinit(&m);
	return ret;
}

/* That a recording ends early is a label, so that all lists of the store show it. The digest is
 * without it: it is about the file and what the sender said. */
static int add_early_end(struct mz_buf *labels, const struct mz_store_about *about,
			 const struct mz_profile *p, struct mz_error *err)
{
	char own[32];

	if (!p->files_cut)
		return 0;
	snprintf(own, sizeof(own), "files_cut=%u", p->files_cut);
	labels->len = 0;
	return join_labels(labels, about, own, err);
}

static int describe(struct mz_store_item *item, struct mz_recording *r, const char *path,
		    const struct mz_store_about *about, struct mz_error *err)
{
	const char *host = r->events ? mz_events_text(r->events, "host") : NULL;
	char name[256], *full = realpath(path, NULL);
	struct own o = {.program = about->program
					   ? about->program
					   : mz_profile_program(&r->profile, name, sizeof(name)),
			.revision = about->revision ? about->revision : "",
			.host = about->host ? about->host
				: host	    ? host
					    : "",
			.path = full ? full : path,
			.time = about->time};
	struct mz_buf labels = {0};
	struct stat st;
	int ret = join_labels(&labels, about, NULL, err);

	if (!ret && !stat(path, &st))
		ret = look_at_file(path, &st, &o.time, err);
	o.labels = labels.data;
	if (!ret)
		ret = check_time(path, o.time, about->now, err);
	if (!ret)
		ret = make_digest(item, &o, path, err);
	if (!ret)
		ret = add_early_end(&labels, about, &r->profile, err);
	o.labels = labels.data;
	if (!ret) {
		item->day = o.time / DAY;
		item->program = strdup(o.program);
		put_own(item, &o, &r->profile, about->now);
		if (!item->program || failed(item))
			ret = mz_fail_memory(err);
	}
	mz_buf_free(&labels);
	free(full);
	return ret;
}

int mz_store_item_make(struct mz_store_item *item, struct mz_recording *r, const char *path,
		       const struct mz_store_about *about, struct mz_error *err)
{
	const struct mz_profile *p;
	int ret = 0;

	memset(item, 0, sizeof(*item));
	if (r->kind == MZ_RECORDING_KMAP)
		ret = read_kmap(item, r, err);
	p = ret ? NULL : mz_recording_profile(r, err);
	if (!p)
		return ret ? ret : mz_error_code(err);
	ret = add_profile(item, p, err);
	if (ret)
		return ret;
	add_timeline(item, p);
	return describe(item, r, path, about, err);
}
