// SPDX-License-Identifier: BSD-2-Clause
/* A table of functions, a cut and a file of weights, with lines "%%" between them, for a fixed map:
 * what is taken gives every function and object a domain, and the measures hold. */
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/privilege_cluster.h"
#include "analysis/privilege_rows.h"
#include "formats/kmap.h"
#include "tests/fuzz/fuzz.h"

static const char map[] =
	"ffffffff81000010 ffffffff81000064 4\n"
	"ffffffff81000070 ffffffff810000a0 1\n"
	"ffffffff81000020,1,ffff888000001000,64,0,0,ffffffff81000080,KMALLOC,sh,x\n"
	"  ffffffff81000030,10,0\n"
	"  ffffffff81000074,0,6\n"
	"(null),0,ffffffff82000000,24,0,0,(null),GLOBAL,swapper,no-slab\n"
	"  ffffffff81000034,0,7\n"
	"  ffffffffc0000010,1,0\n";

static void build_union(struct mz_union *u)
{
	struct mz_kmap_model_options o = {.by = MZ_KMAP_BY_FUNCTION, .lives = true};
	struct mz_error err = {0};
	struct mz_kmap *k = mz_kmap_open_memory(map, sizeof(map) - 1, "map", &err);
	struct mz_kmap_model m;

	MUST(k && !mz_kmap_model_read(&m, k, &o, &err));
	MUST(!mz_union_init(u) && !mz_union_add(u, &m, "map") && !mz_union_finish(u));
	mz_kmap_model_deinit(&m);
	mz_kmap_close(k);
}

/* The readers take files. */
struct memory_file {
	int fd;
	char path[40];
};

static struct memory_file put_file(const uint8_t *data, size_t size)
{
	struct memory_file f = {.fd = memfd_create("fuzz", 0)};

	MUST(f.fd >= 0 && write(f.fd, data, size) == (ssize_t)size);
	snprintf(f.path, sizeof(f.path), "/proc/self/fd/%d", f.fd);
	return f;
}

static void must_hold(struct mz_privilege *p, const struct mz_cut *c)
{
	for (size_t i = 0; i < p->f->n; i++)
		MUST(c->function[i] < c->n && *mz_cut_name(c, c->function[i]));
	for (size_t i = 0; c->object && i < p->u->n_objects; i++)
		MUST(c->object[i] < c->n_objects);
	for (int links = 0; links < MZ_LINKS; links++) {
		struct mz_reach r;
		uint64_t ps[MZ_CODE_OPS], least[MZ_CODE_OPS];

		MUST(!mz_reach_init(&r, p, c, (enum mz_links)links));
		mz_privilege_ps(p, &r, true, false, ps);
		mz_privilege_min(p, least);
		MUST(r.calls_across <= r.calls && r.accesses_across <= r.accesses);
		for (int op = 0; op < MZ_CODE_OPS && !p->overflow && !c->object; op++)
			MUST(op == MZ_CODE_OP_CALL || op == MZ_CODE_OP_RETURN ||
			     ps[op] >= least[op]);
		mz_reach_deinit(&r);
	}
}

static void try_cut(struct mz_privilege *p, const uint8_t *data, size_t size)
{
	struct memory_file f = put_file(data, size);
	struct mz_error err = {0};
	struct mz_cut_denials d;
	struct mz_result_table a;
	struct mz_cut c;
	int ret = mz_cut_read(&c, p, f.path, &err);

	if (ret < 0) {
		must_explain(&err, ret);
	} else {
		must_hold(p, &c);
		mz_cut_check(p, &c, &d, &a);
		MUST(!a.failed && d.denied <= d.accesses);
		MUST(d.denied == d.functions + d.objects + d.crossings + d.operations);
		mz_result_deinit(&a);
	}
	mz_cut_deinit(&c);
	close(f.fd);
}

static void try_weights(const uint8_t *data, size_t size, const char *mechanism)
{
	struct memory_file f = put_file(data, size);
	struct mz_cluster_options o = {.access = -1, .call = -1};
	struct mz_error err = {0};
	int ret = mz_cut_costs(&o, f.path, mechanism, &err);

	if (ret < 0)
		must_explain(&err, ret);
	else
		MUST(o.access >= 0 && o.access < 1e15 && o.call >= 0 && o.call < 1e15);
	close(f.fd);
}

/* The part before the next "%%" line; moves behind it. */
static size_t part(const uint8_t **data, size_t *size)
{
	const uint8_t *at = *size ? memmem(*data, *size, "%%\n", 3) : NULL;
	size_t n = at ? (size_t)(at - *data) : *size, used = at ? n + 3 : n;

	*data += used;
	*size -= used;
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *table = data;
	size_t n = part(&data, &size);
	const uint8_t *cut = data;
	size_t cut_size = part(&data, &size);
	struct memory_file file = put_file(table, n);
	struct mz_error err = {0};
	struct mz_functions f;
	struct mz_privilege p;
	struct mz_union u;
	int ret = mz_functions_read(&f, file.path, &err);

	try_weights(data, size, NULL);
	try_weights(data, size, "mpk");
	if (ret < 0) {
		must_explain(&err, ret);
	} else {
		build_union(&u);
		err = (struct mz_error){0};
		ret = mz_privilege_init(&p, &u, &f, &err);
		if (ret < 0)
			must_explain(&err, ret);
		else
			try_cut(&p, cut, cut_size);
		mz_privilege_deinit(&p);
		mz_union_deinit(&u);
	}
	mz_functions_deinit(&f);
	close(file.fd);
	return 0;
}
