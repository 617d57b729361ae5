/* SPDX-License-Identifier: BSD-2-Clause */
/* The table that Memorizer's GCC plugin leaves in a kernel. */
/*
 * It says what each access site accesses. It is in the sections .memorizer_sites and
 * .memorizer_strings of vmlinux, or of a module.
 */
#ifndef MZ_SYMBOLS_ACCESS_SITES_H
#define MZ_SYMBOLS_ACCESS_SITES_H

#include <memorizer.h>

struct mz_access_sites;

enum mz_access_kind { MZ_ACCESS_READ, MZ_ACCESS_WRITE, MZ_ACCESS_BOTH };

/* Texts are borrowed until the table is closed. */
struct mz_access_site {
	uint64_t ip; /* as linked; in a module, which is not, MZ_SITE_SECTION and _OFFSET of it */
	const char *file, *function;
	uint32_t line;
	enum mz_access_kind kind;
	uint32_t size;	     /* 0 = not known */
	const char *type;    /* the structure or union; "" = none, or one without a name */
	const char *members; /* ".d_lockref|lock_count", "[]" an element, "name:" bits */
	uint32_t offset;     /* of the access, in the type */
	uint32_t type_size;  /* 0 = no structure */
	bool is_union;
};

/* The number of the section in the ELF file of a module, and the address in that section. */
#define MZ_SITE(section, offset) ((uint64_t)(section) << 48 | (offset))
#define MZ_SITE_SECTION(ip)	 ((ip) >> 48)
#define MZ_SITE_OFFSET(ip)	 ((ip) & ((1ull << 48) - 1))

/* NULL with err set; no table: code ENODATA. */
struct mz_access_sites *mz_access_sites_open(const char *vmlinux, struct mz_error *err);
void mz_access_sites_close(struct mz_access_sites *s);
size_t mz_access_sites_count(const struct mz_access_sites *s);
/* False: there is no access site at this address. */
bool mz_access_sites_find(const struct mz_access_sites *s, uint64_t ip, struct mz_access_site *out);
/* The i-th, by address; i is less than the count. */
void mz_access_sites_at(const struct mz_access_sites *s, size_t i, struct mz_access_site *out);

#endif
