// SPDX-License-Identifier: BSD-2-Clause
/* Predict the address of the next block from recently freed places. */
#include "trace/addr_predict.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "trace/wire.h"

#define CLASSES 4096
#define DEPTH	32
#define HASH	16 /* bits */
#define TOLD	14 /* bits of the hash of addresses stored as a delta */
#define HEADER	8  /* bytes of a block's room that the allocator uses itself */

/* The guesses, by number. */
enum {
	BY_DELTA,
	IN_PLACE, /* at the address of the block that a realloc replaces */
	LAST_FREED,
	BEHIND,			    /* behind the preceding block */
	ON_TOP,			    /* behind the highest block */
	IN_ROW,			    /* behind the preceding block of the same class */
	FREED,			    /* 1 .. DEPTH - 1 before the last freed of its class */
	RECENT = FREED + DEPTH - 1, /* 0 .. DEPTH - 1 before the last freed of any class */
	GUESSES = RECENT + DEPTH
};

/* A free place; 0 ends the lists. */
struct free_place {
	uint64_t addr;
	uint32_t class;
	uint32_t newer; /* of its class */
	union {
		uint32_t older;	    /* of its class */
		uint32_t next_free; /* not in use */
	};
	uint32_t any_newer, any_older; /* of all */
};

struct mz_addr_predict {
	enum mz_rounding rounding;
	unsigned shift;
	struct free_place *v; /* from 1; addr 0: not in use */
	uint32_t n, cap;
	uint32_t unused; /* a list, by next_free */
	uint32_t newest[CLASSES];
	uint32_t any;
	uint64_t row[CLASSES]; /* end of the preceding block of each class */
	uint64_t last, behind, top;
	uint32_t at[1 << HASH]; /* the place last freed of those that share a hash */
	uint64_t *told;		/* addresses, in the order in which they were stored as a delta */
	uint32_t n_told, cap_told;
	uint32_t told_at[1 << TOLD]; /* encoding: the last of those that share a hash, plus 1 */
};

struct mz_addr_predict *mz_addr_predict_new(void)
{
	return calloc(1, sizeof(struct mz_addr_predict));
}

void mz_addr_predict_free(struct mz_addr_predict *pl)
{
	if (!pl)
		return;
	free(pl->v);
	free(pl->told);
	free(pl);
}

void mz_addr_predict_reset(struct mz_addr_predict *pl, enum mz_rounding rounding, unsigned shift)
{
	pl->rounding = rounding;
	pl->shift = shift;
	pl->n = 1;
	pl->any = pl->unused = 0;
	memset(pl->newest, 0, sizeof(pl->newest));
	memset(pl->row, 0, sizeof(pl->row));
	pl->last = pl->behind = pl->top = 0;
	memset(pl->at, 0, sizeof(pl->at));
	memset(pl->told_at, 0, sizeof(pl->told_at));
	pl->n_told = 0;
}

/* Nearly all allocators follow the first or the third rule. */
static inline uint64_t room_of(enum mz_rounding rounding, uint64_t size)
{
	uint64_t step, room;

	if (rounding == MZ_ROUND_HEADER) {
		room = (size + 23) & ~15ull;
		return room < 32 ? 32 : room;
	}
	switch (rounding) {
	case MZ_ROUND_8: return size ? (size + 7) & ~7ull : 8;
	case MZ_ROUND_16: return size ? (size + 15) & ~15ull : 16;
	default: break;
	}
	if (size <= 8)
		return 8;
	if (size <= 128)
		return (size + 15) & ~15ull;
	step = 1ull << (61 - __builtin_clzll(size - 1));
	return (size + step - 1) & ~(step - 1);
}

uint64_t mz_addr_predict_room(enum mz_rounding rounding, uint64_t size)
{
	return room_of(rounding, size);
}

static inline uint32_t class_of(uint64_t room)
{
	return (uint32_t)(room >> 3) % CLASSES;
}

/* ---- free places -------------------------------------------------------- */

static inline uint32_t *slot_of(struct mz_addr_predict *pl, uint64_t addr)
{
	return &pl->at[addr * MZ_HASH_GOLDEN >> (64 - HASH)];
}

