// SPDX-License-Identifier: BSD-2-Clause
/* Pack columns by context mixing. */
/*
 * Numbers are coded bit by bit. Counters in several contexts predict each bit, and so does the
 * longest repeat in a sequence of words; a mixer weighs the predictions, and a binary arithmetic
 * coder spends accordingly. docs/format.md has every constant: two programs must agree on all of
 * them.
 */
#include "trace/codec_cm.h"

#include <errno.h>
#include <stdlib.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/hash.h"

#define CONTEXTS     6
#define INPUTS	     16 /* two of each context, one of the repeat, and zeros */
#define REPEAT	     (2 * CONTEXTS)
#define SETS	     (MATCH_STATES * NODE_CLASSES)
#define MATCH_STATES 24
#define NODE_CLASSES 32
#define MIN_BITS     6
#define MAX_BITS     15
#define WORD_BITS    12 /* below the highest one that are modelled; the rest are as they are */
#define SIZE_BITS    6	/* the same, of quantities */
#define NODES	     7
#define MATCH_MIN    3
#define LONG	     4 /* from this length on, the word of a repeat is tried first */
#define MATCH_MAX    400
#define MATCH_BITS   16
#define LIMIT	     30	  /* of a counter */
#define SPAN	     3071 /* of the mixer's answer: 12 * 256 */
#define PAST	     3	  /* zeros that the decoder reads behind the end */

/* Inlined, so that each of the four variants is compiled on its own. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

/* 65536 / (1 + e^-x) for x = -12, -11.5, ... 12 */
static const uint16_t logistic[] = {
	1,     1,     1,     2,	    3,	   5,	  8,	 13,	22,    36,    60,    98,    162,
	267,   439,   720,   1179,  1921,  3108,  4971,	 7812,	11955, 17625, 24743, 32768, 40793,
	47911, 53581, 57724, 60565, 62428, 63615, 64357, 64816, 65097, 65269, 65374, 65438, 65476,
	65500, 65514, 65523, 65528, 65531, 65533, 65534, 65535, 65535, 65535,
};

/* Which context it is of, and its nodes: three bits' worth. A counter has the
 * probability of a one in the upper 22 bits and how often it was met below. */
struct bucket {
	uint32_t check;
	uint32_t node[NODES];
};

struct mz_codec_cm {
	void *memory;
	struct bucket *buckets; /* CONTEXTS tables, one after the other */
	unsigned bits;		/* of the size of a table */
	unsigned cap_bits;
	int16_t stretch[4096]; /* times 8 */
	uint32_t rate[LIMIT + 1];
	int16_t weights[SETS][INPUTS] __attribute__((aligned(16))); /* 8192 is 1 */
	uint32_t match_p[MATCH_STATES];
	uint32_t *match; /* hash -> position */
	uint64_t *last;	 /* by context: the number before */

	/* the coder */
	uint32_t low, high, code;
	const uint8_t *in, *end;
	unsigned past; /* bytes that were read beyond the end */
	struct mz_buf *out;

	/* the number at hand */
	uint64_t hash[CONTEXTS];
	struct bucket *at[CONTEXTS];
	unsigned match_state;
	bool follows; /* the bits so far are the predicted ones */
};

/* ---- tables ------------------------------------------------------------- */

/* x in 1/256 -> probability in 1/65536 */
static inline uint32_t squash(int32_t x)
{
	uint32_t i, f;

	x = x > SPAN ? SPAN : x < -SPAN ? -SPAN : x;
	i = (uint32_t)(x + 3072) >> 7;
	f = (uint32_t)(x + 3072) & 127;
	return (logistic[i] * (128 - f) + logistic[i + 1] * f + 64) >> 7;
}

struct mz_codec_cm *mz_codec_cm_new(void)
{
	struct mz_codec_cm *cm = malloc(sizeof(*cm));
	int32_t x = -2047;

