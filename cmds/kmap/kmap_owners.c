// SPDX-License-Identifier: BSD-2-Clause
/* Select a part of a KMAP by cgroup and pid namespace, or add it up by them. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/kmap_owners.h"
#include "base/error.h"
#include "base/output.h"
#include "cmds/kmap/kmap_opts.h"
#include "cmds/loss_report.h"
#include "cmds/table_print.h"

#define TEXT_ROWS 20

/* What is kept and what is left out. */
struct amount {
	uint64_t objects, accesses, calls;
};

struct select {
	const struct kmap_opts *o;
	struct mz_kmap_owners owners;
	struct mz_output out;
	struct mz_buf object; /* its line, until one of its accesses is kept */
	bool pending;
	uint8_t shape; /* of the object */
	struct amount all, kept, unknown;
	uint64_t touched; /* objects that others allocated, and that are kept for their accesses */
	struct mz_early_end end;
	struct mz_error err;
};

static int bad_owner(struct mz_kmap *k, struct mz_error *err)
{
	return mz_fail(err, EINVAL,
		       "%s:%" PRIu64 ": it begins like an owner, but is not "
		       "'#owner OWNER,PID,TASKS,PIDNS,CGROUP,COMM,PATH' in the order of numbers",
		       mz_kmap_name(k), mz_kmap_lines(k));
}

/* The owners often follow the objects: a map is read twice. */
static int each_record(struct select *s, const char *path,
		       int (*fn)(struct select *s, struct mz_kmap *k,
				 const struct mz_kmap_record *rec))
{
	struct mz_kmap *k = mz_kmap_open(path, options_open_flags(), &s->err);
	struct mz_kmap_record rec;
	int ret = k ? 0 : -EIO;

	if (k) {
		mz_kmap_skip_bad(k, s->o->skip_bad);
		mz_kmap_keep_other(k, true);
	}
	while (ret >= 0 && (ret = mz_kmap_next(k, &rec)) > 0)
		ret = fn(s, k, &rec);
	if (ret < 0 && k && !s->err.code)
		s->err = *mz_kmap_error(k);
	s->end.files = k ? mz_kmap_files_cut(k) : 0;
	mz_kmap_close(k);
	return ret;
}

static int take_owner(struct select *s, struct mz_kmap *k, const struct mz_kmap_record *rec)
{
	int ret = rec->kind == MZ_KMAP_OTHER ? mz_kmap_owners_line(&s->owners, rec->line) : 0;

	if (ret == -ENOMEM)
		return mz_fail_memory(&s->err);
	return ret < 0 ? bad_owner(k, &s->err) : 0;
}

/* Refuses inputs that cannot be read twice, and maps without owners. */
static int read_owners(struct select *s, int argc, char **argv)
{
	struct stat st;

	if (argc != 1 || !strcmp(argv[0], "-"))
		return mz_fail(&s->err, EINVAL,
			       "name one map; it is read twice, so it must be a file");
	if (!stat(argv[0], &st) && !S_ISREG(st.st_mode))
		return mz_fail(&s->err, EINVAL,
			       "%s: a map is read twice here, so it must be a file", argv[0]);
	if (kmap_check(s->o, argv[0], &s->err) < 0)
		return -EINVAL;
	if (!mz_kmap_owners_init(&s->owners))
		return mz_fail_memory(&s->err);
	if (each_record(s, argv[0], take_owner) < 0)
		return -EIO;
	if (s->owners.n == 1)
		return mz_fail(&s->err, ENODATA,
			       "%s: no owners; record it with 'memorizer vm --owners', or with "
			       "log_owners_enabled and the file owners in front of it",
			       argv[0]);
	return 0;
}

/* ---- the cut ---------------------------------------------------------------------------- */

static int put(struct select *s, const char *line, size_t len)
{
	char *p = mz_output_room(&s->out, len + 1, &s->err);

	if (!p)
		return -EIO;
	memcpy(p, line, len);
	p[len] = '\n';
	s->out.len += len + 1;
	return 0;
}

/* A record from a container has no line if it has the kernel's usual form. */
static int text_of(struct mz_buf *b, const struct mz_kmap_record *rec, uint8_t shape)
{
	struct mz_kmap_object of = {.shape = shape};
	size_t room = MZ_KMAP_ROOM + rec->line.len;

	if (rec->kind == MZ_KMAP_OBJECT)
		room += rec->object.comm.len + rec->object.type.len + rec->object.cache.len +
			rec->object.new_type.len;
	b->len = 0;
	if (!mz_buf_room(b, room))
		return -ENOMEM;
	if (rec->line.len)
		mz_buf_add(b, rec->line.p, rec->line.len);
	else
		b->len = mz_kmap_format(b->data, rec, &of);
	return 0;
}

/* Is this owner selected? Counts records that have none. */
static bool wanted(struct select *s, uint32_t owner, uint64_t n, uint64_t *unknown)
{
	uint32_t group = mz_kmap_owners_group(&s->owners, owner);

	if (!group)
		*unknown += n;
	return mz_kmap_group_is(&s->owners, group, s->o->cgroup, s->o->pidns);
}