/* The free place at an address, if it is remembered; 0: none. */
static inline uint32_t place_at(struct mz_addr_predict *pl, uint64_t addr)
{
	uint32_t i = *slot_of(pl, addr);

	return i && pl->v[i].addr == addr ? i : 0;
}

void mz_addr_predict_fetch(struct mz_addr_predict *pl, uint64_t soon, uint64_t next)
{
	__builtin_prefetch(slot_of(pl, soon));
	if (pl->v)
		__builtin_prefetch(&pl->v[*slot_of(pl, next)]);
}

static __attribute__((noinline)) bool more_places(struct mz_addr_predict *pl)
{
	uint32_t cap = pl->cap ? pl->cap * 2 : 1024;
	struct free_place *v = realloc(pl->v, cap * sizeof(*v));

	if (!v)
		return false;
	pl->v = v;
	pl->cap = cap;
	return true;
}

static inline uint32_t new_place(struct mz_addr_predict *pl)
{
	uint32_t i = pl->unused;

	if (i) {
		pl->unused = pl->v[i].next_free;
		return i;
	}
	return pl->n < pl->cap || more_places(pl) ? pl->n++ : 0;
}

static inline void take_out(struct mz_addr_predict *pl, uint32_t i)
{
	struct free_place *p = &pl->v[i];

	if (p->newer)
		pl->v[p->newer].older = p->older;
	else
		pl->newest[p->class] = p->older;
	if (p->older)
		pl->v[p->older].newer = p->newer;
	if (p->any_newer)
		pl->v[p->any_newer].any_older = p->any_older;
	else
		pl->any = p->any_older;
	if (p->any_older)
		pl->v[p->any_older].any_newer = p->any_newer;
	p->addr = 0;
	p->next_free = pl->unused;
	pl->unused = i;
}

struct mz_room mz_addr_predict_fit(const struct mz_addr_predict *pl, uint64_t size)
{
	uint64_t room = room_of(pl->rounding, size);

	return (struct mz_room){room, class_of(room)};
}

uint64_t mz_addr_predict_given(const struct mz_addr_predict *pl, uint64_t size)
{
	uint64_t room = mz_addr_predict_room(pl->rounding, size);

	return pl->rounding == MZ_ROUND_HEADER ? room - HEADER : room;
}

static inline int leave(struct mz_addr_predict *pl, uint32_t class, uint64_t addr)
{
	uint32_t i;

	if (!addr)
		return 0;
	i = place_at(pl, addr);
	if (i)
		take_out(pl, i); /* freed twice: the later one counts */
	i = new_place(pl);
	if (!i)
		return -ENOMEM;
	*slot_of(pl, addr) = i;
	pl->v[i] = (struct free_place){
		.addr = addr, .class = class, .older = pl->newest[class], .any_older = pl->any};
	if (pl->newest[class])
		pl->v[pl->newest[class]].newer = i;
	if (pl->any)
		pl->v[pl->any].any_newer = i;
	pl->newest[class] = pl->any = i;
	return 0;
}

int mz_addr_predict_left(struct mz_addr_predict *pl, uint32_t class, uint64_t addr)
{
	return leave(pl, class, addr);
}

int mz_addr_predict_gone(struct mz_addr_predict *pl, uint64_t size, uint64_t addr)
{
	return leave(pl, size ? class_of(room_of(pl->rounding, size)) : 0, addr);
}

/* The block is there now. */
static inline void settle(struct mz_addr_predict *pl, uint64_t addr, uint64_t room, uint32_t class,
			  uint32_t freed)
{
	if (!freed && addr)
		freed = place_at(pl, addr);
	if (freed)
		take_out(pl, freed);
	pl->last = addr;
	pl->behind = pl->row[class] = addr + room;
	if (addr + room > pl->top)
		pl->top = addr + room;
}

/* ---- addresses that no guess explains ------------------------------------ */

static int keep_told(struct mz_addr_predict *pl, uint64_t addr)
{
	if (pl->n_told == pl->cap_told) {
		uint32_t cap = pl->cap_told ? pl->cap_told * 2 : 1024;
		uint64_t *p = realloc(pl->told, cap * sizeof(*p));

		if (!p)
			return -ENOMEM;
		pl->told = p;
		pl->cap_told = cap;
	}
	pl->told[pl->n_told++] = addr;
	return 0;
}

