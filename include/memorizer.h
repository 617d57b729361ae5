/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libmemorizer: reads and writes traces of memory: which code allocates, frees and touches it.
 *
 * The library never prints, never exits and keeps no global state: all state belongs
 * to the handles below. A handle may be used by one thread at a time; different
 * handles may be used by different threads. After fork(), the child can only close the
 * readers and analyses that the parent opened: reading on may fail with EBADF, as threads of the
 * library that decode ahead are not copied. A writer goes on in one of the two processes only, and
 * the other neither closes nor aborts it: both would write to, rename or delete the same file.
 *
 * int results: 0 or a count on success, -errno on failure. Pointer results:
 * NULL with errno set. A failed call on a handle leaves a message in it. A handle must not be
 * NULL, except where it is closed or freed. A name, a length or an error that is not wanted may be.
 */
#ifndef MEMORIZER_H
#define MEMORIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MZ_API __attribute__((visibility("default")))

#define MZ_VERSION "0.2.0"

/* ---- errors ------------------------------------------------------------- */

/* What went wrong, where, and what to do. text is one line, without newline. The caller clears it
 * before the first call: struct mz_error err = {0}. The first error in it is kept. */
struct mz_error {
	int code;	 /* errno value, 0 = no error */
	uint64_t offset; /* byte offset in the input, when has_offset */
	uint64_t line;	 /* line number from 1, 0 = not a text input */
	bool has_offset;
	char text[480];
};

/* ---- the event ---------------------------------------------------------- */

enum mz_kind {
	MZ_NONE,
	MZ_ALLOC,   /* a block was allocated; addr 0: the allocation failed */
	MZ_FREE,    /* a block was freed */
	MZ_REALLOC, /* a block was replaced by another, in place or not */
	MZ_ACCESS,  /* reads and writes of a block were counted */
	MZ_LOST,    /* events are missing here: how many, and why */
	MZ_MARK,    /* a note in the trace */
	MZ_KINDS
};

/* The call that made the event. The names are those of the text form. */
enum mz_call {
	MZ_CALL_NONE,
	MZ_CALL_MALLOC,
	MZ_CALL_CALLOC,
	MZ_CALL_REALLOC,
	MZ_CALL_REALLOCARRAY,
	MZ_CALL_ALIGNED_ALLOC,
	MZ_CALL_MEMALIGN,
	MZ_CALL_POSIX_MEMALIGN,
	MZ_CALL_VALLOC,
	MZ_CALL_PVALLOC,
	MZ_CALL_FREE,
	MZ_CALL_MMAP,
	MZ_CALL_MUNMAP,
	MZ_CALL_MREMAP,
	MZ_CALL_BRK,
	MZ_CALL_KMALLOC,
	MZ_CALL_KFREE,
	MZ_CALL_KMEM_CACHE_ALLOC,
	MZ_CALL_KMEM_CACHE_FREE,
	MZ_CALL_PAGE_ALLOC,
	MZ_CALL_PAGE_FREE,
	MZ_CALL_VMALLOC,
	MZ_CALL_VFREE,
	MZ_CALL_PERCPU_ALLOC,
	MZ_CALL_PERCPU_FREE,
	MZ_CALL_ACCESS,
	MZ_CALL_LOST,
	MZ_CALL_MARK,
	MZ_CALLS
};

/* Which of the optional fields of an event are known. */
enum mz_field {
	MZ_HAS_ADDR = 1 << 0, /* addr, old_addr */
	MZ_HAS_TIME = 1 << 1,
	MZ_HAS_CPU = 1 << 2,
	MZ_HAS_NODE = 1 << 3,
	MZ_HAS_PID = 1 << 4,
	MZ_HAS_TID = 1 << 5,
	MZ_HAS_GIVEN = 1 << 6,
	MZ_HAS_FLAGS = 1 << 7,
	MZ_HAS_SITE = 1 << 8,
	MZ_HAS_CACHE = 1 << 9,
	MZ_HAS_ALL = (1 << 10) - 1
};

/*
 * One event. A field whose bit is not in has is unknown and reads as 0.
 *
 * Blocks are named by object: a serial number that starts at 1, increases by one
 * with every block that is allocated (and with every realloc, in place or not),
 * and is never used again. 0 = no block: NULL, a failed call, or a block
 * that this trace never saw allocated.
 */
