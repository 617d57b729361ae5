// SPDX-License-Identifier: BSD-2-Clause
/* Pack columns of numbers: choose a codec, then apply zstd or context mixing. */
#include "trace/codec.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "trace/codec_cm.h"

/* ---- arrays ------------------------------------------------------------- */

bool mz_codec_column_room(struct mz_codec_column *c, uint32_t n)
{
	uint32_t cap = c->cap ? c->cap : 64;
	uint64_t *v;

	if (c->failed)
		return false;
	while (cap - c->n < n)
		cap *= 2;
	if (cap == c->cap)
		return true;
	v = realloc(c->v, cap * sizeof(*v));
	if (!v) {
		c->failed = true;
		return false;
	}
	c->v = v;
	c->cap = cap;
	return true;
}

void mz_codec_column_free(struct mz_codec_column *c)
{
	free(c->v);
	*c = (struct mz_codec_column){0};
}

/* ---- bytes -------------------------------------------------------------- */

#define MIX_WORTH   32	 /* numbers: a reader takes some ten microseconds for them */
#define TRY_LEVEL   1	 /* at this level of zstd, columns are tried only in part */
#define TRY_NUMBERS 8192 /* numbers of a column that are tried */

void mz_packer_mix_all(struct mz_packer *pk)
{
	pk->mix_upto = pk->mix_worth = UINT32_MAX;
}

void mz_packer_mix_short(struct mz_packer *pk, uint32_t upto)
{
	pk->mix_upto = upto;
	pk->mix_worth = MIX_WORTH;
}

void mz_packer_deinit(struct mz_packer *pk)
{
	if (pk->level)
		ZSTD_freeCCtx(pk->zstd);
	else
		ZSTD_freeDCtx(pk->zstd);
	mz_buf_free(&pk->a);
	mz_buf_free(&pk->b);
	mz_buf_free(&pk->packed);
	mz_codec_cm_free(pk->cm);
	*pk = (struct mz_packer){0};
}

/* Every zstd frame begins with these four bytes. A container leaves them out: a chunk has many
 * small frames, and nothing else can be there. */
static const uint8_t zstd_magic[4] = {0x28, 0xb5, 0x2f, 0xfd};

/* Compressed into pk->packed; the length with the magic number, 0 or an error of zstd's. */
static size_t compress(struct mz_packer *pk, const void *data, size_t n)
{
	ZSTD_CCtx *z = pk->zstd;

	if (!z) {
		z = pk->zstd = ZSTD_createCCtx();
		if (!z)
			return 0;
		ZSTD_CCtx_setParameter(z, ZSTD_c_contentSizeFlag, 0);
	}
	if (pk->has != pk->level) {
		ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, pk->level);
		pk->has = pk->level;
	}
	pk->packed.len = 0;
	if (!mz_buf_room(&pk->packed, ZSTD_compressBound(n)))
		return 0;
	return ZSTD_compress2(z, pk->packed.data, pk->packed.cap, data, n);
}

/* length, packed length (0: stored as it is), bytes */
int mz_bytes_pack(struct mz_packer *pk, const void *data, size_t n, struct mz_buf *out)
{
	const size_t magic = sizeof(zstd_magic);
	size_t packed = n > 16 ? compress(pk, data, n) : n + magic;

	/* there is room for any result, so that only memory can have been short */
	if (packed < magic || ZSTD_isError(packed))
		return -ENOMEM;
	packed -= magic;
	mz_buf_number(out, n);
	if (!n)
		return out->failed ? -ENOMEM : 0;
	if (packed + 1 >= n) {
		mz_buf_number(out, 0);
		mz_buf_add(out, data, n);
	} else {
		mz_buf_number(out, packed);
		mz_buf_add(out, pk->packed.data + magic, packed);
	}
	return out->failed ? -ENOMEM : 0;
}

/* The length of what was decompressed to `to`, at most n; -errno. */
static ssize_t decompress(struct mz_packer *pk, const uint8_t *data, size_t packed, char *to,
			  size_t n)
{
	size_t got;

	if (!pk->zstd)
		pk->zstd = ZSTD_createDCtx();
	pk->packed.len = 0;
	mz_buf_add(&pk->packed, zstd_magic, sizeof(zstd_magic));
	mz_buf_add(&pk->packed, data, packed);
	if (!pk->zstd || pk->packed.failed)
		return -ENOMEM;
	got = ZSTD_decompressDCtx(pk->zstd, to, n, pk->packed.data, pk->packed.len);
	return ZSTD_isError(got) ? -EBADMSG : (ssize_t)got;
}

