// SPDX-License-Identifier: GPL-2.0
/*
 * Which way an access is counted: the common ones, without or with ranges, or the
 * long way, where each access is looked at.
 *
 * The entries of entry.S have code for both common ways and a jump to one of them,
 * whose target is changed here. Testing at each access which one applies would
 * take two more instructions.
 */
#include <linux/memory.h>
#include <linux/memorizer_context.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <asm/text-patching.h>

#include "frames.h"
#include "memorizer.h"

/* A jump of entry.S and its two targets, as distances from __memorizer_entries. */
struct way_jump {
	u32 jump;
	u32 plain;
	u32 ranges;
};

extern const struct way_jump __memorizer_ways[], __memorizer_ways_end[];

/*
 * The end of RAM while all tasks are counted in the common way, without or with
 * ranges; 0 if each access must be looked at: by mark, in the other way, for its
 * frame, or not at all.
 */
unsigned long memorizer_fast_end;
unsigned long memorizer_range_end;
/* That of the way which entry.S takes; 0 also while its jumps are changed. */
unsigned long memorizer_entry_end;

static DEFINE_MUTEX(ways_mutex);
static bool takes_ranges;

#define JB_SIZE		6

static void set_target(const struct way_jump *way, bool ranges)
{
	const char *jump = __memorizer_entries + way->jump;
	const char *target = __memorizer_entries + (ranges ? way->ranges : way->plain);
	s32 distance = target - (jump + JB_SIZE);
	u8 code[JB_SIZE] = { 0x0f, 0x82 };

	memcpy(code + 2, &distance, sizeof(distance));
	text_poke_queue((void *)jump, code, JB_SIZE, NULL);
}

/*
 * No CPU takes the jumps meanwhile, so that no access is counted the wrong
 * way.
 */
static void take_way(bool ranges)
{
	const struct way_jump *way;

	if (ranges == takes_ranges)
		return;
	WRITE_ONCE(memorizer_entry_end, 0);
	memorizer_switches_changed();
	mutex_lock(&text_mutex);
	for (way = __memorizer_ways; way < __memorizer_ways_end; way++)
		set_target(way, ranges);
	text_poke_finish();
	mutex_unlock(&text_mutex);
	takes_ranges = ranges;
}

/* One of the switches has changed. Sleeps. */
void memorizer_set_fast(void)
{
	bool ranges;
	unsigned long end = 0;

	mutex_lock(&ways_mutex);
	ranges = memorizer_print_fields;
	if (memorizer_counting && memorizer_mode == 1 && !memorizer_frames_on())
		end = memorizer_ram;
	/* Extents have 48 bits of an address. */
	if (ranges && pgtable_l5_enabled())
		end = 0;
	take_way(ranges);
	WRITE_ONCE(memorizer_fast_end, ranges ? 0 : end);
	WRITE_ONCE(memorizer_range_end, ranges ? end : 0);
	WRITE_ONCE(memorizer_entry_end, end);
	memorizer_switches_changed();
	mutex_unlock(&ways_mutex);
}
