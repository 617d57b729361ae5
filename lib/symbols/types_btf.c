// SPDX-License-Identifier: BSD-2-Clause
/* Read types from BTF, where there is no DWARF. */
/*
 * It has no variables: what a call creates follows from the return type of its function, or from
 * the name of the cache, if the size is the same.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/regular.h"
#include "symbols/types_private.h"

#define LARGEST (256u << 20)
#define DEEP	16

static const struct mz_types_ops btf_ops;

/* ---- reading -------------------------------------------------------------------------------- */

/* A number that the file does not have means void. */
static const struct btf_type *type_at(const struct btf *b, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(b, id);

	return t ? t : btf__type_by_id(b, 0);
}

static const char *string(const struct btf *b, uint32_t at)
{
	const char *s = btf__name_by_offset(b, at);

	return s ? s : "";
}

static void close_btf(void *source)
{
	btf__free(source);
}

/* libbpf believes the header about where the types begin. */
static bool is_aligned(const void *data, size_t size)
{
	struct btf_header h;

	if (size < sizeof(h) || size > LARGEST)
		return false;
	memcpy(&h, data, sizeof(h));
	return h.magic == BTF_MAGIC && h.hdr_len % 4 == 0;
}

/* libbpf reports errors in a file on standard error; here the caller reports them. */
static struct btf *parse(const void *data, size_t size)
{
	libbpf_print_fn_t was = libbpf_set_print(NULL);
	struct btf *b = btf__new(data, (uint32_t)size);

	libbpf_set_print(was);
	return b;
}

struct mz_types *mz_types_open_btf_memory(const void *data, size_t size, const char *name,
					  struct mz_error *err)
{
	struct btf *b = NULL;
	struct mz_types *t;

	errno = EINVAL;
	if (is_aligned(data, size))
		b = parse(data, size);
	if (!b && errno != ENOMEM) {
		mz_fail(err, EINVAL, "%s: its BTF is damaged, or of another version", name);
		return NULL;
	}
	t = b ? mz_types_new(&btf_ops, b) : NULL;
	if (!t) {
		btf__free(b);
		mz_fail_memory(err);
	}
	return t;
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
	int fd = mz_open_regular(path, NULL);
	struct mz_types *t;
	uint16_t magic = 0;
	Elf *elf;