/* max bounds what is allocated; the unpacked size must then match exactly. */
int mz_bytes_unpack(struct mz_packer *pk, struct mz_bytes *in, size_t max, struct mz_buf *out)
{
	size_t n = mz_bytes_upto(in, max), packed;
	const uint8_t *data;
	ssize_t got;

	if (in->bad || !n)
		return in->bad ? -EBADMSG : 0;
	packed = mz_bytes_upto(in, MZ_WIRE_MAX_PAYLOAD);
	data = mz_bytes_take(in, packed ? packed : n);
	if (!data)
		return -EBADMSG;
	if (!mz_buf_room(out, n))
		return -ENOMEM;
	if (!packed) {
		mz_buf_add(out, data, n);
		return 0;
	}
	got = decompress(pk, data, packed, out->data + out->len, n);
	if (got < 0 || (size_t)got != n)
		return got < 0 ? (int)got : -EBADMSG;
	out->len += n;
	return 0;
}

/* ---- codecs ------------------------------------------------------------- */

static int pack_planes(struct mz_packer *pk, const uint64_t *v, uint32_t n, struct mz_buf *out)
{
	char *head;
	int ret;

	pk->a.len = pk->b.len = 0;
	if (!mz_buf_room(&pk->a, n))
		return -ENOMEM;
	head = pk->a.data;
	for (uint32_t i = 0; i < n; i++) {
		head[i] = (char)(v[i] > 0x7f ? v[i] | 0x80 : v[i]);
		if (v[i] > 0x7f)
			mz_buf_number(&pk->b, v[i] >> 7);
	}
	if (pk->b.failed)
		return -ENOMEM;
	ret = mz_bytes_pack(pk, head, n, out);
	return ret < 0 ? ret : mz_bytes_pack(pk, pk->b.data, pk->b.len, out);
}

static int unpack_planes(struct mz_packer *pk, struct mz_bytes *in, uint32_t n, uint64_t *v)
{
	struct mz_bytes rest;
	const uint8_t *head;
	int ret;

	pk->a.len = pk->b.len = 0;
	ret = mz_bytes_unpack(pk, in, n, &pk->a);
	if (!ret)
		ret = mz_bytes_unpack(pk, in, 10 * (size_t)n, &pk->b);
	if (ret < 0)
		return ret;
	if (pk->a.len != n)
		return -EBADMSG;
	head = (const uint8_t *)pk->a.data;
	rest = mz_bytes_of(&pk->b);
	for (uint32_t i = 0; i < n; i++) {
		v[i] = head[i] & 0x7f;
		if (head[i] & 0x80)
			v[i] |= mz_bytes_number(&rest) << 7;
	}
	return rest.bad || rest.p != rest.end ? -EBADMSG : 0;
}

/* 0..15 as they are; above, the magnitude and the two bits below the highest. */
static inline unsigned log_class(uint64_t v, unsigned *low)
{
	unsigned top;

	*low = 0;
	if (v < 16)
		return (unsigned)v;
	top = 63 - (unsigned)__builtin_clzll(v);
	*low = top - 2;
	return 16 + (top - 4) * 4 + (unsigned)(v >> (top - 2) & 3);
}

/* Bits on their way to a buffer, which has room for them: the first are the lowest. */
struct bits {
	char *to;
	uint64_t acc;
	unsigned used; /* less than 32 */
};

/* At most 32 of them. */
static inline void put_bits(struct bits *b, uint64_t v, unsigned n)
{
	uint32_t word;

	b->acc |= (v & ((1ull << n) - 1)) << b->used;
	b->used += n;
	if (b->used < 32)
		return;
	word = (uint32_t)b->acc;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap32(word);
#endif
	memcpy(b->to, &word, sizeof(word));
	b->to += sizeof(word);
	b->acc >>= 32;
	b->used -= 32;
}

static char *end_bits(struct bits *b)
{
	for (unsigned done = 0; done < b->used; done += 8)
		*b->to++ = (char)(b->acc >> done);
	return b->to;
}

/* The class of a number is predictable and its low bits are noise: only the classes are
 * compressed with success, so the bits are kept apart. */
