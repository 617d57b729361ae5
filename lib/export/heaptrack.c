// SPDX-License-Identifier: BSD-2-Clause
/* Write heaptrack's text, version 2, as the events come. */
/*
 * It is for heaptrack_print and heaptrack_gui, from 1.0 on. All numbers are hexadecimal.
 *
 *   v VERSION FORMAT      X COMMAND           I PAGE-SIZE PAGES
 *   s STRING              its number counts up from 1
 *   i IP MODULE FUNCTION [FILE LINE]          strings by number
 *   t INSTRUCTION PARENT  a stack: both numbers count up from 1
 *   a SIZE STACK          a sort of block, counts up from 0
 *   + SORT    - SORT      a block of it comes, goes
 *   c MILLISECONDS
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/u64_table.h"
#include "base/utf8.h"
#include "export/export.h"
#include "trace/sampled.h"

/* A live block. */
struct live_block {
	uint64_t object;
	uint32_t sort; /* from 1 on */
};

struct heaptrack_export {
	struct mz_events *s;
	struct mz_output *out;
	struct mz_error *err;
	struct mz_buf line;
	struct mz_tables *strings;
	struct mz_tables *lists[3]; /* numbers of instructions, stacks, sorts: see below */
	struct mz_u64_table live;   /* struct live_block */
	uint64_t ms, first;
	bool timed;
};

enum { INSTRUCTIONS, STACKS, SORTS };

/* The number of a list, from 1 on; fresh: the list is new. 0 = no memory. */
static uint32_t number_of(struct heaptrack_export *j, int which, const uint64_t *list, size_t n,
			  bool *fresh)
{
	uint32_t known = mz_tables_stacks(j->lists[which]);
	uint32_t id = mz_tables_stack(j->lists[which], list, n);

	*fresh = id > known;
	return id;
}

/* A line break inside a name would be read as the next record. */
static uint32_t put_string(struct heaptrack_export *j, const char *s)
{
	uint32_t known, id;
	size_t start;

	if (!s)
		return 0;
	known = mz_tables_strings(j->strings);
	id = mz_tables_string(j->strings, s, strlen(s));
	if (!id)
		j->line.failed = true; /* no memory, which is not the same as no string */
	if (id <= known)
		return id;
	mz_buf_str(&j->line, "s ");
	start = j->line.len;
	mz_utf8_add(&j->line, s, strlen(s));
	for (size_t i = start; i < j->line.len; i++)
		if ((unsigned char)j->line.data[i] < 0x20)
			j->line.data[i] = ' ';
	mz_buf_str(&j->line, "\n");
	return id;
}

/* Everything that a record refers to must precede it, so strings are written first and the record
 * is put together from their numbers. */
static uint32_t put_instruction(struct heaptrack_export *j, uint64_t ip)
{
	struct mz_place_name n[MZ_EVENTS_INLINED];
	uint32_t id, module, strings[MZ_EVENTS_INLINED][2];
	uint64_t key[1] = {ip};
	size_t count;
	bool fresh;

	id = number_of(j, INSTRUCTIONS, key, 1, &fresh);
	if (!fresh)
		return id;
	count = mz_events_names(j->s, ip, n);
	module = put_string(j, n[0].module);
	for (size_t i = 0; i < count; i++) {
		strings[i][0] = put_string(j, n[i].function);
		strings[i][1] = put_string(j, n[i].file);
	}
	mz_buf_printf(&j->line, "i %" PRIx64 " %x", ip, module);
	/* an inlined function takes three fields, the first of which is never 0 */
	for (size_t i = 0; i < count && strings[i][0]; i++) {
		mz_buf_printf(&j->line, " %x", strings[i][0]);
		if (count > 1 || strings[i][1])
			mz_buf_printf(&j->line, " %x %x", strings[i][1], n[i].line);
	}
	mz_buf_str(&j->line, "\n");
	return id;
}

/* The outermost frame first; each stack is the one below it and an instruction. */
static uint32_t put_stack(struct heaptrack_export *j, uint32_t site)
{
	size_t depth;
	const uint64_t *ips = mz_events_stack(j->s, site, &depth);
	uint64_t nowhere = 0, node[2] = {0, 0};

	/* the format has no block without a stack */
	if (!depth) {
		ips = &nowhere;
		depth = 1;
	}
	while (depth--) {
		bool fresh;

		node[0] = put_instruction(j, ips[depth]);
		node[1] = number_of(j, STACKS, node, 2, &fresh);
		if (!node[0] || !node[1])
			return 0;
		if (fresh) {
			size_t n;
			const uint64_t *list =
				mz_tables_get_stack(j->lists[STACKS], (uint32_t)node[1], &n);

			mz_buf_printf(&j->line, "t %" PRIx64 " %" PRIx64 "\n", list[0], list[1]);
		}
	}
	return (uint32_t)node[1];
}

