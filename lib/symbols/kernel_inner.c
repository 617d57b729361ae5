// SPDX-License-Identifier: BSD-2-Clause
/* Tell the kernel's allocators and tracing from the code that called them. */
#include <string.h>

#include "symbols/kallsyms.h"

/* The beginnings of their names. The list grows with the kernel, which is why recordings keep
 * whole stacks: a name that is missing here today can be added for old recordings, too. */
static const char *const inner[] = {
	/* tracing */
	"bpf_",
	"__bpf_",
	"__traceiter_",
	"trace_",
	/* pages */
	"__alloc_pages",
	"alloc_pages",
	"__alloc_frozen",
	"alloc_frozen",
	"__get_free_page",
	"get_free_page",
	"get_zeroed_page",
	"__folio_alloc",
	"folio_alloc",
	"vma_alloc_folio",
	/* large blocks and vmalloc */
	"___kmalloc_large",
	"__kmalloc_large",
	"alloc_vmap_area",
	"__get_vm_area",
	"get_vm_area",
	"__vmalloc",
	"vmalloc",
	"vzalloc",
	/* slabs */
	"kmalloc_",
	"__kmalloc",
	"kmem_cache_alloc",
	"__kmem_cache_alloc",
	"pcpu_alloc",
	"__slab_alloc",
	"___slab_alloc",
	"allocate_slab",
	"new_slab",
};

bool mz_kernel_inner(const char *function)
{
	for (size_t i = 0; function && i < sizeof(inner) / sizeof(*inner); i++)
		if (!strncmp(function, inner[i], strlen(inner[i])))
			return true;
	return false;
}

/* The beginnings of their names: the program at a tracepoint, and what calls it there. */
static const char *const recorder[] = {
	"bpf_prog_", "bpf_trampoline_", "bpf_trace_run", "__bpf_trace_", "__traceiter_",
};

bool mz_kernel_recorder(const char *function)
{
	for (size_t i = 0; function && i < sizeof(recorder) / sizeof(*recorder); i++)
		if (!strncmp(function, recorder[i], strlen(recorder[i])))
			return true;
	return false;
}

size_t mz_kallsyms_call_site(const struct mz_kallsyms *k, const uint64_t *ips, size_t depth)
{
	size_t at = 0;

	/* all frames are inner ones: the outermost is nearest to the code that wanted memory */
	while (k && at + 1 < depth && mz_kernel_inner(mz_kallsyms_find(k, ips[at], NULL, NULL)))
		at++;
	return at;
}
