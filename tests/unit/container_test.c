// SPDX-License-Identifier: BSD-2-Clause
/* Containers written and read back: every field, every odd event, chunks,
 * streams, tables, attributes, selection. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/test.h"
#include "trace/block.h"
#include "trace/chunk.h"
#include "trace/reader.h"
#include "trace/writer.h"
#include <memorizer.h>

static char dir[] = "/tmp/mz-container-XXXXXX";
static char path[64];

static uint64_t seed = 1;

static uint64_t rnd(uint64_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % below;
}

static uint64_t odd_number(void)
{
	static const uint64_t odd[] = {
		0,	   1, 127, 128, 255, UINT32_MAX, 1ull << 32, 1ull << 63, UINT64_MAX - 1,
		UINT64_MAX};

	return rnd(3) ? rnd(5000) : odd[rnd(sizeof(odd) / sizeof(*odd))];
}

/* Whatever an event can be: objects live and dead, strays, every field. */
static void odd_event(struct mz_event *ev, uint64_t *serial, uint64_t *time, bool raw)
{
	uint16_t has = rnd(4) ? MZ_HAS_ALL : (uint16_t)rnd(MZ_HAS_ALL + 1);
	static const uint8_t calls[] = {MZ_CALL_MALLOC,	 MZ_CALL_FREE,	MZ_CALL_REALLOC,
					MZ_CALL_ACCESS,	 MZ_CALL_LOST,	MZ_CALL_MARK,
					MZ_CALL_KMALLOC, MZ_CALL_MUNMAP};

	*ev = (struct mz_event){0};
	ev->call = calls[rnd(rnd(3) ? 3 : sizeof(calls))];
	ev->kind = mz_call_kind(ev->call);
	ev->has = has;
	ev->size = odd_number();
	ev->arg = ev->kind == MZ_LOST ? rnd(MZ_LOSSES) : rnd(3) ? 0 : odd_number();
	ev->unit = rnd(9) ? 0 : (uint32_t)odd_number();
	if (has & MZ_HAS_GIVEN)
		ev->given = odd_number();
	if (has & MZ_HAS_TIME)
		ev->time = *time += rnd(2000);
	if (has & MZ_HAS_CPU)
		ev->cpu = (int16_t)rnd(70);
	if (has & MZ_HAS_NODE)
		ev->node = (int16_t)(rnd(3) - 1);
	if (has & MZ_HAS_PID)
		ev->pid = (uint32_t)odd_number();
	if (has & MZ_HAS_TID)
		ev->tid = (uint32_t)rnd(9);
	if (has & MZ_HAS_SITE)
		ev->site = (uint32_t)odd_number();
	if (has & MZ_HAS_CACHE)
		ev->cache = (uint32_t)rnd(3);
	if (has & MZ_HAS_FLAGS)
		ev->flags = (uint32_t)odd_number();
	if (ev->kind == MZ_ALLOC || ev->kind == MZ_REALLOC) {
		ev->object = rnd(20) ? *serial += rnd(50) ? 1 : rnd(9) : 0;
		if (has & MZ_HAS_ADDR)
			ev->addr = rnd(30) ? 0x7f0000000000 + 16 * rnd(3000) : odd_number();
	}
	if (ev->kind == MZ_REALLOC) {
		ev->old_object = rnd(9) ? rnd(*serial + 5) : 0;
		ev->old_addr = has & MZ_HAS_ADDR ? 0x7f0000000000 + 16 * rnd(3000) : 0;
	}
	if (ev->kind == MZ_FREE || ev->kind == MZ_ACCESS) {
		ev->object = rnd(9) ? rnd(*serial + 5) : 0;
		ev->addr = has & MZ_HAS_ADDR ? 0x7f0000000000 + 16 * rnd(3000) : 0;
	}
	if (raw)
		ev->object = ev->old_object = 0;
}

static struct mz_event *odd_events(size_t n, bool raw)
{
	struct mz_event *ev = calloc(n, sizeof(*ev));
	uint64_t serial = 0, time = 1000;

	for (size_t i = 0; i < n; i++)
		odd_event(&ev[i], &serial, &time, raw);
	return ev;
}

static bool write_events(const struct mz_event *ev, size_t n, const struct mz_writer_options *o)
{
	struct mz_error err = {0};
	struct mz_writer *w = mz_writer_open(path, o, &err);
	size_t at = 0;

	if (!w) {
		printf("# %s\n", err.text);
		return false;
	}
	while (at < n) {
		size_t k = 1 + rnd(700);

		k = k < n - at ? k : n - at;
		if (mz_writer_put(w, ev + at, k) < 0)
			break;
		at += k;
	}
	if (mz_writer_close(w, &err) < 0)
		printf("# %s\n", err.text);
	return at == n && !err.code;
}

