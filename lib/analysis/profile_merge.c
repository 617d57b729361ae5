// SPDX-License-Identifier: BSD-2-Clause
/* Add up the profiles of many recordings: in any order, with the same result. */
#include "analysis/profile_merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

int mz_profile_merge_init(struct mz_profile_merge *m)
{
	*m = (struct mz_profile_merge){0};
	return mz_profile_init(&m->sum);
}

void mz_profile_merge_deinit(struct mz_profile_merge *m)
{
	mz_profile_deinit(&m->sum);
}

/* A sum that wraps around would be a small one. */
static int add_sum(struct mz_heap_sum *to, const struct mz_heap_sum *from, struct mz_error *err)
{
	for (size_t i = 0; i < mz_profile_nvalues; i++)
		if (mz_profile_get(&mz_profile_values[i], to) >
		    UINT64_MAX - mz_profile_get(&mz_profile_values[i], from))
			return mz_fail(err, EOVERFLOW, "the sum of %s is over 2^64",
				       mz_profile_values[i].name);
	mz_heap_sum_add(to, from);
	return 0;
}

/* The frame as a file of sums can store it: with the file or the module, but without an address. A
 * sum that is written and read again is therefore the same. */
static uint32_t frame_of(struct mz_profile *p, const struct mz_frame *f)
{
	const char *module = f->file ? NULL : f->module ? f->module : "?";

	return mz_profile_frame(p, 0, f->named ? f->name : "(unknown)", f->file, f->line, module);
}

static int add_site(struct mz_profile *to, const struct mz_profile *from,
		    const struct mz_profile_site *s, const uint64_t *map, struct mz_error *err)
{
	size_t depth;
	const uint64_t *frames = mz_profile_stack(from, s, &depth);
	uint64_t *own = malloc((depth + 1) * sizeof(*own));
	struct mz_profile_site *site = NULL;

	for (size_t i = 0; own && i < depth; i++)
		own[i] = map[frames[i]];
	if (own)
		site = mz_profile_site(to, own, depth);
	free(own);
	return site ? add_sum(&site->sum, &s->sum, err) : mz_fail_memory(err);
}

/* Each frame is looked up once, and its stacks refer to it by number. */
static int add_sites(struct mz_profile *to, const struct mz_profile *from, struct mz_error *err)
{
	uint32_t n = mz_profile_frames(from);
	uint64_t *map = calloc((size_t)n + 1, sizeof(*map));
	int ret = map ? 0 : mz_fail_memory(err);

	for (uint32_t i = 1; i <= n && !ret; i++) {
		struct mz_frame f = mz_profile_get_frame(from, i);

		map[i] = frame_of(to, &f);
		if (!map[i])
			ret = mz_fail_memory(err);
	}
	for (size_t i = 0; i < from->nsites && !ret; i++)
		ret = add_site(to, from, &from->sites[i], map, err);
	free(map);
	return ret;
}

/* If the texts differ, the first in the alphabet is taken: the result must not depend on the
 * order. */
static int join_command(struct mz_profile *to, const struct mz_profile *from)
{
	char *copy;

	if (!from->command || (to->command && strcmp(to->command, from->command) <= 0))
		return 0;
	copy = strdup(from->command);
	if (!copy)
		return -ENOMEM;
	free(to->command);
	to->command = copy;
	return 0;
}

/* The sum has only values that all of its parts have; a value that one part lacks would be too
 * small. */
static int join_heads(struct mz_profile_merge *m, const struct mz_profile *p, struct mz_error *err)
{
	struct mz_profile *to = &m->sum;

	if (!m->recordings) {
		to->kind = p->kind;
		to->clock = p->clock;
		to->has = p->has;
	}
	if (to->kind != p->kind)
		return mz_fail(err, EINVAL,
			       "it is %s, and those before it are %s: only recordings of the same "
			       "kind can be "
			       "added up",
			       mz_profile_kind_name(p->kind), mz_profile_kind_name(to->kind));
	to->has &= p->has;
	if (to->clock != p->clock) { /* not in the same unit */
		to->has &= ~(uint32_t)MZ_PROFILE_LIFETIME;
		to->clock = MZ_CLOCK_EVENTS;
	}
	to->last += p->last > p->first ? p->last - p->first : 0;
	to->events += p->events;
	to->lost += p->lost;
	to->files_cut += p->files_cut;
	for (int i = 0; i < MZ_LOSSES; i++)
		to->lost_by[i] += p->lost_by[i];
	return join_command(to, p) ? mz_fail_memory(err) : add_sum(&to->all, &p->all, err);
}