struct mz_event {
	uint64_t time;	     /* in ns of the trace's clock */
	uint64_t addr;	     /* ALLOC, REALLOC: the new block; FREE: the old; ACCESS */
	uint64_t old_addr;   /* REALLOC: the old block, 0 = NULL */
	uint64_t object;     /* ALLOC, REALLOC: the new block; FREE: the old; ACCESS */
	uint64_t old_object; /* REALLOC: the old block */
	uint64_t size;	     /* bytes requested (in total: n * size of a calloc);
				LOST: events; ACCESS: reads */
	uint64_t given;	     /* bytes actually given; LOST: the duration in ns, up to time */
	uint64_t arg;	     /* calloc, reallocarray: n; memalign and the like: the
				alignment; LOST: enum mz_loss; ACCESS: writes;
				MARK: string */
	uint32_t site;	     /* call site: a stack in the trace's table */
	uint32_t cache;	     /* kmem_cache: a string in the trace's table */
	uint32_t pid;
	uint32_t tid;
	uint32_t flags; /* gfp flags, mmap flags */
	int16_t cpu;
	int16_t node;
	uint16_t has;  /* enum mz_field */
	uint8_t kind;  /* enum mz_kind */
	uint8_t call;  /* enum mz_call */
	uint32_t unit; /* 0; for a calloc or reallocarray with a count of 0: the size
			  of an element; MZ_UNIT_OVERFLOW: n * size exceeds 64 bits
			  (so the call failed), and size is that of one element */
};

#define MZ_UNIT_OVERFLOW UINT32_MAX

/* Why events are missing. */
enum mz_loss {
	MZ_LOSS_UNKNOWN,
	MZ_LOSS_RING_FULL, /* the reader was too slow */
	MZ_LOSS_REENTRY,   /* an event inside the recorder itself */
	MZ_LOSS_DAMAGE,	   /* the file is damaged here */
	MZ_LOSS_NO_MEMORY,
	MZ_LOSS_FILTER,	 /* left out at recording, by request */
	MZ_LOSS_SANDBOX, /* the program gave up system calls that recording needs */
	MZ_LOSS_SAMPLED, /* left out at random; other events stand for them, with weights */
	MZ_LOSSES
};

/* The names used in text, JSON and the manual; NULL past the end of the enum. */
MZ_API const char *mz_call_name(enum mz_call call);
MZ_API const char *mz_kind_name(enum mz_kind kind);
MZ_API const char *mz_loss_name(enum mz_loss loss);

/* The kind of event that a call makes. */
MZ_API enum mz_kind mz_call_kind(enum mz_call call);

/* ---- tables of a trace -------------------------------------------------- */

/*
 * Strings and stacks are stored once and named by number, from 1; 0 = none.
 * A stack is a list of addresses, innermost first.
 */
struct mz_tables;

MZ_API struct mz_tables *mz_tables_new(void);
MZ_API void mz_tables_free(struct mz_tables *t);

/* The number of a string or stack, which is added if it is new; 0 = no memory. */
MZ_API uint32_t mz_tables_string(struct mz_tables *t, const char *s, size_t len);
MZ_API uint32_t mz_tables_stack(struct mz_tables *t, const uint64_t *ips, size_t depth);

/* Borrowed: a string until the tables are freed, a stack until four others have been
 * requested. NULL if the number does not exist, or if a damaged file has lost the string. A frame
 * that it has lost has the address UINT64_MAX, where no code is. */
MZ_API const char *mz_tables_get_string(const struct mz_tables *t, uint32_t id, size_t *len);
MZ_API const uint64_t *mz_tables_get_stack(const struct mz_tables *t, uint32_t id, size_t *depth);

MZ_API uint32_t mz_tables_strings(const struct mz_tables *t); /* how many */
MZ_API uint32_t mz_tables_stacks(const struct mz_tables *t);

/* ---- reading ------------------------------------------------------------ */

enum mz_format {
	MZ_FORMAT_UNKNOWN,
	MZ_FORMAT_TEXT,
	MZ_FORMAT_CLASSIC,
	MZ_FORMAT_CONTAINER,
	MZ_FORMAT_KMEMTRACE_C, /* raw relay records, 2008; time is the sequence number */
	MZ_FORMAT_KMEMTRACE_E, /* raw records of 2.6.30-2.6.34 */
	MZ_FORMAT_HEAPTRACK,   /* a file of heaptrack */
	MZ_FORMAT_PERF,	       /* kmem events as perf script prints them */
	MZ_FORMATS
};

MZ_API const char *mz_format_name(enum mz_format format);

struct mz_reader;

/*
 * Open a trace; its format is recognized by its content. path "-" is standard input.
 * On failure NULL, and the reason in err (which may be NULL).
 */
MZ_API struct mz_reader *mz_reader_open(const char *path, struct mz_error *err);

/*
 * The same with flags. Memory is bounded by the size of the input (docs/security.md):
 * an input that needs more fails with EFBIG unless MZ_OPEN_LARGE is set.
 */
enum mz_open_flags { MZ_OPEN_LARGE = 1 };
MZ_API struct mz_reader *mz_reader_open_with(const char *path, unsigned flags,
					     struct mz_error *err);