/* By its number if it was stored before, otherwise relative to the previous block. */
static int tell_address(struct mz_addr_predict *pl, uint64_t addr, struct mz_predicted *place)
{
	uint32_t *slot = &pl->told_at[addr * MZ_HASH_GOLDEN >> (64 - TOLD)];

	if (*slot && pl->told[*slot - 1] == addr) {
		place->how = MZ_PLACE_AGAIN;
		place->delta = *slot - 1;
		return 0;
	}
	place->how = BY_DELTA;
	place->delta = mz_zigzag((uint64_t)((int64_t)(addr - pl->last) >> pl->shift));
	*slot = pl->n_told + 1;
	return keep_told(pl, addr);
}

/* ---- encoding: from an address to a guess ------------------------------- */

/* Was the address freed not long ago? Its guess, or 0. */
static uint32_t find_freed(struct mz_addr_predict *pl, uint64_t addr, uint32_t class)
{
	uint32_t at = addr ? place_at(pl, addr) : 0, i;

	if (!at)
		return 0;
	if (pl->v[at].class == class) {
		i = pl->newest[class];
		for (uint32_t d = 0; i && d < DEPTH; d++, i = pl->v[i].older)
			if (i == at)
				return d ? FREED + d - 1 : LAST_FREED;
	}
	i = pl->any;
	for (uint32_t d = 0; i && d < DEPTH; d++, i = pl->v[i].any_older)
		if (i == at)
			return RECENT + d;
	return 0;
}

int mz_addr_predict_tell(struct mz_addr_predict *pl, uint64_t size, uint64_t old, uint64_t addr,
			 struct mz_predicted *place)
{
	uint64_t room = room_of(pl->rounding, size);
	uint32_t class = class_of(room), newest = pl->newest[class];

	if (old && addr == old)
		place->how = IN_PLACE;
	else if (newest && pl->v[newest].addr == addr)
		place->how = LAST_FREED;
	else if (addr == pl->behind)
		place->how = BEHIND;
	else if (addr == pl->top)
		place->how = ON_TOP;
	else if (addr == pl->row[class])
		place->how = IN_ROW;
	else
		place->how = find_freed(pl, addr, class);
	if (place->how == BY_DELTA && tell_address(pl, addr, place) < 0)
		return -ENOMEM;
	settle(pl, addr, room, class, place->how == LAST_FREED ? newest : 0);
	return 0;
}

/* ---- decoding: from a guess to an address ------------------------------- */

static uint32_t nth_freed(const struct mz_addr_predict *pl, uint32_t how, uint32_t class)
{
	uint32_t i, d;

	if (how < RECENT) {
		i = pl->newest[class];
		for (d = how == LAST_FREED ? 0 : how - FREED + 1; i && d; d--)
			i = pl->v[i].older;
		return i;
	}
	i = pl->any;
	for (d = how - RECENT; i && d; d--)
		i = pl->v[i].any_older;
	return i;
}

int mz_addr_predict_find(struct mz_addr_predict *pl, struct mz_room fit, uint64_t old,
			 const struct mz_predicted *place, uint64_t *addr)
{
	uint32_t class = fit.class, freed = 0;

	switch (place->how) {
	case BY_DELTA:
		*addr = pl->last + (mz_unzigzag(place->delta) << pl->shift);
		if (keep_told(pl, *addr) < 0)
			return -ENOMEM;
		break;
	case MZ_PLACE_AGAIN:
		if (place->delta >= pl->n_told)
			return -EBADMSG;
		*addr = pl->told[place->delta];
		break;
	case IN_PLACE: *addr = old; break;
	case BEHIND: *addr = pl->behind; break;
	case ON_TOP: *addr = pl->top; break;
	case IN_ROW: *addr = pl->row[class]; break;
	default:
		freed = place->how < GUESSES ? nth_freed(pl, place->how, class) : 0;
		if (!freed)
			return -EBADMSG;
		*addr = pl->v[freed].addr;
	}
	settle(pl, *addr, fit.room, class, freed);
	return 0;
}
