// SPDX-License-Identifier: BSD-2-Clause
/* Decode a chunk into events. */
#include <errno.h>
#include <stdlib.h>

#include "trace/addr_predict.h"
#include "trace/chunk.h"
#include "trace/live_rank.h"

/* Most events are of one of these, and have nothing more to them. */
enum plain { NOT_PLAIN, PLAIN_BIRTH, PLAIN_END, PLAIN_MOVE };

/* A pattern made ready: the event as far as the pattern knows it. */
struct ready {
	struct mz_event event;
	uint16_t form;
	uint8_t plain; /* enum plain */
	bool who, timed;
	uint32_t block;
	struct mz_who mask; /* the fields that are known: all ones */
	struct mz_room fit; /* of its size, if that is the pattern's */
};

/* Where a block of the chunk is; only in chunks with addresses. */
struct entry {
	uint64_t addr;
	uint32_t class; /* of its size; 0: a guest's, unknown */
};

struct mz_decoder {
	struct mz_chunk_info info;
	struct mz_packer packer;
	struct mz_codec_column columns[MZ_COLUMNS];
	uint32_t at[MZ_COLUMNS]; /* the next number of each */
	struct ready *patterns;
	struct mz_who *whos;
	struct entry *entries; /* by position */
	uint64_t *objects;
	uint32_t cap_patterns, cap_whos, cap_context, cap_entries, cap_objects;
	uint32_t counted;    /* from here on objects are counted without a check */
	uint64_t count_from; /* object - position of those */
	struct mz_live_rank ranks;
	uint32_t site; /* of the pattern before that has one */
	struct mz_addr_predict *places;
	uint16_t *context;
	uint32_t often, once, guests, n_whos;
	uint32_t done; /* events */
	uint32_t births;
	uint32_t next_once;
	uint64_t next_object;
	uint64_t time;
	uint64_t last_size;
	uint64_t last_addr, last_object; /* strays */
	const char *why;
};

struct mz_decoder *mz_decoder_new(void)
{
	struct mz_decoder *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->places = mz_addr_predict_new();
	if (!d->places) {
		free(d);
		return NULL;
	}
	return d;
}

void mz_decoder_free(struct mz_decoder *d)
{
	if (!d)
		return;
	for (int i = 0; i < MZ_COLUMNS; i++)
		mz_codec_column_free(&d->columns[i]);
	free(d->patterns);
	free(d->whos);
	free(d->entries);
	free(d->objects);
	free(d->context);
	mz_live_rank_deinit(&d->ranks);
	mz_addr_predict_free(d->places);
	mz_packer_deinit(&d->packer);
	free(d);
}

const struct mz_chunk_info *mz_decoder_info(const struct mz_decoder *d)
{
	return &d->info;
}

const char *mz_decoder_why(const struct mz_decoder *d)
{
	return d->why ? d->why : "nothing is wrong";
}

/* What every decoder has (tables of addresses, zstd), and what mixing adds. */
#define FIXED  (1u << 20)
#define MIXING (8u << 20)
/* A block that ended leaves a free place; bits and ranks of it are among this. */
#define PLACE  32u

size_t mz_decoder_memory(const struct mz_decoder *d)
{
	size_t n = FIXED + (d->packer.cm ? MIXING : 0) + d->packer.a.cap + d->packer.b.cap;

	for (int i = 0; i < MZ_COLUMNS; i++)
		n += d->columns[i].cap * sizeof(*d->columns[i].v);
	n += d->cap_patterns * sizeof(*d->patterns);
	n += d->cap_whos * sizeof(*d->whos);
	n += d->cap_context * sizeof(*d->context);
	n += d->cap_entries * (sizeof(*d->entries) + PLACE);
	return n + d->cap_objects * sizeof(*d->objects);
}

static int bad(struct mz_decoder *d, const char *why)
{
	d->why = why;
	return -EBADMSG;
}

/* ---- columns ------------------------------------------------------------ */

/* The next number of a column; an absent column is all zeros. A column that is
 * too short gives zeros too, and the end of the chunk shows it. */
