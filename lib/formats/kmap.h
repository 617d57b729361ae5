/* SPDX-License-Identifier: BSD-2-Clause */
/* KMAPs, the maps of kernel memory that Memorizer writes. */
/*
 * A map has a line for each object, below it a line for each code address that touched it, and
 * lines of call edges.
 *
 *   8 fields   alloc_ip,pid,va,size,alloc,free,free_ip,comm
 *              accesses: ip,pid,writes,reads
 *   9 fields   alloc_ip,pid,va,size,alloc,free,free_ip,type,comm
 *              accesses: ip,writes,reads
 *   10 fields  the nine, then cache
 *              accesses: ip,writes,reads
 *   11 fields  the ten, then new_type, which may be empty
 *              accesses: ip,writes,reads,pid
 *   csv        the eight, then type,cache,given (our kernel with print_fields)
 *              accesses: as with eight fields, and perhaps ,first,last (print_fields)
 *   callers    accesses of objects of the type NONE may be from:ip,writes,reads or
 *              from:ip,caller:ip,writes,reads
 *   calls      from to count [pid]
 *   union      ten fields without process and times, one line for all objects of a class:
 *              accesses: ip,writes,reads,frees (`memorizer kmap merge`, CAPMAP's .comp)
 *
 *   owners     in lines of our kernel a pid may be pid@owner (log_owners_enabled)
 *
 * Every line says by its content what it is; one file may mix them. Packed files
 * (gzip, Zstandard) and containers that were made of a KMAP are read as well, and so are
 * upstream's files `allocations` and `accesses`, which belong together (kmap_join.c).
 */
#ifndef MZ_FORMATS_KMAP_H
#define MZ_FORMATS_KMAP_H

#include "base/buf.h"
#include "base/input.h"

/* Values of address fields that are not addresses. */
#define MZ_KMAP_OVERLAID  0xdeadbeefu /* free_ip: the free was missed */
#define MZ_KMAP_NESTED	  0xfedbeefu  /* free_ip: freed inside of another allocator */
#define MZ_KMAP_CTOR	  0xfeedbeefu /* alloc_ip: constructed, not yet allocated */
#define MZ_KMAP_NOT_FOUND 0xb00b1e5u  /* the original found no object */
/* A smaller alloc_ip, other than 0, is a code of the original: it created the object at an access
 * to memory that it did not know. */
#define MZ_KMAP_MADE_UP	  64u

enum mz_kmap_kind { MZ_KMAP_OBJECT, MZ_KMAP_ACCESS, MZ_KMAP_CALL, MZ_KMAP_OTHER };

/* The shape of an object's line. Containers hold these numbers. */
enum mz_kmap_shape {
	MZ_KMAP_G1,
	MZ_KMAP_G2,
	MZ_KMAP_G3,
	MZ_KMAP_CSV,
	MZ_KMAP_G9,
	MZ_KMAP_UNION,
	MZ_KMAP_SHAPES
};

/* How the pointers of an object's line are written. Containers hold these numbers. */
enum mz_kmap_pointers {
	MZ_KMAP_ZEROS,	     /* 16 digits */
	MZ_KMAP_NULL,	     /* 16 digits, or "(null)" */
	MZ_KMAP_NULL_PADDED, /* Linux 4: the same in 16 columns, alloc_ip without leading zeros */
	MZ_KMAP_ZEROS_LEFT,  /* later: 16 digits, alloc_ip without leading zeros in 16 columns */
	MZ_KMAP_POINTERS
};

/* Not ended by NUL; escapes (\xNN) are as they stand in the file. */
struct mz_kmap_text {
	const char *p;
	size_t len;
};

struct mz_kmap_object {
	uint64_t alloc_ip, va, size;
	uint64_t alloc_time, free_time; /* jiffies or serial numbers */
	uint64_t free_ip;
	uint64_t given; /* csv only */
	int32_t pid;
	uint32_t owner;				   /* see kmap_owners.h; 0 = not known */
	uint8_t pointers;			   /* enum mz_kmap_pointers */
	uint8_t shape;				   /* enum mz_kmap_shape */
	struct mz_kmap_text comm;		   /* "hardirq", "softirq": pid is 0 */
	struct mz_kmap_text type, cache, new_type; /* empty = not known */
};

struct mz_kmap_access {
	uint64_t ip, writes, reads;
	uint64_t caller;      /* of ip; 0 = not known */
	uint64_t frees;	      /* union only: objects of the class that it freed */
	int32_t pid;	      /* -1 = not known */
	uint32_t owner;	      /* 0 = not known */
	uint8_t fields;	      /* of the line; 6: first and last are known */
	bool from;	      /* the line begins with "from:" */
	uint32_t first, last; /* byte of the object that was touched, of all these accesses */
};

/* first, last: at this offset or beyond, or through another mapping. */
#define MZ_KMAP_FAR 65535u

struct mz_kmap_call {
	uint64_t from, to, count;
	int32_t pid;	 /* -1 = not known */
	uint32_t owner;	 /* 0 = not known */
	bool by_process; /* the line names a pid: the edge has one for each process */
};

