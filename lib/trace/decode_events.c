// SPDX-License-Identifier: BSD-2-Clause
/* Read the events of a prepared chunk. */
#include "trace/decode.h"

/* The block of an event, which it ends if its form says so. */
static int find_block(struct mz_decoder *d, const struct mz_decode_ready *r, uint32_t *at)
{
	bool ends = r->form & MZ_FORM_END;
	uint32_t p;

	/* a rank counts from the newest live block, a step from the block that was used last; both
	 * move the cursor, from which the next step counts */
	if (r->block & 1) {
		p = mz_live_rank_find(&d->ranks, r->block >> 1);
		if (p != MZ_LIVE_RANK_NONE)
			mz_live_rank_move(&d->ranks, p, r->block >> 1);
		if (p != MZ_LIVE_RANK_NONE && ends)
			mz_live_rank_kill(&d->ranks, p);
	} else {
		uint64_t coded = r->block ? (r->block - 2) / 2 : mz_decode_next(d, MZ_COL_STEP);
		int64_t step = (int64_t)mz_unzigzag(coded);

		p = ends ? mz_live_rank_take_step(&d->ranks, step)
			 : mz_live_rank_step(&d->ranks, step);
	}
	if (p == MZ_LIVE_RANK_NONE)
		return mz_decode_bad(d, "a block that is not live");
	*at = p;
	return 0;
}

/* Blocks that are born one after another have consecutive numbers, so their objects need no
 * array. */
static inline uint64_t object_at(const struct mz_decoder *d, uint32_t p)
{
	return p >= d->counted ? d->count_from + p : d->objects[p];
}

/* A stray has no position among the blocks. It is stored as a difference from the preceding
 * stray. */
static uint64_t stray_addr(struct mz_decoder *d)
{
	d->last_addr += mz_unzigzag(mz_decode_next(d, MZ_COL_STRAY_ADDR));
	return d->last_addr;
}

static uint64_t stray_object(struct mz_decoder *d)
{
	d->last_object += mz_unzigzag(mz_decode_next(d, MZ_COL_STRAY_OBJECT));
	return d->last_object;
}

/* The block that the event uses; *old is its address, for the allocator. */
static int use_block(struct mz_decoder *d, const struct mz_decode_ready *r, struct mz_event *ev,
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
		/* the predictor must learn of every end when the encoder did, or its later guesses
		 * differ */
		if (r->form & MZ_FORM_END && ev->has & MZ_HAS_ADDR &&
		    mz_addr_predict_left(d->places, d->entries[p].class, addr) < 0)
			return -ENOMEM;
	}
	/* an event whose block is not in the chunk, or that contradicts its block, says by itself
	 * what it mentioned */
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

/* The room that a size takes is computed once for each pattern; only a size that the pattern does
 * not have needs a computation for each event. */
static inline struct mz_room fit_of(const struct mz_decoder *d, const struct mz_decode_ready *r,
				    uint64_t size)
{
	return r->form & (MZ_FORM_GROWS | MZ_FORM_OWN) ? mz_addr_predict_fit(d->places, size)
						       : r->fit;
}

/* The size comes before the address, because the predictor guesses by the class of the size. */
static int begin_block(struct mz_decoder *d, const struct mz_decode_ready *r, struct mz_event *ev,
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
	/* the arrays have room for as many blocks as the head of the chunk says */
	if (d->births++ == d->info.births)
		return mz_decode_bad(d, "more blocks begin than the chunk says");
	if (r->form & MZ_FORM_GROWS)
		ev->size = d->last_size + mz_unzigzag(r->event.size);
	d->last_size = ev->size;
	if (r->form & MZ_FORM_JUMP)
		d->next_object += mz_unzigzag(mz_decode_next(d, MZ_COL_JUMP));
	if (!d->info.raw)
		ev->object = d->next_object++;
	if (ev->has & MZ_HAS_ADDR) {
		struct mz_predicted place = {.how = (uint32_t)mz_decode_next(d, MZ_COL_PLACE)};
		int ret;

		fit = fit_of(d, r, ev->size);
		if (!place.how)
			place.delta = mz_decode_next(d, MZ_COL_ADDR);
		else if (place.how == MZ_PLACE_AGAIN)
			place.delta = mz_decode_next(d, MZ_COL_AGAIN);
		ret = mz_addr_predict_find(d->places, fit, old, &place, &ev->addr);
		if (ret < 0)
			return ret == -EBADMSG ? mz_decode_bad(d, "an invalid place for a block")
					       : ret;
	}
	p = mz_live_rank_push(&d->ranks);
	if (p < d->counted)
		d->objects[p] = ev->object;
	if (d->info.fields & MZ_HAS_ADDR)
		d->entries[p] = (struct mz_decode_entry){.addr = ev->addr,
							 .class = ev->size ? fit.class : 0};
	return 0;
}

static inline void set_who(const struct mz_who *w, const struct mz_decode_ready *r,
			   struct mz_event *ev)
{
	ev->cpu = w->cpu & r->mask.cpu;
	ev->node = w->node & r->mask.node;
	ev->pid = w->pid & r->mask.pid;
	ev->tid = w->tid & r->mask.tid;
}

