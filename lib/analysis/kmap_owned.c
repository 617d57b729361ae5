// SPDX-License-Identifier: BSD-2-Clause
/* Read a KMAP twice: first its owners, then the records that refer to them. */
#include "analysis/kmap_owned.h"

#include <errno.h>
#include <inttypes.h>

#include "base/error.h"

int mz_kmap_owned_each(struct mz_kmap_owned *m, mz_kmap_owned_record *fn, void *arg,
		       struct mz_error *err)
{
	struct mz_kmap *k = mz_kmap_open(m->path, m->flags, err);
	struct mz_kmap_record rec;
	int ret = 0, got = 0;

	if (!k)
		return mz_error_code(err);
	mz_kmap_skip_bad(k, m->skip_bad);
	mz_kmap_keep_other(k, true);
	while (!ret && (got = mz_kmap_next(k, &rec)) > 0)
		ret = fn(arg, k, &rec, err);
	if (got < 0) {
		*err = *mz_kmap_error(k);
		ret = got;
	}
	m->files_cut = mz_kmap_files_cut(k);
	mz_kmap_close(k);
	return ret;
}

static int take_owner(void *arg, const struct mz_kmap *k, const struct mz_kmap_record *rec,
		      struct mz_error *err)
{
	struct mz_kmap_owned *m = arg;
	int ret = rec->kind == MZ_KMAP_OTHER ? mz_kmap_owners_line(&m->owners, rec->line) : 0;

	if (ret == -ENOMEM)
		return mz_fail_memory(err);
	if (ret >= 0)
		return 0;
	return mz_fail(err, EINVAL,
		       "%s:%" PRIu64
		       ": it begins like an owner, but its number is out of order, or it "
		       "does not read '#owner OWNER,PID,TASKS,PIDNS,CGROUP,COMM,PATH'",
		       mz_kmap_name(k), mz_kmap_lines(k));
}

int mz_kmap_owned_open(struct mz_kmap_owned *m, struct mz_error *err)
{
	int ret = mz_kmap_owners_init(&m->owners) ? 0 : mz_fail_memory(err);

	if (!ret)
		ret = mz_kmap_owned_each(m, take_owner, m, err);
	if (!ret && m->owners.n == 1)
		ret = mz_fail(err, ENODATA,
			      "%s: no owners; record it with 'memorizer vm --owners', or with "
			      "log_owners_enabled and the file owners in front of it",
			      m->path);
	return ret;
}

void mz_kmap_owned_close(struct mz_kmap_owned *m)
{
	mz_kmap_owners_deinit(&m->owners);
}

static int count(void *arg, const struct mz_kmap *k, const struct mz_kmap_record *rec,
		 struct mz_error *err)
{
	(void)k;
	(void)err;
	mz_kmap_owners_count(arg, rec);
	return 0;
}

int mz_kmap_owned_count(struct mz_kmap_owned *m, struct mz_error *err)
{
	return mz_kmap_owned_each(m, count, &m->owners, err);
}
