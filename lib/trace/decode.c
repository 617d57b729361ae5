// SPDX-License-Identifier: BSD-2-Clause
/* Prepare a chunk for decoding: columns, patterns, origins and guests. */
#include <errno.h>
#include <stdlib.h>

#include "trace/decode.h"

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
/* A block that ended leaves a free place; the bits and ranks of the block are included. */
#define PLACE  32u

/* Capacities count and not lengths: the decoder keeps its arrays from chunk to chunk. */
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

/* ---- columns ------------------------------------------------------------ */

/* The encoder leaves out a column that has only zeros, so a missing number is 0. */
static uint64_t pattern_number(const struct mz_decoder *d, enum mz_column_id id, uint32_t i)
{
	return i < d->columns[id].n ? d->columns[id].v[i] : 0;
}

/* The codec follows the count of the numbers. It is read without moving the input: only a mixed
 * column needs contexts, and to find these takes a walk over all events. */
static bool is_mixed(const struct mz_bytes *in)
{
	struct mz_bytes ahead = *in;

	mz_bytes_number(&ahead);
	return mz_bytes_number(&ahead) == MZ_CODEC_MIXED;
}

/* Which events have a number in a column: those whose pattern says so. */
static bool has_number(const struct mz_decode_ready *r, unsigned id)
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

