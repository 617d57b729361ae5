// SPDX-License-Identifier: BSD-2-Clause
/* Records of a KMAP as lines. By hand: a map has millions of them. */
#include <string.h>

#include "formats/kmap.h"

static char *put_hex(char *p, uint64_t v, bool null_text)
{
	if (!v && null_text)
		return mempcpy(p, "(null)", 6);
	for (int i = 60; i >= 0; i -= 4)
		*p++ = "0123456789abcdef"[v >> i & 15];
	return p;
}

static char *put_number(char *p, uint64_t v)
{
	char digits[20];
	int n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*p++ = digits[--n];
	return p;
}

static char *put_pid(char *p, int32_t pid)
{
	if (pid < 0)
		*p++ = '-';
	return put_number(p, pid < 0 ? (uint64_t) - (int64_t)pid : (uint64_t)pid);
}

static char *put_text(char *p, struct mz_kmap_text t)
{
	return t.len ? mempcpy(p, t.p, t.len) : p;
}

/* The seven fields that all generations begin with, and a comma. */
static char *put_head(char *p, const struct mz_kmap_object *o, bool null_text)
{
	p = put_hex(p, o->alloc_ip, null_text);
	*p++ = ',';
	p = put_pid(p, o->pid);
	*p++ = ',';
	p = put_hex(p, o->va, null_text);
	*p++ = ',';
	p = put_number(p, o->size);
	*p++ = ',';
	p = put_number(p, o->alloc_time);
	*p++ = ',';
	p = put_number(p, o->free_time);
	*p++ = ',';
	p = put_hex(p, o->free_ip, null_text);
	*p++ = ',';
	return p;
}

static char *put_object(char *p, const struct mz_kmap_object *o)
{
	p = put_head(p, o, o->null_text);
	if (o->shape == MZ_KMAP_G2 || o->shape == MZ_KMAP_G3) {
		p = put_text(p, o->type);
		*p++ = ',';
	}
	p = put_text(p, o->comm);
	if (o->shape == MZ_KMAP_CSV) {
		*p++ = ',';
		p = put_text(p, o->type);
	}
	if (o->shape != MZ_KMAP_G1) {
		*p++ = ',';
		p = put_text(p, o->cache);
	}
	if (o->shape == MZ_KMAP_CSV) {
		*p++ = ',';
		p = put_number(p, o->given);
	}
	if (o->shape == MZ_KMAP_G3) {
		*p++ = ',';
		p = put_text(p, o->new_type);
	}
	return p;
}

static char *put_access(char *p, const struct mz_kmap_access *a, bool pid_first)
{
	*p++ = ' ';
	*p++ = ' ';
	p = put_hex(p, a->ip, false);
	*p++ = ',';
	if (pid_first) {
		p = put_pid(p, a->pid);
		*p++ = ',';
	}
	p = put_number(p, a->writes);
	*p++ = ',';
	p = put_number(p, a->reads);
	if (!pid_first && a->fields >= 4) {
		*p++ = ',';
		p = put_pid(p, a->pid);
	}
	if (pid_first && a->fields == 6) {
		*p++ = ',';
		p = put_number(p, a->first);
		*p++ = ',';
		p = put_number(p, a->last);
	}
	return p;
}

static char *put_call(char *p, const struct mz_kmap_call *c)
{
	p = put_hex(p, c->from, false);
	*p++ = ' ';
	p = put_hex(p, c->to, false);
	*p++ = ' ';
	return put_number(p, c->count);
}

size_t mz_kmap_format(char *buf, const struct mz_kmap_record *rec, const struct mz_kmap_object *of)
{
	char *p = buf;

	switch (rec->kind) {
	case MZ_KMAP_OBJECT: p = put_object(p, &rec->object); break;
	case MZ_KMAP_ACCESS:
		p = put_access(p, &rec->access,
			       of->shape == MZ_KMAP_G1 || of->shape == MZ_KMAP_CSV);
		break;
	case MZ_KMAP_CALL: p = put_call(p, &rec->call); break;
	case MZ_KMAP_OTHER: p = put_text(p, rec->line); break;
	}
	return (size_t)(p - buf);
}

/* ---- ten fields ----------------------------------------------------------------------- */

/* What the readers of ten fields know, by what the others call it. */
static const struct {
	const char *type, *as;
} types_g2[] = {
	{"ALLOC_PAGES_EXACT", "ALLOC_PAGES"},
	{"ALLOC_PAGES_FOLIO", "ALLOC_PAGES"},
	{"ALLOC_PAGES_GETFREEPAGES", "ALLOC_PAGES"},
	{"BOOTMEM", "MEMBLOCK"},
	{"BUG", "UFO_NONE"},
	{"GEN_HEAP", "UFO_HEAP"},
	{"GLOBAL_PERCPU", "GLOBAL"},
	{"INDUCED_ALLOC", "UFO_HEAP"},
	{"KMEM_CACHE_BULK", "KMEM_CACHE"},
	{"MEMORIZER", "UFO_NONE"},
	{"MODULE", "GLOBAL"},
	{"NONE", "UFO_NONE"},
	{"PERCPU", "UFO_HEAP"},
	{"STACK", "STACK_PAGE"},
	{"USER", "UFO_NONE"},
};

static struct mz_kmap_text type_g2(const struct mz_kmap_object *o)
{
	const char *as;

	/* a map of eight fields says nothing: variables are told by their site */
	if (!o->type.len) {
		as = o->alloc_ip ? "UFO_HEAP" : "GLOBAL";
		return (struct mz_kmap_text){as, strlen(as)};
	}
	for (size_t i = 0; i < sizeof(types_g2) / sizeof(*types_g2); i++) {
		as = types_g2[i].as;
		if (strlen(types_g2[i].type) == o->type.len &&
		    !memcmp(types_g2[i].type, o->type.p, o->type.len))
			return (struct mz_kmap_text){as, strlen(as)};
	}
	return o->type;
}

/* Our kernel's escapes stay; what would break the line is escaped the same way. */
static char *put_escaped(char *p, struct mz_kmap_text t)
{
	for (size_t i = 0; i < t.len; i++) {
		unsigned char c = (unsigned char)t.p[i];

		if (c >= 0x20 && c < 0x7f && c != ',') {
			*p++ = (char)c;
			continue;
		}
		*p++ = '\\';
		*p++ = 'x';
		*p++ = "0123456789abcdef"[c >> 4];
		*p++ = "0123456789abcdef"[c & 15];
	}
	return p;
}

size_t mz_kmap_format_g2(char *buf, const struct mz_kmap_record *rec)
{
	char *p = buf;

	switch (rec->kind) {
	case MZ_KMAP_OBJECT:
		p = put_head(p, &rec->object, false);
		p = put_text(p, type_g2(&rec->object));
		*p++ = ',';
		p = put_escaped(p, rec->object.comm);
		*p++ = ',';
		p = put_escaped(p, rec->object.cache);
		break;
	case MZ_KMAP_ACCESS:
		p = put_access(p,
			       &(struct mz_kmap_access){.ip = rec->access.ip,
							.writes = rec->access.writes,
							.reads = rec->access.reads,
							.fields = 3},
			       false);
		break;
	case MZ_KMAP_CALL: p = put_call(p, &rec->call); break;
	case MZ_KMAP_OTHER: break;
	}
	return (size_t)(p - buf);
}