struct mz_kmap_record {
	enum mz_kmap_kind kind;
	union {
		struct mz_kmap_object object;
		struct mz_kmap_access access;
		struct mz_kmap_call call;
	};
	/* the line itself; empty if it comes from a container and is as mz_kmap_format() makes it
	 */
	struct mz_kmap_text line;
};

struct mz_kmap;

/* NULL with err set. path "-" is standard input. */
/* flags: enum mz_open_flags. */
struct mz_kmap *mz_kmap_open(const char *path, unsigned flags, struct mz_error *err);
struct mz_kmap *mz_kmap_open_memory(const void *data, size_t size, const char *name,
				    struct mz_error *err);
/* The same for an open input or for the reader of a container, which is taken over even in case of
 * failure. */
struct mz_input;
struct mz_kmap *mz_kmap_open_input(struct mz_input *in, struct mz_error *err);
struct mz_kmap *mz_kmap_of(struct mz_reader *r, struct mz_error *err);
void mz_kmap_close(struct mz_kmap *k);

/* Is this the start of a KMAP? The first line that is not a comment must be a record. */
bool mz_kmap_probe(const char *data, size_t len);

/* Malformed lines are skipped and counted; they are not errors. */
void mz_kmap_skip_bad(struct mz_kmap *k, bool skip);
/* Comments and blank lines are delivered too, as MZ_KMAP_OTHER. */
void mz_kmap_keep_other(struct mz_kmap *k, bool keep);

/* The next record: 1, 0 at the end, -errno. Texts are borrowed until the next call. */
int mz_kmap_next(struct mz_kmap *k, struct mz_kmap_record *rec);
/* The same for many records at a time: their number, 0 at the end, -errno. Where possible, a thread
 * parses ahead. Must not be mixed with mz_kmap_next(). */
int mz_kmap_read(struct mz_kmap *k, const struct mz_kmap_record **records);
const struct mz_error *mz_kmap_error(const struct mz_kmap *k);

/* Code addresses of the lines that come next, without taking them: how many, at most
 * max. They are a sample: some may be missed. */
size_t mz_kmap_peek(struct mz_kmap *k, uint64_t *ips, size_t max);

uint64_t mz_kmap_lines(const struct mz_kmap *k);     /* read so far */
uint64_t mz_kmap_bad_lines(const struct mz_kmap *k); /* left out so far */
/* The last line has no line break: it may have been cut, and its last number with it. */
bool mz_kmap_open_end(const struct mz_kmap *k);
/* How many containers end early (trace/early_end.h); known once the map is read. */
unsigned mz_kmap_files_cut(const struct mz_kmap *k);
const struct mz_tables *mz_kmap_tables(const struct mz_kmap *k); /* of a container; or NULL */
uint64_t mz_kmap_bytes(const struct mz_kmap *k);		 /* read so far, unpacked */
double mz_kmap_share(const struct mz_kmap *k); /* of the file, so far; < 0 = not known */
const char *mz_kmap_name(const struct mz_kmap *k);
/* A note for the user about how the map was read; NULL = none. */
const char *mz_kmap_note(const struct mz_kmap *k, char *buf, size_t size);

/* Parses one line of a KMAP. *shape is that of the previous object, or -1 before the first one; an
 * object sets it. Returns NULL, or what is wrong with the line. */
const char *mz_kmap_parse(const char *line, size_t len, int *shape, struct mz_kmap_record *rec);

/* Formats a record as a line, as the kernel writes it, without newline. of: the object to which an
 * access belongs. buf must have mz_kmap_room() bytes. Returns the length of the line. */
size_t mz_kmap_format(char *buf, const struct mz_kmap_record *rec, const struct mz_kmap_object *of);
#define MZ_KMAP_ROOM 256 /* without the texts, which may be of any length */
size_t mz_kmap_room(const struct mz_kmap_record *rec);

/* The line of a record in place of what is in the buffer: as it was read, or formatted. 0 or
 * -ENOMEM. */
int mz_kmap_line(struct mz_buf *b, const struct mz_kmap_record *rec,
		 const struct mz_kmap_object *of);

/* The same in the form of upstream's kernels, for programs that read their maps: with 10 fields
 * (MZ_KMAP_G2, Linux 4) or 11 (MZ_KMAP_G3, Linux 6), the types of these kernels, and commas and
 * control characters in names escaped. */
size_t mz_kmap_format_as(char *buf, const struct mz_kmap_record *rec, enum mz_kmap_shape shape);

/* A type of the original, or of Memorizer's kernel. */
bool mz_kmap_is_type(struct mz_kmap_text t);
/* Is it not an object, but the line that collects the accesses of a type for which no object was
 * found? */
bool mz_kmap_is_catch_all(const struct mz_kmap_object *o);
/* Frames of a function, or arguments on the stack: alloc_ip is the start of the function, not a
 * return address. */
bool mz_kmap_is_frame(struct mz_kmap_text type);
/* A type that only an allocator gives. */
bool mz_kmap_is_allocation(struct mz_kmap_text type);
/* Is it one of the values above, or 0, instead of an address? */
bool mz_kmap_is_special(uint64_t ip);

#endif
