// SPDX-License-Identifier: BSD-2-Clause
/* Open the files of a kernel trace, and the symbols and NUMA nodes beside them. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/kmem_input.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/regular.h"
#include "formats/kmemtrace.h"
#include "formats/open.h"

/* ---- the files ---------------------------------------------------------- */

/* "…/cpu7.out" or "…/cpu7.out.part": 7 */
static int cpu_of(const char *path)
{
	const char *base = strrchr(path, '/');
	int cpu, end = 0;

	base = base ? base + 1 : path;
	if (sscanf(base, "cpu%d.out%n", &cpu, &end) == 1 && end && cpu >= 0 && cpu < 32768 &&
	    (!base[end] || !strcmp(base + end, ".part")))
		return cpu;
	return -1;
}

/* Takes over the reader, on failure as well. */
static int add_reader(struct mz_kmem_input *in, struct mz_reader *r, const char *path,
		      struct mz_error *err)
{
	struct kmem_source *p = realloc(in->src, (in->n + 1) * sizeof(*p));

	if (!p) {
		mz_reader_close(r);
		return mz_fail_memory(err);
	}
	in->src = p;
	p[in->n] = (struct kmem_source){.path = strdup(path), .cpu = cpu_of(path), .r = r};
	r->unnamed = true;
	return p[in->n++].path ? 0 : mz_fail_memory(err);
}

static int add_file(struct mz_kmem_input *in, const char *path, bool inside, struct mz_error *err)
{
	struct mz_reader *r = mz_reader_open_with(path, in->flags, err);
	enum mz_recording_kind kind;
	int ret;

	if (!r)
		return mz_error_code(err);
	ret = mz_reader_kind(r, &kind, err);
	if (ret < 0) {
		mz_reader_close(r);
		return ret;
	}
	/* inside the folder of a recording, a container made of text has a name that tells */
	if (kind == MZ_RECORDING_KERNEL || (inside && kind == MZ_RECORDING_USER))
		return add_reader(in, r, path, err);
	mz_reader_close(r);
	if (in->n)
		return mz_fail(err, EINVAL,
			       "%s: not a recording of a kernel, as %s is; 'memorizer report %s' "
			       "reads it by itself",
			       path, in->src[0].path, path);
	return mz_kind_refuse(path, kind, err);
}

static int by_cpu(const struct dirent **a, const struct dirent **b)
{
	return cpu_of((*a)->d_name) - cpu_of((*b)->d_name);
}

static int is_trace(const struct dirent *d)
{
	return cpu_of(d->d_name) >= 0;
}

/* cpu0.out.part beside cpu0.out is what an earlier, stopped recording left */
static bool has_whole(struct dirent **list, int n, const char *name)
{
	size_t len = strlen(name);

	if (len < 5 || strcmp(name + len - 5, ".part"))
		return false;
	for (int i = 0; i < n; i++)
		if (strlen(list[i]->d_name) == len - 5 && !strncmp(list[i]->d_name, name, len - 5))
			return true;
	return false;
}

static int add_dir(struct mz_kmem_input *in, const char *dir, struct mz_error *err)
{
	struct dirent **list;
	int n = scandir(dir, &list, is_trace, by_cpu), ret = 0;

	if (n < 0)
		return mz_fail(err, errno, "%s: cannot read the folder: %s", dir, strerror(errno));
	for (int i = 0; i < n; i++) {
		struct stat st;
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", dir, list[i]->d_name);
		/* a CPU that did nothing has an empty file, which has no format */
		if (!ret && !has_whole(list, n, list[i]->d_name) && (stat(path, &st) || st.st_size))
			ret = add_file(in, path, true, err);
	}
	for (int i = 0; i < n; i++)
		free(list[i]);
	free(list);
	if (!ret && !in->n)
		ret = mz_fail(
			err, ENOENT,
			"%s: is a directory, not a recording: it contains no cpuN.out file%s; "
			"kmemtraced -o creates such a folder",
			dir, n ? " with events" : "");
	in->whole = true;
	return ret;
}

/* ---- what lies beside them ----------------------------------------------- */

static void set_node(struct mz_kmem_input *in, int cpu, int node)
{
	if (cpu < 0 || cpu >= 32768 || node < 0 || node >= 1024)
		return;
	if (cpu >= in->nnodes) {
		int *p = realloc(in->nodes, (size_t)(cpu + 1) * sizeof(*p));

		if (!p)
			return;
		in->nodes = p;
		for (int i = in->nnodes; i <= cpu; i++)
			in->nodes[i] = -1;
		in->nnodes = cpu + 1;
	}
	in->nodes[cpu] = node;
}