static int pack_log(struct mz_packer *pk, const uint64_t *v, uint32_t n, struct mz_buf *out)
{
	struct bits bits = {0};
	int ret;

	pk->a.len = pk->b.len = 0;
	if (!mz_buf_room(&pk->a, n) || !mz_buf_room(&pk->b, (size_t)n * 8 + 16))
		return -ENOMEM;
	bits.to = pk->b.data;
	for (uint32_t i = 0; i < n; i++) {
		unsigned low, class = log_class(v[i], &low);

		pk->a.data[i] = (char)class;
		if (low > 32) {
			put_bits(&bits, v[i], 32);
			put_bits(&bits, v[i] >> 32, low - 32);
		} else {
			put_bits(&bits, v[i], low);
		}
	}
	pk->b.len = (size_t)(end_bits(&bits) - pk->b.data);
	ret = mz_bytes_pack(pk, pk->a.data, n, out);
	return ret < 0 ? ret : mz_bytes_pack(pk, pk->b.data, pk->b.len, out);
}

/* Eight bytes of which the first is the lowest. */
static inline uint64_t load_low_first(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return v;
}

/* The room behind the bits lets eight bytes be loaded at any position without a check. */
static int unpack_log(struct mz_packer *pk, struct mz_bytes *in, uint32_t n, uint64_t *v)
{
	const uint8_t *class, *bits;
	uint64_t pos = 0, end;
	int ret;

	pk->a.len = pk->b.len = 0;
	ret = mz_bytes_unpack(pk, in, n, &pk->a);
	if (!ret)
		ret = mz_bytes_unpack(pk, in, (size_t)n * 8 + 16, &pk->b);
	if (ret < 0)
		return ret;
	if (pk->a.len != n)
		return -EBADMSG;
	end = (uint64_t)pk->b.len * 8;
	/* what is read past the end is not used */
	if (!mz_buf_room(&pk->b, 16))
		return -ENOMEM;
	memset(pk->b.data + pk->b.len, 0, 16);
	class = (const uint8_t *)pk->a.data;
	bits = (const uint8_t *)pk->b.data;
	for (uint32_t i = 0; i < n; i++) {
		unsigned c = class[i], low, first;

		v[i] = c;
		if (c < 16)
			continue;
		low = (c - 16) / 4 + 2;
		if (low > end - pos)
			return -EBADMSG;
		/* at least 57 bits are there; few numbers have more */
		first = low < 57 ? low : 57;
		v[i] = (uint64_t)(4 + (c & 3)) << low |
		       (load_low_first(bits + (pos >> 3)) >> (pos & 7) & ((1ull << first) - 1));
		pos += first;
		if (low > first) {
			v[i] |= (load_low_first(bits + (pos >> 3)) >> (pos & 7) &
				 ((1ull << (low - first)) - 1))
				<< first;
			pos += low - first;
		}
	}
	return (pos + 7) / 8 * 8 == end ? 0 : -EBADMSG;
}

/* How many numbers of up to max take one byte, when the rest take two. */
static unsigned one_byte(uint64_t max)
{
	return max < 256 ? 256 : 256 - (unsigned)((max - 1) / 255);
}

/* Tokens below the limit take one byte and the rest two, with the limit chosen so that the
 * largest token fits. */
static int pack_split(struct mz_packer *pk, const uint64_t *v, uint32_t n, struct mz_buf *out)
{
	uint64_t max = 0;
	unsigned ones;
	int ret;

	for (uint32_t i = 0; i < n; i++)
		max = v[i] > max ? v[i] : max;
	ones = one_byte(max);
	pk->a.len = pk->b.len = 0;
	if (!mz_buf_room(&pk->a, n) || !mz_buf_room(&pk->b, n))
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t over = v[i] - ones;

		pk->a.data[i] = (char)(v[i] < ones ? v[i] : ones + (over >> 8));
		if (v[i] >= ones)
			pk->b.data[pk->b.len++] = (char)over;
	}
	mz_buf_number(out, ones);
	ret = mz_bytes_pack(pk, pk->a.data, n, out);
	return ret < 0 ? ret : mz_bytes_pack(pk, pk->b.data, pk->b.len, out);
}

