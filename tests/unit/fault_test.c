// SPDX-License-Identifier: BSD-2-Clause
/*
 * Every allocation of the readers, writers and tables fails once: the result is
 * a clean -ENOMEM, nothing leaks, nothing crashes, no file is left behind. The
 * linker sends the library's calls to the functions here (tests/tests.mk).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/layout.h"
#include "analysis/lifetimes.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/output.h"
#include "formats/classic.h"
#include "formats/logs.h"
#include "formats/text.h"
#include "tests/unit/faults.h"

/* ---- inputs, made once and without faults ------------------------------- */

struct bytes {
	char data[1 << 20];
	size_t len;
};

static struct bytes text, long_line, classic, kdump, dtrace;
static char folder[] = "/tmp/memorizer-fault-XXXXXX";
static char text_path[64], long_path[64], container_path[64], part_path[80];

static void add(struct bytes *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(struct bytes *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	b->len += (size_t)vsnprintf(b->data + b->len, sizeof(b->data) - b->len, fmt, ap);
	va_end(ap);
	if (b->len >= sizeof(b->data))
		abort();
}

static void save(const char *path, const struct bytes *b)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, b->data, b->len) != (ssize_t)b->len)
		abort();
	close(fd);
}

/* Enough live blocks, strings and stacks that every table grows. */
static void make_inputs(void)
{
	for (int i = 1; i <= 1000; i++) {
		add(&text, "malloc(%d) = %x cache=c%d stack=%x,7\n", i, i * 4096, i % 100, i % 150);
		add(&kdump, " 100 sh       USER  0x%x = malloc(%d)\n", i * 4096, i);
		add(&dtrace, "call-trace\t%d\ta b\tmalloc\t%d\t%x\n", i, i, i * 4096);
		classic.len += 3;
		memcpy(classic.data + classic.len - 3, "\x88\x80\x81", 3);
	}
	add(&text, "mark(end)\nrealloc(1000, 5) = 1000\nfree(1000)\n");
	add(&long_line, "malloc(8) = 1000\n#");
	memset(long_line.data + long_line.len, 'x', 700000);
	long_line.len += 700000;
	add(&long_line, "\nfree(1000)\n");
	if (!mkdtemp(folder))
		abort();
	snprintf(text_path, sizeof(text_path), "%s/text", folder);
	snprintf(long_path, sizeof(long_path), "%s/long", folder);
	snprintf(out_path, sizeof(out_path), "%s/out", folder);
	save(text_path, &text);
	save(long_path, &long_line);
	snprintf(container_path, sizeof(container_path), "%s/container", folder);
	snprintf(part_path, sizeof(part_path), "%s.part", out_path);
}

/* ---- what is tried: each returns 0 or -errno ----------------------------- */

static int read_all(struct mz_reader *r, const struct mz_error *err)
{
	struct mz_event ev[64];
	long n;

	if (!r)
		return -err->code;
	while ((n = mz_reader_read(r, ev, 64)) > 0)
		;
	if (n < 0 && (mz_reader_error(r)->code != -n || mz_reader_read(r, ev, 64) != n))
		n = -EPROTO;
	mz_reader_close(r);
	return (int)n;
}

static int read_memory(const struct bytes *b)
{
	struct mz_error err = {0};

	return read_all(mz_reader_open_memory(b->data, b->len, "memory", &err), &err);
}

static int do_text(void)
{
	return read_memory(&text);
}

static int do_classic(void)
{
	return read_memory(&classic);
}

static int do_text_file(void)
{
	struct mz_error err = {0};

	return read_all(mz_reader_open(text_path, &err), &err);
}

static int do_long_line(void)
{
	struct mz_error err = {0};
	int fd = open(long_path, O_RDONLY), ret;

	ret = read_all(mz_reader_open_fd(fd, "long", &err), &err);
	close(fd);
	return ret;
}

static int read_log(const struct bytes *b, struct mz_dtrace *d)
{
	struct mz_error err = {0};
	struct mz_input in;
	struct mz_log log = {.in = &in, .dtrace = d};
	struct mz_event ev;
	int ret = mz_input_memory(&in, b->data, b->len, "log", &err);

	if (ret < 0)
		return ret;
	while ((ret = mz_log_next(&log, &ev, &err)) > 0)
		;
	mz_input_close(&in);
	return ret;
}

static int do_kdump(void)
{
	return read_log(&kdump, NULL);
}