static size_t read_events(struct mz_event **out, const struct mz_select *select)
{
	struct mz_error err = {0};
	struct mz_reader *r = mz_reader_open(path, &err);
	size_t n = 0, cap = 1024;
	struct mz_event *ev = malloc(cap * sizeof(*ev));
	long got;

	*out = ev;
	if (!r) {
		printf("# %s\n", err.text);
		return 0;
	}
	if (select)
		mz_reader_select(r, select);
	while ((got = mz_reader_read(r, ev + n, cap - n)) > 0) {
		n += (size_t)got;
		if (n == cap)
			ev = realloc(ev, (cap *= 2) * sizeof(*ev));
	}
	if (got < 0)
		printf("# %s\n", mz_reader_error(r)->text);
	mz_reader_close(r);
	*out = ev;
	return n;
}

static bool same_events(const struct mz_event *a, size_t na, const struct mz_event *b, size_t nb)
{
	if (na != nb)
		printf("# %zu events, not %zu\n", nb, na);
	for (size_t i = 0; i < na && i < nb; i++) {
		if (memcmp(&a[i], &b[i], sizeof(a[i]))) {
			printf("# event %zu differs: kind %u/%u size %llu/%llu object %llu/%llu "
			       "addr %llx/%llx\n",
			       i, a[i].kind, b[i].kind, (unsigned long long)a[i].size,
			       (unsigned long long)b[i].size, (unsigned long long)a[i].object,
			       (unsigned long long)b[i].object, (unsigned long long)a[i].addr,
			       (unsigned long long)b[i].addr);
			return false;
		}
	}
	return na == nb;
}

static void round_trip(size_t n, struct mz_writer_options o)
{
	struct mz_event *ev = odd_events(n, false), *back;
	size_t got;

	o.overwrite = true;
	CHECK(write_events(ev, n, &o));
	got = read_events(&back, NULL);
	CHECK(same_events(ev, n, back, got));
	free(ev);
	free(back);
}

static void odd_events_come_back(void)
{
	static const size_t sizes[] = {0, 1, 2, 100, 3000, 20000};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		round_trip(sizes[i], (struct mz_writer_options){0});
		round_trip(sizes[i], (struct mz_writer_options){.best = true});
		round_trip(sizes[i], (struct mz_writer_options){.chunk_events = 97});
	}
}

static void fields_can_be_dropped(void)
{
	struct mz_writer_options o = {.overwrite = true, .drop = MZ_HAS_ADDR | MZ_HAS_TIME};
	size_t n = 5000, got;
	struct mz_event *ev = odd_events(n, false), *back;

	CHECK(write_events(ev, n, &o));
	for (size_t i = 0; i < n; i++) {
		ev[i].has &= (uint16_t)~o.drop;
		ev[i].addr = ev[i].old_addr = ev[i].time = 0;
	}
	got = read_events(&back, NULL);
	CHECK(same_events(ev, n, back, got));
	free(ev);
	free(back);
}

/* Blocks of a raw trace are named by the reader, across chunks and streams. */
static void raw_blocks_are_named(void)
{
	struct mz_writer_options o = {.overwrite = true, .raw = true, .chunk_events = 50};
	struct mz_writer *w = mz_writer_open(path, &o, NULL);
	struct mz_stream *a = mz_writer_stream(w), *b = mz_writer_stream(w);
	struct mz_event *back;
	size_t n = 400, got;

	for (size_t i = 0; i < n; i++) {
		struct mz_event ev = {.kind = i & 1 ? MZ_FREE : MZ_ALLOC,
				      .call = i & 1 ? MZ_CALL_FREE : MZ_CALL_MALLOC,
				      .has = MZ_HAS_ADDR | MZ_HAS_TIME,
				      .time = 10 * i,
				      .addr = 4096 + 16 * (i / 2 % 7),
				      .size = i & 1 ? 0 : 24};

		/* allocated by one, freed by the other */
		CHECK(!mz_stream_add(i & 1 ? b : a, &ev, 1));
	}
	CHECK(!mz_writer_close(w, NULL));
	got = read_events(&back, NULL);
	CHECK_EQ(got, n);
	for (size_t i = 0; i < got; i++) {
		CHECK_EQ(back[i].time, 10 * i);
		CHECK_EQ(back[i].object, i / 2 + 1);
	}
	free(back);
}

