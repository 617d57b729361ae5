/* SPDX-License-Identifier: BSD-2-Clause */
/* Arrays that move to a file without a name once they are large. */
/* A table that grows with the program under test must not take its memory. */
#ifndef MZ_BASE_SPILL_H
#define MZ_BASE_SPILL_H

#include <stddef.h>

/* Where arrays go, and from how many bytes on. */
struct mz_spill {
	const char *folder; /* NULL: they stay in memory */
	size_t from;
};

struct mz_spill_array {
	void *data;
	size_t bytes;
	size_t mapped; /* bytes of the mapping; 0: data is from malloc() */
	int fd;	       /* of the mapping */
};

/* Makes the array at least this large; new bytes are zeros. 0 or -ENOMEM (nothing has changed). An
 * array that cannot go to a file stays in memory. */
int mz_spill_room(const struct mz_spill *s, struct mz_spill_array *a, size_t bytes);
void mz_spill_free(struct mz_spill_array *a);

/* Pages of a file stay in the kernel's cache, and no longer count as ours. */
void mz_spill_let_go(const struct mz_spill_array *a);

/* A file in the folder that has no name, so that nothing is left of it whatever
 * happens: its descriptor, or -1 with errno. */
int mz_nameless_file(const char *folder);

#endif
