// SPDX-License-Identifier: BSD-2-Clause
/* KMAPs, packed or not, or containers of them: what is read is written as lines, and
 * read again it is the same; the model never sees more than the lines have. */
#include "analysis/kmap_owners.h"
#include "analysis/kmap_questions.h"
#include "tests/fuzz/fuzz.h"

static struct mz_kmap *open_map(const uint8_t *data, size_t size, bool all)
{
	struct mz_error err = {0};
	struct mz_kmap *k = mz_kmap_open_memory(data, size, "fuzz", &err);

	if (!k) {
		must_explain(&err, -err.code);
		return NULL;
	}
	mz_kmap_skip_bad(k, true);
	mz_kmap_keep_other(k, all);
	return k;
}

static bool same_text(struct mz_kmap_text a, struct mz_kmap_text b)
{
	return a.len == b.len && (!a.len || !memcmp(a.p, b.p, a.len));
}

/* The line that a record makes says what the record says. */
static void must_survive(const struct mz_kmap_record *rec, const struct mz_kmap_object *of)
{
	const struct mz_kmap_object *o = &rec->object;
	struct mz_kmap_record again;
	size_t room = MZ_KMAP_ROOM + 5 * rec->line.len, n;
	int shape = of->shape;
	char *line;

	if (rec->kind == MZ_KMAP_OTHER)
		return;
	if (rec->kind == MZ_KMAP_OBJECT)
		room += o->comm.len + o->type.len + o->cache.len + o->new_type.len;
	line = malloc(room);
	MUST(line);
	n = mz_kmap_format(line, rec, of);
	MUST(n <= room);
	MUST(!mz_kmap_parse(line, n, &shape, &again));
	MUST(again.kind == rec->kind);
	if (rec->kind == MZ_KMAP_ACCESS) {
		MUST(again.access.ip == rec->access.ip && again.access.reads == rec->access.reads);
		MUST(again.access.writes == rec->access.writes &&
		     again.access.pid == rec->access.pid &&
		     again.access.owner == rec->access.owner);
		MUST(again.access.fields != 6 || (again.access.first == rec->access.first &&
						  again.access.last == rec->access.last));
	} else if (rec->kind == MZ_KMAP_CALL) {
		MUST(again.call.from == rec->call.from && again.call.to == rec->call.to);
		MUST(again.call.count == rec->call.count && again.call.pid == rec->call.pid);
		MUST(again.call.by_process == rec->call.by_process &&
		     again.call.owner == rec->call.owner);
	} else {
		MUST(again.object.alloc_ip == o->alloc_ip && again.object.va == o->va);
		MUST(again.object.size == o->size && again.object.free_ip == o->free_ip);
		MUST(again.object.owner == o->owner);
		MUST(again.object.shape == o->shape && same_text(again.object.comm, o->comm));
		MUST(same_text(again.object.type, o->type) &&
		     same_text(again.object.cache, o->cache));
	}
	free(line);
	line = malloc(room + 4 * room);
	MUST(line);
	n = mz_kmap_format_as(line, rec, MZ_KMAP_G2);
	MUST(n <= 5 * room);
	n = mz_kmap_format_as(line, rec, MZ_KMAP_G3);
	MUST(n <= 5 * room);
	free(line);
}

/* Every object is somebody's or nobody's, whatever the owners are. */
static void must_add_up(const struct mz_kmap_owners *w, uint64_t objects)
{
	struct mz_result_table a;

	for (uint32_t i = 0; i < w->n_groups; i++) {
		MUST(!i ||
		     mz_kmap_group_is(w, i, "/", w->groups[i].pidns) ==
			     (*mz_kmap_group_path(w, i) == '/' || !*mz_kmap_group_path(w, i)));
		objects -= w->groups[i].objects;
	}
	MUST(!objects);
	mz_kmap_owners_table(w, &a);
	MUST(!a.failed && a.rows == w->n_groups);
	mz_result_deinit(&a);
}

/* Every record; returns how many objects and accesses there are. */
static void read_records(const uint8_t *data, size_t size, uint64_t *objects, uint64_t *accesses)
{
	struct mz_kmap *k = open_map(data, size, true);
	struct mz_kmap_owners w;
	struct mz_kmap_object of = {0};
	struct mz_kmap_record rec;
	int ret = 0;

	MUST(mz_kmap_owners_init(&w));
	while (k && (ret = mz_kmap_next(k, &rec)) > 0) {
		if (rec.kind == MZ_KMAP_OTHER)
			mz_kmap_owners_line(&w, rec.line);
		else
			mz_kmap_owners_count(&w, &rec);
		if (rec.kind == MZ_KMAP_OBJECT)
			of = rec.object;
		*objects += rec.kind == MZ_KMAP_OBJECT;
		*accesses += rec.kind == MZ_KMAP_ACCESS;
		/* in a container a line may be anything, and texts too */
		if (rec.line.len)
			must_survive(&rec, &of);
	}
	if (ret < 0)
		must_explain(mz_kmap_error(k), ret);
	mz_kmap_close(k);
	must_add_up(&w, *objects);
	mz_kmap_owners_deinit(&w);
}

static void ask(const struct mz_kmap_model *m,
		void (*question)(const struct mz_kmap_model *, struct mz_result_table *))
{
	struct mz_result_table a;

	question(m, &a);
	MUST(!a.failed);
	mz_result_deinit(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mz_kmap_model_options o = {.pids = true, .by = size % 6};
	uint64_t objects = 0, accesses = 0;
	struct mz_error err = {0};
	struct mz_kmap_model m;
	struct mz_kmap *k;

	read_records(data, size, &objects, &accesses);
	k = open_map(data, size, false);
	if (!k)
		return 0;
	if (!mz_kmap_model_read(&m, k, &o, &err)) {
		MUST(m.total.all.objects == objects && m.accesses == accesses);
		ask(&m, mz_kmap_matrix);
		ask(&m, mz_kmap_shared);
		ask(&m, mz_kmap_unused);
		ask(&m, mz_kmap_processes);
		ask(&m, mz_kmap_accessors);
	} else {
		must_explain(&err, -err.code);
	}
	mz_kmap_model_deinit(&m);
	mz_kmap_close(k);
	return 0;
}
