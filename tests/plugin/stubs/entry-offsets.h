/* SPDX-License-Identifier: BSD-2-Clause */
/* What kbuild makes for the kernel: here as entry.c lays it out. */
#define MEMORIZER_seen		0
#define MEMORIZER_preempt_count 8
#define MEMORIZER_tags		8
#define MEMORIZER_end		64
#define MEMORIZER_map_base	0
#define MEMORIZER_map_recip	8
#define MEMORIZER_map_objs	16
#define MEMORIZER_map_miss	80
#define MEMORIZER_miss		72
#define MEMORIZER_vmemmap_pieces 4
#define MEMORIZER_sites		8
#define MEMORIZER_mask		0
#define MEMORIZER_room		8
#define MEMORIZER_ranges	6
#define MEMORIZER_range_room	16
#define MEMORIZER_entry		32
#define MEMORIZER_hash_factor	0x61c88647
#define MEMORIZER_hash_shift	28
#define jump_if_no_object	jz
