// SPDX-License-Identifier: BSD-2-Clause
/* Encode the collected events of a chunk as packed columns. */
#include <errno.h>
#include <stdlib.h>

#include "trace/encode_collect.h"

#define NEAR_RANK  8  /* lower ranks are always part of the pattern */
#define NEAR_STEP  16 /* zigzag steps up to this, too */
#define FAR_RANK   32 /* ranks from here on never are */
#define RARE	   8  /* patterns with other ranks, met less often, are not worth it */
#define MAX_TOKENS 65000
#define SAMPLE	   4096 /* births that show how the allocator rounds */
#define MAX_SHIFT  12
#define PART	   16384 /* events at a time */
#define SOON	   8	 /* births ahead */

/* ---- 1. the guests take their places ------------------------------------ */

static int by_object(const void *a, const void *b)
{
	const struct mz_guest *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* Sorts them; e->place[number] is where each one went. */
static int seat_guests(struct mz_encoder *e)
{
	e->place = malloc(((size_t)e->n_guests + 1) * sizeof(*e->place));
	if (!e->place)
		return -ENOMEM;
	if (e->n_guests)
		qsort(e->guests, e->n_guests, sizeof(*e->guests), by_object);
	for (uint32_t i = 0; i < e->n_guests; i++)
		e->place[e->guests[i].number] = i;
	e->info.guest_object = e->n_guests ? e->guests[0].object : 0;
	if (e->low_object && (!e->n_guests || e->low_object < e->info.guest_object))
		e->info.guest_object = e->low_object;
	return 0;
}

/* ---- 2. blocks as ranks and steps --------------------------------------- */

/* The size delta that gets a form of its own, because it occurs so often; 0: none. */
static uint64_t common_growth(const struct mz_encoder *e)
{
	uint32_t most = e->info.births / 8 + 64, at = 0;

	for (uint32_t i = 0; i < 2 * MZ_GROW_SPAN + 1; i++) {
		if (i != MZ_GROW_SPAN && e->grows[i] > most) {
			most = e->grows[i];
			at = i;
		}
	}
	return most > e->info.births / 8 + 64 ? at - (uint64_t)MZ_GROW_SPAN : 0;
}

static uint32_t position(const struct mz_encoder *e, uint32_t block)
{
	return block & MZ_GUEST ? e->place[block & ~MZ_GUEST] : e->n_guests + block;
}

/* How the pattern refers to the block that the event uses. *to_it is the step that leads to the
 * block, unless it is so near that no step is needed. */
static uint32_t tell_block(struct mz_encoder *e, uint32_t block, bool ends, uint32_t *to_it)
{
	struct mz_live_rank *ranks = &e->ranks;
	uint32_t p = position(e, block), rank, code;

	if (ranks->end - p > 256 && mz_live_rank_next(ranks, ranks->cursor) == p) {
		code = 2 * 2 + 2; /* one further: its rank is not needed */
		rank = ranks->above - 1;
	} else if ((rank = mz_live_rank_above(ranks, p)) < NEAR_RANK) {
		code = 2 * rank + 1;
	} else {
		uint64_t step = mz_zigzag((uint64_t)mz_live_rank_steps(ranks, p, rank));

		*to_it = (uint32_t)step;
		code = step <= NEAR_STEP ? 2 * (uint32_t)step + 2
		       : rank < FAR_RANK ? 2 * rank + 1
					 : 0;
	}
	mz_live_rank_move(ranks, p, rank);
	if (ends)
		mz_live_rank_kill(ranks, p);
	return code;
}

/* The final pattern of an event: its pattern with a block and a size delta. */
static uint32_t final_pattern(struct mz_encoder *e, uint32_t base, uint32_t block, uint64_t growth)
{
	uint64_t key = ((uint64_t)block << 32 | (uint64_t)(growth != 0) << 31 | base) + 1;
	struct mz_pattern p;
	uint32_t *known;
	bool is_new;

	known = mz_encode_note(&e->variants, key, &is_new);
	if (!known)
		return MZ_PATTERN_NONE;
	if (!is_new)
		return *known;
	p = e->patterns.v[base];
	p.block = block;
	if (growth) {
		p.form |= MZ_FORM_GROWS;
		p.size = mz_zigzag(growth);
	}
	*known = mz_patterns_number(&e->final, &p);
	return *known;
}

/* The same for the two usual cases, without a search: an event that uses no block, and an event
 * like a recent one, such as the free of the newest block. */
static inline uint32_t usual_final(struct mz_encoder *e, uint32_t base, uint32_t block,
				   uint64_t growth)
{
	uint64_t key = (uint64_t)block << 32 | base;
	struct mz_encode_note *hint = &e->variant_hint[(base * 67 + block) % MZ_VARIANT_HINTS];

	if (growth)
		return final_pattern(e, base, block, growth);
	if (!block) {
		/* such a number is noted only in the list by pattern */
		if (e->plain_final[base] == MZ_PATTERN_NONE)
			e->plain_final[base] = mz_patterns_number(&e->final, &e->patterns.v[base]);
		return e->plain_final[base];
	}
	if (hint->key != key)
		*hint = (struct mz_encode_note){key, final_pattern(e, base, block, 0)};
	return hint->value;
}

/* What an event has in addition to its pattern, as bits by pattern. For most patterns, the loops
 * over the events need nothing else. */
enum does {
	DOES_USE = 1,	/* a block */
	DOES_END = 2,	/* ... which ends */
	DOES_BEGIN = 4, /* a block begins */
	DOES_STEP = 8,
	DOES_WHO = 16,
	DOES_TIME = 32,
	DOES_ADDR = 64,
	DOES_OWN = 128,
	DOES_ONCE = 256, /* the pattern itself is stored with the event */
};

static uint32_t does_of(const struct mz_pattern *p)
{
	return (p->form & MZ_FORM_BLOCK ? DOES_USE : 0) | (p->form & MZ_FORM_END ? DOES_END : 0) |
	       (p->form & MZ_FORM_BIRTH ? DOES_BEGIN : 0) |
	       (p->form & MZ_FORM_BLOCK && !p->block ? DOES_STEP : 0) |
	       (p->has & MZ_WHO_FIELDS ? DOES_WHO : 0) | (p->has & MZ_HAS_TIME ? DOES_TIME : 0) |
	       (p->has & MZ_HAS_ADDR ? DOES_ADDR : 0) | (p->form & MZ_FORM_OWN ? DOES_OWN : 0);
}

/* The delta of a birth's size, if it is the common one. */
static uint64_t growth_of(struct mz_encode_walk *w, const struct mz_pattern *p)
{
	bool grows = p->size - w->last_size == w->growth && !(p->has & MZ_HAS_GIVEN);

	w->last_size = p->size;
	return grows ? w->growth : 0;
}

/* Blocks can be named only when the whole chunk is known: ranks depend on the guests, which are
 * sorted first. */
static int walk_events(struct mz_encoder *e, uint32_t from, uint32_t to)
{
	struct mz_encode_walk *w = &e->walk;

	for (uint32_t i = from; i < to; i++) {
		uint32_t base = e->pattern[i], does = e->does[base], block = 0, f;
		uint64_t growth = 0;

		if (does & DOES_USE)
			block = tell_block(e, e->block[i], does & DOES_END, &e->step[i]);
		if (does & DOES_BEGIN) {
			mz_live_rank_push(&e->ranks);
			if (w->growth)
				growth = growth_of(w, &e->patterns.v[base]);
		}
		f = usual_final(e, base, block, growth);
		if (f == MZ_PATTERN_NONE)
			return -ENOMEM;
		e->final.count[f]++;
		e->final_of[i] = f;
	}
	return 0;
}

/* ---- 3. rare patterns give way ------------------------------------------ */

static int room_for(uint32_t **array, uint32_t *cap, uint32_t n)
{
	uint32_t *p;

	if (n <= *cap && *array)
		return 0;
	p = realloc(*array, n * sizeof(*p));
	if (!p)
		return -ENOMEM;
	*array = p;
	*cap = n;
	return 0;
}

/* A pattern is merged into another one. Its number stays valid through target, so that the
 * events need not be visited again. */
static int redirect(struct mz_encoder *e, uint32_t from, const struct mz_pattern *p)
{
	uint32_t to = mz_patterns_number(&e->final, p);

	if (to == MZ_PATTERN_NONE)
		return -ENOMEM;
	if (room_for(&e->target, &e->cap_target, e->final.cap) < 0)
		return -ENOMEM;
	if (to == e->final.n - 1 && !e->final.count[to])
		e->target[to] = to;
	e->final.count[to] += e->final.count[from];
	e->final.count[from] = 0;
	e->target[from] = to;
	return 0;
}

static bool far_rank(const struct mz_pattern *p)
{
	return p->block & 1 && p->block >= 2 * NEAR_RANK + 1;
}

/* A pattern that occurs once costs more in the table than its values cost in the columns: it
 * gives up its sizes (OWN) or its rank, and may then equal another one. */
static int drop_rare(struct mz_encoder *e)
{
	uint32_t n = e->final.n;

	for (uint32_t i = 0; i < n; i++) {
		struct mz_pattern p = e->final.v[i];

		p.block = 0;
		if (far_rank(&e->final.v[i]) && e->final.count[i] < RARE && redirect(e, i, &p) < 0)
			return -ENOMEM;
	}
	n = e->final.n;
	for (uint32_t i = 0; i < n; i++) {
		struct mz_pattern p = e->final.v[i];

		if (e->final.count[i] != 1 || p.form & (MZ_FORM_OWN | MZ_FORM_GROWS) ||
		    !(p.size | p.given | p.arg))
			continue;
		p.size = p.given = p.arg = 0;
		p.form |= MZ_FORM_OWN;
		if (redirect(e, i, &p) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The pattern that each one was merged into, in the end. */
static void settle_targets(struct mz_encoder *e)
{
	for (uint32_t i = 0; i < e->final.n; i++) {
		uint32_t f = i;

		while (e->target[f] != f)
			f = e->target[f];
		e->target[i] = f;
	}
}

struct rank_item {
	uint32_t count, number;
};

static int by_count(const void *a, const void *b)
{
	const struct rank_item *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* Tokens: the more frequent a pattern, the smaller its token. All patterns that occur once share
 * the next one. */
static struct rank_item *give_tokens(struct mz_encoder *e)
{
	struct rank_item *order = malloc(((size_t)e->final.n + 1) * sizeof(*order));
	uint32_t n = 0;

	if (!order)
		return NULL;
	for (uint32_t i = 0; i < e->final.n; i++)
		if (e->final.count[i] > 1)
			order[n++] = (struct rank_item){e->final.count[i], i};
	qsort(order, n, sizeof(*order), by_count);
	e->often = n < MAX_TOKENS ? n : MAX_TOKENS;
	for (uint32_t i = 0; i < e->final.n; i++)
		e->token[i] = e->often;
	for (uint32_t i = 0; i < e->often; i++)
		e->token[order[i].number] = i;
	return order;
}

/* ---- 4. the columns ----------------------------------------------------- */

/* What the allocator gives follows from the size. */
static uint64_t given_number(const struct mz_encoder *e, const struct mz_pattern *p)
{
	if (!(p->has & MZ_HAS_GIVEN) || p->form & MZ_FORM_OWN || !mz_is_birth_kind(p->kind))
		return p->given;
	return mz_zigzag(p->given - mz_addr_predict_given(e->places, p->size));
}

/* Consecutive patterns often have consecutive stacks. */
static uint64_t site_number(struct mz_encoder *e, const struct mz_pattern *p)
{
	uint64_t before = e->last_site;

	if (!(p->has & MZ_HAS_SITE))
		return 0;
	e->last_site = p->site;
	return mz_zigzag(p->site - before);
}

static void put_pattern(struct mz_encoder *e, const struct mz_pattern *p)
{
	struct mz_codec_column *c = e->columns;

	mz_codec_column_add(&c[MZ_COL_FORM], p->form);
	mz_codec_column_add(&c[MZ_COL_KIND], p->kind);
	mz_codec_column_add(&c[MZ_COL_CALL], p->call);
	mz_codec_column_add(&c[MZ_COL_HAS], p->has);
	mz_codec_column_add(&c[MZ_COL_SIZE], p->size);
	mz_codec_column_add(&c[MZ_COL_GIVEN], given_number(e, p));
	mz_codec_column_add(&c[MZ_COL_ARG], p->arg);
	mz_codec_column_add(&c[MZ_COL_SITE], site_number(e, p));
	mz_codec_column_add(&c[MZ_COL_CACHE], p->cache);
	mz_codec_column_add(&c[MZ_COL_FLAGS], p->flags);
	mz_codec_column_add(&c[MZ_COL_UNIT], p->unit);
	mz_codec_column_add(&c[MZ_COL_BLOCK], p->block);
}

/* Those that occur often and those that occur once: growing step by step would copy them all. */
static void room_for_patterns(struct mz_encoder *e)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < e->final.n; i++)
		n += e->target[i] == i;
	for (int i = MZ_COL_FORM; i <= MZ_COL_BLOCK; i++)
		mz_codec_column_room(&e->columns[i], n); /* failures are checked at the end */
}

/* Guests are sorted by object, so differences are small and never negative. */
static void put_guests(struct mz_encoder *e)
{
	uint64_t object = 0, addr = 0;

	for (uint32_t i = 0; i < e->n_guests; i++) {
		mz_codec_column_add(&e->columns[MZ_COL_GUEST_OBJECT], e->guests[i].object - object);
		mz_codec_column_add(&e->columns[MZ_COL_GUEST_ADDR],
				    mz_zigzag(e->guests[i].addr - addr));
		object = e->guests[i].object;
		addr = e->guests[i].addr;
	}
}

static void put_whos(struct mz_encoder *e)
{
	for (uint32_t i = 0; i < e->n_whos; i++) {
		mz_codec_column_add(&e->columns[MZ_COL_WHO_CPU],
				    mz_zigzag((uint64_t)e->whos[i].cpu));
		mz_codec_column_add(&e->columns[MZ_COL_WHO_NODE],
				    mz_zigzag((uint64_t)e->whos[i].node));
		mz_codec_column_add(&e->columns[MZ_COL_WHO_PID], e->whos[i].pid);
		mz_codec_column_add(&e->columns[MZ_COL_WHO_TID], e->whos[i].tid);
	}
}

/* A number of an event, and the token that it belongs to. */
static inline void put(struct mz_encoder *e, enum mz_column_id id, uint64_t v, uint32_t token)
{
	struct mz_codec_column *c = &e->columns[id];

	if (c->n < e->n_contexts)
		e->contexts[id - MZ_COL_WHO][c->n] = (uint16_t)token;
	mz_codec_column_add(c, v);
}

/* If the allocator's next address was predicted, its rank among the guesses is enough;
 * otherwise the distance from the last block is stored. */
static int put_place(struct mz_encoder *e, uint32_t birth, uint64_t old, uint32_t token)
{
	struct mz_predicted place;
	int ret;

	if (birth + SOON < e->info.births)
		mz_addr_predict_fetch(e->places, e->birth_addr[birth + SOON],
				      e->birth_addr[birth + SOON / 2]);
	ret = mz_addr_predict_tell(e->places, e->birth_size[birth], old, e->birth_addr[birth],
				   &place);

	if (ret < 0)
		return ret;
	put(e, MZ_COL_PLACE, place.how, token);
	if (!place.how)
		put(e, MZ_COL_ADDR, place.delta, token);
	else if (place.how == MZ_PLACE_AGAIN)
		mz_codec_column_add(&e->columns[MZ_COL_AGAIN], place.delta);
	return 0;
}

/* The predictor sees births and ends in the same order as the decoder will, so that both make
 * the same guesses. */
static int put_blocks(struct mz_encoder *e, uint32_t i, uint32_t does, uint32_t token)
{
	uint32_t block = e->block[i];
	uint64_t old = 0, size = 0;

	if (does & DOES_STEP)
		put(e, MZ_COL_STEP, e->step[i], token);
	if (does & DOES_ADDR && does & DOES_USE) {
		old = block & MZ_GUEST ? e->guests[e->place[block & ~MZ_GUEST]].addr
				       : e->birth_addr[block];
		size = block & MZ_GUEST ? 0 : e->birth_size[block];
		if (does & DOES_END && mz_addr_predict_gone(e->places, size, old) < 0)
			return -ENOMEM;
	}
	if (does & DOES_BEGIN) {
		if (does & DOES_ADDR && put_place(e, e->walk.births, old, token) < 0)
			return -ENOMEM;
		e->walk.births++;
	}
	return 0;
}

static void put_own(struct mz_encoder *e, const struct mz_pattern *base, uint32_t token)
{
	uint64_t expected = mz_is_birth_kind(base->kind)
				    ? mz_addr_predict_given(e->places, base->size)
				    : base->size;

	put(e, MZ_COL_OWN_SIZE, base->size, token);
	if (base->has & MZ_HAS_GIVEN)
		put(e, MZ_COL_OWN_GIVEN, mz_zigzag(base->given - expected), token);
	put(e, MZ_COL_OWN_ARG, base->arg, token);
}

/* Patterns that occur once, and sizes of their own. */
static void put_rare(struct mz_encoder *e, uint32_t i, uint32_t does, uint32_t token)
{
	if (does & DOES_ONCE) {
		put_pattern(e, &e->final.v[e->target[e->final_of[i]]]);
		e->once++;
	}
	if (does & DOES_OWN)
		put_own(e, &e->patterns.v[e->pattern[i]], token);
}

/* All events have a token, and most have a time. */
static int room_for_events(struct mz_encoder *e)
{
	return mz_codec_column_room(&e->columns[MZ_COL_TOKEN], e->events) &&
			       mz_codec_column_room(&e->columns[MZ_COL_TIME], e->events)
		       ? 0
		       : -ENOMEM;
}

static int put_events(struct mz_encoder *e, uint32_t from, uint32_t to)
{
	struct mz_encode_walk *w = &e->walk;
	uint64_t *tokens = e->columns[MZ_COL_TOKEN].v;
	/* without others it is always the first, and needs no column */
	uint32_t who = e->n_whos > 1 ? DOES_WHO : 0;

	for (uint32_t i = from; i < to; i++) {
		uint32_t f = e->final_of[i], token = e->told[f].token, does = e->told[f].does;

		tokens[i] = token;
		if (does & who)
			put(e, MZ_COL_WHO, e->who[i], token);
		if (does & DOES_TIME) {
			put(e, MZ_COL_TIME, mz_zigzag(e->time[i] - w->time), token);
			w->time = e->time[i];
		}
		if (does & (DOES_ONCE | DOES_OWN))
			put_rare(e, i, does, token);
		if (does & (DOES_USE | DOES_BEGIN) && put_blocks(e, i, does, token) < 0)
			return -ENOMEM;
	}
	e->columns[MZ_COL_TOKEN].n = to;
	return 0;
}

static void put_strays(struct mz_encoder *e)
{
	uint64_t addr = 0, object = e->info.first_object;

	for (uint32_t i = 0; i < e->stray_addr.n; i++) {
		mz_codec_column_add(&e->columns[MZ_COL_STRAY_ADDR],
				    mz_zigzag(e->stray_addr.v[i] - addr));
		addr = e->stray_addr.v[i];
	}
	for (uint32_t i = 0; i < e->stray_object.n; i++) {
		mz_codec_column_add(&e->columns[MZ_COL_STRAY_OBJECT],
				    mz_zigzag(e->stray_object.v[i] - object));
		object = e->stray_object.v[i];
	}
	for (uint32_t i = 0; i < e->jump.n; i++)
		mz_codec_column_add(&e->columns[MZ_COL_JUMP], e->jump.v[i]);
}

/* ---- 5. packing --------------------------------------------------------- */

static struct mz_pack_how pack_how(const struct mz_encoder *e, unsigned id)
{
	struct mz_pack_how how = {.codec = MZ_CODEC_PLANES};

	if (id == MZ_COL_TIME || id == MZ_COL_STEP || id == MZ_COL_ADDR || id == MZ_COL_STRAY_ADDR)
		how.codec = MZ_CODEC_LOG;
	how.repeats = id == MZ_COL_STEP || id == MZ_COL_ADDR || id == MZ_COL_STRAY_ADDR ||
		      id == MZ_COL_GUEST_ADDR || id == MZ_COL_OWN_SIZE || id == MZ_COL_AGAIN;
	how.sparse = id == MZ_COL_TIME;
	if (id == MZ_COL_TOKEN)
		how.codec = MZ_CODEC_SPLIT;
	how.words = id == MZ_COL_TOKEN || id == MZ_COL_WHO || id == MZ_COL_PLACE;
	if (id >= MZ_COL_WHO && id <= MZ_COL_ADDR)
		how.context = e->contexts[id - MZ_COL_WHO];
	else if (id >= MZ_COL_CALL && id <= MZ_COL_BLOCK)
		how.context = e->pattern_context;
	return how;
}

static bool all_zero(const struct mz_codec_column *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->v[i])
			return false;
	return true;
}

static int pack_columns(struct mz_encoder *e, struct mz_buf *out, uint64_t *sizes)
{
	uint32_t present = 0;

	for (unsigned id = 0; id < MZ_COLUMNS; id++)
		present += !all_zero(&e->columns[id]);
	mz_buf_number(out, present);
	for (unsigned id = 0; id < MZ_COLUMNS; id++) {
		struct mz_pack_how how = pack_how(e, id);
		size_t before = out->len;

		if (all_zero(&e->columns[id]))
			continue;
		mz_buf_number(out, id);
		if (mz_codec_column_pack(&e->packer, e->columns[id].v, e->columns[id].n, &how,
					 out) < 0)
			return -ENOMEM;
		if (sizes)
			sizes[id] += out->len - before;
	}
	return out->failed ? -ENOMEM : 0;
}

/* Patterns are mixed with the form and the kind of each pattern. */
static int make_pattern_contexts(struct mz_encoder *e)
{
	const struct mz_codec_column *form = &e->columns[MZ_COL_FORM],
				     *kind = &e->columns[MZ_COL_KIND];

	for (uint32_t i = 0; i < form->n; i++)
		e->pattern_context[i] = mz_pattern_context(form->v[i], kind->v[i]);
	return 0;
}

/* ---- all of it ---------------------------------------------------------- */

/* The remains of the previous chunk. Tables are cleared when they are needed again, not at the
 * end of a chunk: there may be no other chunk. */
static void clear_columns(struct mz_encoder *e)
{
	mz_patterns_clear(&e->final);
	mz_u64_table_clear(&e->variants, sizeof(struct mz_encode_note));
	for (int i = 0; i < MZ_COLUMNS; i++)
		e->columns[i].n = 0;
	e->often = e->once = 0;
}

/* How the allocator rounds sizes, as far as it puts blocks behind each other; and what all
 * addresses are multiples of. */
static void choose_allocator(struct mz_encoder *e)
{
	uint32_t hits[MZ_ROUNDINGS] = {0}, n = e->info.births < SAMPLE ? e->info.births : SAMPLE;
	uint64_t any = 0;

	e->rounding = MZ_ROUND_HEADER;
	e->shift = 0;
	if (!(e->info.fields & MZ_HAS_ADDR))
		return;
	for (uint32_t i = 0; i + 1 < n; i++)
		for (unsigned k = 0; k < MZ_ROUNDINGS; k++)
			hits[k] += e->birth_addr[i + 1] - e->birth_addr[i] ==
				   mz_addr_predict_room(k, e->birth_size[i]);
	for (unsigned k = 1; k < MZ_ROUNDINGS; k++)
		if (hits[k] > hits[e->rounding])
			e->rounding = k;
	for (uint32_t i = 0; i < e->info.births; i++)
		any |= e->birth_addr[i];
	while (e->shift < MAX_SHIFT && !(any >> e->shift & 1))
		e->shift++;
}

/* Only for columns that may be mixed. */
static int room_for_contexts(struct mz_encoder *e)
{
	uint32_t n = e->packer.mix_upto < e->events ? e->packer.mix_upto : e->events;

	e->n_contexts = 0;
	for (int i = 0; i < MZ_CONTEXTS && n; i++) {
		uint16_t *p = realloc(e->contexts[i], n * sizeof(*p));

		if (!p)
			return -ENOMEM;
		e->contexts[i] = p;
	}
	e->n_contexts = n;
	return 0;
}

static int prepare(struct mz_encoder *e)
{
	e->last_site = 0;
	e->walk = (struct mz_encode_walk){.growth = common_growth(e), .time = e->info.first_time};
	choose_allocator(e);
	mz_addr_predict_reset(e->places, e->rounding, e->shift);
	if (mz_live_rank_reset(&e->ranks, e->n_guests + e->info.births + 1) < 0)
		return -ENOMEM;
	mz_live_rank_fill(&e->ranks, e->n_guests);
	if (room_for(&e->plain_final, &e->cap_plain, e->patterns.cap) < 0 ||
	    room_for(&e->does, &e->cap_does, e->patterns.cap) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < e->patterns.n; i++)
		e->does[i] = does_of(&e->patterns.v[i]);
	memset(e->plain_final, 0xff, e->patterns.n * sizeof(*e->plain_final));
	memset(e->variant_hint, 0, sizeof(e->variant_hint));
	return room_for_contexts(e);
}

/* What the events need of the patterns that theirs were merged into. */
static int tell_patterns(struct mz_encoder *e)
{
	struct mz_encode_told *told = realloc(e->told, (e->final.n + 1) * sizeof(*told));

	if (!told)
		return -ENOMEM;
	e->told = told;
	for (uint32_t i = 0; i < e->final.n; i++) {
		uint32_t f = e->target[i], token = e->token[f];

		told[i] = (struct mz_encode_told){
			token, does_of(&e->final.v[f]) | (token == e->often ? DOES_ONCE : 0)};
	}
	return room_for_events(e);
}

static int settle(struct mz_encoder *e)
{
	struct rank_item *order;

	if (room_for(&e->target, &e->cap_target, e->final.cap) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < e->final.n; i++)
		e->target[i] = i;
	if (drop_rare(e) < 0)
		return -ENOMEM;
	settle_targets(e);
	if (room_for(&e->token, &e->cap_token, e->final.cap) < 0)
		return -ENOMEM;
	order = give_tokens(e);
	if (!order)
		return -ENOMEM;
	room_for_patterns(e);
	for (uint32_t i = 0; i < e->often; i++)
		put_pattern(e, &e->final.v[order[i].number]);
	free(order);
	return tell_patterns(e);
}

/* What belongs to no event. */
static int put_rest(struct mz_encoder *e)
{
	put_guests(e);
	put_whos(e);
	put_strays(e);
	for (int i = 0; i < MZ_COLUMNS; i++)
		if (e->columns[i].failed)
			return -ENOMEM;
	return 0;
}

static int begin_columns(struct mz_encoder *e)
{
	clear_columns(e);
	return seat_guests(e) < 0 ? -ENOMEM : prepare(e);
}

/* A part of the events goes through a stage; true: that was the last part. */
static bool through(struct mz_encoder *e, int (*stage)(struct mz_encoder *, uint32_t, uint32_t),
		    int *ret)
{
	uint32_t to = e->events - e->walked < PART ? e->events : e->walked + PART;

	*ret = stage(e, e->walked, to);
	e->walked = to == e->events ? 0 : to;
	return !e->walked;
}

static void end_columns(struct mz_encoder *e)
{
	free(e->place);
	e->place = NULL;
	e->walked = 0;
}

/* Parts of it, so that two threads can share the chunks evenly. */
int mz_encoder_step(struct mz_encoder *e)
{
	int ret = 0;

	switch (e->stage) {
	case MZ_STAGE_COLLECT: ret = begin_columns(e); break;
	case MZ_STAGE_WALK:
		if (!through(e, walk_events, &ret) && !ret)
			return 1;
		break;
	case MZ_STAGE_SETTLE: ret = settle(e); break;
	case MZ_STAGE_PUT:
		if (!through(e, put_events, &ret) && !ret)
			return 1;
		break;
	case MZ_STAGE_REST:
		ret = put_rest(e);
		end_columns(e);
		break;
	default: return 0;
	}
	e->stage++;
	if (ret < 0) {
		end_columns(e);
		e->stage = MZ_STAGE_COLLECT;
		return ret;
	}
	return 1;
}

static int write_out(struct mz_encoder *e, struct mz_buf *out, uint64_t *sizes)
{
	int ret;

	if (e->packer.mix_upto) {
		e->pattern_context = malloc(((size_t)e->often + e->once + 1) * sizeof(uint16_t));
		if (!e->pattern_context)
			return -ENOMEM;
		make_pattern_contexts(e);
	}
	mz_chunk_info_put(&e->info, out);
	mz_buf_number(out, e->often);
	mz_buf_number(out, e->once);
	mz_buf_number(out, e->n_guests);
	mz_buf_number(out, e->n_whos);
	if (e->info.fields & MZ_HAS_ADDR)
		mz_buf_number(out, e->shift * MZ_ROUNDINGS + e->rounding);
	ret = pack_columns(e, out, sizes);
	free(e->pattern_context);
	e->pattern_context = NULL;
	return ret;
}

int mz_encoder_finish(struct mz_encoder *e, struct mz_chunk_info *info, struct mz_buf *out,
		      uint64_t sizes[MZ_COLUMNS])
{
	int ret;

	while ((ret = mz_encoder_step(e)) > 0)
		;
	if (!ret)
		ret = write_out(e, out, sizes);
	e->stage = MZ_STAGE_COLLECT;
	if (ret < 0)
		return ret;
	if (info)
		*info = e->info;
	mz_encode_collect_clear(e);
	return 0;
}
