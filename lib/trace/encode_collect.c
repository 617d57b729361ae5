// SPDX-License-Identifier: BSD-2-Clause
/* Collect the events of a chunk: patterns, threads and blocks. */
#include "trace/encode_collect.h"

#include <errno.h>
#include <stdlib.h>

#define NOT_TOLD    0	       /* in the window: never met */
#define WINDOW	    (1u << 19) /* objects that are found by subtraction */
#define FIRST_CAP   1024
#define FETCH	    32 /* events at a time */
#define USUAL_LEVEL 7  /* of zstd */

/* ---- making room -------------------------------------------------------- */

struct mz_encoder *mz_encoder_new(const struct mz_encode_options *options)
{
	struct mz_encoder *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->options = *options;
	if (!e->options.max_events || e->options.max_events > MZ_WIRE_MAX_EVENTS)
		e->options.max_events = MZ_WIRE_MAX_EVENTS;
	e->info.raw = options->raw;
	e->info.deltas = true;
	e->next_object = 1;
	e->packer.level = options->level ? options->level : USUAL_LEVEL;
	if (options->best)
		mz_packer_mix_all(&e->packer);
	e->places = mz_addr_predict_new();
	if (e->places && !mz_u64_table_init(&e->map, sizeof(struct mz_encode_note)) &&
	    !mz_u64_table_init(&e->variants, sizeof(struct mz_encode_note)))
		return e;
	mz_encoder_free(e);
	return NULL;
}

void mz_encoder_free(struct mz_encoder *e)
{
	if (!e)
		return;
	mz_patterns_deinit(&e->patterns);
	free(e->pattern);
	free(e->block);
	free(e->step);
	free(e->final_of);
	free(e->place);
	free(e->pattern_context);
	free(e->who);
	free(e->time);
	free(e->window);
	free(e->birth_addr);
	free(e->birth_size);
	free(e->guests);
	mz_u64_table_deinit(&e->map);
	mz_u64_table_deinit(&e->variants);
	mz_patterns_deinit(&e->final);
	free(e->target);
	free(e->token);
	mz_live_rank_deinit(&e->ranks);
	for (int i = 0; i < MZ_COLUMNS; i++)
		mz_codec_column_free(&e->columns[i]);
	for (int i = 0; i < MZ_CONTEXTS; i++)
		free(e->contexts[i]);
	free(e->whos);
	mz_pair_index_deinit(&e->who_index);
	free(e->plain_final);
	free(e->does);
	free(e->told);
	mz_codec_column_free(&e->stray_addr);
	mz_codec_column_free(&e->stray_object);
	mz_codec_column_free(&e->jump);
	mz_packer_deinit(&e->packer);
	mz_addr_predict_free(e->places);
	free(e);
}

/* Memory stays for the next chunk; only the contents go. The sequence number continues, so
 * that a reader notices a missing chunk. */
void mz_encode_collect_clear(struct mz_encoder *e)
{
	struct mz_chunk_info *info = &e->info;

	if (e->window)
		memset(e->window, 0, e->in_window * sizeof(*e->window));
	e->in_window = 0;
	*info = (struct mz_chunk_info){.stream = info->stream,
				       .sequence = info->sequence + 1,
				       .raw = info->raw,
				       .deltas = info->deltas};
	mz_patterns_clear(&e->patterns);
	e->events = 0;
	e->n_guests = 0;
	e->low_object = 0;
	e->n_whos = 0;
	memset(e->recent, 0, sizeof(e->recent));
	mz_pair_index_clear(&e->who_index);
	e->last_size = 0;
	mz_u64_table_clear(&e->map, sizeof(struct mz_encode_note));
	e->stray_addr.n = e->stray_object.n = e->jump.n = 0;
	memset(e->grows, 0, sizeof(e->grows));
}

void mz_encoder_set_stream(struct mz_encoder *e, uint32_t stream)
{
	e->info.stream = stream;
}

void mz_encoder_set_sequence(struct mz_encoder *e, uint32_t sequence)
{
	e->info.sequence = sequence;
}

