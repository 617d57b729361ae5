// SPDX-License-Identifier: BSD-2-Clause
/* Parse FreeBSD's kdump of the utrace records that jemalloc writes. */
/*
 * A line is:
 *   PID [TID] COMMAND [TIME] USER  0x800607420 = malloc(26)
 * COMMAND may hold blanks; TID is there with kdump -H, TIME with -T, -E, -R.
 */
#include <errno.h>
#include <string.h>

#include "base/cursor.h"
#include "base/error.h"
#include "formats/logs.h"
#include "formats/text.h"

/* The data of a read or write is printed on lines that are indented more than any pid, and may
 * contain anything. */
#define DATA_INDENT 7

/* Fewer seconds are not a date: kdump -E and -R print elapsed times. */
#define FIRST_DATE 1000000000u

static int bad(struct mz_cursor c, const char *what, struct mz_error *err)
{
	char shown[64];

	if (c.p >= c.end)
		return mz_fail(err, EINVAL, "the line ends where %s was expected", what);
	return mz_fail(err, EINVAL, "%s was expected, found '%s'", what,
		       mz_printable(shown, 48, c.p, (size_t)(c.end - c.p)));
}

static bool is_type(struct mz_cursor word)
{
	static const char *const types[] = {"USER", "CALL", "RET",  "NAMI", "GIO",
					    "PSIG", "CSW",  "STRU", "SCTL", "CAP",
					    "PFLT", "PRET", "ARGS", "ENVS", "EERR"};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (mz_cursor_is(word, types[i]))
			return true;
	return word.end - word.p > 8 && !memcmp(word.p, "UNKNOWN(", 8);
}

/* Seconds and microseconds, with a dot between. */
static bool take_time(struct mz_cursor word, struct mz_event *ev)
{
	uint64_t s, us;

	if (!mz_cursor_u64(&word, &s) || !mz_cursor_skip(&word, ".") || word.end - word.p != 6 ||
	    !mz_cursor_whole_u64(word, &us))
		return false;
	if (s >= FIRST_DATE && s < UINT64_MAX / 1000000000u) {
		ev->time = s * 1000000000u + us * 1000;
		ev->has |= MZ_HAS_TIME;
	}
	return true;
}

/*
 * Skip what precedes the payload and return the type of the record, or an empty word if there is
 * none. The first word after the pid is never the type, because a command may have the name of a
 * type.
 */
static struct mz_cursor take_head(struct mz_cursor *c, struct mz_event *ev)
{
	struct mz_cursor first = mz_cursor_word(c), before = first, word;
	unsigned words = 1;
	uint64_t tid;

	for (word = mz_cursor_word(c); word.p < word.end; words++, word = mz_cursor_word(c)) {
		if (is_type(word))
			break;
		before = word;
	}
	if (words > 1 && take_time(before, ev))
		words--;
	/* a number and a command: the thread; a number alone is the command */
	if (words > 1 && mz_cursor_whole_u64(first, &tid) && tid <= UINT32_MAX) {
		ev->tid = (uint32_t)tid;
		ev->has |= MZ_HAS_TID;
	}
	return word;
}

static int take_pointer(struct mz_cursor *c, uint64_t *addr, struct mz_error *err)
{
	return mz_cursor_hex(c, addr) ? 0 : bad(*c, "a pointer (hexadecimal)", err);
}

static int take_text(struct mz_cursor *c, const char *text, struct mz_error *err)
{
	char what[32] = "'";

	mz_cursor_blanks(c);
	if (!mz_cursor_skip(c, text)) {
		strncat(what, text, 20);
		return bad(*c, strcat(what, "'"), err);
	}
	mz_cursor_blanks(c);
	return 0;
}

static int take_free(struct mz_cursor *c, struct mz_event *ev, struct mz_error *err)
{
	ev->kind = MZ_FREE;
	ev->call = MZ_CALL_FREE;
	return take_pointer(c, &ev->addr, err);
}

/* 0x800607440 = realloc(0x800610058, 17), up to the size */
static int take_alloc(struct mz_cursor *c, struct mz_event *ev, struct mz_error *err)
{
	if (take_pointer(c, &ev->addr, err) || take_text(c, "=", err))
		return -EINVAL;
	ev->kind = MZ_ALLOC;
	ev->call = MZ_CALL_MALLOC;
	if (mz_cursor_skip(c, "realloc(")) {
		ev->kind = MZ_REALLOC;
		ev->call = MZ_CALL_REALLOC;
		if (take_pointer(c, &ev->old_addr, err) || take_text(c, ",", err))
			return -EINVAL;
	} else if (!mz_cursor_skip(c, "malloc(")) {
		return bad(*c, "'malloc(' or 'realloc('", err);
	}
	return mz_cursor_u64(c, &ev->size) ? 0 : bad(*c, "a size (decimal, 64 bits)", err);
}

