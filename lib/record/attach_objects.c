// SPDX-License-Identifier: BSD-2-Clause
/* Find the loaded libraries of a running program and their functions in its memory. */
#include "record/attach_objects.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

/* What a program says about itself is bounded before it is followed. */
#define MAX_OBJECTS 4096u
#define MAX_DYNAMIC 512u
#define MAX_HEADERS 128u
#define MAX_CHAIN   65536u

bool mz_attach_read(const struct mz_attach_objects *o, uint64_t at, void *out, size_t size)
{
	return pread(o->mem, out, size, (off_t)at) == (ssize_t)size;
}

bool mz_attach_write(const struct mz_attach_objects *o, uint64_t at, const void *from, size_t size)
{
	return pwrite(o->mem, from, size, (off_t)at) == (ssize_t)size;
}

static void read_string(const struct mz_attach_objects *o, uint64_t at, char *out, size_t size)
{
	size_t n = 0;

	/* byte by byte at the end of a mapping, else as a whole */
	if (!mz_attach_read(o, at, out, size))
		while (n < size && mz_attach_read(o, at + n, out + n, 1) && out[n])
			n++;
	else
		n = strnlen(out, size);
	out[n < size ? n : size - 1] = '\0';
}

/* ---- finding them: the linker's list, from the program's headers -------------- */

static bool find_auxv(pid_t pid, uint64_t *headers, uint64_t *count)
{
	char path[64];
	Elf64_auxv_t v;
	FILE *in;

	*headers = *count = 0;
	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	in = fopen(path, "re");
	if (!in)
		return false;
	while (fread(&v, sizeof(v), 1, in) == 1 && v.a_type != AT_NULL) {
		if (v.a_type == AT_PHDR)
			*headers = v.a_un.a_val;
		else if (v.a_type == AT_PHNUM)
			*count = v.a_un.a_val;
	}
	fclose(in);
	return *headers && *count && *count <= MAX_HEADERS;
}

/* The load address is the difference between where the headers are and where they were linked. */
static uint64_t find_dynamic(const struct mz_attach_objects *o, uint64_t headers, uint64_t count)
{
	uint64_t base = 0, dynamic = 0;

	for (uint64_t i = 0; i < count; i++) {
		Elf64_Phdr ph;

		if (!mz_attach_read(o, headers + i * sizeof(ph), &ph, sizeof(ph)))
			return 0;
		if (ph.p_type == PT_PHDR)
			base = headers - ph.p_vaddr;
		else if (ph.p_type == PT_DYNAMIC)
			dynamic = ph.p_vaddr;
	}
	return dynamic ? base + dynamic : 0;
}

/* The table is read from another program's memory and need not end: the number of entries is
 * bounded. */
static uint64_t dynamic_entry(const struct mz_attach_objects *o, uint64_t dynamic, int64_t tag)
{
	Elf64_Dyn d = {.d_tag = DT_NULL};

	for (unsigned i = 0; i < MAX_DYNAMIC; i++, dynamic += sizeof(d)) {
		if (!mz_attach_read(o, dynamic, &d, sizeof(d)) || d.d_tag == DT_NULL)
			break;
		if (d.d_tag == tag)
			return d.d_un.d_val;
	}
	return 0;
}

static void add_object(struct mz_attach_objects *o, const struct link_map *m)
{
	struct mz_attach_object *n = &o->list[o->count];
	uint64_t dynamic = (uint64_t)(uintptr_t)m->l_ld;

	*n = (struct mz_attach_object){.base = m->l_addr};
	n->symbols = dynamic_entry(o, dynamic, DT_SYMTAB);
	n->strings = dynamic_entry(o, dynamic, DT_STRTAB);
	n->hash = dynamic_entry(o, dynamic, DT_GNU_HASH);
	/* the linker relocates these, except in what the kernel brings */
	n->symbols += n->symbols && n->symbols < n->base ? n->base : 0;
	n->strings += n->strings && n->strings < n->base ? n->base : 0;
	n->hash += n->hash && n->hash < n->base ? n->base : 0;
	read_string(o, (uint64_t)(uintptr_t)m->l_name, n->name, sizeof(n->name));
	o->count++;
}

/* The dynamic linker's list, as a debugger reads it. A damaged program may have made it
 * circular, so its length is bounded. */