void mz_encoder_set_level(struct mz_encoder *e, int level)
{
	e->packer.level = level;
}

void mz_encoder_mix_short(struct mz_encoder *e, uint32_t upto)
{
	if (!e->options.best)
		mz_packer_mix_short(&e->packer, upto);
}

bool mz_encoder_full(const struct mz_encoder *e)
{
	return e->events >= e->options.max_events;
}

uint32_t mz_encoder_events(const struct mz_encoder *e)
{
	return e->events;
}

size_t mz_encoder_tables(const struct mz_encoder *e)
{
	return mz_patterns_memory(&e->patterns) + (size_t)e->cap_guests * sizeof(*e->guests) +
	       (e->map.mask + 1) * sizeof(struct mz_encode_note) +
	       (size_t)(e->stray_addr.cap + e->stray_object.cap + e->jump.cap) * 8 +
	       (e->window ? WINDOW * sizeof(*e->window) : 0);
}

size_t mz_encoder_memory(const struct mz_encoder *e)
{
	return mz_encoder_tables(e) + (size_t)e->cap * (5 * 4 + 3 * 8);
}

static int grow_array(void *array, size_t item, uint32_t cap)
{
	void *p = realloc(*(void **)array, item * cap);

	if (!p)
		return -ENOMEM;
	*(void **)array = p;
	return 0;
}

static int make_room(struct mz_encoder *e)
{
	uint32_t cap = e->cap ? e->cap * 2 : FIRST_CAP;

	if (grow_array(&e->pattern, sizeof(*e->pattern), cap) < 0 ||
	    grow_array(&e->block, sizeof(*e->block), cap) < 0 ||
	    grow_array(&e->step, sizeof(*e->step), cap) < 0 ||
	    grow_array(&e->final_of, sizeof(*e->final_of), cap) < 0 ||
	    grow_array(&e->who, sizeof(*e->who), cap) < 0 ||
	    grow_array(&e->time, sizeof(*e->time), cap) < 0 ||
	    grow_array(&e->birth_addr, sizeof(*e->birth_addr), cap) < 0 ||
	    grow_array(&e->birth_size, sizeof(*e->birth_size), cap) < 0)
		return -ENOMEM;
	e->cap = cap;
	return 0;
}

/* ---- blocks ------------------------------------------------------------- */

/* Where the block of a key (object, or address in a raw chunk) is noted; *is_new
 * if nothing is known of it. NULL: no memory. Holds until the next call. */
static inline uint32_t *noted(struct mz_encoder *e, uint64_t key, bool *is_new)
{
	uint64_t at = key - e->first_key;

	if (!e->info.raw && at < WINDOW) {
		*is_new = e->window[at] == NOT_TOLD;
		if (at >= e->in_window)
			e->in_window = (uint32_t)at + 1;
		return &e->window[at];
	}
	return mz_encode_note(&e->map, key, is_new);
}

/* The notes count births from 1; 0 means that nothing is known. */
#define DEAD UINT32_MAX

static int add_guest(struct mz_encoder *e, uint64_t object, uint64_t addr, uint32_t *block)
{
	if (e->n_guests == e->cap_guests) {
		uint32_t cap = e->cap_guests ? e->cap_guests * 2 : FIRST_CAP;

		if (grow_array(&e->guests, sizeof(*e->guests), cap) < 0)
			return -ENOMEM;
		e->cap_guests = cap;
	}
	e->guests[e->n_guests] = (struct mz_guest){object, addr, e->n_guests};
	*block = MZ_GUEST | e->n_guests++;
	return 0;
}

/* ---- the parts of an event ---------------------------------------------- */

struct parts {
	struct mz_pattern pattern;
	uint64_t object, addr;	       /* of a new block */
	uint64_t old_object, old_addr; /* of the block used */
	bool uses, ends;
};

/* Separates what repeats (the pattern) from what an event has for itself (block, address,
 * time). Dropped fields vanish here, so that they cost nothing later. */
