// SPDX-License-Identifier: BSD-2-Clause
/* Convert a KMAP to a container and back to lines. */
#include "cmds/kmap/kmap_convert.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/output.h"
#include "base/pair_index.h"
#include "cmds/loss_report.h"
#include "cmds/recording.h"
#include "formats/kmap_events.h"
#include "trace/reader.h"

struct kmap_conversion {
	const struct kmap_convert *o;
	struct mz_kmap *in;
	struct mz_error err;
	struct progress progress;
	uint64_t records;
	/* to a container */
	struct mz_writer *w;
	struct mz_kmap_packer packer;
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
	const struct mz_kmap_object *o = &rec->object;
	size_t texts = rec->line.len, len;
	char *p;

	if (rec->kind == MZ_KMAP_OBJECT)
		texts += 4 * (o->comm.len + o->type.len + o->cache.len + o->new_type.len);
	if (texts + MZ_KMAP_ROOM > MZ_OUTPUT_ROOM)
		return mz_fail(&j->err, EFBIG, "%s: a name of more than %u bytes",
			       mz_kmap_name(j->in), MZ_OUTPUT_ROOM / 4);
	p = mz_output_room(&j->out, texts + MZ_KMAP_ROOM, &j->err);
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
		return mz_fail_memory(&j->err);
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
	struct mz_writer_options wo = {
		.best = j->o->best, .overwrite = j->o->force, .discard = true};

	if (j->o->to != KMAP_TO_CONTAINER)
		return mz_output_open(&j->out, j->o->output, j->o->force, &j->err);
	j->w = mz_writer_open(j->o->output ? j->o->output : "-", &wo, &j->err);
	if (!j->w)
		return -EIO;
	mz_kmap_packer_init(&j->packer, j->w);
	return mz_writer_set_text(j->w, "source", "kmap") < 0 ? mz_fail_memory(&j->err) : 0;
}

/* Packing fails with the writer's error, or without memory. */
static int packing_failed(struct kmap_conversion *j)
{
	const struct mz_error *e = mz_writer_error(j->w);

	if (!e->code)
		return mz_fail_memory(&j->err);
	j->err = *e;
	return -e->code;
}

static int put(struct kmap_conversion *j, const struct mz_kmap_record *rec)
{
	if (j->o->to == KMAP_TO_G2)
		return to_g2(j, rec);
	if (j->o->to == KMAP_TO_G3)
		return put_line(j, rec, MZ_KMAP_G3);
	if (j->o->to == KMAP_TO_LINES)
		return to_lines(j, rec);
	return mz_kmap_pack(&j->packer, rec) < 0 ? packing_failed(j) : 0;
}

static int finish(struct kmap_conversion *j)
{
	struct mz_writer *w = j->w;

	if (j->o->to == KMAP_TO_G2 && put_sums(j) < 0)
		return -EIO;
	if (j->o->to != KMAP_TO_CONTAINER)
		return mz_output_commit(&j->out, &j->err);
	if (mz_kmap_pack_end(&j->packer) < 0)
		return packing_failed(j);
	mz_writer_produced(w, j->packer.events);
	if (mz_writer_set_files_cut(w, mz_kmap_files_cut(j->in)) < 0)
		return mz_fail_memory(&j->err);
	j->w = NULL;
	return mz_writer_close(w, &j->err);
}

static int copy(struct kmap_conversion *j)
{
	struct mz_kmap_record rec;
	int ret;

	while ((ret = mz_kmap_next(j->in, &rec)) > 0) {
		if (put(j, &rec) < 0)
			return -EIO;
		if (++j->records % 65536 == 0)
			progress_show(&j->progress, mz_kmap_share(j->in), mz_kmap_lines(j->in),
				      "lines");
	}
	if (ret < 0)
		j->err = *mz_kmap_error(j->in);
	return ret < 0 ? ret : finish(j);
}

static void clean_up(struct kmap_conversion *j)
{
	if (j->w)
		mz_writer_abort(j->w);
	mz_output_abort(&j->out);
	mz_kmap_packer_deinit(&j->packer);
	if (!j->o->opened)
		mz_kmap_close(j->in);
	mz_pair_index_deinit(&j->ips);
	free(j->sums);
}

/* Says what is missing. */
static int result(const struct kmap_conversion *j, const char *input)
{
	bool open_end = mz_kmap_open_end(j->in);
	unsigned cut = mz_kmap_files_cut(j->in);
	uint64_t bad = mz_kmap_bad_lines(j->in);

	recording_note_map(input, NULL, 0, open_end, cut, bad);
	if (mz_kmap_tables(j->in))
		lost_tables_note(input, mz_tables_lost_strings(mz_kmap_tables(j->in)),
				 mz_tables_lost_frames(mz_kmap_tables(j->in)));
	return j->o->strict && (bad || cut || open_end) ? MZ_EXIT_INCOMPLETE : MZ_EXIT_OK;
}

int kmap_convert(const struct kmap_convert *o, const char *input)
{
	struct kmap_conversion *j = calloc(1, sizeof(*j));
	int ret;

	if (!j)
		return console_fail("out of memory");
	j->o = o;
	j->out.file.fd = -1;
	if (o->to == KMAP_TO_CONTAINER && !o->output && isatty(STDOUT_FILENO)) {
		free(j);
		return console_usage(
			"a container is binary and is not written to a terminal; use -o FILE");
	}
	progress_start(&j->progress, input);
	j->in = o->opened ? o->opened : mz_kmap_open(input, options_open_flags(), &j->err);
	ret = j->in ? start(j) : -EIO;
	if (!ret) {
		mz_kmap_skip_bad(j->in, o->skip_bad);
		mz_kmap_keep_other(j->in, o->to != KMAP_TO_G2 && o->to != KMAP_TO_G3);
		ret = copy(j);
	}
	progress_end(&j->progress);
	ret = ret < 0 ? console_error(&j->err) : result(j, input);
	clean_up(j);
	free(j);
	return ret;
}
