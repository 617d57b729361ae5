/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the preloaded library and `memorizer record` share: one region of memory
 * with rings of fixed records. A ring has one writer, a thread of a program
 * under test, and one reader, the recorder. The writer never waits for a lock;
 * what it has written stays when it is killed.
 *
 * A region is used by both sides on one machine: native byte order and words.
 */
#ifndef MEMORIZER_UAPI_RECORD_H
#define MEMORIZER_UAPI_RECORD_H

#include <assert.h>
#include <stdint.h>

#define MZ_REGION_MAGIC	  0x6d7a72696e673031ull /* "mzring01" */
#define MZ_REGION_VERSION 9

/* Where a program finds the region: the variable holds its path and, after a
 * colon, its inode. A process number may be used again; an inode is not. */
#define MZ_REGION_ENV "MEMORIZER_REGION"

/* The first threads get large rings, the next ones smaller ones, and the rest small ones:
 * 32 MiB in all, of which only what is used is really there. A large one holds 30 ms of
 * 3 million events per second with stacks. */
#define MZ_RINGS_LARGE	  8u
#define MZ_RINGS_MEDIUM	  16u
#define MZ_RINGS_SMALL	  2040u
#define MZ_RINGS	  (MZ_RINGS_LARGE + MZ_RINGS_MEDIUM + MZ_RINGS_SMALL)
#define MZ_RECORDS_LARGE  131072u /* 2 MiB */
#define MZ_RECORDS_MEDIUM 32768u  /* 512 KiB */
#define MZ_RECORDS_SMALL  256u	  /* 4 KiB */

/* Programs that record at the same time. */
#define MZ_IMAGES 512u

/* ---- records ------------------------------------------------------------ */

/* type of a record: an enum mz_call, or one of these. */
enum mz_record_type {
	MZ_REC_TIME = 128, /* value = the clock, whole */
	/* of the call that follows, where it does not fit the record: */
	MZ_REC_SIZE,
	MZ_REC_GIVEN, /* in all, not over size */
	MZ_REC_ARG,
	MZ_REC_ADDR,
	MZ_REC_SITE,   /* number of the stack */
	MZ_REC_POOL,   /* the block is of a pool of the program: its number */
	MZ_REC_WEIGHT, /* how many blocks this one stands for: a power of two */
	/* by themselves: */
	MZ_REC_THREAD,	   /* the ring's thread from here on: value = tid */
	MZ_REC_BEGIN,	   /* of a realloc, which follows: value = the old block */
	MZ_REC_LOST,	   /* value = events, arg = enum mz_loss; then since when, raw */
	MZ_REC_MARK,	   /* size bytes of text follow, in records of raw bytes */
	MZ_REC_STACK,	   /* see MZ_STACK_NUMBER; size = frames that follow, raw addresses */
	MZ_REC_MODULE,	   /* value = load address, size = bytes of text that follow:
			      length in hex, build id in hex, path */
	MZ_REC_POOL_NAME,  /* value = the pool's number, size = bytes of text that follow */
	MZ_REC_POOL_RESET, /* value = the pool's number: its blocks end; arg 1: it is gone */
	MZ_REC_END,
};

/*
 * Only the new part of a stack is sent: its outermost frames are those of the stack that the ring
 * sent last. The new frames follow from the outermost inwards. A stack that needs several records
 * has MORE in all but the last.
 */
#define MZ_STACK_NUMBER(value) ((uint32_t)(value))
#define MZ_STACK_SHARED(value) ((uint32_t)((value) >> 32))
#define MZ_STACK_DEPTH	       1024u /* at most */
#define MZ_STACK_PART	       128u  /* frames of a record, at most */

/* arg of a stack */
enum mz_stack_how {
	MZ_STACK_ROOTED = 1,  /* it reaches the start of the program or of the thread */
	MZ_STACK_CUT = 2,     /* there were more frames than are kept */
	MZ_STACK_GUESSED = 4, /* a frame was found by looking for return addresses */
	MZ_STACK_MORE = 8,
};

#define MZ_ARG_EXTRA 0xffu /* of a call: its arg is in MZ_REC_ARG */

/* In the record of an allocation, the bits above the address hold the bytes that the allocator gave
 * beyond size. */
#define MZ_ADDR_BITS 48u

struct mz_record {
	uint32_t time; /* the clock's lower half: an allocation when it was done, a free and
			  a realloc's begin before they were begun; 0 = free(NULL), as
			  the one before */
	uint16_t size; /* as requested, in total */
	uint8_t type;
	uint8_t arg;	/* calloc, reallocarray: n; memalign: log2 of the alignment */
	uint64_t value; /* address */
};

static_assert(sizeof(struct mz_record) == 16, "no padding");

