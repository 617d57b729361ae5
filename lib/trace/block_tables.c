// SPDX-License-Identifier: BSD-2-Clause
/* Read and write the blocks that hold attributes, strings and stacks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "trace/block.h"
#include "trace/reader.h"
#include "trace/stack_tree.h"

#define MAX_KEY	 255
#define MAX_BODY (1u << 24)

/* ---- attributes --------------------------------------------------------- */

void mz_attrs_deinit(struct mz_attrs *a)
{
	for (size_t i = 0; i < a->n; i++) {
		free((char *)a->v[i].key);
		free((char *)a->v[i].data);
	}
	free(a->v);
	mz_tables_free(a->keys);
	*a = (struct mz_attrs){0};
}

static char *copy(const char *data, size_t n)
{
	char *p = malloc(n + 1);

	if (p && n)
		memcpy(p, data, n);
	if (p)
		p[n] = '\0';
	return p;
}

static bool room_for_one(struct mz_attrs *a)
{
	size_t cap = a->cap ? a->cap * 2 : 16;
	struct mz_attr *v;

	if (!a->keys)
		a->keys = mz_tables_new();
	if (!a->keys || a->n < a->cap)
		return a->keys;
	v = realloc(a->v, cap * sizeof(*v));
	if (!v)
		return false;
	a->v = v;
	a->cap = cap;
	return true;
}

/* The attribute with that key, or the one after the last. The keys are in a hash table: a file
 * may have a million of them. Once the table has the key, nothing can fail. */
static struct mz_attr *attr_slot(struct mz_attrs *a, const char *key, size_t len)
{
	uint32_t id = room_for_one(a) ? mz_tables_string(a->keys, key, len) : 0;

	return id ? &a->v[id - 1] : NULL;
}

/* Copies are complete before anything is replaced: a failure leaves the old value. */
int mz_attrs_set(struct mz_attrs *a, const struct mz_attr *attr)
{
	size_t len = strlen(attr->key);
	struct mz_attr *slot, made = *attr;

	if (!len || len > MAX_KEY)
		return -EINVAL;
	if (!mz_mem_take(a->budget, 2 * len + attr->size + MZ_MEM_ENTRY))
		return -ENOMEM;
	made.key = copy(attr->key, len);
	made.data = copy(attr->data, attr->size);
	slot = made.key && made.data ? attr_slot(a, attr->key, len) : NULL;
	if (!slot) {
		free((char *)made.key);
		free((char *)made.data);
		return -ENOMEM;
	}
	if (slot < a->v + a->n) {
		free((char *)slot->key);
		free((char *)slot->data);
	} else {
		a->n++;
	}
	*slot = made;
	return 0;
}

int mz_attrs_put(const struct mz_attrs *a, size_t from, struct mz_packer *pk, struct mz_buf *out)
{
	struct mz_buf b = {0};
	int ret;

	mz_buf_number(&b, a->n - from);
	for (size_t i = from; i < a->n; i++) {
		const struct mz_attr *v = &a->v[i];

		mz_buf_number(&b, strlen(v->key));
		mz_buf_str(&b, v->key);
		mz_buf_number(&b, v->type);
		mz_buf_number(&b, v->type == MZ_ATTR_NUMBER ? v->number : v->size);
		if (v->type != MZ_ATTR_NUMBER)
			mz_buf_add(&b, v->data, v->size);
	}
	ret = b.failed ? -ENOMEM : mz_bytes_pack(pk, b.data, b.len, out);
	mz_buf_free(&b);
	return ret;
}

/* A key with a NUL inside would read differently here and elsewhere, so it is refused. */
static int get_attr(struct mz_attrs *a, struct mz_bytes *in)
{
	struct mz_attr attr = {0};
	char key[MAX_KEY + 1] = "";
	size_t len = mz_bytes_upto(in, MAX_KEY);
	const uint8_t *p = mz_bytes_take(in, len);
	uint64_t type, n;

	if (p)
		memcpy(key, p, len);
	type = mz_bytes_number(in);
	n = mz_bytes_number(in);
	attr.key = key;
	if (type == MZ_ATTR_NUMBER) {
		attr.number = n;
	} else {
		attr.size = n;
		attr.data = (const char *)mz_bytes_take(in, n);
	}
	if (in->bad || strlen(key) != len || !len)
		return -EBADMSG;
	if (type > MZ_ATTR_BYTES)
		type = MZ_ATTR_BYTES; /* of a later version: kept as bytes */
	attr.type = (enum mz_attr_type)type;
	return mz_attrs_set(a, &attr);
}

/* All of a packed body, or -errno. */
static int unpack_body(struct mz_packer *pk, const void *payload, size_t size, struct mz_buf *b)
{
	struct mz_bytes in = {.p = payload, .end = (const uint8_t *)payload + size};
	int ret = mz_bytes_unpack(pk, &in, MAX_BODY, b);

	return !ret && in.p != in.end ? -EBADMSG : ret;
}

int mz_attrs_get(struct mz_attrs *a, struct mz_packer *pk, const void *payload, size_t size)
{
	struct mz_buf b = {0};
	struct mz_bytes in;
	int ret = unpack_body(pk, payload, size, &b);

	in = mz_bytes_of(&b);
	if (!ret) {
		uint64_t n = mz_bytes_number(&in);

		while (!ret && n-- && !in.bad)
			ret = get_attr(a, &in);
		if (!ret && (in.bad || in.p != in.end))
			ret = -EBADMSG;
	}
	mz_buf_free(&b);
	return ret;
}

/* ---- strings ------------------------------------------------------------ */

int mz_strings_put(const struct mz_tables *t, uint32_t from, struct mz_packer *pk,
		   struct mz_buf *out)
{
	uint32_t last = mz_tables_strings(t);
	struct mz_buf b = {0};
	int ret;

