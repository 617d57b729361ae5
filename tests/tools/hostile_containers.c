// SPDX-License-Identifier: BSD-2-Clause
/*
 * Small files with large bills: containers whose frames and checksums are right and whose
 * counts are absurd, and a few texts. usage: hostile_containers DIR
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include "trace/block.h"
#include "trace/chunk.h"

#define EVENTS MZ_WIRE_MAX_EVENTS

static struct mz_packer pk = {.level = 3};
static struct mz_buf file;
static struct mz_index blocks;

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "hostile_containers: %s\n", what);
	exit(1);
}

static void save(const char *name, const void *data, size_t n)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	must(fd >= 0 && write(fd, data, n) == (ssize_t)n && !close(fd), name);
}

/* ---- files --------------------------------------------------------------- */

static void begin(void)
{
	uint8_t header[MZ_WIRE_HEADER_SIZE];

	mz_file_header_put(header);
	file.len = 0;
	mz_index_deinit(&blocks);
	mz_buf_add(&file, header, sizeof(header));
}

static void block(uint8_t type, const struct mz_buf *payload, const struct mz_chunk_info *info)
{
	struct mz_index_entry e = {
		.offset = file.len, .size = (uint32_t)payload->len, .type = type};
	uint8_t frame[MZ_WIRE_FRAME_SIZE];

	if (info)
		e.info = *info;
	mz_block_frame_put(frame, type, payload->data, payload->len);
	mz_buf_add(&file, frame, sizeof(frame));
	mz_buf_add(&file, payload->data, payload->len);
	must(!mz_index_add(&blocks, &e), "no memory");
}

/* A block whose payload is a packed body. */
static void packed(uint8_t type, struct mz_buf *body)
{
	struct mz_buf out = {0};

	must(!body->failed && !mz_bytes_pack(&pk, body->data, body->len, &out), "no memory");
	block(type, &out, NULL);
	mz_buf_free(&out);
	body->len = 0;
}

static void end_with(const struct mz_buf *index)
{
	uint8_t frame[MZ_WIRE_FRAME_SIZE], trailer[MZ_WIRE_TRAILER_SIZE];

	mz_trailer_put(trailer, file.len);
	mz_block_frame_put(frame, MZ_BLOCK_INDEX, index->data, index->len);
	mz_buf_add(&file, frame, sizeof(frame));
	mz_buf_add(&file, index->data, index->len);
	mz_buf_add(&file, trailer, sizeof(trailer));
}

static void end(const char *name)
{
	struct mz_buf index = {0};

	must(!mz_index_put(&blocks, &pk, &index), "no memory");
	end_with(&index);
	mz_buf_free(&index);
	must(!file.failed, "no memory");
	save(name, file.data, file.len);
}

/* ---- chunks -------------------------------------------------------------- */

struct shape {
	struct mz_chunk_info info;
	uint32_t often, once, guests, whos;
	uint64_t same[MZ_COLUMNS]; /* the number that each column has n times */
	uint32_t n[MZ_COLUMNS];	   /* 0: the column is not there */
	bool counts[MZ_COLUMNS];   /* 0, 1, 2, ... in the place of same */
};

static void put_column(const struct shape *s, int id, struct mz_buf *out)
{
	const struct mz_pack_how how = {.codec = MZ_CODEC_PLANES};
	uint64_t *v = malloc(s->n[id] * sizeof(*v));

	must(v, "no memory");
	for (uint32_t i = 0; i < s->n[id]; i++)
		v[i] = s->counts[id] ? i : s->same[id];
	mz_buf_number(out, (uint64_t)id);
	must(!mz_codec_column_pack(&pk, v, s->n[id], &how, out), "no memory");
	free(v);
}

