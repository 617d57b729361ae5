// SPDX-License-Identifier: BSD-2-Clause
/* Write a cut of a kernel as a table of its functions, its objects and the accesses that it
 * allows. */
#include <string.h>

#include "base/buf.h"
#include "base/csv.h"
#include "base/error.h"
#include "export/privilege.h"

struct cut_rows {
	struct mz_output *out;
	struct mz_buf b;
	struct mz_error *err;
};

static int put_row(struct cut_rows *t, const char *kind, const char *name, const char *file,
		   const char *domain)
{
	t->b.len = 0;
	mz_buf_printf(&t->b, "%s,", kind);
	mz_csv_add(&t->b, name, strlen(name));
	mz_buf_str(&t->b, ",");
	mz_csv_add(&t->b, file, strlen(file));
	mz_buf_str(&t->b, ",");
	mz_csv_add(&t->b, domain, strlen(domain));
	mz_buf_str(&t->b, "\n");
	if (t->b.failed)
		return mz_fail_memory(t->err);
	return mz_output_add(t->out, t->b.data, t->b.len, t->err);
}

static const char *letters(const struct mz_union_edge *e, char out[4])
{
	char *p = out;

	if (e->reads)
		*p++ = 'r';
	if (e->writes)
		*p++ = 'w';
	if (e->frees)
		*p++ = 'f';
	*p = '\0';
	return out;
}

static int put_rows(struct cut_rows *t, const struct mz_privilege *p, const struct mz_cut *c)
{
	char id[320], ops[4];
	int ret = mz_output_add(t->out, "kind,name,file,domain\n", 22, t->err);

	for (size_t i = 0; i < p->f->n && ret >= 0; i++)
		if (p->live[i])
			ret = put_row(t, "function",
				      mz_functions_text(p->f, p->f->functions[i].name),
				      mz_functions_text(p->f, p->f->functions[i].file),
				      mz_cut_name(c, c->function[i]));
	for (uint32_t i = 0; i < p->u->n_objects && ret >= 0; i++)
		if (c->owner[i] != UINT32_MAX)
			ret = put_row(t, "object", mz_union_object_id(p->u, i, id, sizeof(id)), "",
				      mz_cut_name(c, c->owner[i]));
	/* crossings that occurred in the run: the policy allows them */
	for (size_t i = 0; i < p->u->n_edges && ret >= 0; i++) {
		const struct mz_union_edge *e = &p->u->edges[i];

		if (p->accessor[i] == MZ_FUNCTION_NONE ||
		    mz_union_is_open(p->u->objects[e->object].kind) ||
		    c->owner[e->object] == c->function[p->accessor[i]])
			continue;
		ret = put_row(t, "access", mz_union_object_id(p->u, e->object, id, sizeof(id)),
			      letters(e, ops), mz_cut_name(c, c->function[p->accessor[i]]));
	}
	return ret;
}

int mz_export_cut(const struct mz_privilege *p, const struct mz_cut *c, struct mz_output *out,
		  struct mz_error *err)
{
	struct cut_rows t = {.out = out, .err = err};
	int ret = put_rows(&t, p, c);

	mz_buf_free(&t.b);
	return ret;
}
