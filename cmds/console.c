// SPDX-License-Identifier: BSD-2-Clause
/* Print errors, notes and numbers, for people or as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/terminal.h"
#include "cmds/cmd.h"

static const char *my_name = "memorizer";
static bool in_json;

void console_set(const char *name, bool json)
{
	my_name = name;
	in_json = json;
}

const char *console_name(void)
{
	return my_name;
}

char *console_text(char *buf, size_t size, const char *name)
{
	struct mz_buf b = {0};
	size_t n;

	mz_terminal_add(&b, name, strlen(name), false, false);
	n = b.len < size ? b.len : size - 1;
	if (n)
		memcpy(buf, b.data, n);
	buf[n] = '\0';
	mz_buf_free(&b);
	return buf;
}

/* 'it'\''s', and $'\x1b' where a terminal would obey a character. */
static void add_quoted(struct mz_buf *b, const char *name, bool plain)
{
	mz_buf_str(b, plain ? "'" : "$'");
	for (const char *p = name; *p; p++) {
		char hex[8];

		snprintf(hex, sizeof(hex), "\\x%02x", (unsigned char)*p);
		if (plain && *p == '\'')
			mz_buf_str(b, "'\\''");
		else if (!plain && (*p < ' ' || *p > '~' || *p == '\'' || *p == '\\'))
			mz_buf_str(b, hex);
		else
			mz_buf_add(b, p, 1);
	}
	mz_buf_str(b, "'");
}

char *console_argument(char *buf, size_t size, const char *name)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "_@%+=:,./-";
	struct mz_buf shown = {0}, b = {0};
	size_t n = strlen(name);

	mz_terminal_add(&shown, name, n, false, false);
	if (*name == '-')
		mz_buf_str(&b, "./");
	if (n && strspn(name, safe) == n)
		mz_buf_str(&b, name);
	else
		add_quoted(&b, name, shown.len == n && !memcmp(shown.data, name, n));
	n = b.len < size ? b.len : size - 1;
	if (n)
		memcpy(buf, b.data, n);
	buf[n] = '\0';
	mz_buf_free(&shown);
	mz_buf_free(&b);
	return buf;
}

/* The bytes of an incomplete character at the end of the previous write. */
struct guard {
	char rest[4];
	size_t n;
	bool no_memory; /* something was not written because memory ran out */
	int error;	/* of a write */
};

static bool write_out(const struct mz_buf *b)
{
	for (size_t done = 0; done < b->len;) {
		ssize_t n = write(STDOUT_FILENO, b->data + done, b->len - done);

		if (n < 0 && errno != EINTR)
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return !b->failed;
}

static ssize_t write_guarded(void *arg, const char *data, size_t n)
{
	struct guard *g = arg;
	struct mz_buf in = {0}, out = {0};
	size_t taken;
	bool good;

	mz_buf_add(&in, g->rest, g->n);
	mz_buf_add(&in, data, n);
	taken = in.failed ? 0 : mz_terminal_add(&out, in.data, in.len, true, true);
	good = !in.failed && write_out(&out);
	if (!good && !g->error)
		g->error = errno;
	g->no_memory |= in.failed || out.failed;
	g->n = in.len - taken < sizeof(g->rest) ? in.len - taken : 0;
	if (g->n)
		memcpy(g->rest, in.data + taken, g->n);
	mz_buf_free(&in);
	mz_buf_free(&out);
	return good ? (ssize_t)n : 0;
}

static struct guard guard;

bool console_no_memory(void)
{
	return guard.no_memory;
}

int console_write_error(void)
{
	return guard.error;
}

void console_guard(void)
{
	FILE *f = fopencookie(&guard, "w", (cookie_io_functions_t){.write = write_guarded});

	if (!f)
		return;
	setvbuf(f, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ);
	stdout = f;
}

/* The buffer is completed before anything is printed: half a JSON object is of no use. */
int console_put(struct mz_buf *b, FILE *out)
{
	int ret = b->failed ? -ENOMEM : 0;

	if (!ret)
		fwrite(b->data, 1, b->len, out);
	guard.no_memory |= ret < 0;
	mz_buf_free(b);
	return ret;
}

/* Writes to standard error; newlines are kept only where the caller allows them. */
static void put_text(const char *text, bool lines)
{
	struct mz_buf b = {0};

	mz_terminal_add(&b, text, strlen(text), lines, false);
	if (b.failed)
		fputs("out of memory", stderr);
	else
		fwrite(b.data, 1, b.len, stderr);
	mz_buf_free(&b);
}

/* False: there was not enough memory, and nothing is printed. */
static bool print_json(const struct mz_error *err)
{
	struct mz_buf b = {0};
	struct mz_json j = {.out = &b};

	mz_json_object(&j, NULL);
	mz_json_object(&j, "error");
	mz_json_str(&j, "command", my_name);
	mz_json_str(&j, "message", err->text);
	if (err->code)
		mz_json_str(&j, "errno", strerror(err->code));
	if (err->line)
		mz_json_u64(&j, "line", err->line);
	if (err->has_offset)
		mz_json_u64(&j, "offset", err->offset);
	mz_json_end_object(&j);
	mz_json_end_object(&j);
	return console_put(&b, stderr) >= 0;
}

int console_error(const struct mz_error *err)
{
	if (!in_json || !print_json(err)) {
		put_text(my_name, false);
		fputs(": ", stderr);
		put_text(err->text, false);
		fputc('\n', stderr);
	}
	return MZ_EXIT_FAILED;
}

static int fail_with(const char *fmt, va_list ap)
{
	struct mz_error err = {0};

	vsnprintf(err.text, sizeof(err.text), fmt, ap);
	return console_error(&err);
}

int console_fail(const char *fmt, ...)
{
	va_list ap;
	int ret;

	va_start(ap, fmt);
	ret = fail_with(fmt, ap);
	va_end(ap);
	return ret;
}

int console_usage(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail_with(fmt, ap);
	va_end(ap);
	if (!in_json)
		fprintf(stderr, "Try '%s --help'.\n", my_name);
	return MZ_EXIT_USAGE;
}

void console_note(const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put_text(my_name, false);
	fputs(": ", stderr);
	put_text(text, true);
	fputc('\n', stderr);
}

char *console_count(char *buf, uint64_t v)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, v);
	char *p = buf;

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			*p++ = ',';
		*p++ = digits[i];
	}
	*p = '\0';
	return buf;
}

char *console_lost(char *buf, uint64_t events)
{
	char n[32];

	snprintf(buf, 64, "%s %s lost", console_count(n, events),
		 events == 1 ? "event was" : "events were");
	return buf;
}

char *console_bytes(char *buf, uint64_t v)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double x = (double)v;
	unsigned u = 0;

	while (x >= 1024 && u < 6) {
		x /= 1024;
		u++;
	}
	snprintf(buf, 32, u ? "%.1f %s" : "%.0f %s", x, units[u]);
	return buf;
}

void console_stacks(FILE *out, const struct mz_stack_share *s)
{
	char a[32];

	fprintf(out, "%.4g %% of the blocks have a stack that reaches the start of their thread",
		mz_stack_share_rooted(s));
	if (s->cut)
		fprintf(out, "; %s stacks are deeper than the limit", console_count(a, s->cut));
	if (s->guessed)
		fprintf(out, "; %s have a guessed frame", console_count(a, s->guessed));
	fputc('\n', out);
}