	mz_buf_number(&b, from);
	mz_buf_number(&b, last - from + 1);
	for (uint32_t i = from; i <= last; i++) {
		size_t len;
		const char *s = mz_tables_get_string(t, i, &len);

		mz_buf_number(&b, len);
		mz_buf_add(&b, s, len);
	}
	ret = b.failed ? -ENOMEM : mz_bytes_pack(pk, b.data, b.len, out);
	mz_buf_free(&b);
	return ret;
}

/* Numbers whose block is missing still count, without a content. A block that claims that more are
 * missing than the file has bytes is damaged itself. */
static int fill_strings(struct mz_tables *t, uint64_t first, uint64_t lost)
{
	if (first <= mz_tables_strings(t) || first - mz_tables_strings(t) - 1 > lost)
		return -EBADMSG;
	while (mz_tables_strings(t) + 1 < first) {
		uint32_t n = mz_tables_strings(t) + 1;

		if (mz_tables_add_lost(t) != n)
			return -ENOMEM;
	}
	return 0;
}

/* The numbers must continue the previous ones; a string that is already known would break the
 * numbering, so it is damage. */
static int get_strings(struct mz_tables *t, struct mz_bytes *in, uint64_t lost)
{
	uint64_t first = mz_bytes_number(in), n = mz_bytes_number(in);
	int ret = in->bad ? -EBADMSG : fill_strings(t, first, lost);

	while (!ret && n--) {
		size_t len = mz_bytes_number(in);
		const uint8_t *s = mz_bytes_take(in, len);
		uint32_t id;

		if (!s)
			return -EBADMSG;
		id = mz_tables_string(t, (const char *)s, len);
		if (id != first++)
			return id ? -EBADMSG : -ENOMEM;
	}
	return ret ? ret : in->p != in->end ? -EBADMSG : 0;
}

int mz_strings_get(struct mz_tables *t, struct mz_packer *pk, const void *payload, size_t size,
		   uint64_t lost)
{
	struct mz_buf b = {0};
	struct mz_bytes in;
	int ret = unpack_body(pk, payload, size, &b);

	in = mz_bytes_of(&b);
	if (!ret)
		ret = get_strings(t, &in, lost);
	mz_buf_free(&b);
	return ret;
}

/* ---- stacks ------------------------------------------------------------- */

static int fill_stacks(struct mz_tables *t, uint64_t first, uint64_t lost)
{
	struct mz_stack_tree *tree = mz_tables_tree(t);
	int ret = 0;

	if (first <= mz_tables_stacks(t) || first - mz_tables_stacks(t) - 1 > lost)
		return -EBADMSG;
	if (mz_tables_stacks(t) + 1 < first)
		ret = mz_stack_tree_add_lost(tree);
	while (!ret && mz_tables_stacks(t) + 1 < first)
		ret = mz_stack_tree_add_stack(tree, tree->nodes);
	return ret;
}

/* All lengths come from the file, so each is bounded before it is used as an index. */
static int add_stack(struct mz_tables *t, uint64_t number, uint64_t own, uint64_t common,
		     const uint64_t *deltas)
{
	uint64_t ip[MZ_WIRE_MAX_DEPTH], last;
	size_t n_before, depth = own + common;
	const uint64_t *before = mz_tables_get_stack(t, (uint32_t)number - 1, &n_before);
	uint32_t id;

	if (own > MZ_WIRE_MAX_DEPTH || common > MZ_WIRE_MAX_DEPTH || depth > MZ_WIRE_MAX_DEPTH ||
	    common > n_before)
		return -EBADMSG;
	if (common)
		memcpy(ip + own, before + n_before - common, common * sizeof(*ip));
	last = common ? ip[own] : 0;
	for (size_t k = own; k-- > 0;)
		last = ip[k] = last + mz_unzigzag(*deltas++);
	id = mz_tables_stack(t, ip, depth);
	return id == number ? 0 : id ? -EBADMSG : -ENOMEM;
}

int mz_stacks_get(struct mz_tables *t, struct mz_packer *pk, const void *payload, size_t size,
		  uint64_t lost)
{
	struct mz_bytes in = {.p = payload, .end = (const uint8_t *)payload + size};
	struct mz_codec_column own = {0}, common = {0}, ips = {0};
	uint64_t first = mz_bytes_number(&in), n = mz_bytes_upto(&in, MZ_WIRE_MAX_FRAMES);
	uint64_t used = 0;
	int ret = in.bad ? -EBADMSG : fill_stacks(t, first, lost);

	if (!ret)
		ret = mz_codec_column_unpack(pk, &in, MZ_WIRE_MAX_EVENTS, false, NULL, 0, &own);
	if (!ret)
		ret = mz_codec_column_unpack(pk, &in, MZ_WIRE_MAX_EVENTS, false, NULL, 0, &common);
	if (!ret)
		ret = mz_codec_column_unpack(pk, &in, (uint32_t)n, false, NULL, 0, &ips);
	if (!ret && (own.n != common.n || ips.n != n || in.p != in.end))
		ret = -EBADMSG;
	for (uint32_t i = 0; !ret && i < own.n; i++) {
		/* the first of a block has nothing before it */
		if (own.v[i] > ips.n - used || (!i && common.v[i]))
			ret = -EBADMSG;
		else
			ret = add_stack(t, first + i, own.v[i], common.v[i], ips.v + used);
		used += own.v[i];
	}
	if (!ret && used != ips.n)
		ret = -EBADMSG;
	mz_codec_column_free(&own);
	mz_codec_column_free(&common);
	mz_codec_column_free(&ips);
	return ret;
}
