// SPDX-License-Identifier: BSD-2-Clause
/* Redirect the allocator calls of loaded libraries through their GOT entries. */
#include "redirect.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "code_ranges.h"
#include "entries.h"
#include "hooks.h"
#include "operators.h"
#include "region.h"
#include "ring.h"
#include "stack.h"
#include "system.h"

static const char *const names[MZ_REALS] = {MZ_REAL_CALLS};

static bool redirected;
static const struct r_debug_extended *for_debuggers; /* only the executable has it */
static unsigned long long objects_seen;		     /* dlpi_adds */
static unsigned long long unloads_seen;		     /* dlpi_subs */

struct object {
	uintptr_t base, start, end;
	const ElfW(Sym) * symbols;
	const char *strings;
	uintptr_t relro, relro_end;
	bool finished;	  /* by the linker; false = not known */
	bool usual_scope; /* a name means the same in it as in the executable */
	bool unlocked;
	unsigned changed;
};

struct redirection {
	bool ours;		      /* towards the hooks */
	bool at_start;		      /* the program has loaded nothing by itself yet */
	const ElfW(Dyn) * executable; /* its list, and the names in it */
	const char *strings;
	unsigned changed;
	unsigned long long adds; /* dlpi_adds */
	bool unfinished;	 /* an object was left out: the linker still works on it */
};

/* The number of a call in the table; MZ_REALS = none of ours. */
static unsigned find_call(const char *name)
{
	for (unsigned i = 0; i < MZ_REALS; i++)
		if (name[0] == names[i][0] && !strcmp(name, names[i]))
			return i;
	return MZ_REALS;
}

/* ---- what the linker is done with --------------------------------------------- */

/* A library is on the linker's list before it is relocated, and another thread may be loading one
 * just now. If its pages were made read-only here, the linker's next write would crash; and what it
 * has not filled in yet cannot be told from what is not ours. Its last step is to make these pages
 * read-only. What was there from the start is complete. */
static bool is_finished(struct object *o, const struct redirection *p)
{
	if (!o->finished)
		o->finished = p->at_start || o->relro >= o->relro_end || mz_is_sealed(o->relro);
	return o->finished;
}

/* It is made writable for as long as necessary. */
static bool unlock(struct object *o, uintptr_t slot)
{
	if (o->unlocked || slot < o->relro || slot >= o->relro_end)
		return true;
	o->unlocked =
		!mz_mprotect((void *)o->relro, o->relro_end - o->relro, PROT_READ | PROT_WRITE);
	return o->unlocked;
}

/* ---- one object ----------------------------------------------------------------- */

/* The replacement for a function, and the function itself; false: the function is left alone. */
static bool find_hook(const char *name, void **hook, void **real)
{
	unsigned call = find_call(name);

	if (call == MZ_REALS)
		return mz_operator(name, hook, real) || mz_entry(name, hook, real);
	if (mz_hooks[call].maps && !(mz_region->flags & MZ_REGION_MMAP))
		return false;
	*hook = mz_hooks[call].hook;
	*real = *mz_hooks[call].real;
	return *hook && *real;
}

/* Has the function not been called yet, so that the entry still points to the code that asks the
 * linker? An object that defines a function of this name, as the C++ library does for operators,
 * may point to its own function; and if that object is searched first, the linker will choose that
 * function. */
static bool is_lazy(const struct object *o, const ElfW(Rela) * r, const ElfW(Sym) * sym,
		    uintptr_t now)
{
	void *hook, *real;

	if (ELF64_R_TYPE(r->r_info) != R_X86_64_JUMP_SLOT || now < o->start || now >= o->end)
		return false;
	return sym->st_shndx == SHN_UNDEF || (o->usual_scope && now != o->base + sym->st_value &&
					      mz_operator(o->strings + sym->st_name, &hook, &real));
}

/* False: the object is not finished. */
static bool change(struct object *o, const ElfW(Rela) * r, struct redirection *p)
{
	const ElfW(Sym) *sym = &o->symbols[ELF64_R_SYM(r->r_info)];
	void **slot = (void **)(o->base + r->r_offset), *now, *hook, *real;

	if (!find_hook(o->strings + sym->st_name, &hook, &real))
		return true;
	now = __atomic_load_n(slot, __ATOMIC_RELAXED);
	if (now == (p->ours ? hook : real))
		return true;
	if (!is_finished(o, p))
		return false;
	now = __atomic_load_n(slot, __ATOMIC_RELAXED);
	if (p->ours ? now != real && !is_lazy(o, r, sym, (uintptr_t)now) : now != hook)
		return true;
	if (!unlock(o, (uintptr_t)slot))
		return true;
	__atomic_store_n(slot, p->ours ? hook : real, __ATOMIC_RELEASE);
	o->changed++;
	return true;
}

static bool change_all(struct object *o, const ElfW(Rela) * r, size_t bytes, struct redirection *p)
{
	for (size_t i = 0; r && i < bytes / sizeof(*r); i++) {
		unsigned type = ELF64_R_TYPE(r[i].r_info);

		if (ELF64_R_SYM(r[i].r_info) &&
		    (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ||
		     type == R_X86_64_64) &&
		    !change(o, &r[i], p))
			return false;
	}
	return true;
}