static inline uint64_t next(struct mz_decoder *d, enum mz_column_id id)
{
	struct mz_codec_column *c = &d->columns[id];

	return d->at[id]++ < c->n ? c->v[d->at[id] - 1] : 0;
}

static inline uint64_t peek(const struct mz_decoder *d, enum mz_column_id id)
{
	return d->at[id] < d->columns[id].n ? d->columns[id].v[d->at[id]] : 0;
}

static uint64_t pattern_number(const struct mz_decoder *d, enum mz_column_id id, uint32_t i)
{
	return i < d->columns[id].n ? d->columns[id].v[i] : 0;
}

static bool is_mixed(const struct mz_bytes *in)
{
	struct mz_bytes ahead = *in;

	mz_bytes_number(&ahead);
	return mz_bytes_number(&ahead) == MZ_CODEC_MIXED;
}

/* Which events have a number in a column: those whose pattern says so. */
static bool has_number(const struct ready *r, unsigned id)
{
	bool own = r->form & MZ_FORM_OWN, born = r->form & MZ_FORM_BIRTH;
	uint16_t has = r->event.has;

	switch (id) {
	case MZ_COL_WHO: return has & MZ_WHO_FIELDS;
	case MZ_COL_TIME: return has & MZ_HAS_TIME;
	case MZ_COL_STEP: return r->form & MZ_FORM_BLOCK && !r->block;
	case MZ_COL_OWN_SIZE: return own;
	case MZ_COL_OWN_ARG: return own;
	case MZ_COL_OWN_GIVEN: return own && has & MZ_HAS_GIVEN;
	case MZ_COL_PLACE: return born && has & MZ_HAS_ADDR;
	}
	return false;
}

/* The tokens that go with the numbers of a column. */
static uint32_t find_context(struct mz_decoder *d, unsigned id)
{
	const struct mz_codec_column *tokens = &d->columns[MZ_COL_TOKEN];
	uint32_t n = 0, once = 0, place = 0;

	for (uint32_t i = 0; i < d->info.events; i++) {
		uint32_t token = i < tokens->n ? (uint32_t)tokens->v[i] : 0;
		uint32_t p = token < d->often ? token : d->often + once++;

		if (p >= d->often + d->once)
			break;
		if (id == MZ_COL_ADDR) {
			if (has_number(&d->patterns[p], MZ_COL_PLACE) &&
			    !pattern_number(d, MZ_COL_PLACE, place++))
				d->context[n++] = (uint16_t)token;
		} else if (has_number(&d->patterns[p], id)) {
			d->context[n++] = (uint16_t)token;
		}
	}
	return n;
}

static uint32_t pattern_contexts(struct mz_decoder *d)
{
	uint32_t n = d->often + d->once;

	for (uint32_t i = 0; i < n; i++)
		d->context[i] = mz_pattern_context(pattern_number(d, MZ_COL_FORM, i),
						   pattern_number(d, MZ_COL_KIND, i));
	return n;
}

static int get_column(struct mz_decoder *d, struct mz_bytes *in, unsigned id)
{
	bool words = id == MZ_COL_TOKEN || id == MZ_COL_WHO || id == MZ_COL_PLACE;
	const uint16_t *context = NULL;
	uint32_t n = 0;

	if (is_mixed(in) && id >= MZ_COL_CALL && id <= MZ_COL_BLOCK) {
		n = pattern_contexts(d);
		context = d->context;
	} else if (is_mixed(in) && id >= MZ_COL_WHO && id <= MZ_COL_ADDR) {
		n = find_context(d, id);
		context = d->context;
	}
	return mz_codec_column_unpack(&d->packer, in, MZ_WIRE_MAX_EVENTS, words, context, n,
				      &d->columns[id]);
}

/* ---- patterns ----------------------------------------------------------- */

