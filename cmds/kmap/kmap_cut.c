// SPDX-License-Identifier: BSD-2-Clause
/* Find a cut of a kernel into domains, compare it, write it, or check a run against one. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/privilege_cluster.h"
#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "cmds/kmap/kmap_opts.h"
#include "cmds/table_print.h"
#include "export/privilege.h"

#define TEXT_ROWS 20
#define POINTS	  24 /* of the trade-off curve */

static int write_cut(const struct kmap_opts *o, const struct mz_privilege *p,
		     const struct mz_cut *c, struct mz_error *err)
{
	struct mz_output out;
	int ret = mz_output_open(&out, o->output, o->force, err);

	return ret < 0 ? ret : mz_output_end(&out, mz_export_cut(p, c, &out, err), err);
}

/* ---- showing -------------------------------------------------------------------------------- */

static int by_code(const void *a, const void *b)
{
	const struct mz_cut_domain *x = a, *y = b;

	return MZ_ORDER(y->code + y->data, x->code + x->data) ?: MZ_ORDER(x->number, y->number);
}

static void text_price(const char *name, const struct mz_cut_price *p)
{
	char a[32], b[32];

	printf("%-12s %8u domains  PSR %.7f  cost %.6g cycles  %s of %s accesses", name, p->domains,
	       p->psr, p->cost, console_count(a, p->accesses), console_count(b, p->all_accesses));
	if (p->all_calls)
		printf(" and %s of %s calls", console_count(a, p->calls),
		       console_count(b, p->all_calls));
	printf(" cross\n");
}

static void text_domains(const struct kmap_opts *o, const struct mz_privilege *p,
			 const struct mz_cut *c, const struct mz_cut_domain *d)
{
	size_t rows = options_limit(&o->limit, TEXT_ROWS), shown = 0, all = 0;

	printf("\n%-10s %10s %12s %10s %12s  %s\n", "domain", "functions", "code bytes", "objects",
	       "data bytes", "largest function");
	for (uint32_t i = 0; i < c->n; i++) {
		char name[160] = "";

		if (!d[i].functions)
			continue;
		all++;
		if (rows && shown >= rows)
			continue;
		shown++;
		console_text(name, sizeof(name),
			     mz_functions_text(p->f, p->f->functions[d[i].largest].name));
		printf("%-10s %10" PRIu64 " %12" PRIu64 " %10" PRIu64 " %12" PRIu64 "  %s\n",
		       mz_cut_name(c, d[i].number), d[i].functions, d[i].code, d[i].objects,
		       d[i].data, name);
	}
	if (all > shown)
		printf("... and %zu more (--limit 0 shows all)\n", all - shown);
}

static void json_members(struct mz_json *j, const struct mz_privilege *p, const struct mz_cut *c,
			 uint32_t domain)
{
	char id[320];

	mz_json_array(j, "functions");
	for (uint32_t i = 0; i < p->f->n; i++)
		if (p->live[i] && c->function[i] == domain)
			mz_json_str(j, NULL, mz_functions_text(p->f, p->f->functions[i].name));
	mz_json_end_array(j);
	mz_json_array(j, "objects");
	for (uint32_t i = 0; i < p->u->n_objects; i++)
		if (c->owner[i] == domain)
			mz_json_str(j, NULL, mz_union_object_id(p->u, i, id, sizeof(id)));
	mz_json_end_array(j);
}

static void json_domains(const struct kmap_opts *o, struct mz_json *j, const struct mz_privilege *p,
			 const struct mz_cut *c, const struct mz_cut_domain *d)
{
	size_t rows = options_limit(&o->limit, 0), shown = 0;

	mz_json_array(j, "members");
	for (uint32_t i = 0; i < c->n; i++) {
		if (!d[i].functions || (rows && shown >= rows))
			continue;
		shown++;
		mz_json_object(j, NULL);
		mz_json_str(j, "domain", mz_cut_name(c, d[i].number));
		mz_json_u64(j, "code_bytes", d[i].code);
		mz_json_u64(j, "data_bytes", d[i].data);
		json_members(j, p, c, d[i].number);
		mz_json_end_object(j);
	}
	mz_json_end_array(j);
}