static void chunk(const struct shape *s)
{
	struct mz_buf out = {0};
	uint64_t columns = 0;

	mz_chunk_info_put(&s->info, &out);
	mz_buf_number(&out, s->often);
	mz_buf_number(&out, s->once);
	mz_buf_number(&out, s->guests);
	mz_buf_number(&out, s->whos);
	if (s->info.fields & MZ_HAS_ADDR)
		mz_buf_number(&out, 0);
	for (int i = 0; i < MZ_COLUMNS; i++)
		columns += s->n[i] != 0;
	mz_buf_number(&out, columns);
	for (int i = 0; i < MZ_COLUMNS; i++)
		if (s->n[i])
			put_column(s, i, &out);
	block(MZ_BLOCK_EVENTS, &out, &s->info);
	mz_buf_free(&out);
}

static void pattern(struct shape *s, int id, uint64_t v)
{
	s->same[id] = v;
	s->n[id] = s->often + s->once;
}

/* As many mallocs as a chunk can hold, of blocks that nobody frees. */
static struct shape births(uint32_t number, uint32_t stream)
{
	struct shape s = {.info = {.stream = stream,
				   .sequence = stream ? 0 : number,
				   .events = EVENTS,
				   .births = EVENTS,
				   .first_object = 1 + (uint64_t)number * EVENTS},
			  .often = 1};

	s.info.last_object = s.info.first_object + EVENTS - 1;
	pattern(&s, MZ_COL_FORM, MZ_FORM_BIRTH);
	pattern(&s, MZ_COL_KIND, MZ_ALLOC);
	pattern(&s, MZ_COL_CALL, MZ_CALL_MALLOC);
	pattern(&s, MZ_COL_SIZE, 8);
	return s;
}

/* n chunks: of one stream, or of one stream each; change makes them what they are. */
static void chunks(uint32_t n, bool streams, void (*change)(struct shape *s, uint32_t i),
		   const char *name)
{
	begin();
	for (uint32_t i = 0; i < n; i++) {
		struct shape s = births(i, streams ? i : 0);

		if (change)
			change(&s, i);
		chunk(&s);
	}
	end(name);
}

/* Times of streams that overlap, so that all of them are open at once. */
static void overlapping(struct shape *s, uint32_t i)
{
	(void)i;
	s->info.fields = MZ_HAS_TIME | MZ_HAS_TID | MZ_HAS_ADDR;
	s->info.last_time = 2 * EVENTS;
	s->whos = 1;
	pattern(s, MZ_COL_HAS, s->info.fields);
	s->same[MZ_COL_TIME] = 2;
	s->n[MZ_COL_TIME] = s->n[MZ_COL_WHO] = s->n[MZ_COL_PLACE] = EVENTS;
	s->n[MZ_COL_TOKEN] = EVENTS;
	s->same[MZ_COL_PLACE] = 3;
}

/* No event to speak of: streams of these have one lane each. */
static void tiny(struct shape *s, uint32_t i)
{
	s->info.events = s->info.births = 1;
	s->info.last_object = s->info.first_object;
	s->info.fields = MZ_HAS_TIME;
	s->info.last_time = i;
	pattern(s, MZ_COL_HAS, s->info.fields);
}

static void guests(struct shape *s, uint32_t i)
{
	(void)i;
	s->guests = s->whos = s->once = EVENTS;
	s->often = 0;
	s->n[MZ_COL_TOKEN] = EVENTS;
	s->info.guest_object = 1;
	for (int c = 0; c <= MZ_COL_BLOCK; c++)
		s->n[c] = EVENTS;
}

/* Call sites, caches and marks that no table has, and a thread for each event. */
static void wild_numbers(const char *name)
{
	struct shape s = births(0, 0);

	begin();
	s.info.fields = MZ_HAS_SITE | MZ_HAS_CACHE | MZ_HAS_TID | MZ_HAS_PID | MZ_HAS_CPU;
	s.whos = EVENTS;
	pattern(&s, MZ_COL_HAS, s.info.fields);
	pattern(&s, MZ_COL_SITE, UINT32_MAX - 1);
	pattern(&s, MZ_COL_CACHE, UINT32_MAX - 1);
	s.n[MZ_COL_TOKEN] = s.n[MZ_COL_WHO] = s.n[MZ_COL_WHO_TID] = s.n[MZ_COL_WHO_PID] =
		s.n[MZ_COL_WHO_CPU] = EVENTS;
	s.counts[MZ_COL_WHO] = s.counts[MZ_COL_WHO_TID] = s.counts[MZ_COL_WHO_PID] =
		s.counts[MZ_COL_WHO_CPU] = true;
	chunk(&s);
	end(name);
}