/* The linker has relocated these, but not in the object that the kernel provides. */
static const void *table(const struct object *o, const ElfW(Dyn) * d)
{
	return (const void *)(d->d_un.d_ptr < o->base ? d->d_un.d_ptr + o->base : d->d_un.d_ptr);
}

static void change_object(struct object *o, const ElfW(Dyn) * d, struct redirection *p)
{
	const ElfW(Rela) *rela = NULL, *plt = NULL;
	size_t rela_bytes = 0, plt_bytes = 0;

	for (; d->d_tag != DT_NULL; d++) {
		switch (d->d_tag) {
		case DT_SYMTAB: o->symbols = table(o, d); break;
		case DT_STRTAB: o->strings = table(o, d); break;
		case DT_RELA: rela = table(o, d); break;
		case DT_RELASZ: rela_bytes = d->d_un.d_val; break;
		case DT_JMPREL: plt = table(o, d); break;
		case DT_DEBUG:
			if (d->d_un.d_ptr)
				for_debuggers = (const void *)d->d_un.d_ptr;
			break;
		case DT_PLTRELSZ: plt_bytes = d->d_un.d_val; break;
		case DT_SYMBOLIC: o->usual_scope = false; break;
		case DT_FLAGS: o->usual_scope &= !(d->d_un.d_val & DF_SYMBOLIC); break;
		default: break;
		}
	}
	if (!o->symbols || !o->strings)
		return;
	if (!change_all(o, rela, rela_bytes, p) || !change_all(o, plt, plt_bytes, p))
		p->unfinished = true;
	if (o->unlocked)
		mz_mprotect((void *)o->relro, o->relro_end - o->relro, PROT_READ);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Was it loaded at the start? Then no RTLD_DEEPBIND lets it search itself first. Of a program that
 * was running already, this is known of the libraries that the executable names. */
static bool has_usual_scope(const struct redirection *p, const char *path)
{
	const ElfW(Dyn) *d = p->executable;

	if (p->at_start)
		return true;
	for (; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED &&
		    !strcmp(base_name(p->strings + d->d_un.d_val), base_name(path)))
			return true;
	return false;
}

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct object o = {.base = info->dlpi_addr, .start = UINTPTR_MAX};
	uintptr_t self = (uintptr_t)&redirected;
	const ElfW(Dyn) *dynamic = NULL;
	struct redirection *p = arg;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t at = o.base + ph->p_vaddr;

		if (ph->p_type == PT_LOAD) {
			o.start = at < o.start ? at : o.start;
			o.end = at + ph->p_memsz > o.end ? at + ph->p_memsz : o.end;
		} else if (ph->p_type == PT_DYNAMIC) {
			dynamic = (const void *)at;
		} else if (ph->p_type == PT_GNU_RELRO) {
			/* rounded as the linker does: both ends down */
			o.relro = at & ~(uintptr_t)4095;
			o.relro_end = (at + ph->p_memsz) & ~(uintptr_t)4095;
		}
	}
	p->adds = info->dlpi_adds;
	if (!dynamic || (self >= o.start && self < o.end))
		return 0;
	o.usual_scope = has_usual_scope(p, info->dlpi_name);
	change_object(&o, dynamic, p);
	p->changed += o.changed;
	/* the first one is the executable */
	if (!p->executable) {
		p->executable = dynamic;
		p->strings = o.strings ? o.strings : "";
	}
	return 0;
}

unsigned mz_redirect(bool ours)
{
	struct redirection p = {.ours = ours,
				.at_start =
					!objects_seen && !(mz_region->flags & MZ_REGION_INJECTED)};

	int saved = errno;

	redirected = ours;
	dl_iterate_phdr(visit, &p);
	/* what was left out is tried again by the next call */
	if (!p.unfinished)
		objects_seen = p.adds;
	errno = saved;
	return p.changed;
}

struct counts {
	unsigned long long adds, subs;
};

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(struct counts *)arg = (struct counts){info->dlpi_adds, info->dlpi_subs};
	return 1;
}

/* From version 2 on, the linker's list for debuggers names them. Libraries in them have a C
 * library of their own, which dl_iterate_phdr() does not show. */
void mz_look_for_namespaces(void)
{
	if (*mz_alive >= MZ_ALIVE_ON && mz_region && for_debuggers &&
	    for_debuggers->base.r_version >= 2 &&
	    __atomic_load_n(&for_debuggers->r_next, __ATOMIC_RELAXED))
		mz_tell_blind(MZ_BLIND_NAMESPACE);
}

void mz_redirect_new(void)
{
	struct counts now = {0};

	mz_look_for_namespaces();

	if (!redirected || mz_sandboxed)
		return;
	dl_iterate_phdr(look, &now);
	if (now.subs != unloads_seen) {
		unloads_seen = now.subs;
		mz_stack_unloaded();
	}
	if (now.adds != objects_seen)
		mz_redirect(true);
}
