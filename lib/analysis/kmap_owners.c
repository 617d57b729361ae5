// SPDX-License-Identifier: BSD-2-Clause
/* Read the cgroups and pid namespaces of the processes of a KMAP, and add up by them. */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kmap_owners.h"
#include "base/cursor.h"

#define BEGIN "#owner "

/* Containers may have the same path in different namespaces, so a group is a pair of both. */
static uint32_t add_group(struct mz_kmap_owners *o, struct mz_kmap_text path, uint32_t pidns)
{
	uint32_t name = mz_bytes_index_put(&o->paths, path.p, path.len), group;

	if (name == MZ_HASH_NONE)
		return MZ_PAIR_INDEX_NONE;
	group = mz_pair_index_put(&o->index, name, pidns);
	if (group == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&o->groups, &o->cap_groups, group, sizeof(*o->groups)))
		return MZ_PAIR_INDEX_NONE;
	if (group == o->n_groups)
		o->groups[o->n_groups++] = (struct mz_kmap_group){.path = name, .pidns = pidns};
	return group;
}

/* Owner 0 and group 0 stand for all that the map gives no owner. */
bool mz_kmap_owners_init(struct mz_kmap_owners *o)
{
	*o = (struct mz_kmap_owners){.n = 1};
	return mz_array_room((void **)&o->group, &o->cap, 0, sizeof(*o->group)) &&
	       !add_group(o, (struct mz_kmap_text){"", 0}, 0);
}

void mz_kmap_owners_deinit(struct mz_kmap_owners *o)
{
	free(o->group);
	free(o->groups);
	mz_bytes_index_deinit(&o->paths);
	mz_pair_index_deinit(&o->index);
	*o = (struct mz_kmap_owners){0};
}

/* ---- the lines -------------------------------------------------------------------------- */

static bool field(struct mz_cursor *c, uint64_t *v)
{
	if (!mz_cursor_u64(c, v) || c->p == c->end || *c->p != ',')
		return false;
	c->p++;
	return true;
}

/* The table has the value plus 1: 0 is no digit. */
static unsigned digit(char c)
{
	return mz_hex_value[(unsigned char)c];
}

/* The kernel writes commas, backslashes and what cannot be printed as \xNN. */
static int unescape(struct mz_kmap_text t, char **out)
{
	char *p = malloc(t.len + 1);
	size_t n = 0;

	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < t.len; i++) {
		unsigned hi = 0, lo = 0;

		if (t.p[i] == '\\' && t.len - i > 3 && t.p[i + 1] == 'x') {
			hi = digit(t.p[i + 2]);
			lo = digit(t.p[i + 3]);
		}
		p[n++] = hi && lo ? (char)((hi - 1) << 4 | (lo - 1)) : t.p[i];
		i += hi && lo ? 3 : 0;
	}
	p[n] = '\0';
	*out = p;
	return (int)n;
}

static int add_owner(struct mz_kmap_owners *o, uint64_t owner, uint32_t pidns,
		     struct mz_kmap_text path)
{
	uint32_t group;
	char *text;
	int n;

	/* in order: a file cannot make us reserve more than it has lines */
	if (!owner || owner > o->n || owner > UINT32_MAX)
		return -EINVAL;
	n = unescape(path, &text);
	if (n < 0)
		return n;
	group = add_group(o, (struct mz_kmap_text){text, (size_t)n}, pidns);
	free(text);
	if (group == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&o->group, &o->cap, owner, sizeof(*o->group)))
		return -ENOMEM;
	/* a later line about the same owner replaces the earlier one */
	if (owner == o->n)
		o->n++;
	else
		o->groups[o->group[owner]].owners--;
	o->group[owner] = group;
	o->groups[group].owners++;
	return 1;
}

int mz_kmap_owners_line(struct mz_kmap_owners *o, struct mz_kmap_text line)
{
	struct mz_cursor c = {line.p, line.p + line.len};
	uint64_t owner, pid, tasks, pidns, cgroup;
	const char *comma;

	if (!mz_cursor_skip(&c, BEGIN))
		return 0;
	if (!field(&c, &owner) || !field(&c, &pid) || !field(&c, &tasks) || !field(&c, &pidns) ||
	    !field(&c, &cgroup) || pidns > UINT32_MAX)
		return -EINVAL;
	comma = memchr(c.p, ',', (size_t)(c.end - c.p)); /* behind the name of the process */
	if (!comma)
		return -EINVAL;
	return add_owner(o, owner, (uint32_t)pidns,
			 (struct mz_kmap_text){comma + 1, (size_t)(c.end - comma - 1)});
}

