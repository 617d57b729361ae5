// SPDX-License-Identifier: BSD-2-Clause
/*
 * The recorder against a hostile program: whatever is in the shared memory, and
 * whenever it gets there, the recorder neither crashes nor fails, and its files can
 * be read. The input is a list of writes to the region and of looks at it.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"
#include "record/user_rings.h"

static struct mz_user_rings rings;
static const uint8_t *in, *in_end;
static uint64_t noise;
static int locks = -1; /* another description of the region's file */

/* No time passes between two looks. */
int nanosleep(const struct timespec *t, struct timespec *left)
{
	(void)t, (void)left;
	return 0;
}

static uint64_t get(unsigned bytes)
{
	uint64_t v = 0;

	for (; bytes; bytes--)
		v = v << 8 | (in < in_end ? *in++ : 0);
	return v;
}

static uint64_t random_number(void)
{
	noise ^= noise << 13;
	noise ^= noise >> 7;
	noise ^= noise << 17;
	return noise;
}

/* Values near a limit occur more often than by chance. */
static uint64_t odd_number(void)
{
	static const uint64_t odd[] = {0,
				       1,
				       255,
				       256,
				       511,
				       512,
				       MZ_RINGS - 1,
				       MZ_RINGS,
				       65535,
				       65536,
				       1u << 30,
				       UINT32_MAX,
				       1ull << 40,
				       INT64_MAX,
				       UINT64_MAX - 1,
				       UINT64_MAX};
	uint64_t how = get(1);

	return how < 64 ? odd[how % 16] : how < 128 ? get(8) : how < 192 ? get(2) : get(1);
}

static unsigned a_ring(void)
{
	return (unsigned)(get(1) < 200 ? get(1) % 4 : get(2) % MZ_RINGS);
}

static void lock_image(unsigned i, bool hold)
{
	struct flock l = {.l_type = hold ? F_WRLCK : F_UNLCK,
			  .l_whence = SEEK_SET,
			  .l_start = (off_t)i,
			  .l_len = 1};

	fcntl(locks, F_OFD_SETLK, &l);
}

static void set_image(void)
{
	unsigned i = (unsigned)(get(1) < 240 ? get(1) % 3 : get(2) % MZ_IMAGES);
	struct mz_program_slot *m = &rings.region->images[i];
	uint64_t how = get(1);

	m->pid = how == 255 ? (uint32_t)odd_number() : (uint32_t)getpid();
	m->locked = how < 250;
	lock_image(i, how < 200);
	m->missed = how & 1 ? odd_number() : 0;
	m->left = (uint32_t)(how & 2 ? odd_number() : 0);
	memset(m->path, (int)how, sizeof(m->path));
	m->state = how < 220 ? MZ_IMAGE_LIVE : (uint32_t)odd_number();
}

static void set_ring(void)
{
	struct mz_ring *r = &rings.region->rings[a_ring()];
	uint64_t how = get(1);

	r->state = how < 220 ? MZ_RING_OWNED : (uint32_t)odd_number();
	r->image = how & 1 ? (uint32_t)(get(1) % 3) : (uint32_t)odd_number();
	if (how & 2)
		r->head = odd_number();
	if (how & 4)
		r->tail = odd_number();
	if (how & 8)
		r->dropped = odd_number();
	rings.region->ring_top = how & 16 ? (uint32_t)odd_number() : 8;
}

static struct mz_record sound_record(void)
{
	struct mz_record rec = {.time = (uint32_t)mz_user_rings_clock(&rings),
				.type = (uint8_t)get(1),
				.arg = (uint8_t)get(1)};

	if (rec.type >= 40)
		rec.type = (uint8_t)(MZ_REC_TIME + rec.type % (MZ_REC_END - MZ_REC_TIME));
	rec.size = (uint16_t)odd_number();
	rec.value = odd_number();
	return rec;
}

static void append(bool sound)
{
	unsigned i = a_ring(), n = (unsigned)get(1) % 64;
	struct mz_ring *r = &rings.region->rings[i];
	struct mz_record *data = mz_ring_data(rings.region, i);

	for (; n; n--, r->head++) {
		struct mz_record *to = &data[r->head & (mz_ring_records(i) - 1)];

		if (sound)
			*to = sound_record();
		else
			*to = (struct mz_record){.time = (uint32_t)random_number(),
						 .type = (uint8_t)random_number(),
						 .arg = (uint8_t)random_number(),
						 .size = (uint16_t)(random_number() & 255),
						 .value = random_number()};
	}
}

/* Anywhere in the head of the region, but where the harness itself needs it. */
static void scribble(void)
{
	uint64_t at = get(3) % (sizeof(struct mz_region) / 8), value = odd_number();

	memcpy((char *)rings.region + at * 8, &value, 8);
}

static void act(void)
{
	switch (get(1) % 12) {
	case 0: set_image(); break;
	case 1: set_ring(); break;
	case 2: append(false); break;
	case 3:
	case 4:
	case 5: append(true); break;
	case 6: scribble(); break;
	case 7: lock_image((unsigned)get(1) % 3, false); break;
	case 8: MUST(mz_user_rings_images(&rings) >= 0); break;
	case 9: MUST(mz_user_rings_drain(&rings, true) >= 0); break;
	default: MUST(mz_user_rings_drain(&rings, false) >= 0); break;
	}
}

static void must_be_readable(const char *path)
{
	struct mz_error err = {0};
	struct mz_reader *r = mz_reader_open(path, &err);
	struct mz_event ev[256];
	long n;

	MUST(r);
	while ((n = mz_reader_read(r, ev, 256)) > 0)
		;
	MUST(n == 0);
	mz_reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char output[64];
	struct mz_error err = {0};
	struct mz_user_files files = {.output = output, .force = true, .err = &err, .command = ""};
	char again[64];

	if (!*output)
		snprintf(output, sizeof(output), "/dev/shm/region_fuzz.%d.cmt", (int)getpid());
	in = data;
	in_end = data + size;
	noise = 0x9e3779b97f4a7c15u ^ size;
	MUST(!mz_user_rings_init(&rings, -1, MZ_REGION_FORKS, 64, &files));
	snprintf(again, sizeof(again), "/proc/self/fd/%d", rings.fd);
	locks = open(again, O_RDWR | O_CLOEXEC);
	MUST(locks >= 0);
	while (in < in_end && files.made < 16)
		act();
	close(locks);
	MUST(mz_user_rings_images(&rings) >= 0);
	MUST(mz_user_rings_drain(&rings, true) >= 0);
	MUST(!mz_user_rings_close(&rings));
	mz_user_rings_deinit(&rings);
	MUST(!files.site_pages && !files.stack_bytes && !files.text_bytes);
	for (size_t i = 0; i < files.done_count; i++) {
		must_be_readable(files.done[i].path);
		unlink(files.done[i].path);
	}
	mz_user_files_free(&files);
	return 0;
}
