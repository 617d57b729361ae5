// SPDX-License-Identifier: BSD-2-Clause
/* Read /proc/allocinfo of Linux 6.10 and later. */
/*
 * It says what is live now, by the line of the source that allocated it.
 *
 *   allocinfo - version: 1.0
 *   #     <size>  <calls> <tag info>
 *          40960       10 mm/slub.c:2345 module:zram func:new_slab
 */
#include <errno.h>
#include <string.h>

#include "analysis/profile_files.h"
#include "base/cursor.h"
#include "base/error.h"

#define NAME_MAX_LEN 512

static char *copy(char *to, struct mz_cursor word)
{
	size_t n = (size_t)(word.end - word.p);

	n = n < NAME_MAX_LEN ? n : NAME_MAX_LEN - 1;
	for (size_t i = 0; i < n; i++)
		to[i] = word.p[i] ? word.p[i] : ' ';
	to[n] = '\0';
	return to;
}

struct tag {
	struct mz_heap_sum sum;
	char file[NAME_MAX_LEN], function[NAME_MAX_LEN], module[NAME_MAX_LEN];
	uint32_t line;
};

/* NULL, or what is wrong with the line. Unknown words are ignored. */
static const char *parse(struct tag *t, struct mz_cursor c)
{
	struct mz_cursor word = mz_cursor_word(&c), colon;
	uint64_t line;

	*t = (struct tag){0};
	if (!mz_cursor_whole_u64(word, &t->sum.live_bytes))
		return "it does not begin with a size";
	if (!mz_cursor_whole_u64(mz_cursor_word(&c), &t->sum.live_blocks))
		return "the number of calls is missing";
	word = mz_cursor_word(&c);
	for (colon = word; colon.p < colon.end && *colon.p != ':'; colon.p++)
		;
	if (colon.p == word.p || colon.p == colon.end)
		return "FILE:LINE is missing";
	copy(t->file, (struct mz_cursor){word.p, colon.p});
	colon.p++;
	if (!mz_cursor_whole_u64(colon, &line) || line > UINT32_MAX)
		return "the line is not a number";
	t->line = (uint32_t)line;
	for (word = mz_cursor_word(&c); word.p < word.end; word = mz_cursor_word(&c)) {
		if (mz_cursor_skip(&word, "func:"))
			copy(t->function, word);
		else if (mz_cursor_skip(&word, "module:"))
			copy(t->module, word);
	}
	return *t->function ? NULL : "func:NAME is missing";
}

static int add(struct mz_profile *p, const struct tag *t)
{
	uint64_t frame = mz_profile_frame(p, 0, t->function, t->file, t->line,
					  *t->module ? t->module : NULL);
	struct mz_profile_site *s = frame ? mz_profile_site(p, &frame, 1) : NULL;

	if (!s)
		return -ENOMEM;
	mz_heap_sum_add(&s->sum, &t->sum);
	mz_heap_sum_add(&p->all, &t->sum);
	return 0;
}

int mz_allocinfo_read(struct mz_profile *p, struct mz_input *in, struct mz_error *err)
{
	const char *line, *wrong;
	uint64_t number = 0;
	struct tag t;
	size_t len;
	int ret;

	p->source = "allocinfo";
	p->kind = MZ_PROFILE_ALLOCINFO;
	p->has = MZ_PROFILE_LIVE;
	while ((ret = mz_input_line(in, &line, &len, err)) > 0) {
		struct mz_cursor c = {line, line + len};

		number++;
		mz_cursor_blanks(&c);
		if (number == 1 || c.p == c.end || *c.p == '#')
			continue;
		wrong = parse(&t, c);
		if (wrong)
			return mz_fail_line(err, EINVAL, number,
					    "%s: line %llu: not a line of allocinfo: %s", in->name,
					    (unsigned long long)number, wrong);
		/* most of the kernel's lines never allocate */
		if ((t.sum.live_blocks || t.sum.live_bytes) && add(p, &t) < 0)
			return mz_fail_memory(err);
	}
	return ret;
}
