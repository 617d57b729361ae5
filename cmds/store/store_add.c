// SPDX-License-Identifier: BSD-2-Clause
/* Send recordings to a store, and keep them in a spool while it cannot be reached. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "cmds/loss_report.h"
#include "cmds/recording.h"
#include "cmds/store/store.h"
#include "store/send.h"

#define TRIES 5

struct adding {
	const struct store_opts *o;
	const char *name; /* of the store */
	bool open;
	struct mz_store store;
	uint64_t away; /* one bit per shard that does not answer: its recordings go to the spool */
	struct mz_store_sending how;
	struct progress progress;
	uint64_t added, there, spooled, waiting, rows;
	bool failed;
};

static void waits(void *arg, const char *why, double seconds)
{
	(void)arg;
	console_note("%s; trying again in %.1f s", why, seconds);
}

/* ---- the store --------------------------------------------------------------------- */

static int open_store(struct adding *a, struct mz_error *err)
{
	struct mz_error why = {0};
	int ret;

	if (a->open)
		return 0;
	ret = mz_store_open_patiently(&a->store, a->name, a->o->credentials, &a->how, &why);
	a->open = true;
	if (ret && a->o->spool && mz_store_is_away(ret)) {
		a->away = a->store.away ? a->store.away : UINT64_MAX;
		return 0;
	}
	if (ret)
		*err = why;
	return ret;
}

/* A new file is created once there is something to put into it: a command whose recordings
 * cannot be read leaves no empty store. All others are opened before a recording is read. */
static bool opens_late(const struct adding *a)
{
	return !a->o->spool && !mz_store_is_address(a->name) && access(a->name, F_OK);
}

/* ---- one recording --------------------------------------------------------------- */

static int keep(struct adding *a, const struct mz_store_item *item, const char *path,
		struct mz_error *err)
{
	int ret = mz_store_spool_put(a->o->spool, item, err);

	if (!ret) {
		a->spooled++;
		console_note("%s: the store does not answer; the recording is kept in %s", path,
			     a->o->spool);
	}
	return ret;
}

static uint64_t shard_of(const struct adding *a, const struct mz_store_item *item)
{
	return 1ull << mz_store_shard(&a->store, item->digest);
}

static bool all_away(const struct adding *a)
{
	uint64_t all = a->store.shards < 64 ? (1ull << a->store.shards) - 1 : UINT64_MAX;

	return (a->away & all) == all;
}

/* 0: it is safe, in the store or in the spool. */
static int send_item(struct adding *a, const struct mz_store_item *item, const char *path,
		     bool may_keep, struct mz_error *err)
{
	struct mz_error why = {0};
	int ret = open_store(a, err);
	uint64_t shard;

	if (ret)
		return ret;
	shard = shard_of(a, item);
	ret = a->away & shard ? -ECONNREFUSED : mz_store_send(&a->store, item, &a->how, &why);
	if (ret >= 0) {
		a->added += ret == 1;
		a->there += ret == 0;
		a->rows += ret == 1 ? item->rows[MZ_STORE_PROFILE].n : 0;
		if (!a->o->json)
			printf("%s  %s  %s\n", item->digest, ret ? "added" : "already there", path);
		return 0;
	}
	if (mz_store_is_away(ret) && a->o->spool) {
		a->away |= shard;
		return may_keep ? keep(a, item, path, err) : ret;
	}
	return mz_fail(err, -ret, "%s was not added: %s", path, why.text);
}

static int add_one(struct adding *a, char *path, struct mz_error *err)
{
	const struct store_opts *o = a->o;
	struct mz_recording_options how = {.symbols = o->symbols};
	struct mz_store_about about = {.program = o->program,
				       .revision = o->revision,
				       .host = o->host,
				       .labels = o->labels.value,
				       .nlabels = o->labels.n,
				       .now = store_now()};
	struct mz_store_item item = {0};
	struct mz_recording r;
	int ret;

	if (o->time)
		store_time(o->time, &about.time);
	ret = recording_open(&r, &path, 1, &how, &a->progress, err);
	if (!ret)
		ret = mz_store_item_make(&item, &r, path, &about, err);
	progress_end(&a->progress);
	if (!ret && mz_recording_has_events(&r) && !r.profile.events)
		console_note("%s: it contains no events; as a run, it would meet any budget", path);
	if (!ret && r.profile.lost)
		console_note(
			"%s: %llu events were lost during recording; its figures are too small",
			path, (unsigned long long)r.profile.lost);
	if (!ret) {
		sampled_note(path, r.profile.lost_by);
		recording_note_end(&r);
	}
	mz_recording_close(&r);
	/* a recording that cannot be read concerns one file; a store that fails concerns all */
	if (ret) {
		fflush(stdout);
		console_error(err);
		*err = (struct mz_error){0};
		a->failed = true;
		ret = 0;
	} else {
		ret = send_item(a, &item, path, true, err);
	}
	mz_store_item_free(&item);
	return ret;
}

