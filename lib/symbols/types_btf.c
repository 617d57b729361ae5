// SPDX-License-Identifier: BSD-2-Clause
/*
 * Types from BTF, where there is no DWARF. It has no variables: what a call makes is told
 * by what its function returns, or by the name of the cache, if the size is the same.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "symbols/types_private.h"

#define MAGIC	0xeb9f
#define LARGEST (256u << 20)
#define DEEP	16

enum {
	INT = 1,
	PTR,
	ARRAY,
	STRUCT,
	UNION,
	ENUM,
	FWD,
	TYPEDEF,
	VOLATILE,
	CONST,
	RESTRICT,
	FUNC,
	FUNC_PROTO,
	VAR,
	DATASEC,
	FLOAT,
	DECL_TAG,
	TYPE_TAG,
	ENUM64,
	KINDS
};

struct header {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t hdr_len, type_off, type_len, str_off, str_len;
};

struct type {
	uint32_t name, info, size_or_type;
};

struct btf {
	uint8_t *data;
	const char *strings;
	uint32_t n_strings;
	uint32_t *at; /* by number of a type: where it stands in data; 0 is void */
	size_t n, cap;
};

static const struct mz_types_ops btf_ops;

/* ---- reading -------------------------------------------------------------------------------- */

static struct type type_at(const struct btf *b, uint32_t id)
{
	struct type t = {0};

	if (id && id < b->n)
		memcpy(&t, b->data + b->at[id], sizeof(t));
	return t;
}

static unsigned kind(struct type t)
{
	return t.info >> 24 & 0x1f;
}

static uint32_t extra(const struct btf *b, uint32_t id, unsigned word)
{
	uint32_t v;

	memcpy(&v, b->data + b->at[id] + sizeof(struct type) + 4 * (size_t)word, 4);
	return v;
}

static const char *string(const struct btf *b, uint32_t at)
{
	return at < b->n_strings ? b->strings + at : "";
}

/* What follows a type of this kind. SIZE_MAX: there is no such kind. */
static size_t extra_bytes(struct type t)
{
	static const uint8_t each[KINDS] = {[STRUCT] = 12,    [UNION] = 12,   [ENUM] = 8,
					    [FUNC_PROTO] = 8, [DATASEC] = 12, [ENUM64] = 12};
	static const uint8_t once[KINDS] = {[INT] = 4, [ARRAY] = 12, [VAR] = 4, [DECL_TAG] = 4};
	unsigned k = kind(t);

	if (!k || k >= KINDS)
		return SIZE_MAX;
	return once[k] + (size_t)each[k] * (t.info & 0xffff);
}

/* BTF has records of variable length and no index; the offsets are collected once, and every
 * length is checked against the section. */
static int list_types(struct btf *b, size_t from, size_t to)
{
	b->n = 1;
	while (from < to) {
		struct type t;
		size_t more;

		if (to - from < sizeof(t))
			return -EINVAL;
		memcpy(&t, b->data + from, sizeof(t));
		more = extra_bytes(t);
		if (more == SIZE_MAX || to - from - sizeof(t) < more)
			return -EINVAL;
		if (!mz_pair_index_room((void **)&b->at, &b->cap, b->n, sizeof(*b->at)))
			return -ENOMEM;
		b->at[b->n++] = (uint32_t)from;
		from += sizeof(t) + more;
	}
	return 0;
}

/* All offsets are checked before the first type is read, and the string section must end with
 * a NUL: afterwards no string can run past it. */
static int parse(struct btf *b, size_t size)
{
	struct header h;
	size_t types, strings;

	if (size < sizeof(h))
		return -EINVAL;
	memcpy(&h, b->data, sizeof(h));
	types = (size_t)h.hdr_len + h.type_off;
	strings = (size_t)h.hdr_len + h.str_off;
	if (h.magic != MAGIC || h.version != 1 || h.hdr_len < sizeof(h) || types > size ||
	    h.type_len > size - types || strings > size || h.str_len > size - strings ||
	    !h.str_len || b->data[strings + h.str_len - 1])
		return -EINVAL;
	b->strings = (const char *)b->data + strings;
	b->n_strings = h.str_len;
	return list_types(b, types, types + h.type_len);
}

static void close_btf(void *source)
{
	struct btf *b = source;

	free(b->data);
	free(b->at);
	free(b);
}

struct mz_types *mz_types_open_btf_memory(const void *data, size_t size, const char *name,
					  struct mz_error *err)
{
	struct btf *b = calloc(1, sizeof(*b));
	struct mz_types *t = NULL;
	int ret = -ENOMEM;

