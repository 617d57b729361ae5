// SPDX-License-Identifier: BSD-2-Clause
/* The kind of a recording follows from its content, and decides what can be read from it. */
#include "analysis/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/kmem.h"
#include "tests/unit/test.h"

static char folder[] = "/tmp/recording_test.XXXXXX";

static char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(path_of(name), "w");

	CHECK(f && fputs(text, f) >= 0 && !fclose(f));
}

static int open_it(struct mz_recording *r, const char *name, enum mz_recording_kind want,
		   struct mz_error *err)
{
	struct mz_recording_options o = {.want = want};
	char *paths[] = {path_of(name)};

	*err = (struct mz_error){0};
	return mz_recording_open(r, paths, 1, &o, err);
}

static const struct {
	const char *name, *text;
	enum mz_recording_kind kind;
	enum mz_format format;
} samples[] = {
	{"text", "malloc(8) = 1000\nfree(1000)\n", MZ_RECORDING_USER, MZ_FORMAT_TEXT},
	{"kmap",
	 "# a comment\nffffffff81000010,7,ffff888000001000,8,1,0,0,KMALLOC,sh,kmalloc-8\n"
	 "  ffffffff81000020,3,4\n",
	 MZ_RECORDING_KMAP, MZ_FORMAT_UNKNOWN},
	{"allocinfo",
	 "allocinfo - version: 1.0\n#     <size>  <calls> <tag info>\n"
	 "        4096        1 mm/slub.c:2000 func:new_slab\n",
	 MZ_RECORDING_SUMS, MZ_FORMAT_UNKNOWN},
};

static void kinds(void)
{
	struct mz_recording r;
	struct mz_error err;

	for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
		put(samples[i].name, samples[i].text);
		CHECK_EQ(open_it(&r, samples[i].name, MZ_RECORDING_ANY, &err), 0);
		CHECK_EQ(r.kind, samples[i].kind);
		CHECK_EQ(r.format, samples[i].format);
		CHECK(!r.folder);
		mz_recording_close(&r);
	}
	CHECK(!strcmp(mz_recording_kind_name(MZ_RECORDING_KERNEL), "kernel"));
	CHECK(!mz_recording_kind_name(MZ_RECORDING_KINDS));
}

/* A container says what it was made of. */
static void containers(void)
{
	static const struct {
		const char *source;
		enum mz_recording_kind kind;
	} made_of[] = {{"text", MZ_RECORDING_USER},
		       {"kmemtrace", MZ_RECORDING_KERNEL},
		       {"kmap", MZ_RECORDING_KMAP}};
	struct mz_writer_options o = {.overwrite = true};
	struct mz_recording r;
	struct mz_error err = {0};

	for (size_t i = 0; i < sizeof(made_of) / sizeof(*made_of); i++) {
		struct mz_writer *w = mz_writer_open(path_of("container"), &o, &err);

		CHECK(w);
		mz_writer_set_text(w, "source", made_of[i].source);
		CHECK_EQ(mz_writer_close(w, &err), 0);
		CHECK_EQ(open_it(&r, "container", MZ_RECORDING_ANY, &err), 0);
		CHECK_EQ(r.kind, made_of[i].kind);
		CHECK_EQ(r.format, MZ_FORMAT_CONTAINER);
		mz_recording_close(&r);
	}
}

/* What a recording does not have is an error that says so, never a crash. */
static void asked_for_another(void)
{
	struct mz_recording r;
	struct mz_error err;

	CHECK_EQ(open_it(&r, "text", MZ_RECORDING_ANY, &err), 0);
	CHECK(!mz_recording_kmap(&r, &err) && strstr(err.text, "not a KMAP"));
	err = (struct mz_error){0};
	CHECK(!mz_recording_kmem(&r, &err) && strstr(err.text, "a recording of a program"));
	CHECK(mz_recording_reader(&r, &err));
	CHECK(mz_recording_events(&r, &err) && mz_recording_has_events(&r));
	mz_recording_close(&r);
	CHECK_EQ(open_it(&r, "kmap", MZ_RECORDING_ANY, &err), 0);
	CHECK(!mz_recording_reader(&r, &err) && strstr(err.text, "no events"));
	CHECK(!mz_recording_events(&r, &err) && !mz_recording_has_events(&r));
	mz_recording_close(&r);
	CHECK(open_it(&r, "text", MZ_RECORDING_KMAP, &err) == -EINVAL);
	CHECK(strstr(err.text, "a recording of a program"));
	mz_recording_close(&r);
	put("neither", "this is no line of a map\n");
	CHECK(open_it(&r, "neither", MZ_RECORDING_KMAP, &err) == 0);
	CHECK(!mz_recording_profile(&r, &err) && strstr(err.text, "line 1"));
	mz_recording_close(&r);
	unlink(path_of("neither"));
	CHECK_EQ(open_it(&r, "text", MZ_RECORDING_SUMS, &err), -EINVAL);
	mz_recording_close(&r);
	CHECK_EQ(open_it(&r, "text", MZ_RECORDING_KINDS, &err), -EINVAL);
	mz_recording_close(&r);
	CHECK_EQ(open_it(&r, "nowhere", MZ_RECORDING_ANY, &err), -ENOENT);
	mz_recording_close(&r);
}