static int select_object(struct select *s, const struct mz_kmap_record *rec)
{
	bool mine = wanted(s, rec->object.owner, 1, &s->unknown.objects);

	s->all.objects++;
	s->kept.objects += mine;
	if (text_of(&s->object, rec, rec->object.shape) < 0)
		return mz_fail_memory(&s->err);
	s->shape = rec->object.shape;
	s->pending = !mine;
	return mine ? put(s, s->object.data, s->object.len) : 0;
}

static int select_access(struct select *s, const struct mz_kmap_record *rec, struct mz_buf *b)
{
	uint64_t n = rec->access.reads + rec->access.writes;

	s->all.accesses += n;
	if (!wanted(s, rec->access.owner, n, &s->unknown.accesses))
		return 0;
	s->kept.accesses += n;
	if (s->pending) {
		s->pending = false;
		s->touched++;
		if (put(s, s->object.data, s->object.len) < 0)
			return -EIO;
	}
	return text_of(b, rec, s->shape) < 0 ? mz_fail_memory(&s->err) : put(s, b->data, b->len);
}

static int select_call(struct select *s, const struct mz_kmap_record *rec, struct mz_buf *b)
{
	s->all.calls += rec->call.count;
	if (!wanted(s, rec->call.owner, rec->call.count, &s->unknown.calls))
		return 0;
	s->kept.calls += rec->call.count;
	return text_of(b, rec, 0) < 0 ? mz_fail_memory(&s->err) : put(s, b->data, b->len);
}

static int select_record(struct select *s, struct mz_kmap *k, const struct mz_kmap_record *rec)
{
	struct mz_buf b = {0};
	int ret = 0;

	(void)k;
	switch (rec->kind) {
	case MZ_KMAP_OBJECT: ret = select_object(s, rec); break;
	case MZ_KMAP_ACCESS: ret = select_access(s, rec, &b); break;
	case MZ_KMAP_CALL: ret = select_call(s, rec, &b); break;
	case MZ_KMAP_OTHER: ret = put(s, rec->line.p, rec->line.len); break;
	}
	mz_buf_free(&b);
	return ret;
}

static void say_kept(const struct select *s)
{
	char a[32], b[32];

	console_note("%s of %s objects, and %" PRIu64
		     " that others allocated and these processes touched",
		     console_count(a, s->kept.objects), console_count(b, s->all.objects),
		     s->touched);
	console_note("%s of %s accesses", console_count(a, s->kept.accesses),
		     console_count(b, s->all.accesses));
	if (s->all.calls)
		console_note("%s of %s calls", console_count(a, s->kept.calls),
			     console_count(b, s->all.calls));
	if (s->unknown.objects || s->unknown.accesses || s->unknown.calls)
		console_note("left out, because they have no owner (interrupts, the boot, no "
			     "memory): %" PRIu64 " objects, %" PRIu64 " accesses, %" PRIu64
			     " calls",
			     s->unknown.objects, s->unknown.accesses, s->unknown.calls);
}

int kmap_select(const struct kmap_opts *o, int argc, char **argv)
{
	struct select s = {.o = o, .out.file.fd = -1};
	int ret;

	if (!o->cgroup && !o->pidns)
		return console_usage("select takes --cgroup or --pidns, or both");
	ret = read_owners(&s, argc, argv);
	if (ret >= 0)
		ret = mz_output_open(&s.out, o->output, o->force, &s.err);
	if (ret >= 0)
		ret = each_record(&s, argv[0], select_record);
	ret = mz_output_end(&s.out, ret, &s.err);
	if (ret >= 0) {
		say_kept(&s);
		early_end_note(argv[0], &s.end);
	}
	mz_buf_free(&s.object);
	mz_kmap_owners_deinit(&s.owners);
	return ret < 0 ? console_error(&s.err) : MZ_EXIT_OK;
}

/* ---- the sums --------------------------------------------------------------------------- */

static int count_record(struct select *s, struct mz_kmap *k, const struct mz_kmap_record *rec)
{
	(void)k;
	mz_kmap_owners_count(&s->owners, rec);
	return 0;
}

static int show(const struct kmap_opts *o, const struct mz_result_table *a)
{
	size_t rows = options_limit(&o->limit, o->json || o->csv ? 0 : TEXT_ROWS);
	struct mz_buf b = {0};
	struct mz_json j = {.out = &b};

	if (o->csv)
		answer_csv(a, rows, NULL, true);
	else if (!o->json)
		answer_text(a, rows);
	if (!o->json)
		return MZ_EXIT_OK;
	mz_json_object(&j, NULL);
	answer_json(&j, a, rows);
	mz_json_end_object(&j);
	return console_put(&b, stdout) < 0 ? console_fail("out of memory") : MZ_EXIT_OK;
}

int kmap_owners(const struct kmap_opts *o, int argc, char **argv)
{
	struct select s = {.o = o, .out.file.fd = -1};
	struct mz_result_table a;
	int ret = read_owners(&s, argc, argv);

	if (ret >= 0)
		ret = each_record(&s, argv[0], count_record);
	if (ret >= 0) {
		mz_kmap_owners_table(&s.owners, &a);
		ret = a.failed ? console_fail("out of memory") : show(o, &a);
		early_end_note(argv[0], &s.end);
		mz_result_deinit(&a);
	} else {
		ret = console_error(&s.err);
	}
	mz_kmap_owners_deinit(&s.owners);
	return ret;
}