static int read_list(struct mz_attach_objects *o, pid_t pid, uint64_t debug, struct mz_error *err)
{
	struct r_debug r;
	struct link_map m;
	uint64_t at;

	o->list = calloc(MAX_OBJECTS, sizeof(*o->list));
	if (!o->list)
		return mz_fail_memory(err);
	if (!mz_attach_read(o, debug, &r, sizeof(r)) || !r.r_map)
		return mz_fail(err, EAGAIN, "pid %d: is only just starting; try again", (int)pid);
	for (at = (uint64_t)(uintptr_t)r.r_map; at && o->count < MAX_OBJECTS;
	     at = (uint64_t)(uintptr_t)m.l_next) {
		if (!mz_attach_read(o, at, &m, sizeof(m)))
			return mz_fail(err, EFAULT,
				       "pid %d: its list of libraries cannot be read; is the "
				       "program damaged?",
				       (int)pid);
		add_object(o, &m);
	}
	return 0;
}

/* A program without DT_DEBUG has no dynamic linker: it is statically linked. */
int mz_attach_objects_open(struct mz_attach_objects *o, pid_t pid, struct mz_error *err)
{
	uint64_t headers, count, dynamic = 0, debug = 0;
	char path[64];
	int ret;

	*o = (struct mz_attach_objects){.mem = -1};
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	o->mem = open(path, O_RDWR | O_CLOEXEC);
	if (o->mem < 0)
		return mz_fail(
			err, errno,
			"pid %d: the system does not allow reading its memory: %s; this needs "
			"CAP_SYS_PTRACE, and no security module that forbids it",
			(int)pid, strerror(errno));
	if (find_auxv(pid, &headers, &count))
		dynamic = find_dynamic(o, headers, count);
	if (dynamic)
		debug = dynamic_entry(o, dynamic, DT_DEBUG);
	if (!debug)
		ret = mz_fail(err, ENOEXEC,
			      "pid %d: is statically linked: no library can replace its allocator; "
			      "link it dynamically",
			      (int)pid);
	else
		ret = read_list(o, pid, debug, err);
	if (ret < 0)
		mz_attach_objects_close(o);
	return ret;
}

void mz_attach_objects_close(struct mz_attach_objects *o)
{
	if (o->mem >= 0)
		close(o->mem);
	free(o->list);
	*o = (struct mz_attach_objects){.mem = -1};
}

/* ---- symbols: the hash table that linkers write -------------------------------- */

static uint32_t name_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

static bool is_function(const struct mz_attach_objects *o, const struct mz_attach_object *in,
			uint32_t i, const char *name, uint64_t *value)
{
	Elf64_Sym s;
	char have[64];

	if (!mz_attach_read(o, in->symbols + i * sizeof(s), &s, sizeof(s)) ||
	    s.st_shndx == SHN_UNDEF || !s.st_value || ELF64_ST_TYPE(s.st_info) != STT_FUNC)
		return false;
	read_string(o, in->strings + s.st_name, have, sizeof(have));
	*value = in->base + s.st_value;
	return !strcmp(have, name);
}

/* A lookup in the GNU hash table, in the memory of another program: every read is checked, and
 * the chain is bounded. */
uint64_t mz_attach_symbol(const struct mz_attach_objects *o, const struct mz_attach_object *in,
			  const char *name)
{
	uint32_t head[4], h = name_hash(name), i, chain; /* buckets, first, bloom words, shift */
	uint64_t buckets, value;

	if (!in->hash || !in->symbols || !in->strings ||
	    !mz_attach_read(o, in->hash, head, sizeof(head)) || !head[0])
		return 0;
	buckets = in->hash + sizeof(head) + (uint64_t)head[2] * 8;
	if (!mz_attach_read(o, buckets + 4ull * (h % head[0]), &i, sizeof(i)) || i < head[1])
		return 0;
	for (unsigned n = 0; n < MAX_CHAIN; n++, i++) {
		uint64_t at = buckets + 4ull * head[0] + 4ull * (i - head[1]);

		if (!mz_attach_read(o, at, &chain, sizeof(chain)))
			return 0;
		if ((chain | 1) == (h | 1) && is_function(o, in, i, name, &value))
			return value;
		if (chain & 1)
			break;
	}
	return 0;
}

uint64_t mz_attach_function(const struct mz_attach_objects *o, const char *name)
{
	uint64_t at = 0;

	for (size_t i = 0; i < o->count && !at; i++)
		at = mz_attach_symbol(o, &o->list[i], name);
	return at;
}

bool mz_attach_mapping(pid_t pid, uint64_t addr, struct mz_attach_map *m)
{
	char path[64], line[512];
	bool found = false;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	in = fopen(path, "re");
	while (in && !found && fgets(line, sizeof(line), in)) {
		unsigned long start, end;

		m->path[0] = '\0';
		if (sscanf(line, "%lx-%lx %4s %*s %*s %*s %255[^\n]", &start, &end, m->rights,
			   m->path) < 3)
			break;
		m->start = start;
		m->end = end;
		found = addr >= start && addr < end;
	}
	if (in)
		fclose(in);
	return found;
}
