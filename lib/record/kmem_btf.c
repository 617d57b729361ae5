// SPDX-License-Identifier: BSD-2-Clause
/* Look up in the kernel's own types what differs between versions. */
/*
 * These are the tracepoints that exist, and the places of their arguments, which are found by their
 * types.
 */
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "record/kmem_private.h"

#include "kmemtrace.skel.h" /* needs the types of the header before it */

#define POINTS 12

struct tracepoint {
	const char *name;
	unsigned group;
	unsigned args; /* with another number of arguments it is not the one we know; 0 = any */
};

static const struct tracepoint points[POINTS] = {
	{"kmalloc", MZ_KMEM_SLAB, 0},
	{"kmalloc_node", MZ_KMEM_SLAB, 0}, /* before 6.1 */
	{"kmem_cache_alloc", MZ_KMEM_SLAB, 0},
	{"kmem_cache_alloc_node", MZ_KMEM_SLAB, 0},
	{"kfree", MZ_KMEM_SLAB, 0},
	{"kmem_cache_free", MZ_KMEM_SLAB, 0},
	{"mm_page_alloc", MZ_KMEM_PAGES, 4},
	{"mm_page_free", MZ_KMEM_PAGES, 2},
	{"alloc_vmap_area", MZ_KMEM_VMALLOC, 6},
	{"free_vmap_area_noflush", MZ_KMEM_VMALLOC, 3},
	{"percpu_alloc_percpu", MZ_KMEM_PERCPU, 10},
	{"percpu_free_percpu", MZ_KMEM_PERCPU, 3},
};

static const struct btf_type *prototype(const struct btf *btf, const char *point)
{
	char name[64];
	const struct btf_type *t;
	int id;

	snprintf(name, sizeof(name), "btf_trace_%s", point);
	id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
	if (id < 0)
		return NULL;
	t = btf__type_by_id(btf, (uint32_t)id);
	t = t ? btf__type_by_id(btf, t->type) : NULL;
	t = t && btf_is_ptr(t) ? btf__type_by_id(btf, t->type) : NULL;
	return t && btf_is_func_proto(t) ? t : NULL;
}

static bool is_named(const struct btf *btf, const struct btf_type *t, const char *name)
{
	const char *n = t ? btf__name_by_offset(btf, t->name_off) : NULL;

	return n && !strcmp(n, name);
}

static bool is_cache(const struct btf *btf, const struct btf_type *t)
{
	if (!t || !btf_is_ptr(t))
		return false;
	t = btf__type_by_id(btf, t->type);
	while (t && btf_is_mod(t))
		t = btf__type_by_id(btf, t->type);
	return t && btf_is_struct(t) && is_named(btf, t, "kmem_cache");
}

/* After the call site (0) and the pointer (1): sizes, cache, gfp, node. */
static struct kmt_args find_args(const struct btf *btf, const struct btf_type *proto)
{
	const struct btf_param *p = btf_params(proto);
	struct kmt_args w = {0};

	/* the first parameter is the tracepoint's own and not in the context */
	for (unsigned i = 3; i < btf_vlen(proto) && i <= 8; i++) {
		const struct btf_type *t = btf__type_by_id(btf, p[i].type);
		uint8_t at = (uint8_t)(i - 1);

		if (is_cache(btf, t))
			w.cache = at;
		else if (is_named(btf, t, "size_t") && !w.req)
			w.req = at;
		else if (is_named(btf, t, "size_t"))
			w.given = at;
		else if (is_named(btf, t, "gfp_t"))
			w.gfp = at;
		else if (is_named(btf, t, "int") && w.gfp)
			w.node = at;
	}
	return w;
}

static void set_args(struct kmemtrace *skel, unsigned i, const struct kmt_args *w)
{
	void *to[] = {&skel->rodata->arg_kmalloc,
		      &skel->rodata->arg_kmalloc_node,
		      &skel->rodata->arg_cache_alloc,
		      &skel->rodata->arg_cache_alloc_node,
		      NULL,
		      &skel->rodata->arg_cache_free};

	if (i < sizeof(to) / sizeof(*to) && to[i])
		memcpy(to[i], w, sizeof(*w));
}

static bool configure_point(struct kmemtrace *skel, const struct btf *btf, unsigned i,
			    const struct mz_kmem_options *o)
{
	const struct btf_type *proto = prototype(btf, points[i].name);
	bool on = proto && (o->groups & points[i].group);
	struct kmt_args w;

	if (on && points[i].args && btf_vlen(proto) != points[i].args + 1)
		on = false;
	if (on) {
		w = find_args(btf, proto);
		/* an allocation without sizes or cache is one that we do not know */
		if (i < 4 && (!w.gfp || !((w.req && w.given) || w.cache)))
			on = false;
		else
			set_args(skel, i, &w);
	}
	for (int half = 1; half <= 2; half++) {
		char name[64];
		struct bpf_program *prog;

		snprintf(name, sizeof(name), "%s_%d", points[i].name, half);
		prog = bpf_object__find_program_by_name(skel->obj, name);
		if (prog)
			bpf_program__set_autoload(prog, on && (half == 1 || o->rescue));
	}
	return on;
}

int kmem_btf_configure(struct kmemtrace *skel, const struct mz_kmem_options *o,
		       struct mz_error *err)
{
	struct btf *btf = btf__load_vmlinux_btf();
	unsigned got = 0;

	if (!btf)
		return mz_fail(err, errno ? errno : ENOTSUP,
			       "/sys/kernel/btf/vmlinux: cannot read the kernel's types (%s); "
			       "it needs CONFIG_DEBUG_INFO_BTF=y; see 'memorizer doctor'",
			       strerror(errno));
	for (unsigned i = 0; i < POINTS; i++)
		if (configure_point(skel, btf, i, o))
			got |= points[i].group;
	btf__free(btf);
	if (got != o->groups)
		return mz_fail(err, ENOTSUP,
			       "this kernel has no known tracepoint for:%s%s%s%s; leave it out of "
			       "--events",
			       o->groups & ~got & MZ_KMEM_SLAB ? " slab" : "",
			       o->groups & ~got & MZ_KMEM_PAGES ? " pages" : "",
			       o->groups & ~got & MZ_KMEM_VMALLOC ? " vmalloc" : "",
			       o->groups & ~got & MZ_KMEM_PERCPU ? " percpu" : "");
	return 0;
}