	if (b)
		b->data = malloc(size ? size : 1);
	if (b && b->data) {
		memcpy(b->data, data, size);
		ret = parse(b, size);
	}
	if (!ret)
		t = mz_types_new(&btf_ops, b);
	if (t)
		return t;
	if (b)
		close_btf(b);
	if (ret == -EINVAL)
		mz_fail(err, EINVAL, "%s: its BTF is damaged, or of another version", name);
	else
		mz_fail_memory(err);
	return NULL;
}

/* ---- files ----------------------------------------------------------------------------------- */

static struct mz_types *from_elf(Elf *elf, const char *path, struct mz_error *err)
{
	Elf_Scn *scn = NULL;
	size_t names;

	while (!elf_getshdrstrndx(elf, &names) && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		const char *name;
		Elf_Data *data;

		if (!gelf_getshdr(scn, &sh))
			break;
		name = elf_strptr(elf, names, sh.sh_name);
		if (!name || strcmp(name, ".BTF"))
			continue;
		data = elf_rawdata(scn, NULL);
		if (data && data->d_buf)
			return mz_types_open_btf_memory(data->d_buf, data->d_size, path, err);
	}
	mz_fail(err, ENODATA, "%s: it contains neither DWARF nor BTF", path);
	return NULL;
}

static struct mz_types *from_file(int fd, const char *path, struct mz_error *err)
{
	struct mz_types *t = NULL;
	size_t size = 0, cap = 1u << 20;
	char *data = malloc(cap);

	/* the kernel's file does not say how long it is */
	while (data) {
		ssize_t n = read(fd, data + size, cap - size);
		char *more;

		if (n <= 0)
			break;
		size += (size_t)n;
		if (size < cap)
			continue;
		more = cap < LARGEST ? realloc(data, cap *= 2) : NULL;
		if (!more)
			free(data);
		data = more;
	}
	if (data)
		t = mz_types_open_btf_memory(data, size, path, err);
	else
		mz_fail(err, EFBIG, "%s: too large for BTF", path);
	free(data);
	return t;
}

struct mz_types *mz_types_open_btf(const char *path, struct mz_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct mz_types *t;
	uint16_t magic = 0;
	Elf *elf;

	if (fd < 0) {
		mz_fail(err, errno, "%s: %s", path, strerror(errno));
		return NULL;
	}
	if (pread(fd, &magic, 2, 0) == 2 && magic == MAGIC) {
		t = from_file(fd, path, err);
	} else {
		elf_version(EV_CURRENT);
		elf = elf_begin(fd, ELF_C_READ, NULL);
		t = from_elf(elf, path, err);
		elf_end(elf);
	}
	close(fd);
	return t;
}

/* ---- types ------------------------------------------------------------------------------------
 */

static uint32_t strip(const struct btf *b, uint32_t id, bool *hidden)
{
	for (unsigned i = 0; i < DEEP; i++) {
		struct type t = type_at(b, id);
		unsigned k = kind(t);

		if (k != TYPEDEF && k != VOLATILE && k != CONST && k != RESTRICT && k != TYPE_TAG)
			return id;
		if (k == TYPEDEF && hidden)
			*hidden = true;
		id = t.size_or_type;
	}
	return 0;
}

/* BTF describes 64-bit kernels here, so pointers have 8 bytes. */
static uint64_t size_of(const struct btf *b, uint32_t id, unsigned depth)
{
	uint32_t at = strip(b, id, NULL);
	struct type t = type_at(b, at);

	switch (kind(t)) {
	case PTR: return 8;
	case ARRAY:
		return depth == DEEP ? 0 : extra(b, at, 2) * size_of(b, extra(b, at, 0), depth + 1);
	case INT:
	case STRUCT:
	case UNION:
	case ENUM:
	case ENUM64:
	case FLOAT: return t.size_or_type;
	default: return 0;
	}
}

static void name_of(const struct btf *b, uint32_t id, char *buf, size_t size, unsigned depth)
{
	struct type t = type_at(b, id);
	const char *name = string(b, t.name);
	char of[100];

	if (depth == DEEP) {
		snprintf(buf, size, "...");
		return;
	}
	switch (kind(t)) {
	case 0: snprintf(buf, size, "void"); break;
	case STRUCT: snprintf(buf, size, *name ? "struct %s" : "struct", name); break;
	case UNION: snprintf(buf, size, *name ? "union %s" : "union", name); break;
	case FWD: snprintf(buf, size, "%s %s", t.info >> 31 ? "union" : "struct", name); break;
	case ENUM:
	case ENUM64: snprintf(buf, size, *name ? "enum %s" : "enum", name); break;
	case FUNC_PROTO: snprintf(buf, size, "function"); break;
	case PTR:
		name_of(b, t.size_or_type, of, sizeof(of), depth + 1);
		snprintf(buf, size, "%s *", of);
		break;
	case ARRAY:
		name_of(b, extra(b, id, 0), of, sizeof(of), depth + 1);
		if (extra(b, id, 2))
			snprintf(buf, size, "%s[%u]", of, extra(b, id, 2));
		else
			snprintf(buf, size, "%s[]", of);
		break;
	case VOLATILE:
	case CONST:
	case RESTRICT:
	case TYPE_TAG: name_of(b, t.size_or_type, buf, size, depth + 1); break;
	default: snprintf(buf, size, "%s", name);
	}
}