static void tables_and_attributes(void)
{
	struct mz_writer_options o = {.overwrite = true, .chunk_events = 10};
	struct mz_writer *w = mz_writer_open(path, &o, NULL);
	const struct mz_attr *attr;
	struct mz_reader *r;
	struct mz_event ev[64];
	long n, seen = 0;

	CHECK(!mz_writer_set_text(w, "host", "first"));
	CHECK(!mz_writer_set_number(w, "page", UINT64_MAX));
	for (uint64_t i = 1; i <= 300; i++) {
		uint64_t ips[4] = {0xffffffff81000000 + i * 7, 0x400000 + i / 3, 0x1000, 0x2000};
		char name[32];
		int len = snprintf(name, sizeof(name), "cache-%d", (int)i);
		struct mz_event e = {
			.kind = MZ_ALLOC, .call = MZ_CALL_KMALLOC, .size = i, .object = i};

		e.has = MZ_HAS_SITE | MZ_HAS_CACHE;
		e.site = mz_writer_stack(w, ips, 2 + i % 3);
		e.cache = mz_writer_string(w, name, (size_t)len);
		CHECK_EQ(e.site, i);
		CHECK_EQ(e.cache, i);
		CHECK(!mz_writer_add(w, &e, 1));
	}
	CHECK(!mz_writer_set_text(w, "host", "second"));
	CHECK(!mz_writer_set_bytes(w, "bytes", "a\0b", 3));
	CHECK_EQ(mz_writer_set_text(w, "", "x"), -EINVAL);
	mz_writer_produced(w, 300);
	CHECK(!mz_writer_close(w, NULL));

	r = mz_reader_open(path, NULL);
	attr = mz_reader_find_attr(r, "host");
	CHECK(attr && !strcmp(attr->data, "second"));
	attr = mz_reader_find_attr(r, "page");
	CHECK(attr && attr->type == MZ_ATTR_NUMBER && attr->number == UINT64_MAX);
	attr = mz_reader_find_attr(r, "bytes");
	CHECK(attr && attr->size == 3 && !memcmp(attr->data, "a\0b", 3));
	CHECK(!mz_reader_find_attr(r, "none"));
	while ((n = mz_reader_read(r, ev, 64)) > 0) {
		for (long i = 0; i < n; i++) {
			uint64_t k = (uint64_t)++seen;
			size_t depth, len;
			const uint64_t *ip =
				mz_tables_get_stack(mz_reader_tables(r), ev[i].site, &depth);
			const char *s =
				mz_tables_get_string(mz_reader_tables(r), ev[i].cache, &len);

			CHECK(ip && depth == 2 + k % 3 && ip[0] == 0xffffffff81000000 + k * 7);
			CHECK(ip && ip[1] == 0x400000 + k / 3);
			CHECK(s && !strncmp(s, "cache-", 6) && strtoul(s + 6, NULL, 10) == k);
		}
	}
	CHECK_EQ(seen, 300);
	mz_reader_close(r);
}

/* What is selected is what a filter over everything gives. */
static void selection(void)
{
	struct mz_writer_options o = {.overwrite = true, .chunk_events = 300};
	size_t n = 20000, all, some, want;
	struct mz_event *ev = odd_events(n, false), *back, *part;
	struct mz_select selects[4] = {{.object = 4000},
				       {.time_from = 4000000, .time_to = 5000000},
				       {.has_cpu = true, .cpu = 65},
				       {.has_tid = true, .tid = 3, .time_from = 9000000}};

	CHECK(write_events(ev, n, &o));
	all = read_events(&back, NULL);
	CHECK_EQ(all, n);
	for (int k = 0; k < 4; k++) {
		struct mz_select *s = &selects[k];

		some = read_events(&part, s);
		want = 0;
		for (size_t i = 0; i < all; i++) {
			struct mz_event *e = &back[i];
			bool in =
				!(e->has & MZ_HAS_TIME) ||
				(e->time >= s->time_from && (!s->time_to || e->time <= s->time_to));

			if (e->kind != MZ_LOST) {
				in &= !s->object || e->object == s->object ||
				      e->old_object == s->object;
				in &= !s->has_cpu || (e->has & MZ_HAS_CPU && e->cpu == s->cpu);
				in &= !s->has_tid || (e->has & MZ_HAS_TID && e->tid == s->tid);
			}
			if (!in)
				continue;
			if (want < some && memcmp(&part[want], e, sizeof(*e))) {
				CHECK(!"a selected event differs");
				break;
			}
			want++;
		}
		CHECK_EQ(some, want);
		free(part);
	}
	free(ev);
	free(back);
}

