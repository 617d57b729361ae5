// SPDX-License-Identifier: BSD-2-Clause
/* Convert events back to records of a KMAP. An object's line is complete only when its free is
 * known, so its accesses are queued until then. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pair_index.h"
#include "formats/kmap_events.h"
#include "trace/reader.h"
#include "trace/wire.h"

struct mz_kmap_unpacker {
	struct mz_reader *r;
	struct mz_event ev[MZ_BATCH];
	long n, at;
	struct mz_kmap_record *queue; /* an object and its accesses, or one other record */
	size_t cap, queued, taken;
	bool open;  /* the queue begins with an object that may still get accesses */
	bool ended; /* there are no more events */
	struct mz_kmap_object form; /* shape and texts, as the last mark says */
	bool formed;		    /* there was one: other traces have none */
	struct mz_kmap_text line;   /* of the next record, if its line has an unusual form */
	uint64_t last_time;
};

struct mz_kmap_unpacker *mz_kmap_unpacker_new(struct mz_reader *r)
{
	struct mz_kmap_unpacker *u = calloc(1, sizeof(*u));

	if (u)
		u->r = r;
	return u;
}

void mz_kmap_unpacker_free(struct mz_kmap_unpacker *u)
{
	if (!u)
		return;
	free(u->queue);
	free(u);
}

/* A line in an unusual form was kept as a text in front of its event; it belongs to the next
 * record. */
static struct mz_kmap_record *new_record(struct mz_kmap_unpacker *u, enum mz_kmap_kind kind)
{
	struct mz_kmap_record *rec;

	if (!mz_array_room((void **)&u->queue, &u->cap, u->queued, sizeof(*u->queue)))
		return NULL;
	rec = &u->queue[u->queued++];
	*rec = (struct mz_kmap_record){.kind = kind, .line = u->line};
	u->line = (struct mz_kmap_text){0};
	return rec;
}

static uint64_t site_of(const struct mz_kmap_unpacker *u, const struct mz_event *ev, size_t i)
{
	size_t depth = 0;
	const uint64_t *ips = ev->has & MZ_HAS_SITE ? mz_tables_get_stack(mz_reader_tables(u->r),
									  ev->site, &depth)
						    : NULL;

	return ips && i < depth ? ips[i] : 0;
}

static struct mz_kmap_text text_of(const struct mz_kmap_unpacker *u, uint32_t id)
{
	struct mz_kmap_text t = {0};

	t.p = mz_tables_get_string(mz_reader_tables(u->r), id, &t.len);
	return t;
}

static bool starts(struct mz_kmap_text *t, const char *prefix)
{
	size_t n = strlen(prefix);

	if (!t->p || t->len < n || memcmp(t->p, prefix, n))
		return false;
	t->p += n;
	t->len -= n;
	return true;
}

static uint32_t owner_of(const struct mz_event *ev)
{
	return ev->has & MZ_HAS_TID && ev->has & MZ_HAS_PID ? ev->tid : 0;
}

/* ---- marks ------------------------------------------------------------------------------ */

/* From the end: comm may contain commas, the types do not. */
static bool cut_back(struct mz_kmap_text *t, struct mz_kmap_text *last)
{
	const char *comma = memrchr(t->p, ',', t->len);

	if (!comma)
		return false;
	*last = (struct mz_kmap_text){comma + 1, (size_t)(t->p + t->len - comma - 1)};
	t->len = (size_t)(comma - t->p);
	return true;
}

/* shape, form of null, "," comm "," type "," new_type */
static bool take_form(struct mz_kmap_unpacker *u, struct mz_kmap_text t)
{
	struct mz_kmap_object o = {0};

	if (t.len < 3 || t.p[0] < '0' || t.p[0] >= '0' + MZ_KMAP_SHAPES || t.p[1] < '0' ||
	    t.p[1] >= '0' + MZ_KMAP_POINTERS || t.p[2] != ',')
		return false;
	o.shape = (uint8_t)(t.p[0] - '0');
	o.pointers = (uint8_t)(t.p[1] - '0');
	t.p += 3;
	t.len -= 3;
	if (!cut_back(&t, &o.new_type) || !cut_back(&t, &o.type))
		return false;
	o.comm = t;
	u->form = o;
	u->formed = true;
	return true;
}

