// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a program never freed, by module; and what is left out because runtimes keep it on
 * purpose, with the rule that says so:
 *   cc leaks.c $(pkg-config --cflags --libs memorizer) && ./a.out trace.cmt [RULES]
 */
#include <memorizer.h>
#include <stdio.h>

static uint64_t number(const struct mz_result_table *t, size_t row, const char *key)
{
	return mz_result_number(t, row, (size_t)mz_result_find(t, key));
}

static const char *text(const struct mz_result_table *t, size_t row, const char *key)
{
	return mz_result_string(t, row, (size_t)mz_result_find(t, key));
}

static void show_leaks(const struct mz_result_table *modules)
{
	for (size_t i = 0; i < mz_result_rows(modules); i++) {
		uint64_t bytes =
			number(modules, i, "live_bytes") - number(modules, i, "suppressed_bytes");

		if (bytes)
			printf("%12llu  %s\n", (unsigned long long)bytes,
			       text(modules, i, "where"));
	}
}

static void show_suppressed(const struct mz_result_table *suppressed)
{
	for (size_t i = 0; i < mz_result_rows(suppressed); i++)
		printf("%12llu  suppressed by %s: %s\n",
		       (unsigned long long)number(suppressed, i, "live_bytes"),
		       text(suppressed, i, "rule"), text(suppressed, i, "where"));
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "-";
	struct mz_analysis_options options = {.size = sizeof(options),
					      .want = MZ_WANT_SUMS,
					      .suppressions = argc > 2 ? argv[2] : NULL};
	struct mz_error err = {0};
	struct mz_analysis *a = mz_analysis_open(&path, 1, &options, &err);
	struct mz_result_table *modules = a ? mz_analysis_ask(a, MZ_ASK_MODULES, NULL, &err) : NULL;
	struct mz_result_table *suppressed =
		modules ? mz_analysis_ask(a, MZ_ASK_SUPPRESSED, NULL, &err) : NULL;

	if (suppressed) {
		show_leaks(modules);
		show_suppressed(suppressed);
	} else {
		fprintf(stderr, "%s\n", err.text);
	}
	mz_result_free(suppressed);
	mz_result_free(modules);
	mz_analysis_close(a);
	return suppressed ? 0 : 1;
}