/* The same for a descriptor, which the caller closes, and for memory, which must
 * stay valid until the reader is closed. name is used in messages, and may be NULL. */
MZ_API struct mz_reader *mz_reader_open_fd(int fd, const char *name, struct mz_error *err);
MZ_API struct mz_reader *mz_reader_open_memory(const void *data, size_t size, const char *name,
					       struct mz_error *err);
MZ_API void mz_reader_close(struct mz_reader *r);

/* Reads up to max events into ev. Returns their number, 0 at the end, or -errno. Blocks
 * are resolved: object and old_object are set. After an error, every further call fails. */
MZ_API long mz_reader_read(struct mz_reader *r, struct mz_event *ev, size_t max);

MZ_API enum mz_format mz_reader_format(const struct mz_reader *r);

/* Fields that events of this trace may have (enum mz_field). For a text trace,
 * those of the events read so far. */
MZ_API uint32_t mz_reader_fields(const struct mz_reader *r);

/* The last error; valid until the reader is closed. */
MZ_API const struct mz_error *mz_reader_error(const struct mz_reader *r);

/* The strings and stacks read so far; valid until the reader is closed. */
MZ_API const struct mz_tables *mz_reader_tables(const struct mz_reader *r);

/* Events that did not match the live blocks, so far. */
struct mz_unmatched {
	uint64_t unknown_frees; /* frees and reallocs of blocks never seen allocated */
	uint64_t over_live;	/* allocations at the address of a live block */
};
MZ_API struct mz_unmatched mz_reader_unmatched(const struct mz_reader *r);

/* ---- more of a container ------------------------------------------------ */

/* What a trace says about itself: source, clock, host, kernel, command line, ... */
enum mz_attr_type { MZ_ATTR_TEXT, MZ_ATTR_NUMBER, MZ_ATTR_BYTES };

struct mz_attr {
	const char *key; /* "source", "clock", "host", "node.0", ...: docs/format.md */
	enum mz_attr_type type;
	uint64_t number;
	const char *data; /* TEXT, BYTES; followed by a 0 */
	size_t size;
};

/* The attributes known so far; for a file, all of them once it is open. If a key occurs
 * twice, the later value counts. Borrowed until the reader is closed or read again. */
MZ_API size_t mz_reader_attrs(const struct mz_reader *r);
MZ_API const struct mz_attr *mz_reader_attr(const struct mz_reader *r, size_t i);
MZ_API const struct mz_attr *mz_reader_find_attr(const struct mz_reader *r, const char *key);

/* Which events are read; chunks that contain none of them are not decoded. All zero
 * selects everything. LOST events within the time range are always read. */
struct mz_select {
	uint64_t time_from; /* time_to 0 = no end */
	uint64_t time_to;
	uint64_t object; /* 0 = any */
	int cpu;	 /* with has_cpu */
	uint32_t tid;	 /* with has_tid */
	bool has_cpu;
	bool has_tid;
	uint64_t reserved[3]; /* 0: room for future conditions */
};

/* To be called before the first read; -EINVAL if the trace is not a container. */
MZ_API int mz_reader_select(struct mz_reader *r, const struct mz_select *select);

/* The sums of a container, from its index: immediate, whatever its size. */
struct mz_summary {
	size_t size; /* set by the caller: see memorizer/analysis.h */
	uint64_t bytes;
	uint64_t events;   /* in the file, without lost ones */
	uint64_t lost[16]; /* by enum mz_loss, with room for future causes */
	uint64_t produced; /* as counted by the recorder, if has_produced */
	uint64_t chunks;
	uint64_t streams;
	uint64_t births; /* blocks that begin in it */
	uint64_t first_time;
	uint64_t last_time;
	uint32_t fields; /* enum mz_field */
	bool has_produced;
	bool whole;	  /* complete; otherwise the writer was stopped, or the file was cut */
	bool raw;	  /* blocks have no object numbers: the reader numbers them */
	uint64_t damaged; /* places where bytes were skipped */
	uint64_t end;	  /* offset of the end of the last good block */
};

/* -EINVAL for other formats or without a size, -ESPIPE for a container in a pipe. */
MZ_API int mz_reader_summary(struct mz_reader *r, struct mz_summary *summary);

/* ---- writing a container ------------------------------------------------ */

struct mz_writer_options {
	bool best;	/* smaller, slower */
	bool overwrite; /* replace an existing file, and the PATH.part of a dead writer */
	bool discard;	/* leave no PATH.part after a failure: its content can be made again */
	bool raw;	/* events have addresses, but no objects: readers number the blocks */
	uint32_t drop;	/* enum mz_field: fields that are not stored */
	uint32_t chunk_events; /* 0 = as many as the format allows */
	uint32_t reserved[5];  /* 0: room for future options */
};

