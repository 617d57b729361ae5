/* SPDX-License-Identifier: BSD-2-Clause */
/* The libraries of a running program, and where their functions are: all of it
 * read from its memory, since files may have been replaced. */
#ifndef MZ_RECORD_ATTACH_OBJECTS_H
#define MZ_RECORD_ATTACH_OBJECTS_H

#include <memorizer.h>
#include <sys/types.h>

struct mz_attach_object {
	uint64_t base;
	uint64_t symbols, strings, hash; /* addresses in the program; 0 = none */
	char name[256];
};

struct mz_attach_objects {
	int mem;		       /* /proc/PID/mem */
	struct mz_attach_object *list; /* in the order in which the linker looks */
	size_t count;
};

/* 0, or -errno with err set. */
int mz_attach_objects_open(struct mz_attach_objects *o, pid_t pid, struct mz_error *err);
void mz_attach_objects_close(struct mz_attach_objects *o);

bool mz_attach_read(const struct mz_attach_objects *o, uint64_t at, void *out, size_t size);
bool mz_attach_write(const struct mz_attach_objects *o, uint64_t at, const void *from, size_t size);

/* The mapping that an address of a process lies in. */
struct mz_attach_map {
	uint64_t start, end;
	char rights[5]; /* "r-xp" */
	char path[256]; /* "" = none */
};
bool mz_attach_mapping(pid_t pid, uint64_t addr, struct mz_attach_map *m);

/* A function that this object defines; 0 = none. */
uint64_t mz_attach_symbol(const struct mz_attach_objects *o, const struct mz_attach_object *in,
			  const char *name);
/* The first one in the order of the linker. */
uint64_t mz_attach_function(const struct mz_attach_objects *o, const char *name);
#endif
