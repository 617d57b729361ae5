// SPDX-License-Identifier: BSD-2-Clause
/* Arrays that grow, searches in sorted ones against a walk, and the path of the program. */
#include "base/array.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/self.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

struct member {
	uint32_t other;
	uint64_t key;
};

static void grows(void)
{
	uint64_t *v = NULL;
	size_t cap = 0;

	for (size_t i = 0; i < 3000; i += 1 + i / 7) {
		if (!mz_array_room((void **)&v, &cap, i, sizeof(*v)))
			break;
		CHECK(cap > i && !v[i]);
		v[i] = i + 1;
	}
	for (size_t i = 0; i < cap; i++)
		CHECK(!v[i] || v[i] == i + 1);
	CHECK(cap >= 2600);
	free(v);
}

static void searches(void)
{
	uint64_t seed = 5;
	struct member m[200];

	for (unsigned round = 0; round < 300; round++) {
		size_t n = random_below(&seed, 200), below = 0, not_above = 0;
		uint64_t key = round % 50 ? random_below(&seed, 70) : round % 100 ? 0 : UINT64_MAX;

		m[0].key = random_below(&seed, 3);
		for (size_t i = 1; i < n; i++)
			m[i].key = m[i - 1].key + random_below(&seed, 3);
		if (n && round % 3 == 0)
			m[n - 1].key = UINT64_MAX;
		for (size_t i = 0; i < n; i++) {
			below += m[i].key < key;
			not_above += m[i].key <= key;
		}
		CHECK_EQ(mz_array_below(m, n, sizeof(*m), offsetof(struct member, key), key),
			 below);
		CHECK_EQ(mz_array_not_above(m, n, sizeof(*m), offsetof(struct member, key), key),
			 not_above);
	}
}

static void texts(void)
{
	char **v = NULL, name[16];
	size_t n = 0, cap = 0;

	for (unsigned i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "%u", i);
		CHECK(mz_array_text(&v, &n, &cap, name));
	}
	CHECK(n == 200 && cap >= n && !strcmp(v[0], "0") && !strcmp(v[199], "199"));
	while (n)
		free(v[--n]);
	free(v);
}

static void self(void)
{
	char path[4096], up[4096], small[4];

	CHECK(mz_self_path(path, sizeof(path), 0) && !access(path, X_OK));
	CHECK(strstr(path, "/array_test"));
	CHECK(mz_self_path(up, sizeof(up), 1) && !strncmp(path, up, strlen(up)));
	CHECK(!strcmp(path + strlen(up), "/array_test"));
	CHECK(!mz_self_path(small, sizeof(small), 4) && !*small);
}

int main(void)
{
	RUN(grows);
	RUN(searches);
	RUN(texts);
	RUN(self);
	return test_end();
}
