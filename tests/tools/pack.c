// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sizes and speed of the container on one trace, in memory, one core:
 *   pack [--best] [--addresses] [--raw] [--level ZSTD] [--chunk EVENTS]
 *        [--repeat N] TRACE
 * Prints: events bytes encode-Mevents/s decode-Mevents/s, then bytes by column.
 * Events come back equal, or it fails. Times are of the CPU, the best of N, of an
 * encoder and a decoder that have their memory already.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "trace/chunk.h"
#include "trace/reader.h"

static const char *const names[MZ_COLUMNS] = {
	"form",		"kind",	    "call",	 "has",	       "size",	"given",   "arg",
	"site",		"cache",    "flags",	 "unit",       "block", "who-cpu", "who-node",
	"who-pid",	"who-tid",  "guests",	 "guest-addr", "token", "who",	   "time",
	"step",		"own-size", "own-given", "own-arg",    "place", "addr",	   "stray",
	"stray-object", "jump",	    "again"};

struct pack_run {
	struct mz_encode_options o;
	struct mz_encoder *encoder;
	struct mz_decoder *decoder;
	struct mz_event *ev, *back;
	size_t n, cap;
	struct mz_buf *chunks;
	size_t n_chunks;
	uint64_t sizes[MZ_COLUMNS];
	uint64_t bytes;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what)
{
	fprintf(stderr, "pack: %s\n", what);
	exit(1);
}

static void load(struct pack_run *r, const char *path)
{
	struct mz_error err = {0};
	struct mz_reader *in = mz_reader_open(path, &err);
	long n;

	if (!in)
		die(err.text);
	do {
		if (r->cap - r->n < 512) {
			r->cap = r->cap ? r->cap * 2 : 1 << 16;
			r->ev = realloc(r->ev, r->cap * sizeof(*r->ev));
			if (!r->ev)
				die("no memory");
		}
		n = r->o.raw ? mz_reader_read_raw(in, r->ev + r->n, 512)
			     : mz_reader_read(in, r->ev + r->n, 512);
		r->n += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	if (n < 0)
		die(mz_reader_error(in)->text);
	mz_reader_close(in);
}

static double encode(struct pack_run *r)
{
	struct mz_encoder *e = r->encoder;
	double start = now();

	r->n_chunks = r->bytes = 0;
	memset(r->sizes, 0, sizeof(r->sizes));
	for (size_t at = 0; at < r->n;) {
		struct mz_buf *b = &r->chunks[r->n_chunks++];
		long n = mz_encoder_add(e, r->ev + at, r->n - at);

		b->len = 0;
		if (n < 0 || mz_encoder_finish(e, NULL, b, r->sizes) < 0)
			die("no memory");
		at += (size_t)n;
		r->bytes += b->len;
	}
	return now() - start;
}

static double decode(struct pack_run *r, bool keep)
{
	struct mz_decoder *d = r->decoder;
	static struct mz_event batch[512];
	double start = now(), took;
	size_t at = 0;
	long n;

	for (size_t i = 0; i < r->n_chunks; i++) {
		if (mz_decoder_start(d, r->chunks[i].data, r->chunks[i].len) < 0)
			die(mz_decoder_why(d));
		while ((n = mz_decoder_read(d, keep ? r->back + at : batch, 512)) > 0)
			at += (size_t)n;
		if (n < 0)
			die(mz_decoder_why(d));
	}
	took = now() - start;
	if (at != r->n)
		die("events are missing");
	return took;
}

/* What comes back is what went in, but for what was dropped. */
static void compare(struct pack_run *r)
{
	for (size_t i = 0; i < r->n; i++) {
		struct mz_event e = r->ev[i];

		if (r->o.drop & MZ_HAS_ADDR) {
			e.has &= (uint16_t)~MZ_HAS_ADDR;
			e.addr = e.old_addr = 0;
		}
		if (r->o.raw)
			e.object = e.old_object = 0;
		if (memcmp(&e, &r->back[i], sizeof(e)))
			die("an event came back changed");
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"best", no_argument, NULL, 'b'},
						{"addresses", no_argument, NULL, 'a'},
						{"raw", no_argument, NULL, 'w'},
						{"level", required_argument, NULL, 'l'},
						{"chunk", required_argument, NULL, 'c'},
						{"repeat", required_argument, NULL, 'r'},
						{0}};
	struct pack_run r = {.o.drop = MZ_HAS_ADDR};
	double best_e = 1e9, best_d = 1e9;
	int c, repeat = 5;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'b')
			r.o.best = true;
		else if (c == 'a')
			r.o.drop = 0;
		else if (c == 'w') /* as the recorder does it: blocks are known by address */
			r.o.raw = true, r.o.drop = 0;
		else if (c == 'l')
			r.o.level = atoi(optarg);
		else if (c == 'c')
			r.o.max_events = (uint32_t)atoi(optarg);
		else if (c == 'r')
			repeat = atoi(optarg);
		else
			return 2;
	}
	if (optind >= argc)
		die("which trace?");
	load(&r, argv[optind]);
	r.chunks = calloc(r.n / 1000 + 2, sizeof(*r.chunks));
	r.back = malloc((r.n + 512) * sizeof(*r.back));
	r.encoder = mz_encoder_new(&r.o);
	r.decoder = mz_decoder_new();
	if (!r.chunks || !r.back || !r.n || !r.encoder || !r.decoder)
		die("no memory, or no events");
	encode(&r);
	decode(&r, true);
	compare(&r);
	for (int i = 0; i < repeat; i++) {
		double e = encode(&r), d = decode(&r, false);

		best_e = e < best_e ? e : best_e;
		best_d = d < best_d ? d : best_d;
	}
	printf("%zu %llu %.2f %.2f", r.n, (unsigned long long)r.bytes, (double)r.n / best_e / 1e6,
	       (double)r.n / best_d / 1e6);
	for (int i = 0; i < MZ_COLUMNS; i++)
		if (r.sizes[i])
			printf(" %s=%llu", names[i], (unsigned long long)r.sizes[i]);
	printf("\n");
	mz_encoder_free(r.encoder);
	mz_decoder_free(r.decoder);
	return 0;
}
