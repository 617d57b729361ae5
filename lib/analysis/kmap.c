// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/kmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Records between two looks at the clock. */
#define OFTEN 65536u

/* A text that was just looked up is often the next one too. */
struct recent {
	char text[64];
	size_t len;
	uint32_t id;
};

/* The object that is being read: its accesses follow. */
struct current {
	bool open, freed;
	uint32_t class, owner;
	uint32_t serial; /* never 0 */
	uint64_t size, reads, writes;
	uint32_t dir;
	int32_t pid;
	bool touched, has_pid, dirs, processes, interrupt, process;
};

/* Accesses are gathered, and entered many at a time (mz_keys_ask). */
#define GATHERED 64

struct mz_kmap_private {
	struct mz_keys classes, edges, freers, owners, processes, calls, places, kinds;
	size_t cap_classes, cap_edges, cap_freers, cap_owners, cap_processes, cap_calls, cap_places;
	/* by edge: serial of the last object, its pair, the folder of the code */
	struct edge_state {
		uint32_t serial, pair, dir;
	} * states;
	size_t cap_states;
	struct recent comm, type, cache;
	struct current now;
	struct mz_kmap_access gathered[GATHERED]; /* of the current object */
	size_t n_gathered;
	/* by pair: serials of the last object touched, read, written */
	struct last {
		uint32_t touched, read, written;
	} * last;
	size_t cap_last;
	struct mz_keys pairs, groups, touching;
	int32_t last_pid; /* that touched something */
	bool pids;
	size_t cap_pairs, cap_groups;
	struct mz_symbols *symbols;
	uint32_t *last_of; /* by number of by_pid: the process of that number that was seen last */
	size_t cap_last_of;
	struct mz_keys by_pid;
};

/* ---- strings and places ------------------------------------------------------------ */

static uint32_t text_id(struct mz_kmap_model *m, const char *s)
{
	return s && *s ? mz_tables_string(m->strings, s, strlen(s)) : 0;
}

static uint32_t recent_id(struct mz_kmap_model *m, struct recent *r, struct mz_kmap_text t)
{
	if (!t.len)
		return 0;
	if (r->id && r->len == t.len && !memcmp(r->text, t.p, t.len))
		return r->id;
	r->id = mz_tables_string(m->strings, t.p, t.len);
	r->len = t.len;
	if (t.len > sizeof(r->text))
		r->len = 0; /* too long to be remembered */
	else
		memcpy(r->text, t.p, t.len);
	return r->id;
}

static void name_place(struct mz_kmap_model *m, struct mz_kmap_place *p)
{
	struct mz_symbol s;

	if (!m->own->symbols || !p->ip || !mz_symbols_find(m->own->symbols, p->ip, &s))
		return;
	p->function = text_id(m, s.function);
	p->offset = s.in_function > UINT32_MAX ? UINT32_MAX : (uint32_t)s.in_function;
	p->module = text_id(m, s.module);
	p->file = text_id(m, s.file);
	p->line = s.line > 0 ? (uint32_t)s.line : 0;
	p->home = text_id(m, s.home);
	p->dir = text_id(m, s.dir);
	m->has_dirs |= p->dir != 0;
}