/* Does the kind have what the form says? */
static bool form_fits(const struct mz_decoder *d, unsigned form, unsigned kind)
{
	const unsigned uses =
		MZ_FORM_BLOCK | MZ_FORM_END | MZ_FORM_STRAY_ADDR | MZ_FORM_STRAY_OBJECT;
	const unsigned strays = MZ_FORM_STRAY_NEW | MZ_FORM_STRAY_BORN;
	const unsigned objects = MZ_FORM_STRAY_OBJECT | MZ_FORM_STRAY_BORN | MZ_FORM_JUMP;

	if (form & uses && kind != MZ_FREE && kind != MZ_REALLOC && kind != MZ_ACCESS)
		return false;
	if (form & (strays | MZ_FORM_BIRTH) && (kind == MZ_FREE || kind == MZ_ACCESS))
		return false;
	if (form & MZ_FORM_BIRTH && (!mz_is_birth_kind(kind) || form & strays))
		return false;
	if (form & (MZ_FORM_GROWS | MZ_FORM_JUMP) && !(form & MZ_FORM_BIRTH))
		return false;
	return !(d->info.raw && form & objects);
}

static enum plain how_plain(const struct ready *r)
{
	const unsigned end = MZ_FORM_BLOCK | MZ_FORM_END, move = end | MZ_FORM_BIRTH;
	unsigned form = r->form & ~MZ_FORM_GROWS;

	if (form == MZ_FORM_BIRTH && r->event.kind == MZ_ALLOC)
		return PLAIN_BIRTH;
	if (form == end && r->event.kind == MZ_FREE)
		return PLAIN_END;
	/* with addresses the allocator must be asked between the two */
	if (form == move && r->event.kind == MZ_REALLOC && !(r->event.has & MZ_HAS_ADDR))
		return PLAIN_MOVE;
	return NOT_PLAIN;
}

static uint64_t pattern_given(const struct mz_decoder *d, const struct ready *r, uint32_t i)
{
	uint64_t number = pattern_number(d, MZ_COL_GIVEN, i);

	if (!d->info.deltas || r->form & MZ_FORM_OWN || !mz_is_birth_kind(r->event.kind))
		return number;
	return mz_addr_predict_given(d->places, r->event.size) + mz_unzigzag(number);
}

static uint32_t pattern_site(struct mz_decoder *d, uint32_t i)
{
	uint64_t number = pattern_number(d, MZ_COL_SITE, i);

	if (!d->info.deltas)
		return (uint32_t)number;
	d->site += (uint32_t)mz_unzigzag(number);
	return d->site;
}

static int make_ready(struct mz_decoder *d, uint32_t i)
{
	struct ready *r = &d->patterns[i];
	struct mz_event *ev = &r->event;
	uint64_t form = pattern_number(d, MZ_COL_FORM, i), kind = pattern_number(d, MZ_COL_KIND, i);
	uint64_t call = pattern_number(d, MZ_COL_CALL, i), has = pattern_number(d, MZ_COL_HAS, i);

	*r = (struct ready){0};
	if (form > MZ_FORMS || has & ~(uint64_t)d->info.fields)
		return bad(d, "a pattern that no writer produces");
	if (!kind || kind >= MZ_KINDS || call >= MZ_CALLS)
		return bad(d, "an unknown kind of event or call");
	if (!form_fits(d, (unsigned)form, (unsigned)kind))
		return bad(d, "a block that begins or ends where no block can");
	r->form = (uint16_t)form;
	r->block = (uint32_t)pattern_number(d, MZ_COL_BLOCK, i);
	ev->kind = (uint8_t)kind;
	ev->call = (uint8_t)call;
	ev->has = (uint16_t)has;
	ev->size = pattern_number(d, MZ_COL_SIZE, i);
	ev->arg = pattern_number(d, MZ_COL_ARG, i);
	if (has & MZ_HAS_GIVEN)
		ev->given = pattern_given(d, r, i);
	if (has & MZ_HAS_SITE)
		ev->site = pattern_site(d, i);
	if (has & MZ_HAS_CACHE)
		ev->cache = (uint32_t)pattern_number(d, MZ_COL_CACHE, i);
	if (has & MZ_HAS_FLAGS)
		ev->flags = (uint32_t)pattern_number(d, MZ_COL_FLAGS, i);
	ev->unit = (uint32_t)pattern_number(d, MZ_COL_UNIT, i);
	r->who = has & MZ_WHO_FIELDS;
	r->timed = has & MZ_HAS_TIME;
	r->mask = (struct mz_who){
		.cpu = has & MZ_HAS_CPU ? -1 : 0,
		.node = has & MZ_HAS_NODE ? -1 : 0,
		.pid = has & MZ_HAS_PID ? UINT32_MAX : 0,
		.tid = has & MZ_HAS_TID ? UINT32_MAX : 0,
	};
	r->plain = how_plain(r);
	r->fit = mz_addr_predict_fit(d->places, ev->size);
	return 0;
}

