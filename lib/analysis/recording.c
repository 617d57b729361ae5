// SPDX-License-Identifier: BSD-2-Clause
/* Open a recording of any kind, and provide what its kind contains. */
#include "analysis/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/kmap_types.h"
#include "analysis/kmem.h"
#include "analysis/profile_files.h"
#include "base/error.h"
#include "formats/kmap.h"
#include "formats/kmap_companions.h"
#include "formats/open.h"
#include "symbols/files.h"
#include "trace/reader.h"

const char *mz_recording_kind_name(enum mz_recording_kind kind)
{
	static const char *const names[MZ_RECORDING_KINDS] = {"any", "user", "kernel", "kmap",
							      "sums"};

	return (unsigned)kind < MZ_RECORDING_KINDS ? names[kind] : NULL;
}

/* The input is consumed: what a second attempt found would pass for all of it. */
static int fail_again(const struct mz_recording *r, struct mz_error *err)
{
	if (err)
		*err = r->why;
	return -r->why.code;
}

/* A kernel trace has them even if it was opened as a folder, for which there is no reader yet. */
bool mz_recording_has_events(const struct mz_recording *r)
{
	return r->kind == MZ_RECORDING_USER || r->kind == MZ_RECORDING_KERNEL;
}

int mz_recording_refuse(const struct mz_recording *r, struct mz_error *err)
{
	return mz_kind_refuse(r->name, r->kind, err);
}

/* ---- what it is --------------------------------------------------------- */

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* A container may have been made from a KMAP, which is then read as one. */
static int open_trace(struct mz_recording *r, struct mz_input *in, const struct mz_reader_ops *ops,
		      struct mz_error *err)
{
	int ret;

	r->reader = mz_reader_open_known(in, ops, err);
	if (!r->reader)
		return mz_error_code(err);
	r->format = mz_reader_format(r->reader);
	ret = mz_reader_kind(r->reader, &r->kind, err);
	if (ret < 0)
		return ret;
	if (r->kind == MZ_RECORDING_USER)
		/* the files of a program are looked for below this folder; for kernels the option
		 * names the files themselves */
		r->reader->root = r->o.symbols;
	if (r->kind != MZ_RECORDING_KMAP)
		return 0;
	r->kmap = mz_kmap_of(r->reader, err);
	r->reader = NULL;
	return r->kmap ? 0 : mz_error_code(err);
}

/* The reader of lines reports what is wrong with a line by its number, so a caller that wants a
 * KMAP gets it for any content. */
static int open_lines(struct mz_recording *r, struct mz_input *in, struct mz_error *err)
{
	r->kind = MZ_RECORDING_KMAP;
	r->kmap = mz_kmap_open_input(in, err);
	return r->kmap ? 0 : mz_error_code(err);
}

/* A KMAP is wanted: its own reader says where it is wrong, unless this is something else. Text is
 * if its first line is an event. */
static bool is_other_trace(const struct mz_input *in, const struct mz_reader_ops *ops,
			   enum mz_recording_kind *kind)
{
	struct mz_reader *peek;
	struct mz_event ev;
	bool other;

	if (!ops || ops->format == MZ_FORMAT_CONTAINER)
		return false;
	peek = mz_reader_peek(in, ops, NULL);
	other = peek && !mz_reader_kind(peek, kind, NULL) &&
		(ops->format != MZ_FORMAT_TEXT || mz_reader_read_raw(peek, &ev, 1) > 0);
	mz_reader_close(peek);
	return other;
}

/* Takes over in. */
static int open_wanted_kmap(struct mz_recording *r, struct mz_input *in, struct mz_error *err)
{
	enum mz_recording_kind kind = MZ_RECORDING_SUMS;
	const struct mz_reader_ops *ops;
	enum mz_content content = mz_content_of(in->pos, mz_input_left(in), &ops);

	if (content != MZ_CONTENT_DHAT && content != MZ_CONTENT_ALLOCINFO &&
	    !is_other_trace(in, ops, &kind))
		return open_lines(r, in, err);
	mz_input_close(in);
	return mz_kind_refuse(r->name, kind, err);
}

