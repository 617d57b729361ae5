// SPDX-License-Identifier: BSD-2-Clause
/* Select a part of a KMAP by cgroup and pid namespace, or add it up by them. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "cmds/kmap/kmap_opts.h"
#include "cmds/loss_report.h"
#include "cmds/table_print.h"
#include "export/kmap.h"

#define TEXT_ROWS 20

/* Refuses inputs that cannot be read twice, and maps without owners. */
static int open_owned(struct mz_kmap_owned *m, const struct kmap_opts *o, int argc, char **argv,
		      struct mz_error *err)
{
	struct stat st;

	*m = (struct mz_kmap_owned){.flags = options_open_flags(), .skip_bad = o->skip_bad};
	if (argc != 1 || !strcmp(argv[0], "-"))
		return mz_fail(err, EINVAL, "name one map; it is read twice, so it must be a file");
	if (!stat(argv[0], &st) && !S_ISREG(st.st_mode))
		return mz_fail(err, EINVAL, "%s: a map is read twice here, so it must be a file",
			       argv[0]);
	if (kmap_check(o, argv[0], err) < 0)
		return -EINVAL;
	m->path = argv[0];
	return mz_kmap_owned_open(m, err);
}

static void note_end(const struct mz_kmap_owned *m)
{
	struct mz_early_end end = {.files = m->files_cut};

	early_end_note(m->path, &end);
}

/* ---- a part -------------------------------------------------------------------------------- */

static void say_kept(const struct mz_kmap_part *p)
{
	char a[32], b[32];

	console_note("%s of %s objects, and %" PRIu64
		     " that others allocated and these processes touched",
		     console_count(a, p->kept.objects), console_count(b, p->all.objects),
		     p->touched);
	console_note("%s of %s accesses", console_count(a, p->kept.accesses),
		     console_count(b, p->all.accesses));
	if (p->all.calls)
		console_note("%s of %s calls", console_count(a, p->kept.calls),
			     console_count(b, p->all.calls));
	if (p->unknown.objects || p->unknown.accesses || p->unknown.calls)
		console_note("left out, because they have no owner (interrupts, the boot, no "
			     "memory): %" PRIu64 " objects, %" PRIu64 " accesses, %" PRIu64
			     " calls",
			     p->unknown.objects, p->unknown.accesses, p->unknown.calls);
}

int kmap_select(const struct kmap_opts *o, int argc, char **argv)
{
	struct mz_kmap_part_options how = {
		.cgroup = o->cgroup, .pidns = o->pidns, .output = o->output, .overwrite = o->force};
	struct mz_kmap_part part;
	struct mz_kmap_owned m;
	struct mz_error err = {0};
	int ret;

	if (!o->cgroup && !o->pidns)
		return console_usage("select takes --cgroup or --pidns, or both");
	ret = open_owned(&m, o, argc, argv, &err);
	if (ret >= 0)
		ret = mz_kmap_write_part(&m, &how, &part, &err);
	if (ret >= 0) {
		say_kept(&part);
		note_end(&m);
	}
	mz_kmap_owned_close(&m);
	return ret < 0 ? console_error(&err) : MZ_EXIT_OK;
}

/* ---- the sums --------------------------------------------------------------------------- */

static int show(const struct kmap_opts *o, const struct mz_result_table *a)
{
	size_t rows = options_limit(&o->limit, o->json || o->csv ? 0 : TEXT_ROWS);
	struct mz_buf b = {0};
	struct mz_json j = {.out = &b};

	if (o->csv)
		answer_csv(a, rows, NULL, true);
	else if (!o->json)
		answer_text(a, rows);
	if (!o->json)
		return MZ_EXIT_OK;
	mz_json_object(&j, NULL);
	answer_json(&j, a, rows);
	mz_json_end_object(&j);
	return console_put(&b, stdout) < 0 ? console_fail("out of memory") : MZ_EXIT_OK;
}

int kmap_owners(const struct kmap_opts *o, int argc, char **argv)
{
	struct mz_result_table a;
	struct mz_kmap_owned m;
	struct mz_error err = {0};
	int ret = open_owned(&m, o, argc, argv, &err);

	if (ret >= 0)
		ret = mz_kmap_owned_count(&m, &err);
	if (ret >= 0) {
		mz_kmap_owners_table(&m.owners, &a);
		ret = a.failed ? console_fail("out of memory") : show(o, &a);
		note_end(&m);
		mz_result_deinit(&a);
	} else {
		ret = console_error(&err);
	}
	mz_kmap_owned_close(&m);
	return ret;
}
