// SPDX-License-Identifier: BSD-2-Clause
/* Test the reader of a KMAP's loss statistics. */
#include <memorizer.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/kmap_stats.h"
#include "tests/unit/test.h"

static const char text[] = "accesses\n"
			   "  seen                         12467133\n"
			   "  counted                      10322657\n"
			   "    under pid -1 (no memory)   3\n"
			   "  missed                       5\n"
			   "    in NMI                       4\n"
			   "objects\n"
			   "  seen                         25354\n"
			   "  missed                       7\n"
			   "    in NMI                       0\n"
			   "  freed                        12616\n"
			   "    dropped for the budget     9244\n"
			   "    free not seen (DEADBEEF)   0\n"
			   "types                          tracked live\n"
			   "  missed                       99 1\n";

static void what_was_lost(void)
{
	struct mz_kmap_stats s;

	mz_kmap_stats_parse(text, &s);
	CHECK_EQ(s.accesses_missed, 5);
	CHECK_EQ(s.accesses_nameless, 3);
	CHECK_EQ(s.objects_missed, 7);
	CHECK_EQ(s.objects_dropped, 9244);
}

static void odd_texts(void)
{
	static const char *const odd[] = {
		"",
		"\n",
		"   ",
		"objects",
		"objects\n  missed",
		"objects\n  missed x",
		"objects\n   1",
		"accesses\n  missed                       18446744073709551616"};
	struct mz_kmap_stats s;

	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		mz_kmap_stats_parse(odd[i], &s);
		CHECK_EQ(s.objects_missed, 0);
	}
	for (size_t i = 0; i < sizeof(text); i++) {
		char cut[sizeof(text)];

		memcpy(cut, text, i);
		cut[i] = 0;
		mz_kmap_stats_parse(cut, &s);
	}
}

static void beside_the_map(void)
{
	char dir[] = "/tmp/kmap-stats-XXXXXX", path[64], map[64];
	static const char *const maps[] = {"a.kmap", "a.kmap.zst", "a.kmap.gz"};
	struct mz_kmap_stats s;
	FILE *f;

	CHECK(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a.stats", dir);
	f = fopen(path, "w");
	CHECK(f && fputs(text, f) >= 0 && !fclose(f));
	for (int i = 0; i < 3; i++) {
		snprintf(map, sizeof(map), "%s/%s", dir, maps[i]);
		CHECK(mz_kmap_stats_beside(map, &s));
		CHECK_EQ(s.objects_dropped, 9244);
	}
	snprintf(map, sizeof(map), "%s/b.kmap", dir);
	CHECK(!mz_kmap_stats_beside(map, &s));
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	RUN(what_was_lost);
	RUN(odd_texts);
	RUN(beside_the_map);
	return test_end();
}