/* Takes over in. */
static int open_input(struct mz_recording *r, struct mz_input *in, struct mz_error *err)
{
	const struct mz_reader_ops *ops;
	enum mz_content content;
	int ret;

	ret = mz_input_unpack(in, err);
	if (!ret)
		ret = mz_input_fill(in, MZ_CONTENT_PROBE, err);
	if (ret < 0) {
		mz_input_close(in);
		return ret;
	}
	if (r->o.want == MZ_RECORDING_KMAP)
		return open_wanted_kmap(r, in, err);
	content = mz_content_of(in->pos, mz_input_left(in), &ops);
	if (content == MZ_CONTENT_KMAP)
		return open_lines(r, in, err);
	if (content != MZ_CONTENT_DHAT && content != MZ_CONTENT_ALLOCINFO)
		return open_trace(r, in, ops, err);
	/* the sums are read when they are first requested, since their reader needs the whole
	 * input */
	r->kind = MZ_RECORDING_SUMS;
	r->read_sums = content == MZ_CONTENT_DHAT ? mz_dhat_read : mz_allocinfo_read;
	r->in = *in;
	return 0;
}

/* A folder, and the files that come with it: a kernel trace. */
static int open_kernel(struct mz_recording *r, char **paths, int n, struct mz_error *err)
{
	r->kind = MZ_RECORDING_KERNEL;
	r->kmem = mz_kmem_input_open(paths, n, r->o.flags, err);
	return r->kmem ? 0 : mz_error_code(err);
}

static int open_file(struct mz_recording *r, char *path, struct mz_error *err)
{
	struct mz_input in;
	int ret = mz_input_open(&in, path, err);

	if (ret < 0)
		return ret;
	in.budget.large = r->o.flags & MZ_OPEN_LARGE;
	return open_input(r, &in, err);
}

/* Only a kernel is recorded into several files, and the first of them is open already: it may be a
 * pipe. */
static int open_rest(struct mz_recording *r, char **paths, int n, struct mz_error *err)
{
	struct mz_reader *first = r->reader;

	if (r->kind == MZ_RECORDING_USER && r->o.programs)
		return 0;
	if (r->kind == MZ_RECORDING_USER)
		return mz_fail(err, EINVAL,
			       "%s: a recording of a program, which is read alone; 'memorizer "
			       "report' and 'merge' add up several",
			       paths[0]);
	if (r->kind != MZ_RECORDING_KERNEL)
		return mz_fail(err, EINVAL, "%s: %s", paths[0],
			       r->kind == MZ_RECORDING_KMAP
				       ? "a KMAP, which is read alone; 'memorizer kmap merge' "
					 "adds up several"
				       : "sums by call site, which are read alone; 'memorizer "
					 "merge' adds up several");
	r->reader = NULL;
	r->folder = true;
	r->kmem = mz_kmem_input_of(first, paths, n, r->o.flags, err);
	return r->kmem ? 0 : mz_error_code(err);
}

int mz_recording_open(struct mz_recording *r, char **paths, int n,
		      const struct mz_recording_options *o, struct mz_error *err)
{
	int ret;

	*r = (struct mz_recording){.name = paths[0], .in.fd = -1};
	if (o)
		r->o = *o;
	if (mz_profile_init(&r->profile) < 0)
		return mz_fail_memory(err);
	if ((unsigned)r->o.want >= MZ_RECORDING_KINDS)
		return mz_fail(err, EINVAL, "%s: there is no recording kind %u", paths[0],
			       (unsigned)r->o.want);
	r->folder = is_folder(paths[0]);
	ret = r->folder ? open_kernel(r, paths, n, err) : open_file(r, paths[0], err);
	if (!ret && r->o.want && r->kind != r->o.want)
		return mz_kind_refuse(paths[0], r->kind, err);
	return !ret && n > 1 && !r->folder ? open_rest(r, paths, n, err) : ret;
}