/* One event, whose call site and cache are large enough to be expensive, and not too large for
 * any machine to have room for that many. */
static void large_numbers(const char *name)
{
	struct shape s = births(0, 0);

	begin();
	tiny(&s, 0);
	s.info.fields = MZ_HAS_SITE | MZ_HAS_CACHE;
	pattern(&s, MZ_COL_HAS, s.info.fields);
	pattern(&s, MZ_COL_SITE, (1u << 23) - 1);
	pattern(&s, MZ_COL_CACHE, (1u << 23) - 1);
	chunk(&s);
	end(name);
}

/* Blocks of a tebibyte each. */
static void huge_blocks(const char *name)
{
	struct shape s = births(0, 0);

	begin();
	pattern(&s, MZ_COL_SIZE, 1ull << 40);
	chunk(&s);
	end(name);
}

/* ---- tables -------------------------------------------------------------- */

static void lost_table(uint8_t type, const char *name)
{
	const struct mz_pack_how how = {.codec = MZ_CODEC_PLANES};
	struct mz_buf b = {0};
	const uint64_t one = 1, none = 0;

	begin();
	mz_buf_number(&b, 1u << 26);
	mz_buf_number(&b, 1);
	if (type == MZ_BLOCK_STRINGS) {
		mz_buf_number(&b, 1);
		mz_buf_add(&b, "x", 1);
		packed(type, &b);
	} else {
		must(!mz_codec_column_pack(&pk, &one, 1, &how, &b), "no memory");
		must(!mz_codec_column_pack(&pk, &none, 1, &how, &b), "no memory");
		must(!mz_codec_column_pack(&pk, &one, 1, &how, &b), "no memory");
		block(type, &b, NULL);
	}
	mz_buf_free(&b);
	/* no index: as if the writer had been killed */
	save(name, file.data, file.len);
}

/* A tree: a number of the first node and of the first stack, then callers, frames, stacks. */
static void tree(uint64_t first, uint32_t nodes, uint32_t blocks_of_it, const char *name)
{
	const struct mz_pack_how how = {.codec = MZ_CODEC_PLANES};
	uint64_t *v = calloc(nodes, sizeof(*v));
	struct mz_buf b = {0};

	must(v, "no memory");
	begin();
	for (uint32_t i = 0; i < blocks_of_it; i++) {
		b.len = 0;
		mz_buf_number(&b, first + (uint64_t)i * nodes);
		mz_buf_number(&b, first + (uint64_t)i * nodes);
		/* the caller is the root: so many back */
		for (uint32_t k = 0; k < nodes; k++)
			v[k] = 0;
		v[0] = first - 1 + (uint64_t)i * nodes;
		for (uint32_t k = 1; k < nodes; k++)
			v[k] = k % 4000 ? 0 : v[0] + k;
		must(!mz_codec_column_pack(&pk, v, nodes, &how, &b), "no memory");
		for (uint32_t k = 0; k < nodes; k++)
			v[k] = 2;
		must(!mz_codec_column_pack(&pk, v, nodes, &how, &b), "no memory");
		must(!mz_codec_column_pack(&pk, v, nodes, &how, &b), "no memory");
		block(MZ_BLOCK_TREE, &b, NULL);
	}
	mz_buf_free(&b);
	free(v);
	end(name);
}

/* One column of a block of chains: n times the same number. */
static void put_same(struct mz_buf *b, uint64_t v, uint32_t n)
{
	mz_buf_number(b, n);
	if (!n)
		return;
	mz_buf_number(b, MZ_CODEC_SAME);
	mz_buf_number(b, v);
}