/* The tokens that belong to the numbers of a column. */
static uint32_t find_context(struct mz_decoder *d, unsigned id)
{
	const struct mz_codec_column *tokens = &d->columns[MZ_COL_TOKEN];
	uint32_t n = 0, once = 0, place = 0;

	for (uint32_t i = 0; i < d->info.events; i++) {
		uint32_t token = i < tokens->n ? (uint32_t)tokens->v[i] : 0;
		uint32_t p = token < d->often ? token : d->often + once++;

		/* reading the events will report it */
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

/* The columns FORM and KIND precede all others, so they can predict the rest of the patterns. */
static uint32_t pattern_contexts(struct mz_decoder *d)
{
	uint32_t n = d->often + d->once;

	for (uint32_t i = 0; i < n; i++)
		d->context[i] = mz_pattern_context(pattern_number(d, MZ_COL_FORM, i),
						   pattern_number(d, MZ_COL_KIND, i));
	return n;
}

/* The contexts need columns with lower numbers, which have been unpacked: FORM and KIND for the
 * other patterns, and TOKEN and PLACE for the numbers of events. */
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

/* GROWS changes only how the size is computed, so an event with it can still be plain. */
static enum mz_decode_plain how_plain(const struct mz_decode_ready *r)
{
	const unsigned end = MZ_FORM_BLOCK | MZ_FORM_END, move = end | MZ_FORM_BIRTH;
	unsigned form = r->form & ~MZ_FORM_GROWS;

	if (form == MZ_FORM_BIRTH && r->event.kind == MZ_ALLOC)
		return MZ_DECODE_PLAIN_BIRTH;
	if (form == end && r->event.kind == MZ_FREE)
		return MZ_DECODE_PLAIN_END;
	/* with addresses, the new address must be predicted between the two */
	if (form == move && r->event.kind == MZ_REALLOC && !(r->event.has & MZ_HAS_ADDR))
		return MZ_DECODE_PLAIN_MOVE;
	return MZ_DECODE_NOT_PLAIN;
}

/* With deltas, the column says how far the bytes are from those that the allocator is expected to
 * give, which is mostly 0. Events with a size of their own (OWN) have such a difference of their
 * own. */
static uint64_t pattern_given(const struct mz_decoder *d, const struct mz_decode_ready *r,
			      uint32_t i)
{
	uint64_t number = pattern_number(d, MZ_COL_GIVEN, i);

	if (!d->info.deltas || r->form & MZ_FORM_OWN || !mz_is_birth_kind(r->event.kind))
		return number;
	return mz_addr_predict_given(d->places, r->event.size) + mz_unzigzag(number);
}

/* With deltas, each site is a difference from the preceding pattern that has one. The function must
 * be called for these patterns alone, once for each, and in their order. */
static uint32_t pattern_site(struct mz_decoder *d, uint32_t i)
{
	uint64_t number = pattern_number(d, MZ_COL_SITE, i);

	if (!d->info.deltas)
		return (uint32_t)number;
	d->site += (uint32_t)mz_unzigzag(number);
	return d->site;
}

/* All that can be wrong with a pattern is found here, once for each pattern, so that the functions
 * that read events need not look for it. */
static int make_ready(struct mz_decoder *d, uint32_t i)
{
	struct mz_decode_ready *r = &d->patterns[i];
	struct mz_event *ev = &r->event;
	uint64_t form = pattern_number(d, MZ_COL_FORM, i), kind = pattern_number(d, MZ_COL_KIND, i);
	uint64_t call = pattern_number(d, MZ_COL_CALL, i), has = pattern_number(d, MZ_COL_HAS, i);

	*r = (struct mz_decode_ready){0};
	if (form > MZ_FORMS || has & ~(uint64_t)d->info.fields)
		return mz_decode_bad(d, "a pattern that no writer produces");
	if (!kind || kind >= MZ_KINDS || call >= MZ_CALLS)
		return mz_decode_bad(d, "an unknown kind of event or call");
	if (!form_fits(d, (unsigned)form, (unsigned)kind))
		return mz_decode_bad(d, "a block that begins or ends where no block can");
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

/* First come the patterns that are used more than once, by token; then those that are used once, in
 * the order of their events. */
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

/* The guests have the positions 0 to guests - 1 in the order of their births, so their object
 * numbers only increase. Their addresses may go either way. */
static void make_guests(struct mz_decoder *d)
{
	uint64_t object = 0, addr = 0;

	for (uint32_t i = 0; i < d->guests; i++) {
		object += d->info.raw ? 0 : pattern_number(d, MZ_COL_GUEST_OBJECT, i);
		addr += mz_unzigzag(pattern_number(d, MZ_COL_GUEST_ADDR, i));
		d->objects[i] = object;
		if (d->info.fields & MZ_HAS_ADDR)
			d->entries[i] = (struct mz_decode_entry){.addr = addr};
	}
	/* without jumps the objects of births are known by their positions */
	d->counted = d->columns[MZ_COL_JUMP].n || d->info.raw ? UINT32_MAX : d->guests;
	d->count_from = d->info.first_object - d->guests;
	mz_live_rank_fill(&d->ranks, d->guests);
}

/* ---- starting ----------------------------------------------------------- */

/* Enlarges an array without keeping its contents. */
static int grow(void *array, uint32_t *cap, uint32_t n, size_t item)
{
	void *p;

	if (n <= *cap && *(void **)array)
		return 0;
	/* one item more: no items are an array as well, since NULL means that there is none yet */
	p = malloc(((size_t)n + 1) * item);
	if (!p)
		return -ENOMEM;
	free(*(void **)array);
	*(void **)array = p;
	*cap = n;
	return 0;
}

/* The counts are at most those of the events of a chunk, of which there can be 2^18. A small file
 * that is damaged or hostile therefore cannot demand much memory. */
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

/* The columns are in the order of their numbers. No column can then come twice, and the patterns
 * are complete before the first column that is unpacked with their help. */
static int get_columns(struct mz_decoder *d, struct mz_bytes *in)
{
	uint64_t present = mz_bytes_upto(in, MZ_COLUMNS);
	int last = -1;
	bool ready = false;
	int ret;

	while (present--) {
		int id = (int)mz_bytes_upto(in, MZ_COLUMNS - 1);

		if (in->bad || id <= last)
			return mz_decode_bad(d, "unknown columns, or columns out of order");
		last = id;
		if (id > MZ_COL_BLOCK && !ready) {
			ret = make_patterns(d);
			if (ret < 0)
				return ret;
			ready = true;
		}
		ret = get_column(d, in, (unsigned)id);
		if (ret < 0)
			return ret == -EBADMSG ? mz_decode_bad(d, "a column that does not unpack")
					       : ret;
	}
	if (in->bad || in->p != in->end)
		return mz_decode_bad(d, "bytes after the last column");
	return ready ? 0 : make_patterns(d);
}

/* The arrays keep their memory, since the next chunk is likely to be of the same size. */
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

/* The numbers at the head come first, since they bound all that follows. The room is made before
 * the columns are unpacked, because patterns and contexts are made meanwhile. */
int mz_decoder_start(struct mz_decoder *d, const void *payload, size_t size)
{
	struct mz_bytes in = {.p = payload, .end = (const uint8_t *)payload + size};
	unsigned allocator = 0;
	int ret;

	d->why = NULL;
	if (mz_chunk_info_get(&in, &d->info) < 0) {
		d->info = (struct mz_chunk_info){0};
		return mz_decode_bad(d, "the head of a chunk does not parse");
	}
	begin(d);
	d->often = (uint32_t)mz_bytes_upto(&in, d->info.events);
	d->once = (uint32_t)mz_bytes_upto(&in, d->info.events);
	d->guests = (uint32_t)mz_bytes_upto(&in, d->info.events);
	d->n_whos = (uint32_t)mz_bytes_upto(&in, d->info.events);
	if (d->info.fields & MZ_HAS_ADDR)
		allocator = (unsigned)mz_bytes_upto(&in, 64 * MZ_ROUNDINGS - 1);
	if (in.bad)
		return mz_decode_bad(d, "more patterns or blocks than events");
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