static int who_and_when(struct mz_decoder *d, const struct mz_decode_ready *r, struct mz_event *ev)
{
	if (r->who) {
		uint64_t who = mz_decode_next(d, MZ_COL_WHO);

		if (who >= d->n_whos)
			return mz_decode_bad(d, "a thread or CPU that is not in the chunk's table");
		set_who(&d->whos[who], r, ev);
	}
	if (r->timed) {
		d->time += mz_unzigzag(mz_decode_next(d, MZ_COL_TIME));
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
	return expected + mz_unzigzag(mz_decode_next(d, MZ_COL_OWN_GIVEN));
}

/* Decodes any event, and is the only function that says what is wrong with one. */
static int read_one(struct mz_decoder *d, struct mz_event *ev)
{
	uint64_t token = mz_decode_next(d, MZ_COL_TOKEN);
	const struct mz_decode_ready *r;
	uint64_t old = 0;
	int ret;

	/* one token stands for "the next of the patterns that are used once", which need no
	 * numbers */
	if (token >= d->often) {
		if (token > d->often || d->next_once == d->once)
			return mz_decode_bad(d, "a token that is not in the chunk's table");
		token = d->often + d->next_once++;
	}
	r = &d->patterns[token];
	*ev = r->event;
	ret = who_and_when(d, r, ev);
	if (ret < 0)
		return ret;
	if (r->form & MZ_FORM_OWN) {
		ev->size = mz_decode_next(d, MZ_COL_OWN_SIZE);
		if (ev->has & MZ_HAS_GIVEN)
			ev->given = own_given(d, ev);
		ev->arg = mz_decode_next(d, MZ_COL_OWN_ARG);
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

/* Every number must have been used, and none read beyond the end of its column. */
static int check_end(struct mz_decoder *d)
{
	for (int id = MZ_COL_TOKEN; id < MZ_COLUMNS; id++)
		if (d->columns[id].n && d->at[id] != d->columns[id].n)
			return mz_decode_bad(d, "a column that is too long or too short");
	return 0;
}

static inline uint64_t plain_size(const struct mz_decoder *d, const struct mz_decode_ready *r)
{
	return r->form & MZ_FORM_GROWS ? d->last_size + mz_unzigzag(r->event.size) : r->event.size;
}

/* The address of a block that a plain event begins. False: the event begins none. */
static inline bool plain_place(struct mz_decoder *d, struct mz_room fit, uint64_t *addr)
{
	struct mz_predicted place = {.how = (uint32_t)mz_decode_peek(d, MZ_COL_PLACE)};

	if (place.how == MZ_PLACE_AGAIN)
		return false; /* the usual way */
	place.delta = place.how ? 0 : mz_decode_peek(d, MZ_COL_ADDR);
	if (mz_addr_predict_find(d->places, fit, 0, &place, addr) < 0)
		return false;
	d->at[MZ_COL_PLACE]++;
	d->at[MZ_COL_ADDR] += !place.how;
	return true;
}

/* The block that a plain event ends; MZ_LIVE_RANK_NONE: it ends none. */
static inline uint32_t plain_block(struct mz_decoder *d, const struct mz_decode_ready *r)
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
	step = r->block ? (r->block - 2) / 2 : mz_decode_peek(d, MZ_COL_STEP);
	/* the number counts as read only if it leads to a block: otherwise read_one() reads it
	 * again */
	p = mz_live_rank_take_step(&d->ranks, (int64_t)mz_unzigzag(step));
	d->at[MZ_COL_STEP] += p != MZ_LIVE_RANK_NONE && !r->block;
	return p;
}

/* A block begins; the event is a copy of the pattern's. */
static inline void plain_birth(struct mz_decoder *d, const struct mz_decode_ready *r,
			       struct mz_event *ev, uint64_t addr, uint32_t class)
{
	uint32_t p = mz_live_rank_push(&d->ranks);

	ev->size = plain_size(d, r);
	ev->addr = addr;
	ev->object = d->info.raw ? 0 : d->next_object++;
	if (p < d->counted)
		d->objects[p] = ev->object;
	if (d->info.fields & MZ_HAS_ADDR)
		d->entries[p] = (struct mz_decode_entry){addr, ev->size ? class : 0};
	d->last_size = ev->size;
	d->births++;
}

/* 1: read; 0: not plain, and nothing is changed; or -ENOMEM. */
static inline int read_plain_one(struct mz_decoder *d, const struct mz_decode_ready *r,
				 struct mz_event *ev)
{
	uint32_t p;

	if (r->plain == MZ_DECODE_NOT_PLAIN ||
	    (r->plain != MZ_DECODE_PLAIN_END && d->births >= d->info.births))
		return 0;
	if (r->plain == MZ_DECODE_PLAIN_BIRTH) {
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
	if (r->plain == MZ_DECODE_PLAIN_MOVE) {
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

/* A column that one loop reads: its position is kept in a local variable. */
struct column_cursor {
	const uint64_t *v;
	uint32_t at, n;
};

/* The compiler must assume that a store into an event changes the decoder, and would load the
 * positions of the columns again after each event. */
static inline struct column_cursor cursor_at(const struct mz_decoder *d, enum mz_column_id id)
{
	return (struct column_cursor){d->columns[id].v, d->at[id], d->columns[id].n};
}

static inline uint64_t cursor_peek(const struct column_cursor *c)
{
	return c->at < c->n ? c->v[c->at] : 0;
}

/* Reads plain events until another kind follows: how many, or -ENOMEM. If something is wrong
 * with one, read_one() will find it. */
static long read_plain(struct mz_decoder *d, struct mz_event *ev, size_t max)
{
	struct column_cursor tokens = cursor_at(d, MZ_COL_TOKEN), whos = cursor_at(d, MZ_COL_WHO),
			     times = cursor_at(d, MZ_COL_TIME);
	uint32_t left = tokens.at < tokens.n ? tokens.n - tokens.at : 0;
	const uint64_t *token = left ? tokens.v + tokens.at : NULL;
	uint64_t time = d->time, often = d->often;
	size_t n = 0;
	int ret = 1;

	max = max < left ? max : left;
	for (; n < max && token[n] < often; n++) {
		const struct mz_decode_ready *r = &d->patterns[token[n]];
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

/* Runs of plain events and single other events alternate. A plain event that fails is read once
 * more by read_one(), which finds the reason. */
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