/* Marks restore what events have no field for. Unknown ones are left for newer versions. */
static int take_mark(struct mz_kmap_unpacker *u, const struct mz_event *ev)
{
	struct mz_kmap_text t = text_of(u, (uint32_t)ev->arg);
	struct mz_kmap_record *rec;

	/* a copy of a damaged file has marks without a text */
	if (!t.p) {
		/* perhaps the names of the objects that follow: those before it are not theirs */
		u->form.comm = u->form.type = u->form.new_type = (struct mz_kmap_text){0};
		return 0;
	}
	if (starts(&t, "kmap.form:")) {
		u->line = t;
		return 0;
	}
	if (starts(&t, "kmap.object:"))
		return take_form(u, t) ? 0 : -EINVAL;
	if (starts(&t, "kmap.line:")) {
		u->line = t;
		rec = new_record(u, MZ_KMAP_OTHER);
		return rec ? 1 : -ENOMEM;
	}
	if (!starts(&t, "kmap.call"))
		return 0; /* not one of ours */
	rec = new_record(u, MZ_KMAP_CALL);
	if (rec)
		rec->call = (struct mz_kmap_call){
			.from = site_of(u, ev, 1),
			.to = site_of(u, ev, 0),
			.count = ev->given,
			.pid = ev->has & MZ_HAS_PID ? (int32_t)ev->pid : -1,
			.owner = owner_of(ev),
			.by_process = ev->has & MZ_HAS_PID,
		};
	return rec ? 1 : -ENOMEM;
}

/* ---- objects ------------------------------------------------------------------------------ */

/* Times are differences from those of the preceding object, which are small numbers in a map that
 * is sorted. */
static int take_alloc(struct mz_kmap_unpacker *u, const struct mz_event *ev)
{
	struct mz_kmap_record *rec = u->formed ? new_record(u, MZ_KMAP_OBJECT) : NULL;
	struct mz_kmap_object *o;

	if (!rec)
		return u->formed ? -ENOMEM : -EINVAL;
	o = &rec->object;
	*o = u->form;
	o->alloc_ip = site_of(u, ev, 0);
	o->pid = (int32_t)ev->pid;
	o->owner = owner_of(ev);
	o->va = ev->addr;
	o->size = ev->size;
	o->given = ev->given;
	o->alloc_time = u->last_time + mz_unzigzag(ev->arg);
	if (ev->has & MZ_HAS_CACHE)
		o->cache = text_of(u, ev->cache);
	u->last_time = o->alloc_time;
	u->open = true;
	return 0;
}

/* An access of the form from:ip is always stored as text, too; no other one begins like that. */
static bool starts_from(struct mz_kmap_text line)
{
	while (line.len && *line.p == ' ') {
		line.p++;
		line.len--;
	}
	return starts(&line, "from:");
}

static int take_access(struct mz_kmap_unpacker *u, const struct mz_event *ev)
{
	struct mz_kmap_record *rec = new_record(u, MZ_KMAP_ACCESS);

	if (!rec)
		return -ENOMEM;
	rec->access = (struct mz_kmap_access){.ip = site_of(u, ev, 0),
					      .writes = ev->arg,
					      .reads = ev->size,
					      .caller = site_of(u, ev, 1),
					      .from = starts_from(rec->line),
					      .pid = ev->has & MZ_HAS_PID ? (int32_t)ev->pid : -1,
					      .fields = ev->has & MZ_HAS_PID ? 4 : 3};
	if (u->form.shape == MZ_KMAP_UNION) {
		rec->access.frees = ev->given;
		return u->open ? 0 : 1;
	}
	rec->access.owner = rec->access.from ? 0 : owner_of(ev);
	if (ev->has & MZ_HAS_GIVEN) {
		rec->access.first = (uint32_t)(ev->given >> 16 & MZ_KMAP_FAR);
		rec->access.last = (uint32_t)(ev->given & MZ_KMAP_FAR);
		rec->access.fields = 6;
		if (rec->access.first > rec->access.last)
			return -EINVAL;
	}
	return u->open ? 0 : 1;
}

