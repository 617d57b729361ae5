/* SPDX-License-Identifier: BSD-2-Clause */
/* What the two ways of recording share: BPF programs (kmemtraced.c) and kmemtrace in the kernel
 * (kmemtraced_relay.c). */
#ifndef MZ_CMDS_RECORD_KMEMTRACED_H
#define MZ_CMDS_RECORD_KMEMTRACED_H

#include <signal.h>
#include <sys/types.h>

#include "cmds/cmd.h"

struct mz_kallsyms;
struct mz_kmem;
struct mz_relay;

enum kmemtraced_from { KMEMTRACED_AUTO, KMEMTRACED_RELAY, KMEMTRACED_BPF };

struct kmemtraced_opts {
	const char *output;
	uint64_t subbufs;
	uint64_t subbuf_size;
	const char *events;
	bool stacks;
	bool rescue;
	const char *cache;
	uint64_t pid;
	const char *cgroup;
	const char *sample;
	double duration;
	bool summary;
	uint64_t live_blocks;
	struct mz_opt_limit limit;
	unsigned source; /* enum kmemtraced_from */
	bool drain;
	bool force;
	bool quiet;
	bool json;
	bool as_command; /* the exit status is that of the command */
};

extern const char *const kmemtraced_sources[];

/* Parses "1/N", where N is at most that: -1, or enum mz_exit after a message. */
int kmemtraced_parse_sample(const char *text, uint32_t *n);

/* What only recordings of a kernel have; record has them too. */
/* clang-format off */
#define KMEMTRACED_OPTS(sc, st, m)                                                                 \
	MZ_OPT_FOR(sc, 0, "subbufs", "N", MZ_OPT_U64, st, m.subbufs,                               \
		   "sub-buffers per CPU (20); raise it when events are lost"),                     \
	MZ_OPT_FOR(sc, 0, "subbuf-size", "SIZE", MZ_OPT_SIZE, st, m.subbuf_size,                   \
		   "bytes of a sub-buffer (512K); a ring is N times SIZE, up to the next power "   \
		   "of two"),                                                                      \
	MZ_OPT_FOR(sc, 0, "events", "LIST", MZ_OPT_STR, st, m.events,                              \
		   "record these kinds of memory: slab,pages,vmalloc,percpu (slab)"),              \
	MZ_SWITCH_FOR(sc, 0, "rescue", st, m.rescue,                               \
		   "attach a second program per tracepoint, for events in interrupts that arrive " \
		   "while the first one runs; doubles the cost"),                                  \
	MZ_OPT_FOR(sc, 0, "cache", "NAME", MZ_OPT_STR, st, m.cache,                                \
		   "only objects of this cache; kmalloc-64 etc. for a size class"),        \
	MZ_OPT_FOR(sc, 0, "cgroup", "PATH", MZ_OPT_STR, st, m.cgroup,                              \
		   "only allocations in this cgroup (version 2), and their frees"),                \
	MZ_SWITCH_FOR(sc, 0, "summary", st, m.summary,                             \
		   "count by call site in the kernel and print the counts; nothing is written"),   \
	MZ_OPT_FOR(sc, 0, "live-blocks", "N", MZ_OPT_U64, st, m.live_blocks,                       \
		   "with --summary: follow up to N blocks to their frees, and count what is "      \
		   "live"),                                                                        \
	MZ_OPT_ROWS(sc, st, m.limit, "rows of a summary; 0 = all (the default)"),                 \
	{.name = "source", .arg = "WHAT", .type = MZ_OPT_CHOICE, .offset = offsetof(st, m.source), \
	 .choices = kmemtraced_sources, .scope = sc,                                               \
	 .help = "auto, relay (kmemtrace in the kernel) or bpf (auto: relay if available)"},        \
	MZ_SWITCH_FOR(sc, 0, "drain", st, m.drain,                                 \
		   "relay: switch tracing off, save what the buffers hold since boot, and exit")
/* clang-format on */

/* Records the kernel, while the command runs if there is one; returns enum mz_exit. */
int kmemtraced_run(const struct kmemtraced_opts *o, int argc, char **argv);

struct kmemtraced_job {
	const struct kmemtraced_opts *o;
	const char *dir;
	struct mz_kmem *k;
	struct mz_relay *relay;
	struct mz_kallsyms *syms; /* of a summary */
	char **command;		  /* NULL = none */
	pid_t child;
	int go; /* the child starts when this is closed */
	bool child_done;
	int told_to_end; /* a signal; 0 = none */
	int child_status;
	uint64_t began, ended;
	struct mz_error err;
};

struct kmemtraced_progress {
	uint64_t time, events, bytes, lost;
};

struct kmemtraced_source {
	void (*progress)(struct kmemtraced_job *j, struct kmemtraced_progress *p);
	int (*failed)(struct kmemtraced_job *j); /* 0, or -errno with j->err */
};

/* Creates the folder and saves the kernel's symbols in it: 0, or -errno with j->err. */
int kmemtraced_begin_dir(struct kmemtraced_job *j);
/* Starts the command and the clock; until a signal, the end of the time, the end of
 * the command, or a fault. */
int kmemtraced_wait(struct kmemtraced_job *j, const struct kmemtraced_source *src,
		    const sigset_t *signals);
void kmemtraced_drop_rights(void);
/* Reports how the command ended, and what to do next. */
void kmemtraced_say_end(const struct kmemtraced_job *j);

/* Record through kmemtrace in the kernel; returns enum mz_exit. */
int kmemtraced_relay(struct kmemtraced_job *j, const sigset_t *signals);

#endif