/* A number of its own, then the same one for all others. */
static void put_first(struct mz_buf *b, uint64_t first, uint64_t v, uint32_t n)
{
	const struct mz_pack_how how = {.codec = MZ_CODEC_PLANES};
	uint64_t *all = malloc(n * sizeof(*all));

	must(all, "no memory");
	all[0] = first;
	for (uint32_t i = 1; i < n; i++)
		all[i] = v;
	must(!mz_codec_column_pack(&pk, all, n, &how, b), "no memory");
	free(all);
}

/* Chains of 64 nodes, each as far up as may be from the one before. callee: of all nodes. */
static void chains(uint64_t callee, uint32_t count, uint32_t blocks_of_it, const char *name)
{
	const uint32_t nodes = 64 * count + 1;
	struct mz_buf b = {0};

	begin();
	for (uint32_t i = 0; i < blocks_of_it; i++) {
		b.len = 0;
		mz_buf_number(&b, 1 + (uint64_t)i * nodes);
		mz_buf_number(&b, 1 + (uint64_t)i * count);
		put_first(&b, 0, 64, count);
		put_first(&b, 64, 63, count);
		put_same(&b, (uint64_t)i * nodes, 1); /* the first caller is the outside */
		put_same(&b, callee, nodes);
		put_same(&b, 2, callee ? 0 : nodes);
		put_same(&b, 0, 0);
		put_same(&b, 0, count);
		block(MZ_BLOCK_CHAINS, &b, NULL);
	}
	mz_buf_free(&b);
	end(name);
}

/* Thousands of call sites, each in a stack as deep as may be. */
static void deep_stacks(const char *name)
{
	const struct mz_pack_how how = {.codec = MZ_CODEC_PLANES};
	uint64_t *own = malloc(3 * EVENTS * sizeof(*own)), *common = own + EVENTS,
		 *ips = common + EVENTS;
	struct mz_buf b = {0};
	/* time is linear in frames: enough of them to see that memory is not */
	uint32_t n = 4096;

	must(own, "no memory");
	begin();
	for (uint32_t i = 0; i < n; i++) {
		own[i] = i ? 1 : MZ_WIRE_MAX_DEPTH - 1;
		common[i] = i ? MZ_WIRE_MAX_DEPTH - 1 : 0;
	}
	for (uint32_t i = 0; i < EVENTS; i++)
		ips[i] = 2;
	/* each of the others differs from the one before in its innermost frame */
	for (uint32_t i = MZ_WIRE_MAX_DEPTH - 1, k = 1; i < EVENTS; i++)
		ips[i] = 2 * k++;
	mz_buf_number(&b, 1);
	mz_buf_number(&b, n - 1 + MZ_WIRE_MAX_DEPTH - 1);
	must(!mz_codec_column_pack(&pk, own, n, &how, &b), "no memory");
	must(!mz_codec_column_pack(&pk, common, n, &how, &b), "no memory");
	must(!mz_codec_column_pack(&pk, ips, n - 1 + MZ_WIRE_MAX_DEPTH - 1, &how, &b), "no memory");
	block(MZ_BLOCK_STACKS, &b, NULL);
	mz_buf_free(&b);
	free(own);
	end(name);
}

static void long_strings(uint32_t count, const char *name)
{
	struct mz_buf b = {0};
	const size_t len = 8u << 20;
	char *text = malloc(len);

	must(text, "no memory");
	memset(text, 'a', len);
	begin();
	for (uint32_t i = 1; i <= count; i++) {
		mz_buf_number(&b, i);
		mz_buf_number(&b, 1);
		mz_buf_number(&b, len);
		memcpy(text, &i, sizeof(i));
		mz_buf_add(&b, text, len);
		packed(MZ_BLOCK_STRINGS, &b);
	}
	mz_buf_free(&b);
	free(text);
	end(name);
}

/* ---- attributes ---------------------------------------------------------- */