static void take_apart(const struct mz_encoder *e, const struct mz_event *ev, struct parts *p)
{
	struct mz_pattern *t = &p->pattern;
	uint16_t has = ev->has & MZ_HAS_ALL & (uint16_t)~e->options.drop;
	bool exchange = ev->kind == MZ_REALLOC;
	bool made = mz_is_birth_kind(ev->kind) || ev->kind == MZ_LOST || ev->kind == MZ_MARK;

	/* field by field: a struct of zeros is a slow string instruction */
	t->form = t->zero = 0;
	t->block = t->zero_too = 0;
	p->object = p->addr = p->old_object = p->old_addr = 0;
	p->uses = p->ends = false;
	t->kind = ev->kind;
	t->call = ev->call;
	t->has = has;
	t->size = ev->size;
	t->arg = ev->arg;
	t->unit = ev->unit;
	t->given = has & MZ_HAS_GIVEN ? ev->given : 0;
	t->site = has & MZ_HAS_SITE ? ev->site : 0;
	t->cache = has & MZ_HAS_CACHE ? ev->cache : 0;
	t->flags = has & MZ_HAS_FLAGS ? ev->flags : 0;
	if (made) {
		p->object = e->info.raw ? 0 : ev->object;
		p->addr = has & MZ_HAS_ADDR ? ev->addr : 0;
	}
	if (exchange || !made) {
		p->uses = true;
		p->old_object = e->info.raw ? 0 : exchange ? ev->old_object : ev->object;
		if (has & MZ_HAS_ADDR)
			p->old_addr = exchange ? ev->old_addr : ev->addr;
		p->ends = ev->kind == MZ_FREE;
	}
	if (exchange) /* a failed one keeps the old block */
		p->ends = !ev->size || (e->info.raw ? p->addr : p->object);
}

static uint64_t block_addr(const struct mz_encoder *e, uint32_t block)
{
	return block & MZ_GUEST ? e->guests[block & ~MZ_GUEST].addr : e->birth_addr[block];
}

/* Most events refer to a live block of the chunk, which a rank or step expresses briefly.
 * Anything else is a stray, stored in full. */
static int use_block(struct mz_encoder *e, struct parts *p, uint32_t *block)
{
	uint64_t key = e->info.raw ? p->old_addr : p->old_object;
	bool has_addr = p->pattern.has & MZ_HAS_ADDR;
	uint16_t form = 0;

	if (key) {
		bool is_new;
		uint32_t *note = noted(e, key, &is_new);

		if (!note)
			return -ENOMEM;
		if (is_new || (e->info.raw && *note == DEAD)) {
			if (add_guest(e, p->old_object, p->old_addr, block) < 0)
				return -ENOMEM;
			*note = *block + 1;
		}
		if (*note == DEAD) {
			form = MZ_FORM_STRAY_OBJECT;
			mz_codec_column_add(&e->stray_object, p->old_object);
		} else {
			*block = *note - 1;
			form = MZ_FORM_BLOCK | (p->ends ? MZ_FORM_END : 0);
			if (p->ends)
				*note = DEAD;
		}
	}
	if (has_addr && p->old_addr != (form & MZ_FORM_BLOCK ? block_addr(e, *block) : 0)) {
		form |= MZ_FORM_STRAY_ADDR;
		mz_codec_column_add(&e->stray_addr, p->old_addr);
	}
	p->pattern.form |= form;
	return 0;
}

static void count_growth(struct mz_encoder *e, const struct mz_pattern *t)
{
	uint64_t d = t->size - e->last_size + MZ_GROW_SPAN;

	if (d <= 2 * MZ_GROW_SPAN)
		e->grows[d]++;
	e->last_size = t->size;
}

