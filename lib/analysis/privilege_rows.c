// SPDX-License-Identifier: BSD-2-Clause
/* Make the rows of the published measures from the privilege sets of the bounds and of cuts. */
#include "analysis/privilege_rows.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

/* Reads, writes and frees act on data; calls and returns act on code. */
#define DATA (1u << MZ_CODE_OP_READ | 1u << MZ_CODE_OP_WRITE | 1u << MZ_CODE_OP_FREE)
#define ALL  ((1u << MZ_CODE_OPS) - 1)

const char *mz_privilege_sum_name(int sum)
{
	static const char *const names[MZ_SUMS] = {"read", "write", "call", "return",
						   "free", "data",  "total"};

	return names[sum];
}

unsigned mz_privilege_sum_ops(int sum)
{
	return sum < MZ_CODE_OPS ? 1u << sum : sum == MZ_SUM_DATA ? DATA : ALL;
}

/* The caller has filled the single operations. Each is a sum of products that may be near 2^64, so
 * the addition of them is checked as well. */
static void sum_up(struct mz_privilege *p, uint64_t ps[MZ_SUMS])
{
	ps[MZ_SUM_DATA] = ps[MZ_CODE_OP_READ];
	p->overflow |=
		__builtin_add_overflow(ps[MZ_SUM_DATA], ps[MZ_CODE_OP_WRITE], &ps[MZ_SUM_DATA]);
	p->overflow |=
		__builtin_add_overflow(ps[MZ_SUM_DATA], ps[MZ_CODE_OP_FREE], &ps[MZ_SUM_DATA]);
	p->overflow |=
		__builtin_add_overflow(ps[MZ_SUM_DATA], ps[MZ_CODE_OP_CALL], &ps[MZ_SUM_TOTAL]);
	p->overflow |=
		__builtin_add_overflow(ps[MZ_SUM_TOTAL], ps[MZ_CODE_OP_RETURN], &ps[MZ_SUM_TOTAL]);
}

/* A division by nothing is nothing, as the published scripts print it. */
static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

/* The least privilege is what the runs did, so what the map does not record is unknown there;
 * returns alone are in no map, and their number comes from the table of functions. The greatest
 * needs the sizes of the objects and what the table counts, and no accesses. */
void mz_privilege_bounds(struct mz_privilege *p, struct mz_privilege_bounds *b)
{
	b->mono_missing = p->missing;
	b->min_missing = p->unseen | (p->missing & 1u << MZ_CODE_OP_RETURN);
	mz_privilege_mono(p, false, false, b->mono);
	sum_up(p, b->mono);
	mz_privilege_min(p, b->min);
	sum_up(p, b->min);
}

/* Each figure is known if every operation of the sum is known on both sides: a sum without one of
 * its parts would look like a small privilege. */
struct mz_privilege_measures mz_privilege_measure(const struct mz_privilege_bounds *b,
						  const struct mz_privilege_row *r, int sum)
{
	struct mz_privilege_measures m = {0};
	unsigned ops = mz_privilege_sum_ops(sum);

	m.known = !(r->missing & ops);
	m.ratio = m.known && !(b->mono_missing & ops);
	m.margin = m.ratio && !(b->min_missing & ops);
	m.pm = (int64_t)(r->ps[sum] - b->min[sum]);
	m.psr = ratio((double)r->ps[sum], (double)b->mono[sum]);
	m.pmr1 = ratio((double)m.pm, (double)b->mono[sum]);
	m.pmr2 = ratio((double)m.pm, (double)b->min[sum]);
	return m;
}

/* ---- rows ------------------------------------------------------------------------------- */

/* After an overflow the sums are wrong, so no row with them leaves this file. */
static void put_row(struct mz_privilege *p, struct mz_privilege_row *r, mz_privilege_put *put,
		    void *arg)
{
	sum_up(p, r->ps);
	if (!p->overflow)
		put(arg, r);
}

void mz_privilege_bound_rows(struct mz_privilege *p, const struct mz_privilege_bounds *b,
			     mz_privilege_put *put, void *arg)
{
	struct mz_privilege_row r = {
		.cut = "min", .links = "", .missing = b->min_missing, .ecr = -1};

	memcpy(r.ps, b->min, sizeof(r.ps));
	put_row(p, &r, put, arg);
	/* the two bits of i are the four variants: with W^X, and without dead code */
	for (int i = 0; i < 4; i++) {
		struct mz_privilege_row mono = {.cut = "mono",
						.links = "",
						.wx = i & 1,
						.live = i & 2,
						.missing = b->mono_missing,
						.ecr = -1};

		mz_privilege_mono(p, mono.wx, mono.live, mono.ps);
		put_row(p, &mono, put, arg);
	}
}

