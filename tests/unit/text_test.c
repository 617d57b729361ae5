// SPDX-License-Identifier: BSD-2-Clause
/* Check that both text parsers agree and that written events are read back. */
#include <inttypes.h>
#include <string.h>

#include "formats/text.h"
#include "formats/text_fast.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"
#include "trace/event.h"

static void numbers(void)
{
	uint64_t seed = 3;

	for (int i = 0; i < 200000; i++) {
		uint64_t v = random_next(&seed) >> random_below(&seed, 64);
		char got[32], want[32];

		if (i < 64)
			v = (uint64_t)1 << i;
		if (i == 64)
			v = 0;
		if (i == 65)
			v = UINT64_MAX;
		*mz_put_u64(got, v) = '\0';
		snprintf(want, sizeof(want), "%" PRIu64, v);
		CHECK(!strcmp(got, want));
		*mz_put_hex(got, v) = '\0';
		snprintf(want, sizeof(want), "%" PRIx64, v);
		CHECK(!strcmp(got, want));
	}
}

static size_t random_line(char *out, uint64_t *seed)
{
	static const char *const forms[] = {
		"malloc(%1$" PRIu64 ") = %2$" PRIx64,
		"malloc(%1$" PRIu64 ") = 0x%2$" PRIx64 "<%1$" PRIu64 ">",
		"free(%2$" PRIx64 ")",
		"free(%2$" PRIx64 "<%1$" PRIu64 ">)",
		"realloc(%2$" PRIx64 ", %1$" PRIu64 ") = %2$" PRIx64,
		"realloc(0x%2$" PRIx64 "<%1$" PRIu64 ">, %1$" PRIu64 ") = %2$" PRIX64 "<%1$" PRIu64
		">",
	};
	uint64_t a = random_next(seed) >> random_below(seed, 64);
	uint64_t b = random_next(seed) >> random_below(seed, 64);
	int n = snprintf(out, 200, forms[random_below(seed, 6)], a, b);

	/* now and then something else somewhere */
	if (!random_below(seed, 4))
		out[random_below(seed, (uint64_t)n)] =
			"<>() =,xX0ag@#G\t\r\x80?"[random_below(seed, 19)];
	return (size_t)n;
}

/* Whatever the fast parser takes, the full one reads the same way. */
static void parsers_agree(void)
{
	struct mz_tables *tables = mz_tables_new();
	uint64_t seed = 11, taken = 0;

	for (int i = 0; i < 300000; i++) {
		char line[512];
		size_t n = random_line(line, &seed);
		struct mz_event fast, full;
		struct mz_text_line a, b;
		struct mz_error err = {0};
		const char *nl;
		int ret;

		memset(line + n, '\n', sizeof(line) - n);
		nl = mz_text_parse_fast(line, &fast, &a);
		ret = mz_text_parse(line, n, &full, &b, tables, &err);
		if (!nl)
			continue;
		taken++;
		CHECK(nl == line + n);
		CHECK_EQ(ret, 1);
		CHECK(!memcmp(&fast, &full, sizeof(fast)));
		CHECK(a.size == b.size && a.size_len == b.size_len && a.tag == b.tag &&
		      a.old_tag == b.old_tag && !b.junk);
	}
	CHECK(taken > 100000);
	mz_tables_free(tables);
}

static struct mz_event random_event(struct mz_tables *t, uint64_t *seed)
{
	struct mz_event ev = {0};
	uint64_t ips[3] = {random_next(seed), 1, random_below(seed, 100)};

