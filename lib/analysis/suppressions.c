// SPDX-License-Identifier: BSD-2-Clause
/* Recognize the stacks of blocks that runtimes never free. */
#include "analysis/suppressions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/rule_file.h"

/* Without debugging information, only exported functions have names. Other stacks are recognised by
 * the module whose code runs before main. */
static const char *const built_in[] = {
	"libstdc++.so;^call_init", /* the pool for exceptions that find no memory */
	"libstdc++.so;^_dl_init",
	"eh_alloc.cc",	       /* the same, linked statically */
	"_IO_file_doallocate", /* buffers of stdout and its kin */
	"^setlocale",
	"^__GI_setlocale",
	"^newlocale",
	"^bindtextdomain",
	"^textdomain",
	"^__textdomain",
	"^_dl_allocate_tls", /* of threads whose stacks are kept for later threads */
	"^__GI__dl_allocate_tls",
	"^__cxa_thread_atexit_impl",
	"^tzset",
	"^__tzset",
};

static int add(struct mz_suppressions *s, const char *rule)
{
	return mz_array_text(&s->rules, &s->n, &s->cap, rule) ? 0 : -ENOMEM;
}

int mz_suppressions_init(struct mz_suppressions *s)
{
	int ret = 0;

	*s = (struct mz_suppressions){0};
	for (size_t i = 0; i < sizeof(built_in) / sizeof(*built_in) && !ret; i++)
		ret = add(s, built_in[i]);
	return ret;
}

void mz_suppressions_deinit(struct mz_suppressions *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->rules[i]);
	free(s->rules);
	*s = (struct mz_suppressions){0};
}

static int take_rule(void *arg, const char *rule, const char *path, unsigned line,
		     struct mz_error *err)
{
	if (strncmp(rule, "leak:", 5) || !rule[5])
		return mz_fail(err, EINVAL, "%s: line %u: a rule is leak:PATTERN", path, line);
	return add(arg, rule + 5) < 0 ? mz_fail_memory(err) : 0;
}

int mz_suppressions_read(struct mz_suppressions *s, const char *path, struct mz_error *err)
{
	return mz_rule_file_read(path, take_rule, s, err);
}

/* ---- matching ------------------------------------------------------------------------- */

/* The pieces between the stars, each as early as it is found: this never needs to go back. */
static bool matches(const char *pattern, size_t len, const char *text)
{
	bool start = len && *pattern == '^', end;

	if (!text)
		return false;
	pattern += start;
	len -= start;
	/* most patterns begin like this, and most texts differ in the first letter */
	if (start && len && *pattern != '*' && *pattern != '$' && *pattern != *text)
		return false;
	end = len && pattern[len - 1] == '$';
	len -= end;
	for (bool first = true; len; first = false) {
		const char *star = memchr(pattern, '*', len), *at;
		size_t n = star ? (size_t)(star - pattern) : len;

		if (!star && end) {
			size_t left = strlen(text);

			return left >= n && (!first || !start || left == n) &&
			       !memcmp(text + left - n, pattern, n);
		}
		at = n ? memmem(text, strlen(text), pattern, n) : text;
		if (!at || (first && start && at != text))
			return false;
		text = at + n;
		pattern += n + (star != NULL);
		len -= n + (star != NULL);
	}
	return true; /* it is "$" alone, or ends with a star */
}

static bool frame_matches(const char *pattern, size_t len, const struct mz_place_name *f)
{
	return matches(pattern, len, f->function) || matches(pattern, len, f->file) ||
	       matches(pattern, len, f->module);
}

static bool rule_matches(const char *rule, const struct mz_place_name *frames, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strcspn(rule, ";");

		if (!frame_matches(rule, len, &frames[i]))
			continue;
		if (!rule[len])
			return true;
		rule += len + 1;
	}
	return false;
}

/* The patterns of a rule have bits in the order of all patterns; the 65th shares one. */
static uint64_t matched_of_rule(const char *rule, unsigned *bit, const struct mz_place_name *frames,
				size_t n)
{
	uint64_t set = 0;

	for (;; rule++) {
		size_t len = strcspn(rule, ";"), i = 0;

		while (i < n && !frame_matches(rule, len, &frames[i]))
			i++;
		if (i < n)
			set |= 1ull << *bit % 64;
		++*bit;
		rule += len;
		if (!*rule)
			return set;
	}
}

uint64_t mz_suppressions_matched(const struct mz_suppressions *s,
				 const struct mz_place_name *frames, size_t n)
{
	unsigned bit = 0;
	uint64_t set = 0;

	for (size_t i = 0; i < s->n; i++)
		set |= matched_of_rule(s->rules[i], &bit, frames, n);
	return set;
}

bool mz_suppressions_may_match(const struct mz_suppressions *s, uint64_t matched)
{
	unsigned bit = 0;

	for (size_t i = 0; matched && i < s->n; i++) {
		bool all = true;

		for (const char *p = s->rules[i]; p; p = strchr(p, ';'), p += p != NULL)
			all &= matched >> bit++ % 64 & 1;
		if (all)
			return true;
	}
	return false;
}

const char *mz_suppressions_match(const struct mz_suppressions *s,
				  const struct mz_place_name *frames, size_t n)
{
	for (size_t i = 0; i < s->n; i++)
		if (rule_matches(s->rules[i], frames, n))
			return s->rules[i];
	return NULL;
}