/* From the recording machine: the file beside the traces, or the traces themselves. */
static void load_nodes(struct mz_kmem_input *in)
{
	char path[4200];
	FILE *f;
	int cpu, node;

	for (unsigned i = 0; i < in->n; i++)
		for (size_t a = 0; a < mz_reader_attrs(in->src[i].r); a++) {
			const struct mz_attr *at = mz_reader_attr(in->src[i].r, a);

			if (at && at->type == MZ_ATTR_NUMBER &&
			    sscanf(at->key, "node.%d", &cpu) == 1 && at->number < 1024)
				set_node(in, cpu, (int)at->number);
		}
	snprintf(path, sizeof(path), "%s/nodes", in->base);
	f = mz_fopen_regular(path);
	while (f && fscanf(f, "%d %d", &cpu, &node) == 2)
		set_node(in, cpu, node);
	if (f)
		fclose(f);
}

bool mz_kmem_own_list(const struct mz_reader *r, struct mz_buf *lines)
{
	const struct mz_attr *a = mz_reader_find_attr(r, "kallsyms");

	if (!a || a->type != MZ_ATTR_BYTES)
		return false;
	mz_buf_add(lines, a->data, a->size);
	return true;
}

/* The symbols in the files themselves, each of its own call sites: less to read than all functions
 * of the kernel. all: only if every file has them. */
static bool load_own_symbols(struct mz_kmem_input *in, bool all)
{
	struct mz_buf b = {0};

	for (unsigned i = 0; i < in->n && !b.failed; i++)
		if (!mz_kmem_own_list(in->src[i].r, &b))
			b.failed |= all;
	if (b.len && !b.failed)
		in->syms = in->own_syms = mz_kallsyms_parse(b.data, b.len, in->src[0].path, NULL);
	mz_buf_free(&b);
	return in->syms;
}

/* Converts lines "ADDRESS<tab>MODULE<tab>FUNCTION..." to lines of kallsyms. Names with blanks are
 * left out: they are of programs, whose frames follow those of the kernel. */
static void add_names(struct mz_buf *lines, const char *p, size_t len)
{
	const char *end = p + len;

	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((nl ? nl : end) - p);
		const char *module = memchr(p, '\t', n);
		const char *name =
			module ? memchr(module + 1, '\t', n - (size_t)(module + 1 - p)) : NULL;
		const char *file = name ? memchr(name + 1, '\t', n - (size_t)(name + 1 - p)) : NULL;

		if (file && file > name + 1 && !memchr(name, ' ', (size_t)(file - name)) &&
		    !memchr(name, '\\', (size_t)(file - name)))
			mz_buf_printf(lines, "%.*s T %.*s\n", (int)(module - p), p,
				      (int)(file - name - 1), name + 1);
		p += n + 1;
	}
}

/* Other tools' traces have names for their addresses: in a container from the start, in text by the
 * last event. */
int mz_kmem_name_sites(struct mz_kmem_input *in)
{
	struct mz_reader *r = in->src[0].r;
	const struct mz_attr *a;
	struct mz_buf lines = {0}, text = {0};
	char key[24] = "names.0";

	if (in->n > 1 || in->syms)
		return 0;
	for (size_t at = 0; r->names && at < mz_names_count(r->names) && !text.failed;) {
		text.len = 0;
		at = mz_names_text(r->names, at, &text);
		add_names(&lines, text.data, text.len);
	}
	for (unsigned i = 1; (a = mz_reader_find_attr(r, key)) && a->type == MZ_ATTR_BYTES; i++) {
		add_names(&lines, a->data, a->size);
		snprintf(key, sizeof(key), "names.%u", i);
	}
	lines.failed |= text.failed;
	if (lines.len && !lines.failed)
		in->syms = in->own_syms =
			mz_kallsyms_parse(lines.data, lines.len, in->src[0].path, NULL);
	in->named = in->own_syms;
	if (in->named)
		mz_kallsyms_exact(in->own_syms);
	mz_buf_free(&lines);
	mz_buf_free(&text);
	return lines.failed ? -ENOMEM : 0;
}

