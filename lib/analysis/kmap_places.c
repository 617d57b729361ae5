// SPDX-License-Identifier: BSD-2-Clause
/* Number the texts, code addresses and processes of a KMAP, and symbolize the code. */
#include <errno.h>
#include <string.h>

#include "analysis/kmap_build.h"

uint32_t mz_kmap_text_id(struct mz_kmap_model *m, const char *s)
{
	return s && *s ? mz_tables_string(m->strings, s, strlen(s)) : 0;
}

uint32_t mz_kmap_recent_id(struct mz_kmap_model *m, struct recent *r, struct mz_kmap_text t)
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

/* entry: ip is the start of a function; otherwise it follows a call. */
static void name_place(struct mz_kmap_model *m, struct mz_kmap_place *p, bool entry)
{
	struct mz_symbol s;

	if (!m->own->symbols || !p->ip || !mz_symbols_find(m->own->symbols, p->ip + entry, &s))
		return;
	p->function = mz_kmap_text_id(m, s.function);
	p->offset = s.in_function > UINT32_MAX ? UINT32_MAX : (uint32_t)s.in_function;
	p->module = mz_kmap_text_id(m, s.module);
	p->file = mz_kmap_text_id(m, s.file);
	p->line = s.line > 0 ? (uint32_t)s.line : 0;
	p->home = mz_kmap_text_id(m, s.home);
	p->dir = mz_kmap_text_id(m, s.dir);
	m->has_dirs |= p->dir != 0;
}

/* A group is identified by its name, or by the number of a process (kind 1), whose name is
 * known only at the end. */
uint32_t mz_kmap_group_id(struct mz_kmap_model *m, uint32_t key, unsigned kind)
{
	uint32_t id = mz_pair_index_put(&m->own->groups, key, kind);

	if (id == MZ_PAIR_INDEX_NONE || id < m->n_groups)
		return id;
	if (!ROOM(m, groups, id))
		return MZ_PAIR_INDEX_NONE;
	m->n_groups = id + 1;
	m->groups[id] = kind ? 0 : key;
	return id;
}

/* The last name of a process counts. */
static int find_last(struct mz_kmap_model *m)
{
	struct mz_kmap_private *own = m->own;

	for (uint32_t i = 0; i < m->n_processes; i++) {
		size_t before = own->by_pid.count;
		uint32_t id = mz_pair_index_put(&own->by_pid, (uint32_t)m->processes[i].pid, 0);

		if (id == MZ_PAIR_INDEX_NONE ||
		    !mz_array_room((void **)&own->last_of, &own->cap_last_of, id,
				   sizeof(*own->last_of)))
			return -ENOMEM;
		if (own->by_pid.count > before ||
		    m->processes[i].last > m->processes[own->last_of[id]].last)
			own->last_of[id] = i;
	}
	return 0;
}

int mz_kmap_name_processes(struct mz_kmap_model *m)
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

static uint32_t place_id(struct mz_kmap_model *m, uint64_t ip, bool entry)
{
	uint32_t id = mz_pair_index_put(&m->own->places, ip, entry);

	if (id == MZ_PAIR_INDEX_NONE || id < m->n_places)
		return id;
	if (!ROOM(m, places, id))
		return MZ_PAIR_INDEX_NONE;
	m->n_places = id + 1;
	m->places[id] = (struct mz_kmap_place){.ip = ip};
	/* a hashed address has 32 bits, and kernels have no code below 4 GiB */
	m->hashed += ip <= UINT32_MAX && !mz_kmap_is_special(ip);
	name_place(m, &m->places[id], entry);
	if (m->by != MZ_KMAP_BY_PID) {
		char name[256];

		mz_kmap_place_name(m, id, m->by == MZ_KMAP_BY_CACHE ? MZ_KMAP_BY_FUNCTION : m->by,
				   name, sizeof(name));
		m->places[id].group =
			mz_kmap_group_id(m, mz_tables_string(m->strings, name, strlen(name)), 0);
		if (m->places[id].group == MZ_PAIR_INDEX_NONE)
			return MZ_PAIR_INDEX_NONE;
	}
	return id;
}

uint32_t mz_kmap_place_id(struct mz_kmap_model *m, uint64_t ip)
{
	return place_id(m, ip, false);
}

uint32_t mz_kmap_entry_id(struct mz_kmap_model *m, uint64_t ip)
{
	return place_id(m, ip, true);
}
