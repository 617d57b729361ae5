// SPDX-License-Identifier: BSD-2-Clause
/* List the export formats, and hold the code that they share. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "export/export.h"

/* binary formats are not written to a terminal; a whole_file needs a file in which the writer can
 * seek. An empty name ends the list. */
const struct mz_export_format mz_export_formats[] = {
	{.name = "dhat", .profile = mz_export_dhat},
	{.name = "pprof", .profile = mz_export_pprof, .binary = true},
	{.name = "collapsed", .profile = mz_export_collapsed},
	{.name = "heaptrack", .events = mz_export_heaptrack},
	{.name = "massif", .profile = mz_export_massif},
	{.name = "speedscope", .profile = mz_export_speedscope},
	{.name = "firefox", .profile = mz_export_firefox},
	{.name = "otlp", .profile = mz_export_otlp, .binary = true},
	{.name = "openmetrics", .profile = mz_export_openmetrics},
	{.name = "perfetto", .events = mz_export_perfetto, .binary = true},
	{.name = "parquet", .table = &mz_parquet_ops, .binary = true},
	{.name = "sqlite", .table = &mz_sqlite_ops, .binary = true, .whole_file = true},
	{.name = "csv", .table = &mz_csv_ops},
	{.name = "jsonl", .table = &mz_jsonl_ops},
	{0},
};

/* The value that is shown by a format with room for only one. */
const struct mz_profile_value *mz_export_usual(const struct mz_profile *p)
{
	return mz_profile_find_value(p->has & MZ_PROFILE_PEAK	? "peak_bytes"
				     : p->has & MZ_PROFILE_LIVE ? "live_bytes"
								: "bytes");
}

/* The order is that of the viewers' menus: the peak is what most people look for first. */
size_t mz_export_views(const struct mz_profile *p, const struct mz_profile_value **views,
		       size_t max)
{
	static const char *const names[] = {"peak_bytes", "live_bytes", "bytes",  "temporary",
					    "waste",	  "reads",	"writes", "blocks"};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && n < max; i++) {
		const struct mz_profile_value *v = mz_profile_find_value(names[i]);

		if (p->has & v->has)
			views[n++] = v;
	}
	return n;
}

/* Formats write to files; this file is in memory. */
int mz_export_to_buf(mz_export_profile *format, const struct mz_profile *p,
		     const struct mz_export_options *o, struct mz_buf *b, struct mz_error *err)
{
	struct mz_output out = {.file.fd = -1};
	int fd = memfd_create("memorizer", MFD_CLOEXEC), ret;
	ssize_t n;

	if (fd < 0)
		return mz_fail(err, errno, "cannot create a file in memory: %s", strerror(errno));
	ret = mz_atomic_file_fd(&out.file, fd, "memory", err);
	if (!ret)
		ret = format(p, o, &out, err);
	if (!ret)
		ret = mz_output_flush(&out, err);
	/* the descriptor remains ours, and is read from its beginning */
	mz_output_abort(&out);
	for (off_t at = 0; !ret; at += n) {
		if (!mz_buf_room(b, 65536)) {
			ret = mz_fail_memory(err);
			break;
		}
		n = pread(fd, b->data + b->len, 65536, at);
		if (n <= 0)
			break;
		b->len += (size_t)n;
	}
	close(fd);
	return ret;
}

/* Every buffer is written here, so this is the only place that checks its error. */
int mz_export_put(struct mz_buf *b, struct mz_output *out, struct mz_error *err)
{
	int ret = b->failed ? mz_fail_memory(err) : mz_output_add(out, b->data, b->len, err);

	mz_buf_free(b);
	return ret;
}