	ev.call = (uint8_t)(1 + random_below(seed, MZ_CALLS - 1));
	ev.kind = mz_call_kind(ev.call);
	if (ev.kind != MZ_LOST && ev.kind != MZ_MARK)
		ev.has = MZ_HAS_ADDR | (uint16_t)(random_next(seed) & MZ_HAS_ALL);
	else
		ev.has = (uint16_t)(random_next(seed) & MZ_HAS_ALL & ~MZ_HAS_ADDR);
	ev.size = random_next(seed) >> random_below(seed, 64);
	ev.addr = ev.has & MZ_HAS_ADDR ? random_next(seed) : 0;
	ev.old_addr = ev.kind == MZ_REALLOC ? random_next(seed) : 0;
	switch (mz_calls[ev.call].args) {
	case MZ_ARGS_COUNT_SIZE:
	case MZ_ARGS_PTR_COUNT_SIZE:
		ev.arg = random_below(seed, 5);
		ev.unit = ev.arg ? 0 : (uint32_t)random_next(seed) >> 1;
		ev.size = ev.arg * random_below(seed, 1000);
		if (ev.arg == 4) {
			ev.unit = MZ_UNIT_OVERFLOW;
			ev.size = UINT64_MAX / 2;
		}
		break;
	case MZ_ARGS_ALIGN_SIZE:
	case MZ_ARGS_PTR_READS_WRITES: ev.arg = random_next(seed); break;
	case MZ_ARGS_EVENTS: ev.arg = random_below(seed, MZ_LOSSES); break;
	case MZ_ARGS_STRING:
		ev.arg = mz_tables_string(t, "a b%)#\n\xff=", 9);
		ev.size = 0;
		break;
	case MZ_ARGS_PTR: ev.size = 0; break;
	default: break;
	}
	ev.time = ev.has & MZ_HAS_TIME ? random_next(seed) : 0;
	ev.pid = ev.has & MZ_HAS_PID ? (uint32_t)random_next(seed) : 0;
	ev.tid = ev.has & MZ_HAS_TID ? (uint32_t)random_next(seed) : 0;
	ev.flags = ev.has & MZ_HAS_FLAGS ? (uint32_t)random_next(seed) : 0;
	ev.given = ev.has & MZ_HAS_GIVEN ? random_next(seed) : 0;
	ev.cpu = ev.has & MZ_HAS_CPU ? (int16_t)random_below(seed, 32768) : 0;
	ev.node = ev.has & MZ_HAS_NODE ? (int16_t)(0 - (int)random_below(seed, 3)) : 0;
	ev.cache = ev.has & MZ_HAS_CACHE ? mz_tables_string(t, "kmalloc-rnd 8", 13) : 0;
	ev.site = ev.has & MZ_HAS_SITE ? mz_tables_stack(t, ips, 1 + random_below(seed, 3)) : 0;
	return ev;
}

static void written_is_read_back(void)
{
	struct mz_tables *tables = mz_tables_new();
	uint64_t seed = 5;

	for (int i = 0; i < 100000; i++) {
		struct mz_event ev = random_event(tables, &seed), back;
		struct mz_error err = {0};
		struct mz_text_line info;
		char line[2048];
		size_t n = mz_text_format(line, &ev, tables, false);

		CHECK(n < mz_text_room(&ev, tables));
		CHECK_EQ(mz_text_parse(line, n, &back, &info, tables, &err), 1);
		CHECK(!info.junk);
		CHECK(!memcmp(&ev, &back, sizeof(ev)));
		if (test_failed) {
			printf("# %.*s: %s\n", (int)n, line, err.text);
			break;
		}
	}
	mz_tables_free(tables);
}

static void tables_store_once(void)
{
	struct mz_tables *t = mz_tables_new();
	char name[16];
	size_t len;

	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < 5000; i++) {
			int n = snprintf(name, sizeof(name), "n%u", i);

			CHECK_EQ(mz_tables_string(t, name, (size_t)n), i + 1);
		}
	CHECK_EQ(mz_tables_strings(t), 5000);
	CHECK(!strcmp(mz_tables_get_string(t, 4321, &len), "n4320") && len == 5);
	CHECK(!mz_tables_get_string(t, 0, &len) && !mz_tables_get_string(t, 5001, NULL));
	mz_tables_free(t);
	mz_tables_free(NULL);
}

int main(void)
{
	RUN(numbers);
	RUN(parsers_agree);
	RUN(written_is_read_back);
	RUN(tables_store_once);
	return test_end();
}
