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

struct walk {
	struct mz_encoder *e;
	uint64_t growth;
	uint64_t last_size;
};

static uint32_t position(const struct walk *w, uint32_t block)
{
	return block & MZ_GUEST ? w->e->place[block & ~MZ_GUEST] : w->e->n_guests + block;
}

/* How the pattern refers to the block used; *to_it is the step that leads there, unless it is so
 * near that no step is needed. */
static uint32_t tell_block(struct walk *w, uint32_t block, bool ends, uint32_t *to_it)
{
	struct mz_live_rank *ranks = &w->e->ranks;
	uint32_t p = position(w, block), rank, code;

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

/* The same for the two usual cases, without a search: an event that uses no block, and one
 * like one shortly before, such as the free of the newest block. */
static inline uint32_t usual_final(struct mz_encoder *e, uint32_t base, uint32_t block,
				   uint64_t growth)
{
	uint64_t key = (uint64_t)block << 32 | base;
	struct mz_encode_note *hint = &e->variant_hint[(base * 67 + block) % MZ_VARIANT_HINTS];

	if (growth)
		return final_pattern(e, base, block, growth);
	if (!block) {
		if (e->plain_final[base] == MZ_PATTERN_NONE)
			e->plain_final[base] = final_pattern(e, base, 0, 0);
		return e->plain_final[base];
	}
	if (hint->key != key)
		*hint = (struct mz_encode_note){key, final_pattern(e, base, block, 0)};
	return hint->value;
}

/* Blocks can be named only when the whole chunk is known: ranks depend on the guests, which are
 * sorted first. */
static int walk_events(struct walk *w)
{
	struct mz_encoder *e = w->e;

	for (uint32_t i = 0; i < e->events; i++) {
		const struct mz_pattern *p = &e->patterns.v[e->pattern[i]];
		uint64_t growth = 0;
		uint32_t block = 0, f;

		if (p->form & MZ_FORM_BLOCK)
			block = tell_block(w, e->block[i], p->form & MZ_FORM_END, &e->step[i]);
		if (p->form & MZ_FORM_BIRTH) {
			mz_live_rank_push(&e->ranks);
			if (w->growth && p->size - w->last_size == w->growth &&
			    !(p->has & MZ_HAS_GIVEN))
				growth = w->growth;
			w->last_size = p->size;
		}
		f = usual_final(e, e->pattern[i], block, growth);
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
	int ret = mz_addr_predict_tell(e->places, e->birth_size[birth], old, e->birth_addr[birth],
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
static int put_blocks(struct mz_encoder *e, uint32_t i, const struct mz_pattern *p, uint32_t token,
		      uint32_t *births)
{
	uint32_t block = e->block[i];
	uint64_t old = 0, size = 0;

	if (p->form & MZ_FORM_BLOCK && !p->block)
		put(e, MZ_COL_STEP, e->step[i], token);
	if (p->has & MZ_HAS_ADDR && p->form & MZ_FORM_BLOCK) {
		old = block & MZ_GUEST ? e->guests[e->place[block & ~MZ_GUEST]].addr
				       : e->birth_addr[block];
		size = block & MZ_GUEST ? 0 : e->birth_size[block];
		if (p->form & MZ_FORM_END && mz_addr_predict_gone(e->places, size, old) < 0)
			return -ENOMEM;
	}
	if (p->form & MZ_FORM_BIRTH) {
		if (p->has & MZ_HAS_ADDR && put_place(e, *births, old, token) < 0)
			return -ENOMEM;
		++*births;
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

static int put_events(struct mz_encoder *e)
{
	uint64_t time = e->info.first_time;
	uint32_t births = 0;

	for (uint32_t i = 0; i < e->events; i++) {
		uint32_t f = e->target[e->final_of[i]], token = e->token[f];
		const struct mz_pattern *p = &e->final.v[f];

		mz_codec_column_add(&e->columns[MZ_COL_TOKEN], token);
		if (token == e->often) {
			put_pattern(e, p);
			e->once++;
		}
		/* without others it is always the first, and needs no column */
		if (p->has & MZ_WHO_FIELDS && e->n_whos > 1)
			put(e, MZ_COL_WHO, e->who[i], token);
		if (p->has & MZ_HAS_TIME) {
			put(e, MZ_COL_TIME, mz_zigzag(e->time[i] - time), token);
			time = e->time[i];
		}
		if (p->form & MZ_FORM_OWN)
			put_own(e, &e->patterns.v[e->pattern[i]], token);
		if (put_blocks(e, i, p, token, &births) < 0)
			return -ENOMEM;
	}
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
	choose_allocator(e);
	mz_addr_predict_reset(e->places, e->rounding, e->shift);
	if (mz_live_rank_reset(&e->ranks, e->n_guests + e->info.births + 1) < 0)
		return -ENOMEM;
	mz_live_rank_fill(&e->ranks, e->n_guests);
	if (room_for(&e->plain_final, &e->cap_plain, e->patterns.cap) < 0)
		return -ENOMEM;
	memset(e->plain_final, 0xff, e->patterns.n * sizeof(*e->plain_final));
	memset(e->variant_hint, 0, sizeof(e->variant_hint));
	return room_for_contexts(e);
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
	for (uint32_t i = 0; i < e->often; i++)
		put_pattern(e, &e->final.v[order[i].number]);
	free(order);
	return 0;
}

static int make_columns(struct mz_encoder *e)
{
	struct walk w = {.e = e, .growth = common_growth(e)};
	int ret = prepare(e);

	if (!ret)
		ret = walk_events(&w);
	if (!ret)
		ret = settle(e);
	if (!ret)
		ret = put_events(e);
	put_guests(e);
	put_whos(e);
	put_strays(e);
	for (int i = 0; i < MZ_COLUMNS && !ret; i++)
		ret = e->columns[i].failed ? -ENOMEM : 0;
	return ret;
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
	int ret = seat_guests(e);

	clear_columns(e);
	if (!ret)
		ret = make_columns(e);
	free(e->place);
	e->place = NULL;
	if (!ret)
		ret = write_out(e, out, sizes);
	if (ret < 0)
		return ret;
	if (info)
		*info = e->info;
	mz_encode_collect_clear(e);
	return 0;
}