/* Four threads, a stream each: all events come back, in order of time. */
#define THREADS 4
#define EACH	30000

static void *producer(void *arg)
{
	struct mz_stream *s = arg;
	static uint32_t next_tid;
	uint32_t tid = __atomic_add_fetch(&next_tid, 1, __ATOMIC_RELAXED);

	for (uint64_t i = 0; i < EACH; i++) {
		struct mz_event ev = {.kind = i & 1 ? MZ_FREE : MZ_ALLOC,
				      .call = i & 1 ? MZ_CALL_FREE : MZ_CALL_MALLOC,
				      .has = MZ_HAS_ADDR | MZ_HAS_TIME | MZ_HAS_TID,
				      .time = i * THREADS + tid,
				      .addr = (uint64_t)tid << 32 | (i / 2 % 50 + 1) * 16,
				      .size = i & 1 ? 0 : i % 97,
				      .tid = tid};

		if (mz_stream_add(s, &ev, 1) < 0)
			return NULL;
	}
	return s;
}

static void many_producers(void)
{
	struct mz_writer_options o = {.overwrite = true, .raw = true};
	struct mz_writer *w = mz_writer_open(path, &o, NULL);
	struct mz_summary sum = {.size = sizeof(sum)};
	struct mz_verify v = {.size = sizeof(v), .summary = &sum};
	pthread_t threads[THREADS];
	struct mz_event *back;
	uint64_t births = 0;
	size_t got;

	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, producer, mz_writer_stream(w)));
	for (int i = 0; i < THREADS; i++) {
		void *ret;

		pthread_join(threads[i], &ret);
		CHECK(ret);
	}
	mz_writer_produced(w, THREADS * EACH);
	CHECK(!mz_writer_close(w, NULL));
	got = read_events(&back, NULL);
	CHECK_EQ(got, THREADS * EACH);
	for (size_t i = 0; i < got; i++) {
		births += back[i].kind == MZ_ALLOC;
		if (back[i].time != i + 1 || !back[i].object || back[i].object > births) {
			CHECK(!"an event is out of order, or has lost its block");
			break;
		}
	}
	CHECK_EQ(mz_verify_file(path, &v, NULL, NULL, NULL), 0);
	CHECK_EQ(sum.streams, THREADS);
	free(back);
}

static void refuse(struct mz_writer *w, struct mz_event ev, const char *why)
{
	struct mz_event three[3] = {
		{.kind = MZ_ALLOC, .call = MZ_CALL_MALLOC, .object = 90}, ev, ev};

	CHECK_EQ(mz_writer_add(w, three, 3), -EINVAL);
	CHECK_EQ(mz_writer_error(w)->code, EINVAL);
	if (!strstr(mz_writer_error(w)->text, why) ||
	    !strstr(mz_writer_error(w)->text, "event 2 of 3"))
		CHECK(!printf("# %s\n", mz_writer_error(w)->text));
}

/* One event that a reader does not take would cost its whole chunk: the writer refuses it, and the
 * file is none the worse. */
static void events_of_other_programs(void)
{
	struct mz_writer_options o = {.overwrite = true};
	struct mz_writer *w = mz_writer_open(path, &o, NULL);
	struct mz_event good = {.kind = MZ_ALLOC,
				.call = MZ_CALL_MALLOC,
				.has = MZ_HAS_TIME | MZ_HAS_SITE,
				.time = 100,
				.object = 1,
				.size = 8};
	struct mz_event bad = good, lost = {.kind = MZ_LOST, .call = MZ_CALL_LOST, .size = 2};
	struct mz_event mark = {.kind = MZ_MARK, .call = MZ_CALL_MARK, .arg = 1};
	struct mz_event *back;

	CHECK(w && mz_writer_error(w)->code == 0);
	good.site = mz_writer_stack(w, (uint64_t[]){7, 8}, 2);
	CHECK_EQ(mz_writer_add(w, &good, 1), 0);
	bad.call = 99;
	refuse(w, bad, "no such call");
	bad.call = MZ_CALL_NONE;
	refuse(w, bad, "no such call");
	bad.call = MZ_CALL_FREE;
	refuse(w, bad, "of its kind");
	bad = good;
	bad.kind = 77;
	refuse(w, bad, "of its kind");
	bad = good;
	bad.has |= 1 << 15;
	refuse(w, bad, "enum mz_field");
	bad = good;
	bad.site = 2;
	refuse(w, bad, "stacks");
	bad = good;
	bad.cache = 1;
	bad.has |= MZ_HAS_CACHE;
	refuse(w, bad, "strings");
	bad = good;
	bad.time = 99;
	refuse(w, bad, "earlier");
	refuse(w, mark, "strings");
	mark.arg = UINT64_MAX;
	refuse(w, mark, "strings");
	lost.arg = MZ_LOSSES;
	refuse(w, lost, "cause");
	mark.arg = mz_writer_string(w, "now it is there", 15);
	CHECK_EQ(mz_writer_add(w, &mark, 1), 0);
	CHECK_EQ(mz_writer_close(w, NULL), 0);
	CHECK_EQ(mz_verify_file(path, NULL, NULL, NULL, NULL), 0);
	CHECK_EQ(read_events(&back, NULL), 2);
	free(back);
}