/* Objects are numbered in order of birth, so the number itself is stored only where it jumps. */
static int begin_block(struct mz_encoder *e, struct parts *p)
{
	struct mz_chunk_info *info = &e->info;
	struct mz_pattern *t = &p->pattern;
	uint64_t key = info->raw ? p->addr : p->object;
	uint32_t *note;
	bool is_new;

	if (!mz_is_birth_kind(t->kind) || !key) {
		if (p->addr) {
			t->form |= MZ_FORM_STRAY_NEW;
			mz_codec_column_add(&e->stray_addr, p->addr);
		}
		if (p->object) {
			t->form |= MZ_FORM_STRAY_BORN;
			mz_codec_column_add(&e->stray_object, p->object);
		}
		return 0;
	}
	if (!info->raw && !info->births)
		info->first_object = e->next_object = p->object;
	note = noted(e, key, &is_new);
	if (!note)
		return -ENOMEM;
	*note = info->births + 1;
	t->form |= MZ_FORM_BIRTH;
	if (!info->raw && p->object != e->next_object) {
		t->form |= MZ_FORM_JUMP;
		mz_codec_column_add(&e->jump, mz_zigzag(p->object - e->next_object));
	}
	e->next_object = p->object + 1;
	if (p->object > info->last_object)
		info->last_object = p->object;
	if (p->object < info->first_object && (!e->low_object || p->object < e->low_object))
		e->low_object = p->object;
	e->birth_addr[info->births] = p->addr;
	e->birth_size[info->births] = t->size;
	count_growth(e, t);
	info->births++;
	return 0;
}

/* ---- who and when ------------------------------------------------------- */

static int find_who(struct mz_encoder *e, const struct mz_event *ev, uint16_t has)
{
	struct mz_who who = {
		.cpu = has & MZ_HAS_CPU ? ev->cpu : 0,
		.node = has & MZ_HAS_NODE ? ev->node : 0,
		.pid = has & MZ_HAS_PID ? ev->pid : 0,
		.tid = has & MZ_HAS_TID ? ev->tid : 0,
	};
	uint32_t key = (who.tid * 31 + who.pid) * 31 + (uint32_t)who.cpu * 7 + (uint32_t)who.node;
	uint32_t *hint = &e->who_hint[key % MZ_WHO_HINTS], i = *hint;

	if (i >= e->n_whos || memcmp(&e->whos[i], &who, sizeof(who))) {
		i = mz_pair_index_put(&e->who_index, (uint64_t)who.pid << 32 | who.tid,
				      (uint64_t)who.cpu << 32 | (uint32_t)who.node);
		if (i == MZ_PAIR_INDEX_NONE)
			return -ENOMEM;
	}
	if (i == e->n_whos) {
		if (i == e->cap_whos) {
			uint32_t cap = i ? i * 2 : 16;

			if (grow_array(&e->whos, sizeof(*e->whos), cap) < 0)
				return -ENOMEM;
			e->cap_whos = cap;
		}
		e->whos[e->n_whos++] = who;
	}
	*hint = e->who[e->events] = i;
	if (has & MZ_HAS_CPU)
		e->info.cpu_mask |= 1ull << (who.cpu & 63);
	if (has & MZ_HAS_TID)
		e->info.tid_mask |= 1ull << (who.tid & 63);
	return 0;
}

/* The fields of an event that say where it comes from, in two words. */
static inline struct mz_encode_origin origin_of(const struct mz_event *ev)
{
	const struct mz_event all = {.cpu = -1, .node = -1, .has = MZ_WHO_FIELDS};
	struct mz_encode_origin o;
	uint64_t mask;

	_Static_assert(offsetof(struct mz_event, tid) == offsetof(struct mz_event, pid) + 4 &&
			       offsetof(struct mz_event, call) ==
				       offsetof(struct mz_event, cpu) + 7,
		       "pid and tid, and cpu, node and has, are words");
	memcpy(&mask, &all.cpu, sizeof(mask));
	memcpy(&o.whose, &ev->pid, sizeof(o.whose));
	memcpy(&o.where, &ev->cpu, sizeof(o.where));
	o.where &= mask;
	return o;
}

