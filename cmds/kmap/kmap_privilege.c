// SPDX-License-Identifier: BSD-2-Clause
/* Print the privilege measures of a KMAP for its cuts, as text, JSON or CSV. */
#include <inttypes.h>
#include <string.h>

#include "analysis/privilege_rows.h"
#include "base/csv.h"
#include "base/error.h"
#include "base/json.h"
#include "cmds/kmap/kmap_opts.h"

struct privilege_out {
	const struct kmap_opts *o;
	struct kmap_load l;
	struct mz_privilege_bounds bounds;
	struct mz_buf b;
	struct mz_json j;
};

/* ---- printing ---------------------------------------------------------------------------------
 */

static void label(const struct mz_privilege_row *r, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s%s%s", r->cut, *r->links ? " " : "", r->links,
		 r->wx ? " W^X" : "", r->live ? " live" : "");
}

#define WIDTH 16

static void text_number(const struct mz_privilege_row *r, int sum)
{
	if (r->missing & mz_privilege_sum_ops(sum))
		printf(" %*s", WIDTH, "-");
	else
		printf(" %*" PRIu64, WIDTH, r->ps[sum]);
}

static void text_head(void)
{
	printf("%-36s %8s", "privilege set", "domains");
	for (int i = 0; i < MZ_SUMS; i++)
		printf(" %*s", WIDTH, mz_privilege_sum_name(i));
	printf(" %10s %10s %*s %10s %10s %8s\n", "PSR", "PSR data", WIDTH, "PM", "PMR1", "PMR2",
	       "ECR");
}

static void text_ratio(bool known, int width, int digits, double v)
{
	if (known)
		printf(" %*.*f", width, digits, v);
	else
		printf(" %*s", width, "-");
}

static void text_row(const struct privilege_out *t, const struct mz_privilege_row *r)
{
	struct mz_privilege_measures all = mz_privilege_measure(&t->bounds, r, MZ_SUM_TOTAL),
				     data = mz_privilege_measure(&t->bounds, r, MZ_SUM_DATA);
	char name[160], domains[24] = "";

	label(r, name, sizeof(name));
	if (r->domains)
		snprintf(domains, sizeof(domains), "%" PRIu64, r->domains);
	printf("%-36s %8s", name, domains);
	for (int i = 0; i < MZ_SUMS; i++)
		text_number(r, i);
	text_ratio(all.ratio, 10, 7, all.psr);
	text_ratio(data.ratio, 10, 7, data.psr);
	if (all.margin)
		printf(" %*" PRId64, WIDTH, all.pm);
	else
		printf(" %*s", WIDTH, "-");
	text_ratio(all.margin, 10, 7, all.pmr1);
	text_ratio(all.margin, 10, 1, all.pmr2);
	text_ratio(r->ecr >= 0, 8, 5, r->ecr);
	putchar('\n');
}

static void csv_head(void)
{
	puts("cut,links,wx,live,domains,op,ps,psr,pm,pmr1,pmr2,ecr");
}

static void csv_row(const struct privilege_out *t, const struct mz_privilege_row *r)
{
	struct mz_buf cut = {0};

	mz_csv_add(&cut, r->cut, strlen(r->cut));
	for (int i = 0; i < MZ_SUMS && !cut.failed; i++) {
		struct mz_privilege_measures m = mz_privilege_measure(&t->bounds, r, i);

		printf("%.*s,%s,%d,%d,%" PRIu64 ",%s,", (int)cut.len, cut.data, r->links, r->wx,
		       r->live, r->domains, mz_privilege_sum_name(i));
		if (m.known)
			printf("%" PRIu64, r->ps[i]);
		putchar(',');
		if (m.ratio)
			printf("%.10g", m.psr);
		if (m.margin)
			printf(",%" PRId64 ",%.10g,%.10g,", m.pm, m.pmr1, m.pmr2);
		else
			printf(",,,,");
		if (r->ecr >= 0)
			printf("%.5f", r->ecr);
		putchar('\n');
	}
	mz_buf_free(&cut);
}

