// SPDX-License-Identifier: BSD-2-Clause
/* Know the functions that allocate for their caller. */
#include "analysis/wrappers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/rule_file.h"

static const char *const built_in[] = {
	/* the C library */
	"malloc",
	"calloc",
	"realloc",
	"memalign",
	"posix_memalign",
	"aligned_alloc",
	"valloc",
	"pvalloc",
	"reallocarray",
	"strdup",
	"strndup",
	"__strdup",
	"__strndup",
	"__GI___strdup",
	"__GI___strndup",
	"__libc_malloc",
	"__libc_calloc",
	"__libc_realloc",
	"asprintf",
	"vasprintf",
	"__asprintf*",
	"__vasprintf*",
	"_IO_*",
	"__GI__IO_*",
	"_obstack_*",
	/* C++ and Rust: what containers and allocators do inside */
	"operator new",
	"operator new[]",
	"std::*",
	"__gnu_cxx::*",
	"alloc::*",
	"<alloc::*",
	"core::*",
	"<core::*",
	"<std::*",
	"hashbrown::*",
	"<hashbrown::*",
	"__rust_*",
	"__rdl_*",
	"__rustc::*",
	/* what programs and libraries call theirs */
	"xmalloc*",
	"xcalloc*",
	"xrealloc*",
	"xzalloc*",
	"xstrdup*",
	"xstrndup*",
	"xmemdup*",
	"xnmalloc",
	"xnrealloc",
	"x2nrealloc",
	"x2realloc",
	"xpalloc",
	"ximalloc",
	"xicalloc",
	"xireallocarray",
	"xasprintf",
	"xvasprintf",
	"do_xmalloc",
	"safe_malloc*",
	"safe_calloc*",
	"safe_realloc*",
	"safe_strdup*",
	"mz_pool_*",
	"zmalloc*",
	"zcalloc*",
	"zrealloc*",
	"ztrymalloc*",
	"ztrycalloc*",
	"ztryrealloc*",
	"zstrdup",
	"g_malloc*",
	"g_try_malloc*",
	"g_realloc*",
	"g_try_realloc*",
	"g_strdup*",
	"g_strndup",
	"g_slice_*",
	"g_memdup*",
	"g_aligned_alloc*",
	"PyMem_*",
	"_PyMem_*",
	"PyObject_Malloc",
	"PyObject_Calloc",
	"PyObject_Realloc",
	"_PyObject_Malloc*",
	"_PyObject_Calloc*",
	"_PyObject_Realloc*",
	"_PyObject_Alloc*",
	"pymalloc_alloc*",
	"os::malloc",
	"os::realloc",
	"os::strdup*",
	"AllocateHeap",
	"ReallocateHeap",
	"ruby_xmalloc*",
	"ruby_xcalloc*",
	"ruby_xrealloc*",
	"objspace_xmalloc*",
	"objspace_malloc*",
	"objspace_xcalloc*",
	"objspace_xrealloc*",
	"_emalloc*",
	"_ecalloc*",
	"_erealloc*",
	"_safe_emalloc*",
	"__zend_malloc",
	"__zend_calloc",
	"__zend_realloc",
	"sqlite3MemMalloc",
	"sqlite3MemRealloc",
	"sqlite3Malloc*",
	"sqlite3Realloc*",
	"sqlite3DbMalloc*",
	"sqlite3_malloc*",
	"sqlite3_realloc*",
	"mallocWithAlarm",
	"av_malloc*",
	"av_mallocz*",
	"av_calloc",
	"av_realloc*",
	"av_strdup",
	"av_strndup",
	"AcquireMagickMemory",
	"AcquireQuantumMemory",
	"AcquireCriticalMemory",
	"CRYPTO_malloc",
	"CRYPTO_zalloc",
	"CRYPTO_realloc",
	"CRYPTO_strdup",
	"CRYPTO_memdup",
	"palloc*",
	"pg_malloc*",
	"AllocSetAlloc*",
	"MemoryContextAlloc*",
	"ngx_alloc",
	"ngx_calloc",
	"ngx_palloc*",
	"ngx_pcalloc",
	"apr_palloc*",
	"memorizer*",
	"<<alloc::*",
	"<<core::*",
};

/* The name itself in "void farm::fill<int>(int)": behind what it returns, before its
 * parameters. Templates and "(anonymous namespace)" may hold blanks. */
static const char *without_result(const char *s)
{
	const char *from = s;
	int depth = 0;

	if (!strncmp(s, "operator ", 9) || *s == '<')
		return s;
	for (const char *p = s; *p; p++) {
		if (*p == '<')
			depth++;
		else if (*p == '>' && depth)
			depth--;
		else if (*p == '(' && !strncmp(p, "(anonymous namespace)", 21))
			p += 20;
		else if (!depth && *p == '(')
			break;
		else if (!depth && *p == ' ' && strncmp(p + 1, "[clone", 6))
			from = p + 1;
		/* "X::operator new(...)": its blank is part of the name */
		if (*p == 'o' && !strncmp(p, "operator ", 9))
			break;
	}
	return from;
}

static bool matches(const char *pattern, const char *name)
{
	size_t n = strlen(pattern);

	if (n && pattern[n - 1] == '*')
		return !strncmp(name, pattern, n - 1);
	/* parameters may follow, template arguments, or what a compiler adds (.part.0) */
	return !strncmp(name, pattern, n) && (!name[n] || strchr("(<.@ ", name[n]));
}

/* "<u64 as alloc::vec::SpecFromElem>::from_elem": methods of Rust's own types. Those of a
 * program have a path. */
static bool of_basic_type(const char *name)
{
	const char *end = strstr(name, " as "), *path = strstr(name, "::");

	if (*name != '<')
		return false;
	if (!end)
		end = strchr(name, '>');
	return end && path && path > end;
}

bool mz_wrappers_has(const struct mz_wrappers *w, const char *function)
{
	const char *name;

	if (!function || (w && w->shown))
		return false;
	name = without_result(function);
	/* the first letter rules nearly all of them out */
	for (size_t i = 0; i < sizeof(built_in) / sizeof(*built_in); i++)
		if (*built_in[i] == *name && matches(built_in[i], name))
			return true;
	/* those of classes */
	if (strstr(name, "::operator new") || of_basic_type(name))
		return true;
	/* a user may have copied the name with what it returns */
	for (size_t i = 0; w && i < w->n; i++)
		if (matches(w->names[i], name) || matches(w->names[i], function))
			return true;
	return false;
}

int mz_wrappers_add(struct mz_wrappers *w, const char *name)
{
	return mz_array_text(&w->names, &w->n, &w->cap, name) ? 0 : -ENOMEM;
}

/* Users give the functions of their own program in a file, one for each line. */
static int take_name(void *arg, const char *name, const char *path, unsigned line,
		     struct mz_error *err)
{
	(void)path;
	(void)line;
	return mz_wrappers_add(arg, name) < 0 ? mz_fail_memory(err) : 0;
}

int mz_wrappers_read(struct mz_wrappers *w, const char *path, struct mz_error *err)
{
	return mz_rule_file_read(path, take_name, w, err);
}

void mz_wrappers_deinit(struct mz_wrappers *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->names[i]);
	free(w->names);
	*w = (struct mz_wrappers){0};
}