/* Most events come from a thread that had another event shortly before. */
static inline int note_who(struct mz_encoder *e, const struct mz_event *ev, uint16_t has)
{
	struct mz_encode_origin origin = origin_of(ev);
	struct mz_encode_origin *recent = &e->recent[ev->tid % MZ_RECENT_WHOS];
	int ret;

	if (origin.whose == recent->whose && origin.where == recent->where) {
		e->who[e->events] = recent->who;
		return 0;
	}
	ret = find_who(e, ev, has);
	if (ret < 0)
		return ret;
	origin.who = e->who[e->events];
	*recent = origin;
	return 0;
}

static void note_time(struct mz_encoder *e, uint64_t time)
{
	struct mz_chunk_info *info = &e->info;
	bool first = !(info->fields & MZ_HAS_TIME);

	e->time[e->events] = time;
	if (first || time < info->first_time)
		info->first_time = time;
	if (first || time > info->last_time)
		info->last_time = time;
}

/* ---- adding ------------------------------------------------------------- */

/* The window begins with the first block born of those at hand. */
static int start_chunk(struct mz_encoder *e, const struct mz_event *ev, size_t n)
{
	if (!e->info.raw && !e->window) {
		e->window = calloc(WINDOW, sizeof(*e->window));
		if (!e->window)
			return -ENOMEM;
	}
	e->first_key = e->next_object;
	for (size_t i = 0; i < n; i++) {
		if (mz_is_birth_kind(ev[i].kind) && ev[i].object) {
			e->first_key = ev[i].object;
			break;
		}
	}
	return 0;
}

/* Is it the pattern of this event, which has all of its fields? */
static inline bool is_pattern_of(const struct mz_pattern *t, const struct mz_event *ev)
{
	uint64_t wide = (t->size ^ ev->size) | (t->given ^ ev->given) | (t->arg ^ ev->arg);
	uint32_t half = (t->site ^ ev->site) | (t->cache ^ ev->cache) | (t->flags ^ ev->flags) |
			(t->unit ^ ev->unit);
	uint32_t rest =
		(uint32_t)((t->has ^ ev->has) | (t->kind ^ ev->kind) | (t->call ^ ev->call));

	return !(wide | half | rest);
}

/* The block of the chunk that a raw event ends: found, and dead. False: it is none. */
static inline bool end_usual(struct mz_encoder *e, uint64_t addr)
{
	struct mz_encode_note *note = mz_u64_table_find(&e->map, addr, sizeof(*note));

	if (!note || note->value == DEAD)
		return false;
	e->block[e->events] = note->value - 1;
	note->value = DEAD;
	return true;
}

/* The block that a raw event begins. */
static inline int begin_usual(struct mz_encoder *e, const struct mz_event *ev,
			      const struct mz_pattern *t)
{
	bool is_new;
	uint32_t *note = mz_encode_note(&e->map, ev->addr, &is_new);

	if (!note)
		return -ENOMEM;
	*note = e->info.births + 1;
	e->birth_addr[e->info.births] = ev->addr;
	e->birth_size[e->info.births] = t->size;
	count_growth(e, t);
	e->info.births++;
	return 0;
}

/* The form of a usual event: a malloc, a free or a realloc of blocks that are known, or
 * free(NULL); NOT_USUAL: it is something else, such as a malloc that failed. */
#define NOT_USUAL UINT16_MAX
static inline uint16_t usual_form(const struct mz_event *ev)
{
	switch (ev->kind) {
	case MZ_FREE: return ev->addr ? MZ_FORM_BLOCK | MZ_FORM_END : 0;
	case MZ_ALLOC: return ev->addr ? MZ_FORM_BIRTH : NOT_USUAL;
	case MZ_REALLOC:
		return ev->addr && ev->old_addr && ev->size
			       ? MZ_FORM_BLOCK | MZ_FORM_END | MZ_FORM_BIRTH
			       : NOT_USUAL;
	default: return NOT_USUAL;
	}
}

/* Most events of a recorder are like one shortly before but for the block and the time: they need
 * not be taken apart. 1: added, 0: it is another kind of event, or -ENOMEM. */
