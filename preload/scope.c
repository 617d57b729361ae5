// SPDX-License-Identifier: BSD-2-Clause
/* Find the definition that a call would reach without this library. */
#include "scope.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

extern __typeof__(dladdr1) dladdr1 __attribute__((weak)); /* musl has none */

bool mz_is_defined(void *function)
{
	const ElfW(Sym) *sym = NULL;
	Dl_info info;

	return dladdr1 && dladdr1(function, &info, (void **)&sym, RTLD_DL_SYMENT) && sym &&
	       sym->st_shndx != SHN_UNDEF;
}

static bool is_ours(void *function)
{
	Dl_info theirs, ours;

	return dladdr((void *)mz_definition, &ours) && dladdr(function, &theirs) &&
	       theirs.dli_fbase == ours.dli_fbase;
}

void *mz_definition(const char *name, bool *own)
{
	void *p = dlsym(RTLD_DEFAULT, name);

	*own = p && !is_ours(p) && mz_is_defined(p);
	return *own ? p : dlsym(RTLD_NEXT, name);
}

/* ---- beside malloc --------------------------------------------------------------- */

/* The hash table of an object's names, as the linker reads it. */
struct name_table {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *hash; /* DT_GNU_HASH */
};

static const void *address_of(const struct link_map *m, const ElfW(Dyn) * d)
{
	return (const void *)(d->d_un.d_ptr < m->l_addr ? d->d_un.d_ptr + m->l_addr
							: d->d_un.d_ptr);
}

static bool find_names(const struct link_map *m, struct name_table *n)
{
	*n = (struct name_table){0};
	for (const ElfW(Dyn) *d = m->l_ld; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			n->symbols = address_of(m, d);
		else if (d->d_tag == DT_STRTAB)
			n->strings = address_of(m, d);
		else if (d->d_tag == DT_GNU_HASH)
			n->hash = address_of(m, d);
	}
	return n->symbols && n->strings && n->hash && n->hash[0];
}

static bool defines(const struct link_map *m, const char *name)
{
	uint32_t h = 5381, buckets, i;
	const uint32_t *bucket, *chain;
	struct name_table n;

	if (!find_names(m, &n))
		return false;
	for (const char *p = name; *p; p++)
		h = h * 33 + (unsigned char)*p;
	buckets = n.hash[0];
	/* four words, then a filter of words of the processor's size */
	bucket = n.hash + 4 + n.hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	chain = bucket + buckets;
	i = bucket[h % buckets];
	if (i < n.hash[1])
		return false;
	for (;; i++) {
		uint32_t c = chain[i - n.hash[1]];

		if ((c | 1) == (h | 1) && n.symbols[i].st_shndx != SHN_UNDEF &&
		    !strcmp(n.strings + n.symbols[i].st_name, name))
			return true;
		if (c & 1)
			return false;
	}
}

void *mz_rare_definition(const char *name)
{
	struct link_map *self = NULL, *m;
	Dl_info info;
	bool own;

	if (!dladdr1 ||
	    !dladdr1((void *)mz_rare_definition, &info, (void **)&self, RTLD_DL_LINKMAP))
		return NULL;
	for (m = self; m->l_prev; m = m->l_prev)
		;
	for (; m; m = m->l_next)
		if (m != self && defines(m, name))
			return mz_definition(name, &own);
	return NULL;
}

const struct link_map *mz_allocator(const void *malloc)
{
	struct link_map *of_malloc = NULL, *of_c = NULL;
	Dl_info info;

	if (!malloc || !dladdr1 || !dladdr1(malloc, &info, (void **)&of_malloc, RTLD_DL_LINKMAP) ||
	    !dladdr1((void *)strlen, &info, (void **)&of_c, RTLD_DL_LINKMAP))
		return NULL;
	return of_malloc == of_c ? NULL : of_malloc;
}

void *mz_beside(const struct link_map *allocator, const char *name)
{
	struct link_map *of = NULL;
	Dl_info info;
	void *p;

	if (!allocator || !defines(allocator, name))
		return NULL;
	/* another object may come first */
	p = dlsym(RTLD_DEFAULT, name);
	return p && dladdr1(p, &info, (void **)&of, RTLD_DL_LINKMAP) && of == allocator &&
			       mz_is_defined(p)
		       ? p
		       : NULL;
}
