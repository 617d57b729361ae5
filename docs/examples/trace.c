// SPDX-License-Identifier: BSD-2-Clause
/*
 * Write a trace with libmemorizer and read it again:
 *   cc trace.c -lmemorizer && ./a.out trace.cmt
 */
#include <memorizer.h>
#include <stdio.h>
#include <string.h>

static int fail(const struct mz_error *err)
{
	fprintf(stderr, "%s\n", err->text);
	return 1;
}

/* Ten blocks, of which every second is freed; three events were missed. */
static int write_trace(const char *path, struct mz_error *err)
{
	struct mz_writer_options options = {.overwrite = true};
	struct mz_writer *w = mz_writer_open(path, &options, err);
	uint64_t here[] = {0x401136, 0x401020};
	uint32_t site;

	if (!w)
		return -1;
	mz_writer_set_text(w, "command", "an example");
	site = mz_writer_stack(w, here, 2);
	for (uint64_t i = 1; i <= 10; i++) {
		struct mz_event ev[2] = {
			{.kind = MZ_ALLOC,
			 .call = MZ_CALL_MALLOC,
			 .object = i,
			 .size = 16 * i,
			 .has = MZ_HAS_TIME | MZ_HAS_SITE,
			 .time = 100 * i,
			 .site = site},
			{.kind = MZ_FREE,
			 .call = MZ_CALL_FREE,
			 .object = i,
			 .has = MZ_HAS_TIME,
			 .time = 100 * i + 50},
		};

		if (mz_writer_add(w, ev, i % 2 ? 1 : 2) < 0)
			break;
	}
	mz_writer_add(w,
		      &(struct mz_event){.kind = MZ_LOST,
					 .call = MZ_CALL_LOST,
					 .size = 3,
					 .arg = MZ_LOSS_RING_FULL,
					 .has = MZ_HAS_TIME,
					 .time = 1100},
		      1);
	mz_writer_produced(w, 18);
	return mz_writer_close(w, err); /* reports all earlier errors */
}

static int read_trace(const char *path, struct mz_error *err)
{
	struct mz_reader *r = mz_reader_open(path, err);
	struct mz_event ev[64];
	uint64_t live = 0, lost = 0;
	long n;

	if (!r)
		return -1;
	while ((n = mz_reader_read(r, ev, 64)) > 0) {
		for (long i = 0; i < n; i++) {
			live += ev[i].kind == MZ_ALLOC;
			live -= ev[i].kind == MZ_FREE;
			lost += ev[i].kind == MZ_LOST ? ev[i].size : 0;
		}
	}
	if (n < 0)
		*err = *mz_reader_error(r);
	else
		printf("%s: %llu blocks are live, %llu events are lost\n",
		       mz_reader_find_attr(r, "command")->data, (unsigned long long)live,
		       (unsigned long long)lost);
	mz_reader_close(r);
	return n < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "example.cmt";
	struct mz_error err = {0};

	if (write_trace(path, &err) < 0 || read_trace(path, &err) < 0)
		return fail(&err);
	return 0;
}
