// SPDX-License-Identifier: BSD-2-Clause
/*
 * Containers on bad days: cut, flipped, absurd, killed, on a full disk, fought
 * over. What is whole is read, what is not is told, and nothing is invented.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/test.h"
#include "trace/block.h"

#define CHUNK 20
#define N     (8 * CHUNK)

static char folder[] = "/tmp/mz-bad-days-XXXXXX";
static char path[64], part[70];

/* Event i is known by its time, so that each can be told from all others. */
static struct mz_event event(uint64_t i)
{
	struct mz_event ev = {.kind = i % 2 ? MZ_FREE : MZ_ALLOC,
			      .call = i % 2 ? MZ_CALL_FREE : MZ_CALL_MALLOC,
			      .has = MZ_HAS_ADDR | MZ_HAS_TIME,
			      .time = i + 1,
			      .object = i / 2 + 1,
			      .addr = 0x1000 + i / 2 * 16,
			      .size = i % 2 ? 0 : 8 + i % 5};

	return ev;
}

static struct mz_writer *start(uint32_t chunk)
{
	struct mz_writer_options o = {.overwrite = true, .chunk_events = chunk};
	struct mz_error err = {0};
	struct mz_writer *w = mz_writer_open(path, &o, &err);

	if (!w)
		printf("# %s\n", err.text);
	return w;
}

static void make(void)
{
	struct mz_writer *w = start(CHUNK);

	for (uint64_t i = 0; i < N; i++) {
		struct mz_event ev = event(i);

		CHECK(!mz_writer_add(w, &ev, 1));
	}
	mz_writer_produced(w, N);
	CHECK(!mz_writer_close(w, NULL));
}

static size_t load(uint8_t **data)
{
	struct stat st;
	int fd = open(path, O_RDONLY);

	if (fd < 0 || fstat(fd, &st))
		abort();
	*data = malloc((size_t)st.st_size + 1);
	if (read(fd, *data, (size_t)st.st_size) != st.st_size)
		abort();
	close(fd);
	return (size_t)st.st_size;
}

static void save(const char *to, const void *data, size_t n)
{
	int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, data, n) != (ssize_t)n)
		abort();
	close(fd);
}

struct got {
	uint64_t events; /* that are as they were written */
	uint64_t wrong;
	uint64_t lost; /* lost events */
	long ret;
};

/* Every event must be one that was written, each at most once, in order. */
static struct got read_memory(const void *data, size_t n)
{
	struct mz_error err = {0};
	struct mz_reader *r = mz_reader_open_memory(data, n, "memory", &err);
	struct got g = {.ret = -err.code};
	struct mz_event ev[64];
	uint64_t last = 0;
	long k;

	if (!r)
		return g;
	while ((k = mz_reader_read(r, ev, 64)) > 0) {
		for (long i = 0; i < k; i++) {
			struct mz_event want = event(ev[i].time - 1);

			if (ev[i].kind == MZ_LOST) {
				g.lost++;
				continue;
			}
			if (ev[i].time <= last || memcmp(&ev[i], &want, sizeof(want)))
				g.wrong++;
			else
				g.events++;
			last = ev[i].time;
		}
	}
	g.ret = k;
	mz_reader_close(r);
	return g;
}

static int verify(const void *data, size_t n)
{
	struct mz_error err = {0};

	save(part, data, n);
	return mz_verify_file(part, NULL, NULL, NULL, &err);
}

/* Any bit of any byte: verify sees it, and one chunk at most is lost. */
static void flipped_bits(void)
{
	uint8_t *data;
	size_t n;

	make();
	n = load(&data);
	CHECK_EQ(read_memory(data, n).events, N);
	CHECK_EQ(verify(data, n), 0);
	for (size_t i = 0; i < n; i++) {
		unsigned bit = (unsigned)(i * 5 % 8);
		struct got g;

		data[i] ^= (uint8_t)(1 << bit);
		g = read_memory(data, n);
		if (i < 36 && g.ret < 0 && g.ret == -ENOTSUP)
			g.events = N; /* a version that it does not know: refused, rightly */
		if (g.wrong || g.events < N - CHUNK || (g.events < N && !g.lost)) {
			printf("# byte %zu: %llu events, %llu wrong, %llu lost, %ld\n", i,
			       (unsigned long long)g.events, (unsigned long long)g.wrong,
			       (unsigned long long)g.lost, g.ret);
			CHECK(!"a flipped bit took too much with it");
		}
		if (i % 7 == 0 || i < 60 || n - i < 60)
			CHECK(verify(data, n) != 0);
		data[i] ^= (uint8_t)(1 << bit);
	}
	free(data);
}