/* An object ends at most once, and only while it is open: anything else was not written by us. */
static int take_free(struct mz_kmap_unpacker *u, const struct mz_event *ev)
{
	struct mz_kmap_object *o;

	if (!u->open)
		return -EINVAL;
	o = &u->queue[0].object;
	o->free_ip = site_of(u, ev, 0);
	o->free_time = o->alloc_time + mz_unzigzag(ev->arg);
	u->open = false;
	return 1;
}

/* Does this event end the open object? */
static bool ends_object(const struct mz_kmap_unpacker *u, const struct mz_event *ev)
{
	struct mz_kmap_text t;

	if (!u->open || ev->kind == MZ_ACCESS || ev->kind == MZ_FREE)
		return false;
	if (ev->kind != MZ_MARK)
		return true;
	/* the line stored here may be that of an access: the next event decides */
	t = text_of(u, (uint32_t)ev->arg);
	return !starts(&t, "kmap.form:");
}

static int bad(const struct mz_kmap_unpacker *u, int ret, struct mz_error *err)
{
	if (ret == -ENOMEM)
		return mz_fail_memory(err);
	return mz_fail(err, EINVAL,
		       "%s: its events are not those of a KMAP; it is damaged or was modified",
		       u->r->in.name);
}

static int take_any(struct mz_kmap_unpacker *u, const struct mz_event *ev)
{
	switch (ev->kind) {
	case MZ_MARK: return take_mark(u, ev);
	case MZ_ALLOC: return take_alloc(u, ev);
	case MZ_ACCESS: return take_access(u, ev);
	case MZ_FREE: return take_free(u, ev);
	default: return -EINVAL;
	}
}

/* One event into the queue: 1 = the queue is ready, 0 = go on, -errno. */
static int take(struct mz_kmap_unpacker *u, const struct mz_event *ev, struct mz_error *err)
{
	int ret;

	if (ev->kind == MZ_LOST)
		return mz_fail(err, EIO,
			       "%s: %llu events are lost to damage; 'memorizer verify' shows where",
			       u->r->in.name, (unsigned long long)ev->size);
	ret = take_any(u, ev);
	return ret < 0 ? bad(u, ret, err) : ret;
}

/* Read until a record is complete: an object with all its accesses, or another record. */
static int fill(struct mz_kmap_unpacker *u, struct mz_error *err)
{
	int ret = 0;

	while (!ret) {
		if (u->at == u->n && !u->ended) {
			u->n = mz_reader_read_raw(u->r, u->ev, MZ_BATCH);
			u->at = 0;
			u->ended = u->n <= 0;
			if (u->n < 0) {
				*err = *mz_reader_error(u->r);
				return (int)u->n;
			}
		}
		if (u->ended) {
			u->open = false;
			return u->queued ? 1 : 0;
		}
		if (ends_object(u, &u->ev[u->at])) {
			u->open = false;
			return 1;
		}
		ret = take(u, &u->ev[u->at++], err);
	}
	return ret;
}

int mz_kmap_unpack(struct mz_kmap_unpacker *u, struct mz_kmap_record *rec, struct mz_error *err)
{
	if (u->taken == u->queued) {
		int ret;

		u->taken = u->queued = 0;
		ret = fill(u, err);
		if (ret <= 0)
			return ret;
	}
	*rec = u->queue[u->taken++];
	return 1;
}
