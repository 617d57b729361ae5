// SPDX-License-Identifier: BSD-2-Clause
/*
 * A question to a KMAP: which code writes objects of a class (a cache, a type, a variable
 * or a function that allocates; a shell pattern or a part of the name)?
 *   cc writers.c $(pkg-config --cflags --libs memorizer) && ./a.out map.kmap dentry
 */
#include <memorizer.h>
#include <stdio.h>

/* A table says what its columns are: this prints any. */
static void print(const struct mz_result_table *t)
{
	size_t columns = mz_result_columns(t);

	for (size_t c = 0; c < columns; c++)
		printf("%s%s", mz_result_key(t, c), c + 1 < columns ? "\t" : "\n");
	for (size_t r = 0; r < mz_result_rows(t); r++) {
		for (size_t c = 0; c < columns; c++) {
			switch (mz_result_type_of(t, c)) {
			case MZ_RESULT_TEXT: printf("%s", mz_result_string(t, r, c)); break;
			case MZ_RESULT_SHARE: printf("%.6f", mz_result_share(t, r, c)); break;
			default: printf("%llu", (unsigned long long)mz_result_number(t, r, c));
			}
			printf("%s", c + 1 < columns ? "\t" : "\n");
		}
	}
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "-";
	struct mz_error err = {0};
	struct mz_analysis *a = mz_analysis_open(&path, 1, NULL, &err);
	struct mz_result_table *t =
		a ? mz_analysis_ask(a, MZ_ASK_WRITTEN_BY, argc > 2 ? argv[2] : NULL, &err) : NULL;

	if (t)
		print(t);
	else
		fprintf(stderr, "%s\n", err.text);
	mz_result_free(t);
	mz_analysis_close(a);
	return t ? 0 : 1;
}