/* Where the chunks of the file end. */
static size_t chunk_ends(const uint8_t *data, size_t n, size_t *ends)
{
	size_t at = MZ_WIRE_HEADER_SIZE, k = 0;
	struct mz_block_frame f;

	while (at + MZ_WIRE_FRAME_SIZE <= n && mz_block_frame_get(data + at, &f)) {
		at += MZ_WIRE_FRAME_SIZE + f.size;
		if (f.type == MZ_BLOCK_EVENTS)
			ends[k++] = at;
	}
	return k;
}

/* Any length: all chunks that are whole are read, and nothing more. */
static void cut_anywhere(void)
{
	size_t n, ends[16], chunks;
	uint8_t *data;

	make();
	n = load(&data);
	chunks = chunk_ends(data, n, ends);
	CHECK_EQ(chunks, N / CHUNK);
	for (size_t len = 0; len < n; len++) {
		struct got g = read_memory(data, len);
		size_t whole = 0;

		while (whole < chunks && ends[whole] <= len)
			whole++;
		if (g.wrong || g.events != whole * CHUNK) {
			printf("# cut at %zu: %llu events, not %zu\n", len,
			       (unsigned long long)g.events, whole * CHUNK);
			CHECK(!"a cut took too much with it");
		}
		if (len % 13 == 0)
			CHECK(verify(data, len) != 0);
	}
	free(data);
}

/* A number of 2^63 in the place of each byte of a chunk: no crash, and no
 * allocation beyond what a chunk may need. */
static void absurd_numbers(void)
{
	static const uint8_t huge[10] = {0x80, 0x80, 0x80, 0x80, 0x80,
					 0x80, 0x80, 0x80, 0x80, 0x01};
	struct mz_decoder *d = mz_decoder_new();
	struct mz_event ev[64];
	uint8_t *data, *bad;
	struct mz_block_frame f;
	size_t n, at = MZ_WIRE_HEADER_SIZE;
	struct rusage before, after;

	make();
	n = load(&data);
	while (mz_block_frame_get(data + at, &f) && f.type != MZ_BLOCK_EVENTS)
		at += MZ_WIRE_FRAME_SIZE + f.size;
	at += MZ_WIRE_FRAME_SIZE;
	bad = malloc(f.size + sizeof(huge));
	getrusage(RUSAGE_SELF, &before);
	for (size_t i = 0; i < f.size; i++) {
		memcpy(bad, data + at, i);
		memcpy(bad + i, huge, sizeof(huge));
		memcpy(bad + i + sizeof(huge), data + at + i + 1, f.size - i - 1);
		if (!mz_decoder_start(d, bad, f.size + sizeof(huge) - 1))
			while (mz_decoder_read(d, ev, 64) > 0)
				;
	}
	getrusage(RUSAGE_SELF, &after);
	CHECK(after.ru_maxrss - before.ru_maxrss < 64 * 1024);
	CHECK(n > at);
	free(bad);
	free(data);
	mz_decoder_free(d);
}

/* Until a file has grown to this, or it hangs: ten minutes. */
static void wait_for_size(const char *file, off_t size)
{
	struct stat st;

	for (int i = 0; i < 600000 && (stat(file, &st) || st.st_size < size); i++)
		usleep(1000);
}

/* The last block counts, whatever the index says of it. */
static void killed_writer(void)
{
	for (int round = 0; round < 12; round++) {
		uint8_t *data;
		struct got g;
		size_t n;
		pid_t pid = fork();
		int status;

		if (!pid) {
			struct mz_writer *w = start(CHUNK);

			for (uint64_t i = 0; w; i++) {
				struct mz_event ev = event(i);

				if (mz_writer_add(w, &ev, 1) < 0)
					break;
			}
			_exit(9);
		}
		usleep(3000u + (unsigned)round * 1700);
		if (round > 8) /* however slow the machine is */
			wait_for_size(part, 64 * 1024);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		CHECK(WIFSIGNALED(status));
		CHECK(access(path, F_OK) < 0 || round == 0 || !access(part, F_OK));
		if (access(part, F_OK))
			continue; /* killed before it began */
		rename(part, path);
		n = load(&data);
		g = read_memory(data, n);
		if (n >= MZ_WIRE_HEADER_SIZE)
			CHECK(!g.ret && !g.wrong && g.events % CHUNK == 0);
		if (round > 8)
			CHECK(g.events > 0);
		free(data);
		unlink(path);
	}
}