	if (!cm)
		return NULL;
	memset(cm, 0, sizeof(*cm));
	for (uint32_t p = 0; p < 4096; p++) {
		while (x < 2047 && squash(x) < p * 16 + 8)
			x++;
		cm->stretch[p] = (int16_t)(8 * x);
	}
	for (uint32_t n = 0; n <= LIMIT; n++)
		cm->rate[n] = 65536 / (2 * n + 3);
	cm->match = malloc(sizeof(*cm->match) << MATCH_BITS);
	cm->last = malloc(65536 * sizeof(*cm->last));
	if (!cm->match || !cm->last) {
		mz_codec_cm_free(cm);
		return NULL;
	}
	return cm;
}

void mz_codec_cm_free(struct mz_codec_cm *cm)
{
	if (!cm)
		return;
	free(cm->memory);
	free(cm->match);
	free(cm->last);
	free(cm);
}

static int reset(struct mz_codec_cm *cm, uint32_t n, bool words, const uint16_t *context)
{
	size_t count;

	cm->bits = MIN_BITS;
	while (cm->bits < MAX_BITS && (1u << cm->bits) < 2 * n)
		cm->bits++;
	count = (size_t)CONTEXTS << cm->bits;
	if (cm->bits > cm->cap_bits) {
		free(cm->memory);
		cm->memory = malloc(count * sizeof(*cm->buckets) + 64);
		cm->cap_bits = cm->memory ? cm->bits : 0;
		if (!cm->memory)
			return -ENOMEM;
		/* so that a bucket is in one cache line */
		cm->buckets = (void *)(((uintptr_t)cm->memory + 63) & ~(uintptr_t)63);
	}
	memset(cm->buckets, 0, count * sizeof(*cm->buckets));
	for (int s = 0; s < SETS; s++)
		for (int i = 0; i < INPUTS; i++)
			cm->weights[s][i] = i < REPEAT ? 1638 : i == REPEAT ? 2458 : 0;
	for (int i = 0; i < MATCH_STATES; i++)
		cm->match_p[i] = 1u << 31;
	if (words)
		memset(cm->match, 0, sizeof(*cm->match) << MATCH_BITS);
	for (uint32_t i = 0; context && !words && i < n; i++)
		cm->last[context[i]] = 0;
	cm->low = 0;
	cm->high = UINT32_MAX;
	cm->past = 0;
	return 0;
}

/* ---- the arithmetic coder ----------------------------------------------- */

static inline uint8_t next_byte(struct mz_codec_cm *cm)
{
	if (cm->in < cm->end)
		return *cm->in++;
	cm->past++;
	return 0;
}

/* p: of a one, in 1/65536. Codes bit, or finds it. */
static inline unsigned code_bit(struct mz_codec_cm *cm, bool encode, unsigned bit, uint32_t p)
{
	uint32_t mid = cm->low + (uint32_t)((uint64_t)(cm->high - cm->low) * p >> 16);

	if (!encode)
		bit = cm->code <= mid;
	if (bit)
		cm->high = mid;
	else
		cm->low = mid + 1;
	while (!((cm->low ^ cm->high) & 0xff000000)) {
		if (encode) {
			uint8_t byte = (uint8_t)(cm->high >> 24);

			mz_buf_add(cm->out, &byte, 1);
		} else {
			cm->code = cm->code << 8 | next_byte(cm);
		}
		cm->low <<= 8;
		cm->high = cm->high << 8 | 0xff;
	}
	return bit;
}

/* ---- one bit ------------------------------------------------------------ */

static inline void choose_buckets(struct mz_codec_cm *cm, uint64_t stage)
{
	uint32_t check[CONTEXTS];

	for (int i = 0; i < CONTEXTS; i++) {
		uint64_t h = (cm->hash[i] ^ stage * 0xd6e8feb86659fd93u) * MZ_HASH_GOLDEN;

		cm->at[i] = cm->buckets + ((size_t)i << cm->bits) + (h >> (64 - cm->bits));
		__builtin_prefetch(cm->at[i], 1);
		check[i] = (uint32_t)h | 1;
	}
	for (int i = 0; i < CONTEXTS; i++) {
		struct bucket *b = cm->at[i];

		if (b->check == check[i])
			continue;
		b->check = check[i];
		for (int k = 0; k < NODES; k++)
			b->node[k] = 1u << 31;
	}
}

