// SPDX-License-Identifier: BSD-2-Clause
/* Read events in batches, with the operations of a format. */
#include "trace/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/block.h"

void mz_reader_close(struct mz_reader *r)
{
	if (!r)
		return;
	if (r->ops && r->ops->close)
		r->ops->close(r);
	mz_live_deinit(&r->live);
	mz_tables_free(r->tables);
	mz_names_free(r->names);
	if (r->attrs)
		mz_attrs_deinit(r->attrs);
	free(r->attrs);
	mz_input_close(&r->in);
	free(r);
}

/* A refused allocation looks like a lack of memory; the message should name the file's claim
 * instead. */
int mz_reader_check_budget(struct mz_reader *r)
{
	if (r->error.code == ENOMEM && r->in.budget.refused) {
		r->error = (struct mz_error){0};
		mz_input_no_memory(&r->in, &r->error);
	}
	return -r->error.code;
}

/*
 * Births that have no end yet. A chunk of fifty bytes may have 2^18 of them, and every caller keeps
 * something for each, so they are counted here. All events pass through this loop: the count stays
 * in a register, and no branch depends on an address.
 */
static int count_live(struct mz_reader *r, const struct mz_event *ev, long n)
{
	uint64_t live = r->live_blocks;

	if (r->in.budget.large)
		return 0; /* no limit: nothing to count for */
	for (const struct mz_event *end = ev + n; ev < end; ev++) {
		if (ev->kind == MZ_ALLOC)
			live += (ev->addr | ev->object) != 0;
		else if (ev->kind == MZ_FREE && live)
			live -= (ev->addr | ev->object) != 0;
		else if (ev->kind == MZ_REALLOC)
			live += ((ev->addr | ev->object) != 0) & !(ev->old_addr | ev->old_object);
	}
	r->live_blocks = live;
	if (mz_mem_change(&r->in.budget, &r->live_charge, r->live_blocks * MZ_MEM_BLOCK))
		return 0;
	return mz_input_no_memory(&r->in, &r->error);
}

/* An error is sticky: a caller that ignores it gets no events from behind the damage. */
long mz_reader_read_raw(struct mz_reader *r, struct mz_event *ev, size_t max)
{
	long n;

	if (r->error.code)
		return -r->error.code;
	n = r->ops->read(r, ev, max < MZ_BATCH ? max : MZ_BATCH);
	if (n < 0)
		return mz_reader_check_budget(r);
	return n && count_live(r, ev, n) < 0 ? -r->error.code : n;
}

/* Formats that name blocks by address only get their object numbers here. Events before a
 * failure are returned; the failure follows with the next call. */
long mz_reader_read(struct mz_reader *r, struct mz_event *ev, size_t max)
{
	long n = mz_reader_read_raw(r, ev, max);

	if (n <= 0 || r->ops->resolved)
		return n;
	for (long i = 0; i < n; i++) {
		struct mz_effect fx;

		if (mz_live_apply(&r->live, &ev[i], r->places[i], &fx) < 0) {
			mz_fail_memory(&r->error);
			return i ? i : -r->error.code;
		}
	}
	return n;
}

void mz_reader_forget_unknown(const struct mz_reader *r, struct mz_event *ev, long n)
{
	uint32_t stacks = mz_tables_stacks(r->tables), strings = mz_tables_strings(r->tables);

	for (long i = 0; i < n; i++) {
		if (__builtin_expect(ev[i].site > stacks, 0)) {
			ev[i].has &= (uint16_t)~MZ_HAS_SITE;
			ev[i].site = 0;
		}
		if (__builtin_expect(ev[i].cache > strings, 0)) {
			ev[i].has &= (uint16_t)~MZ_HAS_CACHE;
			ev[i].cache = 0;
		}
	}
}

/* Where the event is in its file, in the unit that helps to find it there. */
const char *mz_reader_place(const struct mz_reader *r, size_t i, char *buf, size_t size)
{
	snprintf(buf, size, "%s %llu", r->ops->lines ? "line" : "byte",
		 (unsigned long long)r->places[i]);
	return buf;
}

enum mz_format mz_reader_format(const struct mz_reader *r)
{
	return r->ops->format;
}

uint32_t mz_reader_fields(const struct mz_reader *r)
{
	return r->fields;
}

const struct mz_error *mz_reader_error(const struct mz_reader *r)
{
	return r->error.code ? &r->error : &r->refused;
}

const struct mz_tables *mz_reader_tables(const struct mz_reader *r)
{
	return r->tables;
}

struct mz_unmatched mz_reader_unmatched(const struct mz_reader *r)
{
	return r->live.unmatched;
}

int mz_reader_set_text(struct mz_reader *r, const char *key, const char *text)
{
	struct mz_attr a = {.key = key, .type = MZ_ATTR_TEXT, .data = text, .size = strlen(text)};

	if (!r->attrs)
		r->attrs = calloc(1, sizeof(*r->attrs));
	return r->attrs ? mz_attrs_set(r->attrs, &a) : -ENOMEM;
}
