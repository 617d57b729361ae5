// SPDX-License-Identifier: BSD-2-Clause
/* Test the parser of KMAP lines and the model built from them. */
#include "analysis/kmap.h"

#include <errno.h>

#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "analysis/kmap_class_sums.h"
#include "tests/unit/test.h"

static bool is(struct mz_kmap_text t, const char *s)
{
	return t.len == strlen(s) && !memcmp(t.p, s, t.len);
}

static const char *parse(const char *line, int *shape, struct mz_kmap_record *rec)
{
	return mz_kmap_parse(line, strlen(line), shape, rec);
}

static void objects(void)
{
	struct mz_kmap_record r;
	int shape = -1;

	CHECK(!parse("ffffffff8129ce6b,38,ffff88800092e3c0,176,4294892926,4294892927,"
		     "ffffffff8129cb96,sh",
		     &shape, &r));
	CHECK(r.kind == MZ_KMAP_OBJECT && shape == MZ_KMAP_G1);
	CHECK(r.object.alloc_ip == 0xffffffff8129ce6b && r.object.va == 0xffff88800092e3c0);
	CHECK(r.object.pid == 38 && r.object.size == 176 && r.object.alloc_time == 4294892926);
	CHECK(r.object.free_time == 4294892927 && r.object.free_ip == 0xffffffff8129cb96);
	CHECK(is(r.object.comm, "sh") && !r.object.type.len && !r.object.cache.len);
	CHECK(!parse("ffffffff8129ce6b,0,ffff88800092e3c0,8,1,0,(null),KMALLOC,softirq,kmalloc-8",
		     &shape, &r));
	CHECK(shape == MZ_KMAP_G2 && !r.object.free_ip && is(r.object.type, "KMALLOC"));
	CHECK(is(r.object.comm, "softirq") && is(r.object.cache, "kmalloc-8"));
	CHECK(!parse("1,7,2,8,1,0,0,KMEM_CACHE,sh,dentry,KMEM_CACHE_BULK", &shape, &r));
	CHECK(shape == MZ_KMAP_G3 && is(r.object.cache, "dentry"));
	CHECK(is(r.object.new_type, "KMEM_CACHE_BULK"));
	CHECK(!parse("1,7,2,8,1,0,0,sh,KMALLOC,kmalloc-8,16", &shape, &r));
	CHECK(shape == MZ_KMAP_CSV && is(r.object.comm, "sh") && is(r.object.type, "KMALLOC"));
	CHECK(is(r.object.cache, "kmalloc-8") && r.object.given == 16);
}

/* A process may be called anything. */
static void names(void)
{
	struct mz_kmap_record r;
	int shape = -1;

	CHECK(!parse("1,7,2,8,1,0,0,a,b,c", &shape, &r));
	CHECK(shape == MZ_KMAP_G1 && is(r.object.comm, "a,b,c"));
	CHECK(!parse("1,7,2,8,1,0,0,KMALLOC,a,b,c,kmalloc-8", &shape, &r));
	CHECK(shape == MZ_KMAP_G2 && is(r.object.comm, "a,b,c") && is(r.object.cache, "kmalloc-8"));
	CHECK(!parse("1,7,2,8,1,0,0,KMALLOC,,kmalloc-8,KMALLOC", &shape, &r));
	CHECK(shape == MZ_KMAP_G3 && is(r.object.comm, ""));
	CHECK(!parse("1,7,2,8,1,0,0,", &shape, &r));
	CHECK(shape == MZ_KMAP_G1 && is(r.object.comm, ""));
	CHECK(!parse("1,7,2,8,1,0,0,KMALLOC", &shape, &r)); /* a process of that name */
	CHECK(shape == MZ_KMAP_G1 && is(r.object.comm, "KMALLOC"));
}

static void accesses(void)
{
	struct mz_kmap_record r;
	int shape = -1;

	CHECK(parse("  ffffffff8129d21f,38,1,0", &shape, &r));
	shape = MZ_KMAP_G1;
	CHECK(!parse("  ffffffff8129d21f,38,1,2", &shape, &r));
	CHECK(r.kind == MZ_KMAP_ACCESS && r.access.ip == 0xffffffff8129d21f);
	CHECK(r.access.pid == 38 && r.access.writes == 1 && r.access.reads == 2);
	CHECK(!parse("  1,-1,3,4", &shape, &r) && r.access.pid == -1);
	CHECK(parse("  1,3,4", &shape, &r));
	shape = MZ_KMAP_G2;
	CHECK(!parse("  1,3,4", &shape, &r));
	CHECK(r.access.writes == 3 && r.access.reads == 4 && r.access.pid == -1);
	shape = MZ_KMAP_G3;
	CHECK(!parse("  1,3,4,9", &shape, &r));
	CHECK(r.access.writes == 3 && r.access.reads == 4 && r.access.pid == 9);
	CHECK(!parse("  1,3,4,-1", &shape, &r) && r.access.pid == -1);
	CHECK(parse("  1,3,4,9,5", &shape, &r));
	CHECK(parse("  1,3,99999999999999999999", &shape, &r));
}

