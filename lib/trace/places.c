// SPDX-License-Identifier: BSD-2-Clause
#include "trace/places.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/wire.h"

struct mz_places {
	uint64_t last;
};

struct mz_places *mz_places_new(void)
{
	return calloc(1, sizeof(struct mz_places));
}

void mz_places_free(struct mz_places *pl)
{
	free(pl);
}

void mz_places_reset(struct mz_places *pl)
{
	*pl = (struct mz_places){0};
}

int mz_places_tell(struct mz_places *pl, uint64_t size, uint64_t old, uint64_t addr,
		   struct mz_place *place)
{
	(void)size;
	place->how = old && addr == old;
	place->delta = mz_zigzag(addr - pl->last);
	pl->last = addr;
	return 0;
}

int mz_places_find(struct mz_places *pl, uint64_t size, uint64_t old, const struct mz_place *place,
		   uint64_t *addr)
{
	(void)size;
	*addr = place->how ? old : pl->last + mz_unzigzag(place->delta);
	pl->last = *addr;
	return 0;
}

int mz_places_gone(struct mz_places *pl, uint64_t size, uint64_t addr)
{
	(void)pl;
	(void)size;
	(void)addr;
	return 0;
}
