// SPDX-License-Identifier: BSD-2-Clause
/* Test whether one group of runs is above another. */
#include "store/statistics.h"

#include <math.h>
#include <stdlib.h>

struct mz_spread mz_spread_of(const uint64_t *x, size_t n)
{
	struct mz_spread s = {.n = n};
	long double sum = 0;
	double squares = 0;

	/* One division of the exact sum: adding up fractions would miss a mean that ends in a
	 * half. */
	for (size_t i = 0; i < n; i++)
		sum += (long double)x[i];
	s.mean = n ? (double)(sum / (long double)n) : 0;
	for (size_t i = 0; i < n; i++)
		squares += ((double)x[i] - s.mean) * ((double)x[i] - s.mean);
	s.deviation = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
	return s;
}

/* ---- Student's t ------------------------------------------------------------- */

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	h = d;
	for (int m = 1; m < 500; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double terms[2] = {even, odd}, step = 1;

		for (int i = 0; i < 2; i++) {
			d = 1 + terms[i] * d;
			d = 1 / (fabs(d) < tiny ? tiny : d);
			c = 1 + terms[i] / c;
			c = fabs(c) < tiny ? tiny : c;
			step = d * c;
			h *= step;
		}
		if (fabs(step - 1) < 1e-15)
			break;
	}
	return h;
}

static double incomplete_beta(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x >= 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double mz_chance_t(const struct mz_spread *a, const struct mz_spread *b)
{
	double degrees = (double)(a->n + b->n) - 2, variance, t, half;

	if (!a->n || !b->n || degrees < 1)
		return 1;
	variance = ((double)(a->n - 1) * a->deviation * a->deviation +
		    (double)(b->n - 1) * b->deviation * b->deviation) /
		   degrees;
	if (variance <= 0)
		return b->mean > a->mean ? 0 : 1;
	t = (b->mean - a->mean) / sqrt(variance * (1 / (double)a->n + 1 / (double)b->n));
	half = incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;
	return t > 0 ? half : 1 - half;
}

/* ---- ranks -------------------------------------------------------------------- */

struct ranked_value {
	uint64_t x;
	size_t at;
};

static int by_value(const void *p, const void *q)
{
	const struct ranked_value *a = p, *b = q;

	return a->x < b->x ? -1 : a->x > b->x;
}

/* Ranks from 1; equal values share the mean of theirs. Returns the sum of t^3 - t over runs
 * of t equal values. */
static double give_ranks(struct ranked_value *order, const uint64_t *x, size_t n, double *rank)
{
	double ties = 0;

	for (size_t i = 0; i < n; i++)
		order[i] = (struct ranked_value){x[i], i};
	qsort(order, n, sizeof(*order), by_value);
	for (size_t i = 0, k; i < n; i = k) {
		double t;

		for (k = i + 1; k < n && order[k].x == order[i].x; k++)
			;
		t = (double)(k - i);
		ties += t * t * t - t;
		for (size_t m = i; m < k; m++)
			rank[order[m].at] = (double)(i + 1 + k) / 2;
	}
	return ties;
}

/* In units of its deviation: how far the ranks of the last m of n are above chance. */
static double distance(double rank_sum, size_t n, size_t m, double ties)
{
	double a = (double)(n - m), b = (double)m, all = (double)n;
	double u = rank_sum - b * (b + 1) / 2;
	double variance = a * b / 12 * (all + 1 - ties / (all * (all - 1)));

	return variance > 0 ? (u - a * b / 2 - 0.5) / sqrt(variance) : 0;
}

bool mz_find_rise(const uint64_t *x, size_t n, const bool *may, size_t least, struct mz_rise *r)
{
	struct ranked_value *order = calloc(n + 1, sizeof(*order));
	double *rank = calloc(n + 1, sizeof(*rank)), ties, sum = 0, best = -INFINITY, chance;

	*r = (struct mz_rise){.chance = 1};
	if (order && rank && n > 1) {
		ties = give_ranks(order, x, n, rank);
		for (size_t i = n; i-- > least;) {
			double z;

			sum += rank[i];
			if (!may[i] || n - i < least)
				continue;
			z = distance(sum, n, n - i, ties);
			r->splits++;
			if (z > best) {
				best = z;
				r->at = i;
			}
		}
	}
	free(order);
	free(rank);
	chance = 0.5 * erfc(best / sqrt(2)) * (double)r->splits;
	r->chance = r->splits && chance < 1 ? chance : 1;
	return r->splits > 0;
}

/* ---- how many runs it takes ------------------------------------------------------ */

double mz_least_chance(size_t a, size_t b)
{
	double p = (double)a, q = (double)b, n = p + q;
	double ranks = q * p + q * (q + 1) / 2; /* the last q of n */
	double ties = p * p * p - p + q * q * q - q;

	return a && b ? 0.5 * erfc(distance(ranks, (size_t)n, b, ties) / sqrt(2)) : 1;
}

size_t mz_runs_needed(double chance, size_t tests, size_t least)
{
	size_t n = least;

	while (n < 10000 && mz_least_chance(n, n) * (double)tests >= chance)
		n++;
	return n;
}
