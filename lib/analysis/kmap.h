/* SPDX-License-Identifier: BSD-2-Clause */
/* What a KMAP says, added up as it streams by. */
/*
 * This is the one model behind every question about it, the page and the exports. Its size goes
 * with the distinct code addresses, classes of objects and processes, not with the lines.
 *
 * A class of objects is an allocation site with its type and cache; a global
 * variable is a class of its own. An edge is (class, accessing code, process).
 */
#ifndef MZ_ANALYSIS_KMAP_H
#define MZ_ANALYSIS_KMAP_H

#include "analysis/address_heatmap.h"
#include "analysis/timeline.h"
#include "base/histogram.h"
#include "base/pair_index.h"
#include "formats/kmap.h"
#include "symbols/symbols.h"
#include "symbols/types.h"

/* Where code is. Texts are numbers of strings of the model (mz_kmap_string), 0 = not
 * known; a place without a function is shown as its address. */
struct mz_kmap_place {
	uint64_t ip;
	uint32_t function;
	uint32_t offset; /* of ip, from the start of the function */
	uint32_t module;
	uint32_t file, line; /* of the source, where the code was written */
	uint32_t home;	     /* the file of the function that it ended up in */
	uint32_t dir;	     /* of that file: the subsystem */
	uint32_t group;	     /* at the level of detail that the model was read with */
	uint32_t member;     /* of model.members, from 1; 0 = not known (mz_kmap_member_of) */
};

/* What the compiler says that the code of a place accesses. Most places have none. */
struct mz_kmap_member {
	uint32_t object;      /* "struct dentry" */
	uint32_t object_size; /* of the structure, over 0 */
	uint32_t name;	      /* "d_lockref.count"; 0 = all of it */
	uint32_t offset, size;
};

/* How many objects, and their bytes. */
struct mz_kmap_sum {
	uint64_t objects, bytes;
};

struct mz_kmap_class {
	uint32_t place;		      /* that allocates */
	uint32_t type, cache;	      /* strings; 0 = not known */
	uint32_t name, dir, file;     /* strings: of the global variable, if they are known */
	uint64_t first_va;	      /* of its first object: a global variable is the only one */
	uint64_t symbol, symbol_size; /* with lives: the variable around va; size 0 = none */
	bool global;
	bool in_union;		  /* from a line of a union: the size is that of the whole class */
	bool catch_all;		  /* not objects, but accesses of this type that found no object */
	uint64_t first;		  /* size of its first object */
	uint64_t least, greatest; /* size */
	struct mz_kmap_sum all, freed;
	struct mz_kmap_sum overlaid; /* their end was not seen: a new object took their place */
	struct mz_kmap_sum nested;   /* taken over by another allocator (free_ip fedbeef) */
	struct mz_kmap_sum untouched, freed_untouched;
	struct mz_kmap_sum unread;    /* written, never read */
	struct mz_kmap_sum unwritten; /* read, never written */
	/* touched by more than one: */
	struct mz_kmap_sum by_dirs, by_processes, by_contexts;
	uint64_t reads, writes;
	uint64_t lifetime; /* sum over the freed ones, in the map's unit of time */
};

struct mz_kmap_edge {
	uint32_t class, place;
	int32_t pid; /* 0 = an interrupt, or the idle task; -1 = unknown, or not requested */
	uint32_t objects;
	uint16_t first, last; /* bytes of the objects that it touched; first > last: not known */
	uint64_t reads, writes;
};

/*
 * Which code touches which code's objects, at one level of detail (options.by). Object counts are
 * counts of distinct objects. Each object has one owner, so counts may be summed over owners.
 */
struct mz_kmap_pair {
	union {
		uint32_t class;
		uint32_t process; /* by process: the one that allocated */
	};
	uint32_t group;
	uint64_t reads, writes;
	struct mz_kmap_sum touched;
	uint64_t objects_read, objects_written;
};

/* The code that frees objects of a class. */
struct mz_kmap_freer {
	uint32_t class, place;
	uint64_t objects;
};

/* The code that allocates them. */
struct mz_kmap_owner {
	uint32_t class, process;
	struct mz_kmap_sum sum;
};

struct mz_kmap_process {
	int32_t pid;
	uint32_t comm;		/* string, as it stands in the map */
	struct mz_kmap_sum sum; /* allocated */
	uint64_t last;		/* the number of its last object */
};

struct mz_kmap_call_edge {
	uint32_t from, to; /* places */
	uint64_t count;
	uint64_t first; /* count of its first line, for readers that must ignore repeated lines */
};

/* An object that was allocated and freed at known times. */
struct mz_kmap_life {
	uint32_t class;
	uint64_t size, from, to;
};

