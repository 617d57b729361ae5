/* SPDX-License-Identifier: BSD-2-Clause */
/* Types of what a kernel allocates, from its DWARF or BTF. */
/* They say which structure a call creates, and which of its members a byte belongs to. */
#ifndef MZ_SYMBOLS_TYPES_H
#define MZ_SYMBOLS_TYPES_H

#include <memorizer.h>

#define MZ_TYPES_NONE UINT32_MAX

struct mz_types;

/* vmlinux with DWARF or BTF, or a file of BTF alone. NULL with err set; neither is in
 * it: code ENODATA. */
struct mz_types *mz_types_open(const char *path, struct mz_error *err);
void mz_types_close(struct mz_types *t);
/* "DWARF" or "BTF". */
const char *mz_types_source(const struct mz_types *t);

/* What is known about the objects of an allocation site. */
struct mz_types_query {
	uint64_t ip;		  /* return address of the call, as linked; 0 = not known */
	const char *function;	  /* that it is in; NULL = not known */
	const char *cache;	  /* NULL = not known */
	uint64_t least, greatest; /* size */
};

/* How a type was determined, the most reliable way first. */
enum mz_types_how {
	MZ_TYPES_VARIABLE,  /* the call's result goes into a variable */
	MZ_TYPES_RETURNED,  /* the function returns it, and the size fits */
	MZ_TYPES_CACHE,	    /* the cache is named like a structure of that size */
	MZ_TYPES_ALIKE,	    /* other sites of the cache agree (kmap_fields.c) */
	MZ_TYPES_AMBIGUOUS, /* there are several: none is taken */
	MZ_TYPES_UNKNOWN,
};

struct mz_types_answer {
	uint32_t type; /* MZ_TYPES_NONE: see how */
	enum mz_types_how how;
	char by[160]; /* the variable or function; the types, if there are several */
};

/* 0, or -ENOMEM. */
int mz_types_ask(struct mz_types *t, const struct mz_types_query *q, struct mz_types_answer *out);

const char *mz_types_name(const struct mz_types *t, uint32_t type); /* "struct dentry" */
uint64_t mz_types_size(const struct mz_types *t, uint32_t type);

/* The member that holds a byte of an object of the type. */
struct mz_types_member {
	uint64_t offset, size; /* size 0: to the end of the object */
	char path[200];	       /* "d_lockref.lock"; "a|b" if they share the bytes */
	const char *type;
};
int mz_types_member(struct mz_types *t, uint32_t type, uint64_t offset,
		    struct mz_types_member *out);

#endif