static int make_patterns(struct mz_decoder *d)
{
	d->site = 0;
	for (uint32_t i = 0; i < d->often + d->once; i++) {
		int ret = make_ready(d, i);

		if (ret < 0)
			return ret;
	}
	return 0;
}

static int make_whos(struct mz_decoder *d)
{
	for (uint32_t i = 0; i < d->n_whos; i++)
		d->whos[i] = (struct mz_who){
			.cpu = (int16_t)mz_unzigzag(pattern_number(d, MZ_COL_WHO_CPU, i)),
			.node = (int16_t)mz_unzigzag(pattern_number(d, MZ_COL_WHO_NODE, i)),
			.pid = (uint32_t)pattern_number(d, MZ_COL_WHO_PID, i),
			.tid = (uint32_t)pattern_number(d, MZ_COL_WHO_TID, i),
		};
	return 0;
}

static void make_guests(struct mz_decoder *d)
{
	uint64_t object = 0, addr = 0;

	for (uint32_t i = 0; i < d->guests; i++) {
		object += d->info.raw ? 0 : pattern_number(d, MZ_COL_GUEST_OBJECT, i);
		addr += mz_unzigzag(pattern_number(d, MZ_COL_GUEST_ADDR, i));
		d->objects[i] = object;
		if (d->info.fields & MZ_HAS_ADDR)
			d->entries[i] = (struct entry){.addr = addr};
	}
	/* without jumps the objects of births are known by their positions */
	d->counted = d->columns[MZ_COL_JUMP].n || d->info.raw ? UINT32_MAX : d->guests;
	d->count_from = d->info.first_object - d->guests;
	mz_live_rank_fill(&d->ranks, d->guests);
}

/* ---- starting ----------------------------------------------------------- */

/* What is in the array may go. */
static int grow(void *array, uint32_t *cap, uint32_t n, size_t item)
{
	void *p;

	if (n <= *cap && *(void **)array)
		return 0;
	p = malloc(((size_t)n + 1) * item);
	if (!p)
		return -ENOMEM;
	free(*(void **)array);
	*(void **)array = p;
	*cap = n;
	return 0;
}

static int make_room(struct mz_decoder *d)
{
	uint32_t blocks = d->guests + d->info.births;
	uint32_t entries = d->info.fields & MZ_HAS_ADDR ? blocks : 0;
	uint32_t contexts =
		d->info.events > d->often + d->once ? d->info.events : d->often + d->once;

	if (grow(&d->patterns, &d->cap_patterns, d->often + d->once, sizeof(*d->patterns)) < 0 ||
	    grow(&d->whos, &d->cap_whos, d->n_whos, sizeof(*d->whos)) < 0 ||
	    grow(&d->context, &d->cap_context, contexts, sizeof(*d->context)) < 0 ||
	    grow(&d->objects, &d->cap_objects, blocks, sizeof(*d->objects)) < 0 ||
	    grow(&d->entries, &d->cap_entries, entries, sizeof(*d->entries)) < 0)
		return -ENOMEM;
	return mz_live_rank_reset(&d->ranks, blocks + 1);
}

static int get_columns(struct mz_decoder *d, struct mz_bytes *in)
{
	uint64_t present = mz_bytes_upto(in, MZ_COLUMNS);
	int last = -1;
	bool ready = false;
	int ret;

	while (present--) {
		int id = (int)mz_bytes_upto(in, MZ_COLUMNS - 1);

		if (in->bad || id <= last)
			return bad(d, "unknown columns, or columns out of order");
		last = id;
		if (id > MZ_COL_BLOCK && !ready) {
			ret = make_patterns(d);
			if (ret < 0)
				return ret;
			ready = true;
		}
		ret = get_column(d, in, (unsigned)id);
		if (ret < 0)
			return ret == -EBADMSG ? bad(d, "a column that does not unpack") : ret;
	}
	if (in->bad || in->p != in->end)
		return bad(d, "bytes after the last column");
	return ready ? 0 : make_patterns(d);
}

