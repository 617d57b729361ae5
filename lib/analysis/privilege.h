/* SPDX-License-Identifier: BSD-2-Clause */
/* How much code could touch, compared with what it does touch. */
/*
 * The measure is the privilege set (PS) of a union of maps whose functions are divided into
 * domains; others are derived from it. Definitions: docs/design.md, "Privilege sets".
 */
#ifndef MZ_ANALYSIS_PRIVILEGE_H
#define MZ_ANALYSIS_PRIVILEGE_H

#include "analysis/functions.h"
#include "analysis/kmap_union.h"
#include "analysis/result_table.h"

#define MZ_CODE_TARGET 4 /* bytes that a call or a return may reach where it is checked */

/* The owners of an object: the function that allocates it, or, of a variable, all functions of its
 * file (privilege_owner.c). */
struct mz_privilege_owners {
	uint32_t *allocator;	 /* by object; MZ_FUNCTION_NONE: none is known */
	uint32_t *object_file;	 /* by object: number of a file; UINT32_MAX: none is known */
	uint32_t *function_file; /* by function */
	/* that code of the table touches, and how many of them have no owner */
	uint64_t variables, variables_without, sites, sites_without;
};

/* A union whose code has been found in a table of functions. */
struct mz_privilege {
	const struct mz_union *u;
	const struct mz_functions *f;
	uint32_t *accessor;	   /* by edge: its function; MZ_FUNCTION_NONE = left out */
	uint32_t *caller, *callee; /* by call */
	bool *returns;		   /* by call: the first one of this address to this function */
	bool *absent;		   /* by object: it belongs to a module that is not in the table */
	uint64_t (*ops)[MZ_CODE_OPS]; /* by function; never fewer than the instructions seen */
	bool *live;		      /* by function: it touches something, calls, or is called */
	struct mz_privilege_owners owners;

	uint64_t data, code, code_live;
	uint64_t n[MZ_CODE_OPS], n_live[MZ_CODE_OPS];
	size_t live_functions, objects;
	unsigned missing; /* bits of ops that the table does not count */
	unsigned unseen;  /* bits of ops that the map does not record */

	/* what is left out, and why */
	uint64_t module_objects, module_edges, module_calls, unknown_edges, unknown_calls;
	uint64_t addresses, known; /* distinct, of the kernel's own code; in functions */
	bool overflow;		   /* a product is greater than 64 bits */
};

/* 0 or -errno with err set; deinit in both cases. */
int mz_privilege_init(struct mz_privilege *p, const struct mz_union *u,
		      const struct mz_functions *f, struct mz_error *err);
/* Does the union belong to this kernel? A return address has a call before it. 0 or -EINVAL. */
int mz_privilege_check(const struct mz_union *u, const char *vmlinux, struct mz_error *err);
void mz_privilege_deinit(struct mz_privilege *p);
/* A part of init. 0 or -ENOMEM. */
int mz_privilege_find_owners(struct mz_privilege *p);
/* Variables were touched, and the file of none is known: there are no owners. */
static inline bool mz_privilege_no_owners(const struct mz_privilege *p)
{
	return p->owners.variables && p->owners.variables_without == p->owners.variables;
}

/* ---- cuts ----------------------------------------------------------------------------- */

enum mz_cut_level { MZ_CUT_TOPDIR, MZ_CUT_DIR, MZ_CUT_FILE, MZ_CUT_FUNCTION, MZ_CUT_LEVELS };

/* Which function and which object belongs to which domain. */
struct mz_cut {
	uint32_t *function; /* by function */
	uint32_t *object;   /* by object; NULL: each is a domain */
	uint32_t *owner;    /* by object: the domain it is open to, or UINT32_MAX; NULL: not said */
	struct mz_pair_index allowed; /* (domain, object): crossings that a file allows */
	unsigned char *allowed_ops;   /* of these: bits of ops */
	size_t cap_allowed;
	bool *listed;		     /* by object: a file names it */
	uint32_t n, n_objects;	     /* domains of functions, of objects */
	struct mz_bytes_index names; /* of the domains */
	uint64_t unassigned;	     /* functions that a file does not name: one domain */
	size_t first_unassigned;     /* the first of them */
	uint64_t unknown;	     /* rows of a file that name nothing known */
};