/* A handle that was passed on is NULL here: what took it over closes it. */
void mz_recording_close(struct mz_recording *r)
{
	mz_events_close(r->events);
	mz_kmem_input_close(r->kmem);
	mz_kmap_close(r->kmap);
	mz_reader_close(r->reader);
	mz_input_close(&r->in);
	mz_profile_deinit(&r->profile);
	*r = (struct mz_recording){.in.fd = -1};
}

/* ---- as what it is read ------------------------------------------------- */

struct mz_reader *mz_recording_reader(struct mz_recording *r, struct mz_error *err)
{
	if (!mz_recording_has_events(r))
		mz_recording_refuse(r, err);
	else if (!r->reader && is_folder(r->name))
		mz_fail(err, EISDIR,
			"%s: a kernel recording in a folder; 'memorizer convert %s -o x.cmt' joins "
			"it",
			r->name, r->name);
	else if (!r->reader)
		mz_fail(err, EISDIR, "%s: several files; 'memorizer convert' joins them into one",
			r->name);
	return r->reader;
}

/* A single file of a kernel trace is a recording of one CPU, or a joined one. */
struct mz_kmem_input *mz_recording_kmem(struct mz_recording *r, struct mz_error *err)
{
	if (r->kmem)
		return r->kmem;
	if (r->kind != MZ_RECORDING_KERNEL) {
		mz_recording_refuse(r, err);
		return NULL;
	}
	r->kmem = mz_kmem_input_of(r->reader, (char *[]){(char *)r->name}, 1, r->o.flags, err);
	r->reader = NULL;
	return r->kmem;
}

struct mz_kmap *mz_recording_kmap(struct mz_recording *r, struct mz_error *err)
{
	if (!r->kmap)
		mz_fail(err, EINVAL, "%s: not a KMAP", r->name);
	return r->kmap;
}

static void show_events(void *arg, uint64_t events)
{
	const struct mz_recording *r = arg;

	r->o.progress(r->o.arg, -1, events, "events");
}

/* No names are no error here: addresses stand for them. */
static struct mz_symbols *look_for_symbols(void *arg)
{
	struct mz_symbols *found = NULL;

	return mz_recording_symbols(arg, &found, NULL) < 0 ? NULL : found;
}

struct mz_events *mz_recording_events(struct mz_recording *r, struct mz_error *err)
{
	struct mz_symbols *named = NULL;

	if (r->events)
		return r->events;
	if (!mz_recording_has_events(r)) {
		mz_recording_refuse(r, err);
		return NULL;
	}
	/* those beside it, or in it, are looked for when a name is needed */
	if (r->o.symbols && mz_recording_symbols(r, &named, err) < 0)
		return NULL;
	r->events = r->reader ? mz_events_of(r->reader, err) : mz_events_of_kmem(r->kmem, err);
	/* the events own them now, also if they could not be made */
	r->reader = NULL;
	r->kmem = NULL;
	if (!r->events) {
		mz_symbols_close(named);
		return NULL;
	}
	if (named)
		mz_events_use(r->events, named);
	mz_events_look_with(r->events, look_for_symbols, r);
	if (r->o.progress)
		mz_events_progress(r->events, show_events, r);
	return r->events;
}

/* ---- symbols of a kernel, the model of a KMAP ---------------------------- */

static const struct mz_reader *file_of(const struct mz_recording *r, unsigned i)
{
	if (r->events)
		return mz_events_file(r->events, i);
	if (r->kmem)
		return mz_kmem_input_reader(r->kmem, i);
	return i ? NULL : r->reader;
}

/* The lines of kallsyms in the files themselves. What lies beside a joined file may be of another
 * kernel, so they take precedence there; a vmlinux or System.map beside it needs the whole list,
 * to find how far the kernel was moved. */
static void find_own(const struct mz_recording *r, struct mz_symbols_files *f, struct mz_buf *own)
{
	const struct mz_reader *file;
	bool linked = f->kernel.vmlinux || f->kernel.map;

	if (f->kernel.kallsyms && (r->folder || linked))
		return;
	for (unsigned i = 0; (file = file_of(r, i)); i++)
		mz_kmem_own_list(file, own);
	if (own->failed || !own->len)
		return;
	f->kernel.kallsyms = NULL;
	f->kernel.list = own->data;
	f->kernel.list_size = own->len;
	f->some = true;
}

