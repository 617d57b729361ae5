// SPDX-License-Identifier: BSD-2-Clause
/* Convert the records of a KMAP to events. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kmap_events.h"
#include "trace/wire.h"
#include "trace/writer.h"

void mz_kmap_packer_init(struct mz_kmap_packer *p, struct mz_writer *w)
{
	*p = (struct mz_kmap_packer){.w = w};
}

void mz_kmap_packer_deinit(struct mz_kmap_packer *p)
{
	mz_buf_free(&p->mark);
	mz_buf_free(&p->text);
}

/* The writer is called with batches: one call per event would cost more than the event. */
static int flush(struct mz_kmap_packer *p)
{
	int ret = p->n ? mz_writer_put(p->w, p->ev, p->n) : 0;

	p->events += p->n;
	p->n = 0;
	return ret;
}

static int put(struct mz_kmap_packer *p, struct mz_event ev)
{
	p->ev[p->n++] = ev;
	return p->n == sizeof(p->ev) / sizeof(*p->ev) ? flush(p) : 0;
}

static int put_mark(struct mz_kmap_packer *p, const struct mz_buf *text)
{
	uint32_t id = text->failed ? 0 : mz_writer_string(p->w, text->data, text->len);

	if (!id)
		return -ENOMEM;
	return put(p, (struct mz_event){.kind = MZ_MARK, .call = MZ_CALL_MARK, .arg = id});
}

/* The site of an address, with its caller if that is known. The address 0 has no site. */
static int set_site(struct mz_kmap_packer *p, struct mz_event *ev, uint64_t ip, uint64_t caller)
{
	uint64_t ips[2] = {ip, caller};

	if (!ip)
		return 0;
	ev->site = mz_writer_stack(p->w, ips, caller ? 2 : 1);
	ev->has |= MZ_HAS_SITE;
	return ev->site ? 0 : -ENOMEM;
}

/* The owner of a process is stored in the field that holds the thread in other traces. */
static void set_owner(struct mz_event *ev, uint32_t owner)
{
	ev->tid = owner;
	ev->has |= owner ? MZ_HAS_TID : 0;
}

/* ---- lines in another form ------------------------------------------------------------- */

static int put_line(struct mz_kmap_packer *p, const char *prefix, struct mz_kmap_text line)
{
	p->text.len = 0;
	mz_buf_str(&p->text, prefix);
	mz_buf_add(&p->text, line.p, line.len);
	return put_mark(p, &p->text);
}

/* A line that the events alone could not restore is stored as text as well. */
static int keep_form(struct mz_kmap_packer *p, const struct mz_kmap_record *rec)
{
	size_t len;

	if (!rec->line.len)
		return 0;
	p->text.len = 0;
	if (!mz_buf_room(&p->text, MZ_KMAP_ROOM + rec->line.len))
		return -ENOMEM;
	len = mz_kmap_format(p->text.data, rec, &p->of);
	/* events have no field that distinguishes from:ip from ip */
	if (len == rec->line.len && !memcmp(p->text.data, rec->line.p, len) &&
	    !(rec->kind == MZ_KMAP_ACCESS && rec->access.from))
		return 0;
	return put_line(p, "kmap.form:", rec->line);
}

/* ---- objects ----------------------------------------------------------------------------- */

static const struct {
	const char *type;
	uint8_t call;
} calls[] = {
	{"ALLOC_PAGES", MZ_CALL_PAGE_ALLOC},
	{"ALLOC_PAGES_EXACT", MZ_CALL_PAGE_ALLOC},
	{"ALLOC_PAGES_FOLIO", MZ_CALL_PAGE_ALLOC},
	{"ALLOC_PAGES_GETFREEPAGES", MZ_CALL_PAGE_ALLOC},
	{"KMEM_CACHE", MZ_CALL_KMEM_CACHE_ALLOC},
	{"KMEM_CACHE_BULK", MZ_CALL_KMEM_CACHE_ALLOC},
	{"KMEM_CACHE_ND", MZ_CALL_KMEM_CACHE_ALLOC},
	{"PERCPU", MZ_CALL_PERCPU_ALLOC},
	{"STACK", MZ_CALL_PAGE_ALLOC},
	{"VMALLOC", MZ_CALL_VMALLOC},
};

/* For readers that do not know KMAPs; the type itself is restored from the mark. */
static uint8_t call_of(struct mz_kmap_text type)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (strlen(calls[i].type) == type.len && !memcmp(calls[i].type, type.p, type.len))
			return calls[i].call;
	return MZ_CALL_KMALLOC;
}

/* "kmap.object:" shape, form of null, "," comm "," type "," new_type */
static int put_object_mark(struct mz_kmap_packer *p, const struct mz_kmap_object *o)
{
	struct mz_buf *t = &p->text;

	t->len = 0;
	mz_buf_printf(t, "kmap.object:%u%u,", o->shape, o->pointers);
	mz_buf_add(t, o->comm.p, o->comm.len);
	mz_buf_add(t, ",", 1);
	mz_buf_add(t, o->type.p, o->type.len);
	mz_buf_add(t, ",", 1);
	mz_buf_add(t, o->new_type.p, o->new_type.len);
	if (t->failed)
		return -ENOMEM;
	if (t->len == p->mark.len && !memcmp(t->data, p->mark.data, t->len))
		return 0;
	p->mark.len = 0;
	mz_buf_add(&p->mark, t->data, t->len);
	return put_mark(p, &p->mark);
}