int mz_profile_merge_add(struct mz_profile_merge *m, const struct mz_profile *p,
			 struct mz_error *err)
{
	int ret = join_heads(m, p, err);

	if (!ret)
		ret = add_sites(&m->sum, p, err);
	if (!ret)
		m->recordings += p->merged ? p->merged : 1;
	return ret;
}

/* ---- the order of the names ------------------------------------------------- */

struct named {
	char *key;
	const struct mz_profile_site *site;
};

/* The texts of a stack's frames, with separators that no name has. */
static char *key_of(const struct mz_profile *p, const struct mz_profile_site *s)
{
	struct mz_buf b = {0};
	size_t depth;
	const uint64_t *frames = mz_profile_stack(p, s, &depth);

	for (size_t i = 0; i < depth; i++) {
		struct mz_frame f = mz_profile_get_frame(p, (uint32_t)frames[i]);

		mz_buf_printf(&b, "%s\001%s\001%s\001%u\002", f.name, f.file ? f.file : "",
			      f.module ? f.module : "", f.line);
	}
	mz_buf_add(&b, "", 1);
	if (b.failed)
		mz_buf_free(&b);
	return b.data;
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->key, ((const struct named *)b)->key);
}

/* A value that not all recordings have is no value of the sum. */
static void forget_unknown(struct mz_heap_sum *sum, uint32_t has)
{
	for (size_t i = 0; i < mz_profile_nvalues; i++)
		if (!(mz_profile_values[i].has & has))
			*(uint64_t *)(void *)((char *)sum + mz_profile_values[i].offset) = 0;
}

static int copy_sorted(const struct mz_profile *from, struct mz_profile *to, struct named *list)
{
	for (size_t i = 0; i < from->nsites; i++) {
		size_t depth;
		const uint64_t *frames = mz_profile_stack(from, list[i].site, &depth);
		uint64_t *own = malloc((depth + 1) * sizeof(*own));
		struct mz_profile_site *site = NULL;

		for (size_t k = 0; own && k < depth; k++) {
			struct mz_frame f = mz_profile_get_frame(from, (uint32_t)frames[k]);

			own[k] = frame_of(to, &f);
			if (!own[k])
				depth = 0;
		}
		if (own && depth)
			site = mz_profile_site(to, own, depth);
		free(own);
		if (!site)
			return -ENOMEM;
		site->sum = list[i].site->sum;
		forget_unknown(&site->sum, to->has);
	}
	return 0;
}

/* The sites are written in the order of their names, so the result does not depend on the order in
 * which the parts came. */
int mz_profile_merge_end(const struct mz_profile_merge *m, struct mz_profile *out,
			 struct mz_error *err)
{
	const struct mz_profile *p = &m->sum;
	struct named *list = calloc(p->nsites + 1, sizeof(*list));
	int ret = list ? 0 : -ENOMEM;

	out->kind = p->kind;
	out->source = "merged";
	out->clock = p->clock;
	out->has = p->has;
	out->last = p->last;
	out->events = p->events;
	out->lost = p->lost;
	out->files_cut = p->files_cut;
	memcpy(out->lost_by, p->lost_by, sizeof(out->lost_by));
	out->all = p->all;
	forget_unknown(&out->all, out->has);
	out->merged = m->recordings;
	if (p->command && !(out->command = strdup(p->command)))
		ret = -ENOMEM;
	for (size_t i = 0; i < p->nsites && !ret; i++) {
		list[i] = (struct named){key_of(p, &p->sites[i]), &p->sites[i]};
		if (!list[i].key)
			ret = -ENOMEM;
	}
	if (!ret && p->nsites)
		qsort(list, p->nsites, sizeof(*list), by_key);
	if (!ret)
		ret = copy_sorted(p, out, list);
	for (size_t i = 0; list && i < p->nsites; i++)
		free(list[i].key);
	free(list);
	return ret ? mz_fail_memory(err) : 0;
}