static inline int add_usual(struct mz_encoder *e, const struct mz_event *ev)
{
	uint16_t form = usual_form(ev);
	uint32_t number = mz_patterns_hint(&e->patterns, ev->size, ev->site, form, ev->call);
	const struct mz_pattern *t;
	int ret = 0;

	if (number >= e->patterns.n || form == NOT_USUAL || !(ev->has & MZ_HAS_ADDR) ||
	    e->options.drop || e->events >= e->cap)
		return 0;
	t = &e->patterns.v[number];
	if (t->form != form || !is_pattern_of(t, ev))
		return 0;
	if (form & MZ_FORM_END && !end_usual(e, ev->kind == MZ_FREE ? ev->addr : ev->old_addr))
		return 0;
	if (form & MZ_FORM_BIRTH)
		ret = begin_usual(e, ev, t);
	if (!ret && t->has & MZ_WHO_FIELDS)
		ret = note_who(e, ev, t->has);
	if (ret < 0)
		return ret;
	if (t->has & MZ_HAS_TIME)
		note_time(e, ev->time);
	e->pattern[e->events++] = number;
	e->info.events = e->events;
	return 1;
}

/* Nothing may fail after the pattern is numbered, or the columns of the chunk would no longer
 * have one entry per event. */
static int add_one(struct mz_encoder *e, const struct mz_event *ev)
{
	struct parts p;
	uint32_t number;
	int ret = e->events < e->cap ? 0 : make_room(e);

	if (ret < 0)
		return ret;
	take_apart(e, ev, &p);
	if (p.uses)
		ret = use_block(e, &p, &e->block[e->events]);
	if (!ret)
		ret = begin_block(e, &p);
	if (!ret && p.pattern.has & MZ_WHO_FIELDS)
		ret = note_who(e, ev, p.pattern.has);
	if (ret < 0)
		return ret;
	if (p.pattern.has & MZ_HAS_TIME)
		note_time(e, ev->time);
	number = mz_patterns_usual(&e->patterns, &p.pattern);
	if (number == MZ_PATTERN_NONE || e->stray_addr.failed || e->stray_object.failed ||
	    e->jump.failed)
		return -ENOMEM;
	e->pattern[e->events++] = number;
	e->info.events = e->events;
	e->info.fields |= p.pattern.has;
	if (ev->kind == MZ_LOST) {
		e->info.n_lost++;
		e->info.lost[ev->arg < MZ_LOSSES ? ev->arg : MZ_LOSS_UNKNOWN] += ev->size;
	}
	return 0;
}

/* The notes of blocks are spread over a table that is larger than the caches: they are
 * prefetched. */
static void fetch_notes(const struct mz_encoder *e, const struct mz_event *ev, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t number = mz_patterns_hint(&e->patterns, ev[i].size, ev[i].site,
						   usual_form(&ev[i]), ev[i].call);

		mz_u64_table_prefetch(&e->map, ev[i].addr, sizeof(struct mz_encode_note));
		if (e->patterns.v) {
			const struct mz_pattern *t = &e->patterns.v[number];

			/* most lie in two lines */
			__builtin_prefetch(t);
			__builtin_prefetch((const char *)(t + 1) - 1);
		}
	}
}

/* Returns how many events were taken: fewer than n if the chunk is full, which the caller then
 * finishes. */
long mz_encoder_add(struct mz_encoder *e, const struct mz_event *ev, size_t n)
{
	size_t i;

	if (n && !e->events && start_chunk(e, ev, n) < 0)
		return -ENOMEM;
	for (i = 0; i < n && !mz_encoder_full(e); i++) {
		int ret = 0;

		if (e->info.raw && i % FETCH == 0)
			fetch_notes(e, &ev[i], n - i < FETCH ? n - i : FETCH);
		if (e->info.raw)
			ret = add_usual(e, &ev[i]);
		if (!ret)
			ret = add_one(e, &ev[i]);
		if (ret < 0)
			return -ENOMEM;
	}
	return (long)i;
}