static int unpack_split(struct mz_packer *pk, struct mz_bytes *in, uint32_t n, uint64_t *v)
{
	unsigned ones = (unsigned)mz_bytes_upto(in, 256);
	const uint8_t *a, *b, *end;
	int ret;

	pk->a.len = pk->b.len = 0;
	ret = mz_bytes_unpack(pk, in, n, &pk->a);
	if (!ret)
		ret = mz_bytes_unpack(pk, in, n, &pk->b);
	if (ret < 0)
		return ret;
	if (pk->a.len != n)
		return -EBADMSG;
	a = (const uint8_t *)pk->a.data;
	b = (const uint8_t *)pk->b.data;
	end = b ? b + pk->b.len : NULL;
	for (uint32_t i = 0; i < n; i++) {
		v[i] = a[i];
		if (a[i] < ones)
			continue;
		if (b == end)
			return -EBADMSG;
		v[i] = ones + (uint64_t)(a[i] - ones) * 256 + *b++;
	}
	return b == end ? 0 : -EBADMSG;
}

/* Sequences of large numbers that repeat are found only where equal numbers are equal bytes,
 * which the bits of LOG are not. */
static int pack_bytes(struct mz_packer *pk, const uint64_t *v, uint32_t n, struct mz_buf *out)
{
	uint64_t any = 0;
	unsigned planes;
	int ret = 0;

	for (uint32_t i = 0; i < n; i++)
		any |= v[i];
	planes = any ? (71 - (unsigned)__builtin_clzll(any)) / 8 : 1;
	pk->a.len = 0;
	if (!mz_buf_room(&pk->a, n))
		return -ENOMEM;
	mz_buf_number(out, planes);
	for (unsigned k = 0; k < planes && !ret; k++) {
		for (uint32_t i = 0; i < n; i++)
			pk->a.data[i] = (char)(v[i] >> 8 * k);
		ret = mz_bytes_pack(pk, pk->a.data, n, out);
	}
	return ret;
}

static int unpack_bytes(struct mz_packer *pk, struct mz_bytes *in, uint32_t n, uint64_t *v)
{
	unsigned planes = (unsigned)mz_bytes_upto(in, 8);

	if (!planes)
		return -EBADMSG;
	memset(v, 0, n * sizeof(*v));
	for (unsigned k = 0; k < planes; k++) {
		int ret;

		pk->a.len = 0;
		ret = mz_bytes_unpack(pk, in, n, &pk->a);
		if (ret < 0 || pk->a.len != n)
			return ret < 0 ? ret : -EBADMSG;
		for (uint32_t i = 0; i < n; i++)
			v[i] |= (uint64_t)(uint8_t)pk->a.data[i] << 8 * k;
	}
	return 0;
}

/* ---- columns of zeros --------------------------------------------------- */

#define SPARSE_FROM 16 /* numbers to one that is not 0 */

static bool is_sparse(const uint64_t *v, uint32_t n)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < n; i++)
		used += v[i] != 0;
	return used <= n / SPARSE_FROM;
}

static int pack_plain(struct mz_packer *pk, const uint64_t *v, uint32_t n, enum mz_codec codec,
		      struct mz_buf *out);

/* What all numbers are multiples of is taken out: times have a resolution. */
static int pack_sparse(struct mz_packer *pk, const uint64_t *v, uint32_t n, struct mz_buf *out)
{
	struct mz_codec_column gaps = {0}, values = {0};
	uint64_t any = 0;
	unsigned shift;
	uint32_t from = 0;
	int ret;

	for (uint32_t i = 0; i < n; i++)
		any |= v[i];
	shift = any ? (unsigned)__builtin_ctzll(any) : 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!v[i])
			continue;
		mz_codec_column_add(&gaps, i - from);
		mz_codec_column_add(&values, v[i] >> shift);
		from = i + 1;
	}
	mz_buf_number(out, shift);
	ret = gaps.failed || values.failed ? -ENOMEM : 0;
	if (!ret)
		ret = pack_plain(pk, gaps.v, gaps.n, MZ_CODEC_PLANES, out);
	if (!ret)
		ret = pack_plain(pk, values.v, values.n, MZ_CODEC_LOG, out);
	mz_codec_column_free(&gaps);
	mz_codec_column_free(&values);
	return ret;
}

static int spread(const struct mz_codec_column *gaps, const struct mz_codec_column *values,
		  unsigned shift, uint32_t n, uint64_t *v)
{
	uint32_t at = 0;

	if (gaps->n != values->n)
		return -EBADMSG;
	memset(v, 0, n * sizeof(*v));
	for (uint32_t i = 0; i < gaps->n; i++) {
		if (gaps->v[i] >= n - at)
			return -EBADMSG;
		at += (uint32_t)gaps->v[i];
		v[at++] = values->v[i] << shift;
	}
	return 0;
}