#define ROOM(m, what, at)                                                                          \
	mz_keys_room((void **)&(m)->what, &(m)->own->cap_##what, at, sizeof(*(m)->what))

/* A group is known by its name, or by the number of a process (kind 1), whose name is
 * known only at the end. */
static uint32_t group_id(struct mz_kmap_model *m, uint32_t key, unsigned kind)
{
	uint32_t id = mz_keys_put(&m->own->groups, key, kind);

	if (id == MZ_KEYS_NONE || id < m->n_groups)
		return id;
	if (!ROOM(m, groups, id))
		return MZ_KEYS_NONE;
	m->n_groups = id + 1;
	m->groups[id] = kind ? 0 : key;
	return id;
}

/* What a process called itself in the end counts. */
static int find_last(struct mz_kmap_model *m)
{
	struct mz_kmap_private *own = m->own;

	for (uint32_t i = 0; i < m->n_processes; i++) {
		size_t before = own->by_pid.count;
		uint32_t id = mz_keys_put(&own->by_pid, (uint32_t)m->processes[i].pid, 0);

		if (id == MZ_KEYS_NONE || !mz_keys_room((void **)&own->last_of, &own->cap_last_of,
							id, sizeof(*own->last_of)))
			return -ENOMEM;
		if (own->by_pid.count > before ||
		    m->processes[i].last > m->processes[own->last_of[id]].last)
			own->last_of[id] = i;
	}
	return 0;
}

static int name_processes(struct mz_kmap_model *m)
{
	char name[160];

	if (find_last(m) < 0)
		return -ENOMEM;

	for (uint32_t i = 0; m->by == MZ_KMAP_BY_PID && i < m->n_groups; i++) {
		mz_kmap_pid_name(m, (int32_t)(uint32_t)m->own->groups.keys[i].a, name,
				 sizeof(name));
		m->groups[i] = mz_tables_string(m->strings, name, strlen(name));
		if (!m->groups[i])
			return -ENOMEM;
	}
	return 0;
}

static uint32_t place_id(struct mz_kmap_model *m, uint64_t ip)
{
	uint32_t id = mz_keys_put(&m->own->places, ip, 0);

	if (id == MZ_KEYS_NONE || id < m->n_places)
		return id;
	if (!ROOM(m, places, id))
		return MZ_KEYS_NONE;
	m->n_places = id + 1;
	m->places[id] = (struct mz_kmap_place){.ip = ip};
	name_place(m, &m->places[id]);
	if (m->by != MZ_KMAP_BY_PID) {
		char name[256];

		mz_kmap_place_name(m, id, m->by == MZ_KMAP_BY_CACHE ? MZ_KMAP_BY_FUNCTION : m->by,
				   name, sizeof(name));
		m->places[id].group =
			group_id(m, mz_tables_string(m->strings, name, strlen(name)), 0);
		if (m->places[id].group == MZ_KEYS_NONE)
			return MZ_KEYS_NONE;
	}
	return id;
}

/* ---- the end of an object ------------------------------------------------------------ */

static void add_sum(struct mz_kmap_sum *s, uint64_t bytes)
{
	s->objects++;
	s->bytes += bytes;
}

static void end_object(struct mz_kmap_model *m)
{
	struct current *now = &m->own->now;
	struct mz_kmap_class *to[2];

	if (!now->open)
		return;
	now->open = false;
	to[0] = &m->classes[now->class];
	to[1] = &m->total;
	for (int i = 0; i < 2; i++) {
		struct mz_kmap_class *c = to[i];

		c->reads += now->reads;
		c->writes += now->writes;
		if (!now->reads && !now->writes) {
			add_sum(&c->untouched, now->size);
			if (now->freed)
				add_sum(&c->freed_untouched, now->size);
		} else if (!now->reads) {
			add_sum(&c->unread, now->size);
		} else if (!now->writes) {
			add_sum(&c->unwritten, now->size);
		}
		if (now->dirs)
			add_sum(&c->by_dirs, now->size);
		if (now->processes)
			add_sum(&c->by_processes, now->size);
		if (now->interrupt && now->process)
			add_sum(&c->by_contexts, now->size);
	}
}

/* ---- live bytes over time ------------------------------------------------------------- */

/* Two steps become one. Steps start at multiples of the width. */
static void widen(struct mz_kmap_timeline *t)
{
	int64_t bytes[MZ_KMAP_STEPS] = {0}, objects[MZ_KMAP_STEPS] = {0};
	uint64_t first = t->start / t->width;

	for (size_t i = 0; i < MZ_KMAP_STEPS; i++) {
		size_t at = (size_t)((first + i) / 2 - first / 2);

		bytes[at] += t->bytes[i];
		objects[at] += t->objects[i];
	}
	memcpy(t->bytes, bytes, sizeof(bytes));
	memcpy(t->objects, objects, sizeof(objects));
	t->width *= 2;
	t->start = first / 2 * t->width;
}

/* The steps begin earlier, if the last ones are not in use. */
static bool begin_earlier(struct mz_kmap_timeline *t, uint64_t when)
{
	uint64_t start = when / t->width * t->width;
	uint64_t by = (t->start - start) / t->width;

	if ((t->last - start) / t->width >= MZ_KMAP_STEPS)
		return false;
	memmove(t->bytes + by, t->bytes, (MZ_KMAP_STEPS - by) * sizeof(*t->bytes));
	memmove(t->objects + by, t->objects, (MZ_KMAP_STEPS - by) * sizeof(*t->objects));
	memset(t->bytes, 0, by * sizeof(*t->bytes));
	memset(t->objects, 0, by * sizeof(*t->objects));
	t->start = start;
	return true;
}

static void change(struct mz_kmap_timeline *t, uint64_t when, int64_t bytes, int64_t objects)
{
	size_t at;

	if (!t->width) {
		t->width = 1;
		t->start = t->last = when;
	}
	while (when < t->start && !begin_earlier(t, when))
		widen(t);
	while ((when - t->start) / t->width >= MZ_KMAP_STEPS)
		widen(t);
	if (when > t->last)
		t->last = when;
	at = (size_t)((when - t->start) / t->width);
	t->bytes[at] += bytes;
	t->objects[at] += objects;
}

static void find_peak(struct mz_kmap_model *m)
{
	const struct mz_kmap_timeline *t = &m->timeline;
	int64_t bytes = (int64_t)t->base.bytes, objects = (int64_t)t->base.objects, most = -1;

	for (size_t i = 0; t->width && i < MZ_KMAP_STEPS; i++) {
		bytes += t->bytes[i];
		objects += t->objects[i];
		if (bytes <= most)
			continue;
		most = bytes;
		m->live_peak = (struct mz_kmap_sum){(uint64_t)objects, (uint64_t)bytes};
		m->live_peak_time = t->start + i * t->width;
	}
}

/* ---- objects ------------------------------------------------------------------------------ */

/* Variables have no allocation site: each is a class. */
static bool is_global(const struct mz_kmap_object *o)
{
	struct mz_kmap_text t = o->type;

	return !o->alloc_ip || (t.len >= 6 && !memcmp(t.p, "GLOBAL", 6)) ||
	       (t.len == 10 && !memcmp(t.p, "UFO_GLOBAL", 10));
}

static void name_global(struct mz_kmap_model *m, struct mz_kmap_class *c)
{
	const char *name, *dir;
	uint64_t offset;

	if (!c->global || !m->own->symbols)
		return;
	name = mz_symbols_variable(m->own->symbols, c->va, &offset, &dir);
	c->name = name && !offset ? text_id(m, name) : 0;
	c->dir = name && dir ? text_id(m, dir) : 0;
}

static uint32_t class_id(struct mz_kmap_model *m, const struct mz_kmap_object *o)
{
	struct mz_kmap_private *own = m->own;
	uint32_t place = place_id(m, o->alloc_ip), type = recent_id(m, &own->type, o->type);
	uint32_t cache = recent_id(m, &own->cache, o->cache), kind, id;
	bool global = is_global(o);
	struct mz_kmap_class *c;

	kind = mz_keys_put(&own->kinds, type, cache);
	if (place == MZ_KEYS_NONE || kind == MZ_KEYS_NONE)
		return MZ_KEYS_NONE;
	id = mz_keys_put(&own->classes, (uint64_t)place << 32 | kind, global ? o->va : 0);
	if (id == MZ_KEYS_NONE || id < m->n_classes)
		return id;
	if (!ROOM(m, classes, id))
		return MZ_KEYS_NONE;
	m->n_classes = id + 1;
	c = &m->classes[id];
	c->place = place;
	c->type = type;
	c->cache = cache;
	c->va = o->va;
	c->global = global;
	c->least = UINT64_MAX;
	name_global(m, c);
	return id;
}

/* Who allocates, and the owner for the pairs. */
static int add_owner(struct mz_kmap_model *m, uint32_t class, const struct mz_kmap_object *o)
{
	struct mz_kmap_private *own = m->own;
	uint32_t comm = recent_id(m, &own->comm, o->comm), process, owner;

	process = mz_keys_put(&own->processes, (uint32_t)o->pid, comm);
	if (process == MZ_KEYS_NONE || !ROOM(m, processes, process))
		return -ENOMEM;
	if (process >= m->n_processes)
		m->n_processes = process + 1;
	m->processes[process].pid = o->pid;
	m->processes[process].comm = comm;
	add_sum(&m->processes[process].sum, o->size);
	m->processes[process].last = m->total.all.objects;
	owner = mz_keys_put(&own->owners, class, process);
	if (owner == MZ_KEYS_NONE || !ROOM(m, owners, owner))
		return -ENOMEM;
	if (owner >= m->n_owners)
		m->n_owners = owner + 1;
	own->now.owner = m->by == MZ_KMAP_BY_PID ? process : class;
	m->owners[owner].class = class;
	m->owners[owner].process = process;
	add_sum(&m->owners[owner].sum, o->size);
	return 0;
}

static int add_freer(struct mz_kmap_model *m, uint32_t class, uint64_t ip)
{
	uint32_t place = place_id(m, ip), id;

	id = place == MZ_KEYS_NONE ? place : mz_keys_put(&m->own->freers, class, place);
	if (id == MZ_KEYS_NONE || !ROOM(m, freers, id))
		return -ENOMEM;
	if (id >= m->n_freers)
		m->n_freers = id + 1;
	m->freers[id].class = class;
	m->freers[id].place = place;
	m->freers[id].objects++;
	return 0;
}

static void add_times(struct mz_kmap_model *m, const struct mz_kmap_object *o, bool global,
		      bool freed)
{
	if (global || !o->alloc_time) {
		add_sum(&m->timeline.base, o->size);
	} else {
		change(&m->timeline, o->alloc_time, (int64_t)o->size, 1);
		if (freed && o->free_time >= o->alloc_time)
			change(&m->timeline, o->free_time, -(int64_t)o->size, -1);
	}
}

static void count_object(struct mz_kmap_class *c, const struct mz_kmap_object *o, bool freed)
{
	add_sum(&c->all, o->size);
	if (o->size < c->least)
		c->least = o->size;
	if (o->size > c->greatest)
		c->greatest = o->size;
	if (!freed)
		return;
	add_sum(&c->freed, o->size);
	if (o->free_ip == MZ_KMAP_OVERLAID)
		add_sum(&c->overlaid, o->size);
	if (o->free_time >= o->alloc_time)
		c->lifetime += o->free_time - o->alloc_time;
}

static int add_object(struct mz_kmap_model *m, const struct mz_kmap_object *o)
{
	struct current *now = &m->own->now;
	bool freed = o->free_ip || o->free_time;
	uint32_t id;

	end_object(m);
	id = class_id(m, o);
	if (id == MZ_KEYS_NONE)
		return -ENOMEM;
	count_object(&m->classes[id], o, freed);
	count_object(&m->total, o, freed);
	add_times(m, o, m->classes[id].global, freed);
	mz_histogram_add(&m->sizes, o->size);
	if (freed && o->free_time >= o->alloc_time)
		mz_histogram_add(&m->lifetimes, o->free_time - o->alloc_time);
	m->shapes[o->shape]++;
	*now = (struct current){.open = true,
				.freed = freed,
				.class = id,
				.serial = now->serial + 1 ? now->serial + 1 : 1,
				.size = o->size};
	if (add_owner(m, id, o) < 0)
		return -ENOMEM;
	return freed ? add_freer(m, id, o->free_ip) : 0;
}

/* ---- accesses and calls ----------------------------------------------------------------- */

/* Has the object been touched from more than one side? */
static void note_side(struct current *now, uint32_t dir, int32_t pid)
{
	if (dir) {
		now->dirs |= now->dir && now->dir != dir;
		now->dir = dir;
	}
	if (pid < 0)
		return;
	now->interrupt |= !pid;
	now->process |= pid > 0;
	if (pid > 0) {
		now->processes |= now->has_pid && now->pid != pid;
		now->has_pid = true;
		now->pid = pid;
	}
}

static int note_process(struct mz_kmap_private *own, int32_t pid)
{
	if (pid <= 0 || pid == own->last_pid)
		return 0;
	own->last_pid = pid;
	return mz_keys_put(&own->touching, (uint32_t)pid, 0) == MZ_KEYS_NONE ? -ENOMEM : 0;
}

static uint32_t pair_id(struct mz_kmap_model *m, uint32_t group)
{
	struct mz_kmap_private *own = m->own;
	uint32_t id;

	id = group == MZ_KEYS_NONE ? group : mz_keys_put(&own->pairs, own->now.owner, group);
	if (id == MZ_KEYS_NONE || id < m->n_pairs)
		return id;
	if (!ROOM(m, pairs, id) ||
	    !mz_keys_room((void **)&own->last, &own->cap_last, id, sizeof(*own->last)))
		return MZ_KEYS_NONE;
	m->n_pairs = id + 1;
	m->pairs[id].owner = own->now.owner;
	m->pairs[id].group = group;
	return id;
}

static void add_pair(struct mz_kmap_model *m, uint32_t id, const struct mz_kmap_access *a)
{
	const struct current *now = &m->own->now;
	struct mz_kmap_pair *p = &m->pairs[id];
	struct last *last = &m->own->last[id];

	p->reads += a->reads;
	p->writes += a->writes;
	if (last->touched != now->serial)
		add_sum(&p->touched, now->size);
	last->touched = now->serial;
	if (a->reads) {
		p->objects_read += last->read != now->serial;
		last->read = now->serial;
	}
	if (a->writes) {
		p->objects_written += last->written != now->serial;
		last->written = now->serial;
	}
}

/* The class and, if asked for, the process; the address is the other half of the key. */
static uint64_t edge_key(const struct mz_kmap_private *own, const struct mz_kmap_access *a)
{
	return (uint64_t)own->now.class << 32 | (uint32_t)(own->pids ? a->pid : -1);
}

/* A new edge: its code and its pair are looked up once. */
static int start_edge(struct mz_kmap_model *m, uint32_t id, const struct mz_kmap_access *a)
{
	struct mz_kmap_private *own = m->own;
	uint32_t place = place_id(m, a->ip), pair = 0;

	if (place == MZ_KEYS_NONE || !ROOM(m, edges, id) ||
	    !mz_keys_room((void **)&own->states, &own->cap_states, id, sizeof(*own->states)))
		return -ENOMEM;
	if (m->by != MZ_KMAP_BY_PID)
		pair = pair_id(m, m->places[place].group);
	if (pair == MZ_KEYS_NONE)
		return -ENOMEM;
	own->states[id] = (struct edge_state){0, pair, m->places[place].dir};
	m->edges[id] = (struct mz_kmap_edge){.class = own->now.class,
					     .place = place,
					     .pid = own->pids ? a->pid : -1,
					     .first = UINT16_MAX};
	m->n_edges = id + 1;
	return 0;
}

/* expected: the likely number of its edge. */
static int enter_access(struct mz_kmap_model *m, const struct mz_kmap_access *a, uint32_t expected)
{
	struct mz_kmap_private *own = m->own;
	struct current *now = &own->now;
	uint64_t key = edge_key(own, a);
	uint32_t id = expected, pair;
	struct mz_kmap_edge *e;

	if (id >= m->n_edges || own->edges.keys[id].a != a->ip || own->edges.keys[id].b != key)
		id = mz_keys_put(&own->edges, a->ip, key);
	if (id == MZ_KEYS_NONE || (id >= m->n_edges && start_edge(m, id, a) < 0) ||
	    note_process(own, a->pid) < 0)
		return -ENOMEM;
	pair = own->states[id].pair;
	/* by process the owner is not that of the edge: it is looked up each time */
	if (m->by == MZ_KMAP_BY_PID)
		pair = pair_id(m, group_id(m, (uint32_t)a->pid, 1));
	if (pair == MZ_KEYS_NONE)
		return -ENOMEM;
	e = &m->edges[id];
	e->objects += own->states[id].serial != now->serial;
	own->states[id].serial = now->serial;
	e->reads += a->reads;
	e->writes += a->writes;
	if (a->fields == 6) {
		e->first = a->first < e->first ? (uint16_t)a->first : e->first;
		e->last = a->last > e->last ? (uint16_t)a->last : e->last;
		m->has_ranges = true;
	}
	now->reads += a->reads;
	now->writes += a->writes;
	note_side(now, own->states[id].dir, a->pid);
	add_pair(m, pair, a);
	return 0;
}

/* The accesses of the current object that were gathered; the memory that they will need
 * is asked for in steps. */
static int enter_gathered(struct mz_kmap_model *m)
{
	struct mz_kmap_private *own = m->own;
	const struct mz_kmap_access *a = own->gathered;
	size_t n = own->n_gathered;
	uint32_t edges[GATHERED];
	int ret = 0;

	for (size_t i = 0; i < n; i++)
		mz_keys_ask(&own->edges, a[i].ip, edge_key(own, &a[i]));
	for (size_t i = 0; i < n; i++) {
		edges[i] = mz_keys_expect(&own->edges, a[i].ip, edge_key(own, &a[i]));
		if (edges[i] < m->n_edges) {
			__builtin_prefetch(&m->edges[edges[i]], 1);
			__builtin_prefetch(&own->states[edges[i]], 1);
		}
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t pair = edges[i] < m->n_edges ? own->states[edges[i]].pair : MZ_KEYS_NONE;

		if (pair < m->n_pairs) {
			__builtin_prefetch(&m->pairs[pair], 1);
			__builtin_prefetch(&own->last[pair], 1);
		}
	}
	for (size_t i = 0; i < n && !ret; i++)
		ret = enter_access(m, &a[i], edges[i]);
	own->n_gathered = 0;
	return ret;
}

static int add_access(struct mz_kmap_model *m, const struct mz_kmap_access *a)
{
	struct mz_kmap_private *own = m->own;

	m->accesses++;
	own->gathered[own->n_gathered++] = *a;
	return own->n_gathered == GATHERED ? enter_gathered(m) : 0;
}

static int add_call(struct mz_kmap_model *m, const struct mz_kmap_call *c)
{
	uint32_t from = place_id(m, c->from), to = place_id(m, c->to), id;

	if (from == MZ_KEYS_NONE || to == MZ_KEYS_NONE)
		return -ENOMEM;
	id = mz_keys_put(&m->own->calls, from, to);
	if (id == MZ_KEYS_NONE || !ROOM(m, calls, id))
		return -ENOMEM;
	if (id >= m->n_calls)
		m->n_calls = id + 1;
	m->calls[id].from = from;
	m->calls[id].to = to;
	m->calls[id].count += c->count;
	return 0;
}

/* ---- all of it --------------------------------------------------------------------------- */

static int add(struct mz_kmap_model *m, const struct mz_kmap_record *rec)
{
	switch (rec->kind) {
	case MZ_KMAP_OBJECT: return enter_gathered(m) < 0 ? -ENOMEM : add_object(m, &rec->object);
	case MZ_KMAP_ACCESS: return add_access(m, &rec->access);
	case MZ_KMAP_CALL: return add_call(m, &rec->call);
	case MZ_KMAP_OTHER: break;
	}
	return 0;
}

static int start(struct mz_kmap_model *m, enum mz_kmap_by by)
{
	memset(m, 0, sizeof(*m));
	m->by = by;
	m->own = calloc(1, sizeof(*m->own));
	m->strings = mz_tables_new();
	m->total.least = UINT64_MAX;
	return m->own && m->strings && place_id(m, 0) == 0 ? 0 : -ENOMEM;
}

/* Addresses of the first lines tell how far the kernel was moved, if nothing else does. */
static void find_shift(struct mz_kmap *k, struct mz_symbols *symbols)
{
	uint64_t ips[4096];

	if (symbols)
		mz_symbols_shift_by(symbols, ips, mz_kmap_peek(k, ips, sizeof(ips) / sizeof(*ips)));
}

int mz_kmap_model_read(struct mz_kmap_model *m, struct mz_kmap *k,
		       const struct mz_kmap_model_options *o, struct mz_error *err)
{
	const struct mz_kmap_record *recs;
	size_t n = 0;
	int ret;

	if (start(m, o->by) < 0)
		return mz_fail_memory(err);
	m->own->symbols = o->symbols;
	m->own->pids = o->pids;
	find_shift(k, o->symbols);
	while ((ret = mz_kmap_read(k, &recs)) > 0) {
		for (int i = 0; i < ret; i++)
			if (add(m, &recs[i]) < 0)
				return mz_fail_memory(err);
		n += (size_t)ret;
		if (n < OFTEN)
			continue;
		n = 0;
		if (o->progress && !o->progress(o->arg, k))
			return mz_fail(err, EINTR, "%s: stopped", mz_kmap_name(k));
	}
	if (ret < 0) {
		*err = *mz_kmap_error(k);
		return ret;
	}
	if (enter_gathered(m) < 0)
		return mz_fail_memory(err);
	end_object(m);
	find_peak(m);
	if (name_processes(m) < 0)
		return mz_fail_memory(err);
	m->lines = mz_kmap_lines(k);
	m->bad_lines = mz_kmap_bad_lines(k);
	m->bytes = mz_kmap_bytes(k);
	m->touching = m->own->touching.count;
	m->own->symbols = NULL;
	return 0;
}

void mz_kmap_model_deinit(struct mz_kmap_model *m)
{
	struct mz_kmap_private *own = m->own;

	free(m->classes);
	free(m->edges);
	free(m->freers);
	free(m->owners);
	free(m->processes);
	free(m->calls);
	free(m->places);
	free(m->pairs);
	free(m->groups);
	free(m->class_types);
	mz_types_close(m->types);
	mz_tables_free(m->strings);
	if (own) {
		struct mz_keys *all[] = {&own->classes, &own->edges,	 &own->freers,
					 &own->owners,	&own->processes, &own->calls,
					 &own->places,	&own->kinds,	 &own->by_pid,
					 &own->pairs,	&own->groups,	 &own->touching};

		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
			mz_keys_deinit(all[i]);
		free(own->states);
		free(own->last);
		free(own->last_of);
	}
	free(own);
	memset(m, 0, sizeof(*m));
}

const char *mz_kmap_string(const struct mz_kmap_model *m, uint32_t id)
{
	const char *s = mz_tables_get_string(m->strings, id, NULL);

	return s ? s : "";
}

const char *mz_kmap_comm(const struct mz_kmap_model *m, int32_t pid)
{
	uint32_t id = mz_keys_get(&m->own->by_pid, (uint32_t)pid, 0);

	return id == MZ_KEYS_NONE ? "" : mz_kmap_string(m, m->processes[m->own->last_of[id]].comm);
}