static void full_disk(void)
{
	struct rlimit was, small;
	struct mz_writer *w;
	struct mz_error err = {0};
	struct got g;
	uint8_t *data;
	int ret = 0;
	size_t n;

	unlink(path);
	w = start(CHUNK);
	getrlimit(RLIMIT_FSIZE, &was);
	small = was;
	small.rlim_cur = 3000;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	for (uint64_t i = 0; i < 5000 && !ret; i++) {
		struct mz_event ev = event(i);

		ret = mz_writer_add(w, &ev, 1);
	}
	CHECK(ret < 0);
	CHECK(strstr(mz_writer_error(w)->text, ".part"));
	CHECK(mz_writer_close(w, &err) < 0 && err.code);
	setrlimit(RLIMIT_FSIZE, &was);
	CHECK(access(path, F_OK) < 0);
	rename(part, path);
	n = load(&data);
	g = read_memory(data, n);
	CHECK(!g.ret && !g.wrong && g.events > CHUNK && g.events % CHUNK == 0);
	/* it ends with a whole block */
	CHECK(verify(data, n) == 1);
	free(data);
	unlink(path);
}

static void two_writers(void)
{
	struct mz_writer_options force = {.overwrite = true};
	struct mz_error err = {0};
	struct mz_writer *w;
	struct mz_event ev = event(0);

	unlink(path);
	unlink(part);
	w = start(0);
	CHECK(w && !mz_writer_open(path, NULL, &err) && err.code == EBUSY);
	err = (struct mz_error){0};
	CHECK(!mz_writer_open(path, &force, &err) && err.code == EBUSY);
	CHECK(!mz_writer_add(w, &ev, 1));
	CHECK(!mz_writer_close(w, NULL));
	err = (struct mz_error){0};
	CHECK(!mz_writer_open(path, NULL, &err) && err.code == EEXIST);
	unlink(path);
	/* what a dead writer left is kept, unless it may be replaced */
	save(part, "x", 1);
	err = (struct mz_error){0};
	CHECK(!mz_writer_open(path, NULL, &err) && err.code == EEXIST);
	CHECK(strstr(err.text, "stopped"));
	w = mz_writer_open(path, &force, &err);
	CHECK(w);
	mz_writer_abort(w);
	CHECK(access(part, F_OK) < 0);
}

/* Blocks of a later version: what may be skipped is, what may not is said. */
static void later_version(void)
{
	uint8_t *data, *more, frame[MZ_WIRE_FRAME_SIZE];
	struct got g;
	size_t n;

	make();
	n = load(&data);
	more = malloc(n + sizeof(frame) + 3);
	memcpy(more, data, MZ_WIRE_HEADER_SIZE);
	for (int optional = 0; optional < 2; optional++) {
		mz_block_frame_put(frame, optional ? 0x9f : 0x1f, "new", 3);
		memcpy(more + MZ_WIRE_HEADER_SIZE, frame, sizeof(frame));
		memcpy(more + MZ_WIRE_HEADER_SIZE + sizeof(frame), "new", 3);
		memcpy(more + MZ_WIRE_HEADER_SIZE + sizeof(frame) + 3, data + MZ_WIRE_HEADER_SIZE,
		       n - MZ_WIRE_HEADER_SIZE - MZ_WIRE_TRAILER_SIZE);
		g = read_memory(more, n + sizeof(frame) + 3 - MZ_WIRE_TRAILER_SIZE);
		if (optional)
			CHECK(g.events == N && !g.wrong && !g.ret);
		else
			CHECK_EQ(g.ret, -ENOTSUP);
	}
	free(more);
	free(data);
}

int main(void)
{
	test_folder(folder, path, "t.cmt");
	snprintf(part, sizeof(part), "%s.part", path);
	RUN(flipped_bits);
	RUN(cut_anywhere);
	RUN(absurd_numbers);
	unlink(path);
	unlink(part);
	RUN(killed_writer);
	RUN(full_disk);
	RUN(two_writers);
	RUN(later_version);
	unlink(path);
	unlink(part);
	rmdir(folder);
	return test_end();
}
