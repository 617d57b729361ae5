// SPDX-License-Identifier: BSD-2-Clause
/* Writes a container of N events, malloc and free in turn: giant N FILE. For
 * what must not depend on the size of a file. */
#include <memorizer.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	unsigned long long n = argc == 3 ? strtoull(argv[1], NULL, 10) : 0, object = 0;
	struct mz_error err = {0};
	struct mz_writer *w = n ? mz_writer_open(argv[2], NULL, &err) : NULL;
	static struct mz_event ev[512];
	int ret = w ? 0 : -1;

	for (unsigned long long done = 0; done < n && !ret; done += 512) {
		for (int i = 0; i < 512; i++)
			ev[i] = (struct mz_event){
				.kind = i % 2 ? MZ_FREE : MZ_ALLOC,
				.call = i % 2 ? MZ_CALL_FREE : MZ_CALL_MALLOC,
				.size = i % 2 ? 0 : 16 + (done / 512 + i) % 64 * 8,
				.object = i % 2 ? object : ++object,
			};
		ret = mz_writer_add(w, ev, n - done < 512 ? n - done : 512);
	}
	if (w)
		ret = mz_writer_close(w, &err) < 0 ? -1 : ret;
	if (ret < 0)
		fprintf(stderr, "giant N FILE: %s\n", err.text);
	return ret < 0;
}