/* ---- the spool ------------------------------------------------------------------- */

/* An incomplete file stays, and is reported; so does one whose shard cannot be reached. */
static int send_spooled(struct adding *a, const char *path, struct mz_error *err)
{
	struct mz_store_item item;
	struct mz_error why = {0};
	int ret = mz_store_spool_get(path, &item, &why);

	if (ret) {
		console_error(&why);
		a->failed = true;
		ret = 0;
	} else {
		ret = send_item(a, &item, path, false, &why);
		if (!ret)
			unlink(path);
		else if (!mz_store_is_away(ret))
			*err = why;
		if (mz_store_is_away(ret)) {
			a->waiting++;
			ret = 0;
		}
	}
	mz_store_item_free(&item);
	return ret;
}

/* A command that added recordings succeeds even if some still wait in the spool. One that was only
 * to send the spool has failed. */
static void note_waiting(struct adding *a, bool nothing_else)
{
	char n[32];

	if (!a->waiting)
		return;
	console_note("the store does not answer; %s recording%s in %s still wait%s",
		     console_count(n, a->waiting), a->waiting == 1 ? "" : "s", a->o->spool,
		     a->waiting == 1 ? "s" : "");
	a->failed |= nothing_else;
}

/* What is waiting is sent first. */
static int send_spool(struct adding *a, struct mz_error *err)
{
	char **list;
	int ret = 0;

	if (!a->o->spool)
		return 0;
	list = mz_store_spool_list(a->o->spool, err);
	if (!list)
		return mz_error_code(err);
	for (size_t i = 0; list[i] && !ret; i++) {
		if (all_away(a))
			a->waiting++;
		else
			ret = send_spooled(a, list[i], err);
	}
	for (size_t i = 0; list[i]; i++)
		free(list[i]);
	free(list);
	return ret;
}

static int check_spool(const char *dir, struct mz_error *err)
{
	struct stat st;

	if (!dir)
		return 0;
	if (mkdir(dir, 0700) && errno != EEXIST)
		return mz_fail(err, errno, "%s: %s", dir, strerror(errno));
	if (stat(dir, &st) || !S_ISDIR(st.st_mode))
		return mz_fail(err, ENOTDIR, "%s: not a folder", dir);
	return 0;
}

/* ---- all of them -------------------------------------------------------------------- */

static void summary(const struct adding *a)
{
	struct mz_buf b = {0};
	struct mz_json w = {.out = &b};

	if (!a->o->json)
		return;
	mz_json_object(&w, NULL);
	mz_json_u64(&w, "added", a->added);
	mz_json_u64(&w, "already_there", a->there);
	mz_json_u64(&w, "spooled", a->spooled);
	mz_json_u64(&w, "rows", a->rows);
	mz_json_end_object(&w);
	console_put(&b, stdout);
}

int store_add(const struct store_opts *o, const char *store, int argc, char **argv)
{
	struct adding a = {.o = o,
			   .name = store,
			   .how = {.tries = o->tries ? (unsigned)o->tries : TRIES,
				   .now = store_now,
				   .waits = waits}};
	struct mz_error err = {0};
	uint64_t when;
	int ret;

	if (argc < 1 && !o->spool)
		return console_usage("name the recordings, or a spool to send");
	if (o->time && !store_time(o->time, &when))
		return console_usage("--recorded: '%s' is not a time", o->time);
	for (int i = 0; i < argc; i++)
		if (!strcmp(argv[i], "-"))
			return console_usage(
				"a store identifies a recording by its file, so standard "
				"input cannot be added");
	ret = check_spool(o->spool, &err);
	if (!ret && !opens_late(&a))
		ret = open_store(&a, &err);
	if (!ret)
		ret = send_spool(&a, &err);
	if (!ret)
		note_waiting(&a, !argc);
	for (int i = 0; i < argc && !ret; i++)
		ret = add_one(&a, argv[i], &err);
	mz_store_close(&a.store);
	if (ret < 0) {
		fflush(stdout); /* first show what was added before the error */
		return console_error(&err);
	}
	summary(&a);
	return a.failed ? MZ_EXIT_FAILED : MZ_EXIT_OK;
}
