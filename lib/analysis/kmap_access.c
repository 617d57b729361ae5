// SPDX-License-Identifier: BSD-2-Clause
/* Sum the accesses and calls of a KMAP. */
#include <errno.h>

#include "analysis/kmap_build.h"

/* Has the object been touched by more than one subsystem, process or context? */
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
	return mz_pair_index_put(&own->touching, (uint32_t)pid, 0) == MZ_PAIR_INDEX_NONE ? -ENOMEM
											 : 0;
}

static uint32_t pair_id(struct mz_kmap_model *m, uint32_t group)
{
	struct mz_kmap_private *own = m->own;
	uint32_t id;

	id = group == MZ_PAIR_INDEX_NONE ? group
					 : mz_pair_index_put(&own->pairs, own->now.owner, group);
	if (id == MZ_PAIR_INDEX_NONE || id < m->n_pairs)
		return id;
	if (!ROOM(m, pairs, id) ||
	    !mz_array_room((void **)&own->last, &own->cap_last, id, sizeof(*own->last)))
		return MZ_PAIR_INDEX_NONE;
	m->n_pairs = id + 1;
	if (m->by == MZ_KMAP_BY_PID)
		m->pairs[id].process = own->now.owner;
	else
		m->pairs[id].class = own->now.owner;
	m->pairs[id].group = group;
	return id;
}

/* serial is the number of the current object: an object counts once per pair, however many of
 * its lines mention it. */
static void add_pair(struct mz_kmap_model *m, uint32_t id, const struct mz_kmap_access *a)
{
	const struct current *now = &m->own->now;
	struct mz_kmap_pair *p = &m->pairs[id];
	struct last *last = &m->own->last[id];

	p->reads += a->reads;
	p->writes += a->writes;
	if (last->touched != now->serial)
		mz_kmap_add_sum(&p->touched, now->size);
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

/* The class and, on request, the process; the address is the other half of the key. */
static uint64_t edge_key(const struct mz_kmap_private *own, const struct mz_kmap_access *a)
{
	return (uint64_t)own->now.class << 32 | (uint32_t)(own->pids ? a->pid : -1);
}

/* A new edge: its code and its pair are looked up once. */
static int start_edge(struct mz_kmap_model *m, uint32_t id, const struct mz_kmap_access *a)
{
	struct mz_kmap_private *own = m->own;
	uint32_t place = mz_kmap_place_id(m, a->ip), pair = 0;

	if (place == MZ_PAIR_INDEX_NONE || !ROOM(m, edges, id) ||
	    !mz_array_room((void **)&own->states, &own->cap_states, id, sizeof(*own->states)))
		return -ENOMEM;
	if (m->by != MZ_KMAP_BY_PID)
		pair = pair_id(m, m->places[place].group);
	if (pair == MZ_PAIR_INDEX_NONE)
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
		id = mz_pair_index_put(&own->edges, a->ip, key);
	if (id == MZ_PAIR_INDEX_NONE || (id >= m->n_edges && start_edge(m, id, a) < 0) ||
	    note_process(own, a->pid) < 0)
		return -ENOMEM;
	pair = own->states[id].pair;
	/* by process the owner is not that of the edge: it is looked up each time */
	if (m->by == MZ_KMAP_BY_PID)
		pair = pair_id(m, mz_kmap_group_id(m, (uint32_t)a->pid, 1));
	if (pair == MZ_PAIR_INDEX_NONE)
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

/* Enters the collected accesses of the current object; the memory that they will need is
 * prefetched in steps. */
int mz_kmap_enter_gathered(struct mz_kmap_model *m)
{
	struct mz_kmap_private *own = m->own;
	const struct mz_kmap_access *a = own->gathered;
	size_t n = own->n_gathered;
	uint32_t edges[GATHERED];
	int ret = 0;

	for (size_t i = 0; i < n; i++)
		mz_pair_index_ask(&own->edges, a[i].ip, edge_key(own, &a[i]));
	for (size_t i = 0; i < n; i++) {
		edges[i] = mz_pair_index_expect(&own->edges, a[i].ip, edge_key(own, &a[i]));
		if (edges[i] < m->n_edges) {
			__builtin_prefetch(&m->edges[edges[i]], 1);
			__builtin_prefetch(&own->states[edges[i]], 1);
		}
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t pair =
			edges[i] < m->n_edges ? own->states[edges[i]].pair : MZ_PAIR_INDEX_NONE;

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

int mz_kmap_add_access(struct mz_kmap_model *m, const struct mz_kmap_access *a)
{
	struct mz_kmap_private *own = m->own;

	m->accesses++;
	if (a->frees && mz_kmap_add_freer(m, own->now.class, a->ip, a->frees) < 0)
		return -ENOMEM;
	own->gathered[own->n_gathered++] = *a;
	return own->n_gathered == GATHERED ? mz_kmap_enter_gathered(m) : 0;
}

int mz_kmap_add_call(struct mz_kmap_model *m, const struct mz_kmap_call *c)
{
	uint32_t from = mz_kmap_place_id(m, c->from), to = mz_kmap_entry_id(m, c->to), id;

	if (from == MZ_PAIR_INDEX_NONE || to == MZ_PAIR_INDEX_NONE)
		return -ENOMEM;
	id = mz_pair_index_put(&m->own->calls, from, to);
	if (id == MZ_PAIR_INDEX_NONE || !ROOM(m, calls, id))
		return -ENOMEM;
	if (id >= m->n_calls) {
		m->n_calls = id + 1;
		m->calls[id].first = c->count;
	} else if (c->by_process) {
		m->calls[id].first += c->count; /* another process, no repeat */
	}
	m->calls[id].from = from;
	m->calls[id].to = to;
	m->calls[id].count += c->count;
	return 0;
}