/* A record is less than this after the last MZ_REC_TIME of its ring, so that half
 * a clock is enough. */
#define MZ_TIME_SPAN (1u << 30)

/* ---- rings -------------------------------------------------------------- */

enum mz_ring_state {
	MZ_RING_FREE,
	MZ_RING_OWNED,	/* by the thread tid */
	MZ_RING_CLOSED, /* its thread has ended; another of the same image may take it */
};

struct mz_ring {
	/* written by the thread */
	uint64_t head;	/* records written, from the start */
	uint32_t state; /* enum mz_ring_state */
	uint32_t tid;
	uint32_t image; /* index into images */
	uint32_t pad0;
	uint64_t dropped;	/* not recorded, in all */
	uint64_t thinned;	/* nor these, by thinning */
	uint64_t allocs, bytes; /* blocks that are not recorded, for either reason */
	uint64_t frees;		/* of such blocks */
	/* written by the recorder */
	uint64_t tail;	  /* records read */
	uint32_t waiting; /* the thread sleeps until there is room (both write it) */
	uint32_t room;	  /* futex: incremented when there is room */
	uint8_t pad2[48];
};

static_assert(sizeof(struct mz_ring) == 128, "a cache line a side");

/* ---- images: programs, from exec or fork to exec or exit ----------------- */

enum mz_image_state { MZ_IMAGE_FREE, MZ_IMAGE_CLAIMED, MZ_IMAGE_LIVE };

/* Why a program that runs stopped recording by itself. */
enum mz_left {
	MZ_LEFT_NOT,
	MZ_LEFT_SECCOMP, /* it gave up system calls that recording needs */
	MZ_LEFT_WAIT,	 /* the recorder did not run for MZ_WAIT_SECONDS */
};

/* Why the library does not see all calls of a program, or not their stacks. */
enum mz_blind {
	MZ_BLIND_OWN_MALLOC = 1, /* those of an executable that defines malloc */
	MZ_BLIND_NAMESPACE = 2,	 /* those of libraries that dlmopen() has loaded apart */
	MZ_BLIND_STACKS = 4,	 /* stacks were requested, but cannot be taken in this program */
};

/* The kind of program that the exec in progress starts. */
enum mz_becomes {
	MZ_BECOMES_NOTHING,
	MZ_BECOMES_ANOTHER,
	MZ_BECOMES_BARRED, /* one that cannot reach the region: of another user, for example */
};

/* A thread waits for room in its ring for MZ_PATIENCE_NS. Then it thins what it records for at
 * least MZ_THIN_NS, and until half of the ring is free again. */
#define MZ_PATIENCE_NS	20000000ull
#define MZ_THIN_NS	250000000ull
/* With MZ_REGION_WAIT: how long a thread waits for a recorder that is alive but does nothing. */
#define MZ_WAIT_SECONDS 30u

struct mz_program_slot {
	uint32_t state;	    /* enum mz_image_state */
	uint32_t pid;	    /* as the program sees it: it may be in a pid namespace */
	uint32_t parent;    /* index of the image it was forked from; MZ_IMAGES = exec */
	uint32_t locked;    /* the program holds the lock of its byte, see below */
	uint64_t start;	    /* time */
	uint64_t missed;    /* events of threads that got no ring, or after it left */
	uint32_t left;	    /* enum mz_left */
	uint32_t blind;	    /* bits of enum mz_blind */
	uint64_t anonymous; /* bytes of its memory that belong to no file, when it ended */
	uint64_t waits;	    /* how often threads have waited for room in their rings */
	uint64_t waited;    /* how long in total, in ns */
	uint64_t longest;   /* the longest single wait */
	uint32_t becomes;   /* enum mz_becomes */
	uint32_t pad;
	char path[208];
};

static_assert(sizeof(struct mz_program_slot) == 288, "no padding");

/* ---- the region --------------------------------------------------------- */

enum mz_region_flags {
	MZ_REGION_DROP = 1 << 0,     /* a full ring drops events and counts them */
	MZ_REGION_MMAP = 1 << 1,     /* mmap and its like are recorded */
	MZ_REGION_FORKS = 1 << 2,    /* other processes than main_pid are recorded */
	MZ_REGION_TSC = 1 << 3,	     /* times are of the time stamp counter, not in ns */
	MZ_REGION_INJECTED = 1 << 4, /* in a running program: its calls are to be redirected */
	MZ_REGION_WAIT = 1 << 5,     /* a thread waits for room in its ring as long as necessary */
	MZ_REGION_USERS = 1 << 6,    /* programs of other users may reach the region */
};