/* "topdir", "dir", "file", "function". */
const char *mz_cut_level_name(enum mz_cut_level level);
int mz_cut_by(struct mz_cut *c, const struct mz_functions *f, enum mz_cut_level level);
/* Reads a file that assigns functions (and objects) to domains. */
int mz_cut_read(struct mz_cut *c, const struct mz_privilege *p, const char *path,
		struct mz_error *err);
void mz_cut_deinit(struct mz_cut *c);
const char *mz_cut_name(const struct mz_cut *c, uint32_t domain);
/* Normalises a path: a/./b/../c and a//c become a/c, so that equal files are equal texts. ""
 * becomes ".". */
#define MZ_CUT_PATH 4096
void mz_cut_path(const char *path, char out[MZ_CUT_PATH]);

/* What is in a domain: live functions, and the objects that it owns; code and data in bytes. */
struct mz_cut_domain {
	uint64_t functions, objects, code, data;
	uint32_t number;
	uint32_t largest; /* function; UINT32_MAX = none is live */
};

/* All domains of a cut that names owners, sorted with qsort(). The caller frees them; NULL: no
 * memory. */
struct mz_cut_domain *mz_cut_domains(const struct mz_privilege *p, const struct mz_cut *c,
				     int (*order)(const void *, const void *));

/* ---- measures --------------------------------------------------------------------------- */

/* Access of a domain to an object, and calls to other domains: free for the whole domain, or
 * checked for each instruction. Calls inside a domain are always free. */
enum mz_links {
	MZ_LINKS_UNMEDIATED,
	MZ_LINKS_MEDIATED,
	MZ_LINKS_ONE,	    /* mediated, but for the domain that uses an object most */
	MZ_LINKS_ALLOCATOR, /* mediated, but for the domains of its owners; each object alone */
	MZ_LINKS,
	MZ_LINKS_OWNED = MZ_LINKS /* mediated, but for the owner that the cut names */
};

/* What a cut makes reachable; variants are computed from it. */
struct mz_reach {
	uint32_t n;			 /* domains */
	uint64_t (*u)[MZ_CODE_OPS];	 /* bytes that an operation of the domain reaches freely */
	uint64_t (*u_live)[MZ_CODE_OPS]; /* the same without dead code */
	uint64_t (*ops)[MZ_CODE_OPS], (*ops_live)[MZ_CODE_OPS];
	uint64_t *code, *code_live;
	uint64_t mediated[MZ_CODE_OPS];
	uint64_t calls, calls_across;	    /* dynamic */
	uint64_t accesses, accesses_across; /* dynamic, to objects that are not free to it */
};

/* Open to all domains where a single one may use an object. */
bool mz_union_is_open(enum mz_union_kind kind);

int mz_reach_init(struct mz_reach *r, struct mz_privilege *p, const struct mz_cut *c,
		  enum mz_links links);
void mz_reach_deinit(struct mz_reach *r);

/* W^X: code is not written, data not called. LIVE: dead code does not count. */
void mz_privilege_ps(struct mz_privilege *p, const struct mz_reach *r, bool wx, bool live,
		     uint64_t ps[MZ_CODE_OPS]);
void mz_privilege_min(struct mz_privilege *p, uint64_t ps[MZ_CODE_OPS]);
void mz_privilege_mono(struct mz_privilege *p, bool wx, bool live, uint64_t ps[MZ_CODE_OPS]);
/* The sum over the operations that both the map and the table know. */
uint64_t mz_privilege_known(struct mz_privilege *p, const uint64_t ps[MZ_CODE_OPS]);

/* ---- another run (privilege_check.c) ------------------------------------------------------ */

struct mz_cut_denials {
	uint64_t accesses, denied;   /* dynamic */
	uint64_t functions, objects; /* denied accesses of code, to objects that it does not name */
	uint64_t crossings, operations; /* to objects of others; in another way than allowed */
	uint64_t calls, denied_calls;	/* dynamic: calls of code that it does not name */
};

/* What a cut (of mz_cut_read) would deny to the run: rows of function, domain, object, operation,
 * count and reason. */
void mz_cut_check(const struct mz_privilege *p, const struct mz_cut *c, struct mz_cut_denials *d,
		  struct mz_result_table *a);

#endif