static int unpack_plain(struct mz_packer *pk, struct mz_bytes *in, uint32_t max,
			struct mz_codec_column *c);

static int unpack_sparse(struct mz_packer *pk, struct mz_bytes *in, uint32_t n, uint64_t *v)
{
	unsigned shift = (unsigned)mz_bytes_upto(in, 63);
	struct mz_codec_column gaps = {0}, values = {0};
	int ret = unpack_plain(pk, in, n, &gaps);

	if (!ret)
		ret = unpack_plain(pk, in, n, &values);
	if (!ret)
		ret = spread(&gaps, &values, shift, n, v);
	mz_codec_column_free(&gaps);
	mz_codec_column_free(&values);
	return ret;
}

/* ---- columns ------------------------------------------------------------ */

static bool all_same(const uint64_t *v, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (v[i] != v[0])
			return false;
	return true;
}

static struct mz_codec_cm *mixer(struct mz_packer *pk)
{
	if (!pk->cm)
		pk->cm = mz_codec_cm_new();
	return pk->cm;
}

static int pack_mixed(struct mz_packer *pk, const uint64_t *v, uint32_t n,
		      const struct mz_pack_how *how, struct mz_buf *out)
{
	int ret;

	pk->a.len = 0;
	if (!mixer(pk))
		return -ENOMEM;
	ret = mz_codec_cm_encode(pk->cm, v, n, how->words, how->context, &pk->a);
	if (ret < 0)
		return ret;
	mz_buf_number(out, pk->a.len);
	mz_buf_add(out, pk->a.data, pk->a.len);
	return 0;
}

static int pack_as(struct mz_packer *pk, enum mz_codec codec, const uint64_t *v, uint32_t n,
		   const struct mz_pack_how *how, struct mz_buf *out)
{
	int ret = 0;

	mz_buf_number(out, codec);
	switch (codec) {
	case MZ_CODEC_SAME: mz_buf_number(out, v[0]); break;
	case MZ_CODEC_PLANES: ret = pack_planes(pk, v, n, out); break;
	case MZ_CODEC_LOG: ret = pack_log(pk, v, n, out); break;
	case MZ_CODEC_SPLIT: ret = pack_split(pk, v, n, out); break;
	case MZ_CODEC_MIXED: ret = pack_mixed(pk, v, n, how, out); break;
	case MZ_CODEC_BYTES: ret = pack_bytes(pk, v, n, out); break;
	case MZ_CODEC_SPARSE: ret = pack_sparse(pk, v, n, out); break;
	}
	return ret < 0 ? ret : out->failed ? -ENOMEM : 0;
}

/* A column inside another one: PLANES or LOG, or SAME. */
static int pack_plain(struct mz_packer *pk, const uint64_t *v, uint32_t n, enum mz_codec codec,
		      struct mz_buf *out)
{
	mz_buf_number(out, n);
	if (!n)
		return out->failed ? -ENOMEM : 0;
	return pack_as(pk, all_same(v, n) ? MZ_CODEC_SAME : codec, v, n, NULL, out);
}

/* Packs the column with another codec as well. The result replaces the bytes from start on if it
 * saves more than `least` bytes. */
static int pack_also(struct mz_packer *pk, enum mz_codec codec, const uint64_t *v, uint32_t n,
		     const struct mz_pack_how *how, size_t start, size_t least, struct mz_buf *out)
{
	size_t middle = out->len, end;
	int ret;

	if (middle - start <= least)
		return 0;
	ret = pack_as(pk, codec, v, n, how, out);
	if (ret < 0)
		return ret;
	end = out->len;
	if (end - middle + least < middle - start) {
		memmove(out->data + start, out->data + middle, end - middle);
		middle = start + (end - middle);
	}
	out->len = middle;
	return 0;
}

/* Might BYTES save something? If time matters, only a part of the column is tried, because each
 * codec takes as long as the other. 1, 0 or -ENOMEM. */
static int bytes_may_save(struct mz_packer *pk, const uint64_t *v, uint32_t n,
			  const struct mz_pack_how *how, struct mz_buf *out)
{
	size_t start = out->len, middle, end;
	int ret;

	if (pk->level > TRY_LEVEL || n < 4 * TRY_NUMBERS)
		return 1;
	v += n / 2;
	ret = pack_as(pk, how->codec, v, TRY_NUMBERS, how, out);
	middle = out->len;
	if (!ret)
		ret = pack_as(pk, MZ_CODEC_BYTES, v, TRY_NUMBERS, how, out);
	end = out->len;
	out->len = start;
	return ret < 0 ? ret : end - middle < middle - start;
}