/* The summary comes from the index and is right. */
static void summary(void)
{
	struct mz_writer_options o = {.overwrite = true, .chunk_events = 1000};
	struct mz_error err = {0};
	size_t n = 12345;
	struct mz_event *ev = odd_events(n, false);
	uint64_t lost[MZ_LOSSES] = {0}, events = 0, first = UINT64_MAX, last = 0;
	struct mz_summary s = {.size = sizeof(s)};
	struct mz_reader *r;

	for (size_t i = 0; i < n; i++) {
		if (ev[i].kind == MZ_LOST)
			lost[ev[i].arg] += ev[i].size = 3;
		else
			events++;
		if (ev[i].has & MZ_HAS_TIME) {
			first = ev[i].time < first ? ev[i].time : first;
			last = ev[i].time > last ? ev[i].time : last;
		}
	}
	CHECK(write_events(ev, n, &o));
	r = mz_reader_open(path, &err);
	CHECK(r && !mz_reader_summary(r, &s));
	CHECK(s.whole && !s.damaged && !s.raw);
	CHECK_EQ(s.events, events);
	CHECK_EQ(s.chunks, 13);
	CHECK_EQ(s.streams, 1);
	CHECK_EQ(s.first_time, first);
	CHECK_EQ(s.last_time, last);
	for (int i = 0; i < MZ_LOSSES; i++)
		CHECK_EQ(s.lost[i], lost[i]);
	mz_reader_close(r);
	free(ev);
}

/* The bytes of the file. */
static char *file_bytes(size_t *n)
{
	FILE *f = fopen(path, "rb");
	char *bytes = malloc(1 << 24);

	*n = f ? fread(bytes, 1, 1 << 24, f) : 0;
	if (f)
		fclose(f);
	return bytes;
}

static void write_beside(const struct mz_event *ev, size_t n, unsigned mostly, bool stacks)
{
	struct mz_writer_options o = {.overwrite = true, .raw = true, .chunk_events = 1000};
	struct mz_writer *w = mz_writer_open(path, &o, NULL);

	mz_writer_hurry(w, true);
	for (size_t at = 0; at < n; at += 500) {
		uint64_t ips[3] = {at, at / 2, 1};

		mz_writer_beside(w, at / 500 % 7 < mostly);
		if (stacks)
			CHECK(mz_writer_stack(w, ips, 3));
		CHECK(!mz_writer_put(w, ev + at, 500));
	}
	CHECK(!mz_writer_close(w, NULL));
}

/* A thread beside packs chunks, always, never or now and then: the file is the same. */
static void packed_beside(void)
{
	size_t n = 60000, size, other;
	struct mz_event *ev = odd_events(n, true);
	struct mz_summary sum = {.size = sizeof(sum)};
	struct mz_verify v = {.size = sizeof(v), .summary = &sum};
	char *want, *got;

	write_beside(ev, n, 0, false);
	want = file_bytes(&size);
	CHECK(size > 1000);
	for (unsigned mostly = 4; mostly <= 7; mostly += 3) {
		write_beside(ev, n, mostly, false);
		got = file_bytes(&other);
		CHECK_EQ(other, size);
		CHECK(other == size && !memcmp(got, want, size));
		free(got);
	}
	/* what chunks refer to may come while another one is written */
	write_beside(ev, n, 7, true);
	CHECK(!mz_verify_file(path, &v, NULL, NULL, NULL));
	CHECK_EQ(sum.chunks, n / 1000);
	CHECK_EQ(v.bad_bytes + v.missing, 0);
	free(want);
	free(ev);
}