static void calls_and_others(void)
{
	struct mz_kmap_record r;
	int shape = -1;

	CHECK(!parse("ffffffff81000010 ffffffff81000200 12", &shape, &r));
	CHECK(r.kind == MZ_KMAP_CALL && r.call.from == 0xffffffff81000010);
	CHECK(r.call.to == 0xffffffff81000200 && r.call.count == 12);
	CHECK(!r.call.by_process && r.call.pid == -1);
	CHECK(!parse("ffffffff81000010 ffffffff81000200 12 -1", &shape, &r));
	CHECK(r.call.by_process && r.call.pid == -1 && r.call.count == 12);
	CHECK(!parse("ffffffff81000010 ffffffff81000200 12 77", &shape, &r) && r.call.pid == 77);
	CHECK(parse("ffffffff81000010 ffffffff81000200 12 sh", &shape, &r));
	CHECK(parse("ffffffff81000010 ffffffff81000200 12 77 1", &shape, &r));
	CHECK(!parse("", &shape, &r) && r.kind == MZ_KMAP_OTHER);
	CHECK(!parse("# a note, with commas", &shape, &r) && r.kind == MZ_KMAP_OTHER);
	CHECK(!parse("alloc_ip,pid,va,size", &shape, &r) && r.kind == MZ_KMAP_OTHER);
	CHECK(parse("malloc(8) = 1", &shape, &r));
	CHECK(parse("1,2", &shape, &r));
	CHECK(parse("11111111111111111,2,3,4,5,6,7,sh", &shape, &r)); /* over 64 bits */
	CHECK(shape == -1);
}

static const char map[] = "# two objects of one class, a variable, one of another class\n"
			  "10,5,ffff0000,64,100,110,20,sh\n"
			  "  30,5,2,3\n"
			  "  31,6,0,4\n"
			  "10,5,ffff1000,32,101,0,0,sh\n"
			  "  30,5,1,0\n"
			  "0,0,ffffff00,8,0,0,0,boot\n"
			  "  30,0,0,7\n"
			  "  30,5,0,1\n"
			  "11,6,ffff2000,16,102,103,deadbeef,ls\n";

static int model(struct mz_kmap_model *m, const void *data, size_t n, struct mz_error *err)
{
	struct mz_kmap_model_options o = {.pids = true};
	struct mz_kmap *k = mz_kmap_open_memory(data, n, "memory", err);
	int ret = k ? mz_kmap_model_read(m, k, &o, err) : -1;

	mz_kmap_close(k);
	return ret;
}

static void check_model(const struct mz_kmap_model *m)
{
	CHECK_EQ(m->n_classes, 3);
	CHECK_EQ(m->total.all.objects, 4);
	CHECK_EQ(m->total.all.bytes, 120);
	CHECK_EQ(m->total.reads, 15);
	CHECK_EQ(m->total.writes, 3);
	CHECK_EQ(m->total.freed.objects, 2);
	CHECK_EQ(m->total.overlaid.objects, 1);
	CHECK_EQ(m->total.untouched.objects, 1);
	CHECK_EQ(m->total.freed_untouched.objects, 1);
	CHECK_EQ(m->total.unread.objects, 1);
	CHECK_EQ(m->total.unwritten.objects, 1);
	CHECK_EQ(m->total.by_processes.objects, 1);
	CHECK_EQ(m->total.by_contexts.objects, 1);
	CHECK_EQ(m->n_edges, 4);
	CHECK_EQ(m->touching, 2);
	CHECK_EQ(m->edges[0].objects, 2);
	CHECK_EQ(m->edges[0].writes, 3);
	CHECK_EQ(m->classes[0].least, 32);
	CHECK_EQ(m->classes[0].greatest, 64);
	CHECK_EQ(m->classes[0].lifetime, 10);
	CHECK_EQ(m->n_processes, 3);
	CHECK(!strcmp(mz_kmap_comm(m, 6), "ls"));
	CHECK(!strcmp(mz_kmap_comm(m, 77), ""));
	/* 64 and 32 live from 101 to 102, then 16 more; the variable has no time */
	CHECK_EQ(m->live_peak.bytes, 120);
	CHECK_EQ(m->live_peak_time, 102);
}

static void adds_up(void)
{
	struct mz_kmap_model m;
	struct mz_error err = {0};

	CHECK_EQ(model(&m, map, sizeof(map) - 1, &err), 0);
	check_model(&m);
	mz_kmap_model_deinit(&m);
}

