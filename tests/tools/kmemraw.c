// SPDX-License-Identifier: BSD-2-Clause
/* A trace as raw kmemtrace records, or as a container:
 * kmemraw c|e64|e32|container le|be IN > OUT */
#include <stdio.h>
#include <string.h>

#include "formats/kmemtrace.h"

static int to_container(struct mz_reader *r)
{
	struct mz_writer_options o = {.raw = true};
	struct mz_error err = {0};
	struct mz_writer *w = mz_writer_open("-", &o, &err);
	struct mz_event ev[64];
	uint64_t all = 0;
	long n;

	while (w && (n = mz_reader_read_raw(r, ev, 64)) > 0) {
		for (long i = 0; i < n; i++) {
			size_t depth, len;
			const uint64_t *ips =
				mz_tables_get_stack(mz_reader_tables(r), ev[i].site, &depth);
			const char *name =
				mz_tables_get_string(mz_reader_tables(r), ev[i].cache, &len);

			ev[i].site = ips ? mz_writer_stack(w, ips, depth) : 0;
			ev[i].cache = name ? mz_writer_string(w, name, len) : 0;
		}
		mz_writer_add(w, ev, (size_t)n);
		all += (uint64_t)n;
	}
	if (w)
		mz_writer_produced(w, all);
	return !w || mz_writer_close(w, &err) < 0;
}

int main(int argc, char **argv)
{
	struct mz_kmemtrace_layout l;
	struct mz_event ev[64];
	struct mz_error err = {0};
	struct mz_reader *r;
	int32_t sequence = 0;
	long n;

	if (argc != 4)
		return 2;
	l.shape = !strcmp(argv[1], "c")	    ? MZ_KMT_C
		  : !strcmp(argv[1], "e64") ? MZ_KMT_E64
					    : MZ_KMT_E32;
	l.big = !strcmp(argv[2], "be");
	r = mz_reader_open(argv[3], &err);
	if (!r) {
		fprintf(stderr, "kmemraw: %s\n", err.text);
		return 1;
	}
	if (!strcmp(argv[1], "container"))
		return to_container(r);
	while ((n = mz_reader_read_raw(r, ev, 64)) > 0)
		for (long i = 0; i < n; i++) {
			size_t depth = 0, size;
			const uint64_t *ips =
				mz_tables_get_stack(mz_reader_tables(r), ev[i].site, &depth);
			struct mz_kmemtrace_extra x;
			char rec[MZ_KMT_PUT_MAX];
			const char *why;

			x = (struct mz_kmemtrace_extra){.site = depth ? ips[0] : 0,
							.sequence = ++sequence};
			size = mz_kmemtrace_put(&l, &ev[i], &x, rec, &why);
			if (!size) {
				fprintf(stderr, "kmemraw: %s\n", why);
				return 1;
			}
			fwrite(rec, 1, size, stdout);
		}
	mz_reader_close(r);
	return n < 0;
}