static void json_measures(struct mz_json *j, const struct privilege_out *t,
			  const struct mz_privilege_row *r, int sum)
{
	struct mz_privilege_measures m = mz_privilege_measure(&t->bounds, r, sum);

	mz_json_object(j, mz_privilege_sum_name(sum));
	if (!m.known) {
		mz_json_null(j, "ps");
		mz_json_end_object(j);
		return;
	}
	mz_json_u64(j, "ps", r->ps[sum]);
	if (m.ratio)
		mz_json_double(j, "psr", m.psr);
	if (m.margin) {
		mz_json_i64(j, "pm", m.pm);
		mz_json_double(j, "pmr1", m.pmr1);
		mz_json_double(j, "pmr2", m.pmr2);
	}
	mz_json_end_object(j);
}

static void json_row(struct privilege_out *t, const struct mz_privilege_row *r)
{
	struct mz_json *j = &t->j;

	mz_json_object(j, NULL);
	mz_json_str(j, "cut", r->cut);
	if (*r->links)
		mz_json_str(j, "links", r->links);
	mz_json_bool(j, "wx", r->wx);
	mz_json_bool(j, "live", r->live);
	if (r->domains)
		mz_json_u64(j, "domains", r->domains);
	for (int i = 0; i < MZ_SUMS; i++)
		json_measures(j, t, r, i);
	if (r->ecr >= 0)
		mz_json_double(j, "ecr", r->ecr);
	mz_json_end_object(j);
}

static void put(void *arg, const struct mz_privilege_row *r)
{
	struct privilege_out *t = arg;

	if (t->o->json)
		json_row(t, r);
	else if (t->o->csv)
		csv_row(t, r);
	else
		text_row(t, r);
}

/* ---- all rows ------------------------------------------------------------------------------ */

static void put_bounds(struct privilege_out *t)
{
	mz_privilege_bounds(&t->l.p, &t->bounds);
	mz_privilege_bound_rows(&t->l.p, &t->bounds, put, t);
}

static int put_levels(struct privilege_out *t, struct mz_error *err)
{
	for (int i = 0; i < MZ_CUT_LEVELS; i++) {
		const char *name = mz_cut_level_name((enum mz_cut_level)i);
		struct mz_cut c;
		int ret;

		if (t->o->by_name ? strcmp(t->o->by_name, name) != 0 : t->o->cut != NULL)
			continue;
		ret = mz_cut_by(&c, t->l.p.f, (enum mz_cut_level)i);
		if (!ret)
			ret = mz_privilege_cut_rows(&t->l.p, &c, name, put, t);
		mz_cut_deinit(&c);
		if (ret)
			return mz_fail_memory(err);
	}
	return 0;
}

static int put_file(struct privilege_out *t, struct mz_error *err)
{
	struct mz_cut c;
	int ret = mz_cut_read(&c, &t->l.p, t->o->cut, err);

	if (ret >= 0 && c.unassigned)
		console_note("%s: %llu functions are missing: they form one domain", t->o->cut,
			     (unsigned long long)c.unassigned);
	if (ret >= 0 && c.unknown)
		console_note("%s: %llu of its names belong to no function", t->o->cut,
			     (unsigned long long)c.unknown);
	if (ret >= 0 && mz_privilege_cut_rows(&t->l.p, &c, t->o->cut, put, t) < 0)
		ret = mz_fail_memory(err);
	mz_cut_deinit(&c);
	return ret;
}