/* Two kinds of object of one cache, and a larger one of another. */
static void sums_of_classes(void)
{
	static const char text[] = "10,5,ffff0000,64,100,110,20,KMALLOC,sh,kmalloc-64\n"
				   "  30,2,3,5\n"
				   "11,5,ffff1000,8,101,0,0,KMALLOC,sh,kmalloc-64\n"
				   "12,5,ffff2000,200,102,0,0,KMEM_CACHE,sh,inode\n";
	struct mz_kmap_class_sum *sums;
	struct mz_kmap_model m;
	struct mz_error err = {0};
	size_t n = 0;

	CHECK_EQ(model(&m, text, sizeof(text) - 1, &err), 0);
	sums = mz_kmap_class_sums(&m, false, &n);
	CHECK_EQ(n, 2);
	if (sums && n == 2) {
		CHECK(!strcmp(mz_kmap_string(&m, sums[0].name), "inode"));
		CHECK_EQ(sums[0].kinds, 1);
		CHECK_EQ(sums[0].untouched, 200);
		CHECK(!strcmp(mz_kmap_string(&m, sums[1].name), "kmalloc-64"));
		CHECK_EQ(sums[1].kinds, 2);
		CHECK_EQ(sums[1].objects, 2);
		CHECK_EQ(sums[1].bytes, 72);
		CHECK_EQ(sums[1].live, 8);
		CHECK_EQ(sums[1].untouched, 8);
		CHECK_EQ(sums[1].reads, 3);
		CHECK_EQ(sums[1].writes, 2);
	}
	free(sums);
	mz_kmap_model_deinit(&m);
}

static void packed(void)
{
	struct mz_kmap_model m;
	struct mz_error err = {0};
	char buf[2048];
	size_t n = ZSTD_compress(buf, sizeof(buf), map, sizeof(map) - 1, 3);
	z_stream z = {.next_in = (Bytef *)map, .avail_in = sizeof(map) - 1};

	CHECK_EQ(model(&m, buf, n, &err), 0);
	check_model(&m);
	mz_kmap_model_deinit(&m);
	/* cut off: an error, not a smaller map */
	CHECK(model(&m, buf, n - 5, &err) < 0 && strstr(err.text, "middle"));
	mz_kmap_model_deinit(&m);
	CHECK(deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
	z.next_out = (Bytef *)buf;
	z.avail_out = sizeof(buf);
	CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
	n = z.total_out;
	deflateEnd(&z);
	err = (struct mz_error){0};
	CHECK_EQ(model(&m, buf, n, &err), 0);
	check_model(&m);
	mz_kmap_model_deinit(&m);
	err = (struct mz_error){0};
	CHECK(model(&m, buf, n - 9, &err) < 0 && strstr(err.text, "middle"));
	mz_kmap_model_deinit(&m);
}

static void says_what_is_wrong(void)
{
	static const char bad[] = "10,5,ffff0000,64,100,110,20,sh\n  30,5,2\n";
	struct mz_kmap_model m;
	struct mz_error err = {0};

	CHECK(model(&m, bad, sizeof(bad) - 1, &err) == -EINVAL);
	CHECK_EQ(err.line, 2);
	CHECK(strstr(err.text, "memory: line 2: '  30,5,2'"));
	mz_kmap_model_deinit(&m);
}

/* A free before the first object: there is no record yet that it could end. */
static void free_of_nothing(void)
{
	char folder[] = "/tmp/kmap_test-XXXXXX", path[64];
	struct mz_error err = {0};
	struct mz_event ev = {.kind = MZ_FREE, .call = MZ_CALL_FREE, .has = MZ_HAS_ADDR};
	struct mz_kmap_record rec;
	struct mz_writer *w;
	struct mz_kmap *k;

	test_folder(folder, path, "map.cmt");
	w = mz_writer_open(path, NULL, &err);
	CHECK(w);
	mz_writer_set_text(w, "source", "kmap");
	ev.addr = 0x1000;
	CHECK_EQ(mz_writer_add(w, &ev, 1), 0);
	CHECK_EQ(mz_writer_close(w, &err), 0);
	k = mz_kmap_open(path, 0, &err);
	CHECK(k);
	CHECK_EQ(mz_kmap_next(k, &rec), -EINVAL);
	CHECK(strstr(mz_kmap_error(k)->text, "not those of a KMAP"));
	mz_kmap_close(k);
	unlink(path);
	rmdir(folder);
}

/* Times in any order: the steps widen and begin earlier as they must. */
static void timeline(void)
{
	char text[4096];
	size_t n = 0;
	struct mz_kmap_model m;
	struct mz_error err = {0};

	for (unsigned i = 0; i < 40; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "1,2,3,8,%u,0,0,x\n",
				      500000u + (i % 2 ? i * 9999u : -(i * 9999u)));
	CHECK_EQ(model(&m, text, n, &err), 0);
	for (unsigned i = 0; i < m.timeline.used; i++)
		CHECK(m.timeline.bins[i].live >= (i ? m.timeline.bins[i - 1].live : 8));
	CHECK_EQ(m.timeline.bins[m.timeline.used - 1].live, 40 * 8);
	CHECK(m.timeline.first <= 500000 - 38 * 9999);
	CHECK(m.timeline.first + MZ_TIMELINE_BINS * m.timeline.width > 500000 + 39 * 9999);
	CHECK_EQ(m.live_peak.objects, 40);
	mz_kmap_model_deinit(&m);
}

int main(void)
{
	RUN(objects);
	RUN(names);
	RUN(accesses);
	RUN(calls_and_others);
	RUN(adds_up);
	RUN(sums_of_classes);
	RUN(packed);
	RUN(says_what_is_wrong);
	RUN(free_of_nothing);
	RUN(timeline);
	return test_end();
}