static int do_dtrace(void)
{
	struct mz_dtrace d;

	mz_dtrace_init(&d);
	return read_log(&dtrace, &d);
}

/* A reader into an output, through the classic writer or as text. */
static int convert(bool as_text)
{
	struct mz_error err = {0};
	struct mz_reader *r = mz_reader_open_memory(text.data, text.len, "memory", &err);
	struct mz_classic_writer w = {0};
	struct mz_output out = {.file.fd = -1};
	struct mz_event ev;
	long n = 0;
	int ret = r ? 0 : -err.code;

	if (!ret)
		ret = mz_classic_writer_init(&w);
	if (!ret)
		ret = mz_output_open(&out, out_path, false, &err);
	while (!ret && (n = mz_reader_read(r, &ev, 1)) > 0) {
		char *p = mz_output_room(&out, 4096, &err), *start = p;

		if (as_text)
			p += mz_text_format(p, &ev, mz_reader_tables(r), true);
		else
			ret = mz_classic_put(&w, &ev, &p);
		ret = ret < 0 ? ret : 0;
		out.len += (size_t)(p - start);
	}
	if (!ret)
		ret = (int)n;
	if (!ret)
		ret = mz_output_commit(&out, &err);
	mz_output_abort(&out);
	mz_classic_writer_deinit(&w);
	mz_reader_close(r);
	return ret;
}

static int do_write_classic(void)
{
	return convert(false);
}

static int do_write_text(void)
{
	return convert(true);
}

static int do_tables(void)
{
	struct mz_tables *t = mz_tables_new();
	int ret = t ? 0 : -ENOMEM;

	for (uint64_t i = 0; i < 300 && !ret; i++) {
		char name[32];
		uint64_t ips[3] = {i, 2, 3};
		int n = snprintf(name, sizeof(name), "name %d", (int)i);

		if (!mz_tables_string(t, name, (size_t)n) || !mz_tables_stack(t, ips, 3))
			ret = -ENOMEM;
		/* what is there stays there */
		else if (mz_tables_strings(t) != i + 1 || mz_tables_stacks(t) != i + 1)
			ret = -EPROTO;
	}
	mz_tables_free(t);
	return ret;
}

static int do_live(void)
{
	struct mz_live l;
	struct mz_effect fx;
	int ret = mz_live_init(&l);

	for (uint64_t i = 1; i < 3000 && !ret; i++) {
		struct mz_event ev = {.kind = i % 3 ? MZ_ALLOC : MZ_REALLOC,
				      .addr = i * 16,
				      .old_addr = i % 3 ? 0 : (i - 1) * 16,
				      .size = 8,
				      .has = MZ_HAS_ADDR};
		size_t used = mz_live_count(&l);

		ret = mz_live_apply(&l, &ev, i, &fx);
		if (ret < 0 && mz_live_count(&l) != used)
			ret = -EPROTO; /* a failed event did not happen */
	}
	mz_live_deinit(&l);
	return ret;
}

static int do_json(void)
{
	struct mz_buf b = {0};
	struct mz_json j = {.out = &b};
	int ret;

	mz_json_object(&j, NULL);
	for (int i = 0; i < 200; i++)
		mz_json_str(&j, "a key", "a value that is longer");
	mz_json_end_object(&j);
	ret = b.failed ? -ENOMEM : 0;
	mz_buf_free(&b);
	return ret;
}

static int analyse(bool layout)
{
	struct mz_error err = {0};
	struct mz_reader *r = mz_reader_open_memory(text.data, text.len, "memory", &err);
	struct mz_lifetimes *life = layout ? NULL : mz_lifetimes_new(false);
	struct mz_layout *lay = layout ? mz_layout_new() : NULL;
	struct mz_event ev;
	long n = 0;
	int ret = r && (life || lay) ? 0 : -ENOMEM;

	while (!ret && (n = mz_reader_read_raw(r, &ev, 1)) > 0) {
		struct mz_layout_step step;
		struct mz_effect fx;

		ret = layout ? mz_layout_add(lay, &ev, 1, &step)
			     : mz_lifetimes_add(life, &ev, 1, &fx);
	}
	mz_lifetimes_free(life);
	mz_layout_free(lay);
	mz_reader_close(r);
	return ret ? ret : (int)n;
}

static int do_lifetimes(void)
{
	return analyse(false);
}

static int do_layout(void)
{
	return analyse(true);
}

/* ---- containers ---------------------------------------------------------- */

