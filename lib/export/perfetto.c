// SPDX-License-Identifier: BSD-2-Clause
/* Write a Perfetto trace, for ui.perfetto.dev and trace_processor. */
/*
 * It contains counters of live bytes and live blocks over time, a mark for each loss and note, and
 * at the end the heap profile by call stack, as the flame graph of a heap dump.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/usage.h"
#include "base/error.h"
#include "export/export.h"
#include "export/proto.h"

/* Numbers of fields, as in Perfetto's trace_packet.proto and its like. */
enum { TRACE_PACKET = 1 };
enum {
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_FLAGS = 13,
	PACKET_PROFILE = 37,
	PACKET_TRACK = 60,
};
enum { STATE_CLEARED = 1 };
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_PARENT = 5, TRACK_COUNTER = 8 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { COUNTER_UNIT = 3, UNIT_COUNT = 2, UNIT_SIZE_BYTES = 3 };
enum { EVENT_TYPE = 9, EVENT_TRACK = 11, EVENT_NAME = 23, EVENT_COUNTER = 30 };
enum { TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum {
	PROFILE_STRINGS = 1,
	PROFILE_FRAMES = 2,
	PROFILE_CALLSTACKS = 3,
	PROFILE_MAPPINGS = 4,
	PROFILE_DUMPS = 5
};
enum { STRING_ID = 1, STRING_BYTES = 2 };
enum { MAPPING_ID = 1, MAPPING_PATH = 7 };
enum { FRAME_ID = 1, FRAME_FUNCTION = 2, FRAME_MAPPING = 3, FRAME_PC = 4 };
enum { CALLSTACK_ID = 1, CALLSTACK_FRAMES = 2 };
enum { DUMP_PID = 1, DUMP_SAMPLES = 2, DUMP_TIMESTAMP = 9 };
enum {
	SAMPLE_CALLSTACK = 1,
	SAMPLE_ALLOCATED = 2,
	SAMPLE_FREED = 3,
	SAMPLE_TIMESTAMP = 4,
	SAMPLE_ALLOCS = 5,
	SAMPLE_FREES = 6
};

/* Identifiers of our tracks: unique within the file is enough. */
enum { UUID_PROCESS = 1, UUID_BYTES, UUID_BLOCKS, UUID_NOTES };

/* There is one writer and one sequence, but readers require a number. */
#define SEQUENCE 1

/* A counter at one moment: times have a resolution, and thousands of events may share one. */
struct counter {
	uint64_t written;
	uint64_t most, last; /* since then */
};

struct perfetto_export {
	struct mz_events *s;
	struct mz_output *out;
	struct mz_error *err;
	struct mz_buf packet, part, inner;
	uint64_t pid;
	uint64_t moment; /* of the values that are not written yet */
	struct counter bytes, blocks;
};

/* ---- packets ------------------------------------------------------------ */

/* Write the packet in j->packet, with the fields that every packet has. */
static int put_packet(struct perfetto_export *j)
{
	struct mz_buf b = {0};

	mz_proto_u64(&j->packet, PACKET_SEQUENCE, SEQUENCE);
	mz_proto_message(&b, TRACE_PACKET, &j->packet);
	return mz_export_put(&b, j->out, j->err);
}

/* A track belongs to the process, so that the viewer shows all of them under its name. The first
 * packet declares that nothing precedes it; readers ignore a sequence that begins without that. */
static int put_track(struct perfetto_export *j, uint64_t uuid, const char *name, uint64_t unit)
{
	mz_proto_u64(&j->part, TRACK_UUID, uuid);
	mz_proto_string(&j->part, TRACK_NAME, name);
	if (uuid == UUID_PROCESS) {
		mz_proto_u64(&j->inner, PROCESS_PID, j->pid);
		mz_proto_string(&j->inner, PROCESS_NAME, name);
		mz_proto_message(&j->part, TRACK_PROCESS, &j->inner);
		mz_proto_u64(&j->packet, PACKET_FLAGS, STATE_CLEARED);
	} else {
		mz_proto_u64(&j->part, TRACK_PARENT, UUID_PROCESS);
	}
	if (unit) {
		mz_proto_u64(&j->inner, COUNTER_UNIT, unit);
		mz_proto_message(&j->part, TRACK_COUNTER, &j->inner);
	}
	mz_proto_message(&j->packet, PACKET_TRACK, &j->part);
	return put_packet(j);
}

static void begin_event(struct perfetto_export *j, uint64_t time, uint64_t type, uint64_t track)
{
	mz_proto_u64(&j->packet, PACKET_TIMESTAMP, time);
	mz_proto_u64(&j->part, EVENT_TYPE, type);
	mz_proto_u64(&j->part, EVENT_TRACK, track);
}

static int end_event(struct perfetto_export *j)
{
	mz_proto_message(&j->packet, PACKET_TRACK_EVENT, &j->part);
	return put_packet(j);
}

static int put_value(struct perfetto_export *j, uint64_t track, uint64_t value)
{
	begin_event(j, j->moment, TYPE_COUNTER, track);
	mz_proto_u64(&j->part, EVENT_COUNTER, value);
	return end_event(j);
}

/* A counter holds its value until the next one, so only changes are written: of a moment its
 * greatest value, which may be the peak of all, and its last one. */
static int put_counter(struct perfetto_export *j, uint64_t track, struct counter *c)
{
	int ret = 0;

	if (c->most > c->last && c->most > c->written)
		ret = put_value(j, track, c->written = c->most);
	if (!ret && c->last != c->written)
		ret = put_value(j, track, c->written = c->last);
	c->most = 0;
	return ret;
}

static int put_moment(struct perfetto_export *j)
{
	int ret = put_counter(j, UUID_BYTES, &j->bytes);

	return ret ? ret : put_counter(j, UUID_BLOCKS, &j->blocks);
}

static void count(struct counter *c, uint64_t value)
{
	c->last = value;
	c->most = value > c->most ? value : c->most;
}

/* Losses and marks are instants on a track of their own: visible where the curves are wrong. */
static int put_note(struct perfetto_export *j, uint64_t time, const char *text)
{
	begin_event(j, time, TYPE_INSTANT, UUID_NOTES);
	mz_proto_string(&j->part, EVENT_NAME, text);
	return end_event(j);
}

static int put_tracks(struct perfetto_export *j)
{
	const char *command = mz_events_text(j->s, "command");
	int ret = put_track(j, UUID_PROCESS, command ? command : "memorizer", 0);

	if (!ret)
		ret = put_track(j, UUID_BYTES, "live bytes", UNIT_SIZE_BYTES);
	if (!ret)
		ret = put_track(j, UUID_BLOCKS, "live blocks", UNIT_COUNT);
	return ret ? ret : put_track(j, UUID_NOTES, "notes and losses", 0);
}

/* Called with the usage after each event. */
static int watch(void *arg, const struct mz_event *ev, const struct mz_usage *u)
{
	struct perfetto_export *j = arg;
	int ret = u->now == j->moment ? 0 : put_moment(j);

	j->moment = u->now;
	if (!ret && ev->kind == MZ_LOST) {
		char text[80];

		snprintf(text, sizeof(text), "%llu events lost: %s", (unsigned long long)ev->size,
			 mz_loss_name(ev->arg < MZ_LOSSES ? ev->arg : 0));
		ret = put_note(j, u->now, text);
	} else if (!ret && ev->kind == MZ_MARK) {
		size_t n;
		const char *text = mz_events_string(j->s, (uint32_t)ev->arg, &n);

		ret = put_note(j, u->now, text ? text : "mark");
	}
	count(&j->bytes, u->all.sum.live_bytes);
	count(&j->blocks, u->all.sum.live_blocks);
	return ret;
}

/* ---- the heap profile --------------------------------------------------- */

/* Strings are numbered in the order of the frames: name 2 * i, module 2 * i + 1. */
static void put_frame(struct perfetto_export *j, struct mz_buf *profile, const struct mz_profile *p,
		      uint32_t i)
{
	struct mz_frame f = mz_profile_get_frame(p, i);

	mz_proto_u64(&j->part, STRING_ID, 2 * (uint64_t)i);
	mz_proto_string(&j->part, STRING_BYTES, f.name);
	mz_proto_message(profile, PROFILE_STRINGS, &j->part);
	if (f.module) {
		mz_proto_u64(&j->part, STRING_ID, 2 * (uint64_t)i + 1);
		mz_proto_string(&j->part, STRING_BYTES, f.module);
		mz_proto_message(profile, PROFILE_STRINGS, &j->part);
	}
	mz_proto_u64(&j->part, MAPPING_ID, i);
	if (f.module) /* a frame needs a mapping, a mapping no path */
		mz_proto_u64(&j->part, MAPPING_PATH, 2 * (uint64_t)i + 1);
	mz_proto_message(profile, PROFILE_MAPPINGS, &j->part);
	mz_proto_u64(&j->part, FRAME_ID, i);
	mz_proto_u64(&j->part, FRAME_FUNCTION, 2 * (uint64_t)i);
	mz_proto_u64(&j->part, FRAME_MAPPING, i);
	mz_proto_u64(&j->part, FRAME_PC, f.addr);
	mz_proto_message(profile, PROFILE_FRAMES, &j->part);
}

/* Frames from the outermost to the innermost, as the format wants them. */
static void put_callstack(struct perfetto_export *j, struct mz_buf *profile,
			  const struct mz_profile *p, size_t i)
{
	size_t depth;
	const uint64_t *frames = mz_profile_stack(p, &p->sites[i], &depth);

	mz_proto_u64(&j->part, CALLSTACK_ID, i + 1);
	while (depth--)
		mz_proto_u64(&j->part, CALLSTACK_FRAMES, frames[depth]);
	mz_proto_message(profile, PROFILE_CALLSTACKS, &j->part);
}

/* The viewer computes what is live as allocated minus freed. */
static void put_sample(struct perfetto_export *j, const struct mz_profile *p, size_t i)
{
	const struct mz_heap_sum *s = &p->sites[i].sum;

	mz_proto_u64(&j->inner, SAMPLE_CALLSTACK, i + 1);
	mz_proto_u64(&j->inner, SAMPLE_ALLOCATED, s->bytes);
	mz_proto_u64(&j->inner, SAMPLE_FREED, s->bytes - s->live_bytes);
	mz_proto_u64(&j->inner, SAMPLE_TIMESTAMP, p->last);
	mz_proto_u64(&j->inner, SAMPLE_ALLOCS, s->blocks);
	mz_proto_u64(&j->inner, SAMPLE_FREES, s->blocks - s->live_blocks);
	mz_proto_message(&j->part, DUMP_SAMPLES, &j->inner);
}

/* One dump at the end of the trace. Strings, frames and stacks come before the samples that refer
 * to them. */
static int put_profile(struct perfetto_export *j, const struct mz_profile *p)
{
	struct mz_buf profile = {0};

	for (uint32_t i = 1; i <= mz_profile_frames(p); i++)
		put_frame(j, &profile, p, i);
	for (size_t i = 0; i < p->nsites; i++)
		put_callstack(j, &profile, p, i);
	mz_proto_u64(&j->part, DUMP_PID, j->pid);
	for (size_t i = 0; i < p->nsites; i++)
		put_sample(j, p, i);
	mz_proto_u64(&j->part, DUMP_TIMESTAMP, p->last);
	mz_proto_message(&profile, PROFILE_DUMPS, &j->part);
	mz_proto_u64(&j->packet, PACKET_TIMESTAMP, p->last);
	mz_proto_message(&j->packet, PACKET_PROFILE, &profile);
	mz_buf_free(&profile);
	return put_packet(j);
}

int mz_export_perfetto(struct mz_events *s, struct mz_output *out, struct mz_error *err)
{
	struct perfetto_export j = {.s = s, .out = out, .err = err};
	struct mz_profile p;
	int ret = mz_profile_init(&p);

	if (ret < 0)
		return mz_fail_memory(err);
	j.pid = mz_events_number(s, "pid");
	j.pid = j.pid ? j.pid : 1; /* the format requires a pid */
	ret = put_tracks(&j);
	if (!ret)
		ret = mz_profile_read(&p, s, watch, &j, err);
	if (!ret)
		ret = put_moment(&j);
	if (!ret)
		ret = put_profile(&j, &p);
	mz_profile_deinit(&p);
	mz_buf_free(&j.packet);
	mz_buf_free(&j.part);
	mz_buf_free(&j.inner);
	return ret;
}