/* What a compiler does: hundreds of thousands of blocks of many sizes, from as many places. */
static void many_blocks(struct mz_event *ev, size_t n, uint64_t *time)
{
	for (size_t i = 0; i < n; i++) {
		bool begins = rnd(2);

		ev[i] = (struct mz_event){.kind = begins ? MZ_ALLOC : MZ_FREE,
					  .call = begins ? MZ_CALL_MALLOC : MZ_CALL_FREE,
					  .has = MZ_HAS_ADDR | MZ_HAS_TIME | MZ_HAS_TID,
					  .addr = 0x10000 + 32 * rnd(200000),
					  .time = *time += rnd(900),
					  .tid = 1};
		if (begins) {
			ev[i].has |= MZ_HAS_GIVEN | MZ_HAS_SITE;
			ev[i].size = 8 * rnd(300);
			ev[i].given = ev[i].size + 8;
			ev[i].site = 1 + (uint32_t)rnd(9000);
		}
	}
}

/* In a child, which says how much memory it took at most. A thread works beside for so many
 * batches of events, then for as many none does. */
static long memory_of_writer(unsigned batches)
{
	struct mz_writer_options o = {.overwrite = true, .raw = true};
	static struct mz_event ev[4096];
	uint64_t time = 1;
	struct rusage used;
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct mz_writer *w = mz_writer_open(path, &o, NULL);

		mallopt(M_MMAP_THRESHOLD, 1 << 16);
		mz_writer_hurry(w, false);
		for (unsigned i = 0; i < 330; i++) {
			many_blocks(ev, 4096, &time);
			mz_writer_beside(w, batches && i / batches % 2);
			if (mz_writer_put(w, ev, 4096) < 0)
				_exit(1);
		}
		_exit(mz_writer_close(w, NULL) < 0);
	}
	CHECK(pid > 0 && wait4(pid, &status, 0, &used) == pid && !status);
	return used.ru_maxrss;
}

/* Whenever a thread begins to work beside, and whenever it ends. */
static void two_encoders_take_the_memory_of_one(void)
{
	static const unsigned batches[] = {1, 20, 45, 100};
	long one = memory_of_writer(0);

	for (unsigned i = 0; i < sizeof(batches) / sizeof(*batches); i++) {
		long two = memory_of_writer(batches[i]);

		if (two > one + one / 10)
			printf("# %u batches: %ld KiB, %ld alone\n", batches[i], two, one);
		CHECK(two <= one + one / 10);
	}
}

/* An event as a recorder of programs makes most of them. Few addresses: blocks are freed twice,
 * begin where one is live, and are freed that never began. */
static void usual_event(struct mz_event *ev)
{
	bool begins = rnd(2);

	*ev = (struct mz_event){.kind = begins ? MZ_ALLOC : MZ_FREE,
				.call = begins ? MZ_CALL_MALLOC : MZ_CALL_FREE,
				.has = MZ_HAS_ADDR | MZ_HAS_TIME | MZ_HAS_TID,
				.addr = rnd(50) ? 0x10000 + 32 * rnd(40) : 0,
				.tid = 1 + (uint32_t)rnd(2)};
	if (begins) {
		ev->has |= rnd(9) ? MZ_HAS_GIVEN | MZ_HAS_SITE : MZ_HAS_GIVEN;
		ev->size = 24 + 8 * rnd(3);
		ev->given = rnd(20) ? 40 : 41;
		ev->site = ev->has & MZ_HAS_SITE ? 1 + (uint32_t)rnd(3) : 0;
	} else if (!rnd(30)) {
		ev->size = ev->arg = rnd(3);
	}
	if (begins && !rnd(4)) {
		ev->kind = MZ_REALLOC;
		ev->call = MZ_CALL_REALLOC;
		ev->old_addr = rnd(5) ? 0x10000 + 32 * rnd(40) : ev->addr;
		ev->size = rnd(9) ? ev->size : 0;
	}
	if (!rnd(40))
		ev->has &= (uint16_t) ~(rnd(2) ? MZ_HAS_ADDR : MZ_HAS_TIME);
	if (!(ev->has & MZ_HAS_ADDR))
		ev->addr = ev->old_addr = 0;
}

static void usual_events_come_back(void)
{
	struct mz_writer_options o = {.overwrite = true, .raw = true, .chunk_events = 3000};
	size_t n = 50000, got;
	struct mz_event *ev = calloc(n, sizeof(*ev)), *back;

	for (size_t i = 0; i < n; i++)
		usual_event(&ev[i]);
	CHECK(write_events(ev, n, &o));
	got = read_events(&back, NULL);
	CHECK_EQ(got, n);
	for (size_t i = 0; i < got; i++) {
		back[i].object = back[i].old_object = 0; /* which the reader has counted */
		CHECK(!memcmp(&back[i], &ev[i], sizeof(*ev)));
	}
	free(back);
	free(ev);
}