/* Times of a map are not in ns: they are stored in arg, as differences. */
static int end_object(struct mz_kmap_packer *p)
{
	const struct mz_kmap_object *o = &p->of;
	struct mz_event ev = {.kind = MZ_FREE,
			      .call = MZ_CALL_KFREE,
			      .has = MZ_HAS_ADDR,
			      .addr = o->va,
			      .object = o->va ? p->objects : 0};

	if (!p->open)
		return 0;
	p->open = false;
	if (!o->free_ip && !o->free_time)
		return 0;
	ev.arg = mz_zigzag(o->free_time - o->alloc_time);
	return set_site(p, &ev, o->free_ip, 0) < 0 ? -ENOMEM : put(p, ev);
}

static int put_object(struct mz_kmap_packer *p, const struct mz_kmap_record *rec)
{
	const struct mz_kmap_object *o = &rec->object;
	struct mz_event ev = {.kind = MZ_ALLOC,
			      .call = call_of(o->type),
			      .has = MZ_HAS_ADDR | MZ_HAS_PID,
			      .addr = o->va,
			      .size = o->size,
			      .arg = mz_zigzag(o->alloc_time - p->last_time),
			      .pid = (uint32_t)o->pid};

	set_owner(&ev, o->owner);
	if (keep_form(p, rec) < 0 || put_object_mark(p, o) < 0 ||
	    set_site(p, &ev, o->alloc_ip, 0) < 0)
		return -ENOMEM;
	if (o->cache.len) {
		ev.cache = mz_writer_string(p->w, o->cache.p, o->cache.len);
		ev.has |= MZ_HAS_CACHE;
	}
	if (o->shape == MZ_KMAP_CSV) {
		ev.given = o->given;
		ev.has |= MZ_HAS_GIVEN;
	}
	p->last_time = o->alloc_time;
	p->objects += o->va != 0; /* 0 means no address to other readers */
	ev.object = o->va ? p->objects : 0;
	p->of = *o;
	p->open = true;
	return o->cache.len && !ev.cache ? -ENOMEM : put(p, ev);
}

/* Reads and writes fit into the two counters of an access. Which other fields the line has follows
 * from their number. */
static int put_access(struct mz_kmap_packer *p, const struct mz_kmap_record *rec)
{
	const struct mz_kmap_access *a = &rec->access;
	struct mz_event ev = {.kind = MZ_ACCESS,
			      .call = MZ_CALL_ACCESS,
			      .has = MZ_HAS_ADDR,
			      .addr = p->of.va,
			      .object = p->of.va ? p->objects : 0,
			      .size = a->reads,
			      .arg = a->writes};

	if (a->fields >= 4) {
		ev.pid = (uint32_t)a->pid;
		ev.has |= MZ_HAS_PID;
		set_owner(&ev, a->owner);
	}
	if (p->of.shape == MZ_KMAP_UNION) {
		ev.given = a->frees;
		ev.has |= MZ_HAS_GIVEN;
	} else if (a->fields == 6) {
		ev.given = (uint64_t)a->first << 16 | a->last;
		ev.has |= MZ_HAS_GIVEN;
	}
	if (keep_form(p, rec) < 0 || set_site(p, &ev, a->ip, a->caller) < 0)
		return -ENOMEM;
	return put(p, ev);
}

/* A call is a mark with a stack of two frames, so that readers that do not know KMAPs still show
 * caller and callee. */
static int put_call(struct mz_kmap_packer *p, const struct mz_kmap_record *rec)
{
	uint64_t ips[2] = {rec->call.to, rec->call.from};
	struct mz_event ev = {.kind = MZ_MARK,
			      .call = MZ_CALL_MARK,
			      .has = MZ_HAS_SITE | MZ_HAS_GIVEN,
			      .given = rec->call.count};

	if (rec->call.by_process) {
		ev.pid = (uint32_t)rec->call.pid;
		ev.has |= MZ_HAS_PID;
		set_owner(&ev, rec->call.owner);
	}
	if (keep_form(p, rec) < 0)
		return -ENOMEM;
	ev.arg = mz_writer_string(p->w, "kmap.call", 9);
	ev.site = mz_writer_stack(p->w, ips, 2);
	return ev.arg && ev.site ? put(p, ev) : -ENOMEM;
}

/* The end of an object is known only when the next one begins: accesses come in between. */
int mz_kmap_pack(struct mz_kmap_packer *p, const struct mz_kmap_record *rec)
{
	int ret = rec->kind == MZ_KMAP_ACCESS ? 0 : end_object(p);

	if (ret < 0)
		return ret;
	switch (rec->kind) {
	case MZ_KMAP_OBJECT: return put_object(p, rec);
	case MZ_KMAP_ACCESS: return put_access(p, rec);
	case MZ_KMAP_CALL: return put_call(p, rec);
	case MZ_KMAP_OTHER: return put_line(p, "kmap.line:", rec->line);
	}
	return -EINVAL;
}

int mz_kmap_pack_end(struct mz_kmap_packer *p)
{
	return end_object(p) < 0 ? -ENOMEM : flush(p);
}
