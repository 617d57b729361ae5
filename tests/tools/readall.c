// SPDX-License-Identifier: BSD-2-Clause
/* Reads a trace to its end and counts the events: the cost of reading alone.
 * --raw leaves blocks unresolved. */
#include <stdio.h>
#include <string.h>

#include "trace/reader.h"

int main(int argc, char **argv)
{
	bool raw = argc > 2 && !strcmp(argv[1], "--raw");
	struct mz_error err = {0};
	struct mz_reader *r = mz_reader_open(argv[argc - 1], &err);
	static struct mz_event ev[MZ_BATCH];
	unsigned long long events = 0;
	long n;

	if (!r) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	r->in.budget.large = true; /* as --allow-large */
	while ((n = raw ? mz_reader_read_raw(r, ev, MZ_BATCH) : mz_reader_read(r, ev, MZ_BATCH)) >
	       0)
		events += (unsigned long long)n;
	if (n < 0)
		fprintf(stderr, "%s\n", mz_reader_error(r)->text);
	printf("%llu\n", events);
	mz_reader_close(r);
	return n < 0;
}