/* The calls that are redirected, in the order of mz_region.real. */
#define MZ_REAL_CALLS                                                                              \
	"malloc", "calloc", "realloc", "free", "reallocarray", "aligned_alloc", "memalign",        \
		"posix_memalign", "valloc", "pvalloc", "malloc_usable_size", "mmap", "mmap64",     \
		"munmap", "mremap", "brk", "sbrk", "dlsym", "prctl", "syscall", "free_sized",      \
		"free_aligned_sized"
#define MZ_REALS 22u

/*
 * Whether the other side lives is asked of the kernel, not of process numbers,
 * which may be used again or mean nothing in another namespace:
 * - `recorder` is on the robust list of the recorder's main thread. The kernel
 *   sets FUTEX_OWNER_DIED in it when that thread ends, however it ends.
 * - A program holds an open file description lock on byte i of the region, i
 *   being its image. Nothing but a mapping that fork() does not copy keeps that
 *   description open, so the lock goes away with exit and exec.
 */
#define MZ_ALONE_NAMES 16u

/* When blocks are thinned, at least one small block in 2^15 is recorded. Blocks of up to
 * MZ_THIN_SMALL bytes are small; one of twice that size is twice as likely to be recorded. */
#define MZ_THIN_MOST  15u
#define MZ_THIN_STEP  3u
#define MZ_THIN_SMALL 256u

struct mz_region {
	uint64_t magic;
	uint32_t version;
	uint32_t flags;
	uint32_t recorder;
	uint32_t main_pid;    /* the program that the user named; 0 = not yet known */
	uint32_t stack_depth; /* 0 = no stacks */
	uint32_t stop;	      /* set by the recorder: programs go on without it */
	uint32_t heartbeat;   /* goes up while the recorder runs */
	uint32_t bell;	      /* futex: incremented to wake the recorder */
	uint32_t asleep;      /* the recorder sleeps, or is about to */
	uint32_t refused;     /* images for which there was no slot */
	uint32_t ring_top;    /* no ring from here on was ever used */
	uint32_t marks;	      /* goes up after each mark of a program */
	uint32_t filters;     /* seccomp filters that apply to the recorder itself */
	uint32_t sandboxed;   /* programs not recorded: they have more filters than that */
	uint32_t full;	      /* the recorder has no room: a full ring drops events */
	uint32_t thin;	      /* one small block in 2^thin is recorded */
	uint32_t forked;      /* processes that it forked, and that were not recorded */
	uint32_t alone;	      /* programs that ran beside main_pid, and were not recorded */
	char alone_names[MZ_ALONE_NAMES][16]; /* of the first of them */
	uint64_t real[MZ_REALS];	      /* with INJECTED: where these are in the program */
	struct mz_program_slot images[MZ_IMAGES];
	struct mz_ring rings[MZ_RINGS];
	/* then the records of each ring */
};

/* What memorizer_attach() and memorizer_end() of the library are called with, in the
 * program. */
struct mz_attach_call {
	int32_t result; /* places that were redirected, or -errno */
	int32_t fd;	/* of the region, while the recorder may take it */
};

static inline uint32_t mz_ring_records(unsigned ring)
{
	return ring < MZ_RINGS_LARGE			 ? MZ_RECORDS_LARGE
	       : ring < MZ_RINGS_LARGE + MZ_RINGS_MEDIUM ? MZ_RECORDS_MEDIUM
							 : MZ_RECORDS_SMALL;
}

/* Records of all rings before this one. */
static inline uint64_t mz_ring_first(unsigned ring)
{
	unsigned large = ring < MZ_RINGS_LARGE ? ring : MZ_RINGS_LARGE;
	unsigned medium = ring - large < MZ_RINGS_MEDIUM ? ring - large : MZ_RINGS_MEDIUM;

	return (uint64_t)large * MZ_RECORDS_LARGE + (uint64_t)medium * MZ_RECORDS_MEDIUM +
	       (uint64_t)(ring - large - medium) * MZ_RECORDS_SMALL;
}

#define MZ_REGION_HEAD ((sizeof(struct mz_region) + 4095) & ~(uint64_t)4095)
#define MZ_REGION_BYTES                                                                            \
	(MZ_REGION_HEAD + ((uint64_t)MZ_RINGS_LARGE * MZ_RECORDS_LARGE +                           \
			   (uint64_t)MZ_RINGS_MEDIUM * MZ_RECORDS_MEDIUM +                         \
			   (uint64_t)MZ_RINGS_SMALL * MZ_RECORDS_SMALL) *                          \
				  sizeof(struct mz_record))

static inline struct mz_record *mz_ring_data(struct mz_region *r, unsigned ring)
{
	return (struct mz_record *)((char *)r + MZ_REGION_HEAD) + mz_ring_first(ring);
}

#endif