/* A chunk of which some parts are done before it is finished is the same, however many. */
static void chunks_in_parts(void)
{
	struct mz_encode_options o = {.raw = true, .level = 1};
	struct mz_encoder *e = mz_encoder_new(&o);
	size_t n = 40000;
	struct mz_event *ev = calloc(n, sizeof(*ev));
	struct mz_buf want = {0};
	unsigned parts = 0, steps = 0;

	for (size_t i = 0; i < n; i++)
		usual_event(&ev[i]);
	for (bool more = true; more; parts++) {
		struct mz_buf got = {0};

		mz_encoder_set_sequence(e, 7);
		CHECK_EQ(mz_encoder_add(e, ev, n), n);
		for (unsigned k = 0; k < parts && more; k++) {
			int ret = mz_encoder_step(e);

			CHECK(ret >= 0);
			more = ret > 0;
			steps += more;
		}
		CHECK(!mz_encoder_finish(e, NULL, parts ? &got : &want, NULL));
		CHECK_EQ(mz_encoder_events(e), 0);
		CHECK(!parts || (got.len == want.len && !memcmp(got.data, want.data, got.len)));
		mz_buf_free(&got);
	}
	/* the events go through two of the steps in three parts each */
	CHECK_EQ(parts, 11);
	CHECK(steps > parts);
	mz_buf_free(&want);
	mz_encoder_free(e);
	free(ev);
}

/* The address of frame k of the n-th stack: stacks share some of their callers. */
static uint64_t frame(size_t n, unsigned k)
{
	return 0x401000 + 64 * (k < 2 ? n * 7 % 900 : n / (k * k)) + k;
}

/* As a recorder does: stacks and events, and nothing in a hurry unless it is behind. */
static size_t write_recording(const struct mz_event *ev, size_t n, size_t stacks, bool behind)
{
	struct mz_writer_options o = {.overwrite = true};
	struct mz_writer *w = mz_writer_open(path, &o, NULL);
	size_t size;

	mz_writer_hurry(w, behind);
	for (size_t i = 0; i < stacks; i++) {
		uint64_t ips[6];

		for (unsigned k = 0; k < 6; k++)
			ips[k] = frame(i, k);
		CHECK_EQ(mz_writer_stack(w, ips, 6), i + 1);
	}
	CHECK(!mz_writer_put(w, ev, n));
	CHECK(!mz_writer_close(w, NULL));
	free(file_bytes(&size));
	return size;
}

static void stacks_come_back(size_t stacks)
{
	struct mz_reader *r = mz_reader_open(path, NULL);
	struct mz_event ev[100];

	while (mz_reader_read(r, ev, 100) > 0) /* stacks come with the events */
		;
	for (size_t i = 0; i < stacks; i++) {
		size_t depth = 0;
		const uint64_t *ips =
			mz_tables_get_stack(mz_reader_tables(r), (uint32_t)i + 1, &depth);

		CHECK_EQ(depth, 6);
		for (unsigned k = 0; k < 6 && depth == 6; k++)
			CHECK_EQ(ips[k], frame(i, k));
	}
	mz_reader_close(r);
}

/* Short columns of the last chunk are mixed, and those of few stacks; times are sparse. */
static void short_columns_are_mixed(void)
{
	static const size_t sizes[] = {1, 100, 3000, 16384, 16385, 20000};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		size_t n = sizes[i], stacks = n / 4, quick, slow, got;
		struct mz_event *ev = odd_events(n, false), *back;

		for (size_t k = 0; k < n; k++)
			ev[k].time = ev[k].has & MZ_HAS_TIME ? k / 100 << 20 : 0;
		quick = write_recording(ev, n, stacks, true);
		slow = write_recording(ev, n, stacks, false);
		CHECK(slow <= quick);
		CHECK(n < 100 || slow < quick - n / 100);
		got = read_events(&back, NULL);
		CHECK(same_events(ev, n, back, got));
		stacks_come_back(stacks);
		free(ev);
		free(back);
	}
}

/* The bytes of one table's block are changed: its checksum is wrong. */
static void damage_first(unsigned type)
{
	size_t size, at = MZ_WIRE_HEADER_SIZE;
	char *bytes = file_bytes(&size);
	struct mz_block_frame frame;
	FILE *f;

	while (at + MZ_WIRE_FRAME_SIZE < size &&
	       mz_block_frame_get((const uint8_t *)bytes + at, &frame) && frame.type != type)
		at += MZ_WIRE_FRAME_SIZE + frame.size;
	CHECK(at + MZ_WIRE_FRAME_SIZE < size && frame.type == type);
	bytes[at + MZ_WIRE_FRAME_SIZE] ^= 1;
	f = fopen(path, "wb");
	CHECK(f && fwrite(bytes, 1, size, f) == size && !fclose(f));
	free(bytes);
}

