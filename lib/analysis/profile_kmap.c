// SPDX-License-Identifier: BSD-2-Clause
/* Make a profile of a KMAP. */
/*
 * It has a stack for each class of objects, with reads and writes. Its frames are the function that
 * allocates and, as its caller, what the object is: a cache, a type, a variable.
 */
#include <errno.h>
#include <stdio.h>

#include "analysis/kmap.h"
#include "analysis/profile_files.h"
#include "base/error.h"

static const char *text(const struct mz_kmap_model *m, uint32_t id)
{
	return id ? mz_kmap_string(m, id) : NULL;
}

static uint32_t place_frame(struct mz_profile *p, const struct mz_kmap_model *m, uint32_t place)
{
	const struct mz_kmap_place *at = &m->places[place];
	const char *file = text(m, at->file);

	return mz_profile_frame(p, at->ip, text(m, at->function), file ? file : text(m, at->home),
				file ? at->line : 0, text(m, at->module));
}

static uint32_t object_frame(struct mz_profile *p, const struct mz_kmap_model *m, uint32_t class)
{
	const struct mz_kmap_class *c = &m->classes[class];
	char name[256], label[300];

	mz_kmap_class_name(m, class, MZ_KMAP_BY_CACHE, name, sizeof(name));
	snprintf(label, sizeof(label), "[%s%s]", c->global ? "global " : "", name);
	return mz_profile_frame(p, 0, label, NULL, 0, NULL);
}

static struct mz_heap_sum sum_of(const struct mz_kmap_class *c)
{
	return (struct mz_heap_sum){
		.blocks = c->all.objects,
		.bytes = c->all.bytes,
		.live_blocks = c->all.objects - c->freed.objects,
		.live_bytes = c->all.bytes - c->freed.bytes,
		.reads = c->reads,
		.writes = c->writes,
	};
}

int mz_profile_of_kmap(struct mz_profile *p, const struct mz_kmap_model *m, struct mz_error *err)
{
	p->kind = MZ_PROFILE_KMAP;
	p->source = "kmap";
	p->has = MZ_PROFILE_TOTAL | MZ_PROFILE_LIVE | MZ_PROFILE_ACCESS;
	p->clock = MZ_CLOCK_EVENTS;
	p->files_cut = m->files_cut;
	p->last = m->timeline.now - m->timeline.first;
	for (size_t i = 0; i < m->n_classes; i++) {
		struct mz_heap_sum sum = sum_of(&m->classes[i]);
		uint64_t frames[2] = {place_frame(p, m, m->classes[i].place),
				      object_frame(p, m, (uint32_t)i)};
		bool global = m->classes[i].global;
		struct mz_profile_site *s;

		if (!frames[0] || !frames[1])
			return mz_fail_memory(err);
		s = mz_profile_site(p, frames + global,
				    global ? 1 : 2); /* they are not allocated */
		if (!s)
			return mz_fail_memory(err);
		mz_heap_sum_add(&s->sum, &sum);
		mz_heap_sum_add(&p->all, &sum);
	}
	return 0;
}