static inline void counter_update(const struct mz_codec_cm *cm, uint32_t *counter, unsigned bit)
{
	uint32_t n = *counter & 1023;
	uint32_t p = *counter >> 10, r = cm->rate[n];

	/* rounded so that the value never leaves its 22 bits */
	p = bit ? p + (((4194303 - p) >> 6) * r >> 9) : p - ((p >> 6) * r >> 9);
	*counter = p << 10 | (n + (n < LIMIT));
}

/* Two inputs of a counter, side by side: how sure it is, and after how many bits. */
static inline uint32_t inputs_of(const struct mz_codec_cm *cm, uint32_t counter)
{
	uint32_t n = counter & 1023;
	int32_t p12 = (int32_t)(counter >> 20);
	uint32_t sure = n ? (uint16_t)cm->stretch[p12] : 0;

	return sure | (uint32_t)((p12 - 2048) * (int32_t)n >> 4) << 16;
}

/* The sum of the weighted inputs, and the correction of the weights by the error. Both forms do the
 * same. The first never stores the inputs: a wide load would have to wait for the small stores. */
#ifdef __SSE2__
struct inputs {
	__m128i v[2];
};

static inline struct inputs gather(const uint32_t pair[CONTEXTS], uint32_t repeat)
{
	return (struct inputs){
		{_mm_set_epi32((int)pair[3], (int)pair[2], (int)pair[1], (int)pair[0]),
		 _mm_set_epi32(0, (int)repeat, (int)pair[5], (int)pair[4])}};
}

static inline int32_t mixed(const int16_t *w, const struct inputs *in)
{
	const __m128i *a = (const __m128i *)w;
	__m128i sum = _mm_add_epi32(_mm_madd_epi16(a[0], in->v[0]), _mm_madd_epi16(a[1], in->v[1]));

	sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
	sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1));
	return _mm_cvtsi128_si32(sum) >> 16;
}

static inline void train(int16_t *w, const struct inputs *in, int32_t err)
{
	__m128i *a = (__m128i *)w, e = _mm_set1_epi16((int16_t)err), round = _mm_set1_epi16(4);

	for (int i = 0; i < 2; i++) {
		__m128i d = _mm_srai_epi16(_mm_add_epi16(_mm_mulhi_epi16(in->v[i], e), round), 3);

		a[i] = _mm_adds_epi16(a[i], d);
	}
}
#else
struct inputs {
	int16_t v[INPUTS];
};

static inline struct inputs gather(const uint32_t pair[CONTEXTS], uint32_t repeat)
{
	struct inputs in = {0};

	for (int i = 0; i < CONTEXTS; i++) {
		in.v[2 * i] = (int16_t)pair[i];
		in.v[2 * i + 1] = (int16_t)(pair[i] >> 16);
	}
	in.v[REPEAT] = (int16_t)repeat;
	return in;
}

static inline int32_t mixed(const int16_t *w, const struct inputs *in)
{
	uint32_t sum = 0;

	for (int i = 0; i < INPUTS; i++)
		sum += (uint32_t)(w[i] * in->v[i]);
	return (int32_t)sum >> 16;
}

static inline void train(int16_t *w, const struct inputs *in, int32_t err)
{
	for (int i = 0; i < INPUTS; i++) {
		int32_t v = w[i] + (((in->v[i] * err >> 16) + 4) >> 3);

		w[i] = (int16_t)(v > INT16_MAX ? INT16_MAX : v < INT16_MIN ? INT16_MIN : v);
	}
}
#endif