/* A typedef of a structure is opaque: its members are not shown when it is itself a member, as
 * the kernel's readers expect of spinlock_t. */
static uint32_t node_of(struct mz_types *t, uint32_t id)
{
	const struct btf *b = t->source;
	bool hidden = false, fresh;
	uint32_t real = strip(b, id, &hidden), node;
	unsigned k = kind(type_at(b, real));
	bool aggregate = k == STRUCT || k == UNION;
	struct mz_type_node *n;
	char name[120];

	node = mz_types_node(t, aggregate ? real : id, hidden, &fresh);
	if (node == MZ_TYPES_NONE || !fresh)
		return node;
	name_of(b, id, name, sizeof(name), 0);
	n = &t->nodes[node];
	n->name = mz_types_string(t, name);
	n->size = size_of(b, id, 0);
	n->opaque = hidden;
	n->kind = k == STRUCT  ? MZ_TYPE_STRUCT
		  : k == UNION ? MZ_TYPE_UNION
		  : k == ARRAY ? MZ_TYPE_ARRAY
			       : MZ_TYPE_SCALAR;
	return node;
}

/* With the top bit set, a member's offset carries the width of a bit-field in its upper byte. */
static int fill(struct mz_types *t, uint32_t type)
{
	const struct btf *b = t->source;
	uint32_t id = (uint32_t)t->nodes[type].from;
	struct type s = type_at(b, id);
	int ret = 0;

	for (unsigned i = 0; i < (s.info & 0xffff) && !ret; i++) {
		uint32_t name = extra(b, id, 3 * i), of = extra(b, id, 3 * i + 1);
		uint32_t at = extra(b, id, 3 * i + 2), bits = 0;
		uint64_t offset, size = size_of(b, of, 0);

		if (s.info >> 31) {
			bits = at >> 24;
			at &= 0xffffff;
		}
		offset = at / 8;
		if (bits)
			size = (at + bits + 7) / 8 - offset;
		ret = mz_types_add_member(t, type, string(b, name), node_of(t, of), offset, size);
	}
	return ret;
}

/* ---- what a call makes --------------------------------------------------------------------------
 */

/* The structure that a function of this name returns. */
static uint32_t returned(struct mz_types *t, const struct type *function)
{
	const struct btf *b = t->source;
	struct type proto = type_at(b, function->size_or_type), to;
	uint32_t id = kind(proto) == FUNC_PROTO ? strip(b, proto.size_or_type, NULL) : 0;

	to = type_at(b, id);
	if (kind(to) != PTR)
		return MZ_TYPES_NONE;
	id = strip(b, to.size_or_type, NULL);
	return kind(type_at(b, id)) == STRUCT ? node_of(t, id) : MZ_TYPES_NONE;
}

static bool named_like(const char *cache, const char *name)
{
	size_t n = strlen(name);

	return n && !strncmp(cache, name, n) && (!cache[n] || !strcmp(cache + n, "_cache"));
}

/* The cache name is stronger evidence than the return type: many functions return a pointer to
 * something that they did not allocate. */
static int ask(struct mz_types *t, const struct mz_types_query *q, struct mz_types_answer *out)
{
	const struct btf *b = t->source;
	struct mz_types_votes by_return = {0}, by_cache = {0};

	for (uint32_t i = 1; i < b->n; i++) {
		struct type x = type_at(b, i);
		const char *name = string(b, x.name);
		uint32_t type;

		if (kind(x) == FUNC && q->function && !strcmp(name, q->function)) {
			type = returned(t, &x);
			if (type != MZ_TYPES_NONE && mz_types_fits(t, type, q, true))
				mz_types_vote(t, &by_return, type, name);
		} else if (kind(x) == STRUCT && q->cache && q->least == q->greatest &&
			   x.size_or_type == q->least && named_like(q->cache, name)) {
			type = node_of(t, i);
			if (type != MZ_TYPES_NONE)
				mz_types_vote(t, &by_cache, type, q->cache);
		}
	}
	if (!mz_types_decide(t, &by_cache, MZ_TYPES_CACHE, out))
		mz_types_decide(t, &by_return, MZ_TYPES_RETURNED, out);
	return 0;
}

static const struct mz_types_ops btf_ops = {
	.name = "BTF", .fill = fill, .ask = ask, .close = close_btf};