/* What is lost keeps its number and has no text, so that no text can be taken for it. */
static void lost_tables(void)
{
	static const char *const names[] = {"one", "(lost string 1)", "(lost string 2)"};
	struct mz_writer_options o = {.overwrite = true};
	struct mz_writer *w = mz_writer_open(path, &o, NULL);
	const struct mz_tables *t;
	struct mz_event ev[8];
	struct mz_reader *r;
	const uint64_t *ip;
	size_t depth, len;

	for (uint64_t i = 1; i <= 3; i++) {
		struct mz_event e = {.kind = MZ_ALLOC, .call = MZ_CALL_KMALLOC, .object = i};

		e.has = MZ_HAS_SITE | MZ_HAS_CACHE;
		e.site = mz_writer_stack(w, &i, 1);
		e.cache = mz_writer_string(w, names[i - 1], strlen(names[i - 1]));
		CHECK(!mz_writer_add(w, &e, 1) && !mz_writer_flush(w));
	}
	CHECK(!mz_writer_close(w, NULL));
	damage_first(MZ_BLOCK_STRINGS);
	damage_first(MZ_BLOCK_CHAINS);
	r = mz_reader_open(path, NULL);
	while (mz_reader_read(r, ev, 8) > 0)
		;
	t = mz_reader_tables(r);
	CHECK_EQ(mz_tables_strings(t), 3);
	CHECK_EQ(mz_tables_lost_strings(t), 1);
	CHECK(!mz_tables_get_string(t, 1, &len) && !len);
	CHECK(!strcmp(mz_tables_get_string(t, 2, &len), "(lost string 1)"));
	CHECK_EQ(mz_tables_stacks(t), 3);
	CHECK_EQ(mz_tables_lost_frames(t), 1);
	ip = mz_tables_get_stack(t, 1, &depth);
	CHECK(ip && depth == 1 && ip[0] == MZ_LOST_FRAME);
	ip = mz_tables_get_stack(t, 2, &depth);
	CHECK(ip && depth == 1 && ip[0] == 2);
	mz_reader_close(r);
}

/* Reads so many events and returns what decoding costs in the input's budget. */
static uint64_t cost_after(struct mz_reader *r, uint64_t events)
{
	struct mz_event ev[MZ_BATCH];
	uint64_t n = 0;
	long got;

	while (n < events && (got = mz_reader_read(r, ev, MZ_BATCH)) > 0)
		n += (uint64_t)got;
	CHECK(n >= events);
	return r->in.budget.used;
}

/* Where no thread decodes ahead, there is no second chunk. */
static void chunks_take_the_memory_of_one(void)
{
	struct mz_writer_options o = {.overwrite = true, .chunk_events = 20000};
	struct mz_writer *w = mz_writer_open(path, &o, NULL);
	struct mz_reader *r;
	uint64_t one;

	for (uint64_t i = 0; i < 100000; i++) {
		struct mz_event ev = {.kind = i % 2 ? MZ_FREE : MZ_ALLOC,
				      .call = i % 2 ? MZ_CALL_FREE : MZ_CALL_MALLOC,
				      .has = MZ_HAS_ADDR,
				      .object = i / 2 + 1,
				      .addr = 0x1000 + i / 2 * 16,
				      .size = i % 2 ? 0 : 8};

		CHECK_EQ(mz_writer_add(w, &ev, 1), 0);
	}
	CHECK_EQ(mz_writer_close(w, NULL), 0);
	r = mz_reader_open(path, NULL);
	CHECK(r && !r->beside);
	one = cost_after(r, 10000);
	CHECK(one > 0 && cost_after(r, 80000) < one + one / 4);
	mz_reader_close(r);
}

int main(void)
{
	test_folder(dir, path, "t.cmt");
	RUN(odd_events_come_back);
	RUN(usual_events_come_back);
	RUN(chunks_in_parts);
	RUN(fields_can_be_dropped);
	RUN(raw_blocks_are_named);
	RUN(tables_and_attributes);
	RUN(lost_tables);
	RUN(selection);
	RUN(many_producers);
	RUN(events_of_other_programs);
	RUN(summary);
	RUN(packed_beside);
#ifndef __SANITIZE_ADDRESS__
	RUN(two_encoders_take_the_memory_of_one);
#endif
	RUN(short_columns_are_mixed);
	RUN(chunks_take_the_memory_of_one);
	unlink(path);
	rmdir(dir);
	return test_end();
}
