// SPDX-License-Identifier: BSD-2-Clause
/* Parse allocation logs that were made with dtrace. */
/*
 * Tabs are between the columns. The old layout:
 *   call-trace  TIME  CALLSTACK  NAME  ARGS  RESULT
 * The newer one says what its columns are:
 *   @record-type:call-trace  timestamp-unix-ns  callstack  tid  name  args  result ...
 */
#include <errno.h>
#include <string.h>

#include "base/cursor.h"
#include "base/error.h"
#include "formats/logs.h"
#include "trace/event.h"

/* More columns than any known layout has; further ones are ignored. */
#define COLUMNS 32

void mz_dtrace_init(struct mz_dtrace *d)
{
	*d = (struct mz_dtrace){.time = 1, .tid = -1, .name = 3, .args = 4, .result = 5};
}

static int show(struct mz_error *err, const char *what, struct mz_cursor c)
{
	char shown[64];

	return mz_fail(err, EINVAL, "%s: '%s'", what,
		       mz_printable(shown, 48, c.p, (size_t)(c.end - c.p)));
}

static unsigned split(const char *line, size_t len, struct mz_cursor *cols)
{
	const char *end = line + len;
	unsigned n = 0;

	while (n < COLUMNS) {
		const char *tab = memchr(line, '\t', (size_t)(end - line));

		cols[n++] = (struct mz_cursor){line, tab ? tab : end};
		if (!tab)
			break;
		line = tab + 1;
	}
	return n;
}

/* Find the columns in the header line. */
static int take_header(struct mz_dtrace *d, const struct mz_cursor *cols, unsigned n,
		       struct mz_error *err)
{
	/* the type of the record is in column 0, so a number below 0 means that a column is
	 * missing */
	struct mz_dtrace found = {-1, -1, -1, -1, -1, true};

	for (unsigned i = 1; i < n; i++) {
		struct mz_cursor c = cols[i];

		if (mz_cursor_skip(&c, "timestamp"))
			found.time = (int)i;
		else if (mz_cursor_is(c, "tid"))
			found.tid = (int)i;
		else if (mz_cursor_is(c, "name"))
			found.name = (int)i;
		else if (mz_cursor_is(c, "args"))
			found.args = (int)i;
		else if (mz_cursor_is(c, "result"))
			found.result = (int)i;
	}
	if (found.name < 0 || found.args < 0 || found.result < 0)
		return mz_fail(err, EINVAL, "the header of call-trace has no column '%s'",
			       found.name < 0	? "name"
			       : found.args < 0 ? "args"
						: "result");
	*d = found;
	return MZ_LOG_OTHER;
}

/* Without a header, a number in the place of the name means that the layout is the newer one. */
static void guess(struct mz_dtrace *d, const struct mz_cursor *cols, unsigned n)
{
	uint64_t tid;

	mz_dtrace_init(d);
	if (n > 6 && mz_cursor_whole_u64(cols[3], &tid))
		*d = (struct mz_dtrace){.time = 1, .tid = 3, .name = 4, .args = 5, .result = 6};
}

/* The calls, and what their arguments are: p pointer, n count, a alignment, s size, - ignored. */
static const struct call {
	const char *name;
	uint8_t call;
	uint8_t kind;
	const char *args;
} calls[] = {
	{"malloc", MZ_CALL_MALLOC, MZ_ALLOC, "s"},
	{"free", MZ_CALL_FREE, MZ_FREE, "p"},
	{"calloc", MZ_CALL_CALLOC, MZ_ALLOC, "ns"},
	{"realloc", MZ_CALL_REALLOC, MZ_REALLOC, "ps"},
	{"reallocarray", MZ_CALL_REALLOCARRAY, MZ_REALLOC, "pns"},
	{"aligned_alloc", MZ_CALL_ALIGNED_ALLOC, MZ_ALLOC, "as"},
	{"memalign", MZ_CALL_MEMALIGN, MZ_ALLOC, "as"},
	{"posix_memalign", MZ_CALL_POSIX_MEMALIGN, MZ_ALLOC, "as"},
	{"valloc", MZ_CALL_VALLOC, MZ_ALLOC, "s"},
	{"pvalloc", MZ_CALL_PVALLOC, MZ_ALLOC, "s"},
	{"mmap", MZ_CALL_MMAP, MZ_ALLOC, "-s----"},
	{"munmap", MZ_CALL_MUNMAP, MZ_FREE, "ps"},
	{"revoke", MZ_CALL_NONE, MZ_NONE, NULL}, /* of capabilities; frees nothing */
};

static const struct call *find_call(struct mz_cursor name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (mz_cursor_is(name, calls[i].name))
			return &calls[i];
	return NULL;
}

