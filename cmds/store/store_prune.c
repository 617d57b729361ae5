// SPDX-License-Identifier: BSD-2-Clause
/* Remove old recordings from a store. */
#include "store/prune.h"

#include "base/json.h"
#include "cmds/store/store.h"

static void tell(const struct store_opts *o, const struct mz_store_pruned *p)
{
	struct mz_buf b = {0};
	struct mz_json w = {.out = &b};
	char n[32], rows[32], left[32];

	if (!o->json) {
		printf("%s %s recordings with %s stacks; %s are left\n",
		       o->dry_run ? "would remove" : "removed", console_count(n, p->recordings),
		       console_count(rows, p->rows), console_count(left, p->left));
		return;
	}
	mz_json_object(&w, NULL);
	mz_json_bool(&w, "dry_run", o->dry_run);
	mz_json_u64(&w, "removed", p->recordings);
	mz_json_u64(&w, "rows", p->rows);
	mz_json_u64(&w, "left", p->left);
	mz_json_end_object(&w);
	console_put(&b, stdout);
}

int store_prune(const struct store_opts *o, const char *store)
{
	struct mz_store_pruning how = {.of = {.program = o->program,
					      .revision = o->revision,
					      .host = o->host,
					      .labels = o->labels.value,
					      .nlabels = o->labels.n},
				       .keep = o->keep,
				       .dry_run = o->dry_run,
				       .now = store_now()};
	struct mz_store_pruned pruned = {0};
	struct mz_error err = {0};
	struct mz_store s;
	int ret;

	if (!o->older)
		return console_usage("prune needs --older: a date, or a number of days (365d)");
	if (!store_time(o->older, &how.before))
		return console_usage("--older: '%s' is not a time", o->older);
	ret = mz_store_open(&s, store, o->credentials, false, &err);
	if (!ret)
		ret = mz_store_prune(&s, &how, &pruned, &err);
	mz_store_close(&s);
	if (ret)
		return console_error(&err);
	tell(o, &pruned);
	return MZ_EXIT_OK;
}
