// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which call sites hold the memory at the peak of a program:
 *   cc peak.c $(pkg-config --cflags --libs memorizer) && ./a.out trace.cmt
 * Any recording with events or sums will do: of a program, of a kernel, of heaptrack, of
 * DHAT.
 */
#include <memorizer.h>
#include <stdio.h>

#define ROWS 10

static void show(const struct mz_result_table *t, uint64_t peak)
{
	int where = mz_result_find(t, "where"), bytes = mz_result_find(t, "at_peak");

	for (size_t i = 0; i < mz_result_rows(t) && i < ROWS; i++) {
		uint64_t n = mz_result_number(t, i, (size_t)bytes);

		if (n)
			printf("%12llu  %5.1f%%  %s\n", (unsigned long long)n,
			       100.0 * (double)n / (double)peak,
			       mz_result_string(t, i, (size_t)where));
	}
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "-";
	struct mz_totals totals = {.size = sizeof(totals)};
	struct mz_error err = {0};
	struct mz_analysis *a = mz_analysis_open(&path, 1, NULL, &err);
	struct mz_result_table *sites = a ? mz_analysis_ask(a, MZ_ASK_SITES, NULL, &err) : NULL;

	if (sites && mz_analysis_totals(a, &totals) == 0) {
		printf("peak %llu bytes in %llu blocks; %llu events lost\n",
		       (unsigned long long)totals.peak_bytes,
		       (unsigned long long)totals.peak_blocks, (unsigned long long)totals.lost);
		show(sites, totals.peak_bytes);
	} else {
		fprintf(stderr, "%s\n", err.code ? err.text : mz_analysis_error(a)->text);
	}
	mz_result_free(sites);
	mz_analysis_close(a);
	return sites ? 0 : 1;
}