/* Without W^X what is read can be called: calls need the accesses too. */
static unsigned missing_of(const struct mz_privilege *p, enum mz_links links, bool wx)
{
	unsigned missing = p->missing | p->unseen;

	if (links == MZ_LINKS_ALLOCATOR && mz_privilege_no_owners(p))
		return ALL;
	if (!wx && p->unseen >> MZ_CODE_OP_READ & 1)
		missing |= 1u << MZ_CODE_OP_CALL | 1u << MZ_CODE_OP_RETURN;
	return missing;
}

/* What a domain reaches depends on the links alone, and takes a pass over all edges. The four
 * variants of each kind of links share it. */
int mz_privilege_cut_rows(struct mz_privilege *p, const struct mz_cut *c, const char *name,
			  mz_privilege_put *put, void *arg)
{
	static const char *const link_names[MZ_LINKS] = {"unmediated", "mediated", "one-unmediated",
							 "allocator-owner"};

	for (int links = 0; links < MZ_LINKS; links++) {
		struct mz_reach r;
		int ret = mz_reach_init(&r, p, c, (enum mz_links)links);

		for (int i = 0; i < 4 && !ret; i++) {
			struct mz_privilege_row row = {
				.cut = name,
				.links = link_names[links],
				.domains = c->n,
				.wx = i & 1,
				.live = i & 2,
				.missing = missing_of(p, (enum mz_links)links, i & 1),
				.ecr = r.calls ? ratio((double)r.calls_across, (double)r.calls)
					       : -1};

			mz_privilege_ps(p, &r, row.wx, row.live, row.ps);
			put_row(p, &row, put, arg);
		}
		mz_reach_deinit(&r);
		if (ret)
			return ret;
	}
	return 0;
}

int mz_privilege_too_large(struct mz_error *err)
{
	return mz_fail(err, ERANGE,
		       "the sizes of this map are too large: a privilege set exceeds 64 bits");
}

/* ---- a table ------------------------------------------------------------------------------ */

struct table {
	struct mz_result_table *t;
	struct mz_privilege_bounds bounds;
};

/* A row whose ratio is not known is left out, so that no cell is taken for a measurement. */
static void put_cells(void *arg, const struct mz_privilege_row *r)
{
	struct table *to = arg;

	for (int sum = 0; sum < MZ_SUMS; sum++) {
		struct mz_privilege_measures m = mz_privilege_measure(&to->bounds, r, sum);
		union mz_result_cell *row = m.ratio ? mz_result_row(to->t) : NULL;

		if (!row)
			continue;
		mz_result_text(to->t, &row[0], r->cut);
		mz_result_text(to->t, &row[1], r->links);
		row[2].number = r->wx;
		row[3].number = r->live;
		row[4].number = r->domains;
		mz_result_text(to->t, &row[5], mz_privilege_sum_name(sum));
		row[6].number = r->ps[sum];
		row[7].share = m.psr;
	}
}

int mz_privilege_table(struct mz_privilege *p, enum mz_cut_level level, struct mz_result_table *t,
		       struct mz_error *err)
{
	static const struct mz_result_column columns[] = {
		{"cut", "cut", MZ_RESULT_TEXT},		 {"links", "links", MZ_RESULT_TEXT},
		{"wx", "W^X", MZ_RESULT_COUNT},		 {"live", "live", MZ_RESULT_COUNT},
		{"domains", "domains", MZ_RESULT_COUNT}, {"op", "operation", MZ_RESULT_TEXT},
		{"ps", "PS", MZ_RESULT_COUNT},		 {"psr", "PSR", MZ_RESULT_SHARE},
	};
	struct table to = {.t = t};
	struct mz_cut c = {0};
	int ret;

	mz_result_init(t, "privilege", "Privilege sets", columns,
		       sizeof(columns) / sizeof(*columns));
	mz_privilege_bounds(p, &to.bounds);
	mz_privilege_bound_rows(p, &to.bounds, put_cells, &to);
	ret = mz_cut_by(&c, p->f, level);
	if (!ret)
		ret = mz_privilege_cut_rows(p, &c, mz_cut_level_name(level), put_cells, &to);
	mz_cut_deinit(&c);
	if (ret < 0)
		return mz_fail_memory(err);
	return p->overflow ? mz_privilege_too_large(err) : 0;
}