/* A kernel trace has its list of functions beside it or in it, to which a vmlinux is added; files
 * named for a KMAP stand for themselves. */
static int find_files(const struct mz_recording *r, struct mz_symbols_files *f, struct mz_buf *own,
		      struct mz_error *err)
{
	bool beside = strcmp(r->name, "-") && (!r->o.symbols || r->kind == MZ_RECORDING_KERNEL);
	int ret = 0;

	if (beside && is_folder(r->name)) {
		char *inside;

		if (asprintf(&inside, "%s/", r->name) < 0)
			return mz_fail_memory(err);
		ret = mz_symbols_files_beside(f, inside, err);
		free(inside);
	} else if (beside) {
		ret = mz_symbols_files_beside(f, r->name, err);
	}
	if (!ret)
		find_own(r, f, own);
	if (!ret && r->o.symbols)
		ret = mz_symbols_files_named(f, r->o.symbols, err);
	return ret;
}

static int open_symbols(const struct mz_recording *r, struct mz_symbols_files *f,
			struct mz_symbols **symbols, struct mz_error *err)
{
	struct mz_buf own = {0};
	int ret = find_files(r, f, &own, err);

	*symbols = NULL;
	if (!ret && f->some) {
		*symbols = mz_symbols_open_kernel(&f->kernel, err);
		ret = *symbols ? 0 : mz_error_code(err);
	}
	f->kernel.list = NULL; /* its text ends here */
	f->kernel.list_size = 0;
	mz_buf_free(&own);
	return ret;
}

int mz_recording_symbols(struct mz_recording *r, struct mz_symbols **symbols, struct mz_error *err)
{
	struct mz_symbols_files f = {0};
	int ret = open_symbols(r, &f, symbols, err);

	mz_symbols_files_deinit(&f);
	return ret;
}

/* A vmlinux without types is no error: there are none then. */
static int find_types(struct mz_kmap_model *m, const struct mz_symbols_files *f,
		      struct mz_symbols *symbols, struct mz_error *err)
{
	/* DWARF first: it has variables, which show the type of an allocation; BTF has none */
	const char *from[] = {f->kernel.vmlinux, f->kernel.btf};
	struct mz_types *types = NULL;

	for (size_t i = 0; i < 2 && !types; i++) {
		struct mz_error e = {0};

		types = from[i] ? mz_types_open(from[i], &e) : NULL;
		if (!types && e.code && e.code != ENODATA) {
			if (err)
				*err = e;
			return -e.code;
		}
	}
	if (types && mz_kmap_find_types(m, types, mz_symbols_shift(symbols)) < 0)
		return mz_fail_memory(err);
	return 0;
}

static bool show_lines(void *arg, const struct mz_kmap *k)
{
	const struct mz_recording *r = arg;

	if (r->o.progress)
		r->o.progress(r->o.arg, mz_kmap_share(k), mz_kmap_lines(k), "lines");
	return true;
}

int mz_recording_model(struct mz_recording *r, const struct mz_recording_model *how,
		       struct mz_kmap_model *m, struct mz_error *err)
{
	struct mz_kmap_model_options mo = {.progress = show_lines,
					   .arg = r,
					   .by = how->by,
					   .space = how->space,
					   .lives = how->lives};
	struct mz_symbols_files f = {0};
	struct mz_kmap *k = mz_recording_kmap(r, err);
	int ret;