static void begin(struct mz_decoder *d)
{
	for (int i = 0; i < MZ_COLUMNS; i++) {
		d->columns[i].n = 0;
		d->at[i] = 0;
	}
	d->done = d->births = d->next_once = 0;
	d->next_object = d->info.first_object;
	d->time = d->info.first_time;
	d->last_size = d->last_addr = 0;
	d->last_object = d->info.first_object;
	d->why = NULL;
}

int mz_decoder_start(struct mz_decoder *d, const void *payload, size_t size)
{
	struct mz_bytes in = {.p = payload, .end = (const uint8_t *)payload + size};
	unsigned allocator = 0;
	int ret;

	d->why = NULL;
	if (mz_chunk_info_get(&in, &d->info) < 0) {
		d->info = (struct mz_chunk_info){0};
		return bad(d, "the head of a chunk does not parse");
	}
	begin(d);
	d->often = (uint32_t)mz_bytes_upto(&in, d->info.events);
	d->once = (uint32_t)mz_bytes_upto(&in, d->info.events);
	d->guests = (uint32_t)mz_bytes_upto(&in, d->info.events);
	d->n_whos = (uint32_t)mz_bytes_upto(&in, d->info.events);
	if (d->info.fields & MZ_HAS_ADDR)
		allocator = (unsigned)mz_bytes_upto(&in, 64 * MZ_ROUNDINGS - 1);
	if (in.bad)
		return bad(d, "more patterns or blocks than events");
	mz_addr_predict_reset(d->places, allocator % MZ_ROUNDINGS, allocator / MZ_ROUNDINGS);
	ret = make_room(d);
	if (ret < 0)
		return ret;
	ret = get_columns(d, &in);
	if (ret < 0)
		return ret;
	make_whos(d);
	make_guests(d);
	return 0;
}

/* ---- events ------------------------------------------------------------- */

/* The block of an event, which it ends if its form says so. */
static int find_block(struct mz_decoder *d, const struct ready *r, uint32_t *at)
{
	bool ends = r->form & MZ_FORM_END;
	uint32_t p;

	if (r->block & 1) {
		p = mz_live_rank_find(&d->ranks, r->block >> 1);
		if (p != MZ_LIVE_RANK_NONE)
			mz_live_rank_move(&d->ranks, p, r->block >> 1);
		if (p != MZ_LIVE_RANK_NONE && ends)
			mz_live_rank_kill(&d->ranks, p);
	} else {
		uint64_t coded = r->block ? (r->block - 2) / 2 : next(d, MZ_COL_STEP);
		int64_t step = (int64_t)mz_unzigzag(coded);

		p = ends ? mz_live_rank_take_step(&d->ranks, step)
			 : mz_live_rank_step(&d->ranks, step);
	}
	if (p == MZ_LIVE_RANK_NONE)
		return bad(d, "a block that is not live");
	*at = p;
	return 0;
}

static inline uint64_t object_at(const struct mz_decoder *d, uint32_t p)
{
	return p >= d->counted ? d->count_from + p : d->objects[p];
}

static uint64_t stray_addr(struct mz_decoder *d)
{
	d->last_addr += mz_unzigzag(next(d, MZ_COL_STRAY_ADDR));
	return d->last_addr;
}

static uint64_t stray_object(struct mz_decoder *d)
{
	d->last_object += mz_unzigzag(next(d, MZ_COL_STRAY_OBJECT));
	return d->last_object;
}

