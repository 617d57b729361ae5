// SPDX-License-Identifier: BSD-2-Clause
/* Write the part of a KMAP that belongs to some cgroups and pid namespaces. */
#include <errno.h>

#include "base/error.h"
#include "base/output.h"
#include "export/kmap.h"

struct part_writer {
	const struct mz_kmap_part_options *o;
	const struct mz_kmap_owners *owners;
	struct mz_kmap_part *part;
	struct mz_output out;
	struct mz_buf object; /* its line, until one of its accesses is kept */
	bool pending;
	uint8_t shape; /* of the object */
	struct mz_error *err;
};

static int put(struct part_writer *w, const char *line, size_t len)
{
	int ret = mz_output_add(&w->out, line, len, w->err);

	return ret ? ret : mz_output_add(&w->out, "\n", 1, w->err);
}

/* A record from a container has no line if it has the kernel's usual form. */
static int text_of(struct mz_buf *b, const struct mz_kmap_record *rec, uint8_t shape)
{
	struct mz_kmap_object of = {.shape = shape};

	return mz_kmap_line(b, rec, &of);
}

/* Is this owner selected? Counts records that have none. */
static bool wanted(struct part_writer *w, uint32_t owner, uint64_t n, uint64_t *unknown)
{
	uint32_t group = mz_kmap_owners_group(w->owners, owner);

	if (!group)
		*unknown += n;
	return mz_kmap_group_is(w->owners, group, w->o->cgroup, w->o->pidns);
}

/* An object of another owner is written only if one of its accesses is kept. */
static int select_object(struct part_writer *w, const struct mz_kmap_record *rec)
{
	bool mine = wanted(w, rec->object.owner, 1, &w->part->unknown.objects);

	w->part->all.objects++;
	w->part->kept.objects += mine;
	if (text_of(&w->object, rec, rec->object.shape) < 0)
		return mz_fail_memory(w->err);
	w->shape = rec->object.shape;
	w->pending = !mine;
	return mine ? put(w, w->object.data, w->object.len) : 0;
}

static int select_access(struct part_writer *w, const struct mz_kmap_record *rec, struct mz_buf *b)
{
	uint64_t n = rec->access.reads + rec->access.writes;

	w->part->all.accesses += n;
	if (!wanted(w, rec->access.owner, n, &w->part->unknown.accesses))
		return 0;
	w->part->kept.accesses += n;
	if (w->pending) {
		w->pending = false;
		w->part->touched++;
		if (put(w, w->object.data, w->object.len) < 0)
			return mz_error_code(w->err);
	}
	return text_of(b, rec, w->shape) < 0 ? mz_fail_memory(w->err) : put(w, b->data, b->len);
}

/* Calls belong to no object. */
static int select_call(struct part_writer *w, const struct mz_kmap_record *rec, struct mz_buf *b)
{
	w->part->all.calls += rec->call.count;
	if (!wanted(w, rec->call.owner, rec->call.count, &w->part->unknown.calls))
		return 0;
	w->part->kept.calls += rec->call.count;
	return text_of(b, rec, 0) < 0 ? mz_fail_memory(w->err) : put(w, b->data, b->len);
}

static int select_record(void *arg, const struct mz_kmap *k, const struct mz_kmap_record *rec,
			 struct mz_error *err)
{
	struct part_writer *w = arg;
	struct mz_buf b = {0};
	int ret = 0;

	(void)k;
	(void)err; /* it is the writer's */
	switch (rec->kind) {
	case MZ_KMAP_OBJECT: ret = select_object(w, rec); break;
	case MZ_KMAP_ACCESS: ret = select_access(w, rec, &b); break;
	case MZ_KMAP_CALL: ret = select_call(w, rec, &b); break;
	case MZ_KMAP_OTHER: ret = put(w, rec->line.p, rec->line.len); break;
	}
	mz_buf_free(&b);
	return ret;
}

int mz_kmap_write_part(struct mz_kmap_owned *m, const struct mz_kmap_part_options *o,
		       struct mz_kmap_part *part, struct mz_error *err)
{
	struct part_writer w = {
		.o = o, .owners = &m->owners, .part = part, .out.file.fd = -1, .err = err};
	int ret = mz_output_open(&w.out, o->output, o->overwrite, err);

	*part = (struct mz_kmap_part){0};
	if (ret >= 0)
		ret = mz_kmap_owned_each(m, select_record, &w, err);
	ret = mz_output_end(&w.out, ret, err);
	mz_buf_free(&w.object);
	return ret;
}
