/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the verb `store` share. */
#ifndef MZ_CMDS_STORE_STORE_H
#define MZ_CMDS_STORE_STORE_H

#include "cmds/cmd.h"
#include "store/questions.h"

struct store_opts {
	uint64_t given;
	const char *program, *revision, *host;
	struct mz_opt_list labels;
	const char *time, *since, *until;
	const char *by, *metric, *credentials, *spool, *symbols;
	struct mz_opt_list fail_if;
	double chance, least;
	uint64_t history, tries;
	const char *older;
	uint64_t keep;
	bool dry_run;
	struct mz_opt_limit limit;
	bool json, csv;
};

/* The tasks of `store`; the bits of the options' scopes. */
enum store_what {
	STORE_ADD = 1 << 0,
	STORE_LIST = 1 << 1,
	STORE_TOP = 1 << 2,
	STORE_TREND = 1 << 3,
	STORE_DIFF = 1 << 4,
	STORE_REGRESSIONS = 1 << 5,
	STORE_GATE = 1 << 6,
	STORE_PRUNE = 1 << 7,
};

extern const struct mz_cmd cmd_store;

/* args: what follows the store. Each returns the exit status. */
int store_add(const struct store_opts *o, const char *store, int argc, char **argv);
int store_ask(enum store_what what, const struct store_opts *o, const char *store, int argc,
	      char **argv);
int store_prune(const struct store_opts *o, const char *store);

/* "2026-03-01", "2026-03-01T12:00:00" in UTC, with "Z" or "+02:00" behind it, seconds since
 * 1970, or "30d" ago. In ms since 1970, never 0; false: it is not a time. */
bool store_time(const char *text, uint64_t *time);
uint64_t store_now(void);

#endif
