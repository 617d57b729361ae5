// SPDX-License-Identifier: BSD-2-Clause
/* Convert a kernel trace to one container, or to raw kmemtrace records, with the messages. */
#include "analysis/kmem.h"
#include "analysis/recording.h"
#include "cmds/kernel/kmem.h"
#include "cmds/loss_report.h"
#include "export/kmem.h"
#include "trace/reader.h"

/* Says whether the recording ends before its time. */
static int result(const struct kmem_convert *o, const struct mz_kmem_input *in, const char *name,
		  bool lost)
{
	struct mz_early_end end = mz_kmem_input_early_end(in);

	early_end_note(name, &end);
	for (unsigned i = 0; i < mz_kmem_input_files(in); i++) {
		const struct mz_reader *r = mz_kmem_input_reader(in, i);
		const struct mz_tables *t = mz_reader_tables(r);

		lost_tables_note(r->in.name, mz_tables_lost_strings(t), mz_tables_lost_frames(t));
	}
	return o->strict && (end.files || lost) ? MZ_EXIT_INCOMPLETE : MZ_EXIT_OK;
}

int kmem_join(const struct kmem_convert *o, struct mz_recording *r)
{
	struct mz_error err = {0};
	struct mz_kmem_input *in = mz_recording_kmem(r, &err);
	uint64_t lost;

	if (!in || mz_kmem_join(in, o->output, o->best, o->force, &lost, &err) < 0)
		return console_error(&err);
	return result(o, in, r->name, lost);
}

static void note_left_out(const struct mz_kmem_raw_left *left)
{
	char a[32];

	if (left->events)
		console_note("left out: %s events: %s", console_count(a, left->events), left->why);
	if (left->lost)
		console_note("%s lost events cannot be expressed in this format; add them to "
			     "total_overruns",
			     console_count(a, left->lost));
}

int kmem_export(const struct kmem_convert *o, struct mz_recording *r,
		const struct mz_kmemtrace_layout *layout)
{
	struct mz_kmem_raw_left left;
	struct mz_error err = {0};
	struct mz_kmem_input *in = mz_recording_kmem(r, &err);
	int ret;

	if (!in || mz_kmem_write_raw(in, layout, o->output, o->force, &left, &err) < 0)
		return console_error(&err);
	ret = result(o, in, r->name, left.lost);
	note_left_out(&left);
	return ret;
}
