// SPDX-License-Identifier: BSD-2-Clause
/* Convert a KMAP to a container, to lines, and to the lines of upstream's kernels. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/output.h"
#include "base/pair_index.h"
#include "export/kmap.h"

struct kmap_conversion {
	const struct mz_kmap_convert_options *o;
	struct mz_kmap *in;
	struct mz_error *err;
	uint64_t records;
	struct mz_kmap_container container;
	/* to lines */
	struct mz_output out;
	struct mz_kmap_object of;
	/* of the current object: sums over its processes */
	struct mz_pair_index ips;
	struct mz_kmap_record *sums;
	size_t cap_sums;
};

/* ---- lines ------------------------------------------------------------------------------ */

/* as: the format of upstream's kernels, or -1 for the lines as they are. */
static int put_line(struct kmap_conversion *j, const struct mz_kmap_record *rec, int as)
{
	size_t room = mz_kmap_room(rec), len;
	char *p;

	if (room > MZ_OUTPUT_ROOM)
		return mz_fail(j->err, EFBIG, "%s: a name of more than %u bytes",
			       mz_kmap_name(j->in), MZ_OUTPUT_ROOM / 4);
	p = mz_output_room(&j->out, room, j->err);
	if (!p)
		return -EIO;
	if (as >= 0) {
		len = mz_kmap_format_as(p, rec, (enum mz_kmap_shape)as);
	} else if (rec->line.len || rec->kind == MZ_KMAP_OTHER) {
		len = rec->line.len;
		if (len)
			memcpy(p, rec->line.p, len);
	} else {
		len = mz_kmap_format(p, rec, &j->of);
	}
	p[len] = '\n';
	j->out.len += len + 1;
	return 0;
}

/* Lines of ten fields have no processes: there is one line per address. */
static int put_sums(struct kmap_conversion *j)
{
	int ret = 0;

	for (size_t i = 0; i < j->ips.count && !ret; i++)
		ret = put_line(j, &j->sums[i], MZ_KMAP_G2);
	if (j->ips.count > 4096)
		mz_pair_index_deinit(&j->ips);
	else
		mz_pair_index_clear(&j->ips);
	return ret;
}

static int add_sum(struct kmap_conversion *j, const struct mz_kmap_record *rec)
{
	size_t before = j->ips.count;
	uint32_t id = mz_pair_index_put(&j->ips, rec->access.ip, 0);

	if (id == MZ_PAIR_INDEX_NONE ||
	    !mz_array_room((void **)&j->sums, &j->cap_sums, id, sizeof(*j->sums)))
		return mz_fail_memory(j->err);
	if (j->ips.count > before) {
		j->sums[id] = *rec;
		j->sums[id].line = (struct mz_kmap_text){0};
		return 0;
	}
	j->sums[id].access.reads += rec->access.reads;
	j->sums[id].access.writes += rec->access.writes;
	return 0;
}

static int to_g2(struct kmap_conversion *j, const struct mz_kmap_record *rec)
{
	if (rec->kind == MZ_KMAP_ACCESS)
		return add_sum(j, rec);
	if (put_sums(j) < 0)
		return -EIO;
	return put_line(j, rec, MZ_KMAP_G2);
}

static int to_lines(struct kmap_conversion *j, const struct mz_kmap_record *rec)
{
	if (rec->kind == MZ_KMAP_OBJECT)
		j->of = rec->object;
	return put_line(j, rec, -1);
}

/* ---- all of it ---------------------------------------------------------------------------- */

static int start(struct kmap_conversion *j)
{
	if (j->o->to != MZ_KMAP_TO_CONTAINER)
		return mz_output_open(&j->out, j->o->output, j->o->overwrite, j->err);
	return mz_kmap_container_open(&j->container, j->o->output, j->o->best, j->o->overwrite,
				      j->err);
}

static int put(struct kmap_conversion *j, const struct mz_kmap_record *rec)
{
	if (j->o->to == MZ_KMAP_TO_G2)
		return to_g2(j, rec);
	if (j->o->to == MZ_KMAP_TO_G3)
		return put_line(j, rec, MZ_KMAP_G3);
	if (j->o->to == MZ_KMAP_TO_LINES)
		return to_lines(j, rec);
	return mz_kmap_container_put(&j->container, rec, j->err);
}

static int finish(struct kmap_conversion *j)
{
	if (j->o->to == MZ_KMAP_TO_G2 && put_sums(j) < 0)
		return -EIO;
	if (j->o->to != MZ_KMAP_TO_CONTAINER)
		return mz_output_commit(&j->out, j->err);
	return mz_kmap_container_close(&j->container, mz_kmap_files_cut(j->in), j->err);
}

static int copy(struct kmap_conversion *j)
{
	struct mz_kmap_record rec;
	int ret;

	while ((ret = mz_kmap_next(j->in, &rec)) > 0) {
		if (put(j, &rec) < 0)
			return -EIO;
		if (++j->records % 65536 == 0 && j->o->progress)
			j->o->progress(j->o->arg, mz_kmap_share(j->in), mz_kmap_lines(j->in));
	}
	if (ret < 0)
		*j->err = *mz_kmap_error(j->in);
	return ret < 0 ? ret : finish(j);
}

int mz_kmap_convert(struct mz_kmap *in, const struct mz_kmap_convert_options *o,
		    struct mz_error *err)
{
	struct kmap_conversion j = {.o = o, .in = in, .err = err, .out.file.fd = -1};
	int ret = start(&j);

	if (!ret) {
		mz_kmap_keep_other(in, o->to != MZ_KMAP_TO_G2 && o->to != MZ_KMAP_TO_G3);
		ret = copy(&j);
	}
	mz_kmap_container_abort(&j.container);
	mz_output_abort(&j.out);
	mz_pair_index_deinit(&j.ips);
	free(j.sums);
	return ret < 0 ? mz_error_code(err) : 0;
}