static int write_container(const char *path, bool best)
{
	struct mz_writer_options o = {.best = best, .chunk_events = 300, .overwrite = true};
	struct mz_error err = {0};
	struct mz_writer *w = mz_writer_open(path, &o, &err);
	int ret = w ? 0 : -err.code;

	if (!ret)
		ret = mz_writer_set_text(w, "host", "here");
	for (uint64_t i = 1; i <= 700 && !ret; i++) {
		uint64_t ips[2] = {i % 90, 7};
		struct mz_event ev = {.kind = i % 3 ? MZ_ALLOC : MZ_FREE,
				      .call = i % 3 ? MZ_CALL_MALLOC : MZ_CALL_FREE,
				      .object = i % 3 ? i - i / 3 : i / 3,
				      .addr = i % 3 ? i * 16 : i / 3 * 16,
				      .size = i % 3 ? i * 7 % 100 : 0,
				      .time = i * 10,
				      .tid = (uint32_t)(i % 40),
				      .has = MZ_HAS_ADDR | MZ_HAS_TIME | MZ_HAS_TID | MZ_HAS_SITE};

		ev.site = mz_writer_stack(w, ips, 2);
		if (!ev.site || !mz_writer_string(w, (char *)ips, 3))
			ret = -ENOMEM;
		else
			ret = mz_writer_add(w, &ev, 1);
	}
	if (ret < 0)
		mz_writer_abort(w);
	else
		ret = mz_writer_close(w, &err);
	unlink(part_path); /* what a failed close leaves */
	return ret;
}

static int do_write_container(void)
{
	return write_container(out_path, false);
}

static int do_write_best(void)
{
	return write_container(out_path, true);
}

static int do_read_container(void)
{
	struct mz_error err = {0};

	return read_all(mz_reader_open(container_path, &err), &err);
}

static int do_read_pipe(void)
{
	struct mz_error err = {0};
	int fds[2], fd = open(container_path, O_RDONLY), ret;
	static char buf[60000]; /* fits a pipe */
	ssize_t n = read(fd, buf, sizeof(buf));

	close(fd);
	if (pipe(fds) || write(fds[1], buf, (size_t)n) != n)
		abort();
	close(fds[1]);
	ret = read_all(mz_reader_open_fd(fds[0], "pipe", &err), &err);
	close(fds[0]);
	return ret;
}

static int do_verify(void)
{
	struct mz_error err = {0};
	struct mz_verify v = {.size = sizeof(v)};

	return mz_verify_file(container_path, &v, NULL, NULL, &err);
}

/* ---- each of them, with each allocation failing -------------------------- */

#define FAULTS(what)                                                                               \
	static void faults_##what(void)                                                            \
	{                                                                                          \
		try_all(#what, do_##what);                                                         \
	}

FAULTS(text)
FAULTS(text_file)
FAULTS(long_line)
FAULTS(classic)
FAULTS(kdump)
FAULTS(dtrace)
FAULTS(write_classic)
FAULTS(write_text)
FAULTS(tables)
FAULTS(live)
FAULTS(json)
FAULTS(lifetimes)
FAULTS(layout)
FAULTS(write_container)
FAULTS(write_best)
FAULTS(read_container)
FAULTS(read_pipe)
FAULTS(verify)

/* The message is there even when memory is not. */
static void says_so(void)
{
	struct mz_error err = {0};

	calls = 0;
	fail_at = 1;
	CHECK(!mz_reader_open(text_path, &err));
	fail_at = 0;
	CHECK_EQ(err.code, ENOMEM);
	CHECK(!strcmp(err.text, "out of memory"));
}

/* The temporary file of an output does not stay either. */
static void folder_is_clean(void)
{
	unlink(text_path);
	unlink(container_path);
	unlink(long_path);
	CHECK(!rmdir(folder));
}

int main(void)
{
	make_inputs();
	RUN(faults_text);
	RUN(faults_text_file);
	RUN(faults_long_line);
	RUN(faults_classic);
	RUN(faults_kdump);
	RUN(faults_dtrace);
	RUN(faults_write_classic);
	RUN(faults_write_text);
	RUN(faults_tables);
	RUN(faults_live);
	RUN(faults_json);
	RUN(faults_lifetimes);
	RUN(faults_layout);
	RUN(faults_write_container);
	RUN(faults_write_best);
	if (write_container(container_path, true) < 0)
		abort();
	RUN(faults_read_container);
	RUN(faults_read_pipe);
	RUN(faults_verify);
	RUN(says_so);
	RUN(folder_is_clean);
	return test_end();
}