/* The structure that objects of a class are. */
struct mz_kmap_type {
	uint32_t type; /* of model.types; MZ_TYPES_NONE: see how */
	uint8_t how;   /* enum mz_types_how */
	uint32_t by;   /* string: the variable or function that shows the type; or the candidates */
	/* what the accesses say: a string, 0 = nothing; how many of those that say something */
	uint32_t accessed_as, accessed_size;
	uint64_t agree, say;
};

struct mz_kmap_model {
	struct mz_kmap_class *classes;
	struct mz_kmap_edge *edges;
	struct mz_kmap_freer *freers;
	struct mz_kmap_owner *owners;
	struct mz_kmap_process *processes;
	struct mz_kmap_call_edge *calls;
	struct mz_kmap_life *lives;   /* in the order of the map; only on request */
	struct mz_kmap_place *places; /* 0 is the address 0 */
	struct mz_kmap_member *members;
	struct mz_kmap_pair *pairs;
	uint32_t *groups; /* their names: strings */
	enum mz_kmap_by by;
	size_t n_pairs, n_groups;
	size_t n_classes, n_edges, n_freers, n_owners, n_processes, n_calls, n_places, n_lives;
	size_t n_members, cap_members;

	struct mz_kmap_class total; /* over all classes */
	uint64_t accesses;	    /* lines of accesses */
	uint64_t touching;	    /* processes that touched something */
	uint64_t lines, bad_lines, bytes;
	bool open_end;	    /* the last line may have been cut */
	unsigned files_cut; /* containers that end early (trace/early_end.h) */
	uint64_t hashed;    /* code addresses that the kernel hashed: they cannot be named */
	uint64_t shapes[MZ_KMAP_SHAPES]; /* objects of each shape */
	struct mz_kmap_sum live_peak; /* of the timeline: the greatest value at the end of a bin */
	uint64_t live_peak_time;
	struct mz_histogram sizes, lifetimes;
	struct mz_timeline timeline;
	struct mz_kmap_sum timeless; /* in all bins: globals, and objects older than the clock */
	struct mz_tables *strings;
	int64_t shift;	  /* of the kernel, from where it was linked to where it ran */
	bool has_dirs;	  /* some place has a directory */
	bool has_ranges;  /* some access says where in the object it was */
	bool has_members; /* the compiler said which member some code accesses */

	struct mz_types *types;		  /* NULL = not known (mz_kmap_find_types) */
	struct mz_kmap_type *class_types; /* by class */

	struct mz_kmap_private *own;
};

struct mz_kmap_model_options {
	struct mz_symbols *symbols; /* NULL: addresses only. Used while reading only. */
	enum mz_kmap_by by;	    /* of the pairs; by cache: code by function */
	bool pids;		    /* an edge for each process: there may be as many as lines */
	/* the lives of objects, and a class for each piece of memory that the kernel made up at an
	 * access: what a union of maps needs (kmap_union.h) */
	bool lives;
	struct mz_heatmap *space; /* where objects lie, over time, without variables; or NULL */
	struct mz_kmap *calls;	  /* a file of calls, for a map without any; NULL = none */
	/* Called from time to time with what was read so far; false stops (-EINTR). */
	bool (*progress)(void *arg, const struct mz_kmap *k);
	void *arg;
};

/* Reads k to its end. 0 or -errno with err set; deinit in both cases. */
int mz_kmap_model_read(struct mz_kmap_model *m, struct mz_kmap *k,
		       const struct mz_kmap_model_options *o, struct mz_error *err);
void mz_kmap_model_deinit(struct mz_kmap_model *m);

/* NULL: the compiler said nothing about the place (mz_kmap_find_members). */
static inline const struct mz_kmap_member *mz_kmap_member_of(const struct mz_kmap_model *m,
							     uint32_t place)
{
	uint32_t id = m->places[place].member;

	return id ? &m->members[id - 1] : NULL;
}

/* "" for 0. */
const char *mz_kmap_string(const struct mz_kmap_model *m, uint32_t id);

/* The name of a process by its number, as the map has it; "" = none was seen. */
const char *mz_kmap_comm(const struct mz_kmap_model *m, int32_t pid);

/* The printable name of a place, a class or a process at a level of detail, in buf,
 * which it returns. */
char *mz_kmap_place_name(const struct mz_kmap_model *m, uint32_t place, enum mz_kmap_by by,
			 char *buf, size_t size);
/* by cache: the cache, or else the type, or the variable; else where it is allocated. */
char *mz_kmap_class_name(const struct mz_kmap_model *m, uint32_t class, enum mz_kmap_by by,
			 char *buf, size_t size);
char *mz_kmap_pid_name(const struct mz_kmap_model *m, int32_t pid, char *buf, size_t size);

#endif