static ALWAYS_INLINE unsigned model_bit(struct mz_codec_cm *cm, bool encode, unsigned bit,
					unsigned node, unsigned node_class, int foretold)
{
	bool told = foretold >= 0 && cm->follows;
	uint32_t *match = &cm->match_p[cm->match_state], pair[CONTEXTS], repeat = 0, p;
	int16_t *w = cm->weights[(told ? cm->match_state : 0) * NODE_CLASSES + node_class];
	struct inputs in;

#pragma GCC unroll 6
	for (int i = 0; i < CONTEXTS; i++)
		pair[i] = inputs_of(cm, cm->at[i]->node[node]);
	if (told)
		repeat = (uint16_t)(cm->stretch[*match >> 20] * (foretold ? 1 : -1));
	in = gather(pair, repeat);
	p = squash(mixed(w, &in));
	bit = code_bit(cm, encode, bit, p);
	train(w, &in, ((int32_t)(bit << 16) - (int32_t)p) / 2);
#pragma GCC unroll 6
	for (int i = 0; i < CONTEXTS; i++)
		counter_update(cm, &cm->at[i]->node[node], bit);
	if (told) {
		counter_update(cm, match, (unsigned)foretold == bit);
		cm->follows = (unsigned)foretold == bit;
	}
	return bit;
}

/* ---- one number --------------------------------------------------------- */

static inline unsigned magnitude(uint64_t x)
{
	return x ? 63 - (unsigned)__builtin_clzll(x) : 64;
}

/*
 * v + 1 as its magnitude, in unary, and the bits below the highest. guess: the predicted number, if
 * there is one.
 */
static ALWAYS_INLINE uint64_t code_number(struct mz_codec_cm *cm, bool encode, uint64_t v,
					  bool told, uint64_t guess, unsigned modelled)
{
	uint64_t x = v + 1, g = guess + 1, prefix = 1;
	unsigned top = magnitude(x), top_g = magnitude(g), m = 0;

	cm->follows = told;
	for (; m < 64; m++) {
		if (m % NODES == 0)
			choose_buckets(cm, m / NODES);
		if (!model_bit(cm, encode, top > m, m % NODES, m < 15 ? m : 15,
			       told ? top_g > m : -1))
			break;
	}
	for (unsigned k = 0; k < m; k++) {
		unsigned at = m - 1 - k, bit = (unsigned)(x >> at & 1);

		if (k >= modelled) {
			bit = code_bit(cm, encode, bit, 32768);
		} else {
			unsigned first = (1u << k % 3) - 1; /* node of this bit */

			if (k % 3 == 0)
				choose_buckets(cm, (prefix << 8 | m) + 16);
			bit = model_bit(cm, encode, bit, first + (unsigned)(prefix & first), 16 + k,
					told ? (int)(g >> at & 1) : -1);
		}
		prefix = prefix << 1 | bit;
	}
	return prefix - 1;
}

/* ---- sequences ---------------------------------------------------------- */

static inline uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h + v + 1) * MZ_HASH_GOLDEN;
	return h ^ h >> 29;
}

/* How many preceding words each context of a word has. */
static const unsigned orders[CONTEXTS] = {0, 1, 2, 3, 4, 6};

static inline void word_contexts(struct mz_codec_cm *cm, const uint64_t *v, uint32_t i,
				 uint64_t context)
{
	uint64_t h = context;
	unsigned k = 0;

	for (unsigned o = 0; o < CONTEXTS; o++) {
		for (; k < orders[o]; k++)
			h = mix(h, k < i ? v[i - 1 - k] : 0);
		cm->hash[o] = mix(h, o);
	}
}

struct repeat {
	uint32_t at;  /* the predicted word */
	uint32_t len; /* of the repeat so far; 0: there is none */
};

static inline void find_repeat(struct mz_codec_cm *cm, const uint64_t *v, uint32_t i,
			       struct repeat *r)
{
	uint64_t h = 0;
	uint32_t *slot, at;