/* Records of other users of utrace: the dynamic linker, or bytes in hex. */
static bool is_foreign(struct mz_cursor c)
{
	uint64_t bytes;

	if (mz_cursor_skip(&c, "RTLD: "))
		return true;
	return mz_cursor_u64(&c, &bytes) && c.end - c.p > 3 && mz_is_blank(c.p[0]) &&
	       mz_is_blank(c.p[1]) && mz_hex_value[(unsigned char)c.p[2]];
}

/* kdump -A shows the kind of program: F64, L32, U00. */
static void skip_abi(struct mz_cursor *c)
{
	struct mz_cursor at = *c, word = mz_cursor_word(&at);

	if (word.end - word.p == 3 && strchr("FLU", *word.p) && word.p[1] >= '0' &&
	    word.p[1] <= '9') {
		*c = at;
		mz_cursor_blanks(c);
	}
}

static int take_user(struct mz_cursor *c, struct mz_event *ev, struct mz_error *err)
{
	int ret;

	mz_cursor_blanks(c);
	skip_abi(c);
	if (is_foreign(*c) || mz_cursor_skip(c, "malloc_init()"))
		return MZ_LOG_OTHER;
	ret = mz_cursor_skip(c, "free(") ? take_free(c, ev, err) : take_alloc(c, ev, err);
	if (!ret)
		ret = take_text(c, ")", err);
	if (!ret && c->p < c->end)
		ret = bad(*c, "the end of the line", err);
	if (ret)
		return ret;
	return ev->kind == MZ_FREE && !ev->addr ? MZ_LOG_NULL : MZ_LOG_EVENT;
}

static bool says_dropped(const char *line, size_t len)
{
	static const char text[] = " Events dropped.";

	return len >= sizeof(text) - 1 &&
	       !memcmp(line + len - (sizeof(text) - 1), text, sizeof(text) - 1);
}

int mz_kdump_parse(const char *line, size_t len, struct mz_event *ev, struct mz_error *err)
{
	struct mz_cursor c = {line, line + len}, type, start;
	uint64_t pid;
	bool has_pid;

	memset(ev, 0, sizeof(*ev));
	ev->has = MZ_HAS_ADDR;
	while (c.p < c.end && *c.p == ' ')
		c.p++;
	if (c.p == c.end || c.p - line >= DATA_INDENT)
		return MZ_LOG_OTHER;
	start = c;
	has_pid = mz_cursor_whole_u64(mz_cursor_word(&c), &pid) && pid <= UINT32_MAX;
	type = take_head(&c, ev);
	if (type.p == type.end)
		return has_pid && says_dropped(line, len) ? MZ_LOG_DROPPED : MZ_LOG_UNKNOWN;
	if (!mz_cursor_is(type, "USER"))
		return has_pid ? MZ_LOG_OTHER : MZ_LOG_UNKNOWN;
	if (!has_pid)
		return bad(start, "a process number", err);
	ev->pid = (uint32_t)pid;
	ev->has |= MZ_HAS_PID;
	return take_user(&c, ev, err);
}

static char *put(char *p, const char *s)
{
	return stpcpy(p, s);
}

size_t mz_kdump_format(char *out, const struct mz_event *ev, bool fields)
{
	char *p = out;

	switch (ev->kind) {
	case MZ_FREE: p = put(mz_put_hex(put(p, "free(0x"), ev->addr), ")"); break;
	case MZ_REALLOC:
		p = mz_put_hex(put(p, "realloc(0x"), ev->old_addr);
		p = put(mz_put_u64(put(p, ", "), ev->size), ") = 0x");
		p = mz_put_hex(p, ev->addr);
		break;
	default:
		p = put(mz_put_u64(put(p, "malloc("), ev->size), ") = 0x");
		p = mz_put_hex(p, ev->addr);
	}
	if (fields && (ev->has & MZ_HAS_TIME))
		p = mz_put_u64(put(p, " time="), ev->time);
	if (fields && (ev->has & MZ_HAS_PID))
		p = mz_put_u64(put(p, " pid="), ev->pid);
	if (fields && (ev->has & MZ_HAS_TID))
		p = mz_put_u64(put(p, " tid="), ev->tid);
	return (size_t)(p - out);
}
