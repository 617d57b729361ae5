// SPDX-License-Identifier: BSD-2-Clause
/* Provide the functions of an image, as the reader of ELF files counts them. */
#include "symbols/code.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "symbols/access_sites.h"
#include "symbols/debuginfo.h"

/* The address of a site as the functions have theirs; 0: it is in no code. */
static uint64_t address_of(const struct mz_code *c, uint64_t ip)
{
	if (!c->relocatable)
		return ip;
	for (size_t i = 0; i < c->n_sections; i++)
		if (c->sections[i].index == MZ_SITE_SECTION(ip))
			return MZ_SITE_OFFSET(ip) <= c->sections[i].size
				       ? c->sections[i].addr + MZ_SITE_OFFSET(ip)
				       : 0;
	return 0;
}

/* An access site is where the recorder returns to, so the byte before is in its function. */
static void add_site(struct mz_code *c, const struct mz_access_site *site)
{
	uint64_t ip = address_of(c, site->ip);
	size_t i = mz_array_not_above(c->functions, c->n, sizeof(*c->functions),
				      offsetof(struct mz_code_function, start), ip - 1);

	if (!ip || !i)
		return;
	c->functions[i - 1].ops[MZ_CODE_OP_READ] += site->kind != MZ_ACCESS_WRITE;
	c->functions[i - 1].ops[MZ_CODE_OP_WRITE] += site->kind != MZ_ACCESS_READ;
}

/* A kernel of our compiler plugin has no sanitizer's calls, but a table of its accesses. */
static int count_sites(struct mz_code *c, const char *path, struct mz_error *err)
{
	struct mz_error why = {0};
	struct mz_access_sites *s = mz_access_sites_open(path, &why);
	struct mz_access_site site;

	if (!s)
		return why.code == ENODATA ? 0 : mz_fail(err, why.code, "%s", why.text);
	/* the table has all accesses, so no operation is missing any more */
	for (size_t i = 0; i < c->n; i++) {
		c->functions[i].ops[MZ_CODE_OP_READ] = c->functions[i].ops[MZ_CODE_OP_WRITE] = 0;
		c->functions[i].missing = 0;
	}
	for (size_t i = 0; i < mz_access_sites_count(s); i++) {
		mz_access_sites_at(s, i, &site);
		add_site(c, &site);
	}
	mz_access_sites_close(s);
	return 0;
}

int mz_code_read(struct mz_code *c, const char *path, struct mz_error *err)
{
	const struct mz_debuginfo *d = mz_debuginfo(err);
	int ret;

	*c = (struct mz_code){0};
	ret = d ? d->code_read(c, path, err) : -ENOENT;
	return ret < 0 ? ret : count_sites(c, path, err);
}

void mz_code_deinit(struct mz_code *c)
{
	free(c->functions);
	free(c->names);
	free(c->sections);
	*c = (struct mz_code){0};
}