/* Context mixing is nearly always smaller, but not for noise; and it takes a thousand instructions
 * for a number, both ways. */
int mz_codec_column_pack(struct mz_packer *pk, const uint64_t *v, uint32_t n,
			 const struct mz_pack_how *how, struct mz_buf *out)
{
	size_t start;
	int ret;

	mz_buf_number(out, n);
	if (!n)
		return out->failed ? -ENOMEM : 0;
	if (all_same(v, n))
		return pack_as(pk, MZ_CODEC_SAME, v, n, how, out);
	start = out->len;
	ret = pack_as(pk, how->sparse && is_sparse(v, n) ? MZ_CODEC_SPARSE : how->codec, v, n, how,
		      out);
	if (!ret && how->repeats)
		ret = bytes_may_save(pk, v, n, how, out);
	if (ret > 0)
		ret = pack_also(pk, MZ_CODEC_BYTES, v, n, how, start, 0, out);
	if (!ret && n <= pk->mix_upto)
		ret = pack_also(pk, MZ_CODEC_MIXED, v, n, how, start, n / pk->mix_worth, out);
	return ret;
}

static int unpack_mixed(struct mz_packer *pk, struct mz_bytes *in, uint32_t n, bool words,
			const uint16_t *context, uint64_t *v)
{
	size_t len = mz_bytes_upto(in, MZ_WIRE_MAX_PAYLOAD);
	const uint8_t *data = mz_bytes_take(in, len);

	if (!data)
		return -EBADMSG;
	if (!mixer(pk))
		return -ENOMEM;
	return mz_codec_cm_decode(pk->cm, data, len, v, n, words, context);
}

/* The codecs that need nothing but the bytes. */
static int unpack_as(struct mz_packer *pk, uint64_t codec, struct mz_bytes *in, uint32_t n,
		     uint64_t *v)
{
	switch (codec) {
	case MZ_CODEC_SAME: {
		uint64_t same = mz_bytes_number(in);

		for (uint32_t i = 0; i < n; i++)
			v[i] = same;
		return in->bad ? -EBADMSG : 0;
	}
	case MZ_CODEC_PLANES: return unpack_planes(pk, in, n, v);
	case MZ_CODEC_LOG: return unpack_log(pk, in, n, v);
	case MZ_CODEC_SPLIT: return unpack_split(pk, in, n, v);
	case MZ_CODEC_BYTES: return unpack_bytes(pk, in, n, v);
	}
	return -EBADMSG;
}

/* The count, the codec, and room for the numbers. */
static int start_column(struct mz_bytes *in, uint32_t max, struct mz_codec_column *c,
			uint64_t *codec)
{
	uint32_t n = (uint32_t)mz_bytes_upto(in, max);

	c->n = 0;
	if (in->bad || !n)
		return in->bad ? -EBADMSG : 0;
	*codec = mz_bytes_number(in);
	if (!mz_codec_column_room(c, n))
		return -ENOMEM;
	c->n = n;
	return 0;
}

/* A column inside another one. */
static int unpack_plain(struct mz_packer *pk, struct mz_bytes *in, uint32_t max,
			struct mz_codec_column *c)
{
	uint64_t codec = 0;
	int ret = start_column(in, max, c, &codec);

	return ret < 0 || !c->n ? ret : unpack_as(pk, codec, in, c->n, c->v);
}

int mz_codec_column_unpack(struct mz_packer *pk, struct mz_bytes *in, uint32_t max, bool words,
			   const uint16_t *context, uint32_t n_context, struct mz_codec_column *c)
{
	uint64_t codec = 0;
	int ret = start_column(in, max, c, &codec);

	if (ret < 0 || !c->n)
		return ret;
	if (codec == MZ_CODEC_SPARSE)
		return unpack_sparse(pk, in, c->n, c->v);
	if (codec != MZ_CODEC_MIXED)
		return unpack_as(pk, codec, in, c->n, c->v);
	if (context && c->n > n_context)
		return -EBADMSG;
	return unpack_mixed(pk, in, c->n, words, context, c->v);
}
