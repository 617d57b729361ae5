/* SPDX-License-Identifier: BSD-2-Clause */
/* What kmemtraced's two ways of recording share: BPF programs (kmemtraced.c) and
 * kmemtrace in the kernel (kmemtraced_relay.c). */
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
	uint64_t limit, live_blocks;
	unsigned source; /* enum kmemtraced_from */
	bool drain;
	bool force;
	bool quiet;
	bool json;
};

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

/* Both: 0, or -errno with j->err. */
int kmemtraced_make_dir(struct kmemtraced_job *j);
/* Starts the command and the clock; until a signal, the end of the time, the end of
 * the command, or a fault. */
int kmemtraced_wait(struct kmemtraced_job *j, const struct kmemtraced_source *src,
		    const sigset_t *signals);
void kmemtraced_drop_rights(void);
/* How the command ended, and what to do next. */
void kmemtraced_say_end(const struct kmemtraced_job *j);

/* Record through kmemtrace in the kernel; returns enum mz_exit. */
int kmemtraced_relay(struct kmemtraced_job *j, const sigset_t *signals);

#endif