/* The block that the event uses; *old is its address, for the allocator. */
static int use_block(struct mz_decoder *d, const struct ready *r, struct mz_event *ev,
		     uint64_t *old)
{
	uint64_t object = 0, addr = 0;

	if (r->form & MZ_FORM_BLOCK) {
		uint32_t p;
		int ret = find_block(d, r, &p);

		if (ret < 0)
			return ret;
		object = object_at(d, p);
		if (ev->has & MZ_HAS_ADDR)
			*old = addr = d->entries[p].addr;
		if (r->form & MZ_FORM_END && ev->has & MZ_HAS_ADDR &&
		    mz_addr_predict_left(d->places, d->entries[p].class, addr) < 0)
			return -ENOMEM;
	}
	if (r->form & MZ_FORM_STRAY_OBJECT)
		object = stray_object(d);
	if (r->form & MZ_FORM_STRAY_ADDR)
		addr = stray_addr(d);
	if (!(ev->has & MZ_HAS_ADDR))
		addr = 0;
	if (ev->kind == MZ_REALLOC) {
		ev->old_object = object;
		ev->old_addr = addr;
	} else {
		ev->object = object;
		ev->addr = addr;
	}
	return 0;
}

static inline struct mz_room fit_of(const struct mz_decoder *d, const struct ready *r,
				    uint64_t size)
{
	return r->form & (MZ_FORM_GROWS | MZ_FORM_OWN) ? mz_addr_predict_fit(d->places, size)
						       : r->fit;
}

static int begin_block(struct mz_decoder *d, const struct ready *r, struct mz_event *ev,
		       uint64_t old)
{
	struct mz_room fit = {0};
	uint32_t p;

	if (!(r->form & MZ_FORM_BIRTH)) {
		if (r->form & MZ_FORM_STRAY_NEW)
			ev->addr = ev->has & MZ_HAS_ADDR ? stray_addr(d) : 0;
		if (r->form & MZ_FORM_STRAY_BORN)
			ev->object = stray_object(d);
		return 0;
	}
	if (d->births++ == d->info.births)
		return bad(d, "more blocks begin than the chunk says");
	if (r->form & MZ_FORM_GROWS)
		ev->size = d->last_size + mz_unzigzag(r->event.size);
	d->last_size = ev->size;
	if (r->form & MZ_FORM_JUMP)
		d->next_object += mz_unzigzag(next(d, MZ_COL_JUMP));
	if (!d->info.raw)
		ev->object = d->next_object++;
	if (ev->has & MZ_HAS_ADDR) {
		struct mz_predicted place = {.how = (uint32_t)next(d, MZ_COL_PLACE)};
		int ret;

		fit = fit_of(d, r, ev->size);
		if (!place.how)
			place.delta = next(d, MZ_COL_ADDR);
		else if (place.how == MZ_PLACE_AGAIN)
			place.delta = next(d, MZ_COL_AGAIN);
		ret = mz_addr_predict_find(d->places, fit, old, &place, &ev->addr);
		if (ret < 0)
			return ret == -EBADMSG ? bad(d, "an invalid place for a block") : ret;
	}
	p = mz_live_rank_push(&d->ranks);
	if (p < d->counted)
		d->objects[p] = ev->object;
	if (d->info.fields & MZ_HAS_ADDR)
		d->entries[p] = (struct entry){.addr = ev->addr, .class = ev->size ? fit.class : 0};
	return 0;
}

static inline void set_who(const struct mz_who *w, const struct ready *r, struct mz_event *ev)
{
	ev->cpu = w->cpu & r->mask.cpu;
	ev->node = w->node & r->mask.node;
	ev->pid = w->pid & r->mask.pid;
	ev->tid = w->tid & r->mask.tid;
}

static int who_and_when(struct mz_decoder *d, const struct ready *r, struct mz_event *ev)
{
	if (r->who) {
		uint64_t who = next(d, MZ_COL_WHO);

		if (who >= d->n_whos)
			return bad(d, "a thread or CPU that is not in the chunk's table");
		set_who(&d->whos[who], r, ev);
	}
	if (r->timed) {
		d->time += mz_unzigzag(next(d, MZ_COL_TIME));
		ev->time = d->time;
	}
	return 0;
}

/* The bytes given to a block whose size is its own: near what is expected of the size. */
static uint64_t own_given(struct mz_decoder *d, const struct mz_event *ev)
{
	uint64_t expected = ev->size;

	if (d->info.deltas && mz_is_birth_kind(ev->kind))
		expected = mz_addr_predict_given(d->places, ev->size);
	return expected + mz_unzigzag(next(d, MZ_COL_OWN_GIVEN));
}