static void profiles(void)
{
	const struct mz_profile *p;
	struct mz_recording r;
	struct mz_error err;

	for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
		CHECK_EQ(open_it(&r, samples[i].name, MZ_RECORDING_ANY, &err), 0);
		p = mz_recording_profile(&r, &err);
		CHECK(p && p == mz_recording_profile(&r, &err));
		mz_recording_close(&r);
	}
	CHECK_EQ(open_it(&r, "kmap", MZ_RECORDING_ANY, &err), 0);
	p = mz_recording_profile(&r, &err);
	CHECK(p && p->all.blocks == 1 && p->all.reads == 4 && p->all.writes == 3);
	mz_recording_close(&r);
}

/* Whole stacks of a folder's files, one number for each over all of them. */
static void folders(void)
{
	static const uint64_t want[] = {0xffffffff81000010, 0xffffffff81000123};
	struct mz_recording r;
	struct mz_error err;
	struct mz_events *s;
	struct mz_event ev[2];

	CHECK(!mkdir(path_of("kd"), 0700));
	put("kd/cpu0.out", "kmalloc(8) = ffff888000001000 time=1 cpu=0 given=8 "
			   "stack=ffffffff81000010,ffffffff81000123\n");
	put("kd/cpu1.out", "kmalloc(9) = ffff888000002000 time=2 cpu=1 given=16 "
			   "stack=ffffffff81000010,ffffffff81000123\n");
	CHECK_EQ(open_it(&r, "kd", MZ_RECORDING_ANY, &err), 0);
	CHECK(r.folder && r.kind == MZ_RECORDING_KERNEL);
	CHECK(!mz_recording_reader(&r, &err) && strstr(err.text, "a kernel recording in a folder"));
	s = mz_recording_events(&r, &err);
	CHECK(s);
	for (int i = 0; s && i < 2; i++) {
		size_t depth;
		const uint64_t *ips;

		CHECK_EQ(mz_events_next(s, &ev[i], &err), 1);
		ips = mz_events_stack(s, ev[i].site, &depth);
		CHECK(depth == 2 && ips && !memcmp(ips, want, sizeof(want)));
		CHECK_EQ(ev[i].old_object, 0);
	}
	CHECK_EQ(ev[0].site, ev[1].site);
	mz_recording_close(&r);
	unlink(path_of("kd/cpu0.out"));
	unlink(path_of("kd/cpu1.out"));
	rmdir(path_of("kd"));
}

/* A kernel trace in one file is handed over as it was opened. */
static void one_kernel_file(void)
{
	struct mz_writer_options o = {.overwrite = true};
	struct mz_event ev = {.kind = MZ_ALLOC,
			      .call = MZ_CALL_KMALLOC,
			      .addr = 0x1000,
			      .size = 8,
			      .given = 8,
			      .object = 1,
			      .has = MZ_HAS_ADDR | MZ_HAS_GIVEN};
	struct mz_recording r;
	struct mz_error err = {0};
	struct mz_writer *w = mz_writer_open(path_of("container"), &o, &err);
	struct mz_kmem_input *in;
	uint32_t stack;

	mz_writer_set_text(w, "source", "kmemtrace");
	CHECK_EQ(mz_writer_add(w, &ev, 1), 0);
	CHECK_EQ(mz_writer_close(w, &err), 0);
	CHECK_EQ(open_it(&r, "container", MZ_RECORDING_ANY, &err), 0);
	in = mz_recording_kmem(&r, &err);
	CHECK(in && in == mz_recording_kmem(&r, &err));
	CHECK(in && mz_kmem_input_next(in, &ev, &stack, &err) == 1 && ev.size == 8);
	mz_recording_close(&r);
}

static void clean(void)
{
	for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++)
		unlink(path_of(samples[i].name));
	unlink(path_of("container"));
	CHECK(!rmdir(folder));
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(kinds);
	RUN(containers);
	RUN(asked_for_another);
	RUN(profiles);
	RUN(folders);
	RUN(one_kernel_file);
	RUN(clean);
	return test_end();
}