static void many_attributes(uint32_t count, const char *name)
{
	struct mz_buf b = {0};

	begin();
	mz_buf_number(&b, count);
	for (uint32_t i = 0; i < count; i++) {
		const char key[3] = {(char)(1 + i % 250), (char)(1 + i / 250 % 250),
				     (char)(1 + i / 62500)};

		mz_buf_number(&b, sizeof(key));
		mz_buf_add(&b, key, sizeof(key));
		mz_buf_number(&b, MZ_ATTR_NUMBER);
		mz_buf_number(&b, 1);
	}
	packed(MZ_BLOCK_ATTRS, &b);
	mz_buf_free(&b);
	end(name);
}

static void large_attributes(uint32_t count, const char *prefix, const char *name)
{
	const size_t size = 15u << 20;
	char *data = calloc(1, size), key[32];
	struct mz_buf b = {0};

	must(data, "no memory");
	memset(data, '\n', size);
	begin();
	for (uint32_t i = 0; i < count; i++) {
		int len = snprintf(key, sizeof(key), "%s.%u", prefix, i);

		mz_buf_number(&b, 1);
		mz_buf_number(&b, (uint64_t)len);
		mz_buf_add(&b, key, (size_t)len);
		mz_buf_number(&b, MZ_ATTR_BYTES);
		mz_buf_number(&b, size);
		mz_buf_add(&b, data, size);
		packed(MZ_BLOCK_ATTRS, &b);
	}
	mz_buf_free(&b);
	free(data);
	end(name);
}

/* A chunk of three allocations; number 1 of the field's table is in all of them. */
static void three_blocks(struct shape *s, uint16_t field, unsigned column)
{
	s->info.events = s->info.births = 3;
	s->info.last_object = 3;
	s->info.fields = field;
	pattern(s, MZ_COL_HAS, field);
	pattern(s, column, 1);
	chunk(s);
}

/* What a terminal would take for orders, as key, text, string and mark. */
static void orders_to_the_terminal(const char *name)
{
	static const char *const texts[] = {"source",
					    "text",
					    "host",
					    "\x1b[31mred",
					    "command",
					    "\x9bH",
					    "\x1b]0;t\a",
					    ("\xe2\x80\xae"
					     "cba"),
					    "kernel",
					    "a\rb"};
	struct shape s = births(0, 0);
	struct mz_buf b = {0};

	begin();
	mz_buf_number(&b, 5);
	for (int i = 0; i < 10; i++) {
		mz_buf_number(&b, strlen(texts[i]));
		mz_buf_str(&b, texts[i]);
		if (!(i % 2))
			mz_buf_number(&b, MZ_ATTR_TEXT);
	}
	packed(MZ_BLOCK_ATTRS, &b);
	mz_buf_number(&b, 1);
	mz_buf_number(&b, 1);
	mz_buf_number(&b, 9);
	mz_buf_str(&b, "\x1b[2Jcache");
	packed(MZ_BLOCK_STRINGS, &b);
	mz_buf_free(&b);
	three_blocks(&s, MZ_HAS_CACHE, MZ_COL_CACHE);
	end(name);
}

/* A module that is whatever stands at ./module, and an event whose call site is in it. */
static void module_of(const char *name)
{
	static const char key[] = "module.0", text[] = "1000 1000 - ./module";
	const struct mz_pack_how how = {.codec = MZ_CODEC_PLANES};
	const uint64_t one = 1, none = 0, ip = mz_zigzag(0x1100);
	struct shape s = births(0, 0);
	struct mz_buf b = {0};

	begin();
	mz_buf_number(&b, 1);
	mz_buf_number(&b, strlen(key));
	mz_buf_str(&b, key);
	mz_buf_number(&b, MZ_ATTR_TEXT);
	mz_buf_number(&b, strlen(text));
	mz_buf_str(&b, text);
	packed(MZ_BLOCK_ATTRS, &b);
	mz_buf_number(&b, 1);
	mz_buf_number(&b, 1);
	must(!mz_codec_column_pack(&pk, &one, 1, &how, &b), "no memory");
	must(!mz_codec_column_pack(&pk, &none, 1, &how, &b), "no memory");
	must(!mz_codec_column_pack(&pk, &ip, 1, &how, &b), "no memory");
	block(MZ_BLOCK_STACKS, &b, NULL);
	mz_buf_free(&b);
	three_blocks(&s, MZ_HAS_SITE, MZ_COL_SITE);
	end(name);
}