	memset(m, 0, sizeof(*m));
	if (!k)
		return -EINVAL;
	if (r->why.code)
		return fail_again(r, err);
	mz_kmap_skip_bad(k, r->o.skip_bad);
	ret = open_symbols(r, &f, &mo.symbols, err);
	/* a map from standard input has no name, and so no files beside it */
	if (!ret && strcmp(r->name, "-"))
		ret = mz_kmap_calls_beside(r->name, &mo.calls, err);
	if (how->or_function && !(mo.symbols && mz_symbols_has_lines(mo.symbols)))
		/* without lines no folder is known, and every row would be "(unknown)" */
		mo.by = MZ_KMAP_BY_FUNCTION;
	if (ret >= 0)
		ret = mz_kmap_model_read(m, k, &mo, err);
	r->why = *mz_kmap_error(k);
	if (ret >= 0 && how->types && mo.symbols)
		ret = find_types(m, &f, mo.symbols, err);
	if (ret >= 0 && how->types && mo.symbols)
		ret = mz_kmap_find_members(m, &f.kernel, mz_symbols_shift(mo.symbols), err);
	mz_kmap_close(mo.calls);
	mz_symbols_close(mo.symbols);
	mz_symbols_files_deinit(&f);
	return ret < 0 ? ret : 0;
}

/* ---- the profile -------------------------------------------------------- */

/* By function: the level at which recordings of two kernels can be compared. */
static int profile_of_model(struct mz_recording *r, struct mz_error *err)
{
	struct mz_recording_model how = {.by = MZ_KMAP_BY_FUNCTION};
	struct mz_kmap_model m;
	int ret = mz_recording_model(r, &how, &m, err);

	if (!ret)
		ret = mz_profile_of_kmap(&r->profile, &m, err);
	mz_kmap_model_deinit(&m);
	return ret;
}

static int profile_of_events(struct mz_recording *r, struct mz_error *err)
{
	struct mz_events *events = mz_recording_events(r, err);

	return events ? mz_profile_read(&r->profile, events, NULL, NULL, err) : mz_error_code(err);
}

const struct mz_profile *mz_recording_profile(struct mz_recording *r, struct mz_error *err)
{
	struct mz_error why = {0};
	int ret;

	if (r->read)
		return &r->profile;
	if (!r->why.code) {
		if (r->kind == MZ_RECORDING_KMAP)
			ret = profile_of_model(r, &why);
		else if (r->kind == MZ_RECORDING_SUMS)
			ret = r->read_sums(&r->profile, &r->in, &why);
		else
			ret = profile_of_events(r, &why);
		r->read = ret >= 0;
		if (r->read)
			return &r->profile;
		r->why = why;
	}
	fail_again(r, err);
	return NULL;
}

/* Of sums that were added up, each part ended at a place of its own. */
static struct mz_early_end end_of_sums(const struct mz_profile *p)
{
	struct mz_early_end e = {.files = p->files_cut, .of = (unsigned)p->merged};

	if (!p->merged && p->clock == MZ_CLOCK_NS)
		e.ns = p->last - p->first;
	return e;
}

/* Only the handle that reads the recording at present knows where it ended. */
struct mz_early_end mz_recording_early_end(struct mz_recording *r)
{
	if (r->kind == MZ_RECORDING_SUMS)
		return end_of_sums(&r->profile);
	if (r->events)
		return mz_events_early_end(r->events);
	if (r->kmem)
		return mz_kmem_input_early_end(r->kmem);
	if (r->reader)
		return mz_reader_early_end(r->reader);
	return (struct mz_early_end){.files = r->kmap ? mz_kmap_files_cut(r->kmap) : 0};
}

static void add_lost(struct mz_lost_tables *sum, const struct mz_tables *t)
{
	sum->names += mz_tables_lost_strings(t);
	sum->frames += mz_tables_lost_frames(t);
}

struct mz_lost_tables mz_recording_lost_tables(const struct mz_recording *r)
{
	struct mz_lost_tables sum = {0};
	const struct mz_reader *file;

	for (unsigned i = 0; (file = file_of(r, i)); i++)
		add_lost(&sum, mz_reader_tables(file));
	if (r->kmap && mz_kmap_tables(r->kmap))
		add_lost(&sum, mz_kmap_tables(r->kmap));
	return sum;
}

uint64_t mz_recording_lost(const struct mz_recording *r)
{
	return r->profile.lost;
}