static int read_one(struct mz_decoder *d, struct mz_event *ev)
{
	uint64_t token = next(d, MZ_COL_TOKEN);
	const struct ready *r;
	uint64_t old = 0;
	int ret;

	if (token >= d->often) {
		if (token > d->often || d->next_once == d->once)
			return bad(d, "a token that is not in the chunk's table");
		token = d->often + d->next_once++;
	}
	r = &d->patterns[token];
	*ev = r->event;
	ret = who_and_when(d, r, ev);
	if (ret < 0)
		return ret;
	if (r->form & MZ_FORM_OWN) {
		ev->size = next(d, MZ_COL_OWN_SIZE);
		if (ev->has & MZ_HAS_GIVEN)
			ev->given = own_given(d, ev);
		ev->arg = next(d, MZ_COL_OWN_ARG);
	}
	if (r->form & (MZ_FORM_BLOCK | MZ_FORM_STRAY_OBJECT | MZ_FORM_STRAY_ADDR)) {
		ret = use_block(d, r, ev, &old);
		if (ret < 0)
			return ret;
	}
	if (r->form & (MZ_FORM_BIRTH | MZ_FORM_STRAY_NEW | MZ_FORM_STRAY_BORN))
		ret = begin_block(d, r, ev, old);
	return ret;
}

/* Every number must have been asked for, and none that is not there. */
static int check_end(struct mz_decoder *d)
{
	for (int id = MZ_COL_TOKEN; id < MZ_COLUMNS; id++)
		if (d->columns[id].n && d->at[id] != d->columns[id].n)
			return bad(d, "a column that is too long or too short");
	return 0;
}

static inline uint64_t plain_size(const struct mz_decoder *d, const struct ready *r)
{
	return r->form & MZ_FORM_GROWS ? d->last_size + mz_unzigzag(r->event.size) : r->event.size;
}

/* The address of a block that a plain event begins. False: it is none. */
static inline bool plain_place(struct mz_decoder *d, struct mz_room fit, uint64_t *addr)
{
	struct mz_predicted place = {.how = (uint32_t)peek(d, MZ_COL_PLACE)};

	if (place.how == MZ_PLACE_AGAIN)
		return false; /* the usual way */
	place.delta = place.how ? 0 : peek(d, MZ_COL_ADDR);
	if (mz_addr_predict_find(d->places, fit, 0, &place, addr) < 0)
		return false;
	d->at[MZ_COL_PLACE]++;
	d->at[MZ_COL_ADDR] += !place.how;
	return true;
}

/* The block that a plain event ends; MZ_LIVE_RANK_NONE: there is none. */
static inline uint32_t plain_block(struct mz_decoder *d, const struct ready *r)
{
	uint64_t step;
	uint32_t p;

	if (r->block & 1) {
		p = mz_live_rank_find(&d->ranks, r->block >> 1);
		if (p != MZ_LIVE_RANK_NONE) {
			mz_live_rank_move(&d->ranks, p, r->block >> 1);
			mz_live_rank_kill(&d->ranks, p);
		}
		return p;
	}
	step = r->block ? (r->block - 2) / 2 : peek(d, MZ_COL_STEP);
	p = mz_live_rank_take_step(&d->ranks, (int64_t)mz_unzigzag(step));
	d->at[MZ_COL_STEP] += p != MZ_LIVE_RANK_NONE && !r->block;
	return p;
}

/* A block begins; the event is a copy of the pattern's. */
static inline void plain_birth(struct mz_decoder *d, const struct ready *r, struct mz_event *ev,
			       uint64_t addr, uint32_t class)
{
	uint32_t p = mz_live_rank_push(&d->ranks);

	ev->size = plain_size(d, r);
	ev->addr = addr;
	ev->object = d->info.raw ? 0 : d->next_object++;
	if (p < d->counted)
		d->objects[p] = ev->object;
	if (d->info.fields & MZ_HAS_ADDR)
		d->entries[p] = (struct entry){addr, ev->size ? class : 0};
	d->last_size = ev->size;
	d->births++;
}

