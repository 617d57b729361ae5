// SPDX-License-Identifier: BSD-2-Clause
/* Open a recording as a stream of events or as a profile of sums. */
#include "analysis/recording.h"

#include <errno.h>
#include <sys/stat.h>

#include "analysis/profile_files.h"
#include "base/error.h"
#include "trace/reader.h"

#define PROBE 4096

typedef int read_profile(struct mz_profile *p, struct mz_input *in, struct mz_error *err);

/* How a profile is read; *how NULL: it is none. 0 or -errno. */
static int probe(struct mz_input *in, read_profile **how, struct mz_error *err)
{
	int ret = mz_input_unpack(in, err);

	*how = NULL;
	if (!ret)
		ret = mz_input_fill(in, PROBE, err);
	if (!ret && mz_dhat_probe(in->pos, mz_input_left(in)))
		*how = mz_dhat_read;
	else if (!ret && mz_allocinfo_probe(in->pos, mz_input_left(in)))
		*how = mz_allocinfo_read;
	return ret;
}

bool mz_recording_is_profile(const char *path)
{
	read_profile *how = NULL;
	struct mz_input in;
	struct stat st;

	if (stat(path, &st) || !S_ISREG(st.st_mode) || mz_input_open(&in, path, NULL) < 0)
		return false;
	probe(&in, &how, NULL);
	mz_input_close(&in);
	return how;
}

/* A file: one that holds a profile is read at once. Takes over in. */
static int open_input(struct mz_recording *r, struct mz_input *in, struct mz_error *err)
{
	struct mz_reader *reader;
	read_profile *read;
	int ret = probe(in, &read, err);

	if (ret < 0 || read) {
		if (read)
			ret = read(&r->profile, in, err);
		mz_input_close(in);
		r->read = true;
		return ret;
	}
	reader = mz_reader_open_input(in, err);
	r->events = reader ? mz_events_of(reader, err) : NULL;
	return r->events ? 0 : -err->code;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

int mz_recording_open(struct mz_recording *r, char **paths, int n, struct mz_error *err)
{
	struct mz_input in;
	int ret;

	*r = (struct mz_recording){.name = paths[0]};
	if (mz_profile_init(&r->profile) < 0)
		return mz_fail_memory(err);
	if (n == 1 && !is_folder(paths[0])) {
		ret = mz_input_open(&in, paths[0], err);
		return ret < 0 ? ret : open_input(r, &in, err);
	}
	r->events = mz_events_open(paths, n, err);
	return r->events ? 0 : -err->code;
}

void mz_recording_close(struct mz_recording *r)
{
	mz_events_close(r->events);
	mz_profile_deinit(&r->profile);
	*r = (struct mz_recording){0};
}

int mz_recording_profile(struct mz_recording *r, struct mz_error *err)
{
	if (r->read || !r->events)
		return 0;
	r->read = true;
	return mz_profile_read(&r->profile, r->events, NULL, NULL, err);
}

uint64_t mz_recording_lost(const struct mz_recording *r)
{
	return r->profile.lost;
}