/* What the recorder counted as lost; it may have happened after the last event. */
static void load_overruns(struct mz_kmem_input *in)
{
	char path[4200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/total_overruns", in->base);
	f = mz_fopen_regular(path);
	if (f && fscanf(f, "%" SCNu64, &in->overruns) != 1)
		in->overruns = 0;
	if (f)
		fclose(f);
}

static void load_clock(struct mz_kmem_input *in, struct mz_reader *r)
{
	const struct mz_attr *clock = mz_reader_find_attr(r, "clock");

	if (mz_reader_format(r) == MZ_FORMAT_KMEMTRACE_C && !mz_kmemtrace_timed(r))
		in->by_sequence = true;
	if (clock && clock->type == MZ_ATTR_TEXT && !strcmp(clock->data, "sequence"))
		in->by_sequence = true;
	/* the original gave no number to what it lost: there a gap means nothing */
	if (!r->ordered || !mz_kmemtrace_timed(r))
		in->whole = false;
}

/* The kernel's System.map, perhaps with source files (scripts/kernel-files). */
static int load_files(struct mz_kmem_input *in, struct mz_error *err)
{
	char list[4200], map[4200];
	struct mz_symbols_kernel from = {.map = map};

	snprintf(list, sizeof(list), "%s/kallsyms", in->base);
	snprintf(map, sizeof(map), "%s/System.map", in->base);
	if (access(map, F_OK))
		return 0;
	if (!access(list, F_OK)) /* the kernel may have been moved */
		from.kallsyms = list;
	in->files = mz_symbols_open_kernel(&from, err);
	return in->files ? 0 : -EINVAL;
}

void mz_kmem_input_use(struct mz_kmem_input *in, struct mz_symbols *named)
{
	mz_symbols_close(in->files);
	in->files = named;
	if (!mz_symbols_list(named))
		return;
	mz_kallsyms_free(in->own_syms);
	in->own_syms = NULL;
	in->syms = mz_symbols_list(named);
}

static int load_beside(struct mz_kmem_input *in, struct mz_error *err)
{
	char path[4200];
	struct stat st;
	const char *slash = strrchr(in->src[0].path, '/');

	in->base =
		slash ? strndup(in->src[0].path, (size_t)(slash - in->src[0].path)) : strdup(".");
	if (!in->base)
		return mz_fail_memory(err);
	snprintf(path, sizeof(path), "%s/kallsyms", in->base);
	if (!load_own_symbols(in, true) && !stat(path, &st)) {
		in->syms = in->own_syms = mz_kallsyms_load(path, err);
		if (!in->syms)
			return -EINVAL;
	} else if (!in->syms) {
		load_own_symbols(in, false);
	}
	if (mz_kmem_name_sites(in) < 0)
		return mz_fail_memory(err);
	if (load_files(in, err) < 0)
		return -EINVAL;
	load_nodes(in);
	for (unsigned i = 0; i < in->n; i++)
		load_clock(in, in->src[i].r);
	if (in->whole)
		load_overruns(in);
	return 0;
}

/* ---- opening and closing -------------------------------------------------- */

static struct mz_kmem_input *new_input(struct mz_error *err)
{
	struct mz_kmem_input *in = mz_zalloc(sizeof(*in), err);

	if (!in)
		return NULL;
	in->names = mz_tables_new();
	if (in->names)
		return in;
	mz_fail_memory(err);
	mz_kmem_input_close(in);
	return NULL;
}

/* ret: of adding the files. */
static struct mz_kmem_input *opened(struct mz_kmem_input *in, int ret, struct mz_error *err)
{
	if (!ret)
		ret = load_beside(in, err);
	if (!ret)
		return in;
	mz_kmem_input_close(in);
	return NULL;
}

static int add_paths(struct mz_kmem_input *in, char **paths, int n, struct mz_error *err)
{
	int ret = 0;

	for (int i = 0; i < n && !ret; i++) {
		struct stat st;

		ret = !stat(paths[i], &st) && S_ISDIR(st.st_mode)
			      ? add_dir(in, paths[i], err)
			      : add_file(in, paths[i], false, err);
	}
	return ret;
}

struct mz_kmem_input *mz_kmem_input_open(char **paths, int n, unsigned flags, struct mz_error *err)
{
	struct mz_kmem_input *in = new_input(err);

	if (!in)
		return NULL;
	in->flags = flags;
	return opened(in, add_paths(in, paths, n, err), err);
}

struct mz_kmem_input *mz_kmem_input_of(struct mz_reader *r, char **paths, int n, unsigned flags,
				       struct mz_error *err)
{
	struct mz_kmem_input *in = new_input(err);
	int ret;

	if (!in) {
		mz_reader_close(r);
		return NULL;
	}
	in->flags = flags;
	ret = add_reader(in, r, paths[0], err);
	return opened(in, ret < 0 ? ret : add_paths(in, paths + 1, n - 1, err), err);
}

/* A thread that was not copied by a fork() may have left its reader half changed. */
static void close_reader(struct kmem_source *s)
{
	if (s->ahead && mz_kmem_readahead_forked(s->ahead))
		return;
	mz_kmem_readahead_free(s->ahead);
	mz_reader_close(s->r);
}

void mz_kmem_input_close(struct mz_kmem_input *in)
{
	if (!in)
		return;
	for (unsigned i = 0; i < in->n; i++) {
		close_reader(&in->src[i]);
		free(in->src[i].path);
		free(in->src[i].sites);
		free(in->src[i].caches);
		free(in->src[i].stacks);
		free(in->src[i].stack_of);
	}
	free(in->src);
	mz_pair_index_deinit(&in->sites);
	mz_merge_deinit(&in->merge);
	mz_tables_free(in->names);
	mz_tables_free(in->stacks);
	mz_kallsyms_free(in->own_syms);
	mz_symbols_close(in->files);
	free(in->nodes);
	free(in->base);
	free(in);
}
