// SPDX-License-Identifier: BSD-2-Clause
/* Compute what a cut costs, and what it leaves to reach. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/privilege_cluster.h"

/* A domain of dead code alone does not count: otherwise a cut would look finer for code that never
 * runs. */
static uint32_t live_domains(const struct mz_privilege *p, const struct mz_cut *c)
{
	bool *seen = calloc(c->n ? c->n : 1, sizeof(*seen));
	uint32_t n = 0;

	for (size_t i = 0; seen && i < p->f->n; i++) {
		n += p->live[i] && !seen[c->function[i]];
		seen[c->function[i]] |= p->live[i];
	}
	free(seen);
	return n;
}

int mz_cut_weigh(struct mz_privilege *p, const struct mz_cut *c, const struct mz_cluster_options *o,
		 struct mz_cut_price *price)
{
	struct mz_cut each = *c;
	uint64_t ps[MZ_CODE_OPS], mono[MZ_CODE_OPS];
	struct mz_reach r;
	int ret;

	/* every object is weighed by itself: a check is made for an object and not for a group */
	each.object = NULL;
	ret = mz_reach_init(&r, p, &each, c->owner ? MZ_LINKS_OWNED : MZ_LINKS_ONE);
	*price = (struct mz_cut_price){0};
	if (!ret) {
		mz_privilege_ps(p, &r, true, true, ps);
		/* the published ratio compares with a monolith that has no W^X and keeps its dead
		 * code */
		mz_privilege_mono(p, false, false, mono);
		*price = (struct mz_cut_price){.cost = o->access * (double)r.accesses_across +
						       o->call * (double)r.calls_across,
					       .calls = r.calls_across,
					       .accesses = r.accesses_across,
					       .all_calls = r.calls,
					       .all_accesses = r.accesses,
					       .ps = mz_privilege_known(p, ps),
					       .mono = mz_privilege_known(p, mono),
					       .domains = live_domains(p, c)};
		price->psr = mz_cut_psr(price, price->ps);
	}
	mz_reach_deinit(&r);
	return ret;
}

void mz_cut_price_json(const struct mz_cut_price *p, const char *key, struct mz_json *out)
{
	mz_json_object(out, key);
	mz_json_u64(out, "domains", p->domains);
	mz_json_double(out, "psr", p->psr);
	mz_json_u64(out, "ps", p->ps);
	mz_json_double(out, "cost", p->cost);
	mz_json_u64(out, "accesses_across", p->accesses);
	mz_json_u64(out, "accesses", p->all_accesses);
	mz_json_u64(out, "calls_across", p->calls);
	mz_json_u64(out, "calls", p->all_calls);
	mz_json_end_object(out);
}