/* ---- the groups ------------------------------------------------------------------------- */

uint32_t mz_kmap_owners_group(const struct mz_kmap_owners *o, uint32_t owner)
{
	return owner < o->n ? o->group[owner] : 0;
}

const char *mz_kmap_group_path(const struct mz_kmap_owners *o, uint32_t group)
{
	return o->paths.items[o->groups[group].path].data;
}

/* The path itself, or one below it. */
static bool is_below(const char *path, const char *top)
{
	size_t n = strlen(top);

	while (n && top[n - 1] == '/')
		n--;
	return !strncmp(path, top, n) && (!path[n] || path[n] == '/');
}

/* A path with a slash in front is a branch of the tree of cgroups; any other text is a part of a
 * path. */
bool mz_kmap_group_is(const struct mz_kmap_owners *o, uint32_t group, const char *cgroup,
		      uint64_t pidns)
{
	const char *path = mz_kmap_group_path(o, group);

	if (!group || (pidns && o->groups[group].pidns != pidns))
		return false;
	if (!cgroup)
		return true;
	if (strpbrk(cgroup, "*?["))
		return !fnmatch(cgroup, path, 0);
	return *cgroup == '/' ? is_below(path, cgroup) : strstr(path, cgroup) != NULL;
}

/* All other lines belong to nobody. */
void mz_kmap_owners_count(struct mz_kmap_owners *o, const struct mz_kmap_record *rec)
{
	struct mz_kmap_group *g;

	if (rec->kind == MZ_KMAP_OBJECT) {
		g = &o->groups[mz_kmap_owners_group(o, rec->object.owner)];
		g->objects++;
		g->bytes += rec->object.size;
	} else if (rec->kind == MZ_KMAP_ACCESS) {
		g = &o->groups[mz_kmap_owners_group(o, rec->access.owner)];
		g->reads += rec->access.reads;
		g->writes += rec->access.writes;
	} else if (rec->kind == MZ_KMAP_CALL) {
		g = &o->groups[mz_kmap_owners_group(o, rec->call.owner)];
		g->calls += rec->call.count;
	}
}

void mz_kmap_owners_table(const struct mz_kmap_owners *o, struct mz_result_table *a)
{
	static const struct mz_result_column columns[] = {
		{"cgroup", "cgroup", MZ_RESULT_TEXT},
		{"pidns", "pid namespace", MZ_RESULT_TEXT},
		{"pids", "pids", MZ_RESULT_COUNT},
		{"objects", "objects", MZ_RESULT_COUNT},
		{"bytes", "bytes", MZ_RESULT_BYTES},
		{"reads", "reads", MZ_RESULT_COUNT},
		{"writes", "writes", MZ_RESULT_COUNT},
		{"calls", "calls", MZ_RESULT_COUNT},
		{"accesses", "accesses", MZ_RESULT_COUNT},
	};
	char number[16];

	mz_result_init(a, "owners", "Objects and accesses by owner", columns,
		       sizeof(columns) / sizeof(*columns));
	for (uint32_t i = 0; i < o->n_groups && !a->failed; i++) {
		const struct mz_kmap_group *g = &o->groups[i];
		union mz_result_cell *row = mz_result_row(a);

		if (!row)
			break;
		snprintf(number, sizeof(number), "%" PRIu32, g->pidns);
		mz_result_text(a, &row[0], i ? mz_kmap_group_path(o, i) : "(none)");
		mz_result_text(a, &row[1], i ? number : "");
		row[2].number = g->owners;
		row[3].number = g->objects;
		row[4].number = g->bytes;
		row[5].number = g->reads;
		row[6].number = g->writes;
		row[7].number = g->calls;
		row[8].number = g->reads + g->writes;
	}
	mz_result_sort(a, 8);
}