static void json_head(struct privilege_out *t)
{
	const struct mz_privilege *p = &t->l.p;
	struct mz_json *j = &t->j;

	*j = (struct mz_json){.out = &t->b};
	mz_json_object(j, NULL);
	mz_json_u64(j, "maps", p->u->n_runs);
	mz_json_u64(j, "functions", p->f->n);
	mz_json_u64(j, "live_functions", p->live_functions);
	mz_json_u64(j, "objects", p->objects);
	mz_json_u64(j, "data_bytes", p->data);
	mz_json_u64(j, "code_bytes", p->code);
	mz_json_array(j, "missing");
	for (int op = 0; op < MZ_CODE_OPS; op++)
		if ((p->missing | p->unseen) >> op & 1)
			mz_json_str(j, NULL, mz_privilege_sum_name(op));
	mz_json_end_array(j);
	mz_json_object(j, "left_out");
	mz_json_u64(j, "unknown_accesses", p->unknown_edges);
	mz_json_u64(j, "unknown_calls", p->unknown_calls);
	mz_json_u64(j, "module_accesses", p->module_edges);
	mz_json_u64(j, "module_calls", p->module_calls);
	mz_json_u64(j, "module_objects", p->module_objects);
	mz_json_u64(j, "dropped_objects", p->u->dropped);
	mz_json_end_object(j);
	mz_json_object(j, "modules");
	mz_json_u64(j, "loaded", p->f->modules.loaded);
	mz_json_u64(j, "no_file", p->f->modules.no_file);
	mz_json_u64(j, "unreadable", p->f->modules.unreadable);
	mz_json_u64(j, "unplaced", p->f->modules.unplaced);
	mz_json_u64(j, "not_counted", p->f->modules_plain);
	mz_json_end_object(j);
	mz_json_object(j, "owners");
	mz_json_u64(j, "sites", p->owners.sites);
	mz_json_u64(j, "sites_without", p->owners.sites_without);
	mz_json_u64(j, "variables", p->owners.variables);
	mz_json_u64(j, "variables_without", p->owners.variables_without);
	mz_json_end_object(j);
	mz_json_array(j, "privilege");
}

/* The limits of the figures are reported, once for each reason. */
static void note_missing(const struct mz_privilege *p)
{
	if (p->unseen >> MZ_CODE_OP_CALL & 1)
		console_note(
			"the map has no calls: call, return and total are not known; 'data' is "
			"the sum of read, write and free");
	if (p->unseen >> MZ_CODE_OP_READ & 1)
		console_note("the map has no accesses: it was recorded without counting them");
	for (int op = 0; op < MZ_CODE_OPS; op++)
		if (p->missing >> op & 1)
			console_note("the functions have no count of '%s' instructions",
				     mz_privilege_sum_name(op));
}

/* Objects without an owner are open to no domain; if there are only such objects, there is no
 * figure. */
static void note_owners(const struct mz_privilege_owners *o, bool none)
{
	if (none)
		console_note("'allocator-owner' needs the source files of variables, which are not "
			     "known; name the kernel's vmlinux, System.map.files or global_table "
			     "with --symbols");
	else if (o->variables_without || o->sites_without)
		console_note(
			"allocator-owner: without an owner: %llu of %llu variables (no function "
			"is in their file), %llu of %llu allocation sites (in no function)",
			(unsigned long long)o->variables_without, (unsigned long long)o->variables,
			(unsigned long long)o->sites_without, (unsigned long long)o->sites);
}

static int put_all(struct privilege_out *t, struct mz_error *err)
{
	int ret;

	note_missing(&t->l.p);
	note_owners(&t->l.p.owners, mz_privilege_no_owners(&t->l.p));
	if (t->o->json)
		json_head(t);
	else if (t->o->csv)
		csv_head();
	else
		text_head();
	put_bounds(t);
	ret = put_levels(t, err);
	if (ret >= 0 && t->o->cut)
		ret = put_file(t, err);
	if (t->o->json) {
		mz_json_end_array(&t->j);
		mz_json_end_object(&t->j);
	}
	if (ret >= 0 && t->l.p.overflow)
		ret = mz_privilege_too_large(err);
	if (ret >= 0 && t->b.failed)
		ret = mz_fail_memory(err);
	if (ret >= 0 && t->b.len)
		fwrite(t->b.data, 1, t->b.len, stdout);
	return ret;
}

static bool is_level(const char *name)
{
	for (int i = 0; i < MZ_CUT_LEVELS; i++)
		if (!strcmp(name, mz_cut_level_name((enum mz_cut_level)i)))
			return true;
	return false;
}

int kmap_privilege(const struct kmap_opts *o, int argc, char **argv)
{
	struct privilege_out t = {.o = o};
	struct mz_error err = {0};
	int ret;

	if (o->json && o->csv)
		return console_usage("--json or --csv, not both");
	if (o->by_name && !is_level(o->by_name))
		return console_usage("--by takes topdir, dir, file or function; not '%s'",
				     o->by_name);
	ret = kmap_load(&t.l, o, argc, argv, &err);
	if (ret >= 0)
		ret = put_all(&t, &err);
	kmap_load_free(&t.l);
	mz_buf_free(&t.b);
	return ret < 0 ? console_error(&err) : MZ_EXIT_OK;
}