/* ---- the index ----------------------------------------------------------- */

/* A block that says nothing takes three bytes here, and next to none when packed. */
static void long_index(uint32_t count, const char *name)
{
	struct mz_buf b = {0}, out = {0};

	begin();
	mz_buf_number(&b, 0);
	mz_buf_number(&b, 0);
	mz_buf_number(&b, count);
	for (uint32_t i = 0; i < count; i++)
		mz_buf_add(&b, "\x80\x01\0\0", 4);
	must(!b.failed && !mz_bytes_pack(&pk, b.data, b.len, &out), "no memory");
	end_with(&out);
	mz_buf_free(&b);
	mz_buf_free(&out);
	save(name, file.data, file.len);
}

static void text(const char *name, const char *line)
{
	save(name, line, strlen(line));
}

/* Comments, more than anybody wants to wait for, in a hundred kilobytes. */
static void packed_text(size_t mebibytes, const char *name)
{
	const size_t line = 1u << 20, room = ZSTD_CStreamOutSize();
	char *in = malloc(line), *out = malloc(room);
	ZSTD_CStream *z = ZSTD_createCStream();
	FILE *f = fopen(name, "wb");
	size_t left = 1;

	must(in && out && z && f, name);
	memset(in, '#', line);
	for (size_t i = 63; i < line; i += 64)
		in[i] = '\n';
	ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, 1);
	ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, 24);
	for (size_t i = 0; i <= mebibytes; i++) {
		ZSTD_inBuffer from = {in, i < mebibytes ? line : 0, 0};

		while (from.pos < from.size || (i == mebibytes && left)) {
			ZSTD_outBuffer to = {out, room, 0};

			left = ZSTD_compressStream2(z, &to, &from,
						    i < mebibytes ? ZSTD_e_continue : ZSTD_e_end);
			must(!ZSTD_isError(left) && fwrite(out, 1, to.pos, f) == to.pos, name);
		}
	}
	must(!fclose(f), name);
	ZSTD_freeCStream(z);
	free(in);
	free(out);
}

int main(int argc, char **argv)
{
	must(argc == 2 && !chdir(argv[1]), "usage: hostile_containers DIR");
	lost_table(MZ_BLOCK_STRINGS, "lost-strings.cmt");
	lost_table(MZ_BLOCK_STACKS, "lost-stacks.cmt");
	tree(1u << 26, 1, 1, "lost-tree.cmt");
	tree(1, 1u << 20, 8, "wide-tree.cmt");
	chains(0, 1u << 14, 8, "wide-chains.cmt");
	chains(2, 1u << 14, 1, "wild-chains.cmt");
	deep_stacks("deep-stacks.cmt");
	long_strings(300, "long-strings.cmt");
	many_attributes(1000000, "many-attributes.cmt");
	large_attributes(150, "note", "large-attributes.cmt");
	large_attributes(40, "names", "large-names.cmt");
	long_index(16u << 20, "long-index.cmt");
	chunks(120, false, NULL, "births.cmt");
	chunks(8, false, NULL, "some-births.cmt");
	chunks(60, true, overlapping, "streams.cmt");
	chunks(20000, true, tiny, "lanes.cmt");
	chunks(4, false, guests, "guests.cmt");
	wild_numbers("wild-numbers.cmt");
	large_numbers("large-numbers.cmt");
	huge_blocks("huge-blocks.cmt");
	orders_to_the_terminal("terminal.cmt");
	module_of("module.cmt");
	packed_text(2048, "packed.txt.zst");
	text("huge.txt", "malloc(20000000000) = 1000\nfree(1000)\n");
	mz_packer_deinit(&pk);
	mz_index_deinit(&blocks);
	mz_buf_free(&file);
	return 0;
}