/* A pointer has no 0x in these logs, and may have leading zeros. */
static int take_pointer(struct mz_cursor word, uint64_t *addr, struct mz_error *err)
{
	if (word.p == word.end)
		return mz_fail(err, EINVAL, "no pointer where one was expected");
	return mz_cursor_whole_hex(word, addr) ? 0 : show(err, "not a pointer (hexadecimal)", word);
}

static int take_number(struct mz_cursor word, const char *what, uint64_t *v, struct mz_error *err)
{
	if (word.p == word.end)
		return mz_fail(err, EINVAL, "no %s where one was expected", what);
	if (!mz_cursor_whole_u64(word, v))
		return show(err, "not a 64-bit decimal number", word);
	return 0;
}

static int take_args(const struct call *call, struct mz_cursor c, struct mz_event *ev,
		     struct mz_error *err)
{
	int ret = 0;

	for (const char *a = call->args; *a && !ret; a++) {
		struct mz_cursor word = mz_cursor_word(&c);

		switch (*a) {
		case 'p':
			ret = take_pointer(word, ev->kind == MZ_FREE ? &ev->addr : &ev->old_addr,
					   err);
			break;
		case 'n': ret = take_number(word, "count", &ev->arg, err); break;
		case 'a': ret = take_number(word, "alignment", &ev->arg, err); break;
		case 's': ret = take_number(word, "size", &ev->size, err); break;
		}
	}
	mz_cursor_blanks(&c);
	if (!ret && c.p < c.end)
		ret = show(err, "one argument too many", c);
	return ret;
}

static int take_result(struct mz_cursor word, struct mz_event *ev, struct mz_error *err)
{
	int ret;

	/* realloc to 0 bytes frees, and may return nothing at all */
	if (word.p == word.end && ev->kind == MZ_REALLOC && !ev->size)
		return 0;
	ret = take_pointer(word, &ev->addr, err);
	if (!ret && ev->call == MZ_CALL_MMAP && ev->addr == UINT64_MAX)
		ev->addr = 0; /* MAP_FAILED */
	return ret;
}

static int take_context(const struct mz_dtrace *d, const struct mz_cursor *cols,
			struct mz_event *ev, struct mz_error *err)
{
	uint64_t tid = 0;
	int ret = 0;

	if (d->time >= 0) {
		ret = take_number(cols[d->time], "time", &ev->time, err);
		ev->has |= MZ_HAS_TIME;
	}
	if (!ret && d->tid >= 0) {
		ret = take_number(cols[d->tid], "thread", &tid, err);
		if (!ret && tid > UINT32_MAX)
			ret = show(err, "not a 32-bit thread number", cols[d->tid]);
		ev->tid = (uint32_t)tid;
		ev->has |= MZ_HAS_TID;
	}
	return ret;
}

/* Only columns that are needed must be there: a log may be cut at the end, and free has no
 * result. */
static int take_call(const struct mz_dtrace *d, const struct mz_cursor *cols, unsigned n,
		     struct mz_event *ev, struct mz_error *err)
{
	struct mz_cursor none = {"", ""};
	const struct call *call;
	int ret;

	if ((unsigned)d->name >= n || (unsigned)d->args >= n || d->time >= (int)n ||
	    d->tid >= (int)n)
		return mz_fail(err, EINVAL, "the record has only %u columns; it was truncated", n);
	call = find_call(cols[d->name]);
	if (!call)
		return show(err, "not a call that allocates or frees", cols[d->name]);
	if (!call->args)
		return MZ_LOG_OTHER;
	ev->call = call->call;
	ev->kind = call->kind;
	ret = take_context(d, cols, ev, err);
	if (!ret)
		ret = take_args(call, cols[d->args], ev, err);
	if (!ret && (ev->call == MZ_CALL_CALLOC || ev->call == MZ_CALL_REALLOCARRAY))
		mz_event_multiply(ev);
	if (!ret && ev->kind != MZ_FREE)
		ret = take_result((unsigned)d->result < n ? cols[d->result] : none, ev, err);
	if (ret)
		return ret;
	return ev->kind == MZ_FREE && !ev->addr ? MZ_LOG_NULL : MZ_LOG_EVENT;
}

int mz_dtrace_parse(struct mz_dtrace *d, const char *line, size_t len, struct mz_event *ev,
		    struct mz_error *err)
{
	struct mz_cursor cols[COLUMNS];
	unsigned n;

	memset(ev, 0, sizeof(*ev));
	ev->has = MZ_HAS_ADDR;
	if (!len || *line == '#')
		return MZ_LOG_OTHER;
	n = split(line, len, cols);
	if (mz_cursor_is(cols[0], "@record-type:call-trace"))
		return take_header(d, cols, n, err);
	if (mz_cursor_is(cols[0], "call-trace")) {
		if (!d->declared)
			guess(d, cols, n);
		return take_call(d, cols, n, ev, err);
	}
	if (*line == '@' || mz_cursor_is(cols[0], "aspace-sample"))
		return MZ_LOG_OTHER;
	return MZ_LOG_UNKNOWN;
}