	if (fd < 0) {
		mz_fail(err, errno, "%s: %s", path, strerror(errno));
		return NULL;
	}
	if (pread(fd, &magic, 2, 0) == 2 && magic == BTF_MAGIC) {
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

/* A chain that does not end is a circle in a damaged file; void is the answer for it. */
static uint32_t strip(const struct btf *b, uint32_t id, bool *hidden)
{
	for (unsigned i = 0; i < DEEP; i++) {
		const struct btf_type *t = type_at(b, id);

		if (!btf_is_mod(t) && !btf_is_typedef(t))
			return id;
		if (btf_is_typedef(t) && hidden)
			*hidden = true;
		id = t->type;
	}
	return 0;
}

/* BTF describes 64-bit kernels here, so pointers have 8 bytes. */
static uint64_t size_of(const struct btf *b, uint32_t id, unsigned depth)
{
	const struct btf_type *t = type_at(b, strip(b, id, NULL));

	switch (btf_kind(t)) {
	case BTF_KIND_PTR: return 8;
	case BTF_KIND_ARRAY:
		return depth == DEEP
			       ? 0
			       : btf_array(t)->nelems * size_of(b, btf_array(t)->type, depth + 1);
	case BTF_KIND_INT:
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
	case BTF_KIND_FLOAT: return t->size;
	default: return 0;
	}
}

static void name_of(const struct btf *b, uint32_t id, char *buf, size_t size, unsigned depth)
{
	const struct btf_type *t = type_at(b, id);
	const char *name = string(b, t->name_off);
	char of[100];

	if (depth == DEEP) {
		snprintf(buf, size, "...");
		return;
	}
	switch (btf_kind(t)) {
	case BTF_KIND_UNKN: snprintf(buf, size, "void"); break;
	case BTF_KIND_STRUCT: snprintf(buf, size, *name ? "struct %s" : "struct", name); break;
	case BTF_KIND_UNION: snprintf(buf, size, *name ? "union %s" : "union", name); break;
	case BTF_KIND_FWD:
		snprintf(buf, size, "%s %s", btf_kflag(t) ? "union" : "struct", name);
		break;
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64: snprintf(buf, size, *name ? "enum %s" : "enum", name); break;
	case BTF_KIND_FUNC_PROTO: snprintf(buf, size, "function"); break;
	case BTF_KIND_PTR:
		name_of(b, t->type, of, sizeof(of), depth + 1);
		snprintf(buf, size, "%s *", of);
		break;
	case BTF_KIND_ARRAY:
		name_of(b, btf_array(t)->type, of, sizeof(of), depth + 1);
		if (btf_array(t)->nelems)
			snprintf(buf, size, "%s[%u]", of, btf_array(t)->nelems);
		else
			snprintf(buf, size, "%s[]", of);
		break;
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG: name_of(b, t->type, buf, size, depth + 1); break;
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
	const struct btf_type *type = type_at(b, real);
	struct mz_type_node *n;
	char name[120];

	node = mz_types_node(t, btf_is_composite(type) ? real : id, hidden, &fresh);
	if (node == MZ_TYPES_NONE || !fresh)
		return node;
	name_of(b, id, name, sizeof(name), 0);
	n = &t->nodes[node];
	n->name = mz_types_string(t, name);
	n->size = size_of(b, id, 0);
	n->opaque = hidden;
	n->kind = btf_is_struct(type)  ? MZ_TYPE_STRUCT
		  : btf_is_union(type) ? MZ_TYPE_UNION
		  : btf_is_array(type) ? MZ_TYPE_ARRAY
				       : MZ_TYPE_SCALAR;
	return node;
}

static int fill(struct mz_types *t, uint32_t type)
{
	const struct btf *b = t->source;
	const struct btf_type *s = type_at(b, (uint32_t)t->nodes[type].from);
	int ret = 0;

	/* other types have something else in the place of members */
	for (uint32_t i = 0; btf_is_composite(s) && i < btf_vlen(s) && !ret; i++) {
		const struct btf_member *m = &btf_members(s)[i];
		uint32_t at = btf_member_bit_offset(s, i), bits = btf_member_bitfield_size(s, i);
		uint64_t offset = at / 8, size = size_of(b, m->type, 0);

		if (bits)
			size = (at + bits + 7) / 8 - offset;
		ret = mz_types_add_member(t, type, string(b, m->name_off), node_of(t, m->type),
					  offset, size);
	}
	return ret;
}

/* ---- what a call makes --------------------------------------------------------------------------
 */

/* The structure that a function of this name returns. */
static uint32_t returned(struct mz_types *t, const struct btf_type *function)
{
	const struct btf *b = t->source;
	const struct btf_type *proto = type_at(b, function->type), *to;
	uint32_t id = btf_is_func_proto(proto) ? strip(b, proto->type, NULL) : 0;

	to = type_at(b, id);
	if (!btf_is_ptr(to))
		return MZ_TYPES_NONE;
	id = strip(b, to->type, NULL);
	return btf_is_struct(type_at(b, id)) ? node_of(t, id) : MZ_TYPES_NONE;
}

/* The kernel's caches are often named after their structure: "dentry", "task_struct",
 * "inode_cache". */
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
	uint32_t n = btf__type_cnt(b);

	for (uint32_t i = 1; i < n; i++) {
		const struct btf_type *x = type_at(b, i);
		const char *name = string(b, x->name_off);
		uint32_t type;

		if (btf_is_func(x) && q->function && !strcmp(name, q->function)) {
			type = returned(t, x);
			if (type != MZ_TYPES_NONE && mz_types_fits(t, type, q, true))
				mz_types_vote(t, &by_return, type, name);
		} else if (btf_is_struct(x) && q->cache && q->least == q->greatest &&
			   x->size == q->least && named_like(q->cache, name)) {
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