struct result {
	struct mz_cluster k;
	struct mz_cut_price price, base;
	bool has_base;
};

static int json_result(const struct kmap_opts *o, const struct mz_privilege *p,
		       const struct result *r, const struct mz_cut_domain *d)
{
	struct mz_buf b = {0};
	struct mz_json j = {.out = &b};

	mz_json_object(&j, NULL);
	mz_cut_price_json(&r->price, "cut", &j);
	if (r->has_base)
		mz_cut_price_json(&r->base, "baseline", &j);
	mz_json_u64(&j, "refined", r->k.moved);
	mz_json_array(&j, "curve");
	for (size_t i = 0; i < r->k.n_curve; i++) {
		mz_json_object(&j, NULL);
		mz_json_u64(&j, "domains", r->k.curve[i].domains);
		mz_json_double(&j, "cost", r->k.curve[i].cost);
		mz_json_double(&j, "psr", mz_cut_psr(&r->price, r->k.curve[i].ps));
		mz_json_end_object(&j);
	}
	mz_json_end_array(&j);
	json_domains(o, &j, p, &r->k.cut, d);
	mz_json_end_object(&j);
	return console_put(&b, stdout);
}

static int show(const struct kmap_opts *o, const struct mz_privilege *p, const struct result *r,
		struct mz_error *err)
{
	struct mz_cut_domain *d = mz_cut_domains(p, &r->k.cut, by_code);
	int ret = d ? 0 : -ENOMEM;

	if (!ret && o->json) {
		ret = json_result(o, p, r, d);
	} else if (!ret) {
		text_price("cut", &r->price);
		if (r->has_base)
			text_price(o->baseline, &r->base);
		text_domains(o, p, &r->k.cut, d);
	}
	free(d);
	return ret < 0 ? mz_fail_memory(err) : 0;
}

/* ---- making it --------------------------------------------------------------------------------
 */

/* The caller frees base. */
static int weigh_baseline(const struct kmap_opts *o, struct mz_privilege *p,
			  const struct mz_cluster_options *co, struct mz_cut *base,
			  struct mz_cut_price *price, struct mz_error *err)
{
	int ret = 1;

	for (int i = 0; i < MZ_CUT_LEVELS && ret > 0; i++)
		if (!strcmp(o->baseline, mz_cut_level_name((enum mz_cut_level)i)))
			ret = mz_cut_by(base, p->f, (enum mz_cut_level)i) < 0 ? mz_fail_memory(err)
									      : 0;
	if (ret > 0)
		ret = mz_cut_read(base, p, o->baseline, err);
	if (ret >= 0 && mz_cut_weigh(p, base, co, price) < 0)
		ret = mz_fail_memory(err);
	return ret;
}

static void note(const struct mz_privilege *p)
{
	if (p->unseen >> MZ_CODE_OP_CALL & 1)
		console_note(
			"the map has no calls: only accesses across domains are counted, and PSR "
			"covers read, write and free only");
}