struct mz_writer;
struct mz_stream;

/*
 * The file grows as PATH.part, which is readable at any time up to its last complete
 * chunk, and is renamed to PATH when it is closed. After a crash PATH.part stays. A
 * path that another writer is using is refused (-EBUSY), and so is an existing file
 * (-EEXIST), unless overwrite is set. "-" is standard output. options may be NULL.
 */
MZ_API struct mz_writer *mz_writer_open(const char *path, const struct mz_writer_options *options,
					struct mz_error *err);
/* The same for a descriptor, which the caller closes; it need not be seekable. */
MZ_API struct mz_writer *mz_writer_open_fd(int fd, const char *name,
					   const struct mz_writer_options *options,
					   struct mz_error *err);

/* Writes the rest and the index, and gives the file its name. 0, or -errno with err
 * set; w is freed in both cases. After a failure PATH.part stays if it has events,
 * unless discard is set. */
MZ_API int mz_writer_close(struct mz_writer *w, struct mz_error *err);
/* Deletes the file and frees w. */
MZ_API void mz_writer_abort(struct mz_writer *w);
MZ_API const struct mz_error *mz_writer_error(const struct mz_writer *w);

/* Attributes, strings, stacks: from any thread, at any time. A key has 1 to 255
 * bytes; otherwise -EINVAL, and the file is unchanged. */
MZ_API int mz_writer_set_text(struct mz_writer *w, const char *key, const char *text);
MZ_API int mz_writer_set_number(struct mz_writer *w, const char *key, uint64_t number);
MZ_API int mz_writer_set_bytes(struct mz_writer *w, const char *key, const void *data, size_t size);
MZ_API uint32_t mz_writer_string(struct mz_writer *w, const char *s, size_t len);
MZ_API uint32_t mz_writer_stack(struct mz_writer *w, const uint64_t *ips, size_t depth);

/* Events, in order. -EINVAL for an event that no reader would take: an unknown call, a kind that is
 * not that of the call, an unknown field or cause of a loss, a site, cache or text of a mark that
 * the writer has not numbered, or a time before that of the preceding event. Then none of the n
 * events is added, and the file stays sound. A lost event stands where events are missing (kind
 * MZ_LOST: size, arg, and, if known, time, cpu, and as given the duration in ns, up to time). */
MZ_API int mz_writer_add(struct mz_writer *w, const struct mz_event *ev, size_t n);

/* A stream has its own chunks, for one producer (a thread, a CPU). Each stream is used
 * by one thread; streams wait for each other only while a chunk is written. A reader
 * merges them by time. NULL = no memory. Freed with the writer. */
MZ_API struct mz_stream *mz_writer_stream(struct mz_writer *w);
MZ_API int mz_stream_add(struct mz_stream *s, const struct mz_event *ev, size_t n);
/* Writes the collected events as a chunk, so that they survive a crash. */
MZ_API int mz_stream_flush(struct mz_stream *s);
MZ_API int mz_writer_flush(struct mz_writer *w);

/* How many events occurred, written or lost: readers verify the balance. */
MZ_API void mz_writer_produced(struct mz_writer *w, uint64_t events);

/* ---- verifying ---------------------------------------------------------- */

struct mz_verify {
	size_t size;		    /* set by the caller */
	struct mz_summary *summary; /* set by the caller, with its size; NULL = not wanted */
	uint64_t decoded;	    /* events that decode */
	uint64_t bad_bytes;	    /* in damaged places */
	uint64_t first_bad;	    /* offset of the first of these bytes */
	uint64_t missing;	    /* events of chunks that are damaged, where known */
	uint64_t disorder;   /* events that are earlier than their predecessor in the stream */
	uint64_t unbalanced; /* produced - written - lost, as two's complement */
	/* set by the caller; NULL = not wanted: reports how much was read, with the arg of note */
	void (*progress)(void *arg, double share, uint64_t events);
};

/* Called for each fault found; text is one line. */
typedef void mz_verify_note(void *arg, uint64_t offset, const char *text);

/* Reads everything. 0: no fault; 1: faults, reported to note; -errno: the file cannot be
 * read. v may be NULL. */
MZ_API int mz_verify_file(const char *path, struct mz_verify *v, mz_verify_note *note, void *arg,
			  struct mz_error *err);
/* The same with enum mz_open_flags. */
MZ_API int mz_verify_file_with(const char *path, unsigned flags, struct mz_verify *v,
			       mz_verify_note *note, void *arg, struct mz_error *err);

#ifdef __cplusplus
}
#endif

#include <memorizer/analysis.h>

#endif