/* 1: read; 0: not plain, and nothing is changed; or -ENOMEM. */
static inline int read_plain_one(struct mz_decoder *d, const struct ready *r, struct mz_event *ev)
{
	uint32_t p;

	if (r->plain == NOT_PLAIN || (r->plain != PLAIN_END && d->births >= d->info.births))
		return 0;
	if (r->plain == PLAIN_BIRTH) {
		struct mz_room fit = {0};
		uint64_t addr = 0;

		if (r->event.has & MZ_HAS_ADDR) {
			fit = fit_of(d, r, plain_size(d, r));
			if (!plain_place(d, fit, &addr))
				return 0;
		}
		*ev = r->event;
		plain_birth(d, r, ev, addr, fit.class);
		return 1;
	}
	p = plain_block(d, r);
	if (p == MZ_LIVE_RANK_NONE)
		return 0;
	*ev = r->event;
	if (r->plain == PLAIN_MOVE) {
		ev->old_object = object_at(d, p);
		plain_birth(d, r, ev, 0, 0);
		return 1;
	}
	ev->object = object_at(d, p);
	if (!(r->event.has & MZ_HAS_ADDR))
		return 1;
	ev->addr = d->entries[p].addr;
	return mz_addr_predict_left(d->places, d->entries[p].class, ev->addr) < 0 ? -ENOMEM : 1;
}

/* A column that is read by one loop, which knows best where it is. */
struct cursor {
	const uint64_t *v;
	uint32_t at, n;
};

static inline struct cursor cursor_at(const struct mz_decoder *d, enum mz_column_id id)
{
	return (struct cursor){d->columns[id].v, d->at[id], d->columns[id].n};
}

static inline uint64_t cursor_peek(const struct cursor *c)
{
	return c->at < c->n ? c->v[c->at] : 0;
}

/* As many plain events as there are before another kind: how many, or -ENOMEM.
 * What is odd about them, read_one() will find. */
static long read_plain(struct mz_decoder *d, struct mz_event *ev, size_t max)
{
	struct cursor tokens = cursor_at(d, MZ_COL_TOKEN), whos = cursor_at(d, MZ_COL_WHO),
		      times = cursor_at(d, MZ_COL_TIME);
	uint32_t left = tokens.at < tokens.n ? tokens.n - tokens.at : 0;
	const uint64_t *token = left ? tokens.v + tokens.at : NULL;
	uint64_t time = d->time, often = d->often;
	size_t n = 0;
	int ret = 1;

	max = max < left ? max : left;
	for (; n < max && token[n] < often; n++) {
		const struct ready *r = &d->patterns[token[n]];
		uint64_t who = r->who ? cursor_peek(&whos) : 0;

		if (r->who && who >= d->n_whos)
			break;
		ret = read_plain_one(d, r, &ev[n]);
		if (ret <= 0)
			break;
		if (r->who) {
			set_who(&d->whos[who], r, &ev[n]);
			whos.at++;
		}
		if (r->timed) {
			ev[n].time = time += mz_unzigzag(cursor_peek(&times));
			times.at++;
		}
	}
	d->time = time;
	d->at[MZ_COL_WHO] = whos.at;
	d->at[MZ_COL_TIME] = times.at;
	d->at[MZ_COL_TOKEN] += (uint32_t)n;
	d->done += (uint32_t)n;
	return ret < 0 ? ret : (long)n;
}

long mz_decoder_read(struct mz_decoder *d, struct mz_event *ev, size_t max)
{
	size_t n = 0;

	if (d->why)
		return -EBADMSG;
	if (max > d->info.events - d->done)
		max = d->info.events - d->done;
	while (n < max) {
		long plain = read_plain(d, ev + n, max - n);
		int ret;

		if (plain < 0)
			return plain;
		n += (size_t)plain;
		if (n == max)
			break;
		ret = read_one(d, &ev[n]);
		if (ret < 0)
			return ret;
		n++;
		d->done++;
	}
	if (d->done == d->info.events && check_end(d) < 0)
		return -EBADMSG;
	return (long)n;
}