static int make(const struct kmap_opts *o, struct kmap_load *l, struct mz_error *err)
{
	struct mz_cluster_options co = {.domains = (uint32_t)o->domains,
					.budget = o->budget ? (double)o->budget : -1,
					.points = POINTS};
	struct result r = {0};
	struct mz_cut base = {0};
	int ret = mz_cut_costs(&co, o->weights, o->mechanism, err);

	if (ret >= 0 && o->baseline) {
		ret = weigh_baseline(o, &l->p, &co, &base, &r.base, err);
		r.has_base = true;
		/* without other limits, the cut must not cost more than the baseline */
		if (co.budget < 0 && !co.domains) {
			co.budget = r.base.cost;
			co.start = &base;
		}
	}
	if (ret >= 0 && (mz_cluster_init(&r.k, &l->p, &co) < 0 ||
			 mz_cut_weigh(&l->p, &r.k.cut, &co, &r.price) < 0))
		ret = mz_fail_memory(err);
	if (ret >= 0 && l->p.overflow)
		ret = mz_fail(err, ERANGE, "the sizes of this map are too large");
	if (ret >= 0 && o->output)
		ret = write_cut(o, &l->p, &r.k.cut, err);
	if (ret >= 0)
		ret = show(o, &l->p, &r, err);
	mz_cluster_deinit(&r.k);
	mz_cut_deinit(&base);
	return ret;
}

/* ---- another run
 * ---------------------------------------------------------------------------------- */

static void text_denials(const struct mz_cut_denials *d, const struct mz_result_table *a,
			 size_t rows)
{
	char x[32], y[32];

	printf("%s of %s accesses would be denied\n", console_count(x, d->denied),
	       console_count(y, d->accesses));
	printf("  %s by functions that the cut does not name\n", console_count(x, d->functions));
	printf("  %s to objects that the cut does not name\n", console_count(x, d->objects));
	printf("  %s to objects of other domains\n", console_count(x, d->crossings));
	printf("  %s in a way that is not allowed\n\n", console_count(x, d->operations));
	answer_text(a, rows);
}

static void json_denials(const struct mz_cut_denials *d, const struct mz_result_table *a,
			 size_t rows)
{
	struct mz_buf b = {0};
	struct mz_json j = {.out = &b};

	mz_json_object(&j, NULL);
	mz_json_u64(&j, "accesses", d->accesses);
	mz_json_u64(&j, "denied_accesses", d->denied);
	mz_json_u64(&j, "by_unknown_functions", d->functions);
	mz_json_u64(&j, "to_unknown_objects", d->objects);
	mz_json_u64(&j, "to_other_domains", d->crossings);
	mz_json_u64(&j, "not_allowed", d->operations);
	mz_json_u64(&j, "calls", d->calls);
	mz_json_u64(&j, "denied_calls", d->denied_calls);
	answer_json(&j, a, rows);
	mz_json_end_object(&j);
	console_put(&b, stdout);
}

static int check(const struct kmap_opts *o, struct kmap_load *l, struct mz_error *err)
{
	struct mz_cut_denials d;
	struct mz_result_table a;
	struct mz_cut c;
	int ret = mz_cut_read(&c, &l->p, o->check, err);
	size_t rows = options_limit(&o->limit, o->json || o->csv ? 0 : TEXT_ROWS);

	if (ret < 0) {
		mz_cut_deinit(&c);
		return ret;
	}
	mz_cut_check(&l->p, &c, &d, &a);
	if (a.failed)
		ret = mz_fail_memory(err);
	else if (o->json)
		json_denials(&d, &a, rows);
	else if (o->csv)
		answer_csv(&a, rows, NULL, true);
	else
		text_denials(&d, &a, rows);
	mz_result_deinit(&a);
	mz_cut_deinit(&c);
	return ret;
}

int kmap_cut(const struct kmap_opts *o, int argc, char **argv)
{
	struct kmap_load l;
	struct mz_error err = {0};
	int ret;

	if (o->csv && !o->check)
		return console_usage("-o FILE writes the cut as CSV");
	if (o->domains > UINT32_MAX)
		return console_usage("--domains is too large");
	if (o->domains && o->budget)
		return console_usage("--domains or --budget, not both");
	ret = kmap_load(&l, o, argc, argv, &err);
	if (ret >= 0)
		note(&l.p);
	if (ret >= 0)
		ret = o->check ? check(o, &l, &err) : make(o, &l, &err);
	kmap_load_free(&l);
	return ret < 0 ? console_error(&err) : MZ_EXIT_OK;
}
