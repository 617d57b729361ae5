// SPDX-License-Identifier: BSD-2-Clause
/* Parse and check budgets such as "peak > +5%". */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diff_budget.h"
#include "base/error.h"

static const struct {
	const char *name, *value;
} short_names[] = {
	{"peak", "peak_bytes"},	       {"total", "bytes"},    {"live", "live_bytes"},
	{"never_freed", "live_bytes"}, {"objects", "blocks"}, {"never_freed_blocks", "live_blocks"},
};

static bool is(const char *name, const char *s, size_t len)
{
	return strlen(name) == len && !memcmp(name, s, len);
}

/* The short names of budgets come first, then the names of the tables. */
const struct mz_profile_value *mz_budget_value(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(short_names) / sizeof(*short_names); i++)
		if (is(short_names[i].name, name, len))
			return mz_profile_find_value(short_names[i].value);
	for (size_t i = 0; i < mz_profile_nvalues; i++)
		if (is(mz_profile_values[i].name, name, len))
			return &mz_profile_values[i];
	return NULL;
}

static const char *blanks(const char *p)
{
	return p + strspn(p, " \t");
}

static size_t word(const char *p)
{
	return strspn(p, "abcdefghijklmnopqrstuvwxyz_");
}

static int wrong(struct mz_error *err, const char *text, const char *what)
{
	char shown[64];

	return mz_fail(err, EINVAL,
		       "'%s': %s; a budget is METRIC OP VALUE, such as 'peak > +5%%' or "
		       "'live_blocks >= 1000'",
		       mz_printable(shown, sizeof(shown), text, strlen(text)), what);
}

/* The longer operators come first; otherwise >= would be read as >. */
static const char *parse_op(struct mz_budget *b, const char *p)
{
	static const char *const ops[] = {">=", "<=", "==", "!=", ">", "<"};

	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (!strncmp(p, ops[i], strlen(ops[i]))) {
			strcpy(b->op, ops[i]);
			return p + strlen(ops[i]);
		}
	return NULL;
}

/* The number with its sign and unit. */
static const char *parse_limit(struct mz_budget *b, const char *p)
{
	static const char *const units[] = {"%",   "B", "KiB", "MiB", "GiB",
					    "TiB", "K", "M",   "G",   "T"};
	static const double factors[] = {1,	 1,	 0x1p10, 0x1p20, 0x1p30,
					 0x1p40, 0x1p10, 0x1p20, 0x1p30, 0x1p40};
	char *end;

	b->change = *p == '+' || *p == '-';
	if (!strchr("0123456789.", p[b->change]) || !p[b->change])
		return NULL;
	b->limit = strtod(p, &end);
	if (end == p || !isfinite(b->limit))
		return NULL;
	p = blanks(end);
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strncmp(p, units[i], strlen(units[i]))) {
			b->percent = !i;
			b->limit *= factors[i];
			return p + strlen(units[i]);
		}
	return p;
}

/* One option may contain several budgets, separated by commas: text moves behind the one that
 * was parsed. */
int mz_budget_parse(struct mz_budget *b, const char **text, struct mz_error *err)
{
	const char *start = blanks(*text), *p = start;
	size_t len;

	*b = (struct mz_budget){0};
	len = word(p);
	if (is("any", p, len)) {
		b->any = true;
		p = blanks(p + len);
		len = word(p);
	}
	b->value = mz_budget_value(p, len);
	if (!b->value)
		return wrong(err, start,
			     "unknown metric (use peak, total, live, blocks, peak_blocks, "
			     "live_blocks, temporary, waste, reads, writes, ...)");
	p = parse_op(b, blanks(p + len));
	if (!p)
		return wrong(err, start, "an operator is missing: > >= < <= == !=");
	p = parse_limit(b, blanks(p));
	if (!p)
		return wrong(err, start, "a number is missing");
	len = (size_t)(p - start);
	p = blanks(p);
	if (*p && *p != ',')
		return wrong(err, start,
			     "the text after the number is not a unit (%, B, KiB, MiB, GiB, TiB)");
	len = len < sizeof(b->text) ? len : sizeof(b->text) - 1;
	memcpy(b->text, start, len);
	*text = p + (*p == ',');
	return 0;
}

/* A percentage of nothing: growth from 0 exceeds every limit, and no change is within every
 * limit. */
double mz_budget_actual(const struct mz_budget *budget, uint64_t a, uint64_t b)
{
	double of = (double)b;

	if (budget->change)
		of = b >= a ? (double)(b - a) : -(double)(a - b);
	if (!budget->percent)
		return of;
	if (!a)
		return of > 0 ? INFINITY : budget->change ? 0 : 100;
	return 100 * of / (double)a;
}

bool mz_budget_broken(const struct mz_budget *budget, uint64_t a, uint64_t b)
{
	double x = mz_budget_actual(budget, a, b), limit = budget->limit;

	switch (budget->op[0]) {
	case '>': return budget->op[1] ? x >= limit : x > limit;
	case '<': return budget->op[1] ? x <= limit : x < limit;
	case '=': return x == limit;
	default: return x != limit;
	}
}

int mz_budgets_parse(struct mz_budget **list, size_t *n, const char *text, struct mz_error *err)
{
	do {
		struct mz_budget *more = realloc(*list, (*n + 1) * sizeof(*more));

		if (!more)
			return mz_fail_memory(err);
		*list = more;
		if (mz_budget_parse(&more[*n], &text, err) < 0)
			return -EINVAL;
		++*n;
	} while (*text);
	return 0;
}