/* Sites are many and stacks few: the site's number is part of the sort's key. */
static uint32_t put_sort(struct heaptrack_export *j, const struct mz_event *ev)
{
	uint64_t key[2] = {ev->size, ev->site};
	bool fresh;
	uint32_t id = number_of(j, SORTS, key, 2, &fresh), stack;

	if (fresh) {
		stack = put_stack(j, ev->site);
		if (!stack)
			return 0;
		mz_buf_printf(&j->line, "a %" PRIx64 " %x\n", ev->size, stack);
	}
	return id;
}

/* heaptrack frees by sort, we by block: the live table remembers which sort a block is of. */
static int put_birth(struct heaptrack_export *j, const struct mz_event *ev)
{
	uint32_t sort = put_sort(j, ev);
	struct live_block *b;
	bool fresh;

	b = sort ? mz_u64_table_insert(&j->live, ev->object, sizeof(*b), &fresh) : NULL;
	if (!b)
		return -ENOMEM;
	b->sort = sort;
	mz_buf_printf(&j->line, "+ %x\n", sort - 1);
	return 0;
}

/* The free of a block from before the recording has nothing to refer to. */
static void put_death(struct heaptrack_export *j, uint64_t object)
{
	struct live_block *b = object ? mz_u64_table_find(&j->live, object, sizeof(*b)) : NULL;

	if (b) {
		mz_buf_printf(&j->line, "- %x\n", b->sort - 1);
		mz_u64_table_remove(&j->live, b, sizeof(*b));
	}
}

/* Milliseconds from the start, only when they change. Without a clock there is no timeline at all:
 * an invented one would be shown as real. */
static void put_time(struct heaptrack_export *j, const struct mz_event *ev)
{
	uint64_t ms;

	if (!(ev->has & MZ_HAS_TIME) || mz_events_by_sequence(j->s))
		return;
	if (!j->timed)
		j->first = ev->time;
	j->timed = true;
	ms = (ev->time > j->first ? ev->time - j->first : 0) / 1000000;
	if (ms > j->ms) {
		mz_buf_printf(&j->line, "c %" PRIx64 "\n", ms);
		j->ms = ms;
	}
}

/* A realloc is a death and a birth. One that failed leaves the old block alone. */
static int put_event(struct heaptrack_export *j, const struct mz_event *ev)
{
	int ret = 0;

	j->line.len = 0;
	put_time(j, ev);
	if (ev->kind == MZ_FREE) {
		put_death(j, ev->object);
	} else if (ev->kind == MZ_ALLOC || ev->kind == MZ_REALLOC) {
		if (ev->kind == MZ_REALLOC && (ev->object || !ev->size))
			put_death(j, ev->old_object);
		if (ev->object)
			ret = put_birth(j, ev);
	}
	if (ret < 0 || j->line.failed)
		return mz_fail_memory(j->err);
	return mz_output_add(j->out, j->line.data, j->line.len, j->err);
}

/* The version of heaptrack that the file claims decides how it is parsed; the number of pages is
 * unknown. */
static int put_head(struct heaptrack_export *j)
{
	const char *command = mz_events_text(j->s, "command");

	mz_buf_str(&j->line, "v 10400 2\n");
	if (command)
		mz_buf_str(&j->line, "X ");
	for (const char *p = command ? command : ""; *p; p++)
		mz_buf_add(&j->line, (unsigned char)*p < 0x20 ? " " : p, 1);
	mz_buf_str(&j->line, command ? "\nI 1000 0\n" : "I 1000 0\n");
	return j->line.failed ? mz_fail_memory(j->err)
			      : mz_output_add(j->out, j->line.data, j->line.len, j->err);
}

static int put_all(struct mz_events *s, struct mz_output *out, struct mz_error *err)
{
	struct heaptrack_export j = {.s = s, .out = out, .err = err, .strings = mz_tables_new()};
	struct mz_event ev;
	int ret = mz_u64_table_init(&j.live, sizeof(struct live_block));

	for (int i = 0; i < 3; i++) {
		j.lists[i] = mz_tables_new();
		if (!j.lists[i] || !j.strings)
			ret = -ENOMEM;
	}
	if (ret < 0)
		mz_fail_memory(err);
	else
		ret = put_head(&j);
	while (!ret) {
		int more = mz_events_next(s, &ev, err);

		ret = more > 0 ? put_event(&j, &ev) : more;
		if (more <= 0)
			break;
	}
	for (int i = 0; i < 3; i++)
		mz_tables_free(j.lists[i]);
	mz_tables_free(j.strings);
	mz_u64_table_deinit(&j.live);
	mz_buf_free(&j.line);
	return ret;
}

/* The events of this format have no weights. */
int mz_export_heaptrack(struct mz_events *s, struct mz_output *out, struct mz_error *err)
{
	const struct mz_reader *r = mz_events_reader(s);
	int ret = r ? mz_sampled_refuse(r, "a file of heaptrack", err) : 0;

	return ret ? ret : put_all(s, out, err);
}
