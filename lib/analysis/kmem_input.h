/* SPDX-License-Identifier: BSD-2-Clause */
/* The files of a kernel trace, open: shared by what opens them and what reads them. */
#ifndef MZ_ANALYSIS_KMEM_INPUT_H
#define MZ_ANALYSIS_KMEM_INPUT_H

#include "analysis/kmem.h"
#include "analysis/kmem_readahead.h"
#include "base/merge.h"
#include "base/pair_index.h"
#include "symbols/kallsyms.h"
#include "symbols/symbols.h"
#include "trace/reader.h"

struct kmem_source {
	char *path;
	struct mz_reader *r;
	struct mz_kmem_readahead *ahead; /* once it is being read */
	struct mz_event *ev;
	const uint64_t *orders; /* of those, if the file has them */
	uint32_t *stack_of;	/* of those, our numbers of their stacks; NULL = not wanted */
	long n, at;
	bool ended;
	uint64_t key;			   /* order of the next event; UINT64_MAX = at its end */
	int cpu;			   /* by the file's name; -1 = unknown */
	uint32_t *sites, *caches, *stacks; /* file number -> merged number */
	uint32_t nsites, ncaches, nstacks;
	size_t cap_sites, cap_caches, cap_stacks;
};

struct mz_kmem_input {
	struct kmem_source *src;
	unsigned n;
	struct mz_merge merge; /* of the sources, while all that have not ended have events */
	bool ready;	       /* they have */
	bool whole;	       /* all files of a recording, with numbered events: a gap is a loss */
	bool begun;
	struct mz_event lost; /* a gap, returned as an event */
	uint64_t last;	      /* number of the last event */
	uint64_t last_time;
	uint64_t missing;	    /* by the gaps so far */
	uint64_t overruns;	    /* as the recorder counted them */
	struct mz_pair_index sites; /* addresses */
	struct mz_tables *names;    /* caches: our number is the string's - 1 */
	struct mz_tables *stacks;   /* NULL = not wanted */
	const struct mz_kallsyms *syms;
	struct mz_kallsyms *own_syms; /* the same, unless they are those of files */
	bool named; /* syms are the trace's own names, whose stacks begin with the call site */
	struct mz_symbols *files; /* System.map beside the trace, or what was named; NULL = none */
	int *nodes;
	int nnodes;
	char *base; /* the folder of the first file */
	bool by_sequence;
	unsigned flags; /* enum mz_open_flags, of all files */
};

/* The symbols from the names in a trace, if there are none beside it. 0 or -ENOMEM. */
int mz_kmem_name_sites(struct mz_kmem_input *in);

#endif
