// SPDX-License-Identifier: BSD-2-Clause
/* Find the definition that a call would reach if this library were not there. */
#include "scope.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

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
