/* SPDX-License-Identifier: BSD-2-Clause */
/* The recorder's side of the rings. */
/* It takes the records of all threads in the order of their times, and makes events of them. */
#ifndef MZ_RECORD_USER_RINGS_H
#define MZ_RECORD_USER_RINGS_H

#include "base/beside.h"
#include "record/user_program.h"
#include "record/user_region.h"
#include "record/user_spool.h"

/* Records that wait. From MUCH on a second thread helps to pack them, and from TOO_MUCH on zstd
 * takes less time; both until few are left. */
#define MZ_USER_MUCH	 524288u
#define MZ_USER_TOO_MUCH (4 * MZ_USER_MUCH)
#define MZ_USER_FEW	 (MZ_USER_MUCH / 16)
/* Records that mz_user_rings_drain_some() reads at most, or a few more. */
#define MZ_USER_SOME	 1048576u

/* The parts that precede the record of a call, if one record is not enough, by type. */
#define RECORD_PARTS (MZ_REC_THREAD - MZ_REC_SIZE)

struct mz_user_ring {
	uint64_t tail;
	uint64_t seen;		/* end of the records moved, as of the last check */
	uint64_t time;		/* of the last record read, whole */
	uint64_t next, next_of; /* time of the record number next_of - 1 */
	uint64_t old;		/* a realloc has begun with this block; 0 = none */
	uint64_t part[RECORD_PARTS];
	unsigned parts;	       /* which of them are there: bits */
	uint64_t told;	       /* events lost in this ring that are in a file */
	uint64_t thinned_told; /* the same for those left out by thinning */
	struct mz_user_unrecorded counted;
	uint32_t tid;
	struct mz_user_told stack;
	uint32_t image; /* taken from the region once; MZ_IMAGES = not yet */
	/* of the mover */
	uint64_t base; /* the region's number of a record minus ours */
	struct mz_spool_queue queue;
	uint32_t moved_for; /* the program whose records were moved; MZ_IMAGES = none yet */
	bool direct;	    /* its records did not fit into the spool: they are read in the ring */
	uint64_t bound;	    /* the time up to which all of its records could last be read */
};

/* A program that a recorded one became by exec, and that has not reported yet. */
struct mz_became {
	struct mz_process process;
	uint32_t pid;	/* as it says itself */
	bool barred;	/* it cannot reach the region: it belongs to another user, for example */
	uint64_t since; /* when this was noticed, in ns */
};

#define MOST_BECAME 1024u

struct mz_user_rings {
	struct mz_region *region;
	int fd;
	struct mz_region_owner owner;
	struct mz_user_ring rings[MZ_RINGS];
	struct mz_user_program *images[MZ_IMAGES]; /* NULL = none */
	int main_pidfd;		   /* of the program that the user named; -1 = not known */
	uint32_t main_pid;	   /* only this one is recorded; 0 = others too */
	unsigned active[MZ_RINGS]; /* rings with something to read */
	unsigned active_count;
	unsigned begun;	 /* rings inside a realloc */
	unsigned top;	 /* rings from this number on are ignored */
	uint64_t cut;	 /* records with a later time are not read yet */
	uint64_t latest; /* no visible record can have a later stamp */
	bool blocked;	 /* the next record must wait for one that has not arrived yet */
	unsigned thin;	 /* the level of thinning that programs were given */
	uint64_t much;	 /* replaces MZ_USER_MUCH while records wait on purpose; 0 = none do */
	bool has_others; /* there is more than one processor */
	bool stuck;	 /* the spool is full of records that wait for one that does not fit */
	bool tsc;
	uint64_t clock0, ns0; /* the region's clock and ns, at the start and now */
	uint64_t clock1, ns1;
	double rate; /* ns per tick, between the two */
	/* moving: by a separate thread, or by any thread that needs it, with the spool's lock */
	struct mz_user_spool spool;
	struct mz_beside mover;
	bool quit;
	uint64_t moved_upto; /* everything that happened before this time is in the spool */
	uint64_t moved;
	struct mz_user_files *files;
	uint64_t records; /* read so far */
	uint64_t take_at;
	uint64_t stray;		     /* records in rings of no program */
	uint64_t refused;	     /* programs that are not to be recorded */
	uint64_t without_file;	     /* those after the most files that a recording may have */
	bool turned_away[MZ_IMAGES]; /* their slots: what is in their rings is not read */
	/* Programs that recorded ones became and that have not appeared: barred because they cannot
	 * reach the region, silent for another reason. The list has the last of them. */
	uint64_t barred, silent;
	struct mz_became became[MOST_BECAME];
	unsigned became_count, became_oldest;
};

/* fd: the memory of the region, if a program has created it; -1 = create it. Must be called by the
 * main thread: when the calling thread ends, programs continue without the recorder. */
int mz_user_rings_init(struct mz_user_rings *r, int fd, uint32_t flags, uint32_t stack_depth,
		       struct mz_user_files *files);
/* From now on, a thread moves records out of the rings at once, whatever the caller does. Call it
 * after the program was started: threads and fork() do not mix. */
int mz_user_rings_start(struct mz_user_rings *r);
/* Records that wait to be read, and how many ever came. */
void mz_user_rings_backlog(struct mz_user_rings *r, uint64_t *waiting, uint64_t *moved, bool *full);
void mz_user_rings_deinit(struct mz_user_rings *r);

/* The program of a ring, which may be none: >= MZ_IMAGES. Once records were moved, the region is
 * not consulted again. With the lock held. */
uint32_t mz_user_ring_program(const struct mz_user_rings *r, unsigned i);

/* Read what is there: how many records, or -errno. With all, also what follows
 * appends that were never finished (their threads are gone). */
long mz_user_rings_drain(struct mz_user_rings *r, bool all);
/* The same for a part of what is there, so that the caller can reconsider in between. */
long mz_user_rings_drain_some(struct mz_user_rings *r);

/* Handles programs that have appeared or ended: how many are left, or -errno. */
int mz_user_rings_images(struct mz_user_rings *r);
/* A program that a recorded one became is still being loaded, and may appear. */
bool mz_user_rings_expect(const struct mz_user_rings *r);
/* The recording ends before the programs do: complete their files. */
int mz_user_rings_close(struct mz_user_rings *r);

/* Rings that were ever used, as the region says, within bounds. */
static inline unsigned mz_user_rings_top(const struct mz_user_rings *r)
{
	uint32_t top = __atomic_load_n(&r->region->ring_top, __ATOMIC_ACQUIRE);

	return top < MZ_RINGS ? top : MZ_RINGS;
}

/* With the spool's lock held: records of a ring were read, and their room can be
 * used again. */
void mz_user_rings_release(struct mz_user_rings *r, unsigned ring);
/* With the lock held: move what is there. With direct, what does not fit the spool
 * is to be read in the rings. */
void mz_user_rings_move(struct mz_user_rings *r, bool direct);
uint64_t mz_user_rings_clock(const struct mz_user_rings *r);
/* Another reading of both clocks. */
void mz_user_rings_set_clock(struct mz_user_rings *r);

/* Sleep until a program rings, at most for ns. */
void mz_user_rings_sleep(struct mz_user_rings *r, long ns);

#endif