	if (r->len && v[r->at] == v[i - 1]) {
		r->at++;
		r->len += r->len < MATCH_MAX;
	} else {
		r->len = 0;
	}
	if (i < MATCH_MIN)
		return;
	for (unsigned k = 0; k < MATCH_MIN; k++)
		h = mix(h, v[i - 1 - k]);
	slot = &cm->match[h >> (64 - MATCH_BITS)];
	at = *slot;
	*slot = i;
	if (r->len || !at)
		return;
	while (r->len < MATCH_MAX && r->len < at && v[at - 1 - r->len] == v[i - 1 - r->len])
		r->len++;
	r->at = at;
	if (r->len < MATCH_MIN)
		r->len = 0;
}

static inline unsigned match_state(uint32_t len)
{
	if (len < 16)
		return len;
	return 16 + (len >= 24) + (len >= 32) + (len >= 64) + (len >= 128) + (len >= 256) +
	       (len >= 400);
}

static ALWAYS_INLINE void code_words(struct mz_codec_cm *cm, bool encode, uint64_t *v, uint32_t n,
				     const uint16_t *context)
{
	struct repeat r = {0};

	for (uint32_t i = 0; i < n; i++) {
		if (i)
			find_repeat(cm, v, i, &r);
		cm->match_state = match_state(r.len);
		word_contexts(cm, v, i, context ? context[i] + 1 : 0);
		if (r.len >= LONG) {
			choose_buckets(cm, mix(8, v[r.at]));
			cm->follows = true;
			if (model_bit(cm, encode, v[i] == v[r.at], 0, 28, 1)) {
				v[i] = v[r.at];
				continue;
			}
			r.len = 0;
		}
		v[i] = code_number(cm, encode, v[i], r.len, r.len ? v[r.at] : 0, WORD_BITS);
		if (cm->past > PAST)
			return;
	}
}

static ALWAYS_INLINE void code_quantities(struct mz_codec_cm *cm, bool encode, uint64_t *v,
					  uint32_t n, const uint16_t *context)
{
	cm->match_state = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t c = context ? context[i] : 0, one = i ? v[i - 1] : 0,
			 two = i > 1 ? v[i - 2] : 0;
		uint64_t last = context ? cm->last[c] : i > 2 ? v[i - 3] : 0;
		uint64_t size = magnitude(one + 1) << 8 | magnitude(two + 1);

		cm->hash[0] = mix(0, 0);
		cm->hash[1] = mix(1, c);
		cm->hash[2] = mix(mix(2, size), magnitude(last + 1));
		cm->hash[3] = mix(mix(3, c), one);
		cm->hash[4] = mix(mix(4, one), two);
		cm->hash[5] = mix(mix(5, c), last);
		v[i] = code_number(cm, encode, v[i], false, 0, SIZE_BITS);
		if (context)
			cm->last[c] = v[i];
		if (cm->past > PAST)
			return;
	}
}

/* ---- both ways ---------------------------------------------------------- */

int mz_codec_cm_encode(struct mz_codec_cm *cm, const uint64_t *v, uint32_t n, bool words,
		       const uint16_t *context, struct mz_buf *out)
{
	uint8_t last;

	if (reset(cm, n, words, context) < 0)
		return -ENOMEM;
	cm->out = out;
	/* the numbers are written back as they are */
	if (words)
		code_words(cm, true, (uint64_t *)v, n, context);
	else
		code_quantities(cm, true, (uint64_t *)v, n, context);
	/* zeros are read behind the end, so that this byte is above low and not above high */
	last = (uint8_t)(cm->high >> 24);
	mz_buf_add(out, &last, 1);
	return out->failed ? -ENOMEM : 0;
}

int mz_codec_cm_decode(struct mz_codec_cm *cm, const uint8_t *data, size_t len, uint64_t *v,
		       uint32_t n, bool words, const uint16_t *context)
{
	if (reset(cm, n, words, context) < 0)
		return -ENOMEM;
	cm->in = data;
	cm->end = data + len;
	for (int i = 0; i < 4; i++)
		cm->code = cm->code << 8 | next_byte(cm);
	if (words)
		code_words(cm, false, v, n, context);
	else
		code_quantities(cm, false, v, n, context);
	return cm->past != PAST || cm->in != cm->end ? -EBADMSG : 0;
}
